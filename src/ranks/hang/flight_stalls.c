/* A list of stalled operations. */
#include "ranks/hang/flight_stalls.h"

#include "base/core/array.h"

#include <stdlib.h>

struct flight_stall *flight_stall_add(struct flight_stalls *found, uint32_t group, size_t call)
{
    ARRAY_ROOM(found->stalls, found->count);
    found->stalls[found->count] = (struct flight_stall){.group = group, .call = call};
    return &found->stalls[found->count++];
}

void flight_stall_add_missing(struct flight_stall *stall, uint32_t rank, bool has_dump)
{
    ARRAY_ADD(stall->missing, stall->missing_count,
              (struct flight_missing){.rank = rank, .has_dump = has_dump});
}

void flight_stall_add_waiting(struct flight_stall *stall, struct flight_member member)
{
    ARRAY_ADD(stall->waiting, stall->waiting_count, member);
}

static void stall_clear(struct flight_stall *stall)
{
    free(stall->waiting);
    free(stall->missing);
}

void flight_stalls_clear(struct flight_stalls *found)
{
    for (size_t i = 0; i < found->count; i++)
        stall_clear(&found->stalls[i]);
    free(found->stalls);
    memset(found, 0, sizeof *found);
}
