/* Texts, paths among them, in memory of their own: whoever holds one frees it with free(). All end
 * the program when memory is out. */
#ifndef FLOPLEDGER_BASE_TEXT_OWNED_TEXT_H
#define FLOPLEDGER_BASE_TEXT_OWNED_TEXT_H

#include "base/core/attributes.h"

#include <stddef.h>

/* As asprintf. */
MUST_USE PRINTF_LIKE(1, 2) char *text_format(const char *format, ...);

MUST_USE char *text_copy(const char *text);

/* "folder/name", with one '/' where the folder ends with one already. */
MUST_USE char *path_join(const char *folder, const char *name);

/* The folder of `path`, with its '/'; "." where it names none. */
MUST_USE char *path_folder(const char *path);

/* Its last part, within it: the name of the file. */
const char *path_name(const char *path);

/* names[count]: of each path as much of its end, in whole parts and within it, as tells it from the
 * others; the same path given twice has no such end and stands as it is. */
void path_names_apart(const char **names, const char *const *paths, size_t count);

#endif
