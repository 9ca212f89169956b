/* Kernels that do the same work under another name: a library picks them by device and version. */
#ifndef FLOPLEDGER_SECTIONS_COMPARISON_RENAMED_KERNELS_H
#define FLOPLEDGER_SECTIONS_COMPARISON_RENAMED_KERNELS_H

#include "sections/comparison/run_profile.h"

/* Adds to both profiles measures MEASURE_RENAMED: for each operator and class the sum of kernels
 * that the other run has not. Its name is the operator's, its detail the class's key. Where both
 * runs have a sum of one operator, its kernels were renamed; else they are new, or gone. */
void match_renamed_kernels(struct run_profile *a, struct run_profile *b);

/* The sum of `profile` that the kernel, which only one of the runs has, would be in; NULL: none. */
const struct measure *find_renamed(const struct run_profile *profile, const struct measure *kernel);

#endif
