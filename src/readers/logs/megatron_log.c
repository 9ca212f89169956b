/* Logs of Megatron-LM and its children (Megatron-DeepSpeed, Megatron-core, Primus, Pai), old and
 * new: " iteration 10/ 1000 | ... | elapsed time per iteration (ms): 1147.6 | ... |". */
#include "readers/logs/log_format.h"
#include "readers/logs/log_time.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

static const int64_t ns_per_ms = 1000000, ns_per_second = 1000000000;

/* The word is looked for in so many characters: before it stand a time, ranks and a file. */
enum { ITERATION_WITHIN = 200 };

static const char elapsed_words[] = "elapsed time per iteration (";

/* Places of reading->memory: DeepSpeed's engine, around which some children are built, tells in a
 * line of its own */
enum {
    HAS_STAMP,
    STAMP_STEP, /* that a step ended, */
    STAMP_NS,   /* and when */
    STAMP_CLOCK,
};

/* "1000", or "infinity" where nobody said how many there are to be. */
static bool megatron_log_take_last_step(struct log_text *text, int64_t *last_step)
{
    *last_step = JOB_NOT_KNOWN;
    return log_take_integer(text, false, last_step) || log_skip(text, "infinity");
}

/* "iteration 10/ 1000 |": the fields follow. */
static bool parse_iteration(struct log_text line, int64_t *step, int64_t *last_step,
                            struct log_text *fields)
{
    struct log_text head = line;

    if (log_text_length(head) > ITERATION_WITHIN)
        head.end = head.at + ITERATION_WITHIN;
    while (log_find(head, "iteration", &head)) {
        *fields = (struct log_text){head.at, line.end};
        if (!log_take_integer(fields, false, step) || !log_skip(fields, "/") ||
            !megatron_log_take_last_step(fields, last_step))
            continue;
        log_skip_spaces(fields);
        if (log_skip(fields, "|"))
            return true;
    }
    return false;
}

static bool megatron_log_recognises_line(struct log_text line)
{
    int64_t step, last_step;
    struct log_text fields;

    return parse_iteration(line, &step, &last_step, &fields);
}

static void parse_tflops(struct log_text value, struct job_event *event)
{
    double number;

    if (log_take_real(&value, false, &number))
        event->flops_per_second = number * 1e12;
}

static void parse_mfu(struct log_text value, struct job_event *event)
{
    double number;

    if (log_take_real(&value, false, &number))
        event->mfu = log_skip(&value, "%") || number > 1.0 ? number / 100.0 : number;
}

/* Newer ones add "inst/avg" pairs, of which the first is that of this line. The first letter spares
 * most comparisons: there are a dozen fields in a line. */
static void read_field(struct log_text name, struct log_text value, struct job_event *event)
{
    switch (*name.at) {
    case 'a':
        if (log_skip(&name, "approx flops per GPU"))
            parse_tflops(value, event);
        break;
    case 'e':
        /* The unit is a part of the field's name, behind these words. */
        if (log_skip(&name, elapsed_words))
            (void)log_take_length(&value, log_skip(&name, "ms") ? ns_per_ms : ns_per_second,
                                  &event->each_ns);
        break;
    case 'l':
        if (log_skip(&name, "lm loss") || log_skip(&name, "lm-loss"))
            (void)log_take_real(&value, false, &event->loss);
        break;
    case 'n':
        if (log_skip(&name, "number of skipped iterations"))
            (void)log_take_integer(&value, false, &event->skipped);
        break;
    case 't':
        if (log_skip(&name, "throughput per GPU (TFLOP/s/GPU)"))
            parse_tflops(value, event);
        else if (log_skip(&name, "tokens per GPU (tokens/s/GPU)") ||
                 log_skip(&name, "tokens-per-second-per-gpu"))
            (void)log_take_real(&value, false, &event->tokens_per_second);
        break;
    case 'T':
        if (log_skip(&name, "TFLOPs"))
            parse_tflops(value, event);
        break;
    case 'M':
        if (log_skip(&name, "MFU"))
            parse_mfu(value, event);
        break;
    default:
        break;
    }
}

static void megatron_log_take_fields(struct log_text fields, struct job_event *event)
{
    while (fields.at < fields.end) {
        struct log_text name, value;

        log_skip_spaces(&fields);
        name = fields;
        if (!log_skip_past(&fields, '|'))
            fields.at = fields.end;
        if (name.at == name.end || !strchr("aelntTM", *name.at))
            continue; /* none of those above */
        name.end = fields.at;
        value = name;
        if (log_skip_past(&value, ':'))
            read_field(name, value, event);
        else if (log_skip(&name, "lm loss ")) /* the oldest have no colon */
            (void)log_take_real(&name, false, &event->loss);
    }
}

/* "[rank-7/8]": the world has 8. */
static int64_t world_size(struct log_text line)
{
    struct log_text rest;
    int64_t rank, size;

    return log_find(line, "[rank-", &rest) && log_take_integer(&rest, false, &rank) &&
                   log_skip(&rest, "/") && log_take_integer(&rest, false, &size) &&
                   log_skip(&rest, "]")
               ? size
               : 0;
}

/* All versions end with a bar, and have this field near the end. A line that a terminal or a
 * launcher wrapped lacks its end; the next lines may bring it. */
static bool megatron_log_is_whole(struct log_text fields)
{
    enum { NEAR_THE_END = 160 };

    if (log_text_length(fields) > NEAR_THE_END)
        fields.at = fields.end - NEAR_THE_END;
    return fields.end[-1] == '|' && log_find(fields, "nan iterations:", &fields);
}

/* "[2023-07-25 21:03:21,037] [INFO] [logging.py:96:log_dist] [Rank 0] step=35, skipped=0, ...", or
 * "... global_step=35, RunningAvgSamplesPerSec=...": the line of the iteration, which has no time,
 * follows. */
static enum log_line_use read_stamp(struct log_reading *reading, struct log_text whole)
{
    int64_t *memory = reading->memory;
    struct job_event event;
    struct log_text line = whole, rest;
    int64_t step;

    do {
        if (!log_find(line, "step=", &line))
            return LOG_LINE_NONE;
        rest = line;
    } while (!log_take_integer(&rest, false, &step) ||
             (!log_skip(&rest, ", skipped=") && !log_skip(&rest, ", RunningAvgSamplesPerSec=")));
    event = log_event(reading, whole, JOB_SIGN_OF_LIFE);
    memory[HAS_STAMP] = event.time_ns != JOB_NOT_KNOWN;
    memory[STAMP_STEP] = step;
    memory[STAMP_NS] = event.time_ns;
    memory[STAMP_CLOCK] = (int64_t)event.clock;
    return LOG_LINE_USED;
}

/* A stamp counts for the iteration whose number it has, and for no other. */
static void parse_stamp(const int64_t *memory, struct job_event *event)
{
    if (event->time_ns != JOB_NOT_KNOWN || !memory[HAS_STAMP] || memory[STAMP_STEP] != event->step)
        return;
    event->time_ns = memory[STAMP_NS];
    event->clock = (enum job_clock)memory[STAMP_CLOCK];
}

/* A line without a length, or cut within its fields, is told as cut: half a line's numbers may
 * be half numbers. */
static enum log_line_use read_iteration(struct log_reading *reading, struct log_text line)
{
    int64_t step, last_step;
    struct log_text fields;
    struct job_event event;

    if (!parse_iteration(line, &step, &last_step, &fields))
        return LOG_LINE_NONE;
    event = log_event(reading, line, JOB_STEP);
    megatron_log_take_fields(fields, &event);
    if (event.each_ns == JOB_NOT_KNOWN ||
        (!reading->takes_cut_lines && !megatron_log_is_whole(fields)))
        return LOG_LINE_CUT;
    event.step = step;
    event.last_step = last_step;
    parse_stamp(reading->memory, &event);
    event.devices = world_size((struct log_text){line.at, fields.at});
    job_add(reading->job, &event);
    return LOG_LINE_USED;
}

/* More fields of a line; the other lines with a bar are those of timers and of evaluations. */
static bool megatron_log_goes_on(struct log_text line)
{
    struct log_text rest;

    return memchr(line.at, '|', log_text_length(line)) && !log_find(line, "time (ms)", &rest) &&
           !log_find(line, "validation loss", &rest);
}

/* "    evaluate .....: (2052.52, 2053.00)": of the slowest rank; "time (ms) | evaluate: 2052.52".
 */
static bool megatron_log_take_timer(struct log_text line, const char *name, int64_t *length_ns)
{
    struct log_text rest;

    if (!log_find_word(line, name, &rest))
        return false;
    log_skip_spaces(&rest);
    while (log_skip(&rest, "."))
        continue;
    if (!log_skip(&rest, ":"))
        return false;
    log_skip_spaces(&rest);
    if (log_skip(&rest, "(") && !log_skip_past(&rest, ','))
        return false;
    return log_take_length(&rest, ns_per_ms, length_ns);
}

/* One line may hold several timers, so that the search goes on behind the first. */
static enum log_line_use read_timers(struct log_reading *reading, struct log_text line)
{
    static const struct {
        const char *name;
        enum job_event_kind kind;
    } timers[] = {
        {"evaluate", JOB_EVALUATION_END},
        {"save-checkpoint", JOB_CHECKPOINT_END},
        {"load-checkpoint", JOB_RESTORE_END},
    };
    enum log_line_use use = LOG_LINE_NONE;

    for (size_t i = 0; i < sizeof timers / sizeof *timers; i++) {
        struct job_event event = job_event_of(timers[i].kind);

        event.line = reading->line;
        if (!megatron_log_take_timer(line, timers[i].name, &event.each_ns))
            continue;
        job_add(reading->job, &event);
        use = LOG_LINE_USED;
    }
    return use;
}

/* "[before the start of training step] datetime: 2025-04-13 23:41:00" */
static enum log_line_use read_datetime(struct log_reading *reading, struct log_text line)
{
    struct job_event event = job_event_of(JOB_SIGN_OF_LIFE);
    struct log_text rest, before;
    struct log_time time;

    if (!log_find(line, "] datetime: ", &rest) || !log_take_time(&rest, &time))
        return LOG_LINE_NONE;
    event.time_ns = time.ns;
    event.clock = time.clock;
    event.line = reading->line;
    if (log_find(line, "[before the start of training step]", &before))
        event.kind = JOB_TRAINING;
    else if (log_find(line, "[after training is done]", &before))
        event.kind = JOB_END;
    else if (log_find(line, "[after megatron is initialized]", &before))
        event.kind = JOB_START;
    job_add(reading->job, &event);
    return LOG_LINE_USED;
}

/* Lines that say what happens, with the step's number behind some word. */
static const struct {
    const char *words;
    const char *before_step; /* NULL: right behind the words */
    enum job_event_kind kind;
} mark_lines[] = {
    {"saving checkpoint at iteration", NULL, JOB_CHECKPOINT_BEGIN},
    {"scheduled an async checkpoint save at iteration", NULL, JOB_CHECKPOINT_END},
    {"successfully saved checkpoint", " iteration", JOB_CHECKPOINT_END},
    {"loading checkpoint from", " at iteration", JOB_RESTORE_BEGIN},
    {"loading distributed checkpoint from", " at iteration", JOB_RESTORE_BEGIN},
    {"successfully loaded checkpoint from", " at iteration", JOB_RESTORE_END},
    {"validation loss at iteration", NULL, JOB_EVALUATION_END},
    {"exiting program at iteration", NULL, JOB_END},
    {"exiting program after", NULL, JOB_END},
};

/* The step stands right behind the words or behind further ones; where those are missing, the
 * number is an empty text, from which no step is taken, and the mark counts without it. */
static enum log_line_use megatron_log_read_mark(struct log_reading *reading, struct log_text line)
{
    for (size_t i = 0; i < sizeof mark_lines / sizeof *mark_lines; i++) {
        struct job_event event;
        struct log_text rest, number;

        if (!log_find_word(line, mark_lines[i].words, &rest))
            continue;
        event = log_event(reading, line, mark_lines[i].kind);
        number = rest;
        if (mark_lines[i].before_step && !log_find(rest, mark_lines[i].before_step, &number))
            number.at = number.end;
        if (event.kind != JOB_END)
            (void)log_take_integer(&number, false, &event.step);
        job_add(reading->job, &event);
        return LOG_LINE_USED;
    }
    return LOG_LINE_NONE;
}

/* Iterations first, as they are most of the lines that are read here. */
static enum log_line_use megatron_log_read_line(struct log_reading *reading, struct log_text line)
{
    enum log_line_use use = read_iteration(reading, line);

    if (use == LOG_LINE_NONE)
        use = read_timers(reading, line);
    if (use == LOG_LINE_NONE)
        use = read_datetime(reading, line);
    if (use == LOG_LINE_NONE)
        use = megatron_log_read_mark(reading, line);
    if (use == LOG_LINE_NONE)
        use = read_stamp(reading, line);
    return use;
}

/* A line without any of these is none of the above. */
static const char *const line_words[] = {"iteration",
                                         "evaluate",
                                         "save-checkpoint",
                                         "load-checkpoint",
                                         "saved checkpoint",
                                         "loading checkpoint",
                                         "distributed checkpoint",
                                         "loaded checkpoint",
                                         "exiting program",
                                         "] datetime: ",
                                         "step=",
                                         NULL};

const struct log_format megatron_log_format = {
    .name = "megatron",
    .summary =
        "Megatron-LM, Megatron-DeepSpeed, Megatron-core, Primus: ' iteration 10/ 1000 | ...'",
    .recognises = megatron_log_recognises_line,
    .read = megatron_log_read_line,
    .words = line_words,
    .goes_on = megatron_log_goes_on,
};
