/* Puts the clock of the steps into numbers and words. */
#include "sections/step/clock_numbers.h"

#include "base/core/apportion.h"
#include "base/text/format.h"
#include "sections/tally.h"

#include <inttypes.h>

/* Over the steps of which work is seen. */
struct lead_sum {
    int64_t total_ns;
    int64_t max_ns;
    int64_t steps;
};

/* A step in which no work is seen has no lead (-1), and counts neither in the sum nor in the
 * number. */
static struct lead_sum sum_leads(const struct ledger *ledger)
{
    struct lead_sum sum = {0};

    for (uint32_t i = 0; i < ledger->step_count; i++) {
        int64_t lead_ns = ledger->steps[i].window.lead_ns;

        if (lead_ns < 0)
            continue;
        sum.total_ns += lead_ns;
        sum.steps++;
        if (lead_ns > sum.max_ns)
            sum.max_ns = lead_ns;
    }
    return sum;
}

/* The device's clock is chosen where the host runs ahead: its marks then end long before their
 * work does. */
static const char *clock_words(struct results *results, const struct step_clocks *clocks)
{
    if (clocks->clock == STEP_CLOCK_HOST)
        return "from the start of a step's mark to its end";
    if (clocks->without_work == 0)
        return "from the first to the last work launched in a step";
    return results_format(results,
                          "from the first to the last work launched in a step; %" PRIu32
                          " that launched none are left out",
                          clocks->without_work);
}

#define MARKS_COLUMNS(COLUMN)                                                                   \
    COLUMN("step", "step", UNIT_COUNT, PRIORITY_FOR_PROGRAMS, BAR_NONE,                         \
           value_count(window->number))                                                         \
    COLUMN("mark_start", "start of the host's mark", UNIT_TIME_NS, PRIORITY_FOR_PROGRAMS,       \
           BAR_NONE, value_time_ns(window->mark_start_ns))                                      \
    COLUMN("mark_duration", "host's mark", UNIT_TIME_NS, PRIORITY_FOR_PROGRAMS, BAR_NONE,       \
           value_time_ns(window->mark_end_ns - window->mark_start_ns))                          \
    COLUMN("host_lead", "host ahead at its end", UNIT_TIME_NS, PRIORITY_FOR_PROGRAMS, BAR_NONE, \
           window->lead_ns < 0                                                                  \
               ? value_not_known("needs work of the device, with the calls that launched it")   \
               : value_time_ns(window->lead_ns))

/* Mark and lead of every step: for programs, no screen shows it. */
static void add_marks(struct results *results, struct section *section, const struct ledger *ledger)
{
    struct table *table = section_add_table(
        results, section, "marks", "The host's mark of each step", COLUMNS_OF(MARKS_COLUMNS));

    for (uint32_t i = 0; i < ledger->step_count; i++) {
        const struct step_window *window = &ledger->steps[i].window;

        FILL_ROW(table_add_row(results, table, 0), MARKS_COLUMNS);
    }
}

/* Nothing is said where the marks of the host end with their work: that is what everybody
 * expects. That the device's clock was chosen is always said, for it changes what a step is. */
void add_clock_numbers(struct results *results, struct section *section,
                       const struct ledger *ledger)
{
    const struct step_clocks *clocks = &ledger->clocks;
    struct lead_sum leads = sum_leads(ledger);

    if (leads.max_ns == 0 && clocks->clock == STEP_CLOCK_HOST)
        return;
    section_add_number(
        results, section,
        (struct number){"clock", "clock of the steps",
                        value_text(clocks->clock == STEP_CLOCK_DEVICE ? "device" : "host"),
                        clock_words(results, clocks)});
    add_marks(results, section, ledger);
    /* The device's clock was chosen, and the lead of no step is known. */
    if (leads.steps == 0)
        return;
    section_add_number(results, section,
                       (struct number){"host_lead_mean", "host ahead, mean",
                                       value_time_ns(rounded_mean(leads.total_ns, leads.steps)),
                                       "until the last work that a step launched was done"});
    section_add_value(results, section, "host_lead_max", "host ahead, most",
                      value_time_ns(leads.max_ns));
    /* How much of a step's work ran in its own mark was not measured. */
    if (!clocks->is_known)
        return;
    section_add_number(
        results, section,
        (struct number){"work_in_marks", "own work in the marks",
                        value_fraction(fraction_of(clocks->in_mark_ns, clocks->launched_ns)),
                        "of the device's time for all steps"});
    section_add_value(results, section, "work_in_windows", "own work in device windows",
                      value_fraction(fraction_of(clocks->in_window_ns, clocks->launched_ns)));
}

/* Each clock is judged by its own share of the launched time: what is in the windows, or what
 * runs within the marks. Below the bound of step_clock_fits, accounts of a step describe work
 * of another step, and advice from them would be wrong. */
const char *why_windows_mislead(struct results *results, const struct ledger *ledger)
{
    const struct step_clocks *clocks = &ledger->clocks;
    bool is_device = clocks->clock == STEP_CLOCK_DEVICE;

    if (step_clock_fits(clocks))
        return NULL;
    return results_format(
        results, "the %s of the steps hold only %s of the device time that they launched",
        is_device ? "device windows" : "marks",
        format_fraction(
            fraction_of(is_device ? clocks->in_window_ns : clocks->running_ns, clocks->launched_ns))
            .text);
}
