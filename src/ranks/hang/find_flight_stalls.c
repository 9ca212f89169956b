/* Collectives that are not complete, and the ranks they wait for. */
#include "base/core/array.h"
#include "base/core/hash_map.h"
#include "ranks/hang/flight_stalls.h"

#include <stdlib.h>
#include <string.h>

/* ---- one call ---- */

/* "Overwritten" is neither here nor missing: the ring buffer of that rank is too short to
 * tell, and to blame it would be a guess. */
static void flight_stalls_find_missing(struct flight_stall *stall, const struct flight_join *join,
                                       const struct flight_call *call)
{
    const struct flight_group *group = &join->dumps->groups[call->group];

    for (size_t i = 0; i < group->rank_count; i++)
        switch (flight_absence_of(join, call, group->ranks[i])) {
        case FLIGHT_CALLED:
            break;
        case FLIGHT_OVERWRITTEN:
            stall->unknown_count++;
            break;
        case FLIGHT_NOT_REACHED:
            flight_stall_add_missing(stall, group->ranks[i], true);
            break;
        case FLIGHT_NO_DUMP:
            flight_stall_add_missing(stall, group->ranks[i], false);
            break;
        }
}

/* Adds the call where it is the first incomplete one for some rank. `waits` holds the ranks that
 * wait in an earlier call of this group. */
static void flight_stalls_check_call(struct flight_stalls *found, const struct flight_join *join,
                                     size_t index, struct hash_map *waits)
{
    const struct flight_call *call = &join->calls[index];
    struct flight_stall *stall = NULL;
    size_t completed = 0;

    for (size_t i = 0; i < call->count; i++) {
        struct flight_member member = join->members[call->first + i];
        uint64_t key = pair_key(call->group, member.dump);

        if (flight_entry_of(join, &member)->state == FLIGHT_COMPLETED) {
            completed++;
            continue;
        }
        /* This rank waits in an earlier call already: this one it has only queued. */
        if (hash_map_find(waits, key) != NO_VALUE)
            continue;
        hash_map_set(waits, key, 1);
        if (!stall)
            stall = flight_stall_add(found, call->group, index);
        flight_stall_add_waiting(stall, member);
    }
    if (!stall)
        return;
    stall->completed_count = completed;
    flight_stalls_find_missing(stall, join, call);
}

/* Calls are in the order of group and sequence, so the first that a rank has not completed is
 * the one it waits in; later ones are queued behind it and say nothing new. O(members). */
void flight_find_stalls(struct flight_stalls *found, const struct flight_join *join)
{
    struct hash_map waits = {0};

    for (size_t i = 0; i < join->call_count; i++)
        flight_stalls_check_call(found, join, i, &waits);
    hash_map_clear(&waits);
    flight_find_p2p_stalls(found, join);
}
