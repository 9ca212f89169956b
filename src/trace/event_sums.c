/* What is known of events that are not kept. */
#include "trace/event_sums.h"

#include "base/core/array.h"
#include "base/core/hash_map.h"
#include "base/core/large_array.h"

#include <stdlib.h>
#include <string.h>

/* ---- tracks ---------------------------------------------------------------------------------- */

/* Tracks are numbered as they are met, so that the array grows with them. */
static void make_track_sums(struct event_sums *sums, uint32_t count)
{
    uint32_t known = sums->track_room;

    ARRAY_RESERVE(sums->tracks, sums->track_room, count);
    memset(sums->tracks + known, 0, (sums->track_room - known) * sizeof *sums->tracks);
}

/* Where nothing was summed there is no array. */
void track_sums_free(struct track_sum *sums, uint32_t count)
{
    for (uint32_t i = 0; sums && i < count; i++)
        time_set_clear(&sums[i].times);
    free(sums);
}

/* ---- launches -------------------------------------------------------------------------------- */

/* As differences to the one before: numbers count up, and times go forward. */
static void launch_numbers_add(struct launch_numbers *numbers, int64_t number, int64_t start_ns)
{
    if (!numbers->count || number < numbers->least_number)
        numbers->least_number = number;
    if (!numbers->count || number > numbers->greatest_number)
        numbers->greatest_number = number;
    numbers->count++;
    numbers->is_unordered |= number < numbers->last_number;
    packed_numbers_add(&numbers->packed,
                       folded_sign((uint64_t)number - (uint64_t)numbers->last_number),
                       folded_sign((uint64_t)start_ns - (uint64_t)numbers->last_start_ns));
    numbers->last_number = number;
    numbers->last_start_ns = start_ns;
}

/* A walk over them. */
struct launch_walk {
    const unsigned char *at;
    const unsigned char *limit;
    int64_t number;
    int64_t start_ns;
};

static struct launch_walk launch_walk_of(const struct launch_numbers *numbers)
{
    const unsigned char *at = numbers->packed.bytes;

    return (struct launch_walk){.at = at, .limit = at ? at + numbers->packed.length : NULL};
}

/* Each adds its differences to the one before it, around the ends of the numbers if need be. */
static bool next_launch(struct launch_walk *walk)
{
    if (walk->at == walk->limit)
        return false;
    walk->number = (int64_t)((uint64_t)walk->number + unfolded_sign(packed_number(&walk->at)));
    walk->start_ns = (int64_t)((uint64_t)walk->start_ns + unfolded_sign(packed_number(&walk->at)));
    return true;
}

bool name_is_page_move(const char *name)
{
    static const char start[] = "Memcpy Unified ";

    return !strncmp(name, start, sizeof start - 1);
}

/* Work without a number goes with the others: linking counts it. */
void event_sums_add(struct event_sums *sums, const struct found_event *event, bool is_page_move)
{
    enum event_kind kind = (enum event_kind)event->kind;

    if (event->track >= sums->track_room)
        make_track_sums(sums, event->track + 1);
    track_sum_add(&sums->tracks[event->track], kind, event->start_ns, event->duration_ns);
    if (event_kind_is_device_work(kind))
        launch_numbers_add(is_page_move ? &sums->page_moves : &sums->work, event->correlation,
                           event->start_ns);
    else if (kind == EVENT_RUNTIME_CALL && event->correlation != NO_ID)
        launch_numbers_add(&sums->calls, event->correlation, event->start_ns);
}

/* Mostly there is nothing to join with, and then nothing is looked at. */
void event_sums_move_track(struct event_sums *to, uint32_t track, struct event_sums *from,
                           uint32_t from_track)
{
    struct track_sum *sum, *moved;
    struct time_set_walk walk;
    struct interval interval;

    if (from_track >= from->track_room || from->tracks[from_track].events == 0)
        return;
    if (track >= to->track_room)
        make_track_sums(to, track + 1);
    sum = &to->tracks[track];
    moved = &from->tracks[from_track];
    if (sum->events == 0) {
        *sum = *moved;
    } else {
        sum->events += moved->events;
        sum->device_events += moved->device_events;
        time_set_complete(&moved->times);
        walk = time_set_walk_of(&moved->times);
        while (time_set_next(&walk, &interval))
            time_set_add(&sum->times, interval.start_ns, interval.end_ns);
        time_set_clear(&moved->times);
    }
    *moved = (struct track_sum){0};
}

/* When the first call of each number began. Mostly the numbers of calls and of work both count up:
 * then by a walk beside that over the work; else by number in an array, where these lie close
 * together; else by the place in a map. */
struct call_starts {
    struct launch_walk walk;
    bool is_walked;
    bool has_next;  /* the walk stands at a call */
    int64_t number; /* of the calls before it */
    int64_t start_ns;
    int64_t *starts_ns; /* INT64_MAX: no call */
    int64_t first;
    uint64_t range; /* 0: places are in the map */
    struct hash_map places;
};

/* Of several calls with one number the first in time is meant, as trace_link has it. */
static void index_calls(struct call_starts *starts, const struct launch_numbers *calls)
{
    uint64_t range = (uint64_t)calls->greatest_number - (uint64_t)calls->least_number;
    bool is_dense = hash_map_is_larger(calls->count, range, sizeof *starts->starts_ns);
    size_t count = is_dense ? range + 1 : calls->count;
    uint32_t known = 0;

    starts->first = calls->least_number;
    starts->range = is_dense ? range + 1 : 0;
    starts->starts_ns = large_array_new(count * sizeof *starts->starts_ns);
    for (size_t i = 0; i < count; i++)
        starts->starts_ns[i] = INT64_MAX;
    while (next_launch(&starts->walk)) {
        uint64_t place = (uint64_t)starts->walk.number - (uint64_t)starts->first;

        if (!is_dense) {
            place = hash_map_add(&starts->places, (uint64_t)starts->walk.number, known);
            known += place == known;
        }
        if (starts->walk.start_ns < starts->starts_ns[place])
            starts->starts_ns[place] = starts->walk.start_ns;
    }
}

/* A number below the first wraps around to a place behind all. */
static int64_t indexed_start(const struct call_starts *starts, int64_t number)
{
    uint64_t place = (uint64_t)number - (uint64_t)starts->first;

    if (!starts->range)
        place = hash_map_find(&starts->places, (uint64_t)number);
    else if (place >= starts->range)
        place = NO_VALUE;
    return place == NO_VALUE ? INT64_MAX : starts->starts_ns[place];
}

/* Numbers are asked for in their order. */
static int64_t walked_start(struct call_starts *starts, int64_t number)
{
    while (starts->has_next && starts->walk.number <= number) {
        if (starts->walk.number != starts->number || starts->walk.start_ns < starts->start_ns)
            starts->start_ns = starts->walk.start_ns;
        starts->number = starts->walk.number;
        starts->has_next = next_launch(&starts->walk);
    }
    return starts->number == number ? starts->start_ns : INT64_MAX;
}

/* Work without a call is told apart by why: launched before the recording began, or lost. */
static void link_work(const struct launch_numbers *work, const struct launch_numbers *calls,
                      int64_t *without_call, struct read_account *read)
{
    struct call_starts starts = {.walk = launch_walk_of(calls), .start_ns = INT64_MAX};
    struct launch_walk walk = launch_walk_of(work);
    int64_t least = calls->count ? calls->least_number : INT64_MAX;

    starts.is_walked = !work->is_unordered && !calls->is_unordered;
    if (starts.is_walked)
        starts.has_next = next_launch(&starts.walk);
    else
        index_calls(&starts, calls);
    while (next_launch(&walk)) {
        int64_t call_ns = walk.number == NO_ID ? INT64_MAX
                          : starts.is_walked   ? walked_start(&starts, walk.number)
                                               : indexed_start(&starts, walk.number);

        if (call_ns != INT64_MAX)
            read->early_device_events += walk.start_ns < call_ns;
        else if (is_launched_before(walk.number, least))
            read->earlier_device_events++;
        else
            ++*without_call;
    }
    large_array_free(starts.starts_ns);
    hash_map_clear(&starts.places);
}

/* Page moves are few, and only where a trace of Nsight Systems was converted. */
void event_sums_link(struct event_sums *sums, struct read_account *read)
{
    link_work(&sums->work, &sums->calls, &read->unlinked_device_events, read);
    if (sums->page_moves.count)
        link_work(&sums->page_moves, &sums->calls, &read->page_moves, read);
}

void event_sums_clear(struct event_sums *sums)
{
    track_sums_free(sums->tracks, sums->track_room);
    free(sums->calls.packed.bytes);
    free(sums->work.packed.bytes);
    free(sums->page_moves.packed.bytes);
    *sums = (struct event_sums){0};
}
