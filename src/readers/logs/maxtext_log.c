/* Logs of MaxText: "completed step: 5, seconds: 5.668, TFLOP/s/device: 134.909, Tokens/s/device:
 * 8671.794, total_weights: 196608, loss: 10.879"; older ones "TFLOP/s: 36.7", some without
 * "completed ". */
#include "readers/logs/log_format.h"

#include <stddef.h>
#include <string.h>

static const int64_t ns_per_second = 1000000000;

static bool maxtext_log_take_step(struct log_text line, struct log_text *rest, int64_t *step)
{
    if (log_find_word(line, "completed step: ", rest))
        return log_take_integer(rest, false, step) && log_skip(rest, ",");
    return log_find_word(line, "step: ", rest) && log_take_integer(rest, false, step) &&
           log_skip(rest, ",") && log_text_length(*rest) > 10 &&
           memcmp(rest->at, " seconds: ", 10) == 0;
}

static bool maxtext_log_recognises_line(struct log_text line)
{
    struct log_text rest;
    int64_t step;

    return maxtext_log_take_step(line, &rest, &step);
}

/* Its seconds are from dispatch to dispatch, so the wall clock decides where both are known
 * (is_length_loose). */
static enum log_line_use maxtext_log_read_step(struct log_reading *reading, struct log_text line)
{
    struct job_event event = log_event(reading, line, JOB_STEP);
    struct log_text fields, rest;
    double number;

    if (!maxtext_log_take_step(line, &fields, &event.step))
        return LOG_LINE_NONE;
    event.count = 1;
    event.is_length_loose = true;
    if (log_find(fields, "seconds: ", &rest))
        (void)log_take_length(&rest, ns_per_second, &event.each_ns);
    if ((log_find(fields, "TFLOP/s/device: ", &rest) || log_find(fields, "TFLOP/s: ", &rest)) &&
        log_take_real(&rest, true, &number))
        event.flops_per_second = number * 1e12;
    if (log_find(fields, "Tokens/s/device: ", &rest))
        (void)log_take_real(&rest, true, &event.tokens_per_second);
    if (log_find(fields, " loss: ", &rest))
        (void)log_take_real(&rest, false, &event.loss);
    job_add(reading->job, &event);
    return LOG_LINE_USED;
}

/* Steps first, as they are most of the lines that say anything. Only an exit code of 0 is an
 * end: any other one is no proof that training was done. */
static enum log_line_use maxtext_log_read_line(struct log_reading *reading, struct log_text line)
{
    enum log_line_use use = maxtext_log_read_step(reading, line);
    struct log_text rest;

    if (use != LOG_LINE_NONE)
        return use;
    if (log_find(line, "eval metrics after step: ", &rest))
        log_tell(reading, line, JOB_EVALUATION_END);
    else if (log_find(line, "saved a checkpoint at step ", &rest))
        log_tell(reading, line, JOB_CHECKPOINT_END);
    else if (log_find(line, "EXIT_CODE=0", &rest))
        log_tell(reading, line, JOB_END);
    else
        return LOG_LINE_NONE;
    return LOG_LINE_USED;
}

/* A line without any of these is none of the above. */
static const char *const line_words[] = {"step: ", "saved a checkpoint at step ", "EXIT_CODE=0",
                                         NULL};

const struct log_format maxtext_log_format = {
    .name = "maxtext",
    .summary = "MaxText: 'completed step: 5, seconds: 5.668, TFLOP/s/device: ...'",
    .recognises = maxtext_log_recognises_line,
    .read = maxtext_log_read_line,
    .words = line_words,
};
