/* Does a text begin, or end, with another? */
#ifndef FLOPLEDGER_BASE_TEXT_PREFIX_H
#define FLOPLEDGER_BASE_TEXT_PREFIX_H

#include <stdbool.h>
#include <string.h>

static inline bool has_prefix(const char *text, const char *prefix)
{
    /* most texts differ in their first letter */
    return (*text == *prefix && strncmp(text, prefix, strlen(prefix)) == 0) || !*prefix;
}

static inline bool has_suffix(const char *text, const char *suffix)
{
    size_t length = strlen(text), end = strlen(suffix);

    return length >= end && strcmp(text + length - end, suffix) == 0;
}

/* Of a file's name: one that is called ".json" has no extension. */
static inline bool has_extension(const char *name, const char *extension)
{
    return has_suffix(name, extension) && strlen(name) > strlen(extension);
}

#endif
