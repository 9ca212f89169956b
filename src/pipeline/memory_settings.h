/* What the user asked `flopledger memory` for. */
#ifndef FLOPLEDGER_PIPELINE_MEMORY_SETTINGS_H
#define FLOPLEDGER_PIPELINE_MEMORY_SETTINGS_H

#include "pipeline/page.h"
#include "pipeline/session.h"

#include <stdbool.h>
#include <stdint.h>

struct memory_settings {
    struct page_settings page;
    struct cache_choice cache; /* of recorded runs */
    int64_t top;               /* rows of long tables; 0: all */
    int64_t device;            /* -1: all */
    int64_t depth;             /* of modules; -1: all */
    int64_t rank;              /* to print in full; -1: the lowest */
    int64_t fit_bytes;         /* 0: not asked */
    int64_t batch;             /* samples of a micro-batch; 0: as the capture says */
    int64_t ranks;             /* that ZeRO divides by; 0: as the capture says, else 8 */
    const char *compare;       /* the file to compare with: what was before; NULL: none */
    int64_t threads;
    bool shows_progress;
};

#endif
