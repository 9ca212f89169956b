/* A log format that the user describes: a regular expression whose named groups say what a line
 * tells. */
#ifndef FLOPLEDGER_READERS_LOGS_LOG_PATTERN_H
#define FLOPLEDGER_READERS_LOGS_LOG_PATTERN_H

#include "base/core/attributes.h"
#include "base/core/error.h"
#include "readers/logs/log_format.h"

#include <regex.h>
#include <stdint.h>

/* What a group may be called. */
enum log_group {
    GROUP_STEP,
    GROUP_LAST_STEP,
    GROUP_TIME,    /* any time that log_time.h reads */
    GROUP_SECONDS, /* that a step took */
    GROUP_MS,
    GROUP_LOSS,
    GROUP_TFLOPS,     /* TFLOP/s of one device */
    GROUP_MFU,        /* per cent */
    GROUP_TOKENS,     /* tokens a second of one device */
    GROUP_SKIPPED,    /* steps without an update */
    GROUP_CHECKPOINT, /* number of the step whose weights were saved: the line is no step */
    GROUP_RESTORE,    /* likewise: that were loaded */
    GROUP_COUNT
};

struct log_pattern {
    regex_t expression;
    bool is_compiled;
    int group_of[GROUP_COUNT]; /* number of the parenthesis; 0: there is none */
    int groups;                /* parentheses in all */
};

/* `text` is an extended regular expression (POSIX) with groups "(?P<step>[0-9]+)", "(?<step>...)"
 * and "(?:...)"; \d, \s and \w work as in Python. Errors (ERROR_USAGE) name the character. */
MUST_USE bool log_pattern_compile(struct log_pattern *pattern, const char *text,
                                  struct error *error);
void log_pattern_clear(struct log_pattern *pattern);

/* Reads with reading->pattern. */
extern const struct log_format log_pattern_format;

#endif
