/* Every analysis of every trace. */
#include "commands/analysed_trace.h"

#include "analyses/memory_sections.h"
#include "analyses/run_analyses.h"
#include "analyses/timeline_memory.h"
#include "commands/recorded_memory.h"

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

void analyse_trace(struct results *results, const struct trace *trace, struct booked_trace *booked,
                   const struct analysis_plan *plan)
{
    run_analyses(results, &(struct analysis_input){.trace = trace,
                                                   .ledger = &booked->ledger,
                                                   .costs = &booked->costs,
                                                   .efficiency = &booked->efficiency,
                                                   .work = &booked->work,
                                                   .study = booked_trace_study(booked),
                                                   .description = &booked->description,
                                                   .options = &plan->analysis});
    if (plan->with_memory && trace->memory.count > 0)
        add_memory(results, trace, plan);
}
