/* Advice on matrix products: number formats, matrix units, shapes. */
#include "advice/call_site.h"
#include "advice/claim.h"
#include "base/format.h"
#include "devices/device_peak.h"
#include "ledger/step_finder.h"

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
static uint32_t operator_of(const struct advice_case *advice, const struct work_piece *piece)
{
    if (piece->call != NO_CALL)
        return advice->efficiency->calls.calls[piece->call].op;
    return trace_operator_of(advice->trace, piece->event);
}

/* "most in aten::mm [[8, 64], [64, 64]], module decoder: sgemm_128x64, 1.200 ms" */
static const char *product_text(const struct advice_case *advice, const struct product_sum *sum)
{
    const struct trace *trace = advice->trace;
    uint32_t op = operator_of(advice, sum->longest);
    const char *text = "";
    uint32_t module, shapes;

    if (op != NO_EVENT) {
        module = advice->costs->contexts.modules[op];
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
        advice->results, "%s products%s take %s; the longest: %s%s%s, %s",
        per_step_count(advice, sum->count), a_step(advice), per_step_time(advice, sum->duration_ns),
        text, *text ? " by " : "",
        brief_name(trace_text(trace, trace->device[sum->longest->event].name), advice->results),
        format_time(event_of_piece(&advice->efficiency->calls, sum->longest)->duration_ns).text);
}

/* The number format of a product; PEAK_TYPE_COUNT where it is not known. */
static enum peak_type precision_of(const struct advice_case *advice, const struct work_piece *piece)
{
    const char *name = trace_text(advice->trace, advice->trace->device[piece->event].name);

    if (piece->call != NO_CALL &&
        advice->efficiency->calls.calls[piece->call].precision != PEAK_TYPE_COUNT)
        return advice->efficiency->calls.calls[piece->call].precision;
    if (strstr(name, "sgemm") || strstr(name, "scudnn") || strstr(name, "<float"))
        return PEAK_FP32;
    return PEAK_TYPE_COUNT;
}

static double peak_of(const struct advice_case *advice, enum peak_type type)
{
    return advice->efficiency->peaks.peaks[type];
}

static double faster_half(const struct advice_case *advice)
{
    double half = peak_of(advice, PEAK_FP16), brain = peak_of(advice, PEAK_BF16);

    return half > brain ? half : brain;
}

/* What of a product's time may be won, 0...1; 0: it is none of the rule's. Here: TF32 could run
 * what goes through vector units in 32 bits. */
static double share_by_tf32(const struct advice_case *advice, const struct work_piece *piece)
{
    double now = peak_of(advice, PEAK_FP32), then = peak_of(advice, PEAK_TF32);

    if (piece->unit == MATRIX_UNIT_USED || precision_of(advice, piece) != PEAK_FP32)
        return 0;
    return now > 0 && then > now ? 1 - now / then : 0;
}

static double share_by_half(const struct advice_case *advice, const struct work_piece *piece)
{
    enum peak_type precision = precision_of(advice, piece);
    double now, then = faster_half(advice);

    if ((precision != PEAK_FP32 && precision != PEAK_TF32) || share_by_tf32(advice, piece) > 0)
        return 0;
    now = peak_of(advice, precision);
    return now > 0 && then > now ? 1 - now / then : 0;
}

static double share_by_units(const struct advice_case *advice, const struct work_piece *piece)
{
    enum peak_type precision = precision_of(advice, piece);
    double now = peak_of(advice, PEAK_FP32), then;

    if (piece->unit != MATRIX_UNIT_NOT_USED || (precision != PEAK_FP16 && precision != PEAK_BF16))
        return 0;
    then = peak_of(advice, precision);
    return now > 0 && then > now ? 1 - now / then : 0;
}

static struct product_sum claim_products(const struct advice_case *advice,
                                         struct advice_claim *claim,
                                         double (*share_of)(const struct advice_case *advice,
                                                            const struct work_piece *piece))
{
    const struct matrix_calls *calls = &advice->efficiency->calls;
    struct step_finder finder = {.ledger = advice->ledger};
    struct product_sum sum = {0};

    for (uint32_t i = 0; i < calls->piece_count && !advice->ledger->is_cpu_only; i++) {
        const struct work_piece *piece = &calls->pieces[i];
        const struct event *event = event_of_piece(calls, piece);
        uint32_t step = step_finder_at(&finder, event->start_ns);
        double share;

        if (step == NO_STEP || !kernel_class_is_matrix((enum kernel_class)piece->class))
            continue;
        share = share_of(advice, piece);
        if (share <= 0)
            continue;
        claim->step_ns[step] += (int64_t)(share * (double)event->duration_ns);
        add_product(&sum, calls, piece);
    }
    return sum;
}

static const char at_peak_rates[] = "priced at peak rates: real products win less";

bool check_tf32_not_used(struct advice_case *advice, struct advice_claim *claim)
{
    struct product_sum sum = claim_products(advice, claim, share_by_tf32);

    if (sum.count == 0)
        return false;
    claim->evidence = product_text(advice, &sum);
    claim->try_this = "torch.set_float32_matmul_precision(\"high\") and "
                      "torch.backends.cudnn.allow_tf32=True, or autocast to bf16";
    claim->confidence = CONFIDENCE_MEDIUM;
    claim->reason = at_peak_rates;
    return true;
}

/* The device multiplies 16-bit numbers faster, though its rates are not known. */
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

    return is_wide && (peak_of(advice, PEAK_FP32) <= 0 || faster_half(advice) <= 0) ? 1 : 0;
}

/* Many products in 32 bits, on a device whose rates are not known. */
static bool claim_without_price(struct advice_case *advice, struct advice_claim *claim)
{
    struct product_sum sum = claim_products(advice, claim, share_if_rates_are_unknown);
    const char *name = advice->efficiency->peaks.name;

    if (!has_faster_half(advice) ||
        100.0 * (double)sum.duration_ns <
            (double)ADVICE_UNPRICED_PERCENT * (double)ledger_total_ns(advice->ledger))
        return false;
    memset(claim->step_ns, 0, advice->ledger->step_count * sizeof *claim->step_ns);
    claim->is_unpriced = true;
    claim->evidence =
        results_format(advice->results,
                       "%s; what 16 bits would win is not known: the rates of %s are not (--device "
                       "NAME, --peak)",
                       product_text(advice, &sum), name ? name : "the device");
    claim->try_this =
        "torch.autocast with bfloat16, or on devices before Ampere with float16 and a "
        "GradScaler";
    claim->confidence = CONFIDENCE_LOW;
    claim->reason = "the formats are told by the kernels' names";
    return true;
}

bool check_half_not_used(struct advice_case *advice, struct advice_claim *claim)
{
    struct product_sum sum = claim_products(advice, claim, share_by_half);

    if (sum.count == 0)
        return claim_without_price(advice, claim);
    claim->evidence = product_text(advice, &sum);
    claim->try_this = peak_of(advice, PEAK_BF16) > 0
                          ? "torch.autocast(\"cuda\", dtype=torch.bfloat16), or weights in bf16"
                          : "torch.autocast(\"cuda\", dtype=torch.float16) with a GradScaler: this "
                            "device has no bf16 units";
    claim->confidence = CONFIDENCE_MEDIUM;
    claim->reason = "priced at peak rates; whether the model trains as well is not known";
    return true;
}

bool check_off_matrix_units(struct advice_case *advice, struct advice_claim *claim)
{
    struct product_sum sum = claim_products(advice, claim, share_by_units);

    if (sum.count == 0)
        return false;
    claim->evidence = product_text(advice, &sum);
    claim->try_this = "make the sizes multiples of 8 (pad vocabulary, channels, batch), or batch "
                      "small products together";
    claim->confidence = CONFIDENCE_MEDIUM;
    claim->reason = at_peak_rates;
    return true;
}
