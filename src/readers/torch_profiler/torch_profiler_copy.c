/* The text of a trace of torch.profiler, piece by piece. */
#include "readers/torch_profiler/torch_profiler_copy.h"

#include "base/core/arena.h"
#include "base/io/input_rest.h"
#include "base/io/input_stream.h"
#include "readers/torch_profiler/torch_profiler_reading.h"

struct copying {
    struct json_window window;
    struct torch_store store;
    struct trace_builder builder; /* counts damage only */
    const struct trace_text_sink *sink;
    struct trace_text_loss *loss;
    bool has_events;
};

static void copy_events(struct copying *copying)
{
    const struct torch_tap tap = {copying->sink->parse_event, copying->sink->context};

    copying->has_events = true;
    copying->store.tap = &tap;
    if (torch_events_read(&copying->window, &copying->store, INT64_MAX) != EVENTS_CLOSED)
        copying->loss->is_cut = true;
    copying->store.tap = NULL;
}

/* False where the text ends, or goes on as no JSON. Header members are copied out of the window,
 * which moves while the value is read. */
static bool copy_member(struct copying *copying)
{
    struct json_window *window = &copying->window;
    struct arena arena = {0};
    struct json_slice key, value;
    const char *name;
    bool is_copied;

    if (!json_window_key(window, &key))
        return false;
    if (slice_is(&key, "traceEvents") && json_window_peek(window) == '[') {
        window->at++;
        copy_events(copying);
        return !copying->loss->is_cut;
    }
    name = arena_copy_text(&arena, key.text, key.length); /* the window may move */
    is_copied = json_window_value(window, &value);
    if (is_copied) {
        const char *start = value.text - value.is_string;

        copying->sink->read_member(
            copying->sink->context, name,
            arena_copy_text(&arena, start, value.length + 2 * (size_t)value.is_string));
    }
    arena_clear(&arena);
    return is_copied;
}

/* A member that cannot be copied whole is where the text is cut off: what came before it
 * stays, and the loss is told. */
static void copy_object(struct copying *copying)
{
    for (;;) {
        char c = json_window_peek(&copying->window);

        if (c == '}')
            return;
        if (c == ',') {
            copying->window.at++;
        } else if (!copy_member(copying)) {
            copying->loss->is_cut = true;
            return;
        }
    }
}

static void copy_text(struct copying *copying)
{
    struct json_window *window = &copying->window;
    char c = json_window_peek(window);

    while (c && (c == '\xef' || c == '\xbb' || c == '\xbf')) { /* a byte order mark */
        window->at++;
        c = json_window_peek(window);
    }
    if (window->at < window->scan.limit)
        window->at++;
    if (c == '[')
        copy_events(copying);
    else if (c == '{')
        copy_object(copying);
}

/* What is damaged behind the last event, or more than a trace, is told as what is cut. */
static void check_rest(struct copying *copying)
{
    struct json_window *window = &copying->window;
    struct input_rest rest;

    if (window->at < window->scan.limit && (*window->at == '}' || *window->at == ']'))
        window->at++;
    rest = input_read_rest(
        window->input,
        (struct input_left){window->at, (size_t)(window->scan.limit - window->at), 0});
    copying->loss->is_cut = rest.kind != REST_NOTHING;
}

/* Events are cut out as the reader sees them, so what is lost in a copy is what a report would
 * lose, and is counted alike. */
bool copy_trace_text(const char *path, const struct trace_text_sink *sink,
                     struct trace_text_loss *loss, struct error *error)
{
    SCOPED(input_stream) input = {0};
    struct copying copying = {.sink = sink, .loss = loss};

    *loss = (struct trace_text_loss){0};
    if (!input_stream_open(&input, path, true, error))
        return false;
    trace_builder_init(&copying.builder);
    copying.store.builder = &copying.builder;
    json_window_init(&copying.window, &input, 0);
    copy_text(&copying);
    if (!loss->is_cut)
        check_rest(&copying);
    loss->damaged_events = copying.builder.read.damaged_events +
                           copying.builder.read.replaced_names + copying.builder.read.mended_events;
    torch_store_clear(&copying.store);
    trace_builder_clear(&copying.builder);
    return copying.has_events ||
           error_set(error, ERROR_INPUT,
                     "'%s' holds no \"traceEvents\": no trace of torch.profiler", path);
}

/* Members are handed on as they were written, text and all: a copy must not change what it
 * does not know. */
bool walk_event_members(const char *text, size_t length,
                        void (*take)(void *context, const struct event_member *member),
                        void *context)
{
    struct json_scan scan = {.limit = text + length};
    const char *at = scan_space(text + 1);

    while (*at == '"') {
        struct json_slice key, value;
        const char *start = scan_key(&scan, at, &key);
        const char *behind = start ? scan_value(&scan, start, &value) : NULL;

        if (!behind)
            return false;
        take(context,
             &(struct event_member){key.text, key.length, start, (size_t)(behind - start)});
        at = scan_space(behind);
        if (*at == ',')
            at = scan_space(at + 1);
    }
    return *at == '}';
}
