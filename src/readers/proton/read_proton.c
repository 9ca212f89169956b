/* Reads a profile of Proton, Triton's profiler. */
#include "readers/proton/read_proton.h"

#include "base/core/array.h"
#include "base/core/hash_map.h"
#include "base/io/input_rest.h"
#include "base/json/json_walk.h"
#include "base/json/json_window.h"
#include "readers/proton/msgpack_json.h"
#include "trace/trace_builder.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* No sum is larger. */
static const double SUM_MAX = 1e24;

enum {
    SCOPES_DEEP_MAX = 16384, /* a stack of Python has a thousand frames at most */
    DEVICES_MAX = 1024,      /* Proton itself knows 32 of a kind */
};

/* A scope whose end is still to come. */
struct open_scope {
    struct call_sum sum;
    size_t index;           /* in the sums that are kept; SIZE_MAX: it is not kept */
    double own_time_ns;     /* of a kernel */
    double own_launches;    /* of a kernel */
    uint64_t members_left;  /* in MessagePack */
    uint64_t children_left; /* likewise */
    bool is_in_children;    /* the place is in its array of children */
    bool has_item_before;   /* a comma is due */
};

/* What is needed while a file is read: the path from the root, and nothing of the scopes beside it.
 */
struct proton_reading {
    struct call_sums *sums;
    size_t scopes_max;
    struct json_window window;
    struct open_scope *path; /* [depth], with room for [room] */
    size_t depth;
    size_t room;
    struct hash_map kernels;    /* of names, by their places in the pool: index in sums->kernels */
    struct msgpack_text packed; /* a value of MessagePack, as JSON */
    char *name;                 /* a text whose escapes were resolved; with room for [name_room] */
    size_t name_room;
    size_t frames;            /* scopes that have one */
    const char *without_time; /* what stands there in place of times; NULL: nothing that is known */
};

/* ---- recognizing ----------------------------------------------------------------------------- */

/* "children" stands before what tells a scope, so that of a deep tree the first window has nothing
 * but their beginnings. Returns what stands behind them. */
static const char *behind_children(const char *at, const char *end)
{
    static const char *const words[] = {"{", "\"children\"", ":", "["};

    for (size_t word = 0;; word = (word + 1) % 4) {
        size_t length = strlen(words[word]);

        while (at < end && *at && strchr(" \t\r\n", *at))
            at++;
        if ((size_t)(end - at) < length || memcmp(at, words[word], length) != 0)
            return at;
        at += length;
    }
}

/* A map of a few members, of which Proton writes the frame first; older versions sort them. */
static bool looks_like_packed_proton(const char *head, size_t length)
{
    static const char *const keys[] = {"\245frame", "\247metrics", "\250children"};
    unsigned char first = length > 16 ? (unsigned char)head[0] : 0;
    unsigned char second = first ? (unsigned char)head[1] : 0;

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (first > 0x90 && first < 0xa0 && second > 0x80 && second < 0x90 &&
            memcmp(head + 2, keys[i], strlen(keys[i])) == 0)
            return true;
    return false;
}

/* "ph" is of events of a trace, which may have the other words in their arguments. */
bool looks_like_proton(const char *head, size_t length)
{
    const char *end = head + length;

    if (looks_like_packed_proton(head, length))
        return true;
    while (head < end && *head && strchr(" \t\r\n", *head))
        head++;
    if (head == end || *head != '[' || memmem(head, (size_t)(end - head), "\"ph\"", 4))
        return false;
    if (end - head >= 4096 && end - behind_children(head + 1, end) < 16)
        return true;
    return memmem(head, (size_t)(end - head), "\"metrics\"", 9) &&
           memmem(head, (size_t)(end - head), "\"frame\"", 7);
}

/* ---- texts and numbers ----------------------------------------------------------------------- */

/* The text of a string, with its escapes resolved; of a number as written. */
static struct json_slice plain_text(struct proton_reading *reading, const struct json_slice *slice)
{
    struct json_slice plain = *slice;

    if (!slice->has_escapes)
        return plain;
    ARRAY_RESERVE(reading->name, reading->name_room, slice->length + (size_t)1);
    plain.length = (uint32_t)slice_unescape(slice, reading->name);
    plain.text = reading->name;
    return plain;
}

/* Texts are kept once, so that equal ones are told by their places. */
static const char *pooled_text(struct proton_reading *reading, const struct json_slice *slice)
{
    struct json_slice text = plain_text(reading, slice);
    struct string_pool *names = &reading->sums->names;

    return string_pool_text(names, string_pool_add(names, text.text, text.length));
}

/* A value that is no number, below zero or beyond what can be summed is counted and left out. */
static double proton_number(struct proton_reading *reading, const struct json_slice *value)
{
    int64_t whole; /* as most are: these are the sooner read */
    double number;

    if (!value->is_string && slice_integer(value, &whole) && whole >= 0)
        return (double)whole;
    if (!value->is_string && slice_fraction(value, &number) && number >= 0 && number < SUM_MAX)
        return number;
    reading->sums->not_read++;
    return 0;
}

/* The device of that kind and number; added where it is new. SIZE_MAX where there are too many. */
static size_t proton_device_of(struct proton_reading *reading, const char *kind, const char *id)
{
    struct call_sums *sums = reading->sums;

    for (size_t i = 0; i < sums->device_count; i++)
        if (sums->devices[i].kind == kind && sums->devices[i].id == id)
            return i;
    if (sums->device_count == DEVICES_MAX) {
        sums->not_read++;
        return SIZE_MAX;
    }
    ARRAY_ADD(sums->devices, sums->device_count,
              (struct call_sums_device){.kind = kind, .id = id, .architecture = ""});
    return sums->device_count - 1;
}

/* ---- devices --------------------------------------------------------------------------------- */

/* Two transfers a clock, as all memory of GPUs has them; clocks are in kHz, the bus in bits. */
static void describe_proton_device(struct proton_reading *reading, const char *kind, const char *id,
                                   const struct json_slice *entry)
{
    struct json_walk walk = json_walk_begin(entry, '{');
    size_t place = walk.at ? proton_device_of(reading, kind, id) : SIZE_MAX;
    struct json_slice key, value;
    double clock = 0, width = 0;
    struct call_sums_device *device;

    if (place == SIZE_MAX)
        return;
    device = &reading->sums->devices[place];
    while (json_walk_next(&walk, &key, &value)) {
        if (slice_is(&key, "arch") && value.is_string)
            device->architecture = pooled_text(reading, &value);
        else if (slice_is(&key, "num_sms"))
            device->multiprocessors = (int32_t)fmin(proton_number(reading, &value), INT32_MAX);
        else if (slice_is(&key, "memory_clock_rate"))
            clock = proton_number(reading, &value);
        else if (slice_is(&key, "bus_width"))
            width = proton_number(reading, &value);
    }
    device->memory_bytes_per_second = 2 * clock * 1e3 * width / 8;
}

/* Devices stand behind the tree, by kind and then by number. */
static void describe_proton_devices(struct proton_reading *reading, const struct json_slice *kinds)
{
    struct json_walk walk = json_walk_begin(kinds, '{');
    struct json_slice key, entries;

    while (json_walk_next(&walk, &key, &entries)) {
        struct json_walk inner = json_walk_begin(&entries, '{');
        const char *kind = pooled_text(reading, &key);
        struct json_slice id, entry;

        if (slice_is(&key, "frame")) /* another tree */
            return;
        while (json_walk_next(&inner, &id, &entry))
            describe_proton_device(reading, kind, pooled_text(reading, &id), &entry);
    }
}

/* ---- a scope --------------------------------------------------------------------------------- */

/* Names of metrics, and those that Triton of 2024 had for them. */
enum proton_metric {
    METRIC_OF_FLOPS, /* one for each width, in their order */
    METRIC_OF_BYTES = SUM_WIDTHS,
    METRIC_OF_TIME,
    METRIC_OF_COUNT,
    METRIC_OF_DEVICE_ID,
    METRIC_OF_DEVICE_KIND,
    METRIC_UNUSED
};

/* By length first: of fourteen names two at most are compared. The usual ones stand first. */
static enum proton_metric metric_of(const struct json_slice *key)
{
    static const struct {
        const char name[12];
        uint8_t length;
        uint8_t metric;
    } metrics[] = {
        {"time (ns)", 9, METRIC_OF_TIME},
        {"count", 5, METRIC_OF_COUNT},
        {"device_id", 9, METRIC_OF_DEVICE_ID},
        {"device_type", 11, METRIC_OF_DEVICE_KIND},
        {"bytes", 5, METRIC_OF_BYTES},
        {"flops16", 7, METRIC_OF_FLOPS + SUM_BITS_16},
        {"flops8", 6, METRIC_OF_FLOPS + SUM_BITS_8},
        {"flops32", 7, METRIC_OF_FLOPS + SUM_BITS_32},
        {"flops64", 7, METRIC_OF_FLOPS + SUM_BITS_64},
        {"flops", 5, METRIC_OF_FLOPS + SUM_BITS_UNTOLD},
        {"Time (ns)", 9, METRIC_OF_TIME},
        {"Count", 5, METRIC_OF_COUNT},
        {"DeviceId", 8, METRIC_OF_DEVICE_ID},
        {"DeviceType", 10, METRIC_OF_DEVICE_KIND},
    };

    for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++)
        if (key->length == metrics[i].length &&
            memcmp(key->text, metrics[i].name, key->length) == 0)
            return metrics[i].metric;
    return METRIC_UNUSED;
}

/* A metric that no sum is made of. Cycles of warps are no time, nor are samples; what has only
 * these is remembered for the message. */
static void leave_metric(struct proton_reading *reading, const struct json_slice *key)
{
    char name[64];

    if (slice_is(key, "cycles") || slice_is(key, "normalized_cycles"))
        reading->without_time = "cycles of single warps";
    else if (slice_is(key, "num_samples"))
        reading->without_time = "samples of the program counter";
    (void)snprintf(name, sizeof name, "%.*s", key->length < 63 ? (int)key->length : 63, key->text);
    read_account_leave(&reading->sums->read, name, 1);
}

/* Device and kernel are told by the time: where none is, nothing ran here. */
static void read_proton_metrics(struct proton_reading *reading, struct open_scope *scope,
                                const struct json_slice *metrics)
{
    struct json_walk walk = json_walk_begin(metrics, '{');
    struct call_sum *sum = &scope->sum;
    struct json_slice key, value, id = {0}, kind = {0};
    double time_ns = 0, launches = 0;

    while (json_walk_next(&walk, &key, &value)) {
        enum proton_metric metric = metric_of(&key);

        if (metric == METRIC_UNUSED)
            leave_metric(reading, &key);
        else if (metric == METRIC_OF_DEVICE_ID)
            id = value;
        else if (metric == METRIC_OF_DEVICE_KIND)
            kind = value;
        else if (metric == METRIC_OF_TIME)
            time_ns = proton_number(reading, &value);
        else if (metric == METRIC_OF_COUNT)
            launches = proton_number(reading, &value);
        else if (metric == METRIC_OF_BYTES)
            sum->bytes += proton_number(reading, &value);
        else
            sum->flops[metric] += proton_number(reading, &value);
    }
    scope->own_time_ns += time_ns;
    scope->own_launches += launches;
    sum->time_ns += time_ns;
    sum->launches += launches;
    sum->is_kernel |= time_ns > 0;
    if (id.length && time_ns > 0) {
        size_t device = proton_device_of(reading, kind.is_string ? pooled_text(reading, &kind) : "",
                                         pooled_text(reading, &id));

        call_sum_add_device(sum, device);
        if (device != SIZE_MAX)
            reading->sums->devices[device].time_ns += time_ns;
    }
}

/* The name may stand before or behind all else of a scope: it is kept with the open one. */
static void read_proton_frame(struct proton_reading *reading, struct open_scope *scope,
                              const struct json_slice *frame)
{
    struct json_walk walk = json_walk_begin(frame, '{');
    struct json_slice key, value;

    reading->frames++;
    while (json_walk_next(&walk, &key, &value))
        if (slice_is(&key, "name") && value.is_string)
            scope->sum.name = pooled_text(reading, &value);
}

/* ---- the tree -------------------------------------------------------------------------------- */

/* Says what is wrong at the place where the window stopped; false. */
static bool proton_fail(struct proton_reading *reading, const char *at, const char *expected)
{
    scan_fail(&reading->window.scan, at, expected);
    return false;
}

/* Of those that are kept each stands before what is in it. Beyond `scopes_max` none can be among
 * the first that are shown, since all before it hold time or are open, and hold this one. */
static bool open_proton_scope(struct proton_reading *reading)
{
    struct call_sums *sums = reading->sums;
    struct open_scope scope = {.index = SIZE_MAX,
                               .sum = {.name = "(no name)",
                                       .device = SIZE_MAX,
                                       .parent = SIZE_MAX,
                                       .depth = (int)reading->depth}};

    if (reading->depth == SCOPES_DEEP_MAX)
        return proton_fail(reading, reading->window.at, "scopes that are nested less deep");
    if (reading->depth > 0)
        scope.sum.parent = reading->path[reading->depth - 1].index;
    if (sums->count < reading->scopes_max &&
        (reading->depth == 0 || scope.sum.parent != SIZE_MAX)) {
        scope.index = sums->count;
        LARGE_ARRAY_ADD(sums->sums, sums->count, scope.sum);
    }
    ARRAY_RESERVE(reading->path, reading->room, reading->depth + 1);
    reading->path[reading->depth++] = scope;
    sums->read.events++;
    return true;
}

/* Each name once, with its own time: what its children took is theirs, though the scope of the
 * same name has both. */
static void add_proton_kernel(struct proton_reading *reading, const struct open_scope *scope)
{
    struct call_sums *sums = reading->sums;
    uint64_t key = (uint64_t)(uintptr_t)scope->sum.name;
    uint32_t place = hash_map_add(&reading->kernels, key, (uint32_t)sums->kernel_count);

    if (place == sums->kernel_count)
        ARRAY_ADD(sums->kernels, sums->kernel_count,
                  (struct summed_kernel){.name = scope->sum.name});
    sums->kernels[place].time_ns += scope->own_time_ns;
    sums->kernels[place].launches += scope->own_launches;
    sums->kernels[place].places++;
}

/* A scope without time has none inside it, either: all that was kept of it goes. */
static void close_proton_scope(struct proton_reading *reading)
{
    struct call_sums *sums = reading->sums;
    const struct open_scope *scope = &reading->path[--reading->depth];
    struct open_scope *around = reading->depth > 0 ? &reading->path[reading->depth - 1] : NULL;

    if (scope->sum.is_kernel)
        add_proton_kernel(reading, scope);
    sums->timed_count += around && scope->sum.time_ns > 0;
    if (scope->index != SIZE_MAX) {
        sums->sums[scope->index] = scope->sum;
        if (!(scope->sum.time_ns > 0))
            sums->count = scope->index;
    }
    if (around)
        call_sum_add(&around->sum, &scope->sum);
}

/* Keys point into the window, which moves where a value is longer than it. */
static bool read_proton_member(struct proton_reading *reading, struct open_scope *scope)
{
    struct json_window *window = &reading->window;
    struct json_slice key, value;
    bool is_frame, is_metrics, is_children;

    if (!json_window_key(window, &key))
        return false;
    is_frame = slice_is(&key, "frame");
    is_metrics = slice_is(&key, "metrics");
    is_children = slice_is(&key, "children") && json_window_peek(window) == '[';
    if (is_children) {
        scope->is_in_children = true;
        scope->has_item_before = false;
        window->at++;
        return true;
    }
    if (!is_frame && !is_metrics)
        return json_window_skip(window);
    if (!json_window_value(window, &value))
        return false;
    if (is_frame)
        read_proton_frame(reading, scope, &value);
    else
        read_proton_metrics(reading, scope, &value);
    return true;
}

/* One member or child further, in or out. */
static bool proton_go_on(struct proton_reading *reading)
{
    struct json_window *window = &reading->window;
    struct open_scope *scope = &reading->path[reading->depth - 1];
    char c = json_window_peek(window);

    if (c == (scope->is_in_children ? ']' : '}')) {
        window->at++;
        if (!scope->is_in_children)
            close_proton_scope(reading);
        scope->is_in_children = false;
        scope->has_item_before = true;
        return true;
    }
    if (scope->has_item_before && c != ',')
        return proton_fail(reading, window->at, "',' or the end of a scope");
    if (scope->has_item_before) {
        window->at++;
        c = json_window_peek(window);
    }
    scope->has_item_before = true;
    if (!scope->is_in_children)
        return read_proton_member(reading, scope);
    if (c != '{')
        return json_window_skip(window);
    window->at++;
    return open_proton_scope(reading);
}

/* The first element is the tree, one behind it tells the devices. */
static bool read_proton_elements(struct proton_reading *reading)
{
    struct json_window *window = &reading->window;
    struct json_slice value;
    char c;

    if (json_window_peek(window) != '[')
        return proton_fail(reading, window->at, "an array");
    window->at++;
    if (json_window_peek(window) != '{')
        return proton_fail(reading, window->at, "a scope");
    window->at++;
    if (!open_proton_scope(reading))
        return false;
    while (reading->depth > 0)
        if (!proton_go_on(reading))
            return false;
    for (c = json_window_peek(window); c == ','; c = json_window_peek(window)) {
        window->at++;
        json_window_peek(window);
        if (!json_window_value(window, &value))
            return false;
        describe_proton_devices(reading, &value);
    }
    if (c != ']')
        return proton_fail(reading, window->at, "',' or the end of the profile");
    window->at++;
    return true;
}

/* ---- the tree in MessagePack ---------------------------------------------------------------- */

/* How many members and children there are stands before them, so that an end is where nothing is
 * left, and not at a letter. */
static bool open_packed_scope(struct proton_reading *reading)
{
    struct msgpack_token token;

    if (!msgpack_next(&reading->window, &token))
        return false;
    if (token.kind != MSGPACK_MAP)
        return proton_fail(reading, reading->window.at, "a scope");
    if (!open_proton_scope(reading))
        return false;
    reading->path[reading->depth - 1].members_left = token.number;
    return true;
}

static bool packed_is(const struct msgpack_token *token, const char *text)
{
    return token->kind == MSGPACK_TEXT && token->number == strlen(text) &&
           memcmp(token->text, text, token->number) == 0;
}

/* What is in a scope but its children is short: it is read as JSON. */
static bool read_packed_member(struct proton_reading *reading, struct open_scope *scope)
{
    struct json_window *window = &reading->window;
    struct msgpack_token token;
    struct json_slice value;
    bool is_frame, is_metrics, is_children;

    if (!msgpack_next(window, &token))
        return false;
    is_frame = packed_is(&token, "frame");
    is_metrics = packed_is(&token, "metrics");
    is_children = packed_is(&token, "children");
    if (is_children) {
        if (!msgpack_next(window, &token))
            return false;
        scope->children_left = token.kind == MSGPACK_ARRAY ? token.number : 0;
        scope->is_in_children = true;
        return token.kind == MSGPACK_ARRAY || proton_fail(reading, window->at, "an array");
    }
    if (!msgpack_value(window, &reading->packed, &value))
        return false;
    if (is_frame)
        read_proton_frame(reading, scope, &value);
    else if (is_metrics)
        read_proton_metrics(reading, scope, &value);
    return true;
}

/* One member or child further, in or out, as proton_go_on. */
static bool packed_go_on(struct proton_reading *reading)
{
    struct open_scope *scope = &reading->path[reading->depth - 1];
    uint64_t *left = scope->is_in_children ? &scope->children_left : &scope->members_left;

    if (*left == 0) {
        if (!scope->is_in_children)
            close_proton_scope(reading);
        scope->is_in_children = false;
        return true;
    }
    --*left;
    return scope->is_in_children ? open_packed_scope(reading) : read_packed_member(reading, scope);
}

/* As read_proton_elements. The number of elements is of the outermost array, and is read before the
 * first scope. */
static bool read_packed_elements(struct proton_reading *reading)
{
    struct msgpack_token token;
    struct json_slice value;

    if (!msgpack_next(&reading->window, &token) || !open_packed_scope(reading))
        return false;
    while (reading->depth > 0)
        if (!packed_go_on(reading))
            return false;
    for (uint64_t i = 1; i < token.number; i++) {
        if (!msgpack_value(&reading->window, &reading->packed, &value))
            return false;
        describe_proton_devices(reading, &value);
    }
    return true;
}

/* ---- the file -------------------------------------------------------------------------------- */

/* The longest first. */
static int compare_proton_kernels(const void *a, const void *b)
{
    const struct summed_kernel *left = a, *right = b;

    if (left->time_ns != right->time_ns)
        return left->time_ns > right->time_ns ? -1 : 1;
    return strcmp(left->name, right->name);
}

/* What stands before the damage counts. Of scopes that have no end the times do, but no FLOPs or
 * bytes: what the program says of these stands behind what is inside, and rates would be too low.
 */
static void tell_proton_damage(struct proton_reading *reading, const struct input_stream *input)
{
    struct read_account *read = &reading->sums->read;
    struct json_window *window = &reading->window;
    long long at = (long long)json_window_byte(window, window->scan.failed_at);

    while (reading->depth > 0) {
        struct call_sum *sum = &reading->path[reading->depth - 1].sum;

        memset(sum->flops, 0, sizeof sum->flops);
        sum->bytes = 0;
        close_proton_scope(reading);
    }
    if (scan_is_incomplete(&window->scan) && !window->is_too_long) {
        read->is_truncated = true;
        if (input->is_broken)
            (void)snprintf(read->truncation, sizeof read->truncation, "%s", input->breakage);
        else
            (void)snprintf(read->truncation, sizeof read->truncation,
                           "the file ends at byte %lld, before the profile does", at);
        return;
    }
    read->damaged_events = 1;
    read->damages[0] = (struct damage){.byte = at};
    (void)snprintf(read->damages[0].message, sizeof read->damages[0].message,
                   "expected %s: what is behind is not read",
                   window->is_too_long ? "a shorter value" : window->scan.expected);
    read->damage_count = 1;
}

/* A second profile behind the first, say, or a checksum of gzip that is wrong: what was read may be
 * wrong then, too. */
static void tell_proton_rest(struct proton_reading *reading, struct input_stream *input)
{
    static const enum read_ending endings[] = {ENDING_CLEAN, ENDING_FOLLOWED, ENDING_DAMAGED};
    const struct json_window *window = &reading->window;
    struct input_rest rest = input_read_rest(
        input, (struct input_left){window->at, (size_t)(window->scan.limit - window->at),
                                   json_window_byte(window, window->at)});

    if (rest.kind != REST_NOTHING)
        read_account_set_ending(&reading->sums->read, endings[rest.kind], rest.message);
}

/* What is wrong with it as a whole; true where it is a profile with times. The root is the first
 * that is kept, and holds all of them. A file that was cut early is told as one that is cut,
 * whatever else it lacks. */
static bool check_proton(const struct proton_reading *reading, struct error *error)
{
    const struct call_sums *sums = reading->sums;
    const struct read_account *read = &sums->read;

    if (reading->frames > 0 && sums->count > 0 && sums->sums[0].time_ns > 0)
        return true;
    if (read->is_truncated)
        return error_set(error, ERROR_INPUT, "%s, and nothing before was timed", read->truncation);
    if (read->damage_count > 0)
        return error_set(error, ERROR_INPUT, "byte %lld: %s, and nothing before was timed",
                         (long long)read->damages[0].byte, read->damages[0].message);
    if (reading->frames == 0)
        return error_set(error, ERROR_INPUT,
                         "not a profile of Proton: expected an array whose first element has a "
                         "'frame'; name what proton.finalize() wrote");
    return error_set(error, ERROR_NO_DATA,
                     "a profile of Proton in which nothing was timed%s%s: record kernels between "
                     "proton.start() and proton.finalize(), with the backend cupti or roctracer",
                     reading->without_time ? ", which holds " : "",
                     reading->without_time ? reading->without_time : "");
}

/* Proton writes no version of itself into the file. */
static void name_proton_file(struct read_account *read, const struct input_stream *input,
                             bool is_packed)
{
    read->file_bytes = input->file_bytes;
    read->text_bytes = input->text_bytes;
    (void)snprintf(read->format, sizeof read->format, "proton-hatchet%s",
                   is_packed ? "-msgpack" : "");
    (void)snprintf(read->recorder, sizeof read->recorder, "Proton (Triton), version not told");
    (void)snprintf(read->compression, sizeof read->compression, "%s",
                   compression_name(input->compression));
}

bool read_proton(struct call_sums *sums, const char *path, size_t scopes_max, struct error *error)
{
    SCOPED(input_stream) input = {0};
    struct proton_reading reading = {.sums = sums, .scopes_max = scopes_max};
    struct input_window head;
    bool is_packed;
    bool is_read;

    if (!input_stream_open(&input, path, false, error))
        return false;
    head = input_stream_peek(&input);
    is_packed = looks_like_packed_proton(head.text, head.length);
    json_window_init(&reading.window, &input, 0);
    if (is_packed ? read_packed_elements(&reading) : read_proton_elements(&reading))
        tell_proton_rest(&reading, &input);
    else
        tell_proton_damage(&reading, &input);
    name_proton_file(&sums->read, &input, is_packed);
    if (sums->kernel_count > 1)
        qsort(sums->kernels, sums->kernel_count, sizeof *sums->kernels, compare_proton_kernels);
    is_read = check_proton(&reading, error);
    hash_map_clear(&reading.kernels);
    free(reading.packed.text);
    free(reading.name);
    free(reading.path);
    return is_read || error_in(error, "'%s'", path);
}
