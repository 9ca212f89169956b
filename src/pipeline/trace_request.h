/* A window of full recording that a running job is asked for. */
#ifndef FLOPLEDGER_PIPELINE_TRACE_REQUEST_H
#define FLOPLEDGER_PIPELINE_TRACE_REQUEST_H

#include "base/core/arena.h"
#include "base/core/attributes.h"
#include "base/core/error.h"
#include "readers/step_record/job_records.h"

#include <stddef.h>
#include <stdint.h>

struct traced_rank; /* private */

struct trace_request {
    struct arena arena;
    struct job_records records;
    const char *capture;
    char id[17];
    int64_t first_step;
    int64_t last_step;
    int64_t step_ns;
    struct traced_rank *ranks; /* those that lived */
    size_t rank_count;
};

void trace_request_clear(struct trace_request *request);

/* Asks the ranks of the capture (as find_running_capture takes it; NULL: the newest) for `steps`
 * steps, a moment ahead of where they are. `request` must be zeroed. */
MUST_USE bool trace_request_send(struct trace_request *request, const char *given, int64_t steps,
                                 struct error *error);

/* The step that the first of its ranks had ended when it was asked. */
int64_t trace_request_reached(const struct trace_request *request);

/* Until each rank has recorded, refused, or is gone; or until patience, or `timeout_s`, ends. 0: no
 * such limit. */
void trace_request_await(struct trace_request *request, int64_t timeout_s);

/* Prints which traces there are, and fails where a rank made none. */
MUST_USE bool trace_request_tell(const struct trace_request *request, struct error *error);

#endif
