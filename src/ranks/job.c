/* All ranks of a run together. */
#include "ranks/job.h"

#include "base/invariant.h"
#include "ranks/digest_record.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MISSING_MAX = 64 };

/* ---- which ranks ---------------------------------------------------------------------------- */

/* Decodes the set's digests; of several of one rank the first counts. */
static void take_digests(struct job *job, struct digest_set *set)
{
    struct rank_digest *all = require_memory(calloc(set->count + 1, sizeof *all));
    uint32_t decoded = 0;

    job->digests = all;
    job->digest_list = require_memory(calloc(set->count + 1, sizeof(struct rank_digest *)));
    job->doubles = require_memory(calloc(set->count + 1, sizeof(struct rank_digest *)));
    for (size_t i = 0; i < set->count; i++) {
        const struct digest_record *record = &set->records[i];
        const struct rank_digest *last = job->count ? job->digest_list[job->count - 1] : NULL;
        struct rank_digest *digest = &all[decoded];

        if (record->kind != RECORD_RANK || !digest_decode(digest, record->bytes, record->length))
            continue;
        decoded++;
        if (last && last->rank >= 0 && last->rank == digest->rank)
            job->doubles[job->double_count++] = digest;
        else
            job->digest_list[job->count++] = digest;
    }
}

static void find_world(struct job *job)
{
    job->world_size = job->layout.is_given ? rank_layout_ranks(&job->layout) : -1;
    for (uint32_t i = 0; !job->layout.is_given && i < job->count; i++)
        if (job->digest_list[i]->world_size > job->world_size)
            job->world_size = job->digest_list[i]->world_size;
}

/* Ranks are in order, so one walk finds the gaps. */
static void find_missing(struct job *job)
{
    int64_t expected = 0;
    uint32_t at = 0;

    if (job->world_size < 0 || job->count == 0 || job->digest_list[0]->rank < 0)
        return;
    job->missing = require_memory(calloc(MISSING_MAX, sizeof *job->missing));
    for (; expected < job->world_size; expected++) {
        int64_t here = at < job->count ? job->digest_list[at]->rank : -1;

        if (here >= 0 && here <= expected) {
            at++;
            continue;
        }
        if (job->missing_count == MISSING_MAX)
            break;
        job->missing[job->missing_count++] = expected;
    }
    for (at = 0; at < job->count; at++)
        job->missing_in_all +=
            job->digest_list[at]->rank >= 0 && job->digest_list[at]->rank < job->world_size;
    job->missing_in_all = job->world_size - job->missing_in_all;
}

static void place_ranks(struct job *job)
{
    job->ranks = require_memory(calloc((size_t)job->count + 1, sizeof *job->ranks));
    for (uint32_t i = 0; i < job->count; i++) {
        const struct rank_digest *digest = job->digest_list[i];
        struct job_rank *rank = &job->ranks[i];

        rank->digest = digest;
        memcpy(rank->coordinates, digest->coordinates, sizeof rank->coordinates);
        (void)rank_layout_place(&job->layout, digest->rank, rank->coordinates);
        rank->steps = require_memory(calloc((size_t)digest->step_count + 1, sizeof *rank->steps));
    }
}

/* ---- what they waited for ------------------------------------------------------------------- */

static void add_call(struct job *job, uint32_t index, uint32_t call_index)
{
    struct rank_communication *communication = &job->ranks[index].communication;
    const struct rank_digest *digest = job->ranks[index].digest;
    const struct digest_call *call = &digest->calls[call_index];
    int64_t waiting_ns = waiting_of_call(digest, index, call_index, &job->joins);
    uint32_t join = job->joins.join_of[index][call_index];

    if (call->step < 0)
        return;
    communication->kernel_ns += call->duration_ns;
    if (waiting_ns < 0) {
        communication->unknown_ns += call->duration_ns;
        return;
    }
    communication->waiting_ns += waiting_ns;
    communication->transfer_ns += call->duration_ns - waiting_ns;
    communication->joined_count++;
    if (job->joins.joins[join].late == index)
        communication->late_count++;
    else
        job->ranks[job->joins.joins[join].late].communication.caused_ns += waiting_ns;
}

static void split_rank(struct job *job, uint32_t index)
{
    struct job_rank *rank = &job->ranks[index];
    int64_t *waits_for_ns = require_memory(calloc((size_t)job->count + 1, sizeof *waits_for_ns));

    for (uint32_t i = 0; i < rank->digest->call_count; i++)
        add_call(job, index, i);
    split_exposed(rank->steps, waits_for_ns, rank->digest, index, &job->joins);
    for (uint32_t i = 0; i < rank->digest->step_count; i++) {
        struct exposed_parts *sum = &rank->communication.exposed;

        sum->waiting_ns += rank->steps[i].waiting_ns;
        sum->bubble_ns += rank->steps[i].bubble_ns;
        sum->transfer_ns += rank->steps[i].transfer_ns;
        sum->unknown_ns += rank->steps[i].unknown_ns;
    }
    for (uint32_t late = 0; late < job->count; late++)
        job->ranks[late].communication.caused_exposed_ns += waits_for_ns[late];
    free(waits_for_ns);
}

void job_init(struct job *job, struct digest_set *set, const struct rank_layout *layout)
{
    if (layout)
        job->layout = *layout;
    digest_set_sort(set);
    take_digests(job, set);
    find_world(job);
    find_missing(job);
    place_ranks(job);
    join_calls(&job->joins, job->digest_list, job->count);
    align_clocks(&job->clocks, job->digest_list, &job->joins);
    for (uint32_t i = 0; i < job->count; i++)
        split_rank(job, i);
}

void job_clear(struct job *job)
{
    for (uint32_t i = 0; i < job->count; i++) {
        free(job->ranks[i].steps);
    }
    for (uint32_t i = 0; job->digests && i < job->count + job->double_count; i++)
        rank_digest_clear(&job->digests[i]);
    call_joins_clear(&job->joins);
    rank_clocks_clear(&job->clocks);
    free(job->ranks);
    free(job->digests);
    free(job->digest_list);
    free(job->doubles);
    free(job->missing);
    *job = (struct job){0};
}

const char *job_rank_label(const struct job *job, uint32_t index, char label[RANK_LABEL_BYTES])
{
    const struct rank_digest *digest = job->ranks[index].digest;

    if (digest->rank >= 0)
        (void)snprintf(label, RANK_LABEL_BYTES, "rank %" PRId64, digest->rank);
    else
        (void)snprintf(label, RANK_LABEL_BYTES, "%s", digest->file);
    return label;
}
