/* Texts in memory of their own. */
#include "base/text/owned_text.h"

#include "base/core/invariant.h"
#include "base/core/out_of_memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* vasprintf fails for want of memory alone here: the formats are ours. */
char *text_format(const char *format, ...)
{
    va_list arguments;
    char *text = NULL;
    int length;

    va_start(arguments, format);
    length = vasprintf(&text, format, arguments);
    va_end(arguments);
    if (length < 0)
        end_out_of_memory();
    return text;
}

char *text_copy(const char *text)
{
    return require_memory(strdup(text));
}

char *path_join(const char *folder, const char *name)
{
    size_t length = strlen(folder);
    bool has_slash = length > 0 && folder[length - 1] == '/';

    return text_format("%s%s%s", folder, has_slash ? "" : "/", name);
}

char *path_folder(const char *path)
{
    const char *name = path_name(path);

    return name > path ? text_format("%.*s", (int)(name - path), path) : text_copy(".");
}

const char *path_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}
