/* One error on its way from where it happened to main(), which prints it. */
#ifndef FLOPLEDGER_BASE_CORE_ERROR_H
#define FLOPLEDGER_BASE_CORE_ERROR_H

#include "base/core/attributes.h"

#include <stdbool.h>

/* The exit code that belongs to an error; main() returns it. Documented in docs/exit-codes.md. */
enum error_class {
    ERROR_NONE = 0,    /* no error */
    ERROR_FAILURE = 1, /* something of the machine or of ours failed: memory, disk, a pipe */
    ERROR_USAGE = 2,   /* the command line is wrong */
    ERROR_INPUT = 3, /* a file cannot be read, is damaged beyond use, or is not what was expected */
    ERROR_NO_DATA = 4,   /* the input is fine and holds nothing that answers the question */
    ERROR_PARTIAL = 5,   /* the report was made, but part of the input is unreadable, cut or damaged
                          */
    ERROR_CONDITION = 6, /* the report was made, and a condition (--fail-if) is met */
    ERROR_UNDECIDED = 7, /* the report was made, and whether a condition is met can't be told */
};

struct error {
    enum error_class class;
    char message[2048];
};

/* Sets class and message; always returns false, so that a function can `return error_set(...)`.
 * Messages: lower case, no full stop, the thing in quotes, then what to do. `error` may be NULL. */
bool error_set(struct error *error, enum error_class class, const char *format, ...)
    PRINTF_LIKE(3, 4);

/* Puts "<where>: " before the message already set; always returns false. */
bool error_in(struct error *error, const char *format, ...) PRINTF_LIKE(2, 3);

#endif
