/* All ranks side by side: who is slow, and who waits for whom. Reads the results of the ranks, not
 * their traces. */
#include "analyses/ranks_overview.h"

#include "analyses/tally.h"
#include "base/format.h"
#include "ledger/step_outliers.h"
#include "results/find_results.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const char *rank_label(struct results *results, const struct trace *trace)
{
    const char *path = trace_text(trace, trace->path);
    const char *slash = strrchr(path, '/');

    if (trace->facts.rank >= 0)
        return results_format(results, "rank %" PRId64, trace->facts.rank);
    return results_text(results, slash ? slash + 1 : path);
}

static int64_t mean_ns_of(const struct rank_results *rank, const char *key)
{
    struct value mean =
        find_cell(find_table(find_section(rank, "step_ledger"), "ledger"), "key", key, "mean");

    return mean.unit == UNIT_TIME_NS ? mean.integer : 0;
}

/* Share of the line `key` of the ledger; of `or_key` where there is no such line, else 0. */
static struct value share_of(const struct rank_results *rank, const char *key, const char *or_key)
{
    const struct section *section = find_section(rank, "step_ledger");
    const struct table *ledger = find_table(section, "ledger");
    struct value share = find_cell(ledger, "key", key, "share");

    if (share.unit == UNIT_NONE && or_key)
        share = find_cell(ledger, "key", or_key, "share");
    return share.unit == UNIT_NONE && section ? value_fraction(0.0) : share;
}

struct ranks_spread {
    size_t slowest; /* the longest mean step; SIZE_MAX where none stands out by more than 2 % */
    size_t least_waiting; /* the least exposed communication; SIZE_MAX where ranks differ by less
                             than 5 % of a step */
    int64_t median_step_ns;
    int64_t median_exposed_ns;
};

static struct ranks_spread measure_spread(const struct results *results)
{
    struct ranks_spread spread = {.slowest = 0, .least_waiting = 0};
    int64_t *steps = zeroed_array(results->rank_count, sizeof *steps);
    int64_t *exposed = zeroed_array(results->rank_count, sizeof *exposed);

    for (size_t i = 0; i < results->rank_count; i++) {
        steps[i] = mean_ns_of(&results->ranks[i], "step");
        exposed[i] = mean_ns_of(&results->ranks[i], "exposed_communication");
        if (steps[i] > steps[spread.slowest])
            spread.slowest = i;
        if (exposed[i] < exposed[spread.least_waiting])
            spread.least_waiting = i;
    }
    {
        int64_t slowest_ns = steps[spread.slowest], least_ns = exposed[spread.least_waiting];

        spread.median_step_ns = median_of(steps, results->rank_count);
        spread.median_exposed_ns = median_of(exposed, results->rank_count);
        if ((double)slowest_ns <= 1.02 * (double)spread.median_step_ns)
            spread.slowest = SIZE_MAX;
        if ((double)(spread.median_exposed_ns - least_ns) <= 0.05 * (double)spread.median_step_ns)
            spread.least_waiting = SIZE_MAX;
    }
    free(steps);
    free(exposed);
    return spread;
}

static const char *remark_on(size_t index, const struct ranks_spread *spread)
{
    if (index == spread->slowest)
        return "longest step";
    if (index == spread->least_waiting)
        return "waits least";
    return "";
}

static void fill_row(struct value *cells, const struct rank_results *rank)
{
    const struct section *ledger = find_section(rank, "step_ledger");
    const struct section *run = find_section(rank, "run");
    const char *slash = strrchr(rank->file, '/');

    cells[0] = value_text(rank->label);
    cells[1] = value_text(slash ? slash + 1 : rank->file);
    cells[2] = find_cell(find_table(run, "devices"), "is_reported", "yes", "name");
    cells[3] = find_number(run, "steps");
    cells[4] = find_number(ledger, "step_time_mean");
    cells[5] = share_of(rank, "matrix", NULL);
    cells[6] = share_of(rank, "other_compute", NULL);
    cells[7] = share_of(rank, "exposed_communication", NULL);
    cells[8] = share_of(rank, "copies", "exposed_copy");
    cells[9] = share_of(rank, "idle", NULL);
}

static void add_findings(struct results *results, struct section *section,
                         const struct ranks_spread *spread)
{
    if (spread->least_waiting != SIZE_MAX) {
        const struct rank_results *rank = &results->ranks[spread->least_waiting];

        section_add_finding(
            results, section,
            (struct finding){
                .what = results_format(
                    results, "%s waits least in communication: the others probably wait for it",
                    rank->label),
                .evidence = results_format(
                    results, "exposed communication per step: %s, the median rank %s",
                    format_time(mean_ns_of(rank, "exposed_communication")).text,
                    format_time(spread->median_exposed_ns).text),
                .try_this =
                    "compare its compute, data loading and clocks with another rank's (--rank)",
                .cost_ns = spread->median_exposed_ns - mean_ns_of(rank, "exposed_communication")});
    }
    if (spread->slowest != SIZE_MAX) {
        const struct rank_results *rank = &results->ranks[spread->slowest];

        section_add_finding(
            results, section,
            (struct finding){
                .what = results_format(results, "%s has the longest steps", rank->label),
                .evidence = results_format(results, "%s on average, the median rank %s",
                                           format_time(mean_ns_of(rank, "step")).text,
                                           format_time(spread->median_step_ns).text),
                .try_this = "look at it alone: --rank",
                .cost_ns = mean_ns_of(rank, "step") - spread->median_step_ns});
    }
}

struct section *compare_ranks(struct results *results)
{
    static const struct column columns[] = {
        {"rank", "rank", UNIT_TEXT, 0, false},
        {"file", "file", UNIT_TEXT, 4, false},
        {"device", "device", UNIT_TEXT, 5, false},
        {"steps", "steps", UNIT_COUNT, 3, false},
        {"step_time_mean", "mean step", UNIT_TIME_NS, 0, false},
        {"matrix_share", "matrix", UNIT_FRACTION, 1, false},
        {"other_compute_share", "other compute", UNIT_FRACTION, 2, false},
        {"communication_share", "exposed comm", UNIT_FRACTION, 1, false},
        {"copy_share", "copies", UNIT_FRACTION, 3, false},
        {"idle_share", "idle", UNIT_FRACTION, 1, false},
        {"remark", "stands out", UNIT_TEXT, 0, false},
    };
    struct section *section =
        section_new(results, "overview", "All ranks", "Shares are of each rank's own step time.");
    struct table *table = section_add_table(results, section, "ranks", "Ranks", columns,
                                            sizeof columns / sizeof *columns);
    struct ranks_spread spread = measure_spread(results);

    section_add_number(
        results, section,
        (struct number){"ranks", "ranks", value_count((int64_t)results->rank_count), NULL});
    for (size_t i = 0; i < results->rank_count; i++) {
        struct value *cells = table_add_row(results, table, 0);

        fill_row(cells, &results->ranks[i]);
        cells[10] = value_text(remark_on(i, &spread));
    }
    add_findings(results, section, &spread);
    return section;
}
