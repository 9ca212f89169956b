/* One row a rank: where its steps went, for whom it waited, and who waited for it. */
#include "base/core/apportion.h"
#include "base/core/saturated.h"
#include "base/text/format.h"
#include "ledger/step_outliers.h"
#include "sections/ranks/ranks_tables.h"
#include "sections/tally.h"

#include <inttypes.h>
#include <stdlib.h>

/* So many ranks are shown in any case. */
enum { RANKS_SHOWN = 64 };

int64_t rank_mean_ns(const struct rank_in_run *rank, int64_t total_ns)
{
    return rank->digest->step_count ? rounded_mean(total_ns, rank->digest->step_count) : 0;
}

int64_t rank_mean_step_ns(const struct rank_in_run *rank)
{
    return rank_mean_ns(rank, digest_total_ns(rank->digest));
}

const char *rank_text(struct results *results, const struct all_ranks *run, size_t rank)
{
    char label[RANK_LABEL_BYTES];

    return results_text(results, all_ranks_label(run, (uint32_t)rank, label));
}

/* ---- what stands out ------------------------------------------------------------------------ */

/* root_ns: waiting is charged to the rank where it began, not to each that passed it on. A
 * rank is called the straggler if it causes more than twice what another causes on average,
 * and if it matters: a thousandth of a step, and a fifth of all waiting, or, in a job of many
 * ranks where no one reaches a fifth, ten times the others. Noise alone makes some
 * rank the first of the list; it must not be accused. */
static void ranks_table_find_straggler(struct ranks_spread *spread, const struct all_ranks *run)
{
    int64_t most_ns = 0;
    double others_ns; /* what each of the other ranks causes, on average */

    spread->straggler = SIZE_MAX;
    for (uint32_t i = 0; i < run->count; i++) {
        const struct rank_communication *communication = &run->ranks[i].communication;

        spread->waiting_ns = saturated_sum(spread->waiting_ns, communication->waiting_ns);
        if (communication->root_ns > most_ns) {
            most_ns = communication->root_ns;
            spread->straggler = i;
        }
    }
    if (run->count < 2 || most_ns == 0)
        return;
    others_ns = (double)(spread->waiting_ns - most_ns) / (run->count - 1);
    if (rank_mean_ns(&run->ranks[spread->straggler], most_ns) < spread->median_step_ns / 1000 ||
        (double)most_ns <= 2 * others_ns ||
        ((double)most_ns <= 10 * others_ns && most_ns <= spread->waiting_ns / 5))
        spread->straggler = SIZE_MAX;
}

/* Of two ranks a median would be one of both or the mean of both: the other one is taken. A
 * step 2 % above the median is within what steps of one rank differ by; exposed communication
 * has to be less than the median by 5 % of a step to say that the rank waits least. That is
 * asked only where no waiting is known: joined calls tell it better. A recording without steps is
 * as long as its device was at work, for which no other rank need wait. */
struct ranks_spread measure_ranks_spread(const struct all_ranks *run)
{
    struct ranks_spread spread = {.slowest = 0, .least_waiting = 0};
    int64_t *steps = zeroed_array(run->count, sizeof *steps);
    int64_t *exposed = zeroed_array(run->count, sizeof *exposed);
    int64_t slowest_ns, least_ns;

    for (uint32_t i = 0; i < run->count; i++) {
        const struct rank_digest *digest = run->ranks[i].digest;

        steps[i] = rank_mean_step_ns(&run->ranks[i]);
        exposed[i] = rank_mean_ns(&run->ranks[i], digest_account_ns(digest, ACCOUNT_COMMUNICATION));
        if (steps[i] > steps[spread.slowest])
            spread.slowest = i;
        if (exposed[i] < exposed[spread.least_waiting])
            spread.least_waiting = i;
    }
    slowest_ns = steps[spread.slowest];
    least_ns = exposed[spread.least_waiting];
    spread.median_step_ns =
        run->count == 2 ? steps[1 - spread.slowest] : median_of(steps, run->count);
    spread.median_exposed_ns =
        run->count == 2 ? exposed[1 - spread.least_waiting] : median_of(exposed, run->count);
    ranks_table_find_straggler(&spread, run);
    if ((double)slowest_ns <= 1.02 * (double)spread.median_step_ns ||
        run->ranks[spread.slowest].digest->source == WINDOW_WHOLE)
        spread.slowest = SIZE_MAX;
    if (spread.waiting_ns > 0 ||
        (double)(spread.median_exposed_ns - least_ns) <= 0.05 * (double)spread.median_step_ns)
        spread.least_waiting = SIZE_MAX;
    free(steps);
    free(exposed);
    return spread;
}

/* The straggler first: that others wait for a rank says more than that its steps are long,
 * which they are for all ranks of a job in step. */
static const char *ranks_table_remark_on(struct results *results, const struct all_ranks *run,
                                         size_t index, const struct ranks_spread *spread)
{
    const struct rank_digest *digest = run->ranks[index].digest;
    const char *remark = "";

    if (index == spread->straggler)
        remark = "others wait for it";
    else if (index == spread->slowest)
        remark = "longest step";
    else if (index == spread->least_waiting)
        remark = "waits least";
    if (digest->is_truncated || digest->damaged_events > 0)
        remark = results_format(results, "%s%scut or damaged", remark, *remark ? ", " : "");
    return remark;
}

/* ---- rows ----------------------------------------------------------------------------------- */

struct ranks_view {
    struct results *results;
    const struct all_ranks *run;
    const struct ranks_spread *spread;
};

static struct value share_of_groups(const struct rank_digest *digest, enum account_group group)
{
    int64_t total_ns = 0;

    for (unsigned account = 0; account < ACCOUNT_COUNT; account++)
        if (account_descriptions[account].group == group)
            total_ns += digest_account_ns(digest, (enum account)account);
    return value_fraction(fraction_of(total_ns, digest_total_ns(digest)));
}

static struct value ranks_table_share_of_account(const struct rank_digest *digest,
                                                 enum account account)
{
    return value_fraction(fraction_of(digest_account_ns(digest, account), digest_total_ns(digest)));
}

/* Waiting and what follows from it are known where a call of the rank joined with another's.
 * Three states: no communication at all, communication that no other rank's trace explains, and
 * a number. */
static struct value if_joined(const struct rank_in_run *rank, struct value value)
{
    if (rank->communication.kernel_ns == 0)
        return value_none();
    return rank->communication.joined_count > 0
               ? value
               : value_not_known("needs the traces of the ranks it talks to");
}

/* "steps 13 to 15, 25.1 s after the first": of one of several windows of a process. */
static struct value steps_and_time_of_window(struct results *results, const struct all_ranks *run,
                                             const struct rank_digest *digest)
{
    const struct rank_digest *first = run->digest_list[0];
    const char *steps = "", *later = "";

    if (!run->are_windows || digest->step_count == 0)
        return value_none();
    if (digest->source == WINDOW_PROFILER_STEP)
        steps = results_format(results, "steps %" PRId64 " to %" PRId64, digest->steps[0].number,
                               digest->steps[digest->step_count - 1].number);
    if (digest != first)
        later = results_format(
            results, "%s%s after the first", *steps ? ", " : "",
            format_short_time(digest->steps[0].start_ns - first->steps[0].start_ns).text);
    return value_text(results_format(results, "%s%s", steps, later));
}

/* The place in an axis of one rank says nothing. */
static struct value place_in(const struct all_ranks *run, const struct rank_in_run *rank,
                             enum layout_axis axis)
{
    bool distinguishes = !run->layout.is_given || run->layout.sizes[axis] > 1;

    return distinguishes && rank->coordinates[axis] >= 0 ? value_count(rank->coordinates[axis])
                                                         : value_none();
}

#define RANKS_COLUMNS(COLUMN)                                                                      \
    COLUMN("rank", "rank", UNIT_TEXT, 0, BAR_NONE,                                                 \
           value_text(rank_text(view->results, view->run, index)))                                 \
    COLUMN("file", "file", UNIT_TEXT, 6, BAR_NONE,                                                 \
           value_text(results_text(view->results, digest->file)))                                  \
    COLUMN("device", "device", UNIT_TEXT, 7, BAR_NONE,                                             \
           *digest->device_name ? value_text(results_text(view->results, digest->device_name))     \
                                : value_none())                                                    \
    COLUMN("steps", "steps", UNIT_COUNT, 4, BAR_NONE, value_count(digest->step_count))             \
    COLUMN("step_time_mean", "mean step", UNIT_TIME_NS, 0, BAR_NONE,                               \
           value_time_ns(rank_mean_step_ns(rank)))                                                 \
    COLUMN("matrix_share", "matrix", UNIT_FRACTION, 1, BAR_NONE,                                   \
           ranks_table_share_of_account(digest, ACCOUNT_MATRIX))                                   \
    COLUMN("other_compute_share", "other compute", UNIT_FRACTION, 2, BAR_NONE,                     \
           ranks_table_share_of_account(digest, ACCOUNT_OTHER_COMPUTE))                            \
    COLUMN("communication_share", "exposed comm", UNIT_FRACTION, 1, BAR_NONE,                      \
           ranks_table_share_of_account(digest, ACCOUNT_COMMUNICATION))                            \
    COLUMN(                                                                                        \
        "waiting_share", "of it waiting", UNIT_FRACTION, 1, BAR_NONE,                              \
        if_joined(rank, value_fraction(fraction_of(communication->exposed.waiting_ns, total_ns)))) \
    COLUMN("copy_share", "copies", UNIT_FRACTION, 3, BAR_NONE,                                     \
           share_of_groups(digest, ACCOUNT_GROUP_COPY))                                            \
    COLUMN("idle_share", "idle", UNIT_FRACTION, 1, BAR_NONE,                                       \
           share_of_groups(digest, ACCOUNT_GROUP_IDLE))                                            \
    COLUMN("came_last", "came last", UNIT_COUNT, 2, BAR_NONE,                                      \
           if_joined(rank, value_count(communication->late_count)))                                \
    COLUMN("waited_for", "others waited", UNIT_TIME_NS, 1, BAR_NONE,                               \
           if_joined(rank, value_time_ns(communication->caused_ns)))                               \
    COLUMN("waiting_began", "waiting began here", UNIT_TIME_NS, 5, BAR_NONE,                       \
           if_joined(rank, value_time_ns(communication->root_ns)))                                 \
    COLUMN("communication", "comm kernels", UNIT_TIME_NS, 5, BAR_NONE,                             \
           value_time_ns(communication->kernel_ns))                                                \
    COLUMN("waiting", "waiting", UNIT_TIME_NS, 5, BAR_NONE,                                        \
           if_joined(rank, value_time_ns(communication->waiting_ns)))                              \
    COLUMN("transfer", "transfer", UNIT_TIME_NS, 5, BAR_NONE,                                      \
           if_joined(rank, value_time_ns(communication->transfer_ns)))                             \
    COLUMN("remark", "outlier", UNIT_TEXT, 0, BAR_NONE,                                            \
           value_text(ranks_table_remark_on(view->results, view->run, index, view->spread)))       \
    COLUMN("tp", "tp", UNIT_COUNT, 4, BAR_NONE, place_in(view->run, rank, AXIS_TENSOR))            \
    COLUMN("cp", "cp", UNIT_COUNT, 4, BAR_NONE, place_in(view->run, rank, AXIS_CONTEXT))           \
    COLUMN("dp", "dp", UNIT_COUNT, 4, BAR_NONE, place_in(view->run, rank, AXIS_DATA))              \
    COLUMN("pp", "pp", UNIT_COUNT, 4, BAR_NONE, place_in(view->run, rank, AXIS_PIPELINE))          \
    COLUMN("host", "host", UNIT_TEXT, 6, BAR_NONE,                                                 \
           *digest->hostname ? value_text(results_text(view->results, digest->hostname))           \
                             : value_none())                                                       \
    COLUMN("window", "window", UNIT_TEXT, 4, BAR_NONE,                                             \
           steps_and_time_of_window(view->results, view->run, digest))

static void ranks_table_fill_row(struct value *cells, const struct ranks_view *view, size_t index)
{
    const struct rank_in_run *rank = &view->run->ranks[index];
    const struct rank_digest *digest = rank->digest;
    const struct rank_communication *communication = &rank->communication;
    int64_t total_ns = digest_total_ns(digest);

    FILL_ROW(cells, RANKS_COLUMNS);
}

/* A rank, and how much it stands out. */
struct notable_rank {
    uint32_t index;
    int64_t weight;
};

static int compare_notable(const void *left, const void *right)
{
    const struct notable_rank *a = left;
    const struct notable_rank *b = right;

    if (a->weight != b->weight)
        return a->weight > b->weight ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

static int compare_indexes(const void *left, const void *right)
{
    const struct notable_rank *a = left;
    const struct notable_rank *b = right;

    return a->index < b->index ? -1 : a->index > b->index;
}

/* The ranks to show, in their order; free() them. All ranks up to RANKS_SHOWN; of more, those
 * that cause waiting or have the longest steps. They are then put back into the order of ranks,
 * in which a reader looks for neighbors on a node. */
static struct notable_rank *choose_ranks(const struct all_ranks *run, size_t *count, uint32_t top)
{
    struct notable_rank *notable = zeroed_array(run->count, sizeof *notable);

    *count = run->count;
    for (uint32_t i = 0; i < run->count; i++) {
        int64_t off_ns = rank_mean_step_ns(&run->ranks[i]);

        notable[i] =
            (struct notable_rank){i, saturated_sum(run->ranks[i].communication.root_ns, off_ns)};
    }
    if (run->count > RANKS_SHOWN && top < run->count) {
        qsort(notable, run->count, sizeof *notable, compare_notable);
        *count = top;
        qsort(notable, top, sizeof *notable, compare_indexes);
    }
    return notable;
}

/* With thousands of ranks the table shows the notable ones: chosen first, then filled, as a
 * row needs the spread over all of them. */
void add_ranks_table(struct results *results, struct section *section, const struct all_ranks *run,
                     const struct ranks_spread *spread, uint32_t top)
{
    struct ranks_view view = {.results = results, .run = run, .spread = spread};
    struct table *table =
        section_add_table(results, section, "ranks", "Ranks", COLUMNS_OF(RANKS_COLUMNS));
    size_t count;
    struct notable_rank *shown = choose_ranks(run, &count, top);

    table->rows_in_all = run->count;
    for (size_t i = 0; i < count; i++)
        ranks_table_fill_row(table_add_row(results, table, 0), &view, shown[i].index);
    free(shown);
}
