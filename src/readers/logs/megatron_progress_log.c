/* progress.txt, which Megatron-LM keeps beside its checkpoints with --log-progress: starts of jobs,
 * and checkpoints with the throughput since. */
#include "readers/logs/log_format.h"

#include <stddef.h>

/* Places of reading->memory. */
enum {
    DEVICES,
    HAS_TRAINED,    /* a checkpoint of this attempt has been told of */
    FLOPS_AT_START, /* of the whole job, in units of 1e15: when the attempt began */
    FLOPS_SO_FAR,
    SAVED_STEP, /* of the last checkpoint: a start goes on from there */
    HAS_START,
    START_NS, /* of the attempt: no throughput makes its training begin before */
};
static const double flops_unit = 1e15;

static bool megatron_progress_log_recognises_line(struct log_text line)
{
    struct log_text rest;

    return log_find(line, "\tJob ID: ", &rest) && log_find(rest, "\t# GPUs: ", &rest);
}

/* The number of floating-point operations, in our units; 0: none that fits. */
static int64_t read_flops(struct log_text line)
{
    double flops;

    return log_find(line, "Floating-point operations: ", &line) &&
                   log_take_real(&line, false, &flops) && flops > 0.0 && flops < 9e33
               ? (int64_t)(flops / flops_unit)
               : 0;
}

/* The throughput of the attempt is its operations divided by the time since its training began:
 * which tells that time. */
static void tell_training(struct log_reading *reading, const struct job_event *checkpoint)
{
    struct job_event event = job_event_of(JOB_TRAINING);
    double flops =
        (double)(reading->memory[FLOPS_SO_FAR] - reading->memory[FLOPS_AT_START]) * flops_unit;
    double rate = checkpoint->flops_per_second * (double)reading->memory[DEVICES];
    double since_ns = flops / rate * 1e9;

    if (reading->memory[HAS_TRAINED])
        return;
    event.step = reading->memory[SAVED_STEP];
    event.line = reading->line;
    if (checkpoint->time_ns != JOB_NOT_KNOWN && since_ns > 0.0 && since_ns < 9e17) {
        event.time_ns = checkpoint->time_ns - (int64_t)since_ns;
        if (reading->memory[HAS_START] && event.time_ns < reading->memory[START_NS])
            event.time_ns = reading->memory[START_NS];
        event.clock = checkpoint->clock;
    }
    job_add(reading->job, &event);
}

/* A progress file has one line per checkpoint and none per step: each tells that the steps so
 * far were done, and that they were saved. */
static void read_checkpoint(struct log_reading *reading, struct log_text line, struct log_text rest)
{
    struct job_event event = log_event(reading, line, JOB_STEP);
    double tflops;

    if (!log_take_integer(&rest, false, &event.step))
        return;
    if (log_find(rest, "Job throughput: ", &rest) && log_take_real(&rest, false, &tflops))
        event.flops_per_second = tflops * 1e12;
    if (read_flops(line))
        reading->memory[FLOPS_SO_FAR] = read_flops(line);
    tell_training(reading, &event);
    reading->memory[HAS_TRAINED] = 1;
    job_add(reading->job, &event);
    reading->memory[SAVED_STEP] = event.step;
    event.kind = JOB_CHECKPOINT_END;
    job_add(reading->job, &event);
}

/* An async checkpoint is told of twice, when it is begun and when it is done. */
static enum log_line_use megatron_progress_log_read_line(struct log_reading *reading,
                                                         struct log_text line)
{
    struct log_text rest;

    if (!megatron_progress_log_recognises_line(line))
        return LOG_LINE_NONE;
    if (log_find(line, "\t# GPUs: ", &rest))
        (void)log_take_integer(&rest, false, &reading->memory[DEVICES]);
    if (log_find(line, "\tIteration: ", &rest)) {
        struct log_text saved;

        if (log_find(line, "Saved async checkpoint", &saved))
            return LOG_LINE_USED; /* its save was told of before */
        read_checkpoint(reading, line, rest);
    } else if (log_find(line, "\tStarting job", &rest)) {
        struct job_event event = log_event(reading, line, JOB_START);

        event.devices = reading->memory[DEVICES];
        reading->memory[HAS_TRAINED] = 0;
        reading->memory[FLOPS_AT_START] = reading->memory[FLOPS_SO_FAR];
        reading->memory[HAS_START] = event.time_ns != JOB_NOT_KNOWN;
        reading->memory[START_NS] = event.time_ns;
        job_add(reading->job, &event);
    }
    return LOG_LINE_USED;
}

const struct log_format megatron_progress_log_format = {
    .name = "megatron-progress",
    .summary = "progress.txt of Megatron-LM (--log-progress)",
    .recognises = megatron_progress_log_recognises_line,
    .read = megatron_progress_log_read_line,
};
