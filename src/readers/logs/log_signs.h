/* What logs of all programs say: that processes start, break or are stopped, how many devices there
 * are, and what time it is. */
#ifndef FLOPLEDGER_READERS_LOGS_LOG_SIGNS_H
#define FLOPLEDGER_READERS_LOGS_LOG_SIGNS_H

#include "readers/logs/log_format.h"
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

/* Which signs may begin with which two characters. */
struct log_signs {
    uint8_t first[65536]; /* by pair of characters: 1 + the first sign that begins so; 0: none */
    uint8_t next[256];    /* by sign: 1 + the next one that begins alike; 0: none */
};

void log_signs_init(struct log_signs *signs);

void log_signs_read(const struct log_signs *signs, struct log_reading *reading,
                    struct log_text line);

/* Adds words to a table: a line with none of them is nothing to log_signs_read but perhaps a time,
 * which log_signs_read_time takes. */
void log_signs_add_words(struct log_words *words);
void log_signs_read_time(struct log_reading *reading, struct log_text line);

/* At the end of the file: a traceback of which the last line is missing. */
void log_signs_finish(struct log_reading *reading);

#endif
