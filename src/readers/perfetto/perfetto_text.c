/* Track events as the text that torch.profiler's JSON would have of them, for the reader of that.
 */
#include "base/core/array.h"
#include "base/core/large_array.h"
#include "base/io/input_stream.h"
#include "base/json/json_walk.h"
#include "readers/perfetto/perfetto_reading.h"
#include "readers/torch_profiler/torch_profiler_reading.h"
#include "readers/torch_profiler/torch_profiler_scan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NESTING_MAX = 16, PARENTS_MAX = 8, NUMBER_BYTES_MAX = 40 };

/* ---- JSON text ------------------------------------------------------------------------------ */

/* Inline, for most texts are constants of a few bytes. */
static inline void add_bytes(struct perfetto_reading *reading, const char *text, size_t length)
{
    if (reading->text_length + length + INPUT_PADDING > reading->text_room)
        ARRAY_RESERVE(reading->text, reading->text_room,
                      reading->text_length + length + INPUT_PADDING);
    memcpy(reading->text + reading->text_length, text, length);
    reading->text_length += length;
}

static inline void append_text(struct perfetto_reading *reading, const char *text)
{
    add_bytes(reading, text, __builtin_strlen(text));
}

static bool needs_escape(unsigned char c)
{
    return c < ' ' || c == '"' || c == '\\';
}

/* How many bytes from `text` on need no escape; eight are looked at together. In a byte that a
 * number was subtracted from, the highest bit is set where it was smaller; an exclusive or makes a
 * byte 0 where it was the one that is looked for. Bytes from 0x80 on set it too, and are none. A
 * borrow from the byte below only marks a byte behind one that is marked. */
static size_t unescaped_length(const char *text, size_t length)
{
    const uint64_t each = UINT64_C(0x0101010101010101);
    size_t at = 0;

    for (; at + 8 <= length; at += 8) {
        uint64_t bytes = load_8_bytes(text + at);
        uint64_t quote = bytes ^ each * '"';
        uint64_t slash = bytes ^ each * '\\';

        if (((bytes - each * ' ') | (quote - each) | (slash - each)) & ~bytes & each * 0x80)
            break;
    }
    while (at < length && !needs_escape((unsigned char)text[at]))
        at++;
    return at;
}

/* Bytes above 0x7f are copied as they are: names that are no UTF-8 are counted when stored. */
static void append_quoted(struct perfetto_reading *reading, struct proto_bytes text)
{
    char escape[8];

    append_text(reading, "\"");
    for (size_t start = 0; start < text.length;) {
        size_t plain = unescaped_length(text.at + start, text.length - start);

        add_bytes(reading, text.at + start, plain);
        start += plain;
        if (start == text.length)
            break;
        (void)snprintf(escape, sizeof escape,
                       (unsigned char)text.at[start] < ' ' ? "\\u%04x" : "\\%c",
                       (unsigned char)text.at[start]);
        add_bytes(reading, escape, strlen(escape));
        start++;
    }
    append_text(reading, "\"");
}

/* By hand: nearly each argument has a number, and snprintf would parse its format each time. */
static void append_natural(struct perfetto_reading *reading, uint64_t number)
{
    char digits[NUMBER_BYTES_MAX];
    size_t at = sizeof digits;

    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number);
    add_bytes(reading, digits + at, sizeof digits - at);
}

static void append_integer(struct perfetto_reading *reading, int64_t number)
{
    if (number < 0)
        append_text(reading, "-");
    append_natural(reading, number < 0 ? -(uint64_t)number : (uint64_t)number);
}

/* ---- arguments ------------------------------------------------------------------------------ */

/* Its name is 10 or, interned, 1: the first of them. Of its value the first field counts, but for a
 * dictionary or an array, of which the last does. */
static void read_argument_field(struct perfetto_argument *argument,
                                const struct perfetto_sequence *sequence,
                                const struct proto_field *field)
{
    uint32_t number = field->number;

    if (number == 1 && field->form == PROTO_VARINT && !argument->has_name) {
        argument->word = perfetto_interned_name(sequence, INTERNED_ARGUMENT_NAME, field->value);
        argument->has_name = true;
    } else if (number == 10 && field->form == PROTO_LENGTH && !argument->has_name) {
        argument->name = field->bytes;
        argument->has_name = true;
    } else if ((number >= 2 && number <= 12 && number != 8 && number != 10) || number == 17) {
        if (!argument->has_value || number == 11 || number == 12)
            argument->value = *field;
        argument->has_value = true;
    }
}

/* An interned name, then an integer: nearly all. */
static bool read_usual_argument(struct perfetto_argument *argument,
                                const struct perfetto_sequence *sequence, const char *at,
                                const char *end)
{
    uint64_t name;
    uint64_t value;

    if (end - at < 4 || *at != (1 << 3 | PROTO_VARINT) || !proto_usual_varint(&at, end, &name) ||
        at == end || *at != (4 << 3 | PROTO_VARINT) || !proto_usual_varint(&at, end, &value) ||
        at < end)
        return false;
    *argument = (struct perfetto_argument){
        .word = perfetto_interned_name(sequence, INTERNED_ARGUMENT_NAME, name),
        .has_name = true,
        .has_value = true,
        .value = {.number = 4, .form = PROTO_VARINT, .value = value},
    };
    return true;
}

void perfetto_read_argument(struct perfetto_argument *argument,
                            const struct perfetto_sequence *sequence, struct proto_bytes message)
{
    struct proto_walk walk = proto_walk_of(message);
    struct proto_field field;

    if (read_usual_argument(argument, sequence, walk.at, walk.end))
        return;
    *argument = (struct perfetto_argument){.message = message};
    while (proto_next(&walk, &field))
        read_argument_field(argument, sequence, &field);
}

static struct proto_bytes argument_name(const struct perfetto_reading *reading,
                                        const struct perfetto_argument *argument)
{
    return argument->word ? perfetto_known_text(&reading->state, argument->word) : argument->name;
}

static void append_real(struct perfetto_reading *reading, double number)
{
    char text[NUMBER_BYTES_MAX];

    (void)snprintf(text, sizeof text, "%.17g", number);
    append_text(reading, isfinite(number) ? text : "null");
}

/* A value that holds no others. */
static void append_scalar(struct perfetto_reading *reading,
                          const struct perfetto_sequence *sequence, const struct proto_field *value)
{
    if (value->number == 2) {
        append_text(reading, value->value ? "true" : "false");
    } else if (value->number == 4) {
        append_integer(reading, proto_signed(value));
    } else if (value->number == 3 || value->number == 7) {
        append_natural(reading, value->value);
    } else if (value->number == 5) {
        append_real(reading, proto_real(value));
    } else if (value->number == 9 && value->form == PROTO_LENGTH) {
        reading->is_bound = true;
        add_bytes(reading, value->bytes.at, value->bytes.length); /* JSON as it is */
    } else if (value->number == 17) {
        reading->is_bound = true;
        append_quoted(reading,
                      perfetto_known_text(
                          &reading->state,
                          perfetto_interned_name(sequence, INTERNED_ARGUMENT_VALUE, value->value)));
    } else {
        append_quoted(reading,
                      value->form == PROTO_LENGTH ? value->bytes : (struct proto_bytes){NULL, 0});
    }
}

/* A dictionary or array that is open. */
struct open_value {
    struct proto_walk walk;
    uint32_t number;
    bool has_members;
};

/* Opens what the annotation holds, or appends it where it holds no others. True: it is open. */
static bool append_value(struct perfetto_reading *reading, const struct perfetto_sequence *sequence,
                         struct proto_bytes message, const struct perfetto_argument *argument,
                         struct open_value *open)
{
    const struct proto_field *value = &argument->value;

    if (!argument->has_value) {
        append_text(reading, "null");
        return false;
    }
    if (value->number != 11 && value->number != 12) {
        append_scalar(reading, sequence, value);
        return false;
    }
    if (!open) {
        append_text(reading, "null");
        return false;
    }
    *open = (struct open_value){.walk = proto_walk_of(message), .number = value->number};
    append_text(reading, value->number == 11 ? "{" : "[");
    return true;
}

/* The next member of an open value; false at its end. */
static bool next_member(struct open_value *open, struct proto_field *member)
{
    while (proto_next(&open->walk, member)) {
        if (proto_is(member, open->number, PROTO_LENGTH))
            return true;
    }
    return false;
}

/* Without recursion, on a stack of NESTING_MAX that no file overflows: what lies deeper is null. */
static void append_annotation(struct perfetto_reading *reading,
                              const struct perfetto_sequence *sequence, struct proto_bytes message,
                              const struct perfetto_argument *argument)
{
    struct open_value open[NESTING_MAX];
    unsigned depth = append_value(reading, sequence, message, argument, &open[0]);

    while (depth > 0) {
        struct open_value *top = &open[depth - 1];
        struct proto_field member;
        struct perfetto_argument inner;

        if (!next_member(top, &member)) {
            append_text(reading, top->number == 11 ? "}" : "]");
            depth--;
            continue;
        }
        if (top->has_members)
            append_text(reading, ", ");
        top->has_members = true;
        perfetto_read_argument(&inner, sequence, member.bytes);
        if (top->number == 11) {
            reading->is_bound |= inner.word != 0;
            append_quoted(reading, argument_name(reading, &inner));
            append_text(reading, ": ");
        }
        depth += append_value(reading, sequence, member.bytes, &inner,
                              depth < NESTING_MAX ? &open[depth] : NULL);
    }
}

void perfetto_write_argument(struct perfetto_reading *reading,
                             const struct perfetto_sequence *sequence, struct proto_bytes message)
{
    struct perfetto_argument argument;

    perfetto_read_argument(&argument, sequence, message);
    reading->text_length = 0;
    reading->is_bound = false;
    append_annotation(reading, sequence, message, &argument);
    memset(reading->text + reading->text_length, 0, INPUT_PADDING);
}

/* ---- where an event is ---------------------------------------------------------------------- */

static const struct perfetto_track *parent_of(const struct perfetto_state *state,
                                              const struct perfetto_track *track)
{
    uint32_t index = track->parent ? hash_map_find(&state->track_by_id, track->parent) : NO_VALUE;

    return index == NO_VALUE ? NULL : &state->tracks[index];
}

/* NULL where no process is said. PARENTS_MAX steps: tracks may name each other in a circle. */
static const struct perfetto_track *process_of(const struct perfetto_state *state,
                                               const struct perfetto_track *track)
{
    for (int i = 0; track && i < PARENTS_MAX; i++) {
        if (track->has_process || track->has_thread)
            return track;
        track = parent_of(state, track);
    }
    return NULL;
}

/* As a number or as a quoted text. */
static struct json_slice text_from(const struct perfetto_reading *reading, size_t start)
{
    return (struct json_slice){.text = reading->text + start,
                               .length = (uint32_t)(reading->text_length - start)};
}

/* A track of neither thread nor process has its parent's name: so writers group their streams. */
static void append_process(struct perfetto_reading *reading, uint32_t index)
{
    const struct perfetto_track *track = &reading->state.tracks[index];
    const struct perfetto_track *process = process_of(&reading->state, track);
    const struct perfetto_track *parent = parent_of(&reading->state, track);

    if (process)
        append_integer(reading, process->pid);
    else
        append_quoted(reading, parent && parent->name
                                   ? perfetto_known_text(&reading->state, parent->name)
                                   : (struct proto_bytes){"trace", 5});
}

static void append_thread(struct perfetto_reading *reading, uint32_t index)
{
    const struct perfetto_track *track = &reading->state.tracks[index];

    if (track->has_thread)
        append_integer(reading, track->tid);
    else if (track->name)
        append_quoted(reading, perfetto_known_text(&reading->state, track->name));
    else
        append_integer(reading, (int64_t)track->id);
}

/* A text or number of JSON that stands alone, without its quotes. */
static struct json_slice unquoted(struct json_slice text)
{
    struct json_scan scan = {0};
    struct json_slice value = {0};

    scan.limit = text.text + text.length;
    (void)scan_value(&scan, text.text, &value);
    return value;
}

void perfetto_write_place(struct perfetto_reading *reading, uint32_t track,
                          struct torch_event *text)
{
    size_t thread;

    reading->text_length = 0;
    append_process(reading, track);
    append_text(reading, ",");
    thread = reading->text_length;
    append_thread(reading, track);
    append_text(reading, ",");
    memset(reading->text + reading->text_length, 0, INPUT_PADDING);
    text->tid = unquoted(text_from(reading, thread));
    text->pid = unquoted(text_from(reading, 0));
    text->has |= HAS_PID | HAS_TID;
}

/* ---- events ---------------------------------------------------------------------------------- */

/* Arguments in the words of torch.profiler. */
struct proto_bytes perfetto_kineto_argument(struct proto_bytes name)
{
    if (name.length == 7 && memcmp(name.at, "corr_id", 7) == 0)
        return (struct proto_bytes){"correlation", 11};
    if (proto_text_is(name, "copy_bytes"))
        return (struct proto_bytes){"bytes", 5};
    return name;
}

/* The number in the first or a later pair of brackets of a track's name; 0 where there is none. */
static int64_t number_in_brackets(struct proto_bytes name, int pair)
{
    const char *end = proto_bytes_end(name);
    const char *at = name.at;
    int64_t number = 0;

    for (; at && at < end && pair > 0; pair--) {
        at = memchr(at, '[', (size_t)(end - at));
        if (at)
            at++;
    }
    while (at && at < end && *at >= '0' && *at <= '9' && number < INT32_MAX)
        number = number * 10 + (*at++ - '0');
    return number;
}

/* "Agent-4", "GPU-0": the number behind the dash. Older versions give the number itself. */
int64_t perfetto_agent_of(const struct perfetto_reading *reading,
                          const struct perfetto_event *event,
                          const struct perfetto_sequence *sequence, const char *name)
{
    struct proto_walk walk = proto_walk_of(event->arguments);
    struct proto_field field;

    while (proto_next(&walk, &field)) {
        struct perfetto_argument argument;
        struct json_slice digits = {.length = 0};
        struct proto_bytes text;
        const char *dash;
        int64_t source;

        perfetto_read_argument(&argument, sequence, field.bytes);
        if (!proto_text_is(argument_name(reading, &argument), name) || !argument.has_value)
            continue;
        if (argument.value.number == 3 || argument.value.number == 4)
            return argument.value.value <= INT32_MAX ? (int64_t)argument.value.value : -1;
        text = argument.value.number == 17
                   ? perfetto_known_text(&reading->state,
                                         perfetto_interned_name(sequence, INTERNED_ARGUMENT_VALUE,
                                                                argument.value.value))
                   : argument.value.bytes;
        dash = text.length ? memrchr(text.at, '-', text.length) : NULL;
        digits.text = dash ? dash + 1 : NULL;
        digits.length = dash ? (uint32_t)(proto_bytes_end(text) - dash - 1) : 0;
        return dash && slice_integer(&digits, &source) && source <= INT32_MAX ? source : -1;
    }
    return -1;
}

/* The number that the text ends with; 0 where it does not. */
static int64_t last_number(struct proto_bytes text)
{
    size_t first = text.length;
    int64_t number = 0;

    while (first > 0 && text.at[first - 1] >= '0' && text.at[first - 1] <= '9')
        first--;
    while (first < text.length && number < INT32_MAX)
        number = number * 10 + (text.at[first++] - '0');
    return number;
}

/* rocprof-sys: "GPU Kernel Dispatch [0] Queue 3"; "GPU Memory Copy to Agent [4] Thread 0", which
 * counts processors, too, and "HIP Activity Stream 2" do not tell the number that kernels have.
 * Omnitrace: "HIP Activity Device 0, Queue 3". */
static bool systems_place(struct proto_bytes name, int64_t *device, int64_t *stream)
{
    static const char of_device[] = "HIP Activity Device ";

    if (proto_text_begins(name, of_device)) {
        const char *comma = memchr(name.at, ',', name.length);
        struct proto_bytes number = {name.at, comma ? (size_t)(comma - name.at) : name.length};

        *device = last_number(number);
        *stream = comma ? last_number(name) : 0;
        return true;
    }
    if (!proto_text_begins(name, "GPU Kernel Dispatch [") &&
        !proto_text_begins(name, "GPU Memory Copy to Agent [") &&
        !proto_text_begins(name, "HIP Activity Stream "))
        return false;
    *device = proto_text_begins(name, "GPU Kernel") ? number_in_brackets(name, 1)
                                                    : PERFETTO_DEVICE_UNTOLD;
    *stream = last_number(name);
    return true;
}

bool perfetto_is_stream_alone(const struct perfetto_reading *reading, uint32_t track)
{
    return proto_text_begins(
        perfetto_known_text(&reading->state, reading->state.tracks[track].name), "STREAM [");
}

/* rocprofv3 says it in the names of tracks alone, whose process is that of the host: "COMPUTE AGENT
 * [4] STREAM [3] (GPU)", and with queues for streams "COMPUTE Agent [4] QUEUE [0] GPU", where the
 * word is that of --agent-index. A copy to the host is of the device that it comes from. Since ROCm
 * 7 a stream's track has its number alone, "STREAM [3]" or "STREAM [\" 3 \"] "; arguments have the
 * agent. */
void perfetto_name_place(const struct perfetto_reading *reading, const struct perfetto_event *event,
                         int64_t *device, int64_t *stream)
{
    struct proto_bytes name =
        perfetto_known_text(&reading->state, reading->state.tracks[event->track].name);
    bool is_to_host = proto_text_has(name, "(CPU");

    if (systems_place(name, device, stream))
        return;
    if (perfetto_is_stream_alone(reading, event->track)) {
        while (name.length > 0 &&
               (name.at[name.length - 1] < '0' || name.at[name.length - 1] > '9'))
            name.length--;
        *device = event->agent >= 0 ? event->agent : PERFETTO_DEVICE_UNTOLD;
        *stream = last_number(name);
        return;
    }
    *device = is_to_host && event->source >= 0 ? event->source : number_in_brackets(name, 1);
    *stream = number_in_brackets(name, 2);
}

static void append_name_place(struct perfetto_reading *reading, const struct perfetto_event *event,
                              bool is_first)
{
    int64_t device;
    int64_t stream;

    perfetto_name_place(reading, event, &device, &stream);
    append_text(reading, is_first ? "\"device\": " : ", \"device\": ");
    append_integer(reading, device);
    append_text(reading, ", \"stream\": ");
    append_integer(reading, stream);
}

/* Arguments become JSON in the names of torch.profiler's traces. */
static void append_arguments(struct perfetto_reading *reading, const struct perfetto_event *event,
                             const struct perfetto_sequence *sequence)
{
    struct proto_walk walk = proto_walk_of(event->arguments);
    struct proto_field field;
    bool is_first = true;

    append_text(reading, ", \"args\": {");
    while (proto_next(&walk, &field)) {
        struct perfetto_argument argument;

        if (!proto_is(&field, 4, PROTO_LENGTH))
            continue;
        if (!is_first)
            append_text(reading, ", ");
        is_first = false;
        perfetto_read_argument(&argument, sequence, field.bytes);
        append_quoted(reading, perfetto_kineto_argument(argument_name(reading, &argument)));
        append_text(reading, ": ");
        append_annotation(reading, sequence, field.bytes, &argument);
    }
    if (event->is_translated)
        append_name_place(reading, event, is_first);
    append_text(reading, "}");
}

/* The event becomes the JSON that torch.profiler would write, and is read by that reader's own
 * code: arguments then mean the same in both forms, and no rule is there twice. It costs a copy
 * of the text, so that what most events hold does not come here (perfetto_events.c). */
bool perfetto_scan_as_json(struct perfetto_reading *reading, const struct perfetto_event *event,
                           const struct perfetto_sequence *sequence, struct torch_event *text)
{
    struct json_scan scan = {0};
    struct proto_bytes category = perfetto_word_of(&reading->state, event->category)->category;

    reading->text_length = 0;
    append_text(reading, event->type == PERFETTO_BEGIN ? "{\"ph\": \"B\", \"name\": "
                                                       : "{\"ph\": \"i\", \"name\": ");
    append_quoted(reading, event->name);
    if (category.length) {
        append_text(reading, ", \"cat\": ");
        append_quoted(reading, category);
    }
    append_text(reading, ", \"pid\": ");
    append_process(reading, event->track);
    append_text(reading, ", \"tid\": ");
    append_thread(reading, event->track);
    append_arguments(reading, event, sequence);
    append_text(reading, "}");
    memset(reading->text + reading->text_length, 0, INPUT_PADDING);
    scan.limit = reading->text + reading->text_length;
    return torch_event_scan(&scan, reading->text, text) != NULL;
}
