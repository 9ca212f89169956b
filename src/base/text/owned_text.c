/* Texts in memory of their own. */
#include "base/text/owned_text.h"

#include "base/core/invariant.h"
#include "base/core/out_of_memory.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
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

struct named_path {
    const char *path;
    const char *name;
    size_t place;
};

static int compare_named_paths(const void *a, const void *b)
{
    const struct named_path *first = a;
    const struct named_path *second = b;

    return strcmp(first->name, second->name);
}

/* One part more of the path; false where there is none. */
static bool lengthen_name(struct named_path *named)
{
    const char *name = named->name;

    while (name > named->path && name[-1] == '/')
        name--;
    while (name > named->path && name[-1] != '/')
        name--;
    if (name == named->name)
        return false;
    named->name = name;
    return true;
}

/* Names that are alike get one part more, until none are: as many rounds as the deepest path has
 * folders, each of which sorts. */
void path_names_apart(const char **names, const char *const *paths, size_t count)
{
    struct named_path *list = require_memory(calloc(count + 1, sizeof *list));
    bool is_longer = count > 1;

    for (size_t i = 0; i < count; i++)
        list[i] = (struct named_path){.path = paths[i], .name = path_name(paths[i]), .place = i};
    while (is_longer) {
        size_t end;

        is_longer = false;
        qsort(list, count, sizeof *list, compare_named_paths);
        for (size_t i = 0; i < count; i = end) {
            for (end = i + 1; end < count && strcmp(list[i].name, list[end].name) == 0; end++)
                is_longer |= lengthen_name(&list[end]);
            if (end > i + 1)
                is_longer |= lengthen_name(&list[i]);
        }
    }
    for (size_t i = 0; i < count; i++)
        names[list[i].place] = list[i].name;
    free(list);
}
