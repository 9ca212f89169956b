/* Takes what a reader finds, in any order, and makes a trace of it. Several builders, each filled
 * by a thread of its own, become one trace. */
#ifndef FLOPLEDGER_TRACE_TRACE_BUILDER_H
#define FLOPLEDGER_TRACE_TRACE_BUILDER_H

#include "base/core/error.h"
#include "base/core/index_table.h"
#include "base/core/saturated.h"
#include "base/core/string_pool.h"
#include "trace/event.h"
#include "trace/event_sums.h"
#include "trace/memory_snapshot.h"
#include "trace/trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A zeroed store is empty. */
struct event_store {
    struct event **chunks; /* [chunk_count] */
    size_t chunk_count;
    struct event *next; /* where the next event goes */
    struct event *end;  /* of the newest chunk */
};

/* Events of the first chunk, and of each other: they fill 2 MiB with what large_array_new needs for
 * itself. */
enum { EVENT_CHUNK_FIRST = 2048, EVENT_CHUNK = (2 * 1024 * 1024 - 64) / sizeof(struct event) };

/* Room for a new chunk; called by event_store_add. */
void event_store_grow(struct event_store *store);

static inline void event_store_add(struct event_store *store, const struct event *event)
{
    if (store->next == store->end)
        event_store_grow(store);
    *store->next++ = *event;
}

size_t event_store_count(const struct event_store *store);

/* Number of events in chunk `index`. */
size_t event_store_chunk_events(const struct event_store *store, size_t index);

/* Gives the memory of one chunk back; its events are gone. */
void event_store_free_chunk(struct event_store *store, size_t index);

void event_store_clear(struct event_store *store);

/* Which track an event is on, as the file names it. */
struct track_key {
    uint32_t process; /* pid as written, in the builder's strings */
    uint32_t thread;  /* tid as written */
    bool is_device;
    int32_t device; /* -1 for a host thread */
    int64_t stream; /* -1 for a host thread or a stream not numbered */
};

/* Half of a timed event: phase B or E. */
struct half_event {
    struct found_event event; /* duration 0 */
    bool is_begin;
};

/* A name given to a process or thread. */
struct given_name {
    uint32_t process;
    uint32_t thread;
    uint32_t name;
    bool is_thread; /* else of the whole process, and `thread` says nothing */
};

/* A zeroed builder is empty. */
struct trace_builder {
    struct string_pool strings;
    struct event_store host;
    struct event_store device;
    struct event_store notes; /* device annotations, syncs */
    struct wide_ids wide_ids;
    struct half_event *halves;
    uint32_t half_count;

    uint32_t track_count;
    struct track_key *tracks;
    uint64_t hash_secret;           /* of both indexes; 0 until the first is kept */
    struct index_table track_index; /* of tracks */
    uint32_t *track_host_events;    /* how many of `host` are on each track */
    struct event_sums sums;         /* instead of events, where these are summed */

    struct event_detail *details; /* [0] is "no details", once there is one */
    uint32_t detail_count;
    struct index_table detail_index; /* of details */

    struct given_name *names;
    uint32_t name_count;

    struct device *devices;
    uint32_t device_count;

    struct memory_list memory; /* where it is asked for */
    struct series_list series; /* counters of devices, page faults */

    struct run_facts facts; /* set by trace_builder_init to "not given" */
    struct read_account read;
    uint32_t last_category; /* index in read.categories of the event before */
    bool skips_operators;   /* nobody asks which operator launched what */
    bool sums_events;       /* nor for events: none is kept, the trace has sums of them */
    bool may_be_merged;     /* of several processes, of which the trace is number `part` */
    bool has_layers;        /* pids are those of layers of one process: merged ones are refused */
    uint32_t part;
};

void trace_builder_init(struct trace_builder *builder);

/* Index of the track; equal keys have equal tracks. */
uint32_t trace_builder_track(struct trace_builder *builder, const struct track_key *key);

/* Index of the details, whose padding must be zeroed; equal details have equal indices, and what
 * event_detail_none returns has index 0. */
uint32_t trace_builder_detail(struct trace_builder *builder, const struct event_detail *detail);

/* Details of which none is given. */
struct event_detail event_detail_none(void);

/* As memcmp, over all bytes of two details. */
int event_detail_compare(const struct event_detail *a, const struct event_detail *b);

/* No event has an id near a block other than that of `wide`, which has one where the builder has
 * one. */
void trace_builder_share_block(struct trace_builder *builder, struct wide_ids *wide);

/* `event->kind` decides where it goes; its ids are those of this builder. */
void trace_builder_add(struct trace_builder *builder, const struct found_event *found);

/* With ids that are wide, or where there is no room. */
void trace_builder_add_slowly(struct trace_builder *builder, struct event_store *store,
                              const struct found_event *found);

/* Device work and notes on a device (ranges, waits) are stored apart: nearly all who look at
 * the device want its work alone. */
static inline struct event_store *trace_builder_store(struct trace_builder *builder,
                                                      enum event_kind kind)
{
    if (!event_kind_is_on_device(kind))
        return &builder->host;
    return event_kind_is_device_work(kind) ? &builder->device : &builder->notes;
}

/* As trace_builder_add where events are not summed, for the reader that adds the most: what it
 * found need not be in memory. */
static inline void trace_builder_keep(struct trace_builder *builder,
                                      const struct found_event *found)
{
    enum event_kind kind = (enum event_kind)found->kind;
    struct event_store *store = trace_builder_store(builder, kind);

    if (!event_kind_is_on_device(kind))
        builder->track_host_events[found->track]++;
    if (event_id_is_wide(found->correlation) || event_id_is_wide(found->external_id) ||
        store->next == store->end) {
        struct found_event copy = *found;

        trace_builder_add_slowly(builder, store, &copy);
    } else {
        *store->next++ =
            event_with_ids(found, (int32_t)found->correlation, (int32_t)found->external_id);
    }
}

/* Phases B and E, matched by trace_finish. */
void trace_builder_add_half(struct trace_builder *builder, const struct half_event *half);

void trace_builder_name(struct trace_builder *builder, const struct given_name *name);

/* One entry of deviceProperties. */
void trace_builder_add_device(struct trace_builder *builder, const struct device *device);

/* Where events of this category and phase are counted; NULL where there are too many of them, and
 * then this one is counted as such. */
struct category_count *trace_builder_category(struct trace_builder *builder, uint32_t category,
                                              char phase);

/* One event more, where there is a count; it lasts from start to end, which are equal for a point
 * in time. Events without a time pass start > end. */
static inline void category_count_add(struct category_count *count, int64_t start_ns,
                                      int64_t end_ns)
{
    if (!count)
        return;
    count->events++;
    if (start_ns > end_ns)
        return;
    if (start_ns < count->first_start_ns)
        count->first_start_ns = start_ns;
    if (end_ns > count->last_end_ns)
        count->last_end_ns = end_ns;
    count->total_duration_ns =
        saturated_sum(count->total_duration_ns, saturated_difference(end_ns, start_ns));
}

static inline void trace_builder_count(struct trace_builder *builder, uint32_t category, char phase,
                                       int64_t start_ns, int64_t end_ns)
{
    struct category_count *count = &builder->read.categories[builder->last_category];

    if (builder->read.category_count == 0 || count->category != category || count->phase != phase)
        count = trace_builder_category(builder, category, phase);
    category_count_add(count, start_ns, end_ns);
}

/* Notes a place in the file that is no event. */
void trace_builder_damage(struct trace_builder *builder, const struct damage *damage);

/* Adds counts and damages of `from` to `to`, whose place in the file is before. Categories are
 * those of one pool. */
void read_account_add(struct read_account *to, const struct read_account *from,
                      const uint32_t *string_of);

/* `count` records of this kind, or rows of this table, are used for nothing. */
void read_account_leave(struct read_account *read, const char *name, int64_t count);

/* What stands behind the end of the file's content, and where. */
void read_account_set_ending(struct read_account *read, enum read_ending ending,
                             const char *message);

/* For a file in which no event could be read: true with `error` set (ERROR_INPUT) where it is cut
 * or damaged, which explains that. */
bool read_account_explains_nothing(const struct read_account *read, struct error *error);

/* Makes `trace`, which must be zeroed but for nothing, out of `count` builders in the order of the
 * file; all of them are left cleared. Sorts, links kernels to their launches, and finds their
 * operators with up to `threads` threads. */
void trace_finish(struct trace *trace, struct trace_builder *builders, unsigned count,
                  unsigned threads);

void trace_builder_clear(struct trace_builder *builder);

#endif
