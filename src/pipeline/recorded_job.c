/* The step records of recorded runs as the events of a job. */
#include "pipeline/recorded_job.h"

#include "base/core/array.h"
#include "base/core/attributes.h"
#include "base/core/error.h"
#include "base/io/folders.h"
#include "base/text/format.h"
#include "base/text/owned_text.h"
#include "pipeline/running_capture.h"
#include "readers/step_record/read_step_record.h"
#include "trace/job/job.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- one attempt ----------------------------------------------------------------------------- */

/* One step record as the events of one attempt of a job. */

enum { LOADED_MAX = 8 }; /* checkpoints that one attempt may load before its first step */

struct recorded_attempt {
    const char *path;
    struct step_record_header header;
    int64_t resumed_after; /* steps made before, as the optimizer counts; -1: not known */
    int64_t loaded_unix_ns[LOADED_MAX]; /* when what it loaded at its start had been written */
    int loaded_count;
    /* recorded_attempt_measure: */
    int64_t steps;
    int64_t ended_ns; /* when its last step or the process ended, by the monotonic clock */
};

/* One that an attempt has written. */
struct saved_checkpoint {
    int64_t start_unix_ns;
    int64_t end_unix_ns;
    int64_t after_step; /* of the job */
};

/* Zeroed: none. */
struct saved_checkpoints {
    struct saved_checkpoint *list; /* [count], in the order of time */
    size_t count;
};

struct attempt_outcome {
    int64_t entries;
    int64_t damaged;
    int64_t lost;
    int64_t last_step;  /* of the job, as far as it is known */
    bool is_base_known; /* at which step it went on */
};

/* What the job was before an attempt. */
struct attempt_before {
    const struct recorded_attempt *first; /* where both ran in one boot of one machine, the
                                             monotonic clock tells the time between them, whatever
                                             the wall clock did */
    int64_t reached; /* the step that the attempt before came to: counts where this one does not
                        tell where it goes on */
    struct saved_checkpoints *saved; /* by attempts before; takes in this one's */
};

enum {
    BEGINNING_ENTRIES = 256,  /* among which what the optimizer counts stands */
    SPANS_MAX = 256,          /* between two steps */
    FILE_CLOCK_NS = 20000000, /* file systems take the time of the last tick */
};

/* No clock of a machine shows more since it was started (32 years), and no job makes more steps: an
 * entry beyond that is damaged, though its checksum holds. */
static const int64_t LATEST_NS = INT64_C(1000000000000000000), STEPS_MAX = INT64_C(1000000000000);

/* What the record tells between two steps. */
struct attempt_span {
    enum job_event_kind kind; /* of its end */
    bool is_ours;             /* recording: no event of the job */
    int64_t start_ns;
    int64_t end_ns;
};

struct attempt_state {
    struct job *job;
    struct step_reader reader;
    struct attempt_outcome *outcome;
    struct saved_checkpoints *saved;
    int64_t unix_offset_ns; /* unix time - monotonic time, one for the whole attempt */
    int64_t base;           /* steps of the job before this attempt's first */
    bool is_base_known;
    bool has_pending; /* a step whose loss may still come */
    struct job_event pending;
    int64_t pending_step; /* by the record's own count */
    struct attempt_span spans[SPANS_MAX];
    int span_count;
    bool has_steps;
    bool has_ended;
};

static void attempt_state_clear(struct attempt_state *state)
{
    step_reader_clear(&state->reader);
}

/* Reads the header, and how the attempt began. `path` must live as long as it. Only the
 * beginning is read: where an attempt goes on is told before or soon after its first step. A
 * restore behind the first step is something else (a best model for evaluation). */
static bool recorded_attempt_look(struct recorded_attempt *attempt, const char *path,
                                  struct error *error)
{
    SCOPED(step_reader) reader = {0};
    struct step_entry entry;
    bool has_steps = false;

    if (!step_reader_open(&reader, path, error))
        return false;
    *attempt =
        (struct recorded_attempt){.path = path, .header = reader.header, .resumed_after = -1};
    for (int i = 0; i < BEGINNING_ENTRIES && step_reader_next(&reader, &entry); i++) {
        has_steps = has_steps || entry.kind == STEP_ENTRY_STEP;
        if (entry.kind == STEP_ENTRY_RESTORE && entry.count > 0 && !has_steps &&
            attempt->loaded_count < LOADED_MAX)
            attempt->loaded_unix_ns[attempt->loaded_count++] = entry.count;
        if (entry.kind == STEP_ENTRY_RESUMED && entry.count >= 0 && entry.count <= STEPS_MAX) {
            attempt->resumed_after = entry.count;
            break;
        }
    }
    return true;
}

/* Counts its steps, and takes the time of the first and of the last; a record that cannot be read
 * has none. A second pass, only for captures of several records of one rank. */
static void recorded_attempt_measure(struct recorded_attempt *attempt)
{
    SCOPED(step_reader) reader = {0};
    struct error error = {0};
    struct step_entry entry;

    attempt->steps = 0;
    if (!step_reader_open(&reader, attempt->path, &error))
        return;
    while (step_reader_next(&reader, &entry)) {
        if (entry.kind == STEP_ENTRY_STEP)
            attempt->steps++;
        if (entry.kind == STEP_ENTRY_STEP || entry.kind == STEP_ENTRY_END)
            attempt->ended_ns = entry.end_ns;
    }
}

/* Of an event of the record's clock. One offset for the whole attempt: the wall clock may be set
 * while a job runs, and steps would then overlap or have gaps that never were. An overflow
 * leaves the event without a time. */
static struct job_event event_at(const struct attempt_state *state, enum job_event_kind kind,
                                 int64_t monotonic_ns)
{
    struct job_event event = job_event_of(kind);
    int64_t unix_ns;

    event.clock = JOB_CLOCK_UTC;
    if (!__builtin_add_overflow(monotonic_ns, state->unix_offset_ns, &unix_ns))
        event.time_ns = unix_ns;
    return event;
}

static void saved_checkpoints_clear(struct saved_checkpoints *saved)
{
    free(saved->list);
    *saved = (struct saved_checkpoints){0};
}

/* The job's step, since the attempt that loads the checkpoint counts its own from there. */
static void note_saved(const struct attempt_state *state, const struct step_entry *entry)
{
    struct saved_checkpoints *saved = state->saved;
    struct saved_checkpoint *place;

    ARRAY_ROOM(saved->list, saved->count);
    place = &saved->list[saved->count];
    if (__builtin_add_overflow(entry->start_ns, state->unix_offset_ns, &place->start_unix_ns) ||
        __builtin_add_overflow(entry->end_ns, state->unix_offset_ns, &place->end_unix_ns))
        return;
    place->after_step = state->outcome->last_step;
    saved->count++;
}

/* The step after which a file was saved that was written then; -1: by no checkpoint known. The
 * newest first: a file that is written over has the time of its last writing. File systems take
 * the time from the last tick of the clock, which may lie before the start of the save. */
static int64_t step_saved_at(const struct saved_checkpoints *saved, int64_t unix_ns)
{
    for (size_t i = saved->count; i > 0; i--) {
        const struct saved_checkpoint *each = &saved->list[i - 1];

        if (unix_ns <= each->end_unix_ns && unix_ns > each->start_unix_ns - FILE_CLOCK_NS)
            return each->after_step;
    }
    return -1;
}

/* Steps of the job before the attempt, by the optimizer's count, else by the checkpoint that was
 * loaded last of those that are known; -1: not known. Checkpoints that were loaded later count
 * first: a job may load a base model before its own state. */
static int64_t steps_before(const struct recorded_attempt *attempt,
                            const struct saved_checkpoints *saved)
{
    int64_t before = attempt->resumed_after;

    for (int i = attempt->loaded_count; i > 0 && before < 0; i--)
        before = step_saved_at(saved, attempt->loaded_unix_ns[i - 1]);
    return before;
}

static void recorded_attempt_add_text(struct job *job, struct job_event event, const char *text)
{
    event.text = text;
    event.text_length = strlen(text);
    job_add(job, &event);
}

static int by_end(const void *a, const void *b)
{
    const struct attempt_span *first = a;
    const struct attempt_span *second = b;

    return (first->end_ns > second->end_ns) - (first->end_ns < second->end_ns);
}

/* A span counts for what no span before it (by its end) has: an evaluation around a checkpoint ends
 * later, and is shorter by it. Returns the time of all within [start, end). Spans lie in one
 * another or overlap (a checkpoint in an evaluation, our own recording in both), and time must
 * count once. By end: the inner one is closed first and has its time; the outer one has what is
 * left. What overlaps two spans before it is taken off twice, so that the own time is kept from
 * going below 0. Quadratic in at most SPANS_MAX spans between two steps. */
static int64_t recorded_attempt_close_spans(struct attempt_state *state, int64_t start, int64_t end)
{
    int64_t covered_ns = 0;

    qsort(state->spans, (size_t)state->span_count, sizeof *state->spans, by_end);
    for (int i = 0; i < state->span_count; i++) {
        const struct attempt_span *span = &state->spans[i];
        int64_t from = span->start_ns < start ? start : span->start_ns;
        int64_t to = span->end_ns > end ? end : span->end_ns;
        int64_t own_ns = to > from ? to - from : 0;

        for (int other = 0; other < i; other++) {
            int64_t left =
                state->spans[other].start_ns > from ? state->spans[other].start_ns : from;
            int64_t right = state->spans[other].end_ns < to ? state->spans[other].end_ns : to;

            own_ns -= right > left ? right - left : 0;
        }
        own_ns = own_ns < 0 ? 0 : own_ns;
        covered_ns += own_ns;
        if (!span->is_ours) {
            struct job_event event = event_at(state, span->kind, span->end_ns);

            event.each_ns = own_ns;
            event.step = state->outcome->last_step;
            job_add(state->job, &event);
        }
    }
    state->span_count = 0;
    return covered_ns;
}

/* A step waits here until the next entry: its loss is often read one step later. */
static void flush_step(struct attempt_state *state)
{
    if (state->has_pending)
        job_add(state->job, &state->pending);
    state->has_pending = false;
}

/* From the start of the first step, not its end: what came before is the start of the job. */
static void begin_training(struct attempt_state *state, const struct step_entry *entry)
{
    struct job_event event = event_at(state, JOB_TRAINING, entry->start_ns);

    state->has_steps = true;
    if (state->is_base_known)
        event.step = state->base;
    job_add(state->job, &event);
}

/* Loss of the step before may come with this entry, and is put on the one that waits. Spans
 * before the first step belong to the start of the job and not to training. The duration is
 * without the spans in it, which are accounts of their own. Tokens per second use the same
 * duration, so that a checkpoint does not look like slow training. */
static void recorded_attempt_add_step(struct attempt_state *state, const struct step_entry *entry)
{
    struct job_event *event = &state->pending;
    int64_t covered;

    if ((entry->flags & STEP_FLAG_LOSS_BEFORE) && state->has_pending &&
        state->pending_step == entry->step - 1)
        state->pending.loss = entry->number;
    flush_step(state);
    if (!state->has_steps) {
        recorded_attempt_close_spans(state, entry->start_ns, entry->start_ns); /* they are part of
                                                                                  the start */
        begin_training(state, entry);
    }
    covered = recorded_attempt_close_spans(state, entry->start_ns, entry->end_ns);
    *event = event_at(state, JOB_STEP, entry->end_ns);
    event->step = state->base + entry->step;
    event->count = 1;
    event->each_ns = entry->end_ns - entry->start_ns - covered;
    event->skipped = (entry->flags & STEP_FLAG_SKIPPED) != 0;
    event->process_step = entry->step;
    event->is_traced = (entry->flags & STEP_FLAG_PROFILED) != 0;
    if (entry->data_wait_ns >= 0)
        event->data_wait_ns = entry->data_wait_ns;
    if (entry->tokens >= 0 && event->each_ns > 0)
        event->tokens_per_second = (double)entry->tokens * 1e9 / (double)event->each_ns;
    if (!(entry->flags & STEP_FLAG_LOSS_BEFORE))
        event->loss = entry->number;
    state->outcome->last_step = event->step;
    state->pending_step = entry->step;
    state->has_pending = true;
}

static void recorded_attempt_add_span(struct attempt_state *state, const struct step_entry *entry,
                                      enum job_event_kind end, bool is_ours)
{
    if (entry->end_ns >= entry->start_ns && state->span_count < SPANS_MAX)
        state->spans[state->span_count++] =
            (struct attempt_span){end, is_ours, entry->start_ns, entry->end_ns};
}

/* Before the first step, a checkpoint that was loaded tells where the attempt goes on. In the
 * middle of training it is a span without an event of the job: time that was not training. */
static void recorded_attempt_add_restore(struct attempt_state *state,
                                         const struct step_entry *entry)
{
    struct job_event begin = event_at(state, JOB_RESTORE_BEGIN, entry->start_ns);
    struct job_event end = event_at(state, JOB_RESTORE_END, entry->end_ns);

    if (state->has_steps) {
        recorded_attempt_add_span(state, entry, JOB_RESTORE_END, true);
        return;
    }
    if (state->is_base_known)
        begin.step = end.step = state->base;
    end.each_ns = entry->end_ns - entry->start_ns;
    job_add(state->job, &begin);
    job_add(state->job, &end);
}

static void recorded_attempt_add_end(struct attempt_state *state, const struct step_entry *entry)
{
    flush_step(state);
    recorded_attempt_close_spans(state, INT64_MIN, entry->end_ns);
    state->has_ended = true;
    if (entry->count == 1)
        recorded_attempt_add_text(state->job, event_at(state, JOB_CRASH, entry->end_ns),
                                  "the program ended by an exception");
    else
        recorded_attempt_add_text(state->job, event_at(state, JOB_END, entry->end_ns),
                                  "the program ended");
}

static void recorded_attempt_add_entry(struct attempt_state *state, const struct step_entry *entry)
{
    switch (entry->kind) {
    case STEP_ENTRY_STEP:
        recorded_attempt_add_step(state, entry);
        break;
    case STEP_ENTRY_CHECKPOINT:
        note_saved(state, entry);
        recorded_attempt_add_span(state, entry, JOB_CHECKPOINT_END, false);
        break;
    case STEP_ENTRY_RESTORE:
        recorded_attempt_add_restore(state, entry);
        break;
    case STEP_ENTRY_EVALUATION:
        recorded_attempt_add_span(state, entry, JOB_EVALUATION_END, false);
        break;
    case STEP_ENTRY_RECORDING:
        recorded_attempt_add_span(state, entry, JOB_SIGN_OF_LIFE, true);
        break;
    case STEP_ENTRY_LOSS:
        if (state->has_pending && state->pending_step == entry->step)
            state->pending.loss = entry->number;
        break;
    case STEP_ENTRY_LOST:
        state->outcome->lost += entry->count > 0 ? entry->count : 0;
        break;
    case STEP_ENTRY_END:
        recorded_attempt_add_end(state, entry);
        break;
    default:
        break;
    }
}

/* An entry may pass its checksum and still be nonsense, if the process wrote it so: a time of
 * centuries would make all sums worthless. */
static bool recorded_attempt_is_possible(const struct step_entry *entry)
{
    return entry->step >= 0 && entry->step <= STEPS_MAX && entry->start_ns >= 0 &&
           entry->start_ns <= entry->end_ns && entry->end_ns <= LATEST_NS;
}

/* The offset of the clocks comes from the first attempt of the same boot: between two attempts
 * on one machine the monotonic clock counts the time exactly, whatever the wall clock did.
 * Machines that were started anew have their own. */
static void recorded_attempt_begin(struct attempt_state *state,
                                   const struct recorded_attempt *attempt,
                                   const struct attempt_before *before)
{
    int64_t base = steps_before(attempt, before->saved);
    const struct step_record_header *header = &attempt->header;
    const struct step_record_header *clock =
        *header->boot_id && strcmp(header->boot_id, before->first->header.boot_id) == 0
            ? &before->first->header
            : header;
    struct job_event start;

    if (__builtin_sub_overflow(clock->opened_unix_ns, clock->opened_ns, &state->unix_offset_ns))
        state->unix_offset_ns = 0;
    state->is_base_known = base >= 0;
    state->base = state->is_base_known ? base : before->reached;
    state->outcome->is_base_known = state->is_base_known;
    state->outcome->last_step = state->base;
    start = event_at(state, JOB_START, header->process_start_ns);
    start.devices = header->world_size;
    job_add(state->job, &start);
}

/* Adds its events to the job, after job_begin_source. */
static bool recorded_attempt_add(struct job *job, const struct recorded_attempt *attempt,
                                 const struct attempt_before *before,
                                 struct attempt_outcome *outcome, struct error *error)
{
    SCOPED(attempt_state) state = {.job = job, .outcome = outcome, .saved = before->saved};
    struct step_entry entry;

    *outcome = (struct attempt_outcome){.last_step = before->reached};
    if (!step_reader_open(&state.reader, attempt->path, error))
        return false;
    recorded_attempt_begin(&state, attempt, before);
    while (step_reader_next(&state.reader, &entry)) {
        outcome->entries++;
        if (recorded_attempt_is_possible(&entry))
            recorded_attempt_add_entry(&state, &entry);
        else
            outcome->damaged++;
    }
    flush_step(&state);
    outcome->damaged += state.reader.damaged_count;
    if (!step_reader_writer_lives(&state.reader)) /* nobody will finish them */
        outcome->damaged += state.reader.unfinished_count;
    if (!state.has_ended && !step_reader_writer_lives(&state.reader))
        recorded_attempt_add_text(
            job, job_event_of(JOB_CRASH),
            "its record stops: the process was killed, or its machine failed");
    return true;
}

/* ---- recorded job ---------------------------------------------------------------------------- */

/* The records of one rank, in the order of time. */
struct attempt_files {
    struct recorded_attempt *attempts;
    size_t count;
    struct error first_error; /* of those that cannot be read: the first */
};

static void attempt_files_clear(struct attempt_files *files)
{
    free(files->attempts);
}

/* A folder is taken as one of captures; of files the first eight bytes decide. */
bool is_recorded_job(const char *path)
{
    struct stat about;
    char head[8];
    int descriptor;
    bool is_record;

    if (stat(path, &about) != 0 || S_ISDIR(about.st_mode))
        return stat(path, &about) == 0;
    if (!S_ISREG(about.st_mode))
        return false;
    descriptor = open(path, O_RDONLY | O_CLOEXEC);
    is_record = descriptor >= 0 && read(descriptor, head, sizeof head) == (ssize_t)sizeof head &&
                looks_like_step_record(head, sizeof head);
    if (descriptor >= 0)
        close(descriptor);
    return is_record;
}

static void recorded_job_add_file(struct attempt_files *files, struct results *results,
                                  const char *path)
{
    struct recorded_attempt attempt = {0};
    struct error error = {0};

    if (!recorded_attempt_look(&attempt, results_text(results, path), &error)) {
        results_add_failure(results, &error);
        if (!files->first_error.message[0])
            files->first_error = error;
        return;
    }
    ARRAY_ADD(files->attempts, files->count, attempt);
}

static void add_matching(struct attempt_files *files, struct results *results, const char *folder,
                         const char *pattern)
{
    glob_t found;

    find_paths(&found, folder, pattern);
    for (size_t i = 0; i < found.gl_pathc; i++)
        recorded_job_add_file(files, results, found.gl_pathv[i]);
    globfree(&found);
}

/* By rank, then by time: within one boot of one machine by its own clock, which cannot be set. */
static int compare_attempts(const void *a, const void *b)
{
    const struct recorded_attempt *first = a;
    const struct recorded_attempt *second = b;

    if (first->header.rank != second->header.rank)
        return first->header.rank < second->header.rank ? -1 : 1;
    if (strcmp(first->header.boot_id, second->header.boot_id) == 0 &&
        first->header.opened_ns != second->header.opened_ns)
        return first->header.opened_ns < second->header.opened_ns ? -1 : 1;
    if (first->header.opened_unix_ns != second->header.opened_unix_ns)
        return first->header.opened_unix_ns < second->header.opened_unix_ns ? -1 : 1;
    return strcmp(first->path, second->path);
}

/* Leaves those of the lowest rank, and of them those of the newest one's job; returns how many of
 * that rank are left out. */
static size_t keep_one_job(struct attempt_files *files, bool are_of_one_capture)
{
    const struct recorded_attempt *newest;
    size_t of_rank = 0;
    size_t kept = 0;

    if (files->count == 0)
        return 0;
    qsort(files->attempts, files->count, sizeof *files->attempts, compare_attempts);
    while (of_rank < files->count &&
           files->attempts[of_rank].header.rank == files->attempts[0].header.rank)
        of_rank++;
    files->count = of_rank;
    if (are_of_one_capture)
        return 0;
    newest = &files->attempts[of_rank - 1];
    for (size_t i = 0; i < of_rank; i++) {
        struct recorded_attempt attempt = files->attempts[i];

        if (i == of_rank - 1 ||
            (*newest->header.job && strcmp(attempt.header.job, newest->header.job) == 0))
            files->attempts[kept++] = attempt;
    }
    files->count = kept;
    return of_rank - kept;
}

/* Did one begin to record before the other ended, though maybe one waited while the other made its
 * steps? Of one machine, as long as it was not started anew: the clocks of others do not compare.
 */
static bool ran_side_by_side(const struct recorded_attempt *one,
                             const struct recorded_attempt *other)
{
    return one->steps > 0 && other->steps > 0 && *one->header.boot_id &&
           strcmp(one->header.boot_id, other->header.boot_id) == 0 &&
           one->header.opened_ns < other->ended_ns && other->header.opened_ns < one->ended_ns;
}

/* Of one capture and rank: a process that trained while another ran (a child of fork() that
 * trains, too) is no attempt of its job. The one that made most steps counts, else the first. */
static void leave_out_children(struct attempt_files *files, struct results *results)
{
    size_t kept = 0;

    if (files->count < 2)
        return;
    for (size_t i = 0; i < files->count; i++)
        recorded_attempt_measure(&files->attempts[i]);
    for (size_t i = 0; i < files->count; i++) {
        struct recorded_attempt attempt = files->attempts[i], *beside = NULL;

        for (size_t j = 0; j < kept && !beside; j++)
            if (ran_side_by_side(&files->attempts[j], &attempt))
                beside = &files->attempts[j];
        if (!beside) {
            files->attempts[kept++] = attempt;
            continue;
        }
        if (attempt.steps > beside->steps) {
            struct recorded_attempt less = *beside;

            *beside = attempt;
            attempt = less;
        }
        results_add_warning(
            results, results_format(results,
                                    "'%s' is left out: process %lld trained while process %lld of "
                                    "'%s' ran (name the file to see its %s steps)",
                                    attempt.path, (long long)attempt.header.pid,
                                    (long long)beside->header.pid, beside->path,
                                    format_count(attempt.steps).text));
    }
    files->count = kept;
}

static void find_files(struct attempt_files *files, struct results *results, const char *path)
{
    struct stat about;
    size_t left_out;
    bool is_one = true;

    if (stat(path, &about) == 0 && !S_ISDIR(about.st_mode)) {
        recorded_job_add_file(files, results, path);
    } else {
        add_matching(files, results, path, "steps/rank*.steps");
        is_one = files->count > 0;
        if (!is_one) {
            add_matching(files, results, path, "*/steps/rank*.steps");
            add_matching(files, results, path, "*/*/steps/rank*.steps");
        }
    }
    left_out = keep_one_job(files, is_one);
    if (is_one)
        leave_out_children(files, results);
    if (left_out > 0)
        results_add_warning(
            results, results_format(results,
                                    "%zu older record%s below '%s' left out: not of the job of the "
                                    "newest one by job id (name captures one by one to join them)",
                                    left_out, left_out == 1 ? " is" : "s are", path));
}

bool add_recorded_job(struct job *job, struct results *results, const char *path,
                      struct recorded_job *read, struct error *error)
{
    SCOPED(attempt_files) files = {0};
    SCOPED(saved_checkpoints) saved = {0};
    struct attempt_before before = {.saved = &saved};

    *read = (struct recorded_job){0};
    find_files(&files, results, path);
    if (files.count == 0 && files.first_error.message[0])
        return error_set(error, ERROR_INPUT, "no step record can be read in it: %s",
                         files.first_error.message);
    if (files.count == 0)
        return error_set(error, ERROR_NO_DATA,
                         "no step record can be read in it: name a log, or the folder of a capture "
                         "of 'flopledger run' (captures/NAME/START TIME)");
    before.first = &files.attempts[0];
    for (size_t i = 0; i < files.count; i++) {
        struct attempt_outcome outcome;

        job_begin_source(job, files.attempts[i].path);
        if (!recorded_attempt_add(job, &files.attempts[i], &before, &outcome, error))
            return false;
        before.reached = outcome.last_step;
        read->entries += outcome.entries;
        read->bytes += outcome.entries * STEP_RECORD_ENTRY_BYTES;
        read->damaged += outcome.damaged;
        if (outcome.damaged > 0)
            results_add_warning(results, results_format(results, "'%s': %s damaged entr%s left out",
                                                        files.attempts[i].path,
                                                        format_count(outcome.damaged).text,
                                                        outcome.damaged == 1 ? "y is" : "ies are"));
        if (outcome.lost > 0)
            results_add_warning(
                results, results_format(results, "'%s': %s entries found no room on the disk",
                                        files.attempts[i].path, format_count(outcome.lost).text));
        if (i > 0 && !outcome.is_base_known)
            results_add_warning(
                results,
                results_format(results,
                               "'%s' does not tell at which step it went on (its optimizer "
                               "does not count steps on the host, and it loaded no "
                               "checkpoint that an attempt before is seen to save): that "
                               "no step was lost is assumed",
                               files.attempts[i].path));
    }
    return true;
}
