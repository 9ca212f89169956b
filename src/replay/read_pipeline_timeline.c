/* Reads timelines of data-parallel pipelines. */
#include "base/core/arena.h"
#include "base/core/array.h"
#include "base/core/invariant.h"
#include "base/io/input_stream.h"
#include "base/io/whole_file.h"
#include "base/json/json_tree.h"
#include "replay/pipeline_job.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    const char *label;
    bool communicates;
} kinds[] = {
#define PIPELINE_OP(id, name, is_communication, label) {name, label, is_communication},
#include "replay/pipeline_op_list.def"
#undef PIPELINE_OP
};

const char *pipeline_kind_name(enum pipeline_kind kind)
{
    return kinds[kind].name;
}

const char *pipeline_kind_label(enum pipeline_kind kind)
{
    return kinds[kind].label;
}

bool pipeline_kind_communicates(enum pipeline_kind kind)
{
    return kinds[kind].communicates;
}

enum { RANKS_MAX = 1 << 20 };

/* By the beginning of the file alone, as the reader is chosen before it is read. */
bool looks_like_pipeline_timeline(const char *head, size_t length)
{
    while (length > 0 && (*head == ' ' || *head == '\n' || *head == '\r' || *head == '\t')) {
        head++;
        length--;
    }
    return length > 0 && (*head == '[' || *head == '{') &&
           memmem(head, length, "\"model_chunk\"", 13) != NULL &&
           (memmem(head, length, "-compute\"", 9) != NULL ||
            memmem(head, length, "\"params-all-gather\"", 19) != NULL);
}

/* ---- threads ---- */

/* A thread of a process: which worker it belongs to. */
struct worker_thread {
    int64_t process;
    int64_t thread;
    uint32_t stage;
    uint32_t tensor_rank;
};

struct worker_threads {
    struct worker_thread *threads; /* [count], by process and thread once sorted */
    size_t count;
    uint32_t first_tensor_rank;
};

static int compare_threads(const void *one, const void *other)
{
    const struct worker_thread *a = one;
    const struct worker_thread *b = other;

    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    return (a->thread > b->thread) - (a->thread < b->thread);
}

/* The number behind `word` in the text; false where there is none. */
static bool read_pipeline_timeline_number_behind(const char *text, const char *word,
                                                 uint32_t *number)
{
    const char *found = strstr(text, word);
    char *end;
    unsigned long value;

    if (!found)
        return false;
    value = strtoul(found + strlen(word), &end, 10);
    *number = (uint32_t)value;
    return end > found + strlen(word) && value < RANKS_MAX;
}

/* "PP rank 2, TP rank 0, compute". */
static void collect_thread_name(struct worker_threads *threads, const struct json_node *event)
{
    const char *name = json_text_of(json_member(event, "args"), "name", "");
    struct worker_thread thread = {.process = json_integer_of(event, "pid", -1),
                                   .thread = json_integer_of(event, "tid", -1)};

    if (!read_pipeline_timeline_number_behind(name, "PP rank ", &thread.stage))
        return;
    (void)read_pipeline_timeline_number_behind(name, "TP rank ", &thread.tensor_rank);
    if (threads->count == 0 || thread.tensor_rank < threads->first_tensor_rank)
        threads->first_tensor_rank = thread.tensor_rank;
    ARRAY_ADD(threads->threads, threads->count, thread);
}

static const struct worker_thread *thread_of(const struct worker_threads *threads,
                                             const struct json_node *event)
{
    struct worker_thread wanted = {.process = json_integer_of(event, "pid", -1),
                                   .thread = json_integer_of(event, "tid", -1)};

    if (threads->count == 0)
        return NULL;
    return bsearch(&wanted, threads->threads, threads->count, sizeof wanted, compare_threads);
}

/* ---- operations ---- */

static bool is_phase(const struct json_node *event, const char *phase)
{
    return strcmp(json_text_of(event, "ph", ""), phase) == 0;
}

/* Microseconds as nanoseconds; INT64_MIN: no number. Rounded at once to whole nanoseconds; 9e15
 * us is beyond any clock and keeps the product within 63 bits. */
static int64_t read_pipeline_timeline_time_of(const struct json_node *event, const char *key)
{
    const struct json_node *node = json_member(event, key);
    double us;

    if (!node || node->kind != JSON_NUMBER)
        return INT64_MIN;
    us = strtod(node->text, NULL);
    return fabs(us) < 9e15 ? llround(us * 1000) : INT64_MIN;
}

static enum pipeline_kind read_pipeline_timeline_kind_of(const char *name)
{
    int kind = 0;

    while (kind < PIPELINE_KIND_COUNT &&
           strcmp(name, pipeline_kind_name((enum pipeline_kind)kind)) != 0)
        kind++;
    return (enum pipeline_kind)kind;
}

/* An operation that was read, with the number of its step. */
struct read_op {
    struct pipeline_op op;
    int64_t step;
};

struct read_ops {
    struct read_op *ops; /* [count] */
    size_t count;
};

/* Tensor-parallel ranks of one stage do the same at the same time: the first of them stands
 * for all, the others are counted. Unknown names are counted and the first is named, so that a
 * new operation is not lost silently. */
static void read_pipeline_timeline_take_event(struct pipeline_job *job, struct read_ops *ops,
                                              const struct worker_threads *threads,
                                              const struct json_node *event)
{
    const char *name = json_text_of(event, "name", "");
    const struct json_node *arguments = json_member(event, "args");
    const struct worker_thread *thread = thread_of(threads, event);
    int64_t process = json_integer_of(event, "pid", -1);
    enum pipeline_kind kind = read_pipeline_timeline_kind_of(name);
    int64_t chunk = json_integer_of(arguments, "model_chunk", 0);
    struct read_op *read = &ops->ops[ops->count];

    read->op = (struct pipeline_op){.start_ns = read_pipeline_timeline_time_of(event, "ts"),
                                    .duration_ns = read_pipeline_timeline_time_of(event, "dur"),
                                    .kind = (uint8_t)kind};
    read->step = json_integer_of(arguments, "step", -1);
    if (kind == PIPELINE_KIND_COUNT || !thread || process < 0 || process >= RANKS_MAX ||
        read->op.start_ns == INT64_MIN || read->op.duration_ns == INT64_MIN || read->step < 0) {
        if (job->unknown_count++ == 0)
            (void)snprintf(job->unknown_name, sizeof job->unknown_name, "%s", name);
        return;
    }
    if (thread->tensor_rank != threads->first_tensor_rank) {
        job->other_tensor_ranks++;
        return;
    }
    if (read->op.duration_ns < 0) { /* it ended before the last rank had come: clocks differ */
        read->op.duration_ns = 0;
        job->negative_count++;
    }
    read->op.data_rank = (uint32_t)process;
    read->op.stage = thread->stage;
    read->op.chunk = chunk > 0 && chunk < RANKS_MAX ? (int32_t)chunk : 0;
    ops->count++;
}

/* ---- the job ---- */

static int read_pipeline_timeline_compare_numbers(const void *one, const void *other)
{
    int64_t a = *(const int64_t *)one;
    int64_t b = *(const int64_t *)other;

    return (a > b) - (a < b);
}

/* All numbers are copied, sorted and thinned in place: steps are as many as ops at most, and
 * their order in the file means nothing. */
static void read_pipeline_timeline_find_steps(struct pipeline_job *job, const struct read_ops *ops)
{
    job->steps = require_memory(calloc(ops->count + 1, sizeof *job->steps));
    for (size_t i = 0; i < ops->count; i++)
        job->steps[i] = ops->ops[i].step;
    if (ops->count > 0)
        qsort(job->steps, ops->count, sizeof *job->steps, read_pipeline_timeline_compare_numbers);
    for (size_t i = 0; i < ops->count; i++)
        if (job->step_count == 0 || job->steps[job->step_count - 1] != job->steps[i])
            job->steps[job->step_count++] = job->steps[i];
}

/* Steps were listed from the same operations, so the number is always found. */
static uint32_t step_index(const struct pipeline_job *job, int64_t step)
{
    const int64_t *found = bsearch(&step, job->steps, job->step_count, sizeof step,
                                   read_pipeline_timeline_compare_numbers);

    return (uint32_t)(found - job->steps);
}

static int read_pipeline_timeline_compare_u32(uint32_t a, uint32_t b)
{
    return (a > b) - (a < b);
}

/* By step, worker and kind before time: the operations of a kind are then numbered by their
 * place. */
static int compare_ops(const void *one, const void *other)
{
    const struct pipeline_op *a = one;
    const struct pipeline_op *b = other;
    int order = read_pipeline_timeline_compare_u32(a->step, b->step);

    if (order == 0)
        order = read_pipeline_timeline_compare_u32(a->data_rank, b->data_rank);
    if (order == 0)
        order = read_pipeline_timeline_compare_u32(a->stage, b->stage);
    if (order == 0)
        order = read_pipeline_timeline_compare_u32(a->kind, b->kind);
    return order ? order : (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

/* Times count from the first operation: differences are all that matters, and stay small. */
static void arrange(struct pipeline_job *job, const struct read_ops *ops)
{
    int64_t first = INT64_MAX;

    read_pipeline_timeline_find_steps(job, ops);
    job->ops = require_memory(calloc(ops->count + 1, sizeof *job->ops));
    for (size_t i = 0; i < ops->count; i++) {
        const struct pipeline_op *op = &ops->ops[i].op;

        job->ops[i] = *op;
        job->ops[i].step = step_index(job, ops->ops[i].step);
        first = op->start_ns < first ? op->start_ns : first;
        /* How many there are is told by the largest number that is met: a timeline has no head
         * that says it. */
        if (op->data_rank >= job->data_rank_count)
            job->data_rank_count = op->data_rank + 1;
        if (op->stage >= job->stage_count)
            job->stage_count = op->stage + 1;
        if ((uint32_t)op->chunk >= job->chunk_count)
            job->chunk_count = (uint32_t)op->chunk + 1;
    }
    job->op_count = ops->count;
    for (size_t i = 0; i < job->op_count; i++)
        job->ops[i].start_ns -= first;
    if (job->op_count > 0)
        qsort(job->ops, job->op_count, sizeof *job->ops, compare_ops);
}

/* Two passes, as the names of threads may stand behind their events. */
static void collect_events(struct pipeline_job *job, const struct json_node *first)
{
    struct worker_threads threads = {0};
    struct read_ops ops = {0};
    size_t count = 0;

    for (const struct json_node *event = first; event; event = event->next) {
        if (is_phase(event, "M") && strcmp(json_text_of(event, "name", ""), "thread_name") == 0)
            collect_thread_name(&threads, event);
        count++;
    }
    if (threads.count > 0)
        qsort(threads.threads, threads.count, sizeof *threads.threads, compare_threads);
    ops.ops = require_memory(calloc(count + 1, sizeof *ops.ops));
    for (const struct json_node *event = first; event; event = event->next)
        if (is_phase(event, "X"))
            read_pipeline_timeline_take_event(job, &ops, &threads, event);
    arrange(job, &ops);
    free(ops.ops);
    free(threads.threads);
}

/* An array of events or an object with one: both are Chrome's format. */
bool read_pipeline_timeline(struct pipeline_job *job, const char *path, struct error *error)
{
    SCOPED(input_stream) input = {0};
    SCOPED(arena) arena = {0};
    const struct json_node *root;
    size_t length = 0;
    char *text;

    if (!input_stream_open(&input, path, false, error))
        return false;
    text = read_whole_stream(&input, &length, error);
    if (!text)
        return false;
    root = json_tree_parse(&arena, text, length, error);
    free(text);
    job->rest = input_read_rest(&input, (struct input_left){"", 0, (int64_t)length});
    if (!root && input.is_broken)
        (void)error_set(error, ERROR_INPUT, "%s", input.breakage);
    if (!root)
        return error_in(error, "'%s'", path);
    collect_events(job,
                   root->kind == JSON_ARRAY ? root->first : json_items_of(root, "traceEvents"));
    return job->op_count > 0 ||
           error_set(error, ERROR_NO_DATA,
                     "'%s': no operation of a pipelined step in it: expected events such as "
                     "forward-compute with a step in their arguments, on threads named 'PP rank 0, "
                     "...'",
                     path);
}

/* Steps are numbered densely in `op.step`, so that what is dropped in front shifts the rest. */
bool pipeline_job_keep_steps(struct pipeline_job *job, int64_t first, int64_t last)
{
    size_t dropped = 0; /* steps before `first` */
    size_t kept = 0;
    size_t ops = 0;

    while (dropped < job->step_count && job->steps[dropped] < first)
        dropped++;
    while (dropped + kept < job->step_count && job->steps[dropped + kept] <= last)
        kept++;
    if (kept == 0)
        return false;
    memmove(job->steps, job->steps + dropped, kept * sizeof *job->steps);
    job->step_count = kept;
    for (size_t i = 0; i < job->op_count; i++) {
        struct pipeline_op op = job->ops[i];

        if (op.step < dropped || op.step >= dropped + kept)
            continue;
        op.step -= (uint32_t)dropped;
        job->ops[ops++] = op;
    }
    job->op_count = ops;
    return true;
}

void pipeline_job_clear(struct pipeline_job *job)
{
    free(job->ops);
    free(job->steps);
    memset(job, 0, sizeof *job);
}
