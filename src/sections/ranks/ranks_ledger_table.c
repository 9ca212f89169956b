/* The ledger of the job: the accounts of all ranks together, and which rank has most of each; and
 * each step of each rank: what a heat map is drawn from. */
#include "base/core/apportion.h"
#include "base/core/saturated.h"
#include "ranks/rank_clocks.h"
#include "sections/ranks/ranks_tables.h"
#include "sections/tally.h"

#include <stdlib.h>

/* A line: one number of each rank. */
struct job_line {
    const char *key;
    const char *title;
    int64_t (*of_rank)(const struct rank_in_run *rank, unsigned argument);
    int depth;
    unsigned argument;
};

static int64_t ranks_ledger_whole_of(const struct rank_in_run *rank, unsigned argument)
{
    (void)argument;
    return digest_total_ns(rank->digest);
}

static int64_t ranks_ledger_group_of(const struct rank_in_run *rank, unsigned group)
{
    int64_t total_ns = 0;

    for (unsigned account = 0; account < ACCOUNT_COUNT; account++)
        if (account_descriptions[account].group == (enum account_group)group)
            total_ns += digest_account_ns(rank->digest, (enum account)account);
    return total_ns;
}

static int64_t account_of(const struct rank_in_run *rank, unsigned account)
{
    return digest_account_ns(rank->digest, (enum account)account);
}

enum exposed_part { PART_WAITING, PART_BUBBLE, PART_TRANSFER, PART_UNKNOWN };

/* Waiting in sends and receives is part of all waiting in the ledger's numbers; here both
 * stand side by side and have to add up with transfer and what is not known, so that it is
 * taken out. */
static int64_t ranks_ledger_part_of(const struct rank_in_run *rank, unsigned part)
{
    const struct exposed_parts *exposed = &rank->communication.exposed;

    if (part == PART_WAITING)
        return exposed->waiting_ns - exposed->bubble_ns;
    if (part == PART_BUBBLE)
        return exposed->bubble_ns;
    return part == PART_TRANSFER ? exposed->transfer_ns : exposed->unknown_ns;
}

/* What the ranks have of a line, together and apart. */
struct job_sum {
    int64_t total_ns;
    int64_t least_ns;
    int64_t most_ns;
    uint32_t with_most;
};

/* Least and most of any rank, and the sum: shares of the job are shares of the sum, for every
 * rank's hour costs as much. */
static struct job_sum sum_line(const struct all_ranks *run, const struct job_line *line)
{
    struct job_sum sum = {.least_ns = INT64_MAX, .most_ns = -1};

    for (uint32_t i = 0; i < run->count; i++) {
        int64_t ns = line->of_rank(&run->ranks[i], line->argument);

        sum.total_ns = saturated_sum(sum.total_ns, ns);
        if (ns < sum.least_ns)
            sum.least_ns = ns;
        if (ns > sum.most_ns) {
            sum.most_ns = ns;
            sum.with_most = i;
        }
    }
    return sum;
}

#define JOB_LEDGER_COLUMNS(COLUMN)                                                       \
    COLUMN("account", "account", UNIT_TEXT, 0, BAR_NONE, value_text(line->title))        \
    COLUMN("total", "all ranks", UNIT_TIME_NS, 0, BAR_NONE, value_time_ns(sum.total_ns)) \
    COLUMN("share", "share", UNIT_FRACTION, 0, BAR_WATERFALL,                            \
           value_fraction(fraction_of(sum.total_ns, into->whole_ns)))                    \
    COLUMN("mean", "a rank", UNIT_TIME_NS, 1, BAR_NONE,                                  \
           value_time_ns(rounded_mean(sum.total_ns, into->run->count)))                  \
    COLUMN("step_mean", "a step", UNIT_TIME_NS, 1, BAR_NONE,                             \
           value_time_ns(rounded_mean(sum.total_ns, into->step_count)))                  \
    COLUMN("min", "least", UNIT_TIME_NS, 2, BAR_NONE, value_time_ns(sum.least_ns))       \
    COLUMN("max", "most", UNIT_TIME_NS, 2, BAR_NONE, value_time_ns(sum.most_ns))         \
    COLUMN("max_rank", "which has most", UNIT_TEXT, 2, BAR_NONE,                         \
           sum.most_ns > sum.least_ns                                                    \
               ? value_text(rank_text(into->results, into->run, sum.with_most))          \
               : value_none())                                                           \
    COLUMN("key", "key", UNIT_TEXT, PRIORITY_FOR_PROGRAMS, BAR_NONE, value_text(line->key))

struct job_table {
    struct results *results;
    struct table *table;
    const struct all_ranks *run;
    int64_t whole_ns;
    int64_t step_count; /* of all ranks; at least 1 */
};

/* The whole comes first and gives what all shares are of. A line of no rank's time is left
 * out, but for the whole. */
static void ranks_ledger_add_line(struct job_table *into, const struct job_line *line)
{
    struct job_sum sum = sum_line(into->run, line);
    struct value *cells;

    if (sum.total_ns == 0 && line->depth > 0)
        return;
    if (line->of_rank == ranks_ledger_whole_of)
        into->whole_ns = sum.total_ns;
    cells = table_add_row(into->results, into->table, line->depth);
    FILL_ROW(cells, JOB_LEDGER_COLUMNS);
}

/* These four divide the exposed communication once more. What cannot be told apart has its own
 * line and is put to neither side. */
static void add_parts_of_communication(struct job_table *into)
{
    static const struct job_line parts[] = {
        {"waiting", "waiting for stragglers", ranks_ledger_part_of, 2, PART_WAITING},
        {"bubble", "waiting in sends and receives", ranks_ledger_part_of, 2, PART_BUBBLE},
        {"transfer", "transfer", ranks_ledger_part_of, 2, PART_TRANSFER},
        {"wait_unknown", "waiting or transfer: not known", ranks_ledger_part_of, 2, PART_UNKNOWN},
    };

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        ranks_ledger_add_line(into, &parts[i]);
}

/* The line of the group says the same. A group of copies whose other account is empty would
 * print the same numbers twice, one below the other. */
static bool is_all_of(const struct all_ranks *run, enum account_group group, unsigned account)
{
    for (uint32_t i = 0; i < run->count; i++)
        if (ranks_ledger_group_of(&run->ranks[i], group) != account_of(&run->ranks[i], account))
            return false;
    return group == ACCOUNT_GROUP_COPY;
}

/* Communication has one account only; its parts come from the joined calls, and not from the
 * ledgers of the single ranks. */
static void ranks_ledger_add_group(struct job_table *into, enum account_group group)
{
    static const struct {
        const char *key;
        const char *title;
    } groups[ACCOUNT_GROUP_COUNT] = {
        [ACCOUNT_GROUP_COMPUTE] = {"compute", "compute"},
        [ACCOUNT_GROUP_COMMUNICATION] = {"communication", "exposed communication"},
        [ACCOUNT_GROUP_COPY] = {"copies", "exposed copies"},
        [ACCOUNT_GROUP_IDLE] = {"idle", "idle"},
    };
    struct job_line line = {groups[group].key, groups[group].title, ranks_ledger_group_of, 1,
                            group};

    ranks_ledger_add_line(into, &line);
    if (group == ACCOUNT_GROUP_COMMUNICATION) {
        add_parts_of_communication(into);
        return;
    }
    for (unsigned account = 0; account < ACCOUNT_COUNT; account++) {
        const struct account_description *description = &account_descriptions[account];

        if (description->group != group || is_all_of(into->run, group, account))
            continue;
        line = (struct job_line){description->key, description->title, account_of, 2, account};
        ranks_ledger_add_line(into, &line);
    }
}

/* Means of a step divide by the steps of all ranks, not by those of one: ranks may have
 * recorded different numbers of steps. */
void add_job_ledger_table(struct results *results, struct section *section,
                          const struct all_ranks *run)
{
    static const struct job_line whole = {"steps", "steps of all ranks", ranks_ledger_whole_of, 0,
                                          0};
    struct job_table into = {
        .results = results,
        .table = section_add_table(results, section, "job_ledger", "Ledger of the job",
                                   COLUMNS_OF(JOB_LEDGER_COLUMNS)),
        .run = run,
    };

    for (uint32_t i = 0; i < run->count; i++)
        into.step_count += run->ranks[i].digest->step_count;
    into.step_count = into.step_count ? into.step_count : 1;
    into.table->note = "Time of each rank's steps, summed over the ranks.";
    ranks_ledger_add_line(&into, &whole);
    for (unsigned group = 0; group < ACCOUNT_GROUP_COUNT; group++)
        ranks_ledger_add_group(&into, (enum account_group)group);
}

#define CLOCKS_COLUMNS(COLUMN)                                                             \
    COLUMN("rank", "rank", UNIT_TEXT, 0, BAR_NONE, value_text(rank_text(results, run, i))) \
    COLUMN("offset", "ahead by", UNIT_TIME_NS, 0, BAR_NONE,                                \
           clock->is_known ? value_time_ns(clock->offset_ns) : unknown)                    \
    COLUMN("residual", "left over, median", UNIT_TIME_NS, 0, BAR_NONE,                     \
           clock->call_count ? value_time_ns(clock->residual_ns) : unknown)                \
    COLUMN("residual_max", "at most", UNIT_TIME_NS, 1, BAR_NONE,                           \
           clock->call_count ? value_time_ns(clock->residual_max_ns) : unknown)            \
    COLUMN("collectives", "collectives", UNIT_COUNT, 1, BAR_NONE, value_count(clock->call_count))

/* Beyond 64 ranks the table is cut: nobody reads a thousand clocks, and what depends on them
 * does not need the table. */
void add_clocks_table(struct results *results, struct section *section, const struct all_ranks *run,
                      uint32_t top)
{
    struct table *table;
    bool is_long = run->count > 64;
    uint32_t shown = is_long && top < run->count ? top : run->count;

    if (run->clocks.as_recorded.count == 0)
        return;
    table = section_add_table(results, section, "clocks", "Clocks", COLUMNS_OF(CLOCKS_COLUMNS));
    table->note =
        "Against the first rank's, from the ends of collectives, which end on all ranks at "
        "one moment. Waiting and transfer do not depend on it.";
    table->rows_in_all = run->count;
    for (uint32_t i = 0; i < shown; i++) {
        const struct rank_clock *clock = &run->clocks.clocks[i];
        struct value unknown = value_not_known("needs a collective with the first rank, or with a "
                                               "rank that has one");

        FILL_ROW(table_add_row(results, table, 0), CLOCKS_COLUMNS);
    }
}

#define RANK_STEPS_COLUMNS(COLUMN)                                                                 \
    COLUMN("rank", "rank", UNIT_TEXT, PRIORITY_FOR_PROGRAMS, BAR_NONE, value_text(label))          \
    COLUMN("rank_number", "rank", UNIT_COUNT, PRIORITY_FOR_PROGRAMS, BAR_NONE,                     \
           rank->digest->rank < 0 ? value_none() : value_count(rank->digest->rank))                \
    COLUMN("step", "step", UNIT_COUNT, PRIORITY_FOR_PROGRAMS, BAR_NONE, value_count(step->number)) \
    COLUMN("step_time", "step time", UNIT_TIME_NS, PRIORITY_FOR_PROGRAMS, BAR_NONE,                \
           value_time_ns(step->end_ns - step->start_ns))                                           \
    COLUMN("compute", "compute", UNIT_TIME_NS, PRIORITY_FOR_PROGRAMS, BAR_NONE,                    \
           value_time_ns(group_ns[ACCOUNT_GROUP_COMPUTE]))                                         \
    COLUMN("waiting", "waiting", UNIT_TIME_NS, PRIORITY_FOR_PROGRAMS, BAR_NONE,                    \
           value_time_ns(parts->waiting_ns))                                                       \
    COLUMN("transfer", "transfer", UNIT_TIME_NS, PRIORITY_FOR_PROGRAMS, BAR_NONE,                  \
           value_time_ns(parts->transfer_ns))                                                      \
    COLUMN("wait_unknown", "waiting or transfer", UNIT_TIME_NS, PRIORITY_FOR_PROGRAMS, BAR_NONE,   \
           value_time_ns(parts->unknown_ns))                                                       \
    COLUMN("copies", "copies", UNIT_TIME_NS, PRIORITY_FOR_PROGRAMS, BAR_NONE,                      \
           value_time_ns(group_ns[ACCOUNT_GROUP_COPY]))                                            \
    COLUMN("idle", "idle", UNIT_TIME_NS, PRIORITY_FOR_PROGRAMS, BAR_NONE,                          \
           value_time_ns(group_ns[ACCOUNT_GROUP_IDLE]))                                            \
    COLUMN("flops", "matrix FLOPs", UNIT_FLOPS, PRIORITY_FOR_PROGRAMS, BAR_NONE,                   \
           step->flops < 0 ? value_none() : value_flops((double)step->flops))

static void ranks_step_fill_row(struct value *cells, const struct rank_in_run *rank, uint32_t index,
                                const char *label)
{
    const struct digest_step *step = &rank->digest->steps[index];
    const struct exposed_parts *parts = &rank->steps[index];
    int64_t group_ns[ACCOUNT_GROUP_COUNT] = {0};

    for (unsigned account = 0; account < ACCOUNT_COUNT; account++)
        group_ns[account_descriptions[account].group] += step->account_ns[account];
    FILL_ROW(cells, RANK_STEPS_COLUMNS);
}

void add_rank_steps_table(struct results *results, struct section *section,
                          const struct all_ranks *run)
{
    struct table *table = section_add_table(results, section, "rank_steps", "Steps of each rank",
                                            COLUMNS_OF(RANK_STEPS_COLUMNS));

    for (uint32_t i = 0; i < run->count; i++) {
        const char *label = rank_text(results, run, i);

        for (uint32_t step = 0; step < run->ranks[i].digest->step_count; step++)
            ranks_step_fill_row(table_add_row(results, table, 0), &run->ranks[i], step, label);
    }
}
