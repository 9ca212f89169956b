/* Reads the timings of one pipeline rank that Megatron-LM's dump writes: for each iteration when
 * each forward and backward of a micro-batch began and ended, in milliseconds from the iteration's
 * start. An iteration becomes a step, a forward or backward becomes work of the device. */
#include "base/io/whole_file.h"
#include "base/json/json_tree.h"
#include "readers/reader.h"
#include "trace/trace_builder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Times beyond this many milliseconds are none. */
static const double time_limit_ms = 1e9;

/* Everything that is needed while a file is read. */
struct timings_reading {
    struct trace_builder builder;
    uint32_t host;
    uint32_t stream;
    uint32_t category;
    int64_t start_ns; /* of the iteration */
    int64_t end_ns;   /* of what it holds */
};

/* A trace of torch.profiler may hold such words in its events, so "traceEvents" excludes it. */
static bool looks_like_timings(const char *head, size_t length)
{
    return length > 0 && head[0] == '{' && memmem(head, length, "\"fwd_start\"", 11) &&
           memmem(head, length, "\"fwd_end\"", 9) && !memmem(head, length, "\"traceEvents\"", 13);
}

static uint32_t pipeline_timings_text_of(struct timings_reading *reading, const char *text)
{
    return string_pool_add(&reading->builder.strings, text, strlen(text));
}

/* The time of a number in milliseconds, in ns; -1 where it is none. Rounded to the nanosecond;
 * milliseconds of a double below 1e9 have digits enough for that. */
static int64_t pipeline_timings_time_of(const struct json_node *node)
{
    double ms = node && node->kind == JSON_NUMBER ? strtod(node->text, NULL) : -1;

    return ms >= 0 && ms < time_limit_ms ? (int64_t)(ms * 1e6 + 0.5) : -1;
}

/* Passes are told as kernels of one stream, iterations as ranges of the host: so they have a
 * ledger like any trace. */
static void pipeline_timings_add_event(struct timings_reading *reading, enum event_kind kind,
                                       const char *name, const int64_t range_ns[2])
{
    struct found_event event = {.start_ns = range_ns[0],
                                .duration_ns = range_ns[1] - range_ns[0],
                                .correlation = NO_ID,
                                .external_id = NO_ID,
                                .name = pipeline_timings_text_of(reading, name),
                                .track = kind == EVENT_KERNEL ? reading->stream : reading->host,
                                .kind = (uint8_t)kind};

    trace_builder_add(&reading->builder, &event);
    trace_builder_count(&reading->builder, reading->category, 'X', range_ns[0], range_ns[1]);
    reading->builder.read.events++;
}

/* The pairs of one list of starts and one of ends. Lists are joined by their places. Ones
 * without a partner, and ones that end before they begin, are counted as damaged. */
static void add_passes(struct timings_reading *reading, const struct json_node *iteration,
                       const char *const keys[3])
{
    const struct json_node *start = json_items_of(iteration, keys[1]);
    const struct json_node *end = json_items_of(iteration, keys[2]);

    for (; start && end; start = start->next, end = end->next) {
        int64_t range_ns[2] = {pipeline_timings_time_of(start), pipeline_timings_time_of(end)};

        if (range_ns[0] < 0 || range_ns[1] < range_ns[0]) {
            reading->builder.read.damaged_events++;
            continue;
        }
        range_ns[0] += reading->start_ns;
        range_ns[1] += reading->start_ns;
        if (range_ns[1] > reading->end_ns)
            reading->end_ns = range_ns[1];
        pipeline_timings_add_event(reading, EVENT_KERNEL, keys[0], range_ns);
    }
    for (; start || end; start = start ? start->next : NULL, end = end ? end->next : NULL)
        reading->builder.read.damaged_events++;
}

/* The file has times within an iteration only: one is put behind the other, so gaps between
 * iterations are not in the trace. */
static void add_iteration(struct timings_reading *reading, const struct json_node *iteration)
{
    static const char *const passes[][3] = {{"forward", "fwd_start", "fwd_end"},
                                            {"backward", "bwd_start", "bwd_end"},
                                            {"weight gradient", "wgrad_start", "wgrad_end"}};
    int64_t total_ns = pipeline_timings_time_of(json_member(iteration, "total"));
    char name[64];

    if (iteration->kind != JSON_OBJECT || !iteration->key)
        return;
    reading->end_ns = reading->start_ns + (total_ns > 0 ? total_ns : 0);
    for (size_t i = 0; i < sizeof passes / sizeof *passes; i++)
        add_passes(reading, iteration, passes[i]);
    (void)snprintf(name, sizeof name, "iteration %.40s", iteration->key);
    pipeline_timings_add_event(reading, EVENT_ANNOTATION, name,
                               (const int64_t[2]){reading->start_ns, reading->end_ns});
    reading->start_ns = reading->end_ns;
}

/* The dump has neither processes nor threads: one host track for iterations, one stream for
 * their work, made up once. */
static void pipeline_timings_begin(struct timings_reading *reading)
{
    struct track_key host = {.device = -1, .stream = -1};
    struct track_key stream = {.is_device = true, .device = 0, .stream = 0};

    trace_builder_init(&reading->builder);
    host.process = stream.process = stream.thread = pipeline_timings_text_of(reading, "0");
    host.thread = pipeline_timings_text_of(reading, "iterations");
    reading->host = trace_builder_track(&reading->builder, &host);
    reading->stream = trace_builder_track(&reading->builder, &stream);
    reading->category = pipeline_timings_text_of(reading, "pipeline");
}

/* Timers write few numbers per pass, so the file is small enough for a tree in memory. Where
 * compression broke behind the last value, or more follows it, what was read still counts and
 * the ending is told. */
static bool read_timings(struct trace *trace, struct input_stream *input,
                         const struct read_options *options, struct error *error)
{
    struct timings_reading reading = {.start_ns = 0};
    SCOPED(arena) arena = {0};
    const struct json_node *root;
    size_t length = 0;
    char *text = read_whole_stream(input, &length, error);

    if (!text)
        return false;
    root = json_tree_parse(&arena, text, length, error);
    free(text);
    if (!root)
        return input->is_broken ? error_set(error, ERROR_INPUT, "%s", input->breakage) : false;
    pipeline_timings_begin(&reading);
    if (input->is_broken || input->is_followed)
        read_account_set_ending(&reading.builder.read,
                                input->is_broken ? ENDING_DAMAGED : ENDING_FOLLOWED,
                                input->breakage);
    for (const struct json_node *node = root->first; node; node = node->next)
        add_iteration(&reading, node);
    if (reading.builder.read.events == 0) {
        trace_builder_clear(&reading.builder);
        return error_set(error, ERROR_INPUT, "no iteration with fwd_start and fwd_end in it");
    }
    reading.builder.read.text_bytes = input->text_bytes;
    (void)snprintf(reading.builder.read.recorder, sizeof reading.builder.read.recorder,
                   "timers of a pipeline's passes, version not told");
    trace_finish(trace, &reading.builder, 1, options->threads);
    return true;
}

const struct reader pipeline_timings_reader = {
    .name = "pipeline-timings",
    .summary = "JSON of the forward and backward passes of a pipeline rank",
    .recognises = looks_like_timings,
    .read = read_timings,
};
