/* The files a command line names: files themselves, and the traces in folders. */
#include "pipeline/input_files.h"

#include "base/core/array.h"
#include "base/core/attributes.h"
#include "base/core/invariant.h"
#include "base/io/folders.h"
#include "base/io/input_stream.h"
#include "base/text/owned_text.h"
#include "base/text/prefix.h"
#include "pipeline/file_content.h"
#include "ranks/digest_file.h"
#include "ranks/rank_layout.h"
#include "readers/open_trace.h"
#include "readers/sqlite/sqlite_input.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

/* ---- numbered paths -------------------------------------------------------------------------- */

/* Ranks of files whose names have a number and no word for it: profile_0.json, profile_1.json. */

/* No path has more numbers that are looked at. */
enum { NUMBERS_MAX = 32 };

/* The numbers of a path, and where their digits are. */
struct path_numbers {
    int64_t values[NUMBERS_MAX]; /* -1: too large */
    const char *starts[NUMBERS_MAX];
    size_t count;
};

static bool numbered_paths_is_digit(char c)
{
    return isdigit((unsigned char)c) != 0;
}

/* A number of more than 31 bits is a time or a hash: it counts as a number, so that places
 * stay aligned, but tells no rank. */
static void find_numbers(struct path_numbers *numbers, const char *path)
{
    numbers->count = 0;
    while (*path && numbers->count < NUMBERS_MAX) {
        int64_t value = 0;

        if (!numbered_paths_is_digit(*path)) {
            path++;
            continue;
        }
        numbers->starts[numbers->count] = path;
        for (; numbered_paths_is_digit(*path); path++)
            value = value > INT32_MAX ? value : value * 10 + (*path - '0');
        numbers->values[numbers->count++] = value > INT32_MAX ? -1 : value;
    }
}

/* Are the paths the same but for the digits in them? Digits are skipped as whole runs, so that
 * rank9 and rank10 are alike. */
static bool are_alike(const char *one, const char *other)
{
    while (*one || *other) {
        if (numbered_paths_is_digit(*one) != numbered_paths_is_digit(*other))
            return false;
        if (numbered_paths_is_digit(*one)) {
            one += strspn(one, "0123456789");
            other += strspn(other, "0123456789");
        } else if (*one++ != *other++) {
            return false;
        }
    }
    return true;
}

/* Does a word before the number say that it counts something else than ranks? "step_0" and
 * "step_1" are two times of one rank, and must not be taken for two ranks. */
static bool counts_something_else(const char *path, const char *number)
{
    static const char *const words[] = {"step",  "steps", "iter",  "iteration", "epoch", "cycle",
                                        "batch", "run",   "trial", "attempt",   "node",  "part"};
    const char *end = number;

    while (end > path && strchr("_-=.[: ", end[-1]))
        end--;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t length = strlen(words[i]);

        if ((size_t)(end - path) >= length && strncasecmp(end - length, words[i], length) == 0)
            return true;
    }
    return false;
}

/* Is number `place` of the paths 0 to count - 1, each once? Then fills ranks. `seen` is zeroed.
 * 0 to count - 1 with each once is a permutation, and nothing else passes: by the pigeonhole
 * principle `seen` and the bound suffice. */
static bool numbered_paths_take_place(int64_t *ranks, const char *const *paths, size_t count,
                                      size_t place, bool *seen)
{
    for (size_t i = 0; i < count; i++) {
        struct path_numbers numbers;
        int64_t value;

        find_numbers(&numbers, paths[i]);
        if (place >= numbers.count)
            return false;
        value = numbers.values[place];
        if (value < 0 || (size_t)value >= count || seen[value] ||
            counts_something_else(paths[i], numbers.starts[place]))
            return false;
        seen[value] = true;
        ranks[i] = value;
    }
    return true;
}

/* Exactly one place must pass. Of two, such as node and local rank on a square job, none can
 * be told to be the rank, and no number is better than a wrong one. */
bool ranks_in_numbered_paths(int64_t *ranks, const char *const *paths, size_t count)
{
    int64_t *found = require_memory(calloc(count + 1, sizeof *found));
    bool *seen = require_memory(calloc(count + 1, sizeof *seen));
    size_t places = 0, chosen = 0;
    bool is_alike = count > 1;

    for (size_t i = 1; i < count; i++)
        is_alike = is_alike && are_alike(paths[0], paths[i]);
    for (size_t place = 0; is_alike && place < NUMBERS_MAX; place++) {
        memset(seen, 0, count * sizeof *seen);
        if (!numbered_paths_take_place(found, paths, count, place, seen))
            continue;
        places++;
        chosen = place;
    }
    memset(seen, 0, count * sizeof *seen);
    if (places == 1)
        (void)numbered_paths_take_place(ranks, paths, count, chosen, seen);
    free(found);
    free(seen);
    return places == 1;
}

/* ---- input files ----------------------------------------------------------------------------- */

static void input_files_add_file(struct input_files *files, char *path, int64_t bytes)
{
    ARRAY_ADD(files->files, files->count,
              (struct input_file){.path = path, .bytes = bytes, .rank = -1});
}

enum folder_file {
    IS_TRACE,       /* or a digest of one */
    IS_UNREADABLE,  /* or empty */
    IS_OF_RECORDER, /* but no trace */
    IS_OTHER,
};

/* What a file of a folder is, by its first bytes. Only the first window is read: folders hold
 * thousands of files. */
static enum folder_file look_into(const char *path)
{
    SCOPED(input_stream) stream = {0};
    struct input_window window;

    if (!input_stream_open(&stream, path, false, NULL))
        return IS_UNREADABLE;
    if (!input_stream_next(&stream, 0, &window) || window.length == 0)
        return IS_UNREADABLE;
    if (digest_set_recognises(window.text, window.length))
        return IS_TRACE;
    if (is_sqlite_head(window.text, window.length) && is_database_of_no_recorder(path))
        return IS_OF_RECORDER;
    if (is_trace_head(window.text, window.length))
        return IS_TRACE;
    return is_beside_traces(window.text, window.length) ? IS_OF_RECORDER : IS_OTHER;
}

/* A trace, or what was to be one: that a file with a trace's name is empty shall be told. An
 * empty file with a trace's name is most often a rank that died before it wrote: to pass it over
 * would hide that. Of what a recorder writes beside traces the first is remembered, to say what it
 * is where there is no trace. */
static bool input_files_is_wanted(struct input_files *files, const char *path, const char *name)
{
    enum folder_file content = look_into(path);

    if (content == IS_OF_RECORDER && !files->of_recorder)
        files->of_recorder = text_copy(path);
    return content == IS_TRACE || (content == IS_UNREADABLE && has_trace_name(name));
}

static void pass_over(struct input_files *files, const char *name)
{
    if (files->passed_over++ == 0)
        snprintf(files->first_passed_over, sizeof files->first_passed_over, "%s", name);
}

static int input_files_is_no_hidden_file(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* Files that belong to a trace beside them (its capture, its side files) are neither read as
 * traces nor told as passed over. */
static void add_from_folder(struct input_files *files, const char *folder, const char *name)
{
    struct stat status;
    char *path = path_join(folder, name);

    if (stat(path, &status) == 0 && S_ISDIR(status.st_mode)) {
        if (strcmp(name, "capture_traces") != 0) /* which belongs to the traces beside it */
            files->folders_passed_over++;
    } else if (stat(path, &status) == 0 && S_ISREG(status.st_mode) &&
               input_files_is_wanted(files, path, name)) {
        input_files_add_file(files, path, status.st_size);
        return;
    } else if (strcmp(name, "capture.json") != 0 && strcmp(name, "compiled.json") != 0 &&
               !has_extension(name, ".memory.json") &&
               !has_extension(name, ".memory.pickle")) { /* which belong to the traces
                                                                    beside them */
        pass_over(files, name);
    }
    free(path);
}

/* Adds the newest trace in the folder of a rank, as `flopledger run` lays them out. A rank may
 * have recorded several windows; a report is of one, and the newest is the one that was just
 * made. */
static void add_newest_trace(struct input_files *files, const char *rank_folder)
{
    glob_t traces;
    struct stat newest = {0};
    const char *chosen = NULL;

    find_paths(&traces, rank_folder, "*.pt.trace.json.gz");
    for (size_t i = 0; i < traces.gl_pathc; i++) {
        struct stat status;

        if (stat(traces.gl_pathv[i], &status) != 0 ||
            (chosen && (status.st_mtim.tv_sec < newest.st_mtim.tv_sec ||
                        (status.st_mtim.tv_sec == newest.st_mtim.tv_sec &&
                         status.st_mtim.tv_nsec < newest.st_mtim.tv_nsec))))
            continue;
        newest = status;
        chosen = traces.gl_pathv[i];
    }
    if (chosen)
        input_files_add_file(files, text_copy(chosen), newest.st_size);
    globfree(&traces);
}

/* A capture: CAPTURE/traces/rank0_dp0_tp0_pp0/..., given as itself or as its folder `traces`.
 * find_paths sorts by name, in which rank10 comes before rank2; the order of ranks is set later,
 * by their numbers. */
static bool input_files_add_capture(struct input_files *files, const char *folder)
{
    static const char *const patterns[] = {"traces/rank*", "rank*"};
    size_t count_before = files->count;

    for (size_t i = 0; i < 2 && files->count == count_before; i++) {
        glob_t ranks;

        find_folders(&ranks, folder, patterns[i]);
        for (size_t k = 0; k < ranks.gl_pathc; k++)
            add_newest_trace(files, ranks.gl_pathv[k]);
        globfree(&ranks);
    }
    return files->count > count_before;
}

/* The newest trace below a rank's folder decides which run is the newest; of the same moment the
 * later name. */
struct newest_run {
    char *folder; /* owned */
    struct timespec changed;
};

/* By the newest trace in it, not by the folder's name or time: a folder's time changes with
 * anything that is put there. */
static void consider_run(struct newest_run *newest, const char *rank_folder)
{
    struct input_files traces = {0};
    size_t length = strlen(rank_folder);
    struct stat status;

    add_newest_trace(&traces, rank_folder);
    if (traces.count && stat(traces.files[0].path, &status) == 0 &&
        (!newest->folder || status.st_mtim.tv_sec > newest->changed.tv_sec ||
         (status.st_mtim.tv_sec == newest->changed.tv_sec &&
          status.st_mtim.tv_nsec >= newest->changed.tv_nsec))) {
        for (int slashes = 0; slashes < 2; slashes += rank_folder[length] == '/')
            length--; /* past "/traces/rank0" */
        free(newest->folder);
        newest->folder = require_memory(strndup(rank_folder, length));
        newest->changed = status.st_mtim;
    }
    input_files_clear(&traces);
}

/* captures/NAME and captures, as `flopledger run` lays them out, stand for the newest run in there.
 */
static bool add_newest_run(struct input_files *files, const char *folder)
{
    static const char *const patterns[] = {"*/traces/rank*", "*/*/traces/rank*"};
    struct newest_run newest = {0};
    bool is_added;

    for (size_t i = 0; i < 2; i++) {
        glob_t ranks;

        find_folders(&ranks, folder, patterns[i]);
        for (size_t k = 0; k < ranks.gl_pathc; k++)
            consider_run(&newest, ranks.gl_pathv[k]);
        globfree(&ranks);
    }
    is_added = newest.folder && input_files_add_capture(files, newest.folder);
    free(newest.folder);
    return is_added;
}

/* Of the files from `first` on, which are of one folder, leaves one of each recording. One
 * recording may lie there in several forms (an export beside its source): each counts once. */
static void drop_other_forms(struct input_files *files, size_t first)
{
    size_t count = files->count - first, kept = first;
    const char **names = require_memory(calloc(count + 1, sizeof *names));
    size_t *read_for = require_memory(calloc(count + 1, sizeof *read_for));

    for (size_t i = 0; i < count; i++)
        names[i] = path_name(files->files[first + i].path);
    find_other_forms(read_for, names, count);
    for (size_t i = 0; i < count; i++)
        if (read_for[i] != i && files->other_forms++ == 0) {
            snprintf(files->other_form, sizeof files->other_form, "%s", names[i]);
            snprintf(files->form_read, sizeof files->form_read, "%s", names[read_for[i]]);
        }
    for (size_t i = 0; i < count; i++) {
        if (read_for[i] == i)
            files->files[kept++] = files->files[first + i];
        else
            free(files->files[first + i].path);
    }
    files->count = kept;
    free(read_for);
    free(names);
}

/* Adds the traces right in the folder; false where it cannot be read. */
static bool add_files_of(struct input_files *files, const char *folder)
{
    struct dirent **entries = NULL;
    size_t first = files->count;
    int count = scandir(folder, &entries, input_files_is_no_hidden_file, alphasort);

    for (int i = 0; i < count; i++) {
        add_from_folder(files, folder, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    drop_other_forms(files, first);
    return count >= 0;
}

/* The folders of another recorder's layout below `folder`; false where there are none. Of
 * several runs in the layout of another profiler the newest is read, and the older ones are
 * counted and told. */
static bool add_recorder_folders(struct input_files *files, const char *folder)
{
    SCOPED(recorder_folders) found = {.count = 0};
    size_t count_before = files->count;

    find_recorder_folders(&found, folder);
    for (size_t i = 0; i < found.count; i++)
        (void)add_files_of(files, found.paths[i]);
    if (found.older > 0) {
        files->older_runs += found.older;
        snprintf(files->newest_run, sizeof files->newest_run, "%s", found.paths[0]);
    }
    return files->count > count_before;
}

/* What the folders in a folder without traces hold. */
struct sub_folders {
    size_t with_traces;
    size_t with_one; /* of these: no more than one */
    char first[256]; /* one with traces */
};

static void drop_files_from(struct input_files *files, size_t count)
{
    while (files->count > count)
        free(files->files[--files->count].path);
}

/* A folder for each rank (rank0/trace.json), or one that holds all (iteration_10/rank0.json): adds
 * their traces. Of several with several traces each it cannot be told which are one run: adds
 * none. One trace in each folder is a rank each; all in one folder is a run. Two folders of
 * several traces each may be two runs, or two times of one: they are dropped again, and the
 * message names one of them to choose. */
static void add_sub_folders(struct input_files *files, const char *folder,
                            struct sub_folders *found)
{
    size_t count_before = files->count, passed_over = files->passed_over;
    struct dirent **entries = NULL;
    int count = scandir(folder, &entries, input_files_is_no_hidden_file, alphasort);

    for (int i = 0; i < count; i++) {
        size_t here = files->count;
        char *path = path_join(folder, entries[i]->d_name);

        (void)add_files_of(files, path);
        if (files->count > here && found->with_traces++ == 0)
            snprintf(found->first, sizeof found->first, "%s", entries[i]->d_name);
        found->with_one += files->count == here + 1;
        free(path);
        free(entries[i]);
    }
    free(entries);
    if (found->with_traces > 1 && found->with_one < found->with_traces)
        drop_files_from(files, count_before);
    if (files->count == count_before)
        files->passed_over = passed_over;
}

/* What there is instead of a trace is told, as opening it would. */
static bool input_files_refuse_folder(const struct input_files *files, const char *folder,
                                      struct error *error)
{
    const char *analysis = recording_without_analysis(folder);
    struct trace trace = {0};
    struct error why = {0};

    if (analysis)
        return error_set(error, ERROR_INPUT,
                         "no trace in the folder '%s', but a recording that was not analyzed, of "
                         "%s writes what is read here",
                         folder, analysis);
    if (files->of_recorder &&
        !open_trace(&trace, files->of_recorder, &(struct read_options){.threads = 1}, &why))
        return error_set(error, ERROR_INPUT, "no trace in the folder '%s'; %s", folder,
                         why.message);
    trace_clear(&trace);
    return error_set(error, ERROR_INPUT,
                     "no trace in the folder '%s' (other files: %zu, folders: %zu): give the "
                     "folder that holds the traces (.json, .json.gz, .xplane.pb, .pftrace, .db, "
                     ".sqlite), or name them",
                     folder, files->passed_over, files->folders_passed_over);
}

/* From the most certain layout to the least: a capture of our own, traces in the folder
 * itself, the newest of several captures, layouts of other profilers, and then folders in it.
 * The first that gives any trace ends the search, so that no file is read twice. */
static bool input_files_add_folder(struct input_files *files, const char *folder,
                                   struct error *error)
{
    struct sub_folders found = {0};
    size_t count_before = files->count;

    free(files->of_recorder); /* of another folder */
    files->of_recorder = NULL;
    if (input_files_add_capture(files, folder))
        return true;
    if (!add_files_of(files, folder))
        return error_set(error, ERROR_INPUT, "cannot read the folder '%s': %s", folder,
                         strerror(errno));
    if (files->count == count_before &&
        (add_newest_run(files, folder) || add_recorder_folders(files, folder))) {
        /* What lies beside traces of a known layout is its recorder's, and no surprise to
         * anybody. */
        files->folders_passed_over = files->passed_over = 0;
        return true;
    }
    if (files->count == count_before && files->folders_passed_over > 0) {
        size_t folders = files->folders_passed_over;

        add_sub_folders(files, folder, &found);
        files->folders_passed_over = files->count > count_before ? 0 : folders;
    }
    if (files->count > count_before)
        return true;
    if (found.with_traces > 0)
        return error_set(error, ERROR_INPUT,
                         "no trace in the folder '%s' itself, and several in each of %zu folders "
                         "in it: name one of these ('%s' is one)",
                         folder, found.with_traces, found.first);
    return input_files_refuse_folder(files, folder, error);
}

/* A name that does not exist is added as well: opening it tells the error, in the same words
 * as for any other file. */
static bool add_operand(struct input_files *files, const char *operand, struct error *error)
{
    struct stat status;

    if (strcmp(operand, "-") != 0 && stat(operand, &status) == 0) {
        if (S_ISDIR(status.st_mode))
            return input_files_add_folder(files, operand, error);
    } else {
        status.st_mode = 0;
        for (size_t i = 0; i < files->count; i++) {
            if (strcmp(operand, "-") == 0 && strcmp(files->files[i].path, "-") == 0)
                return error_set(error, ERROR_USAGE, "'-' (standard input) can be given once only");
        }
    }
    input_files_add_file(files, text_copy(operand), S_ISREG(status.st_mode) ? status.st_size : -1);
    return true;
}

static int input_files_compare_numbers(const void *left, const void *right)
{
    const int64_t *a = left;
    const int64_t *b = right;

    return *a < *b ? -1 : *a > *b;
}

/* Ranks are the files' own only if each has one and none twice. */
static bool are_all_known(const int64_t *ranks, size_t count)
{
    int64_t *sorted = require_memory(calloc(count + 1, sizeof *sorted));
    bool is_known = count > 1;

    memcpy(sorted, ranks, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, input_files_compare_numbers);
    for (size_t i = 0; i < count; i++)
        is_known = is_known && sorted[i] >= 0 && (i == 0 || sorted[i] != sorted[i - 1]);
    free(sorted);
    return is_known;
}

/* Names tell ranks where each tells one and no two the same; a name alone may tell anything.
 * Either every name tells a rank and all differ, or the numbers of names that are else alike do;
 * if neither holds, no name is believed. The ranks that traces give themselves go before all of
 * this. */
static void collect_ranks_from_names(struct input_files *files)
{
    int64_t *ranks = require_memory(calloc(files->count + 1, sizeof *ranks));
    const char **paths = require_memory(calloc(files->count + 1, sizeof *paths));
    bool is_known;

    for (size_t i = 0; i < files->count; i++) {
        files->files[i].place = i;
        /* /dev/fd/63 is a pipe of the shell's, and no rank */
        paths[i] = strncmp(files->files[i].path, "/dev/", 5) == 0 ||
                           strncmp(files->files[i].path, "/proc/", 6) == 0
                       ? "-"
                       : files->files[i].path;
        ranks[i] = rank_in_path(paths[i]);
    }
    is_known =
        are_all_known(ranks, files->count) || ranks_in_numbered_paths(ranks, paths, files->count);
    for (size_t i = 0; i < files->count; i++)
        files->files[i].rank = is_known ? ranks[i] : -1;
    free(paths);
    free(ranks);
}

static void name_files_apart(struct input_files *files)
{
    const char **paths = require_memory(calloc(files->count + 1, sizeof *paths));
    const char **names = require_memory(calloc(files->count + 1, sizeof *names));

    for (size_t i = 0; i < files->count; i++)
        paths[i] = files->files[i].path;
    path_names_apart(names, paths, files->count);
    for (size_t i = 0; i < files->count; i++)
        files->files[i].name = names[i];
    free(names);
    free(paths);
}

/* One file of unknown size (a pipe) makes the sum unknown: progress then shows no share. */
bool find_input_files(struct input_files *files, char **operands, int count, struct error *error)
{
    if (count == 0)
        return error_set(
            error, ERROR_USAGE,
            "no trace given: name a file, a folder of them, or '-' for standard input");
    for (int i = 0; i < count; i++) {
        if (!add_operand(files, operands[i], error)) {
            input_files_clear(files);
            return false;
        }
    }
    for (size_t i = 0; i < files->count && files->bytes_in_all >= 0; i++)
        files->bytes_in_all =
            files->files[i].bytes < 0 ? -1 : files->bytes_in_all + files->files[i].bytes;
    collect_ranks_from_names(files);
    name_files_apart(files);
    return true;
}

/* "2 files"; NULL where there is none. */
static const char *counted(struct results *results, size_t count, const char *what)
{
    return count > 0 ? results_format(results, "%zu %s%s", count, what, count == 1 ? "" : "s")
                     : NULL;
}

/* What is in the folders and is a trace, but not read. */
static void note_other_runs(struct results *results, const struct input_files *files)
{
    const char *older = counted(results, files->older_runs, "older profile");
    const char *forms = counted(results, files->other_forms, "file");

    if (older)
        results_add_problem(
            results, (struct finding){.what = results_format(results, "passed over: %s", older),
                                      .evidence = results_format(results, "the newest is '%s'",
                                                                 files->newest_run),
                                      .cost_ns = -1});
    if (forms)
        results_add_problem(
            results,
            (struct finding){.what = results_format(results,
                                                    "passed over: %s with what other files of the "
                                                    "folder hold in another form ('%s' is read, "
                                                    "not '%s')",
                                                    forms, files->form_read, files->other_form),
                             .cost_ns = -1});
}

/* Folders hold all kinds of files; those that are no traces are told by number with one
 * example, so that a trace which was not recognized is noticed. */
void note_passed_over(struct results *results, const struct input_files *files, const char *of)
{
    const char *file_count = counted(results, files->passed_over, "file");
    const char *folder_count = counted(results, files->folders_passed_over, "folder");
    struct finding finding = {.cost_ns = -1};

    note_other_runs(results, files);
    if (!file_count && !folder_count)
        return;
    finding.what =
        results_format(results, "passed over as no traces%s%s: %s%s%s", of ? " in " : "",
                       of ? of : "", file_count ? file_count : "",
                       file_count && folder_count ? ", " : "", folder_count ? folder_count : "");
    if (file_count)
        finding.evidence =
            results_format(results, "the first of the files: '%s'", files->first_passed_over);
    results_add_problem(results, finding);
}

void input_files_clear(struct input_files *files)
{
    if (!files)
        return;
    for (size_t i = 0; i < files->count; i++)
        free(files->files[i].path);
    free(files->files);
    free(files->of_recorder);
    memset(files, 0, sizeof *files);
}
