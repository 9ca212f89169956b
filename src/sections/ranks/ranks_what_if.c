/* How long would a step of the job take if ...? All ranks replayed together. */
#include "base/core/attributes.h"
#include "base/core/invariant.h"
#include "base/text/format.h"
#include "replay/replay_model.h"
#include "replay/scenario.h"
#include "sections/ranks/ranks_tables.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the replay ------------------------------------------------------------------------------ */

/* All ranks of a run, replayed together: how well that explains the run, and what changes bring. */

/* A member that had ended so long before the last one began did not wait for it. */
static const int64_t clock_tolerance_ns = 100000;

/* ---- whose course is whose ---- */

/* A digest and a replay of the same trace are made apart and are matched by what both have.
 * The name of the file alone would not do: it may have been read with other steps. */
static bool is_course_of(const struct rank_replay_input *course, const struct rank_digest *digest)
{
    return course->rank == digest->rank && course->call_count == digest->call_count &&
           course->step_count == digest->step_count &&
           course->span_ns ==
               digest->steps[digest->step_count - 1].end_ns - digest->steps[0].start_ns &&
           strcmp(course->file, digest->file) == 0;
}

/* Of several that fit, as of ranks that the traces do not number, each is taken once. Quadratic
 * in the ranks that fit, which is one for each where they are numbered. */
static const struct rank_replay_input *collect_course(const struct rank_replay_inputs *courses,
                                                      uint8_t *is_taken,
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
static bool find_courses(struct ranks_replay *simulation, const struct rank_replay_inputs *courses)
{
    uint8_t *is_taken = require_memory(calloc(courses->count + 1, 1));
    bool has_all = true;

    for (uint32_t i = 0; i < simulation->run->count && has_all; i++) {
        simulation->courses[i] =
            collect_course(courses, is_taken, simulation->run->ranks[i].digest);
        has_all = simulation->courses[i] != NULL;
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
 * are. Ends, not starts: a collective ends on all ranks at one moment, up to the way of the last
 * message, while each starts when it comes. Calls that were joined though they do not match say
 * nothing of clocks. */
static bool tie_members(struct ranks_replay *simulation, const struct joined_call *join,
                        uint8_t *is_tied)
{
    const struct join_member *members = &simulation->run->joins.members[join->first];
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
        simulation->offsets_ns[rank] = simulation->offsets_ns[members[first].rank] +
                                       end_of_member(simulation->run, &members[i]) -
                                       end_of_member(simulation->run, &members[first]);
        is_tied[rank] = 1;
        ties_any = true;
    }
    return ties_any;
}

/* Clocks that no collective ties to the first rank's may be tied to each other: as ends of
 * joined calls tell. How far such ranks are from the first does not matter, for they never meet.
 * A union over joins: each round ties all ranks that share a joined call with a tied one, until
 * nothing changes; what is left then is another component, of which one rank is set to 0. At
 * most as many rounds as ranks, in each all joins; a collective of all ranks ties everything in
 * the first. */
static void find_offsets(struct ranks_replay *simulation)
{
    const struct all_ranks *run = simulation->run;
    uint8_t *is_tied = require_memory(calloc(run->count + (size_t)1, 1));

    for (uint32_t i = 0; i < run->count; i++) {
        is_tied[i] = run->clocks.clocks[i].is_known;
        simulation->offsets_ns[i] = is_tied[i] ? run->clocks.clocks[i].offset_ns : 0;
    }
    for (uint32_t i = 0; i < run->count; i++) {
        bool ties_any = !is_tied[i];

        is_tied[i] = 1;
        while (ties_any) {
            ties_any = false;
            for (uint32_t k = 0; k < run->joins.join_count; k++)
                ties_any |= tie_members(simulation, &run->joins.joins[k], is_tied);
        }
    }
    free(is_tied);
}

/* When each rank's replay begins, against the first: what differs here is waiting at the first
 * collective, and has to be in the replay. */
static void find_starts(struct ranks_replay *simulation)
{
    int64_t first_ns = INT64_MAX;

    for (uint32_t i = 0; i < simulation->run->count; i++) {
        simulation->starts_ns[i] = simulation->run->ranks[i].digest->steps[0].start_ns +
                                   simulation->courses[i]->lead_ns - simulation->offsets_ns[i];
        if (simulation->starts_ns[i] < first_ns)
            first_ns = simulation->starts_ns[i];
    }
    for (uint32_t i = 0; i < simulation->run->count; i++)
        simulation->starts_ns[i] -= first_ns;
}

/* ---- what they do together ---- */

static const struct digest_call *ranks_replay_call_of(const struct all_ranks *run,
                                                      const struct join_member *member)
{
    return &run->ranks[member->rank].digest->calls[member->call];
}

/* Whether all members wait for the last: a small message may be sent before anyone takes it. The
 * test is of the recording: with one clock, a call that all wait for cannot end on any rank
 * before the last has started. Where one did, the message was buffered (small sends are, as NCCL
 * and others copy them), and a replay that made it wait would be slower than the run. A member
 * whose call is not in the replay has nothing that could wait. */
static bool is_meeting(const struct ranks_replay *simulation, const struct joined_call *join)
{
    const struct all_ranks *run = simulation->run;
    const struct join_member *members = &run->joins.members[join->first];
    int64_t first_end_ns = INT64_MAX, last_start_ns = INT64_MIN;

    if (join->count < 2 || join->is_mismatched || join->transfer_ns < 0)
        return false;
    for (uint32_t i = 0; i < join->count; i++) {
        const struct digest_call *call = ranks_replay_call_of(run, &members[i]);
        int64_t start_ns = call->start_ns - simulation->offsets_ns[members[i].rank];

        if (simulation->courses[members[i].rank]->calls[members[i].call] == NO_EVENT)
            return false;
        last_start_ns = start_ns > last_start_ns ? start_ns : last_start_ns;
        if (start_ns + call->duration_ns < first_end_ns)
            first_end_ns = start_ns + call->duration_ns;
    }
    return first_end_ns >= last_start_ns - clock_tolerance_ns;
}

/* Every member has the same transfer: it goes on when the last has come, and lasts as long as
 * it did. */
static void add_meeting(struct ranks_replay *simulation, const struct joined_call *join)
{
    for (uint32_t i = 0; i < join->count; i++) {
        const struct join_member *member = &simulation->run->joins.members[join->first + i];

        simulation->calls[simulation->joint.call_count++] =
            (struct meeting_call){.course = member->rank,
                                  .task = simulation->courses[member->rank]->calls[member->call],
                                  .meeting = simulation->joint.meeting_count,
                                  .transfer_ns = join->transfer_ns};
    }
    simulation->joint.meeting_count++;
}

/* Only collectives that are meetings hold the replays of their ranks together (see
 * is_meeting): all others leave each rank at its own pace. */
static void find_meetings(struct ranks_replay *simulation)
{
    const struct call_joins *joins = &simulation->run->joins;

    simulation->calls =
        require_memory(calloc(joins->member_count + (size_t)1, sizeof *simulation->calls));
    for (uint32_t i = 0; i < joins->join_count; i++)
        if (is_meeting(simulation, &joins->joins[i]))
            add_meeting(simulation, &joins->joins[i]);
    simulation->joint.calls = simulation->calls;
}

/* ---- how well that explains the run ---- */

/* The longest of the ranks, in both, since a job is done when its last rank is. The error of
 * the starts is per step: a mean start error of all events means little in a recording of 100
 * steps unless it is compared with one. */
static void measure_unchanged(struct ranks_replay *simulation)
{
    double recorded_ns, steps;

    for (uint32_t i = 0; i < simulation->run->count; i++) {
        const struct rank_replay_input *course = simulation->courses[i];

        if (course->recorded_ns > simulation->recorded_ns)
            simulation->recorded_ns = course->recorded_ns;
        if (course->step_ns > simulation->step_ns)
            simulation->step_ns = course->step_ns;
    }
    if (simulation->recorded_ns <= 0 || simulation->step_ns <= 0)
        return;
    simulation->is_measured = true;
    simulation->unchanged = joint_replay_run(&simulation->replay, NULL, 0);
    recorded_ns = (double)simulation->recorded_ns;
    steps = recorded_ns / (double)simulation->step_ns;
    simulation->length_error =
        fabs((double)simulation->unchanged.length_ns - recorded_ns) / recorded_ns;
    simulation->start_error = (double)simulation->unchanged.start_error_ns * steps / recorded_ns;
}

/* ---- all of it ---- */

static const struct replay_refusal of_courses = {
    "of some ranks there are digests only, no work of a device, or more of it than is replayed",
    "give the traces of all ranks, and of long ones some steps: --steps 10-20"};
static const struct replay_refusal of_circle = {
    "pieces of work seem to wait for each other in a circle",
    "see the change for each rank alone: --rank 0"};
static const struct replay_refusal of_error = {
    "the replay without a change is more than 2 % from the recording",
    "record whole steps on all ranks, host and device"};

/* The refusals are in the order in which they can be known, and each says what would help.
 * Without the check of the error the numbers would look as sure for a run that the model does
 * not explain. */
void ranks_replay_begin(struct ranks_replay *simulation, const struct all_ranks *run,
                        const struct rank_replay_inputs *courses)
{
    simulation->run = run;
    simulation->courses =
        require_memory(calloc(run->count + (size_t)1, sizeof *simulation->courses));
    simulation->starts_ns =
        require_memory(calloc(run->count + (size_t)1, sizeof *simulation->starts_ns));
    simulation->offsets_ns =
        require_memory(calloc(run->count + (size_t)1, sizeof *simulation->offsets_ns));
    simulation->joint = (struct joint_run){
        .courses = simulation->courses, .starts_ns = simulation->starts_ns, .count = run->count};
    if (!find_courses(simulation, courses)) {
        simulation->refusal = &of_courses;
        return;
    }
    find_offsets(simulation);
    find_starts(simulation);
    find_meetings(simulation);
    joint_replay_begin(&simulation->replay, &simulation->joint);
    if (simulation->replay.is_circular) {
        simulation->refusal = &of_circle;
        return;
    }
    measure_unchanged(simulation);
    if (!simulation->is_measured || simulation->length_error > REPLAY_ERROR_MAX ||
        simulation->start_error > REPLAY_ERROR_MAX)
        simulation->refusal = &of_error;
}

/* False where there is nothing to replay, or the study is refused. `durations`: as for
 * joint_replay_run. The share is of replay and replay, and is applied to the recorded step: an
 * error that both have cancels, and without a change exactly the recorded step comes out. */
static bool ranks_replay_try(const struct ranks_replay *simulation, const struct scenario *scenario,
                             size_t durations, struct ranks_estimate *estimate)
{
    struct joint_outcome outcome;
    double share;

    if (!simulation->run || simulation->refusal)
        return false;
    outcome = joint_replay_run(&simulation->replay, scenario, durations);
    share = (double)outcome.length_ns / (double)simulation->unchanged.length_ns;
    estimate->step_ns = llround((double)simulation->step_ns * share);
    estimate->speedup = share > 0 ? 1 / share : 0;
    estimate->slowest = outcome.slowest;
    return true;
}

void ranks_replay_clear(struct ranks_replay *simulation)
{
    joint_replay_clear(&simulation->replay);
    free(simulation->calls);
    free(simulation->courses);
    free(simulation->starts_ns);
    free(simulation->offsets_ns);
    *simulation = (struct ranks_replay){0};
}

/* ---- ranks what if --------------------------------------------------------------------------- */

/* What is written, and where. */
struct what_if_page {
    struct results *results;
    struct section *section;
    const struct ranks_replay *simulation;
    const struct ranks_changes *changes;
};

/* The replay without a change is held against the recording first: what the model misses there
 * is the least that each answer below may be wrong by. */
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

/* Columns ask for the replay each by itself; only changes that a user asked for come here, so
 * that this is cheap enough. */
static void ranks_what_if_add_change(const struct what_if_page *page, struct table *table,
                                     size_t number)
{
    const struct scenario *scenario = &page->changes->scenarios[number];
    char label[RANK_LABEL_BYTES];
    struct ranks_estimate estimate;

    FILL_ROW(table_add_row(page->results, table, 0), WHAT_IF_COLUMNS);
}

/* "The slowest rank" may be another one with the change than without: the job's step is the
 * maximum, and each scenario takes its own. */
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

/* Errors of the replay stand before what it says; where they are too large, the reason stands
 * in its place. */
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

/* The change names the rank by its own number: a rank that the trace does not number cannot be
 * named. */
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
