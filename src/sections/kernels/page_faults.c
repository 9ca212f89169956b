/* How often did the host or the device touch a page of unified memory that was elsewhere? */
#include "base/core/saturated.h"
#include "sections/analysis.h"
#include "sections/chosen_events.h"
#include "sections/tally.h"

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

/* Samples hold counts that a recorder made: a damaged one is held at the largest integer, and
 * sums saturate. */
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

#define BY_SIDE_COLUMNS(COLUMN)                                                         \
    COLUMN("side", "touched by", UNIT_TEXT, 0, BAR_NONE,                                \
           value_text(series->device == SERIES_OF_HOST                                  \
                          ? "the host"                                                  \
                          : results_format(results, "device %d", (int)series->device))) \
    COLUMN("count", "events", UNIT_COUNT, 1, BAR_NONE, value_count(sum.count))          \
    COLUMN("faults", "page faults", UNIT_COUNT, 0, BAR_NONE, value_count(sum.faults))   \
    COLUMN("per_step", "per step", UNIT_NUMBER, 0, BAR_NONE,                            \
           value_number((double)sum.faults / (double)ledger->step_count))               \
    COLUMN("set_aside", "set aside", UNIT_COUNT, PRIORITY_FOR_PROGRAMS, BAR_NONE,       \
           value_count(series->set_aside))

static void page_faults_fill_row(struct results *results, struct value *cells,
                                 const struct ledger *ledger, const struct series *series)
{
    struct fault_sum sum = sum_faults(ledger, series);

    FILL_ROW(cells, BY_SIDE_COLUMNS);
}

/* The section is made with the first series that fits: most traces have none, and they should
 * not get an empty one. */
static struct section *count_faults(struct results *results, const struct analysis_input *input)
{
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
                                      COLUMNS_OF(BY_SIDE_COLUMNS));
        }
        page_faults_fill_row(results, table_add_row(results, table, 0), input->ledger,
                             &list->series[i]);
    }
    return section;
}

const struct analysis page_faults_analysis = {
    .name = "page_faults",
    .summary = "How often was a page of unified memory elsewhere?",
    .run = count_faults,
};
