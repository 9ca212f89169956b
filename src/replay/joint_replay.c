/* Replays several ranks together. */
#include "replay/joint_replay.h"

#include "base/core/invariant.h"
#include "base/core/large_array.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the graph of all ranks ---- */

/* Ranks' tasks get numbers one behind the other: task i of a rank is first_task[rank] + i. */
static void add_tasks(struct joint_replay *replay, const struct rank_replay_input *course)
{
    size_t first = replay->graph.task_count;

    for (size_t i = 0; i < course->graph.task_count; i++)
        (void)task_graph_add(&replay->graph);
    for (size_t i = 0; i < course->graph.task_count; i++)
        for (size_t k = course->graph.first_need[i]; k < course->graph.first_need[i + 1]; k++)
            task_graph_need(&replay->graph, (uint32_t)(first + i),
                            (uint32_t)(first + course->graph.needs[k]));
}

/* A collective is one group of tasks, one of each rank, which the graph ends together: all begin
 * to transfer when the last of them is ready. So who waits for whom is not taken from the
 * recording but follows from the replay, and a rank that is made faster in a scenario waits
 * longer, as it would. */
static void join_calls_of_run(struct joint_replay *replay)
{
    const struct joint_run *run = replay->run;

    replay->call_of_task =
        large_array_new((replay->graph.task_count + 1) * sizeof *replay->call_of_task);
    memset(replay->call_of_task, 0xff,
           (replay->graph.task_count + 1) * sizeof *replay->call_of_task);
    for (uint32_t i = 0; i < run->meeting_count; i++)
        (void)task_graph_add_group(&replay->graph);
    for (size_t i = 0; i < run->call_count; i++) {
        const struct meeting_call *call = &run->calls[i];
        size_t task = replay->first_task[call->course] + call->task;

        replay->call_of_task[task] = (uint32_t)i;
        task_graph_join(&replay->graph, (uint32_t)task, call->meeting);
    }
}

/* Recordings of several ranks may contradict each other (calls joined that were not one, clocks
 * apart): then the graph has a circle, no order of replaying exists, and nothing is said of the
 * job (is_circular) instead of something wrong. Numbers of tasks and edges are 32 bits wide; more
 * than these are treated alike. */
void joint_replay_begin(struct joint_replay *replay, const struct joint_run *run)
{
    size_t total = 0, edges = 0;
    uint32_t stuck;

    replay->run = run;
    replay->first_task = require_memory(calloc(run->count + (size_t)1, sizeof *replay->first_task));
    for (uint32_t i = 0; i < run->count; i++) {
        total += run->courses[i]->graph.task_count;
        edges += run->courses[i]->graph.edge_count;
    }
    replay->is_circular = total >= UINT32_MAX || edges >= UINT32_MAX;
    for (uint32_t i = 0; i < run->count && !replay->is_circular; i++) {
        replay->first_task[i] = replay->graph.task_count;
        add_tasks(replay, run->courses[i]);
    }
    if (replay->is_circular)
        return;
    replay->first_task[run->count] = replay->graph.task_count;
    join_calls_of_run(replay);
    replay->is_circular = !task_graph_finish(&replay->graph, &stuck);
}

void joint_replay_clear(struct joint_replay *replay)
{
    task_graph_clear(&replay->graph);
    free(replay->first_task);
    large_array_free(replay->call_of_task);
    *replay = (struct joint_replay){0};
}

/* ---- a replay ---- */

/* All [graph.task_count]. */
struct joint_times {
    int64_t *durations_ns, *delays_ns, *floors_ns, *starts_ns, *ends_ns;
    uint8_t *is_not_awaited;
};

static int64_t *joint_replay_array_of(size_t count)
{
    return large_array_new((count + 1) * sizeof(int64_t));
}

/* "waiting=0" of a rank asks what the job would take if nobody waited for it: its calls still run,
 * but the others of each group begin without it. Its own length then says nothing of the job, and
 * is left out of the slowest. */
static bool is_not_awaited(const struct scenario *scenario, const struct rank_replay_input *course)
{
    return scenario_factor(scenario, TARGET_WAITING, course->rank) == 0;
}

/* A call whose kernel takes so many times as long transfers so many times as long. */
static int64_t changed_transfer_ns(const struct meeting_call *call, int64_t recorded_ns,
                                   int64_t changed_ns)
{
    if (changed_ns == recorded_ns || recorded_ns <= 0)
        return call->transfer_ns;
    return llround((double)call->transfer_ns * ((double)changed_ns / (double)recorded_ns));
}

/* A call's duration in the recording is mostly waiting for others. In the joint replay waiting
 * comes out of the graph, so what a call takes by itself is the transfer alone (transfer_ns of
 * the meeting). */
static void joint_replay_fill_rank(struct joint_times *times, const struct joint_replay *replay,
                                   uint32_t index, const struct scenario *scenario,
                                   size_t durations)
{
    const struct rank_replay_input *course = replay->run->courses[index];
    const int64_t *recorded_ns = course->durations_ns[0];
    const int64_t *changed_ns = course->durations_ns[durations];
    bool is_left = is_not_awaited(scenario, course);

    for (size_t i = 0; i < course->graph.task_count; i++) {
        size_t task = replay->first_task[index] + i;
        uint32_t call = replay->call_of_task[task];

        times->durations_ns[task] =
            call == NO_EVENT
                ? changed_ns[i]
                : changed_transfer_ns(&replay->run->calls[call], recorded_ns[i], changed_ns[i]);
        times->delays_ns[task] = course->delays_ns[i];
        times->floors_ns[task] = course->floors_ns[i] + replay->run->starts_ns[index];
        times->is_not_awaited[task] = is_left;
    }
}

/* Number 0 of durations is the recording, scenario s is s + 1, as rank_replay_input_collect
 * lays them out. */
static struct joint_times begin_times(const struct joint_replay *replay,
                                      const struct scenario *scenario, size_t durations)
{
    size_t count = replay->graph.task_count;
    struct joint_times times = {.durations_ns = joint_replay_array_of(count),
                                .delays_ns = joint_replay_array_of(count),
                                .floors_ns = joint_replay_array_of(count),
                                .starts_ns = joint_replay_array_of(count),
                                .ends_ns = joint_replay_array_of(count),
                                .is_not_awaited = require_memory(calloc(count + 1, 1))};

    for (uint32_t i = 0; i < replay->run->count; i++)
        joint_replay_fill_rank(&times, replay, i, scenario, durations);
    return times;
}

static void joint_times_clear(struct joint_times *times)
{
    large_array_free(times->durations_ns);
    large_array_free(times->delays_ns);
    large_array_free(times->floors_ns);
    large_array_free(times->starts_ns);
    large_array_free(times->ends_ns);
    free(times->is_not_awaited);
}

/* From the rank's own start: ranks begin at different times, which is no part of how long they
 * take. */
static int64_t length_of_rank(const struct joint_replay *replay, uint32_t index,
                              const struct joint_times *times)
{
    const struct rank_replay_input *course = replay->run->courses[index];
    int64_t length_ns = 0;

    for (size_t i = 0; i < course->measured_count; i++) {
        int64_t end_ns = times->ends_ns[replay->first_task[index] + course->measured[i]] -
                         replay->run->starts_ns[index];

        length_ns = end_ns > length_ns ? end_ns : length_ns;
    }
    return length_ns;
}

/* The job is as long as its slowest rank. Where all ranks are "not awaited" none can be left
 * out, and all count. */
static void joint_replay_find_slowest(struct joint_outcome *outcome,
                                      const struct joint_replay *replay,
                                      const struct joint_times *times,
                                      const struct scenario *scenario)
{
    uint32_t counted = 0;

    for (uint32_t i = 0; i < replay->run->count; i++)
        counted += !is_not_awaited(scenario, replay->run->courses[i]);
    for (uint32_t i = 0; i < replay->run->count; i++) {
        int64_t length_ns = length_of_rank(replay, i, times);

        if (counted > 0 && is_not_awaited(scenario, replay->run->courses[i]))
            continue;
        if (length_ns > outcome->length_ns) {
            outcome->length_ns = length_ns;
            outcome->slowest = i;
        }
    }
}

/* How far a replay without changes is from what was recorded, on average over the tasks whose
 * start is known: what a reader may believe of the replays with changes. */
static int64_t start_error_ns(const struct joint_replay *replay, const struct joint_times *times)
{
    double sum_ns = 0;
    size_t count = 0;

    for (uint32_t i = 0; i < replay->run->count; i++) {
        const struct rank_replay_input *course = replay->run->courses[i];

        for (size_t task = 0; task < course->graph.task_count; task++) {
            int64_t recorded_ns = course->recorded_starts_ns[task];

            if (recorded_ns == NO_RECORDED_START)
                continue;
            sum_ns += fabs((double)(times->starts_ns[replay->first_task[i] + task] -
                                    replay->run->starts_ns[i] - recorded_ns));
            count++;
        }
    }
    return count ? llround(sum_ns / (double)count) : 0;
}

/* One graph of all ranks: a collective waits for the last of them, which no rank's own replay
 * can tell. */
struct joint_outcome joint_replay_run(const struct joint_replay *replay,
                                      const struct scenario *scenario, size_t durations)
{
    struct joint_times times = begin_times(replay, scenario, durations);
    struct joint_outcome outcome = {0};

    task_graph_replay(&replay->graph, &(struct replay){.durations_ns = times.durations_ns,
                                                       .delays_ns = times.delays_ns,
                                                       .floors_ns = times.floors_ns,
                                                       .is_not_awaited = times.is_not_awaited,
                                                       .starts_ns = times.starts_ns,
                                                       .ends_ns = times.ends_ns});
    joint_replay_find_slowest(&outcome, replay, &times, scenario);
    outcome.start_error_ns = start_error_ns(replay, &times);
    joint_times_clear(&times);
    return outcome;
}
