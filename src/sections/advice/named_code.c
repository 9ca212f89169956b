/* Asks of each of the longest gaps what kind of range it lies in. */
#include "sections/advice/named_code.h"

#include "base/text/prefix.h"
#include "sections/advice/restraints.h"

#include <math.h>
#include <string.h>

/* The range of an optimizer, where the optimizer works itself: a closure in it is model code. */
static bool is_optimizers_own(const struct advice_case *advice, const struct idle_gap *gap)
{
    const struct optimizer_time *optimizer = &advice->costs->contexts.optimizer;
    const struct event *event = &advice->trace->host[gap->host_event];

    return has_prefix(trace_text(advice->trace, event->name), "Optimizer.") &&
           (optimizer->count == 0 || is_optimizer_time(optimizer, event->track, gap->start_ns));
}

/* An optimizer's range is model code, too, but has a remedy of its own. */
static bool is_of_model(const struct advice_case *advice, const struct idle_gap *gap)
{
    return gap->host_event != NO_EVENT && !is_optimizers_own(advice, gap) &&
           forbids_logging(advice, &(struct restraint_subject){.range = gap->host_event});
}

/* The range of an optimizer of which another rule tells. */
static bool is_of_single_optimizer(const struct advice_case *advice, const struct idle_gap *gap)
{
    return advice->has_single_optimizer && gap->host_event != NO_EVENT &&
           is_optimizers_own(advice, gap);
}

static bool is_pause(const struct idle_gap *gap)
{
    return gap->end_ns - gap->start_ns >= ADVICE_LONG_PAUSE_NS;
}

static enum named_kind named_code_kind_of(const struct advice_case *advice,
                                          const struct idle_gap *gap)
{
    if (is_of_single_optimizer(advice, gap))
        return NAMED_OPTIMIZER;
    if (!is_of_model(advice, gap))
        return NAMED_OTHER_CODE;
    return is_pause(gap) ? NAMED_PAUSES : NAMED_MODEL_CODE;
}

/* The ledger keeps the longest gaps of a run only: their mix stands for that of the whole
 * account. Without any gap all of it is taken for the model's code, the usual case. */
int64_t claim_named_code(const struct advice_case *advice, struct advice_claim *claim,
                         enum named_kind kind)
{
    const struct ledger *ledger = advice->ledger;
    double known_ns = 0, wanted_ns = 0, share;
    int64_t sum_ns = 0;

    for (uint32_t i = 0; i < ledger->worst_gap_count; i++) {
        const struct idle_gap *gap = &ledger->worst_gaps[i];
        double length_ns = (double)(gap->end_ns - gap->start_ns);

        if (gap->main_account != ACCOUNT_IDLE_ANNOTATION)
            continue;
        known_ns += length_ns;
        wanted_ns += named_code_kind_of(advice, gap) == kind ? length_ns : 0;
    }
    share = known_ns > 0 ? wanted_ns / known_ns : kind == NAMED_MODEL_CODE;
    for (uint32_t i = 0; i < ledger->step_count; i++) {
        int64_t named_ns =
            llround((double)ledger->steps[i].account_ns[ACCOUNT_IDLE_ANNOTATION] * share);

        claim->step_ns[i] += named_ns;
        sum_ns += named_ns;
    }
    return sum_ns;
}

/* Python that runs between the operators of a module's forward. */
static bool is_in_module(const struct advice_case *advice, uint32_t frame)
{
    const struct trace *trace = advice->trace;

    for (uint32_t at = frame; at != NO_EVENT; at = advice->costs->contexts.parents[at]) {
        const char *name = trace_text(trace, trace->host[at].name);

        if (has_prefix(name, "nn.Module: ") || strstr(name, "torch/nn/modules/module.py"))
            return true;
    }
    return false;
}

/* The same estimate for Python: short pauses within modules belong to launching, and are moved
 * from one rule to the other (`adds`), so that the two sum to the account. */
void claim_short_pauses(const struct advice_case *advice, struct advice_claim *claim, bool adds)
{
    const struct ledger *ledger = advice->ledger;
    double known_ns = 0, wanted_ns = 0;

    for (uint32_t i = 0; i < ledger->worst_gap_count; i++) {
        const struct idle_gap *gap = &ledger->worst_gaps[i];
        double length_ns = (double)(gap->end_ns - gap->start_ns);

        if (gap->main_account != ACCOUNT_IDLE_PYTHON || gap->host_event == NO_EVENT)
            continue;
        known_ns += length_ns;
        wanted_ns += !is_pause(gap) && is_in_module(advice, gap->host_event) ? length_ns : 0;
    }
    for (uint32_t i = 0; known_ns > 0 && i < ledger->step_count; i++) {
        int64_t python_ns = ledger->steps[i].account_ns[ACCOUNT_IDLE_PYTHON];
        int64_t short_ns = llround((double)python_ns * wanted_ns / known_ns);
        int64_t less_ns = short_ns < claim->step_ns[i] ? short_ns : claim->step_ns[i];

        claim->step_ns[i] += adds ? short_ns : -less_ns;
    }
}

/* Of the gaps in ranges of the name of gap `which`, in ranges of no model code. */
static int64_t time_of_name(const struct advice_case *advice, uint32_t which)
{
    const struct ledger *ledger = advice->ledger;
    const struct event *host = advice->trace->host;
    int64_t sum_ns = 0;

    for (uint32_t i = 0; i < ledger->worst_gap_count; i++) {
        const struct idle_gap *gap = &ledger->worst_gaps[i];

        if (gap->main_account == ACCOUNT_IDLE_ANNOTATION && gap->host_event != NO_EVENT &&
            host[gap->host_event].name == host[ledger->worst_gaps[which].host_event].name)
            sum_ns += gap->end_ns - gap->start_ns;
    }
    return sum_ns;
}

/* O(gaps^2), with WORST_GAPS_MAX gaps. */
const char *busiest_named_range(const struct advice_case *advice)
{
    const struct ledger *ledger = advice->ledger;
    const char *busiest = NULL;
    int64_t most_ns = 0;

    for (uint32_t i = 0; i < ledger->worst_gap_count; i++) {
        const struct idle_gap *gap = &ledger->worst_gaps[i];

        if (gap->main_account != ACCOUNT_IDLE_ANNOTATION || gap->host_event == NO_EVENT ||
            is_of_model(advice, gap) || is_of_single_optimizer(advice, gap) ||
            time_of_name(advice, i) <= most_ns)
            continue;
        most_ns = time_of_name(advice, i);
        busiest = trace_text(advice->trace, advice->trace->host[gap->host_event].name);
    }
    return busiest;
}
