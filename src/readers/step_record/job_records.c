/* All step records of a capture: one for each process that trained, in the order of ranks. */
#include "readers/step_record/job_records.h"

#include "base/core/array.h"
#include "base/core/invariant.h"
#include "base/core/percentile.h"
#include "base/text/owned_text.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- progress of a rank ---------------------------------------------------------------------- */

/* How far a recorded process has come: its step record summed up, as far as it is written. */

bool rank_progress_open(struct rank_progress *progress, const char *path, struct error *error)
{
    *progress = (struct rank_progress){
        .resumed_after = -1, .memory_bytes = -1, .host_bytes = -1, .loss = (double)NAN};
    return step_reader_open(&progress->reader, path, error);
}

/* Stays at its largest where a record holds nonsense. */
static void rank_progress_add_to(int64_t *sum, int64_t more)
{
    if (__builtin_add_overflow(*sum, more, sum))
        *sum = INT64_MAX;
}

static int rank_progress_by_start(const void *a, const void *b)
{
    const struct rank_span *first = a;
    const struct rank_span *second = b;

    return (first->start_ns > second->start_ns) - (first->start_ns < second->start_ns);
}

/* How long at least one of the open spans of kinds up to `last` ran in [start, end); `spans` are
 * sorted by start. One pass over spans sorted by start: `reached` keeps overlaps from counting
 * twice. */
static int64_t covered_ns(const struct rank_progress *progress, enum span_kind last, int64_t start,
                          int64_t end)
{
    int64_t covered = 0;
    int64_t reached = start;

    for (int i = 0; i < progress->span_open_count; i++) {
        const struct rank_span *span = &progress->spans[i];
        int64_t from = span->start_ns > reached ? span->start_ns : reached;
        int64_t to = span->end_ns < end ? span->end_ns : end;

        if (span->kind <= last && to > from) {
            covered += to - from;
            reached = to;
        }
    }
    return covered;
}

/* Books the spans within [start, end), and returns what they cover. A kind gets what it covers
 * beyond the kinds before it, so the sum over kinds is what is covered at all: a checkpoint
 * within an evaluation counts once, for the kind that comes first in the list. */
static int64_t rank_progress_close_spans(struct rank_progress *progress, int64_t start, int64_t end)
{
    int64_t before = 0;

    qsort(progress->spans, (size_t)progress->span_open_count, sizeof *progress->spans,
          rank_progress_by_start);
    for (enum span_kind kind = 0; kind < SPAN_KINDS; kind++) {
        int64_t covered = covered_ns(progress, kind, start, end);

        rank_progress_add_to(&progress->span_ns[kind], covered - before);
        before = covered;
    }
    progress->span_open_count = 0;
    return before;
}

/* Spans wait for the step around them, whose time is known when it ends. More than there is
 * room for are counted whole. */
static void rank_progress_add_span(struct rank_progress *progress, enum span_kind kind,
                                   const struct step_entry *entry)
{
    progress->span_count[kind]++;
    if (entry->end_ns <= entry->start_ns)
        return;
    if (progress->span_open_count == OPEN_SPANS)
        rank_progress_add_to(&progress->span_ns[kind], entry->end_ns - entry->start_ns);
    else
        progress->spans[progress->span_open_count++] =
            (struct rank_span){kind, entry->start_ns, entry->end_ns};
}

static int64_t rank_progress_or_zero(int64_t value)
{
    return value < 0 ? 0 : value;
}

/* Where the time of a step went, as far as it knows. Each part has the time of the steps that
 * told it beside it: shares are of those steps, not of all. */
static void rank_progress_add_parts(struct rank_progress *progress, const struct step_entry *entry,
                                    int64_t net)
{
    if (entry->data_wait_ns >= 0) {
        rank_progress_add_to(&progress->data_wait_ns, entry->data_wait_ns);
        rank_progress_add_to(&progress->data_wait_of_ns, net);
    }
    if (entry->backward_ns >= 0 && entry->optimizer_ns >= 0) {
        rank_progress_add_to(&progress->forward_ns, rank_progress_or_zero(entry->forward_ns));
        rank_progress_add_to(&progress->backward_ns, entry->backward_ns);
        rank_progress_add_to(&progress->optimizer_ns, entry->optimizer_ns);
        rank_progress_add_to(&progress->split_of_ns, net);
    }
    if (entry->tokens >= 0) {
        rank_progress_add_to(&progress->tokens, entry->tokens);
        rank_progress_add_to(&progress->tokens_of_ns, net);
    }
    rank_progress_add_to(&progress->samples, rank_progress_or_zero(entry->samples));
}

/* A loss may be that of the step before, where the recorder got it only when the next one
 * began. */
static void note_loss(struct rank_progress *progress, const struct step_entry *entry)
{
    if (isnan(entry->number))
        return;
    progress->loss = entry->number;
    progress->loss_step = entry->step - ((entry->flags & STEP_FLAG_LOSS_BEFORE) != 0);
}

static void rank_energy_count(struct rank_energy *energy, int64_t steps, int64_t tokens)
{
    rank_progress_add_to(&energy->steps, steps);
    if (tokens < 0 || energy->tokens < 0)
        energy->tokens = -1;
    else
        rank_progress_add_to(&energy->tokens, tokens);
}

/* Looks without a step between them are no measure of steps, and nonsense is none either. Looks
 * at the counters have no fixed distance: energy is per steps since the last look. */
static void rank_progress_add_energy(struct rank_progress *progress, const struct step_entry *entry)
{
    double drawn[ENERGY_SOURCES] = {[ENERGY_GPU] =
                                        entry->count < 0 ? (double)NAN : (double)entry->count / 1e3,
                                    [ENERGY_CPU] = entry->number};

    for (int source = 0; source < ENERGY_SOURCES && progress->since_look.steps > 0; source++) {
        struct rank_energy *all = &progress->energy[source];

        if (!(drawn[source] >= 0 && drawn[source] < 1e15))
            continue;
        progress->recent_energy[source] = progress->since_look;
        progress->recent_energy[source].joules = drawn[source];
        all->joules += drawn[source];
        rank_energy_count(all, progress->since_look.steps, progress->since_look.tokens);
    }
    progress->since_look = (struct rank_energy){0};
}

/* The first step is left out of the sums: it compiles, warms caches and fills pools. Its end
 * is where the measured time begins. */
static void rank_progress_add_step(struct rank_progress *progress, const struct step_entry *entry)
{
    int64_t gross = entry->end_ns > entry->start_ns ? entry->end_ns - entry->start_ns : 0;
    int64_t net = gross - rank_progress_close_spans(progress, entry->start_ns, entry->end_ns);

    note_loss(progress, entry);
    rank_energy_count(&progress->since_look, 1, entry->tokens);
    progress->step = entry->step;
    progress->last_end_ns = entry->end_ns;
    progress->memory_bytes = entry->memory_bytes;
    progress->host_bytes = entry->host_bytes;
    progress->skipped_count += (entry->flags & STEP_FLAG_SKIPPED) != 0;
    progress->recent[progress->recent_count++ % RECENT_STEPS] =
        (struct recent_step){.step = entry->step,
                             .end_ns = entry->end_ns,
                             .net_ns = net,
                             .data_wait_ns = entry->data_wait_ns,
                             .tokens = entry->tokens,
                             .is_profiled = (entry->flags & STEP_FLAG_PROFILED) != 0};
    if (progress->first_end_ns == 0) {
        progress->first_end_ns = entry->end_ns;
        progress->first_net_ns = entry->flags & STEP_FLAG_START_UNKNOWN ? 0 : net;
        return;
    }
    progress->step_count++;
    rank_progress_add_to(&progress->net_ns, net);
    rank_progress_add_parts(progress, entry, net);
}

static void rank_progress_add_entry(struct rank_progress *progress, const struct step_entry *entry)
{
    switch (entry->kind) {
    case STEP_ENTRY_STEP:
        rank_progress_add_step(progress, entry);
        break;
    case STEP_ENTRY_CHECKPOINT:
        rank_progress_add_span(progress, SPAN_CHECKPOINT, entry);
        break;
    case STEP_ENTRY_RESTORE:
        rank_progress_add_span(progress, SPAN_RESTORE, entry);
        break;
    case STEP_ENTRY_EVALUATION:
        rank_progress_add_span(progress, SPAN_EVALUATION, entry);
        break;
    case STEP_ENTRY_RECORDING:
        rank_progress_add_span(progress, SPAN_RECORDING, entry);
        break;
    case STEP_ENTRY_LOSS:
        note_loss(progress, entry);
        break;
    case STEP_ENTRY_LOST:
        rank_progress_add_to(&progress->lost_count, rank_progress_or_zero(entry->count));
        break;
    case STEP_ENTRY_RESUMED:
        progress->resumed_after = entry->count;
        break;
    case STEP_ENTRY_ENERGY:
        rank_progress_add_energy(progress, entry);
        break;
    case STEP_ENTRY_END:
        progress->has_ended = true;
        progress->ended_by_exception = entry->count == 1;
        break;
    default: /* of a later version, or the reader's own */
        break;
    }
}

void rank_progress_update(struct rank_progress *progress)
{
    struct step_entry entry;

    while (step_reader_next(&progress->reader, &entry))
        rank_progress_add_entry(progress, &entry);
}

const struct recent_step *rank_recent_step(const struct rank_progress *progress, int i)
{
    int64_t at = progress->recent_count - 1 - i;

    return i < RECENT_STEPS && at >= 0 ? &progress->recent[at % RECENT_STEPS] : NULL;
}

/* The median, so that one slow step does not decide; profiled steps are slower by the
 * recording. */
int64_t rank_recent_step_ns(const struct rank_progress *progress, int count)
{
    int64_t times[RECENT_STEPS];
    size_t found = 0;
    const struct recent_step *step;

    for (int i = 0; i < count && (step = rank_recent_step(progress, i)); i++) {
        if (!step->is_profiled && step->step > 1)
            times[found++] = step->net_ns;
    }
    return percentile_of(times, found, 50);
}

void rank_progress_clear(struct rank_progress *progress)
{
    step_reader_clear(&progress->reader);
    *progress = (struct rank_progress){0};
}

/* ---- job records ----------------------------------------------------------------------------- */

static bool is_record_name(const char *name)
{
    size_t length = strlen(name);

    return strncmp(name, "rank", 4) == 0 && length > 6 && strcmp(name + length - 6, ".steps") == 0;
}

static DIR *open_folder(const char *capture)
{
    DIR *opened;
    char *folder = text_format("%s/steps", capture);

    opened = opendir(folder);
    free(folder);
    return opened;
}

/* The first one is enough: a capture of thousands of ranks has as many files. */
bool has_step_records(const char *capture)
{
    DIR *folder = open_folder(capture);
    struct dirent *file;
    bool has_one = false;

    while (folder && !has_one && (file = readdir(folder)))
        has_one = is_record_name(file->d_name);
    if (folder)
        closedir(folder);
    return has_one;
}

static bool job_records_is_known(const struct job_records *records, const char *path)
{
    for (size_t i = 0; i < records->count; i++) {
        if (strcmp(records->records[i]->path, path) == 0)
            return true;
    }
    return false;
}

/* Each reason once: a record that cannot be read is looked at again with each sample. */
static void job_records_refuse(struct job_records *records, const char *why)
{
    for (size_t i = 0; i < records->refused_count; i++) {
        if (strcmp(records->refused[i], why) == 0)
            return;
    }
    ARRAY_ADD(records->refused, records->refused_count,
              arena_copy_text(&records->arena, why, strlen(why)));
}

/* A file that cannot be opened yet (its header is being written) is not remembered, so that
 * the next look tries it again. */
static void job_records_add_record(struct job_records *records, const char *name)
{
    struct error error = {0};
    struct job_record *record;
    char *path = text_format("%s/steps/%s", records->capture, name);

    if (!job_records_is_known(records, path)) {
        record = require_memory(calloc(1, sizeof *record));
        if (rank_progress_open(&record->progress, path, &error)) {
            record->path = arena_copy_text(&records->arena, path, strlen(path));
            ARRAY_ADD(records->records, records->count, record);
        } else {
            free(record);
            job_records_refuse(records, error.message);
        }
    }
    free(path);
}

/* Records of one rank stand in the order in which they were opened: an attempt that was
 * restarted comes behind the one before. */
static int job_records_by_rank(const void *a, const void *b)
{
    const struct job_record *first = *(struct job_record *const *)a;
    const struct job_record *second = *(struct job_record *const *)b;
    const struct step_record_header *one = &first->progress.reader.header;
    const struct step_record_header *other = &second->progress.reader.header;

    if (one->rank != other->rank)
        return one->rank < other->rank ? -1 : 1;
    if (one->opened_unix_ns != other->opened_unix_ns)
        return one->opened_unix_ns < other->opened_unix_ns ? -1 : 1;
    return strcmp(first->path, second->path);
}

/* Sorted by rank and then by age, so that the last of each rank is its newest. */
static void mark_newest(struct job_records *records)
{
    for (size_t i = 0; i < records->count; i++) {
        struct job_record *record = records->records[i];

        record->is_newest =
            i + 1 == records->count || records->records[i + 1]->progress.reader.header.rank !=
                                           record->progress.reader.header.rank;
    }
}

/* Newest last within a rank: a rank that was started again has several records, of which the
 * newest tells how it is. */
void job_records_update(struct job_records *records, const char *capture)
{
    DIR *folder = open_folder(capture);
    struct dirent *file;

    if (!records->capture)
        records->capture = arena_copy_text(&records->arena, capture, strlen(capture));
    while (folder && (file = readdir(folder))) {
        if (is_record_name(file->d_name))
            job_records_add_record(records, file->d_name);
    }
    if (folder)
        closedir(folder);
    if (records->count > 1)
        qsort(records->records, records->count, sizeof(void *), job_records_by_rank);
    for (size_t i = 0; i < records->count; i++) {
        records->records[i]->lives =
            step_reader_writer_lives(&records->records[i]->progress.reader);
        rank_progress_update(&records->records[i]->progress);
    }
    mark_newest(records);
}

void job_records_clear(struct job_records *records)
{
    for (size_t i = 0; i < records->count; i++) {
        rank_progress_clear(&records->records[i]->progress);
        free(records->records[i]);
    }
    free(records->records);
    free(records->refused);
    arena_clear(&records->arena);
    *records = (struct job_records){0};
}
