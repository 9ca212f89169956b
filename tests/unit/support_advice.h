/* Made traces with steps of 1 ms, and the advice on them. */
#ifndef FLOPLEDGER_TESTS_SUPPORT_ADVICE_H
#define FLOPLEDGER_TESTS_SUPPORT_ADVICE_H

#include "support_trace.h"

enum { US = 1000, STEP_NS = 1000 * US, STEPS = 4, LAUNCH_NS = 5 * US };

/* Steps of 1 ms on one thread, and one stream. */
struct scene {
    struct made_trace made;
    uint32_t thread;
    uint32_t stream;
};

void scene_begin(struct scene *scene, int steps);

/* A product of which no number format is known, launched long before it starts, but in its
 * own step. */
void scene_queued(struct scene *scene, const char *name, int64_t start_ns, int64_t end_ns);
/* ... or launched when the device is idle: it starts LAUNCH_NS after the call does. */
void scene_live(struct scene *scene, const char *name, int64_t start_ns, int64_t end_ns);

/* A kernel that an operator launched long before, in the same step: `op` is name, shapes, types. */
void scene_operator(struct scene *scene, const char *const op[3], const char *kernel,
                    const int64_t range_ns[2]);

const struct section *scene_advice(struct scene *scene);
/* NULL where the rule says nothing. */
const struct finding *find_advice(const struct section *section, const char *id);

#endif
