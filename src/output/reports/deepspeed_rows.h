/* The modules of a profile, taken from the table `modules` of the section `module_cost`. */
#ifndef FLOPLEDGER_OUTPUT_REPORTS_DEEPSPEED_ROWS_H
#define FLOPLEDGER_OUTPUT_REPORTS_DEEPSPEED_ROWS_H

#include "output/results/results.h"

#include <stdbool.h>
#include <stddef.h>

/* All per step; a parameter count of -1 is not known. */
struct deepspeed_row {
    int depth;
    const char *name; /* the last part of its name */
    const char *class_name;
    const char *extra_repr;
    double parameters;
    const char *needs; /* what would tell the parameters; NULL: they are known */
    double macs;
    double flops; /* with elementwise ops and the like, as there */
    double seconds;
};

struct deepspeed_rows {
    struct deepspeed_row *rows; /* [count], parents before children; free() */
    size_t count;
};

/* False where the results have no modules. */
bool deepspeed_rows_read(struct deepspeed_rows *rows, const struct section *section);

/* NULL where the results have no such section; the first rank's, or the one chosen. */
const struct section *deepspeed_section(const struct results *results);

/* The number of that key; NULL where there is none, or it is not known. */
const struct value *deepspeed_value(const struct section *section, const char *key);

/* An integer or real number; `otherwise` where there is none. */
double deepspeed_real(const struct section *section, const char *key, double otherwise);

#endif
