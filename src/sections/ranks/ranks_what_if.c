/* How long would a step of the job take if ...? All ranks replayed together. */
#include "sections/ranks/ranks_what_if.h"

#include "base/text/format.h"

#include <inttypes.h>

/* What is written, and where. */
struct what_if_page {
    struct results *results;
    struct section *section;
    const struct ranks_replay *simulation;
    const struct ranks_changes *changes;
};

static void ranks_what_if_add_errors(const struct what_if_page *page)
{
    const struct ranks_replay *simulation = page->simulation;
    const struct number numbers[] = {
        {"replay_error", "error of the replay of all ranks",
         value_fraction(simulation->length_error), NULL},
        {"replay_start_error", "mean error of the devices' starts",
         value_time_ns(simulation->unchanged.start_error_ns),
         results_format(page->results, "%.2f %% of a step", 100 * simulation->start_error)},
        {"replayed_meetings", "collectives replayed together",
         value_count(simulation->joint.meeting_count), NULL},
    };

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        section_add_number(page->results, page->section, numbers[i]);
}

#define WHAT_IF_COLUMNS(COLUMN)                                                                    \
    COLUMN("change", "change", UNIT_TEXT, 0, BAR_NONE,                                             \
           value_text(results_text(page->results, scenario->text)))                                \
    COLUMN("step_time", "step", UNIT_TIME_NS, 0, BAR_NONE,                                         \
           !(!ranks_replay_try(page->simulation, scenario, number + 1, &estimate))                 \
               ? value_time_ns(estimate.step_ns)                                                   \
               : value_none())                                                                     \
    COLUMN("speedup", "times as fast", UNIT_NUMBER, 0, BAR_NONE,                                   \
           !(!ranks_replay_try(page->simulation, scenario, number + 1, &estimate))                 \
               ? estimate.speedup > 0 ? value_number(estimate.speedup)                             \
                                      : value_not_known("nothing would be left of the step")       \
               : value_none())                                                                     \
    COLUMN("slowest", "slowest", UNIT_TEXT, 0, BAR_NONE,                                           \
           !(!ranks_replay_try(page->simulation, scenario, number + 1, &estimate))                 \
               ? value_text(results_text(page->results, all_ranks_label(page->simulation->run,     \
                                                                        estimate.slowest, label))) \
               : value_none())

static void ranks_what_if_add_change(const struct what_if_page *page, struct table *table,
                                     size_t number)
{
    const struct scenario *scenario = &page->changes->scenarios[number];
    char label[RANK_LABEL_BYTES];
    struct ranks_estimate estimate;

    FILL_ROW(table_add_row(page->results, table, 0), WHAT_IF_COLUMNS);
}

static void ranks_what_if_add_changes(const struct what_if_page *page)
{
    struct table *table = section_add_table(page->results, page->section, "what_if",
                                            "What if: all ranks replayed together with a change",
                                            COLUMNS_OF(WHAT_IF_COLUMNS));

    table->note = "The step of the slowest rank. Collectives go on once the last of their ranks "
                  "has come. \"waiting@7=0\": rank 7 is never late, and the slowest of the others "
                  "is told; \"waiting=0\": nobody waits, and each rank has its own work only.";
    for (size_t i = 0; i < page->changes->scenario_count; i++)
        ranks_what_if_add_change(page, table, i);
}

/* Ranks that a change names, and that are not there. */
static void warn_of_ranks(const struct what_if_page *page)
{
    for (size_t i = 0; i < page->changes->scenario_count; i++) {
        const struct scenario *scenario = &page->changes->scenarios[i];

        for (size_t j = 0; j < scenario->change_count; j++) {
            bool is_there = scenario->changes[j].rank < 0;

            for (uint32_t k = 0; k < page->simulation->run->count && !is_there; k++)
                is_there =
                    page->simulation->run->ranks[k].digest->rank == scenario->changes[j].rank;
            if (!is_there)
                section_add_warning(
                    page->results, page->section,
                    results_format(page->results, "'%s' names a rank that is not among those given",
                                   scenario->text),
                    NULL, "see the table of the ranks for their numbers");
        }
    }
}

void add_ranks_what_if(struct results *results, struct section *section,
                       const struct ranks_replay *simulation, const struct ranks_changes *changes)
{
    struct what_if_page page = {
        .results = results, .section = section, .simulation = simulation, .changes = changes};

    if (changes->scenario_count == 0 || !simulation->run)
        return;
    warn_of_ranks(&page);
    if (simulation->is_measured)
        ranks_what_if_add_errors(&page);
    if (simulation->refusal)
        section_add_warning(results, section,
                            results_format(results, "no estimate for all ranks together: %s",
                                           simulation->refusal->why),
                            NULL, simulation->refusal->try_this);
    else
        ranks_what_if_add_changes(&page);
}

bool replay_without_waiting(const struct ranks_replay *simulation, size_t rank,
                            struct ranks_estimate *estimate)
{
    struct scenario scenario = {.change_count = 1};

    if (!simulation->run || simulation->run->ranks[rank].digest->rank < 0)
        return false;
    scenario.changes[0] = (struct scenario_change){
        .target = TARGET_WAITING, .rank = simulation->run->ranks[rank].digest->rank};
    return ranks_replay_try(simulation, &scenario, 0, estimate);
}
