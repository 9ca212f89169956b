/* What the files that make a trace_graph share: tasks, and when work was launched. */
#include "replay/graph_building.h"

#include "base/core/array.h"

uint32_t add_task(struct graph_building *building, enum trace_task_kind kind, int64_t duration_ns)
{
    struct trace_graph *out = building->out;
    uint32_t task = task_graph_add(&out->graph);

    ARRAY_RESERVE(out->tasks, out->task_capacity, task + (size_t)1);
    out->tasks[task] = (struct trace_task){.duration_ns = later_of(duration_ns, 0),
                                           .event = NO_EVENT,
                                           .track = NO_EVENT,
                                           .kind = (uint8_t)kind};
    return task;
}

int64_t launch_start_ns(const struct trace *trace, uint32_t event)
{
    uint32_t launch = trace->launch[event];

    return launch == NO_EVENT ? trace->device[event].start_ns : trace->host[launch].start_ns;
}

void need_all(struct graph_building *building, uint32_t task, const struct work_needs *needs)
{
    const uint32_t all[] = {needs->before, needs->launch, needs->other};

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i] != NO_EVENT)
            task_graph_need(&building->out->graph, task, all[i]);
}

uint32_t add_room(struct graph_building *building, uint32_t running, int64_t until_ns)
{
    uint32_t room =
        add_task(building, TASK_ROOM, until_ns - building->trace->device[running].start_ns);
    const struct trace_task *task = &building->out->tasks[building->out->task_of_event[running]];

    building->out->tasks[room].event = running;
    building->out->tasks[room].recompute_ns = task->recompute_ns;
    building->out->tasks[room].delay_ns = task->delay_ns;
    building->out->tasks[room].floor_ns = task->floor_ns;
    need_all(building, room, &building->needs[running]);
    return room;
}
