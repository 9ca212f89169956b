/* Logs of NeMo 2: "Training epoch 0, iteration 45/99 | lr: ... | global_step: 45 |
 * reduced_train_loss: 11.96 | train_step_timing in s: 6.08 | TFLOPS_per_GPU: 1.249e+03 | ...", and
 * what its DLLogger writes: 'DLLL {"timestamp": "1739210331.7", ..., "step": 16, "data": {...}}'.
 */
#include "readers/logs/log_format.h"
#include "readers/logs/log_time.h"

#include <stddef.h>
#include <string.h>

static const int64_t ns_per_second = 1000000000;

/* Places of reading->memory. */
enum {
    HAS_STEP, /* a line has told of one, */
    LAST_STEP,
};

/* The iteration counts within an epoch; the global step, where it is told, goes on over all. */
static bool nemo_log_take_step(struct log_text line, struct log_text *rest, struct job_event *event)
{
    int64_t epoch;
    struct log_text fields;

    if (!log_find_word(line, "Training epoch ", rest) || !log_take_integer(rest, false, &epoch) ||
        !log_skip(rest, ", iteration ") || !log_take_integer(rest, false, &event->step) ||
        !log_skip(rest, "/") || !log_take_integer(rest, false, &event->last_step))
        return false;
    if (log_find(*rest, "global_step: ", &fields))
        (void)log_take_integer(&fields, false, &event->step);
    return true;
}

static bool is_dllogger_step(struct log_text line)
{
    struct log_text rest;

    return log_find(line, "DLLL {", &line) && log_find(line, "\"step\": ", &rest) &&
           log_find(line, "\"train_step_timing in s\": ", &rest);
}

static bool nemo_log_recognises_line(struct log_text line)
{
    struct job_event event = job_event_of(JOB_STEP);
    struct log_text rest;

    return nemo_log_take_step(line, &rest, &event) || is_dllogger_step(line);
}

/* What stands behind `name`, within quotes or without. */
static bool find_member(struct log_text line, const char *name, struct log_text *value)
{
    if (!log_find(line, name, value))
        return false;
    (void)log_skip(value, "\"");
    return true;
}

/* Found by its members, in whatever order they stand. The length is loose: the timer measures
 * the step, not from one line's time stamp to the next. */
static enum log_line_use read_dllogger(struct log_reading *reading, struct log_text line)
{
    struct job_event event = job_event_of(JOB_STEP);
    struct log_text value;

    event.line = reading->line;
    if (!find_member(line, "\"step\": ", &value) || !log_take_integer(&value, false, &event.step))
        return LOG_LINE_NONE;
    if (find_member(line, "\"timestamp\": ", &value) && log_take_epoch(&value, &event.time_ns))
        event.clock = JOB_CLOCK_UTC;
    if (find_member(line, "\"train_step_timing in s\": ", &value))
        (void)log_take_length(&value, ns_per_second, &event.each_ns);
    if (find_member(line, "\"reduced_train_loss\": ", &value))
        (void)log_take_real(&value, false, &event.loss);
    event.is_length_loose = true;
    job_add(reading->job, &event);
    return LOG_LINE_USED;
}

static bool nemo_log_goes_on(struct log_text line)
{
    return memchr(line.at, '|', log_text_length(line)) != NULL;
}

/* Without its last field the line was wrapped: it is cut, and goes on in the next one. */
static enum log_line_use nemo_log_read_line(struct log_reading *reading, struct log_text line)
{
    struct job_event event = job_event_of(JOB_STEP), stamped;
    struct log_text fields, rest;
    double number;

    if (is_dllogger_step(line))
        return read_dllogger(reading, line);
    if (!nemo_log_take_step(line, &fields, &event)) {
        if (!log_find(line, "`Trainer.fit` stopped", &rest))
            return LOG_LINE_NONE;
        log_tell(reading, line, JOB_END);
        return LOG_LINE_USED;
    }
    if (!log_find(fields, "consumed_samples: ", &rest) && !reading->takes_cut_lines)
        return LOG_LINE_CUT;
    stamped = log_event(reading, line, JOB_STEP);
    stamped.step = event.step;
    stamped.last_step = event.last_step;
    event = stamped;
    /* the time is that of the last of them only */
    if (log_find(fields, "train_step_timing in s: ", &rest) &&
        (event.step == reading->memory[LAST_STEP] + 1 || !reading->memory[HAS_STEP]))
        (void)log_take_length(&rest, ns_per_second, &event.each_ns);
    if (log_find(fields, "reduced_train_loss: ", &rest))
        (void)log_take_real(&rest, false, &event.loss);
    if (log_find(fields, "TFLOPS_per_GPU: ", &rest) && log_take_real(&rest, false, &number))
        event.flops_per_second = number * 1e12;
    if (log_find(fields, "tokens_per_sec_per_gpu: ", &rest))
        (void)log_take_real(&rest, false, &event.tokens_per_second);
    reading->memory[HAS_STEP] = 1;
    event.is_length_loose = true;
    reading->memory[LAST_STEP] = event.step;
    job_add(reading->job, &event);
    return LOG_LINE_USED;
}

const struct log_format nemo_log_format = {
    .name = "nemo",
    .summary = "NeMo: 'Training epoch 0, iteration 45/99 | ... | train_step_timing in s: 6.08'",
    .recognises = nemo_log_recognises_line,
    .read = nemo_log_read_line,
    .goes_on = nemo_log_goes_on,
};
