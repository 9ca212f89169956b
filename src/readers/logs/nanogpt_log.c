/* Logs of nanoGPT and its relatives:
 *     nanoGPT          iter 100: loss 4.2, time 1234.56ms, mfu 31.20%
 *     llm.c            step  101/19560 | loss 7.55 (+0.1z)| ... | 303.97 ms | 57.9% bf16 MFU | ...
 *     llm.c, older     step    1/100: train loss 5.3 ... (123.4 ms, 12345 tok/s)
 *     llm.c, main.log  s:19559 trl:3.2217 lr:0.0 norm:0.22
 *     modded-nanogpt   step:1489/1490 train_time:92715ms step_avg:62.27ms
 *     nanochat         step 00010/21400 (0.05%) | loss: 7.1 | ... | dt: 1234.5ms | ... | mfu: 48.1
 *     build-nanogpt    step    10 | loss: 7.1 | ... | dt: 1234.56ms | tok/sec: 143130.26
 */
#include "readers/logs/log_format.h"

#include <stddef.h>
#include <string.h>

static const int64_t ns_per_ms = 1000000, ns_per_second = 1000000000;

/* Places of reading->memory. */
enum {
    HAS_TRAIN_TIME,  /* modded-nanogpt: a line has told, and */
    TRAIN_TIME_NS,   /* which time its steps had taken by then */
    TRAIN_STEP,      /* and up to which step */
    ITER_NS,         /* nanoGPT: time of the iteration that a line told last; 0: none */
    EVALUATION_LINE, /* of an evaluation since: its time is in that of the next one; 0: none */
};

/* A negative mfu is nanoGPT's "not yet known". */
static bool parse_iter(struct log_text line, struct job_event *event)
{
    struct log_text rest, length;
    double number;

    if (!log_find_word(line, "iter ", &rest) || !log_take_integer(&rest, false, &event->step) ||
        !log_skip(&rest, ": loss ") || !log_take_real(&rest, false, &event->loss))
        return false;
    if (log_find(rest, "time ", &length))
        (void)log_take_length(&length, ns_per_ms, &event->each_ns);
    if (log_find(rest, "mfu ", &rest) && log_take_real(&rest, false, &number) && number >= 0.0)
        event->mfu = number / 100.0;
    return true;
}

/* The number before `words`: "303.97 ms". */
static bool number_before(struct log_text line, const char *words, struct log_text *number)
{
    struct log_text rest;
    const char *at;

    if (!log_find(line, words, &rest))
        return false;
    at = rest.at - strlen(words);
    number->end = at;
    while (at > line.at && ((at[-1] >= '0' && at[-1] <= '9') || strchr(".-,", at[-1])))
        at--;
    number->at = at;
    return at < number->end;
}

/* "step  101/19560 | ", "step 00010 (0.05%) | ": without the last step only where "dt: " follows.
 */
static bool parse_head(struct log_text line, struct job_event *event, struct log_text *rest)
{
    struct log_text behind;

    if (!log_find_word(line, "step ", rest) || !log_take_integer(rest, false, &event->step))
        return false;
    if (log_skip(rest, "/"))
        return log_take_integer(rest, false, &event->last_step) &&
               (log_skip(rest, " | ") || log_skip(rest, ":") || log_skip(rest, " ("));
    return log_find(*rest, "dt: ", &behind) && log_find(*rest, "loss", &behind) &&
           (log_skip(rest, " | ") || log_skip(rest, "| ") || log_skip(rest, ", ") ||
            log_skip(rest, " ("));
}

/* llm.c's, nanochat's and build-nanogpt's lines begin alike. */
static bool parse_step_of_all(struct log_text line, struct job_event *event)
{
    struct log_text rest, number;
    double real;

    if (!parse_head(line, event, &rest))
        return false;
    if (log_find(rest, "loss", &number)) {
        (void)log_skip(&number, ":");
        (void)log_take_real(&number, false, &event->loss);
    }
    if (log_find(rest, "dt: ", &number) || number_before(rest, " ms", &number))
        (void)log_take_length(&number, ns_per_ms, &event->each_ns);
    if ((number_before(rest, "% bf16 MFU", &number) || number_before(rest, "% MFU", &number) ||
         log_find(rest, "mfu: ", &number)) &&
        log_take_real(&number, false, &real) && real >= 0.0)
        event->mfu = real / 100.0;
    if (number_before(rest, " tok/s", &number) || log_find(rest, "tok/sec: ", &number))
        (void)log_take_real(&number, true, &event->tokens_per_second_of_job);
    return event->each_ns != JOB_NOT_KNOWN;
}

/* "s:19559 trl:3.2217"; "s:250 tel:3.5" is an evaluation. */
static bool parse_short(struct log_text line, struct job_event *event)
{
    struct log_text rest = line;

    if (!log_skip(&rest, "s:") || !log_take_integer(&rest, false, &event->step))
        return false;
    if (log_skip(&rest, " trl:"))
        return log_take_real(&rest, false, &event->loss);
    event->kind = JOB_EVALUATION_END;
    return log_skip(&rest, " tel:") || log_skip(&rest, " eval:");
}

/* "92715ms", "92.715s" */
static bool parse_length_with_unit(struct log_text text, int64_t *length_ns)
{
    struct log_text behind = text;

    if (!log_take_length(&behind, ns_per_ms, length_ns))
        return false;
    return !log_skip(&behind, "s") || log_take_length(&text, ns_per_second, length_ns);
}

/* "step:1489/1490 train_time:92715ms step_avg:62.27ms", with "val_loss:" for an evaluation. */
static bool parse_train_time(struct log_text line, struct job_event *event, int64_t *time_ns)
{
    struct log_text rest, loss;

    if (!log_find_word(line, "step:", &rest) || !log_take_integer(&rest, false, &event->step) ||
        !log_skip(&rest, "/") || !log_take_integer(&rest, false, &event->last_step) ||
        !log_skip(&rest, " "))
        return false;
    if (log_find(rest, "val_loss:", &loss))
        event->kind = JOB_EVALUATION_END;
    else if (log_find(rest, "train_loss:", &loss) || log_find(rest, "loss:", &loss))
        (void)log_take_real(&loss, false, &event->loss);
    return log_find(rest, "train_time:", &rest) && parse_length_with_unit(rest, time_ns);
}

/* The time counts up, evaluations left out: what was added since the line before is that of the
 * steps since. Where the count begins anew with a step (the first ten are warm-up in some), it is
 * that of this step. */
static void resolve_train_time(struct log_reading *reading, struct job_event *event,
                               int64_t time_ns)
{
    int64_t *memory = reading->memory;
    int64_t steps = event->step - memory[TRAIN_STEP];

    if (steps > 0 && time_ns >= memory[TRAIN_TIME_NS])
        event->each_ns = (time_ns - memory[TRAIN_TIME_NS]) / steps;
    else if (steps == 1)
        event->each_ns = time_ns;
    else if (event->step > 0 && steps < 0)
        event->each_ns = time_ns / event->step; /* a new start */
    memory[HAS_TRAIN_TIME] = 1;
    if (event->kind != JOB_STEP && steps == 0)
        return; /* a little of the evaluation is in it: the next step's */
    memory[TRAIN_TIME_NS] = time_ns;
    memory[TRAIN_STEP] = event->step;
}

/* Some programs tell of steps only where they evaluate: a line of an evaluation tells of the steps
 * before it, too, unless a line before has. */
static enum log_line_use read_train_time(struct log_reading *reading, struct job_event *event,
                                         int64_t time_ns)
{
    bool is_first = !reading->memory[HAS_TRAIN_TIME];
    bool is_known = !is_first && event->step == reading->memory[TRAIN_STEP];
    bool is_evaluation = event->kind == JOB_EVALUATION_END;

    resolve_train_time(reading, event, time_ns);
    if (event->step > 0 && !is_known) {
        event->kind = JOB_STEP;
        if (is_first)
            event->count = event->step; /* all that the time has counted */
        job_add(reading->job, event);
    }
    if (is_evaluation) {
        event->kind = JOB_EVALUATION_END;
        event->each_ns = JOB_NOT_KNOWN;
        job_add(reading->job, event);
    }
    return LOG_LINE_USED;
}

/* nanoGPT evaluates within the iteration whose time it tells next: what that takes longer than the
 * one before it is the evaluation's. */
static void resolve_evaluation(struct log_reading *reading, struct job_event *event)
{
    struct job_event evaluation = job_event_of(JOB_EVALUATION_END);
    int64_t *memory = reading->memory;

    event->is_length_loose = true; /* of the last of the steps that the line stands for */
    if (memory[EVALUATION_LINE]) {
        evaluation.line = memory[EVALUATION_LINE];
        if (memory[ITER_NS] > 0 && event->each_ns > memory[ITER_NS]) {
            evaluation.each_ns = event->each_ns - memory[ITER_NS];
            event->each_ns = memory[ITER_NS];
        }
        job_add(reading->job, &evaluation);
        memory[EVALUATION_LINE] = 0;
    }
    memory[ITER_NS] = event->each_ns > 0 ? event->each_ns : 0;
}

/* Forms from the most telling to the shortest. */
static bool nanogpt_log_recognises_line(struct log_text line)
{
    struct job_event event = job_event_of(JOB_STEP);
    int64_t time_ns;

    return parse_iter(line, &event) || parse_step_of_all(line, &event) ||
           (parse_short(line, &event) && event.kind == JOB_STEP) ||
           parse_train_time(line, &event, &time_ns);
}

/* "step 1000: train loss 3.2, val loss 3.3", "val loss 3.45" */
static bool is_evaluation(struct log_text line)
{
    struct log_text rest;

    return log_find_word(line, "val loss ", &rest) && log_take_real(&rest, false, &(double){0});
}

/* Where iterations are timed, an evaluation's line is kept until the next iteration tells how
 * long it took; where they are not, the line is all there is. */
static enum log_line_use read_other(struct log_reading *reading, struct log_text line)
{
    struct log_text rest;

    if (is_evaluation(line) && reading->memory[ITER_NS]) {
        reading->memory[EVALUATION_LINE] = reading->line;
    } else if (is_evaluation(line)) {
        log_tell(reading, line, JOB_EVALUATION_END);
    } else if (log_find_word(line, "saving checkpoint to ", &rest) ||
               log_find_word(line, "Writing model to ", &rest)) {
        log_tell(reading, line, JOB_CHECKPOINT_END);
    } else if (log_find_word(line, "tokens per iteration will be: ", &rest) ||
               log_find_word(line, "Resuming training from ", &rest)) {
        reading->memory[ITER_NS] = 0;
        log_tell(reading, line, JOB_START);
    } else {
        return LOG_LINE_NONE;
    }
    return LOG_LINE_USED;
}

/* Forks of the program print a step in other words; the program's own form is tried first. A
 * form that is none of these may still tell of something else (read_other). */
static enum log_line_use nanogpt_log_read_line(struct log_reading *reading, struct log_text line)
{
    struct job_event event = log_event(reading, line, JOB_STEP);
    int64_t time_ns;

    if (parse_train_time(line, &event, &time_ns))
        return read_train_time(reading, &event, time_ns);
    if (parse_iter(line, &event))
        resolve_evaluation(reading, &event);
    else if (!parse_step_of_all(line, &event) && !parse_short(line, &event))
        return read_other(reading, line);
    job_add(reading->job, &event);
    return LOG_LINE_USED;
}

const struct log_format nanogpt_log_format = {
    .name = "nanogpt",
    .summary = "nanoGPT, llm.c, modded-nanogpt, nanochat: 'iter 100: loss 4.2, time 1234.56ms'",
    .recognises = nanogpt_log_recognises_line,
    .read = nanogpt_log_read_line,
};
