/* What a comparison comes to, in a sentence or two. */
#include "base/text/format.h"
#include "sections/comparison/comparison_sections.h"

#include <math.h>

static const char *time_text(struct results *results, double ns)
{
    return results_text(results, format_time(llround(ns)).text);
}

static const char *per_cent(struct results *results, double part)
{
    return results_format(results, "%+.1f %%", 100 * part);
}

static double comparison_headline_difference_of(const struct change *change)
{
    return change->mean_b - change->mean_a;
}

/* "waiting for data 58.734 ms to 364 µs" */
static const char *movement(struct results *results, const struct change *change)
{
    return results_format(results, "%s %s instead of %s", change_measure(change)->title,
                          time_text(results, change->mean_b), time_text(results, change->mean_a));
}

/* The largest account whose change is significant and goes in the direction of `sign`; NULL:
 * none. Changes are sorted by size, so the first that fits is the largest. */
static const struct change *largest_account(const struct run_comparison *comparison, double sign)
{
    for (uint32_t i = comparison->first[MEASURE_ACCOUNT];
         i < comparison->first[MEASURE_ACCOUNT + 1]; i++) {
        const struct change *change = &comparison->changes[i];

        if (change_is_significant(change) && comparison_headline_difference_of(change) * sign > 0)
            return change;
    }
    return NULL;
}

/* A larger part of the difference than `cause` that is not sure; NULL: none. */
static const struct change *larger_but_unsure(const struct run_comparison *comparison,
                                              const struct change *cause, double sign)
{
    const struct change *first = &comparison->changes[comparison->first[MEASURE_ACCOUNT]];

    if (comparison->first[MEASURE_ACCOUNT] == comparison->first[MEASURE_ACCOUNT + 1] ||
        first == cause || comparison_headline_difference_of(first) * sign <= 0)
        return NULL;
    return first;
}

/* Of the difference, sure or not. */
static const char *largest_part(struct results *results, const struct run_comparison *comparison)
{
    uint32_t first = comparison->first[MEASURE_ACCOUNT];

    if (first == comparison->first[MEASURE_ACCOUNT + 1])
        return "none";
    return movement(results, &comparison->changes[first]);
}

/* How far the largest sure change goes. Above 100 % others went against it; 1.005 is where
 * rounding would show "100 %". */
static const char *explain_by(struct results *results, const struct change *cause,
                              const struct change *against, double whole)
{
    double part = comparison_headline_difference_of(cause) / whole;

    if (part <= 1.005)
        return results_format(results, "%s explains %.0f %% of it", movement(results, cause),
                              100 * part);
    if (!against)
        return results_format(results,
                              "%s is more than all of it (%.0f %%): other accounts went the other "
                              "way, each within its noise",
                              movement(results, cause), 100 * part);
    return results_format(results, "%s is more than all of it (%.0f %%), against it %s",
                          movement(results, cause), 100 * part, movement(results, against));
}

/* The largest account that changed beyond its noise explains; a larger one that did not is
 * named with its doubt, so that nobody takes the smaller for the whole. */
static const char *comparison_headline_explain(struct results *results,
                                               const struct run_comparison *comparison,
                                               const struct change *step)
{
    double whole = comparison_headline_difference_of(step);
    const struct change *cause = largest_account(comparison, whole);
    const struct change *unsure = larger_but_unsure(comparison, cause, whole);
    const char *words = cause
                            ? explain_by(results, cause, largest_account(comparison, -whole), whole)
                            : "no account changed by more than its own noise";

    if (!unsure)
        return words;
    return results_format(results, "%s; the largest part, %s, is within its noise", words,
                          movement(results, unsure));
}

static uint32_t count_significant(const struct run_comparison *comparison)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < comparison->first[MEASURE_KIND_COUNT]; i++)
        count += change_is_significant(&comparison->changes[i]);
    return count;
}

/* What else changed, where the step did not. */
static const char *other_changes(struct results *results, const struct run_comparison *comparison)
{
    uint32_t count = count_significant(comparison);

    if (count == 0)
        return "nothing else changed significantly";
    return results_format(results, "%u row%s of the tables below changed significantly", count,
                          count == 1 ? "" : "s");
}

/* The ratio is above 1 either way: "0.8x as fast" is read as faster by some and as slower by
 * others. */
static const char *faster_or_slower(struct results *results,
                                    const struct run_comparison *comparison,
                                    const struct change *step)
{
    const char *beginning =
        step->verdict == CHANGE_LESS
            ? results_format(results, "B is %.2fx as fast as A", step->mean_a / step->mean_b)
            : results_format(results, "B takes %.2fx as long as A", step->mean_b / step->mean_a);

    return results_format(results, "%s: %s a step instead of %s (%s); %s.", beginning,
                          time_text(results, step->mean_b), time_text(results, step->mean_a),
                          per_cent(results, comparison_headline_difference_of(step) / step->mean_a),
                          comparison_headline_explain(results, comparison, step));
}

/* The verdict on the step decides what may be said at all: unknown noise, then noise, then too
 * small to count, and only then faster or slower. */
const char *comparison_headline(struct results *results, const struct run_comparison *comparison)
{
    const struct change *step = find_change(comparison, MEASURE_STEP, "step_time");
    const char *times;
    size_t more;

    if (!step || step->mean_a <= 0 || step->mean_b <= 0)
        return "Nothing to compare: the steps have no length.";
    times =
        results_format(results, "%s a step in B, %s in A (%s)", time_text(results, step->mean_b),
                       time_text(results, step->mean_a),
                       per_cent(results, comparison_headline_difference_of(step) / step->mean_a));
    switch (step->verdict) {
    case CHANGE_NOT_KNOWN:
        return results_format(results,
                              "Whether the runs differ is not known: %s, and with one step nothing "
                              "tells the noise; the largest part: %s.",
                              times, largest_part(results, comparison));
    case CHANGE_SAME:
    case CHANGE_NOISE:
        /* "Not significant" with few steps may only mean too few: how many would tell is said
         * instead. */
        more = steps_that_would_tell(comparison, step);
        if (more > 0)
            return results_format(results,
                                  "No significant change yet: %s, within the noise of so few steps "
                                  "(%u and %u): record more steps, %zu or more of each run.",
                                  times, comparison->a->step_count, comparison->b->step_count,
                                  more);
        return results_format(results, "No significant change: %s, within the noise; %s.", times,
                              other_changes(results, comparison));
    case CHANGE_SMALL:
        return results_format(results, "No change that counts: %s, more than noise, but small; %s.",
                              times, other_changes(results, comparison));
    case CHANGE_LESS:
    case CHANGE_MORE:
    case CHANGE_NEW:
    case CHANGE_GONE:
        break;
    }
    return faster_or_slower(results, comparison, step);
}
