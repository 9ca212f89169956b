/* Logs of DeepSpeed's engines: "[Rank 0] step=10, skipped=0, lr=[...], mom=[...]", of its pipelines
 * "steps: 10 loss: 2.3 iter time (s): 1.23 samples/sec: 100.0", and where neither is printed, of
 * its timer "epoch=0/micro_step=40/global_step=10, RunningAvgSamplesPerSec=...". */
#include "readers/logs/log_format.h"

#include <stddef.h>

static const int64_t ns_per_second = 1000000000;

/* Places of reading->memory. */
enum {
    HAS_SKIPPED, /* an earlier line told */
    SKIPPED_SO_FAR,
    HAS_STEPS, /* lines other than the timer's tell of steps */
};

static bool parse_engine(struct log_text line, struct job_event *event, int64_t *skipped)
{
    struct log_text rest;

    return log_find_word(line, "step=", &rest) && log_take_integer(&rest, false, &event->step) &&
           log_skip(&rest, ", skipped=") && log_take_integer(&rest, false, skipped) &&
           log_find(rest, "lr=", &rest);
}

/* All parts in their order, or it is another line: "steps: " alone is said by many programs. */
static bool parse_pipeline(struct log_text line, struct job_event *event)
{
    struct log_text rest;

    if (!log_find_word(line, "steps: ", &rest) || !log_take_integer(&rest, false, &event->step) ||
        !log_skip(&rest, " loss: ") || !log_take_real(&rest, false, &event->loss))
        return false;
    return log_find(rest, "iter time (s): ", &rest) &&
           log_take_length(&rest, ns_per_second, &event->each_ns);
}

/* Printed by the timer of the engine; it counts where no other line tells of steps. */
static bool deepspeed_log_take_timer(struct log_text line, struct job_event *event)
{
    struct log_text rest;

    return log_find(line, "/global_step=", &rest) && log_take_integer(&rest, false, &event->step) &&
           log_skip(&rest, ", RunningAvgSamplesPerSec=");
}

static bool deepspeed_log_recognises_line(struct log_text line)
{
    struct job_event event = job_event_of(JOB_STEP);
    int64_t skipped;

    return parse_engine(line, &event, &skipped) || parse_pipeline(line, &event) ||
           deepspeed_log_take_timer(line, &event);
}

/* One wording stands for begin and end of a checkpoint, told apart by "is ready now" behind
 * the step. The first letter is left out, so that it may be written large or small. */
static enum log_line_use deepspeed_log_read_mark(struct log_reading *reading, struct log_text line)
{
    struct log_text rest;
    struct job_event event;

    if (log_find(line, "heckpoint global_step", &rest)) {
        struct log_text ready;

        event = log_event(reading, line,
                          log_find(rest, "is ready now", &ready) ? JOB_CHECKPOINT_END
                                                                 : JOB_CHECKPOINT_BEGIN);
    } else if (log_find(line, "[Torch] Loading checkpoint from ", &rest)) {
        log_tell(reading, line, JOB_RESTORE_BEGIN);
        return LOG_LINE_USED;
    } else {
        return LOG_LINE_NONE;
    }
    (void)log_take_integer(&rest, false, &event.step);
    job_add(reading->job, &event);
    return LOG_LINE_USED;
}

/* "skipped" counts from the beginning of the run: what was added since the line before is this
 * line's. */
static enum log_line_use deepspeed_log_read_line(struct log_reading *reading, struct log_text line)
{
    struct job_event event = log_event(reading, line, JOB_STEP);
    int64_t skipped = 0;

    if (parse_engine(line, &event, &skipped)) {
        event.skipped = log_newly_skipped(&reading->memory[HAS_SKIPPED],
                                          &reading->memory[SKIPPED_SO_FAR], skipped);
    } else if (!parse_pipeline(line, &event)) {
        if (!deepspeed_log_take_timer(line, &event))
            return deepspeed_log_read_mark(reading, line);
        if (!reading->memory[HAS_STEPS])
            job_add(reading->job, &event);
        return LOG_LINE_USED;
    }
    reading->memory[HAS_STEPS] = 1;
    job_add(reading->job, &event);
    return LOG_LINE_USED;
}

const struct log_format deepspeed_log_format = {
    .name = "deepspeed",
    .summary = "DeepSpeed: '[Rank 0] step=10, skipped=0, lr=[...]', 'steps: 10 loss: ...'",
    .recognises = deepspeed_log_recognises_line,
    .gives_way = true,
    .read = deepspeed_log_read_line,
};
