/* Which steps of a trace a command is asked for. */
#ifndef FLOPLEDGER_PIPELINE_STEP_RANGE_H
#define FLOPLEDGER_PIPELINE_STEP_RANGE_H

#include "base/core/attributes.h"
#include "base/core/error.h"

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
