/* `flopledger ettr`: how long the steps of a job took, and the rates its log tells. */
#include "base/text/format.h"
#include "output/results/metrics.h"
#include "sections/job/ettr_page.h"

#include <math.h>

/* Stretches of steps that differ so much from the one before are told. */
static const double drift_known = 0.03;
enum { DRIFTS_TOLD = 4 };

static void ettr_steps_add_time(const struct ettr_page *page, struct section *section,
                                const char *key, const char *title, int64_t ns)
{
    section_add_value(page->results, section, key, title, value_time_ns(ns));
}

/* A number of the section, without its note. */
static struct number ettr_steps_number_of(const char *key, const char *title, struct value value)
{
    return (struct number){.key = key, .title = title, .value = value};
}

static void ettr_steps_add_number(const struct ettr_page *page, struct section *section,
                                  struct number number, const char *note)
{
    number.note = note;
    section_add_number(page->results, section, number);
}

#define PARTS_COLUMNS(COLUMN)                                                                      \
    COLUMN("attempt", "attempt", UNIT_COUNT, 1, BAR_NONE, value_count((int64_t)part->attempt + 1)) \
    COLUMN("first_step", "from step", UNIT_COUNT, 0, BAR_NONE, value_count(part->first_step))      \
    COLUMN("last_step", "to step", UNIT_COUNT, 0, BAR_NONE, value_count(part->last_step))          \
    COLUMN("median", "step time, median", UNIT_TIME_NS, 0, BAR_NONE,                               \
           value_time_ns(part->median_ns))                                                         \
    COLUMN("of_all", "of the job's median", UNIT_FRACTION, 0, BAR_NONE,                            \
           page->times->median_ns > 0                                                              \
               ? value_fraction((double)part->median_ns / (double)page->times->median_ns)          \
               : value_none())

static void ettr_steps_add_parts(const struct ettr_page *page, struct section *section)
{
    struct table *table = section_add_table(page->results, section, "parts", "Step time over time",
                                            COLUMNS_OF(PARTS_COLUMNS));

    for (size_t i = 0; i < page->times->part_count; i++) {
        const struct step_part *part = &page->times->parts[i];

        FILL_ROW(table_add_row(page->results, table, 0), PARTS_COLUMNS);
    }
}

#define SLOW_STEPS_COLUMNS(COLUMN)                                                                 \
    COLUMN("step", "step", UNIT_COUNT, 0, BAR_NONE, value_count(slow->step))                       \
    COLUMN("attempt", "attempt", UNIT_COUNT, 1, BAR_NONE, value_count((int64_t)slow->attempt + 1)) \
    COLUMN("steps", "steps that the line tells of", UNIT_COUNT, 3, BAR_NONE,                       \
           value_count(slow->count))                                                               \
    COLUMN("time", "each took", UNIT_TIME_NS, 0, BAR_NONE, value_time_ns(slow->each_ns))           \
    COLUMN("times_median", "times the median around", UNIT_NUMBER, 0, BAR_NONE,                    \
           slow->median_ns > 0 ? value_number((double)slow->each_ns / (double)slow->median_ns)     \
                               : value_none())                                                     \
    COLUMN("ended", "ended", UNIT_TEXT, 2, BAR_NONE,                                               \
           slow->end_ns != JOB_NOT_KNOWN ? value_text(job_time_text(page, slow->end_ns))           \
                                         : value_none())

/* Against the steps around, not against the whole job: longer sequences or another batch size
 * change what is usual. */
static void add_slow_steps(const struct ettr_page *page, struct section *section)
{
    struct table *table;

    if (page->times->slow_count == 0)
        return;
    table = section_add_table(page->results, section, "slow_steps", "Slowest steps",
                              COLUMNS_OF(SLOW_STEPS_COLUMNS));
    table->note = "Steps of more than 1.5 times the median of the steps around them, those first "
                  "that took most beyond it.";
    for (size_t i = 0; i < page->times->slow_count; i++) {
        const struct slow_step *slow = &page->times->slow[i];

        FILL_ROW(table_add_row(page->results, table, 0), SLOW_STEPS_COLUMNS);
    }
}

/* Medians of stretches, so that single slow steps are no drift. */
static void find_drifts(const struct ettr_page *page, struct section *section)
{
    int known = 0;

    for (size_t i = 1; i < page->times->part_count && known < DRIFTS_TOLD; i++) {
        const struct step_part *before = &page->times->parts[i - 1], *part = before + 1;
        double change =
            before->median_ns > 0 ? (double)part->median_ns / (double)before->median_ns - 1.0 : 0.0;

        if (fabs(change) < drift_known)
            continue;
        known++;
        add_job_finding(
            page, section, false,
            results_format(page->results, "steps %s to %s took %s, those before %s: %.1f %% %s",
                           format_count(part->first_step).text, format_count(part->last_step).text,
                           format_short_time(part->median_ns).text,
                           format_short_time(before->median_ns).text, fabs(change) * 100.0,
                           change > 0 ? "longer" : "shorter"),
            change > 0 ? "compare the hosts, the clocks and the input of both stretches" : NULL);
    }
}

/* A line may tell the mean of several steps (a log every ten): the quantiles are then of such
 * means and hide a single slow step, which the note says. One part alone is the job itself and
 * needs no table. */
struct section *describe_step_times(const struct ettr_page *page)
{
    const struct job_step_times *times = page->times;
    struct section *section = section_new(page->results, "job_step_times", "Step times", NULL);

    if (times->entries == 0) {
        ettr_steps_add_number(
            page, section,
            ettr_steps_number_of(METRIC_NAMES(JOB_STEP_TIME_MEDIAN),
                                 value_not_known("needs times or lengths of steps in the log")),
            NULL);
        return section;
    }
    ettr_steps_add_time(page, section, METRIC_NAMES(JOB_STEP_TIME_MEDIAN), times->median_ns);
    ettr_steps_add_time(page, section, "mean", "mean", times->mean_ns);
    ettr_steps_add_time(page, section, METRIC_NAMES(JOB_STEP_TIME_MIN), times->minimum_ns);
    ettr_steps_add_time(page, section, METRIC_NAMES(JOB_STEP_TIME_P90), times->p90_ns);
    ettr_steps_add_time(page, section, METRIC_NAMES(JOB_STEP_TIME_P99), times->p99_ns);
    ettr_steps_add_time(page, section, METRIC_NAMES(JOB_STEP_TIME_MAX), times->maximum_ns);
    ettr_steps_add_number(
        page, section,
        ettr_steps_number_of("lines", "lines that tell of steps", value_count(times->entries)),
        times->steps > times->entries ? "each tells the mean of several steps" : NULL);
    ettr_steps_add_number(
        page, section,
        ettr_steps_number_of(METRIC_NAMES(JOB_SLOW_STEPS), value_count(times->slow_steps)),
        "over 1.5 times the median around them");
    /* The time beyond the median around them; no slow step has no such time. */
    if (times->slow_steps)
        ettr_steps_add_time(page, section, METRIC_NAMES(JOB_SLOW_TIME), times->slow_ns);
    if (times->part_count > 1)
        ettr_steps_add_parts(page, section);
    add_slow_steps(page, section);
    find_drifts(page, section);
    return section;
}

/* Rates that cannot be, one finding a kind. */
static void find_faults(const struct ettr_page *page, struct section *section)
{
    static const char *const reasons[RATE_FAULT_COUNT] = {
        [RATE_ABOVE_PEAK] = "more than the device's peak",
        [RATE_ABOVE_ANY] = "more than any device can do",
        [RATE_MFU_ABOVE_ONE] = "more than all",
        [RATE_OUT_OF_LINE] = "more than three times the job's median",
    };

    for (int fault = 0; fault < RATE_FAULT_COUNT; fault++) {
        const struct job_rate_example *example = &page->rates->faults[fault];
        /* An MFU is told as such: the log has no FLOPs from which the reader could follow it. */
        bool is_mfu = fault == RATE_MFU_ABOVE_ONE;

        if (example->count == 0)
            continue;
        add_job_finding(
            page, section, true,
            results_format(
                page->results, "%s %s a rate that cannot be, and %s left out: step %s, %s, is %s",
                format_count(example->count).text,
                example->count == 1 ? "line tells" : "lines tell",
                example->count == 1 ? "is" : "are", format_count(example->step).text,
                is_mfu ? results_format(page->results, "an MFU of %.1f %%", example->mfu * 100.0)
                       : format_flops_per_second(example->flops_per_second).text,
                reasons[fault]),
            "the program measured the launch, not the step, or counted FLOPs that were not made");
    }
}

/* Each kept step has the FLOPs of a recorded one, whatever it took. */
static double mfu_of_windows(const struct kept_parts *kept)
{
    int64_t known_ns = kept->kept.ns - kept->not_known.ns;

    return known_ns > 0 ? (double)kept->fixed[WINDOW_MODEL].ns / (double)known_ns : 0.0;
}

/* From the best source to the weakest: the log's FLOP/s over the device's peak, tokens by
 * --flops-per-token, the recorded steps, and last the log's own figure, whose peak is not
 * known. */
static struct value mfu_value(const struct ettr_page *page, const char **note)
{
    const struct job_rates *rates = page->rates;
    double flops = rates->flops_per_second;

    *note = NULL;
    if (isnan(flops) && !isnan(rates->tokens_per_second) && page->flops_per_token > 0.0)
        flops = rates->tokens_per_second * page->flops_per_token;
    if (!isnan(flops) && page->peak > 0.0) {
        *note = results_format(page->results, "of %s", page->peak_source);
        return value_fraction(flops / page->peak);
    }
    if (isnan(flops) && page->windows->has_model && page->kept->known_steps > 0) {
        *note = "model FLOPs of the recorded steps, over all kept ones";
        return value_fraction(mfu_of_windows(page->kept));
    }
    if (!isnan(rates->mfu)) {
        *note = "the log's own figure, by its own peak";
        return value_fraction(rates->mfu);
    }
    if (isnan(flops) && page->windows->needs)
        return value_not_known(page->windows->needs);
    return value_not_known(isnan(flops) ? "needs --flops-per-token and --device or --peak"
                                        : "needs --device or --peak");
}

/* What a log tells is of one device, by the program's own count of FLOPs; MFU over all of the
 * job's time counts lost time as zero. */
struct section *describe_rates(const struct ettr_page *page)
{
    const struct job_rates *rates = page->rates;
    struct section *section = section_new(
        page->results, "job_rates", "Rates",
        "Means over the kept steps, weighted by their time, of what the log tells of one device.");
    const char *note;
    struct value mfu = mfu_value(page, &note);

    ettr_steps_add_number(
        page, section,
        ettr_steps_number_of(METRIC_NAMES(JOB_DEVICE_FLOPS_PER_SECOND),
                             isnan(rates->flops_per_second)
                                 ? value_not_known("needs TFLOP/s in the log")
                                 : value_flops_per_second(rates->flops_per_second)),
        "as the program counts its FLOPs");
    ettr_steps_add_number(page, section, ettr_steps_number_of(METRIC_NAMES(JOB_MFU), mfu), note);
    /* Over all time only where all time is known: a part of it as the divisor would flatter
     * the job. */
    if (mfu.unit == UNIT_FRACTION && page->accounts->is_complete && page->accounts->total_ns > 0)
        ettr_steps_add_number(
            page, section,
            ettr_steps_number_of(METRIC_NAMES(JOB_OVERALL_MFU),
                                 value_fraction(mfu.real * (double)page->accounts->ns[JOB_KEPT] /
                                                (double)page->accounts->total_ns)),
            "kept steps only, over all of its time");
    if (!isnan(rates->tokens_per_second))
        ettr_steps_add_number(page, section,
                              ettr_steps_number_of(METRIC_NAMES(JOB_DEVICE_TOKENS_PER_SECOND),
                                                   value_number(rates->tokens_per_second)),
                              NULL);
    if (!isnan(rates->tokens_per_second_of_job))
        ettr_steps_add_number(page, section,
                              ettr_steps_number_of(METRIC_NAMES(JOB_TOKENS_PER_SECOND),
                                                   value_number(rates->tokens_per_second_of_job)),
                              NULL);
    find_faults(page, section);
    return section;
}
