/* Runs every analysis of list.def on one trace. */
#include "base/core/worker_threads.h"
#include "critical_path/steps_path.h"
#include "output/results/device_words.h"
#include "output/results/metrics.h"
#include "sections/analysis.h"
#include "sections/ranks/ranks_overview.h"
#include "sections/step/clock_numbers.h"
#include "sections/step/headline.h"
#include "sections/step/steps_replay.h"
#include "sections/timeline/timeline_parts.h"

#include <inttypes.h>
#include <string.h>

#define ANALYSIS(name) extern const struct analysis name##_analysis;
#include "sections/list.def"
#undef ANALYSIS

static const struct analysis *const analyses[] = {
#define ANALYSIS(name) &name##_analysis,
#include "sections/list.def"
#undef ANALYSIS
    NULL,
};

enum { ANALYSIS_COUNT = sizeof analyses / sizeof *analyses - 1 };

const struct analysis *const *all_analyses(void)
{
    return analyses;
}

/* One that comes first; else NULL where no finding has a price. Of findings that cost the same
 * the first stays: sections come in the order of list.def, findings in that of their section. */
static const struct finding *find_most_expensive(const struct rank_results *rank)
{
    const struct finding *most_expensive = NULL;

    for (size_t i = 0; i < rank->section_count; i++) {
        const struct section *section = rank->sections[i];

        for (size_t j = 0; j < section->finding_count; j++) {
            const struct finding *finding = &section->findings[j];

            if (finding->estimate && finding->estimate->comes_first)
                return finding;
            if (finding->estimate &&
                finding->cost_ns > (most_expensive ? most_expensive->cost_ns : 0))
                most_expensive = finding;
        }
    }
    return most_expensive;
}

/* What analyses that run side by side fill, each its own. */
struct analyses_run {
    const struct analysis_input *input;
    struct results results[ANALYSIS_COUNT];
    struct section *sections[ANALYSIS_COUNT];
};

/* Results of its own for every analysis: nothing is shared but the input, which no analysis
 * changes, so that no lock is needed. */
static void run_one_analysis(void *argument, size_t index)
{
    struct analyses_run *run = argument;
    const struct analysis *analysis = analyses[index];
    struct results *results = &run->results[index];

    results_init(results);
    if (run->input->options->is_for_first_screen && analysis->has_section &&
        analysis->has_section(run->input))
        run->sections[index] = section_new(results, analysis->name, analysis->name, NULL);
    else
        run->sections[index] = analysis->run(results, run->input);
}

/* Taken in the order of the list once all are done, and not as each is done: the report is the
 * same with one thread and with many. */
static void run_side_by_side_into(struct results *results, struct rank_results *rank,
                                  const struct analysis_input *input)
{
    struct analyses_run run = {.input = input};

    run_side_by_side(input->options->threads, ANALYSIS_COUNT, run_one_analysis, &run);
    for (size_t i = 0; i < ANALYSIS_COUNT; i++) {
        results_take(results, &run.results[i]);
        if (run.sections[i])
            rank_add_section(results, rank, run.sections[i]);
    }
}

/* The page draws the path that a section tells of; where there is no page the path is not kept.
 * The path is shared between the section and the page only if there is a page: kept, it holds
 * its memory until all analyses are done. The headline comes after all sections, for it names
 * the most expensive finding of any of them; the timeline comes last, since it shows the steps
 * that findings name. */
void run_analyses(struct results *results, const struct analysis_input *given)
{
    SCOPED(steps_path) path = {.graph = NULL};
    struct analysis_input shared = *given;
    const struct analysis_input *input = &shared;
    struct rank_results *rank = results_add_trace(results, input->trace);

    /* --device may name another than the trace. */
    rank->speakers = device_speakers(input->trace, &input->efficiency->peaks);
    shared.path = given->options->timeline_blocks > 0 ? &path : NULL;
    run_side_by_side_into(results, rank, input);
    (void)replay_of(input); /* where nobody asked: nothing goes on once this returns */
    rank->headline = headline_of(results, input, find_most_expensive(rank));
    rank->is_largest_loss_unknown = why_windows_mislead(results, input->ledger) != NULL;
    if (input->options->timeline_blocks > 0)
        rank->timeline = make_timeline(results, input, rank, input->options->timeline_blocks);
}
