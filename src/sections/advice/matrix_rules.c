/* Advice on matrix products: number formats, matrix units, shapes. */
#include "base/text/format.h"
#include "cost/devices/device_peak.h"
#include "cost/devices/find_device_peak.h"
#include "cost/efficiency/matrix_calls.h"
#include "ledger/step_finder.h"
#include "sections/advice/call_site.h"
#include "sections/advice/claim.h"
#include "sections/advice/product_roof.h"
#include "sections/advice/restraints.h"
#include "trace/recorder_words.h"

#include <stdlib.h>
#include <string.h>

/* The compute capability from which on devices have units for 16-bit products. */
enum { FIRST_MATRIX_UNITS = 7 };

/* Products that a rule speaks of. */
struct product_sum {
    int64_t count;
    int64_t duration_ns;
    const struct work_piece *longest;
};

static void add_product(struct product_sum *sum, const struct matrix_calls *calls,
                        const struct work_piece *piece)
{
    int64_t length_ns = event_of_piece(calls, piece)->duration_ns;

    sum->count++;
    sum->duration_ns += length_ns;
    if (!sum->longest || length_ns > event_of_piece(calls, sum->longest)->duration_ns)
        sum->longest = piece;
}

/* The op that a piece belongs to: that of its call, else the one around its launch. */
static uint32_t matrix_operator_of(const struct advice_case *advice, const struct work_piece *piece)
{
    if (piece->call != NO_CALL)
        return advice->efficiency->calls.calls[piece->call].op;
    return trace_operator_of(advice->trace, piece->event);
}

/* "most in aten::mm [[8, 64], [64, 64]], module decoder: sgemm_128x64, 1.200 ms" */
static const char *product_text(const struct advice_case *advice, const struct product_sum *sum)
{
    const struct trace *trace = advice->trace;
    uint32_t op = matrix_operator_of(advice, sum->longest);
    const char *text = "";
    uint32_t module, shapes;

    if (op != NO_EVENT) {
        module = module_of_host(&advice->costs->contexts, op);
        shapes = trace->details[trace->host[op].detail].input_shapes;
        text = results_format(
            advice->results, "%s%s%s",
            brief_name(trace_text(trace, trace->host[op].name), advice->results), shapes ? " " : "",
            shapes ? brief_shapes(trace_text(trace, shapes), advice->results) : "");
        if (module != NO_MODULE)
            text = results_format(advice->results, "%s in %s", text,
                                  advice->costs->tree.modules[module].name);
    }
    return results_format(
        advice->results, "%s matmuls%s take %s; the longest: %s%s%s, %s",
        per_step_count(advice, sum->count), a_step(advice), per_step_time(advice, sum->duration_ns),
        text, *text ? " by " : "",
        brief_name(trace_text(trace, trace->device[sum->longest->event].name), advice->results),
        format_time(event_of_piece(&advice->efficiency->calls, sum->longest)->duration_ns).text);
}

/* cuBLAS calls 32-bit products sgemm, cuDNN scudnn. */
bool is_name_of_wide_product(const char *kernel)
{
    return strstr(kernel, "sgemm") || strstr(kernel, "scudnn") || strstr(kernel, "<float");
}

/* The number format of a product; PEAK_TYPE_COUNT where it is not known. By the operator's
 * types, else by the kernel's name. */
static enum peak_type precision_of(const struct advice_case *advice, const struct work_piece *piece)
{
    uint32_t name = advice->trace->device[piece->event].name;

    if (piece->call != NO_CALL &&
        advice->efficiency->calls.calls[piece->call].precision != PEAK_TYPE_COUNT)
        return advice->efficiency->calls.calls[piece->call].precision;
    return name_answer(advice->wide, advice->trace, name) ? PEAK_FP32 : PEAK_TYPE_COUNT;
}

static double matrix_peak_of(const struct advice_case *advice, enum peak_type type)
{
    return advice->efficiency->peaks.peaks[type];
}

static double faster_half(const struct advice_case *advice)
{
    double half = matrix_peak_of(advice, PEAK_FP16), brain = matrix_peak_of(advice, PEAK_BF16);

    return half > brain ? half : brain;
}

/* What of a product's time may be won, 0...1; 0: it is none of the rule's. Here: TF32 could run
 * what goes through vector units in 32 bits. 1 - now / then: at the same share of its peak, a
 * product takes that much less (docs/metrics). */
static double share_by_tf32(const struct advice_case *advice, const struct work_piece *piece)
{
    double now = matrix_peak_of(advice, PEAK_FP32), then = matrix_peak_of(advice, PEAK_TF32);

    if (piece->unit == MATRIX_UNIT_USED || precision_of(advice, piece) != PEAK_FP32 ||
        forbids_tf32(advice, &(struct restraint_subject){0}))
        return 0;
    return now > 0 && then > now ? 1 - now / then : 0;
}

/* Products that TF32 would speed up are that rule's, so no product is in both. */
static double share_by_half(const struct advice_case *advice, const struct work_piece *piece)
{
    enum peak_type precision = precision_of(advice, piece);
    double now, then = faster_half(advice);

    if ((precision != PEAK_FP32 && precision != PEAK_TF32) || share_by_tf32(advice, piece) > 0)
        return 0;
    now = matrix_peak_of(advice, precision);
    return now > 0 && then > now ? 1 - now / then : 0;
}

/* 16-bit products without the matrix units run at the vector rate of FP32 at best. */
static double share_by_units(const struct advice_case *advice, const struct work_piece *piece)
{
    enum peak_type precision = precision_of(advice, piece);
    double now = matrix_peak_of(advice, PEAK_FP32), then;

    if (piece->unit != MATRIX_UNIT_NOT_USED || (precision != PEAK_FP16 && precision != PEAK_BF16))
        return 0;
    then = matrix_peak_of(advice, precision);
    return now > 0 && then > now ? 1 - now / then : 0;
}

/* What is left of a product's bytes with that rule's remedy. */
struct product_rule {
    double (*share_of)(const struct advice_case *advice, const struct work_piece *piece);
    double bytes_left;
};

static bool has_known_flops(const struct advice_case *advice, const struct work_piece *piece)
{
    return piece->call != NO_CALL &&
           advice->efficiency->calls.calls[piece->call].matmul_cost->flops.executed > 0;
}

/* The share of the piece's time that may go: at the share of the peak that it reaches now, and no
 * faster than memory allows. The gain is bounded by memory: a product cannot be faster than its
 * bytes at full bandwidth, halved where the format halves them. */
static double share_within_roof(const struct advice_case *advice, const struct work_piece *piece,
                                const struct product_rule *rule)
{
    const struct matrix_calls *calls = &advice->efficiency->calls;
    double share = rule->share_of(advice, piece), roof_ns, now_ns, most;

    if (share <= 0 || !has_known_flops(advice, piece))
        return share;
    now_ns = (double)calls->calls[piece->call].kernel_ns;
    roof_ns = memory_roof_ns(advice, &calls->calls[piece->call], rule->bytes_left);
    most = now_ns > 0 ? 1 - roof_ns / now_ns : 0;
    return share < most ? share : most;
}

/* Products whose FLOPs are not known win as much as those whose are, on average. */
static void scale_to_unknown(const struct advice_case *advice, struct advice_claim *claim,
                             const struct restraint_subject *subject)
{
    for (uint32_t i = 0; i < advice->ledger->step_count && subject->known_ns > 0; i++)
        claim->step_ns[i] = (int64_t)((double)claim->step_ns[i] * (double)subject->all_ns /
                                      (double)subject->known_ns);
}

/* Of products without known FLOPs nothing can be claimed by itself: the share found for the
 * known ones is scaled to them behind the loop. On a CPU alone there is no peak of matrix
 * units to compare with. */
static struct product_sum matrix_claim_products(const struct advice_case *advice,
                                                struct advice_claim *claim,
                                                const struct product_rule *rule,
                                                struct restraint_subject *subject)
{
    const struct matrix_calls *calls = &advice->efficiency->calls;
    struct step_finder finder = {.ledger = advice->ledger};
    struct product_sum sum = {0};

    for (uint32_t i = 0; i < calls->piece_count && !advice->ledger->is_cpu_only; i++) {
        const struct work_piece *piece = &calls->pieces[i];
        const struct event *event = event_of_piece(calls, piece);
        uint32_t step = step_finder_at(&finder, event->start_ns);
        bool is_known = has_known_flops(advice, piece);
        double share;

        if (step == NO_STEP || !kernel_class_is_matrix((enum kernel_class)piece->class))
            continue;
        /* Asked without the roof first, as it is cheap and most products are not the rule's. */
        if (rule->share_of(advice, piece) <= 0)
            continue;
        share = share_within_roof(advice, piece, rule);
        subject->all_ns += event->duration_ns;
        subject->known_ns += is_known ? event->duration_ns : 0;
        if (is_known && share > 0)
            claim->step_ns[step] += (int64_t)(share * (double)event->duration_ns);
        add_product(&sum, calls, piece);
    }
    scale_to_unknown(advice, claim, subject);
    return sum;
}

static bool is_worth_telling(const struct advice_case *advice, const struct product_sum *sum)
{
    return 100.0 * (double)sum->duration_ns >=
           (double)ADVICE_UNPRICED_PERCENT * (double)ledger_total_ns(advice->ledger);
}

/* The products are worth a finding without a price: `what_is_missing` says why there is none.
 * False, and the claim is as it was, where they are too little to tell of. A finding without a
 * price is told only where its products are a part of the run worth looking at. */
static bool claim_uncosted(const struct advice_case *advice, struct advice_claim *claim,
                           const struct product_sum *sum, const char *what_is_missing)
{
    if (!is_worth_telling(advice, sum))
        return false;
    memset(claim->step_ns, 0, advice->ledger->step_count * sizeof *claim->step_ns);
    claim->is_uncosted = true;
    claim->evidence =
        results_format(advice->results, "%s; %s", product_text(advice, sum), what_is_missing);
    claim->confidence = CONFIDENCE_LOW;
    claim->reason = "the formats are told by the kernels' names";
    return true;
}

/* The FLOPs of none of the products are known: what another format wins is not, either. */
static bool claim_without_flops(const struct advice_case *advice, struct advice_claim *claim,
                                const struct product_sum *sum)
{
    return claim_uncosted(
        advice, claim, sum,
        results_format(advice->results,
                       "what another format would win is not known: their FLOPs are not (%s)",
                       recorder_words_for(advice->trace)->flops));
}

/* The estimate keeps the share of the peak that is reached now: a faster unit fed by the same
 * memory and the same launches will not reach more of its peak than this one does. */
static bool claim_at_peak_rates(struct advice_case *advice, struct advice_claim *claim,
                                const struct product_rule *rule, const char *try_this)
{
    struct restraint_subject subject = {0};
    struct product_sum sum = matrix_claim_products(advice, claim, rule, &subject);

    if (sum.count == 0)
        return false;
    claim->try_this = try_this;
    if (forbids_peak_ratio(advice, &subject))
        return claim_without_flops(advice, claim, &sum);
    claim->evidence = product_text(advice, &sum);
    claim->confidence = CONFIDENCE_MEDIUM;
    claim->reason = "estimated at the share of the peak that they reach now, no faster than "
                    "memory allows";
    return true;
}

bool check_tf32_not_used(struct advice_case *advice, struct advice_claim *claim)
{
    return claim_at_peak_rates(advice, claim, &(struct product_rule){share_by_tf32, 1},
                               "torch.set_float32_matmul_precision(\"high\") and "
                               "torch.backends.cudnn.allow_tf32=True, or autocast to bf16");
}

/* The device multiplies 16-bit numbers faster, though its rates are not known. Compute
 * capability 7.0 (Volta) is the first with tensor cores. */
static bool has_faster_half(const struct advice_case *advice)
{
    for (uint32_t i = 0; i < advice->trace->device_list_count; i++) {
        const struct device *device = &advice->trace->devices[i];

        if (device->number == advice->ledger->device)
            return device->compute_major >= FIRST_MATRIX_UNITS &&
                   !advice->efficiency->peaks.is_rocm;
    }
    return false;
}

static double share_if_rates_are_unknown(const struct advice_case *advice,
                                         const struct work_piece *piece)
{
    bool is_wide = precision_of(advice, piece) == PEAK_FP32;

    return is_wide && (matrix_peak_of(advice, PEAK_FP32) <= 0 || faster_half(advice) <= 0) ? 1 : 0;
}

/* Many products in 32 bits, on a device whose rates are not known. */
static bool claim_without_any_rate(struct advice_case *advice, struct advice_claim *claim)
{
    struct restraint_subject subject = {0};
    struct product_sum sum = matrix_claim_products(
        advice, claim, &(struct product_rule){share_if_rates_are_unknown, 1}, &subject);
    const char *name = advice->efficiency->peaks.name;

    if (!sum.longest || !has_faster_half(advice) ||
        !claim_uncosted(advice, claim, &sum,
                        results_format(advice->results,
                                       "what 16 bits would win is not known: the rates of %s are "
                                       "not (--device NAME, --peak)",
                                       name ? name : "the device")))
        return false;
    claim->try_this = forbids_tf32(advice, &subject)
                          ? "torch.autocast with float16 and a GradScaler: devices before Ampere "
                            "have no units for bfloat16"
                          : "torch.autocast with bfloat16";
    return true;
}

/* What 16 bits win hangs on the ratio of two rates: those of a device that is only near to the
 * recorded one do not tell it. */
static bool claim_without_own_rates(const struct advice_case *advice, struct advice_claim *claim,
                                    const struct product_sum *sum)
{
    if (!claim_uncosted(
            advice, claim, sum,
            results_format(advice->results,
                           "what 16 bits would win is not known: the device is only near to %s "
                           "(--device NAME)",
                           advice->efficiency->peaks.name)))
        return false;
    claim->reason = "the rates of the device itself are not known";
    return true;
}

/* bf16 goes first where the device has it: it needs no scaling of the loss. A device that is
 * known only approximately has no rates of its own to promise from. */
bool check_half_not_used(struct advice_case *advice, struct advice_claim *claim)
{
    struct restraint_subject subject = {0};
    struct product_sum sum =
        matrix_claim_products(advice, claim, &(struct product_rule){share_by_half, 0.5}, &subject);

    if (sum.count == 0)
        return claim_without_any_rate(advice, claim);
    claim->try_this = matrix_peak_of(advice, PEAK_BF16) > 0
                          ? "torch.autocast(\"cuda\", dtype=torch.bfloat16), or weights in bf16"
                          : "torch.autocast(\"cuda\", dtype=torch.float16) with a GradScaler: this "
                            "device has no bf16 units";
    if (forbids_peak_ratio(advice, &subject))
        return claim_without_flops(advice, claim, &sum);
    if (device_is_approximate(&advice->efficiency->peaks.match))
        return claim_without_own_rates(advice, claim, &sum);
    claim->evidence = product_text(advice, &sum);
    claim->confidence = CONFIDENCE_MEDIUM;
    claim->reason =
        "estimated at the share of the peak reached now, with half the bytes; whether the "
        "model trains as well is not known";
    return true;
}

bool check_off_matrix_units(struct advice_case *advice, struct advice_claim *claim)
{
    return claim_at_peak_rates(advice, claim, &(struct product_rule){share_by_units, 1},
                               "make the sizes multiples of 8 (pad vocabulary, channels, batch), "
                               "or batch small matmuls together");
}
