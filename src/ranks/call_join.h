/* Which calls of different ranks are one collective: by the group's name and ranks and the call's
 * sequence number where the traces have them (NCCL metadata), else by group or stream and order. */
#ifndef FLOPLEDGER_RANKS_CALL_JOIN_H
#define FLOPLEDGER_RANKS_CALL_JOIN_H

#include "ledger/collective_call.h"
#include "ranks/rank_digest.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NO_JOIN UINT32_MAX

/* Ranks that communicate with each other, or for sends and receives the two of a pair. */
struct joint_group {
    const char *name;        /* as in struct digest_group; texts live as long as the digests */
    const char *ranks;       /* likewise */
    int64_t size;            /* -1: not known */
    int64_t stream;          /* -1 where it has a name */
    int32_t source;          /* of a pair; -1: not a pair, or not known */
    int32_t destination;     /* likewise */
    uint32_t rank_count;     /* of those given that call it */
    bool is_joined_by_order; /* no sequence numbers */
};

/* One call of one rank. */
struct join_member {
    uint32_t rank; /* index in the digests */
    uint32_t call; /* index in its calls */
};

/* One collective: what several ranks called together. */
struct joined_call {
    uint32_t group;     /* index in groups */
    uint32_t first;     /* index in members */
    uint32_t count;     /* members; by rank */
    bool is_mismatched; /* the calls are of different kinds: they cannot be one */
    /* With two members or more that match: */
    int64_t transfer_ns; /* the shortest of them: that rank came last and waited for nobody; -1: not
                            known */
    uint32_t late;       /* index in the digests of that rank, of equal ones the lowest */
    int64_t bytes;       /* the largest message of the members; -1: not known */
};

struct call_joins {
    struct joint_group *groups;
    uint32_t group_count;
    struct join_member *members;
    uint32_t member_count;
    struct joined_call *joins;
    uint32_t join_count;
    uint32_t **join_of; /* [digest][call]: index in joins */
    uint32_t digest_count;
};

/* Joins the calls of `digests`, which must outlive the joins. `joins` must be zeroed. */
void join_calls(struct call_joins *joins, const struct rank_digest *const *digests,
                uint32_t digest_count);
void call_joins_clear(struct call_joins *joins);

/* The call's kind ends at about the same moment on all ranks: what clocks can be compared by. */
bool ends_together(enum collective_kind kind);

/* How long the call waited before the last rank came; -1: not known. */
int64_t waiting_of_call(const struct rank_digest *digest, uint32_t rank, uint32_t call,
                        const struct call_joins *joins);

#endif
