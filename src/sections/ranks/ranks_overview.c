/* All ranks of a run side by side: who is slow, who waits for whom, and what it costs. Reads the
 * digests of the ranks, not their traces. */
#include "sections/ranks/ranks_overview.h"

#include "base/core/search.h"
#include "base/text/format.h"
#include "base/text/owned_text.h"
#include "output/results/device_words.h"
#include "output/results/results.h"
#include "ranks/all_ranks.h"
#include "ranks/one_run.h"
#include "ranks/rank_clocks.h"
#include "sections/ranks/ranks_tables.h"
#include "sections/tally.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* What is known of the ranks together. */
struct ranks_findings {
    const struct ranks_spread *spread;
    const struct ranks_culprit *culprit;
    const struct ranks_replay *simulation;
};

/* ---- known waiting --------------------------------------------------------------------------- */

/* What the advice of each rank says of communication, once its calls are joined with the others'.
 */

/* As for the rules of the advice: a smaller share of the steps is no finding. */
static const double least_share = 0.02;

/* By the number that the rank gives itself: results come in the order of the files. */
static const struct rank_in_run *rank_in_run_of(const struct all_ranks *run, int64_t number)
{
    for (uint32_t i = 0; number >= 0 && i < run->count; i++)
        if (run->ranks[i].digest->rank == number)
            return &run->ranks[i];
    return NULL;
}

/* A finding and where it stands. */
struct placed_finding {
    struct section *section; /* NULL: there is none */
    size_t at;
};

/* By its id, not by its text: the text changes with what is known of the rank. */
static struct placed_finding find_exposed_communication(const struct rank_results *rank)
{
    for (size_t i = 0; i < rank->section_count; i++) {
        struct section *section = rank->sections[i];

        for (size_t at = 0; at < section->finding_count; at++) {
            const struct advice_estimate *estimate = section->findings[at].estimate;

            if (estimate && strcmp(estimate->id, "exposed_communication") == 0)
                return (struct placed_finding){section, at};
        }
    }
    return (struct placed_finding){.section = NULL};
}

/* The estimate for a part of the time; what was replayed was without all of it. Speedups of the
 * whole finding are dropped, not scaled: what a replay brings is not proportional to the time
 * that it takes away. The bound remains: 1 / (1 - share), as of any time that goes to nothing
 * (Amdahl). */
static struct advice_estimate *estimate_of_part(struct results *results,
                                                const struct advice_estimate *whole, double share,
                                                bool is_joined)
{
    struct advice_estimate *part = results_allocate(results, sizeof *part);

    *part = *whole;
    part->share = share;
    part->change = NULL;
    part->replayed_step_ns = -1;
    part->replayed_speedup = part->least_speedup = part->most_speedup = 0;
    if (part->ceiling_speedup > 0)
        part->ceiling_speedup = 1 / (1 - share);
    part->confidence = is_joined ? "high" : "medium";
    part->reason = is_joined ? "its collectives are joined with those of the other ranks"
                             : "the collectives of the ranks could not be joined";
    return part;
}

/* What a rank waits for others in its steps. */
struct waiting {
    int64_t ns;
    bool is_joined; /* false: it is what the rank that waits least does not have */
};

/* A part of the exposed communication, and its estimate the same part of that one's: the two
 * are not to be added up. */
static struct finding waiting_finding(struct results *results, const struct finding *exposed,
                                      const struct rank_in_run *rank, const char *straggler,
                                      struct waiting waiting)
{
    double share = fraction_of(waiting.ns, digest_total_ns(rank->digest));
    struct advice_estimate *estimate =
        estimate_of_part(results, exposed->estimate, share, waiting.is_joined);

    estimate->id = "waiting_for_stragglers";
    estimate->is_reported_for_job = true;
    return (struct finding){
        .what = "waiting for stragglers",
        .evidence = waiting.is_joined
                        ? "of exposed communication, the part before the last rank came"
                        : "of exposed communication, what the rank that waits least has not",
        .try_this = results_format(results, "overlap does not help here: see %s in \"All ranks\"",
                                   straggler ? straggler : "who comes last"),
        .cost_ns = rank_mean_ns(rank, waiting.ns),
        .estimate = estimate};
}

/* What is left of exposed communication without the waiting: only that can be overlapped. */
static struct finding transfer_finding(struct results *results, const struct finding *exposed,
                                       const struct rank_in_run *rank, struct waiting waiting)
{
    int64_t rest_ns = digest_account_ns(rank->digest, ACCOUNT_COMMUNICATION) - waiting.ns;
    double share = fraction_of(rest_ns, digest_total_ns(rank->digest));

    return (struct finding){
        .what = exposed->what,
        .evidence = results_format(results, "what is left of it without %s of waiting per step",
                                   format_time(rank_mean_ns(rank, waiting.ns)).text),
        .try_this = "overlap it with compute (DDP buckets, FSDP prefetch, async_op=True), or send "
                    "less",
        .cost_ns = rank_mean_ns(rank, rest_ns),
        .estimate = estimate_of_part(results, exposed->estimate, share, waiting.is_joined)};
}

/* Puts the finding in its place again: those that cost most come first. The cost of one finding
 * changed, all others are in order: one pass of insertion to either side restores it. A finding
 * that has to come first, whatever it costs, is not passed. */
static void place_in_order(struct section *section, size_t at)
{
    struct finding *findings = section->findings;
    struct finding finding = findings[at];

    for (; at + 1 < section->finding_count && findings[at + 1].cost_ns > finding.cost_ns; at++)
        findings[at] = findings[at + 1];
    for (; at > 0 && findings[at - 1].cost_ns < finding.cost_ns && findings[at - 1].estimate &&
           !findings[at - 1].estimate->comes_first;
         at--)
        findings[at] = findings[at - 1];
    findings[at] = finding;
}

/* The finding of one rank becomes two, of waiting and of transfer, since they ask for
 * different remedies. The place of the first is taken before the second is added: adding may
 * move the array, and `exposed` must not be used after it. Each part below the bound of
 * findings is left out, as anywhere else. */
static void split_finding(struct results *results, struct placed_finding place,
                          const struct rank_in_run *rank, const char *straggler,
                          struct waiting known)
{
    struct finding *exposed = &place.section->findings[place.at];
    struct finding waiting = waiting_finding(results, exposed, rank, straggler, known);
    struct finding transfer = transfer_finding(results, exposed, rank, known);

    if (waiting.estimate->share < least_share)
        return;
    *exposed = waiting;
    place_in_order(place.section, place.at);
    if (transfer.estimate->share < least_share)
        return;
    section_add_finding(results, place.section, transfer);
    place_in_order(place.section, place.section->finding_count - 1);
}

/* Where calls are not joined: communication beyond that of the rank that waits least. */
static struct waiting ranks_waiting_of(const struct all_ranks *run,
                                       const struct ranks_spread *spread,
                                       const struct rank_in_run *rank)
{
    const struct rank_in_run *least;
    int64_t own_ns = digest_account_ns(rank->digest, ACCOUNT_COMMUNICATION);

    if (spread->least_waiting == SIZE_MAX)
        return (struct waiting){rank->communication.exposed.waiting_ns, true};
    least = &run->ranks[spread->least_waiting];
    own_ns -= rank_mean_ns(least, digest_account_ns(least->digest, ACCOUNT_COMMUNICATION)) *
              rank->digest->step_count;
    return (struct waiting){own_ns > 0 ? own_ns : 0, false};
}

/* Communication that nothing hides is told of each rank before the others are known. Where most of
 * it turns out to be waiting for stragglers, overlap would not take it away: the finding becomes
 * one of waiting, and names the rank that is waited for. */
static void tell_known_waiting(struct results *results, const struct all_ranks *run,
                               const struct ranks_findings *facts)
{
    const struct ranks_culprit *culprit = facts->culprit;
    const char *straggler =
        culprit->rank == SIZE_MAX || run->count < 2 ? NULL : rank_text(results, run, culprit->rank);

    for (size_t i = 0; i < results->rank_count; i++) {
        const struct rank_in_run *rank = rank_in_run_of(run, results->ranks[i].rank);
        struct placed_finding place = find_exposed_communication(&results->ranks[i]);

        if (rank && place.section)
            split_finding(results, place, rank, straggler,
                          ranks_waiting_of(run, facts->spread, rank));
    }
}

/* Where the other traces are of other runs: nobody among them says who is late. The advice of a
 * single rank points at the section on all ranks, which there is none of here: the hint is cut
 * off where it begins. */
static void tell_of_lone_ranks(struct results *results)
{
    for (size_t i = 0; i < results->rank_count; i++) {
        struct placed_finding place = find_exposed_communication(&results->ranks[i]);
        const char **advice = place.section ? &place.section->findings[place.at].try_this : NULL;
        const char *rest = advice ? strstr(*advice, "; \"All ranks\"") : NULL;

        if (rest)
            *advice = results_format(results, "%.*s", (int)(rest - *advice), *advice);
    }
}

/* ---- ranks overview -------------------------------------------------------------------------- */

/* A trace that does not tell its rank is known by its file. */
struct rank_results *results_add_trace(struct results *results, const struct trace *trace)
{
    const char *path = results_text(results, trace_text(trace, trace->path));
    const char *name = results_text(results, trace_file_name(trace));
    int64_t rank = trace->facts.rank;
    struct rank_results *added =
        results_add_rank(results, rank < 0 ? name : results_format(results, "rank %" PRId64, rank),
                         path, rank, device_speakers(trace, NULL));

    added->name = name;
    return added;
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

/* Missing ranks are named where the world's size is known: who is slow among those that were
 * recorded may only be waiting for one that was not. */
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
        section_add_value(results, section, "world_size", "ranks in the run",
                          value_count(run->world_size));
}

/* Written as the option takes it, fastest first, so that it can be copied into the next call.
 * Nothing where the layout was not given: a guess of it would look like a fact. */
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
    section_add_value(results, section, "layout", "layout, fastest first", value_text(text));
}

static const char *share_note(struct results *results, int64_t part_ns, int64_t whole_ns)
{
    if (whole_ns <= 0)
        return NULL;
    return results_format(results, "%s of it",
                          format_fraction(fraction_of(part_ns, whole_ns)).text);
}

/* Sums over the ranks. Saturated: sums of thousands of ranks over long recordings must not wrap
 * to a negative time. */
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

/* Without another rank of the group waiting and transfer cannot be told apart: both look like
 * a long kernel. */
static void add_communication_numbers(struct results *results, struct section *section,
                                      const struct all_ranks *run)
{
    struct rank_communication sum = sum_communication(run);

    if (sum.kernel_ns == 0)
        return;
    section_add_value(results, section, "communication", "communication kernels, all ranks",
                      value_time_ns(sum.kernel_ns));
    if (sum.joined_count == 0) {
        section_add_value(results, section, "communication_waiting", "of it waiting for stragglers",
                          value_not_known("needs the traces of the ranks it talks to"));
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

/* Both medians are shown, before and after the clocks were aligned: their quotient tells how
 * far the alignment, and with it what is said of who came last, can be trusted. */
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

/* What `cost_ns` of a step of `step_ns` comes to. A bound from the share of the time: the step
 * without all of it. With a cost as long as the step there is no bound, and 0 stands for it. */
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

/* The replay of all ranks says what is gained by the straggler being on time; it may say more
 * than the mean waiting of the others, as where a late rank delays one step after another. So
 * the ceiling is at least what was replayed. */
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

/* Waiting that began with the rank, and not waiting in collectives that it was last in: a rank
 * is often late because it waited itself for a third one. */
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

/* A collective ends for all when the last rank has come: who is late waits least. That is all
 * that can be said where the calls of the ranks are not joined. */
static void find_least_waiting(struct results *results, struct section *section,
                               const struct all_ranks *run, const struct ranks_findings *facts)
{
    const struct ranks_spread *spread = facts->spread;
    const struct rank_in_run *rank = &run->ranks[spread->least_waiting];
    int64_t exposed_ns = rank_mean_ns(rank, digest_account_ns(rank->digest, ACCOUNT_COMMUNICATION));
    int64_t cost_ns = spread->median_exposed_ns - exposed_ns;
    int64_t step_ns = run->count == 2 ? rank_mean_step_ns(&run->ranks[1 - spread->least_waiting])
                                      : spread->median_step_ns; /* of who waits */
    struct advice_estimate *estimate = loss_estimate(results, "least_waiting", cost_ns, step_ns);

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

static bool is_window_of_a_rank(const struct all_ranks *run, const struct rank_digest *digest)
{
    uint32_t at = LOWER_BOUND(i, 0, run->count, run->digest_list[i]->rank < digest->rank);

    return at < run->count && is_later_window(run->digest_list[at], digest);
}

/* The profilers of the ranks recorded several times: the first windows are those compared. */
static void find_later_windows(struct results *results, struct section *section,
                               const struct all_ranks *run)
{
    const char *first = NULL;
    uint32_t windows = 0;

    for (uint32_t i = 0; i < run->double_count; i++)
        if (is_window_of_a_rank(run, run->doubles[i]) && windows++ == 0)
            first = run->doubles[i]->file;
    if (first)
        section_add_warning(
            results, section,
            results_format(results,
                           "the first window of each rank is compared; %u later one%s, '%s' among "
                           "them, left out",
                           windows, windows == 1 ? " is" : "s are", first),
            "their profilers recorded several times", "give the traces of one window");
}

/* What does not tell its rank is there for the recording that it shares with another. */
static void tell_double(struct results *results, struct section *section,
                        const struct rank_digest *digest)
{
    const char *what =
        !has_known_rank(digest)
            ? results_format(results, "'%s' is left out: another file has its recording, too",
                             digest->file)
            : results_format(results, "rank %" PRId64 " is here more than once: '%s' is left out",
                             digest->rank, digest->file);

    section_add_warning(results, section, what, NULL, "give one trace of each rank");
}

/* What a missing rank was waited for counts as transfer, so that the waiting shown is a lower
 * bound. */
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
        if (!is_window_of_a_rank(run, run->doubles[i]))
            tell_double(results, section, run->doubles[i]);
    find_later_windows(results, section, run);
}

/* What one process did at several times. */
static void tell_windows(struct results *results, struct section *section,
                         const struct all_ranks *run)
{
    section_add_note(results, section, "windows of one process, recorded one after another",
                     "its profiler recorded several times, and each trace is of one of them",
                     "'flopledger report FILE' for one window, 'flopledger compare A B' for two");
    results->headline = results_format(
        results, "%u windows of one process, recorded one after another.", run->count);
}

static void tell_other_runs(struct results *results, struct section *section,
                            const struct all_ranks *run)
{
    section_add_warning(
        results, section, results_format(results, "not ranks of one run: %s", run->other_runs),
        "so nothing is said of waiting, missing ranks or stragglers",
        "'flopledger compare A B' for two runs, 'flopledger report FILE' for one trace; for one "
        "run, give the traces of its ranks only, named rank0..., rank1... where they do not say it "
        "themselves");
    results->headline = results_format(results, "%u traces, not ranks of one run: %s.", run->count,
                                       run->other_runs);
}

/* Traces that are not ranks of one run stand side by side, and nothing is said of them together. */
static struct section *list_runs(struct results *results, const struct all_ranks *run, uint32_t top)
{
    struct section *section =
        section_new(results, "overview", run->are_windows ? "Several windows" : "Several traces",
                    "Shares are of each trace's own step time.");
    struct ranks_spread none = {
        .slowest = SIZE_MAX, .least_waiting = SIZE_MAX, .straggler = SIZE_MAX};

    section_add_value(results, section, "traces", "traces", value_count(run->count));
    add_ranks_table(results, section, run, &none, top);
    if (run->are_windows)
        tell_windows(results, section, run);
    else
        tell_other_runs(results, section, run);
    tell_of_lone_ranks(results);
    return section;
}

/* Of ranks whose digests alone are here nothing else tells it. */
static uint32_t speakers_of_run(const struct all_ranks *run)
{
    uint32_t speakers = NO_SPEAKERS;

    for (uint32_t i = 0; i < run->count; i++)
        speakers =
            speakers_of_both(speakers, speakers_by_device_name(run->ranks[i].digest->device_name));
    return speakers;
}

/* The spread and the culprit are found first, for headline and tables name them.
 * tell_known_waiting comes last: it changes the findings of single ranks, and names whom the
 * sections before have found. */
struct section *compare_ranks(struct results *results, const struct all_ranks *run, uint32_t top,
                              const struct ranks_changes *changes)
{
    struct section *section;
    struct ranks_spread spread;
    struct ranks_culprit culprit;
    SCOPED(ranks_replay) simulation = {.run = NULL};
    const struct ranks_findings facts = {&spread, &culprit, &simulation};

    results->speakers = speakers_of_run(run);
    /* Ranks of several runs cannot wait for each other: they are listed, not compared. */
    if (run->other_runs)
        return list_runs(results, run, top);
    section =
        section_new(results, "overview", "All ranks", "Shares are of each rank's own step time.");
    spread = measure_ranks_spread(run);
    culprit = find_ranks_culprit(run, &spread);
    results->headline = job_headline(results, run, &spread, &culprit);
    /* Only where both ways of asking agree is a rank named in the reports of the others. */
    if (culprit.rank != SIZE_MAX && culprit.rank == spread.straggler)
        results->awaited_rank = rank_text(results, run, culprit.rank);
    /* One rank alone has nobody to wait for. */
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
    tell_known_waiting(results, run, &facts);
    return section;
}
