/* What is kept of one rank once its trace is gone. */
#include "ranks/rank_digest.h"

void rank_digest_clear(struct rank_digest *digest)
{
    arena_clear(&digest->arena);
    *digest = (struct rank_digest){0};
}

int64_t digest_account_ns(const struct rank_digest *digest, enum account account)
{
    int64_t total_ns = 0;

    for (uint32_t i = 0; i < digest->step_count; i++)
        total_ns += digest->steps[i].account_ns[account];
    return total_ns;
}

int64_t digest_total_ns(const struct rank_digest *digest)
{
    int64_t total_ns = 0;

    for (uint32_t i = 0; i < digest->step_count; i++)
        total_ns += digest->steps[i].end_ns - digest->steps[i].start_ns;
    return total_ns;
}
