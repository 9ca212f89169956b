/* Advice on optimizers that handle one tensor at a time: by their kernels, or on a CPU by their
 * operators. */
#include "base/core/invariant.h"
#include "base/core/search.h"
#include "base/text/format.h"
#include "base/text/prefix.h"
#include "ledger/step_finder.h"
#include "sections/advice/claim.h"
#include "sections/advice/optimizer_options.h"
#include "sections/advice/restraints.h"
#include "sections/advice/single_tensors.h"
#include "trace/name_answers.h"

#include <stdlib.h>
#include <string.h>

/* Optimizers that handle many tensors in one kernel. */
static bool is_batched_kernel(const char *name)
{
    return strstr(name, "multi_tensor_apply") || strstr(name, "Fused") ||
           has_prefix(name, "triton");
}

static bool is_batched_operator(const char *name)
{
    return strstr(name, "_foreach_") || strstr(name, "_fused_");
}

static bool is_batched_optimizer(struct name_answers *kernels, struct name_answers *operators,
                                 const struct trace *trace, uint32_t index)
{
    uint32_t op = trace_operator_of(trace, index);

    return name_answer(kernels, trace, trace->device[index].name) ||
           (op != NO_EVENT && name_answer(operators, trace, trace->host[op].name));
}

/* The stretch of the device in which one step's optimizer runs. */
struct optimizer_span {
    uint32_t step;
    int64_t range_ns[2];
};

/* Small kernels and the idle time between them go where many tensors share a kernel; large
 * kernels stay, as their bytes must be moved in any case. Kernels come in order of time, so a
 * step's span ends where the next step's begins. */
static bool claim_single_kernels(struct advice_case *advice, struct advice_claim *claim,
                                 const char *remedy)
{
    struct step_finder finder = {.ledger = advice->ledger};
    struct optimizer_span span = {.step = NO_STEP};
    struct work_sum single = {0};
    struct name_answers kernels = {.ask = is_batched_kernel};
    struct name_answers operators = {.ask = is_batched_operator};
    int64_t batched = 0;

    for (uint32_t i = 0; i < advice->trace->device_count; i++) {
        const struct event *event = &advice->trace->device[i];
        uint32_t step;

        if (advice->ledger->classes[i] != KERNEL_OPTIMIZER ||
            !is_chosen_device_event(&finder, advice->trace, i))
            continue;
        /* Kernels of many tensors are as they should be; they only count against the others,
         * below. */
        if (is_batched_optimizer(&kernels, &operators, advice->trace, i)) {
            batched++;
            continue;
        }
        step = step_finder_at(&finder, event->start_ns);
        if (step != span.step && span.step != NO_STEP)
            claim_free_time(advice, claim, &advice->idle, span.range_ns);
        if (step != span.step)
            span = (struct optimizer_span){step, {event->start_ns, 0}};
        span.range_ns[1] = event_end_ns(event);
        if (event->duration_ns < ADVICE_SMALL_KERNEL_NS)
            claim->step_ns[step] += event->duration_ns;
        single.count++;
        single.duration_ns += event->duration_ns;
    }
    free(kernels.answers);
    free(operators.answers);
    if (single.count == 0 ||
        single.count < (int64_t)ADVICE_OPTIMIZER_KERNELS_MIN * advice->ledger->step_count ||
        batched > single.count)
        return false;
    claim_free_time(advice, claim, &advice->idle, span.range_ns);
    claim->evidence =
        results_format(advice->results,
                       "%s kernels%s in Optimizer.step, %s each: one tensor at a time; estimated: "
                       "those below 10 µs and idle time between",
                       per_step_count(advice, single.count), a_step(advice),
                       format_time(single.duration_ns / single.count).text);
    claim->try_this = remedy;
    claim->confidence = CONFIDENCE_HIGH;
    claim->reason = "counted inside Optimizer.step";
    return true;
}

/* The optimizer's outermost operators of one name. A fused kernel still moves what the dearest of
 * them moves. */
struct operator_pass {
    uint32_t name;
    int64_t duration_ns;
};
enum { PASSES_MAX = 64 };

/* What an optimizer does on the processor, in the windows of the steps. */
struct optimizer_work {
    struct operator_pass passes[PASSES_MAX];
    uint32_t pass_count;
    int64_t single;  /* operators that handle one tensor */
    int64_t batched; /* ... or many */
    int64_t total_ns;
};

/* An optimizer goes over its tensors in a handful of operators, so that a short list searched
 * from its start will do. The longest pass is sought among the names that came first, should
 * there ever be more of them. */
static void add_pass(struct optimizer_work *work, const struct event *op)
{
    uint32_t at = 0;

    while (at < work->pass_count && work->passes[at].name != op->name)
        at++;
    if (at == PASSES_MAX)
        return;
    if (at == work->pass_count)
        work->passes[work->pass_count++] = (struct operator_pass){.name = op->name};
    work->passes[at].duration_ns += op->duration_ns;
}

/* The outermost operators of the interval: what lies below the one before is part of it. */
static void count_operators(const struct trace *trace, const struct optimizer_interval *interval,
                            struct optimizer_work *work)
{
    const struct track *track = &trace->tracks[interval->track];
    uint32_t end = track->first_event + track->event_count;
    uint32_t at =
        LOWER_BOUND(i, track->first_event, end, trace->host[i].start_ns < interval->start_ns);
    int64_t reached_ns = INT64_MIN;

    for (; at < end && trace->host[at].start_ns < interval->end_ns; at++) {
        const struct event *op = &trace->host[at];
        const char *name = trace_text(trace, op->name);

        if (op->kind != EVENT_OPERATOR || op->start_ns < reached_ns)
            continue;
        reached_ns = event_end_ns(op);
        /* What is no operator of aten has its tensors in one call, as fused optimizers of
         * libraries do. */
        if (!has_prefix(name, "aten::") || strstr(name, "_foreach_") || strstr(name, "_fused_")) {
            work->batched++;
            continue;
        }
        work->single++;
        add_pass(work, op);
    }
}

/* Adds what of the interval lies in steps. */
static int64_t claim_interval(const struct advice_case *advice, struct advice_claim *claim,
                              const struct optimizer_interval *interval)
{
    const struct ledger *ledger = advice->ledger;
    int64_t total_ns = 0;

    for (uint32_t i = first_step_after(ledger, interval->start_ns); i < ledger->step_count; i++) {
        const struct step_window *window = &ledger->steps[i].window;
        int64_t start_ns =
            window->start_ns > interval->start_ns ? window->start_ns : interval->start_ns;
        int64_t end_ns = window->end_ns < interval->end_ns ? window->end_ns : interval->end_ns;

        if (start_ns >= end_ns)
            break;
        claim->step_ns[i] += end_ns - start_ns;
        total_ns += end_ns - start_ns;
    }
    return total_ns;
}

/* The operators of one name that take longest stand for what a fused one takes. Spread over the
 * steps in proportion, since operators were summed over all. */
static void leave_one_pass(const struct advice_case *advice, struct advice_claim *claim,
                           const struct optimizer_work *work)
{
    int64_t longest_ns = 0;

    for (uint32_t i = 0; i < work->pass_count; i++)
        if (work->passes[i].duration_ns > longest_ns)
            longest_ns = work->passes[i].duration_ns;
    for (uint32_t i = 0; work->total_ns > 0 && i < advice->ledger->step_count; i++)
        claim->step_ns[i] -=
            (int64_t)((double)claim->step_ns[i] * (double)longest_ns / (double)work->total_ns);
}

/* Many small operators per step and more single than batched ones: an optimizer with foreach
 * or fused has batched ones, so that it is left alone. */
static bool claim_single_operators(struct advice_case *advice, struct advice_claim *claim,
                                   const char *remedy)
{
    const struct optimizer_time *time = &advice->costs->contexts.optimizer;
    struct optimizer_work work = {0};

    for (size_t i = 0; i < time->count; i++) {
        int64_t inside_ns = claim_interval(advice, claim, &time->intervals[i]);

        if (inside_ns > 0)
            count_operators(advice->trace, &time->intervals[i], &work);
        work.total_ns += inside_ns;
    }
    if (work.single < (int64_t)ADVICE_OPTIMIZER_KERNELS_MIN * advice->ledger->step_count ||
        work.batched > work.single)
        return false;
    leave_one_pass(advice, claim, &work);
    claim->evidence = results_format(
        advice->results,
        "%s operators%s in Optimizer.step, which takes %s: one tensor at a time; "
        "estimated: all but the operators of the name that takes longest",
        per_step_count(advice, work.single), a_step(advice), per_step_time(advice, work.total_ns));
    claim->try_this = remedy;
    claim->confidence = CONFIDENCE_HIGH;
    claim->reason = "counted inside Optimizer.step, without what a closure does in it";
    return true;
}

/* On a CPU single operators are what a fused optimizer saves, on a device single kernels. */
bool check_unfused_optimizer(struct advice_case *advice, struct advice_claim *claim)
{
    struct optimizer_options options = longest_optimizer(advice);
    const char *remedy = optimizer_remedy(&options, advice->ledger->is_cpu_only);

    if (forbids_fused(advice, &(struct restraint_subject){.options = &options}))
        return false;
    return advice->ledger->is_cpu_only ? claim_single_operators(advice, claim, remedy)
                                       : claim_single_kernels(advice, claim, remedy);
}

bool handles_single_tensors(struct advice_case *advice)
{
    enum { LEAST_PART = 50 }; /* the rule's 2 % */
    struct advice_claim claim = {
        .step_ns = require_memory(calloc(advice->ledger->step_count, sizeof(int64_t)))};
    bool is_known = check_unfused_optimizer(advice, &claim) &&
                    claim_total_ns(advice, &claim) * LEAST_PART >= ledger_total_ns(advice->ledger);

    free(claim.step_ns);
    return is_known;
}
