/* What holds for the critical path of every trace. */
#ifndef FLOPLEDGER_TESTS_SUPPORT_PATH_H
#define FLOPLEDGER_TESTS_SUPPORT_PATH_H

#include "critical_path/steps_path.h"
#include "replay/trace_graph.h"

/* NULL, or what does not hold:
 *
 * - the links follow each other and cover the recording, those of a step add up to it;
 * - slack is never negative, and none on the path;
 * - the parts of each chain from one communication kernel to the next add up;
 * - the pinned tasks replay to where they were recorded;
 * - work off the path can be halved, or take its slack longer, and nothing ends later or earlier;
 * - work on it makes the end come as much earlier as it is shorter, until another chain is as long.
 *
 * At most about `samples` tasks are changed. */
const char *problem_of_path(const struct steps_path *path, size_t samples);

#endif
