/* What ran on devices, of RPD's databases: rocpd_op, and what the calls that made them tell. */
#include "base/core/hash_mix.h"
#include "base/text/prefix.h"
#include "readers/rocprof/rpd_reading.h"

#include <stdlib.h>
#include <string.h>

/* ---- the columns ---------------------------------------------------------------------------- */

enum {
    OP_LINK_CALL, /* of rocpd_api_ops */
    OP_ID,        /* of rocpd_op */
    OP_DEVICE,
    OP_QUEUE,
    OP_SEQUENCE,
    OP_START,
    OP_END,
    OP_DESCRIPTION,
    OP_TYPE,
    OP_PID, /* of rocpd_api */
    OP_CALL_NAME,
    OP_ARGUMENTS, /* whose text is looked up where it is needed */
    OP_STREAM,    /* of rocpd_kernelapi */
    OP_SHARED_MEMORY,
    OP_KERNEL_NAME,
    OP_GRID,
    OP_BLOCK = OP_GRID + 3,
};

/* Of rocpd_copyapi, which is looked up for copies. */
enum { COPY_STREAM, COPY_BYTES, COPY_WIDTH, COPY_HEIGHT, COPY_KIND };

static const char *const link_columns[] = {"api_id", NULL};
static const char *const op_columns[] = {
    "id", "gpuId", "queueId", "sequenceId", "start", "end", "description_id", "opType_id", NULL};
static const char *const call_columns[] = {"pid", "apiName_id", "args_id", NULL};
static const char *const text_columns[] = {"string", NULL};
static const char *const kernel_columns[] = {
    "stream", "groupSegmentSize", "kernelName_id", "gridX",      "gridY",
    "gridZ",  "workgroupX",       "workgroupY",    "workgroupZ", NULL};
static const char *const copy_columns[] = {"stream", "size", "width", "height", "kind", NULL};

enum { SOURCE_LINK, SOURCE_OP, SOURCE_CALL, SOURCE_KERNEL, SOURCE_COUNT };

/* Each op once with the call that made it: rocpd_api_ops has no index on ops, so it comes first.
 * Schemas 0 and 1 had the sizes of a kernel beside the op. Sums need none. */
static void rpd_ops_open(struct sqlite_rows *rows, const struct rpd_reading *reading,
                         bool without_links)
{
    static const char *const summed[] = {"stream", NULL};
    const char *const *columns = reading->run.builder.sums_events ? summed : kernel_columns;
    const struct rpd_source sources[SOURCE_COUNT] = {
        {"rocpd_api_ops", "L", NULL, NULL, link_columns, 0, true},
        {"rocpd_op", "O", "id", "op_id", op_columns, SOURCE_LINK, true},
        {"rocpd_api", "A", "id", "api_id", call_columns, SOURCE_LINK, false},
        sqlite_has_table(reading->database, "rocpd_kernelapi")
            ? (struct rpd_source){"rocpd_kernelapi", "K", "api_ptr_id", "api_id", columns,
                                  SOURCE_LINK, false}
            : (struct rpd_source){"rocpd_kernelop", "K", "op_ptr_id", "id", columns, SOURCE_OP,
                                  false},
    };
    const struct rpd_query query = {sources, SOURCE_COUNT, without_links};

    rpd_rows_open(rows, reading->database, &query);
}

/* ---- where it ran --------------------------------------------------------------------------- */

/* "0x5602c48aa700"; -1: none. */
static int64_t rpd_address(const char *text)
{
    unsigned long long address;
    char *end;

    if (!text || !has_prefix(text, "0x"))
        return -1;
    address = strtoull(text, &end, 16);
    return end > text + 2 && address <= INT64_MAX ? (int64_t)address : -1;
}

/* A call without a stream of its own (hipMemcpy) uses the default stream, 0; -1: not told. CUPTI
 * tells a stream's number as the op's sequence. */
static int64_t rpd_stream_of(struct rpd_reading *reading, const struct sqlite_rows *rows,
                             const char *call)
{
    static const char key[] = "stream = ";
    int64_t stream = rpd_address(sqlite_text(rows, OP_STREAM));
    const char *arguments = NULL;

    if (rpd_is_of_cuda(call))
        return sqlite_integer(rows, OP_SEQUENCE, -1);
    if (stream >= 0)
        return stream;
    if (strstr(call, "GraphLaunch") &&
        rpd_find_row(&reading->text_of, sqlite_integer(rows, OP_ARGUMENTS, -1)))
        arguments = sqlite_text(&reading->text_of, 0);
    if (arguments && (arguments = strstr(arguments, key)))
        return rpd_address(arguments + sizeof key - 1);
    return has_prefix(call, "hipMemcpy") ? 0 : -1;
}

/* ---- sizes of a kernel ---------------------------------------------------------------------- */

/* Launches of modules by these two calls have work-items in all recorders. */
static bool rpd_counts_items(const char *call)
{
    return strcmp(call, "hipExtModuleLaunchKernel") == 0 ||
           strcmp(call, "hipHccModuleLaunchKernel") == 0;
}

/* rocprofiler-sdk counts work-items, which always fill whole blocks, and so did the packets that
 * schemas 0 and 1 kept beside ops; roctracer and CUPTI count blocks, of which some grid has no
 * multiple of the block's size. A file whose few grids are all such multiples does not tell. */
static void rpd_find_grids(struct rpd_reading *reading)
{
    enum { SHAPES_ENOUGH = 8, GRIDS_SEEN_MAX = 100000 };
    static const char *const name_columns[] = {"apiName_id", NULL};
    static const struct rpd_source sources[] = {
        {"rocpd_kernelapi", "K", NULL, NULL, kernel_columns + 3, 0, true},
        {"rocpd_api", "A", "id", "api_ptr_id", name_columns, 0, true},
    };
    const struct rpd_query query = {sources, 2, false};
    struct hash_map shapes = {0};
    struct sqlite_rows rows;

    if (!sqlite_has_table(reading->database, sources[0].table)) {
        reading->grids = RPD_GRIDS_IN_ITEMS;
        return;
    }
    reading->grids = RPD_GRIDS_UNKNOWN;
    rpd_rows_open(&rows, reading->database, &query);
    for (int seen = 0; seen < GRIDS_SEEN_MAX && sqlite_rows_next(&rows); seen++) {
        uint64_t hash = 0;

        if (rpd_counts_items(rpd_string_text(reading, sqlite_integer(&rows, 6, -1))))
            continue;
        for (int i = 0; i < 3 && reading->grids != RPD_GRIDS_IN_BLOCKS; i++) {
            int64_t grid = 0, block = 0;

            if (sqlite_is_integer(&rows, i, &grid) && sqlite_is_integer(&rows, 3 + i, &block) &&
                grid > 0 && block > 0 && grid % block != 0)
                reading->grids = RPD_GRIDS_IN_BLOCKS;
            hash = hash_mix(hash ^ (uint64_t)grid, HASH_MULTIPLIER);
            hash = hash_mix(hash ^ (uint64_t)block, HASH_MULTIPLIER);
        }
        if (reading->grids == RPD_GRIDS_IN_BLOCKS)
            break;
        (void)hash_map_add(&shapes, hash, 0);
    }
    sqlite_rows_clear(&rows);
    if (reading->grids == RPD_GRIDS_UNKNOWN && shapes.count >= SHAPES_ENOUGH)
        reading->grids = RPD_GRIDS_IN_ITEMS;
    hash_map_clear(&shapes);
}

/* The sizes of the call are those of its one kernel; a graph's kernels have none. */
static void rpd_take_sizes(const struct rpd_reading *reading, struct rocprof_record *record,
                           const struct sqlite_rows *rows, const char *call)
{
    enum rpd_grids grids = rpd_counts_items(call) ? RPD_GRIDS_IN_ITEMS : reading->grids;
    int64_t value, block;

    if (strstr(call, "Graph"))
        return;
    if (sqlite_is_integer(rows, OP_SHARED_MEMORY, &value))
        rocprof_record_set(record, ROCPROF_SHARED_MEMORY, value);
    for (unsigned i = 0; i < 3; i++) {
        if (!sqlite_is_integer(rows, (int)(OP_BLOCK + i), &block))
            continue;
        rocprof_record_set(record, (enum rocprof_value)(ROCPROF_BLOCK + i), block);
        if (!sqlite_is_integer(rows, (int)(OP_GRID + i), &value) || grids == RPD_GRIDS_UNKNOWN)
            continue;
        if (grids == RPD_GRIDS_IN_BLOCKS && __builtin_mul_overflow(value, block, &value))
            continue;
        rocprof_record_set(record, (enum rocprof_value)(ROCPROF_GRID + i), value);
    }
}

/* ---- ops ------------------------------------------------------------------------------------ */

/* -1 for NULL, as it is where a joined table has no such row; no id is negative. */
static int64_t rpd_id(const struct sqlite_rows *rows, int column)
{
    return sqlite_integer(rows, column, -1);
}

/* The text that is the kernel's name; the type of the op stands in where it has none. */
static void rpd_take_kernel(struct rpd_reading *reading, struct rocprof_record *record,
                            const struct sqlite_rows *rows, const char *call)
{
    uint32_t name = rocprof_string(&reading->strings, rpd_id(rows, OP_DESCRIPTION));
    struct rocprof_kernel kernel = {.registers = -1};

    if (!name && !strstr(call, "Graph"))
        name = rocprof_string(&reading->strings, rpd_id(rows, OP_KERNEL_NAME));
    if (!name)
        name = rocprof_string(&reading->strings, rpd_id(rows, OP_TYPE));
    kernel.id = kernel.name = name;
    rocprof_run_name_kernel(&reading->run, &kernel);
    rocprof_record_set(record, ROCPROF_KERNEL, name);
    rpd_take_sizes(reading, record, rows, call);
}

/* A call's size is that of all its copies. The recorder keeps it in 32 bits with a sign: from 2 GiB
 * on it is negative, or no number. */
static int64_t rpd_bytes_of(const struct rpd_reading *reading, int64_t call)
{
    const struct sqlite_rows *copy = &reading->copy_of;
    int64_t bytes, width, height;

    if (hash_map_find(&reading->copies, (uint64_t)call) != 1)
        return -1;
    if (sqlite_is_integer(copy, COPY_BYTES, &bytes))
        return bytes >= 0 ? bytes : -1;
    if (sqlite_is_integer(copy, COPY_WIDTH, &width) &&
        sqlite_is_integer(copy, COPY_HEIGHT, &height) && width >= 0 && height >= 0 &&
        !__builtin_mul_overflow(width, height, &bytes))
        return bytes;
    return -1;
}

/* rocprofiler-sdk's copies are all said to be of device 0, so theirs is not told. */
static void rpd_take_copy(struct rpd_reading *reading, struct rocprof_record *record,
                          const struct sqlite_rows *rows, const char *call)
{
    const char *type = rpd_string_text(reading, rpd_id(rows, OP_TYPE));
    const bool has_device = !strstr(type, "MEMORY_COPY");
    const int64_t link = rpd_id(rows, OP_LINK_CALL);
    const bool has_row = rpd_find_row(&reading->copy_of, link);
    const int64_t stream = has_row ? rpd_address(sqlite_text(&reading->copy_of, COPY_STREAM)) : -1;
    int64_t kind = -1;

    if (has_row)
        (void)sqlite_is_integer(&reading->copy_of, COPY_KIND, &kind);
    if (stream >= 0 && !rpd_is_of_cuda(call))
        rocprof_record_set(record, ROCPROF_STREAM, stream);
    rocprof_take_name(&reading->run, record,
                      rocprof_text(&reading->run, rpd_way_of(type, call, kind)));
    rocprof_record_set(record, ROCPROF_DESTINATION,
                       has_device ? record->values[ROCPROF_AGENT] : -1);
    rocprof_record_set(record, ROCPROF_SOURCE, record->values[ROCPROF_DESTINATION]);
    rocprof_record_set(record, ROCPROF_BYTES, has_row ? rpd_bytes_of(reading, link) : -1);
}

/* Kernels, copies and memsets by the words of the op's type; barriers are waits, and counted only.
 */
static void rpd_read_op(struct rpd_reading *reading, const struct sqlite_rows *rows)
{
    const char *call = rpd_string_text(reading, rpd_id(rows, OP_CALL_NAME));
    const struct rpd_words *words = rpd_words_of_op(reading, rpd_id(rows, OP_TYPE));
    struct rocprof_record record = {.has = 0};

    rocprof_take(&record, rows, OP_START, ROCPROF_START);
    rocprof_take(&record, rows, OP_END, ROCPROF_END);
    rocprof_record_set(&record, ROCPROF_AGENT, rpd_id(rows, OP_DEVICE));
    rocprof_record_set(&record, ROCPROF_QUEUE, rpd_id(rows, OP_QUEUE));
    rocprof_record_set(&record, ROCPROF_STREAM, rpd_stream_of(reading, rows, call));
    if (!sqlite_is_null(rows, OP_LINK_CALL))
        rocprof_record_set(&record, ROCPROF_CORRELATION, rpd_id(rows, OP_LINK_CALL));
    if (words->content != ROCPROF_KERNELS && words->content != ROCPROF_UNUSED)
        rpd_take_copy(reading, &record, rows, call);
    else if (words->content == ROCPROF_KERNELS && !reading->run.builder.sums_events)
        rpd_take_kernel(reading, &record, rows, call);
    reading->run.category = words->category;
    rocprof_run_add(&reading->run, words->content, &record);
}

/* The upper half of an id is the session that wrote it, and one process writes a session. */
static bool rpd_is_of_session(const struct rpd_reading *reading, int64_t id)
{
    return id >> 32 > 0 && rpd_ids_has(&reading->sessions, id >> 32);
}

/* How many copies each call made. */
static void rpd_count_copies(struct rpd_reading *reading)
{
    static const char *const columns[] = {"api_id", "op_id", NULL};
    static const char *const type_columns[] = {"opType_id", NULL};
    static const struct rpd_source sources[] = {
        {"rocpd_api_ops", "L", NULL, NULL, columns, 0, true},
        {"rocpd_op", "O", "id", "op_id", type_columns, 0, true},
    };
    const struct rpd_query query = {sources, 2, false};
    struct sqlite_rows rows;

    rpd_rows_open(&rows, reading->database, &query);
    while (sqlite_rows_next(&rows)) {
        const uint64_t call = (uint64_t)rpd_id(&rows, 0);
        const bool is_copy = rpd_words_of_op(reading, rpd_id(&rows, 2))->content == ROCPROF_COPIES;
        uint32_t copies;

        if (!is_copy || !rpd_ids_add(&reading->linked, rpd_id(&rows, 1)))
            continue;
        copies = hash_map_find(&reading->copies, call);
        (void)hash_map_set(&reading->copies, call, copies == NO_VALUE ? 1 : copies + 1);
    }
    sqlite_rows_clear(&rows);
}

/* A session that no process of the file has told nothing of is nobody's. */
static void rpd_leave_op(struct rpd_reading *reading, int64_t id)
{
    if (reading->part == 0 && id >> 32 == 0)
        read_account_leave(&reading->run.builder.read, "ops of no process", 1);
}

/* Ops of calls of the process, or of calls that are not in the file: the recorder was started
 * behind them, or leaves them out. Where there are several processes, the session tells whose these
 * are, once all others are known. A link that stands there twice, as in a file that was put
 * together of others, is one. */
static bool rpd_read_linked_ops(struct rpd_reading *reading, bool of_known_calls)
{
    const bool are_all_its_own = reading->parts->count <= 1;
    bool has_others = false;
    struct sqlite_rows rows;

    rpd_ops_open(&rows, reading, false);
    while (sqlite_rows_next(&rows)) {
        const int64_t id = rpd_id(&rows, OP_ID);
        const bool has_call = !sqlite_is_null(&rows, OP_PID);

        (void)rpd_ids_add(&reading->linked, id);
        has_others |= !has_call && !are_all_its_own;
        if (has_call ? !of_known_calls ||
                           (reading->run.pid >= 0 && rpd_id(&rows, OP_PID) != reading->run.pid)
                     : of_known_calls && !are_all_its_own)
            continue;
        if (!has_call && !are_all_its_own && !rpd_is_of_session(reading, id)) {
            rpd_leave_op(reading, id);
            continue;
        }
        if (!rpd_ids_add(&reading->taken, id))
            continue;
        if (has_call)
            (void)rpd_ids_add(&reading->sessions, id >> 32);
        rpd_read_op(reading, &rows);
    }
    sqlite_rows_clear(&rows);
    return has_others;
}

/* Ops that no link names; usually there are none. */
static void rpd_read_other_ops(struct rpd_reading *reading)
{
    struct sqlite_rows rows;

    if (reading->linked.id_count ==
        rpd_first_number(reading->database, "SELECT count(*) FROM rocpd_op"))
        return;
    rpd_ops_open(&rows, reading, true);
    while (sqlite_rows_next(&rows)) {
        const int64_t id = rpd_id(&rows, OP_ID);

        if (rpd_ids_has(&reading->linked, id))
            continue;
        if (reading->parts->count > 1 && !rpd_is_of_session(reading, id))
            rpd_leave_op(reading, id);
        else if (rpd_ids_add(&reading->taken, id))
            rpd_read_op(reading, &rows);
    }
    sqlite_rows_clear(&rows);
}

/* The device of copies that tell none: that of the kernels, where there is one only. */
static void rpd_place_copies(struct rocprof_run *run)
{
    int64_t device = -1;

    for (uint32_t i = 0; i < run->queue_count; i++) {
        const int64_t agent = run->queues[i].agent;

        if (agent >= 0 && device >= 0 && agent != device)
            return;
        device = agent >= 0 ? agent : device;
    }
    for (uint32_t i = 0; i < run->queue_count; i++)
        if (run->queues[i].agent < 0)
            run->queues[i].agent = device;
}

/* How many copies a call made must be known before any of them is taken; a copy's device comes
 * last, as it needs those of all kernels. Sums have no sizes. */
void rpd_read_ops(struct rpd_reading *reading)
{
    rpd_look_up(&reading->text_of, reading->database, rpd_text_table(reading->database), "id",
                text_columns);
    rpd_look_up(&reading->copy_of, reading->database, "rocpd_copyapi", "api_ptr_id", copy_columns);
    if (!reading->run.builder.sums_events) {
        rpd_find_grids(reading);
        if (rpd_first_number(reading->database, "SELECT 1 FROM rocpd_copyapi") == 1)
            rpd_count_copies(reading);
    }
    if (rpd_read_linked_ops(reading, true))
        (void)rpd_read_linked_ops(reading, false);
    rpd_read_other_ops(reading);
    rpd_place_copies(&reading->run);
    sqlite_rows_clear(&reading->text_of);
    sqlite_rows_clear(&reading->copy_of);
}
