/* Conditions that hold in all builds, because a wrong number is worse than no number. */
#ifndef FLOPLEDGER_BASE_CORE_INVARIANT_H
#define FLOPLEDGER_BASE_CORE_INVARIANT_H

#include "base/core/out_of_memory.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/* A false `holds` is a bug of this program, never of its input: says so and aborts. */
static inline void require_invariant(bool holds, const char *statement)
{
    if (holds)
        return;
    (void)fprintf(stderr, "flopledger: internal error, please report it: %s does not hold\n",
                  statement);
    abort();
}

/* `memory` as malloc, calloc or realloc returned it: ends the program where it is NULL. */
static inline void *require_memory(void *memory)
{
    if (!memory)
        end_out_of_memory();
    return memory;
}

#endif
