/* The chains of a rank for its digest. */
#include "pipeline/rank_chains.h"

#include "base/core/invariant.h"
#include "critical_path/call_chains.h"
#include "replay/replay_model.h"

#include <string.h>

static void copy_chains(struct rank_digest *digest, const struct call_chains *chains,
                        int64_t base_ns)
{
    size_t count = chains->call_count + 1;

    require_invariant(chains->call_count == digest->call_count, "calls are counted alike");
    digest->chains = arena_allocate(&digest->arena, count * sizeof *digest->chains);
    for (size_t i = 0; i < count; i++) {
        digest->chains[i].call = chains->chains[i].call;
        memcpy(digest->chains[i].parts_ns, chains->chains[i].parts_ns,
               sizeof digest->chains[i].parts_ns);
    }
    digest->chain_count = (uint32_t)count;
    digest->path_start_ns = chains->start_ns + base_ns;
    digest->path_end_ns = chains->end_ns + base_ns;
}

void add_digest_chains(struct rank_digest *digest, const struct replay_model *simulation)
{
    SCOPED(call_chains) chains = {.call_count = 0};

    if (!simulation || simulation->is_refused || !simulation->part.is_all)
        return;
    find_call_chains(&chains, &simulation->graph);
    copy_chains(digest, &chains,
                digest->steps[0].start_ns - simulation->ledger->steps[0].window.start_ns);
}
