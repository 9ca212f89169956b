/* Every analysis of every trace. */
#include "pipeline/rank_sections.h"

#include "pipeline/recorded_memory.h"
#include "sections/analysis.h"
#include "sections/memory/memory_sections.h"
#include "sections/timeline/timeline_parts.h"

/* Side files that cannot be read are a problem of the page, and not its end: everything else
 * is known without them. */
static void add_memory(struct results *results, const struct trace *trace,
                       const struct analysis_plan *plan)
{
    SCOPED(recorded_memory) memory = {.run = {.trace = NULL}};
    struct memory_view view = {.run = &memory.run, .top = plan->analysis.top, .depth = UINT32_MAX};
    struct error error = {0};

    if (recorded_memory_read(&memory, trace, &error) &&
        recorded_memory_device(&memory, -1, &view.device, &error)) {
        struct rank_results *rank = &results->ranks[results->rank_count - 1];

        describe_memory(results, rank, &view);
        if (rank->timeline)
            timeline_add_memory(results, rank->timeline, &view);
        return;
    }
    results_add_failure(results, &error);
}

/* Memory last: its series goes on the timeline that the analyses made. */
void add_rank_sections(struct results *results, const struct trace *trace,
                       struct analyzed_rank *analyzed, const struct analysis_plan *plan)
{
    struct replay_model *simulation = analyzed_rank_begin_replay(analyzed, plan->analysis.threads);

    run_analyses(results, &(struct analysis_input){.trace = trace,
                                                   .ledger = &analyzed->ledger,
                                                   .costs = &analyzed->costs,
                                                   .efficiency = &analyzed->efficiency,
                                                   .work = &analyzed->work,
                                                   .simulation = simulation,
                                                   .replaying = &analyzed->replaying,
                                                   .description = &analyzed->description,
                                                   .options = &plan->analysis});
    if (plan->with_memory && trace->memory.count > 0)
        add_memory(results, trace, plan);
}
