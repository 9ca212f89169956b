/* Reads Perfetto's own format (*.pftrace, *.perfetto-trace): packet by packet, plain or packed. */
#include "base/core/array.h"
#include "base/io/input_stream.h"
#include "base/io/whole_file.h"
#include "readers/perfetto/perfetto_reading.h"
#include "readers/reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* ---- recognising ---------------------------------------------------------------------------- */

/* Fields that nearly every packet has, and their forms. */
static const struct {
    uint32_t number;
    enum proto_form form;
} usual_fields[] = {
    {3, PROTO_VARINT},  {6, PROTO_LENGTH},  {8, PROTO_VARINT},   {10, PROTO_VARINT},
    {11, PROTO_LENGTH}, {12, PROTO_LENGTH}, {13, PROTO_VARINT},  {33, PROTO_LENGTH},
    {35, PROTO_LENGTH}, {36, PROTO_LENGTH}, {42, PROTO_VARINT},  {43, PROTO_LENGTH},
    {44, PROTO_LENGTH}, {45, PROTO_LENGTH}, {50, PROTO_LENGTH},  {53, PROTO_LENGTH},
    {58, PROTO_VARINT}, {59, PROTO_LENGTH}, {60, PROTO_LENGTH},  {79, PROTO_VARINT},
    {87, PROTO_VARINT}, {89, PROTO_LENGTH}, {133, PROTO_LENGTH},
};

/* Packets of other recorders of the machine, as the field is called that they stand in. */
static const struct {
    uint32_t number;
    const char *name;
} other_fields[] = {
#define OTHER_PACKET(number_, name_) {(number_), (name_)},
#include "readers/perfetto/other_packet_list.def"
#undef OTHER_PACKET
};

static bool is_usual_field(const struct proto_field *field)
{
    for (size_t i = 0; i < sizeof usual_fields / sizeof *usual_fields; i++) {
        if (proto_is(field, usual_fields[i].number, usual_fields[i].form))
            return true;
    }
    return false;
}

static bool is_other_field(const struct proto_field *field)
{
    for (size_t i = 0;
         field->form == PROTO_LENGTH && i < sizeof other_fields / sizeof *other_fields; i++) {
        if (field->number == other_fields[i].number)
            return true;
    }
    return false;
}

/* What a message of a file may be. */
enum packet_look {
    NO_PACKET,
    MAY_BE_PACKET, /* every field of it is one of a packet's */
    IS_PACKET,     /* and one is usual: random bytes that happen to parse have none */
};

static enum packet_look look_of(struct proto_bytes message)
{
    struct proto_walk walk = proto_walk_of(message);
    struct proto_field field;
    bool is_known = message.length > 0, is_usual = false;

    while (proto_next(&walk, &field)) {
        is_usual |= is_usual_field(&field);
        is_known &= is_usual_field(&field) || is_other_field(&field);
    }
    if (is_usual)
        return IS_PACKET;
    return is_known && (!walk.damaged_at || field.is_cut) ? MAY_BE_PACKET : NO_PACKET;
}

/* The first packet is one, and another stands behind it where the first ends in what is seen.
 * Protobuf has no signature: a first field 1 of bytes that holds a usual field, with another
 * such key behind it, is what no text and no other reader's file begins with. Traces that begin
 * with what a kernel or a heap told have no usual field there: then all messages that are seen
 * have to look like packets, and each byte has to be of one. */
static bool perfetto_recognises(const char *head, size_t length)
{
    struct proto_walk walk = proto_walk_of((struct proto_bytes){head, length});
    struct proto_field field;
    size_t count = 0;

    if (length < 4)
        return false;
    while (proto_next(&walk, &field)) {
        enum packet_look look =
            proto_is(&field, 1, PROTO_LENGTH) ? look_of(field.bytes) : NO_PACKET;

        if (look == IS_PACKET)
            return count > 0 || walk.at == walk.end || *walk.at == '\x0a';
        if (look == NO_PACKET)
            return false;
        count++;
    }
    return count > 0 && walk.at == walk.end;
}

/* ---- packets -------------------------------------------------------------------------------- */

enum {
    STATE_CLEARED = 1, /* sequence_flags */
    STATE_NEEDED = 2,
    PACKET_BYTES_MAX = 256 << 20,
};

/* A TracePacket's fields of interest. */
struct packet {
    uint64_t time;
    uint64_t sequence;
    uint64_t flags;
    uint32_t clock; /* 0: that of the sequence */
    bool is_timed;
    bool lost_others; /* packets before it are lost */
    bool is_cleared;  /* as STATE_CLEARED, in older writers' form */
    struct proto_bytes clocks;
    struct proto_bytes track_event;
    struct proto_bytes interned;
    struct proto_bytes packets; /* compressed */
    struct proto_bytes stage;
    struct proto_bytes counters;
    struct proto_bytes defaults;
    struct proto_bytes track;
    uint32_t other; /* the first field that tells what else the packet is; 0: none */
    bool is_damaged;
    bool is_zstd; /* `packets` are; else zlib's */
};

/* Field numbers of TracePacket: timestamp, trusted_packet_sequence_id, sequence_flags,
 * incremental_state_cleared, previous_packet_dropped, timestamp_clock_id. */
static void read_packet_number(struct packet *packet, const struct proto_field *field)
{
    switch (field->number) {
    case 8:
        packet->time = field->value;
        packet->is_timed = true;
        break;
    case 10:
        packet->sequence = field->value;
        break;
    case 13:
        packet->flags = field->value;
        break;
    case 41:
        packet->is_cleared = field->value != 0;
        break;
    case 42:
        packet->lost_others = field->value != 0;
        break;
    case 58:
        packet->clock = (uint32_t)field->value;
        break;
    default:
        break;
    }
}

/* Numbers are those of TracePacket in perfetto_trace.proto; the oneof of payloads has one
 * field per packet. */
static void read_packet_message(struct packet *packet, const struct proto_field *field)
{
    switch (field->number) {
    case 6:
        packet->clocks = field->bytes;
        break;
    case 11:
        packet->track_event = field->bytes;
        break;
    case 12:
        packet->interned = field->bytes;
        break;
    case 50:
        packet->packets = field->bytes;
        break;
    case 52:
        packet->counters = field->bytes;
        break;
    case 53:
        packet->stage = field->bytes;
        break;
    case 59:
        packet->defaults = field->bytes;
        break;
    case 60:
        packet->track = field->bytes;
        break;
    case 133:
        packet->packets = field->bytes;
        packet->is_zstd = true;
        break;
    default:
        /* The first unknown one names the packet; a packet has one payload, the rest are
         * stamps. */
        if (!packet->other)
            packet->other = field->number;
        break;
    }
}

/* Numbers and messages of one number are told apart by their form. */
static void read_packet_field(struct packet *packet, const struct proto_field *field)
{
    if (field->form == PROTO_LENGTH)
        read_packet_message(packet, field);
    else
        read_packet_number(packet, field);
}

/* Fields may come in any order, so all are collected before the packet is read: names that it
 * interns serve its own event. */
static void collect_packet(struct packet *packet, struct proto_bytes message)
{
    struct proto_walk walk = proto_walk_of(message);
    struct proto_field field;

    *packet = (struct packet){0};
    while (proto_next(&walk, &field))
        read_packet_field(packet, &field);
    packet->is_damaged = walk.damaged_at != NULL;
}

/* TracePacketDefaults: the clock 58, and of track events 11 the track 11. */
static void read_defaults(struct perfetto_state *state, struct perfetto_sequence *sequence,
                          struct proto_bytes message)
{
    struct proto_walk walk = proto_walk_of(message);
    struct proto_walk inner;
    struct proto_field field;
    struct proto_field of_events;

    while (proto_next(&walk, &field)) {
        if (proto_is(&field, 58, PROTO_VARINT))
            sequence->clock = (uint32_t)field.value;
        if (!proto_is(&field, 11, PROTO_LENGTH))
            continue;
        inner = proto_walk_of(field.bytes);
        while (proto_next(&inner, &of_events)) {
            if (of_events.number == 11 && of_events.form != PROTO_LENGTH)
                sequence->track = of_events.value;
        }
    }
    state->meaning++;
}

static void set_aside(struct perfetto_reading *reading, int64_t length, const char *what)
{
    struct damage damage = {.byte = reading->byte, .length = length};

    (void)snprintf(damage.message, sizeof damage.message, "%s", what);
    trace_builder_damage(&reading->builder, &damage);
}

/* A packet without a clock of its own uses its sequence's default; one whose clock was never
 * tied to the trace's is counted as without a time, not put anywhere. */
static void read_timed(struct perfetto_reading *reading, struct perfetto_sequence *sequence,
                       const struct packet *packet)
{
    uint32_t clock = packet->clock ? packet->clock : sequence->clock;
    int64_t time_ns;

    if (!packet->is_timed ||
        !perfetto_time(&reading->state, sequence, clock, packet->time, &time_ns)) {
        reading->builder.read.missing_times++;
        return;
    }
    if (packet->track_event.at)
        perfetto_read_track_event(reading, sequence, packet->track_event, time_ns);
    reading->must_sort |= packet->stage.at != NULL; /* slices may show it once more */
    if (packet->stage.at)
        perfetto_read_stage(reading, sequence, packet->stage, time_ns);
    if (packet->counters.at)
        perfetto_read_counters(reading, sequence, packet->counters, time_ns);
}

static void leave_packet(struct perfetto_reading *reading, uint32_t number)
{
    char text[32];

    for (size_t i = 0; i < sizeof other_fields / sizeof *other_fields; i++) {
        if (other_fields[i].number == number) {
            read_account_leave(&reading->builder.read, other_fields[i].name, 1);
            return;
        }
    }
    /* A newer recorder's: its number finds it in Perfetto's message file. */
    (void)snprintf(text, sizeof text, "packets with field %u", number);
    read_account_leave(&reading->builder.read, text, 1);
}

/* First what changes the sequence's state (a packet lost, state cleared), then names,
 * defaults, clocks and tracks, then events, which refer to them. A sequence that lost packets
 * may lack names until it begins anew, so its events are set aside instead of being given
 * wrong names. */
static void read_packet(struct perfetto_reading *reading, struct proto_bytes message,
                        const struct packet *packet)
{
    struct perfetto_sequence *sequence = perfetto_sequence_of(&reading->state, packet->sequence);

    if (packet->lost_others)
        sequence->has_state = false;
    if (packet->flags & STATE_CLEARED || packet->is_cleared)
        perfetto_sequence_begin(&reading->state, sequence);
    if (packet->is_damaged) {
        set_aside(reading, (int64_t)message.length,
                  "expected a field of a packet (protobuf), and its content is none");
        return;
    }
    if (packet->interned.at)
        perfetto_intern(&reading->state, sequence, packet->interned);
    if (packet->defaults.at)
        read_defaults(&reading->state, sequence, packet->defaults);
    if (packet->clocks.at)
        perfetto_read_clocks(&reading->state, sequence, packet->clocks);
    if (packet->track.at)
        (void)perfetto_describe_track(&reading->state, packet->track);
    if (!packet->track_event.at && !packet->stage.at && !packet->counters.at) {
        if (packet->other)
            leave_packet(reading, packet->other);
        return;
    }
    if (packet->flags & STATE_NEEDED && !sequence->has_state)
        set_aside(reading, (int64_t)message.length,
                  "an event needs names that a lost packet before it gave");
    else
        read_timed(reading, sequence, packet);
}

/* Nearly all packets are of an event alone, of which nothing but its time, sequence and flags is
 * told beside it: these are read at once. False where something else is there: nothing was read. */
static bool read_usual_packet(struct perfetto_reading *reading, struct proto_bytes message)
{
    struct perfetto_sequence *sequence;
    struct proto_bytes event = {NULL, 0};
    const char *at = message.at;
    const char *end = proto_bytes_end(message);
    uint64_t time = 0, id = 0, flags = 0;
    bool is_timed = false;
    int64_t time_ns;

    while (at < end) {
        switch (*at) {
        case PROTO_KEY(8, PROTO_VARINT): /* since the machine's start: of five bytes or more */
            at++;
            is_timed = true;
            if (!proto_wide_varint(&at, end, &time))
                return false;
            break;
        case PROTO_KEY(10, PROTO_VARINT):
            if (!proto_usual_varint(&at, end, &id))
                return false;
            break;
        case PROTO_KEY(11, PROTO_LENGTH):
            if (!proto_usual_bytes(&at, end, &event))
                return false;
            break;
        case PROTO_KEY(13, PROTO_VARINT):
            if (!proto_usual_varint(&at, end, &flags))
                return false;
            break;
        default:
            return false;
        }
    }
    if (!is_timed || !event.at || flags & ~(uint64_t)STATE_NEEDED)
        return false;
    sequence = perfetto_sequence_of(&reading->state, id);
    if (flags && !sequence->has_state)
        return false;
    if (perfetto_time(&reading->state, sequence, sequence->clock, time, &time_ns))
        perfetto_read_track_event(reading, sequence, event, time_ns);
    else
        reading->builder.read.missing_times++;
    perfetto_learn(reading, sequence, message, flags != 0);
    return true;
}

/* ---- compressed packets --------------------------------------------------------------------- */

/* What zlib unpacked; free() it. *is_whole: all of it. Bounded by PACKET_BYTES_MAX: a few bytes
 * may unpack to any number. */
static char *unpack(struct proto_bytes packed, size_t *length, bool *is_whole)
{
    z_stream stream = {.next_in = (Bytef *)(uintptr_t)packed.at, .avail_in = (uInt)packed.length};
    size_t room = 0;
    char *text = NULL;
    int result = inflateInit(&stream);

    *length = 0;
    while (result == Z_OK && *length < PACKET_BYTES_MAX) {
        ARRAY_RESERVE(text, room, *length + (64 << 10));
        stream.next_out = (Bytef *)text + *length;
        stream.avail_out = (uInt)(room - *length);
        result = inflate(&stream, Z_NO_FLUSH);
        *length = room - stream.avail_out;
        if (stream.avail_in == 0 && stream.avail_out > 0)
            break;
    }
    (void)inflateEnd(&stream);
    *is_whole = result == Z_STREAM_END;
    return text;
}

/* As unpack(), of frames of zstd. What is none gives nothing. */
static char *unpack_frames(struct proto_bytes packed, size_t *length, bool *is_whole)
{
    SCOPED(input_stream) input = {0};
    struct error error = {0};
    char *text;

    input_stream_open_memory(&input, packed.at, packed.length);
    text = read_whole_stream(&input, length, &error);
    *is_whole = text && !input.is_broken && !input.is_followed;
    if (text && input.compression == COMPRESSION_ZSTD)
        return text;
    free(text);
    *length = 0;
    *is_whole = false;
    return NULL;
}

static void read_inner_packet(struct perfetto_reading *reading, struct proto_bytes message)
{
    struct packet packet;

    if (perfetto_read_known(reading, message) || read_usual_packet(reading, message))
        return;
    collect_packet(&packet, message);
    if (packet.packets.length)
        set_aside(reading, (int64_t)message.length,
                  "compressed packets within compressed ones are not unpacked");
    else
        read_packet(reading, message, &packet);
}

/* One level only: compressed packets within compressed ones are not written by a recorder, and
 * unpacking them would have no bound. Those of another tool are told. */
static void read_compressed(struct perfetto_reading *reading, const struct packet *outer,
                            bool is_cut)
{
    struct proto_walk walk;
    struct proto_field field;
    bool is_whole;
    size_t length;
    char *text = (outer->is_zstd ? unpack_frames : unpack)(outer->packets, &length, &is_whole);

    walk = proto_walk_of((struct proto_bytes){text, length});
    while (proto_next(&walk, &field)) {
        if (proto_is(&field, 1, PROTO_LENGTH) && !field.is_cut)
            read_inner_packet(reading, field.bytes);
    }
    if (!is_cut && (!is_whole || walk.damaged_at))
        set_aside(reading, (int64_t)outer->packets.length,
                  "compressed packets cannot be unpacked whole");
    free(text);
}

/* `is_cut`: the file ends in it. */
static void read_outer_packet(struct perfetto_reading *reading, struct proto_bytes message,
                              bool is_cut)
{
    struct packet packet;

    collect_packet(&packet, message);
    if (packet.packets.length)
        read_compressed(reading, &packet, is_cut);
    else if (!is_cut)
        read_packet(reading, message, &packet);
}

/* ---- the file ------------------------------------------------------------------------------- */

/* Reads the packets that are whole; returns how many bytes they are. *goes_on: false where what
 * follows is none. What is not whole yet waits for more text. Twenty bytes hold any key and
 * length: a field that cannot be read from so many is damage, not a cut. */
static size_t read_whole_packets(struct perfetto_reading *reading, struct proto_bytes text,
                                 bool *goes_on)
{
    struct proto_walk walk = proto_walk_of(text);
    struct proto_field field;
    size_t used = 0;
    int64_t start_byte = reading->byte;

    for (;;) {
        bool is_packet = walk.at < walk.end && *walk.at == (1 << 3 | PROTO_LENGTH) &&
                         proto_usual_bytes(&walk.at, walk.end, &field.bytes);

        if (!is_packet && (!proto_next(&walk, &field) || field.is_cut))
            break;
        if ((is_packet || proto_is(&field, 1, PROTO_LENGTH)) &&
            !perfetto_read_known(reading, field.bytes) && !read_usual_packet(reading, field.bytes))
            read_outer_packet(reading, field.bytes, false);
        used = (size_t)(walk.at - text.at);
        reading->byte = start_byte + (int64_t)used;
    }
    /* a field that is no field although all of a key and a length is there */
    *goes_on = !(walk.damaged_at && !field.is_cut && text.length - used >= 20) &&
               text.length - used <= PACKET_BYTES_MAX;
    return used;
}

/* Compressed packets are read as far as they can be unpacked, so a cut loses the last events
 * only. */
static void tell_of_cut(struct perfetto_reading *reading, const struct input_stream *input,
                        struct proto_bytes rest, bool goes_on)
{
    struct read_account *read = &reading->builder.read;
    struct proto_walk walk = proto_walk_of(rest);
    struct proto_field field;

    if (rest.length && !goes_on) {
        set_aside(reading, (int64_t)rest.length,
                  "expected a packet (protobuf); what stands here and behind it is not read");
        return;
    }
    if (rest.length && proto_next(&walk, &field) && proto_is(&field, 1, PROTO_LENGTH))
        read_outer_packet(reading, field.bytes, true);
    if (!rest.length && !input->is_broken)
        return;
    read->is_truncated = true;
    if (input->is_broken)
        (void)snprintf(read->truncation, sizeof read->truncation, "%s", input->breakage);
    else
        (void)snprintf(read->truncation, sizeof read->truncation,
                       "the file ends in the middle of the packet that begins at byte %lld",
                       (long long)reading->byte);
}

/* A window at a time, of which the part behind the last whole packet is kept. */
static int64_t read_packets(struct perfetto_reading *reading, struct input_stream *input)
{
    struct input_window window = {NULL, 0};
    size_t left = 0;
    bool goes_on = true;
    bool is_at_end = false;

    while (goes_on && !is_at_end && !(reading->joins_at_once && reading->must_sort)) {
        struct proto_bytes text;
        size_t used;

        is_at_end = !input_stream_next(input, left, &window);
        text = (struct proto_bytes){window.text, window.length};
        used = read_whole_packets(reading, text, &goes_on);
        left = window.length - used;
    }
    tell_of_cut(reading, input, (struct proto_bytes){window.text + window.length - left, left},
                goes_on);
    if (input->is_followed)
        read_account_set_ending(&reading->builder.read, ENDING_FOLLOWED, input->breakage);
    return reading->byte + (int64_t)left;
}

/* What was damaged or cut explains an empty trace better than a missing category, so that is
 * told first. What the trace holds instead says which recording it is. */
static bool perfetto_has_content(const struct perfetto_reading *reading, struct error *error)
{
    const struct read_account *read = &reading->builder.read;
    const struct unused_part *most = read->unused;
    char held[112] = "";

    if (read->events > 0)
        return true;
    if (read_account_explains_nothing(read, error))
        return false;
    for (uint32_t i = 1; i < read->unused_count; i++)
        most = read->unused[i].count > most->count ? &read->unused[i] : most;
    if (read->missing_times > 0)
        (void)snprintf(held, sizeof held, " (%lld without a time)", (long long)read->missing_times);
    else if (read->unused_count > 0)
        (void)snprintf(held, sizeof held, " (most of it: %s, %lld)", most->name,
                       (long long)most->count);
    return error_set(error, ERROR_NO_DATA,
                     "a trace of Perfetto without a track event or a GPU's stage%s: record the "
                     "categories of the framework and of the GPU",
                     held);
}

static bool perfetto_has_category(const struct trace_builder *builder, const char *name)
{
    for (uint32_t i = 0; i < builder->read.category_count; i++)
        if (strcmp(name,
                   string_pool_text(&builder->strings, builder->read.categories[i].category)) == 0)
            return true;
    return false;
}

/* No packet says who wrote it: the words of the events do. Those of rocprofv3 are no more seen
 * here, as they have become torch.profiler's. What we exported has the words of torch.profiler,
 * whoever recorded it: only our own header there tells that it is ours. Scopes alone are anybody's.
 */
static void perfetto_tell_recorder(struct perfetto_reading *reading)
{
    struct trace_builder *builder = &reading->builder;
    bool has_scopes =
        perfetto_has_category(builder, "scope") || perfetto_has_category(builder, "metric");
    const char *writer = "a program with Perfetto's SDK";

    if (reading->state.is_of_systems)
        writer = "rocprof-sys or Omnitrace";
    else if (reading->state.is_of_rocprof)
        writer = "rocprofv3";
    else if (perfetto_has_category(builder, "gpu_op"))
        writer = "unitrace (Intel)";
    else if (perfetto_has_category(builder, "cpu_op"))
        writer = "torch.profiler";
    else if (perfetto_has_category(builder, "kernel"))
        writer = has_scopes ? "Proton of Triton" : "torch.profiler";
    (void)snprintf(builder->read.recorder, sizeof builder->read.recorder,
                   reading->state.is_of_export ? "flopledger export perfetto"
                                               : "%s (Perfetto's packets), version not told",
                   writer);
}

/* Work whose track does not tell the device is on the one that others tell; on none where these
 * tell several. */
static void perfetto_resolve_devices(struct trace_builder *builder)
{
    int32_t known = PERFETTO_DEVICE_UNTOLD;

    for (uint32_t i = 0; i < builder->track_count; i++) {
        int32_t device = builder->tracks[i].is_device ? builder->tracks[i].device : -1;

        if (device >= 0)
            known = known == PERFETTO_DEVICE_UNTOLD || known == device ? device : -1;
        if (known == -1)
            break;
    }
    for (uint32_t i = 0; i < builder->track_count; i++)
        if (builder->tracks[i].device == PERFETTO_DEVICE_UNTOLD)
            builder->tracks[i].device = known == PERFETTO_DEVICE_UNTOLD ? 0 : known;
}

/* Slices are joined as their ends come, where it turns out that all tracks go forward in time, and
 * that there is no stage of a GPU. */
static void read_slices(struct perfetto_reading *reading, struct input_stream *input,
                        const struct read_options *options, bool joins_at_once)
{
    *reading = (struct perfetto_reading){.joins_at_once = joins_at_once};
    trace_builder_init(&reading->builder);
    reading->builder.sums_events = options->skips_details;
    string_pool_add(&reading->builder.strings, "", 0);
    string_pool_add(&reading->state.texts, "", 0);
    reading->store =
        (struct torch_store){.builder = &reading->builder,
                             .keeps_memory = options->keeps_memory,
                             .layouts.unasked_args = options->skips_details ? DETAIL_ARGS : 0};
    reading->builder.read.text_bytes = read_packets(reading, input);
    reading->must_sort |= !reading->has_begin_behind && reading->has_end; /* see file_begins_first
                                                                           */
}

/* Else slices are joined when all was read: their ends, stages of GPUs and names of tracks may
 * stand anywhere in the file, which is read a second time then. Of a pipe that is done at once. */
static bool perfetto_read_trace(struct trace *trace, struct input_stream *input,
                                const struct read_options *options, struct error *error)
{
    struct perfetto_reading reading;
    SCOPED(input_stream) again = {0};
    bool is_trace;

    input->progress = options->progress;
    read_slices(&reading, input, options, input_stream_can_begin_again(input));
    if (reading.joins_at_once && reading.must_sort) {
        input_stream_begin_again(&again, input);
        trace_builder_clear(&reading.builder);
        perfetto_reading_clear(&reading);
        read_slices(&reading, &again, options, false);
    }
    perfetto_finish_events(&reading);
    perfetto_resolve_devices(&reading.builder);
    perfetto_tell_recorder(&reading);
    if (reading.state.has_realtime)
        reading.builder.facts.base_time_ns = reading.state.realtime_offset;
    is_trace = perfetto_has_content(&reading, error);
    reading.builder.may_be_merged = true;
    reading.builder.part = options->part;
    if (is_trace)
        trace_finish(trace, &reading.builder, 1, options->threads);
    else
        trace_builder_clear(&reading.builder);
    perfetto_reading_clear(&reading);
    return is_trace;
}

const struct reader perfetto_reader = {
    .name = "perfetto",
    .summary = "Perfetto's own format: .pftrace or .perfetto-trace, of any writer",
    .recognises = perfetto_recognises,
    .read = perfetto_read_trace,
};
