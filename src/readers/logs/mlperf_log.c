/* Logs with MLPerf's lines: ':::MLLOG {"time_ms": ..., "key": "run_start", ...}', as NeMo, MaxText
 * and others write them, wherever in a line they begin. */
#include "readers/logs/log_format.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

static const int64_t ns_per_second = 1000000000, ns_per_ms = 1000000;
static const int64_t time_max_ms = INT64_C(4102444800000); /* 2100-01-01 */

/* Places of reading->memory. */
enum {
    STARTS,      /* init_start lines of this attempt: one a rank in some programs */
    BATCH,       /* samples a step; 0: not told */
    SEQUENCE,    /* tokens a sample */
    UNIT,        /* of counts whose name does not tell, one step is so many; 0: not settled */
    STEPS,       /* of this run, told so far */
    FLAGS,       /* as below */
    TRAINS_FROM, /* when the stretch of training that goes on began; 0: none does */
    UNTOLD_NS,   /* training that ended, and that no line has told the steps of yet */
    ENDED_AT,    /* when the last of that ended */
    BLOCK_AT,    /* where the current block began, and how far it goes, in what it counts by */
    BLOCK_LONG,
    BLOCK_STEPS,   /* of the blocks that were told as one piece, where all had as many; 0: none yet,
                      negative: they differ */
    BLOCK_NS,      /* length of the last of them */
    VALIDATION_NS, /* steps of validation that were told */
    STRETCHES,     /* how many have counted as a step each */
    STRETCH_NS,    /* length of the last of them */
};
_Static_assert((int)STRETCH_NS < (int)LOG_MEMORY, "places of reading->memory");

/* What is known of the run: bits of memory[FLAGS]. */
enum {
    HAS_BLOCKS = 1,
    IN_BLOCK = 2,
    HAS_EPOCHS = 4,
    IN_EPOCH = 8,
    HAS_EVALUATIONS = 16, /* eval_start came */
    IN_EVALUATION = 32,
    IS_NUMBERED = 64,        /* lines tell how many steps, samples or tokens it has come to */
    IS_BLOCK_NUMBERED = 128, /* the current block's numbers are samples or tokens, no epochs */
    AFTER_EVALUATION = 256,  /* an evaluation began the stretch that goes on, by its end */
    IS_START_KNOWN = 1024,   /* a block has told how many steps there were before */
    IS_LENGTH_LOST = 512,    /* some of the training that is not told yet has no times */
};

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

/* The object is searched, not parsed: lines may be cut, and the members that are needed come
 * first. */
static bool parse_line(struct log_text text, struct mlperf_line *line)
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

static bool mlperf_log_recognises_line(struct log_text text)
{
    struct mlperf_line line;

    return parse_line(text, &line);
}

static struct job_event mlperf_log_event_of(const struct log_reading *reading,
                                            const struct mlperf_line *line,
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
    struct job_event event = mlperf_log_event_of(reading, line, kind);

    job_add(reading->job, &event);
}

/* A number of the metadata or of a value that is an object: "step": 448.0. 4e18 is below 2^62,
 * so sums of two still fit. */
static bool mlperf_log_take_member(struct log_text object, const char *name, int64_t *number)
{
    double real;

    if (!log_find(object, name, &object) || !log_take_real(&object, false, &real) ||
        !(real >= 0.0 && real < 4e18))
        return false;
    *number = (int64_t)real;
    return true;
}

static bool has_flag(const struct log_reading *reading, int flag)
{
    return (reading->memory[FLAGS] & flag) != 0;
}

static void set_flag(struct log_reading *reading, int flag, bool is_set)
{
    int64_t *flags = &reading->memory[FLAGS];

    *flags = is_set ? *flags | flag : *flags & ~(int64_t)flag;
}

/* The steps that a count of tokens, samples or steps stands for. The first one tells which it is:
 * what one step of it divides. */
static int64_t steps_of_count(struct log_reading *reading, int64_t count)
{
    int64_t batch = reading->memory[BATCH], tokens = batch * reading->memory[SEQUENCE];

    if (reading->memory[UNIT] == 0 && count > 0)
        reading->memory[UNIT] = tokens > 0 && count % tokens == 0 ? tokens
                                : batch > 0 && count % batch == 0 ? batch
                                                                  : 1;
    return reading->memory[UNIT] > 0 ? count / reading->memory[UNIT] : 0;
}

/* How many steps had been made by then; false: the line does not tell. */
static bool mlperf_log_take_steps(struct log_reading *reading, const struct mlperf_line *line,
                                  int64_t *steps)
{
    int64_t batch = reading->memory[BATCH];
    bool is_known = mlperf_log_take_member(line->metadata, "\"step_num\": ", steps);

    if (!is_known && batch > 0 &&
        mlperf_log_take_member(line->metadata, "\"samples_count\": ", steps)) {
        *steps /= batch;
        is_known = true;
    }
    if (!is_known && has_flag(reading, IS_BLOCK_NUMBERED) &&
        (mlperf_log_take_member(line->metadata, "\"epoch_num\": ", steps) ||
         mlperf_log_take_member(line->metadata, "\"first_epoch_num\": ", steps))) {
        *steps = steps_of_count(reading, *steps);
        is_known = true;
    }
    if (is_known)
        set_flag(reading, IS_NUMBERED, true);
    return is_known;
}

/* No line has told of them as steps so far: what counted as such does so no more. */
static void forget_intervals(struct log_reading *reading)
{
    struct job_event event = job_event_of(JOB_STEPS_ANEW);

    if (reading->memory[STRETCHES] == 0)
        return;
    reading->memory[STRETCHES] = 0;
    set_flag(reading, IS_LENGTH_LOST, true);
    job_add(reading->job, &event);
}

/* A block that one line told of in one piece: its steps, or those told before were of others. */
static void note_block(struct log_reading *reading, int64_t count, int64_t length_ns)
{
    int64_t *memory = reading->memory;

    memory[BLOCK_STEPS] = memory[BLOCK_STEPS] == 0 || memory[BLOCK_STEPS] == count ? count : -1;
    memory[BLOCK_NS] = length_ns;
}

/* So many steps had been made by then; lines that tell no more than is known count for nothing:
 * blocks name the steps that they began with, too, and evaluations may come long after. `event`
 * holds what the line tells of one step. */
static void mlperf_log_tell_steps(struct log_reading *reading, struct job_event *event,
                                  int64_t steps)
{
    int64_t *memory = reading->memory;
    bool goes_on = memory[TRAINS_FROM] > 0;
    int64_t length_ns = memory[UNTOLD_NS];

    if (steps <= memory[STEPS])
        return;
    forget_intervals(reading);
    event->step = steps;
    event->is_length_loose = true;
    if (memory[STEPS] > 0 || has_flag(reading, IS_START_KNOWN) || event->each_ns == JOB_NOT_KNOWN)
        event->count = steps - memory[STEPS];
    if (goes_on && event->time_ns != JOB_NOT_KNOWN && event->time_ns > memory[TRAINS_FROM])
        length_ns += event->time_ns - memory[TRAINS_FROM];
    if (!goes_on && memory[ENDED_AT] > 0)
        event->time_ns = memory[ENDED_AT];
    if (!goes_on && length_ns > 0)
        note_block(reading, event->count, length_ns);
    if (event->count > 1 || (event->count == 1 && event->each_ns == JOB_NOT_KNOWN))
        event->each_ns = length_ns > 0 && !has_flag(reading, IS_LENGTH_LOST)
                             ? length_ns / event->count
                             : JOB_NOT_KNOWN;
    memory[STEPS] = steps;
    memory[UNTOLD_NS] = 0;
    set_flag(reading, IS_LENGTH_LOST, false);
    if (goes_on)
        memory[TRAINS_FROM] = event->time_ns == JOB_NOT_KNOWN ? 0 : event->time_ns;
    job_add(reading->job, event);
}

/* "tracked_stats": an object with one of many things in it. */
static void read_stats(struct log_reading *reading, const struct mlperf_line *line)
{
    struct job_event event = mlperf_log_event_of(reading, line, JOB_STEP);
    struct log_text rest;
    int64_t steps, length_ns;

    if (log_find(line->value, "\"validation_step_time\": ", &rest) &&
        log_take_length(&rest, ns_per_second, &length_ns)) {
        reading->memory[VALIDATION_NS] += length_ns;
        tell(reading, line, JOB_SIGN_OF_LIFE);
        return;
    }
    if (!log_find(line->value, "\"train_step_timing in s\": ", &rest) &&
        !log_find(line->value, "\"train_step_time\": ", &rest)) {
        tell(reading, line, JOB_SIGN_OF_LIFE);
        return;
    }
    (void)log_take_length(&rest, ns_per_second, &event.each_ns);
    if (log_find(line->value, "loss\": ", &rest))
        (void)log_take_real(&rest, false, &event.loss);
    if (mlperf_log_take_member(line->metadata, "\"step\": ", &steps))
        steps = steps_of_count(reading, steps);
    else if (!mlperf_log_take_steps(reading, line, &steps))
        steps = reading->memory[STEPS] + 1;
    set_flag(reading, IS_NUMBERED, true);
    mlperf_log_tell_steps(reading, &event, steps);
}

/* "train_loss" after so many samples. */
static void read_loss(struct log_reading *reading, const struct mlperf_line *line)
{
    struct job_event event = mlperf_log_event_of(reading, line, JOB_STEP);
    struct log_text value = line->value;
    int64_t steps;

    (void)log_take_real(&value, false, &event.loss);
    if (mlperf_log_take_steps(reading, line, &steps))
        mlperf_log_tell_steps(reading, &event, steps);
}

static void start_interval(struct log_reading *reading, const struct mlperf_line *line)
{
    reading->memory[TRAINS_FROM] = line->time_ns;
    set_flag(reading, AFTER_EVALUATION, false);
    if (line->time_ns == 0)
        set_flag(reading, IS_LENGTH_LOST, true);
}

/* Training that ended waits in UNTOLD_NS until a line says which steps it was. */
static void stop_interval(struct log_reading *reading, const struct mlperf_line *line)
{
    int64_t *memory = reading->memory;

    if (memory[TRAINS_FROM] == 0)
        return;
    if (line->time_ns == 0)
        set_flag(reading, IS_LENGTH_LOST, true);
    else if (line->time_ns > memory[TRAINS_FROM])
        memory[UNTOLD_NS] += line->time_ns - memory[TRAINS_FROM];
    memory[ENDED_AT] = line->time_ns;
    memory[TRAINS_FROM] = 0;
}

/* Where no line tells which steps were made, a stretch of training between evaluations, or the ends
 * of blocks or epochs, counts as one. What little lies between the last evaluation and the end of
 * its block is none. */
static void count_interval(struct log_reading *reading, const struct mlperf_line *line,
                           bool is_evaluation)
{
    struct job_event event = mlperf_log_event_of(reading, line, JOB_STEP);
    int64_t *memory = reading->memory;
    int64_t length_ns = memory[UNTOLD_NS];
    bool is_rest = has_flag(reading, AFTER_EVALUATION) && !is_evaluation &&
                   length_ns < memory[STRETCH_NS] / 20;

    memory[UNTOLD_NS] = 0;
    if (length_ns == 0 || has_flag(reading, IS_LENGTH_LOST) || is_rest)
        return;
    if (memory[STRETCHES] == 0) {
        event.kind = JOB_UNNUMBERED;
        job_add(reading->job, &event);
        event.kind = JOB_STEP;
    }
    event.step = ++memory[STRETCHES];
    event.count = 1;
    event.each_ns = memory[STRETCH_NS] = length_ns;
    event.is_length_loose = true;
    job_add(reading->job, &event);
}

/* Training that no line will tell the steps of any more. That of the last block, where each one
 * before it had as many steps, and the last took about as long; else what lies behind the block's
 * last step. */
static void tell_last_block(struct log_reading *reading, const struct mlperf_line *line)
{
    struct job_event event = mlperf_log_event_of(reading, line, JOB_STEP);
    int64_t *memory = reading->memory;
    int64_t tolerance_ns = memory[BLOCK_NS] / 10;

    if (memory[BLOCK_STEPS] > 0 && !has_flag(reading, IS_LENGTH_LOST) &&
        memory[UNTOLD_NS] >= memory[BLOCK_NS] - tolerance_ns &&
        memory[UNTOLD_NS] <= memory[BLOCK_NS] + tolerance_ns)
        mlperf_log_tell_steps(reading, &event, memory[STEPS] + memory[BLOCK_STEPS]);
    memory[UNTOLD_NS] = 0;
}

/* Training stands still here. The line's own count goes first; where lines never count, the
 * stretch itself becomes a step. */
static void read_pause(struct log_reading *reading, const struct mlperf_line *line,
                       bool is_evaluation)
{
    struct job_event event = mlperf_log_event_of(reading, line, JOB_STEP);
    int64_t steps;
    bool is_known = mlperf_log_take_steps(reading, line, &steps);

    stop_interval(reading, line);
    if (is_known && steps > reading->memory[STEPS])
        mlperf_log_tell_steps(reading, &event, steps);
    else if (!has_flag(reading, IS_NUMBERED))
        count_interval(reading, line, is_evaluation);
}

/* Training goes on: an evaluation that has not ended yet holds it up no longer. */
static void end_open_evaluation(struct log_reading *reading, const struct mlperf_line *line)
{
    if (!has_flag(reading, IN_EVALUATION))
        return;
    set_flag(reading, IN_EVALUATION, false);
    tell(reading, line, JOB_EVALUATION_END);
}

/* Does the block count in samples or tokens, and not in epochs? */
static bool is_block_numbered(const int64_t *memory)
{
    int64_t batch = memory[BATCH];

    return memory[UNIT] > 1 || (batch > 1 && memory[BLOCK_LONG] >= batch &&
                                memory[BLOCK_LONG] % batch == 0 && memory[BLOCK_AT] % batch == 0);
}

/* The run goes on from a checkpoint: so many steps are in it. */
static void tell_restored(struct log_reading *reading, const struct mlperf_line *line,
                          int64_t steps)
{
    struct job_event event = mlperf_log_event_of(reading, line, JOB_TRAINING);

    event.time_ns = JOB_NOT_KNOWN; /* run_start told it */
    event.step = steps;
    reading->memory[STEPS] = steps;
    job_add(reading->job, &event);
}

/* In this order: what is open from before (an evaluation, the interval of training) ends at
 * this line, and only then may the new block's numbers replace the old ones in the memory. */
static void read_block_start(struct log_reading *reading, const struct mlperf_line *line)
{
    struct job_event event = mlperf_log_event_of(reading, line, JOB_STEP);
    int64_t *memory = reading->memory;
    bool is_first = !has_flag(reading, HAS_BLOCKS) && memory[STEPS] == 0 && memory[ENDED_AT] == 0;
    int64_t steps;

    tell(reading, line, JOB_SIGN_OF_LIFE);
    end_open_evaluation(reading, line);
    if (has_flag(reading, IN_BLOCK))
        stop_interval(reading, line);
    memory[VALIDATION_NS] = memory[BLOCK_AT] = memory[BLOCK_LONG] = 0;
    (void)mlperf_log_take_member(line->metadata, "\"first_epoch_num\": ", &memory[BLOCK_AT]);
    (void)mlperf_log_take_member(line->metadata, "\"epoch_count\": ", &memory[BLOCK_LONG]);
    set_flag(reading, IS_BLOCK_NUMBERED, is_block_numbered(memory));
    if (has_flag(reading, IS_BLOCK_NUMBERED) && memory[BLOCK_LONG] > 0)
        (void)steps_of_count(reading, memory[BLOCK_LONG]);
    if (mlperf_log_take_steps(reading, line, &steps)) {
        if (is_first && steps > 0)
            tell_restored(reading, line, steps);
        else if (!is_first)
            mlperf_log_tell_steps(reading, &event, steps);
        set_flag(reading, IS_START_KNOWN, true);
    }
    set_flag(reading, HAS_BLOCKS | IN_BLOCK, true);
    start_interval(reading, line);
}

static void read_block_stop(struct log_reading *reading, const struct mlperf_line *line)
{
    struct job_event event = mlperf_log_event_of(reading, line, JOB_STEP);
    const int64_t *memory = reading->memory;
    int64_t begin;

    if (memory[BLOCK_LONG] == 0 &&
        mlperf_log_take_member(line->metadata, "\"first_epoch_num\": ", &begin))
        stop_interval(reading, line); /* the next block will tell what it came to */
    else
        read_pause(reading, line, false);
    if (has_flag(reading, IS_BLOCK_NUMBERED) && memory[BLOCK_LONG] > 0)
        mlperf_log_tell_steps(reading, &event,
                              steps_of_count(reading, memory[BLOCK_AT] + memory[BLOCK_LONG]));
    set_flag(reading, IN_BLOCK, false);
    tell(reading, line, JOB_SIGN_OF_LIFE);
}

static void read_epoch_start(struct log_reading *reading, const struct mlperf_line *line)
{
    tell(reading, line, JOB_SIGN_OF_LIFE);
    end_open_evaluation(reading, line);
    set_flag(reading, HAS_EPOCHS | IN_EPOCH, true);
    if (!has_flag(reading, IN_BLOCK))
        start_interval(reading, line);
}

static void read_epoch_stop(struct log_reading *reading, const struct mlperf_line *line)
{
    if (!has_flag(reading, IN_BLOCK))
        read_pause(reading, line, false);
    set_flag(reading, IN_EPOCH, false);
    tell(reading, line, JOB_SIGN_OF_LIFE);
}

static void read_evaluation_start(struct log_reading *reading, const struct mlperf_line *line)
{
    if (has_flag(reading, IN_EVALUATION))
        return; /* another rank says so too */
    read_pause(reading, line, true);
    if (!has_flag(reading, IN_BLOCK))
        tell_last_block(reading, line);
    set_flag(reading, HAS_EVALUATIONS | IN_EVALUATION, true);
    tell(reading, line, JOB_EVALUATION_BEGIN);
}

/* An evaluation whose length no line tells: the block or stretch around it holds that. */
static void report_unknown_evaluation(struct log_reading *reading, const struct mlperf_line *line)
{
    struct job_event event = mlperf_log_event_of(reading, line, JOB_EVALUATION_END);

    event.is_in_steps = true;
    job_add(reading->job, &event);
}

/* An evaluation of which no line told the start: its length is that of its steps, if those are
 * told. */
static void read_lone_evaluation_end(struct log_reading *reading, const struct mlperf_line *line)
{
    struct job_event event = mlperf_log_event_of(reading, line, JOB_EVALUATION_END);
    int64_t *memory = reading->memory;

    if (has_flag(reading, HAS_EVALUATIONS))
        return; /* another rank has said so */
    if (memory[VALIDATION_NS] == 0) {
        report_unknown_evaluation(reading, line);
        return;
    }
    event.each_ns = memory[VALIDATION_NS];
    if (memory[TRAINS_FROM] > 0)
        memory[TRAINS_FROM] += memory[VALIDATION_NS];
    memory[VALIDATION_NS] = 0;
    job_add(reading->job, &event);
}

/* Training goes on after an evaluation only where it went on before it: inside a block, or an
 * epoch, or where the log marks neither. */
static void read_evaluation_end(struct log_reading *reading, const struct mlperf_line *line)
{
    bool has_blocks = has_flag(reading, HAS_BLOCKS), has_epochs = has_flag(reading, HAS_EPOCHS);

    if (!has_flag(reading, IN_EVALUATION)) {
        read_lone_evaluation_end(reading, line);
        return;
    }
    end_open_evaluation(reading, line);
    if (has_blocks ? has_flag(reading, IN_BLOCK) : !has_epochs || has_flag(reading, IN_EPOCH)) {
        start_interval(reading, line);
        set_flag(reading, AFTER_EVALUATION, true);
    }
}

/* "eval_accuracy": where no line tells of evaluations but this one, it ends one whose length is not
 * known. */
static void read_accuracy(struct log_reading *reading, const struct mlperf_line *line)
{
    if (has_flag(reading, HAS_EVALUATIONS) || reading->memory[VALIDATION_NS] > 0)
        tell(reading, line, JOB_SIGN_OF_LIFE);
    else
        report_unknown_evaluation(reading, line);
}

/* A pause or a block that is open ends with the run; the run may have been aborted and still
 * write this line. */
static void read_run_stop(struct log_reading *reading, const struct mlperf_line *line)
{
    struct job_event event = mlperf_log_event_of(reading, line, JOB_END);
    struct log_text rest;

    read_pause(reading, line, false);
    tell_last_block(reading, line);
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

/* The first line of a run, where its launcher empties the file system's cache; some files have it
 * behind the run, with its time. */
static void read_cache_clear(struct log_reading *reading, const struct mlperf_line *line)
{
    tell(reading, line, line->time_ns > reading->memory[ENDED_AT] ? JOB_START : JOB_SIGN_OF_LIFE);
}

/* Of what came before only batch and sequence hold for the run; the rest was of its
 * preparation. */
static void read_run_start(struct log_reading *reading, const struct mlperf_line *line)
{
    struct job_event event = mlperf_log_event_of(reading, line, JOB_TRAINING);
    int64_t *memory = reading->memory;

    if (memory[STARTS] > 1)
        event.devices = memory[STARTS];
    for (int place = 0; place < LOG_MEMORY; place++)
        if (place != BATCH && place != SEQUENCE)
            memory[place] = 0;
    job_add(reading->job, &event);
    start_interval(reading, line);
}

static void read_batch(struct log_reading *reading, const struct mlperf_line *line)
{
    struct log_text value = line->value;

    (void)log_take_integer(&value, false, &reading->memory[BATCH]);
}

static void mlperf_log_read_sequence(struct log_reading *reading, const struct mlperf_line *line)
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
    {"cache_clear", read_cache_clear},
    {"init_start", read_start},
    {"run_start", read_run_start},
    {"block_start", read_block_start},
    {"block_stop", read_block_stop},
    {"epoch_start", read_epoch_start},
    {"epoch_stop", read_epoch_stop},
    {"eval_start", read_evaluation_start},
    {"eval_stop", read_evaluation_end},
    {"eval_accuracy", read_accuracy},
    {"run_stop", read_run_stop},
    {"global_batch_size", read_batch},
    {"max_sequence_length", mlperf_log_read_sequence},
};

/* Sizes beyond a billion would overflow their product: then neither is known. */
static enum log_line_use mlperf_log_read_line(struct log_reading *reading, struct log_text text)
{
    struct mlperf_line line;

    if (!parse_line(text, &line))
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
    .recognises = mlperf_log_recognises_line,
    .reports_starts = true,
    .read = mlperf_log_read_line,
    .words = line_words,
};
