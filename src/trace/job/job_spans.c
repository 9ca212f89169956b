/* Checkpoints, evaluations and restores of an attempt: from marks of their begin and end, and from
 * lengths that are told. */
#include "base/core/array.h"
#include "trace/job/job_build.h"

#include <stdlib.h>

static const int64_t ns_per_second = 1000000000;

void job_begin_span(struct job_building *building, const struct job_attempt *attempt,
                    enum job_span_kind kind, const struct job_event *event)
{
    struct job_open_span *open = &building->open[kind];

    if (open->is_open && open->after == attempt->step_count)
        return; /* another rank says so too */
    *open = (struct job_open_span){.is_open = true,
                                   .begin_ns = event->time_ns,
                                   .step = event->step,
                                   .after = attempt->step_count};
}

/* The span of the same kind that this one may be another rank's word of. Ranks tell of one
 * checkpoint each: theirs overlap, or end within a second of each other. */
static struct job_span *span_known_before(struct job_attempt *attempt, enum job_span_kind kind,
                                          const struct job_span *span)
{
    for (size_t i = attempt->span_count; i-- > 0;) {
        struct job_span *before = &attempt->spans[i];

        if (before->after != span->after)
            return NULL;
        if (before->kind != kind)
            continue;
        if (before->end_ns == JOB_NOT_KNOWN || span->end_ns == JOB_NOT_KNOWN)
            return before->duration_ns == JOB_NOT_KNOWN || span->duration_ns == JOB_NOT_KNOWN ||
                           before->duration_ns == span->duration_ns
                       ? before
                       : NULL;
        if (span->duration_ns == JOB_NOT_KNOWN ? span->end_ns <= before->end_ns + ns_per_second
                                               : span->end_ns - span->duration_ns < before->end_ns)
            return before;
        return NULL;
    }
    return NULL;
}

/* `before` becomes what both tell. */
static void join_spans(struct job_span *before, const struct job_span *span)
{
    if (before->end_ns != JOB_NOT_KNOWN && span->end_ns != JOB_NOT_KNOWN &&
        before->duration_ns != JOB_NOT_KNOWN && span->duration_ns != JOB_NOT_KNOWN) {
        int64_t begin_ns = before->end_ns - before->duration_ns;

        if (span->end_ns - span->duration_ns < begin_ns)
            begin_ns = span->end_ns - span->duration_ns;
        if (span->end_ns > before->end_ns)
            before->end_ns = span->end_ns;
        before->duration_ns = before->end_ns - begin_ns;
        return;
    }
    if (before->end_ns == JOB_NOT_KNOWN) {
        before->end_ns = span->end_ns;
    } else if (before->duration_ns != JOB_NOT_KNOWN && span->end_ns != JOB_NOT_KNOWN &&
               span->end_ns > before->end_ns) { /* the last rank to be done */
        before->duration_ns += span->end_ns - before->end_ns;
        before->end_ns = span->end_ns;
    }
    if (before->duration_ns == JOB_NOT_KNOWN)
        before->duration_ns = span->duration_ns;
    if (before->step == JOB_NOT_KNOWN)
        before->step = span->step;
}

/* A checkpoint whose end comes after further steps was written in the background: it cost
 * nothing. */
void job_end_span(struct job_building *building, struct job_attempt *attempt,
                  enum job_span_kind kind, const struct job_event *event)
{
    struct job_open_span *open = &building->open[kind];
    struct job_span span = {.kind = kind,
                            .step = event->step,
                            .end_ns = event->time_ns,
                            .duration_ns = event->each_ns,
                            .is_in_steps = event->is_in_steps,
                            .after = attempt->step_count};
    struct job_span *before;

    if (open->is_open) {
        if (span.step == JOB_NOT_KNOWN)
            span.step = open->step;
        if (span.duration_ns == JOB_NOT_KNOWN && open->after == attempt->step_count &&
            open->begin_ns != JOB_NOT_KNOWN && span.end_ns != JOB_NOT_KNOWN &&
            span.end_ns >= open->begin_ns)
            span.duration_ns = span.end_ns - open->begin_ns;
        if (span.duration_ns == JOB_NOT_KNOWN && open->after != attempt->step_count) {
            span.is_in_background = true;
            span.duration_ns = 0;
        }
        open->is_open = false;
    }
    before = span_known_before(attempt, kind, &span);
    if (before) {
        join_spans(before, &span);
        return;
    }
    ARRAY_ADD(attempt->spans, attempt->span_count, span);
}

int64_t job_spans_since(const struct job_attempt *attempt)
{
    const int64_t longest_ns = INT64_C(100000000000000000); /* three years */
    int64_t total_ns = 0;

    for (size_t i = attempt->span_count; i-- > 0;) {
        const struct job_span *span = &attempt->spans[i];

        if (span->after != attempt->step_count)
            break;
        if (span->duration_ns != JOB_NOT_KNOWN && total_ns < longest_ns)
            total_ns += span->duration_ns < longest_ns ? span->duration_ns : longest_ns;
    }
    return total_ns;
}

/* Clocks go forward on a Sunday night in all zones that do it, between one and four o'clock. */
bool job_is_spring_forward(int64_t time_ns, int64_t excess_ns)
{
    int64_t hour = time_ns / (3600 * ns_per_second);
    bool is_sunday = (hour / 24 + 4) % 7 == 0; /* 1970 began on a Thursday */

    return time_ns > 0 && is_sunday && hour % 24 >= 1 && hour % 24 <= 4 &&
           llabs(excess_ns - 3600 * ns_per_second) <= 2 * ns_per_second;
}
