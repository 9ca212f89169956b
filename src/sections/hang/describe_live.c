/* A job that runs: which rank holds up the others, in which communicator, and since when. */
#include "output/results/device_words.h"
#include "output/results/metrics.h"
#include "sections/hang/flight_sections.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FINDINGS_MAX = 12, FRAMES_MAX = 200 };

/* Longer than any usual pause of a rank that is well: below it a step may just take its time. */
static const int64_t stale_ns = INT64_C(5000000000);

static const char sections_try[] =
    "'flopledger ranks --live --section live' on its machine prints its Python stacks; dmesg and "
    "nvidia-smi there tell of the GPU";

/* The page while it is made. */
struct live_page {
    struct results *results;
    struct section *section;
    const struct live_job *job;
    const char *headline; /* the first finding; NULL: none yet */
    size_t added;
};

/* The first finding is the headline. Beyond the limit they are counted but not listed:
 * thousands of ranks wait for one. */
static void live_tell(struct live_page *page, const char *what, const char *evidence,
                      const char *try_this)
{
    if (!page->headline)
        page->headline = what;
    if (page->added++ < FINDINGS_MAX)
        section_add_finding(page->results, page->section,
                            (struct finding){.what = what,
                                             .evidence = evidence,
                                             .try_this = try_this,
                                             .cost_ns = -1,
                                             .is_warning = true});
}

/* ---- step records --------------------------------------------------------------------------- */

/* How long no rank has ended a step, of those that live; -1: not known. The least of all ranks:
 * one that still ends steps shows that the job lives. */
static int64_t quiet_ns(const struct live_job *job)
{
    int64_t least = -1;

    for (size_t i = 0; i < job->rank_count; i++) {
        const struct live_rank *rank = &job->ranks[i];

        if (rank->lives && rank->since_ns >= 0 && (least < 0 || rank->since_ns < least))
            least = rank->since_ns;
    }
    return least;
}

/* Numbers of processes are used again: only a record whose process lives is meant. */
static const struct live_rank *rank_of_process(const struct live_job *job, int64_t pid)
{
    for (size_t i = 0; i < job->rank_count && pid > 0; i++) {
        if (job->ranks[i].pid == pid && job->ranks[i].lives)
            return &job->ranks[i];
    }
    return NULL;
}

static const char *seconds_text(struct live_page *page, int64_t ns)
{
    return ns < INT64_C(120000000000)
               ? results_format(page->results, "%.1f s", (double)ns / 1e9)
               : results_format(page->results, "%.0f min", (double)ns / 6e10);
}

/* ", process 12 on 10.0.0.2, GPU 3; its last step ended 41 s ago" */
static const char *place_text(struct live_page *page, const struct ras_rank *rank)
{
    const struct live_rank *recorded = rank_of_process(page->job, rank->pid);
    const char *process =
        rank->pid >= 0 ? results_format(page->results, "process %" PRId64 " on %s, GPU %" PRId64,
                                        rank->pid, rank->host, rank->gpu)
                       : "its process is not told";

    return !recorded || recorded->since_ns < 0
               ? process
               : results_format(page->results, "%s; its last step, %" PRId64 ", ended %s ago",
                                process, recorded->step, seconds_text(page, recorded->since_ns));
}

/* "communicator 0x1a2b (8 ranks)" */
static const char *communicator_text(struct live_page *page,
                                     const struct ras_communicator *communicator)
{
    return communicator->size > 0
               ? results_format(page->results, "communicator %s (%" PRId64 " ranks)",
                                communicator->name, communicator->size)
               : results_format(page->results, "communicator %s", communicator->name);
}

/* ---- communicators -------------------------------------------------------------------------- */

/* At the same place in both answers, as a rule: thousands are not looked through for each. */
static const struct ras_communicator *same_communicator(const struct live_job *job,
                                                        const struct ras_communicator *now)
{
    const struct ras_status *before = job->before;
    size_t place = (size_t)(now - job->now->communicators);

    for (size_t i = 0; i < before->communicator_count; i++) {
        size_t at = (place + i) % before->communicator_count;

        if (strcmp(before->communicators[at].name, now->name) == 0)
            return &before->communicators[at];
    }
    return NULL;
}

/* Whether nothing was called between the two looks. False where there was no second. */
static bool stands_still(const struct live_job *job, const struct ras_communicator *now)
{
    const struct ras_communicator *before = same_communicator(job, now);

    if (!before || before->rank_count != now->rank_count)
        return false;
    for (size_t i = 0; i < now->rank_count; i++) {
        if (memcmp(before->ranks[i].calls, now->ranks[i].calls, sizeof now->ranks[i].calls) != 0)
            return false;
    }
    for (size_t at = 0; at < RAS_OPERATIONS_MAX; at++) {
        if (before->operations[at].most != now->operations[at].most)
            return false;
    }
    return true;
}

static const char *state_words[] = {
    [RAS_RANK_RUNS] = "runs",
    [RAS_RANK_STARTS] = "is being made",
    [RAS_RANK_ENDS] = "ends",
    [RAS_RANK_ABORTS] = "aborts",
    [RAS_RANK_FAILED] = "failed",
    [RAS_RANK_LEFT] = "has left",
    [RAS_RANK_SILENT] = "does not answer",
    [RAS_RANK_DEAD] = "is considered dead",
};

/* Only states from "aborts" on: ranks that lag are told elsewhere, and may still come. */
static void tell_lost_ranks(struct live_page *page, const struct ras_communicator *communicator)
{
    for (size_t i = 0; i < communicator->rank_count && page->added < FINDINGS_MAX; i++) {
        const struct ras_rank *rank = &communicator->ranks[i];

        if (rank->state < RAS_RANK_ABORTS)
            continue;
        live_tell(page,
                  results_format(page->results, "rank %" PRId64 " of %s %s%s (%s)", rank->rank,
                                 communicator_text(page, communicator), state_words[rank->state],
                                 rank->error
                                     ? results_format(page->results, " (ncclResult_t %" PRId64 ")",
                                                      rank->error)
                                     : "",
                                 place_text(page, rank)),
                  NULL, sections_try);
    }
}

/* Ranks that have called an operation less often than others, who wait for them. */
static void tell_ranks_behind(struct live_page *page, const struct ras_communicator *communicator)
{
    const struct ras_status *status = page->job->now;

    for (size_t at = 0; at < status->operation_count; at++) {
        const struct ras_operation *operation = &communicator->operations[at];
        int64_t named = 0;

        for (size_t i = 0; i < communicator->rank_count && page->added < FINDINGS_MAX; i++) {
            const struct ras_rank *rank = &communicator->ranks[i];

            if (rank->calls[at] < 0 || rank->calls[at] >= operation->most)
                continue;
            named++;
            live_tell(page,
                      results_format(page->results,
                                     "rank %" PRId64 " of %s has called %s %" PRId64
                                     " times, others %" PRId64 " times: they wait for it (%s)",
                                     rank->rank, communicator_text(page, communicator),
                                     status->operations[at], rank->calls[at], operation->most,
                                     place_text(page, rank)),
                      NULL, sections_try);
        }
        /* The text of an older NCCL counts more ranks than it names. */
        if (operation->behind_count > named && page->added < FINDINGS_MAX)
            live_tell(page,
                      results_format(page->results,
                                     "%" PRId64 " ranks of %s have called %s less often than "
                                     "others, which did it %" PRId64 " times",
                                     operation->behind_count - named,
                                     communicator_text(page, communicator), status->operations[at],
                                     operation->most),
                      "this NCCL's answer does not name them", sections_try);
    }
}

static bool has_ranks_behind(const struct ras_communicator *communicator)
{
    for (size_t at = 0; at < RAS_OPERATIONS_MAX; at++) {
        if (communicator->operations[at].behind_count > 0)
            return true;
    }
    return false;
}

/* Lost ranks first; then, of communicators in which nothing was called between two looks, who
 * is behind. A communicator that moves has ranks behind at any moment, and that is no hang.
 * What the answer does not name is told only where nothing better is. */
static void tell_communicators(struct live_page *page)
{
    const struct live_job *job = page->job;
    size_t still = 0;

    for (size_t i = 0; i < job->now->communicator_count; i++)
        tell_lost_ranks(page, &job->now->communicators[i]);
    for (size_t i = 0; i < job->now->communicator_count; i++) {
        /* Still between both looks: a short wait is seen once, a hang twice. */
        if (!stands_still(job, &job->now->communicators[i]))
            continue;
        still++;
        tell_ranks_behind(page, &job->now->communicators[i]);
    }
    if (job->now->dead_processes && !page->added)
        live_tell(page,
                  results_format(page->results, "%" PRId64 " processes are considered dead",
                                 job->now->dead_processes),
                  "this NCCL's answer does not name them", sections_try);
    if (job->now->silent_processes && !page->added)
        live_tell(page,
                  results_format(page->results, "%" PRId64 " processes do not answer",
                                 job->now->silent_processes),
                  "this NCCL's answer does not name them", sections_try);
    /* All the same and all still: nobody is missing, so the operation itself does not end.
     * Only steps that are long overdue make that a finding. */
    if (!page->added && job->now->names_all_ranks && still > 0 &&
        still == job->now->communicator_count && quiet_ns(job) > stale_ns)
        live_tell(
            page,
            results_format(page->results,
                           "no rank has called NCCL for %.1f s, and no step has ended for %s, "
                           "though all ranks have called the same",
                           job->apart_s, seconds_text(page, quiet_ns(job))),
            "they are in an operation that does not end, or all do something else: a "
            "checkpoint, an evaluation, the host's own work",
            "the flight recorder tells which operation: flopledger ranks DUMP...");
}

/* ---- steps ---------------------------------------------------------------------------------- */

static int64_t newest_step(const struct live_job *job)
{
    int64_t newest = 0;

    for (size_t i = 0; i < job->rank_count; i++) {
        if (job->ranks[i].lives && job->ranks[i].step > newest)
            newest = job->ranks[i].step;
    }
    return newest;
}

/* A rank is stale by its own usual step time (live_rank_is_stale). Only where others are ahead
 * is it known who holds up whom: with collectives in each step all stand still together. */
static void tell_steps(struct live_page *page)
{
    const struct live_job *job = page->job;
    int64_t newest = newest_step(job);
    size_t stale = 0;
    size_t behind = 0;
    size_t living = 0;

    for (size_t i = 0; i < job->rank_count; i++) {
        const struct live_rank *rank = &job->ranks[i];

        living += rank->lives;
        stale += live_rank_is_stale(rank);
        if (!live_rank_is_stale(rank) || rank->step >= newest)
            continue;
        behind++;
        live_tell(page,
                  results_format(page->results,
                                 "rank %" PRId64 " has ended no step for %s: it has reached step "
                                 "%" PRId64 ", others %" PRId64,
                                 rank->rank, seconds_text(page, rank->since_ns), rank->step,
                                 newest),
                  results_format(page->results, "process %" PRId64 "; a step takes it %s",
                                 rank->pid, seconds_text(page, rank->usual_ns)),
                  sections_try);
    }
    /* One rank that goes on is enough to know that the job does. */
    if (stale > 0 && behind == 0 && stale == living)
        live_tell(page,
                  results_format(page->results,
                                 "no rank has ended a step for %s: all have reached step %" PRId64,
                                 seconds_text(page, quiet_ns(job)), newest),
                  "step records tell when a step ends, not who is waited for within it",
                  job->now ? NULL
                           : "NCCL's RAS would tell it (NCCL 2.24 and later), and so do dumps of "
                             "the flight recorder: flopledger ranks DUMP...");
    for (size_t i = 0; i < job->rank_count && living > 0; i++) {
        /* Others live: a rank that ended with all others is the job's end and no hang. */
        if (!job->ranks[i].lives)
            live_tell(page,
                      results_format(page->results,
                                     "rank %" PRId64 " has ended after step %" PRId64
                                     ", while others go on",
                                     job->ranks[i].rank, job->ranks[i].step),
                      results_format(page->results, "process %" PRId64, job->ranks[i].pid), NULL);
    }
}

/* ---- tables --------------------------------------------------------------------------------- */

static int64_t count_state(const struct ras_communicator *communicator, enum ras_rank_state least)
{
    int64_t count = 0;

    for (size_t i = 0; i < communicator->rank_count; i++)
        count += communicator->ranks[i].state >= least;
    return count;
}

#define LIVE_COMMUNICATORS_COLUMNS(COLUMN)                                                \
    COLUMN("communicator", "communicator", UNIT_TEXT, 0, BAR_NONE, value_text(one->name)) \
    COLUMN("ranks", "ranks", UNIT_COUNT, 0, BAR_NONE,                                     \
           one->size > 0 ? value_count(one->size) : value_none())                         \
    COLUMN("lost", "that do not run", UNIT_COUNT, 0, BAR_NONE,                            \
           value_count(count_state(one, RAS_RANK_ABORTS)))                                \
    COLUMN("behind", "ranks behind", UNIT_TEXT, 0, BAR_NONE,                              \
           value_text(has_ranks_behind(one) ? "some" : "none"))                           \
    COLUMN("moves", "between two looks", UNIT_TEXT, 0, BAR_NONE,                          \
           value_text(stands_still(page->job, one) ? "none called" : "some called"))

static void add_communicators(struct live_page *page, uint32_t top)
{
    struct table *table =
        section_add_table(page->results, page->section, "communicators", "Communicators",
                          COLUMNS_OF(LIVE_COMMUNICATORS_COLUMNS));

    for (size_t i = 0; i < page->job->now->communicator_count && i < top; i++) {
        const struct ras_communicator *one = &page->job->now->communicators[i];

        FILL_ROW(table_add_row(page->results, table, 0), LIVE_COMMUNICATORS_COLUMNS);
    }
}

#define LIVE_RANKS_COLUMNS(COLUMN)                                                            \
    COLUMN("rank", "rank", UNIT_COUNT, 0, BAR_NONE, value_count(rank->rank))                  \
    COLUMN("process", "process", UNIT_COUNT, 0, BAR_NONE, value_count(rank->pid))             \
    COLUMN("step", "last step", UNIT_COUNT, 0, BAR_NONE, value_count(rank->step))             \
    COLUMN("since", "ended, ago", UNIT_TIME_NS, 0, BAR_NONE,                                  \
           rank->since_ns >= 0 ? value_time_ns(rank->since_ns)                                \
                               : value_not_known("needs to be asked on that rank's machine")) \
    COLUMN("usual", "a step takes", UNIT_TIME_NS, 1, BAR_NONE,                                \
           rank->usual_ns > 0 ? value_time_ns(rank->usual_ns) : value_none())                 \
    COLUMN("state", "state", UNIT_TEXT, 0, BAR_NONE,                                          \
           value_text(!rank->lives               ? "has ended"                                \
                      : live_rank_is_stale(rank) ? "ends no step"                             \
                                                 : "trains"))

static void add_live_ranks(struct live_page *page, uint32_t top)
{
    struct table *table = section_add_table(page->results, page->section, "live_ranks", "Ranks",
                                            COLUMNS_OF(LIVE_RANKS_COLUMNS));

    for (size_t i = 0; i < page->job->rank_count && i < top; i++) {
        const struct live_rank *rank = &page->job->ranks[i];

        FILL_ROW(table_add_row(page->results, table, 0), LIVE_RANKS_COLUMNS);
    }
}

#define LIVE_FRAMES_COLUMNS(COLUMN)                                               \
    COLUMN("rank", "rank", UNIT_COUNT, 0, BAR_NONE, value_count(rank->rank))      \
    COLUMN("process", "process", UNIT_COUNT, 1, BAR_NONE, value_count(rank->pid)) \
    COLUMN("frame", "innermost first", UNIT_TEXT, 0, BAR_NONE,                    \
           value_text(results_text(page->results, line)))

/* Each line of what faulthandler would print: `Thread 0x... (most recent call first):`, then
 * `  File "train.py", line 12 in step`. */
static void add_frames(struct live_page *page, struct table *table, const struct live_rank *rank)
{
    const char *at = rank->stacks;
    size_t rows = 0;

    while (*at && rows++ < FRAMES_MAX) {
        size_t length = strcspn(at, "\n");
        char line[512];

        snprintf(line, sizeof line, "%.*s", (int)length, at);
        at += length + (at[length] == '\n');
        if (*line)
            FILL_ROW(table_add_row(page->results, table, line[0] == ' '), LIVE_FRAMES_COLUMNS);
    }
}

/* Why there are no stacks of a rank is said in their place (another machine, no permission):
 * otherwise its absence would look like a sign. */
static void add_stacks(struct live_page *page)
{
    struct table *table = NULL;

    for (size_t i = 0; i < page->job->rank_count; i++) {
        const struct live_rank *rank = &page->job->ranks[i];

        if (rank->no_stacks)
            section_add_note(page->results, page->section,
                             results_format(page->results, "rank %" PRId64 ": no stacks: %s",
                                            rank->rank, rank->no_stacks),
                             NULL, NULL);
        if (!rank->stacks)
            continue;
        if (!table)
            table = section_add_table(page->results, page->section, "stacks", "Python stacks",
                                      COLUMNS_OF(LIVE_FRAMES_COLUMNS));
        add_frames(page, table, rank);
    }
}

/* What was asked, and what it could not tell. */
static void add_sources(struct live_page *page)
{
    const struct live_job *job = page->job;
    struct results *results = page->results;

    if (job->now)
        section_add_value(results, page->section, "ras", "NCCL's RAS",
                          value_text(results_format(results, "NCCL %s, asked twice, %.1f s apart",
                                                    job->now->nccl_version, job->apart_s)));
    else
        /* Why RAS told nothing: it gave no answer, or none that could be read. */
        section_add_note(results, page->section, job->ras_problem, NULL, NULL);
    if (job->capture)
        section_add_value(results, page->section, "capture", "step records",
                          value_text(results_text(results, job->capture)));
    else
        section_add_note(results, page->section,
                         "no step records: since when a rank ends no step is not known", NULL,
                         "start the job by 'flopledger run', or attach to it: flopledger attach "
                         "--watch PID");
    if (job->now && !job->now->names_all_ranks)
        section_add_note(results, page->section,
                         "this NCCL answers in text, and names only ranks that differ",
                         "NCCL 2.28.7 and later answer in JSON", NULL);
}

/* NCCL's word first, as it names the operation; step records say only since when. */
void describe_live_job(struct results *results, const struct live_job *job, uint32_t top)
{
    struct live_page page = {.results = results, .job = job};
    struct rank_results *rank = results_add_rank(results, "job", "live", -1, NO_SPEAKERS);

    page.section = section_new(results, "live_hang", "What hangs now",
                               "Which rank holds up the others, and since when.");
    add_sources(&page);
    if (job->now)
        tell_communicators(&page);
    if (job->rank_count > 0)
        tell_steps(&page);
    rank->headline = page.headline ? page.headline
                     : job->now || job->rank_count > 0
                         ? "nothing hangs: ranks call operations, or have just ended a step"
                         : "nothing is known of the job";
    if (job->now)
        add_communicators(&page, top);
    if (job->rank_count > 0)
        add_live_ranks(&page, top);
    add_stacks(&page);
    rank_add_section(results, rank, page.section);
}
