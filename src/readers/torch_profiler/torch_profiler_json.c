/* Reads what torch.profiler (Kineto) writes: JSON in the format of Chrome's trace viewer. */
#include "base/core/error.h"
#include "base/io/input_rest.h"
#include "base/io/input_stream.h"
#include "base/json/json_window.h"
#include "readers/reader.h"
#include "readers/torch_profiler/torch_profiler_reading.h"
#include "trace/trace_builder.h"

#include <stdio.h>
#include <string.h>

enum { KEYS_SHOWN_BYTES = 200 };

struct parse {
    struct torch_pieces pieces;
    const struct read_options *options;
    int64_t end_byte;                 /* of the text, where it was read to its end */
    bool has_array;                   /* the events were found, be they any or none */
    char keys_seen[KEYS_SHOWN_BYTES]; /* of the outermost object, for a message */
};

/* The place in the text. */
static struct json_window *window_of(struct parse *parse)
{
    return &torch_pieces_last(&parse->pieces)->window;
}

/* Any JSON is taken: this reader is asked last, and says best what else it may be. */
static bool looks_like_trace(const char *head, size_t length)
{
    const char *at = head;
    const char *end = head + length;

    if (length >= 3 && memcmp(at, "\xef\xbb\xbf", 3) == 0)
        at += 3;
    while (at < end && (unsigned char)*at <= ' ')
        at++;
    return at < end && (*at == '{' || *at == '[');
}

/* ---- what is not as it should be
 * ----------------------------------------------------------------------------- */

/* The text ends in the middle of `what`. */
static void set_cut(struct parse *parse, const char *what)
{
    struct json_window *window = window_of(parse);
    struct read_account *read = &torch_pieces_last(&parse->pieces)->builder.read;
    const struct input_stream *input = window->input;

    read->is_truncated = true;
    if (window->is_too_long)
        (void)snprintf(read->truncation, sizeof read->truncation,
                       "what begins at byte %lld, in %s, is longer than %d MiB, and is not read",
                       (long long)json_window_byte(window, window->at), what,
                       JSON_VALUE_BYTES_MAX >> 20);
    else if (input->is_broken)
        (void)snprintf(read->truncation, sizeof read->truncation, "%s", input->breakage);
    else
        (void)snprintf(read->truncation, sizeof read->truncation,
                       "the text ends at byte %lld in the middle of %s",
                       (long long)json_window_byte(window, window->scan.limit), what);
}

/* What stands beside the events is no JSON (Kineto's own log, with quotes that nobody escaped).
 * Goes on at the events, or behind them at the keys that Kineto writes last; false where there are
 * none. The events are worth more than the header: they are looked for by their key, past
 * whatever is broken. */
static bool skip_bad_header(struct parse *parse)
{
    struct json_window *window = window_of(parse);
    int64_t start = json_window_byte(window, window->at);
    struct damage damage = {.byte = json_window_byte(window, window->scan.failed_at)};
    bool is_found;

    (void)snprintf(damage.message, sizeof damage.message, "in the header: expected %s",
                   window->scan.expected);
    if (window->at < window->scan.limit)
        window->at++;
    is_found = json_window_find(window, parse->has_array ? "\"traceName\"" : "\"traceEvents\"");
    damage.length = json_window_byte(window, window->at) - start;
    trace_builder_damage(&torch_pieces_last(&parse->pieces)->builder, &damage);
    return is_found;
}

/* After a function of json_window.h has failed: true where reading can go on. */
static bool recover(struct parse *parse)
{
    if (!scan_is_incomplete(&window_of(parse)->scan))
        return skip_bad_header(parse);
    set_cut(parse, parse->has_array ? "what follows the events" : "the header");
    return false;
}

static void remember_key(struct parse *parse, const struct json_slice *key)
{
    size_t used = strlen(parse->keys_seen);
    size_t left = sizeof parse->keys_seen - used;

    if (key->length + 8 > left)
        return;
    (void)snprintf(parse->keys_seen + used, left, "%s\"%.*s\"", used ? ", " : "", (int)key->length,
                   key->text);
}

/* ---- the text ------------------------------------------------------------------------------- */

/* From behind '[' on. */
static bool parse_events(struct parse *parse)
{
    parse->has_array = true;
    if (torch_pieces_read(&parse->pieces, parse->options->threads) == EVENTS_CLOSED)
        return true;
    set_cut(parse, "the events");
    return false;
}

/* The value of a member of the outermost object; `window` stands at it. Keys that nobody asks
 * for are skipped, not parsed: "metadata" may have megabytes. */
static bool parse_value(struct parse *parse, const struct json_slice *key)
{
    struct json_window *window = window_of(parse);
    struct json_slice value;

    if (torch_header_knows(key) ? !json_window_value(window, &value) : !json_window_skip(window))
        return recover(parse);
    if (torch_header_knows(key))
        torch_header_member(&torch_pieces_last(&parse->pieces)->store, key, &value);
    return true;
}

static bool parse_member(struct parse *parse)
{
    struct json_window *window = window_of(parse);
    struct json_slice key;
    char name[64] = "";

    if (!json_window_key(window, &key))
        return recover(parse);
    remember_key(parse, &key);
    if (slice_is(&key, "traceEvents") && json_window_peek(window) == '[') {
        window->at++;
        return parse_events(parse);
    }
    if (key.length < sizeof name)
        memcpy(name, key.text, key.length); /* the window may move */
    key = (struct json_slice){.text = name, .length = (uint32_t)strlen(name), .is_string = true};
    return parse_value(parse, &key);
}

/* The text is complete: reads the rest of the file, which should be empty. */
static void read_behind(struct parse *parse)
{
    struct json_window *window = window_of(parse);
    struct read_account *read = &torch_pieces_last(&parse->pieces)->builder.read;
    struct input_rest rest = input_read_rest(
        window->input, (struct input_left){window->at, (size_t)(window->scan.limit - window->at),
                                           json_window_byte(window, window->at)});

    parse->end_byte = rest.end_byte;
    if (rest.kind != REST_NOTHING)
        read_account_set_ending(read, rest.kind == REST_BROKEN ? ENDING_DAMAGED : ENDING_FOLLOWED,
                                rest.message);
}

/* From behind '{' on. */
static void parse_object(struct parse *parse)
{
    bool goes_on = true;

    while (goes_on) {
        struct json_window *window = window_of(parse);
        char c = json_window_peek(window);

        if (c == '}') {
            window->at++;
            read_behind(parse);
            return;
        }
        if (c == ',')
            window->at++;
        else
            goes_on = parse_member(parse);
    }
}

static bool skip_byte_order_mark(struct json_window *window)
{
    while (window->scan.limit - window->at < 3 && json_window_grow(window))
        ;
    if (window->scan.limit - window->at < 3 || memcmp(window->at, "\xef\xbb\xbf", 3) != 0)
        return false;
    window->at += 3;
    return true;
}

/* A list of events alone is a trace, too: Chrome's format allows both. Some editors put a byte
 * order mark before either. */
static void parse_text(struct parse *parse)
{
    struct json_window *window = window_of(parse);
    char c = json_window_peek(window);

    if (c == '\xef' && skip_byte_order_mark(window))
        c = json_window_peek(window);
    if (window->at < window->scan.limit)
        window->at++;
    if (c == '[' && parse_events(parse))
        read_behind(parse);
    else if (c == '{')
        parse_object(parse);
}

/* ---- the reader
 * ---------------------------------------------------------------------------------------------- */

/* True where not one of the things in the array was an event. */
static bool is_without_events(const struct torch_piece *piece)
{
    const struct read_account *read = &piece->builder.read;

    if (piece->store.rows.piece_count > 0) /* not counted by category yet */
        return false;
    if (read->events == 0)
        return read->damaged_events > 0;
    for (uint32_t i = 0; i < read->category_count; i++) {
        if (read->categories[i].phase != '?')
            return false;
    }
    return true;
}

/* False with `error` set where nothing in the input is a trace. */
static bool check_content(struct parse *parse, struct error *error)
{
    const struct torch_piece *first = &parse->pieces.pieces[0];
    const struct read_account *read = &first->builder.read;

    if (!parse->has_array && read->is_truncated)
        return error_set(error, ERROR_INPUT, "%s: no event can be read", read->truncation);
    if (!parse->has_array)
        return error_set(
            error, ERROR_INPUT,
            "JSON without \"traceEvents\" (its keys: %s), so no trace of torch.profiler: "
            "name a file that export_chrome_trace or tensorboard_trace_handler wrote",
            parse->keys_seen[0] ? parse->keys_seen : "none");
    if (parse->pieces.last == 0 && is_without_events(first) && read->damage_count)
        return error_set(error, ERROR_INPUT, "byte %lld: %s: no event can be read",
                         (long long)read->damages[0].byte, read->damages[0].message);
    if (parse->pieces.last == 0 && is_without_events(first))
        return error_set(error, ERROR_INPUT,
                         "an array in which nothing is an event (no \"ph\"), so no trace of "
                         "torch.profiler: name a file that export_chrome_trace wrote");
    return true;
}

#define PROTON_TIMELINE "Proton of Triton (data=\"trace\")"

/* Of the categories that stand here, Proton has these alone. Scopes without a kernel are
 * anybody's. */
static bool has_categories_of_proton(const struct trace *trace)
{
    bool has_scopes = false, has_kernels = false;

    for (uint32_t i = 0; i < trace->read.category_count; i++) {
        const char *category = trace_text(trace, trace->read.categories[i].category);
        bool is_scope = strcmp(category, "scope") == 0 || strcmp(category, "metric") == 0;
        bool is_kernel = strcmp(category, "kernel") == 0;

        has_scopes |= is_scope;
        has_kernels |= is_kernel;
        if (!is_scope && !is_kernel &&
            torch_profiler_category_kind(category, strlen(category)) != EVENT_HOST_OTHER)
            return false;
    }
    return has_scopes && has_kernels;
}

/* Who wrote it: a trace has a category that only one of them writes, or none. Any program may
 * write Chrome's events; the categories say who did. Ascend's are asked last, as its traces have
 * Kineto's words too. */
static void tell_recorder(struct trace *trace)
{
    struct read_account *read = &trace->read;
    const char *writer = "a program that writes Chrome's trace events";
    const char *version = trace_text(trace, trace->facts.torch_version);

    for (uint32_t i = 0; i < read->category_count; i++) {
        const char *category = trace_text(trace, read->categories[i].category);
        size_t length = strlen(category);

        if (torch_profiler_category_kind(category, length) != EVENT_HOST_OTHER &&
            strcmp(category, "scope") != 0 && strcmp(category, "metric") != 0)
            writer = "torch.profiler (Kineto)";
    }
    for (uint32_t i = 0; i < read->category_count; i++) {
        const char *category = trace_text(trace, read->categories[i].category);

        if (strcmp(category, "CANN") == 0 || strcmp(category, "async_npu") == 0)
            writer = "torch_npu.profiler or msprof (Ascend)";
        if (strcmp(category, "gpu_op") == 0)
            writer = "unitrace (Intel)";
    }
    for (uint32_t i = 0; i < trace->track_count; i++) {
        if (strcmp(trace_text(trace, trace->tracks[i].process), "CPU functions") == 0)
            writer = "torch.autograd.profiler";
        if (trace->tracks[i].is_device && trace->tracks[i].process == 0)
            writer = PROTON_TIMELINE; /* nobody else leaves the process out */
    }
    if (has_categories_of_proton(trace))
        writer = PROTON_TIMELINE;
    (void)snprintf(read->recorder, sizeof read->recorder, "%s, %s%.40s", writer,
                   *version ? "torch " : "version not told", version);
}

/* Counters of Ascend, which have no category, are read, and its arrows to tasks. */
static int64_t left_of(const struct trace *trace, const struct category_count *count)
{
    const char *category = trace_text(trace, count->category);
    int64_t read = count->category == 0 && count->phase == 'C' ? series_samples(&trace->series) : 0;

    if (strcmp(category, "async_npu") == 0 || strcmp(category, "HostToDevice") == 0)
        read = count->events;
    return count->events - read;
}

/* Phases that nothing is made of. Instants of the allocator are for `flopledger memory`. */
static void tell_unused(struct trace *trace)
{
    struct read_account *read = &trace->read;
    static const struct {
        const char *phases;
        const char *name;
    } kinds[] = {
        {"C", "samples of counters (C)"},
        {"stf", "arrows between events (s, t, f)"},
        {"iIR", "instants (i), but for memory"},
        {"bne", "asynchronous events (b, n, e)"},
        {"NOD", "objects (N, O, D)"},
    };

    for (uint32_t i = 0; i < read->category_count; i++)
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
            if (read->categories[i].phase && strchr(kinds[k].phases, read->categories[i].phase) &&
                left_of(trace, &read->categories[i]) > 0)
                read_account_leave(read, kinds[k].name, left_of(trace, &read->categories[i]));
}

/* The end of the text is where its object closed, or else how far reading came. Only what has
 * content is finished: an empty builder makes no trace. */
static bool torch_profiler_json_read_trace(struct trace *trace, struct input_stream *input,
                                           const struct read_options *options, struct error *error)
{
    struct parse parse = {.options = options};
    int64_t text_bytes;
    bool is_trace;

    input->progress = options->progress;
    torch_pieces_init(&parse.pieces, input, options);
    parse_text(&parse);
    text_bytes = parse.end_byte > 0
                     ? parse.end_byte
                     : json_window_byte(window_of(&parse), window_of(&parse)->scan.limit);
    is_trace = check_content(&parse, error);
    if (is_trace) {
        torch_pieces_finish(&parse.pieces, trace, options);
        trace->read.text_bytes = text_bytes;
        tell_recorder(trace);
        tell_unused(trace);
    }
    torch_pieces_clear(&parse.pieces);
    return is_trace;
}

const struct reader torch_profiler_json_reader = {
    .name = "torch-profiler",
    .summary = "JSON written by torch.profiler (Kineto), or any other Chrome trace",
    .recognises = looks_like_trace,
    .read = torch_profiler_json_read_trace,
};
