/* What the flight recorders of a job say, in sections of a report. */
#ifndef FLOPLEDGER_SECTIONS_HANG_FLIGHT_SECTIONS_H
#define FLOPLEDGER_SECTIONS_HANG_FLIGHT_SECTIONS_H

#include "output/results/results.h"
#include "ranks/hang/flight_causes.h"
#include "ranks/hang/flight_join.h"
#include "ranks/hang/flight_stalls.h"
#include "trace/ras_status.h"

#include <stdint.h>

/* All of one job. */
struct flight_view {
    const struct flight_dumps *dumps;
    const struct flight_join *join;
    const struct flight_mismatches *mismatches;
    const struct flight_stalls *stalls;
    const struct flight_causes *causes;
    uint32_t top; /* rows of long tables; UINT32_MAX: all */
};

/* The verdict in one sentence: what hangs, and who does not come. */
const char *flight_headline(struct results *results, const struct flight_view *view);

/* Causes, mismatches and the counts. */
struct section *describe_flight_verdict(struct results *results, const struct flight_view *view);

/* Operations that are not complete. NULL where all are. */
struct section *describe_flight_stalls(struct results *results, const struct flight_view *view);

/* Where each rank is, and each group. */
struct section *describe_flight_ranks(struct results *results, const struct flight_view *view);

/* ---- a job that runs ---- */

/* Adds a page on it to `results`: which rank of which communicator holds up the others, and since
 * when. */
void describe_live_job(struct results *results, const struct live_job *job, uint32_t top);

/* ---- sentences ---- */

/* The member that shows the stall first: the one that has waited longest. */
const struct flight_member *flight_first_waiting(const struct flight_view *view,
                                                 const struct flight_stall *stall);
struct finding flight_cause_finding(struct results *results, const struct flight_view *view,
                                    const struct flight_cause *cause);
struct finding flight_mismatch_finding(struct results *results, const struct flight_view *view,
                                       const struct flight_mismatch *mismatch);

#endif
