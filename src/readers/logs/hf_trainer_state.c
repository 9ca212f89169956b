/* trainer_state.json, which Hugging Face's Trainer keeps with its checkpoints: steps, losses and
 * how long evaluations took; no times. */
#include "base/core/arena.h"
#include "base/json/json_tree.h"
#include "readers/logs/log_format.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const int64_t ns_per_second = 1000000000;

/* What the log history adds up to. */
struct history {
    int64_t train_ns;      /* of all of it; JOB_NOT_KNOWN */
    int64_t evaluation_ns; /* of it: evaluations and predictions */
    int64_t last_step;     /* that was made, */
    int64_t last_logged;   /* and that has a loss; 0: none */
    int64_t first_logged;  /* 0: none */
    int64_t planned;       /* JOB_NOT_KNOWN */
};

/* Keys come in any order and the head of the file may end before one of them, so that any of
 * three pairs will do. */
static bool hf_trainer_state_recognises_file(struct log_text head)
{
    struct log_text rest;

    while (head.at < head.end && (*head.at == ' ' || *head.at == '\n' || *head.at == '\r'))
        head.at++;
    return log_skip(&head, "{") &&
           (log_find(head, "\"log_history\"", &rest) ||
            (log_find(head, "\"global_step\"", &rest) && log_find(head, "\"max_steps\"", &rest)) ||
            (log_find(head, "\"best_metric\"", &rest) && log_find(head, "\"epoch\"", &rest)));
}

static double hf_trainer_state_real_of(const struct json_node *entry, const char *key,
                                       double otherwise)
{
    const struct json_node *member = json_member(entry, key);

    return member && member->kind == JSON_NUMBER ? strtod(member->text, NULL) : otherwise;
}

/* Four months at most: what is longer is no length. */
static int64_t length_of(const struct json_node *entry, const char *key)
{
    double seconds = key ? hf_trainer_state_real_of(entry, key, -1.0) : -1.0;

    return seconds >= 0.0 && seconds < 1e7 ? (int64_t)(seconds * (double)ns_per_second)
                                           : JOB_NOT_KNOWN;
}

/* What an evaluation or prediction calls its length: "eval_runtime", "predict_runtime", whatever
 * the program says before it; NULL: the entry is of none. */
static const char *evaluation_key(const struct json_node *entry)
{
    static const char ending[] = "_runtime";
    const size_t ending_bytes = sizeof ending - 1;

    for (const struct json_node *member = entry->first; member; member = member->next) {
        size_t length = member->key ? strlen(member->key) : 0;

        if (length > ending_bytes && strcmp(member->key + length - ending_bytes, ending) == 0 &&
            strcmp(member->key, "train_runtime") != 0)
            return member->key;
    }
    return NULL;
}

/* The steps since the last that has a loss stand in "global_step" only, and in the last entry. */
static struct history hf_trainer_state_add_up(const struct json_node *state,
                                              const struct json_node *entries)
{
    struct history history = {
        .train_ns = JOB_NOT_KNOWN,
        .last_step = json_integer_of(state, "global_step", 0),
        .planned = json_integer_of(state, "max_steps", JOB_NOT_KNOWN),
    };

    int64_t evaluations_ns = 0; /* those behind the end of training are none of its time */

    for (const struct json_node *entry = entries; entry; entry = entry->next) {
        int64_t step = json_integer_of(entry, "step", 0);
        int64_t evaluation_ns = length_of(entry, evaluation_key(entry));
        int64_t train_ns = length_of(entry, "train_runtime");

        if (evaluation_ns != JOB_NOT_KNOWN)
            evaluations_ns += evaluation_ns;
        if (train_ns != JOB_NOT_KNOWN) {
            history.train_ns =
                train_ns + (history.train_ns == JOB_NOT_KNOWN ? 0 : history.train_ns);
            history.evaluation_ns = evaluations_ns;
        }
        if (json_member(entry, "loss")) {
            if (history.first_logged == 0)
                history.first_logged = step;
            history.last_logged = step;
        }
        if (step > history.last_step)
            history.last_step = step;
    }
    return history;
}

/* The mean of all: the file tells the time of the whole only. */
static int64_t mean_step_ns(const struct history *history)
{
    if (history->train_ns == JOB_NOT_KNOWN || history->train_ns <= history->evaluation_ns ||
        history->last_step <= 0)
        return JOB_NOT_KNOWN;
    return (history->train_ns - history->evaluation_ns) / history->last_step;
}

static struct job_event step_of(const struct history *history, int64_t step)
{
    struct job_event event = job_event_of(JOB_STEP);

    event.step = step;
    event.each_ns = mean_step_ns(history);
    event.last_step = history->planned;
    return event;
}

static void tell_entry(struct log_reading *reading, const struct json_node *entry,
                       const struct history *history)
{
    struct job_event event = step_of(history, json_integer_of(entry, "step", 0));

    if (json_member(entry, "loss")) {
        event.loss = hf_trainer_state_real_of(entry, "loss", event.loss);
        if (event.step > 0 && event.step == history->first_logged)
            event.count = event.step; /* the history goes back to step 1, over all restarts */
        if (event.step > 0)
            job_add(reading->job, &event);
    } else if (evaluation_key(entry)) {
        event.kind = JOB_EVALUATION_END;
        event.each_ns = length_of(entry, evaluation_key(entry));
        job_add(reading->job, &event);
    }
}

/* Logging may be rarer than steps: what came after the last entry is told by the state's own
 * number of steps. */
static void tell_end(struct log_reading *reading, const struct history *history)
{
    struct job_event event = step_of(history, history->last_step);

    if (history->last_logged == 0)
        event.count = event.step;
    if (history->last_step > history->last_logged)
        job_add(reading->job, &event);
    event = job_event_of(JOB_END);
    if (history->train_ns != JOB_NOT_KNOWN)
        job_add(reading->job, &event);
}

/* It is a history over all restarts, which other files of the job may tell once more
 * (job_copies.c). */
static bool hf_trainer_state_read_file(struct log_reading *reading, struct log_text text,
                                       struct error *error)
{
    SCOPED(arena) arena = {0};
    const struct json_node *state = json_tree_parse(&arena, text.at, log_text_length(text), error);
    const struct json_node *entries;
    struct history history;

    if (!state)
        return error_in(error, "it looks like a trainer_state.json of Hugging Face's Trainer");
    entries = json_items_of(state, "log_history");
    if (!entries)
        return error_set(error, ERROR_INPUT,
                         "a trainer_state.json without entries in \"log_history\": was it saved "
                         "before the first step was logged?");
    job_reports_history(reading->job);
    history = hf_trainer_state_add_up(state, entries);
    for (const struct json_node *entry = entries; entry; entry = entry->next)
        tell_entry(reading, entry, &history);
    tell_end(reading, &history);
    return true;
}

const struct log_format hf_trainer_state_format = {
    .name = "hf-trainer-state",
    .summary = "trainer_state.json of Hugging Face's Trainer",
    .recognises_file = hf_trainer_state_recognises_file,
    .read_file = hf_trainer_state_read_file,
};
