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

ALWAYS_INLINE bool keyed_varint(const char **at, const char *end, char key, uint64_t *value)
{
    return *at < end && *(*at)++ == key && proto_wide_varint(at, end, value);
}

/* An event as the profiler writes it: its id, offset and duration, then short stats alone. False
 * where it is another, of which nothing is then set: one without a duration, say (0 is not
 * written), or with a count, or a field of a version to come, or with damage. Those take the walk
 * that knows no order. */
static bool read_usual_event(struct xplane_reading *reading, struct xplane_event *event,
                             struct proto_bytes message)
{
    const char *at = message.at;
    const char *end = proto_bytes_end(message);
    const char *stats;
    uint64_t id, offset, duration;

    if (at == end || *at++ != PROTO_KEY(1, PROTO_VARINT) || !proto_varint(&at, end, &id) ||
        !keyed_varint(&at, end, PROTO_KEY(2, PROTO_VARINT), &offset) ||
        !keyed_varint(&at, end, PROTO_KEY(3, PROTO_VARINT), &duration))
        return false;
    stats = at;
    while (end - at >= 2 && *at == PROTO_KEY(4, PROTO_LENGTH) && (unsigned char)at[1] < 0x80 &&
           at[1] <= end - at - 2)
        at += 2 + at[1];
    if (at != end)
        return false;
    *event = (struct xplane_event){
        .stats = {stats, (size_t)(end - stats)},
        .metadata = xplane_metadata_of(reading->plane, (int64_t)id),
        .offset_ps = (int64_t)offset,
        .duration_ps = (int64_t)duration,
    };
    return true;
}

/* The usual layout is tried first, as there are millions of events. Stats are not decoded
 * here: from the first one on the rest of the message is kept, and most are never looked at. */
bool xplane_event_read(struct xplane_reading *reading, struct xplane_event *event,
                       struct proto_bytes message)
{
    struct proto_walk walk = proto_walk_of(message);
    struct proto_field field;
    int64_t id = 0;

    if (read_usual_event(reading, event, message))
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
bool xplane_event_time(struct xplane_reading *reading, const struct xplane_line *line,
                       const struct xplane_event *event, struct xplane_time *time)
{
    struct trace_builder *builder = &reading->builder;
    int64_t end_ps;
    int64_t start_ns;
    int64_t end_ns;

    builder->read.events++;
    if (event->duration_ps < 0)
        builder->read.negative_durations++;
    else if (__builtin_add_overflow(event->offset_ps, event->duration_ps, &end_ps) ||
             __builtin_add_overflow(line->start_ns, whole_nanoseconds(event->offset_ps),
                                    &start_ns) ||
             __builtin_add_overflow(line->start_ns, whole_nanoseconds(end_ps), &end_ns))
        builder->read.overflowing_durations++;
    else {
        *time = (struct xplane_time){start_ns, end_ns - start_ns};
        trace_builder_count(builder, reading->category, 'X', start_ns, end_ns);
        return true;
    }
    trace_builder_count(builder, reading->category, 'X', 1, 0);
    return false;
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
