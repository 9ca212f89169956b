/* The ledger of the job: the accounts of all ranks together, and which rank has most of each. */
#include "base/core/apportion.h"
#include "base/core/saturated.h"
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
