/* The answers of NCCL's RAS: JSON, and the text of older ones. */
#include "base/json/json_tree.h"
#include "readers/ras/read_ras.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { IN_PROGRESS = 7 }; /* of ncclResult_t; 0 is success */

static const char *ras_keep_text(struct arena *arena, const char *text)
{
    return arena_copy_text(arena, text, strlen(text));
}

/* The place of an operation's name; RAS_OPERATIONS_MAX: there is no room for it. */
static size_t ras_operation_place(struct ras_status *status, struct arena *arena, const char *name)
{
    size_t at = 0;

    while (at < status->operation_count && strcmp(status->operations[at], name) != 0)
        at++;
    if (at == status->operation_count && at < RAS_OPERATIONS_MAX) {
        status->operations[at] = ras_keep_text(arena, name);
        status->operation_count++;
    }
    return at;
}

static struct ras_rank unknown_rank(void)
{
    struct ras_rank rank = {.rank = -1, .pid = -1, .gpu = -1, .host = ""};

    for (size_t i = 0; i < RAS_OPERATIONS_MAX; i++)
        rank.calls[i] = -1;
    return rank;
}

/* ---- JSON ----------------------------------------------------------------------------------- */

/* A member that this NCCL does not write is not known, and not 0, which is a rank, a process
 * and a device. */
static struct ras_rank rank_of_json(struct arena *arena, const struct json_node *node)
{
    struct ras_rank rank = unknown_rank();

    rank.rank = json_integer_of(node, "rank", -1);
    rank.pid = json_integer_of(node, "pid", -1);
    rank.gpu = json_integer_of(node, "cuda_dev", -1);
    rank.host = ras_keep_text(arena, json_text_of(node, "host", ""));
    return rank;
}

/* A failure goes before all else: a rank that failed also aborts. */
static void read_ras_state(struct ras_rank *rank, const struct json_node *status)
{
    int64_t made = json_integer_of(status, "init_state", 0);
    int64_t error = json_integer_of(status, "async_error", 0);

    if (json_integer_of(status, "abort_flag", 0))
        rank->state = RAS_RANK_ABORTS;
    else if (json_integer_of(status, "finalize_called", 0) ||
             json_integer_of(status, "destroy_flag", 0))
        rank->state = RAS_RANK_ENDS;
    else if (made == IN_PROGRESS)
        rank->state = RAS_RANK_STARTS;
    if ((made != 0 && made != IN_PROGRESS) || (error != 0 && error != IN_PROGRESS)) {
        rank->state = RAS_RANK_FAILED;
        rank->error = made != 0 && made != IN_PROGRESS ? made : error;
    }
}

/* Counts of operations beyond the limit are left out: no rank can then be told to be behind in
 * them. */
static void read_ras_calls(struct ras_status *status, struct arena *arena, struct ras_rank *rank,
                           const struct json_node *counts)
{
    for (const struct json_node *count = counts ? counts->first : NULL; count;
         count = count->next) {
        size_t at = count->key && count->is_integer ? ras_operation_place(status, arena, count->key)
                                                    : RAS_OPERATIONS_MAX;

        if (at < RAS_OPERATIONS_MAX)
            rank->calls[at] = count->integer;
    }
}

/* How many ranks have called less than the rank that has called most. Counts of operations are
 * per communicator, so ranks of one are compared. The one that called most is where the program
 * was meant to be. */
static void sum_up_operations(struct ras_communicator *communicator, size_t operation_count)
{
    for (size_t at = 0; at < RAS_OPERATIONS_MAX; at++)
        communicator->operations[at] = (struct ras_operation){.most = -1};
    for (size_t at = 0; at < operation_count; at++) {
        struct ras_operation *operation = &communicator->operations[at];

        for (size_t i = 0; i < communicator->rank_count; i++) {
            if (communicator->ranks[i].calls[at] > operation->most)
                operation->most = communicator->ranks[i].calls[at];
        }
        for (size_t i = 0; i < communicator->rank_count; i++) {
            int64_t calls = communicator->ranks[i].calls[at];

            operation->behind_count += calls >= 0 && calls < operation->most;
        }
    }
}

static size_t count_nodes(const struct json_node *node)
{
    size_t count = 0;

    for (; node; node = node->next)
        count++;
    return count;
}

/* A missing rank is dead where NCCL gave it up, silent where it did not answer, and otherwise
 * has left the communicator. */
static void read_communicator(struct ras_status *status, struct arena *arena,
                              struct ras_communicator *communicator, const struct json_node *node)
{
    const struct json_node *present = json_items_of(node, "ranks");
    const struct json_node *missing = json_items_of(node, "missing_ranks");
    size_t room = count_nodes(present) + count_nodes(missing);

    communicator->name = ras_keep_text(arena, json_text_of(node, "hash", "?"));
    communicator->size = json_integer_of(node, "size", -1);
    communicator->ranks = arena_allocate(arena, (room + 1) * sizeof *communicator->ranks);
    for (; present; present = present->next) {
        struct ras_rank rank = rank_of_json(arena, present);

        read_ras_state(&rank, json_member(present, "status"));
        read_ras_calls(status, arena, &rank, json_member(present, "collective_counts"));
        communicator->ranks[communicator->rank_count++] = rank;
    }
    for (; missing; missing = missing->next) {
        const struct json_node *answers = json_member(missing, "status");
        struct ras_rank rank = rank_of_json(arena, missing);

        rank.state = json_integer_of(answers, "considered_dead", 0) ? RAS_RANK_DEAD
                     : json_integer_of(answers, "unresponsive", 0)  ? RAS_RANK_SILENT
                                                                    : RAS_RANK_LEFT;
        communicator->ranks[communicator->rank_count++] = rank;
    }
}

/* Operations are summed up behind the loop: how many kinds there are is known only when all
 * communicators are read. */
bool parse_ras_json(struct ras_status *status, struct arena *arena, const char *text, size_t length,
                    struct error *error)
{
    const struct json_node *root = json_tree_parse(arena, text, length, error);
    const struct json_node *node = root ? json_member(root, "communicators") : NULL;

    *status = (struct ras_status){.names_all_ranks = true, .nccl_version = ""};
    if (!root)
        return false;
    if (!node || node->kind != JSON_ARRAY)
        return error_set(error, ERROR_INPUT, "no list of \"communicators\" is in it");
    status->nccl_version = ras_keep_text(arena, json_text_of(root, "nccl_version", ""));
    node = node->first;
    status->communicators =
        arena_allocate(arena, (count_nodes(node) + 1) * sizeof *status->communicators);
    for (; node; node = node->next) {
        struct ras_communicator *communicator = &status->communicators[status->communicator_count];

        *communicator = (struct ras_communicator){0};
        read_communicator(status, arena, communicator, node);
        status->communicator_count++;
    }
    for (size_t i = 0; i < status->communicator_count; i++)
        sum_up_operations(&status->communicators[i], status->operation_count);
    return true;
}

/* ---- text ----------------------------------------------------------------------------------- */

/* It names few, those that differ. */
enum { GROUPS_MAX = 1024, TEXT_COMMUNICATORS_MAX = 512, TEXT_RANKS_MAX = 512 };

/* Where the reading stands: what a line of a rank belongs to. */
struct text_reading {
    struct ras_status *status;
    struct arena *arena;
    struct ras_communicator *communicator; /* NULL: of none */
    size_t communicator_room;
    size_t rank_room;
    size_t operation; /* RAS_OPERATIONS_MAX: the lines are not of an operation */
    int64_t calls;    /* that the ranks below have made; -1: not said yet */
    enum ras_rank_state state;
    int64_t sizes[GROUPS_MAX]; /* of the communicators of each group; 0: not known */
};

/* "#0-1 (0123456789abcdef) MISMATCH": the communicator it is of. Hashes are 0x... without
 * leading zeros, as JSON has them, so both forms name a communicator alike. */
static bool parse_ras_heading(struct text_reading *reading, const char *line)
{
    struct ras_status *status = reading->status;
    int group;
    int number;
    char hash[32];
    char what[32];
    char name[40];

    if (sscanf(line, "#%d-%d (%31[0-9a-f]) %31s", &group, &number, hash, what) != 4)
        return false;
    snprintf(name, sizeof name, "0x%s", hash + strspn(hash, "0"));
    /* What the lines below are of is forgotten with each heading. */
    reading->operation = RAS_OPERATIONS_MAX;
    reading->calls = -1;
    reading->state = strcmp(what, "INCOMPLETE") == 0 ? RAS_RANK_SILENT
                     : strcmp(what, "ERROR") == 0    ? RAS_RANK_FAILED
                                                     : RAS_RANK_LEFT;
    for (size_t i = 0; i < status->communicator_count; i++) {
        if (strcmp(status->communicators[i].name, name) == 0) {
            reading->communicator = &status->communicators[i];
            return true;
        }
    }
    /* Room is for as many as the text has '#', up to a limit: what is beyond it is left out. */
    if (status->communicator_count == reading->communicator_room)
        return false;
    reading->communicator = &status->communicators[status->communicator_count++];
    *reading->communicator = (struct ras_communicator){
        .name = ras_keep_text(reading->arena, name),
        .size =
            group >= 0 && group < GROUPS_MAX && reading->sizes[group] ? reading->sizes[group] : -1,
        .ranks = arena_allocate(reading->arena, reading->rank_room * sizeof(struct ras_rank))};
    for (size_t i = 0; i < RAS_OPERATIONS_MAX; i++)
        reading->communicator->operations[i].most = -1;
    return true;
}

/* The rank of that number, that a line before may have named. */
static struct ras_rank *rank_of_text(struct text_reading *reading, int64_t number)
{
    struct ras_communicator *communicator = reading->communicator;
    struct ras_rank *rank;

    for (size_t i = 0; i < communicator->rank_count; i++) {
        if (communicator->ranks[i].rank == number)
            return &communicator->ranks[i];
    }
    if (communicator->rank_count == reading->rank_room)
        return NULL;
    rank = &communicator->ranks[communicator->rank_count++];
    *rank = unknown_rank();
    rank->rank = number;
    return rank;
}

/* "  Rank 3 has launched up to operation 5 -- GPU 3 managed by process 12 on node 10.0.0.2" */
static bool parse_rank_line(struct text_reading *reading, const char *line)
{
    const char *process = strstr(line, "managed by process ");
    const char *gpu = strstr(line, "GPU ");
    const char *calls = strstr(line, "launched up to operation ");
    struct ras_rank *rank;
    char host[64];
    long number;

    if (!reading->communicator || sscanf(line, " Rank %ld", &number) != 1)
        return false;
    rank = rank_of_text(reading, number);
    if (!rank)
        return true;
    if (gpu)
        rank->gpu = strtol(gpu + 4, NULL, 10);
    if (process && sscanf(process, "managed by process %ld on node %63s", &number, host) == 2) {
        rank->pid = number;
        rank->host = ras_keep_text(reading->arena, host);
    }
    if (calls)
        reading->calls = strtoll(calls + strlen("launched up to operation "), NULL, 10);
    else if (strstr(line, "has not launched any operations"))
        reading->calls = 0;
    if (reading->operation < RAS_OPERATIONS_MAX)
        rank->calls[reading->operation] = reading->calls;
    else if (!strstr(line, " has status ") || strstr(line, " NOCOMM"))
        rank->state = reading->state;
    return true;
}

/* "  7 ranks have launched up to operation 5": how far the ranks behind this line are. */
static bool parse_count_line(struct text_reading *reading, const char *line)
{
    struct ras_operation *operation;
    long long calls = 0;
    long count;
    bool is_none = strstr(line, "have not launched any operations") != NULL;

    if (sscanf(line, " %ld ranks have", &count) != 1 || !reading->communicator)
        return false;
    if (!is_none && sscanf(line, " %*d ranks have launched up to operation %lld", &calls) != 1)
        return false;
    if (reading->operation == RAS_OPERATIONS_MAX)
        return true;
    reading->calls = calls;
    operation = &reading->communicator->operations[reading->operation];
    if (calls > operation->most) { /* those before were behind, and these are not yet */
        operation->most = calls;
    } else if (calls < operation->most && count > 0 && count <= INT32_MAX) {
        operation->behind_count += count;
    }
    return true;
}

/* "  Communicator ranks have different AllReduce operation counts" */
static bool parse_operation_line(struct text_reading *reading, const char *line)
{
    char name[32];

    if (sscanf(line, " Communicator ranks have different %31s operation counts", name) != 1 ||
        !strstr(line, "operation counts"))
        return false;
    reading->operation = ras_operation_place(reading->status, reading->arena, name);
    reading->calls = -1;
    return true;
}

/* "    0         1         1         8         8         8   RUNNING      OK" */
static bool parse_group_line(struct text_reading *reading, const char *line)
{
    int group;
    long size;

    if (sscanf(line, " %d %*d %*d %*s %ld %*d %*s %*s", &group, &size) != 2)
        return false;
    if (group >= 0 && group < GROUPS_MAX && size > 0)
        reading->sizes[group] = size;
    return true;
}

/* From the most special form to the least: the last ones take nearly any line. */
static void parse_text_line(struct text_reading *reading, const char *line)
{
    long count;
    char version[32];

    if (sscanf(line, "NCCL version %31s", version) == 1)
        reading->status->nccl_version = ras_keep_text(reading->arena, version);
    else if (sscanf(line, " Missing communicator data from %ld job process", &count) == 1)
        reading->status->silent_processes = count;
    else if (sscanf(line, " %ld job process", &count) == 1 && strstr(line, "considered dead"))
        reading->status->dead_processes = count;
    else if (line[0] == '#')
        (void)parse_ras_heading(reading, line);
    else if (!parse_operation_line(reading, line) && !parse_count_line(reading, line) &&
             !parse_rank_line(reading, line))
        (void)parse_group_line(reading, line);
}

/* Ranks that are named one by one count, too. */
static void add_named_ranks(struct ras_communicator *communicator, size_t operation_count)
{
    for (size_t at = 0; at < operation_count; at++) {
        struct ras_operation *operation = &communicator->operations[at];
        int64_t named = 0;

        for (size_t i = 0; i < communicator->rank_count; i++) {
            if (communicator->ranks[i].calls[at] > operation->most)
                operation->most = communicator->ranks[i].calls[at];
        }
        for (size_t i = 0; i < communicator->rank_count; i++)
            named += communicator->ranks[i].calls[at] >= 0 &&
                     communicator->ranks[i].calls[at] < operation->most;
        if (named > operation->behind_count)
            operation->behind_count = named;
    }
}

/* A line's form says what it is, whatever the version: forms that are not known are passed
 * over. Room for all is taken before, from the number of headings and of lines of ranks. */
bool parse_ras_text(struct ras_status *status, struct arena *arena, char *text, struct error *error)
{
    struct text_reading reading = {
        .status = status, .arena = arena, .operation = RAS_OPERATIONS_MAX, .calls = -1};
    char *rest = text;
    char *line;

    *status = (struct ras_status){.nccl_version = ""};
    if (!strstr(text, "NCCL version "))
        return error_set(error, ERROR_INPUT, "it does not begin with \"NCCL version\"");
    for (const char *at = text; (at = strchr(at, '\n')); at++) {
        reading.communicator_room += at[1] == '#';
        reading.rank_room += strncmp(at + 1, "  Rank ", 7) == 0;
    }
    if (reading.communicator_room > TEXT_COMMUNICATORS_MAX)
        reading.communicator_room = TEXT_COMMUNICATORS_MAX;
    if (reading.rank_room > TEXT_RANKS_MAX)
        reading.rank_room = TEXT_RANKS_MAX;
    status->communicators =
        arena_allocate(arena, (reading.communicator_room + 1) * sizeof *status->communicators);
    while ((line = strsep(&rest, "\n")))
        parse_text_line(&reading, line);
    for (size_t i = 0; i < status->communicator_count; i++)
        add_named_ranks(&status->communicators[i], status->operation_count);
    return true;
}
