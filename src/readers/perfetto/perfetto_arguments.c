/* The arguments of track events, put where the reader of torch.profiler's JSON would put them. */
#include "base/core/array.h"
#include "readers/perfetto/perfetto_reading.h"
#include "readers/torch_profiler/torch_profiler_reading.h"
#include "readers/torch_profiler/torch_profiler_scan.h"

#include <math.h>

/* Nearly all arguments are a number, a text, or a list that was there before. Their values are put
 * where the reader of torch.profiler's JSON would put them. Whatever is none of that makes the
 * whole event take the long way through its text: each of these functions is then false. */

enum { TRIPLE = 3 };
/* Decimal digits of both are read as they are, without rounding. */
static const int64_t exact_integer = INT64_C(1000000000000000000);
static const int64_t exact_in_double = INT64_C(1) << 53;

static bool is_integer_within(const struct proto_field *value, int64_t limit)
{
    return value->form == PROTO_VARINT &&
           (value->number == 3 || value->number == 4 || value->number == 7) &&
           proto_signed(value) < limit && proto_signed(value) > -limit;
}

/* Integers count as well, as JSON writes a fraction without digits behind its point. */
static bool use_fraction(struct torch_event *text, enum event_arg arg,
                         const struct proto_field *value)
{
    double number;

    if (value->number == 5 && value->form == PROTO_8_BYTES)
        number = proto_real(value);
    else if (is_integer_within(value, exact_in_double))
        number = (double)proto_signed(value);
    else
        return false;
    if (isfinite(number)) {
        text->fractions[arg - ARG_OCCUPANCY] = (float)number;
        text->has_args |= (uint64_t)1 << arg;
    }
    return true;
}

/* "[8, 1, 1]", as JSON prints it. */
static int numbers_in_text(struct proto_bytes text, int32_t *numbers)
{
    const char *at = text.at;
    const char *end = proto_bytes_end(text);
    int count = 0;

    if (text.length < 3 || *at != '[')
        return 0;
    for (at++; at < end && count < TRIPLE; count++) {
        const char *start = at;
        int32_t number = 0;

        while (at < end && *at >= '0' && *at <= '9' && at - start < 9)
            number = number * 10 + (*at++ - '0');
        if (at == start || at == end)
            return 0;
        numbers[count] = number;
        if (*at == ']')
            return at + 1 == end ? count + 1 : 0;
        if (*at++ != ',')
            return 0;
        at += at < end && *at == ' ';
    }
    return 0;
}

/* Entries of an array. */
static int numbers_in_list(const struct perfetto_sequence *sequence, struct proto_bytes message,
                           int32_t *numbers)
{
    struct proto_walk walk = proto_walk_of(message);
    struct proto_field field;
    int count = 0;

    while (proto_next(&walk, &field)) {
        struct perfetto_argument entry;

        if (!proto_is(&field, 12, PROTO_LENGTH))
            continue;
        perfetto_read_argument(&entry, sequence, field.bytes);
        if (count == TRIPLE || !entry.has_value || !is_integer_within(&entry.value, INT32_MAX))
            return 0;
        numbers[count++] = (int32_t)proto_signed(&entry.value);
    }
    return count;
}

/* As text or as an array, by the writer; what is not said of it is -1. */
static bool use_triple(const struct perfetto_sequence *sequence, struct torch_event *text,
                       enum event_arg arg, const struct perfetto_argument *argument)
{
    const struct proto_field *value = &argument->value;
    int32_t *triple = text->triples[arg - ARG_GRID];
    int count = 0;

    if (proto_is(value, 9, PROTO_LENGTH))
        count = numbers_in_text(value->bytes, triple);
    else if (proto_is(value, 12, PROTO_LENGTH))
        count = numbers_in_list(sequence, argument->message, triple);
    if (!count)
        return false;
    for (int i = count; i < TRIPLE; i++)
        triple[i] = -1;
    text->has_args |= (uint64_t)1 << arg;
    return true;
}

/* The JSON of a list, in the builder. UINT32_MAX: its bytes alone do not tell it, for they hold
 * numbers of names, or JSON. Lists of shapes and types repeat, byte for byte. */
static uint32_t list_string(struct perfetto_reading *reading,
                            const struct perfetto_sequence *sequence, struct proto_bytes message)
{
    uint32_t list = string_pool_find(&reading->lists, message.at, message.length);
    struct json_slice json;

    if (list && list < UINT32_MAX)
        return reading->list_strings[list];
    perfetto_write_argument(reading, sequence, message);
    if (reading->is_bound)
        return UINT32_MAX;
    list = string_pool_add(&reading->lists, message.at, message.length);
    json = (struct json_slice){.text = reading->text, .length = (uint32_t)reading->text_length};
    ARRAY_RESERVE(reading->list_strings, reading->list_room, (size_t)list + 1);
    reading->list_strings[list] = torch_store_array(&reading->store, &json);
    return reading->list_strings[list];
}

/* A text stays where it is in the file until it is stored; a list is one that was there before, or
 * is written as JSON once. */
static bool use_text(struct perfetto_reading *reading, const struct perfetto_sequence *sequence,
                     struct torch_event *text, enum event_arg arg,
                     const struct perfetto_argument *argument)
{
    const struct proto_field *value = &argument->value;
    struct json_slice *slice = &text->texts[arg - ARG_INPUT_DIMS];
    uint32_t string = UINT32_MAX;

    text->has_args |= (uint64_t)1 << arg;
    if (proto_is(value, 6, PROTO_LENGTH)) {
        *slice = (struct json_slice){value->bytes.at, (uint32_t)value->bytes.length, true, false};
        return true;
    }
    if (proto_is(value, 9, PROTO_LENGTH))
        string = torch_store_known_array(&reading->store, value->bytes.at, value->bytes.length);
    else if (proto_is(value, 12, PROTO_LENGTH))
        string = list_string(reading, sequence, argument->message);
    *slice = known_text(string);
    return string < UINT32_MAX;
}

enum event_arg perfetto_arg_of(struct perfetto_state *state, uint32_t interned,
                               struct proto_bytes name)
{
    struct perfetto_word *word;

    if (!interned) {
        name = perfetto_kineto_argument(name);
        return torch_event_arg(name.at, name.length);
    }
    word = perfetto_word_of(state, interned);
    if (!word->has_argument) {
        name = perfetto_kineto_argument(perfetto_known_text(state, interned));
        word->argument = (uint8_t)torch_event_arg(name.at, name.length);
        word->has_argument = true;
    }
    return (enum event_arg)word->argument;
}

/* A name, interned or not, then an integer that needs no rounding, or what nobody asks for: nearly
 * all. False where it is another, of which nothing was then taken. */
static bool use_usual_argument(struct perfetto_reading *reading,
                               const struct perfetto_sequence *sequence, struct torch_event *text,
                               struct proto_bytes message)
{
    const char *at = message.at;
    const char *end = message.at + message.length;
    struct proto_bytes name = {NULL, 0};
    uint32_t word = 0;
    enum event_arg arg;
    uint64_t value;

    if (message.length < 4)
        return false;
    if (*at == PROTO_KEY(1, PROTO_VARINT) && proto_usual_varint(&at, end, &value))
        word = perfetto_interned_name(sequence, INTERNED_ARGUMENT_NAME, value);
    else if (*at != PROTO_KEY(10, PROTO_LENGTH) || !proto_usual_bytes(&at, end, &name))
        return false;
    if (at == end)
        return false;
    arg = perfetto_arg_of(&reading->state, word, name);
    if ((int)arg < ARG_COUNT && reading->store.layouts.unasked_args >> arg & 1)
        return true;
    if (*at != PROTO_KEY(4, PROTO_VARINT) || !proto_usual_varint(&at, end, &value) || at < end ||
        (arg >= ARG_OCCUPANCY && (int)arg != ARG_COUNT) || value >= (uint64_t)exact_integer)
        return false;
    if ((int)arg != ARG_COUNT) {
        text->numbers[arg] = (int64_t)value;
        text->has_args |= (uint64_t)1 << arg;
    }
    return true;
}

/* What no analysis asks for is left alone, but for what could be no JSON, or hold others. */
static bool use_argument(struct perfetto_reading *reading, const struct perfetto_sequence *sequence,
                         struct torch_event *text, struct proto_bytes message)
{
    struct perfetto_argument argument;
    const struct proto_field *value = &argument.value;
    enum event_arg arg;

    if (use_usual_argument(reading, sequence, text, message))
        return true;
    perfetto_read_argument(&argument, sequence, message);
    arg = perfetto_arg_of(&reading->state, argument.word, argument.name);
    if ((int)arg == ARG_COUNT) /* JSON may be none, and may stand in lists */
        return !argument.has_value ||
               (value->number != 9 && value->number != 11 && value->number != 12);
    if (!argument.has_value)
        return false;
    text->has_args &= ~((uint64_t)1 << arg);
    if (arg < ARG_OCCUPANCY) {
        text->numbers[arg] = proto_signed(value);
        text->has_args |= (uint64_t)1 << arg;
        return is_integer_within(value, exact_integer);
    }
    if (arg < ARG_GRID)
        return use_fraction(text, arg, value);
    if (arg < ARG_INPUT_DIMS)
        return use_triple(sequence, text, arg, &argument);
    return use_text(reading, sequence, text, arg, &argument);
}

/* Of two with one name the last counts, as in JSON. */
bool perfetto_use_arguments(struct perfetto_reading *reading, const struct perfetto_event *event,
                            const struct perfetto_sequence *sequence, struct torch_event *text)
{
    struct proto_walk walk = proto_walk_of(event->arguments);
    struct proto_field field;

    while (proto_next(&walk, &field)) {
        if (proto_is(&field, 4, PROTO_LENGTH) &&
            !use_argument(reading, sequence, text, field.bytes))
            return false;
    }
    return true;
}

void perfetto_use_place(const struct perfetto_reading *reading, const struct perfetto_event *event,
                        struct torch_event *text)
{
    perfetto_name_place(reading, event, &text->numbers[ARG_DEVICE], &text->numbers[ARG_STREAM]);
    text->has_args |= (uint64_t)1 << ARG_DEVICE | (uint64_t)1 << ARG_STREAM;
}
