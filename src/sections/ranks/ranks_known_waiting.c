/* What the advice of each rank says of communication, once its calls are joined with the others'.
 */
#include "sections/ranks/ranks_known_waiting.h"

#include "base/text/format.h"
#include "sections/tally.h"

#include <string.h>

/* As for the rules of the advice: a smaller share of the steps is no finding. */
static const double least_share = 0.02;

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

/* The estimate for a part of the time; what was replayed was without all of it. */
static struct advice_estimate *estimate_of_part(struct results *results,
                                                const struct advice_estimate *whole, double share)
{
    struct advice_estimate *part = results_allocate(results, sizeof *part);

    *part = *whole;
    part->share = share;
    part->change = NULL;
    part->replayed_step_ns = -1;
    part->replayed_speedup = part->least_speedup = part->most_speedup = 0;
    if (part->ceiling_speedup > 0)
        part->ceiling_speedup = 1 / (1 - share);
    part->confidence = "high";
    part->reason = "its collectives are joined with those of the other ranks";
    return part;
}

static struct finding waiting_finding(struct results *results, const struct finding *exposed,
                                      const struct rank_in_run *rank, const char *straggler)
{
    int64_t waiting_ns = rank->communication.exposed.waiting_ns;
    double share = fraction_of(waiting_ns, digest_total_ns(rank->digest));
    struct advice_estimate *estimate = estimate_of_part(results, exposed->estimate, share);

    estimate->id = "waiting_for_stragglers";
    estimate->is_reported_for_job = true;
    return (struct finding){
        .what = "waiting for stragglers",
        .evidence = "of exposed communication, the part before the last rank came",
        .try_this = results_format(results, "overlap does not help here: see %s in \"All ranks\"",
                                   straggler ? straggler : "who comes last"),
        .cost_ns = rank_mean_ns(rank, waiting_ns),
        .estimate = estimate};
}

static struct finding transfer_finding(struct results *results, const struct finding *exposed,
                                       const struct rank_in_run *rank)
{
    int64_t waiting_ns = rank->communication.exposed.waiting_ns;
    int64_t rest_ns = digest_account_ns(rank->digest, ACCOUNT_COMMUNICATION) - waiting_ns;
    double share = fraction_of(rest_ns, digest_total_ns(rank->digest));

    return (struct finding){
        .what = exposed->what,
        .evidence = results_format(results, "what is left of it without %s of waiting per step",
                                   format_time(rank_mean_ns(rank, waiting_ns)).text),
        .try_this = "overlap it with compute (DDP buckets, FSDP prefetch, async_op=True), or send "
                    "less",
        .cost_ns = rank_mean_ns(rank, rest_ns),
        .estimate = estimate_of_part(results, exposed->estimate, share)};
}

/* Puts the finding in its place again: those that cost most come first. */
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

static void split_finding(struct results *results, struct placed_finding place,
                          const struct rank_in_run *rank, const char *straggler)
{
    struct finding *exposed = &place.section->findings[place.at];
    struct finding waiting = waiting_finding(results, exposed, rank, straggler);
    struct finding transfer = transfer_finding(results, exposed, rank);

    if (waiting.estimate->share < least_share)
        return;
    *exposed = waiting;
    place_in_order(place.section, place.at);
    if (transfer.estimate->share < least_share)
        return;
    section_add_finding(results, place.section, transfer);
    place_in_order(place.section, place.section->finding_count - 1);
}

void tell_known_waiting(struct results *results, const struct all_ranks *run,
                        const struct ranks_culprit *culprit)
{
    const char *straggler =
        culprit->rank == SIZE_MAX || run->count < 2 ? NULL : rank_text(results, run, culprit->rank);

    for (size_t i = 0; i < results->rank_count; i++) {
        const struct rank_in_run *rank = rank_in_run_of(run, results->ranks[i].rank);
        struct placed_finding place = find_exposed_communication(&results->ranks[i]);

        if (rank && place.section)
            split_finding(results, place, rank, straggler);
    }
}

void tell_of_lone_ranks(struct results *results)
{
    for (size_t i = 0; i < results->rank_count; i++) {
        struct placed_finding place = find_exposed_communication(&results->ranks[i]);
        const char **advice = place.section ? &place.section->findings[place.at].try_this : NULL;
        const char *rest = advice ? strstr(*advice, "; \"All ranks\"") : NULL;

        if (rest)
            *advice = results_format(results, "%.*s", (int)(rest - *advice), *advice);
    }
}
