/* NVTX ranges, and what they enclose. */
#include "readers/nsys_stats/stats_ranges.h"

#include "base/core/array.h"
#include "base/core/invariant.h"
#include "base/core/large_array.h"
#include "base/core/saturated.h"
#include "base/text/owned_text.h"
#include "readers/nsys/nsys_ids.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TYPE = 2, TEXT, TEXT_ID, TID, END_TID, DOMAIN };

static const char *const columns[] = {"start",     "end",          "eventType", "text", "textId",
                                      "globalTid", "endGlobalTid", "domainId",  NULL};

/* ---- domains -------------------------------------------------------------------------------- */

/* Names of domains: the first that each process gave to each number. */
struct domains {
    struct hash_map by_key; /* of process and domain: index in the two arrays */
    uint32_t *names;
    int64_t *since_ns;
    uint32_t count;
};

static uint64_t domain_key(int64_t global_tid, int64_t domain)
{
    return (uint64_t)nsys_pid(global_tid) << 40 ^ (uint64_t)domain;
}

static const char *stats_ranges_text_of(struct nsys_database *database,
                                        const struct sqlite_rows *rows, bool is_id_first)
{
    const char *text = sqlite_text(rows, TEXT);
    const char *by_id = nsys_string(database, sqlite_integer(rows, TEXT_ID, -1));

    if (is_id_first)
        return by_id ? by_id : text;
    return text ? text : by_id;
}

/* A number of a domain may be given twice in a process; the earliest name counts. */
static void add_domain(struct domains *domains, struct stats_ranges *ranges,
                       struct nsys_database *database, const struct sqlite_rows *rows)
{
    const char *name = stats_ranges_text_of(database, rows, false);
    uint64_t key = domain_key(sqlite_integer(rows, TID, 0), sqlite_integer(rows, DOMAIN, 0));
    int64_t start_ns = sqlite_integer(rows, 0, 0);
    uint32_t index;

    if (!name)
        return;
    index = hash_map_add(&domains->by_key, key, domains->count);
    if (index == domains->count) {
        ARRAY_ROOM(domains->names, domains->count);
        ARRAY_ROOM(domains->since_ns, domains->count);
        domains->count++;
    } else if (domains->since_ns[index] <= start_ns) {
        return;
    }
    domains->names[index] = string_pool_add(&ranges->names, name, strlen(name));
    domains->since_ns[index] = start_ns;
}

/* Domains are events of the same table, of a type of their own, and have to be known before
 * the ranges that name them. */
static void read_domains(struct domains *domains, struct stats_ranges *ranges,
                         struct nsys_database *database)
{
    const struct sqlite_condition is_domain = {"eventType = ?1", NVTX_DOMAIN_CREATE};
    struct sqlite_rows rows = {0};

    sqlite_rows_open_where(&rows, &database->file, "NVTX_EVENTS", columns, &is_domain);
    while (sqlite_rows_next(&rows))
        add_domain(domains, ranges, database, &rows);
    sqlite_rows_clear(&rows);
}

static void domains_clear(struct domains *domains)
{
    hash_map_clear(&domains->by_key);
    free(domains->names);
    free(domains->since_ns);
}

/* ---- ranges --------------------------------------------------------------------------------- */

/* "domain:text", as nsys writes it. */
static uint32_t stats_ranges_name_range(struct stats_ranges *ranges, const struct domains *domains,
                                        struct nsys_database *database,
                                        const struct sqlite_rows *rows)
{
    const char *text = stats_ranges_text_of(database, rows, true);
    uint32_t domain =
        hash_map_find(&domains->by_key, domain_key(sqlite_integer(rows, TID, 0),
                                                   sqlite_integer(rows, DOMAIN, INT32_MAX)));
    uint32_t id;
    char *full;

    if (!text)
        return UINT32_MAX;
    if (domain == NO_VALUE || !domains->names)
        return string_pool_add(&ranges->names, text, strlen(text));
    full = text_format("%s:%s", string_pool_text(&ranges->names, domains->names[domain]), text);
    id = string_pool_add(&ranges->names, full, strlen(full));
    free(full);
    return id;
}

/* A range that was never closed lasts to the end of time: it holds all that came after it. */
static void stats_ranges_add_range(struct stats_ranges *ranges, const struct domains *domains,
                                   struct nsys_database *database, const struct sqlite_rows *rows)
{
    LARGE_ARRAY_RESERVE(ranges->ranges, ranges->count + (size_t)1);
    ranges->ranges[ranges->count++] = (struct stats_range){
        .start_ns = sqlite_integer(rows, 0, 0),
        .end_ns = sqlite_integer(rows, 1, INT64_MAX),
        .global_tid = sqlite_integer(rows, TID, 0),
        .name = stats_ranges_name_range(ranges, domains, database, rows),
        .is_push_pop = nvtx_is_push_pop(sqlite_integer(rows, TYPE, 0)),
        .has_own_end_thread = !sqlite_is_null(rows, END_TID),
    };
}

/* Where the recording ends shows only behind the last row, so open ranges are closed then. */
void stats_ranges_read(struct stats_ranges *ranges, struct nsys_database *database,
                       bool is_end_of_ranges)
{
    struct domains domains = {0};
    struct sqlite_rows rows = {0};
    int64_t last_ns = INT64_MIN;

    string_pool_add(&ranges->names, "", 0);
    read_domains(&domains, ranges, database);
    sqlite_rows_open(&rows, &database->file, "NVTX_EVENTS", columns);
    while (sqlite_rows_next(&rows)) {
        bool is_range = nvtx_is_range(sqlite_integer(&rows, TYPE, 0));

        for (int column = 0; column < 2 && (is_range || !is_end_of_ranges); column++) {
            if (sqlite_integer(&rows, column, INT64_MIN) > last_ns)
                last_ns = sqlite_integer(&rows, column, INT64_MIN);
        }
        if (is_range)
            stats_ranges_add_range(ranges, &domains, database, &rows);
    }
    sqlite_rows_clear(&rows);
    domains_clear(&domains);
    for (uint32_t i = 0; i < ranges->count; i++) {
        if (ranges->ranges[i].end_ns == INT64_MAX)
            ranges->ranges[i].end_ns = last_ns;
    }
}

const char *stats_range_name(const struct stats_ranges *ranges, uint32_t range)
{
    uint32_t name = ranges->ranges[range].name;

    return name == UINT32_MAX ? NULL : string_pool_text(&ranges->names, name);
}

const char *stats_range_style(const struct stats_range *range)
{
    return range->is_push_pop ? "PushPop" : "StartEnd";
}

void stats_ranges_clear(struct stats_ranges *ranges)
{
    if (!ranges)
        return;
    large_array_free(ranges->ranges);
    string_pool_clear(&ranges->names);
    *ranges = (struct stats_ranges){0};
}

/* ---- what encloses what --------------------------------------------------------------------- */

/* By thread, start, the longest first, then as they stand in the file. */
static int compare_spans(const void *a, const void *b)
{
    const struct stats_span *left = a;
    const struct stats_span *right = b;

    if (left->global_tid != right->global_tid)
        return left->global_tid < right->global_tid ? -1 : 1;
    if (left->start_ns != right->start_ns)
        return left->start_ns < right->start_ns ? -1 : 1;
    if (left->end_ns != right->end_ns)
        return left->end_ns > right->end_ns ? -1 : 1;
    return (left->id > right->id) - (left->id < right->id);
}

/* Those that can enclose something, sorted; large_array_free() them. */
static struct stats_span *sorted_ranges(const struct stats_ranges *ranges, size_t *count)
{
    struct stats_span *spans = large_array_new((ranges->count + (size_t)1) * sizeof *spans);

    *count = 0;
    for (uint32_t i = 0; i < ranges->count; i++) {
        const struct stats_range *range = &ranges->ranges[i];

        if (!range->has_own_end_thread)
            spans[(*count)++] =
                (struct stats_span){range->start_ns, range->end_ns, range->global_tid, i};
    }
    qsort(spans, *count, sizeof *spans, compare_spans);
    return spans;
}

/* Ranges that are open while a walk goes on by thread and start. */
struct open_ranges {
    struct stats_span *open; /* room for all ranges */
    size_t count;
};

/* A launch that begins just at the end of a range is still inside of it. */
static void close_ranges(struct open_ranges *ranges, const struct stats_span *now)
{
    size_t kept = 0;

    for (size_t i = 0; i < ranges->count; i++) {
        if (ranges->open[i].global_tid == now->global_tid &&
            ranges->open[i].end_ns >= now->start_ns)
            ranges->open[kept++] = ranges->open[i];
    }
    ranges->count = kept;
}

static bool begins_before(const struct stats_span *range, const struct stats_span *span)
{
    if (range->global_tid != span->global_tid)
        return range->global_tid < span->global_tid;
    return range->start_ns <= span->start_ns;
}

/* Ranges and spans are both walked by thread and start, with the ranges that are open held in
 * a list: each range is opened and closed once. O((n + m) log(n + m) + spans * depth), where
 * depth is how many ranges are open at a time. StartEnd ranges need not nest, so it is a list
 * and not a stack. */
void stats_ranges_around(const struct stats_ranges *ranges, struct stats_span *spans,
                         size_t span_count,
                         void (*found)(void *context, uint32_t span, uint32_t range), void *context)
{
    size_t range_count;
    struct stats_span *sorted = sorted_ranges(ranges, &range_count);
    struct open_ranges open = {require_memory(malloc((range_count + 1) * sizeof *open.open)), 0};
    size_t next = 0;

    qsort(spans, span_count, sizeof *spans, compare_spans);
    for (size_t i = 0; i < span_count; i++) {
        close_ranges(&open, &spans[i]);
        for (; next < range_count && begins_before(&sorted[next], &spans[i]); next++) {
            if (sorted[next].global_tid == spans[i].global_tid &&
                sorted[next].end_ns >= spans[i].start_ns)
                open.open[open.count++] = sorted[next];
        }
        for (size_t k = 0; k < open.count; k++) {
            if (open.open[k].end_ns >= spans[i].end_ns)
                found(context, spans[i].id, open.open[k].id);
        }
    }
    free(open.open);
    large_array_free(sorted);
}

/* The tightest of those around is the parent: with ranges that overlap there is no innermost
 * by order. Equal lengths go to the one that began first. */
uint32_t *stats_range_parents(const struct stats_ranges *ranges)
{
    uint32_t *parents = large_array_new((ranges->count + (size_t)1) * sizeof *parents);
    size_t count;
    struct stats_span *sorted = sorted_ranges(ranges, &count);
    struct open_ranges open = {require_memory(malloc((count + 1) * sizeof *open.open)), 0};

    memset(parents, 0xff, (ranges->count + (size_t)1) * sizeof *parents);
    for (size_t i = 0; i < count; i++) {
        int64_t tightest_ns = INT64_MAX;

        close_ranges(&open, &sorted[i]);
        for (size_t k = 0; k < open.count; k++) {
            int64_t length_ns = saturated_difference(open.open[k].end_ns, open.open[k].start_ns);

            if (open.open[k].end_ns >= sorted[i].end_ns && length_ns < tightest_ns) {
                tightest_ns = length_ns;
                parents[sorted[i].id] = open.open[k].id;
            }
        }
        open.open[open.count++] = sorted[i];
    }
    free(open.open);
    large_array_free(sorted);
    return parents;
}
