/* The series of a timeline: numbers over time, thinned out so that peaks stay. */
#ifndef FLOPLEDGER_SECTIONS_TIMELINE_TIMELINE_SERIES_H
#define FLOPLEDGER_SECTIONS_TIMELINE_TIMELINE_SERIES_H

#include "output/results/results.h"
#include "output/results/timeline.h"
#include "trace/trace.h"

#include <stddef.h>
#include <stdint.h>

/* Points that are kept of one series, at most (and one more at either end). */
enum { SERIES_POINTS_MAX = 2000 };

/* Takes the moments of one series in order of time; a moment lasts until the next. */
struct series_thinner {
    struct timeline_series *series; /* with its lines; times_ns and values have room */
    int64_t start_ns;               /* on the clock of the moments */
    int64_t end_ns;
    int64_t bucket; /* of the point that is open; -1: none is */
    double most;    /* sum of its values */
};

/* A new series of `timeline`, with room for its points. The texts must live as long as the results.
 */
struct timeline_series *timeline_add_series(struct results *results, struct timeline *timeline,
                                            const struct timeline_series *description);

/* Of all moments of a stretch of time the one with the largest sum stays. */
void series_thinner_take(struct series_thinner *thinner, int64_t time_ns, const double *values);

/* The counters of devices in the trace, and its page faults. `start_ns`: of the timeline. */
void timeline_add_counters(struct results *results, struct timeline *timeline,
                           const struct trace *trace, int64_t start_ns);

#endif
