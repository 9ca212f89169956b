/* The rank that holds up the others, and what it spends that time on. */
#include "base/text/format.h"
#include "ledger/step_outliers.h"
#include "sections/ranks/ranks_tables.h"
#include "sections/tally.h"

#include <stdlib.h>

/* Less than this part of a step more than the others is no cause. */
static const double least_share = 0.01;

static int64_t account_mean_ns(const struct rank_in_run *rank, unsigned account)
{
    return rank_mean_ns(rank, digest_account_ns(rank->digest, (enum account)account));
}

/* The median of a time of all ranks but one. The others without the rank itself: among two ranks
 * the median of both would be half its own number. A median, since a second slow rank must not
 * excuse the first. */
static int64_t median_of_others_ns(const struct all_ranks *run, size_t rank,
                                   int64_t (*measure)(const struct rank_in_run *rank,
                                                      unsigned account),
                                   unsigned account)
{
    int64_t *others = zeroed_array(run->count, sizeof *others);
    size_t count = 0;
    int64_t median_ns;

    for (uint32_t i = 0; i < run->count; i++)
        if (i != rank)
            others[count++] = measure(&run->ranks[i], account);
    median_ns = count ? median_of(others, count) : 0;
    free(others);
    return median_ns;
}

/* Who: joined collectives tell it from what is waited for; without them, the rank that waits
 * least is the one that comes last; without any communication, the one with the longest steps.
 * Then why: the account of its time that exceeds the others' most. Communication is left out:
 * the straggler waits less than the others, and of another rank waiting is an effect and never
 * a cause. least_ns goes up with each account that is larger, so that one loop finds the
 * largest. */
struct ranks_culprit find_ranks_culprit(const struct all_ranks *run,
                                        const struct ranks_spread *spread)
{
    struct ranks_culprit culprit = {.rank = spread->straggler};
    int64_t least_ns;

    if (culprit.rank == SIZE_MAX)
        culprit.rank = spread->least_waiting;
    if (culprit.rank == SIZE_MAX)
        culprit.rank = spread->slowest;
    if (culprit.rank == SIZE_MAX)
        return culprit;
    least_ns = (int64_t)(least_share * (double)rank_mean_step_ns(&run->ranks[culprit.rank]));
    for (unsigned account = 0; account < ACCOUNT_COUNT; account++) {
        int64_t own_ns = account_mean_ns(&run->ranks[culprit.rank], account);
        int64_t others_ns = median_of_others_ns(run, culprit.rank, account_mean_ns, account);

        if (account == ACCOUNT_COMMUNICATION || own_ns - others_ns <= least_ns)
            continue;
        culprit.has_cause = true;
        culprit.cause = (enum account)account;
        culprit.own_ns = own_ns;
        culprit.others_ns = others_ns;
        least_ns = own_ns - others_ns;
    }
    return culprit;
}

/* "idles 22.8 ms per step with nothing recorded, the other rank 20.0 µs" Among two ranks "the
 * median of the others" would be one number of one rank: it is named as what it is. */
static const char *cause_words(struct results *results, const struct all_ranks *run,
                               const struct ranks_culprit *culprit)
{
    const struct account_description *account = &account_descriptions[culprit->cause];
    bool is_idle = account->group == ACCOUNT_GROUP_IDLE;
    const char *others = run->count == 2 ? "the other rank" : "the median of the others";

    return results_format(results, "%s %s per step%s%s%s, %s %s", is_idle ? "idles" : "spends",
                          format_short_time(culprit->own_ns).text,
                          !is_idle                                 ? " on "
                          : culprit->cause == ACCOUNT_IDLE_NOTHING ? " with "
                                                                   : " (",
                          account->title,
                          is_idle && culprit->cause != ACCOUNT_IDLE_NOTHING ? ")" : "", others,
                          format_short_time(culprit->others_ns).text);
}

const char *culprit_cause(struct results *results, const struct all_ranks *run,
                          const struct ranks_culprit *culprit, size_t rank)
{
    if (!culprit->has_cause || culprit->rank != rank)
        return NULL;
    return cause_words(results, run, culprit);
}

/* Of compute that takes longer on one rank the account's own advice (other kernels, lower
 * precision) would miss the point: the same work is slower there, so what differs is the
 * machine or the share of work. */
const char *culprit_advice(const struct ranks_culprit *culprit, size_t rank)
{
    if (!culprit->has_cause || culprit->rank != rank ||
        account_descriptions[culprit->cause].group == ACCOUNT_GROUP_COMPUTE)
        return "compare its compute, data loading and clocks with another rank's (--rank)";
    return account_descriptions[culprit->cause].advice;
}

/* The waiting that began with it is a sum over all ranks that waited; a step gets longer only
 * by what one of them waits. The mean of the others stands for that. */
int64_t caused_exposed_ns_per_step(const struct all_ranks *run, size_t straggler)
{
    const struct rank_in_run *rank = &run->ranks[straggler];
    int64_t others = run->count > 1 ? (int64_t)run->count - 1 : 1;

    return rank_mean_ns(rank, rank->communication.root_exposed_ns) / others;
}

/* " (22.8 ms of each step)"; "" where it is not known. */
static const char *known_wait(struct results *results, const struct all_ranks *run,
                              const struct ranks_spread *spread, size_t rank)
{
    int64_t ns = rank == spread->straggler ? caused_exposed_ns_per_step(run, rank) : 0;

    return ns ? results_format(results, " (%s of each step)", format_short_time(ns).text) : "";
}

/* From the most to the least that is known: who and why; who and how much; that nobody alone
 * is at fault; else only the size of the job. */
const char *job_headline(struct results *results, const struct all_ranks *run,
                         const struct ranks_spread *spread, const struct ranks_culprit *culprit)
{
    const char *steps;

    if (run->count < 2)
        return NULL;
    steps = results_format(results, "%u ranks, %s a %s on %s", run->count,
                           format_short_time(spread->median_step_ns).text,
                           run->ranks[0].digest->source == WINDOW_WHOLE ? "window" : "step",
                           run->count == 2 ? "the faster one" : "the median rank");

    if (culprit->rank != SIZE_MAX && culprit->has_cause)
        return results_format(
            results, "The job waits for %s%s: it %s.", rank_text(results, run, culprit->rank),
            known_wait(results, run, spread, culprit->rank), cause_words(results, run, culprit));
    if (culprit->rank != SIZE_MAX && culprit->rank == spread->straggler)
        return results_format(
            results, "%s is the straggler: %s %s of each step for it.",
            rank_text(results, run, culprit->rank),
            run->count == 2 ? "the other rank waits" : "the others wait",
            format_short_time(caused_exposed_ns_per_step(run, culprit->rank)).text);
    if (culprit->rank == SIZE_MAX && spread->waiting_ns > 0)
        return results_format(results, "%s; no rank alone holds up the others.", steps);
    return results_format(results, "%s.", steps);
}
