/* What the advice of each rank says of communication, once its calls are joined with the others'.
 */
#ifndef FLOPLEDGER_SECTIONS_RANKS_RANKS_KNOWN_WAITING_H
#define FLOPLEDGER_SECTIONS_RANKS_RANKS_KNOWN_WAITING_H

#include "output/results/results.h"
#include "ranks/all_ranks.h"
#include "sections/ranks/ranks_culprit.h"

/* Communication that nothing hides is told of each rank before the others are known. Where most of
 * it turns out to be waiting for stragglers, overlap would not take it away: the finding becomes
 * one of waiting, and names the rank that is waited for. */
void tell_known_waiting(struct results *results, const struct all_ranks *run,
                        const struct ranks_culprit *culprit);

/* Where the other traces are of other runs: nobody among them says who is late. */
void tell_of_lone_ranks(struct results *results);

#endif
