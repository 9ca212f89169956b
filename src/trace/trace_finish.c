/* Makes one trace out of the builders that the threads of a reader have filled. */
#include "base/core/array.h"
#include "base/core/hash_map.h"
#include "base/core/invariant.h"
#include "base/core/large_array.h"
#include "base/core/worker_threads.h"
#include "base/text/number_order.h"
#include "trace/trace_builder.h"
#include "trace/trace_finish_parts.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* What a builder's ids are in the trace. */
struct id_maps {
    uint32_t *strings;
    uint32_t *tracks;
    uint32_t *details;
    int32_t *wide_ids;
};

struct finish {
    struct trace *trace;
    struct trace_builder *builders;
    struct id_maps *maps; /* [count] */
    unsigned count;
};

static uint32_t *new_map(uint32_t count)
{
    return require_memory(calloc((size_t)count + 1, sizeof(uint32_t)));
}

/* ---- strings, tracks and details: those of the first builder keep their ids
 * --------------------------------- */

/* The first builder's ids stay, so that its events, the most of them, need no mapping. */
static void map_strings(struct string_pool *to, const struct string_pool *from, uint32_t *map)
{
    for (size_t id = 0; id < from->count; id++)
        map[id] = string_pool_add(to, from->entries[id].text, from->entries[id].length);
}

/* Each piece of the file numbered its own tracks: they are joined by process and thread. */
static void map_tracks(struct trace_builder *to, const struct trace_builder *from,
                       struct id_maps *maps)
{
    for (uint32_t i = 0; i < from->track_count; i++) {
        struct track_key key = from->tracks[i];

        key.process = maps->strings[key.process];
        key.thread = maps->strings[key.thread];
        maps->tracks[i] = trace_builder_track(to, &key);
        to->track_host_events[maps->tracks[i]] += from->track_host_events[i];
    }
}

/* Each builder numbers its own strings; details are put in anew, so that equal ones of two
 * builders become one. */
static void map_details(struct trace_builder *to, const struct trace_builder *from,
                        struct id_maps *maps)
{
    for (uint32_t i = 0; i < from->detail_count; i++) {
        struct event_detail detail = from->details[i];

        detail.input_shapes = maps->strings[detail.input_shapes];
        detail.input_types = maps->strings[detail.input_types];
        detail.concrete_inputs = maps->strings[detail.concrete_inputs];
        detail.call_stack = maps->strings[detail.call_stack];
        detail.work = maps->strings[detail.work];
        detail.phase = maps->strings[detail.phase];
        detail.kernel_name = maps->strings[detail.kernel_name];
        detail.code = maps->strings[detail.code];
        detail.settings = maps->strings[detail.settings];
        detail.lines = maps->strings[detail.lines];
        detail.collective_name = maps->strings[detail.collective_name];
        detail.element_type = maps->strings[detail.element_type];
        detail.group_name = maps->strings[detail.group_name];
        detail.group_ranks = maps->strings[detail.group_ranks];
        maps->details[i] = trace_builder_detail(to, &detail);
    }
}

/* Ids near a block are near that of the trace. */
static int32_t mapped_id(int32_t id, const struct id_maps *maps)
{
    return id >= NO_ID ? id : maps->wide_ids[id - INT32_MIN];
}

/* Strings, details and ids of the first builder became the trace's own. */
static inline void put_mapped(struct event *to, const struct id_maps *maps, bool is_first,
                              uint32_t track, const struct event *event)
{
    *to = *event;
    to->track_and_kind = event_track_and_kind(track, event->kind);
    if (is_first)
        return;
    to->correlation = mapped_id(event->correlation, maps);
    to->external_id = mapped_id(event->external_id, maps);
    to->name = maps->strings[event->name];
    to->detail = maps->details[event->detail];
}

static void map_wide_ids(struct wide_ids *to, struct trace_builder *builder, struct id_maps *maps)
{
    const struct wide_ids *from = &builder->wide_ids;

    trace_builder_share_block(builder, to);
    maps->wide_ids = require_memory(calloc((size_t)from->count + 1, sizeof *maps->wide_ids));
    for (uint32_t i = 0; i < from->count; i++)
        maps->wide_ids[i] = event_id_of(to, from->ids[i]);
}

/* The few things that are not events: they move to the first builder. */
static void move_rest(struct trace_builder *to, struct trace_builder *from,
                      const struct id_maps *maps)
{
    for (uint32_t i = 0; i < from->half_count; i++) {
        struct half_event half = from->halves[i];

        half.event.name = maps->strings[half.event.name];
        half.event.track = maps->tracks[half.event.track];
        half.event.detail = maps->details[half.event.detail];
        trace_builder_add_half(to, &half);
    }
    for (uint32_t i = 0; i < from->name_count; i++) {
        struct given_name name = from->names[i];

        name.process = maps->strings[name.process];
        name.thread = maps->strings[name.thread];
        name.name = maps->strings[name.name];
        trace_builder_name(to, &name);
    }
    for (uint32_t i = 0; i < from->device_count; i++) {
        struct device device = from->devices[i];

        device.name = maps->strings[device.name];
        trace_builder_add_device(to, &device);
    }
}

/* Strings have other numbers in each builder; a series is the same where its mapped name, unit
 * and device are, and its samples are put behind those that are there. */
static void move_series(struct trace_builder *to, const struct trace_builder *from,
                        const struct id_maps *maps)
{
    for (uint32_t i = 0; i < from->series.count; i++) {
        const struct series *series = &from->series.series[i];
        struct series key = {.kind = series->kind,
                             .name = maps->strings[series->name],
                             .unit = maps->strings[series->unit],
                             .device = series->device,
                             .number = series->number};
        uint32_t index = series_list_find(&to->series, &key);
        struct series *found = &to->series.series[index];

        for (size_t k = 0; k < series->count; k++)
            series_add(found, &series->samples[k]);
        found->set_aside += series->set_aside;
    }
}

static void trace_finish_take_number(int64_t *to, int64_t from)
{
    if (*to < 0)
        *to = from;
}

static void trace_finish_take_flag(int8_t *to, int8_t from)
{
    if (*to < 0)
        *to = from;
}

static void trace_finish_take_string(uint32_t *to, uint32_t from)
{
    if (!*to)
        *to = from;
}

/* The first that knows a fact decides; builders are in the order of the file. */
static void trace_finish_add_facts(struct run_facts *to, const struct run_facts *from,
                                   const uint32_t *strings)
{
    trace_finish_take_number(&to->rank, from->rank);
    trace_finish_take_number(&to->world_size, from->world_size);
    trace_finish_take_string(&to->backend, strings[from->backend]);
    trace_finish_take_string(&to->hostname, strings[from->hostname]);
    trace_finish_take_string(&to->process, strings[from->process]);
    trace_finish_take_string(&to->torch_version, strings[from->torch_version]);
    trace_finish_take_string(&to->cuda_version, strings[from->cuda_version]);
    trace_finish_take_string(&to->trace_name, strings[from->trace_name]);
    if (!to->base_time_ns)
        to->base_time_ns = from->base_time_ns;
    trace_finish_take_flag(&to->record_shapes, from->record_shapes);
    trace_finish_take_flag(&to->profile_memory, from->profile_memory);
    trace_finish_take_flag(&to->with_stack, from->with_stack);
    trace_finish_take_flag(&to->with_modules, from->with_modules);
    trace_finish_take_flag(&to->with_flops, from->with_flops);
    if (to->platform == PLATFORM_CUDA)
        to->platform = from->platform;
    to->is_rocm = to->is_rocm || from->is_rocm;
}

/* Strings, then tracks and details, which hold strings. */
static void merge_builders(struct finish *finish)
{
    struct trace_builder *first = &finish->builders[0];

    if (!first->detail_count) {
        struct event_detail none = event_detail_none();

        trace_builder_detail(first, &none);
    }
    string_pool_add(&first->strings, "", 0);
    for (unsigned i = 0; i < finish->count; i++) {
        struct trace_builder *from = &finish->builders[i];
        struct id_maps *maps = &finish->maps[i];

        maps->strings = new_map((uint32_t)from->strings.count);
        maps->tracks = new_map(from->track_count);
        maps->details = new_map(from->detail_count);
        if (i == 0)
            continue;
        map_strings(&first->strings, &from->strings, maps->strings);
        map_tracks(first, from, maps);
        map_details(first, from, maps);
        map_wide_ids(&first->wide_ids, from, maps);
        move_rest(first, from, maps);
        move_series(first, from, maps);
        trace_finish_add_facts(&first->facts, &from->facts, maps->strings);
        read_account_add(&first->read, &from->read, maps->strings);
    }
    half_events_match(first);
}

/* ---- tracks in an order of their own
 * ------------------------------------------------------------------------- */

/* By what a track is, never by when it was first met: the order of threads in the file, and of
 * reading threads, must not show. */
static int trace_finish_compare_tracks(const void *a, const void *b, void *argument)
{
    const struct trace_builder *builder = argument;
    const struct track_key *left = &builder->tracks[*(const uint32_t *)a];
    const struct track_key *right = &builder->tracks[*(const uint32_t *)b];
    int order;

    if (left->is_device != right->is_device)
        return left->is_device ? 1 : -1;
    if (left->device != right->device)
        return left->device < right->device ? -1 : 1;
    order = compare_numbers_first(string_pool_text(&builder->strings, left->process),
                                  string_pool_text(&builder->strings, right->process));
    if (!order)
        order = compare_numbers_first(string_pool_text(&builder->strings, left->thread),
                                      string_pool_text(&builder->strings, right->thread));
    if (!order && left->stream != right->stream)
        order = left->stream < right->stream ? -1 : 1;
    return order;
}

/* Sums are made by one reading thread. */
static void move_sums(struct trace *trace, struct trace_builder *only, const uint32_t *order)
{
    struct event_sums *sums = &only->sums;

    trace->sums = require_memory(calloc((size_t)trace->track_count + 1, sizeof *trace->sums));
    for (uint32_t i = 0; i < trace->track_count; i++) {
        if (order[i] >= sums->track_room)
            continue;
        time_set_complete(&sums->tracks[order[i]].times);
        trace->sums[i] = sums->tracks[order[i]];
        sums->tracks[order[i]] = (struct track_sum){0};
    }
}

/* Makes trace->tracks, sorted; the maps then lead to it. By what they are, not by when they
 * appeared: equal recordings have equal tracks, whatever the order of the file. First events are
 * known from counts, so host events can be placed in one pass. */
static void order_tracks(struct finish *finish)
{
    struct trace_builder *first = &finish->builders[0];
    struct trace *trace = finish->trace;
    uint32_t count = first->track_count;
    uint32_t *order = new_map(count);
    uint32_t *place = new_map(count);
    uint32_t first_event = 0;

    for (uint32_t i = 0; i < count; i++)
        order[i] = i;
    qsort_r(order, count, sizeof *order, trace_finish_compare_tracks, first);
    trace->tracks = require_memory(calloc((size_t)count + 1, sizeof *trace->tracks));
    trace->track_count = count;
    for (uint32_t i = 0; i < count; i++) {
        const struct track_key *key = &first->tracks[order[i]];

        place[order[i]] = i;
        trace->tracks[i] = (struct track){
            .process = key->process,
            .thread = key->thread,
            .is_device = key->is_device,
            .device = key->device,
            .stream = key->stream,
            .first_event = first_event,
            .event_count = first->track_host_events[order[i]],
        };
        first_event += trace->tracks[i].event_count;
    }
    trace->host_count = first_event;
    if (first->sums_events)
        move_sums(trace, first, order);
    for (unsigned b = 1; b < finish->count; b++) {
        for (uint32_t i = 0; i < finish->builders[b].track_count; i++)
            finish->maps[b].tracks[i] = place[finish->maps[b].tracks[i]];
    }
    /* The first builder's tracks are those of the trace: its map is the new order alone. */
    memcpy(finish->maps[0].tracks, place, count * sizeof *place);
    free(order);
    free(place);
}

/* Of several names for one thread the last in the alphabet counts: it must not matter where they
 * stand in the file. */
static void give_name(const struct trace *trace, uint32_t *to, uint32_t name)
{
    if (!*to || strcmp(trace_text(trace, *to), trace_text(trace, name)) < 0)
        *to = name;
}

/* Tracks by process, or by process and thread: the first of each, and for each track the next of
 * the same. */
struct track_lists {
    struct hash_map first;
    uint32_t *next; /* NO_EVENT: none */
};

static uint64_t list_key(uint32_t process, uint32_t thread, bool is_thread)
{
    return is_thread ? pair_key(process, thread) : process;
}

/* Names are given by process or thread, and tracks are many: lists by key make naming linear. */
static struct track_lists list_tracks(const struct trace *trace, bool by_thread)
{
    struct track_lists lists = {.next = new_map(trace->track_count)};

    for (uint32_t i = trace->track_count; i-- > 0;) { /* the last first: any order will do */
        const struct track *track = &trace->tracks[i];
        uint32_t first =
            hash_map_add(&lists.first, list_key(track->process, track->thread, by_thread), i);

        lists.next[i] = NO_EVENT;
        if (first != i) {
            lists.next[i] = lists.next[first];
            lists.next[first] = i;
        }
    }
    return lists;
}

/* Names are given by process and thread, of which several tracks may be; all of them get it. */
static void name_tracks(struct trace *trace, const struct trace_builder *first)
{
    struct track_lists lists[] = {list_tracks(trace, false), list_tracks(trace, true)};

    for (uint32_t n = 0; n < first->name_count; n++) {
        const struct given_name *name = &first->names[n];
        const struct track_lists *list = &lists[name->is_thread];
        uint32_t i =
            hash_map_find(&list->first, list_key(name->process, name->thread, name->is_thread));

        for (; i != NO_VALUE && i != NO_EVENT; i = list->next[i]) {
            struct track *track = &trace->tracks[i];

            give_name(trace, name->is_thread ? &track->thread_name : &track->process_name,
                      name->name);
        }
    }
    for (int i = 0; i < 2; i++) {
        hash_map_clear(&lists[i].first);
        free(lists[i].next);
    }
}

/* ---- events --------------------------------------------------------------------------------- */

/* `next`: where the next event of each track goes. */
static inline void place_on_tracks(const struct finish *finish, unsigned builder, uint32_t *next,
                                   const struct event *events, size_t count)
{
    const struct id_maps *maps = &finish->maps[builder];
    struct event *to = finish->trace->host;

    for (size_t i = 0; i < count; i++) {
        uint32_t track = maps->tracks[events[i].track];

        put_mapped(&to[next[track]++], maps, builder == 0, track, &events[i]);
    }
}

/* A counting sort by track that frees chunks as it goes, so the peak is one copy and not two. */
static void gather_host(struct finish *finish)
{
    struct trace *trace = finish->trace;
    uint32_t *next = new_map(trace->track_count);

    trace->host = large_array_new(trace->host_count * sizeof *trace->host);
    for (uint32_t i = 0; i < trace->track_count; i++)
        next[i] = trace->tracks[i].first_event;
    for (unsigned b = 0; b < finish->count; b++) {
        struct event_store *store = &finish->builders[b].host;

        for (size_t c = 0; c < store->chunk_count; c++) {
            place_on_tracks(finish, b, next, store->chunks[c], event_store_chunk_events(store, c));
            event_store_free_chunk(store, c);
        }
    }
    free(next);
}

/* Chunks are freed as they are copied: the events are in memory twice for one chunk only. */
static struct event *trace_finish_gather(struct finish *finish, bool is_notes, uint32_t *count)
{
    struct event *events;
    size_t total = 0;
    size_t at = 0;

    for (unsigned b = 0; b < finish->count; b++)
        total +=
            event_store_count(is_notes ? &finish->builders[b].notes : &finish->builders[b].device);
    require_invariant(total < NO_EVENT, "that there are fewer than 2^32 events");
    events = large_array_new(total * sizeof *events);
    for (unsigned b = 0; b < finish->count; b++) {
        struct event_store *store =
            is_notes ? &finish->builders[b].notes : &finish->builders[b].device;

        for (size_t c = 0; c < store->chunk_count; c++) {
            size_t here = event_store_chunk_events(store, c);

            for (size_t i = 0; i < here; i++) {
                const struct event *event = &store->chunks[c][i];

                put_mapped(&events[at++], &finish->maps[b], b == 0,
                           finish->maps[b].tracks[event->track], event);
            }
            event_store_free_chunk(store, c);
        }
    }
    *count = (uint32_t)total;
    return events;
}

/* Sorted at the end: pieces come in order of the file, whose memory events come from several
 * buffers. */
static void gather_memory(struct finish *finish)
{
    for (unsigned b = 0; b < finish->count; b++) {
        const struct memory_list *list = &finish->builders[b].memory;

        finish->trace->memory.set_aside += list->set_aside;
        for (size_t i = 0; i < list->count; i++) {
            struct memory_event event = list->events[i];

            event.track = finish->maps[b].tracks[event.track];
            memory_list_add(&finish->trace->memory, &event);
        }
    }
    memory_list_sort(&finish->trace->memory);
}

/* ---- devices -------------------------------------------------------------------------------- */

static int trace_finish_compare_devices(const void *a, const void *b)
{
    const struct device *left = a;
    const struct device *right = b;

    return (left->number > right->number) - (left->number < right->number);
}

/* The device of a track: one of the first `known` of the list, which are sorted, or the last, or a
 * new one. Tracks come in the order of their devices. */
static struct device *trace_finish_find_device(struct trace *trace, uint32_t known, int32_t number)
{
    const struct device wanted = {.number = number};
    struct device *found = NULL;

    if (known)
        found =
            bsearch(&wanted, trace->devices, known, sizeof wanted, trace_finish_compare_devices);
    if (found)
        return found;
    if (trace->device_list_count > known &&
        trace->devices[trace->device_list_count - 1].number == number)
        return &trace->devices[trace->device_list_count - 1];
    ARRAY_ROOM(trace->devices, trace->device_list_count);
    trace->devices[trace->device_list_count] = (struct device){
        .number = number,
        .memory_bytes = -1,
        .compute_major = -1,
        .compute_minor = -1,
        .multiprocessors = -1,
    };
    return &trace->devices[trace->device_list_count++];
}

static void sort_devices(struct trace *trace)
{
    if (trace->device_list_count)
        qsort(trace->devices, trace->device_list_count, sizeof *trace->devices,
              trace_finish_compare_devices);
}

/* What all `count` entries, which are of one name, agree on. */
static struct device common_entry(const struct device *entries, uint32_t count)
{
    struct device common = entries[0];

    for (uint32_t i = 1; i < count; i++) {
        const struct device *other = &entries[i];

        if (other->memory_bytes != common.memory_bytes)
            common.memory_bytes = -1;
        if (other->multiprocessors != common.multiprocessors)
            common.multiprocessors = -1;
        if (other->compute_major != common.compute_major ||
            other->compute_minor != common.compute_minor)
            common.compute_major = common.compute_minor = -1;
    }
    return common;
}

/* Devices behind the first `count` have no entry of their own: they are what the file lists, where
 * that is one device or all are of one name, be it none: numbers of ROCm's kernels are not those of
 * the list. */
static void complete_devices(struct trace *trace, uint32_t count)
{
    struct device common;

    for (uint32_t i = 1; i < count; i++)
        if (trace->devices[i].name != trace->devices[0].name)
            return;
    if (count == 0)
        return;
    common = common_entry(trace->devices, count);
    for (uint32_t i = count; i < trace->device_list_count; i++) {
        struct device *device = &trace->devices[i];

        common.number = device->number;
        common.event_count = device->event_count;
        common.entry = count == 1 ? DEVICE_ENTRY_ONLY : DEVICE_ENTRY_SHARED;
        *device = common;
    }
}

/* Devices that work but that the file did not list are added; sorted again then. */
static void list_devices(struct trace *trace, struct trace_builder *first)
{
    uint32_t *events = new_map(trace->track_count);
    uint32_t known = first->device_count;

    trace->devices = first->devices;
    trace->device_list_count = known;
    first->devices = NULL;
    first->device_count = 0;
    sort_devices(trace);
    for (uint32_t i = 0; i < trace->device_count; i++)
        events[trace->device[i].track]++;
    for (uint32_t i = 0; trace->sums && i < trace->track_count; i++)
        events[i] = trace->sums[i].device_events;
    for (uint32_t i = 0; i < trace->track_count; i++) {
        if (events[i])
            trace_finish_find_device(trace, known, trace->tracks[i].device)->event_count +=
                events[i];
    }
    complete_devices(trace, known);
    sort_devices(trace);
    free(events);
}

/* ---- all ------------------------------------------------------------------------------------ */

/* What the first builder has and the trace takes over as it is. */
static void adopt(struct trace *trace, struct trace_builder *first)
{
    trace->strings = first->strings;
    first->strings = (struct string_pool){0};
    trace->wide_ids = first->wide_ids;
    first->wide_ids = (struct wide_ids){0};
    trace->series = first->series;
    first->series = (struct series_list){0};
    trace->details = first->details;
    trace->detail_count = first->detail_count;
    first->details = NULL;
    first->detail_count = 0;
    trace->facts = first->facts;
    trace->read = first->read;
}

/* Piece of work `index` of sorting: a track, or one of the two lists of device events. Tracks
 * and the device lists are independent, so threads take them one by one. */
static void sort_piece(void *argument, size_t index)
{
    struct trace *trace = argument;

    if (index == 0) {
        sort_events(trace, trace->device, trace->device_count, compare_device_events);
    } else if (index == 1) {
        sort_events(trace, trace->device_notes, trace->device_note_count, compare_device_events);
    } else {
        const struct track *track = &trace->tracks[index - 2];

        sort_events(trace, trace->host + track->first_event, track->event_count,
                    compare_host_events);
    }
}

/* Before tracks are ordered: those of the first builder are its own. */
static void keep_one_process(struct finish *finish)
{
    uint32_t **maps;

    if (!finish->builders[0].may_be_merged)
        return;
    maps = require_memory(calloc(finish->count, sizeof *maps));
    for (unsigned b = 0; b < finish->count; b++)
        maps[b] = finish->maps[b].tracks;
    for (uint32_t i = 0; i < finish->builders[0].track_count; i++)
        maps[0][i] = i;
    merged_processes_keep_one(finish->builders, finish->count, maps, finish->builders[0].part);
    free(maps);
}

/* The order of the file never shows: tracks, devices, events and texts that decide between
 * equals are all ordered by content. */
void trace_finish(struct trace *trace, struct trace_builder *builders, unsigned count,
                  unsigned threads)
{
    struct finish finish = {
        .trace = trace,
        .builders = builders,
        .maps = require_memory(calloc(count, sizeof *finish.maps)),
        .count = count,
    };

    merge_builders(&finish);
    free(finish.maps[0].tracks); /* matched halves may have added tracks */
    finish.maps[0].tracks = new_map(builders[0].track_count);
    keep_one_process(&finish);
    order_tracks(&finish);
    adopt(trace, &builders[0]);
    name_tracks(trace, &builders[0]);
    gather_host(&finish);
    gather_memory(&finish);
    series_list_sort(&trace->series);
    trace->device = trace_finish_gather(&finish, false, &trace->device_count);
    trace->device_notes = trace_finish_gather(&finish, true, &trace->device_note_count);
    list_devices(trace, &builders[0]);
    run_side_by_side(threads, trace->track_count + 2, sort_piece, trace);
    if (builders[0].sums_events)
        event_sums_link(&builders[0].sums, &trace->read);
    else
        trace_link(trace, threads, !builders[0].skips_operators);
    for (unsigned b = 0; b < count; b++) {
        free(finish.maps[b].strings);
        free(finish.maps[b].tracks);
        free(finish.maps[b].details);
        free(finish.maps[b].wide_ids);
        trace_builder_clear(&builders[b]);
    }
    free(finish.maps);
}
