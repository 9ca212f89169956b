/* Which times of the host go once launches that follow each other are one CUDA graph. */
#include "base/core/invariant.h"
#include "replay/graph_building.h"

#include <stdlib.h>
#include <string.h>

/* A run of launches, with nothing between them that a graph cannot hold. */
struct capture {
    const struct graph_building *building;
    uint8_t *is_outside; /* [cuts]: a launch that no graph holds */
    uint32_t next_step;  /* the first that starts after the last cut */
    uint32_t track;
    bool is_open;
};

/* A graph reads and writes the same memory each time, and pageable memory not at all. */
static void find_launches_outside(struct capture *capture)
{
    const struct graph_building *building = capture->building;
    const struct trace *trace = building->trace;

    capture->is_outside = require_memory(calloc(building->cuts.count + 1, 1));
    for (uint32_t i = 0; i < trace->device_count; i++) {
        uint32_t cut = trace->launch[i] == NO_EVENT || !building->is_chosen[i]
                           ? NO_EVENT
                           : building->cut_of_host[trace->launch[i]];

        if (cut != NO_EVENT && trace->device[i].kind == EVENT_MEMCPY &&
            strstr(trace_text(trace, trace->device[i].name), "Pageable"))
            capture->is_outside[cut] = 1;
    }
}

/* Whether a step begins between the last cut of the thread and this one. One graph replays one
 * step's launches; a run does not go on into the next step, since the loop between them is
 * Python that stays. */
static bool enters_step(struct capture *capture, const struct host_cut *cut)
{
    const struct ledger *ledger = capture->building->out->ledger;
    uint32_t before = capture->next_step;

    while (capture->next_step < ledger->step_count &&
           ledger->steps[capture->next_step].window.mark_start_ns <= cut->start_ns)
        capture->next_step++;
    return capture->next_step > before;
}

/* Takes the cut into the run that is open, opens one, or ends it. `host`: the thread's task before
 * the cut. The first launch of a run stays, as the launch of the graph itself; what follows
 * goes. A wait or a copy of pageable memory ends the run, since capture forbids them
 * (cudaErrorStreamCaptureUnsupported), as does loading a batch. */
static void collect_cut(struct capture *capture, size_t at, uint32_t host)
{
    const struct graph_building *building = capture->building;
    const struct host_cut *cut = &building->cuts.cuts[at];

    if (at == 0 || cut->track != capture->track)
        capture->next_step = 0;
    if (enters_step(capture, cut) || cut->track != capture->track ||
        trace_task_time(building->out->data_ns, host) > 0)
        capture->is_open = false;
    capture->track = cut->track;
    if (cut->kind == CUT_SYNC || capture->is_outside[at]) {
        capture->is_open = false;
        return;
    }
    building->out->tasks[host].is_captured = capture->is_open;
    if (cut->kind != CUT_LAUNCH)
        return;
    building->out->tasks[building->task_of_cut[at]].is_captured = capture->is_open;
    capture->is_open = true;
}

void mark_captured_tasks(struct graph_building *building)
{
    struct capture capture = {.building = building, .track = NO_EVENT};

    find_launches_outside(&capture);
    for (size_t i = 0; i < building->cuts.count; i++)
        collect_cut(&capture, i, building->before_cut[i]);
    free(capture.is_outside);
}
