/* All ranks of a run side by side: who is slow, who waits for whom, and what it costs. Reads the
 * digests of the ranks, not their traces. */
#include "sections/ranks/ranks_overview.h"

#include "base/text/format.h"
#include "base/text/owned_text.h"
#include "sections/ranks/ranks_culprit.h"
#include "sections/ranks/ranks_known_waiting.h"
#include "sections/ranks/ranks_tables.h"
#include "sections/tally.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

const char *rank_label(struct results *results, const struct trace *trace)
{
    const char *path = trace_text(trace, trace->path);

    if (trace->facts.rank >= 0)
        return results_format(results, "rank %" PRId64, trace->facts.rank);
    return results_text(results, path_name(path));
}

/* ---- numbers -------------------------------------------------------------------------------- */

/* "3, 5, 17 and 40 more" */
static const char *missing_ranks(struct results *results, const struct all_ranks *run)
{
    const char *list = "";
    uint32_t shown = run->missing_count < 16 ? run->missing_count : 16;

    for (uint32_t i = 0; i < shown; i++)
        list = results_format(results, "%s%s%" PRId64, list, i ? ", " : "", run->missing[i]);
    if (run->missing_in_all > shown)
        list =
            results_format(results, "%s and %" PRId64 " more", list, run->missing_in_all - shown);
    return list;
}

static void add_ranks_number(struct results *results, struct section *section,
                             const struct all_ranks *run)
{
    const char *note = NULL;

    if (run->world_size > 0 && run->missing_in_all > 0)
        note = results_format(results, "of %" PRId64 "; missing: %s", run->world_size,
                              missing_ranks(results, run));
    section_add_number(results, section,
                       (struct number){"ranks", "ranks", value_count(run->count), note});
    if (run->world_size > 0)
        section_add_number(
            results, section,
            (struct number){"world_size", "ranks in the run", value_count(run->world_size), NULL});
}

static void add_layout_number(struct results *results, struct section *section,
                              const struct all_ranks *run)
{
    const char *text = "";

    if (!run->layout.is_given)
        return;
    for (unsigned i = 0; i < AXIS_COUNT; i++) {
        enum layout_axis axis = (enum layout_axis)run->layout.order[i];

        text = results_format(results, "%s%s%s=%d", text, i ? ", " : "", layout_axis_key(axis),
                              run->layout.sizes[axis]);
    }
    section_add_number(results, section,
                       (struct number){"layout", "layout, fastest first", value_text(text), NULL});
}

static const char *share_note(struct results *results, int64_t part_ns, int64_t whole_ns)
{
    if (whole_ns <= 0)
        return NULL;
    return results_format(results, "%s of it",
                          format_fraction(fraction_of(part_ns, whole_ns)).text);
}

/* Sums over the ranks. */
static struct rank_communication sum_communication(const struct all_ranks *run)
{
    struct rank_communication sum = {0};

    for (uint32_t i = 0; i < run->count; i++) {
        const struct rank_communication *one = &run->ranks[i].communication;

        sum.kernel_ns = saturated_sum(sum.kernel_ns, one->kernel_ns);
        sum.waiting_ns = saturated_sum(sum.waiting_ns, one->waiting_ns);
        sum.transfer_ns = saturated_sum(sum.transfer_ns, one->transfer_ns);
        sum.unknown_ns = saturated_sum(sum.unknown_ns, one->unknown_ns);
        sum.joined_count += one->joined_count;
    }
    return sum;
}

static void add_communication_numbers(struct results *results, struct section *section,
                                      const struct all_ranks *run)
{
    struct rank_communication sum = sum_communication(run);

    if (sum.kernel_ns == 0)
        return;
    section_add_number(results, section,
                       (struct number){"communication", "communication kernels, all ranks",
                                       value_time_ns(sum.kernel_ns), NULL});
    if (sum.joined_count == 0) {
        section_add_number(
            results, section,
            (struct number){"communication_waiting", "of it waiting for stragglers",
                            value_not_known("needs the traces of the ranks it talks to"), NULL});
        return;
    }
    section_add_number(results, section,
                       (struct number){"communication_waiting", "of it waiting for stragglers",
                                       value_time_ns(sum.waiting_ns),
                                       share_note(results, sum.waiting_ns, sum.kernel_ns)});
    section_add_number(
        results, section,
        (struct number){"communication_transfer", "of it transfer", value_time_ns(sum.transfer_ns),
                        results_format(results, "%s per rank",
                                       format_time(sum.transfer_ns / (int64_t)run->count).text)});
    if (sum.unknown_ns > 0)
        section_add_number(
            results, section,
            (struct number){"communication_unknown", "of it not known",
                            value_time_ns(sum.unknown_ns),
                            "no other rank of the group is here, or its calls do not match"});
}

static void add_skew_numbers(struct results *results, struct section *section,
                             const struct all_ranks *run)
{
    const struct end_skew *aligned = &run->clocks.aligned;
    const struct end_skew *recorded = &run->clocks.as_recorded;

    if (recorded->count == 0)
        return;
    section_add_number(results, section,
                       (struct number){"end_skew_recorded",
                                       "ends of a collective apart, as recorded",
                                       value_time_ns(recorded->median_ns),
                                       results_format(results, "median; %s to %s",
                                                      format_time(recorded->least_ns).text,
                                                      format_time(recorded->most_ns).text)});
    if (aligned->count > 0)
        section_add_number(results, section,
                           (struct number){"end_skew", "with the clocks aligned",
                                           value_time_ns(aligned->median_ns),
                                           results_format(results, "median; %s to %s",
                                                          format_time(aligned->least_ns).text,
                                                          format_time(aligned->most_ns).text)});
}

/* ---- findings ------------------------------------------------------------------------------- */

/* What is known of the ranks together. */
struct ranks_findings {
    const struct ranks_spread *spread;
    const struct ranks_culprit *culprit;
    const struct ranks_replay *simulation;
};

/* What the rank is compared with. */
static const char *others_text(const struct all_ranks *run)
{
    return run->count == 2 ? "the other rank" : "the median rank";
}

/* "it idles 22.8 ms per step ..., the other rank 20.0 µs; ", or "" where no cause is known. */
static const char *own_cause(struct results *results, const struct all_ranks *run,
                             const struct ranks_findings *facts, size_t rank)
{
    const char *cause = culprit_cause(results, run, facts->culprit, rank);

    return cause ? results_format(results, "it %s; ", cause) : "";
}

/* What `cost_ns` of a step of `step_ns` comes to. */
static struct advice_estimate *loss_estimate(struct results *results, const char *id,
                                             int64_t cost_ns, int64_t step_ns)
{
    struct advice_estimate *estimate = results_allocate(results, sizeof *estimate);

    *estimate = (struct advice_estimate){.id = id, .span = "step"};
    if (cost_ns <= 0 || step_ns <= 0)
        return estimate;
    estimate->share = fraction_of(cost_ns, step_ns);
    if (cost_ns < step_ns)
        estimate->ceiling_speedup = (double)step_ns / (double)(step_ns - cost_ns);
    return estimate;
}

static struct advice_estimate *straggler_estimate(struct results *results,
                                                  const struct ranks_findings *facts,
                                                  int64_t cost_ns, int64_t step_ns)
{
    struct advice_estimate *estimate = loss_estimate(results, "straggler", cost_ns, step_ns);
    struct ranks_estimate replayed;

    estimate->confidence = "high";
    estimate->reason = "the collectives of the ranks are joined";
    if (facts->simulation->run &&
        replay_without_waiting(facts->simulation, facts->spread->straggler, &replayed)) {
        estimate->change =
            results_format(results, "waiting@%" PRId64 "=0",
                           facts->simulation->run->ranks[facts->spread->straggler].digest->rank);
        estimate->replayed_step_ns = replayed.step_ns;
        estimate->replayed_speedup = replayed.speedup;
        estimate->ceiling_speedup = fmax(estimate->ceiling_speedup, replayed.speedup);
    }
    return estimate;
}

static void ranks_overview_find_straggler(struct results *results, struct section *section,
                                          const struct all_ranks *run,
                                          const struct ranks_findings *facts)
{
    const struct ranks_spread *spread = facts->spread;
    const struct rank_in_run *rank = &run->ranks[spread->straggler];
    const struct rank_communication *communication = &rank->communication;
    int64_t cost_ns = caused_exposed_ns_per_step(run, spread->straggler);

    section_add_finding(
        results, section,
        (struct finding){
            .what = results_format(results, "%s for %s",
                                   run->count == 2 ? "the other rank waits" : "the others wait",
                                   rank_text(results, run, spread->straggler)),
            .evidence = results_format(
                results, "%slast to come in %u of %u collectives; %s of all %s of waiting%s",
                own_cause(results, run, facts, spread->straggler), communication->late_count,
                communication->joined_count, format_time(communication->root_ns).text,
                format_time(spread->waiting_ns).text,
                communication->root_ns == communication->caused_ns ? "" : " began with it"),
            .try_this = culprit_advice(facts->culprit, spread->straggler),
            .cost_ns = cost_ns,
            .estimate = straggler_estimate(results, facts, cost_ns, spread->median_step_ns)});
}

static void find_least_waiting(struct results *results, struct section *section,
                               const struct all_ranks *run, const struct ranks_findings *facts)
{
    const struct ranks_spread *spread = facts->spread;
    const struct rank_in_run *rank = &run->ranks[spread->least_waiting];
    int64_t exposed_ns = rank_mean_ns(rank, digest_account_ns(rank->digest, ACCOUNT_COMMUNICATION));
    int64_t cost_ns = spread->median_exposed_ns - exposed_ns;
    struct advice_estimate *estimate =
        loss_estimate(results, "least_waiting", cost_ns, spread->median_step_ns);

    estimate->confidence = "medium";
    estimate->reason = "the collectives of the ranks could not be joined";
    section_add_finding(
        results, section,
        (struct finding){
            .what = results_format(
                results, "%s probably %s for %s", run->count == 2 ? "the other rank" : "the others",
                run->count == 2 ? "waits" : "wait", rank_text(results, run, spread->least_waiting)),
            .evidence = results_format(results,
                                       "%sit waits least: exposed communication per step: %s, %s "
                                       "%s",
                                       own_cause(results, run, facts, spread->least_waiting),
                                       format_time(exposed_ns).text, others_text(run),
                                       format_time(spread->median_exposed_ns).text),
            .try_this = culprit_advice(facts->culprit, spread->least_waiting),
            .cost_ns = cost_ns,
            .estimate = estimate});
}

/* Says nothing of a rank that a finding before it is about. Beside a straggler, long steps are what
 * it causes: they have no cost of their own. */
static void ranks_overview_find_slowest(struct results *results, struct section *section,
                                        const struct all_ranks *run,
                                        const struct ranks_findings *facts)
{
    const struct ranks_spread *spread = facts->spread;
    int64_t step_ns = rank_mean_step_ns(&run->ranks[spread->slowest]);
    int64_t cost_ns = step_ns - spread->median_step_ns;
    bool is_first = spread->straggler == SIZE_MAX && spread->least_waiting == SIZE_MAX;
    struct advice_estimate *estimate = NULL;

    if (spread->slowest == spread->straggler || spread->slowest == spread->least_waiting)
        return;
    if (is_first) {
        estimate = loss_estimate(results, "slowest_rank", cost_ns, step_ns);
        estimate->confidence = "medium";
        estimate->reason = "no collective tells whether the others wait for it";
    }
    section_add_finding(
        results, section,
        (struct finding){.what = results_format(results, "%s has the longest steps",
                                                rank_text(results, run, spread->slowest)),
                         .evidence = results_format(
                             results, "%sa step takes %s on average, %s %s",
                             is_first ? own_cause(results, run, facts, spread->slowest) : "",
                             format_time(step_ns).text, others_text(run),
                             format_time(spread->median_step_ns).text),
                         .try_this = is_first ? culprit_advice(facts->culprit, spread->slowest)
                                              : "look at it alone: --rank",
                         .cost_ns = is_first ? cost_ns : -1,
                         .estimate = estimate});
}

static void find_absent(struct results *results, struct section *section,
                        const struct all_ranks *run)
{
    if (run->missing_in_all > 0)
        section_add_warning(
            results, section,
            results_format(results, "of %" PRId64 " of %" PRId64 " ranks there is no trace: %s",
                           run->missing_in_all, run->world_size, missing_ranks(results, run)),
            "waiting for them counts as transfer, so that waiting is at least what "
            "is printed",
            "give their traces or digests too");
    for (uint32_t i = 0; i < run->double_count; i++)
        section_add_warning(
            results, section,
            results_format(results, "rank %" PRId64 " is here more than once: '%s' is left out",
                           run->doubles[i]->rank, run->doubles[i]->file),
            NULL, "give one trace of each rank");
}

/* Traces that are not ranks of one run stand side by side, and nothing is said of them together. */
static struct section *list_runs(struct results *results, const struct all_ranks *run, uint32_t top)
{
    struct section *section = section_new(results, "overview", "Several traces",
                                          "Shares are of each trace's own step time.");
    struct ranks_spread none = {
        .slowest = SIZE_MAX, .least_waiting = SIZE_MAX, .straggler = SIZE_MAX};

    section_add_number(
        results, section,
        (struct number){"traces", "traces", value_count(run->count + run->double_count), NULL});
    add_ranks_table(results, section, run, &none, top);
    section_add_warning(
        results, section, results_format(results, "not ranks of one run: %s", run->other_runs),
        "so nothing is said of waiting, missing ranks or stragglers",
        "'flopledger compare A B' for two runs, 'flopledger report FILE' for one trace; for one "
        "run, give the traces of its ranks only, named rank0..., rank1... where they do not say it "
        "themselves");
    for (uint32_t i = 0; i < run->double_count; i++)
        section_add_warning(results, section,
                            results_format(results,
                                           "rank %" PRId64 " is here more than once: "
                                           "'%s' is not in the table",
                                           run->doubles[i]->rank, run->doubles[i]->file),
                            NULL, NULL);
    tell_of_lone_ranks(results);
    results->headline = results_format(results, "%u traces, not ranks of one run: %s.",
                                       run->count + run->double_count, run->other_runs);
    return section;
}

struct section *compare_ranks(struct results *results, const struct all_ranks *run, uint32_t top,
                              const struct ranks_changes *changes)
{
    struct section *section;
    struct ranks_spread spread;
    struct ranks_culprit culprit;
    SCOPED(ranks_replay) simulation = {.run = NULL};
    const struct ranks_findings facts = {&spread, &culprit, &simulation};

    if (run->other_runs)
        return list_runs(results, run, top);
    section =
        section_new(results, "overview", "All ranks", "Shares are of each rank's own step time.");
    spread = measure_ranks_spread(run);
    culprit = find_ranks_culprit(run, &spread);
    results->headline = job_headline(results, run, &spread, &culprit);
    if (culprit.rank != SIZE_MAX && culprit.rank == spread.straggler)
        results->awaited_rank = rank_text(results, run, culprit.rank);
    if (changes->courses && run->count > 1)
        ranks_replay_begin(&simulation, run, changes->courses);
    add_ranks_number(results, section, run);
    add_layout_number(results, section, run);
    add_communication_numbers(results, section, run);
    add_skew_numbers(results, section, run);
    add_ranks_table(results, section, run, &spread, top);
    add_job_ledger_table(results, section, run);
    add_joint_collectives_table(results, section, run, top);
    add_ranks_path_table(results, section, run, top);
    add_pipeline_table(results, section, run);
    add_imbalance_table(results, section, run);
    add_clocks_table(results, section, run, top);
    add_rank_steps_table(results, section, run);
    find_absent(results, section, run);
    if (spread.straggler != SIZE_MAX)
        ranks_overview_find_straggler(results, section, run, &facts);
    if (spread.least_waiting != SIZE_MAX)
        find_least_waiting(results, section, run, &facts);
    if (spread.slowest != SIZE_MAX)
        ranks_overview_find_slowest(results, section, run, &facts);
    add_ranks_what_if(results, section, &simulation, changes);
    tell_known_waiting(results, run, &culprit);
    return section;
}
