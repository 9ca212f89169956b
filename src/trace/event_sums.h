/* What is known of events that are not kept: of each track when something was recorded, and which
 * work of devices has no launch. Some bytes an event, where an event takes 36. */
#ifndef FLOPLEDGER_TRACE_EVENT_SUMS_H
#define FLOPLEDGER_TRACE_EVENT_SUMS_H

#include "base/core/packed_numbers.h"
#include "base/core/time_set.h"
#include "trace/event.h"
#include "trace/read_account.h"

#include <stdbool.h>
#include <stdint.h>

/* Of a track. */
struct track_sum {
    int64_t events;
    uint32_t device_events; /* kernels, copies and memsets */
    struct time_set times;
};

/* Correlation numbers, each with when the event begins. */
struct launch_numbers {
    struct packed_numbers packed;
    int64_t last_number;
    int64_t last_start_ns;
    int64_t least_number;
    int64_t greatest_number;
    uint32_t count;
    bool is_unordered; /* they do not count up */
};

/* Zeroed is empty. */
struct event_sums {
    struct track_sum *tracks; /* [track_room], as far as one has an event */
    uint32_t track_room;
    struct launch_numbers calls;
    struct launch_numbers work;
    struct launch_numbers page_moves; /* work that may be without a launch */
};

/* `is_page_move`: see name_is_page_move. */
void event_sums_add(struct event_sums *sums, const struct found_event *event, bool is_page_move);

/* What a track of `from` sums is summed in one of `to` from now on. */
void event_sums_move_track(struct event_sums *to, uint32_t track, struct event_sums *from,
                           uint32_t from_track);

/* Counts work without a launch call, or before it, as trace_link does. */
void event_sums_link(struct event_sums *sums, struct read_account *read);

/* Of a copy: Nsight Systems names so what a page fault of unified memory moved, and no call
 * launches it. */
bool name_is_page_move(const char *name);

/* Of no device's events the number is below that of the first call. */
static inline bool is_launched_before(int64_t number, int64_t least_number)
{
    return number > 0 && number < least_number && least_number != INT64_MAX;
}

static inline void track_sum_add(struct track_sum *sum, enum event_kind kind, int64_t start_ns,
                                 int64_t duration_ns)
{
    sum->events++;
    sum->device_events += event_kind_is_device_work(kind);
    time_set_add(&sum->times, start_ns, start_ns + duration_ns);
}

void track_sums_free(struct track_sum *sums, uint32_t count);
void event_sums_clear(struct event_sums *sums);

#endif
