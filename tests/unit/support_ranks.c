/* Digests of ranks made in memory. */
#include "support_ranks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { CALLS_MAX = 512, GROUPS_MAX = 8 };

void made_digest_init(struct rank_digest *digest, int64_t rank, int64_t step_ns)
{
    char file[32];

    memset(digest, 0, sizeof *digest);
    (void)snprintf(file, sizeof file, "rank%d.json", (int)rank);
    digest->rank = rank;
    digest->world_size = -1;
    for (int axis = 0; axis < AXIS_COUNT; axis++)
        digest->coordinates[axis] = -1;
    digest->file = arena_copy_text(&digest->arena, file, strlen(file));
    digest->hostname = digest->device_name = "";
    digest->memory_bytes = digest->peak_allocated_bytes = digest->peak_reserved_bytes = -1;
    digest->steps = arena_allocate(&digest->arena, sizeof *digest->steps);
    digest->step_count = 1;
    digest->steps[0] = (struct digest_step){.number = 0, .end_ns = step_ns, .flops = -1};
    digest->steps[0].account_ns[ACCOUNT_IDLE_NOTHING] = step_ns;
    digest->groups = arena_allocate(&digest->arena, GROUPS_MAX * sizeof *digest->groups);
    digest->calls = arena_allocate(&digest->arena, CALLS_MAX * sizeof *digest->calls);
    digest->exposed = arena_allocate(&digest->arena, CALLS_MAX * sizeof *digest->exposed);
}

uint32_t made_group(struct rank_digest *digest, const char *name, const char *ranks, int64_t size)
{
    assert_true(digest->group_count < GROUPS_MAX);
    digest->groups[digest->group_count] =
        (struct digest_group){.name = name, .ranks = ranks, .size = size, .stream = -1};
    return digest->group_count++;
}

struct digest_call *made_call_add(struct rank_digest *digest, uint32_t group, int64_t start_ns,
                                  int64_t end_ns, int64_t sequence)
{
    struct digest_call *call = &digest->calls[digest->call_count++];

    assert_true(digest->call_count < CALLS_MAX);
    *call = (struct digest_call){.start_ns = start_ns,
                                 .duration_ns = end_ns - start_ns,
                                 .bytes = 1000,
                                 .sequence = sequence,
                                 .source = -1,
                                 .destination = -1,
                                 .group = group,
                                 .kind = COLLECTIVE_ALL_REDUCE,
                                 .element_type = -1};
    digest->exposed[digest->exposed_count++] =
        (struct digest_interval){.start_ns = start_ns, .end_ns = end_ns, .step = 0};
    digest->steps[0].account_ns[ACCOUNT_COMMUNICATION] += end_ns - start_ns;
    digest->steps[0].account_ns[ACCOUNT_IDLE_NOTHING] -= end_ns - start_ns;
    digest->steps[0].communication_ns += end_ns - start_ns;
    return call;
}

void made_digest_shift(struct rank_digest *digest, int64_t ns)
{
    for (uint32_t i = 0; i < digest->step_count; i++) {
        digest->steps[i].start_ns += ns;
        digest->steps[i].end_ns += ns;
    }
    for (uint32_t i = 0; i < digest->call_count; i++)
        digest->calls[i].start_ns += ns;
    for (uint32_t i = 0; i < digest->exposed_count; i++) {
        digest->exposed[i].start_ns += ns;
        digest->exposed[i].end_ns += ns;
    }
    digest->path_start_ns += ns;
    digest->path_end_ns += ns;
}
