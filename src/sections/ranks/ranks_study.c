/* The replay of all ranks of a run together. */
#include "sections/ranks/ranks_study.h"

#include "base/core/invariant.h"
#include "replay/replay_study.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A member that had ended so long before the last one began did not wait for it. */
static const int64_t clock_tolerance_ns = 100000;

/* ---- whose course is whose ---- */

static bool is_course_of(const struct rank_course *course, const struct rank_digest *digest)
{
    return course->rank == digest->rank && course->call_count == digest->call_count &&
           course->step_count == digest->step_count &&
           course->span_ns ==
               digest->steps[digest->step_count - 1].end_ns - digest->steps[0].start_ns &&
           strcmp(course->file, digest->file) == 0;
}

/* Of several that fit, as of ranks that the traces do not number, each is taken once. */
static const struct rank_course *take_course(const struct rank_courses *courses, uint8_t *is_taken,
                                             const struct rank_digest *digest)
{
    for (size_t i = 0; i < courses->count; i++)
        if (!is_taken[i] && is_course_of(&courses->courses[i], digest)) {
            is_taken[i] = 1;
            return &courses->courses[i];
        }
    return NULL;
}

/* False where the trace of a rank is not there: only its digest. */
static bool find_courses(struct ranks_study *study, const struct rank_courses *courses)
{
    uint8_t *is_taken = require_memory(calloc(courses->count + 1, 1));
    bool has_all = true;

    for (uint32_t i = 0; i < study->run->count && has_all; i++) {
        study->courses[i] = take_course(courses, is_taken, study->run->ranks[i].digest);
        has_all = study->courses[i] != NULL;
    }
    free(is_taken);
    return has_all;
}

/* ---- by one clock ---- */

static int64_t end_of_member(const struct all_ranks *run, const struct join_member *member)
{
    const struct digest_call *call = &run->ranks[member->rank].digest->calls[member->call];

    return call->start_ns + call->duration_ns;
}

/* Ties the members of a joined call to the first of them that is tied. False where none is, or all
 * are. */
static bool tie_members(struct ranks_study *study, const struct joined_call *join, uint8_t *is_tied)
{
    const struct join_member *members = &study->run->joins.members[join->first];
    uint32_t first = 0;
    bool ties_any = false;

    while (first < join->count && !is_tied[members[first].rank])
        first++;
    if (first == join->count || join->is_mismatched)
        return false;
    for (uint32_t i = 0; i < join->count; i++) {
        uint32_t rank = members[i].rank;

        if (is_tied[rank])
            continue;
        study->offsets_ns[rank] = study->offsets_ns[members[first].rank] +
                                  end_of_member(study->run, &members[i]) -
                                  end_of_member(study->run, &members[first]);
        is_tied[rank] = 1;
        ties_any = true;
    }
    return ties_any;
}

/* Clocks that no collective ties to the first rank's may be tied to each other: as ends of joined
 * calls tell. How far such ranks are from the first does not matter, for they never meet. */
static void find_offsets(struct ranks_study *study)
{
    const struct all_ranks *run = study->run;
    uint8_t *is_tied = require_memory(calloc(run->count + (size_t)1, 1));

    for (uint32_t i = 0; i < run->count; i++) {
        is_tied[i] = run->clocks.clocks[i].is_known;
        study->offsets_ns[i] = is_tied[i] ? run->clocks.clocks[i].offset_ns : 0;
    }
    for (uint32_t i = 0; i < run->count; i++) {
        bool ties_any = !is_tied[i];

        is_tied[i] = 1;
        while (ties_any) {
            ties_any = false;
            for (uint32_t k = 0; k < run->joins.join_count; k++)
                ties_any |= tie_members(study, &run->joins.joins[k], is_tied);
        }
    }
    free(is_tied);
}

static void find_starts(struct ranks_study *study)
{
    int64_t first_ns = INT64_MAX;

    for (uint32_t i = 0; i < study->run->count; i++) {
        study->starts_ns[i] = study->run->ranks[i].digest->steps[0].start_ns +
                              study->courses[i]->lead_ns - study->offsets_ns[i];
        if (study->starts_ns[i] < first_ns)
            first_ns = study->starts_ns[i];
    }
    for (uint32_t i = 0; i < study->run->count; i++)
        study->starts_ns[i] -= first_ns;
}

/* ---- what they do together ---- */

static const struct digest_call *ranks_study_call_of(const struct all_ranks *run,
                                                     const struct join_member *member)
{
    return &run->ranks[member->rank].digest->calls[member->call];
}

/* Whether all members wait for the last: a small message may be sent before anyone takes it. */
static bool is_meeting(const struct ranks_study *study, const struct joined_call *join)
{
    const struct all_ranks *run = study->run;
    const struct join_member *members = &run->joins.members[join->first];
    int64_t first_end_ns = INT64_MAX, last_start_ns = INT64_MIN;

    if (join->count < 2 || join->is_mismatched || join->transfer_ns < 0)
        return false;
    for (uint32_t i = 0; i < join->count; i++) {
        const struct digest_call *call = ranks_study_call_of(run, &members[i]);
        int64_t start_ns = call->start_ns - study->offsets_ns[members[i].rank];

        if (study->courses[members[i].rank]->calls[members[i].call] == NO_EVENT)
            return false;
        last_start_ns = start_ns > last_start_ns ? start_ns : last_start_ns;
        if (start_ns + call->duration_ns < first_end_ns)
            first_end_ns = start_ns + call->duration_ns;
    }
    return first_end_ns >= last_start_ns - clock_tolerance_ns;
}

static void add_meeting(struct ranks_study *study, const struct joined_call *join)
{
    for (uint32_t i = 0; i < join->count; i++) {
        const struct join_member *member = &study->run->joins.members[join->first + i];

        study->calls[study->joint.call_count++] =
            (struct meeting_call){.course = member->rank,
                                  .task = study->courses[member->rank]->calls[member->call],
                                  .meeting = study->joint.meeting_count,
                                  .transfer_ns = join->transfer_ns};
    }
    study->joint.meeting_count++;
}

static void find_meetings(struct ranks_study *study)
{
    const struct call_joins *joins = &study->run->joins;

    study->calls = require_memory(calloc(joins->member_count + (size_t)1, sizeof *study->calls));
    for (uint32_t i = 0; i < joins->join_count; i++)
        if (is_meeting(study, &joins->joins[i]))
            add_meeting(study, &joins->joins[i]);
    study->joint.calls = study->calls;
}

/* ---- how well that explains the run ---- */

static void measure_unchanged(struct ranks_study *study)
{
    double recorded_ns, steps;

    for (uint32_t i = 0; i < study->run->count; i++) {
        const struct rank_course *course = study->courses[i];

        if (course->recorded_ns > study->recorded_ns)
            study->recorded_ns = course->recorded_ns;
        if (course->step_ns > study->step_ns)
            study->step_ns = course->step_ns;
    }
    if (study->recorded_ns <= 0 || study->step_ns <= 0)
        return;
    study->is_measured = true;
    study->unchanged = joint_replay_run(&study->replay, NULL, 0);
    recorded_ns = (double)study->recorded_ns;
    steps = recorded_ns / (double)study->step_ns;
    study->length_error = fabs((double)study->unchanged.length_ns - recorded_ns) / recorded_ns;
    study->start_error = (double)study->unchanged.start_error_ns * steps / recorded_ns;
}

/* ---- all of it ---- */

static const struct study_refusal of_courses = {
    "of some ranks there are digests only, no work of a device, or more of it than is replayed",
    "give the traces of all ranks, and of long ones some steps: --steps 10-20"};
static const struct study_refusal of_circle = {
    "pieces of work seem to wait for each other in a circle",
    "see the change for each rank alone: --rank 0"};
static const struct study_refusal of_error = {
    "the replay without a change is more than 2 % from the recording",
    "record whole steps on all ranks, with CPU and CUDA activities"};

void ranks_study_begin(struct ranks_study *study, const struct all_ranks *run,
                       const struct rank_courses *courses)
{
    study->run = run;
    study->courses = require_memory(calloc(run->count + (size_t)1, sizeof *study->courses));
    study->starts_ns = require_memory(calloc(run->count + (size_t)1, sizeof *study->starts_ns));
    study->offsets_ns = require_memory(calloc(run->count + (size_t)1, sizeof *study->offsets_ns));
    study->joint = (struct joint_run){
        .courses = study->courses, .starts_ns = study->starts_ns, .count = run->count};
    if (!find_courses(study, courses)) {
        study->refusal = &of_courses;
        return;
    }
    find_offsets(study);
    find_starts(study);
    find_meetings(study);
    joint_replay_begin(&study->replay, &study->joint);
    if (study->replay.is_circular) {
        study->refusal = &of_circle;
        return;
    }
    measure_unchanged(study);
    if (!study->is_measured || study->length_error > REPLAY_ERROR_MAX ||
        study->start_error > REPLAY_ERROR_MAX)
        study->refusal = &of_error;
}

bool ranks_study_try(const struct ranks_study *study, const struct scenario *scenario,
                     size_t durations, struct ranks_estimate *estimate)
{
    struct joint_outcome outcome;
    double share;

    if (!study->run || study->refusal)
        return false;
    outcome = joint_replay_run(&study->replay, scenario, durations);
    share = (double)outcome.length_ns / (double)study->unchanged.length_ns;
    estimate->step_ns = llround((double)study->step_ns * share);
    estimate->speedup = share > 0 ? 1 / share : 0;
    estimate->slowest = outcome.slowest;
    return true;
}

void ranks_study_clear(struct ranks_study *study)
{
    joint_replay_clear(&study->replay);
    free(study->calls);
    free(study->courses);
    free(study->starts_ns);
    free(study->offsets_ns);
    *study = (struct ranks_study){0};
}
