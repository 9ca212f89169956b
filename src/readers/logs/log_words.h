/* Tells at one look whether any of some words stands in a line: most lines of a log have none, and
 * are not looked at any closer. */
#ifndef FLOPLEDGER_READERS_LOGS_LOG_WORDS_H
#define FLOPLEDGER_READERS_LOGS_LOG_WORDS_H

#include "readers/logs/log_text.h"

#include <stdbool.h>
#include <stdint.h>

enum { LOG_WORDS_MAX = 128 };

struct log_word {
    const char *text; /* of at least two characters; must outlive the table */
    int place;        /* in it, of the two characters that are looked for */
    uint8_t next;     /* 1 + another word with the same two; 0: none */
};

/* A zeroed one has no words. */
struct log_words {
    uint8_t first[65536]; /* by two characters: 1 + the first word that has them; 0: none */
    struct log_word words[LOG_WORDS_MAX];
    int count;
};

void log_words_add(struct log_words *words, const char *text);

bool log_words_find_any(const struct log_words *words, struct log_text line);

#endif
