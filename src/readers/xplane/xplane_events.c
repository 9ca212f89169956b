/* Lines and events of a plane, as they stand in the file. */
#include "base/io/mapped_input.h"
#include "readers/xplane/xplane_reading.h"

#include <stdio.h>

/* So much is walked over between two times of forgetting: pages that are asked for again cost. */
static const ptrdiff_t kept_bytes = 4 << 20;

/* Pages that were walked over are given back, so that a file of gigabytes does not stay in
 * memory; that it has shrunk meanwhile is noticed there, since reading a page that is gone
 * would end the program. */
bool xplane_next(struct xplane_reading *reading, struct proto_walk *walk, struct proto_field *field)
{
    if (walk->at - reading->forgotten > kept_bytes || walk->at < reading->forgotten) {
        if (walk->at > reading->forgotten)
            mapped_input_forget(&reading->file, walk->at);
        reading->forgotten = walk->at;
        reading->has_shrunk |= !mapped_input_is_there(&reading->file);
    }
    return !reading->has_shrunk && proto_next(walk, field);
}

bool xplane_is_whole(struct xplane_reading *reading, const struct proto_walk *walk,
                     const char *what)
{
    struct damage damage = {.byte = walk->damaged_at - reading->file.text};

    if (!walk->damaged_at)
        return true;
    if (walk->end != reading->file.text + reading->file.length) { /* else the file is cut there */
        damage.length = walk->end - walk->damaged_at;
        (void)snprintf(damage.message, sizeof damage.message,
                       "expected a field of %s (protobuf), and its content is none", what);
        trace_builder_damage(&reading->builder, &damage);
    }
    return false;
}

/* Since 1970, and not since the profiler started: later than 1973. */
static const int64_t earliest_date_ns = INT64_C(100000000) * 1000000000;

/* Short events, of which nearly all of a line is. A few at a time, for what was walked over is
 * given back between (xplane_next). */
static void skip_usual_events(struct xplane_line *line, struct proto_walk *walk)
{
    const char *at = walk->at;
    const char *until = walk->end - at > kept_bytes ? at + kept_bytes : walk->end;
    struct proto_bytes event;

    while (at < until && *at == PROTO_KEY(4, PROTO_LENGTH) && proto_usual_bytes(&at, until, &event))
        continue;
    line->has_events |= at != walk->at;
    walk->at = at;
}

/* Some versions give lines in time since 1970, others from the profile's start: dates are
 * moved to the start, so that both are alike. */
void xplane_line_read(struct xplane_reading *reading, struct xplane_line *line,
                      struct proto_bytes message)
{
    struct proto_walk walk = proto_walk_of(message);
    struct proto_field field;

    *line = (struct xplane_line){.message = message};
    while (skip_usual_events(line, &walk), xplane_next(reading, &walk, &field)) {
        if (proto_is(&field, 1, PROTO_VARINT))
            line->id = proto_signed(&field);
        else if (proto_is(&field, 2, PROTO_LENGTH))
            line->name = field.bytes;
        else if (proto_is(&field, 3, PROTO_VARINT))
            line->start_ns = proto_signed(&field);
        else if (proto_is(&field, 4, PROTO_LENGTH))
            line->has_events = true;
    }
    if (line->start_ns >= earliest_date_ns) {
        if (!reading->origin_ns)
            reading->origin_ns =
                reading->profile_start_ns > 0 ? reading->profile_start_ns : line->start_ns;
        line->start_ns -= reading->origin_ns;
    }
}

/* Offsets and durations have several bytes each. */
ALWAYS_INLINE bool keyed_varint(const char **at, const char *end, char key, uint64_t *value)
{
    return *at < end && *(*at)++ == key && proto_wide_varint(at, end, value);
}

/* An event as the profiler writes it: its id, offset and duration, then stats alone, which begin at
 * the place returned. NULL where it is another, of which nothing is then set: one without a
 * duration, say (0 is not written), or with damage. Those take the walk that knows no order. */
ALWAYS_INLINE const char *read_usual_times(const struct xplane *plane, struct xplane_event *event,
                                           struct proto_bytes message)
{
    const char *at = message.at;
    const char *end = at + message.length;
    uint64_t id, offset, duration;

    if (message.length == 0 || *at++ != PROTO_KEY(1, PROTO_VARINT) ||
        !proto_varint(&at, end, &id) ||
        !keyed_varint(&at, end, PROTO_KEY(2, PROTO_VARINT), &offset) ||
        !keyed_varint(&at, end, PROTO_KEY(3, PROTO_VARINT), &duration))
        return NULL;
    *event = (struct xplane_event){
        .stats = {at, (size_t)(end - at)},
        .metadata = xplane_metadata_of(plane, (int64_t)id),
        .offset_ps = (int64_t)offset,
        .duration_ps = (int64_t)duration,
    };
    return at;
}

/* False where something else than short stats stands behind the times: a count, or a field of a
 * version to come. */
static bool read_usual_event(const struct xplane *plane, struct xplane_event *event,
                             struct proto_bytes message)
{
    const char *end = proto_bytes_end(message);
    const char *at = read_usual_times(plane, event, message);

    while (at && end - at >= 2 && *at == PROTO_KEY(4, PROTO_LENGTH) &&
           (unsigned char)at[1] < 0x80 && at[1] <= end - at - 2)
        at += 2 + at[1];
    return at && at == end;
}

/* The usual layout is tried first, as there are millions of events. Stats are not decoded
 * here: from the first one on the rest of the message is kept, and most are never looked at. */
bool xplane_event_read(struct xplane_reading *reading, struct xplane_event *event,
                       struct proto_bytes message)
{
    struct proto_walk walk = proto_walk_of(message);
    struct proto_field field;
    int64_t id = 0;

    if (read_usual_event(reading->plane, event, message))
        return true;
    *event = (struct xplane_event){.stats = {walk.end, 0}};
    for (const char *at = walk.at; proto_next(&walk, &field); at = walk.at) {
        if (proto_is(&field, 4, PROTO_LENGTH) && !event->stats.length)
            event->stats = (struct proto_bytes){at, (size_t)(walk.end - at)};
        else if (proto_is(&field, 1, PROTO_VARINT))
            id = proto_signed(&field);
        else if (proto_is(&field, 2, PROTO_VARINT))
            event->offset_ps = proto_signed(&field);
        else if (proto_is(&field, 3, PROTO_VARINT))
            event->duration_ps = proto_signed(&field);
    }
    event->metadata = xplane_metadata_of(reading->plane, id);
    return xplane_is_whole(reading, &walk, "an event");
}

/* Rounded down, also below 0: start and end are rounded the same way, so events that touch
 * still do. */
static int64_t whole_nanoseconds(int64_t picoseconds)
{
    return picoseconds / 1000 - (picoseconds % 1000 < 0);
}

/* Both ends are rounded, not the duration: events that touch in picoseconds touch in
 * nanoseconds, and none overlaps the next by a rounding. */
ALWAYS_INLINE bool event_time(struct xplane_reading *reading, const struct xplane_line *line,
                              const struct xplane_event *event, struct category_count *category,
                              struct xplane_time *time)
{
    struct read_account *read = &reading->builder.read;
    int64_t end_ps;
    int64_t start_ns;
    int64_t end_ns;

    read->events++;
    read->lost_names += !event->metadata;
    if (event->duration_ps < 0)
        read->negative_durations++;
    else if (__builtin_add_overflow(event->offset_ps, event->duration_ps, &end_ps) ||
             __builtin_add_overflow(line->start_ns, whole_nanoseconds(event->offset_ps),
                                    &start_ns) ||
             __builtin_add_overflow(line->start_ns, whole_nanoseconds(end_ps), &end_ns))
        read->overflowing_durations++;
    else {
        *time = (struct xplane_time){start_ns, end_ns - start_ns};
        category_count_add(category, start_ns, end_ns);
        return true;
    }
    category_count_add(category, 1, 0);
    return false;
}

/* Events of one line are counted under one category: the last one is found at once. */
bool xplane_event_time(struct xplane_reading *reading, const struct xplane_line *line,
                       const struct xplane_event *event, struct xplane_time *time)
{
    return event_time(reading, line, event,
                      trace_builder_category(&reading->builder, reading->category, 'X'), time);
}

/* The event's own stats go over those that its metadata has for all of its kind. */
void xplane_event_stats(struct xplane_stats *stats, const struct xplane_reading *reading,
                        const struct xplane_event *event)
{
    *stats = *xplane_stats_of(reading->plane, event->metadata);
    xplane_add_stats(stats, reading->plane, event->stats);
}

/* The short name: "fusion.3" and not the text of the instruction. */
struct proto_bytes xplane_short_name(const struct xplane_event *event)
{
    if (!event->metadata)
        return (struct proto_bytes){"(event without a name)", 22};
    if (event->metadata->display_name.length)
        return event->metadata->display_name;
    return event->metadata->name;
}

/* Kept with the metadata, which thousands of events share. */
uint32_t xplane_event_name(struct xplane_reading *reading, const struct xplane_event *event)
{
    if (!event->metadata)
        return xplane_string(reading, xplane_short_name(event));
    if (!event->metadata->string)
        event->metadata->string = xplane_string(reading, xplane_short_name(event));
    return event->metadata->string;
}

/* The next event of a line; false at its end. */
bool xplane_next_event(struct xplane_reading *reading, struct proto_walk *walk,
                       struct xplane_event *event)
{
    struct proto_field field;

    while (xplane_next(reading, walk, &field)) {
        if (proto_is(&field, 4, PROTO_LENGTH))
            return xplane_event_read(reading, event, field.bytes) || !field.is_cut;
    }
    return false;
}

/* ---- kinds ----------------------------------------------------------------------------------- */

/* What a stream does: a kernel where nothing says otherwise. Copies and memsets say so by their
 * stats in newer versions, by their names in older ones. */
enum event_kind xplane_kind_on_stream(const struct xplane_stats *stats, struct proto_bytes name)
{
    if (xplane_has(stats, XSTAT_MEMCPY_DETAILS) || proto_text_begins(name, "Memcpy") ||
        (proto_text_begins(name, "Copy") && proto_text_has(name, "To")))
        return EVENT_MEMCPY;
    if (xplane_has(stats, XSTAT_MEMSET_DETAILS) || proto_text_begins(name, "Memset") ||
        proto_text_begins(name, "FillBuffer"))
        return EVENT_MEMSET;
    return EVENT_KERNEL;
}

/* A call into the device's runtime: "hipModuleLaunchKernel", "cuLaunchKernel". */
bool xplane_may_be_call(struct proto_bytes name)
{
    return proto_text_begins(name, "hip") || proto_text_begins(name, "cu");
}

/* ---- sums ------------------------------------------------------------------------------------ */

/* A line of which sums are made. */
struct summed_line {
    const struct xplane_line *line;
    struct category_count *category;
    uint32_t track;
    bool is_stream;
    struct xplane_stats stats; /* of the event; what it has not is not set */
};

/* What all events of its kind have of the stats that sums ask for: mostly none. */
ALWAYS_INLINE void begin_summed_stats(struct summed_line *summed, const struct xplane *plane,
                                      struct xplane_metadata *metadata)
{
    const struct xplane_stats *common =
        metadata && metadata->stats ? metadata->stats : xplane_stats_of(plane, metadata);

    if (common->has & XPLANE_SUMMED_STATS)
        summed->stats = *common;
    else
        summed->stats.has = 0;
}

/* A stat whose id is one byte, at `at`. Of those that nobody asks for only the id is looked at, and
 * of the others most are a short number. */
ALWAYS_INLINE void read_summed_stat(struct summed_line *summed, const struct xplane *plane,
                                    const char *at)
{
    uint8_t stat = plane->stat_of_short[(unsigned char)at[3]];
    const char *value = at + 4;
    const char *end = at + 2 + at[1];
    uint64_t number;

    if (stat == XSTAT_COUNT)
        return;
    if (stat < XSTAT_HLO_OP && value < end &&
        (*value == PROTO_KEY(3, PROTO_VARINT) || *value == PROTO_KEY(4, PROTO_VARINT)) &&
        proto_usual_varint(&value, end, &number) && value == end) {
        summed->stats.numbers[stat] = (int64_t)number;
        summed->stats.has |= 1u << stat;
    } else {
        xplane_add_stats(&summed->stats, plane, (struct proto_bytes){at, 2 + (size_t)at[1]});
    }
}

/* As read_usual_event, with the stats that sums ask for. */
ALWAYS_INLINE bool read_summed_event(struct summed_line *summed, const struct xplane *plane,
                                     struct xplane_event *event, struct proto_bytes message)
{
    const char *end = message.at + message.length;
    const char *at = read_usual_times(plane, event, message);

    if (!at)
        return false;
    begin_summed_stats(summed, plane, event->metadata);
    for (; end - at >= 4 && at[0] == PROTO_KEY(4, PROTO_LENGTH) && at[1] >= 2 &&
           at[1] <= end - at - 2 && at[2] == PROTO_KEY(1, PROTO_VARINT) && at[3] >= 0;
         at += 2 + at[1])
        read_summed_stat(summed, plane, at);
    return at == end;
}

/* Of an event of the host only a call into the runtime has a number, and its name says so. */
static enum event_kind summed_kind(const struct summed_line *summed,
                                   const struct xplane_event *event)
{
    struct xplane_metadata *metadata = event->metadata;

    if (summed->is_stream)
        return xplane_kind_on_stream(&summed->stats, xplane_short_name(event));
    if (metadata && metadata->call == NOT_LOOKED_AT)
        metadata->call = xplane_may_be_call(xplane_short_name(event)) ? MAYBE_CALL : NO_CALL;
    return metadata && metadata->call == MAYBE_CALL && xplane_has(&summed->stats, XSTAT_CORRELATION)
               ? EVENT_RUNTIME_CALL
               : EVENT_ANNOTATION;
}

/* A number of 0 joins work of a stream to no call, as in add_stream_event. */
static void sum_event(struct summed_line *summed, struct xplane_reading *reading,
                      const struct xplane_event *event)
{
    const struct xplane_stats *stats = &summed->stats;
    struct found_event found = {.track = summed->track, .correlation = NO_ID};
    struct xplane_time time;

    if (!event_time(reading, summed->line, event, summed->category, &time))
        return;
    found.start_ns = time.start_ns;
    found.duration_ns = time.duration_ns;
    found.kind = (uint8_t)summed_kind(summed, event);
    if (xplane_has(stats, XSTAT_CORRELATION) &&
        (!summed->is_stream || xplane_number(stats, XSTAT_CORRELATION) != 0))
        found.correlation = xplane_number(stats, XSTAT_CORRELATION);
    event_sums_add(&reading->builder.sums, &found, false);
}

/* Usual events one after the other; others by the walk. What was walked over is given back in
 * between (xplane_next). */
void xplane_sum_events(struct xplane_reading *reading, const struct xplane_line *line,
                       struct proto_walk *walk, uint32_t track, bool is_stream)
{
    struct summed_line summed = {
        .line = line,
        .category = trace_builder_category(&reading->builder, reading->category, 'X'),
        .track = track,
        .is_stream = is_stream};
    struct xplane_event event;

    while (xplane_next_event(reading, walk, &event)) {
        const char *until = walk->end - walk->at > kept_bytes ? walk->at + kept_bytes : walk->end;
        struct proto_bytes message;

        begin_summed_stats(&summed, reading->plane, event.metadata);
        xplane_add_stats(&summed.stats, reading->plane, event.stats);
        sum_event(&summed, reading, &event);
        for (const char *at = walk->at; at < until && *at == PROTO_KEY(4, PROTO_LENGTH) &&
                                        proto_usual_bytes(&at, until, &message) &&
                                        read_summed_event(&summed, reading->plane, &event, message);
             walk->at = at)
            sum_event(&summed, reading, &event);
    }
}
