/* Logs with MLPerf's lines: ':::MLLOG {"time_ms": ..., "key": "run_start", ...}', as NeMo, MaxText
 * and others write them, wherever in a line they begin. */
#include "logs/log_format.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

static const int64_t ns_per_second = 1000000000, ns_per_ms = 1000000;
static const int64_t time_max_ms = INT64_C(4102444800000); /* 2100-01-01 */

/* Places of reading->memory. */
enum {
    STARTS,    /* init_start lines of this attempt: one a rank in some programs */
    BATCH,     /* samples a step; 0: not told */
    SEQUENCE,  /* tokens a sample */
    UNIT,      /* of the numbers that tell where training is, one step is so many; 0: not settled */
    LAST_STEP, /* number of the step told last */
    BLOCK_AT,  /* where the current block began, and how far it goes, in those numbers */
    BLOCK_LONG,
    HAS_EVALUATION, /* of this block: eval_start came */
    VALIDATION_NS,  /* of this block: steps of validation */
    HAS_STEPS,      /* lines tell of steps, not of blocks only */
    IS_NUMBERED,    /* the current block tells which steps it has */
    STRETCH,        /* what began the stretch of training that goes on; 0: none does */
    STRETCH_AT_NS,  /* when */
    STRETCHES,      /* how many have counted as a step each */
    STRETCH_NS,     /* length of the last of them */
    HAS_UNTOLD,     /* a block has ended of which only the start of the next one will tell steps */
};
_Static_assert((int)HAS_UNTOLD < (int)LOG_MEMORY, "places of reading->memory");

/* What begins a stretch of training. */
enum { BY_START = 1, BY_END_OF_EVALUATION };

/* One line. */
struct mlperf_line {
    struct log_text all;
    struct log_text key;
    struct log_text value;
    struct log_text metadata;
    int64_t time_ns;
};

static bool is_key(const struct mlperf_line *line, const char *key)
{
    size_t length = strlen(key);

    return log_text_length(line->key) == length && memcmp(line->key.at, key, length) == 0;
}

static bool take_line(struct log_text text, struct mlperf_line *line)
{
    struct log_text rest;
    const char *end;

    if (!log_find(text, ":::MLLOG ", &rest))
        return false;
    line->all = rest;
    if (!log_find(rest, "\"time_ms\": ", &rest) ||
        !log_take_integer(&rest, false, &line->time_ns) || line->time_ns < 0 ||
        line->time_ns > time_max_ms || !log_find(line->all, "\"key\": \"", &line->key))
        return false;
    line->time_ns *= ns_per_ms;
    end = memchr(line->key.at, '"', log_text_length(line->key));
    if (!end)
        return false;
    line->key.end = end;
    if (!log_find(line->all, "\"value\": ", &line->value))
        line->value = (struct log_text){text.end, text.end};
    if (!log_find(line->all, "\"metadata\": ", &line->metadata))
        line->metadata = (struct log_text){text.end, text.end};
    if (line->metadata.at > line->value.at)
        line->value.end = line->metadata.at;
    return true;
}

static bool recognises_line(struct log_text text)
{
    struct mlperf_line line;

    return take_line(text, &line);
}

static struct job_event event_of(const struct log_reading *reading, const struct mlperf_line *line,
                                 enum job_event_kind kind)
{
    struct job_event event = job_event_of(kind);

    event.time_ns = line->time_ns > 0 ? line->time_ns : JOB_NOT_KNOWN; /* 0: added by hand */
    event.clock = JOB_CLOCK_UTC;
    event.line = reading->line;
    return event;
}

static void tell(struct log_reading *reading, const struct mlperf_line *line,
                 enum job_event_kind kind)
{
    struct job_event event = event_of(reading, line, kind);

    job_add(reading->job, &event);
}

/* A number of the metadata or of a value that is an object: "step": 448.0. */
static bool take_member(struct log_text object, const char *name, int64_t *number)
{
    double real;

    if (!log_find(object, name, &object) || !log_take_real(&object, false, &real) ||
        !(real >= 0.0 && real < 4e18))
        return false;
    *number = (int64_t)real;
    return true;
}

/* The step that a count of tokens, samples or steps stands for. The first one tells which it is:
 * what one step of it divides. */
static int64_t step_at(struct log_reading *reading, int64_t count)
{
    int64_t batch = reading->memory[BATCH], tokens = batch * reading->memory[SEQUENCE];

    if (reading->memory[UNIT] == 0 && count > 0)
        reading->memory[UNIT] = tokens > 0 && count % tokens == 0 ? tokens
                                : batch > 0 && count % batch == 0 ? batch
                                                                  : 1;
    return reading->memory[UNIT] > 0 ? count / reading->memory[UNIT] : 0;
}

static void tell_step(struct log_reading *reading, struct job_event *event)
{
    if (event->step <= 0)
        return;
    if (event->step != reading->memory[LAST_STEP] + 1)
        event->each_ns = JOB_NOT_KNOWN; /* it is that of the last of them only */
    reading->memory[LAST_STEP] = event->step;
    job_add(reading->job, event);
}

/* "tracked_stats": an object with one of many things in it. */
static void read_stats(struct log_reading *reading, const struct mlperf_line *line)
{
    struct job_event event = event_of(reading, line, JOB_STEP);
    struct log_text rest;
    int64_t count, length_ns;

    if (log_find(line->value, "\"validation_step_time\": ", &rest) &&
        log_take_length(&rest, ns_per_second, &length_ns)) {
        reading->memory[VALIDATION_NS] += length_ns;
        return;
    }
    if (!log_find(line->value, "\"train_step_timing in s\": ", &rest) &&
        !log_find(line->value, "\"train_step_time\": ", &rest))
        return;
    (void)log_take_length(&rest, ns_per_second, &event.each_ns);
    event.is_length_loose = true;
    if (log_find(line->value, "loss\": ", &rest))
        (void)log_take_real(&rest, false, &event.loss);
    event.step = take_member(line->metadata, "\"step\": ", &count) ? step_at(reading, count)
                                                                   : reading->memory[LAST_STEP] + 1;
    reading->memory[HAS_STEPS] = 1;
    tell_step(reading, &event);
}

/* "train_loss" after so many samples. */
static void read_loss(struct log_reading *reading, const struct mlperf_line *line)
{
    struct job_event event = event_of(reading, line, JOB_STEP);
    struct log_text value = line->value;
    int64_t count;

    if (!take_member(line->metadata, "\"samples_count\": ", &count))
        return;
    (void)log_take_real(&value, false, &event.loss);
    event.step = step_at(reading, count);
    reading->memory[HAS_STEPS] = 1;
    tell_step(reading, &event);
}

static void begin_stretch(struct log_reading *reading, const struct mlperf_line *line, int by)
{
    reading->memory[STRETCH] = line->time_ns > 0 ? by : 0;
    reading->memory[STRETCH_AT_NS] = line->time_ns;
}

/* Where no line tells which steps were made, a stretch of training between evaluations, or the ends
 * of blocks or epochs, counts as one. What little lies between the last evaluation and the end of
 * its block is none. */
static void end_stretch(struct log_reading *reading, const struct mlperf_line *line,
                        bool is_evaluation)
{
    struct job_event event = event_of(reading, line, JOB_STEP);
    int64_t *memory = reading->memory;
    int64_t length_ns = line->time_ns - memory[STRETCH_AT_NS];
    int64_t by = memory[STRETCH];

    memory[STRETCH] = 0;
    if (!by || memory[HAS_STEPS] || memory[IS_NUMBERED] || length_ns <= 0 ||
        (by == BY_END_OF_EVALUATION && !is_evaluation && length_ns < memory[STRETCH_NS] / 20))
        return;
    if (memory[STRETCHES] == 0) {
        event.kind = JOB_UNNUMBERED;
        job_add(reading->job, &event);
        event.kind = JOB_STEP;
    }
    event.step = ++memory[STRETCHES];
    event.count = 1;
    event.each_ns = memory[STRETCH_NS] = length_ns;
    job_add(reading->job, &event);
}

/* Does the block count in samples or tokens, and not in epochs? */
static bool is_numbered(const int64_t *memory, const struct mlperf_line *line)
{
    int64_t batch = memory[BATCH], count;

    if (memory[UNIT] > 1 || take_member(line->metadata, "\"samples_count\": ", &count))
        return batch > 0;
    return batch > 1 && memory[BLOCK_LONG] >= batch && memory[BLOCK_LONG] % batch == 0 &&
           memory[BLOCK_AT] % batch == 0;
}

/* So many samples or tokens had been trained on by then. */
static void tell_steps_until(struct log_reading *reading, const struct mlperf_line *line,
                             int64_t count)
{
    struct job_event event = event_of(reading, line, JOB_STEP);
    int64_t *memory = reading->memory;

    event.step = step_at(reading, count);
    if (memory[HAS_STEPS] || event.step <= memory[LAST_STEP])
        return;
    if (memory[LAST_STEP] == 0)
        event.count = event.step;
    tell_step(reading, &event);
}

static void read_block_start(struct log_reading *reading, const struct mlperf_line *line)
{
    int64_t *memory = reading->memory;

    tell(reading, line, JOB_SIGN_OF_LIFE);
    memory[HAS_EVALUATION] = memory[VALIDATION_NS] = memory[BLOCK_LONG] = 0;
    (void)take_member(line->metadata, "\"first_epoch_num\": ", &memory[BLOCK_AT]);
    (void)take_member(line->metadata, "\"epoch_count\": ", &memory[BLOCK_LONG]);
    (void)take_member(line->metadata, "\"samples_count\": ", &memory[BLOCK_AT]);
    memory[IS_NUMBERED] = is_numbered(memory, line);
    if (memory[HAS_UNTOLD] && memory[IS_NUMBERED])
        tell_steps_until(reading, line, memory[BLOCK_AT]);
    memory[HAS_UNTOLD] = 0;
    begin_stretch(reading, line, BY_START);
}

/* What of the block no line has told of as a step. */
static void read_block_stop(struct log_reading *reading, const struct mlperf_line *line)
{
    struct job_event event = event_of(reading, line, JOB_STEP);
    int64_t *memory = reading->memory;
    int64_t count = memory[BLOCK_AT] + memory[BLOCK_LONG];
    bool has_samples = take_member(line->metadata, "\"samples_count\": ", &count);

    event.step = 0;
    if (!memory[HAS_STEPS] && !has_samples && memory[BLOCK_LONG] == 0 &&
        take_member(line->metadata, "\"first_epoch_num\": ", &count)) {
        memory[HAS_UNTOLD] = 1;
        memory[STRETCH] = 0;
        tell(reading, line, JOB_SIGN_OF_LIFE);
        return;
    }
    if (memory[HAS_STEPS])
        event.step = has_samples && memory[UNIT] ? count / memory[UNIT] : 0;
    else if (memory[IS_NUMBERED])
        event.step = step_at(reading, count);
    if (event.step > memory[LAST_STEP]) {
        if (memory[LAST_STEP] == 0 && memory[IS_NUMBERED])
            event.count = event.step - memory[BLOCK_AT] / memory[UNIT];
        tell_step(reading, &event);
    }
    end_stretch(reading, line, false);
    tell(reading, line, JOB_SIGN_OF_LIFE);
}

static void read_epoch_start(struct log_reading *reading, const struct mlperf_line *line)
{
    tell(reading, line, JOB_SIGN_OF_LIFE);
    begin_stretch(reading, line, BY_START);
}

static void read_epoch_stop(struct log_reading *reading, const struct mlperf_line *line)
{
    end_stretch(reading, line, false);
    tell(reading, line, JOB_SIGN_OF_LIFE);
}

static void read_evaluation_end(struct log_reading *reading, const struct mlperf_line *line)
{
    struct job_event event = event_of(reading, line, JOB_EVALUATION_END);

    if (!reading->memory[HAS_EVALUATION] && reading->memory[VALIDATION_NS] > 0)
        event.each_ns = reading->memory[VALIDATION_NS];
    reading->memory[VALIDATION_NS] = reading->memory[HAS_EVALUATION] = 0;
    job_add(reading->job, &event);
    begin_stretch(reading, line, BY_END_OF_EVALUATION);
}

static void read_run_stop(struct log_reading *reading, const struct mlperf_line *line)
{
    struct job_event event = event_of(reading, line, JOB_END);
    struct log_text rest;

    end_stretch(reading, line, false);
    if (log_find(line->metadata, "\"aborted\"", &rest)) {
        event.kind = JOB_STOP;
        event.text = "run_stop: aborted";
        event.text_length = strlen(event.text);
    }
    job_add(reading->job, &event);
}

static void read_start(struct log_reading *reading, const struct mlperf_line *line)
{
    reading->memory[STARTS]++;
    tell(reading, line, JOB_START);
}

static void read_run_start(struct log_reading *reading, const struct mlperf_line *line)
{
    struct job_event event = event_of(reading, line, JOB_TRAINING);

    if (reading->memory[STARTS] > 1)
        event.devices = reading->memory[STARTS];
    reading->memory[STARTS] = reading->memory[LAST_STEP] = 0;
    reading->memory[STRETCHES] = reading->memory[IS_NUMBERED] = 0;
    job_add(reading->job, &event);
    begin_stretch(reading, line, BY_START);
}

static void read_evaluation_start(struct log_reading *reading, const struct mlperf_line *line)
{
    int64_t count;

    reading->memory[HAS_EVALUATION] = 1;
    if (reading->memory[IS_NUMBERED] && take_member(line->metadata, "\"epoch_num\": ", &count))
        tell_steps_until(reading, line, count);
    end_stretch(reading, line, true);
    tell(reading, line, JOB_EVALUATION_BEGIN);
}

static void read_batch(struct log_reading *reading, const struct mlperf_line *line)
{
    struct log_text value = line->value;

    (void)log_take_integer(&value, false, &reading->memory[BATCH]);
}

static void read_sequence(struct log_reading *reading, const struct mlperf_line *line)
{
    struct log_text value = line->value;

    (void)log_take_integer(&value, false, &reading->memory[SEQUENCE]);
}

static const struct {
    const char *key;
    void (*read)(struct log_reading *reading, const struct mlperf_line *line);
} keys[] = {
    {"tracked_stats", read_stats},
    {"train_loss", read_loss},
    {"init_start", read_start},
    {"run_start", read_run_start},
    {"block_start", read_block_start},
    {"block_stop", read_block_stop},
    {"epoch_start", read_epoch_start},
    {"epoch_stop", read_epoch_stop},
    {"eval_start", read_evaluation_start},
    {"eval_stop", read_evaluation_end},
    {"run_stop", read_run_stop},
    {"global_batch_size", read_batch},
    {"max_sequence_length", read_sequence},
};

static enum log_line_use read_line(struct log_reading *reading, struct log_text text)
{
    struct mlperf_line line;

    if (!take_line(text, &line))
        return LOG_LINE_NONE;
    if (reading->memory[BATCH] > 1000000000 || reading->memory[SEQUENCE] > 1000000000)
        reading->memory[BATCH] = reading->memory[SEQUENCE] = 0;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (!is_key(&line, keys[i].key))
            continue;
        keys[i].read(reading, &line);
        return LOG_LINE_USED;
    }
    tell(reading, &line, JOB_SIGN_OF_LIFE);
    return LOG_LINE_USED;
}

/* A line without any of these is none of the above. */
static const char *const line_words[] = {":::MLLOG ", NULL};

const struct log_format mlperf_log_format = {
    .name = "mlperf",
    .summary = "MLPerf's ':::MLLOG {...}' lines, as NeMo and MaxText write them",
    .recognises = recognises_line,
    .read = read_line,
    .words = line_words,
};
