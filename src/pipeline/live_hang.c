/* Two looks at a job that runs: NCCL's RAS, and the step records. */
#include "live/inject/injection.h"
#include "output/results/metrics.h"
#include "pipeline/running_capture.h"
#include "pipeline/subcommands.h"
#include "readers/ras/read_ras.h"
#include "sections/hang/flight_sections.h"

#include <math.h>
#include <string.h>
#include <time.h>

enum { ANSWER_MS = 5000, STACKS_MAX = 16, STEP_MEDIAN_OF_LIVE = 20 };

static int64_t live_clock_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void pause_seconds(double seconds)
{
    const struct timespec pause = {.tv_sec = (time_t)seconds,
                                   .tv_nsec = (long)(fmod(seconds, 1) * 1e9)};

    (void)nanosleep(&pause, NULL);
}

/* Times of the record are of the monotonic clock: those of this machine, since it was started.
 * Time since the last step counts only for a process that lives: a dead one's record does not go
 * on, which is told elsewhere. */
static void read_live_rank(struct live_rank *rank, const struct job_record *record, int64_t now_ns)
{
    const struct rank_progress *progress = &record->progress;

    *rank = (struct live_rank){.rank = progress->reader.header.rank,
                               .pid = progress->reader.header.pid,
                               .step = progress->step,
                               .since_ns = -1,
                               .usual_ns = rank_recent_step_ns(progress, STEP_MEDIAN_OF_LIVE),
                               .lives = record->lives};
    if (record->lives && progress->step > 0 && now_ns > progress->last_end_ns)
        rank->since_ns = now_ns - progress->last_end_ns;
}

/* Only the newest record of each rank, and those that have not ended: earlier attempts lie in
 * the same folder. */
static void look_at_records(struct live_job *job, struct arena *arena, struct job_records *records)
{
    int64_t now_ns = live_clock_ns();

    job_records_update(records, job->capture);
    job->ranks = arena_allocate(arena, (records->count + 1) * sizeof *job->ranks);
    for (size_t i = 0; i < records->count; i++) {
        if (records->records[i]->is_newest && !records->records[i]->progress.has_ended)
            read_live_rank(&job->ranks[job->rank_count++], records->records[i], now_ns);
    }
}

/* Ranks that have ended no step for long, of this machine: what they are in. At most STACKS_MAX
 * processes are stopped for a look, and only those of ranks without progress: each look stops
 * the process for a moment. */
static void look_at_stacks(struct live_job *job, struct arena *arena)
{
    size_t looked_at = 0;

    for (size_t i = 0; i < job->rank_count && looked_at < STACKS_MAX; i++) {
        struct live_rank *rank = &job->ranks[i];
        struct error error = {0};

        if (!live_rank_is_stale(rank))
            continue;
        looked_at++;
        rank->stacks = injection_read_stacks(arena, (long)rank->pid, &error);
        if (!rank->stacks)
            rank->no_stacks = arena_copy_text(arena, error.message, strlen(error.message));
    }
}

/* Two looks, some seconds apart: counts of collectives that stand still between them are what
 * tells a hang from a slow step. One look has counts only. */
static void look_at_ras(struct live_job *job, struct arena *arena,
                        const struct live_question *question)
{
    struct ras_status *looks = arena_allocate(arena, 2 * sizeof *looks);
    struct error error = {0};
    int64_t began_ns = live_clock_ns();

    if (!ask_ras(&looks[0], arena, question->ras, ANSWER_MS, &error)) {
        job->ras_problem = arena_copy_text(arena, error.message, strlen(error.message));
        return;
    }
    pause_seconds(question->apart_s);
    job->apart_s = (double)(live_clock_ns() - began_ns) / 1e9;
    if (!ask_ras(&looks[1], arena, question->ras, ANSWER_MS, &error)) {
        job->ras_problem = arena_copy_text(arena, error.message, strlen(error.message));
        return;
    }
    job->before = &looks[0];
    job->now = &looks[1];
}

/* Fills `job`, which lives as long as `arena`; `records` must be zeroed. An error where neither RAS
 * nor step records tell of it. Either source is enough: RAS without records, for jobs that were
 * not recorded, and records without RAS, for other libraries than NCCL. */
static bool look_at_live_job(struct live_job *job, struct arena *arena, struct job_records *records,
                             const struct live_question *question, struct error *error)
{
    struct error no_records = {0};

    *job = (struct live_job){0};
    job->capture = find_running_capture(arena, question->given, &no_records);
    if (!job->capture && question->given) {
        *error = no_records;
        return false;
    }
    look_at_ras(job, arena, question);
    if (job->capture)
        look_at_records(job, arena, records);
    if (question->reads_stacks)
        look_at_stacks(job, arena);
    if (job->now || job->rank_count > 0)
        return true;
    return error_set(error, ERROR_NO_DATA, "%s; and no rank that lives has a step record",
                     job->ras_problem);
}

/* No rank is chosen: who hangs is the question, and the answer is about all. */
bool print_hang_of_live_job(const struct live_question *question, const struct hang_report *wanted,
                            struct error *error)
{
    SCOPED(arena) arena = {0};
    SCOPED(job_records) records = {0};
    SCOPED(results) results = {0};
    struct live_job job;

    if (!look_at_live_job(&job, &arena, &records, question, error))
        return false;
    results_init(&results);
    results.detailed_rank = ALL_RANKS;
    describe_live_job(&results, &job, wanted->top);
    return print_page(&results, wanted->page, error);
}
