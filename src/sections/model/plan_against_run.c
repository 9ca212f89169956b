/* Where a recorded step left the plan, account by account, and why. */
#include "base/text/format.h"
#include "cost/plan/planned_step.h"
#include "ledger/step_finder.h"
#include "output/results/metrics.h"
#include "sections/model/plan_sections.h"
#include "sections/model/trained_batch.h"

#include <math.h>
#include <string.h>

static const char *const planned_titles[] = {
    [PLANNED_USEFUL] = "FLOPs of the model, at the peak",
    [PLANNED_BELOW_PEAK] = "matmuls and attention below the peak",
    [PLANNED_RECOMPUTED] = "recomputation",
    [PLANNED_MATRIX] = "matmuls and attention",
    [PLANNED_OTHER] = "other operators",
    [PLANNED_OPTIMIZER] = "optimizer",
    [PLANNED_COMMUNICATION] = "exposed communication",
    [PLANNED_COPIES] = "copies",
    [PLANNED_DATA] = "waiting for data",
    [PLANNED_LAUNCH] = "waiting for launches",
    [PLANNED_HOST] = "waiting for the host otherwise",
    [PLANNED_REST] = "rest of the step",
};

static const char *const planned_keys[] = {
    "useful",
    "below_peak",
    "recompute",
    "matrix",
    "other_compute",
    "optimizer",
    "exposed_communication",
    "copies",
    "data",
    "launch",
    "host",
    "rest",
};

/* Idle accounts that a plan's "waiting for launches" stands for. */
static bool is_launch_account(int account)
{
    return account == ACCOUNT_IDLE_OPERATOR || account == ACCOUNT_IDLE_LAUNCH ||
           account == ACCOUNT_IDLE_QUEUE_GAP || account == ACCOUNT_IDLE_RUNTIME ||
           account == ACCOUNT_IDLE_GRAPH || account == ACCOUNT_IDLE_PYTHON ||
           account == ACCOUNT_IDLE_NOTHING;
}

/* Matrix time is told apart by what its FLOPs take at the peak, not here. */
static enum planned_part part_of_account(int account)
{
    switch (account) {
    case ACCOUNT_OTHER_COMPUTE:
        return PLANNED_OTHER;
    case ACCOUNT_COMMUNICATION:
        return PLANNED_COMMUNICATION;
    case ACCOUNT_COPY:
        return PLANNED_COPIES;
    case ACCOUNT_DATA_COPY:
    case ACCOUNT_IDLE_DATA:
        return PLANNED_DATA;
    default:
        return is_launch_account(account) ? PLANNED_LAUNCH : PLANNED_HOST;
    }
}

/* The mean recorded step in the plan's parts; its parts add up to the step. */
struct run_parts {
    double ns[PLANNED_PART_COUNT];
    double step_ns;
    double communication_ns;                /* hidden or not */
    enum account worst[PLANNED_PART_COUNT]; /* of what is idle in a part, the largest */
    double worst_ns[PLANNED_PART_COUNT];
    double waited_ns; /* for a core, of the launching thread; 0: not recorded, or none */
    double tokens;    /* of a step; 0: not known */
    double flops;     /* likewise */
    double between_ns[PLANNED_PART_COUNT]; /* kernels that ran between the marks of steps, by step
                                            */
    double between_busy_ns;
};

/* What is finer is added up again where the other side knows no more: matrix time where FLOPs are
 * not known. */
static void parts_join_matrix(double *ns)
{
    ns[PLANNED_MATRIX] += ns[PLANNED_USEFUL] + ns[PLANNED_BELOW_PEAK] + ns[PLANNED_RECOMPUTED];
    ns[PLANNED_USEFUL] = ns[PLANNED_BELOW_PEAK] = ns[PLANNED_RECOMPUTED] = 0.0;
}

/* And all that is idle, of which a plan from a recording knows the sum. */
static void run_parts_join_idle(struct run_parts *run)
{
    static const enum planned_part idle[] = {PLANNED_DATA, PLANNED_LAUNCH, PLANNED_HOST};

    for (size_t i = 0; i < sizeof idle / sizeof idle[0]; i++) {
        run->ns[PLANNED_REST] += run->ns[idle[i]];
        run->ns[idle[i]] = 0.0;
        if (run->worst_ns[idle[i]] > run->worst_ns[PLANNED_REST]) {
            run->worst_ns[PLANNED_REST] = run->worst_ns[idle[i]];
            run->worst[PLANNED_REST] = run->worst[idle[i]];
        }
    }
}

/* Of a stretch of time, what lies between the marks of the ledger's steps. */
static int64_t time_between_steps(const struct ledger *ledger, int64_t start_ns, int64_t end_ns)
{
    uint32_t after = first_step_after(ledger, start_ns);
    int64_t between_ns = 0;

    /* It may start in the gap before the first step that ends behind it. */
    for (uint32_t i = after > 0 ? after : 1; i < ledger->step_count; i++) {
        int64_t from_ns = ledger->steps[i - 1].window.end_ns;
        int64_t to_ns = ledger->steps[i].window.start_ns;

        if (from_ns >= end_ns)
            break;
        from_ns = from_ns > start_ns ? from_ns : start_ns;
        to_ns = to_ns < end_ns ? to_ns : end_ns;
        between_ns += to_ns > from_ns ? to_ns - from_ns : 0;
    }
    return between_ns;
}

static enum planned_part part_of_class(enum kernel_class class)
{
    return class == KERNEL_OPTIMIZER        ? PLANNED_OPTIMIZER
           : class == KERNEL_COMMUNICATION  ? PLANNED_COMMUNICATION
           : kernel_class_is_matrix(class)  ? PLANNED_MATRIX
           : kernel_class_is_compute(class) ? PLANNED_OTHER
                                            : PLANNED_COPIES;
}

/* Marks need not hold all of a step: what runs between them is in no account, and lacks in the part
 * that a plan has it in. */
static void find_work_between(struct run_parts *run, const struct analysis_input *input)
{
    const struct ledger *ledger = input->ledger;
    const struct trace *trace = input->trace;
    double count = (double)ledger->step_count;

    run->between_busy_ns = (double)ledger->between_steps_busy_ns / count;
    for (uint32_t i = 0; !ledger->is_cpu_only && i < trace->device_count; i++) {
        const struct event *event = &trace->device[i];

        if (trace->tracks[event->track].device != ledger->device)
            continue;
        run->between_ns[part_of_class((enum kernel_class)ledger->classes[i])] +=
            (double)time_between_steps(ledger, event->start_ns,
                                       event->start_ns + event->duration_ns) /
            count;
    }
    run->between_ns[PLANNED_USEFUL] = run->between_ns[PLANNED_BELOW_PEAK] =
        run->between_ns[PLANNED_RECOMPUTED] = run->between_ns[PLANNED_MATRIX];
}

/* Kernels of the optimizer are taken from the other operators, to which the ledger books them.
 * Every account of the ledger goes to exactly one part, so the parts sum to the step as the
 * accounts do. */
static struct run_parts run_parts_of(const struct analysis_input *input, bool is_from_run)
{
    const struct ledger *ledger = input->ledger;
    const struct matrix_time *matrix = &input->efficiency->total.time;
    double count = (double)ledger->step_count;
    struct run_parts run = {.step_ns = (double)ledger_total_ns(ledger) / count,
                            .waited_ns = mean_core_wait_ns(input),
                            .tokens = fmax((double)trained_batch_of(input).tokens / count, 0.0),
                            .flops = input->efficiency->total.window_flops / count};
    double updating = 0.0;

    if (run.tokens <= 0.0)
        run.tokens = looked_up_tokens_of(input);
    for (int i = 0; i < ACCOUNT_COUNT; i++) {
        double ns = (double)ledger_account_ns(ledger, (enum account)i) / count;
        enum planned_part part = part_of_account(i);

        /* Matrix time is divided further below, by what it computed. */
        if (i == ACCOUNT_MATRIX)
            continue;
        run.ns[part] += ns;
        /* Of what the host holds up, the largest account is named in the reason. */
        if (ns > run.worst_ns[part]) {
            run.worst_ns[part] = ns;
            run.worst[part] = (enum account)i;
        }
    }
    for (uint32_t i = 0; i < ledger->step_count; i++) {
        updating += (double)ledger->steps[i].class_ns[KERNEL_OPTIMIZER] / count;
        run.communication_ns += (double)ledger->steps[i].communication_ns / count;
    }
    run.ns[PLANNED_OPTIMIZER] = updating;
    run.ns[PLANNED_OTHER] -= updating;
    run.ns[PLANNED_USEFUL] = (double)matrix->model_ns / count;
    run.ns[PLANNED_RECOMPUTED] = (double)matrix->recomputed_ns / count;
    run.ns[PLANNED_BELOW_PEAK] =
        (double)(matrix->below_peak_ns + matrix->uncosted_ns + matrix->extra_ns) / count;
    if (is_from_run || !efficiency_has_model(input->efficiency))
        parts_join_matrix(run.ns);
    if (is_from_run)
        run_parts_join_idle(&run);
    find_work_between(&run, input);
    return run;
}

/* What of matrix time the device's peak would have done. */
static double peak_share(const double *ns)
{
    double ideal = ns[PLANNED_USEFUL] + ns[PLANNED_RECOMPUTED];

    return ideal > 0.0 ? 100.0 * ideal / (ideal + ns[PLANNED_BELOW_PEAK]) : 0.0;
}

/* Of the model, by what they take at the peak. */
static double flops_by_plan(const struct planned_step *plan, const struct run_parts *run)
{
    return plan->parts[PLANNED_USEFUL] > 0.0 ? run->ns[PLANNED_USEFUL] / plan->parts[PLANNED_USEFUL]
                                             : 0.0;
}

/* Of one rank, a transfer and waiting for the others look alike. */
static const char *why_of_communication(struct results *results, const struct run_parts *run)
{
    double exposed = run->ns[PLANNED_COMMUNICATION];

    if (run->communication_ns <= 0.0)
        return "no collective was recorded";
    return results_format(results,
                          "%.0f %% of it is hidden; waiting for slower ranks is in it, which "
                          "'flopledger report' tells of all ranks together",
                          100.0 * (1.0 - fmin(exposed / run->communication_ns, 1.0)));
}

/* What differs less than this share of the step needs no reason. */
static const double TOLD_SHARE = 0.01;
/* Two parts that change by as many per cent, within this, changed for one reason. */
static const double ALIKE = 0.1;

/* Of a run on a processor another program's work shows in all operators; on a device another clock
 * does. */
static bool run_is_other_as_a_whole(const struct planned_step *plan, const struct run_parts *run)
{
    double matrix = run->ns[PLANNED_MATRIX] / plan->parts[PLANNED_MATRIX];
    double other = run->ns[PLANNED_OTHER] / plan->parts[PLANNED_OTHER];

    return plan->parts[PLANNED_MATRIX] > 0.0 && plan->parts[PLANNED_OTHER] > 0.0 &&
           fabs(matrix / other - 1.0) < ALIKE;
}

/* In the unit that fits, without its sign: words say which way. */
static const char *against_time(struct results *results, double ns)
{
    return results_text(results, format_short_time(llround(fabs(ns))).text);
}

/* Of a plan from a recording: the same tokens are the same work, so that its time is the kernels'.
 */
static const char *why_of_work(struct results *results, const struct planned_step *plan,
                               const struct run_parts *run, enum planned_part part)
{
    bool is_more = run->ns[part] > plan->parts[part];
    double tokens = plan->tokens > 0.0 ? run->tokens / plan->tokens : 0.0;
    double flops = plan->flops > 0.0 ? run->flops / plan->flops : 0.0;
    double waited_ns = run->waited_ns - plan->waited_ns;

    if (tokens > 0.0 && fabs(tokens - 1.0) > 0.01)
        return results_format(results, "%.3g times as many tokens as were planned", tokens);
    if (fabs(flops - 1.0) > 0.02 && flops > 0.0 &&
        (part == PLANNED_MATRIX || run_is_other_as_a_whole(plan, run)))
        return results_format(results, "%.3g times the FLOPs of matmuls that were planned%s", flops,
                              tokens > 0.0 ? ", for as many tokens" : "");
    if (fabs(waited_ns) > TOLD_SHARE * run->step_ns && (waited_ns > 0.0) == is_more)
        return results_format(results,
                              "a step waits %s for a core, %s %s than when it was recorded: the "
                              "machine is shared",
                              against_time(results, run->waited_ns),
                              against_time(results, waited_ns), waited_ns > 0.0 ? "more" : "less");
    if ((tokens > 0.0 || flops > 0.0) && run_is_other_as_a_whole(plan, run))
        return results_format(results, "all operators alike: the device or the machine is %s",
                              is_more ? "slower than when it was recorded"
                                      : "faster than when it was recorded");
    if (tokens > 0.0)
        return is_more ? "slower kernels, or more of them, for as many tokens"
                       : "faster kernels, or fewer of them, for as many tokens";
    return is_more ? "slower kernels, or a larger batch than was planned"
                   : "faster kernels, or a smaller batch than was planned";
}

/* Of the model's FLOPs: how many there are, and how near to the peak they are done. */
static const char *why_of_flops(struct results *results, const struct planned_step *plan,
                                const struct run_parts *run, enum planned_part part)
{
    double times = flops_by_plan(plan, run);
    bool has_tokens = plan->tokens > 0.0 && fabs(run->tokens / plan->tokens - 1.0) < 0.01;

    if (part == PLANNED_BELOW_PEAK)
        return results_format(results, "matmuls reach %.0f %% of the peak, %.0f %% were planned%s",
                              peak_share(run->ns), peak_share(plan->parts),
                              fabs(times - 1.0) > 0.05
                                  ? results_format(results, ", of %.3g times the FLOPs", times)
                                  : "");
    /* Time at the peak only: what of it is slower stands in the part below the peak. */
    if (part == PLANNED_RECOMPUTED)
        return run->ns[part] > plan->parts[part]
                   ? "more is recomputed than was planned: see --recompute"
                   : "less is recomputed; what of it is below the peak counts there";
    /* The same tokens of the same width: only what is trained on them can be another. */
    return results_format(results,
                          "%.3g times the FLOPs that were planned%s, by their time at the peak: "
                          "another %s or number format, or shapes that were not recorded",
                          times, has_tokens ? ", for as many tokens" : "",
                          has_tokens ? "depth, vocabulary" : "batch, model");
}

/* Of what is idle: the account of the ledger that has most of it; and what a plan has for the end
 * of a step, of which a run may have less. */
static const char *why_of_idle(struct results *results, const struct planned_step *plan,
                               const struct run_parts *run, enum planned_part part)
{
    const char *end = "";

    if (part == PLANNED_HOST && run->ns[part] < plan->parts[part] && plan->step_end_ns > 0.0)
        end = results_format(results,
                             "a plan has %s for what a step does besides (loss scale, norms, a log "
                             "that synchronizes)%s",
                             against_time(results, plan->step_end_ns),
                             run->worst_ns[part] > 0.0 ? "; " : "");
    if (run->worst_ns[part] <= 0.0)
        return *end ? end : "none was recorded";
    return results_format(results, "%sthe host: mostly '%s', %s of it", end,
                          account_descriptions[run->worst[part]].title,
                          against_time(results, run->worst_ns[part]));
}

/* Reasons are asked of what differs by 1 % of the step and more; a plan is no nearer than
 * that. */
static const char *why_of_part(struct results *results, const struct planned_step *plan,
                               const struct run_parts *run, enum planned_part part)
{
    double more = run->ns[part] - plan->parts[part];

    if (fabs(more) < TOLD_SHARE * run->step_ns)
        return "as planned";
    /* What explains half of it is the first to be told: no kernel need be faster. */
    if (more < 0.0 && run->between_ns[part] > -0.5 * more)
        return results_format(results,
                              "%s of it a step ran between the marks of the steps, and is in no "
                              "account",
                              against_time(results, run->between_ns[part]));
    switch (part) {
    case PLANNED_USEFUL:
    case PLANNED_BELOW_PEAK:
    case PLANNED_RECOMPUTED:
        return why_of_flops(results, plan, run, part);
    case PLANNED_MATRIX:
        if (!plan->is_from_run)
            return "the FLOPs of the run are not known, so that slower kernels and more work look "
                   "alike";
        return why_of_work(results, plan, run, part);
    case PLANNED_OTHER:
        if (plan->is_from_run)
            return why_of_work(results, plan, run, part);
        return more > 0.0 ? "more or slower kernels: less is fused than was planned"
                          : "fewer or faster kernels: more is fused than was planned";
    case PLANNED_OPTIMIZER:
        if (run->ns[part] <= 0.0)
            return "no kernel of an optimizer was recorded";
        return more > 0.0 ? "the optimizer's kernels are slower, or shard less"
                          : "the optimizer's kernels are faster, or fewer: others of it count as "
                            "other operators";
    case PLANNED_COMMUNICATION:
        return why_of_communication(results, run);
    case PLANNED_COPIES:
        return "a plan has no copies between host and device";
    case PLANNED_DATA:
        return "a plan has its data ready";
    case PLANNED_LAUNCH:
    case PLANNED_HOST:
    case PLANNED_REST:
        return why_of_idle(results, plan, run, part);
    case PLANNED_PART_COUNT:
        break;
    }
    return "";
}

static struct value planned_ns(double ns)
{
    return value_time_ns(llround(ns));
}

#define AGAINST_COLUMNS(COLUMN)                                                               \
    COLUMN("account", "account", UNIT_TEXT, 0, BAR_NONE, value_text(planned_titles[i]))       \
    COLUMN("account_key", "key", UNIT_TEXT, PRIORITY_FOR_PROGRAMS, BAR_NONE,                  \
           value_text(planned_keys[i]))                                                       \
    COLUMN("planned", "planned", UNIT_TIME_NS, 0, BAR_NONE, planned_ns(plan->parts[i]))       \
    COLUMN("measured", "measured", UNIT_TIME_NS, 0, BAR_NONE, planned_ns(run.ns[i]))          \
    COLUMN("more", "more", UNIT_TIME_NS, 0, BAR_NONE, planned_ns(run.ns[i] - plan->parts[i])) \
    COLUMN("why", "why", UNIT_TEXT, PRIORITY_FOR_PROGRAMS, BAR_NONE,                          \
           value_text(why_of_part(results, plan, &run, (enum planned_part)i)))

/* Of products that were recorded: a step without shapes, or of replayed graphs, tells neither a
 * forward nor a backward, and is not called inference for that. */
static bool is_forward_alone(const struct module_costs *costs)
{
    return costs->total[PHASE_FORWARD].flops > 0 && costs->total[PHASE_BACKWARD].host_ns == 0 &&
           costs->total[PHASE_BACKWARD].flops == 0;
}

/* Of as many tokens on as many devices, the FLOPs tell the model's depth and vocabulary. */
static void against_warn_of_model(struct results *results, struct section *section,
                                  const struct analysis_input *input,
                                  const struct planned_step *plan, const struct run_parts *run)
{
    double times = flops_by_plan(plan, run);

    if (plan->is_from_run || times <= 0.0 || plan->tokens <= 0.0 ||
        efficiency_is_least(input->efficiency) || fabs(times - 1.0) < 0.02 ||
        fabs(run->tokens / plan->tokens - 1.0) > 0.01)
        return;
    section_add_warning(results, section, "plan and run are of different models or number formats",
                        results_format(results,
                                       "%.3g times the FLOPs, by their time at the peak, "
                                       "of as many tokens",
                                       times),
                        "plan with the config.json and --dtype of what ran");
}

/* Of as many tokens, cut in another way. */
static void against_warn_of_passes(struct results *results, struct section *section,
                                   const struct analysis_input *input,
                                   const struct planned_step *plan)
{
    const struct described_step *step =
        describe_ledger_step(input->description, input->ledger, &input->ledger->steps[0]);

    if (!step || step->samples <= 0)
        return;
    if (plan->micro > 0 && step->micro_batches > 0 &&
        step->samples != plan->micro * step->micro_batches)
        section_add_warning(results, section, "plan and run are of different micro-batches",
                            results_format(results, "%lld samples planned, %.3g recorded",
                                           (long long)plan->micro,
                                           (double)step->samples / (double)step->micro_batches),
                            "plan with --micro-batch of the recording");
    if (plan->sequence > 0 && step->tokens > 0 && step->tokens != plan->sequence * step->samples)
        section_add_warning(
            results, section, "plan and run are of different sequences",
            results_format(results, "%lld tokens of a sample planned, %.6g recorded",
                           (long long)plan->sequence, (double)step->tokens / (double)step->samples),
            "plan with --seq of the recording");
}

/* What would make the two incomparable, and the reader believe otherwise. */
static void against_warn(struct results *results, struct section *section,
                         const struct analysis_input *input, const struct planned_step *plan,
                         const struct run_parts *run)
{
    const struct device_peak *device = input->efficiency->peaks.device;

    if (device && strcmp(device->name, plan->device) != 0)
        section_add_warning(
            results, section, "plan and run are of different devices",
            results_format(results, "planned: %s; recorded: %s", plan->device, device->name),
            "plan with --device of the recording");
    if (plan->tokens > 0.0 && run->tokens > 0.0 && fabs(run->tokens / plan->tokens - 1.0) > 0.01)
        section_add_warning(results, section, "plan and run are of different batches",
                            results_format(results,
                                           "tokens of a device in a step: %.0f planned, %.0f "
                                           "recorded",
                                           plan->tokens, run->tokens),
                            "plan with the batch and the layout of the recording");
    if (input->description && input->description->plain.count > 0 &&
        100.0 * run->step_ns > PLAIN_LONGER_PER_CENT * (double)input->description->plain.median_ns)
        section_add_warning(
            results, section, "recording made the steps longer",
            results_format(results, "those of the run that were not recorded took %s, median",
                           format_short_time(input->description->plain.median_ns).text),
            "take that for the step's time, and of what is idle so much less");
    against_warn_of_model(results, section, input, plan, run);
    against_warn_of_passes(results, section, input, plan);
    if (run->between_busy_ns > TOLD_SHARE * run->step_ns)
        section_add_warning(
            results, section, "the device works between the marks of the steps",
            results_format(results,
                           "%s of each step, which no account has, and the plan has in its step",
                           against_time(results, run->between_busy_ns)),
            "marks that hold a whole step: wait for the device before profiler.step(), or "
            "see --clock of 'flopledger report'");
    if (!plan->is_from_run && is_forward_alone(input->costs))
        section_add_warning(results, section, "the run has a forward and no backward",
                            "a plan is of a training step; the recorded steps are not",
                            "plan a server with --context, or record a step of training");
    if (!plan->is_from_run &&
        (efficiency_is_least(input->efficiency) || !efficiency_has_model(input->efficiency)))
        section_add_warning(results, section, "not all FLOPs of the run are known",
                            efficiency_has_model(input->efficiency)
                                ? "what has no FLOPs or no peak counts as below the peak"
                                : "matmuls and attention stand in one row, whatever they reach",
                            efficiency_needs(input->efficiency));
}

/* Differences below a small share of the step are not explained: a plan is not that exact. */
static void against_explain(struct results *results, struct section *section,
                            const struct planned_step *plan, const struct run_parts *run,
                            enum planned_part part)
{
    double more = run->ns[part] - plan->parts[part];

    if (fabs(more) < TOLD_SHARE * run->step_ns)
        return;
    section_add_finding(
        results, section,
        (struct finding){.what = results_format(results, "%s: %s %s than planned",
                                                planned_titles[part], against_time(results, more),
                                                more > 0.0 ? "more" : "less"),
                         .evidence = why_of_part(results, plan, run, part),
                         .cost_ns = -1});
}

/* The part that explains most of the difference, with its reason. */
static const char *against_headline(struct results *results, const struct planned_step *plan,
                                    const struct run_parts *run)
{
    double more = run->step_ns - plan->step_ns;
    int most = 0;

    for (int i = 1; i < PLANNED_PART_COUNT; i++)
        if ((run->ns[i] - plan->parts[i]) * more > (run->ns[most] - plan->parts[most]) * more)
            most = i;
    if (fabs(more) < TOLD_SHARE * run->step_ns)
        return results_format(results, "A step takes %s, as planned.",
                              format_short_time(llround(run->step_ns)).text);
    return results_format(
        results,
        "A step takes %s instead of the planned %s (%s%s). Most of it is in %s (%s%s): %s.",
        against_time(results, run->step_ns), against_time(results, plan->step_ns),
        more > 0.0 ? "+" : "", results_text(results, format_fraction(more / plan->step_ns).text),
        planned_titles[most], more > 0.0 ? "+" : "-",
        against_time(results, run->ns[most] - plan->parts[most]),
        why_of_part(results, plan, run, (enum planned_part)most));
}

/* Both columns add up to their steps, so that the differences add up to that of the steps. */
void describe_plan_against_run(struct results *results, struct rank_results *rank,
                               const struct analysis_input *input, const struct planned_step *of)
{
    struct planned_step joined = *of;
    const struct planned_step *plan = &joined;
    struct section *section = section_new(
        results, "plan_against_run", "Plan against run",
        "The mean recorded step beside the planned one; both columns add up to their steps.");
    struct run_parts run = run_parts_of(input, plan->is_from_run);
    int64_t stage = planned_stage_of(plan, input->trace);
    struct table *table;

    if (!efficiency_has_model(input->efficiency))
        parts_join_matrix(joined.parts);
    section_add_number(results, section,
                       (struct number){"planned_step", "planned step", planned_ns(plan->step_ns),
                                       plan->is_from_run ? "from a recording" : NULL});
    section_add_number(
        results, section,
        (struct number){"measured_step", "measured step", planned_ns(run.step_ns), NULL});
    section_add_number(results, section,
                       (struct number){"measured_by_planned", "measured by planned",
                                       value_number(run.step_ns / plan->step_ns), NULL});
    /* Names of folders have a 0 where there is no pipeline, too: nobody asked for that. */
    if (stage >= 0)
        section_add_value(results, section, "stage",
                          stage > 0 || plan->stages > 1 ? "stage of the pipeline, from 0"
                                                        : TITLE_FOR_PROGRAMS,
                          value_count(stage));
    against_warn(results, section, input, plan, &run);
    table = section_add_table(results, section, "accounts", "Account by account",
                              COLUMNS_OF(AGAINST_COLUMNS));
    for (int i = 0; i < PLANNED_PART_COUNT; i++) {
        struct value *cells;

        if (run.ns[i] == 0.0 && plan->parts[i] == 0.0)
            continue;
        cells = table_add_row(results, table, 0);
        FILL_ROW(cells, AGAINST_COLUMNS);
        against_explain(results, section, plan, &run, (enum planned_part)i);
    }
    rank->headline = against_headline(results, plan, &run);
    rank_add_section(results, rank, section);
}
