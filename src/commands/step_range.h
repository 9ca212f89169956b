/* Which steps of a trace a command is asked for. */
#ifndef FLOPLEDGER_COMMANDS_STEP_RANGE_H
#define FLOPLEDGER_COMMANDS_STEP_RANGE_H

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

#endif
