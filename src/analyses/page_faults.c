/* How often did the host or the device touch a page of unified memory that was elsewhere? */
#include "analyses/analysis.h"
#include "analyses/chosen_events.h"
#include "analyses/tally.h"

/* What was in the steps. */
struct fault_sum {
    int64_t count;
    int64_t faults;
};

static bool is_ours(const struct series *series, const struct ledger *ledger)
{
    return series->kind == SERIES_PAGE_FAULTS &&
           (series->device == SERIES_OF_HOST || series->device == ledger->device);
}

static struct fault_sum sum_faults(const struct ledger *ledger, const struct series *series)
{
    struct step_finder finder = {.ledger = ledger};
    struct fault_sum sum = {0};

    for (size_t i = 0; i < series->count; i++) {
        double faults = series->samples[i].value;

        if (step_finder_at(&finder, series->samples[i].time_ns) == NO_STEP)
            continue;
        sum.count++;
        sum.faults = saturated_sum(sum.faults, faults < 9e18 ? (int64_t)faults : INT64_MAX);
    }
    return sum;
}

static void fill_row(struct results *results, struct value *cells, const struct ledger *ledger,
                     const struct series *series)
{
    struct fault_sum sum = sum_faults(ledger, series);

    cells[0] = value_text(series->device == SERIES_OF_HOST
                              ? "the host"
                              : results_format(results, "device %d", (int)series->device));
    cells[1] = value_count(sum.count);
    cells[2] = value_count(sum.faults);
    cells[3] = value_number((double)sum.faults / (double)ledger->step_count);
    cells[4] = value_count(series->set_aside);
}

static struct section *count_faults(struct results *results, const struct analysis_input *input)
{
    static const struct column columns[] = {
        {"side", "touched by", UNIT_TEXT, 0, false},
        {"count", "events", UNIT_COUNT, 1, false},
        {"faults", "page faults", UNIT_COUNT, 0, false},
        {"per_step", "per step", UNIT_NUMBER, 0, false},
        {"set_aside", "set aside", UNIT_COUNT, PRIORITY_FOR_PROGRAMS, false},
    };
    const struct series_list *list = &input->trace->series;
    struct section *section = NULL;
    struct table *table = NULL;

    if (input->ledger->step_count == 0)
        return NULL;
    for (uint32_t i = 0; i < list->count; i++) {
        if (!is_ours(&list->series[i], input->ledger))
            continue;
        if (!section) {
            section = section_new(results, "page_faults", "Page faults of unified memory",
                                  chosen_events_text(results, input->ledger));
            table = section_add_table(results, section, "by_side", "By who touched the page",
                                      columns, sizeof columns / sizeof *columns);
        }
        fill_row(results, table_add_row(results, table, 0), input->ledger, &list->series[i]);
    }
    return section;
}

const struct analysis page_faults_analysis = {
    .name = "page_faults",
    .summary = "How often was a page of unified memory elsewhere?",
    .run = count_faults,
};
