/* Which steps are unlike the others: a rule that single odd steps cannot bend (median and median
 * absolute deviation). */
#include "ledger/step_outliers.h"

#include "base/core/invariant.h"

#include <stdlib.h>

static int step_outliers_ascending(const void *left, const void *right)
{
    const int64_t *a = left, *b = right;

    return (*a > *b) - (*a < *b);
}

/* The difference is halved, not the sum: the sum of two times in nanoseconds since 1970 is
 * near the end of 63 bits. */
int64_t median_of(int64_t *values, size_t count)
{
    if (count == 0)
        return 0;
    qsort(values, count, sizeof *values, step_outliers_ascending);
    if (count % 2)
        return values[count / 2];
    return values[count / 2 - 1] + (values[count / 2] - values[count / 2 - 1]) / 2;
}

static int64_t duration_of(const struct step_ledger *step)
{
    return step->window.end_ns - step->window.start_ns;
}

/* The account that goes furthest in the direction of the step's own deviation. Medians of
 * accounts need not sum to the median of the steps, so the parts explain a deviation only
 * roughly: one account is named, the one that moved most, and no sum is claimed. */
static void step_outliers_explain(struct step_deviation *deviation, const struct step_ledger *step,
                                  const int64_t *account_medians)
{
    int64_t sign = deviation->deviation_ns < 0 ? -1 : 1;
    int64_t best = INT64_MIN;

    for (int a = 0; a < ACCOUNT_COUNT; a++) {
        int64_t difference = step->account_ns[a] - account_medians[a];

        if (sign * difference > best) {
            best = sign * difference;
            deviation->account = (enum account)a;
            deviation->account_deviation_ns = difference;
        }
    }
}

/* Account by account: a step that is long by one account alone shows which. */
static void find_account_medians(int64_t *medians, const struct ledger *ledger, int64_t *scratch)
{
    for (int a = 0; a < ACCOUNT_COUNT; a++) {
        for (uint32_t i = 0; i < ledger->step_count; i++)
            scratch[i] = ledger->steps[i].account_ns[a];
        medians[a] = median_of(scratch, ledger->step_count);
    }
}

/* The largest deviation that is still usual. */
static int64_t usual_deviation_ns(const struct step_spread *spread, uint32_t count,
                                  int64_t *scratch)
{
    /* 5 % of the median as a floor: in runs that repeat to the microsecond a deviation of
     * nothing would else be an outlier. */
    double by_median = 0.05 * (double)spread->median_ns;
    double by_deviations;

    for (uint32_t i = 0; i < count; i++)
        scratch[i] = llabs(spread->steps[i].deviation_ns);
    /* 1.4826 = 1 / 0.6745, the third quartile of the normal distribution: it makes the median
     * absolute deviation estimate a standard deviation, of which three are the usual limit. Up
     * to half of the steps may be odd without moving it. */
    by_deviations = 3 * 1.4826 * (double)median_of(scratch, count);
    return (int64_t)(by_median > by_deviations ? by_median : by_deviations);
}

/* A server's prefill and decode steps differ by what they do: neither is an outlier of the
 * other. */
static bool do_the_same_work(const struct ledger *ledger)
{
    for (uint32_t i = 1; i < ledger->step_count; i++)
        if (ledger->steps[i].window.kind != ledger->steps[0].window.kind)
            return false;
    return true;
}

struct step_spread measure_step_spread(const struct ledger *ledger)
{
    uint32_t count = ledger->step_count;
    int64_t *scratch = require_memory(calloc((size_t)count + 1, sizeof *scratch));
    struct step_spread spread = {
        .steps = require_memory(calloc((size_t)count + 1, sizeof *spread.steps))};
    int64_t account_medians[ACCOUNT_COUNT];
    /* Of two steps neither is the odd one. */
    bool can_tell = count >= 3 && do_the_same_work(ledger);
    int64_t limit_ns;

    for (uint32_t i = 0; i < count; i++)
        scratch[i] = duration_of(&ledger->steps[i]);
    spread.median_ns = median_of(scratch, count);
    spread.min_ns = count ? scratch[0] : 0;
    spread.max_ns = count ? scratch[count - 1] : 0;
    find_account_medians(account_medians, ledger, scratch);
    for (uint32_t i = 0; i < count; i++) {
        spread.steps[i].deviation_ns = duration_of(&ledger->steps[i]) - spread.median_ns;
        step_outliers_explain(&spread.steps[i], &ledger->steps[i], account_medians);
    }
    limit_ns = usual_deviation_ns(&spread, count, scratch);
    for (uint32_t i = 0; i < count && can_tell; i++) {
        spread.steps[i].is_outlier = llabs(spread.steps[i].deviation_ns) > limit_ns;
        spread.outlier_count += spread.steps[i].is_outlier;
    }
    free(scratch);
    return spread;
}

/* A real step near the median, not an average one: it is shown in detail, and an average has
 * no kernels. Of equals the first. */
uint32_t typical_step(const struct step_spread *spread, uint32_t step_count)
{
    uint32_t best = 0;

    for (uint32_t i = 1; i < step_count; i++)
        if (llabs(spread->steps[i].deviation_ns) < llabs(spread->steps[best].deviation_ns))
            best = i;
    return best;
}
