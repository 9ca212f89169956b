/* How much longer work could take without the end of the steps moving, by name or by track. */
#ifndef FLOPLEDGER_CRITICAL_PATH_PATH_SLACK_H
#define FLOPLEDGER_CRITICAL_PATH_PATH_SLACK_H

#include "critical_path/steps_path.h"

#include <stddef.h>
#include <stdint.h>

/* All pieces of work of one name, or of one stream or thread, that lie in the steps. */
struct slack_row {
    uint32_t id;       /* of the name in trace.strings, or of the track */
    int64_t count;     /* pieces of work; of threads: stretches between calls, and calls */
    int64_t total_ns;  /* their time in the steps */
    int64_t path_ns;   /* of it on the path */
    int64_t least_ns;  /* the least slack of one piece */
    int64_t median_ns; /* half of the pieces have no more */
};

/* Zeroed is empty. */
struct slack_rows {
    struct slack_row *rows; /* [count]: the longest total first, of equal ones by name, or by track
                             */
    size_t count;
};

/* `rows` must be zeroed. */
void slack_of_kernels(struct slack_rows *rows, const struct steps_path *path);
void slack_of_tracks(struct slack_rows *rows, const struct steps_path *path);

void slack_rows_clear(struct slack_rows *rows);

#endif
