/* Who owns an allocation of a snapshot, as far as the program said so itself: the phase and module
 * of its tag, and the annotation that was open when it was made. */
#ifndef FLOPLEDGER_MEMORY_SNAPSHOT_OWNERS_H
#define FLOPLEDGER_MEMORY_SNAPSHOT_OWNERS_H

#include "base/core/string_pool.h"
#include "memory/snapshot_replay.h"
#include "trace/memory_snapshot.h"

#include <stdbool.h>
#include <stdint.h>

/* A tag is "phase|module", as `flopledger run --memory` sets it, or any text: then it is a module
 * without a phase. All ids are of `names`; 0, the empty text: not told. */
struct snapshot_owners {
    struct string_pool names;
    uint32_t *phase_of_tag;  /* [strings of the snapshot] */
    uint32_t *module_of_tag; /* [strings of the snapshot] */
    bool has_tags;           /* some life of the device has one */
    bool has_phases;
    uint32_t *annotation_of_moment; /* [event_count + 1]: the innermost one open; NULL: none at all
                                     */
};

/* `owners` must be zeroed. */
void find_snapshot_owners(struct snapshot_owners *owners, const struct snapshot_replay *replay);

const char *owner_name(const struct snapshot_owners *owners, uint32_t id);

void snapshot_owners_clear(struct snapshot_owners *owners);

#endif
