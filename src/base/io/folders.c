/* Folders that are made where they are missing, and what lies in them. */
#include "base/io/folders.h"

#include "base/core/invariant.h"
#include "base/io/files_seen.h"
#include "base/text/owned_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Each folder on the way; that one is there already, made by another process a moment ago or
 * before, is no error. */
bool make_folders(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(path, 0777) != 0 && errno != EEXIST) {
            *slash = '/';
            return false;
        }
        *slash = '/';
    }
    return mkdir(path, 0777) == 0 || errno == EEXIST;
}

/* A user's folder may be called "run[1]". */
static char *escape_pattern(const char *text)
{
    char *escaped = require_memory(malloc(2 * strlen(text) + 1));
    char *to = escaped;

    for (; *text; text++) {
        if (strchr("*?[\\", *text))
            *to++ = '\\';
        *to++ = *text;
    }
    *to = '\0';
    return escaped;
}

/* The pattern is noted, not only what it found: an answer that is kept is out of date as soon
 * as the pattern finds more. Characters of the folder's own name that glob takes for a pattern
 * are escaped. */
void find_paths(glob_t *found, const char *folder, const char *pattern)
{
    char *escaped = escape_pattern(folder);
    char *whole = path_join(escaped, pattern);

    files_seen_note_pattern(whole);
    *found = (glob_t){0};
    if (glob(whole, 0, NULL, found) != 0)
        found->gl_pathc = 0;
    free(whole);
    free(escaped);
}

/* A slash behind a pattern leaves only folders, by every C library; GLOB_ONLYDIR is glibc's, and a
 * hint. */
void find_folders(glob_t *found, const char *folder, const char *pattern)
{
    char *with_slash = text_format("%s/", pattern);

    find_paths(found, folder, with_slash);
    for (size_t i = 0; i < found->gl_pathc; i++)
        found->gl_pathv[i][strlen(found->gl_pathv[i]) - 1] = '\0';
    free(with_slash);
}
