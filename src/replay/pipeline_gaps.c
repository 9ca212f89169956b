/* Steps of a timeline in which operations of a worker are missing. */
#include "base/core/invariant.h"
#include "replay/pipeline_replay.h"

#include <stdlib.h>
#include <string.h>

/* The operations of one data-parallel rank in one step. */
struct block {
    uint32_t data_rank;
    size_t op_count;
    uint64_t shape; /* of their stages and kinds, in order */
};

struct gap_search {
    struct pipeline_job *job;
    struct block *blocks;  /* of the step looked at */
    uint32_t *usual_ranks; /* [usual_count], ascending: of the step that has most */
    size_t usual_count;
    bool *is_broken; /* [step_count] */
};

/* The blocks of the step whose operations begin at `*at`; moves behind them. Operations are
 * sorted by step and data rank, so a block is a run of them. The shape is an FNV-1a hash of
 * stages and kinds: two blocks of equal shape have the same operations, save for one chance in
 * 2^64. */
static size_t find_blocks(struct gap_search *search, size_t *at)
{
    const struct pipeline_job *job = search->job;
    uint32_t step = job->ops[*at].step;
    size_t count = 0;

    for (; *at < job->op_count && job->ops[*at].step == step; ++*at) {
        const struct pipeline_op *op = &job->ops[*at];
        struct block *block;

        if (count == 0 || search->blocks[count - 1].data_rank != op->data_rank)
            search->blocks[count++] =
                (struct block){.data_rank = op->data_rank, .shape = 14695981039346656037U};
        block = &search->blocks[count - 1];
        block->op_count++;
        block->shape = (block->shape ^ ((uint64_t)op->stage << 8 | op->kind)) * 1099511628211U;
    }
    return count;
}

/* What a whole step has is not told anywhere: the step with the most ranks shows it. */
static void find_usual_ranks(struct gap_search *search)
{
    for (size_t at = 0; at < search->job->op_count;) {
        size_t count = find_blocks(search, &at);

        if (count <= search->usual_count)
            continue;
        search->usual_count = count;
        for (size_t i = 0; i < count; i++)
            search->usual_ranks[i] = search->blocks[i].data_rank;
    }
}

/* The data rank that lacks something among the blocks of a step; -1: none does. A step is whole
 * where all of the usual ranks are there and each did what the one with most operations did: a
 * timeline cut by its recorder lacks some. */
static int64_t rank_with_gap(const struct gap_search *search, size_t count)
{
    const struct block *whole = &search->blocks[0];

    for (size_t i = 0; i < search->usual_count; i++)
        if (i >= count || search->blocks[i].data_rank != search->usual_ranks[i])
            return search->usual_ranks[i];
    for (size_t i = 1; i < count; i++)
        if (search->blocks[i].op_count > whole->op_count)
            whole = &search->blocks[i];
    for (size_t i = 0; i < count; i++)
        if (search->blocks[i].op_count != whole->op_count ||
            search->blocks[i].shape != whole->shape)
            return search->blocks[i].data_rank;
    return -1;
}

/* The first gap is the one that is told; all steps with any are marked. */
static void pipeline_gaps_find_gaps(struct gap_search *search)
{
    struct pipeline_job *job = search->job;

    for (size_t at = 0; at < job->op_count;) {
        uint32_t step = job->ops[at].step;
        int64_t rank = rank_with_gap(search, find_blocks(search, &at));

        if (rank < 0)
            continue;
        search->is_broken[step] = true;
        if (job->gap_count++ > 0)
            continue;
        job->gap_step = job->steps[step];
        job->gap_rank = (uint32_t)rank;
    }
}

/* Both lists are moved up in place, and numbers of steps follow by `places`. */
static void drop_broken(struct gap_search *search)
{
    struct pipeline_job *job = search->job;
    uint32_t *places = require_memory(calloc(job->step_count + 1, sizeof *places));
    size_t steps = 0, ops = 0;

    for (size_t i = 0; i < job->step_count; i++) {
        places[i] = (uint32_t)steps;
        if (!search->is_broken[i])
            job->steps[steps++] = job->steps[i];
    }
    for (size_t i = 0; i < job->op_count; i++) {
        struct pipeline_op op = job->ops[i];

        if (search->is_broken[op.step])
            continue;
        /* Steps behind one that was dropped have moved up. */
        op.step = places[op.step];
        job->ops[ops++] = op;
    }
    job->step_count = steps;
    job->op_count = ops;
    free(places);
}

/* A step with missing operations would replay too short. If all steps lack something there is
 * nothing to compare with, and all are kept. */
void pipeline_job_drop_gaps(struct pipeline_job *job)
{
    struct gap_search search = {
        .job = job,
        .blocks = require_memory(calloc(job->op_count + 1, sizeof *search.blocks)),
        .usual_ranks = require_memory(calloc(job->op_count + 1, sizeof *search.usual_ranks)),
        .is_broken = require_memory(calloc(job->step_count + 1, sizeof *search.is_broken)),
    };

    find_usual_ranks(&search);
    pipeline_gaps_find_gaps(&search);
    job->are_gaps_dropped = job->gap_count > 0 && job->gap_count < job->step_count;
    if (job->are_gaps_dropped)
        drop_broken(&search);
    free(search.blocks);
    free(search.usual_ranks);
    free(search.is_broken);
}
