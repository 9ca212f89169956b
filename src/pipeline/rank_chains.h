/* The chains of a rank for its digest: what the critical path of all ranks is made from. */
#ifndef FLOPLEDGER_PIPELINE_RANK_CHAINS_H
#define FLOPLEDGER_PIPELINE_RANK_CHAINS_H

#include "ranks/rank_digest.h"
#include "replay/replay_model.h"

/* Adds nothing where nothing ran on a device (NULL), where the replay is too far from the recording
 * to tell what waited for what, and where not all steps are in its graph: more than 100,000 pieces
 * of work. */
void add_digest_chains(struct rank_digest *digest, const struct replay_model *simulation);

#endif
