/* Event files of DLRover's trainers: "[2025-04-21T23:31:09.074419] [426] [22b7ca89]
 * [AtorchTrainerV2] [#step] [BEGIN] {"global_step": 177018, ...}". */
#include "readers/logs/log_format.h"

#include <stddef.h>

/* Places of reading->memory. */
enum {
    HAS_BEGUN, /* a step, */
    BEGAN_NS,  /* then */
    HAS_TRAINED,
    LAST_STEP,
};

/* What spans are called. */
static const struct {
    const char *name;
    enum job_event_kind begin;
    enum job_event_kind end;
} spans[] = {
    {"[#save", JOB_CHECKPOINT_BEGIN, JOB_CHECKPOINT_END},
    {"[#eval", JOB_EVALUATION_BEGIN, JOB_EVALUATION_END},
    {"[#predict", JOB_EVALUATION_BEGIN, JOB_EVALUATION_END},
    {"[#load", JOB_RESTORE_BEGIN, JOB_RESTORE_END},
};

static bool dlrover_events_recognises_line(struct log_text line)
{
    struct log_text rest;

    return log_find(line, "] [#", &rest) &&
           (log_find(rest, "] [BEGIN] {", &line) || log_find(rest, "] [END] {", &line) ||
            log_find(rest, "] [INSTANT] {", &line)) &&
           log_find(line, "\"global_step\": ", &rest);
}

static void parse_step_number(struct log_text line, struct job_event *event)
{
    if (log_find(line, "\"global_step\": ", &line))
        (void)log_take_integer(&line, false, &event->step);
}

/* The number at the end of a step is that of the steps made; the first begin is where training
 * goes on. */
static void dlrover_events_read_step(struct log_reading *reading, struct log_text line, bool is_end)
{
    struct job_event event = log_event(reading, line, is_end ? JOB_STEP : JOB_TRAINING);
    int64_t *memory = reading->memory;

    parse_step_number(line, &event);
    if (!is_end) {
        memory[HAS_BEGUN] = event.time_ns != JOB_NOT_KNOWN;
        memory[BEGAN_NS] = event.time_ns;
        if (!memory[HAS_TRAINED] || event.step < memory[LAST_STEP])
            job_add(reading->job, &event);
        memory[HAS_TRAINED] = 1;
        return;
    }
    if (memory[HAS_BEGUN] && event.time_ns != JOB_NOT_KNOWN && event.time_ns >= memory[BEGAN_NS])
        event.each_ns = event.time_ns - memory[BEGAN_NS];
    event.count = 1;
    memory[HAS_BEGUN] = 0;
    if (event.step == JOB_NOT_KNOWN)
        return;
    memory[LAST_STEP] = event.step;
    job_add(reading->job, &event);
}

/* A checkpoint of weights proves that their steps were made, though no line told of them. */
static void read_proof(struct log_reading *reading, struct log_text line)
{
    struct job_event event = log_event(reading, line, JOB_STEP);
    int64_t *memory = reading->memory;

    parse_step_number(line, &event);
    if (!memory[HAS_TRAINED] || event.step <= memory[LAST_STEP])
        return;
    event.count = event.step - memory[LAST_STEP];
    memory[LAST_STEP] = event.step;
    memory[HAS_BEGUN] = 0;
    job_add(reading->job, &event);
}

/* "logs" of the step that was made last: its rates. */
static void read_rates(struct log_reading *reading, struct log_text line)
{
    const double flops_per_tflop = 1e12;
    struct job_event event = log_event(reading, line, JOB_STEP);
    struct log_text rest;

    parse_step_number(line, &event);
    if (event.step != reading->memory[LAST_STEP] || !log_find(line, "\"logs\": {", &line))
        return;
    if (log_find(line, "\"TFLOPS\": ", &rest) &&
        log_take_real(&rest, false, &event.flops_per_second))
        event.flops_per_second *= flops_per_tflop;
    if (log_find(line, "\"lm loss\": ", &rest) || log_find(line, "\"loss\": ", &rest))
        (void)log_take_real(&rest, false, &event.loss);
    if (log_find(line, "\"number of skipped iterations\": ", &rest))
        (void)log_take_integer(&rest, false, &event.skipped);
    job_add(reading->job, &event);
}

/* A checkpoint's begin may come before the line of the step that it holds, so it proves that
 * step first. */
static enum log_line_use dlrover_events_read_line(struct log_reading *reading, struct log_text line)
{
    struct log_text rest;
    bool is_end;

    if (!dlrover_events_recognises_line(line))
        return LOG_LINE_NONE;
    is_end = log_find(line, "] [END] {", &rest);
    if (log_find(line, "[#step]", &rest)) {
        dlrover_events_read_step(reading, line, is_end);
        return LOG_LINE_USED;
    }
    if (log_find(line, "[#log] [INSTANT]", &rest)) {
        read_rates(reading, line);
        return LOG_LINE_USED;
    }
    for (size_t i = 0; i < sizeof spans / sizeof *spans; i++) {
        struct job_event event;

        if (!log_find(line, spans[i].name, &rest))
            continue;
        if (spans[i].begin == JOB_CHECKPOINT_BEGIN && !is_end)
            read_proof(reading, line);
        event = log_event(reading, line, is_end ? spans[i].end : spans[i].begin);
        parse_step_number(line, &event);
        job_add(reading->job, &event);
        return LOG_LINE_USED;
    }
    return LOG_LINE_NONE;
}

const struct log_format dlrover_events_format = {
    .name = "dlrover-events",
    .summary = "event files of DLRover: '[...] [AtorchTrainerV2] [#step] [BEGIN] {...}'",
    .recognises = dlrover_events_recognises_line,
    .read = dlrover_events_read_line,
};
