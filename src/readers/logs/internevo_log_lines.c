/* Logs of InternEvo and InternLM in their variants: "... tflops=63.2 step=0 loss=11.6 tgs
 * (tokens/gpu/second)=1424.6 ...", with spaces or commas between. */
#include "readers/logs/log_format.h"

#include <stddef.h>

static const int64_t ns_per_second = 1000000000;

/* Places of reading->memory. */
enum {
    HAS_SKIPPED, /* an earlier line of this attempt told */
    SKIPPED_SO_FAR,
};

/* The text behind "name=", which stands behind a space, a comma, or "tflops" begins the fields. */
static bool internevo_log_lines_find_field(struct log_text line, const char *name,
                                           struct log_text *value)
{
    const char *begin = line.at;

    while (log_find(line, name, &line)) {
        const char *found = line.at;

        while (found > begin && found[-1] != ' ' && found[-1] != ',' && found[-1] != '\t')
            found--;
        *value = line;
        line.at = found;
        if (log_skip(&line, name))
            return true;
        line.at = value->at;
    }
    return false;
}

static bool internevo_log_lines_recognises_line(struct log_text line)
{
    struct log_text rest;

    return log_find(line, "tgs (tokens/gpu/second)=", &rest) &&
           internevo_log_lines_find_field(line, "step=", &rest) &&
           internevo_log_lines_find_field(line, "loss=", &rest);
}

/* A step 0 begins a run: its count of skipped batches is its own. */
static enum log_line_use internevo_log_lines_read_step(struct log_reading *reading,
                                                       struct log_text line)
{
    struct job_event event = log_event(reading, line, JOB_STEP);
    struct log_text rest;
    double number;
    int64_t skipped;

    if (!internevo_log_lines_find_field(line, "step=", &rest) ||
        !log_take_integer(&rest, false, &event.step))
        return LOG_LINE_NONE;
    if (internevo_log_lines_find_field(line, "loss=", &rest))
        (void)log_take_real(&rest, false, &event.loss);
    if (internevo_log_lines_find_field(line, "tflops=", &rest) &&
        log_take_real(&rest, false, &number))
        event.flops_per_second = number * 1e12;
    if (log_find(line, "tgs (tokens/gpu/second)=", &rest))
        (void)log_take_real(&rest, false, &event.tokens_per_second);
    if (internevo_log_lines_find_field(line, "inf_nan_skip_batches=", &rest) &&
        log_take_integer(&rest, false, &skipped)) {
        event.skipped = log_newly_skipped(&reading->memory[HAS_SKIPPED],
                                          &reading->memory[SKIPPED_SO_FAR], skipped);
        if (event.step == 0)
            event.skipped = skipped;
    }
    job_add(reading->job, &event);
    return LOG_LINE_USED;
}

/* "... data parallel size: 4, pipeline parallel size: 1, tensor parallel size: 2": all devices. */
static void read_parallel_sizes(struct log_reading *reading, struct log_text line)
{
    static const char *const names[] = {
        "data parallel size: ", "pipeline parallel size: ", "tensor parallel size: "};
    struct job_event event = log_event(reading, line, JOB_START);
    struct log_text rest;
    int64_t size;

    event.devices = 1;
    reading->memory[HAS_SKIPPED] = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (log_find(line, names[i], &rest) && log_take_integer(&rest, false, &size) && size > 0 &&
            size < 1000000)
            event.devices *= size;
    job_add(reading->job, &event);
}

/* Lines of steps are nearly all there are, so they are tried first. A checkpoint's number
 * stands in quotes in some versions, behind "batch count:". */
static enum log_line_use internevo_log_lines_read_line(struct log_reading *reading,
                                                       struct log_text line)
{
    struct job_event event;
    struct log_text rest;

    if (log_find(line, "tgs (tokens/gpu/second)=", &rest))
        return internevo_log_lines_read_step(reading, line);
    if (log_find(line, "Distributed environment is initialized", &rest)) {
        read_parallel_sizes(reading, line);
    } else if (log_find(line, "Saving checkpoint to ", &rest)) {
        event = log_event(reading, line, JOB_CHECKPOINT_BEGIN);
        if (log_find(rest, "batch count:", &rest)) {
            while (log_skip(&rest, " ") || log_skip(&rest, "`"))
                continue;
            (void)log_take_integer(&rest, false, &event.step);
        }
        job_add(reading->job, &event);
    } else if (log_find(line, "save ckpt use ", &rest)) {
        event = log_event(reading, line, JOB_CHECKPOINT_END);
        (void)log_take_length(&rest, ns_per_second, &event.each_ns);
        job_add(reading->job, &event);
    } else if (log_find(line, "===Resume training from ", &rest) ||
               log_find(line, "===New Run ", &rest)) {
        log_tell(reading, line, JOB_START);
    } else {
        return LOG_LINE_NONE;
    }
    return LOG_LINE_USED;
}

/* A line without any of these is none of the above. */
static const char *const line_words[] = {"tgs (tokens/gpu/second)=",
                                         "Distributed environment is initialized",
                                         "Saving checkpoint to ",
                                         "save ckpt use ",
                                         "===Resume training from ",
                                         "===New Run ",
                                         NULL};

const struct log_format internevo_log_lines_format = {
    .name = "internevo",
    .summary = "InternEvo, InternLM: 'tflops=63.2 step=0 loss=11.6 tgs (tokens/gpu/second)=...'",
    .recognises = internevo_log_lines_recognises_line,
    .read = internevo_log_lines_read_line,
    .words = line_words,
};
