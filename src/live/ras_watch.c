/* NCCL's RAS, asked again and again on a thread of its own: its answer may take seconds, and
 * whoever looks at a job meanwhile gets the newest one. */
#include "base/core/invariant.h"
#include "live/live_source.h"
#include "readers/ras/read_ras.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Asking makes the RAS threads of all ranks talk to each other: often enough to see a hang,
 * seldom enough to cost nothing. */
enum { ASK_EVERY_S = 10, RAS_ANSWER_MS = 5000 };

struct ras_answer {
    struct arena arena;
    struct ras_status status;
    bool is_there;
    struct error why_not;
};

struct ras_watch {
    const char *address;
    pthread_mutex_t lock;
    pthread_cond_t wakes;
    struct ras_answer newest; /* under the lock, as what follows */
    bool is_left;             /* nobody looks any more: the thread frees this, and ends */
};

static const struct live_family ras_up = {
    "flopledger_nccl_ras_up", "1 while NCCL's RAS answers, where it is asked.", LIVE_GAUGE};
static const struct live_family communicators = {"flopledger_nccl_communicators",
                                                 "Communicators of NCCL in the job.", LIVE_GAUGE};
static const struct live_family ranks_by_state = {
    "flopledger_nccl_ranks",
    "Ranks of all communicators by state; where RAS answers in text, those in trouble alone.",
    LIVE_GAUGE};
static const struct live_family ranks_behind = {
    "flopledger_nccl_ranks_behind",
    "Ranks that have called a collective less often than others of their communicator, of all "
    "communicators; some at any instant are usual.",
    LIVE_GAUGE};
static const struct live_family operations = {
    "flopledger_nccl_operations",
    "Calls of a collective by the rank that has made most, of all communicators.", LIVE_COUNTER};
static const struct live_family lost_processes = {
    "flopledger_nccl_lost_processes", "Processes of the job that RAS does not reach.", LIVE_GAUGE};

static const char *const state_names[] = {
    [RAS_RANK_RUNS] = "runs",     [RAS_RANK_STARTS] = "starts", [RAS_RANK_ENDS] = "ends",
    [RAS_RANK_ABORTS] = "aborts", [RAS_RANK_FAILED] = "failed", [RAS_RANK_LEFT] = "left",
    [RAS_RANK_SILENT] = "silent", [RAS_RANK_DEAD] = "dead",
};
enum { STATES = sizeof state_names / sizeof *state_names };

/* ---- asking --------------------------------------------------------------------------------- */

static struct ras_answer ask_once(const char *address)
{
    struct ras_answer answer = {0};

    answer.is_there =
        ask_ras(&answer.status, &answer.arena, address, RAS_ANSWER_MS, &answer.why_not);
    return answer;
}

static void ras_watch_free(struct ras_watch *watch)
{
    arena_clear(&watch->newest.arena);
    pthread_cond_destroy(&watch->wakes);
    pthread_mutex_destroy(&watch->lock);
    free(watch);
}

/* Until it is time to ask again, or nobody looks any more. The condition's clock is the wall
 * clock here, as pthread_cond_init makes it by default; a clock that is set shifts one question. */
static void await_next(struct ras_watch *watch)
{
    struct timespec next;

    clock_gettime(CLOCK_REALTIME, &next);
    next.tv_sec += ASK_EVERY_S;
    while (!watch->is_left && pthread_cond_timedwait(&watch->wakes, &watch->lock, &next) == 0)
        continue;
}

/* Asked without the lock: an answer takes seconds, and whoever samples meanwhile gets the last
 * one. */
static void *ask_again_and_again(void *argument)
{
    struct ras_watch *watch = argument;

    pthread_mutex_lock(&watch->lock);
    while (await_next(watch), !watch->is_left) {
        struct ras_answer answer;

        pthread_mutex_unlock(&watch->lock);
        answer = ask_once(watch->address);
        pthread_mutex_lock(&watch->lock);
        arena_clear(&watch->newest.arena);
        watch->newest = answer;
    }
    pthread_mutex_unlock(&watch->lock);
    ras_watch_free(watch);
    return NULL;
}

/* Signals are for the thread that looks. */
static bool begin_to_ask(struct ras_watch *watch)
{
    sigset_t all;
    sigset_t before;
    pthread_t thread;
    bool is_begun;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    is_begun = pthread_create(&thread, NULL, ask_again_and_again, watch) == 0;
    if (is_begun)
        pthread_detach(thread);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return is_begun;
}

/* The first question is asked at once, so that a wrong address is an error of the command and
 * not a note later. */
struct ras_watch *ras_watch_start(const char *address, struct error *error)
{
    struct ras_watch *watch = require_memory(calloc(1, sizeof *watch));

    watch->address = address;
    watch->newest = ask_once(address);
    pthread_mutex_init(&watch->lock, NULL);
    pthread_cond_init(&watch->wakes, NULL);
    if (watch->newest.why_not.class == ERROR_USAGE)
        *error = watch->newest.why_not;
    else if (begin_to_ask(watch))
        return watch;
    else
        error_set(error, ERROR_FAILURE, "no thread can be started to ask NCCL's RAS");
    ras_watch_free(watch);
    return NULL;
}

/* Not joined: the thread may be in a question of seconds; it frees everything itself when it
 * comes back. */
void ras_watch_stop(struct ras_watch *watch)
{
    if (!watch)
        return;
    pthread_mutex_lock(&watch->lock);
    watch->is_left = true;
    pthread_cond_signal(&watch->wakes);
    pthread_mutex_unlock(&watch->lock);
}

/* ---- what it told --------------------------------------------------------------------------- */

/* RAS in text names ranks in trouble alone, so the number of those that run is not known then. */
static void add_states(struct live_samples *samples, const struct ras_status *status)
{
    size_t counts[STATES] = {0};

    for (size_t i = 0; i < status->communicator_count; i++) {
        for (size_t k = 0; k < status->communicators[i].rank_count; k++)
            counts[status->communicators[i].ranks[k].state]++;
    }
    for (size_t state = 0; state < STATES; state++) {
        if (state != RAS_RANK_RUNS || status->names_all_ranks)
            live_add(samples, &ranks_by_state, (double)counts[state],
                     (struct live_label){"state", state_names[state]}, (struct live_label){0});
    }
}

/* Summed over communicators; -1 is one that RAS tells nothing of, and is no 0. */
static void add_operation(struct live_samples *samples, const struct ras_status *status, size_t at)
{
    const struct live_label label = {"operation", status->operations[at]};
    int64_t behind = 0;
    int64_t most = 0;
    bool is_known = false;

    for (size_t i = 0; i < status->communicator_count; i++) {
        const struct ras_operation *operation = &status->communicators[i].operations[at];

        if (operation->most < 0)
            continue;
        is_known = true;
        behind += operation->behind_count;
        most += operation->most;
    }
    if (!is_known)
        return;
    live_add(samples, &ranks_behind, (double)behind, label, (struct live_label){0});
    live_add(samples, &operations, (double)most, label, (struct live_label){0});
}

/* Where not all ranks are named, how many processes were lost is told beside them. */
static void add_status(struct live_samples *samples, const struct ras_status *status)
{
    live_add(samples, &communicators, (double)status->communicator_count, (struct live_label){0},
             (struct live_label){0});
    add_states(samples, status);
    for (size_t at = 0; at < status->operation_count; at++)
        add_operation(samples, status, at);
    if (status->names_all_ranks)
        return;
    live_add(samples, &lost_processes, (double)status->silent_processes,
             (struct live_label){"state", "silent"}, (struct live_label){0});
    live_add(samples, &lost_processes, (double)status->dead_processes,
             (struct live_label){"state", "dead"}, (struct live_label){0});
}

/* Asking RAS may take seconds, so a thread of its own does; here only its newest answer is
 * taken. */
void ras_watch_sample(struct ras_watch *watch, struct live_samples *samples)
{
    pthread_mutex_lock(&watch->lock);
    live_add(samples, &ras_up, watch->newest.is_there, (struct live_label){0},
             (struct live_label){0});
    if (watch->newest.is_there)
        add_status(samples, &watch->newest.status);
    else
        live_note(samples, "%s", watch->newest.why_not.message);
    pthread_mutex_unlock(&watch->lock);
}
