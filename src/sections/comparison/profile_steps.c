/* Makes a profile of one booked rank: the steps, their accounts and their FLOPs. */
#include "base/core/invariant.h"
#include "base/text/prefix.h"
#include "cost/flops/saturating.h"
#include "cost/modules/counted_ops.h"
#include "ledger/step_finder.h"
#include "output/results/device_words.h"
#include "sections/comparison/profile_trace.h"
#include "trace/recorder_words.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Steps whose end was recorded; all where none is. A step that was cut would seem faster than it
 * is; where all are cut they are all there is. */
static uint32_t *profile_trace_choose_steps(struct run_profile *profile,
                                            const struct ledger *ledger)
{
    uint32_t *rows = require_memory(calloc(ledger->step_count + (size_t)1, sizeof *rows));
    uint32_t whole_count = 0;

    for (uint32_t i = 0; i < ledger->step_count; i++)
        whole_count += !ledger->steps[i].window.is_cut;
    for (uint32_t i = 0; i < ledger->step_count; i++) {
        bool is_left_out = whole_count > 0 && ledger->steps[i].window.is_cut;

        rows[i] = is_left_out ? NO_STEP : profile->step_count++;
        profile->steps_left_out += is_left_out;
    }
    profile->numbers =
        arena_allocate(&profile->arena, (profile->step_count + (size_t)1) * sizeof(int64_t));
    for (uint32_t i = 0; i < ledger->step_count; i++)
        if (rows[i] != NO_STEP)
            profile->numbers[rows[i]] = ledger->steps[i].window.number;
    return rows;
}

static struct measure *titled(struct run_profile *profile, enum measure_kind kind, const char *name,
                              const char *title, enum unit unit)
{
    struct measure *measure = profile_measure(profile, kind, name, "");

    measure->title = title;
    measure->unit = unit;
    return measure;
}

static int64_t profile_trace_whole_ns(const struct step_ledger *step)
{
    return step->window.end_ns - step->window.start_ns;
}

/* Every account gets a measure, zero or not: a waterfall needs all of both runs to add up. A
 * group's value is summed from its accounts here, hence the two can never disagree. */
static void profile_trace_add_accounts(struct run_profile *profile, const struct step_ledger *step,
                                       uint32_t row)
{
    titled(profile, MEASURE_STEP, "step_time", "step", UNIT_TIME_NS)->values[row] =
        profile_trace_whole_ns(step);
    for (int a = 0; a < ACCOUNT_COUNT; a++) {
        const struct account_description *account = &account_descriptions[a];
        const struct account_group_description *group = &account_group_descriptions[account->group];

        titled(profile, MEASURE_ACCOUNT, account->key, account->title, UNIT_TIME_NS)->values[row] =
            step->account_ns[a];
        titled(profile, MEASURE_GROUP, group->key, group->title, UNIT_TIME_NS)->values[row] +=
            step->account_ns[a];
    }
}

/* A part of the step as a share of it, without its whole. Kept as part and whole: the mean of
 * shares is the sum of parts over the sum of wholes, not the mean of quotients. */
static struct measure *share(struct run_profile *profile, const char *name, const char *title)
{
    struct measure *measure = titled(profile, MEASURE_WORK, name, title, UNIT_FRACTION);

    measure_has_wholes(profile, measure);
    return measure;
}

static void set_share(struct measure *measure, uint32_t row, int64_t part_ns,
                      const struct step_ledger *step)
{
    measure->values[row] = part_ns;
    measure->wholes[row] = profile_trace_whole_ns(step);
}

static void profile_trace_add_time(struct run_profile *profile, const char *name, const char *title,
                                   int64_t time_ns, uint32_t row)
{
    titled(profile, MEASURE_WORK, name, title, UNIT_TIME_NS)->values[row] = time_ns;
}

static void profile_trace_add_flops(struct run_profile *profile, const char *name,
                                    const char *title, double flops, uint32_t row)
{
    titled(profile, MEASURE_WORK, name, title, UNIT_FLOPS)->values[row] =
        flops < 9e18 ? llround(flops) : INT64_MAX;
}

/* What the sum of the accounts does not show. */
static void add_facts_of_step(struct run_profile *profile, const struct profile_source *source,
                              uint32_t step_index, uint32_t row)
{
    const struct step_ledger *step = &source->ledger->steps[step_index];
    const struct step_efficiency *efficiency = &source->efficiency->steps[step_index];

    set_share(
        share(profile, "device_busy", source->ledger->is_cpu_only ? "in operators" : "device busy"),
        row, step->busy_ns, step);
    if (!profile->needs_mfu) {
        const struct matrix_time *time = &efficiency->time;

        set_share(share(profile, "mfu", "MFU"), row, time->model_ns, step);
        set_share(share(profile, "hfu", "HFU"), row,
                  time->model_ns + time->recomputed_ns + time->extra_ns, step);
        profile_trace_add_time(profile, "below_peak", "matmul time below the peak",
                               time->below_peak_ns, row);
    }
    if (!profile->needs_flops) {
        profile_trace_add_flops(profile, "model_flops", "model FLOPs", efficiency->flops.model,
                                row);
        profile_trace_add_flops(profile, "executed_flops", "executed FLOPs",
                                efficiency->flops.executed, row);
        profile_trace_add_flops(profile, "recomputed_flops", "recomputed FLOPs",
                                efficiency->flops.recomputed, row);
    }
    /* A CPU has no communication or copies beside its operators. */
    if (source->ledger->is_cpu_only)
        return;
    profile_trace_add_time(profile, "communication_in_all", "communication, hidden or not",
                           step->communication_ns, row);
    profile_trace_add_time(profile, "hidden_communication", "communication beside compute",
                           step->hidden_communication_ns, row);
    profile_trace_add_time(profile, "copies_in_all", "copies, hidden or not", step->copy_ns, row);
    profile_trace_add_time(profile, "tail", "idle at the end of the step", step->tail_ns, row);
}

/* A batch that the recorder did not note stays out: zero samples would make a throughput of 0,
 * and a step without the value counts as one where it is not known. */
static void profile_trace_add_batch(struct run_profile *profile,
                                    const struct profile_source *source,
                                    const struct step_ledger *step, uint32_t row)
{
    const struct described_step *described =
        describe_ledger_step(source->description, source->ledger, step);

    if (described && described->samples >= 0)
        titled(profile, MEASURE_WORK, "samples", "samples", UNIT_COUNT)->values[row] =
            described->samples;
    if (described && described->tokens >= 0)
        titled(profile, MEASURE_WORK, "tokens", "tokens", UNIT_COUNT)->values[row] =
            described->tokens;
}

static const char *profile_trace_text_of(struct run_profile *profile, const struct trace *trace,
                                         uint32_t string)
{
    return string ? profile_text(profile, trace_text(trace, string)) : NULL;
}

/* Of all models, on this rank; -1 where capture.json does not say. */
static int64_t count_parameters(const struct model_description *description)
{
    int64_t sum = 0;

    if (!description || description->count == 0)
        return -1;
    for (uint32_t i = 0; i < description->count; i++) {
        const struct described_module *module = &description->modules[i];

        if (strcmp(module->name, module->root) == 0)
            sum = plus(sum, module->parameters);
    }
    return sum;
}

/* Ranges that torch puts around what torch.compile made. */
static bool has_compiled_code(const struct trace *trace)
{
    for (uint32_t i = 0; i < trace->host_count; i++) {
        const char *name = trace_text(trace, trace->host[i].name);

        if (is_compiled_code(name) || has_prefix(name, "Torch-Compiled Region"))
            return true;
    }
    return false;
}

/* "needs [memory] events: record with --memory: flopledger run --memory" */
static const char *needs_memory_of(struct run_profile *profile, const struct trace *trace)
{
    char text[160];

    (void)snprintf(text, sizeof text, "needs [memory] events: %s",
                   recorder_words_for(trace)->memory);
    return profile_text(profile, text);
}

/* Each "needs" is a reason why a figure is missing, kept beside the figures: a comparison is
 * made from profiles alone, when the traces are long closed. */
static void profile_trace_take_facts(struct run_profile *profile,
                                     const struct profile_source *source)
{
    const struct trace *trace = source->trace;
    const struct efficiency *efficiency = source->efficiency;

    profile->file = profile_text(profile, trace_text(trace, trace->path));
    profile->torch_version = profile_trace_text_of(profile, trace, trace->facts.torch_version);
    profile->world_size = trace->facts.world_size;
    profile->parameters = count_parameters(source->description);
    profile->is_compiled = has_compiled_code(trace);
    profile->window = window_source_text(source->ledger->source);
    profile->is_whole = source->ledger->source == WINDOW_WHOLE;
    profile->is_cpu_only = source->ledger->is_cpu_only;
    profile->rank_count = 1;
    if (!efficiency_has_model(efficiency))
        profile->needs_mfu =
            efficiency_needs(efficiency) ? efficiency_needs(efficiency) : "no matmul in the steps";
    /* What keeps FLOPs from being known keeps MFU from it, too: one reason for both. */
    if (efficiency->total.known_flops_ns == 0)
        profile->needs_flops = profile->needs_mfu;
    if (!source->memory)
        profile->needs_memory = needs_memory_of(profile, trace);
    if (source->costs->tree.count == 0)
        profile->needs_modules = "needs marks of modules: flopledger run";
    profile->speakers = device_speakers(trace, &source->efficiency->peaks);
    profile->needs_model = recorder_words_for(trace)->model;
    profile->needs_batch = recorder_words_for(trace)->batch;
    for (uint32_t i = 0; i < trace->device_list_count; i++) {
        const struct device *device = &trace->devices[i];

        /* Devices that the process could see and did not use are listed as well. */
        profile->device_count += device->event_count > 0;
        if (device->number == source->ledger->device)
            profile->device_name = profile_trace_text_of(profile, trace, device->name);
    }
}

/* Only whole steps that the comparison keeps have a row: NO_STEP marks the others. */
void profile_trace(struct run_profile *profile, const struct profile_source *source)
{
    const struct ledger *ledger = source->ledger;
    uint32_t *rows;

    profile_trace_take_facts(profile, source);
    rows = profile_trace_choose_steps(profile, ledger);
    for (uint32_t i = 0; i < ledger->step_count; i++) {
        if (rows[i] == NO_STEP)
            continue;
        profile_trace_add_accounts(profile, &ledger->steps[i], rows[i]);
        add_facts_of_step(profile, source, i, rows[i]);
        profile_trace_add_batch(profile, source, &ledger->steps[i], rows[i]);
    }
    profile_work(profile, source, rows);
    profile_matmuls(profile, source, rows);
    profile_modules(profile, source, rows);
    if (source->memory)
        profile_memory(profile, source);
    free(rows);
}
