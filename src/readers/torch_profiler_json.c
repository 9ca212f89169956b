/* Reads what torch.profiler (Kineto) writes: JSON in the format of Chrome's trace viewer. */
#include "base/error.h"
#include "base/input_stream.h"
#include "readers/json_window.h"
#include "readers/reader.h"
#include "readers/torch_profiler_header.h"
#include "readers/torch_profiler_store.h"
#include "trace/trace_builder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct parse {
    struct json_window window;
    struct torch_store store;
    bool has_events;
};

static bool looks_like_trace(const char *head, size_t length)
{
    const char *at = head;
    const char *end = head + length;

    if (length >= 3 && memcmp(at, "\xef\xbb\xbf", 3) == 0)
        at += 3;
    while (at < end && (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t'))
        at++;
    return at < end && (*at == '{' || *at == '[');
}

static void set_truncated(struct parse *parse, const char *why)
{
    struct read_account *read = &parse->store.builder->read;

    read->is_truncated = true;
    (void)snprintf(read->truncation, sizeof read->truncation, "%s", why);
}

static void set_cut(struct parse *parse)
{
    const struct input_stream *input = parse->window.input;
    char why[200];

    if (input->is_broken) {
        set_truncated(parse, input->breakage);
        return;
    }
    (void)snprintf(why, sizeof why, "the text ends at byte %lld in the middle of %s",
                   (long long)json_window_byte(&parse->window, parse->window.scan.limit),
                   parse->has_events ? "the events" : "the header");
    set_truncated(parse, why);
}

/* A place where an event may begin, behind the damage: "}," before it and a key behind it. */
static bool skip_damage(struct parse *parse)
{
    struct json_window *window = &parse->window;
    int64_t first = json_window_byte(window, window->at);
    struct damage damage = {.byte = json_window_byte(window, window->scan.failed_at)};

    (void)snprintf(damage.message, sizeof damage.message, "expected %s", window->scan.expected);
    window->at++;
    for (;;) {
        const char *brace = memchr(window->at, '{', (size_t)(window->scan.limit - window->at));
        const char *behind;

        if (!brace) {
            window->at = window->scan.limit;
            if (!json_window_grow(window))
                break;
            continue;
        }
        window->at = brace;
        behind = scan_space(brace + 1);
        if (behind + 5 >= window->scan.limit && json_window_grow(window))
            continue;
        if (memcmp(behind, "\"ph\"", 4) == 0 || memcmp(behind, "\"name", 5) == 0 ||
            memcmp(behind, "\"cat\"", 5) == 0)
            break;
        window->at++;
    }
    damage.length = json_window_byte(window, window->at) - first;
    trace_builder_damage(parse->store.builder, &damage);
    return window->at < window->scan.limit;
}

/* From behind '[' to behind ']', or the end of the input. */
static bool parse_events(struct parse *parse)
{
    struct json_window *window = &parse->window;

    parse->has_events = true;
    for (;;) {
        struct torch_event event;
        const char *behind;
        char c = json_window_peek(window);

        if (c == ',') {
            window->at++;
            continue;
        }
        if (c == ']') {
            window->at++;
            return true;
        }
        behind = torch_event_scan(&window->scan, window->at, &event);
        if (behind) {
            torch_store_event(&parse->store, &event);
            window->at = behind;
        } else if (scan_is_incomplete(&window->scan)) {
            if (!json_window_grow(window))
                return false;
        } else if (!skip_damage(parse)) {
            return false;
        }
    }
}

static bool parse_member(struct parse *parse)
{
    struct json_window *window = &parse->window;
    struct json_slice key;
    struct json_slice value;
    char name[64] = "";

    if (!json_window_key(window, &key))
        return false;
    if (slice_is(&key, "traceEvents") && *window->at == '[') {
        window->at++;
        return parse_events(parse);
    }
    if (key.length < sizeof name)
        memcpy(name, key.text, key.length);
    key = (struct json_slice){.text = name, .length = (uint32_t)strlen(name), .is_string = true};
    if (!json_window_value(window, &value))
        return false;
    torch_header_member(&parse->store, &key, &value);
    return true;
}

static void parse_object(struct parse *parse)
{
    for (;;) {
        char c = json_window_peek(&parse->window);

        if (c == ',') {
            parse->window.at++;
        } else if (c == '}') {
            return;
        } else if (!parse_member(parse)) {
            set_cut(parse);
            return;
        }
    }
}

static void parse_text(struct parse *parse)
{
    char c = json_window_peek(&parse->window);

    if (c == '\xef') {
        parse->window.at += 3;
        c = json_window_peek(&parse->window);
    }
    if (c == '[') {
        parse->window.at++;
        if (!parse_events(parse))
            set_cut(parse);
    } else if (c == '{') {
        parse->window.at++;
        parse_object(parse);
    }
}

static bool read_trace(struct trace *trace, struct input_stream *input,
                       const struct read_options *options, struct error *error)
{
    struct trace_builder builder;
    struct parse parse = {.store.builder = &builder};

    trace_builder_init(&builder);
    json_window_init(&parse.window, input, 0);
    input->progress = options->progress;
    parse_text(&parse);
    torch_store_clear(&parse.store);
    if (!parse.has_events) {
        trace_builder_clear(&builder);
        return error_set(error, ERROR_INPUT, "no \"traceEvents\" in it: this is not a trace");
    }
    builder.read.text_bytes = input->text_bytes;
    trace_finish(trace, &builder, 1, options->threads);
    return true;
}

const struct reader torch_profiler_json_reader = {
    .name = "torch-profiler",
    .summary = "JSON written by torch.profiler (Kineto), or any Chrome trace",
    .recognises = looks_like_trace,
    .read = read_trace,
};
