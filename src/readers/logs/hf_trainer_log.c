/* Output of Hugging Face's Trainer: dictionaries ({'loss': 2.1, ...}) and its progress bar, which
 * is what tells steps and times. The oldest versions write {"loss": 2.1, ..., "step": 50}. */
#include "readers/logs/log_format.h"
#include "readers/logs/log_text.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

static const int64_t ns_per_second = 1000000000;

/* Places of reading->memory. */
enum {
    TOTAL,           /* of the bar of training: other bars are of evaluations */
    DONE,            /* of it, so far */
    ELAPSED_NS,      /* by then */
    EVALUATION_NS,   /* of it, since then */
    RESUMED,         /* the step that this start goes on from */
    LINES,           /* dictionaries of losses, where there is no bar */
    SKIPPED,         /* steps without an update, since the last step that was told */
    REPORTS_SKIPPED, /* DeepSpeed runs below, which says of each that it skips it */
};

/* The number behind "'name': ", which newer versions write as a text ('2.1'). */
static bool hf_trainer_log_take_member(struct log_text line, const char *name,
                                       struct log_text *value)
{
    if (!log_find(line, name, value))
        return false;
    (void)log_skip(value, "'");
    return true;
}

/* Every dictionary of the Trainer has the epoch; others that a program prints seldom do. */
static bool is_dictionary(struct log_text line)
{
    struct log_text rest;

    return log_find(line, "{'", &rest) && log_find(rest, "'epoch': ", &rest);
}

/* {"learning_rate": 4.8e-05, "loss": 0.5, "step": 50} */
static bool parse_numbered(struct log_text line, struct job_event *event)
{
    struct log_text rest;

    return log_find(line, "\"learning_rate\": ", &rest) && log_find(line, "\"loss\": ", &rest) &&
           log_take_real(&rest, false, &event->loss) && log_find(line, "\"step\": ", &rest) &&
           log_take_integer(&rest, false, &event->step);
}

/* The keys stand first in the dictionary, in the Trainer's own quotes: other programs print
 * dictionaries, too. */
static bool hf_trainer_log_recognises_line(struct log_text line)
{
    struct job_event event = job_event_of(JOB_STEP);
    struct log_text rest;

    if (parse_numbered(line, &event))
        return true;
    return is_dictionary(line) &&
           (log_find(line, "{'loss': ", &rest) || log_find(line, "{'train_runtime': ", &rest) ||
            log_find(line, "{'eval_loss': ", &rest));
}

/* A bar without a title, of steps: "10%|#  | 100/1000 [01:40<15:00, 1.0it/s]". */
static bool may_recognise_line(struct log_text line)
{
    struct log_bar bar;
    struct log_text rest;

    return log_take_bar(line, &bar) && log_text_length(bar.title) == 0 && bar.total > 1 &&
           (log_find(bar.rest, "it/s", &rest) || log_find(bar.rest, "s/it", &rest));
}

static bool hf_trainer_log_has_bar(const struct log_reading *reading)
{
    return reading->memory[TOTAL] > 0;
}

/* The steps made in `runtime_ns`, of their rate, which is told in thousandths a second: where only
 * one number of them has that rate. 0: it does not tell. */
static int64_t steps_of_rate(struct log_text line, int64_t runtime_ns)
{
    const double half_of_last_digit = 0.0005;
    double rate, seconds = (double)runtime_ns / (double)ns_per_second;
    int64_t least, most;

    if (!hf_trainer_log_take_member(line, "'train_steps_per_second': ", &line) ||
        !log_take_real(&line, false, &rate) || !(rate >= half_of_last_digit && rate < 1e6))
        return 0;
    least = (int64_t)ceil((rate - half_of_last_digit) * seconds);
    most = (int64_t)floor((rate + half_of_last_digit) * seconds);
    return least == most ? least : 0;
}

/* Steps of which an engine said that they updated nothing are among those that the event tells. */
static void hf_trainer_log_tell_steps(struct log_reading *reading, struct job_event *event)
{
    int64_t *skipped = &reading->memory[SKIPPED];

    if (reading->memory[REPORTS_SKIPPED])
        event->skipped =
            event->count != JOB_NOT_KNOWN && *skipped > event->count ? event->count : *skipped;
    *skipped = 0;
    job_add(reading->job, event);
}

/* Nothing else tells of steps than how long all of them took. */
static void tell_all_training(struct log_reading *reading, struct job_event event,
                              struct log_text line, struct log_text value)
{
    int64_t steps;

    if (!log_take_length(&value, ns_per_second, &event.each_ns))
        return;
    steps = steps_of_rate(line, event.each_ns);
    if (steps == 0) {
        event.kind = JOB_UNNUMBERED;
        job_add(reading->job, &event);
    }
    event.kind = JOB_STEP;
    event.step = event.count = steps > 0 ? steps : 1;
    event.each_ns /= event.count;
    reading->memory[LINES] = 1;
    hf_trainer_log_tell_steps(reading, &event);
}

/* Behind "'eval_runtime': ", "'predict_runtime': ", whatever the program says before it. */
static bool parse_evaluation(struct log_text line, struct log_text *value)
{
    static const char train[] = "'train";
    const size_t train_bytes = sizeof train - 1;
    struct log_text rest = line;

    while (hf_trainer_log_take_member(rest, "_runtime': ", value)) {
        const char *name = value->at;

        while (name > rest.at && *name != '_')
            name--;
        if ((size_t)(name - rest.at) < train_bytes ||
            memcmp(name - train_bytes, train, train_bytes) != 0)
            return true;
        rest = *value;
    }
    return false;
}

/* With a bar the bar tells the steps; without one each dictionary of a loss is counted as one,
 * and JOB_UNNUMBERED says so. */
static enum log_line_use read_dictionary(struct log_reading *reading, struct log_text line)
{
    struct job_event event = log_event(reading, line, JOB_STEP);
    struct log_text value;

    if (parse_evaluation(line, &value)) {
        event.kind = JOB_EVALUATION_END;
        if (log_take_length(&value, ns_per_second, &event.each_ns))
            reading->memory[EVALUATION_NS] += event.each_ns;
        job_add(reading->job, &event);
    } else if (hf_trainer_log_take_member(line, "'train_runtime': ", &value)) {
        if (!hf_trainer_log_has_bar(reading) && reading->memory[LINES] == 0)
            tell_all_training(reading, event, line, value);
        event.kind = JOB_END;
        job_add(reading->job, &event);
    } else if (hf_trainer_log_take_member(line, "{'loss': ", &value) &&
               !hf_trainer_log_has_bar(reading)) {
        if (reading->memory[LINES] == 0)
            log_tell(reading, line, JOB_UNNUMBERED);
        (void)log_take_real(&value, false, &event.loss);
        event.step = ++reading->memory[LINES];
        hf_trainer_log_tell_steps(reading, &event);
    }
    return LOG_LINE_USED;
}

/* The bar of another start, or the first: what dictionaries were taken for before was none. */
static void begin_bar(struct log_reading *reading, const struct log_bar *bar)
{
    int64_t *memory = reading->memory;
    struct job_event event = job_event_of(JOB_STEPS_ANEW);

    if (memory[LINES] > 0)
        job_add(reading->job, &event);
    memory[LINES] = 0;
    memory[TOTAL] = bar->total;
    memory[DONE] = memory[RESUMED];
    memory[ELAPSED_NS] = memory[EVALUATION_NS] = 0;
}

/* Has the bar begun anew? Each rank may draw one: theirs differ by a step or two. */
static bool is_restart(const int64_t *memory, const struct log_bar *bar)
{
    const int64_t settled_ns = 30 * ns_per_second;
    enum { STEPS_APART = 2 };

    if (bar->elapsed_ns >= memory[ELAPSED_NS])
        return false;
    return bar->done + STEPS_APART < memory[DONE] ||
           (bar->done == 0 && memory[DONE] > 0 && memory[ELAPSED_NS] >= settled_ns);
}

/* Steps since the last time that the bar's clock moved: it shows whole seconds. Bars of
 * evaluations have other totals, and are drawn while that of training stands. */
static enum log_line_use hf_trainer_log_read_bar(struct log_reading *reading, struct log_text line,
                                                 const struct log_bar *bar)
{
    struct job_event event = log_event(reading, line, JOB_STEP);
    int64_t *memory = reading->memory;
    int64_t steps, length_ns;

    if (log_text_length(bar->title) > 0 || bar->total <= 0)
        return LOG_LINE_NONE;
    if (memory[TOTAL] != bar->total) {
        if (memory[TOTAL] > 0 && memory[DONE] < memory[TOTAL])
            return LOG_LINE_USED; /* an evaluation */
        begin_bar(reading, bar);
    } else if (memory[DONE] == memory[TOTAL]) {
        return LOG_LINE_USED; /* another rank's */
    } else if (is_restart(memory, bar)) {
        memory[RESUMED] = 0;
        begin_bar(reading, bar);
    }
    steps = bar->done - memory[DONE];
    length_ns = bar->elapsed_ns - memory[ELAPSED_NS] - memory[EVALUATION_NS];
    if (steps <= 0 || (bar->elapsed_ns == memory[ELAPSED_NS] && bar->done < bar->total))
        return LOG_LINE_USED;
    event.step = bar->done;
    event.count = steps;
    event.last_step = bar->total;
    event.each_ns = length_ns > 0 ? length_ns / steps : 0;
    memory[DONE] = bar->done;
    memory[ELAPSED_NS] = bar->elapsed_ns;
    memory[EVALUATION_NS] = 0;
    hf_trainer_log_tell_steps(reading, &event);
    return LOG_LINE_USED;
}

/* "Continuing training from global step 500": the bar jumps there. */
static void read_resumption(struct log_reading *reading, struct log_text line, struct log_text rest)
{
    struct job_event event = log_event(reading, line, JOB_TRAINING);

    (void)log_take_integer(&rest, true, &event.step);
    job_add(reading->job, &event);
    if (event.step > 0)
        reading->memory[RESUMED] = event.step;
}

static enum log_line_use hf_trainer_log_read_line(struct log_reading *reading, struct log_text line)
{
    struct log_bar bar;
    struct log_text rest;
    struct job_event event;
    int64_t reports_skipped;

    if (log_take_bar(line, &bar)) {
        enum log_line_use use = hf_trainer_log_read_bar(reading, line, &bar);

        if (is_dictionary(bar.rest)) /* printed while the bar stood there */
            use = read_dictionary(reading, bar.rest);
        return use;
    }
    if (is_dictionary(line))
        return read_dictionary(reading, line);
    event = log_event(reading, line, JOB_STEP);
    if (parse_numbered(line, &event)) {
        job_add(reading->job, &event);
        return LOG_LINE_USED;
    }
    if (log_find(line, "Continuing training from global step ", &rest)) {
        read_resumption(reading, line, rest);
    } else if (log_find(line, "***** Running training *****", &rest)) {
        reports_skipped = reading->memory[REPORTS_SKIPPED];
        memset(reading->memory, 0, sizeof reading->memory);
        reading->memory[REPORTS_SKIPPED] = reports_skipped;
        log_tell(reading, line, JOB_TRAINING);
    } else if (log_find(line, "] [Rank 0] step=0, skipped=0, lr=", &rest)) {
        reading->memory[REPORTS_SKIPPED] = 1;
        log_tell(reading, line, JOB_TRAINING); /* DeepSpeed's engine is ready */
    } else if (log_find(line, "] OVERFLOW! ", &rest) && log_find(rest, "kipping step", &rest)) {
        reading->memory[REPORTS_SKIPPED] = 1;
        reading->memory[SKIPPED]++;
        log_tell(reading, line, JOB_SIGN_OF_LIFE);
    } else if (log_find(line, "Saving model checkpoint to ", &rest)) {
        event = log_event(reading, line, JOB_CHECKPOINT_END);
        if (log_find(rest, "checkpoint-", &rest))
            (void)log_take_integer(&rest, false, &event.step);
        job_add(reading->job, &event);
    } else if (log_find(line, "Training completed. Do not forget", &rest)) {
        log_tell(reading, line, JOB_END);
    } else {
        return LOG_LINE_NONE;
    }
    return LOG_LINE_USED;
}

/* A line without any of these is none of the above. */
static const char *const line_words[] = {"%|",
                                         "it [",
                                         "% ",
                                         "'epoch': ",
                                         "\"step\": ",
                                         "Continuing training from global step ",
                                         "***** Running training",
                                         "Saving model checkpoint to ",
                                         "Training completed. Do not forget",
                                         "step=0, skipped=0, lr=",
                                         "OVERFLOW! ",
                                         NULL};

const struct log_format hf_trainer_log_format = {
    .name = "hf-trainer",
    .summary = "Hugging Face Trainer: {'loss': 2.1, ..., 'epoch': 0.1} and its progress bar",
    .recognises = hf_trainer_log_recognises_line,
    .may_recognise = may_recognise_line,
    .read = hf_trainer_log_read_line,
    .words = line_words,
};
