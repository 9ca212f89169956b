/* `flopledger trace PID|CAPTURE`: has a running program record a window now. */
#include "base/display_text.h"
#include "base/json_tree.h"
#include "base/json_writer.h"
#include "base/out_of_memory.h"
#include "base/output_file.h"
#include "base/whole_file.h"
#include "commands/command.h"
#include "commands/running_capture.h"
#include "step_record/job_records.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

enum {
    LOOK_EVERY_US = 100000,
    STEPS_MAX = 1000,
    MEDIAN_OF = 20,
};

/* The recorder looks once a second (python/flopledger/trace_requests.py), and takes a step to
 * begin.
 */
static const int64_t seen_within_ns = 1500000000;
static const int64_t patience_ns = 20000000000; /* for the first answer, besides some steps */

struct trace_settings {
    int64_t steps;
    int64_t timeout_s;
};

static const struct option trace_options[] = {
    {.name = "steps",
     .letter = 's',
     .kind = OPTION_INTEGER,
     .metavar = "N",
     .offset = offsetof(struct trace_settings, steps),
     .minimum = 1,
     .maximum = STEPS_MAX,
     .help = "how many steps to record (default: 3)"},
    {.name = "timeout",
     .kind = OPTION_INTEGER,
     .metavar = "SECONDS",
     .offset = offsetof(struct trace_settings, timeout_s),
     .minimum = 1,
     .maximum = INT32_MAX,
     .help = "give up after so long (default: when no rank answers, or none is left)"},
    {0},
};

enum rank_state {
    RANK_SILENT,
    RANK_ACCEPTED,
    RANK_RECORDED,
    RANK_REFUSED,
    RANK_GONE,
    RANK_TAKEN, /* by another request, which came before it saw this one */
};

struct traced_rank {
    const struct job_record *record;
    enum rank_state state;
    const char *text; /* the trace's path, or why it is refused */
};

struct trace_request {
    struct arena arena;
    struct job_records records;
    const char *capture;
    char id[17];
    int64_t first_step;
    int64_t last_step;
    int64_t step_ns;
    struct traced_rank *ranks; /* those that lived */
    size_t rank_count;
};

static void trace_request_clear(struct trace_request *request)
{
    job_records_clear(&request->records);
    arena_clear(&request->arena);
}

static int64_t monotonic_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* The ranks that run, and the first step that all of them can still begin with. */
static bool find_ranks(struct trace_request *request, const struct trace_settings *settings,
                       struct error *error)
{
    const struct job_records *records = &request->records;
    int64_t newest = 0;
    int64_t shortest = INT64_MAX;

    request->ranks = arena_allocate(&request->arena, (records->count + 1) * sizeof *request->ranks);
    for (size_t i = 0; i < records->count; i++) {
        const struct job_record *record = records->records[i];
        int64_t step_ns = rank_recent_step_ns(&record->progress, MEDIAN_OF);

        if (!record->lives)
            continue;
        request->ranks[request->rank_count++] = (struct traced_rank){.record = record};
        newest = record->progress.step > newest ? record->progress.step : newest;
        shortest = step_ns > 0 && step_ns < shortest ? step_ns : shortest;
        request->step_ns = step_ns > request->step_ns ? step_ns : request->step_ns;
    }
    if (request->rank_count == 0)
        return error_set(error, ERROR_NO_DATA,
                         "no process writes to '%s' any more: the program has ended, or runs on "
                         "another machine (then ask there)",
                         request->capture);
    if (shortest == INT64_MAX)
        shortest = seen_within_ns;
    request->first_step = newest + 3 + seen_within_ns / shortest;
    request->last_step = request->first_step + settings->steps - 1;
    return true;
}

static char *request_path(const struct trace_request *request)
{
    char *path;

    if (asprintf(&path, "%s/trace-request.json", request->capture) < 0)
        end_out_of_memory();
    return path;
}

static bool write_request(struct trace_request *request, struct error *error)
{
    struct output_file file = {0};
    struct json_writer writer = {0};
    uint64_t number;
    char *path = request_path(request);
    bool is_open;

    if (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number)
        number = (uint64_t)monotonic_ns();
    snprintf(request->id, sizeof request->id, "%016" PRIx64, number);
    is_open = output_file_open(&file, path, error);
    free(path);
    if (!is_open)
        return false;
    writer.output = file.stream;
    json_begin_object(&writer, NULL, JSON_ON_ONE_LINE);
    json_text(&writer, "id", request->id);
    json_integer(&writer, "first_step", request->first_step);
    json_integer(&writer, "last_step", request->last_step);
    json_end_object(&writer);
    fputc('\n', file.stream);
    return output_file_close(&file, error);
}

static const char *text_of(struct arena *arena, const struct json_node *node, const char *key)
{
    const char *text = json_text_of(node, key, "");

    return arena_copy_text(arena, text, strlen(text));
}

static void read_answer(struct trace_request *request, struct traced_rank *rank)
{
    SCOPED(arena) arena = {0};
    const struct json_node *answer = NULL;
    const char *state;
    size_t length = 0;
    struct error ignored;
    bool is_missing;
    char *path;
    char *text;

    if (asprintf(&path, "%s/trace-answers/%s.rank%d.json", request->capture, request->id,
                 rank->record->progress.reader.header.rank) < 0)
        end_out_of_memory();
    text = read_whole_file(path, &length, &is_missing, &ignored);
    if (text)
        answer = json_tree_parse(&arena, text, length, &ignored);
    state = json_text_of(answer, "state", "");
    if (strcmp(state, "recorded") == 0) {
        rank->state = RANK_RECORDED;
        rank->text = text_of(&request->arena, answer, "trace");
    } else if (strcmp(state, "refused") == 0) {
        rank->state = RANK_REFUSED;
        rank->text = text_of(&request->arena, answer, "why");
    } else if (strcmp(state, "accepted") == 0) {
        rank->state = RANK_ACCEPTED;
    } else if (!rank->record->lives) {
        rank->state = RANK_GONE;
    }
    free(text);
    free(path);
}

/* How many ranks are in that state. */
static size_t count_in(const struct trace_request *request, enum rank_state state)
{
    size_t count = 0;

    for (size_t i = 0; i < request->rank_count; i++)
        count += request->ranks[i].state == state;
    return count;
}

/* Whether the request's file is that of another by now. */
static bool is_overtaken(const struct trace_request *request)
{
    SCOPED(arena) arena = {0};
    char *path = request_path(request);
    const struct json_node *newest = NULL;
    struct error ignored;
    bool is_missing;
    size_t length = 0;
    char *text = read_whole_file(path, &length, &is_missing, &ignored);
    bool is_other;

    if (text)
        newest = json_tree_parse(&arena, text, length, &ignored);
    is_other = newest && strcmp(json_text_of(newest, "id", request->id), request->id) != 0;
    free(text);
    free(path);
    return is_other;
}

/* Ranks that have not answered will not, once they are asked for something else. */
static void give_up_overtaken(struct trace_request *request)
{
    if (count_in(request, RANK_SILENT) == 0 || !is_overtaken(request))
        return;
    for (size_t i = 0; i < request->rank_count; i++) {
        if (request->ranks[i].state == RANK_SILENT)
            read_answer(request, &request->ranks[i]); /* it may have come in between */
        if (request->ranks[i].state == RANK_SILENT)
            request->ranks[i].state = RANK_TAKEN;
    }
}

/* Until each rank has recorded, refused, or is gone; or until patience ends. */
static void await_answers(struct trace_request *request, const struct trace_settings *settings)
{
    int64_t started = monotonic_ns();
    int64_t first_answer_by = started + patience_ns + 5 * request->step_ns;
    int64_t end = settings->timeout_s > 0 ? started + settings->timeout_s * 1000000000 : INT64_MAX;

    for (;;) {
        int64_t now = monotonic_ns();

        job_records_update(&request->records, request->capture);
        for (size_t i = 0; i < request->rank_count; i++) {
            if (request->ranks[i].state == RANK_SILENT || request->ranks[i].state == RANK_ACCEPTED)
                read_answer(request, &request->ranks[i]);
            if (request->ranks[i].state == RANK_ACCEPTED && !request->ranks[i].record->lives) {
                read_answer(request, &request->ranks[i]); /* it may just have ended in good order */
                if (request->ranks[i].state == RANK_ACCEPTED)
                    request->ranks[i].state = RANK_GONE;
            }
        }
        give_up_overtaken(request);
        if (count_in(request, RANK_SILENT) + count_in(request, RANK_ACCEPTED) == 0 || now > end ||
            (now > first_answer_by && count_in(request, RANK_ACCEPTED) == 0))
            return;
        usleep(LOOK_EVERY_US);
    }
}

static const char *why_not(const struct traced_rank *rank)
{
    switch (rank->state) {
    case RANK_REFUSED:
        return rank->text;
    case RANK_GONE:
        return "the process ended before";
    case RANK_TAKEN:
        return "another 'flopledger trace' has asked for other steps just after: its window is "
               "recorded; ask again after it";
    case RANK_ACCEPTED:
        return "it has not come so far yet: it records all the same when it does";
    case RANK_SILENT:
        return "it does not answer: it hangs, or its steps are very long, or it was recorded by an "
               "older flopledger";
    case RANK_RECORDED:
        break;
    }
    return "";
}

static bool tell(const struct trace_request *request, struct error *error)
{
    size_t recorded = count_in(request, RANK_RECORDED);
    const struct traced_rank *failed = NULL;

    if (recorded > 0)
        printf("recorded steps %" PRId64 " to %" PRId64 " of %zu of %zu rank%s:\n",
               request->first_step, request->last_step, recorded, request->rank_count,
               request->rank_count == 1 ? "" : "s");
    for (size_t i = 0; i < request->rank_count; i++) {
        const struct traced_rank *rank = &request->ranks[i];

        if (rank->state == RANK_RECORDED)
            printf("  %s\n", show_text(rank->text).text);
        else if (!failed)
            failed = rank;
    }
    if (recorded > 0)
        printf("to see it: flopledger report %s\n", show_text(request->capture).text);
    if (!failed)
        return true;
    return error_set(error, recorded > 0 ? ERROR_PARTIAL : ERROR_FAILURE,
                     "rank %d did not record steps %" PRId64 " to %" PRId64 ": %s",
                     failed->record->progress.reader.header.rank, request->first_step,
                     request->last_step, why_not(failed));
}

static bool run_trace(int count, char **arguments, struct error *error)
{
    struct trace_settings settings = {.steps = 3};
    SCOPED(trace_request) request = {0};

    if (!parse_options(trace_options, &settings, arguments, &count, error))
        return false;
    if (count > 1)
        return error_set(error, ERROR_USAGE, "one PID or CAPTURE is wanted, and '%s' is a second",
                         arguments[1]);
    request.capture = find_running_capture(&request.arena, count > 0 ? arguments[0] : NULL, error);
    if (!request.capture)
        return false;
    job_records_update(&request.records, request.capture);
    if (!find_ranks(&request, &settings, error) || !write_request(&request, error))
        return false;
    fprintf(stderr,
            "flopledger: asked %zu rank%s of '%s' for steps %" PRId64 " to %" PRId64
            "; step %" PRId64 " has ended\n",
            request.rank_count, request.rank_count == 1 ? "" : "s", show_text(request.capture).text,
            request.first_step, request.last_step, request.ranks[0].record->progress.step);
    await_answers(&request, &settings);
    return tell(&request, error);
}

const struct command trace_command = {
    .name = "trace",
    .summary = "have a running program that is recorded write a full trace now",
    .usage = "[PID|CAPTURE]",
    .description =
        "Asks a program that 'flopledger run' started for a window of full recording, as --steps "
        "of 'run' would have done: all its ranks record the same steps, a moment ahead of where "
        "they are. The request is a file in the capture's folder, which the recorder looks at once "
        "a second between two steps; the program is not stopped.\n\n"
        "PID is the number of a process that trains, or of 'flopledger run'; CAPTURE is the folder "
        "that 'run' named, or one above it. Without either, the newest capture below captures/ "
        "counts. The command ends when the traces are written, or says which rank did not record, "
        "and why.",
    .examples = "flopledger trace --steps 5\n"
                "    five steps of the newest run below captures/\n"
                "flopledger trace 4711\n"
                "    of that process and its other ranks\n",
    .options = trace_options,
    .run = run_trace,
};
