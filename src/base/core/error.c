/* One error on its way from where it happened to main(), which prints it. */
#include "base/core/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Returns false, so that a failing function can set its error and return in one line. Without
 * an error the caller only wants to know whether it works. */
bool error_set(struct error *error, enum error_class class, const char *format, ...)
{
    va_list arguments;

    if (!error)
        return false;
    error->class = class;
    va_start(arguments, format);
    vsnprintf(error->message, sizeof error->message, format, arguments);
    va_end(arguments);
    return false;
}

/* The old message is copied first, since it is written over. */
bool error_in(struct error *error, const char *format, ...)
{
    char old[sizeof error->message];
    va_list arguments;
    int length;

    if (!error)
        return false;
    memcpy(old, error->message, sizeof old);
    va_start(arguments, format);
    length = vsnprintf(error->message, sizeof error->message, format, arguments);
    va_end(arguments);
    if (length < 0 || (size_t)length + 3 > sizeof error->message)
        return false;
    snprintf(error->message + length, sizeof error->message - (size_t)length, ": %.*s",
             (int)(sizeof error->message - (size_t)length - 3), old);
    return false;
}
