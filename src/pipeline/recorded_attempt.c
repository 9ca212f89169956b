/* One step record as the events of one attempt of a job. */
#include "pipeline/recorded_attempt.h"

#include "base/core/array.h"
#include "base/core/attributes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

bool recorded_attempt_look(struct recorded_attempt *attempt, const char *path, struct error *error)
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

void recorded_attempt_measure(struct recorded_attempt *attempt)
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

/* Of an event of the record's clock. */
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

void saved_checkpoints_clear(struct saved_checkpoints *saved)
{
    free(saved->list);
    *saved = (struct saved_checkpoints){0};
}

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

/* The step after which a file was saved that was written then; -1: by no checkpoint known. */
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
 * loaded last of those that are known; -1: not known. */
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
 * later, and is shorter by it. Returns the time of all within [start, end). */
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

static void flush_step(struct attempt_state *state)
{
    if (state->has_pending)
        job_add(state->job, &state->pending);
    state->has_pending = false;
}

static void begin_training(struct attempt_state *state, const struct step_entry *entry)
{
    struct job_event event = event_at(state, JOB_TRAINING, entry->start_ns);

    state->has_steps = true;
    if (state->is_base_known)
        event.step = state->base;
    job_add(state->job, &event);
}

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

/* Before the first step, a checkpoint that was loaded tells where the attempt goes on. */
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

static bool recorded_attempt_is_possible(const struct step_entry *entry)
{
    return entry->step >= 0 && entry->step <= STEPS_MAX && entry->start_ns >= 0 &&
           entry->start_ns <= entry->end_ns && entry->end_ns <= LATEST_NS;
}

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

bool recorded_attempt_add(struct job *job, const struct recorded_attempt *attempt,
                          const struct attempt_before *before, struct attempt_outcome *outcome,
                          struct error *error)
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
