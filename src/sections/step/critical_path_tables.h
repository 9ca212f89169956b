/* The tables of the section on the critical path. */
#ifndef FLOPLEDGER_SECTIONS_STEP_CRITICAL_PATH_TABLES_H
#define FLOPLEDGER_SECTIONS_STEP_CRITICAL_PATH_TABLES_H

#include "critical_path/steps_path.h"
#include "sections/analysis.h"

#include <stdint.h>

struct path_view {
    const struct analysis_input *input;
    const struct ledger *ledger; /* of the steps that the path was followed through */
    const struct steps_path *path;
    uint32_t step;                     /* the chosen one */
    int64_t kinds_ns[PATH_KIND_COUNT]; /* of all steps */
};

/* What the path is made of: in the chosen step, and in the mean of all. */
void add_path_composition(struct results *results, struct section *section,
                          const struct path_view *view);
/* Its heaviest links by name. */
void add_path_links(struct results *results, struct section *section, const struct path_view *view);
/* How much longer kernels, copies and memsets could take. */
void add_path_slack(struct results *results, struct section *section, const struct path_view *view);
/* The same of streams and threads. */
void add_path_tracks(struct results *results, struct section *section,
                     const struct path_view *view);
/* Each step, and what its part of the path is made of. */
void add_path_steps(struct results *results, struct section *section, const struct path_view *view);

#endif
