/* Folders that are made where they are missing, and what lies in them. */
#include "base/io/folders.h"

#include "base/core/invariant.h"
#include "base/io/files_seen.h"
#include "base/text/owned_text.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

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

static char *whole_pattern(const char *folder, const char *pattern)
{
    char *escaped = escape_pattern(folder);
    char *whole = path_join(escaped, pattern);

    free(escaped);
    return whole;
}

/* The pattern is noted, not only what it found: an answer that is kept is out of date as soon
 * as the pattern finds more. Characters of the folder's own name that glob takes for a pattern
 * are escaped. */
void find_paths(glob_t *found, const char *folder, const char *pattern)
{
    char *whole = whole_pattern(folder, pattern);

    files_seen_note_pattern(whole);
    *found = (glob_t){0};
    if (glob(whole, 0, NULL, found) != 0)
        found->gl_pathc = 0;
    free(whole);
}

/* What the last question of find_only_path was, and its answer. */
static struct {
    pthread_mutex_t lock;
    char *whole; /* folder and pattern */
    struct path_facts facts;
    char *path;
} last_only = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Whatever is put into a folder later gives it another time of writing, if that was not just now:
 * some file systems keep whole seconds, in twos. */
static bool is_folder_settled(const struct path_facts *facts, const struct timespec *now)
{
    const int64_t tick_s = 2;

    return facts->kind == S_IFDIR && now->tv_sec - facts->written_s > tick_s;
}

/* A thousand ranks lie in one folder and each is asked for what stands beside it: to list the
 * folder for each of them takes a time that grows with their square. */
char *find_only_path(const char *folder, const char *pattern)
{
    char *whole = whole_pattern(folder, pattern);
    struct path_facts facts = path_facts_of(folder);
    struct timespec now = {0};
    char *path;

    clock_gettime(CLOCK_REALTIME, &now);
    pthread_mutex_lock(&last_only.lock);
    if (last_only.whole && strcmp(last_only.whole, whole) == 0 && is_folder_settled(&facts, &now) &&
        memcmp(&facts, &last_only.facts, sizeof facts) == 0) {
        files_seen_note_pattern(whole);
        free(whole);
    } else {
        glob_t found;

        find_paths(&found, folder, pattern);
        free(last_only.whole);
        free(last_only.path);
        last_only.whole = whole;
        last_only.path = found.gl_pathc == 1 ? text_copy(found.gl_pathv[0]) : NULL;
        /* what was not settled then is not what it is now, whatever its facts are */
        last_only.facts = is_folder_settled(&facts, &now) ? facts : (struct path_facts){0};
        globfree(&found);
    }
    path = last_only.path ? text_copy(last_only.path) : NULL;
    pthread_mutex_unlock(&last_only.lock);
    return path;
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
