/* Progress bars of Lightning and of NeMo 1: "Epoch 0:  10%|#  | 100/1000 [00:10<01:30, 9.9it/s,
 * v_num=0, train_loss=2.3]", or as rich draws them. */
#include "readers/logs/log_format.h"
#include "readers/logs/log_text.h"

#include <stddef.h>
#include <string.h>

/* Places of reading->memory. */
enum {
    EPOCH,
    BATCHES,     /* of all epochs before */
    LAST_TOTAL,  /* of the bar of the last epoch */
    DONE,        /* of this epoch */
    ELAPSED_NS,  /* of its bar */
    VALIDATE_NS, /* of it: validation since the line before */
    HAS_GLOBAL,  /* the bar tells global_step */
    GLOBAL_STEP, /* the last one */
    HAS_TOLD,    /* of steps, before: the first line stands for all that its bar counts */
};

/* "Epoch 3"; of "Epoch 70/500" with a bar to 500 the bar counts epochs, and goes on all the time.
 */
static bool parse_epoch(const struct log_bar *bar, int64_t *epoch)
{
    struct log_text title = bar->title;
    int64_t last;

    if (!log_find_word(title, "Epoch ", &title) || !log_take_integer(&title, false, epoch))
        return false;
    if (log_skip(&title, "/") && log_take_integer(&title, false, &last) && last == bar->total)
        *epoch = 0;
    return true;
}

static bool lightning_log_recognises_line(struct log_text line)
{
    struct log_bar bar;
    int64_t epoch;

    return (log_take_bar(line, &bar) && parse_epoch(&bar, &epoch)) || log_take_rich_bar(line, &bar);
}

/* Steps count over epochs: what the epochs before had is added, or computed where the file
 * begins in the middle. */
static void begin_epoch(int64_t *memory, int64_t epoch, const struct log_bar *bar)
{
    if (epoch < memory[EPOCH] || bar->done < memory[DONE])
        memory[BATCHES] = epoch * bar->total;
    else
        memory[BATCHES] += memory[LAST_TOTAL];
    memory[EPOCH] = epoch;
    memory[DONE] = memory[ELAPSED_NS] = memory[VALIDATE_NS] = 0;
}

/* A progress bar shows what the program logged: a global step where there is one counts before
 * our own, which only counts batches. */
static void parse_postfix(struct log_text rest, int64_t *memory, struct job_event *event)
{
    struct log_text value;
    double number;

    if (log_find(rest, "global_step=", &value) && log_take_real(&value, false, &number) &&
        number >= 0.0 && number < 1e15) {
        event->step = (int64_t)number;
        memory[HAS_GLOBAL] = 1;
    }
    if (log_find(rest, "loss=", &value) || log_find(rest, "loss_step=", &value) ||
        log_find(rest, "loss: ", &value))
        (void)log_take_real(&value, false, &event->loss);
}

/* How many steps were made since the line before; negative: not known. The first line that tells
 * global_step stands for all steps before it, unless these are more than the bar has: then a run
 * goes on that was begun before. */
static int64_t steps_since(const int64_t *memory, const struct job_event *event,
                           const struct log_bar *bar, bool had_global)
{
    if (!memory[HAS_GLOBAL])
        return bar->done - memory[DONE];
    if (!had_global && event->step > bar->done)
        return -1;
    return event->step - memory[GLOBAL_STEP];
}

/* The bar's clock shows whole seconds: steps are told when it moves, as many as were made
 * since. */
static enum log_line_use lightning_log_read_bar(struct log_reading *reading, struct log_text line,
                                                const struct log_bar *bar)
{
    struct job_event event = log_event(reading, line, JOB_STEP);
    bool had_global = reading->memory[HAS_GLOBAL];
    int64_t *memory = reading->memory;
    int64_t epoch, length_ns, steps;

    if (!parse_epoch(bar, &epoch) || bar->total > 1000000000000 || epoch > 1000000)
        return LOG_LINE_NONE;
    if (epoch != memory[EPOCH] || bar->done < memory[DONE] || bar->elapsed_ns < memory[ELAPSED_NS])
        begin_epoch(memory, epoch, bar);
    memory[LAST_TOTAL] = bar->total > 0 ? bar->total : bar->done;
    event.step = memory[BATCHES] + bar->done;
    parse_postfix(bar->rest, memory, &event);
    steps = steps_since(memory, &event, bar, had_global);
    length_ns = bar->elapsed_ns - memory[ELAPSED_NS] - memory[VALIDATE_NS];
    if (bar->done == memory[DONE] || steps == 0 ||
        (bar->elapsed_ns == memory[ELAPSED_NS] && bar->done != bar->total))
        return LOG_LINE_USED;
    if (steps > 0)
        event.each_ns = length_ns > 0 ? length_ns / steps : 0;
    if (steps > 0 && !memory[HAS_TOLD])
        event.count = steps;
    memory[HAS_TOLD] = 1;
    memory[GLOBAL_STEP] = event.step;
    memory[DONE] = bar->done;
    memory[ELAPSED_NS] = bar->elapsed_ns;
    memory[VALIDATE_NS] = 0;
    job_add(reading->job, &event);
    return LOG_LINE_USED;
}

/* "Validation DataLoader 0: 100%|###| 5/5 [00:01<00:00, 4.5it/s]": its last bar tells its time. */
static enum log_line_use read_validation(struct log_reading *reading, struct log_text line,
                                         const struct log_bar *bar)
{
    struct job_event event = log_event(reading, line, JOB_EVALUATION_END);
    struct log_text rest;

    if (!log_find(bar->title, "Validat", &rest))
        return LOG_LINE_NONE;
    if (bar->total == 0) /* whether it is the last line of it is not known */
        reading->memory[VALIDATE_NS] = bar->elapsed_ns;
    if (bar->total == 0 || bar->done != bar->total)
        return LOG_LINE_USED;
    event.each_ns = bar->elapsed_ns;
    reading->memory[VALIDATE_NS] = bar->elapsed_ns;
    job_add(reading->job, &event);
    return LOG_LINE_USED;
}

static enum log_line_use lightning_log_read_line(struct log_reading *reading, struct log_text line)
{
    struct log_bar bar;
    struct log_text rest;

    if (log_take_bar(line, &bar)) {
        enum log_line_use use = lightning_log_read_bar(reading, line, &bar);

        if (use == LOG_LINE_NONE)
            use = read_validation(reading, line, &bar);
        if (log_find(bar.rest, "`Trainer.fit` stopped", &rest)) /* printed while the bar was there
                                                                 */
            log_tell(reading, line, JOB_END);
        return use;
    }
    if (log_take_rich_bar(line, &bar))
        return lightning_log_read_bar(reading, line, &bar);
    if (!log_find(line, "`Trainer.fit` stopped", &rest))
        return LOG_LINE_NONE;
    log_tell(reading, line, JOB_END);
    return LOG_LINE_USED;
}

const struct log_format lightning_log_format = {
    .name = "lightning",
    .summary = "Lightning, NeMo 1: 'Epoch 0:  10%|#  | 100/1000 [00:10<01:30, ...]'",
    .recognises = lightning_log_recognises_line,
    .read = lightning_log_read_line,
};
