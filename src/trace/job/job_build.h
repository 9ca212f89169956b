/* What the files that make a job out of its events share. */
#ifndef FLOPLEDGER_TRACE_JOB_JOB_BUILD_H
#define FLOPLEDGER_TRACE_JOB_JOB_BUILD_H

#include "trace/job/job.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { JOB_SPAN_KINDS = JOB_SPAN_EVALUATION + 1 };

/* A span that has begun. */
struct job_open_span {
    bool is_open;
    int64_t begin_ns;
    int64_t step;
    size_t after;
};

enum { JOB_CLOCKS = JOB_CLOCK_UTC + 1 };

/* What one kind of clock has told of an attempt. */
struct job_clock_times {
    int64_t start_ns;
    int64_t training_ns;
    int64_t end_ns;
};

/* What is remembered from one event to the next; begun anew with each attempt. */
struct job_building {
    size_t attempt; /* index of the current one; SIZE_MAX: the source has none yet */
    struct job_clock_times times[JOB_CLOCKS]; /* until a step tells which clock counts */
    struct job_open_span open[JOB_SPAN_KINDS];
    int64_t returns; /* how often a file went back to an attempt that another had followed */
};

void job_add_remark(struct job *job, struct job_remark remark);

/* The last attempt of the last source gets its times. */
void job_resolve(struct job *job);

void job_attempt_clear(struct job_attempt *attempt);

/* Marks the sources that are copies of others, and adds a remark for each. Attempts must stand in
 * the order of their sources. O(n log n) of all steps. */
void job_leave_out_copies(struct job *job);

void job_begin_span(struct job_building *building, const struct job_attempt *attempt,
                    enum job_span_kind kind, const struct job_event *event);
void job_end_span(struct job_building *building, struct job_attempt *attempt,
                  enum job_span_kind kind, const struct job_event *event);

/* Time for which training stood still since the attempt's last step, as far as it is told. */
int64_t job_spans_since(const struct job_attempt *attempt);

/* Is `excess_ns` the hour that clocks are put forward by, and `time_ns` (of a clock on the wall) a
 * time just after one is? Clocks are put forward on Sundays, between 0 and 4 o'clock. */
bool job_is_spring_forward(int64_t time_ns, int64_t excess_ns);

#endif
