/* What an Nsight Systems database holds of the threads of a process: also its tables that hold
 * nothing but named stretches of threads, calls of the operating system and of libraries, and what
 * the profiler and the driver did by themselves. */
#include "base/core/array.h"
#include "base/core/large_array.h"
#include "base/core/large_sort.h"
#include "base/text/prefix.h"
#include "readers/nsys/nsys_database.h"
#include "readers/nsys/nsys_ids.h"
#include "readers/nvtx_name.h"
#include "trace/trace_builder.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct host_table {
    const char *name;
    const char *name_column; /* an id of StringIds */
    enum event_kind kind;
};

static const struct host_table host_tables[] = {
    {"OSRT_API", "nameId", EVENT_SYSTEM_CALL},
    {"PROFILER_OVERHEAD", "nameId", EVENT_OVERHEAD},
    {"CUPTI_ACTIVITY_KIND_OVERHEAD", "nameId", EVENT_OVERHEAD},
    {"CUPTI_ACTIVITY_KIND_JIT", "nameId", EVENT_OVERHEAD},
    {"CUBLAS_EVENTS", "nameId", EVENT_ANNOTATION},
    {"CUDNN_EVENTS", "nameId", EVENT_ANNOTATION},
    {"CUDA_HOST_CALLBACK", "nameId", EVENT_ANNOTATION},
    {"MPI_P2P_EVENTS", "textId", EVENT_ANNOTATION},
    {"MPI_COLLECTIVES_EVENTS", "textId", EVENT_ANNOTATION},
    {"MPI_START_WAIT_EVENTS", "textId", EVENT_ANNOTATION},
    {"MPI_OTHER_EVENTS", "textId", EVENT_ANNOTATION},
};

enum { COLUMN_TID = 2, COLUMN_NAME, COLUMN_TYPE };

/* overheadType, in torch.profiler's words; the first two say nothing. */
static const char *const overheads[] = {NULL,
                                        NULL,
                                        "Driver Compiler",
                                        "Buffer Flush",
                                        "Instrumentation",
                                        "Resource",
                                        "Runtime Triggered Module Loading",
                                        "Lazy Function Loading",
                                        "Command Buffer Full"};
enum { OVERHEAD_COUNT = sizeof overheads / sizeof *overheads };

/* The type first, so that a trace of either recorder calls the same overhead the same. */
static uint32_t nsys_sqlite_host_tables_name_of(struct nsys_reading *reading,
                                                const struct sqlite_rows *rows)
{
    int64_t type = sqlite_integer(rows, COLUMN_TYPE, 0);

    if (type > 0 && type < OVERHEAD_COUNT && overheads[type])
        return string_pool_add(&reading->builder.strings, overheads[type], strlen(overheads[type]));
    return nsys_reading_string(reading, sqlite_integer(rows, COLUMN_NAME, -1));
}

/* One list of columns for tables of different kinds: a column that a table does not have is
 * null in each row. */
static void read_table(struct nsys_reading *reading, const struct host_table *table)
{
    const char *const columns[] = {"start",        "end", "globalTid", table->name_column,
                                   "overheadType", NULL};
    struct sqlite_rows rows = {0};
    struct nsys_row_time time;

    nsys_reading_open(reading, &rows, table->name, columns, "globalTid");
    while (sqlite_rows_next(&rows)) {
        if (!nsys_reading_time(reading, &rows, &time))
            continue;
        trace_builder_add(
            &reading->builder,
            &(struct found_event){
                .kind = (uint8_t)table->kind,
                .start_ns = time.start_ns,
                .duration_ns = time.end_ns - time.start_ns,
                .correlation = NO_ID,
                .external_id = NO_ID,
                .track = nsys_reading_thread(reading, sqlite_integer(&rows, COLUMN_TID, 0)),
                .name = nsys_sqlite_host_tables_name_of(reading, &rows)});
    }
    sqlite_rows_clear(&rows);
}

void nsys_read_other_host_tables(struct nsys_reading *reading)
{
    for (size_t i = 0; i < sizeof host_tables / sizeof *host_tables; i++)
        read_table(reading, &host_tables[i]);
}

/* ---- modules --------------------------------------------------------------------------------- */

/* Modules out of NVTX ranges that the program put around parts of its model. */

/* A range on its thread. */
struct module_range {
    int64_t start_ns;
    int64_t end_ns;
    uint32_t track; /* in the builder */
    uint32_t name;  /* in the builder; 0: an op, of which only the place counts */
};

/* What NVTX said, gathered while it is read. A zeroed one is empty. */
struct module_ranges {
    struct module_range *ranges;
    uint32_t count;
    bool has_operators;
    bool has_marks; /* the program marks its modules itself (nn:...) */
};

enum { NESTING_MAX = 64, PATH_MAX_BYTES = 1024 };

/* Ranges with such names are no modules: what they are called is a step, a phase of it, or what
 * frameworks put there. */
static const char *const other_ranges[] = {
    "iter",         "step",       "train",    "batch",    "epoch", "micro",
    "forward",      "fwd",        "backward", "bwd",      "optim", "zero_grad",
    "ProfilerStep", "enumerate(", "##",       "[pl]",     "data",  "load",
    "eval",         "valid",      "nccl",     "save",     "check", "log",
    "Distributed",  "FSDP",       "Fully",    "autograd", "",
};

/* Takes a range of the default domain; an op, or one that the program named. */
static void module_ranges_add(struct module_ranges *ranges, const struct trace_builder *builder,
                              const struct found_event *event)
{
    bool is_operator = event->kind == EVENT_OPERATOR;

    ranges->has_operators = ranges->has_operators || is_operator;
    ranges->has_marks =
        ranges->has_marks || has_prefix(string_pool_text(&builder->strings, event->name), "nn:");
    LARGE_ARRAY_ADD(ranges->ranges, ranges->count,
                    (struct module_range){
                        .start_ns = event->start_ns,
                        .end_ns = found_event_end_ns(event),
                        .track = event->track,
                        .name = is_operator ? 0 : event->name,
                    });
}

/* By thread and start, what encloses before what is inside. */
static int nsys_sqlite_modules_compare_ranges(const void *a, const void *b, void *unused)
{
    const struct module_range *left = a;
    const struct module_range *right = b;

    (void)unused;
    if (left->track != right->track)
        return left->track < right->track ? -1 : 1;
    if (left->start_ns != right->start_ns)
        return left->start_ns < right->start_ns ? -1 : 1;
    if (left->end_ns != right->end_ns)
        return left->end_ns > right->end_ns ? -1 : 1;
    return (left->name == 0) - (right->name == 0);
}

/* Ranges are all named by hand: what a library is known to write is no module, whatever
 * remains may be. */
static bool is_module_name(const char *name)
{
    if (!*name)
        return false;
    for (size_t i = 0; *other_ranges[i]; i++) {
        if (strncasecmp(name, other_ranges[i], strlen(other_ranges[i])) == 0)
            return false;
    }
    return true;
}

/* The open ranges of a thread while a walk goes over it. */
struct open_modules {
    const struct module_range *open[NESTING_MAX];
    bool is_marked[NESTING_MAX];
    size_t depth;
};

/* Adds the mark of the range at `place`: the names of those around it, joined by dots. A path
 * that does not fit is no module's. */
static void add_mark(const struct open_modules *modules, size_t place,
                     struct trace_builder *builder)
{
    const struct module_range *range = modules->open[place];
    char path[PATH_MAX_BYTES] = "nn:";
    size_t length = 3;

    for (size_t i = 0; i <= place; i++) {
        int written = snprintf(path + length, sizeof path - length, "%s%s", length > 3 ? "." : "",
                               string_pool_text(&builder->strings, modules->open[i]->name));

        if (written < 0 || (size_t)written >= sizeof path - length)
            return; /* no program names its modules so */
        length += (size_t)written;
    }
    trace_builder_add(builder, &(struct found_event){
                                   .kind = EVENT_ANNOTATION,
                                   .start_ns = range->start_ns,
                                   .duration_ns = range->end_ns - range->start_ns,
                                   .correlation = NO_ID,
                                   .external_id = NO_ID,
                                   .track = range->track,
                                   .name = string_pool_add(&builder->strings, path, length),
                               });
}

/* Modules are marked when an operator is found in them: ranges around none are phases or
 * comments. */
static void walk_over(struct open_modules *modules, const struct module_range *range,
                      struct trace_builder *builder)
{
    while (modules->depth && (modules->open[modules->depth - 1]->track != range->track ||
                              modules->open[modules->depth - 1]->end_ns < range->end_ns))
        modules->depth--;
    if (range->name == 0) {
        for (size_t i = 0; i < modules->depth; i++) {
            if (!modules->is_marked[i])
                add_mark(modules, i, builder);
            modules->is_marked[i] = true;
        }
    } else if (modules->depth < NESTING_MAX &&
               is_module_name(string_pool_text(&builder->strings, range->name))) {
        modules->is_marked[modules->depth] = false;
        modules->open[modules->depth++] = range;
    }
}

/* Adds a mark `nn:OUTER.INNER` to the builder for each range that encloses ops, called by the names
 * of the ranges around it; ranges of steps and of phases (forward, backward) are left out of these
 * names. Nothing where the program marks its modules itself. */
static void module_ranges_mark(struct module_ranges *ranges, struct trace_builder *builder)
{
    struct open_modules modules = {.depth = 0};

    if (ranges->has_marks || !ranges->has_operators)
        return;
    sort_large(ranges->ranges, ranges->count,
               &(struct large_order){.element_bytes = sizeof *ranges->ranges,
                                     .compare = nsys_sqlite_modules_compare_ranges});
    for (uint32_t i = 0; i < ranges->count; i++)
        walk_over(&modules, &ranges->ranges[i], builder);
}

static void module_ranges_clear(struct module_ranges *ranges)
{
    large_array_free(ranges->ranges);
    *ranges = (struct module_ranges){0};
}

/* ---- nsys sqlite host ------------------------------------------------------------------------ */

static struct found_event nsys_sqlite_host_event_of(const struct nsys_row_time *time,
                                                    enum event_kind kind)
{
    return (struct found_event){
        .kind = (uint8_t)kind,
        .start_ns = time->start_ns,
        .duration_ns = time->end_ns - time->start_ns,
        .correlation = NO_ID,
        .external_id = NO_ID,
    };
}

/* ---- API calls ------------------------------------------------------------------------------ */

/* Without the version at the end, which has four or five digits: "_v7000", "_v11020". */
static size_t length_without_version(const char *name)
{
    size_t length = strlen(name);
    size_t digits = 0;

    while (digits < length && name[length - 1 - digits] >= '0' && name[length - 1 - digits] <= '9')
        digits++;
    if (digits >= 4 && length >= digits + 2 && name[length - digits - 1] == 'v' &&
        name[length - digits - 2] == '_')
        return length - digits - 2;
    return length;
}

/* "cudaStreamSynchronize_ptsz_v7000" is "cudaStreamSynchronize": the form with a default stream of
 * each thread does the same. */
static uint32_t call_name(struct nsys_reading *reading, int64_t id)
{
    static const char *const suffixes[] = {"_ptsz", "_ptds"};
    uint32_t string = hash_map_find(&reading->database->string_ids, (uint64_t)id);
    const char *name;
    size_t length;

    if (string == NO_VALUE)
        return 0;
    if (reading->call_names[string])
        return reading->call_names[string];
    name = string_pool_text(&reading->database->strings, string);
    length = length_without_version(name);
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        size_t end = strlen(suffixes[i]);

        if (length > end && memcmp(name + length - end, suffixes[i], end) == 0)
            length -= end;
    }
    reading->call_names[string] = string_pool_add(&reading->builder.strings, name, length);
    return reading->call_names[string];
}

/* Correlation 0 is CUPTI's "none": many calls have it, and would all be joined to one kernel. */
static void read_calls(struct nsys_reading *reading)
{
    static const char *const columns[] = {"start",         "end",    "globalTid",
                                          "correlationId", "nameId", NULL};
    struct sqlite_rows rows = {0};
    struct nsys_row_time time;

    nsys_reading_open(reading, &rows, "CUPTI_ACTIVITY_KIND_RUNTIME", columns, "globalTid");
    while (sqlite_rows_next(&rows)) {
        struct found_event event;
        int64_t correlation;

        if (!nsys_reading_time(reading, &rows, &time))
            continue;
        event = nsys_sqlite_host_event_of(&time, EVENT_RUNTIME_CALL);
        correlation = sqlite_integer(&rows, 3, 0);
        event.correlation = correlation ? correlation : NO_ID;
        event.track = nsys_reading_thread(reading, sqlite_integer(&rows, 2, 0));
        event.name = call_name(reading, sqlite_integer(&rows, 4, -1));
        trace_builder_add(&reading->builder, &event);
    }
    sqlite_rows_clear(&rows);
}

/* ---- NVTX ranges ---------------------------------------------------------------------------- */

enum {
    NVTX_TYPE = 2,
    NVTX_TEXT,
    NVTX_TEXT_ID,
    NVTX_TID,
    NVTX_END_TID,
    NVTX_DOMAIN,
    NVTX_BINARY,
    NVTX_JSON,
    NVTX_JSON_ID,
};

/* What is made of ranges beside events. */
struct range_uses {
    struct module_ranges modules;
    struct nccl_ranges nccl;
    struct nvtx_payload_schemas schemas;
};

/* The bytes first, as the schema says what each is; the JSON that nsys makes of them is there
 * in newer exports only. */
static void keep_nccl_call(struct nsys_reading *reading, const struct sqlite_rows *rows,
                           struct range_uses *uses, const struct found_event *event)
{
    struct nvtx_payload payload = {.values = {0}};
    const char *json = sqlite_text(rows, NVTX_JSON);
    const unsigned char *bytes;
    size_t length;

    if (!json)
        json = nsys_string(reading->database, sqlite_integer(rows, NVTX_JSON_ID, -1));
    bytes = sqlite_bytes(rows, NVTX_BINARY, &length);
    if ((!bytes || !nvtx_payload_decode(&payload, &uses->schemas, bytes, length)) && json)
        (void)nvtx_payload_parse(&payload, json);
    nccl_ranges_add(&uses->nccl, event, &payload);
}

/* A range that ends on another thread says nothing of what its first thread does: it would not nest
 * with the others there. */
static void nsys_sqlite_host_add_range(struct nsys_reading *reading, const struct sqlite_rows *rows,
                                       struct range_uses *uses)
{
    const char *text = sqlite_text(rows, NVTX_TEXT);
    struct nsys_row_time time;
    struct found_event event;

    if (!text)
        text = nsys_string(reading->database, sqlite_integer(rows, NVTX_TEXT_ID, -1));
    if (sqlite_is_null(rows, 1)) { /* still open when the recording ended */
        reading->builder.read.events++;
        reading->builder.read.unmatched_begins++;
        trace_builder_count(&reading->builder, reading->category_name, 'B', 1, 0);
        return;
    }
    if (!nsys_reading_time(reading, rows, &time) ||
        sqlite_integer(rows, NVTX_END_TID, sqlite_integer(rows, NVTX_TID, 0)) !=
            sqlite_integer(rows, NVTX_TID, 0))
        return;
    event = nsys_sqlite_host_event_of(&time, EVENT_ANNOTATION);
    event.track = nsys_reading_thread(reading, sqlite_integer(rows, NVTX_TID, 0));
    nvtx_name_apply(&reading->builder, &event, text ? text : "");
    if (is_nccl_call(string_pool_text(&reading->builder.strings, event.name))) {
        keep_nccl_call(reading, rows, uses, &event);
        return;
    }
    trace_builder_add(&reading->builder, &event);
    if (nvtx_is_push_pop(sqlite_integer(rows, NVTX_TYPE, 0)) &&
        sqlite_integer(rows, NVTX_DOMAIN, 0) == 0) /* others are of libraries */
        module_ranges_add(&uses->modules, &reading->builder, &event);
}

/* Ranges of NCCL and of modules wait until all are read: what a range is depends on those
 * around it. */
static void read_ranges(struct nsys_reading *reading)
{
    static const char *const columns[] = {"start",      "end",       "eventType",    "text",
                                          "textId",     "globalTid", "endGlobalTid", "domainId",
                                          "binaryData", "jsonText",  "jsonTextId",   NULL};
    struct range_uses uses = {.modules = {0}};
    struct sqlite_rows rows = {0};

    nvtx_payload_schemas_read(&uses.schemas, reading->database);
    nsys_reading_open(reading, &rows, "NVTX_EVENTS", columns, "globalTid");
    while (sqlite_rows_next(&rows)) {
        int64_t type = sqlite_integer(&rows, NVTX_TYPE, 0);

        if (nvtx_is_range(type)) {
            nsys_sqlite_host_add_range(reading, &rows, &uses);
        } else {
            reading->builder.read.events++;
            trace_builder_count(&reading->builder, reading->category_name, 'i', 1, 0);
        }
    }
    sqlite_rows_clear(&rows);
    module_ranges_mark(&uses.modules, &reading->builder);
    module_ranges_clear(&uses.modules);
    nccl_ranges_finish(&uses.nccl, &reading->builder);
    nccl_ranges_clear(&uses.nccl);
    nvtx_payload_schemas_clear(&uses.schemas);
}

/* ---- all ------------------------------------------------------------------------------------ */

void nsys_read_host_events(struct nsys_reading *reading)
{
    read_calls(reading);
    read_ranges(reading);
    nsys_read_other_host_tables(reading);
}
