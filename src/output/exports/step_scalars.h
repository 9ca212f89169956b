/* The numbers of each step, by name: what a dashboard plots over the steps. */
#ifndef FLOPLEDGER_OUTPUT_EXPORTS_STEP_SCALARS_H
#define FLOPLEDGER_OUTPUT_EXPORTS_STEP_SCALARS_H

#include "base/core/arena.h"
#include "output/results/results.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A line of a plot. */
struct scalar_series {
    const char *tag;         /* "accounts_ms/matrix" */
    const char *description; /* one sentence */
};

struct scalar_step {
    int64_t number;
    int64_t start_ns;    /* on the trace's own clock */
    int64_t end_ns;      /* likewise */
    int64_t end_unix_ns; /* -1: not known */
    double *values;      /* [series_count]; NAN: not known in this step */
};

/* Zeroed is empty. */
struct step_scalars {
    struct scalar_series *series; /* [series_count] */
    size_t series_count;
    struct scalar_step *steps; /* [step_count], by start */
    size_t step_count;
    struct arena arena;
};

/* `scalars` must be zeroed; `rank` must live as long as it. Accounts without any time are left
 * out. */
void find_step_scalars(struct step_scalars *scalars, const struct rank_results *rank);
/* A column of the table step_ledger.steps that is the time of an account. */
bool is_account_column(const struct rank_results *rank, const struct column *column);

void step_scalars_clear(struct step_scalars *scalars);

#endif
