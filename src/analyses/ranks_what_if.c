/* How long would a step of the job take if ...? All ranks replayed together. */
#include "analyses/ranks_what_if.h"

#include "base/invariant.h"
#include "replay/joint_replay.h"
#include "replay/replay_study.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A member that had ended so long before the last one began did not wait for it. */
static const int64_t clock_tolerance_ns = 100000;

struct joint_study {
    struct results *results;
    struct section *section;
    const struct all_ranks *run;
    const struct ranks_changes *changes;
    const struct rank_course **courses; /* [run->count] */
    int64_t *starts_ns;                 /* [run->count] */
    struct meeting_call *calls;
    struct joint_run joint;
    struct joint_replay replay;
    struct joint_outcome unchanged;
    int64_t recorded_ns; /* length of the slowest rank */
    int64_t step_ns;     /* mean step of the slowest rank */
    double length_error;
    double start_error;
};

/* ---- whose course is whose ---- */

static bool is_course_of(const struct rank_course *course, const struct rank_digest *digest)
{
    return course->rank == digest->rank && course->call_count == digest->call_count &&
           course->step_count == digest->step_count && strcmp(course->file, digest->file) == 0;
}

/* False where the trace of a rank is not there: only its digest. */
static bool find_courses(struct joint_study *study)
{
    const struct rank_courses *courses = study->changes->courses;

    for (uint32_t i = 0; i < study->run->count; i++) {
        for (size_t j = 0; j < courses->count && !study->courses[i]; j++)
            if (is_course_of(&courses->courses[j], study->run->ranks[i].digest))
                study->courses[i] = &courses->courses[j];
        if (!study->courses[i])
            return false;
    }
    return true;
}

static int64_t clock_offset_ns(const struct all_ranks *run, uint32_t rank)
{
    const struct rank_clock *clock = &run->clocks.clocks[rank];

    return clock->is_known ? clock->offset_ns : 0;
}

static void find_starts(struct joint_study *study)
{
    int64_t first_ns = INT64_MAX;

    for (uint32_t i = 0; i < study->run->count; i++) {
        study->starts_ns[i] = study->run->ranks[i].digest->steps[0].start_ns +
                              study->courses[i]->lead_ns - clock_offset_ns(study->run, i);
        if (study->starts_ns[i] < first_ns)
            first_ns = study->starts_ns[i];
    }
    for (uint32_t i = 0; i < study->run->count; i++)
        study->starts_ns[i] -= first_ns;
}

/* ---- what they do together ---- */

static const struct digest_call *call_of(const struct all_ranks *run,
                                         const struct join_member *member)
{
    return &run->ranks[member->rank].digest->calls[member->call];
}

/* Whether all members wait for the last: a small message may be sent before anyone takes it. */
static bool is_meeting(const struct joint_study *study, const struct joined_call *join)
{
    const struct all_ranks *run = study->run;
    const struct join_member *members = &run->joins.members[join->first];
    int64_t first_end_ns = INT64_MAX, last_start_ns = INT64_MIN;

    if (join->count < 2 || join->is_mismatched || join->transfer_ns < 0)
        return false;
    for (uint32_t i = 0; i < join->count; i++) {
        const struct digest_call *call = call_of(run, &members[i]);
        int64_t start_ns = call->start_ns - clock_offset_ns(run, members[i].rank);

        if (study->courses[members[i].rank]->calls[members[i].call] == NO_EVENT)
            return false;
        if (!run->clocks.clocks[members[i].rank].is_known)
            continue;
        last_start_ns = start_ns > last_start_ns ? start_ns : last_start_ns;
        if (start_ns + call->duration_ns < first_end_ns)
            first_end_ns = start_ns + call->duration_ns;
    }
    return first_end_ns == INT64_MAX || first_end_ns >= last_start_ns - clock_tolerance_ns;
}

static void add_meeting(struct joint_study *study, const struct joined_call *join)
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

static void find_meetings(struct joint_study *study)
{
    const struct call_joins *joins = &study->run->joins;

    study->calls = require_memory(calloc(joins->member_count + (size_t)1, sizeof *study->calls));
    for (uint32_t i = 0; i < joins->join_count; i++)
        if (is_meeting(study, &joins->joins[i]))
            add_meeting(study, &joins->joins[i]);
    study->joint.calls = study->calls;
}

/* ---- how well that explains the run ---- */

static void measure_unchanged(struct joint_study *study)
{
    double recorded_ns, steps;

    for (uint32_t i = 0; i < study->run->count; i++) {
        const struct rank_course *course = study->courses[i];

        if (course->recorded_ns > study->recorded_ns)
            study->recorded_ns = course->recorded_ns;
        if (course->step_ns > study->step_ns)
            study->step_ns = course->step_ns;
    }
    study->unchanged = joint_replay_run(&study->replay, NULL, 0);
    recorded_ns = (double)study->recorded_ns;
    steps = recorded_ns / (double)study->step_ns;
    study->length_error = fabs((double)study->unchanged.length_ns - recorded_ns) / recorded_ns;
    study->start_error = (double)study->unchanged.start_error_ns * steps / recorded_ns;
}

static void add_errors(const struct joint_study *study)
{
    const struct number numbers[] = {
        {"replay_error", "error of the replay of all ranks", value_fraction(study->length_error),
         NULL},
        {"replay_start_error", "mean error of the devices' starts",
         value_time_ns(study->unchanged.start_error_ns),
         results_format(study->results, "%.2f %% of a step", 100 * study->start_error)},
        {"replayed_meetings", "collectives replayed together",
         value_count(study->joint.meeting_count), NULL},
    };

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        section_add_number(study->results, study->section, numbers[i]);
}

/* ---- what comes of the changes ---- */

static void add_change(const struct joint_study *study, struct table *table, size_t number)
{
    const struct scenario *scenario = &study->changes->scenarios[number];
    struct joint_outcome outcome = joint_replay_run(&study->replay, scenario, number);
    double share = (double)outcome.length_ns / (double)study->unchanged.length_ns;
    struct value *cells = table_add_row(study->results, table, 0);
    char label[RANK_LABEL_BYTES];

    cells[0] = value_text(results_text(study->results, scenario->text));
    cells[1] = value_time_ns(llround((double)study->step_ns * share));
    cells[2] =
        share > 0 ? value_number(1 / share) : value_not_known("nothing would be left of the step");
    cells[3] = value_text(
        results_text(study->results, all_ranks_label(study->run, outcome.slowest, label)));
}

static void add_changes(const struct joint_study *study)
{
    const struct column columns[] = {
        {"change", "change", UNIT_TEXT, 0, false},
        {"step_time", "step", UNIT_TIME_NS, 0, false},
        {"speedup", "times as fast", UNIT_NUMBER, 0, false},
        {"slowest", "slowest", UNIT_TEXT, 0, false},
    };
    struct table *table = section_add_table(study->results, study->section, "what_if",
                                            "What if: all ranks replayed together with a change",
                                            columns, sizeof columns / sizeof *columns);

    table->note = "The step of the slowest rank. Collectives go on once the last of their ranks "
                  "has come. \"waiting@7=0\": rank 7 is never late, and the slowest of the others "
                  "is told; \"waiting=0\": nobody waits, and each rank has its own work only.";
    for (size_t i = 0; i < study->changes->scenario_count; i++)
        add_change(study, table, i);
}

static void refuse(const struct joint_study *study, const char *why, const char *try_this)
{
    section_add_finding(study->results, study->section,
                        (struct finding){.what = "no estimate for all ranks together",
                                         .evidence = why,
                                         .try_this = try_this,
                                         .cost_ns = -1,
                                         .is_warning = true});
}

static void study_changes(struct joint_study *study)
{
    find_starts(study);
    find_meetings(study);
    joint_replay_begin(&study->replay, &study->joint);
    if (study->replay.is_circular) {
        refuse(study, "pieces of work seem to wait for each other in a circle",
               "see the change for each rank alone: --rank 0");
        return;
    }
    measure_unchanged(study);
    add_errors(study);
    if (study->length_error > REPLAY_ERROR_MAX || study->start_error > REPLAY_ERROR_MAX)
        refuse(study, "the replay without a change is more than 2 % from the recording",
               "record whole steps on all ranks, with CPU and CUDA activities");
    else
        add_changes(study);
}

/* Ranks that a change names, and that are not there. */
static void warn_of_ranks(const struct joint_study *study)
{
    for (size_t i = 0; i < study->changes->scenario_count; i++) {
        const struct scenario *scenario = &study->changes->scenarios[i];

        for (size_t j = 0; j < scenario->change_count; j++) {
            bool is_there = scenario->changes[j].rank < 0;

            for (uint32_t k = 0; k < study->run->count && !is_there; k++)
                is_there = study->run->ranks[k].digest->rank == scenario->changes[j].rank;
            if (!is_there)
                section_add_finding(
                    study->results, study->section,
                    (struct finding){
                        .what = results_format(study->results,
                                               "'%s' names a rank that is not among those given",
                                               scenario->text),
                        .try_this = "see the table of the ranks for their numbers",
                        .cost_ns = -1,
                        .is_warning = true});
        }
    }
}

void add_ranks_what_if(struct results *results, struct section *section,
                       const struct all_ranks *run, const struct ranks_changes *changes)
{
    struct joint_study study = {
        .results = results, .section = section, .run = run, .changes = changes};

    if (changes->scenario_count == 0 || run->count < 2)
        return;
    study.courses = require_memory(calloc(run->count, sizeof *study.courses));
    study.starts_ns = require_memory(calloc(run->count, sizeof *study.starts_ns));
    study.joint = (struct joint_run){
        .courses = study.courses, .starts_ns = study.starts_ns, .count = run->count};
    warn_of_ranks(&study);
    if (find_courses(&study))
        study_changes(&study);
    else
        refuse(&study, "of some ranks there are digests only, or no work of a device",
               "give the traces of all ranks");
    joint_replay_clear(&study.replay);
    free(study.calls);
    free(study.courses);
    free(study.starts_ns);
}
