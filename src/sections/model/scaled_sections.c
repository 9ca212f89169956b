/* What `flopledger plan --from` says: the planned step, and its parts beside the recorded ones. */
#include "base/text/format.h"
#include "cost/plan/scaled_shapes.h"
#include "output/results/metrics.h"
#include "sections/model/scaled_parts.h"

#include <math.h>

static const struct {
    const char *key;
    const char *title;
} scaled_parts[] = {
    [SCALED_MATRIX] = {"matrix", "matmuls and attention"},
    [SCALED_OTHER] = {"other_compute", "other operators"},
    [SCALED_OPTIMIZER] = {"optimizer", "optimizer"},
    [SCALED_COMMUNICATION] = {"communication", "communication"},
    [SCALED_COPIES] = {"copies", "copies"},
    [SCALED_BUBBLE] = {"pipeline_bubble", "pipeline bubble"},
    [SCALED_REST] = {"rest", "rest of the step"},
};

static const char *scaled_pass_text(struct results *results, const struct pass_size *pass)
{
    if (pass->samples <= 0)
        return "not told";
    if (pass->sequence <= 0)
        return results_format(results, "%lld samples", (long long)pass->samples);
    return results_format(results, "%lld samples of %lld tokens", (long long)pass->samples,
                          (long long)pass->sequence);
}

/* What was recorded stands beside what is planned only where it may differ. A device that is
 * not in the table has no peak to scale by, and its name says so. */
static void scaled_add_changes(struct results *results, struct section *section,
                               const struct scaled_steps *steps,
                               const struct scaled_request *request)
{
    const char *device = steps->is_of_processor   ? "the processor"
                         : steps->recorded_device ? steps->recorded_device->name
                                                  : "not in the table";

    section_add_value(results, section, "device", "device",
                      value_text(request->device ? request->device->name : device));
    if (request->rates)
        section_add_number(results, section,
                           (struct number){"measured_on", "rates of",
                                           value_text(request->rates->device),
                                           request->rates->how});
    if (request->recorded_rates)
        section_add_number(results, section,
                           (struct number){"recorded_rates_of", "those of the recording",
                                           value_text(request->recorded_rates->device),
                                           request->recorded_rates->how});
    if (request->device)
        section_add_value(results, section, "recorded_device", "recorded on", value_text(device));
    if (steps->layout.pipeline > 0)
        section_add_value(results, section, "devices", "devices",
                          value_count(plan_devices(&steps->layout)));
    else if (steps->recorded_devices > 0)
        section_add_value(
            results, section, "devices", "devices",
            value_count(request->devices > 0 ? request->devices : steps->recorded_devices));
    if (steps->layout.pipeline > 0)
        section_add_value(results, section, "layout", "layout",
                          value_text(results_format(
                              results,
                              "tensor %lld, pipeline %lld (virtual %lld), data %lld; "
                              "micro-batches of a step: %lld",
                              (long long)steps->layout.tensor, (long long)steps->layout.pipeline,
                              (long long)steps->layout.chunks, (long long)steps->layout.data,
                              (long long)steps->layout_passes)));
    section_add_value(results, section, "pass", "a pass of a device",
                      value_text(scaled_pass_text(results, &steps->change.to)));
    section_add_value(results, section, "recorded_pass", "as recorded",
                      value_text(scaled_pass_text(results, &steps->change.from)));
}

/* Of an upper bound the least is what the device alone takes. */
static struct value scaled_bound(const struct scaled_steps *steps, double share)
{
    return share > 0.0 ? value_time_ns(llround(steps->planned_ns * share))
                       : value_not_known("needs two recorded steps or more");
}

/* A tenth of a percent changes nothing. */
static const double UNSHAPED_SHARE = 0.001;
/* What the host holds up of a planned step, to be told. */
static const double HELD_UP_SHARE = 0.05;

/* A change of nothing asks for no step but the recorded one; a change of work may hide behind a
 * host that takes longer. */
static bool scaled_is_work_as_recorded(const struct scaled_steps *steps)
{
    double changed_ns = 0.0;

    for (int i = 0; i < SCALED_REST; i++)
        changed_ns += fabs(steps->after_ns[i] - steps->before_ns[i]);
    return changed_ns < 0.0005 * steps->recorded_ns;
}

/* The planned step waits for a host of which nobody knows how fast it is where nothing is
 * recorded. */
static bool scaled_is_upper_bound(const struct scaled_steps *steps)
{
    return steps->device_share > 0.0 && steps->device_share < 1.0 - HELD_UP_SHARE &&
           !steps->is_pace_known && !scaled_is_work_as_recorded(steps);
}

/* A size that is the batch and a weight's at once cannot be told apart by shapes alone. */
static void scaled_warn(struct results *results, struct section *section,
                        const struct scaled_steps *steps)
{
    if (steps->is_ambiguous)
        section_add_warning(
            results, section, "a size of the weights is that of samples or tokens, too",
            "what belongs to weights may be scaled as if it were activations",
            "record with a batch and a sequence whose sizes are those of no weight");
    if (scaled_is_upper_bound(steps))
        section_add_warning(
            results, section, "the planned step is an upper bound: it waits for the host",
            results_format(
                results,
                "recording slows a host, and by how much %s; one that holds up nothing "
                "would leave %s",
                steps->plain_ns > 0
                    ? "steps that were not recorded do not tell, as they wait for the "
                      "device"
                    : "is not recorded",
                format_short_time(llround(steps->planned_ns * steps->device_share)).text),
            steps->plain_ns > 0 ? "record with fewer samples, so that steps wait for the host"
                                : "record some of many steps with 'flopledger run', whose "
                                  "capture.json has the times of the others");
    if (steps->layout_passes < steps->layout.pipeline)
        section_add_warning(
            results, section, "the pipeline has fewer micro-batches than stages",
            results_format(results, "%lld for %lld: stages wait for most of the step",
                           (long long)steps->layout_passes, (long long)steps->layout.pipeline),
            "--global-batch with the samples of a step, of all devices");
    if (steps->unshaped_ns > UNSHAPED_SHARE * steps->recorded_ns)
        section_add_warning(
            results, section, "kernels without shapes are planned as recorded",
            results_format(results, "%.1f %% of the step: no operator tells what they work on",
                           100.0 * steps->unshaped_ns / steps->recorded_ns),
            "record with shapes, and from before the first step");
}

/* The range is of the recorded steps, scaled: it says how they differ, not how wrong the plan
 * may be, and the page says that. */
static struct section *describe_scaled_plan(struct results *results,
                                            const struct scaled_steps *steps,
                                            const struct scaled_request *request)
{
    struct section *section = section_new(
        results, "plan", "Plan from a recording",
        "What is unchanged keeps its measured time; what changes is scaled by its shapes.");

    scaled_add_changes(results, section, steps, request);
    section_add_value(results, section, "step_time", "step time",
                      value_time_ns(llround(steps->planned_ns)));
    section_add_number(
        results, section,
        (struct number){"step_time_low", "at least",
                        scaled_bound(steps, scaled_is_upper_bound(steps) ? steps->device_share
                                                                         : steps->shortest),
                        "as recorded steps differ; the plan may be off by more"});
    section_add_value(results, section, "step_time_high", "at most",
                      scaled_bound(steps, steps->longest));
    section_add_value(results, section, "recorded_step_time", "recorded step",
                      value_time_ns(llround(steps->recorded_ns)));
    if (steps->plain_ns > 0)
        section_add_number(results, section,
                           (struct number){"plain_step_time", "steps not recorded, median",
                                           value_time_ns(steps->plain_ns),
                                           results_format(results,
                                                          "planned with %.2f of the "
                                                          "recorded times of the host",
                                                          steps->pace)});
    if (steps->tokens > 0.0 && steps->planned_ns > 0.0)
        section_add_value(results, section, "tokens_per_second_per_device",
                          "tokens a second, of a device",
                          value_number(steps->tokens / steps->planned_ns * 1e9));
    if (steps->flops > 0.0)
        section_add_value(results, section, "matrix_flops", "matmuls and attention, at least",
                          value_flops(steps->flops));
    if (steps->waited_ns > 0.0)
        section_add_value(results, section, "recorded_core_wait", "recorded: waiting for a core",
                          value_time_ns(llround(steps->waited_ns)));
    scaled_warn(results, section, steps);
    return section;
}

#define SCALED_COLUMNS(COLUMN)                                                                \
    COLUMN("account", "part", UNIT_TEXT, 0, BAR_NONE, value_text(scaled_parts[i].title))      \
    COLUMN("account_key", "key", UNIT_TEXT, PRIORITY_FOR_PROGRAMS, BAR_NONE,                  \
           value_text(scaled_parts[i].key))                                                   \
    COLUMN("recorded", "recorded", UNIT_TIME_NS, 0, BAR_NONE,                                 \
           value_time_ns(llround(steps->before_ns[i])))                                       \
    COLUMN("time", "planned", UNIT_TIME_NS, 0, BAR_NONE,                                      \
           value_time_ns(llround(steps->after_ns[i])))                                        \
    COLUMN("factor", "factor", UNIT_NUMBER, 1, BAR_NONE,                                      \
           steps->before_ns[i] > 0.0 ? value_number(steps->after_ns[i] / steps->before_ns[i]) \
                                     : value_none())

/* The largest change is named: it is what the answer stands on. What recording makes longer is no
 * change, and lies in what the device idles. */
static const char *scaled_headline(struct results *results, const struct scaled_steps *steps)
{
    bool is_slowed = steps->pace > 0.0 && steps->pace < 1.0;
    double before = is_slowed ? (double)steps->plain_ns : steps->recorded_ns;
    double change = steps->planned_ns / before - 1.0;
    struct short_text planned = format_short_time(llround(steps->planned_ns));
    struct short_text recorded = format_short_time(llround(before));
    double most_ns = 0.0;
    int most = 0;

    for (int i = 0; i < SCALED_PART_COUNT; i++) {
        double slowed = i == SCALED_REST ? steps->recorded_ns - before : 0.0;
        double changed = fabs(steps->after_ns[i] - steps->before_ns[i] + slowed);

        if (changed > most_ns) {
            most_ns = changed;
            most = i;
        }
    }
    if (fabs(change) < (is_slowed ? 0.005 : 0.0005))
        return results_format(results, "A step takes %s%s, as %s%s.",
                              scaled_is_upper_bound(steps) ? "at most " : "", planned.text,
                              is_slowed ? "those that were not recorded" : "it was recorded",
                              scaled_is_work_as_recorded(steps)
                                  ? ""
                                  : ": it waits for the host, behind which the change hides");
    return results_format(results,
                          "A step takes %s%s instead of the %s %s (%s%s); most of the change "
                          "is in %s.",
                          scaled_is_upper_bound(steps) ? "at most " : "", planned.text,
                          is_slowed ? "unrecorded" : "recorded", recorded.text,
                          change > 0.0 ? "+" : "", format_fraction(change).text,
                          scaled_parts[most].title);
}

/* A part that is zero before and after is no part of this run. "The rest" closes the sum, so
 * that the parts are the step before and after. */
void describe_scaled_steps(struct results *results, struct rank_results *rank,
                           const struct scaled_steps *steps, const struct scaled_request *request)
{
    struct section *section = section_new(
        results, "plan_ledger", "Planned ledger",
        steps->is_of_processor
            ? "Own times of operators in a step; the rest is what lies outside of operators."
            : "Kernel times of a step, summed; the rest is idle time less what runs side by side.");
    struct table *table;

    rank->headline = scaled_headline(results, steps);
    rank_add_section(results, rank, describe_scaled_plan(results, steps, request));
    table = section_add_table(results, section, "accounts", "Parts of a step",
                              COLUMNS_OF(SCALED_COLUMNS));
    for (int i = 0; i < SCALED_PART_COUNT; i++) {
        struct value *cells;

        if (steps->before_ns[i] == 0.0 && steps->after_ns[i] == 0.0)
            continue;
        cells = table_add_row(results, table, 0);
        FILL_ROW(cells, SCALED_COLUMNS);
    }
    rank_add_section(results, rank, section);
}
