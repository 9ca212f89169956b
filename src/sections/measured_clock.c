/* Sums samples of counters, and reads the clock among them. */
#include "sections/measured_clock.h"

#include "base/text/prefix.h"
#include "ledger/step_finder.h"

#include <string.h>

static void add_sample(struct sample_sum *sum, double value)
{
    if (sum->count == 0 || value < sum->min)
        sum->min = value;
    if (sum->count == 0 || value > sum->max)
        sum->max = value;
    sum->sum += value;
    sum->count++;
}

/* Samples and changes are both in order of time, so the walk over changes goes on where it
 * was. */
void sum_samples_in_steps(const struct ledger *ledger, const struct series *series,
                          struct sample_sum *inside, struct sample_sum *busy)
{
    struct step_finder finder = {.ledger = ledger};
    size_t change = 0;

    for (size_t i = 0; i < series->count; i++) {
        const struct series_sample *sample = &series->samples[i];
        uint32_t step = step_finder_at(&finder, sample->time_ns);
        size_t at;

        if (step == NO_STEP || sample->time_ns < ledger->steps[step].window.start_ns ||
            sample->time_ns >= ledger->steps[step].window.end_ns)
            continue;
        add_sample(inside, sample->value);
        at = class_timeline_at(&ledger->timeline, sample->time_ns, change);
        if (at == SIZE_MAX)
            continue;
        change = at;
        if (timeline_mask(&ledger->timeline, at) != 0)
            add_sample(busy, sample->value);
    }
}

/* 0: the unit is none of a clock. */
static double hertz_of_unit(const char *unit)
{
    if (strcmp(unit, "MHz") == 0)
        return 1e6;
    if (strcmp(unit, "GHz") == 0)
        return 1e9;
    return strcmp(unit, "Hz") == 0 ? 1 : 0;
}

/* As Nsight Systems and NVML call the clock of the multiprocessors. */
static bool is_clock_of_multiprocessors(const char *name)
{
    return has_prefix(name, "GPC Clock") || has_prefix(name, "SM Clock") ||
           has_prefix(name, "SM clock");
}

/* What the recorder read at the end of each step, as a mean; 0 where it did not. */
static double recorded_clock_hz(const struct analysis_input *input)
{
    const struct ledger *ledger = input->ledger;
    double sum_mhz = 0;
    uint32_t count = 0;

    for (uint32_t i = 0; i < ledger->step_count; i++) {
        const struct described_step *step =
            describe_ledger_step(input->description, ledger, &ledger->steps[i]);

        if (step && step->energy.sm_clock_mhz > 0) {
            sum_mhz += (double)step->energy.sm_clock_mhz;
            count++;
        }
    }
    return count > 0 ? sum_mhz / count * 1e6 : 0;
}

/* 0: not sampled. Sampled while busy, where it is: an idle device lowers its clock, and a mean
 * over all would be too low. */
static double measured_clock_hz(const struct analysis_input *input)
{
    const struct trace *trace = input->trace;

    for (uint32_t i = 0; i < trace->series.count; i++) {
        const struct series *series = &trace->series.series[i];
        struct sample_sum inside = {0}, busy = {0};

        if (series->kind != SERIES_METRIC || series->device != input->ledger->device ||
            !series->unit || !is_clock_of_multiprocessors(trace_text(trace, series->name)))
            continue;
        sum_samples_in_steps(input->ledger, series, &inside, &busy);
        if (busy.count > 0)
            return busy.sum / (double)busy.count * hertz_of_unit(trace_text(trace, series->unit));
    }
    return recorded_clock_hz(input);
}

double measured_clock_share(const struct analysis_input *input)
{
    const struct device_peak *device = input->efficiency->peaks.device;
    double clock_hz = measured_clock_hz(input);

    return clock_hz > 0 && device && device->clock_hz > 0 ? clock_hz / device->clock_hz : 0;
}

/* Peaks hold at one clock. A device that is held below it by power or heat cannot reach them,
 * whatever the program does. */
void add_device_clock(struct results *results, struct section *section,
                      const struct analysis_input *input)
{
    const struct device_peak *device = input->efficiency->peaks.device;
    double clock_hz = measured_clock_hz(input);

    if (clock_hz <= 0)
        return;
    section_add_number(
        results, section,
        (struct number){"clock", "clock while busy, MHz", value_number(clock_hz / 1e6), "sampled"});
    if (device && device->clock_hz > 0)
        section_add_number(
            results, section,
            (struct number){"clock_share", "of the clock that the peaks hold at",
                            value_fraction(clock_hz / device->clock_hz),
                            results_format(results, "%.0f MHz", device->clock_hz / 1e6)});
}
