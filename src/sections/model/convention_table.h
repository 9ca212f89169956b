/* One run as each tool would count it: the table of conventions, of a recorded run or of one that
 * is only described. */
#ifndef FLOPLEDGER_SECTIONS_MODEL_CONVENTION_TABLE_H
#define FLOPLEDGER_SECTIONS_MODEL_CONVENTION_TABLE_H

#include "cost/architectures/convention.h"
#include "output/results/results.h"

/* The devices that share the tokens of a step; what is 0 is not known. */
struct convention_run {
    const struct architecture *architecture;
    struct convention_setting setting;
    double tokens;  /* of a step, of all these devices */
    double seconds; /* of a step */
    double devices;
    double peak; /* of one device, FLOP/s */
    const char *needs_seconds;
    const char *needs_peak;
};

/* FLOP/s of one device, by a count of FLOPs of a token; 0 where the time is not known. */
double convention_rate(const struct convention_run *run, double flops_per_token);

/* The share of the peak; UNIT_NOT_KNOWN where time or peak are not, or the count is negative. */
struct value convention_utilisation(const struct convention_run *run, double flops_per_token);

/* The table, and a finding that says how far the conventions lie apart. */
void add_convention_table(struct results *results, struct section *section,
                          const struct convention_run *run);

/* What each of them counts, in words. */
struct section *describe_convention_rules(struct results *results);

#endif
