/* Folders as other recorders lay them out, and recordings that lie there in several forms. */
#include "base/core/array.h"
#include "base/core/attributes.h"
#include "base/io/folders.h"
#include "base/text/owned_text.h"
#include "pipeline/file_content.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Files below a folder that was given. */
struct folder_layout {
    const char *pattern;
    const char *within; /* only where the folder has this name; NULL: whatever its name is */
    bool is_newest_alone;
};

static const struct folder_layout layouts[] = {
    {"plugins/profile/*/*.xplane.pb*", NULL, true},
    {"profile/*/*.xplane.pb*", "plugins", true},
    {"*/*.xplane.pb*", "profile", true},
    {"*/plugins/profile/*/*.xplane.pb*", NULL, true},
    {"ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler*.db", NULL, false},
    {"ASCEND_PROFILER_OUTPUT/trace_view.json*", NULL, false},
    {"*_ascend_pt/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler*.db", NULL, false},
    {"*_ascend_pt/ASCEND_PROFILER_OUTPUT/trace_view.json*", NULL, false},
};

/* Each folder once; `found` is sorted. Sorted paths bring files of a folder together, so that
 * comparing with the last one suffices. */
static void collect_folders(struct recorder_folders *folders, const glob_t *found)
{
    for (size_t i = 0; i < found->gl_pathc; i++) {
        const char *path = found->gl_pathv[i];
        size_t length = (size_t)(path_name(path) - path);
        const char *last = folders->count ? folders->paths[folders->count - 1] : "";

        if (length > 1 && (strlen(last) != length - 1 || strncmp(last, path, length - 1) != 0))
            ARRAY_ADD(folders->paths, folders->count, text_format("%.*s", (int)length - 1, path));
    }
}

/* Recorders name a run by the time it began; of names that are no times, when it was written.
 * Names that begin with a digit are taken for times in an order that sorts as text
 * (2024_01_31_…), as JAX and TensorFlow write them; copying a folder changes its time, but not
 * its name. */
static bool is_newer(const char *path, const char *other)
{
    const char *name = path_name(path), *other_name = path_name(other);
    struct stat status, other_status;

    if ((isdigit((unsigned char)*name) && isdigit((unsigned char)*other_name)) ||
        stat(path, &status) != 0 || stat(other, &other_status) != 0)
        return strcmp(name, other_name) > 0;
    if (status.st_mtim.tv_sec != other_status.st_mtim.tv_sec)
        return status.st_mtim.tv_sec > other_status.st_mtim.tv_sec;
    return status.st_mtim.tv_nsec >= other_status.st_mtim.tv_nsec;
}

/* The newest goes to the front, the rest is counted and dropped. */
static void keep_newest(struct recorder_folders *folders)
{
    size_t newest = 0;
    char *kept;

    for (size_t i = 1; i < folders->count; i++)
        if (is_newer(folders->paths[i], folders->paths[newest]))
            newest = i;
    kept = folders->paths[newest];
    folders->paths[newest] = folders->paths[0];
    folders->paths[0] = kept;
    folders->older = folders->count - 1;
    while (folders->count > 1)
        free(folders->paths[--folders->count]);
}

/* Whatever the folder is called on the command line: ".", "logdir/plugins/". The layouts go by
 * the name of the folder, and "." has none: the path is resolved. */
static bool is_called(const char *folder, const char *name)
{
    char *real = realpath(folder, NULL);
    bool is_it = real && strcmp(path_name(real), name) == 0;

    free(real);
    return is_it;
}

/* The first layout that finds anything ends the search: they are different ways to come to the
 * same files. */
void find_recorder_folders(struct recorder_folders *folders, const char *folder)
{
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts && folders->count == 0; i++) {
        glob_t found;

        if (layouts[i].within && !is_called(folder, layouts[i].within))
            continue;
        find_paths(&found, folder, layouts[i].pattern);
        collect_folders(folders, &found);
        globfree(&found);
        if (folders->count > 1 && layouts[i].is_newest_alone)
            keep_newest(folders);
    }
}

void recorder_folders_clear(struct recorder_folders *folders)
{
    for (size_t i = 0; i < folders->count; i++)
        free(folders->paths[i]);
    free(folders->paths);
    *folders = (struct recorder_folders){.count = 0};
}

/* A file whose name ends so (is so, where `start` is given) holds what the one that begins with
 * `start` and ends with `read` does; without a `start` what stands before the ends is the same. */
struct other_form {
    const char *end;
    const char *read;
    const char *start;
};

/* The same recording in two forms: the one that is read tells more, and both together would
 * count it twice. */
static const struct other_form other_forms[] = {
    {".trace.json.gz", ".xplane.pb", NULL},
    {".trace.json", ".xplane.pb", NULL},
    {"perfetto_trace.json.gz", ".xplane.pb", ""},
    {"_results.json", "_results.db", NULL},
    {"_results.pftrace", "_results.db", NULL},
    {"_results.pftrace", "_results.json", NULL},
    {"trace_view.json", ".db", "ascend_pytorch_profiler"},
};

/* How long the name is before `end`; SIZE_MAX where it does not end so. */
static size_t length_before(const char *name, const char *end)
{
    size_t length = strlen(name), end_length = strlen(end);

    return length >= end_length && strcmp(name + length - end_length, end) == 0
               ? length - end_length
               : SIZE_MAX;
}

/* Two rules: the same beginning (host.trace.json.gz beside host.xplane.pb), or a fixed name
 * that every recording of the folder shares (perfetto_trace.json.gz). */
bool is_other_form(const char *name, const char *other)
{
    for (size_t i = 0; i < sizeof other_forms / sizeof *other_forms; i++) {
        const struct other_form *form = &other_forms[i];
        size_t before = length_before(name, form->end), read = length_before(other, form->read);

        if (before == SIZE_MAX || read == SIZE_MAX)
            continue;
        if (form->start ? before == 0 && strncmp(other, form->start, strlen(form->start)) == 0
                        : before == read && strncmp(name, other, before) == 0)
            return true;
    }
    return false;
}

bool may_have_other_forms(const char *other)
{
    for (size_t i = 0; i < sizeof other_forms / sizeof *other_forms; i++)
        if (length_before(other, other_forms[i].read) != SIZE_MAX)
            return true;
    return false;
}
