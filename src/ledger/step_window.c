/* Where the steps of a trace begin and end. */
#include "ledger/step_window.h"

#include "base/core/array.h"
#include "base/core/invariant.h"
#include "base/text/prefix.h"
#include "ledger/serving_range.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- names of steps -------------------------------------------------------------------------- */

/* Names of ranges that programs put around their training steps: "iteration 12", "step_3",
 * "train_step". */

/* Without spaces, '_' and '-'. What names the whole step stands before what may be a part of it. */
static const char *const words[] = {
    "trainstep",      "trainingstep",
    "trainiteration", "trainingiteration",
    "trainiter",      "runtrainingbatch",
    "iteration",      "iter",
    "globalstep",     "step",
    "batch",          "minibatch",
};
enum { WORD_COUNT = sizeof words / sizeof *words, LETTERS_MAX = 32 };

/* How many words are known. */
static int step_word_count(void)
{
    return WORD_COUNT;
}

static char in_small_letters(char letter)
{
    return (char)tolower((unsigned char)letter);
}

/* The letters that `name` begins with, in small, without what stands between words. */
static void leading_letters(const char *name, char *to)
{
    size_t length = 0;

    for (; *name && length + 1 < LETTERS_MAX; name++) {
        if (isalpha((unsigned char)*name))
            to[length++] = in_small_letters(*name);
        else if (*name != ' ' && *name != '_' && *name != '-')
            break;
    }
    to[length] = '\0';
}

int step_word_of(const char *name)
{
    char letters[LETTERS_MAX];

    leading_letters(name, letters);
    for (int i = 0; i < WORD_COUNT; i++) {
        if (strcmp(letters, words[i]) == 0)
            return i;
    }
    return -1;
}

/* A number that overflows is no number: steps are then numbered by their order. */
int64_t step_number_in(const char *name)
{
    int64_t number = 0;

    while (*name && !isdigit((unsigned char)*name))
        name++;
    if (!*name)
        return -1;
    for (; isdigit((unsigned char)*name); name++) {
        if (__builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, *name - '0', &number))
            return -1;
    }
    return number;
}

/* "step 7", "iteration_12", "step 7 (train)": a step's word, its number and nothing but a note. */
static bool is_numbered_step(const char *name)
{
    const char *number = name;
    const char *end;

    while (isalpha((unsigned char)*number) || *number == ' ' || *number == '_' || *number == '-')
        number++;
    number += strspn(number, ":=# ");
    end = number + strspn(number, "0123456789");
    return step_word_of(name) >= 0 && end > number && (*end == '\0' || strncmp(end, " (", 2) == 0);
}

/* ---- step window ----------------------------------------------------------------------------- */

static void step_window_add_window(struct step_windows *result, struct step_window window)
{
    window.lead_ns = -1;
    ARRAY_ADD(result->windows, result->count, window);
}

/* Ties by end and number: windows of several threads may begin at one moment. */
static int compare_windows(const void *left, const void *right)
{
    const struct step_window *a = left;
    const struct step_window *b = right;

    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    if (a->end_ns != b->end_ns)
        return a->end_ns < b->end_ns ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

/* The n of "ProfilerStep#n", or -1. */
static int64_t step_number(const char *name)
{
    const char *hash = strchr(name, '#');
    char *end;
    long long number;

    if (!hash || hash[1] < '0' || hash[1] > '9')
        return -1;
    number = strtoll(hash + 1, &end, 10);
    return (int64_t)number;
}

/* The ids of all names that start with `start`; free() the array. */
static bool *names_starting_with(const struct trace *trace, const char *start)
{
    size_t count = string_pool_count(&trace->strings);
    bool *fits = require_memory(calloc(count, sizeof(*fits)));

    for (size_t id = 0; id < count; id++)
        fits[id] = has_prefix(trace_text(trace, (uint32_t)id), start);
    return fits;
}

/* Most of the window lies in the one before it: two profilers marked the same step. By more than
 * half, since clocks of two threads differ by some microseconds, and real steps of one thread
 * that overlap by rounding share far less. */
static bool is_second_mark(const struct step_window *window, const struct step_window *before)
{
    int64_t end_ns = before->end_ns < window->end_ns ? before->end_ns : window->end_ns;

    return end_ns - window->start_ns > (window->end_ns - window->start_ns) / 2;
}

/* The track of most windows; of several such the one of the first window. */
static uint32_t track_of_most(const struct step_windows *windows, uint32_t track_count)
{
    uint32_t *counts = require_memory(calloc(track_count + (size_t)1, sizeof *counts));
    uint32_t best = 0;

    for (uint32_t i = 0; i < windows->count; i++)
        counts[windows->windows[i].track]++;
    for (uint32_t i = 1; i < windows->count; i++)
        if (counts[windows->windows[i].track] > counts[windows->windows[best].track])
            best = i;
    free(counts);
    return windows->windows[best].track;
}

/* Steps marked by two threads at once are the same steps: those of the thread with the most marks
 * are kept, because no second may be booked twice. Of marks of one step by one thread the first is
 * kept. */
static void keep_one_thread(struct step_windows *result, uint32_t track_count)
{
    uint32_t best_track;
    uint32_t kept = 0;
    bool overlap = false;

    for (uint32_t i = 1; i < result->count; i++)
        overlap |= result->windows[i].start_ns < result->windows[i - 1].end_ns;
    if (!overlap)
        return;
    best_track = track_of_most(result, track_count);
    for (uint32_t i = 0; i < result->count; i++) {
        struct step_window window = result->windows[i];

        if (window.track != best_track ||
            (kept && is_second_mark(&window, &result->windows[kept - 1])))
            continue;
        /* Marks of one thread that overlap are cut, so that each moment belongs to one step at
         * most. */
        if (kept && window.start_ns < result->windows[kept - 1].end_ns)
            window.start_ns = result->windows[kept - 1].end_ns;
        if (window.start_ns < window.end_ns)
            result->windows[kept++] = window;
    }
    result->count = kept;
}

/* torch.profiler marks its steps on the thread that calls step(); its number is kept, so that
 * step 12 of a report is step 12 of the program. Marks that were not numbered count from 0. */
static void find_profiler_steps(struct step_windows *result, const struct trace *trace)
{
    bool *is_step = names_starting_with(trace, "ProfilerStep");

    for (uint32_t i = 0; i < trace_recorded_host_count(trace); i++) {
        const struct event *event = &trace->host[i];

        if (!is_step[event->name] || event->duration_ns <= 0)
            continue;
        step_window_add_window(result, (struct step_window){
                                           .start_ns = event->start_ns,
                                           .end_ns = event_end_ns(event),
                                           .number = step_number(trace_text(trace, event->name)),
                                           .name = event->name,
                                           .track = event->track,
                                       });
    }
    free(is_step);
    if (!result->count)
        return;
    qsort(result->windows, result->count, sizeof(*result->windows), compare_windows);
    keep_one_thread(result, trace->track_count);
    for (uint32_t i = 0; i < result->count; i++) {
        if (result->windows[i].number < 0)
            result->windows[i].number = i;
    }
    result->source = WINDOW_PROFILER_STEP;
}

/* The Optimizer.step name seen most often: with several optimizers, each may mark its own. A GAN
 * or an actor and a critic have two optimizers that step alternately: windows from any to any
 * would halve the steps. Of equals the name that comes first in the alphabet, so that the order
 * of a file's strings does not decide. */
static uint32_t commonest_optimizer(const struct trace *trace, const bool *is_optimizer)
{
    size_t names = string_pool_count(&trace->strings);
    uint32_t *counts = require_memory(calloc(names, sizeof(*counts)));
    uint32_t best = 0;

    for (uint32_t i = 0; i < trace_recorded_host_count(trace); i++) {
        if (trace->host[i].kind == EVENT_ANNOTATION && is_optimizer[trace->host[i].name])
            counts[trace->host[i].name]++;
    }
    for (uint32_t id = 1; id < names; id++) {
        if (counts[id] > counts[best] ||
            (counts[id] && counts[id] == counts[best] &&
             strcmp(trace_text(trace, id), trace_text(trace, best)) < 0))
            best = id;
    }
    free(counts);
    return best;
}

/* From the start of one Optimizer.step to the start of the next: n marks give n - 1 windows. */
static void find_optimizer_steps(struct step_windows *result, const struct trace *trace)
{
    bool *is_optimizer = names_starting_with(trace, "Optimizer.step#");
    uint32_t name = commonest_optimizer(trace, is_optimizer);
    uint32_t kept = 0;

    for (uint32_t i = 0; name && i < trace_recorded_host_count(trace); i++) {
        const struct event *event = &trace->host[i];

        if (event->kind == EVENT_ANNOTATION && event->name == name)
            step_window_add_window(result, (struct step_window){.start_ns = event->start_ns,
                                                                .end_ns = event->start_ns,
                                                                .name = name,
                                                                .track = event->track});
    }
    free(is_optimizer);
    if (!result->count)
        return;
    qsort(result->windows, result->count, sizeof(*result->windows), compare_windows);
    for (uint32_t i = 0; i + 1 < result->count; i++) {
        struct step_window window = result->windows[i];

        window.end_ns = result->windows[i + 1].start_ns;
        /* Calls of an optimizer have no numbers: they are counted from 0. */
        window.number = kept;
        if (window.start_ns < window.end_ns)
            result->windows[kept++] = window;
    }
    result->count = kept;
    result->source = WINDOW_OPTIMIZER_STEP;
}

/* ---- ranges that the program named ---------------------------------------------------------- */

/* A number in a name is that of the step only where it counts up by one from range to range, or
 * where it is all that a single one says: else it may be of tokens, or of a batch's size, and steps
 * are numbered from 0. */
static void number_ranges(struct step_windows *result, const struct trace *trace)
{
    bool counts_up =
        result->windows[0].number >= 0 &&
        (result->count > 1 || is_numbered_step(trace_text(trace, result->windows[0].name)));

    for (uint32_t i = 1; i < result->count; i++)
        counts_up = counts_up && result->windows[i].number - 1 == result->windows[i - 1].number;
    for (uint32_t i = 0; i < result->count && !counts_up; i++)
        result->windows[i].number = i;
}

/* Adds the ranges whose names `is_step` holds for, and makes steps of them. */
static void collect_ranges(struct step_windows *result, const struct trace *trace,
                           const bool *is_step)
{
    for (uint32_t i = 0; i < trace_recorded_host_count(trace); i++) {
        const struct event *event = &trace->host[i];

        if (!is_step[event->name] || event->duration_ns <= 0 ||
            (event->kind != EVENT_ANNOTATION && event->kind != EVENT_OPERATOR))
            continue;
        step_window_add_window(result, (struct step_window){
                                           .start_ns = event->start_ns,
                                           .end_ns = event_end_ns(event),
                                           .number = step_number_in(trace_text(trace, event->name)),
                                           .name = event->name,
                                           .track = event->track,
                                       });
    }
    if (!result->count)
        return;
    qsort(result->windows, result->count, sizeof(*result->windows), compare_windows);
    keep_one_thread(result, trace->track_count);
    number_ranges(result, trace);
    result->source = WINDOW_RANGES;
}

/* For each word that names steps how much there is of it: 2 is enough. A recording of one step has
 * one range, whose number must say what it is, as a "batch" alone may be anything. free() it. */
static uint32_t *count_step_words(const struct trace *trace, const int8_t *word_of)
{
    uint32_t *counts = require_memory(calloc((size_t)step_word_count(), sizeof(*counts)));

    for (uint32_t i = 0; i < trace_recorded_host_count(trace); i++) {
        const struct event *event = &trace->host[i];

        if (event->kind == EVENT_ANNOTATION && word_of[event->name] >= 0)
            counts[word_of[event->name]] +=
                is_numbered_step(trace_text(trace, event->name)) ? 2 : 1;
    }
    return counts;
}

/* Ranges called "iteration 5" and the like. */
static void find_named_steps(struct step_windows *result, const struct trace *trace)
{
    size_t count = string_pool_count(&trace->strings);
    int8_t *word_of = require_memory(calloc(count, sizeof(*word_of)));
    bool *is_step = require_memory(calloc(count, sizeof(*is_step)));
    uint32_t *counts;
    int word = 0;

    for (size_t id = 0; id < count; id++)
        word_of[id] = (int8_t)step_word_of(trace_text(trace, (uint32_t)id));
    counts = count_step_words(trace, word_of);
    while (word < step_word_count() && counts[word] < 2)
        word++;
    for (size_t id = 0; id < count; id++)
        is_step[id] = word_of[id] == word;
    if (word < step_word_count())
        collect_ranges(result, trace, is_step);
    free(counts);
    free(is_step);
    free(word_of);
}

/* Steps of an inference server, by the names that it gives them. */
static void find_serving_steps(struct step_windows *result, const struct trace *trace)
{
    size_t count = string_pool_count(&trace->strings);
    bool *is_step = require_memory(calloc(count, sizeof(*is_step)));
    struct serving_range range;
    bool has_steps = false;

    for (size_t id = 1; id < count; id++) {
        is_step[id] = serving_range_parse(&range, trace_text(trace, (uint32_t)id));
        has_steps |= is_step[id];
    }
    if (has_steps)
        collect_ranges(result, trace, is_step);
    free(is_step);
}

/* What is common to all windows, once they are found. */
static void finish_windows(struct step_windows *result, const struct trace *trace)
{
    for (uint32_t i = 0; i < result->count; i++) {
        struct step_window *window = &result->windows[i];
        struct serving_range range;

        window->mark_start_ns = window->start_ns;
        window->mark_end_ns = window->end_ns;
        if (serving_range_parse(&range, trace_text(trace, window->name)))
            window->kind = (uint8_t)(range.phase + 1);
    }
    if (result->count && trace->read.is_truncated)
        result->windows[result->count - 1].is_cut = true;
}

/* Each name is matched once, however many events have it: regexec is slow. */
void find_steps_by_pattern(struct step_windows *result, const struct trace *trace,
                           const regex_t *pattern)
{
    size_t count = string_pool_count(&trace->strings);
    bool *is_step = require_memory(calloc(count, sizeof(*is_step)));

    for (size_t id = 1; id < count; id++)
        is_step[id] = regexec(pattern, trace_text(trace, (uint32_t)id), 0, NULL, 0) == 0;
    collect_ranges(result, trace, is_step);
    free(is_step);
    finish_windows(result, trace);
}

/* ---- all of it ------------------------------------------------------------------------------ */

/* All work of `device`; without device work all operators and named ranges of the host. From the
 * first event's start to the last one's end, not of the file: idle time before the first kernel
 * would be of the profiler's start. */
static void find_whole(struct step_windows *result, const struct trace *trace, int32_t device)
{
    const struct event *events = device >= 0 ? trace->device : trace->host;
    uint32_t count = device >= 0 ? trace->device_count : trace_recorded_host_count(trace);
    struct step_window window = {.start_ns = INT64_MAX, .end_ns = INT64_MIN, .track = NO_EVENT};

    for (uint32_t i = 0; i < count; i++) {
        if (device >= 0 && trace->tracks[events[i].track].device != device)
            continue;
        if (events[i].start_ns < window.start_ns)
            window.start_ns = events[i].start_ns;
        if (event_end_ns(&events[i]) > window.end_ns)
            window.end_ns = event_end_ns(&events[i]);
    }
    if (window.start_ns < window.end_ns)
        step_window_add_window(result, window);
    result->source = WINDOW_WHOLE;
}

/* The best evidence that there is decides, and only one kind is used, for windows of two kinds
 * would overlap: the profiler's own marks say what a step is; then the optimizer, which ends
 * each step, though of n marks only n - 1 windows are whole; then ranges that servers and people
 * name so, of which what names whole steps goes before words that may name a part of one
 * ("batch", see words). Last the whole trace is one window: the accounts are then right, and
 * nothing is said of steps. */
void find_step_windows(struct step_windows *result, const struct trace *trace,
                       enum window_choice choice, int32_t device)
{
    if (choice == WINDOW_CHOICE_AUTO || choice == WINDOW_CHOICE_STEPS)
        find_profiler_steps(result, trace);
    if (!result->count && (choice == WINDOW_CHOICE_AUTO || choice == WINDOW_CHOICE_OPTIMIZER))
        find_optimizer_steps(result, trace);
    if (!result->count && (choice == WINDOW_CHOICE_AUTO || choice == WINDOW_CHOICE_RANGES))
        find_serving_steps(result, trace);
    if (!result->count && (choice == WINDOW_CHOICE_AUTO || choice == WINDOW_CHOICE_RANGES))
        find_named_steps(result, trace);
    if (!result->count && (choice == WINDOW_CHOICE_AUTO || choice == WINDOW_CHOICE_WHOLE))
        find_whole(result, trace, device);
    finish_windows(result, trace);
}

void step_windows_clear(struct step_windows *windows)
{
    free(windows->windows);
    *windows = (struct step_windows){0};
}

const char *window_source_text(enum window_source source)
{
    switch (source) {
    case WINDOW_PROFILER_STEP:
        return "ProfilerStep marks of the profiler";
    case WINDOW_OPTIMIZER_STEP:
        return "from one Optimizer.step to the next";
    case WINDOW_RANGES:
        return "ranges that the program named as steps";
    case WINDOW_WHOLE:
        break;
    }
    return "none: the whole trace is one window";
}
