/* By whose clock the steps are booked. */
#include "base/core/invariant.h"
#include "base/core/search.h"
#include "ledger/step_ledger.h"

#include <stdlib.h>
#include <string.h>

/* Marks that follow each other this closely leave nothing out: a step lasts until the next begins.
 */
enum { GAP_OF_MARK_PERCENT = 1 };

/* What was launched in one mark. */
struct launched_work {
    int64_t start_ns; /* INT64_MAX: nothing */
    int64_t end_ns;
    int64_t from_ns; /* its device window */
    int64_t until_ns;
};

struct clock_search {
    const struct trace *trace;
    const struct step_windows *windows;
    struct launched_work *work; /* [windows->count] */
    int32_t device;
};

/* In double, since a sum of nanoseconds times 100 may overflow 63 bits on merged traces of
 * days. */
static bool fits(int64_t inside_ns, int64_t launched_ns, int percent)
{
    return (double)inside_ns * 100 >= (double)launched_ns * percent;
}

/* Index of the last mark that starts at or before `time_ns`; 0 where none does. */
static uint32_t mark_before(const struct step_windows *windows, int64_t time_ns)
{
    uint32_t low = LOWER_BOUND(i, 0, windows->count, windows->windows[i].mark_start_ns <= time_ns);

    return low > 0 ? low - 1 : 0;
}

/* Index of the mark that holds `time_ns`, or NO_EVENT. */
static uint32_t mark_at(const struct step_windows *windows, int64_t time_ns)
{
    uint32_t at = mark_before(windows, time_ns);

    if (at >= windows->count || windows->windows[at].mark_start_ns > time_ns ||
        windows->windows[at].mark_end_ns <= time_ns)
        return NO_EVENT;
    return at;
}

/* The step in whose mark device event `index` was launched, or NO_EVENT. */
static uint32_t step_that_launched(const struct clock_search *search, uint32_t index)
{
    const struct trace *trace = search->trace;

    if (trace->launch[index] == NO_EVENT ||
        trace->tracks[trace->device[index].track].device != search->device)
        return NO_EVENT;
    return mark_at(search->windows, trace->host[trace->launch[index]].start_ns);
}

static void widen(struct launched_work *work, const struct event *event)
{
    if (event->start_ns < work->start_ns)
        work->start_ns = event->start_ns;
    if (event_end_ns(event) > work->end_ns)
        work->end_ns = event_end_ns(event);
}

/* Marks are in order and do not overlap (step_window.c), so each launch is of one mark at
 * most: O(device events * log marks). */
static void find_launched_work(struct clock_search *search)
{
    for (uint32_t i = 0; i < search->trace->device_count; i++) {
        uint32_t step = step_that_launched(search, i);

        if (step != NO_EVENT)
            widen(&search->work[step], &search->trace->device[i]);
    }
}

/* By name: the one mark that has it; NO_EVENT where none has, or several have. free() it. */
static uint32_t *marks_by_name(const struct clock_search *search)
{
    size_t names = string_pool_count(&search->trace->strings);
    uint32_t *marks = require_memory(malloc((names + 1) * sizeof *marks));
    uint8_t *seen = require_memory(calloc(names + 1, 1));

    memset(marks, 0xff, (names + 1) * sizeof *marks);
    for (uint32_t i = 0; i < search->windows->count; i++) {
        uint32_t name = search->windows->windows[i].name;

        marks[name] = seen[name] ? NO_EVENT : i;
        seen[name] = 1;
    }
    free(seen);
    return marks;
}

/* Where no launch is known, the copy of the mark on the device tells. A mark of an optimizer is not
 * that of a step. */
static void collect_device_marks(struct clock_search *search)
{
    const struct trace *trace = search->trace;
    uint32_t *marks = marks_by_name(search);
    uint8_t *is_without = require_memory(calloc((size_t)search->windows->count + 1, 1));

    for (uint32_t i = 0; i < search->windows->count; i++)
        is_without[i] = search->work[i].start_ns == INT64_MAX &&
                        search->windows->source != WINDOW_OPTIMIZER_STEP;
    for (uint32_t i = 0; i < trace->device_note_count; i++) {
        const struct event *note = &trace->device_notes[i];
        uint32_t step = marks[note->name];

        if (note->kind == EVENT_DEVICE_ANNOTATION && step != NO_EVENT && is_without[step] &&
            trace->tracks[note->track].device == search->device)
            widen(&search->work[step], note);
    }
    free(is_without);
    free(marks);
}

/* Marks between which nothing is left out. */
static bool follows_at_once(const struct step_window *window, const struct step_window *next)
{
    int64_t length_ns = window->mark_end_ns - window->mark_start_ns;

    return next->mark_start_ns - window->mark_end_ns <= length_ns / 100 * GAP_OF_MARK_PERCENT;
}

/* Windows never overlap: where one step's work runs into the next one's, that begins behind it.
 * The order of marks is the order of work on one stream; where two steps' work interleaves, the
 * time of both goes to the earlier one, since each nanosecond has one step. */
static void cut_windows(struct clock_search *search)
{
    int64_t reached_ns = INT64_MIN;

    for (uint32_t i = 0; i < search->windows->count; i++) {
        struct launched_work *work = &search->work[i];

        work->from_ns = work->start_ns > reached_ns ? work->start_ns : reached_ns;
        work->until_ns = work->end_ns;
        if (work->start_ns >= work->end_ns || work->from_ns >= work->until_ns) {
            work->from_ns = work->until_ns = reached_ns;
            continue;
        }
        /* Where marks follow each other at once, the idle time between two steps' work is of a
         * step, too, as it is by the host's clock; where the marks leave time out, the windows
         * do as well. */
        if (i + 1 < search->windows->count && search->work[i + 1].start_ns > work->until_ns &&
            search->work[i + 1].start_ns < search->work[i + 1].end_ns &&
            follows_at_once(&search->windows->windows[i], &search->windows->windows[i + 1]))
            work->until_ns = search->work[i + 1].start_ns;
        reached_ns = work->until_ns;
    }
}

/* Zero where they do not meet: a negative overlap would take from others. */
static int64_t shared_ns(const struct event *event, int64_t start_ns, int64_t end_ns)
{
    if (event->start_ns > start_ns)
        start_ns = event->start_ns;
    if (event_end_ns(event) < end_ns)
        end_ns = event_end_ns(event);
    return end_ns > start_ns ? end_ns - start_ns : 0;
}

/* From the mark before the event's start, for that one may reach into it. */
static int64_t in_marks_ns(const struct step_windows *windows, const struct event *event)
{
    int64_t sum_ns = 0;

    for (uint32_t i = mark_before(windows, event->start_ns); i < windows->count; i++) {
        if (windows->windows[i].mark_start_ns >= event_end_ns(event))
            break;
        sum_ns +=
            shared_ns(event, windows->windows[i].mark_start_ns, windows->windows[i].mark_end_ns);
    }
    return sum_ns;
}

/* Work whose launch is not known, or that was launched before the first mark, also runs in the
 * marks: where it is most of what runs there, the rest tells nothing of the clocks. */
static void measure_clocks(const struct clock_search *search, struct step_clocks *clocks)
{
    for (uint32_t i = 0; i < search->trace->device_count; i++) {
        const struct event *event = &search->trace->device[i];
        uint32_t step = step_that_launched(search, i);

        if (search->trace->tracks[event->track].device == search->device)
            clocks->running_ns += in_marks_ns(search->windows, event);
        if (step == NO_EVENT)
            continue;
        clocks->launched_ns += event->duration_ns;
        clocks->in_mark_ns += shared_ns(event, search->windows->windows[step].mark_start_ns,
                                        search->windows->windows[step].mark_end_ns);
        clocks->in_window_ns +=
            shared_ns(event, search->work[step].from_ns, search->work[step].until_ns);
    }
    clocks->is_known = clocks->launched_ns > 0 &&
                       fits(clocks->launched_ns, clocks->running_ns, CLOCK_FITS_PERCENT);
}

/* The device's windows are taken only where they mend something: more than a quarter of the work
 * of steps lies outside its own marks, most of it inside the windows, and each step has one. A
 * recording begins with a host that is not ahead: by the marks its first step is shorter than all
 * others by as much as the host then runs ahead, and the mean of few steps too short. In doubt
 * the host's marks stay, as they are what the program itself calls a step. */
static enum step_clock chosen_clock(const struct step_clocks *clocks, enum step_clock_choice choice)
{
    if (choice != CLOCK_CHOICE_AUTO)
        return choice == CLOCK_CHOICE_DEVICE ? STEP_CLOCK_DEVICE : STEP_CLOCK_HOST;
    if (clocks->is_known && clocks->without_work == 0 &&
        !fits(clocks->in_mark_ns, clocks->launched_ns, MARKS_FIT_PERCENT) &&
        fits(clocks->in_window_ns, clocks->launched_ns, CLOCK_FITS_PERCENT) &&
        clocks->in_window_ns > clocks->in_mark_ns)
        return STEP_CLOCK_DEVICE;
    return STEP_CLOCK_HOST;
}

/* The device's windows in place of the marks. */
static void collect_device_windows(struct step_windows *windows, const struct launched_work *work)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < windows->count; i++) {
        struct step_window window = windows->windows[i];

        window.start_ns = work[i].from_ns;
        window.end_ns = work[i].until_ns;
        if (window.start_ns < window.end_ns)
            windows->windows[kept++] = window;
    }
    windows->count = kept;
}

/* A host that runs ahead marks the end of a step while the device is still at work on the one
 * before: by the marks, each step then has its neighbor's kernels. This measures how much of
 * the work launched in a mark also ran in it, and else gives each step the time of its own
 * work. O(device events * log marks). */
struct step_clocks choose_step_clock(struct step_windows *windows, const struct trace *trace,
                                     int32_t device, enum step_clock_choice choice)
{
    struct step_clocks clocks = {.clock = STEP_CLOCK_HOST};
    struct clock_search search = {.trace = trace, .windows = windows, .device = device};

    if (windows->source == WINDOW_WHOLE || device < 0)
        return clocks;
    search.work = require_memory(calloc((size_t)windows->count + 1, sizeof *search.work));
    for (uint32_t i = 0; i < windows->count; i++)
        search.work[i] = (struct launched_work){.start_ns = INT64_MAX, .end_ns = INT64_MIN};
    find_launched_work(&search);
    for (uint32_t i = 0; i < windows->count; i++) {
        struct step_window *window = &windows->windows[i];

        if (search.work[i].start_ns != INT64_MAX)
            window->lead_ns = search.work[i].end_ns > window->mark_end_ns
                                  ? search.work[i].end_ns - window->mark_end_ns
                                  : 0;
    }
    collect_device_marks(&search);
    cut_windows(&search);
    measure_clocks(&search, &clocks);
    for (uint32_t i = 0; i < windows->count; i++)
        /* A mark without work of its own: the host had nothing to launch in it, or another
         * thread did. */
        clocks.without_work += search.work[i].from_ns >= search.work[i].until_ns;
    clocks.clock = chosen_clock(&clocks, choice);
    if (clocks.clock == STEP_CLOCK_DEVICE)
        collect_device_windows(windows, search.work);
    free(search.work);
    return clocks;
}

bool step_clock_fits(const struct step_clocks *clocks)
{
    return !clocks->is_known ||
           fits(clocks->clock == STEP_CLOCK_DEVICE ? clocks->in_window_ns : clocks->running_ns,
                clocks->launched_ns, CLOCK_FITS_PERCENT);
}
