/* Counters of a GPU in Perfetto's traces: GpuCounterEvent, sampled. */
#include "readers/perfetto/perfetto_reading.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Counters are described for all packets, or, with a number, for those of one sequence. */
enum { GLOBAL_SCOPE = 0 };

/* What is known of a counter; the GPU of all in the scope. */
enum { WHAT_NAME, WHAT_UNIT, WHAT_GPU, WHATS };

static uint64_t counter_key(uint64_t scope, int what, uint32_t counter)
{
    return (scope * WHATS + (uint64_t)what) << 32 | counter;
}

/* A sequence's descriptors have numbers of their own; its place + 1 keeps them apart from the
 * global ones, which have scope 0. */
static uint64_t perfetto_scope(const struct perfetto_state *state,
                               const struct perfetto_sequence *sequence, uint64_t number)
{
    return (uint64_t)(sequence - state->sequences + 1) << 12 | (number & 0xfff);
}

/* Units that counters of compute have; others are left untold. */
static const char *perfetto_unit(uint64_t number)
{
    static const struct {
        uint64_t number;
        const char *unit;
    } units[] = {{7, "bytes"}, {8, "KB"},   {9, "MB"},  {10, "GB"}, {13, "Hz"},
                 {14, "kHz"},  {15, "MHz"}, {19, "ns"}, {28, "mW"}, {29, "W"},
                 {33, "°C"},   {37, "%"},   {22, "s"},  {31, "J"},  {40, "instructions"}};

    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (units[i].number == number)
            return units[i].unit;
    return "";
}

/* A GpuCounterSpec: counter_id 1, name 2, units 7 over 8. */
static void name_counter(struct perfetto_state *state, uint64_t scope, struct proto_bytes message)
{
    struct proto_walk walk = proto_walk_of(message);
    struct proto_bytes name = {0};
    const char *over = "", *under = "";
    struct proto_field field;
    uint32_t counter = 0;
    char unit[64];

    while (proto_next(&walk, &field)) {
        if (proto_is(&field, 1, PROTO_VARINT))
            counter = (uint32_t)field.value;
        else if (proto_is(&field, 2, PROTO_LENGTH))
            name = field.bytes;
        else if (proto_is(&field, 7, PROTO_VARINT))
            over = perfetto_unit(field.value);
        else if (proto_is(&field, 8, PROTO_VARINT))
            under = perfetto_unit(field.value);
    }
    (void)snprintf(unit, sizeof unit, "%s%s%s", over, *over && *under ? "/" : "",
                   *over ? under : "");
    hash_map_set(&state->counters, counter_key(scope, WHAT_NAME, counter),
                 string_pool_add(&state->texts, name.length ? name.at : "", name.length));
    hash_map_set(&state->counters, counter_key(scope, WHAT_UNIT, counter),
                 string_pool_add(&state->texts, unit, strlen(unit)));
}

/* A GpuCounterDescriptor: its specs 1. */
static void describe_counters(struct perfetto_state *state, uint64_t scope,
                              struct proto_bytes message)
{
    struct proto_walk walk = proto_walk_of(message);
    struct proto_field field;

    while (proto_next(&walk, &field))
        if (proto_is(&field, 1, PROTO_LENGTH))
            name_counter(state, scope, field.bytes);
}

/* An InternedGpuCounterDescriptor: iid 1, descriptor 2, gpu_id 3. */
void perfetto_intern_counters(struct perfetto_state *state,
                              const struct perfetto_sequence *sequence, struct proto_bytes message)
{
    struct proto_walk walk = proto_walk_of(message);
    struct proto_bytes descriptor = {0};
    struct proto_field field;
    uint64_t number = 0, gpu = UINT64_MAX, scope;

    while (proto_next(&walk, &field)) {
        if (proto_is(&field, 1, PROTO_VARINT))
            number = field.value;
        else if (proto_is(&field, 2, PROTO_LENGTH))
            descriptor = field.bytes;
        else if (proto_is(&field, 3, PROTO_VARINT))
            gpu = field.value;
    }
    scope = perfetto_scope(state, sequence, number);
    describe_counters(state, scope, descriptor);
    if (gpu <= INT32_MAX)
        hash_map_set(&state->counters, counter_key(scope, WHAT_GPU, 0), (uint32_t)gpu);
}

/* What the counters of one packet have in common. */
struct counter_packet {
    int64_t time_ns;
    uint64_t scope;
    uint32_t category;
    int32_t gpu;
};

/* Of a string of the state, or of `otherwise` where it is none, a string of the builder; 0: empty.
 */
static uint32_t text_of_counter(struct perfetto_reading *reading, uint32_t string,
                                const char *otherwise)
{
    const char *text = otherwise;

    if (string != NO_VALUE && string != 0)
        text = string_pool_text(&reading->state.texts, string);
    return *text ? string_pool_add(&reading->builder.strings, text, strlen(text)) : 0;
}

/* A GpuCounter: counter_id 1, int_value 2 or double_value 3. A sample begins as NaN, so that one
 * without a value is set aside like one that is no number. */
static void read_counter(struct perfetto_reading *reading, const struct counter_packet *packet,
                         struct proto_bytes message)
{
    struct proto_walk walk = proto_walk_of(message);
    struct series_sample sample = {packet->time_ns, NAN};
    struct series series = {.device = packet->gpu};
    const struct hash_map *names = &reading->state.counters;
    struct proto_field field;
    struct series *found;
    uint32_t place;
    char text[32];

    while (proto_next(&walk, &field)) {
        if (proto_is(&field, 1, PROTO_VARINT))
            series.number = (uint32_t)field.value;
        else if (proto_is(&field, 2, PROTO_VARINT))
            sample.value = (double)proto_signed(&field);
        else if (proto_is(&field, 3, PROTO_8_BYTES))
            sample.value = proto_real(&field);
    }
    (void)snprintf(text, sizeof text, "counter %u", series.number);
    series.name = text_of_counter(
        reading, hash_map_find(names, counter_key(packet->scope, WHAT_NAME, series.number)), text);
    series.unit = text_of_counter(
        reading, hash_map_find(names, counter_key(packet->scope, WHAT_UNIT, series.number)), "");
    place = series_list_find(&reading->builder.series, &series);
    found = &reading->builder.series.series[place];
    if (isfinite(sample.value))
        series_add(found, &sample);
    else
        found->set_aside++;
    reading->builder.read.events++;
    trace_builder_count(&reading->builder, packet->category, 'C', sample.time_ns, sample.time_ns);
}

/* A GpuCounterEvent: descriptor 1, or its number 4, which counts on; counters 2, gpu_id 3.
 * Descriptors first, whose counters may stand before them in the packet. The number of a
 * descriptor holds for later packets of the sequence, which leave it out. */
void perfetto_read_counters(struct perfetto_reading *reading, struct perfetto_sequence *sequence,
                            struct proto_bytes message, int64_t time_ns)
{
    static const char category[] = "gpu_counter_event";
    struct proto_walk walk = proto_walk_of(message);
    struct counter_packet packet = {.time_ns = time_ns, .gpu = PERFETTO_GPU_NOT_SAID};
    struct proto_field field;
    uint32_t gpu;

    while (proto_next(&walk, &field)) {
        if (proto_is(&field, 1, PROTO_LENGTH))
            describe_counters(&reading->state, GLOBAL_SCOPE, field.bytes);
        else if (proto_is(&field, 4, PROTO_VARINT))
            sequence->counters = perfetto_scope(&reading->state, sequence, field.value);
        else if (proto_is(&field, 3, PROTO_VARINT) && field.value <= INT32_MAX)
            packet.gpu = (int32_t)field.value;
    }
    packet.scope = sequence->counters;
    packet.category = string_pool_add(&reading->builder.strings, category, sizeof category - 1);
    gpu = hash_map_find(&reading->state.counters, counter_key(packet.scope, WHAT_GPU, 0));
    packet.gpu = gpu == NO_VALUE ? packet.gpu : (int32_t)gpu;
    walk = proto_walk_of(message);
    while (proto_next(&walk, &field))
        if (proto_is(&field, 2, PROTO_LENGTH))
            read_counter(reading, &packet, field.bytes);
}
