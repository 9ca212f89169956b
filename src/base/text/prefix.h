/* Does a text begin with another? */
#ifndef FLOPLEDGER_BASE_TEXT_PREFIX_H
#define FLOPLEDGER_BASE_TEXT_PREFIX_H

#include <stdbool.h>
#include <string.h>

static inline bool has_prefix(const char *text, const char *prefix)
{
    /* most texts differ in their first letter */
    return (*text == *prefix && strncmp(text, prefix, strlen(prefix)) == 0) || !*prefix;
}

#endif
