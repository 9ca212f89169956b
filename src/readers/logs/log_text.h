/* Words and numbers of a line of a log. */
#ifndef FLOPLEDGER_READERS_LOGS_LOG_TEXT_H
#define FLOPLEDGER_READERS_LOGS_LOG_TEXT_H

#include "base/core/attributes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A line or a part of one; nothing ends it but `end`. */
struct log_text {
    const char *at;
    const char *end;
};

static inline size_t log_text_length(struct log_text text)
{
    return (size_t)(text.end - text.at);
}

/* Where `words` stand first: what follows them; false: nowhere. `rest` may be &text. */
bool log_find(struct log_text text, const char *words, struct log_text *rest);

/* The same, at the beginning of the text or behind a space, tab, ']', '|', ':' or '>' only. */
bool log_find_word(struct log_text text, const char *words, struct log_text *rest);

/* Does it begin so? Then moves behind it. */
bool log_skip(struct log_text *text, const char *words);

void log_skip_spaces(struct log_text *text);

/* Moves behind the next `c`; false, and nothing is moved, where there is none. */
bool log_skip_past(struct log_text *text, char c);

/* A whole number: moves behind it. False, and nothing is moved, where there is none or it does not
 * fit into 62 bits. Spaces before it are skipped. With `has_commas` also as "7,034". */
bool log_take_integer(struct log_text *text, bool has_commas, int64_t *number);

/* A number such as "-1.5e+03", "nan" or "inf". */
bool log_take_real(struct log_text *text, bool has_commas, double *number);

/* A length of time in units of `unit_ns` (a power of ten), without rounding through a double; not
 * negative. "nan" is none, nor is what is longer than 115 days. */
bool log_take_length(struct log_text *text, int64_t unit_ns, int64_t *length_ns);

/* total 0: not known, "Epoch 0: : 129it [43:14, 20.11s/it]" */
struct log_bar {
    struct log_text title; /* before the percentage; empty without one */
    int64_t done;
    int64_t total;
    int64_t elapsed_ns;   /* since the bar's beginning, in whole seconds */
    struct log_text rest; /* behind the times, up to the closing bracket and further */
};

bool log_take_bar(struct log_text line, struct log_bar *bar);

/* The same for those that Lightning draws with rich: "Epoch 0/9 ---- 100/1000 0:00:10 * 0:01:30
 * 9.9it/s v_num: 0", of characters that are not ASCII for the dashes and the star. */
bool log_take_rich_bar(struct log_text line, struct log_bar *bar);

#endif
