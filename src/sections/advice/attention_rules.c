/* Advice on attention that is spelled out, priced by what one fused kernel would leave of it. */
#include "base/text/format.h"
#include "cost/efficiency/matrix_calls.h"
#include "ledger/step_finder.h"
#include "sections/advice/attention_scores.h"
#include "sections/advice/call_site.h"
#include "sections/advice/claim.h"
#include "sections/advice/product_roof.h"

#include <math.h>
#include <string.h>

/* What was found of it. */
struct attention_sum {
    struct work_sum products; /* that make or read scores, of the forward */
    struct work_sum others;   /* kernels on scores that are no product */
};

/* The rate of the number format's products that are no attention. The device's own rate on the
 * program's other products is the best estimate of what a fused kernel reaches there: the peak
 * would promise too much. */
static double rate_of_others(const struct advice_case *advice, enum peak_type precision)
{
    const struct matrix_calls *calls = &advice->efficiency->calls;
    double flops = 0, ns = 0;

    for (uint32_t i = 0; i < calls->count; i++) {
        const struct matrix_call *call = &calls->calls[i];

        if (!call->is_matrix || call->precision != precision ||
            call->matmul_cost->flops.executed <= 0 || call->kernel_ns <= 0 ||
            score_use_of_product(&advice->scores, advice->trace, call->op) != SCORES_NOT_USED)
            continue;
        flops += call->matmul_cost->flops.executed;
        ns += (double)call->kernel_ns;
    }
    return ns > 0 ? flops / ns : 0;
}

/* A fused kernel computes the same FLOPs and neither writes nor reads scores: at the rate of other
 * products, within its roof; as long as now where nothing tells. */
static double fused_ns(const struct advice_case *advice, const struct matrix_call *call,
                       double other_rate)
{
    double now_ns = (double)call->kernel_ns;
    double then_ns = other_rate > 0 ? call->matmul_cost->flops.executed / other_rate : now_ns;

    return fmin(now_ns, fmax(then_ns, compute_roof_ns(advice, call)));
}

static bool is_of_forward(const struct advice_case *advice, uint32_t op)
{
    return advice->costs->contexts.phases[op] != PHASE_BACKWARD;
}

/* The forward alone: a fused backward recomputes the scores, so what it wins is less sure. */
static void attention_rules_claim_products(const struct advice_case *advice,
                                           struct advice_claim *claim, struct attention_sum *sum)
{
    const struct matrix_calls *calls = &advice->efficiency->calls;
    struct step_finder finder = {.ledger = advice->ledger};
    double rates[PEAK_TYPE_COUNT + 1];

    /* Rates of the other products of each format here, found once: a fused kernel is taken to
     * be no better than those. */
    for (int type = 0; type <= PEAK_TYPE_COUNT; type++)
        rates[type] = rate_of_others(advice, (enum peak_type)type);
    for (uint32_t i = 0; i < calls->count; i++) {
        const struct matrix_call *call = &calls->calls[i];
        uint32_t step;

        if (!call->is_matrix || call->longest == NO_EVENT || !is_of_forward(advice, call->op) ||
            score_use_of_product(&advice->scores, advice->trace, call->op) == SCORES_NOT_USED)
            continue;
        step = step_finder_at(&finder, advice->trace->device[call->longest].start_ns);
        if (step == NO_STEP)
            continue;
        sum->products.count++;
        sum->products.duration_ns += call->kernel_ns;
        claim->step_ns[step] +=
            (int64_t)((double)call->kernel_ns - fused_ns(advice, call, rates[call->precision]));
    }
}

/* Softmax, masks and dropout on the scores go away whole, as a fused kernel does them in
 * registers. */
static void claim_others(struct advice_case *advice, struct advice_claim *claim,
                         struct attention_sum *sum)
{
    struct step_finder finder = {.ledger = advice->ledger};

    for (uint32_t i = 0; i < advice->trace->device_count; i++) {
        const struct event *event = &advice->trace->device[i];
        enum kernel_class class = advice->ledger->classes[i];
        uint32_t op = trace_operator_of(advice->trace, i);

        if (op == NO_EVENT || !kernel_class_is_compute(class) || kernel_class_is_matrix(class) ||
            !is_chosen_device_event(&finder, advice->trace, i) ||
            score_use_of_op(&advice->scores, advice->trace, op) != SCORES_USED)
            continue;
        claim->step_ns[step_finder_at(&finder, event->start_ns)] += event->duration_ns;
        sum->others.count++;
        sum->others.duration_ns += event->duration_ns;
    }
}

/* The call of PyTorch's own attention that spells it out; false where the program does. */
static bool is_math_form(const struct advice_case *advice, uint32_t softmax)
{
    const struct host_contexts *contexts = &advice->costs->contexts;

    for (uint32_t at = softmax; at != NO_EVENT; at = contexts->parents[at])
        if (strstr(trace_text(advice->trace, advice->trace->host[at].name),
                   "scaled_dot_product_attention"))
            return true;
    return false;
}

/* The shape with most scores is the example. */
bool check_unfused_attention(struct advice_case *advice, struct advice_claim *claim)
{
    const struct score_shape *shape = advice->scores.shapes;
    struct attention_sum sum = {.products = {0}};

    if (advice->ledger->is_cpu_only || advice->scores.count == 0)
        return false;
    attention_rules_claim_products(advice, claim, &sum);
    claim_others(advice, claim, &sum);
    /* Scores without products in the chosen steps: nothing that a fused kernel could take
     * over. */
    if (sum.products.count == 0)
        return false;
    for (size_t i = 1; i < advice->scores.count; i++)
        if (advice->scores.shapes[i].rows * advice->scores.shapes[i].columns >
            shape->rows * shape->columns)
            shape = &advice->scores.shapes[i];
    claim->evidence = results_format(
        advice->results,
        "scores of %s x %s, %s of them, are written and read: %s matmuls%s take %s, %s other "
        "kernels on them %s",
        format_count(shape->rows).text, format_count(shape->columns).text,
        format_count(shape->batch).text, per_step_count(advice, sum.products.count), a_step(advice),
        per_step_time(advice, sum.products.duration_ns), per_step_count(advice, sum.others.count),
        per_step_time(advice, sum.others.duration_ns));
    claim->try_this =
        is_math_form(advice, shape->softmax)
            ? "scaled_dot_product_attention runs in its math form: 16-bit inputs, no weights "
              "returned, a mask that its fused kernels take"
            : "torch.nn.functional.scaled_dot_product_attention (attn_implementation=\"sdpa\"): "
              "one kernel that never writes the scores";
    claim->confidence = CONFIDENCE_MEDIUM;
    claim->reason = "estimated at the rate that other matmuls of the format reach here; a fused "
                    "kernel may be slower or faster";
    return true;
}
