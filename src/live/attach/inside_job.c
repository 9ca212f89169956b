/* Programs that train already, recorded by our own recorder, which is put into them. */
#include "base/io/processes.h"
#include "base/json/json_tree.h"
#include "base/text/display_text.h"
#include "live/attach/attach_inside.h"
#include "live/inject/injection.h"

#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Steps of each rank that are seen before all begin together. */
enum { STEPS_SEEN_BEFORE = 2, LOOK_EVERY_MS = 20, RETRY_MS = 50, STOP_WITHIN_MS = 5000 };

enum inside_state {
    INSIDE_SENT,     /* it has not answered yet */
    INSIDE_ATTACHED, /* the recorder is in it */
    INSIDE_ASKED_TO_STOP,
    INSIDE_ENDED, /* and the recorder has gone, or was never there; `why` says why nothing came */
};

struct inside_process {
    long pid;
    struct injection injection;
    struct inside_folder folder;
    enum inside_state state;
    size_t sent;         /* times */
    const char *why;     /* nothing was recorded; NULL: it was */
    int64_t since_ms;    /* the last that was heard */
    int64_t retry_ms;    /* sent again then; 0: not */
    int64_t step_at;     /* its last step's end, ns of the monotonic clock */
    int64_t step_ns;     /* how long the last one took; 0: not known */
    int64_t collectives; /* that it had called by then; 0: not known */
    int64_t collectives_of_step;
    size_t steps_seen;
};

struct inside_job {
    struct inside_process *processes; /* [count] */
    size_t count;
    struct arena *arena;
    const struct attach_wish *wish;
    bool awaits_begin; /* of several ranks */
};

static int64_t job_clock_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static int64_t job_clock_ms(void)
{
    return job_clock_ns() / 1000000;
}

/* One that has ended, and was not waited for yet, maps nothing any more. */
static bool is_process_alive(long pid)
{
    return process_maps_file(pid, "lib");
}

/* ---- sending -------------------------------------------------------------------------------- */

static void end_process(struct inside_process *process, const char *why)
{
    process->state = INSIDE_ENDED;
    process->why = why;
}

/* Whatever failed in one that has ended: that is what is wrong with it. */
static void end_with_error(struct inside_job *job, struct inside_process *process,
                           struct error *error)
{
    if (injection_process_has_ended(process->pid))
        error_set(error, ERROR_NO_DATA, "process %ld has ended", process->pid);
    end_process(process, arena_copy_text(job->arena, error->message, strlen(error->message)));
}

static void note_room(void *context, uint64_t address)
{
    const struct inside_process *process = context;

    inside_folder_note_room(&process->folder, address, process->sent);
}

/* Counted before it is sent, and taken back only where no call was made: a text whose call was
 * made may run later, even if we hear no more of it. */
static bool send_text(struct inside_process *process, struct error *error)
{
    process->sent++;
    if (process->injection.room)
        note_room(process, process->injection.room);
    if (injection_send(&process->injection, process->folder.text, process->folder.script, error))
        return true;
    process->sent -= !process->injection.has_called;
    return false;
}

/* In this order, since the text names the folder and stands in the room. */
static bool send_to_process(struct inside_job *job, struct inside_process *process,
                            const struct inside_wish *wish, struct error *error)
{
    const struct injection_note note = {note_room, process};

    if (!injection_prepare(&process->injection, job->arena, process->pid, error) ||
        !inside_folder_make(&process->folder, job->arena, process->pid, wish, error))
        return false;
    if (!injection_make_room(&process->injection, job->arena, &note, error))
        return false;
    process->since_ms = job_clock_ms();
    return send_text(process, error);
}

/* ---- hearing -------------------------------------------------------------------------------- */

/* Differences of consecutive steps: their mean would remember what went before (compilation,
 * warm-up). */
static void note_step_end(struct inside_process *process, int64_t at, int64_t collectives)
{
    process->collectives_of_step =
        collectives && process->collectives ? collectives - process->collectives : 0;
    process->collectives = collectives;
    if (process->step_at)
        process->step_ns = at - process->step_at;
    process->step_at = at;
    process->steps_seen++;
}

/* Of a process that the recorder has left. NULL: it was, or was only watched. */
static const char *why_not_recorded(const struct inside_job *job,
                                    const struct inside_process *process,
                                    const struct json_node *message)
{
    if (json_integer_of(message, "recorded", 0) > 0)
        return NULL;
    if (job->wish->watches && process->steps_seen > 0)
        return NULL; /* its steps are in the record */
    return process->why ? process->why : "no step of it was recorded whole";
}

/* Every message proves that the process runs Python, so the wait begins anew. */
static void hear_message(struct inside_job *job, struct inside_process *process,
                         const struct json_node *message)
{
    const char *state = json_text_of(message, "state", "");
    const char *why = json_text_of(message, "why", "");
    const char *text = json_text_of(message, "text", "");

    if (strcmp(state, "later") == 0) { /* it imports torch, or goes through the hooks of a step */
        /* Not in step with the program, or it would be there each time. */
        process->retry_ms = job_clock_ms() + RETRY_MS + job_clock_ns() % RETRY_MS;
        return;
    }
    process->since_ms = job_clock_ms();
    if (strcmp(state, "attached") == 0)
        process->state = INSIDE_ATTACHED;
    else if (strcmp(state, "refused") == 0)
        end_process(process, arena_copy_text(job->arena, why, strlen(why)));
    else if (strcmp(state, "gone") == 0)
        end_process(process, why_not_recorded(job, process, message));
    else if (strcmp(state, "step") == 0)
        note_step_end(process, json_integer_of(message, "at", 0),
                      json_integer_of(message, "collectives", 0));
    else if (strcmp(state, "said") == 0)
        fprintf(stderr, "flopledger: process %ld: %s\n", process->pid, show_text(text).text);
}

static void send_again(struct inside_job *job, struct inside_process *process)
{
    struct error error;

    process->retry_ms = 0;
    if (!send_text(process, &error))
        end_with_error(job, process, &error);
}

static void stop_process(struct inside_job *job, struct inside_process *process, const char *why)
{
    inside_folder_ask_to_stop(&process->folder);
    send_again(job, process);
    process->why = why;
    process->since_ms = job_clock_ms();
    if (process->state != INSIDE_ENDED)
        process->state = INSIDE_ASKED_TO_STOP;
}

/* The text runs when the main thread is next at a safe place of the interpreter; a thread that
 * never comes there is one of these two. */
static const char *why_nothing_ran(const struct inside_process *process)
{
    if (injection_process_is_stopped(process->pid))
        return "it is stopped (Ctrl-Z, SIGSTOP) since it was asked: let it go on ('kill -CONT') "
               "and attach again; the request was withdrawn";
    return "its main thread has run no Python meanwhile: it is in a long call of C (one that holds "
           "the interpreter's lock?), or waits for other threads; the request was withdrawn";
}

/* Nothing was heard of it for longer than was wished. What cannot be taken back is left in
 * place: memory that may still be read is never freed (room = 0 forgets it). */
static void give_process_up(struct inside_job *job, struct inside_process *process)
{
    switch (process->state) {
    case INSIDE_SENT:
        inside_folder_withdraw(&process->folder);
        end_process(process, why_nothing_ran(process));
        break;
    case INSIDE_ATTACHED:
        stop_process(job, process,
                     "no step of an optimizer has ended meanwhile: --wait waits longer, --step-of "
                     "says what else a step is");
        break;
    case INSIDE_ASKED_TO_STOP:
        end_process(process, "its main thread has not come to an end of the recorder, which goes "
                             "with the next step");
        inside_folder_withdraw(&process->folder);
        break;
    case INSIDE_ENDED:
        break;
    }
}

/* Ctrl-C: the recorder is asked to leave, and what was recorded is kept. A second one ends this
 * process at once; the recorder then leaves by itself. */
static volatile sig_atomic_t is_asked_to_end;

static void ask_to_end(int signal)
{
    (void)signal;
    is_asked_to_end = 1;
}

/* Once: a second Ctrl-C ends the program as it always would, should the orderly end hang. */
static void hear_of_end(void)
{
    const struct sigaction action = {.sa_handler = ask_to_end, .sa_flags = (int)SA_RESETHAND};

    is_asked_to_end = 0;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
}

/* A recorder that has begun is asked to stop, and takes itself away. One that was sent and has
 * not begun finds its folder withdrawn; the memory it would read is left, as it may just be
 * reading it. */
static void stop_all(struct inside_job *job)
{
    is_asked_to_end = 0;
    for (size_t i = 0; i < job->count; i++) {
        struct inside_process *process = &job->processes[i];

        if (process->state == INSIDE_ATTACHED) {
            stop_process(job, process,
                         job->wish->watches ? NULL : "it was ended before a step was recorded");
        } else if (process->state == INSIDE_SENT) {
            inside_folder_withdraw(&process->folder);
            end_process(process, "it was ended before the recorder had begun");
        }
    }
}

/* Slow steps get more patience: twenty of their own length. */
static void look_at_process(struct inside_job *job, struct inside_process *process)
{
    const struct json_node *message;
    bool is_alive = is_process_alive(process->pid); /* asked first: it tells, and then ends */
    int64_t wait_ms =
        process->state == INSIDE_ASKED_TO_STOP ? STOP_WITHIN_MS : job->wish->wait_seconds * 1000;
    int64_t slow_ms = 20 * process->step_ns / 1000000;

    while (process->state != INSIDE_ENDED &&
           (message = inside_folder_next(&process->folder, job->arena)))
        hear_message(job, process, message);
    if (process->state == INSIDE_ENDED)
        return;
    if (!is_alive)
        end_process(process, "it has ended meanwhile");
    else if (process->retry_ms && job_clock_ms() >= process->retry_ms)
        send_again(job, process);
    else if (job_clock_ms() - process->since_ms > (wait_ms > slow_ms ? wait_ms : slow_ms))
        give_process_up(job, process);
}

/* ---- beginning together --------------------------------------------------------------------- */

static void tell_all(const struct inside_job *job, const char *what, int64_t number)
{
    for (size_t i = 0; i < job->count; i++)
        inside_folder_begin(&job->processes[i].folder, what, number);
}

/* A time in the middle of a step: ranks end a step at nearly the same time, so the first step
 * behind it is the same one in most cases. */
static int64_t time_within_step(int64_t newest, int64_t step_ns)
{
    int64_t ahead = job_clock_ns() + 5000000 - newest;

    ahead = ahead > 0 ? (ahead / step_ns + 1) * step_ns : 0;
    return newest + ahead + step_ns / 2;
}

/* Where all ranks call the same number of collectives in each step, the count tells which step of
 * one is which of another. Far enough ahead that none has been there. */
static void let_all_begin(struct inside_job *job)
{
    const int64_t ahead_ns = 100000000;
    int64_t newest = 0;
    int64_t step_ns = 1;
    int64_t most = 0;
    int64_t each = 0;
    bool is_counted = true;

    for (size_t i = 0; i < job->count; i++) {
        const struct inside_process *process = &job->processes[i];

        if (process->state != INSIDE_ATTACHED)
            continue;
        newest = process->step_at > newest ? process->step_at : newest;
        step_ns = process->step_ns > step_ns ? process->step_ns : step_ns;
        most = process->collectives > most ? process->collectives : most;
        each = process->collectives_of_step > each ? process->collectives_of_step : each;
        is_counted &= process->collectives_of_step > 0;
    }
    if (is_counted)
        tell_all(job, "collectives", most + each * (2 + ahead_ns / step_ns));
    else
        tell_all(job, "at", time_within_step(newest, step_ns));
    job->awaits_begin = false;
}

/* Those that make no steps are no ranks: they are waited for no longer than all others have made
 * some. */
static bool are_all_ready(const struct inside_job *job)
{
    size_t ready = 0;

    for (size_t i = 0; i < job->count; i++) {
        const struct inside_process *process = &job->processes[i];

        if (process->state == INSIDE_ENDED)
            continue;
        if (process->state != INSIDE_ATTACHED || process->steps_seen < STEPS_SEEN_BEFORE)
            return false;
        ready++;
    }
    return ready > 0;
}

/* Once one rank has made ten steps, one that made none is a parent that trains nothing. */
static void stop_those_without_steps(struct inside_job *job)
{
    size_t most = 0;

    for (size_t i = 0; i < job->count; i++)
        most = job->processes[i].steps_seen > most ? job->processes[i].steps_seen : most;
    for (size_t i = 0; i < job->count && most >= 10; i++) {
        struct inside_process *process = &job->processes[i];

        if (process->state == INSIDE_ATTACHED && process->steps_seen == 0)
            stop_process(job, process, "it makes no steps, as others do: it trains nothing");
    }
}

/* ---- the whole ------------------------------------------------------------------------------ */

static size_t count_open(const struct inside_job *job)
{
    size_t open = 0;

    for (size_t i = 0; i < job->count; i++)
        open += job->processes[i].state != INSIDE_ENDED;
    return open;
}

/* A walk over all every LOOK_EVERY_MS: files are the messages, and no file system tells of
 * changes in all containers. */
static void await_all(struct inside_job *job)
{
    const struct timespec pause = {.tv_nsec = LOOK_EVERY_MS * 1000000L};

    while (count_open(job)) {
        for (size_t i = 0; i < job->count; i++)
            look_at_process(job, &job->processes[i]);
        if (job->awaits_begin && are_all_ready(job))
            let_all_begin(job);
        else if (job->awaits_begin)
            stop_those_without_steps(job);
        if (is_asked_to_end)
            stop_all(job);
        (void)nanosleep(&pause, NULL);
    }
}

/* What was sent may still be run, and look at the room: that is freed and the folder removed then,
 * by what is run. */
static void leave_process(struct inside_process *process)
{
    struct inside_folder *folder = &process->folder;

    if (folder->path)
        injection_withdraw(&process->injection, folder->script);
    if (!process->injection.room || !is_process_alive(process->pid))
        return;
    folder->is_of_process = !inside_folder_has_run(folder, process->sent);
    if (!folder->is_of_process)
        injection_free_room(&process->injection);
}

/* Leaves nothing behind, and says what did not come; how many were recorded. */
static size_t put_away(struct inside_job *job, const char *capture, struct error *error)
{
    size_t recorded = 0;

    for (size_t i = 0; i < job->count; i++) {
        struct inside_process *process = &job->processes[i];

        leave_process(process);
        if (process->folder.path && !inside_folder_collect(&process->folder, capture, error))
            process->why = error->message;
        inside_folder_clear(&process->folder);
        recorded += process->why == NULL;
        if (process->why && job->count > 1)
            fprintf(stderr, "flopledger: process %ld is not recorded: %s\n", process->pid,
                    show_text(process->why).text);
    }
    return recorded;
}

/* One process that refuses does not keep the others from being recorded. */
static void send_to_all(struct inside_job *job, const struct inside_wish *wish, struct error *error)
{
    for (size_t i = 0; i < job->count; i++) {
        struct inside_process *process = &job->processes[i];

        if (!send_to_process(job, process, wish, error))
            end_with_error(job, process, error);
    }
}

/* Of several processes some may fail: the others are recorded, and what is missing is said.
 * Only when none was is it an error. */
bool inside_job_record(const struct attachment *attachment, struct arena *arena,
                       const struct attach_wish *wish, const struct attach_places *places,
                       struct error *error)
{
    struct inside_job job = {.count = attachment->count, .arena = arena, .wish = wish};
    const struct inside_wish inside = {wish, places, attachment->count > 1};

    error->class = ERROR_NONE;
    job.awaits_begin = inside.awaits_begin;
    job.processes = arena_allocate(arena, job.count * sizeof *job.processes);
    for (size_t i = 0; i < job.count; i++)
        job.processes[i] = (struct inside_process){.pid = attachment->targets[i].pid,
                                                   .folder = {.lock = -1, .place = -1}};
    hear_of_end();
    send_to_all(&job, &inside, error);
    await_all(&job);
    if (put_away(&job, places->capture, error))
        return true;
    if (error->class != ERROR_NONE && job.count == 1)
        return false; /* it tells more */
    return error_set(error, ERROR_NO_DATA, "process %ld is not recorded: %s", job.processes[0].pid,
                     job.processes[0].why);
}
