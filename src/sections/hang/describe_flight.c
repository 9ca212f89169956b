/* What the flight recorders of a job say, in sections. */
#include "ranks/hang/flight_causes.h"
#include "sections/hang/flight_sections.h"
#include "sections/hang/flight_text.h"

#include <stdlib.h>
#include <string.h>

enum { FINDINGS_MAX = 20 };

static struct value text_or_none(const char *text)
{
    return text ? value_text(text) : value_none();
}

static uint32_t flight_rows_of(const struct flight_view *view, size_t count)
{
    return count < view->top ? (uint32_t)count : view->top;
}

/* ---- the verdict ---- */

/* A stuck call that follows from a mismatch in it, or before it, is no cause of its own. */
static bool follows_from_mismatch(const struct flight_view *view, const struct flight_cause *cause)
{
    const struct flight_stall *stall = &view->stalls->stalls[cause->stall];

    if (stall->call == SIZE_MAX)
        return false;
    for (size_t i = 0; i < view->mismatches->count; i++) {
        size_t call = view->mismatches->mismatches[i].call;

        if (view->join->calls[call].group == stall->group && call <= stall->call)
            return true;
    }
    return false;
}

/* A mismatch goes before what hangs: ranks that call different operations hang because of it. */
const char *flight_headline(struct results *results, const struct flight_view *view)
{
    if (view->mismatches->count > 0)
        return flight_mismatch_finding(results, view, &view->mismatches->mismatches[0]).what;
    if (view->causes->count > 0)
        return flight_cause_finding(results, view, &view->causes->causes[0]).what;
    return results_format(results,
                          "nothing hangs and nothing differs: all %zu calls that are recorded are "
                          "complete, on %zu rank%s",
                          view->join->call_count, view->dumps->dump_count,
                          view->dumps->dump_count == 1 ? "" : "s");
}

/* Ranks without a dump are told by number: their silence is often the cause, as a rank that
 * died writes none. */
static void add_counts(struct results *results, struct section *section,
                       const struct flight_view *view)
{
    const struct flight_dumps *dumps = view->dumps;
    size_t silent = dumps->world_count - dumps->dump_count;
    uint32_t *ranks = results_allocate(results, (silent + 1) * sizeof *ranks);
    size_t used = 0;

    for (size_t i = 0; i < dumps->world_count; i++)
        /* The world is what groups name: a rank that wrote nothing is known by its peers'
         * dumps. */
        if (!flight_dump_of(dumps, dumps->world[i]))
            ranks[used++] = dumps->world[i];
    section_add_number(results, section,
                       (struct number){"ranks", "ranks of the job",
                                       value_count((int64_t)dumps->world_count),
                                       "as the groups name them"});
    section_add_number(results, section,
                       (struct number){"ranks_without_dump", "ranks without a dump",
                                       value_count((int64_t)silent),
                                       silent ? flight_rank_list(results, ranks, used) : NULL});
    section_add_value(results, section, "groups", "process groups",
                      value_count((int64_t)dumps->group_count));
    section_add_number(results, section,
                       (struct number){"calls", "collectives recorded",
                                       value_count((int64_t)view->join->call_count),
                                       "each once for all its ranks"});
    section_add_value(results, section, "unfinished", "operations that ranks are in",
                      value_count((int64_t)view->stalls->count));
    section_add_value(results, section, "mismatched_groups", "groups whose ranks differ",
                      value_count((int64_t)view->mismatches->count));
}

#define CAUSES_COLUMNS(COLUMN)                                                                 \
    COLUMN("kind", "kind", UNIT_TEXT, PRIORITY_FOR_PROGRAMS, BAR_NONE,                         \
           value_text(kinds[cause->kind]))                                                     \
    COLUMN("ranks", "ranks", UNIT_TEXT, PRIORITY_FOR_PROGRAMS, BAR_NONE,                       \
           value_text(flight_rank_list(results, cause->ranks, cause->rank_count)))             \
    COLUMN("group", "group", UNIT_TEXT, PRIORITY_FOR_PROGRAMS, BAR_NONE,                       \
           value_text(flight_group_name(view->dumps, stall->group)))                           \
    COLUMN("operation", "operation", UNIT_TEXT, PRIORITY_FOR_PROGRAMS, BAR_NONE,               \
           value_text(flight_text(view->dumps, entry->name)))                                  \
    COLUMN("number", "number in the group", UNIT_COUNT, PRIORITY_FOR_PROGRAMS, BAR_NONE,       \
           value_count((int64_t)entry->sequence))                                              \
    COLUMN("held", "ranks held up", UNIT_COUNT, PRIORITY_FOR_PROGRAMS, BAR_NONE,               \
           value_count((int64_t)cause->held_count))                                            \
    COLUMN("called_unix", "called, since 1970", UNIT_TIME_NS, PRIORITY_FOR_PROGRAMS, BAR_NONE, \
           value_time_ns(entry->created_ns))

/* ---- the same for programs ---- */

static void flight_add_causes(struct results *results, struct section *section,
                              const struct flight_view *view)
{
    static const char *const kinds[] = {
        [FLIGHT_STOPPED_RANK] = "stopped",
        [FLIGHT_SILENT_RANK] = "no dump",
        [FLIGHT_CYCLE] = "circle",
        [FLIGHT_STUCK_CALL] = "stuck",
    };
    struct table *table =
        section_add_table(results, section, "causes", "Causes", COLUMNS_OF(CAUSES_COLUMNS));

    for (size_t i = 0; i < view->causes->count; i++) {
        const struct flight_cause *cause = &view->causes->causes[i];
        const struct flight_stall *stall = &view->stalls->stalls[cause->stall];
        const struct flight_entry *entry =
            flight_entry_of(view->join, flight_first_waiting(view, stall));

        FILL_ROW(table_add_row(results, table, 0), CAUSES_COLUMNS);
    }
}

#define MISMATCHES_COLUMNS(COLUMN)                                                          \
    COLUMN("rank", "rank", UNIT_COUNT, PRIORITY_FOR_PROGRAMS, BAR_NONE,                     \
           value_count((int64_t)flight_rank_of(view->join, odd)))                           \
    COLUMN("group", "group", UNIT_TEXT, PRIORITY_FOR_PROGRAMS, BAR_NONE,                    \
           value_text(flight_group_name(view->dumps, entry->group)))                        \
    COLUMN("number", "number in the group", UNIT_COUNT, PRIORITY_FOR_PROGRAMS, BAR_NONE,    \
           value_count((int64_t)entry->sequence))                                           \
    COLUMN("difference", "what differs", UNIT_TEXT, PRIORITY_FOR_PROGRAMS, BAR_NONE,        \
           value_text(differences[mismatch->difference]))                                   \
    COLUMN("shift", "order", UNIT_TEXT, PRIORITY_FOR_PROGRAMS, BAR_NONE,                    \
           value_text(shifts[mismatch->shift]))                                             \
    COLUMN("ranks", "ranks that differ", UNIT_COUNT, PRIORITY_FOR_PROGRAMS, BAR_NONE,       \
           value_count((int64_t)mismatch->odd_count))                                       \
    COLUMN("later", "later calls that differ", UNIT_COUNT, PRIORITY_FOR_PROGRAMS, BAR_NONE, \
           value_count((int64_t)mismatch->later))

static void add_mismatches(struct results *results, struct section *section,
                           const struct flight_view *view)
{
    static const char *const differences[] = {
        [FLIGHT_OTHER_OPERATION] = "operation",
        [FLIGHT_OTHER_TYPE] = "type",
        [FLIGHT_OTHER_SIZE] = "size",
        [FLIGHT_UNEVEN_EXCHANGE] = "uneven exchange",
    };
    static const char *const shifts[] = {
        [FLIGHT_NO_SHIFT] = "none",
        [FLIGHT_SKIPPED_ONE] = "left one out",
        [FLIGHT_EXTRA_ONE] = "one more",
        [FLIGHT_SWAPPED] = "swapped",
    };
    struct table *table = section_add_table(results, section, "mismatches", "Mismatches",
                                            COLUMNS_OF(MISMATCHES_COLUMNS));

    for (size_t i = 0; i < view->mismatches->count; i++) {
        const struct flight_mismatch *mismatch = &view->mismatches->mismatches[i];
        const struct flight_member *odd = &view->join->members[mismatch->odd];
        const struct flight_entry *entry = flight_entry_of(view->join, odd);

        FILL_ROW(table_add_row(results, table, 0), MISMATCHES_COLUMNS);
    }
}

/* Mismatches come first: a call that is stuck since its ranks differ is told by its mismatch,
 * not a second time as a cause. */
struct section *describe_flight_verdict(struct results *results, const struct flight_view *view)
{
    struct section *section =
        section_new(results, "hang", "What hangs", "Who holds up the job, the worst first.");
    size_t added = 0;

    add_counts(results, section, view);
    for (size_t i = 0; i < view->mismatches->count && added < FINDINGS_MAX; i++, added++)
        section_add_finding(
            results, section,
            flight_mismatch_finding(results, view, &view->mismatches->mismatches[i]));
    for (size_t i = 0; i < view->causes->count && added < FINDINGS_MAX; i++) {
        const struct flight_cause *cause = &view->causes->causes[i];

        if (cause->kind == FLIGHT_STUCK_CALL && follows_from_mismatch(view, cause))
            continue;
        section_add_finding(results, section, flight_cause_finding(results, view, cause));
        added++;
    }
    flight_add_causes(results, section, view);
    add_mismatches(results, section, view);
    return section;
}

/* ---- operations that are not complete ---- */

static const char *missing_text(struct results *results, const struct flight_stall *stall)
{
    uint32_t *ranks = results_allocate(results, (stall->missing_count + 1) * sizeof *ranks);

    for (size_t i = 0; i < stall->missing_count; i++)
        ranks[i] = stall->missing[i].rank;
    return stall->missing_count ? flight_rank_list(results, ranks, stall->missing_count) : "none";
}

static const char *waiting_list(struct results *results, const struct flight_view *view,
                                const struct flight_stall *stall)
{
    uint32_t *ranks = results_allocate(results, (stall->waiting_count + 1) * sizeof *ranks);

    for (size_t i = 0; i < stall->waiting_count; i++)
        ranks[i] = flight_rank_of(view->join, &stall->waiting[i]);
    return flight_rank_list(results, ranks, stall->waiting_count);
}

/* A place in an order, and what it is ordered by. */
struct ordered {
    int64_t key;
    size_t index;
};

static int compare_ordered(const void *one, const void *other)
{
    const struct ordered *a = one;
    const struct ordered *b = other;

    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return (a->index > b->index) - (a->index < b->index);
}

/* Those that have waited longest first. */
static struct ordered *order_stalls(struct results *results, const struct flight_view *view)
{
    size_t count = view->stalls->count;
    struct ordered *order = results_allocate(results, (count + 1) * sizeof *order);

    for (size_t i = 0; i < count; i++) {
        const struct flight_member *first = flight_first_waiting(view, &view->stalls->stalls[i]);

        order[i] =
            (struct ordered){.key = flight_entry_of(view->join, first)->created_ns, .index = i};
    }
    if (count > 0)
        qsort(order, count, sizeof *order, compare_ordered);
    return order;
}

#define OPERATIONS_COLUMNS(COLUMN)                                         \
    COLUMN("group", "group", UNIT_TEXT, 0, BAR_NONE,                       \
           value_text(flight_group_name(view->dumps, stall->group)))       \
    COLUMN("operation", "operation", UNIT_TEXT, 0, BAR_NONE,               \
           value_text(flight_operation_text(results, view->dumps, entry))) \
    COLUMN("waiting", "ranks in it", UNIT_TEXT, 0, BAR_NONE,               \
           value_text(waiting_list(results, view, stall)))                 \
    COLUMN("missing", "not there", UNIT_TEXT, 0, BAR_NONE,                 \
           value_text(missing_text(results, stall)))                       \
    COLUMN("unknown", "not known", UNIT_COUNT, 4, BAR_NONE,                \
           value_count((int64_t)stall->unknown_count))                     \
    COLUMN("since", "since (UTC)", UNIT_TEXT, 3, BAR_NONE,                 \
           text_or_none(flight_clock_text(results, entry->created_ns)))    \
    COLUMN("place", "called at", UNIT_TEXT, 2, BAR_NONE,                   \
           text_or_none(flight_place_text(results, view->dumps, entry, 0)))

/* Of each group the first operation that is not complete: all later ones of the group wait
 * behind it and say nothing new. */
struct section *describe_flight_stalls(struct results *results, const struct flight_view *view)
{
    struct section *section;
    struct table *table;
    struct ordered *order;

    if (view->stalls->count == 0)
        return NULL;
    section = section_new(results, "unfinished_operations", "Operations that are not complete",
                          "Where ranks were when the dumps were written: the first operation of "
                          "each group that is not complete, the longest wait first.");
    order = order_stalls(results, view);
    table = section_add_table(results, section, "operations", "Operations",
                              COLUMNS_OF(OPERATIONS_COLUMNS));
    table->rows_in_all = view->stalls->count;
    for (uint32_t i = 0; i < flight_rows_of(view, view->stalls->count); i++) {
        const struct flight_stall *stall = &view->stalls->stalls[order[i].index];
        const struct flight_entry *entry =
            flight_entry_of(view->join, flight_first_waiting(view, stall));

        FILL_ROW(table_add_row(results, table, 0), OPERATIONS_COLUMNS);
    }
    return section;
}

/* ---- where each rank is ---- */

static const char *state_name(enum flight_state state)
{
    static const char *const names[] = {[FLIGHT_SCHEDULED] = "called",
                                        [FLIGHT_STARTED] = "running",
                                        [FLIGHT_COMPLETED] = "complete"};

    return names[state];
}

/* The first operation that is not complete; NULL where all are. "coalesced" stands for a group
 * of calls, which have entries of their own. */
static const struct flight_entry *first_open(const struct flight_dumps *dumps,
                                             const struct flight_dump *dump)
{
    uint32_t coalesced = string_pool_find(&dumps->strings, "coalesced", 9);

    for (size_t i = 0; i < dump->entry_count; i++)
        if (dump->entries[i].state != FLIGHT_COMPLETED && dump->entries[i].name != coalesced)
            return &dump->entries[i];
    return NULL;
}

/* A dump without calls is told apart from none: the first rank lives, of the second nothing is
 * known. */
static const char *state_of_rank(const struct flight_dump *dump, const struct flight_entry *last,
                                 const struct flight_entry *open)
{
    if (!dump)
        return "no dump";
    if (!last)
        return "no calls";
    return open ? "waits" : "outside";
}

#define RANKS_COLUMNS(COLUMN)                                                                      \
    COLUMN("rank", "rank", UNIT_COUNT, 0, BAR_NONE, value_count((int64_t)rank))                    \
    COLUMN("is", "is", UNIT_TEXT, 0, BAR_NONE, value_text(state_of_rank(dump, last, open)))        \
    COLUMN("group", "group", UNIT_TEXT, 1, BAR_NONE,                                               \
           shown ? value_text(flight_group_name(view->dumps, shown->group)) : value_none())        \
    COLUMN("operation", "operation", UNIT_TEXT, 0, BAR_NONE,                                       \
           shown ? value_text(flight_operation_text(results, view->dumps, shown)) : value_none())  \
    COLUMN("state", "state", UNIT_TEXT, 1, BAR_NONE,                                               \
           shown ? value_text(state_name((enum flight_state)shown->state)) : value_none())         \
    COLUMN("called", "called (UTC)", UNIT_TEXT, 3, BAR_NONE,                                       \
           shown ? text_or_none(flight_clock_text(results, shown->created_ns)) : value_none())     \
    COLUMN("place", "at", UNIT_TEXT, 2, BAR_NONE,                                                  \
           shown ? text_or_none(flight_place_text(results, view->dumps, shown, 0)) : value_none()) \
    COLUMN("entries", "recorded", UNIT_COUNT, 5, BAR_NONE,                                         \
           shown ? value_count((int64_t)dump->entry_count) : value_none())                         \
    COLUMN("is_wrapped", "older ones lost", UNIT_TEXT, 6, BAR_NONE,                                \
           shown ? value_text(dump->is_wrapped ? "yes" : "no") : value_none())

static void add_rank_row(struct results *results, struct table *table,
                         const struct flight_view *view, uint32_t rank)
{
    const struct flight_dump *dump = flight_dump_of(view->dumps, rank);
    const struct flight_entry *open = dump ? first_open(view->dumps, dump) : NULL;
    const struct flight_entry *last =
        dump && dump->entry_count > 0 ? &dump->entries[dump->entry_count - 1] : NULL;
    const struct flight_entry *shown = open ? open : last;

    FILL_ROW(table_add_row(results, table, 0), RANKS_COLUMNS);
}

/* Those without a dump first, then those outside of any operation: they may hold up the others. */
static struct ordered *order_ranks(struct results *results, const struct flight_view *view)
{
    size_t count = view->dumps->world_count;
    struct ordered *order = results_allocate(results, (count + 1) * sizeof *order);

    for (size_t i = 0; i < count; i++) {
        const struct flight_dump *dump = flight_dump_of(view->dumps, view->dumps->world[i]);

        order[i] = (struct ordered){.key = !dump                           ? 0
                                           : first_open(view->dumps, dump) ? 2
                                                                           : 1,
                                    .index = i};
    }
    if (count > 0)
        qsort(order, count, sizeof *order, compare_ordered);
    return order;
}

/* A rank outside of any collective is shown with its last one: that is the place in the
 * program behind which it is. */
static void add_ranks(struct results *results, struct section *section,
                      const struct flight_view *view)
{
    struct table *table =
        section_add_table(results, section, "ranks", "Ranks", COLUMNS_OF(RANKS_COLUMNS));
    const struct ordered *order = order_ranks(results, view);

    table->note =
        "The first operation that is not complete; of a rank outside of any the last one.";
    table->rows_in_all = view->dumps->world_count;
    for (uint32_t i = 0; i < flight_rows_of(view, view->dumps->world_count); i++)
        add_rank_row(results, table, view, view->dumps->world[order[i].index]);
}

#define GROUPS_COLUMNS(COLUMN)                                                                 \
    COLUMN("group", "group", UNIT_TEXT, 0, BAR_NONE,                                           \
           value_text(flight_group_name(view->dumps, i)))                                      \
    COLUMN("ranks", "ranks", UNIT_TEXT, 0, BAR_NONE,                                           \
           value_text(flight_rank_list(results, group->ranks, group->rank_count)))             \
    COLUMN("calls", "recorded", UNIT_COUNT, 1, BAR_NONE, value_count((int64_t)(call - first))) \
    COLUMN("first_recorded", "from #", UNIT_COUNT, 2, BAR_NONE,                                \
           call != first ? value_count(view->join->calls[first].sequence) : value_none())      \
    COLUMN("last_recorded", "to #", UNIT_COUNT, 0, BAR_NONE,                                   \
           call != first ? value_count(view->join->calls[call - 1].sequence) : value_none())

/* Lowest and highest number that the ranks of each group have called. Calls are sorted by group,
 * so one walk finds each group's stretch. */
static void add_groups(struct results *results, struct section *section,
                       const struct flight_view *view)
{
    struct table *table =
        section_add_table(results, section, "groups", "Process groups", COLUMNS_OF(GROUPS_COLUMNS));
    size_t call = 0;

    table->rows_in_all = view->dumps->group_count;
    for (uint32_t i = 0; i < view->dumps->group_count; i++) {
        const struct flight_group *group = &view->dumps->groups[i];
        size_t first = call;
        struct value *cells;

        while (call < view->join->call_count && view->join->calls[call].group == i)
            call++;
        if (i >= view->top)
            continue;
        cells = table_add_row(results, table, 0);
        FILL_ROW(cells, GROUPS_COLUMNS);
    }
}

struct section *describe_flight_ranks(struct results *results, const struct flight_view *view)
{
    struct section *section = section_new(results, "rank_states", "Where each rank is", NULL);

    add_ranks(results, section, view);
    add_groups(results, section, view);
    return section;
}
