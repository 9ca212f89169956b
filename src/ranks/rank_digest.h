/* What is kept of one rank once its trace is gone: integers only, so that digests can be made
 * anywhere, merged in any order, and always give the same report. docs/formats/digest.md describes
 * how they are stored. */
#ifndef FLOPLEDGER_RANKS_RANK_DIGEST_H
#define FLOPLEDGER_RANKS_RANK_DIGEST_H

#include "base/core/arena.h"
#include "base/core/hash_map.h"
#include "cost/efficiency/efficiency.h"
#include "cost/modules/model_description.h"
#include "ledger/account.h"
#include "ledger/chain_part.h"
#include "ledger/step_ledger.h"
#include "ledger/step_window.h"
#include "trace/trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct shared_text {
    uint64_t hash;
    const char *bytes; /* [length], and a NUL behind */
    size_t length;
};

struct shared_texts {
    struct shared_text *texts; /* [count], in the order in which they came */
    uint32_t count;
    struct hash_map place_of; /* by hash: index in texts */
    struct arena arena;
    unsigned keepers; /* one at a time: no two threads may keep or release */
};

/* Empty, and kept once. */
struct shared_texts *shared_texts_new(void);

struct shared_texts *shared_texts_keep(struct shared_texts *texts);

/* `texts` may be NULL. */
void shared_texts_release(struct shared_texts *texts);

/* The text, which is copied where it is new; NULL where another text has its hash. Valid until the
 * next is added; its bytes as long as the texts. */
const struct shared_text *shared_texts_add(struct shared_texts *texts, const void *bytes,
                                           size_t length);

/* NULL where there is none. */
const struct shared_text *shared_texts_find(const struct shared_texts *texts, uint64_t hash);

/* FNV-1a: the same on all machines. */
uint64_t shared_text_hash(const void *bytes, size_t length);

/* The ways in which the ranks of a run divide the work, in the order in which they are printed. */
enum layout_axis { AXIS_TENSOR, AXIS_CONTEXT, AXIS_DATA, AXIS_PIPELINE, AXIS_COUNT };

/* One step of the rank, as its ledger booked it: account_ns sums to end_ns - start_ns. */
struct digest_step {
    int64_t number;
    int64_t start_ns; /* by the rank's own clock, since 1970 where its trace says so */
    int64_t end_ns;
    int64_t account_ns[ACCOUNT_COUNT];
    int64_t communication_ns;        /* any communication kernel runs, hidden or not */
    int64_t hidden_communication_ns; /* ... while a compute kernel runs */
    int64_t flops;  /* executed by matrix work, as far as known; -1: nothing is known */
    int64_t tokens; /* that it trained on; -1: not known */
    bool is_cut;
};

/* Ranks that communicate, as the trace tells them apart. */
struct digest_group {
    const char *name;  /* Process Group Name; "" where the trace does not say */
    const char *ranks; /* Process Group Ranks, as written; "" likewise */
    int64_t size;      /* -1: not known */
    int64_t stream;    /* where it has no name: the place of its stream among those of the rank */
};

/* One communication kernel, in order of start. */
struct digest_call {
    int64_t start_ns; /* by the rank's own clock */
    int64_t duration_ns;
    int64_t bytes;    /* of the whole message; -1: not known */
    int64_t sequence; /* -1: not known */
    int32_t source;   /* of a send or receive; -1: not known */
    int32_t destination;
    uint32_t group;      /* index in groups */
    int32_t step;        /* index in steps; -1: outside of them */
    uint8_t kind;        /* enum collective_kind */
    int8_t element_type; /* -1: not known */
};

/* No step trains on more, and no call moves more: sums of many fit into 64 bits. */
#define STEP_TOKENS_MAX    ((int64_t)1 << 48)
#define EXCHANGE_BYTES_MAX ((int64_t)1 << 48)

/* What an all-to-all call sends and receives in all, its own part included. */
struct digest_exchange {
    uint32_t call; /* index in calls */
    int64_t sent_bytes;
    int64_t received_bytes;
};

/* A stretch in which only communication runs: account_ns[ACCOUNT_COMMUNICATION] piece by piece. */
struct digest_interval {
    int64_t start_ns;
    int64_t end_ns;
    uint32_t step; /* index in steps */
};

/* What led to a call of the rank, or to the end of all its work: from the end of an earlier call,
 * or from the start of its path, to the start of this one. */
struct digest_chain {
    int32_t call; /* index in calls; CHAIN_FROM_START, CHAIN_NOT_KNOWN */
    int64_t parts_ns[CHAIN_PART_COUNT];
};

/* Zeroed is empty; all memory but itself lives in `arena`. */
struct rank_digest {
    int64_t rank;                    /* -1: not known */
    int64_t world_size;              /* -1: not known */
    int32_t coordinates[AXIS_COUNT]; /* -1: not known */
    int32_t device;                  /* the number of the device that was booked; -1: the CPU */
    enum window_source source;
    const char *file; /* its name, without folders but for those that tell it from others */
    const char *hostname;
    const char *device_name;
    const char *process;           /* its id, as the trace has it; NULL or "": not known */
    int64_t link_bytes_per_second; /* of the device's links, one direction; 0: not known */
    int64_t memory_bytes;          /* of the device; -1: not known */
    int64_t peak_allocated_bytes;  /* -1: not recorded */
    int64_t peak_reserved_bytes;   /* -1: not recorded */
    int64_t between_steps_ns;
    int64_t damaged_events;
    bool is_truncated;
    bool is_rank_by_order;     /* the rank only counts what its file holds */
    bool is_alone;             /* said before it is made: nobody joins its calls, and it has none */
    struct digest_step *steps; /* [step_count], by start */
    uint32_t step_count;
    struct digest_group *groups; /* [group_count] */
    uint32_t group_count;
    struct digest_call *calls; /* [call_count], by start */
    uint32_t call_count;
    struct digest_interval *exposed; /* [exposed_count], by start */
    uint32_t exposed_count;
    struct digest_exchange *exchanges; /* [exchange_count], by call: those that tell */
    uint32_t exchange_count;
    struct digest_chain *chains; /* [chain_count]: of each call, and of the end */
    uint32_t chain_count;        /* call_count + 1; 0: not known, as the replay is refused */
    int64_t path_start_ns;       /* by the rank's own clock */
    int64_t path_end_ns;
    struct arena arena;
};

void rank_digest_clear(struct rank_digest *digest);

/* Sum of an account over all steps, and of all accounts. */
int64_t digest_account_ns(const struct rank_digest *digest, enum account account);
int64_t digest_total_ns(const struct rank_digest *digest);

/* ---- reduces a trace and its ledger to the digest of its rank ---- */

/* `digest` must be zeroed, but for is_alone; it needs none of the others afterwards. `efficiency`
 * gives FLOPs and the device, `description` (it may be NULL) the tokens of recorded steps. Memory
 * is known where the trace was read with it (read_options.keeps_memory). */
void make_digest(struct rank_digest *digest, const struct trace *trace, const struct ledger *ledger,
                 const struct efficiency *efficiency, const struct model_description *description);

/* The numbers in the file; a new part gets a new one. */
enum digest_part {
    PART_FACTS = 1,
    PART_NAMES,
    PART_STEPS,
    PART_GROUPS,
    PART_CALLS,
    PART_EXPOSED, /* the last that every digest has */
    PART_TOKENS,
    PART_EXCHANGES,
    PART_CHAINS,
    PART_PROCESS,
    PART_COUNTED,
};

/* What is told by its place in a list here may stand elsewhere in another version's. */
enum digest_name_list { ACCOUNT_NAMES, KIND_NAMES, TYPE_NAMES, CHAIN_NAMES, NAME_LIST_COUNT };

/* Where in this version's lists the names of a digest stand. */
struct digest_names {
    uint8_t places[NAME_LIST_COUNT][64];
    uint32_t counts[NAME_LIST_COUNT];
};

/* This version's lists. */
unsigned digest_name_count(enum digest_name_list list);
const char *digest_name(enum digest_name_list list, unsigned place);

#endif
