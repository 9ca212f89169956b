/* Profiles made by hand, for the tests of comparisons. */
#ifndef FLOPLEDGER_TESTS_SUPPORT_PROFILE_H
#define FLOPLEDGER_TESTS_SUPPORT_PROFILE_H

#include "sections/comparison/run_profile.h"

/* Steps 1 to `steps` of one rank, without any measure. `profile` must be zeroed. */
void made_profile(struct run_profile *profile, uint32_t steps);

/* A time of `mean_ns` that differs by up to `spread_ns` from step to step, the same each time. */
struct measure *made_measure(struct run_profile *profile, enum measure_kind kind, const char *name,
                             int64_t mean_ns, int64_t spread_ns);

/* The accounts that are given, and a step of their sum: matrix work and waiting for data. */
void made_step(struct run_profile *profile, int64_t matrix_ns, int64_t data_ns, int64_t spread_ns);

#endif
