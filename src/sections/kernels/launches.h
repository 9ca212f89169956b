/* How many launched kernels wait on each stream. */
#ifndef FLOPLEDGER_SECTIONS_KERNELS_LAUNCHES_H
#define FLOPLEDGER_SECTIONS_KERNELS_LAUNCHES_H

#include "sections/analysis.h"

#include <stdint.h>

/* The depth of a stream's queue is the number of launches whose call has begun and whose first
 * device event on the stream has not. The kernels of one graph launch are one launch. */
struct stream_queue {
    uint32_t track;
    int64_t stream;
    int64_t events; /* kernels, copies and memsets in the steps */
    int64_t launches;
    int64_t duration_ns; /* of the events, summed */
    int64_t waiting_ns;  /* times between call and start inside the steps, summed: divided by the
                            steps' time it is the mean  depth */
    int64_t max_depth;
};

/* One for each stream with device work in the steps, sorted by stream number; `count` is set.
 * free() the result. */
struct stream_queue *measure_launch_queues(const struct analysis_input *input, uint32_t *count);

#endif
