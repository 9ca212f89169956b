/* What ran on devices, of RPD's databases: rocpd_op, and what the calls that made them tell. */
#include "base/core/hash_mix.h"
#include "base/text/prefix.h"
#include "readers/rocprof/rpd_reading.h"

#include <ctype.h>
#include <string.h>

/* ---- the columns ---------------------------------------------------------------------------- */

enum { LINK_OP, LINK_CALL };
enum { OP_ID, OP_DEVICE, OP_QUEUE, OP_SEQUENCE, OP_START, OP_END, OP_DESCRIPTION, OP_TYPE };
enum { CALL_ID, CALL_PID, CALL_NAME, CALL_ARGUMENTS };
enum { LAUNCH_ID, LAUNCH_STREAM, LAUNCH_SHARED_MEMORY, LAUNCH_KERNEL_NAME, LAUNCH_GRID };
enum { LAUNCH_BLOCK = LAUNCH_GRID + 3 };
enum { COPY_ID, COPY_STREAM, COPY_BYTES, COPY_WIDTH, COPY_HEIGHT, COPY_KIND };

static const char *const link_columns[] = {"op_id", "api_id", NULL};
static const char *const op_columns[] = {
    "id", "gpuId", "queueId", "sequenceId", "start", "end", "description_id", "opType_id", NULL};
static const char *const call_columns[] = {"id", "pid", "apiName_id", "args_id", NULL};
static const char *const text_columns[] = {"id", "string", NULL};
static const char *const launch_columns[] = {
    "api_ptr_id", "stream",     "groupSegmentSize", "kernelName_id", "gridX", "gridY",
    "gridZ",      "workgroupX", "workgroupY",       "workgroupZ",    NULL};
static const char *const copy_columns[] = {"api_ptr_id", "stream", "size", "width",
                                           "height",     "kind",   NULL};

/* An op with what tells of it; NULL: the file has no such row. Schemas 0 and 1 had launches of ops,
 * where others have those of calls. */
struct rpd_op {
    const struct sqlite_rows *op;
    const struct sqlite_rows *call;
    const struct sqlite_rows *launch;
    int64_t link; /* the id of the call; -1: none */
};

static bool rpd_has_launches_of_calls(const struct rpd_reading *reading)
{
    return sqlite_has_table(reading->database, "rocpd_kernelapi");
}

/* Sums need no sizes. */
static void rpd_open_launches(struct rpd_reading *reading)
{
    const bool is_of_calls = rpd_has_launches_of_calls(reading);
    const char *columns[sizeof launch_columns / sizeof *launch_columns];

    memcpy(columns, launch_columns, sizeof columns);
    if (!is_of_calls)
        columns[LAUNCH_ID] = "op_ptr_id";
    if (reading->run.builder.sums_events)
        columns[LAUNCH_SHARED_MEMORY] = NULL;
    reading->launches_are_of_calls = is_of_calls;
    rpd_table_open(&reading->launches, reading->database,
                   is_of_calls ? "rocpd_kernelapi" : "rocpd_kernelop", columns, true);
}

/* -1 for NULL and where there is no such row; no id is negative. */
static int64_t rpd_id(const struct sqlite_rows *rows, int column)
{
    return rows ? sqlite_integer(rows, column, -1) : -1;
}

static const struct sqlite_rows *rpd_row_of(struct rpd_table *table, const struct sqlite_rows *rows,
                                            int column)
{
    return rows && !sqlite_is_null(rows, column) ? rpd_table_find(table, rpd_id(rows, column))
                                                 : NULL;
}

/* What belongs to the op of `rows`; `links` names its call, where it is not NULL. */
static struct rpd_op rpd_op_of(struct rpd_reading *reading, const struct sqlite_rows *rows,
                               const struct sqlite_rows *links)
{
    return (struct rpd_op){
        .op = rows,
        .call = rpd_row_of(&reading->calls, links, LINK_CALL),
        .launch = reading->launches_are_of_calls ? rpd_row_of(&reading->launches, links, LINK_CALL)
                                                 : rpd_row_of(&reading->launches, rows, OP_ID),
        .link = rpd_id(links, LINK_CALL),
    };
}

/* ---- where it ran --------------------------------------------------------------------------- */

/* "0x5602c48aa700"; -1: none. */
static int64_t rpd_address(const char *text)
{
    uint64_t address = 0;

    if (!text || !has_prefix(text, "0x"))
        return -1;
    for (text += 2; isxdigit((unsigned char)*text) && address >> 59 == 0; text++)
        address = address * 16 + ((unsigned)*text & 0xf) + (*text > '9' ? 9 : 0);
    return text[-1] == 'x' || isxdigit((unsigned char)*text) ? -1 : (int64_t)address;
}

/* A call without a stream of its own (hipMemcpy) uses the default stream, 0; -1: not told. CUPTI
 * tells a stream's number as the op's sequence. */
static int64_t rpd_stream_of(struct rpd_reading *reading, const struct rpd_op *op, const char *call)
{
    static const char key[] = "stream = ";
    const int64_t stream = op->launch ? rpd_address(sqlite_text(op->launch, LAUNCH_STREAM)) : -1;
    const struct sqlite_rows *text = NULL;
    const char *arguments = NULL;

    if (rpd_is_of_cuda(call))
        return rpd_id(op->op, OP_SEQUENCE);
    if (stream >= 0)
        return stream;
    if (strstr(call, "GraphLaunch"))
        text = rpd_row_of(&reading->texts, op->call, CALL_ARGUMENTS);
    if (text)
        arguments = sqlite_text(text, 1);
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
        {"rocpd_kernelapi", "K", NULL, NULL, launch_columns + LAUNCH_GRID, 0, true},
        {"rocpd_api", "A", "id", "api_ptr_id", name_columns, 0, true},
    };
    const struct rpd_query query = {sources, 2};
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
                           const struct sqlite_rows *launch, const char *call)
{
    enum rpd_grids grids = rpd_counts_items(call) ? RPD_GRIDS_IN_ITEMS : reading->grids;
    int64_t value, block;

    if (!launch || strstr(call, "Graph"))
        return;
    if (sqlite_is_integer(launch, LAUNCH_SHARED_MEMORY, &value))
        rocprof_record_set(record, ROCPROF_SHARED_MEMORY, value);
    for (unsigned i = 0; i < 3; i++) {
        if (!sqlite_is_integer(launch, (int)(LAUNCH_BLOCK + i), &block))
            continue;
        rocprof_record_set(record, (enum rocprof_value)(ROCPROF_BLOCK + i), block);
        if (!sqlite_is_integer(launch, (int)(LAUNCH_GRID + i), &value) ||
            grids == RPD_GRIDS_UNKNOWN)
            continue;
        if (grids == RPD_GRIDS_IN_BLOCKS && __builtin_mul_overflow(value, block, &value))
            continue;
        rocprof_record_set(record, (enum rocprof_value)(ROCPROF_GRID + i), value);
    }
}

/* ---- ops ------------------------------------------------------------------------------------ */

/* The text that is the kernel's name; the type of the op stands in where it has none. */
static void rpd_take_kernel(struct rpd_reading *reading, struct rocprof_record *record,
                            const struct rpd_op *op, const char *call)
{
    uint32_t name = rocprof_string(&reading->strings, rpd_id(op->op, OP_DESCRIPTION));
    struct rocprof_kernel kernel = {.registers = -1};

    if (!name && !strstr(call, "Graph"))
        name = rocprof_string(&reading->strings, rpd_id(op->launch, LAUNCH_KERNEL_NAME));
    if (!name)
        name = rocprof_string(&reading->strings, rpd_id(op->op, OP_TYPE));
    kernel.id = kernel.name = name;
    rocprof_run_name_kernel(&reading->run, &kernel);
    rocprof_record_set(record, ROCPROF_KERNEL, name);
    rpd_take_sizes(reading, record, op->launch, call);
}

/* A call's size is that of all its copies. The recorder keeps it in 32 bits with a sign: from 2 GiB
 * on it is negative, or no number. */
static int64_t rpd_bytes_of(const struct rpd_reading *reading, const struct sqlite_rows *copy)
{
    int64_t bytes, width, height;

    if (!copy || hash_map_find(&reading->copies, (uint64_t)rpd_id(copy, COPY_ID)) != 1)
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
                          const struct rpd_op *op, const char *call)
{
    const char *type = rpd_string_text(reading, rpd_id(op->op, OP_TYPE));
    const bool has_device = !strstr(type, "MEMORY_COPY");
    const struct sqlite_rows *copy =
        op->link < 0 ? NULL : rpd_table_find(&reading->copied, op->link);
    const int64_t stream = copy ? rpd_address(sqlite_text(copy, COPY_STREAM)) : -1;
    int64_t kind = -1;

    if (copy)
        (void)sqlite_is_integer(copy, COPY_KIND, &kind);
    if (stream >= 0 && !rpd_is_of_cuda(call))
        rocprof_record_set(record, ROCPROF_STREAM, stream);
    rocprof_take_name(&reading->run, record,
                      rocprof_text(&reading->run, rpd_way_of(type, call, kind)));
    rocprof_record_set(record, ROCPROF_DESTINATION,
                       has_device ? record->values[ROCPROF_AGENT] : -1);
    rocprof_record_set(record, ROCPROF_SOURCE, record->values[ROCPROF_DESTINATION]);
    rocprof_record_set(record, ROCPROF_BYTES, rpd_bytes_of(reading, copy));
}

/* Kernels, copies and memsets by the words of the op's type; barriers are waits, and counted only.
 */
static void rpd_read_op(struct rpd_reading *reading, const struct rpd_op *op)
{
    const char *call = rpd_string_text(reading, rpd_id(op->call, CALL_NAME));
    const struct rpd_words *words = rpd_words_of_op(reading, rpd_id(op->op, OP_TYPE));
    struct rocprof_record record = {.has = 0};

    rocprof_take(&record, op->op, OP_START, ROCPROF_START);
    rocprof_take(&record, op->op, OP_END, ROCPROF_END);
    rocprof_record_set(&record, ROCPROF_AGENT, rpd_id(op->op, OP_DEVICE));
    rocprof_record_set(&record, ROCPROF_QUEUE, rpd_id(op->op, OP_QUEUE));
    rocprof_record_set(&record, ROCPROF_STREAM, rpd_stream_of(reading, op, call));
    if (op->link != -1)
        rocprof_record_set(&record, ROCPROF_CORRELATION, op->link);
    if (words->content != ROCPROF_KERNELS && words->content != ROCPROF_UNUSED)
        rpd_take_copy(reading, &record, op, call);
    else if (words->content == ROCPROF_KERNELS && !reading->run.builder.sums_events)
        rpd_take_kernel(reading, &record, op, call);
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
    const struct rpd_query query = {sources, 2};
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
    struct rpd_table ops;
    struct sqlite_rows links;

    rpd_table_open(&ops, reading->database, "rocpd_op", op_columns, true);
    sqlite_rows_open(&links, reading->database, "rocpd_api_ops", link_columns);
    while (sqlite_rows_next(&links)) {
        const struct sqlite_rows *row = rpd_row_of(&ops, &links, LINK_OP);
        const int64_t id = rpd_id(row, OP_ID);
        struct rpd_op op;
        bool has_call;

        if (!row)
            continue;
        op = rpd_op_of(reading, row, &links);
        has_call = op.call && !sqlite_is_null(op.call, CALL_PID);
        (void)rpd_ids_add(&reading->linked, id);
        has_others |= !has_call && !are_all_its_own;
        if (has_call ? !of_known_calls ||
                           (reading->run.pid >= 0 && rpd_id(op.call, CALL_PID) != reading->run.pid)
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
        rpd_read_op(reading, &op);
    }
    sqlite_rows_clear(&links);
    rpd_table_clear(&ops);
    return has_others;
}

/* Ops that no link names; usually there are none. */
static void rpd_read_other_ops(struct rpd_reading *reading)
{
    struct sqlite_rows rows;

    if (reading->linked.id_count ==
        rpd_first_number(reading->database, "SELECT count(*) FROM rocpd_op"))
        return;
    sqlite_rows_open(&rows, reading->database, "rocpd_op", op_columns);
    while (sqlite_rows_next(&rows)) {
        const int64_t id = rpd_id(&rows, OP_ID);
        const struct rpd_op op = rpd_op_of(reading, &rows, NULL);

        if (rpd_ids_has(&reading->linked, id))
            continue;
        if (reading->parts->count > 1 && !rpd_is_of_session(reading, id))
            rpd_leave_op(reading, id);
        else if (rpd_ids_add(&reading->taken, id))
            rpd_read_op(reading, &op);
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
    struct sqlite_input *database = reading->database;

    rpd_table_open(&reading->calls, database, "rocpd_api", call_columns, true);
    rpd_table_open(&reading->copied, database, "rocpd_copyapi", copy_columns, true);
    rpd_table_open(&reading->texts, database, rpd_text_table(database), text_columns, false);
    rpd_open_launches(reading);
    if (!reading->run.builder.sums_events) {
        rpd_find_grids(reading);
        if (rpd_first_number(database, "SELECT 1 FROM rocpd_copyapi") == 1)
            rpd_count_copies(reading);
    }
    if (rpd_read_linked_ops(reading, true))
        (void)rpd_read_linked_ops(reading, false);
    rpd_read_other_ops(reading);
    rpd_place_copies(&reading->run);
    rpd_table_clear(&reading->calls);
    rpd_table_clear(&reading->copied);
    rpd_table_clear(&reading->texts);
    rpd_table_clear(&reading->launches);
}
