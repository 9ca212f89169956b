/* Packets of track events that look like one before: nearly all of a trace. Writers lay the events
 * of one place of a program out alike, so that two differ in their times, names and numbers only: a
 * packet is compared with what it may look like as a whole, and its numbers are taken from where
 * they stand. */
#include "base/core/invariant.h"
#include "readers/perfetto/perfetto_reading.h"
#include "readers/torch_profiler/torch_profiler_reading.h"

#include <stdlib.h>
#include <string.h>

enum {
    WORD = sizeof(uint64_t),
    PACKET_BYTES_KNOWN = 20 * WORD,
    PACKET_VALUES = 12,
    PACKET_LAYOUTS = 128,
    ONE_LENGTH_MAX = 8, /* layouts of one length that are tried */
    LEARN_CREDIT = 2048,
    LEARN_COST = 8, /* packets that a layout must have told before another may be learned */
};

/* What a number in a packet is, beside enum event_arg. */
enum { VALUE_TIME = ARG_COUNT + 1, VALUE_NAME, VALUE_FLOW, VALUE_UNASKED };

/* A number of `length` bytes in one word of the packet. */
struct packet_value {
    uint8_t from;  /* of the word */
    uint8_t shift; /* bits of it before the number */
    uint8_t what;
    uint64_t mask; /* of the number's bytes */
};

/* What packets of one length look like. Bits of `mask` are those that all of them share: of a
 * varint whether one byte more follows. */
struct perfetto_layout {
    uint64_t words[PACKET_BYTES_KNOWN / WORD], mask[PACKET_BYTES_KNOWN / WORD];
    uint64_t last_word, last_mask; /* of the last eight bytes */
    struct packet_value values[PACKET_VALUES];
    uint8_t value_count;
    uint8_t word_count; /* whole ones */
    uint8_t next;       /* the next of the same length, and 1; 0: none */
    bool is_begin;      /* else an end */
    bool needs_state;
    bool has_name;
    uint32_t sequence; /* its index */
    uint64_t meaning;  /* of the numbers in it; see perfetto_state */
    struct perfetto_event event;
};

struct perfetto_layouts {
    struct perfetto_layout layouts[PACKET_LAYOUTS];
    uint32_t count;
    uint32_t credit;
    uint8_t first[PACKET_BYTES_KNOWN + 1]; /* by length: the newest, and 1 */
};

static uint64_t word_at(const char *at)
{
    uint64_t word;

    memcpy(&word, at, sizeof word);
    return word;
}

/* ---- learning ------------------------------------------------------------------------------- */

/* A packet that is learned, and which of its bits differ from packet to packet. */
struct learned_packet {
    struct perfetto_reading *reading;
    struct proto_bytes message;
    struct perfetto_sequence *sequence;
    struct perfetto_layout *layout;
    unsigned char mask[PACKET_BYTES_KNOWN];
};

/* `length` bytes at `at` differ; of a varint not which of them is the last. */
static bool differs(struct learned_packet *learned, const char *at, size_t length, int what)
{
    struct perfetto_layout *layout = learned->layout;
    size_t place = (size_t)(at - learned->message.at);
    size_t from = place + WORD <= learned->message.length ? place : learned->message.length - WORD;
    unsigned char kept = what == VALUE_FLOW || what == VALUE_UNASKED ? 0 : 0x80;

    memset(learned->mask + place, kept, length);
    if (what == VALUE_UNASKED || what == ARG_COUNT)
        return true;
    if (layout->value_count == PACKET_VALUES || length > WORD)
        return false;
    layout->values[layout->value_count++] =
        (struct packet_value){.from = (uint8_t)from,
                              .shift = (uint8_t)(8 * (place - from)),
                              .what = (uint8_t)what,
                              .mask = UINT64_MAX >> (8 * (WORD - length))};
    return true;
}

/* A varint that differs, behind its key of one byte; *at is moved behind it. */
static bool varint_differs(struct learned_packet *learned, const char **at, const char *end,
                           int what)
{
    const char *start = *at + 1;
    uint64_t value;

    return proto_next_varint(at, end, &value) && *at - start <= WORD &&
           differs(learned, start, (size_t)(*at - start), what);
}

/* A name, then an integer that needs no rounding, or anything that nobody asks for. Names that are
 * not interned are the same in all packets of the layout. */
static bool learn_argument(struct learned_packet *learned, struct proto_bytes message)
{
    struct perfetto_reading *reading = learned->reading;
    const char *at = message.at;
    const char *end = proto_bytes_end(message);
    struct proto_bytes name = {NULL, 0};
    uint32_t word = 0;
    uint64_t number;
    enum event_arg arg;

    if (at < end && *at == PROTO_KEY(1, PROTO_VARINT)) {
        if (!proto_next_varint(&at, end, &number))
            return false;
        word = perfetto_interned_name(learned->sequence, INTERNED_ARGUMENT_NAME, number);
        if (!word)
            return false;
    } else if (at == end || *at != PROTO_KEY(10, PROTO_LENGTH) ||
               !proto_usual_bytes(&at, end, &name)) {
        return false;
    }
    if (at == end)
        return false;
    arg = perfetto_arg_of(&reading->state, word, name);
    if ((int)arg < ARG_COUNT && reading->store.layouts.unasked_args >> arg & 1)
        return differs(learned, at, (size_t)(end - at), VALUE_UNASKED);
    return *at == PROTO_KEY(4, PROTO_VARINT) && ((int)arg == ARG_COUNT || arg < ARG_OCCUPANCY) &&
           varint_differs(learned, &at, end, (int)arg) && at == end;
}

/* Categories and arguments without a name might get one later. */
static bool learn_event_field(struct learned_packet *learned, const char **at, const char *end)
{
    struct perfetto_layout *layout = learned->layout;
    struct proto_bytes bytes;
    uint64_t number;

    switch ((unsigned char)**at) {
    case PROTO_KEY(3, PROTO_VARINT):
        return proto_next_varint(at, end, &number) &&
               perfetto_interned_name(learned->sequence, INTERNED_CATEGORY, number);
    case PROTO_KEY(4, PROTO_LENGTH):
        return proto_usual_bytes(at, end, &bytes) && learn_argument(learned, bytes);
    case PROTO_KEY(9, PROTO_VARINT):
    case PROTO_KEY(11, PROTO_VARINT):
        return proto_next_varint(at, end, &number);
    case PROTO_KEY(10, PROTO_VARINT):
        if (layout->has_name)
            return false;
        layout->has_name = true;
        return varint_differs(learned, at, end, VALUE_NAME);
    case 0x80 | (47 << 3 & 0x7f) | PROTO_8_BYTES: /* a flow, of which the key has two bytes */
        if (end - *at < 2 + WORD || (unsigned char)(*at)[1] != 47 >> 4)
            return false;
        *at += 2 + WORD;
        return differs(learned, *at - WORD, WORD, VALUE_FLOW);
    default:
        return false;
    }
}

/* A slice of our own category is left to the long way, as are copies of rocprofv3, work that its
 * name alone tells or whose device an argument does, and so is one whose name is a text of its own:
 * each such name would be a layout. */
static bool learn_event(struct learned_packet *learned, struct proto_bytes message)
{
    struct perfetto_layout *layout = learned->layout;
    const char *at = message.at;
    const char *end = proto_bytes_end(message);
    const struct perfetto_word *word;

    while (at < end)
        if (!learn_event_field(learned, &at, end))
            return false;
    perfetto_collect_event(&layout->event, learned->reading, learned->sequence, message);
    layout->is_begin = layout->event.type == PERFETTO_BEGIN;
    layout->event.track = perfetto_track_of(&learned->reading->state, layout->event.track_id);
    layout->event.arguments = layout->event.name = (struct proto_bytes){NULL, 0}; /* this one's */
    if (!layout->is_begin)
        return layout->event.type == PERFETTO_END && layout->value_count == 1 &&
               layout->values[0].what == VALUE_TIME;
    if (!layout->has_name || !layout->event.category)
        return false;
    word = perfetto_word_of(&learned->reading->state, layout->event.category);
    return !(layout->event.is_translated &&
             (word->kind == EVENT_MEMCPY || word->is_of_stream ||
              perfetto_is_stream_alone(learned->reading, layout->event.track))) &&
           !perfetto_is_ours(learned->reading, &layout->event);
}

/* Its fields are those of perfetto.c's usual packets, which knows that they are no others. */
static bool learn_packet(struct learned_packet *learned)
{
    struct proto_bytes event = {NULL, 0};
    const char *at = learned->message.at;
    const char *end = proto_bytes_end(learned->message);
    bool is_timed = false;
    uint64_t number;

    while (at < end) {
        if (*at == PROTO_KEY(11, PROTO_LENGTH)) {
            if (event.at || !proto_usual_bytes(&at, end, &event))
                return false;
        } else if (*at == PROTO_KEY(8, PROTO_VARINT)) {
            if (is_timed || !varint_differs(learned, &at, end, VALUE_TIME))
                return false;
            is_timed = true;
        } else if (!proto_next_varint(&at, end, &number)) {
            return false;
        }
    }
    return event.at && learn_event(learned, event);
}

/* The words of the packet, and what of them all packets of the layout share. */
static void keep_words(const struct learned_packet *learned)
{
    struct perfetto_layout *layout = learned->layout;
    const char *text = learned->message.at;
    const char *mask = (const char *)learned->mask;
    size_t length = learned->message.length;

    layout->word_count = (uint8_t)(length / WORD);
    for (size_t i = 0; i < layout->word_count; i++) {
        layout->mask[i] = word_at(mask + i * WORD);
        layout->words[i] = word_at(text + i * WORD) & layout->mask[i];
    }
    layout->last_mask = word_at(mask + length - WORD);
    layout->last_word = word_at(text + length - WORD) & layout->last_mask;
}

/* Where there is no room left all are forgotten: those that come again are learned again. What is
 * learned must have spared more than it took, so that a file in which no packet is like another is
 * read without. */
void perfetto_learn(struct perfetto_reading *reading, struct perfetto_sequence *sequence,
                    struct proto_bytes message, bool needs_state)
{
    struct perfetto_layouts *layouts = reading->state.layouts;
    struct learned_packet learned = {.reading = reading, .message = message, .sequence = sequence};

    if (message.length < WORD || message.length > PACKET_BYTES_KNOWN)
        return;
    if (!layouts) {
        layouts = reading->state.layouts = require_memory(calloc(1, sizeof *layouts));
        layouts->credit = LEARN_CREDIT;
    }
    if (layouts->credit < LEARN_COST)
        return;
    layouts->credit -= LEARN_COST;
    if (layouts->count == PACKET_LAYOUTS) {
        memset(layouts->first, 0, sizeof layouts->first);
        layouts->count = 0;
    }
    learned.layout = &layouts->layouts[layouts->count];
    *learned.layout =
        (struct perfetto_layout){.sequence = (uint32_t)(sequence - reading->state.sequences),
                                 .meaning = reading->state.meaning,
                                 .needs_state = needs_state,
                                 .next = layouts->first[message.length]};
    memset(learned.mask, 0xff, sizeof learned.mask);
    if (!learn_packet(&learned))
        return;
    keep_words(&learned);
    layouts->first[message.length] = (uint8_t)++layouts->count;
}

/* ---- reading -------------------------------------------------------------------------------- */

/* Whole words, and the last eight bytes, which may overlap them: no byte behind the packet is read.
 */
static bool looks_like(const struct perfetto_layout *layout, struct proto_bytes message)
{
    for (size_t i = 0; i < layout->word_count; i++)
        if ((word_at(message.at + i * WORD) & layout->mask[i]) != layout->words[i])
            return false;
    return (word_at(proto_bytes_end(message) - WORD) & layout->last_mask) == layout->last_word;
}

/* The newest of the packet's length first; where what numbers stand for has changed since, it is
 * learned anew. Two of one length mostly differ in their first words. */
static struct perfetto_layout *find_layout(const struct perfetto_reading *reading,
                                           struct proto_bytes message)
{
    struct perfetto_layouts *layouts = reading->state.layouts;
    struct perfetto_layout *layout;
    size_t next = layouts->first[message.length];

    for (size_t i = 0; next && i < ONE_LENGTH_MAX; i++, next = layout->next) {
        layout = &layouts->layouts[next - 1];
        if (looks_like(layout, message) && layout->meaning == reading->state.meaning)
            return layout;
    }
    return NULL;
}

/* What a packet tells beside the arguments of its event. */
struct packet_values {
    uint64_t time, name, flow;
};

/* The numbers of the packet at `at`, where the layout says that they are. */
static struct packet_values read_packet_values(const struct perfetto_layout *layout, const char *at,
                                               struct torch_event *text)
{
    struct packet_values values = {.flow = 0};

    for (size_t i = 0; i < layout->value_count; i++) {
        const struct packet_value *value = &layout->values[i];
        uint64_t word = word_at(at + value->from) >> value->shift & value->mask;
        uint64_t number = proto_joined_sevens(word);

        if (value->what == VALUE_FLOW) {
            values.flow = word;
        } else if (value->what == VALUE_TIME) {
            values.time = number;
        } else if (value->what == VALUE_NAME) {
            values.name = number;
        } else {
            text->numbers[value->what] = (int64_t)number;
            text->has_args |= (uint64_t)1 << value->what;
        }
    }
    return values;
}

/* An end has no other number than its time, which is the first value. */
static void read_known_end(struct perfetto_reading *reading, const struct perfetto_layout *layout,
                           const char *at)
{
    const struct packet_value *value = &layout->values[0];
    struct perfetto_sequence *sequence = &reading->state.sequences[layout->sequence];
    uint64_t time = proto_joined_sevens(word_at(at + value->from) >> value->shift & value->mask);
    int64_t time_ns;

    if (perfetto_time(&reading->state, sequence, sequence->clock, time, &time_ns))
        perfetto_close_slice(reading, layout->event.track, time_ns);
    else
        reading->builder.read.missing_times++;
}

/* False where its name is not known. */
static bool read_known_begin(struct perfetto_reading *reading, struct perfetto_layout *layout,
                             const char *at)
{
    struct perfetto_sequence *sequence = &reading->state.sequences[layout->sequence];
    struct perfetto_event *event = &layout->event;
    struct packet_values values;
    struct torch_event text;
    int64_t time_ns;

    torch_event_clear(&text);
    values = read_packet_values(layout, at, &text);
    event->flow = values.flow;
    event->name_word = perfetto_interned_name(sequence, INTERNED_EVENT_NAME, values.name);
    if (!event->name_word)
        return false;
    if (perfetto_time(&reading->state, sequence, sequence->clock, values.time, &time_ns))
        perfetto_open_slice(reading, event, &text, time_ns);
    else
        reading->builder.read.missing_times++;
    return true;
}

bool perfetto_read_known(struct perfetto_reading *reading, struct proto_bytes message)
{
    struct perfetto_layouts *layouts = reading->state.layouts;
    struct perfetto_layout *layout;

    if (!layouts || message.length > PACKET_BYTES_KNOWN)
        return false;
    layout = find_layout(reading, message);
    if (!layout || (layout->needs_state && !reading->state.sequences[layout->sequence].has_state))
        return false;
    if (!layout->is_begin)
        read_known_end(reading, layout, message.at);
    else if (!read_known_begin(reading, layout, message.at))
        return false;
    layouts->credit += layouts->credit < LEARN_CREDIT;
    return true;
}
