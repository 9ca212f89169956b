/* How much of the device's peak does the model's own arithmetic use? */
#include "base/core/apportion.h"
#include "base/text/format.h"
#include "cost/efficiency/matrix_calls.h"
#include "output/results/metrics.h"
#include "sections/analysis.h"
#include "sections/chosen_events.h"
#include "sections/measured_clock.h"
#include "sections/model/trained_batch.h"
#include "sections/step/headline.h"
#include "sections/tally.h"

#include <inttypes.h>
#include <stddef.h>

/* What one section is made from. */
struct utilization {
    struct results *results;
    struct section *section;
    const struct analysis_input *input;
    const struct efficiency *efficiency;
    int64_t total_ns;
    int64_t steps;
};

static void add_number(const struct utilization *work, const char *key, const char *title,
                       struct value value, const char *note)
{
    section_add_number(work->results, work->section, (struct number){key, title, value, note});
}

static struct value share_of_time(const struct utilization *work, int64_t ns)
{
    return value_fraction(fraction_of(ns, work->total_ns));
}

static double per_second(double amount, int64_t ns)
{
    return ns > 0 ? amount / ((double)ns / 1e9) : 0;
}

/* The number format of most FLOPs; PEAK_TYPE_COUNT where none are known. */
static enum peak_type main_format(const struct efficiency *efficiency)
{
    enum peak_type most = PEAK_TYPE_COUNT;
    double most_flops = 0;

    for (int type = 0; type < PEAK_TYPE_COUNT; type++) {
        if (efficiency->precisions[type].executed > most_flops) {
            most = (enum peak_type)type;
            most_flops = efficiency->precisions[type].executed;
        }
    }
    return most;
}

/* Of a device that is near to several, the peak it may have at least; 0 where there is one peak. */
static double lowest_peak(const struct efficiency *efficiency, enum peak_type type)
{
    const struct device_peak *slowest = efficiency->peaks.match.slowest;

    if (type == PEAK_TYPE_COUNT || efficiency->peaks.is_by_user[type] ||
        efficiency->peaks.is_measured[type] || !efficiency->peaks.device || !slowest ||
        device_peak_state(slowest, type) != PEAK_KNOWN ||
        slowest->peaks[type] >= efficiency->peaks.peaks[type])
        return 0;
    return slowest->peaks[type];
}

/* "approximate: 3.4 % to 3.8 %, the device is near to several" */
static const char *remark_on_near_device(const struct utilization *work)
{
    const struct efficiency *efficiency = work->efficiency;
    enum peak_type type = main_format(efficiency);
    double lowest = lowest_peak(efficiency, type);
    double mfu = fraction_of(efficiency->total.time.model_ns, work->total_ns);

    if (lowest <= 0)
        return "approximate: by the peak of the device that its own is near to";
    return results_format(work->results, "approximate: %s to %s, by which device it is",
                          format_fraction(mfu).text,
                          format_fraction(mfu * efficiency->peaks.peaks[type] / lowest).text);
}

/* "at least: 12.3 % of the matrix work has no FLOPs or no peak" What has no FLOPs or no peak
 * counts as nothing, so the figure is a lower bound and says by how much. */
static const char *remark_on_mfu(const struct utilization *work)
{
    const struct peak_choice *peaks = &work->efficiency->peaks;
    int64_t matrix_ns = ledger_account_ns(work->input->ledger, ACCOUNT_MATRIX);
    int64_t uncosted_ns = work->efficiency->total.time.uncosted_ns;

    if ((work->input->ledger->is_cpu_only || uncosted_ns == 0) &&
        efficiency_lacks_unseen_products(work->efficiency))
        return "at least: ops that are not counted (compiled code, sparse operands, calls of "
               "libraries) may hold products";
    if (peaks->device && peaks->match.kind == DEVICE_NEAR && uncosted_ns == 0)
        return remark_on_near_device(work);
    if (uncosted_ns == 0)
        return "the model's FLOPs at the peak, of the steps' time; masked pairs left out";
    return results_format(
        work->results, "at least: %s of the matmul time is without FLOPs or peak%s%s",
        format_fraction(fraction_of(uncosted_ns, matrix_ns)).text,
        peaks->device && peaks->match.kind == DEVICE_NEAR ? "; " : "",
        peaks->device && peaks->match.kind == DEVICE_NEAR ? remark_on_near_device(work) : "");
}

/* MFU = model FLOPs at the peak of their format / time of the steps (PaLM, Chowdhery et al.
 * 2022, appendix B); HFU counts all that was computed (Korthikanti et al. 2022). Both as
 * times, which add up over formats. */
static void add_shares(const struct utilization *work)
{
    const struct step_efficiency *total = &work->efficiency->total;
    const struct matrix_time *time = &total->time;

    if (!efficiency_has_model(work->efficiency)) {
        add_number(work, METRIC_NAMES(MFU), value_not_known(efficiency_needs(work->efficiency)),
                   NULL);
        return;
    }
    add_number(work, METRIC_NAMES(MFU), share_of_time(work, time->model_ns), remark_on_mfu(work));
    if (total->flops.all_pairs > total->flops.model)
        add_number(work, "mfu_all_pairs", "MFU, all pairs",
                   value_fraction(total->all_pairs_ideal_ns / (double)work->total_ns),
                   "with masked pairs of attention, as tools count that know no mask");
    add_number(work, METRIC_NAMES(HFU),
               share_of_time(work, time->model_ns + time->recomputed_ns + time->extra_ns),
               "all that the device computed: recomputation and masked pairs too");
}

/* Executed FLOPs have the recomputation in them, the model's have not: MFU is by the latter,
 * HFU by the former. */
static void add_rates(const struct utilization *work)
{
    const struct step_efficiency *total = &work->efficiency->total;
    bool is_least = efficiency_lacks_flops(work->efficiency);

    if (total->known_flops_ns == 0) {
        add_number(work, METRIC_NAMES(MODEL_FLOPS_PER_SECOND),
                   value_not_known(efficiency_needs(work->efficiency)), NULL);
        return;
    }
    add_number(work, "model_flops_per_step", "model FLOPs per step",
               value_flops(total->flops.model / (double)work->steps),
               is_least ? "at least: without recomputation and masked attention"
                        : "without recomputation and masked attention");
    add_number(work, METRIC_NAMES(MODEL_FLOPS_PER_SECOND),
               value_flops_per_second(per_second(total->flops.model, work->total_ns)),
               is_least ? "at least: achieved over the steps" : "achieved over the steps");
    add_number(work, "executed_flops_per_second", "executed FLOP/s",
               value_flops_per_second(per_second(total->flops.executed, work->total_ns)),
               is_least ? "at least: with recomputation" : "with recomputation");
    add_number(work, "matrix_flops_per_second", "in matmuls",
               value_flops_per_second(per_second(total->window_flops, total->known_flops_ns)),
               "executed, while matmuls run");
}

/* FLOPs of a token are of this rank's part: with tensor parallelism a rank computes a part of
 * each token. */
static void add_batch(const struct utilization *work)
{
    struct trained_batch batch = trained_batch_of(work->input);
    const struct flop_parts *flops = &work->efficiency->total.flops;
    bool has_flops = work->efficiency->total.known_flops_ns > 0 && flops->model > 0;

    add_number(work, METRIC_NAMES(TOKENS_PER_SECOND),
               batch.tokens < 0 ? value_not_known(tokens_need(work->input))
                                : value_number(per_second((double)batch.tokens, work->total_ns)),
               "of this rank");
    add_number(work, METRIC_NAMES(SAMPLES_PER_SECOND),
               batch.samples < 0 ? value_not_known(samples_need(work->input))
                                 : value_number(per_second((double)batch.samples, work->total_ns)),
               "of this rank");
    if (batch.tokens > 0 && has_flops) {
        add_number(work, "flops_per_token", "model FLOPs per token",
                   value_flops(flops->model / (double)batch.tokens), "of this rank's part");
        add_number(work, "flops_per_token_all_pairs", "... with all pairs",
                   value_flops(flops->all_pairs / (double)batch.tokens), NULL);
    } else {
        add_number(work, "flops_per_token", "model FLOPs per token",
                   value_not_known(has_flops ? tokens_need(work->input)
                                             : efficiency_needs(work->efficiency)),
                   NULL);
    }
}

/* Who says how fast the device is. */
static const char *source_of_peak(const struct utilization *work, enum peak_type type)
{
    const struct peak_choice *peaks = &work->efficiency->peaks;

    if (peaks->is_by_user[type])
        return "--peak";
    if (peaks->is_measured[type])
        return results_text(work->results, peaks->how_measured);
    if (peaks->how_derived && !peaks->device)
        return results_text(work->results, peaks->how_derived);
    return results_format(work->results, "%s%s, dense: %s",
                          device_is_approximate(&peaks->match) ? "approximate: " : "",
                          peaks->device->name, peaks->device->source);
}

/* Where the user gave the peak, the clock that ran has no say: the figure may be meant at that
 * clock. */
static void add_peak(const struct utilization *work)
{
    const struct peak_choice *peaks = &work->efficiency->peaks;
    enum peak_type most = main_format(work->efficiency);
    double clock_share = measured_clock_share(work->input);

    if (most < PEAK_TYPE_COUNT && peaks->peaks[most] > 0)
        add_number(work, METRIC_KEY(PEAK_FLOPS_PER_SECOND),
                   results_format(work->results, "peak, %s", peak_type_name(most)),
                   value_flops_per_second(peaks->peaks[most]), source_of_peak(work, most));
    if (most < PEAK_TYPE_COUNT && peaks->peaks[most] > 0 && !peaks->is_by_user[most] &&
        clock_share > 0)
        add_number(work, "peak_at_clock", "peak at the clock that ran",
                   value_flops_per_second(peaks->peaks[most] * clock_share),
                   results_format(work->results, "%.1f %% of the clock that the peak holds at",
                                  100 * clock_share));
    if (peaks->name)
        add_number(work, "device", "device",
                   value_text(results_format(work->results, "%s%s: %s",
                                             results_text(work->results, peaks->name),
                                             peaks->is_name_by_user ? " (--device)" : "",
                                             results_text(work->results, peaks->match.how))),
                   NULL);
    add_number(work, "convention", "convention",
               value_text("FLOPs of matmuls, convolutions and attention that ran in the steps, a "
                          "multiply-add as 2; of attention only pairs that its mask leaves; logits "
                          "and routers in, embedding look-ups out; experts that were active; "
                          "tokens as computed, padding in; recomputation out"),
               NULL);
}

#define FORMATS_COLUMNS(COLUMN)                                                                  \
    COLUMN("format", "number format", UNIT_TEXT, 0, BAR_NONE,                                    \
           value_text(peak_type_name((enum peak_type)type)))                                     \
    COLUMN("flops", "executed FLOPs per step", UNIT_FLOPS, 0, BAR_NONE,                          \
           value_flops(total->executed / (double)work->steps))                                   \
    COLUMN("share", "of all", UNIT_FRACTION, 1, BAR_NONE,                                        \
           value_fraction(efficiency->total.flops.executed > 0                                   \
                              ? total->executed / efficiency->total.flops.executed               \
                              : 0))                                                              \
    COLUMN("time", "device time per step", UNIT_TIME_NS, 1, BAR_NONE,                            \
           value_time_ns(rounded_mean(total->kernel_ns, work->steps)))                           \
    COLUMN("rate", "achieved", UNIT_FLOPS_PER_SECOND, 0, BAR_NONE, value_flops_per_second(rate)) \
    COLUMN("peak", "peak", UNIT_FLOPS_PER_SECOND, 0, BAR_NONE,                                   \
           peak > 0 ? value_flops_per_second(peak)                                               \
                    : value_not_known(obstacle_needs(efficiency, PRICE_NO_PEAK)))                \
    COLUMN("of_peak", "of the peak", UNIT_FRACTION, 0, BAR,                                      \
           peak > 0 ? value_fraction(rate / peak) : value_none())

/* FLOPs by number format; each has its own peak, and the ideal times add up. */
static void add_formats(const struct utilization *work)
{
    const struct efficiency *efficiency = work->efficiency;
    struct table *table = NULL;

    for (int type = 0; type < PEAK_TYPE_COUNT; type++) {
        const struct precision_total *total = &efficiency->precisions[type];
        double rate = per_second(total->executed, total->kernel_ns);
        double peak = efficiency->peaks.peaks[type];
        struct value *cells;

        if (total->kernel_ns == 0)
            continue;
        if (!table)
            table = section_add_table(work->results, work->section, "formats", "By number format",
                                      COLUMNS_OF(FORMATS_COLUMNS));
        cells = table_add_row(work->results, table, 0);
        FILL_ROW(cells, FORMATS_COLUMNS);
    }
}

/* As a row says it; the ledger says it as a sentence. */
static const char *obstacle_title(enum cost_obstacle obstacle)
{
    static const char *const titles[PRICE_OBSTACLE_COUNT] = {
        [PRICE_KNOWN] = "nothing",
        [PRICE_NO_OPERATOR] = "an operator around the launch",
        [PRICE_NO_SHAPES] = "input shapes",
        [PRICE_NO_FORMULA] = "a formula of the operator",
        [PRICE_IN_BUFFER] = "a recording without command buffers",
        [PRICE_NO_ARGUMENTS] = "arguments of the operator",
        [PRICE_NO_TYPE] = "the number format: --dtype",
        [PRICE_NO_PEAK] = "the peak: --peak, --device"};

    return titles[obstacle];
}

static const char *example_operator(const struct utilization *work,
                                    const struct uncosted_total *total)
{
    const struct trace *trace = work->efficiency->trace;
    uint32_t op = work->input->ledger->is_cpu_only ? total->example
                                                   : trace_operator_of(trace, total->example);

    return op == NO_EVENT ? "none"
                          : results_text(work->results, trace_text(trace, trace->host[op].name));
}

static const char *example_of(const struct utilization *work, const struct uncosted_total *total)
{
    const struct trace *trace = work->efficiency->trace;
    const struct event *event = work->input->ledger->is_cpu_only ? &trace->host[total->example]
                                                                 : &trace->device[total->example];

    return results_text(work->results, trace_text(trace, event->name));
}

#define MISSING_COLUMNS(COLUMN)                                           \
    COLUMN("needs", "what is missing", UNIT_TEXT, 0, BAR_NONE,            \
           value_text(obstacle_title((enum cost_obstacle)i)))             \
    COLUMN("time", "matmul time per step", UNIT_TIME_NS, 0, BAR_NONE,     \
           value_time_ns(rounded_mean(total->kernel_ns, work->steps)))    \
    COLUMN("operator", "operator of the longest", UNIT_TEXT, 1, BAR_NONE, \
           value_text(example_operator(work, total)))                     \
    COLUMN("example", "its kernel", UNIT_TEXT, 2, BAR_NONE, value_text(example_of(work, total)))

/* Matrix work without a price, by what is missing. */
static void add_missing(const struct utilization *work)
{
    struct table *table = NULL;

    for (int i = PRICE_KNOWN + 1; i < PRICE_OBSTACLE_COUNT; i++) {
        const struct uncosted_total *total = &work->efficiency->uncosted[i];
        struct value *cells;

        if (total->kernel_ns == 0)
            continue;
        if (!table)
            table =
                section_add_table(work->results, work->section, "missing",
                                  "Matmul time without FLOPs or peak", COLUMNS_OF(MISSING_COLUMNS));
        cells = table_add_row(work->results, table, 0);
        FILL_ROW(cells, MISSING_COLUMNS);
    }
    if (table)
        table->note = "Stays \"FLOPs or peak not known\" in the ledger; kernels that run at once "
                      "count each.";
}

#define STEPS_COLUMNS(COLUMN)                                                                   \
    COLUMN(METRIC_KEY(STEP), METRIC_TITLE(STEP), METRIC_UNIT(STEP), PRIORITY_FOR_PROGRAMS,      \
           BAR_NONE, value_count(ledger->steps[i].window.number))                               \
    COLUMN("matrix", "matmul time", UNIT_TIME_NS, PRIORITY_FOR_PROGRAMS, BAR_NONE,              \
           value_time_ns(ledger->steps[i].account_ns[ACCOUNT_MATRIX]))                          \
    COLUMN(METRIC_KEY(STEP_UNCOSTED_TIME), METRIC_TITLE(STEP_UNCOSTED_TIME),                    \
           METRIC_UNIT(STEP_UNCOSTED_TIME), PRIORITY_FOR_PROGRAMS, BAR_NONE,                    \
           value_time_ns(step->time.uncosted_ns))                                               \
    COLUMN(METRIC_KEY(STEP_BELOW_PEAK_TIME), METRIC_TITLE(STEP_BELOW_PEAK_TIME),                \
           METRIC_UNIT(STEP_BELOW_PEAK_TIME), PRIORITY_FOR_PROGRAMS, BAR_NONE,                  \
           value_time_ns(step->time.below_peak_ns))                                             \
    COLUMN(METRIC_KEY(STEP_RECOMPUTED_TIME), METRIC_TITLE(STEP_RECOMPUTED_TIME),                \
           METRIC_UNIT(STEP_RECOMPUTED_TIME), PRIORITY_FOR_PROGRAMS, BAR_NONE,                  \
           value_time_ns(step->time.recomputed_ns))                                             \
    COLUMN(METRIC_KEY(STEP_EXTRA_TIME), METRIC_TITLE(STEP_EXTRA_TIME),                          \
           METRIC_UNIT(STEP_EXTRA_TIME), PRIORITY_FOR_PROGRAMS, BAR_NONE,                       \
           value_time_ns(step->time.extra_ns))                                                  \
    COLUMN(METRIC_KEY(STEP_MODEL_TIME), METRIC_TITLE(STEP_MODEL_TIME),                          \
           METRIC_UNIT(STEP_MODEL_TIME), PRIORITY_FOR_PROGRAMS, BAR_NONE,                       \
           value_time_ns(step->time.model_ns))                                                  \
    COLUMN(METRIC_KEY(STEP_EXECUTED_FLOPS), METRIC_TITLE(STEP_EXECUTED_FLOPS),                  \
           METRIC_UNIT(STEP_EXECUTED_FLOPS), PRIORITY_FOR_PROGRAMS, BAR_NONE,                   \
           value_flops(step->flops.executed))                                                   \
    COLUMN("recomputed_flops", "recomputed FLOPs", UNIT_FLOPS, PRIORITY_FOR_PROGRAMS, BAR_NONE, \
           value_flops(step->flops.recomputed))                                                 \
    COLUMN("extra_flops", "FLOPs not needed", UNIT_FLOPS, PRIORITY_FOR_PROGRAMS, BAR_NONE,      \
           value_flops(step->flops.extra))                                                      \
    COLUMN(METRIC_KEY(STEP_MODEL_FLOPS), METRIC_TITLE(STEP_MODEL_FLOPS),                        \
           METRIC_UNIT(STEP_MODEL_FLOPS), PRIORITY_FOR_PROGRAMS, BAR_NONE,                      \
           value_flops(step->flops.model))

/* Every step exactly, for programs: the times sum to matrix_ns. */
static void add_exact_steps(const struct utilization *work)
{
    const struct ledger *ledger = work->input->ledger;
    struct table *table = section_add_table(work->results, work->section, "steps",
                                            "Matmul time of every step", COLUMNS_OF(STEPS_COLUMNS));

    for (uint32_t i = 0; i < ledger->step_count; i++) {
        const struct step_efficiency *step = &work->efficiency->steps[i];

        FILL_ROW(table_add_row(work->results, table, 0), STEPS_COLUMNS);
    }
}

/* The first step is enough to show that peak or FLOPs are wrong; all others would say the
 * same. */
static void warn_of_impossible(const struct utilization *work)
{
    const struct ledger *ledger = work->input->ledger;

    for (uint32_t i = 0; i < ledger->step_count; i++) {
        if (work->efficiency->steps[i].window_rest_ns >= 0)
            continue;
        section_add_warning(
            work->results, work->section,
            results_format(work->results,
                           "%s %" PRId64 ": matmuls are faster than its peak: wrong "
                           "peak or wrong FLOPs",
                           step_word(ledger), ledger->steps[i].window.number),
            results_format(work->results, "at the peak it would take %s longer than it did",
                           format_time(-work->efficiency->steps[i].window_rest_ns).text),
            "say which device and number format it was: --device NAME, --dtype, "
            "--peak TFLOPS");
        return;
    }
}

/* Where no matrix work ran in the steps (a trace of copies, of data loading) a share of the
 * peak has no meaning. */
static struct section *measure_utilization(struct results *results,
                                           const struct analysis_input *input)
{
    struct utilization work = {.results = results,
                               .input = input,
                               .efficiency = input->efficiency,
                               .total_ns = ledger_total_ns(input->ledger),
                               .steps = input->ledger->step_count};

    if (work.total_ns == 0 || ledger_account_ns(input->ledger, ACCOUNT_MATRIX) == 0)
        return NULL;
    work.section = section_new(
        results, "model_flops_utilization", "Model FLOPs and the peak",
        "How much of what the device can compute at most is the model's own arithmetic (MFU, model "
        "FLOPs utilization), and how much it computes in total (HFU, hardware FLOPs utilization).");
    add_shares(&work);
    add_rates(&work);
    add_batch(&work);
    add_peak(&work);
    add_formats(&work);
    add_missing(&work);
    add_exact_steps(&work);
    warn_of_impossible(&work);
    return work.section;
}

const struct analysis model_flops_utilization_analysis = {
    .name = "model_flops_utilization",
    .summary = "How much of the peak does the model's own arithmetic use?",
    .run = measure_utilization,
};
