/* A window of full recording that a running job is asked for. The request is a file in the
 * capture's folder, written atomically; each rank's recorder answers in a file of its own. */
#include "base/io/output_file.h"
#include "base/io/whole_file.h"
#include "base/json/json_tree.h"
#include "base/json/json_writer.h"
#include "base/text/display_text.h"
#include "base/text/owned_text.h"
#include "pipeline/running_capture.h"
#include "pipeline/subcommands.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

/* Answers are looked for ten times a second; a rank's usual step is the median of its last 20. */
enum {
    LOOK_EVERY_US = 100000,
    MEDIAN_OF = 20,
};

/* The recorder looks once a second (python/flopledger/trace_requests.py), and takes a step to
 * begin.
 */
static const int64_t seen_within_ns = 1500000000;
static const int64_t patience_ns = 20000000000; /* for the first answer, besides some steps */

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

void trace_request_clear(struct trace_request *request)
{
    job_records_clear(&request->records);
    arena_clear(&request->arena);
}

static int64_t trace_request_monotonic_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* The ranks that run, and the first step that all of them can still begin with. All ranks must
 * begin with the same step, so that their collectives are in all traces. Recorders look once a
 * second; in that time the fastest rank makes 1.5 s / its step time of steps. Three more for the
 * step it is in, and for ranks that are ahead of what their records show. */
static bool find_ranks(struct trace_request *request, int64_t steps, struct error *error)
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
    request->last_step = request->first_step + steps - 1;
    return true;
}

static char *request_path(const struct trace_request *request)
{
    return text_format("%s/trace-request.json", request->capture);
}

/* A number nobody else has: with it a recorder tells this request from the one before, and
 * answers in a file of that name. */
static bool write_request(struct trace_request *request, struct error *error)
{
    struct output_file file = {0};
    struct json_writer writer = {0};
    uint64_t number;
    char *path = request_path(request);
    bool is_open;

    if (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number)
        number = (uint64_t)trace_request_monotonic_ns();
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

/* Records are read first: they tell who lives and how far each is. */
bool trace_request_send(struct trace_request *request, const char *given, int64_t steps,
                        struct error *error)
{
    request->capture = find_running_capture(&request->arena, given, error);
    if (!request->capture)
        return false;
    job_records_update(&request->records, request->capture);
    return find_ranks(request, steps, error) && write_request(request, error);
}

int64_t trace_request_reached(const struct trace_request *request)
{
    return request->ranks[0].record->progress.step;
}

static const char *trace_request_text_of(struct arena *arena, const struct json_node *node,
                                         const char *key)
{
    const char *text = json_text_of(node, key, "");

    return arena_copy_text(arena, text, strlen(text));
}

/* A file that is not there yet, or half a text, is no answer; the next look tells. The process
 * is only called gone if no answer stands, since it may have answered and then ended. */
static void read_answer(struct trace_request *request, struct traced_rank *rank)
{
    SCOPED(arena) arena = {0};
    const struct json_node *answer = NULL;
    const char *state;
    size_t length = 0;
    struct error ignored;
    bool is_missing;
    char *text;
    char *path = text_format("%s/trace-answers/%s.rank%d.json", request->capture, request->id,
                             rank->record->progress.reader.header.rank);

    text = read_whole_file(path, &length, &is_missing, &ignored);
    if (text)
        answer = json_tree_parse(&arena, text, length, &ignored);
    state = json_text_of(answer, "state", "");
    if (strcmp(state, "recorded") == 0) {
        rank->state = RANK_RECORDED;
        rank->text = trace_request_text_of(&request->arena, answer, "trace");
    } else if (strcmp(state, "refused") == 0) {
        rank->state = RANK_REFUSED;
        rank->text = trace_request_text_of(&request->arena, answer, "why");
    } else if (strcmp(state, "accepted") == 0) {
        rank->state = RANK_ACCEPTED;
    } else if (!rank->record->lives) {
        rank->state = RANK_GONE;
    }
    free(text);
    free(path);
}

/* How many ranks are in that state. */
static size_t trace_request_count_in(const struct trace_request *request, enum rank_state state)
{
    size_t count = 0;

    for (size_t i = 0; i < request->rank_count; i++)
        count += request->ranks[i].state == state;
    return count;
}

/* Whether the request's file is that of another by now. There is one file for requests, and the
 * newest wins: recorders see only that one. */
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

/* Ranks that have not answered will not, once they are asked for something else. Looks for an
 * answer once more after the other request was seen: both may have come between two looks. */
static void give_up_overtaken(struct trace_request *request)
{
    if (trace_request_count_in(request, RANK_SILENT) == 0 || !is_overtaken(request))
        return;
    for (size_t i = 0; i < request->rank_count; i++) {
        if (request->ranks[i].state == RANK_SILENT)
            read_answer(request, &request->ranks[i]); /* it may have come in between */
        if (request->ranks[i].state == RANK_SILENT)
            request->ranks[i].state = RANK_TAKEN;
    }
}

/* Ends when every rank has said its last word, when the user's time is over, or when no rank
 * has even accepted in the time that a living one needs for it: some steps and twenty seconds,
 * since recorders look between steps. */
void trace_request_await(struct trace_request *request, int64_t timeout_s)
{
    int64_t started = trace_request_monotonic_ns();
    int64_t first_answer_by = started + patience_ns + 5 * request->step_ns;
    int64_t end = timeout_s > 0 ? started + timeout_s * 1000000000 : INT64_MAX;

    for (;;) {
        int64_t now = trace_request_monotonic_ns();

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
        if (trace_request_count_in(request, RANK_SILENT) +
                    trace_request_count_in(request, RANK_ACCEPTED) ==
                0 ||
            now > end ||
            (now > first_answer_by && trace_request_count_in(request, RANK_ACCEPTED) == 0))
            return;
        usleep(LOOK_EVERY_US);
    }
}

/* For each state what the user can do next, or that nothing has to be done. A recorded one has
 * no reason and no word. */
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

/* One rank that failed is told; the others mostly failed for the same reason. */
bool trace_request_tell(const struct trace_request *request, struct error *error)
{
    size_t recorded = trace_request_count_in(request, RANK_RECORDED);
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
