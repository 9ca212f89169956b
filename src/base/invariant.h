/* Conditions that hold in all builds, because a wrong number is worse than no number. */
#ifndef FLOPLEDGER_BASE_INVARIANT_H
#define FLOPLEDGER_BASE_INVARIANT_H

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

/* `memory` as malloc, calloc or realloc returned it: aborts where it is NULL. */
static inline void *require_memory(void *memory)
{
    if (!memory) {
        (void)fputs("flopledger: out of memory\n", stderr);
        abort();
    }
    return memory;
}

#endif
