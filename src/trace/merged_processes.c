/* Traces of several processes in one file, as tools write them that put ranks beside one another
 * for a viewer: one of them is kept.
 *
 * What holds: a recorder writes the calls of one process. Where a file has those of several pids,
 * it is several recordings, and each event is of the one that its pid belongs to. Work of a device
 * has a pid of its own, that of the device: whose it is, the names tell ("[TP00] 0", "rank 1: GPU
 * 0"), or it is the pid of the calls themselves, or the calls that launched it, as far as their
 * correlations are of one process. Where none of these tells it of all work, nothing is kept.
 */
#include "base/core/array.h"
#include "base/core/hash_map.h"
#include "base/core/out_of_memory.h"
#include "base/text/number_order.h"
#include "base/text/prefix.h"
#include "trace/rank_name.h"
#include "trace/trace_builder.h"
#include "trace/trace_finish_parts.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* More pids than any machine's ranks have: a file of so many is not looked through. */
enum { PROCESSES_MAX = 1024 };
#define NO_GROUP UINT32_MAX

/* What is of one pid. */
struct merged_process {
    const char *pid;     /* as written */
    int64_t rank;        /* that its pid or its name tells; -1: none */
    size_t label_length; /* of its pid, see there */
    int64_t operators;
    int64_t calls;  /* into the device's runtime */
    bool has_calls; /* enough of these to be a recording, see note_contents */
    bool has_work;  /* of a device */
    uint32_t group; /* index of the process that stands for its recording */
};

struct merged {
    struct trace_builder *builders; /* strings and tracks are those of the first */
    uint32_t *const *track_maps;    /* [builder]: its tracks as those of the first */
    unsigned builder_count;
    struct merged_process *processes;
    size_t process_count;
    struct hash_map process_by_pid;
    uint32_t *process_of_track; /* [tracks of the first] */
    struct hash_map calls;      /* by correlation: the process that called; see calls_tell */
};

/* ---- the processes of a file ----------------------------------------------------------------- */

/* "rank 3: python", "RANK 3 - GPU", "rank3_7"; or what our exports call "trace 3: ", of which no
 * rank is known. -1: none. */
static int64_t number_of_rank(const char *text)
{
    static const char of_export[] = "trace ";
    char *end;
    int64_t number;

    if (has_prefix(text, of_export)) {
        number = strtoll(text + strlen(of_export), &end, 10);
        if (*end == ':' && number >= 0)
            return number;
    }
    return rank_in_name(text, text + strlen(text), "rank");
}

/* What stands before the number of a device in its pid: "[TP00] " of "[TP00] 0"; 0: nothing. */
static size_t label_length(const char *pid)
{
    size_t length = strlen(pid);

    while (length > 0 && isdigit((unsigned char)pid[length - 1]))
        length--;
    return pid[length] ? length : 0;
}

static void list_processes(struct merged *merged)
{
    const struct trace_builder *first = &merged->builders[0];

    merged->process_of_track =
        require_memory(calloc((size_t)first->track_count + 1, sizeof(uint32_t)));
    for (uint32_t i = 0; i < first->track_count; i++) {
        uint32_t string = first->tracks[i].process;
        const char *pid = string_pool_text(&first->strings, string);
        uint32_t index =
            hash_map_add(&merged->process_by_pid, string, (uint32_t)merged->process_count);

        if (index == merged->process_count)
            ARRAY_ADD(merged->processes, merged->process_count,
                      (struct merged_process){.pid = pid,
                                              .rank = number_of_rank(pid),
                                              .label_length = label_length(pid),
                                              .group = NO_GROUP});
        merged->process_of_track[i] = index;
    }
    for (uint32_t i = 0; i < first->name_count; i++) {
        const struct given_name *name = &first->names[i];
        uint32_t index = hash_map_find(&merged->process_by_pid, name->process);

        if (!name->is_thread && index != NO_VALUE && merged->processes[index].rank < 0)
            merged->processes[index].rank =
                number_of_rank(string_pool_text(&first->strings, name->name));
    }
}

/* What a walk over events does with each. */
typedef void merged_visit(struct merged *merged, const struct trace_builder *builder,
                          struct merged_process *process, const struct event *event);

static void visit_store(struct merged *merged, unsigned b, const struct event_store *store,
                        merged_visit *visit)
{
    for (size_t c = 0; c < store->chunk_count; c++) {
        size_t count = event_store_chunk_events(store, c);

        for (size_t i = 0; i < count; i++) {
            const struct event *event = &store->chunks[c][i];
            uint32_t track = merged->track_maps[b][event->track];

            visit(merged, &merged->builders[b], &merged->processes[merged->process_of_track[track]],
                  event);
        }
    }
}

static void visit_all(struct merged *merged, bool on_device, merged_visit *visit)
{
    for (unsigned b = 0; b < merged->builder_count; b++)
        visit_store(merged, b, on_device ? &merged->builders[b].device : &merged->builders[b].host,
                    visit);
}

static void note_content(struct merged *merged, const struct trace_builder *builder,
                         struct merged_process *process, const struct event *event)
{
    (void)merged;
    (void)builder;
    process->operators += event->kind == EVENT_OPERATOR;
    process->calls += event->kind == EVENT_RUNTIME_CALL;
    process->has_work |= event_is_device_work(event);
}

/* Nearly all files have threads of one pid, beside texts such as "Spans", and are not looked
 * through. */
static bool may_be_merged(const struct merged *merged)
{
    const struct trace_builder *first = &merged->builders[0];
    uint32_t host = NO_VALUE, device = NO_VALUE;
    bool are_several = false;

    for (uint32_t i = 0; i < first->track_count; i++) {
        uint32_t *known = first->tracks[i].is_device ? &device : &host;
        uint32_t pid = first->tracks[i].process;

        if (!strpbrk(string_pool_text(&first->strings, pid), "0123456789"))
            continue;
        are_several |= *known != NO_VALUE && *known != pid;
        *known = pid;
    }
    return are_several;
}

/* ---- whose work is whose --------------------------------------------------------------------- */

static bool has_label_of(const struct merged_process *process, const struct merged_process *device)
{
    return strncmp(process->pid, device->pid, device->label_length) == 0;
}

/* Two that may be asked: are both of one recording? */
typedef bool is_of_one_recording(const struct merged_process *process,
                                 const struct merged_process *device);

static bool has_rank_of(const struct merged_process *process, const struct merged_process *device)
{
    return process->rank == device->rank;
}

static bool is_itself(const struct merged_process *process, const struct merged_process *device)
{
    return process == device;
}

/* The group of each process is the first with work that is of the same recording. */
static void group_by(struct merged *merged, is_of_one_recording *is_same, bool with_work)
{
    for (size_t i = 0; i < merged->process_count; i++) {
        struct merged_process *process = &merged->processes[i];

        process->group = NO_GROUP;
        for (size_t k = 0; k < merged->process_count && process->group == NO_GROUP; k++) {
            const struct merged_process *other = &merged->processes[k];

            if ((with_work ? other->has_work : other->has_calls) && is_same(process, other))
                process->group = (uint32_t)k;
        }
    }
}

static size_t count_groups(const struct merged *merged)
{
    size_t count = 0;

    for (size_t i = 0; i < merged->process_count; i++)
        count += merged->processes[i].group == i;
    return count;
}

/* Names tell it where all work has such, and all calls have, too. */
static bool names_tell(struct merged *merged, is_of_one_recording *is_same,
                       bool (*has_name)(const struct merged_process *))
{
    for (size_t i = 0; i < merged->process_count; i++)
        if (merged->processes[i].has_work && !has_name(&merged->processes[i]))
            return false;
    group_by(merged, is_same, true);
    for (size_t i = 0; i < merged->process_count; i++)
        if (merged->processes[i].has_calls && merged->processes[i].group == NO_GROUP &&
            !has_name(&merged->processes[i]))
            return false;
    return count_groups(merged) > 1;
}

static bool has_rank(const struct merged_process *process)
{
    return process->rank >= 0;
}

static bool has_label(const struct merged_process *process)
{
    return process->label_length > 0;
}

static bool work_has_pids_of_calls(struct merged *merged)
{
    for (size_t i = 0; i < merged->process_count; i++)
        if (merged->processes[i].has_work && !merged->processes[i].has_calls)
            return false;
    group_by(merged, is_itself, true);
    return true;
}

/* ---- by the calls that launched -------------------------------------------------------------- */

/* Calls by correlation: the process; PROCESSES_MAX where several have it. */
static void note_call(struct merged *merged, const struct trace_builder *builder,
                      struct merged_process *process, const struct event *event)
{
    uint32_t index = (uint32_t)(process - merged->processes);
    uint64_t id;

    if (event->kind != EVENT_RUNTIME_CALL || event->correlation == NO_ID)
        return;
    id = (uint64_t)event_id_number(&builder->wide_ids, event->correlation);
    if (hash_map_add(&merged->calls, id, index) != index)
        hash_map_set(&merged->calls, id, PROCESSES_MAX);
}

/* One kernel whose call is of another process than that of another kernel decides that nothing is
 * known. */
static void note_launch(struct merged *merged, const struct trace_builder *builder,
                        struct merged_process *process, const struct event *event)
{
    uint32_t caller;

    if (event->correlation == NO_ID)
        return;
    caller = hash_map_find(&merged->calls,
                           (uint64_t)event_id_number(&builder->wide_ids, event->correlation));
    if (caller == NO_VALUE)
        return;
    if (process->group == NO_GROUP)
        process->group = caller;
    else if (process->group != caller)
        process->group = PROCESSES_MAX;
}

static bool calls_tell(struct merged *merged)
{
    bool is_known = true;

    for (size_t i = 0; i < merged->process_count; i++)
        merged->processes[i].group = NO_GROUP;
    visit_all(merged, false, note_call);
    visit_all(merged, true, note_launch);
    for (size_t i = 0; i < merged->process_count; i++)
        if (merged->processes[i].has_work)
            is_known = is_known && merged->processes[i].group < merged->process_count;
    for (size_t i = 0; is_known && i < merged->process_count; i++)
        if (merged->processes[i].has_work)
            merged->processes[merged->processes[i].group].group = merged->processes[i].group;
    return is_known;
}

/* ---- all ------------------------------------------------------------------------------------- */

/* A recording has calls of the runtime where anything works on a device, else operators, and not
 * only a few beside those of another. A device may have calls under its own pid (MTIA's), beside
 * those of the process with the operators. */
static bool is_recording(const struct merged_process *process, const struct merged_process *most,
                         bool has_work)
{
    enum { SHARE_OF_CALLS = 100, SHARE_OF_OPERATORS = 10, OPERATORS_LEAST = 16 };

    if (!has_work)
        return process->operators >= OPERATORS_LEAST &&
               process->operators * SHARE_OF_OPERATORS >= most->operators;
    return process->calls && process->calls * SHARE_OF_CALLS >= most->calls &&
           !(process->has_work && most->operators && !process->operators);
}

/* What each process has. Of events that are summed the kinds of those of hosts are not known. */
static void note_contents(struct merged *merged)
{
    const struct event_sums *sums = &merged->builders[0].sums;
    struct merged_process most = {0};

    visit_all(merged, false, note_content);
    visit_all(merged, true, note_content);
    for (uint32_t i = 0; i < merged->builders[0].track_count && i < sums->track_room; i++)
        merged->processes[merged->process_of_track[i]].has_work |=
            sums->tracks[i].device_events > 0;
    for (size_t i = 0; i < merged->process_count; i++) {
        const struct merged_process *process = &merged->processes[i];

        most.has_work |= process->has_work;
        if (process->operators > most.operators)
            most.operators = process->operators;
        if (process->calls > most.calls)
            most.calls = process->calls;
    }
    if (merged->builders[0].has_layers) /* calls are of a layer below that of the operators */
        most.has_work = false;
    for (size_t i = 0; i < merged->process_count; i++)
        merged->processes[i].has_calls = is_recording(&merged->processes[i], &most, most.has_work);
}

/* Of the groups by names, those that have such a name. */
static size_t count_named(struct merged *merged, is_of_one_recording *is_same,
                          bool (*has_name)(const struct merged_process *))
{
    size_t count = 0;

    group_by(merged, is_same, true);
    for (size_t i = 0; i < merged->process_count; i++)
        count += merged->processes[i].group == i && has_name(&merged->processes[i]);
    return count;
}

/* How many recordings there are by their names or calls; 0: one. */
static size_t count_recordings(struct merged *merged)
{
    size_t counts[3] = {0};
    size_t most = 1;

    if (!merged->builders[0].has_layers) {
        counts[0] = count_named(merged, has_rank_of, has_rank);
        counts[1] = count_named(merged, has_label_of, has_label);
    }
    for (size_t i = 0; i < merged->process_count; i++)
        counts[2] += merged->processes[i].has_calls;
    for (int i = 0; i < 3; i++)
        most = counts[i] > most ? counts[i] : most;
    return most > 1 ? most : 0;
}

static bool find_recordings(struct merged *merged)
{
    bool has_work = false;

    for (size_t i = 0; i < merged->process_count; i++)
        has_work |= merged->processes[i].has_work;
    if (!has_work) {
        group_by(merged, is_itself, false);
        return true;
    }
    return names_tell(merged, has_rank_of, has_rank) ||
           names_tell(merged, has_label_of, has_label) || work_has_pids_of_calls(merged) ||
           calls_tell(merged);
}

/* Recordings by their ranks where all have one, else by their pids: neither the order of the file
 * nor that of threads shows. */
static int compare_recordings(const void *a, const void *b, void *argument)
{
    const struct merged *merged = argument;
    const struct merged_process *left = &merged->processes[*(const uint32_t *)a];
    const struct merged_process *right = &merged->processes[*(const uint32_t *)b];

    if (left->rank != right->rank)
        return left->rank < right->rank ? -1 : 1;
    return compare_numbers_first(left->pid, right->pid);
}

/* Indices of the processes that stand for a recording, in order; free() them. */
static uint32_t *list_recordings(struct merged *merged, uint32_t *count)
{
    uint32_t *list = require_memory(calloc(merged->process_count + 1, sizeof *list));

    *count = 0;
    for (uint32_t i = 0; i < merged->process_count; i++)
        if (merged->processes[i].group == i)
            list[(*count)++] = i;
    qsort_r(list, *count, sizeof *list, compare_recordings, merged);
    return list;
}

static void keep_events(const struct merged *merged, unsigned b, struct event_store *store,
                        uint32_t recording)
{
    struct event_store kept = {0};

    for (size_t c = 0; c < store->chunk_count; c++) {
        size_t count = event_store_chunk_events(store, c);

        for (size_t i = 0; i < count; i++) {
            const struct event *event = &store->chunks[c][i];
            uint32_t track = merged->track_maps[b][event->track];

            if (merged->processes[merged->process_of_track[track]].group == recording)
                event_store_add(&kept, event);
        }
        event_store_free_chunk(store, c);
    }
    free(store->chunks);
    *store = kept;
}

/* What was allocated is not told apart. */
static void keep_recording(struct merged *merged, uint32_t recording)
{
    struct trace_builder *first = &merged->builders[0];
    int64_t allocations = 0;

    for (unsigned b = 0; b < merged->builder_count; b++) {
        struct trace_builder *builder = &merged->builders[b];

        keep_events(merged, b, &builder->host, recording);
        keep_events(merged, b, &builder->device, recording);
        keep_events(merged, b, &builder->notes, recording);
        allocations += (int64_t)builder->memory.count;
        memory_list_clear(&builder->memory);
        builder->memory = (struct memory_list){0};
    }
    for (uint32_t i = 0; i < first->track_count; i++)
        if (merged->processes[merged->process_of_track[i]].group != recording)
            first->track_host_events[i] = 0;
    if (allocations)
        read_account_leave(&first->read, "allocations of merged processes", allocations);
}

/* What the recording is called by: its pid on the host, where it has one. */
static const char *name_of_recording(const struct merged *merged, uint32_t recording)
{
    for (size_t i = 0; i < merged->process_count; i++)
        if (merged->processes[i].has_calls && merged->processes[i].group == recording)
            return merged->processes[i].pid;
    return merged->processes[recording].pid;
}

/* What the header says of a rank is that of one of them. */
static void tell_rank(const struct merged *merged, const uint32_t *list, uint32_t count,
                      uint32_t part)
{
    struct run_facts *facts = &merged->builders[0].facts;
    const char *name = name_of_recording(merged, list[part]);

    facts->process = string_pool_add(&merged->builders[0].strings, name, strlen(name));
    facts->rank = part;
    facts->is_rank_by_order = true;
    for (uint32_t i = 0; i < count; i++) {
        int64_t rank = merged->processes[list[i]].rank;

        if (rank < 0 || (i && rank == merged->processes[list[i - 1]].rank))
            return;
    }
    facts->rank = merged->processes[list[part]].rank;
    facts->is_rank_by_order = false;
}

/* Of several recordings number `part`. One alone is the whole file: what else has calls launches
 * nothing. */
static void keep_part(struct merged *merged, uint32_t part)
{
    struct read_account *read = &merged->builders[0].read;
    uint32_t count;
    uint32_t *list = list_recordings(merged, &count);
    int64_t left_out = 0;

    for (size_t i = 0; i < merged->process_count; i++)
        left_out += merged->processes[i].has_calls && merged->processes[i].group == NO_GROUP;
    read->merged_processes = count > 1 ? count : 0;
    if (count > 1) {
        part = part < count ? part : 0; /* a file that changed meanwhile */
        if (left_out)
            read_account_leave(read, "processes without work of a device", left_out);
        tell_rank(merged, list, count, part);
        keep_recording(merged, list[part]);
    }
    free(list);
}

void merged_processes_keep_one(struct trace_builder *builders, unsigned count,
                               uint32_t *const *track_maps, uint32_t part)
{
    struct merged merged = {.builders = builders, .track_maps = track_maps, .builder_count = count};
    struct read_account *read = &builders[0].read;

    if (!may_be_merged(&merged))
        return;
    list_processes(&merged);
    if (merged.process_count <= PROCESSES_MAX) {
        note_contents(&merged);
        read->merged_processes = (uint32_t)count_recordings(&merged);
    }
    if (read->merged_processes && builders[0].sums_events)
        builders[0].facts.rank = -1; /* sums are of all */
    else if (read->merged_processes && !builders[0].has_layers && find_recordings(&merged))
        keep_part(&merged, part);
    else
        read->are_not_parted = read->merged_processes > 0;
    hash_map_clear(&merged.process_by_pid);
    hash_map_clear(&merged.calls);
    free(merged.processes);
    free(merged.process_of_track);
}
