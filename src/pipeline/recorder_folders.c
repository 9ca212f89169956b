/* Folders as other recorders lay them out, and recordings that lie there in several forms. */
#include "base/core/array.h"
#include "base/core/attributes.h"
#include "base/core/hash_map.h"
#include "base/core/string_pool.h"
#include "base/io/folders.h"
#include "base/text/owned_text.h"
#include "base/text/prefix.h"
#include "pipeline/file_content.h"
#include "ranks/rank_layout.h"

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
    {"ASCEND_PROFILER_OUTPUT/ascend_*_profiler*.db", NULL, false}, /* pytorch, mindspore */
    {"ASCEND_PROFILER_OUTPUT/trace_view.json*", NULL, false},
    {"*_ascend_[pm][ts]/ASCEND_PROFILER_OUTPUT/ascend_*_profiler*.db", NULL, false},
    {"*_ascend_[pm][ts]/ASCEND_PROFILER_OUTPUT/trace_view.json*", NULL, false},
    {"mindstudio_profiler_output/msprof_*.json*", NULL, false},
    {"PROF_*/mindstudio_profiler_output/msprof_*.json*", NULL, false},
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

/* Of "LOGDIR/rank_3/plugins/profile/TIME" the part before "/plugins". */
static size_t length_of_run(const char *path)
{
    size_t length = strlen(path);

    for (int slashes = 0; length > 0 && slashes < 3; slashes += path[length] == '/')
        length--;
    return length;
}

static bool are_of_one_run(const char *path, const char *other)
{
    size_t length = length_of_run(path);

    return length == length_of_run(other) && strncmp(path, other, length) == 0;
}

/* By the name of its last folder; -1: not told. */
static int64_t rank_of_run(const char *path)
{
    char *run = text_format("%.*s", (int)length_of_run(path), path);
    int64_t rank = rank_in_path(path_name(run));

    free(run);
    return rank;
}

/* Does each process of a job log to a folder of its own, whose name has its rank? */
static bool are_of_ranks(const struct recorder_folders *folders)
{
    SCOPED(hash_map) first_of_rank = {0};

    for (uint32_t i = 0; i < folders->count; i++) {
        int64_t rank = rank_of_run(folders->paths[i]);
        uint32_t first = rank < 0 ? NO_VALUE : hash_map_add(&first_of_rank, (uint64_t)rank, i);

        if (first == NO_VALUE || !are_of_one_run(folders->paths[first], folders->paths[i]))
            return false;
    }
    return true;
}

/* The newest stays, and of ranks the newest of each; the rest is counted and dropped. */
static void keep_newest(struct recorder_folders *folders)
{
    bool is_of_ranks = are_of_ranks(folders);
    size_t kept = 0, end;

    for (size_t i = 0; i < folders->count; i = end) {
        char *newest = folders->paths[i];

        for (end = i + 1; end < folders->count; end++) {
            char *path = folders->paths[end];
            bool is_new;

            if (is_of_ranks && !are_of_one_run(newest, path))
                break;
            is_new = is_newer(path, newest);
            free(is_new ? newest : path);
            newest = is_new ? path : newest;
        }
        folders->paths[kept++] = newest;
    }
    folders->older = folders->count - kept;
    folders->count = kept;
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

/* Folders of what was recorded are there before those of the analysis, which this program reads. */
const char *recording_without_analysis(const char *folder)
{
    static const char *const recordings[][3] = {
        {"FRAMEWORK", "ASCEND_PROFILER_OUTPUT",
         "torch_npu: torch_npu.profiler.profiler.analyse(FOLDER)"},
        {"*_ascend_pt", "*_ascend_pt/ASCEND_PROFILER_OUTPUT",
         "torch_npu: torch_npu.profiler.profiler.analyse(FOLDER)"},
        {"*_ascend_ms", "*_ascend_ms/ASCEND_PROFILER_OUTPUT",
         "MindSpore: mindspore.profiler.profiler.analyse(FOLDER)"},
        {"PROF_*", "PROF_*/mindstudio_profiler_output",
         "msprof: msprof --export=on --output=FOLDER"},
        {"device_*/data", "mindstudio_profiler_output",
         "msprof: msprof --export=on --output=FOLDER"},
    };
    const char *found = NULL;

    for (size_t i = 0; i < sizeof recordings / sizeof *recordings && !found; i++) {
        glob_t recorded, analyzed;

        find_folders(&recorded, folder, recordings[i][0]);
        find_folders(&analyzed, folder, recordings[i][1]);
        found = recorded.gl_pathc > 0 && analyzed.gl_pathc == 0 ? recordings[i][2] : NULL;
        globfree(&recorded);
        globfree(&analyzed);
    }
    return found;
}

void recorder_folders_clear(struct recorder_folders *folders)
{
    for (size_t i = 0; i < folders->count; i++)
        free(folders->paths[i]);
    free(folders->paths);
    *folders = (struct recorder_folders){.count = 0};
}

/* A file whose name ends with `end` holds what the one that ends with `read` does: where the names
 * begin so, or, without beginnings, with the same text. Packed or not is no part of the ends. */
struct other_form {
    const char *end;
    const char *read;
    const char *start;
    const char *read_start;
};

/* The same recording in two forms: the one that is read tells more, and both together would
 * count it twice. */
static const struct other_form other_forms[] = {
    {".trace.json", ".xplane.pb", NULL, NULL},
    {"perfetto_trace.json", ".xplane.pb", "perfetto_trace", ""},
    {"_results.json", "_results.db", NULL, NULL},
    {"_results.pftrace", "_results.db", NULL, NULL},
    {".json", ".rpd", NULL, NULL},
    {".trace.json", ".rpd", NULL, NULL},
    {".pftrace", ".json", NULL, NULL},
    {".pftrace", ".pt.trace.json", NULL, NULL},
    {".perfetto-trace", ".json", NULL, NULL},
    {".perfetto-trace", ".pt.trace.json", NULL, NULL},
    {"trace_view.json", ".db", "trace_view", "ascend_pytorch_profiler"},
    {"trace_view.json", ".db", "trace_view", "ascend_mindspore_profiler"},
    {".json", ".db", "msprof_", "msprof_"},
};
enum { FORM_COUNT = sizeof other_forms / sizeof *other_forms };

static const char *const packed_ends[] = {"", ".gz", ".zst"};
enum { PACKED_COUNT = sizeof packed_ends / sizeof *packed_ends };

/* How long the name is before `end`; SIZE_MAX where it does not end so. */
static size_t length_before(const char *name, size_t length, const char *end)
{
    size_t end_length = strlen(end);

    return length >= end_length && memcmp(name + length - end_length, end, end_length) == 0
               ? length - end_length
               : SIZE_MAX;
}

static size_t unpacked_length(const char *name)
{
    size_t length = strlen(name);

    for (size_t i = 1; i < PACKED_COUNT; i++)
        if (length_before(name, length, packed_ends[i]) != SIZE_MAX)
            return length_before(name, length, packed_ends[i]);
    return length;
}

/* Names of a folder, by which others are found. */
struct form_names {
    struct string_pool pool;  /* name `i` has the id i + 1 */
    size_t first[FORM_COUNT]; /* of a form with beginnings: what is read; SIZE_MAX: none is there */
};

static bool has_end(const char *name, const char *start, const char *end)
{
    return has_prefix(name, start) && length_before(name, unpacked_length(name), end) != SIZE_MAX;
}

static void form_names_fill(struct form_names *known, const char *const *names, size_t count)
{
    string_pool_add(&known->pool, "", 0);
    for (size_t f = 0; f < FORM_COUNT; f++)
        known->first[f] = SIZE_MAX;
    for (size_t i = 0; i < count; i++) {
        string_pool_add(&known->pool, names[i], strlen(names[i]));
        for (size_t f = 0; f < FORM_COUNT; f++)
            if (other_forms[f].start && known->first[f] == SIZE_MAX &&
                has_end(names[i], other_forms[f].read_start, other_forms[f].read))
                known->first[f] = i;
    }
}

/* The first of `kinds` ways to pack "STEM END" that is there; SIZE_MAX: none. */
static size_t find_packed(const struct form_names *known, const char *stem, size_t length,
                          const char *end, size_t kinds)
{
    uint32_t found = UINT32_MAX;

    for (size_t i = 0; i < kinds && found == UINT32_MAX; i++) {
        char *name = text_format("%.*s%s%s", (int)length, stem, end, packed_ends[i]);

        found = string_pool_find(&known->pool, name, strlen(name));
        free(name);
    }
    return found == UINT32_MAX ? SIZE_MAX : (size_t)found - 1;
}

/* What is read in place of `name`; SIZE_MAX: nothing else. */
static size_t other_form_of(const struct form_names *known, const char *name)
{
    size_t length = unpacked_length(name), kinds = 0, found;

    while (kinds < PACKED_COUNT - 1 && strcmp(name + length, packed_ends[kinds]) != 0)
        kinds++;
    found = find_packed(known, name, length, "", kinds);
    for (size_t f = 0; f < FORM_COUNT && found == SIZE_MAX; f++) {
        const struct other_form *form = &other_forms[f];
        size_t stem = length_before(name, length, form->end);

        if (stem == SIZE_MAX)
            continue;
        if (!form->start)
            found = find_packed(known, name, stem, form->read, PACKED_COUNT);
        else if (has_prefix(name, form->start))
            found = known->first[f];
    }
    return found;
}

/* What is read in place of a file may itself give way to another: to the end of that chain, which
 * has one, as no form of the list leads back. */
void find_other_forms(size_t *read_for, const char *const *names, size_t count)
{
    struct form_names known = {0};

    form_names_fill(&known, names, count);
    for (size_t i = 0; i < count; i++) {
        size_t other = other_form_of(&known, names[i]);

        read_for[i] = i;
        while (other != SIZE_MAX) {
            read_for[i] = other;
            other = other_form_of(&known, names[other]);
        }
    }
    string_pool_clear(&known.pool);
}
