/* Takes what a reader finds, in any order. */
#include "trace/trace_builder.h"

#include "base/core/array.h"
#include "base/core/hash_mix.h"
#include "base/core/index_table.h"
#include "base/core/invariant.h"
#include "base/core/large_array.h"
#include "base/core/saturated.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the store of events --------------------------------------------------------------------- */

/* Events on their way into a trace: appended one by one, taken away chunk by chunk, so that memory
 * is given back while the final arrays grow. */

/* The first chunk is small, because most traces are; the others fill one large page. */
static size_t chunk_events(size_t index)
{
    return index == 0 ? EVENT_CHUNK_FIRST : EVENT_CHUNK;
}

/* Chunks that are full may be put aside to disk: only the last is written to. */
void event_store_grow(struct event_store *store)
{
    size_t events = chunk_events(store->chunk_count);
    struct event *chunk = large_array_in_memory(events * sizeof *chunk);

    if (store->chunk_count)
        store->chunks[store->chunk_count - 1] =
            large_array_put_aside(store->chunks[store->chunk_count - 1]);
    ARRAY_ADD(store->chunks, store->chunk_count, chunk);
    store->next = chunk;
    store->end = chunk + events;
}

size_t event_store_chunk_events(const struct event_store *store, size_t index)
{
    return index + 1 < store->chunk_count ? chunk_events(index)
                                          : (size_t)(store->next - store->chunks[index]);
}

size_t event_store_count(const struct event_store *store)
{
    size_t count = 0;

    for (size_t i = 0; i < store->chunk_count; i++)
        count += event_store_chunk_events(store, i);
    return count;
}

void event_store_free_chunk(struct event_store *store, size_t index)
{
    large_array_give_back(store->chunks[index]);
    store->chunks[index] = NULL;
}

void event_store_clear(struct event_store *store)
{
    for (size_t i = 0; i < store->chunk_count; i++)
        large_array_free(store->chunks[i]);
    free(store->chunks);
    *store = (struct event_store){0};
}

/* ---- ids ------------------------------------------------------------------------------------- */

static int32_t wide_ids_add_outside(struct wide_ids *wide, int64_t id)
{
    uint32_t place = hash_map_add(&wide->places, (uint64_t)id, wide->count);

    require_invariant(place < (uint32_t)(NO_ID - INT32_MIN),
                      "that there are fewer than 2^30 wide ids");
    if (place == wide->count)
        LARGE_ARRAY_ADD(wide->ids, wide->count, id);
    return INT32_MIN + (int32_t)place;
}

int32_t wide_ids_add(struct wide_ids *wide, int64_t id)
{
    if (!wide->block)
        wide->block = wide_id_block(id);
    return wide_id_block(id) == wide->block ? event_id_of(wide, id)
                                            : wide_ids_add_outside(wide, id);
}

static int32_t id_without_block(struct wide_ids *wide, int32_t id)
{
    return event_id_is_near(id) ? wide_ids_add_outside(wide, event_id_number(wide, id)) : id;
}

static void store_leave_block(struct event_store *store, struct wide_ids *wide)
{
    for (size_t c = 0; c < store->chunk_count; c++) {
        size_t count = event_store_chunk_events(store, c);

        for (size_t i = 0; i < count; i++) {
            struct event *event = &store->chunks[c][i];

            event->correlation = id_without_block(wide, event->correlation);
            event->external_id = id_without_block(wide, event->external_id);
        }
    }
}

/* A walk over all its events, which few files take: ids of their pieces mostly share a block. */
void trace_builder_share_block(struct trace_builder *builder, struct wide_ids *wide)
{
    if (!wide->block)
        wide->block = builder->wide_ids.block;
    if (builder->wide_ids.block == wide->block || !builder->wide_ids.block)
        return;
    store_leave_block(&builder->host, &builder->wide_ids);
    store_leave_block(&builder->device, &builder->wide_ids);
    store_leave_block(&builder->notes, &builder->wide_ids);
}

void wide_ids_clear(struct wide_ids *wide)
{
    large_array_free(wide->ids);
    hash_map_clear(&wide->places);
    *wide = (struct wide_ids){0};
}

/* ---- trace builder --------------------------------------------------------------------------- */

/* -1 is "not told": 0 is a rank, and "off". */
void trace_builder_init(struct trace_builder *builder)
{
    *builder = (struct trace_builder){0};
    builder->facts = (struct run_facts){
        .rank = -1,
        .world_size = -1,
        .record_shapes = -1,
        .profile_memory = -1,
        .with_stack = -1,
        .with_modules = -1,
        .with_flops = -1,
    };
}

/* No file can plant tracks or details whose hashes are equal. */
static uint64_t hash_multiplier(struct trace_builder *builder)
{
    if (!builder->hash_secret)
        builder->hash_secret = hash_secret();
    return HASH_MULTIPLIER ^ builder->hash_secret;
}

/* ---- tracks --------------------------------------------------------------------------------- */

static uint32_t hash_track(const struct track_key *key, uint64_t multiplier)
{
    /* one after the other: a thread and its stream often count up together */
    uint64_t hash = hash_mix((uint64_t)key->process << 32 | key->thread, multiplier);

    hash = hash_mix(hash ^ (uint64_t)key->stream, multiplier);
    hash = hash_mix(hash ^ ((uint64_t)(uint32_t)key->device << 1 | key->is_device), multiplier);
    return (uint32_t)(hash >> 16);
}

static bool is_same_track(const struct track_key *a, const struct track_key *b)
{
    return a->process == b->process && a->thread == b->thread && a->is_device == b->is_device &&
           a->device == b->device && a->stream == b->stream;
}

/* Asked for every event, so the last track is mostly in the processor's cache; the hash is
 * keyed against planted collisions. */
uint32_t trace_builder_track(struct trace_builder *builder, const struct track_key *key)
{
    uint32_t hash = hash_track(key, hash_multiplier(builder));
    uint32_t known =
        INDEX_TABLE_FIND(&builder->track_index, hash, i, is_same_track(&builder->tracks[i], key));

    if (known != NO_INDEX)
        return known;
    require_invariant(builder->track_count < EVENT_TRACK_MAX,
                      "that there are fewer than 2^24 threads and streams");
    index_table_add(&builder->track_index, hash, builder->track_count);
    ARRAY_ROOM(builder->track_host_events, builder->track_count);
    builder->track_host_events[builder->track_count] = 0;
    ARRAY_ADD(builder->tracks, builder->track_count, *key);
    return builder->track_count - 1;
}

/* ---- details -------------------------------------------------------------------------------- */

/* -1 is "not known" for numbers, since 0 is one; texts are 0, the empty string. */
struct event_detail event_detail_none(void)
{
    struct event_detail detail;

    memset(&detail, 0, sizeof detail);
    for (int i = 0; i < 3; i++) {
        detail.grid[i] = -1;
        detail.block[i] = -1;
    }
    detail.registers_per_thread = -1;
    detail.shared_memory_bytes = -1;
    detail.occupancy_percent = -1;
    detail.blocks_per_sm = -1;
    detail.warps_per_sm = -1;
    detail.collective_calls = -1;
    detail.bytes = -1;
    detail.flops = -1;
    detail.in_elements = -1;
    detail.out_elements = -1;
    detail.group_size = -1;
    detail.sequence = -1;
    detail.source_rank = -1;
    detail.destination_rank = -1;
    detail.graph_node = -1;
    return detail;
}

/* All bytes count, see event.h: no need to know what they mean. */
static int compare_bytes(const void *a, const void *b, size_t bytes)
{
    return memcmp(a, b, bytes);
}

int event_detail_compare(const struct event_detail *a, const struct event_detail *b)
{
    return compare_bytes(a, b, sizeof *a);
}

/* Two chains side by side, as a multiplication has a latency of several cycles; all bytes are
 * hashed. */
static uint32_t hash_detail(const struct event_detail *detail, uint64_t multiplier)
{
    uint64_t words[sizeof *detail / sizeof(uint64_t)];
    size_t count = sizeof words / sizeof words[0];
    uint64_t a = 0;
    uint64_t b = 0;

    _Static_assert(sizeof words == sizeof *detail, "details are whole words");
    memcpy(words, detail, sizeof words);
    for (size_t i = 0; i + 1 < count; i += 2) {
        a = hash_mix(a ^ words[i], multiplier);
        b = hash_mix(b ^ words[i + 1], multiplier);
    }
    if (count % 2)
        a = hash_mix(a ^ words[count - 1], multiplier);
    return (uint32_t)(hash_mix(hash_mix(a, multiplier) ^ b, multiplier) >> 16);
}

/* Details repeat: millions of events have some thousand different ones. */
static uint32_t intern_detail(struct trace_builder *builder, const struct event_detail *detail)
{
    uint32_t hash = hash_detail(detail, hash_multiplier(builder));
    uint32_t known = INDEX_TABLE_FIND(&builder->detail_index, hash, i,
                                      event_detail_compare(&builder->details[i], detail) == 0);

    if (known != NO_INDEX)
        return known;
    index_table_add(&builder->detail_index, hash, builder->detail_count);
    ARRAY_ADD(builder->details, builder->detail_count, *detail);
    return builder->detail_count - 1;
}

/* Number 0 is the empty detail, so that an event without details needs none. */
uint32_t trace_builder_detail(struct trace_builder *builder, const struct event_detail *detail)
{
    if (!builder->detail_count) {
        struct event_detail none = event_detail_none();

        intern_detail(builder, &none);
    }
    return intern_detail(builder, detail);
}

/* ---- events --------------------------------------------------------------------------------- */

void trace_builder_add_slowly(struct trace_builder *builder, struct event_store *store,
                              const struct found_event *found)
{
    int32_t correlation = event_id_of(&builder->wide_ids, found->correlation);
    int32_t external_id = event_id_of(&builder->wide_ids, found->external_id);

    if (store->next == store->end)
        event_store_grow(store);
    *store->next++ = event_with_ids(found, correlation, external_id);
}

void trace_builder_add(struct trace_builder *builder, const struct found_event *event)
{
    if (builder->sums_events)
        event_sums_add(&builder->sums, event,
                       event->kind == EVENT_MEMCPY &&
                           name_is_page_move(string_pool_text(&builder->strings, event->name)));
    else
        trace_builder_keep(builder, event);
}

void trace_builder_add_half(struct trace_builder *builder, const struct half_event *half)
{
    ARRAY_ADD(builder->halves, builder->half_count, *half);
}

void trace_builder_name(struct trace_builder *builder, const struct given_name *name)
{
    ARRAY_ADD(builder->names, builder->name_count, *name);
}

void trace_builder_add_device(struct trace_builder *builder, const struct device *device)
{
    ARRAY_ADD(builder->devices, builder->device_count, *device);
}

/* ---- the account of what was read
 * ---------------------------------------------------------------------------- */

/* The place where this category and phase is counted; NULL where there are too many of them.
 * Linear over some ten categories: a file with more has its rest counted together. */
static struct category_count *find_category(struct read_account *read, uint32_t category,
                                            char phase)
{
    struct category_count *count = read->categories;

    for (uint32_t i = 0; i < read->category_count; i++, count++) {
        if (count->category == category && count->phase == phase)
            return count;
    }
    if (read->category_count == READ_CATEGORIES_MAX)
        return NULL;
    read->category_count++;
    *count = (struct category_count){
        .category = category,
        .phase = phase,
        .first_start_ns = INT64_MAX,
        .last_end_ns = INT64_MIN,
    };
    return count;
}

struct category_count *trace_builder_category(struct trace_builder *builder, uint32_t category,
                                              char phase)
{
    struct category_count *count = find_category(&builder->read, category, phase);

    if (count)
        builder->last_category = (uint32_t)(count - builder->read.categories);
    else
        builder->read.uncategorised_events++;
    return count;
}

void trace_builder_damage(struct trace_builder *builder, const struct damage *damage)
{
    struct read_account *read = &builder->read;

    if (read->damage_count < READ_DAMAGES_MAX)
        read->damages[read->damage_count++] = *damage;
    read->damaged_events++;
}

/* Pieces of a file were counted by different threads: sums add, and the ends of the range are
 * the outermost. */
static void add_category(struct read_account *to, const struct category_count *from,
                         uint32_t category)
{
    struct category_count *count = find_category(to, category, from->phase);

    if (!count) {
        to->uncategorised_events += from->events;
        return;
    }
    count->events += from->events;
    count->total_duration_ns += from->total_duration_ns;
    if (from->first_start_ns < count->first_start_ns)
        count->first_start_ns = from->first_start_ns;
    if (from->last_end_ns > count->last_end_ns)
        count->last_end_ns = from->last_end_ns;
}

/* Names are compared as far as they are kept. */
void read_account_leave(struct read_account *read, const char *name, int64_t count)
{
    struct unused_part *part = read->unused;

    while (part < read->unused + read->unused_count &&
           strncmp(part->name, name, sizeof part->name - 1) != 0)
        part++;
    if (part == read->unused + READ_UNUSED_MAX) {
        read->unused_more += count;
        return;
    }
    if (part == read->unused + read->unused_count) {
        read->unused_count++;
        (void)snprintf(part->name, sizeof part->name, "%s", name);
    }
    part->count += count;
}

/* Parts of one file that were read by several threads: what was cut or damaged last is what is
 * told. */
void read_account_add(struct read_account *to, const struct read_account *from,
                      const uint32_t *string_of)
{
    to->events += from->events;
    to->damaged_events += from->damaged_events;
    to->negative_durations += from->negative_durations;
    to->overflowing_durations += from->overflowing_durations;
    to->missing_times += from->missing_times;
    to->clamped_durations += from->clamped_durations;
    to->ambiguous_slices += from->ambiguous_slices;
    to->unmatched_begins += from->unmatched_begins;
    to->unmatched_ends += from->unmatched_ends;
    to->replaced_names += from->replaced_names;
    to->lost_names += from->lost_names;
    to->mixed_phases += from->mixed_phases;
    to->mended_events += from->mended_events;
    to->device_step_copies += from->device_step_copies;
    to->uncategorised_events += from->uncategorised_events;
    if (from->ending != ENDING_CLEAN) {
        to->ending = from->ending;
        memcpy(to->ending_message, from->ending_message, sizeof to->ending_message);
    }
    if (from->is_truncated) {
        to->is_truncated = true;
        memcpy(to->truncation, from->truncation, sizeof to->truncation);
    }
    for (uint32_t i = 0; i < from->damage_count && to->damage_count < READ_DAMAGES_MAX; i++)
        to->damages[to->damage_count++] = from->damages[i];
    for (uint32_t i = 0; i < from->category_count; i++)
        add_category(to, &from->categories[i], string_of[from->categories[i].category]);
    for (uint32_t i = 0; i < from->unused_count; i++)
        read_account_leave(to, from->unused[i].name, from->unused[i].count);
    to->unused_more += from->unused_more;
}

void read_account_set_ending(struct read_account *read, enum read_ending ending,
                             const char *message)
{
    read->ending = ending;
    (void)snprintf(read->ending_message, sizeof read->ending_message, "%s", message);
}

/* "No event" has a reason where a file is cut or damaged, and that is what is told. */
bool read_account_explains_nothing(const struct read_account *read, struct error *error)
{
    if (read->is_truncated)
        (void)error_set(error, ERROR_INPUT, "%s: no event can be read", read->truncation);
    else if (read->damage_count)
        (void)error_set(error, ERROR_INPUT, "byte %lld: %s: no event can be read",
                        (long long)read->damages[0].byte, read->damages[0].message);
    return read->is_truncated || read->damage_count > 0;
}

void trace_builder_clear(struct trace_builder *builder)
{
    if (!builder)
        return;
    string_pool_clear(&builder->strings);
    event_store_clear(&builder->host);
    event_store_clear(&builder->device);
    event_store_clear(&builder->notes);
    wide_ids_clear(&builder->wide_ids);
    free(builder->halves);
    free(builder->tracks);
    index_table_clear(&builder->track_index);
    free(builder->track_host_events);
    event_sums_clear(&builder->sums);
    free(builder->details);
    index_table_clear(&builder->detail_index);
    free(builder->names);
    free(builder->devices);
    memory_list_clear(&builder->memory);
    series_list_clear(&builder->series);
    *builder = (struct trace_builder){0};
}
