/* Events of torch_npu's trace_view.json and msprof's JSON that no category tells apart: tasks of
 * the device, calls of CANN, collectives, and the recorder's own analysis. What they are is told by
 * the names of their processes, which may stand behind them: they are kept as rows until all of the
 * file is read. */
#ifndef FLOPLEDGER_READERS_ASCEND_ASCEND_ROWS_H
#define FLOPLEDGER_READERS_ASCEND_ASCEND_ROWS_H

#include "base/json/json_scan.h"
#include "readers/ascend/ascend_counters.h"
#include "trace/trace_builder.h"

#include <stdbool.h>
#include <stdint.h>

/* An event without a category. Strings are those of the builder; 0 and -1: not told. */
struct ascend_row {
    struct found_event event; /* as one of a host thread; without its track */
    int64_t connection;       /* joins a call with its tasks */
    int64_t stream;
    int64_t task;
    int64_t elements;
    uint32_t process; /* pid, tid as written */
    uint32_t thread;
    uint32_t type;      /* of a task */
    uint32_t data_type; /* of a collective */
    bool is_task;       /* its args are those of a task of the device */
    bool is_call;       /* or of a call of CANN */
    bool has_args;
};

/* One end of an arrow from an operator, or from a call, to the task that it put on the device. */
struct ascend_flow {
    uint32_t process;
    uint32_t thread;
    uint32_t id;    /* the same at both ends */
    bool is_launch; /* from a call */
    bool is_end;
    int64_t time_ns;
};

/* The device of a process. */
struct ascend_label {
    uint32_t process;
    int32_t device;
};

/* Of one builder. A zeroed one is empty. */
struct ascend_rows {
    struct ascend_rows_piece **pieces; /* see ascend_rows_walk */
    uint32_t piece_count;
    int64_t last_start_ns;
    struct ascend_flow *flows;
    uint32_t flow_count;
    struct ascend_label *labels;
    uint32_t label_count;
    struct ascend_sample *samples;
    uint32_t sample_count;
};

/* `row` has what is told outside its args, which are a JSON object (length 0: none). */
void ascend_rows_add(struct ascend_rows *rows, struct trace_builder *builder,
                     const struct ascend_row *row, const struct json_slice *args);
void ascend_rows_add_flow(struct ascend_rows *rows, const struct ascend_flow *flow);
/* A counter (phase C) without a category. */
void ascend_rows_add_sample(struct ascend_rows *rows, struct trace_builder *builder,
                            const struct ascend_sample *sample, const struct json_slice *name,
                            const struct json_slice *args);
/* The args of an event "process_labels": "NPU 3". */
void ascend_rows_add_label(struct ascend_rows *rows, uint32_t process,
                           const struct json_slice *args);
void ascend_rows_clear(struct ascend_rows *rows);

/* Turns the rows of all builders of a file into events of these builders. Where nothing says that
 * the file is one of Ascend's they are events of host threads. `rows[i]` is that of builders[i]. */
void ascend_rows_finish(struct ascend_rows *rows, struct trace_builder *builders, unsigned count);

/* After that and before trace_finish: all flows with strings of builders[0], which are those of the
 * trace to come. Takes them from the rows; free() *flows. */
uint32_t ascend_rows_take_flows(struct ascend_rows *rows, struct trace_builder *builders,
                                unsigned count, struct ascend_flow **flows);

/* After trace_finish: the tasks that flows lead to are of the operators that they come from; and
 * were launched by the calls, where nothing else tells that. */
void ascend_link_flows(struct trace *trace, struct ascend_flow *flows, uint32_t count);

#endif
