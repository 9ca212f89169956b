/* Which steps of a trace a command is asked for. */
#ifndef FLOPLEDGER_COMMANDS_STEP_RANGE_H
#define FLOPLEDGER_COMMANDS_STEP_RANGE_H

#include "base/attributes.h"
#include "base/error.h"

#include <regex.h>
#include <stdbool.h>
#include <stdint.h>

/* Both included; INT64_MIN and INT64_MAX for all. */
struct step_range {
    int64_t first;
    int64_t last;
};

/* "3", "3-5", "3-", "-5": for an option of kind OPTION_PARSED; `field` is a struct step_range. */
bool parse_step_range(const char *text, void *field);

extern const char step_range_accepted[];

/* The line of an option table for a struct of settings `type`, with a struct step_range `field`. */
#define STEPS_OPTION(type, field)                                                              \
    {                                                                                          \
        .name = "steps", .letter = 's', .kind = OPTION_PARSED, .metavar = "RANGE",             \
        .offset = offsetof(type, field), .parse = parse_step_range,                            \
        .accepts = step_range_accepted,                                                        \
        .help = "only these steps, by their numbers in the trace: 3, 3-5 or 3- (default: all)" \
    }

/* Which ranges are steps, by their names. A zeroed one is of none. */
struct step_pattern {
    regex_t regex;
    bool is_set;
};

/* `text` is an extended regular expression; NULL sets nothing. ERROR_USAGE where it is none. */
MUST_USE bool step_pattern_compile(struct step_pattern *pattern, const char *text,
                                   struct error *error);
void step_pattern_clear(struct step_pattern *pattern);

#endif
