/* Logs of torchtitan and its children: "... - root - INFO - step: 10  loss: 10.7069  memory: ...
 * tps: 7,034  tflops: 407.35  mfu: 41.19%". */
#include "readers/logs/log_format.h"

#include <stddef.h>
#include <string.h>

static const int64_t ns_per_second = 1000000000;

/* "step: 10  loss:", "step: 640/644 = 99.4%  loss:"; not "validate step: 10  loss:". */
static bool torchtitan_log_take_step(struct log_text line, struct job_event *event,
                                     struct log_text *fields)
{
    struct log_text before = {line.at, line.at};
    struct log_text rest;

    if (!log_find_word(line, "step:", &rest))
        return false;
    before.end = rest.at - 5;
    if (log_text_length(before) >= 9 && memcmp(before.end - 9, "validate ", 9) == 0)
        return false;
    if (!log_take_integer(&rest, true, &event->step))
        return false;
    if (log_skip(&rest, "/") && !log_take_integer(&rest, true, &event->last_step))
        return false;
    *fields = rest;
    return rest.at < rest.end && (*rest.at == ' ' || *rest.at == '\t') &&
           log_find(rest, "  loss:", &rest);
}

static bool torchtitan_log_recognises_line(struct log_text line)
{
    struct job_event event = job_event_of(JOB_STEP);
    struct log_text fields;

    return torchtitan_log_take_step(line, &event, &fields);
}

/* Two spaces before "loss": "grad_loss" and the like are other values. "wps" is what older
 * versions call tokens per second. */
static void torchtitan_log_take_fields(struct log_text fields, struct job_event *event)
{
    struct log_text rest;
    double number;

    if (log_find(fields, "  loss:", &rest))
        (void)log_take_real(&rest, false, &event->loss);
    if (log_find(fields, "tps:", &rest) || log_find(fields, "wps:", &rest))
        (void)log_take_real(&rest, true, &event->tokens_per_second);
    if (log_find(fields, "tflops:", &rest) && log_take_real(&rest, true, &number))
        event->flops_per_second = number * 1e12;
    if (log_find(fields, "mfu:", &rest) && log_take_real(&rest, true, &number))
        event->mfu = number / 100.0;
}

/* The sizes of a device mesh multiplied: "with ['dp', 'tp'], [4, 2]", or "parallelism: pp=1,
 * dp_replicate=1, dp_shard=8, ...", of which the last ones divide others. */
static int64_t mesh_size(struct log_text line)
{
    static const char *const divided[] = {"pp=", "dp_replicate=", "dp_shard=", "dp=", "cp=", "tp="};
    struct log_text rest;
    int64_t size = 1, part;

    if (log_find(line, "parallelism:", &line)) {
        for (size_t i = 0; i < sizeof divided / sizeof *divided; i++)
            if (log_find_word(line, divided[i], &rest) && log_take_integer(&rest, false, &part) &&
                part > 0 && part < 1000000)
                size *= part;
        return size < 10000000 ? size : 0;
    }
    if (!log_find(line, "], [", &rest))
        return 0;
    do {
        if (!log_take_integer(&rest, false, &part) || part < 1 || size > 10000000 / part)
            return 0;
        size *= part;
    } while (log_skip(&rest, ","));
    return size;
}

/* What lines with these words tell. */
static const struct {
    const char *words;
    enum job_event_kind kind;
    const char *before_step;   /* NULL: none */
    const char *before_length; /* of seconds; NULL: none */
} mark_lines[] = {
    {"Starting job: ", JOB_START, NULL, NULL},
    {"Loading the checkpoint", JOB_RESTORE_BEGIN, "at step ", NULL},
    {"Finished loading the checkpoint in ", JOB_RESTORE_END, NULL, "checkpoint in "},
    {"Saving the checkpoint", JOB_CHECKPOINT_BEGIN, NULL, NULL},
    {"Saving a full checkpoint", JOB_CHECKPOINT_BEGIN, ", step ", NULL},
    {"Saving a model only checkpoint", JOB_CHECKPOINT_BEGIN, ", step ", NULL},
    {"Saving a model weights only checkpoint", JOB_CHECKPOINT_BEGIN, "step ", NULL},
    {"Finished saving the checkpoint", JOB_CHECKPOINT_END, NULL, "in "},
    {"validate step:", JOB_EVALUATION_END, NULL, NULL},
    {"Training completed", JOB_END, NULL, NULL},
};

/* What stands before a number is sought from the begin of the mark and not from behind it, as
 * it may be a part of the mark itself ("checkpoint in "). A length counts only with its unit
 * behind it. */
static enum log_line_use torchtitan_log_read_mark(struct log_reading *reading, struct log_text line)
{
    for (size_t i = 0; i < sizeof mark_lines / sizeof *mark_lines; i++) {
        struct job_event event;
        struct log_text rest, words;

        if (!log_find_word(line, mark_lines[i].words, &words))
            continue;
        event = log_event(reading, line, mark_lines[i].kind);
        words.at -= strlen(mark_lines[i].words);
        if (mark_lines[i].before_step && log_find(words, mark_lines[i].before_step, &rest))
            (void)log_take_integer(&rest, true, &event.step);
        if (mark_lines[i].before_length && log_find(words, mark_lines[i].before_length, &rest) &&
            log_find(rest, " seconds", &words))
            (void)log_take_length(&rest, ns_per_second, &event.each_ns);
        job_add(reading->job, &event);
        return LOG_LINE_USED;
    }
    return LOG_LINE_NONE;
}

/* "Training starts at step 101, with local batch size 8, ..., total steps 1000 (warmup 200)." It
 * names the step that comes next. */
static bool read_training(struct log_reading *reading, struct log_text line)
{
    struct job_event event;
    struct log_text rest;

    if (!log_find_word(line, "Training starts at step ", &rest))
        return false;
    event = log_event(reading, line, JOB_TRAINING);
    if (log_take_integer(&rest, true, &event.step))
        event.step--;
    job_add(reading->job, &event);
    return true;
}

/* The line's time is parsed once it is known to tell of a step: other lines don't pay for it. */
static enum log_line_use torchtitan_log_read_line(struct log_reading *reading, struct log_text line)
{
    struct job_event event = job_event_of(JOB_STEP);
    struct log_text fields, rest;

    if (torchtitan_log_take_step(line, &event, &fields)) {
        struct job_event timed = log_event(reading, line, JOB_STEP);

        timed.step = event.step;
        timed.last_step = event.last_step;
        torchtitan_log_take_fields(fields, &timed);
        job_add(reading->job, &timed);
        return LOG_LINE_USED;
    }
    if (log_find(line, "device mesh with ", &rest)) {
        event = log_event(reading, line, JOB_START);
        event.devices = mesh_size(rest);
        job_add(reading->job, &event);
        return LOG_LINE_USED;
    }
    return read_training(reading, line) ? LOG_LINE_USED : torchtitan_log_read_mark(reading, line);
}

/* A line without any of these is none of the above. */
static const char *const line_words[] = {"step:",
                                         "device mesh with ",
                                         "Training starts at step ",
                                         "Training completed",
                                         "Starting job: ",
                                         "the checkpoint",
                                         "full checkpoint",
                                         "model only checkpoint",
                                         "weights only checkpoint",
                                         NULL};

const struct log_format torchtitan_log_format = {
    .name = "torchtitan",
    .summary = "torchtitan: 'step: 10  loss: 10.7  memory: ...  tps: 7,034  tflops: ...'",
    .recognises = torchtitan_log_recognises_line,
    .read = torchtitan_log_read_line,
    .words = line_words,
};
