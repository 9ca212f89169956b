/* Finds the captures of a trace's graphs, and reads them one after the other. */
#include "pipeline/graph_captures.h"

#include "base/core/arena.h"
#include "base/core/array.h"
#include "base/io/files_seen.h"
#include "base/io/folders.h"
#include "base/io/whole_file.h"
#include "base/json/json_tree.h"
#include "base/text/owned_text.h"
#include "pipeline/file_content.h"
#include "ranks/rank_layout.h"
#include "readers/open_trace.h"
#include "trace/graphs/graph_matching.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char details_name[] = "execution_details.json";

struct capture_list {
    char **paths;
    size_t count;
};

const char capture_accepted[] = "a trace, a folder, or execution_details.json; at most 256 of them";

bool parse_capture(const char *text, void *field)
{
    struct capture_choice *choice = field;

    if (choice->count == CAPTURES_GIVEN_MAX)
        return false;
    choice->paths[choice->count++] = text;
    return true;
}

static void capture_list_add(struct capture_list *list, char *path)
{
    ARRAY_ADD(list->paths, list->count, path);
}

static void capture_list_clear(struct capture_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->paths[i]);
    free(list->paths);
    *list = (struct capture_list){0};
}

/* Noted whether it is there or not: an answer that is kept depends on a file that is missing
 * as on one that is there. */
static bool is_file(const char *path)
{
    struct stat status;

    files_seen_note(path);
    return stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

static bool is_folder(const char *path)
{
    struct stat status;

    files_seen_note(path);
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* vLLM and SGLang list their captures: [{"file": ..., "batch_size": ..., "mode": ...}]. Paths in
 * the list are relative to the folder of the list, not to that of the command. */
static bool list_details(struct capture_list *list, const char *path, struct error *error)
{
    SCOPED(arena) arena = {0};
    bool is_missing;
    size_t length;
    char *text = read_whole_file(path, &length, &is_missing, error);
    const struct json_node *root = text ? json_tree_parse(&arena, text, length, error) : NULL;
    char *folder = path_folder(path);

    if (root && root->kind != JSON_ARRAY) {
        (void)error_set(error, ERROR_INPUT,
                        "'%s' is no list of captures: expected [{\"file\": ...}, ...]", path);
        root = NULL;
    }
    for (const struct json_node *item = root ? root->first : NULL; item; item = item->next) {
        const char *file = json_text_of(item, "file", NULL);

        if (file && *file)
            capture_list_add(list, *file == '/' ? text_copy(file) : path_join(folder, file));
    }
    free(folder);
    free(text);
    return root != NULL;
}

/* Traces right in the folder. */
static void list_folder(struct capture_list *list, const char *folder, const char *pattern)
{
    glob_t found;

    find_paths(&found, folder, pattern);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        const char *name = path_name(found.gl_pathv[i]);

        if (has_trace_name(name) && strcmp(name, details_name) != 0)
            capture_list_add(list, text_copy(found.gl_pathv[i]));
    }
    globfree(&found);
}

/* The list goes before the files, since it says which of them are captures. A folder that was
 * named as one of captures gives all its traces; beside a trace, only those whose names say
 * that they are captures. */
static bool list_captures_in(struct capture_list *list, const char *folder, bool takes_all,
                             struct error *error)
{
    char *details = path_join(folder, details_name);
    bool is_done = true;

    if (is_file(details))
        is_done = list_details(list, details, error);
    else
        list_folder(list, folder, takes_all ? "*" : "*graph_capture*");
    free(details);
    return is_done;
}

/* Three kinds of path, told by what they are and how they end. A folder without a trace is an
 * error: the user named it for its captures, and silence would look as if they had been used. */
static bool list_given(struct capture_list *list, const struct capture_choice *choice,
                       struct error *error)
{
    for (size_t i = 0; i < choice->count; i++) {
        const char *path = choice->paths[i];
        size_t length = strlen(path), name_length = sizeof details_name - 1;

        if (is_folder(path)) {
            size_t before = list->count;

            if (!list_captures_in(list, path, true, error))
                return false;
            if (list->count == before)
                return error_set(
                    error, ERROR_INPUT,
                    "no trace in the folder '%s' that --capture names: give the folder "
                    "that holds the .json or .json.gz files of the captures",
                    path);
        } else if (length >= name_length &&
                   strcmp(path + length - name_length, details_name) == 0) {
            if (!list_details(list, path, error))
                return false;
        } else {
            capture_list_add(list, text_copy(path));
        }
    }
    return true;
}

/* Beside the trace, and in the folder capture_traces beside it. */
static bool list_beside(struct capture_list *list, const char *trace_path, struct error *error)
{
    char *folder = path_folder(trace_path);
    char *captures = path_join(folder, "capture_traces");
    bool is_done = list_captures_in(list, folder, false, error) &&
                   (!is_folder(captures) || list_captures_in(list, captures, true, error));

    free(captures);
    free(folder);
    return is_done;
}

/* A capture of another rank of the run launches what that rank computes. Only if both tell a
 * rank: a name without one may be of any. */
static bool is_of_other_rank(const struct trace *trace, const char *path)
{
    int64_t rank = rank_in_path(path_name(path));

    return rank >= 0 && trace->facts.rank >= 0 && rank != trace->facts.rank;
}

/* One thread, as captures are small. What is needed of it is taken over and the trace goes, so
 * that only one is held at a time. */
static bool add_capture(struct captured_graphs *graphs, struct trace *trace, const char *path,
                        struct error *error)
{
    struct read_options options = {.threads = 1};
    SCOPED(trace) capture = {0};

    if (!open_trace(&capture, path, &options, error))
        return false;
    captured_graphs_add(graphs, trace, &capture);
    return true;
}

/* A capture that cannot be read is left out and told: the trace itself has all its times
 * without it. */
static void note_unread(struct results *results, const struct error *error)
{
    results_add_warning(results,
                        results_format(results, "a capture was left out: %s", error->message));
}

/* Who names captures takes what follows for made with them. That none of them fits would show in
 * a section alone, as no kernel of a graph having an operator. */
static void note_none_fits(struct results *results, const struct trace *trace, size_t given)
{
    const struct graph_replays *graphs = trace->graphs;
    const char *files = given == 1 ? "the file" : "the files";
    const char *what;

    if (graphs->fate_ns[GRAPH_ATTRIBUTED] + graphs->fate_ns[GRAPH_WITHOUT_PLACE] > 0)
        return;
    if (graphs->captured_graphs == 0)
        what = results_format(results,
                              "nothing is captured in %s that --capture names: its "
                              "recording has to begin before the graph is captured and to "
                              "end after it",
                              files);
    else if (graphs->fate_ns[GRAPH_NO_MATCH] < graphs->kernel_ns)
        return;
    else
        what = results_format(results,
                              "no graph captured in %s that --capture names has the "
                              "kernels of this trace in their order: a capture of the same "
                              "program with the same batch sizes would",
                              files);
    results_add_warning(results, what);
}

/* Graphs launch many kernels by one call, which the trace does not name one by one; a trace of
 * the capture does. What was found by looking may be missing or unreadable, and the report
 * goes on with a note; what the user named has to be readable. The trace itself comes first:
 * recordings with warm-up in them hold their own captures. */
bool attribute_graphs_of(struct trace *trace, const struct capture_choice *choice,
                         struct results *results, struct error *error)
{
    const char *path = trace_text(trace, trace->path);
    struct captured_graphs graphs = {0};
    struct capture_list list = {0};
    struct error unread = {0};
    bool is_given = choice->count > 0;
    bool is_done = true;

    if (trace->graphs || !has_graph_launches(trace))
        return true;
    if (is_given)
        is_done = list_given(&list, choice, error);
    else if (strcmp(path, "-") != 0 && !list_beside(&list, path, &unread))
        note_unread(results, &unread);
    if (is_done) /* a recording may hold both */
        captured_graphs_add(&graphs, trace, trace);
    for (size_t i = 0; i < list.count && is_done; i++) {
        struct error failure = {0};

        if (strcmp(list.paths[i], path) == 0 ||
            (!is_given && is_of_other_rank(trace, list.paths[i])) ||
            add_capture(&graphs, trace, list.paths[i], &failure))
            continue;
        if (is_given)
            is_done = error_set(error, ERROR_INPUT, "%s", failure.message);
        else
            note_unread(results, &failure);
    }
    if (is_done)
        attribute_graphs(trace, &graphs);
    if (is_done && is_given)
        note_none_fits(results, trace, choice->count);
    captured_graphs_clear(&graphs);
    capture_list_clear(&list);
    return is_done;
}
