/* The array of events of a trace, or a piece of it: one after the other, past what is damaged.
 *
 * An event that is no JSON is read again by a more tolerant rule (profilers write names with quotes
 * and backslashes that nobody escaped, and keys without a value). If that does not help, either,
 * the text up to the next place where an event seems to begin is skipped, counted and noted. */
#include "readers/torch_profiler/torch_profiler_reading.h"
#include "readers/torch_profiler/torch_profiler_scan.h"

#include <stdio.h>
#include <string.h>

enum {
    /* An event this long that is still not complete is looked at: does another begin inside it? */
    SUSPICIOUS_BYTES = 4 * 1024 * 1024,
    /* The tolerant rule does not look further than this for the end of an event. */
    TOLERANT_BYTES = 128 * 1024,
    /* Longer than any event can be. */
    LONGEST_EVENT_BYTES = 256 * 1024 * 1024,
    /* So far back from a place where an event may begin is looked for what stands before it. */
    LOOK_BACK_BYTES = 128,
    /* So much white space before an event is part of how it is laid out. */
    LAID_OUT_SPACE_BYTES = 16,
    /* So much of what was found instead is shown. */
    FOUND_BYTES = 23,
};

/* The character before `at` that is no white space; 0 where the window or so much white space
 * begins. */
static char before(const char *at, const char *start)
{
    if (at - start > LOOK_BACK_BYTES)
        start = at - LOOK_BACK_BYTES;
    while (at > start && (unsigned char)at[-1] <= ' ')
        at--;
    return at > start ? at[-1] : '\0';
}

/* Keys that stand behind traceEvents, at the end of a file. A key that the end of the window
 * cuts is looked at again when there is more text. */
static enum json_sight sight_trailer(const char *at, const char *limit)
{
    static const char *const keys[] = {
        "\"traceName\"",
        "\"displayTimeUnit\"",
        "\"baseTimeNanoseconds\"",
        "\"schemaVersion\"",
        "\"deviceProperties\"",
        "\"distributedInfo\"",
        "\"otherData\"",
        "\"systemTraceEvents\"",
        "\"stackFrames\"",
        "\"metadata\"",
        "\"INFO\"",
        "\"WARNING\"",
        "\"ERROR\"",
        "\"record_shapes\"",
        "\"with_stack\"",
        "\"samples\"",
        "\"trace_id\"",
    };

    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        size_t length = strlen(keys[i]);

        if ((size_t)(limit - at) < length) {
            if (memcmp(at, keys[i], (size_t)(limit - at)) == 0)
                return SIGHT_CUT;
        } else if (memcmp(at, keys[i], length) == 0) {
            return SIGHT_YES;
        }
    }
    return SIGHT_NO;
}

/* Whether the ']' at `at` seems to end the array of events. */
static enum json_sight sight_array_end(const struct json_window *window, const char *start,
                                       const char *at)
{
    const char *limit = window->scan.limit;

    if (before(at, start) != '}')
        return SIGHT_NO;
    at = scan_space(at + 1);
    if (*at == ',')
        return sight_trailer(scan_space(at + 1), limit);
    if (*at != '}')
        return at >= limit ? SIGHT_CUT : SIGHT_NO;
    at = scan_space(at + 1);
    if (at >= limit)
        return window->is_last ? SIGHT_YES : SIGHT_CUT;
    return *at != ',' && *at != '}' && *at != ']' ? SIGHT_YES : SIGHT_NO;
}

/* Whether an event seems to begin, and not a value of one. */
static enum json_sight sight_event(const struct json_window *window, const char *start,
                                   const char *at)
{
    char previous = before(at, start);

    return previous == ':' || previous == '[' ? SIGHT_NO : json_event_start(at, window->scan.limit);
}

/* The next '{' or ']' from `at` on; the limit where there is none. */
static const char *next_mark(const char *at, const char *limit)
{
    while (at < limit && *at != '{' && *at != ']')
        at++;
    return at;
}

/* Moves the window on to where events may go on; to the limit at the end of the input. Where an
 * event begins cannot be known within text that is broken, since braces may stand in names. A
 * '{' with a usual first key behind it, or a ']' behind a '}' with the file's end or a usual key
 * of it behind, is taken for it; a wrong guess costs one more damaged event. O(bytes). */
static void resynchronise(struct json_window *window)
{
    const char *start = window->at; /* what stands before it is not looked at */
    const char *at = start + 1;

    for (;;) {
        enum json_sight sight = SIGHT_CUT;
        int64_t byte;

        at = next_mark(at, window->scan.limit);
        if (at < window->scan.limit)
            sight =
                *at == '{' ? sight_event(window, start, at) : sight_array_end(window, start, at);
        if (sight == SIGHT_YES)
            break;
        if (sight == SIGHT_NO) {
            at++;
            continue;
        }
        if (window->is_last) {
            if (at >= window->scan.limit)
                break;
            at++;
            continue;
        }
        byte = json_window_byte(window, at);
        if (at - window->at > LOOK_BACK_BYTES)
            window->at = at - LOOK_BACK_BYTES;
        json_window_grow(window);
        start = window->start;
        at = start + (byte - window->start_byte);
    }
    window->at = at;
}

/* Puts what is there instead of what was expected into words. What cannot be printed is '?', so
 * that no terminal is harmed by a file. */
static void describe_damage(struct damage *damage, const struct json_window *window)
{
    const char *at = window->scan.failed_at;
    char found[FOUND_BYTES + 1];
    size_t length = 0;

    for (; length < FOUND_BYTES && at + length < window->scan.limit; length++) {
        char c = at[length];

        found[length] = (unsigned char)c < ' ' || (unsigned char)c > '~' ? '?' : c;
    }
    found[length] = '\0';
    (void)snprintf(damage->message, sizeof damage->message, "expected %s, found '%s'",
                   window->scan.expected, found);
}

/* What was found there is shown with some text around it, so that more is read if the window
 * ends first. Its place is kept as a byte of the file: growing moves the window's memory. */
static void skip_damage(struct json_window *window, struct trace_builder *builder)
{
    int64_t first = json_window_byte(window, window->at);
    struct damage damage = {.byte = json_window_byte(window, window->scan.failed_at)};

    while (window->scan.limit - window->scan.failed_at < FOUND_BYTES && json_window_grow(window))
        window->scan.failed_at = window->start + (damage.byte - window->start_byte);
    window->scan.failed_at = window->start + (damage.byte - window->start_byte);
    describe_damage(&damage, window);
    resynchronise(window);
    damage.length = json_window_byte(window, window->at) - first;
    trace_builder_damage(builder, &damage);
}

/* True where the text behind the place, which is no complete event, seems to have others in it.
 * An unclosed string would make the rest of the file one event; an event that begins within it
 * shows that it is not. */
static bool has_event_inside(const struct json_window *window)
{
    const char *at = window->at + 1;

    for (;;) {
        at = memchr(at, '{', (size_t)(window->scan.limit - at));
        if (!at)
            return false;
        if (before(at, window->at) == ',' && json_event_start(at, window->scan.limit) == SIGHT_YES)
            return true;
        at++;
    }
}

enum event_result { EVENT_READ, EVENT_MORE, EVENT_DAMAGED, EVENT_CUT };

/* What to do about an event that ends behind the window. Looking inside an event is done only
 * from 4 MiB on: before that it would cost more than it saves. */
static enum event_result check_incomplete(struct json_window *window)
{
    size_t pending = (size_t)(window->scan.limit - window->at);

    if (pending > LONGEST_EVENT_BYTES)
        return EVENT_DAMAGED;
    if (pending > SUSPICIOUS_BYTES && has_event_inside(window))
        return EVENT_DAMAGED;
    if (json_window_grow(window))
        return EVENT_MORE;
    return has_event_inside(window) ? EVENT_DAMAGED : EVENT_CUT;
}

/* An event that is no JSON, by the tolerant rule; the strict one has said what is wrong. It is
 * the second look: of an event that is good JSON it could read names differently, so the strict
 * rule always goes first. What is said of damage is what the strict rule found. */
static enum event_result read_tolerantly(struct json_window *window, struct torch_store *store)
{
    struct read_account *read = &store->builder->read;
    struct json_scan *scan = &window->scan;
    int64_t failed_byte = json_window_byte(window, scan->failed_at);
    const char *expected = scan->expected;
    struct torch_event event;
    const char *behind;

    scan->is_tolerant = true;
    scan->filled_hole = false;
    behind = torch_event_scan(scan, window->at, &event);
    scan->is_tolerant = false;
    if (behind) {
        if (scan->filled_hole)
            read->mended_events++;
        else
            read->replaced_names++;
        if (!store->tap)
            torch_store_event(store, &event);
        window->at = behind;
        return EVENT_READ;
    }
    if (scan_is_incomplete(scan) && scan->limit - window->at < TOLERANT_BYTES &&
        json_window_grow(window))
        return EVENT_MORE;
    scan->failed_at = window->start + (failed_byte - window->start_byte);
    scan->expected = expected;
    return EVENT_DAMAGED;
}

/* Behind the comma before the event, where only white space is between: it is part of how events
 * are laid out. */
static const char *event_place(const struct json_window *window)
{
    const char *at = window->at;

    while (at > window->start && window->at - at < LAID_OUT_SPACE_BYTES &&
           (unsigned char)(at[-1] - 1) < ' ')
        at--;
    return at > window->start && at[-1] == ',' ? at : window->at;
}

/* As long as events follow that are laid out as those before: most of a file. Stops
 * LOOK_BACK_BYTES before the window's piece ends, since the slow way looks back so far when it
 * decides where a piece stops. */
static void read_known_events(struct json_window *window, struct torch_store *store,
                              int64_t stop_byte)
{
    struct torch_event event;
    int64_t room = stop_byte - window->start_byte - LOOK_BACK_BYTES;
    const char *at = window->at;

    while (*at == ',' && at - window->start < room) {
        const char *behind = torch_event_scan_known(&window->scan, at + 1, &event, &store->layouts);

        if (!behind)
            break;
        torch_store_event(store, &event);
        at = behind;
    }
    window->at = at;
}

/* The fast scan knows well-formed events only. What it refuses is either cut by the window's
 * end, which more text mends, or odd, which the tolerant reader takes or tells as damage. */
static enum event_result torch_profiler_events_read_event(struct json_window *window,
                                                          struct torch_store *store)
{
    struct torch_event event;
    const char *behind =
        torch_event_scan_alike(&window->scan, event_place(window), &event, &store->layouts);

    if (!behind)
        return scan_is_incomplete(&window->scan) ? check_incomplete(window)
                                                 : read_tolerantly(window, store);
    if (store->tap)
        store->tap->take(store->tap->context, window->at, (size_t)(behind - window->at));
    else
        torch_store_event(store, &event);
    window->at = behind;
    return EVENT_READ;
}

/* A window that grew may have moved, so an incomplete event is scanned again from its
 * beginning (EVENT_MORE): windows grow by doubling, so that costs a constant factor. */
enum torch_events_end torch_events_read(struct json_window *window, struct torch_store *store,
                                        int64_t stop_byte)
{
    for (;;) {
        char c;

        if (!store->tap)
            read_known_events(window, store, stop_byte);
        c = json_window_peek(window);
        if (c == ',') {
            window->at++;
            continue;
        }
        if (json_window_byte(window, window->at) >= stop_byte)
            return EVENTS_STOPPED;
        if (c == ']') {
            window->at++;
            return EVENTS_CLOSED;
        }
        if (c == '\0' && window->at >= window->scan.limit)
            return EVENTS_CUT;
        switch (torch_profiler_events_read_event(window, store)) {
        case EVENT_READ:
        case EVENT_MORE:
            break;
        case EVENT_DAMAGED:
            skip_damage(window, store->builder);
            break;
        case EVENT_CUT:
            return EVENTS_CUT;
        }
    }
}

/* Whether an event seems to begin behind another: "}, {" and a usual key. */
static enum json_sight sight_next_event(const struct json_window *window, const char *at)
{
    const char *comma = at;

    while (comma > window->start && at - comma < LOOK_BACK_BYTES / 2 &&
           (unsigned char)comma[-1] <= ' ')
        comma--;
    if (comma == window->start || comma[-1] != ',' || before(comma - 1, window->start) != '}')
        return SIGHT_NO;
    return json_event_start(at, window->scan.limit);
}

/* Stricter than resynchronise, as "}, {" and a key is wanted: a piece of a file that begins
 * within a name must not take it for events. */
int64_t torch_events_find(struct json_window *window, int64_t stop_byte)
{
    const char *at = window->at;

    while (json_window_byte(window, at) < stop_byte) {
        const char *brace = memchr(at, '{', (size_t)(window->scan.limit - at));
        enum json_sight sight = brace ? sight_next_event(window, brace) : SIGHT_CUT;
        int64_t byte;

        at = brace ? brace : window->scan.limit;
        if (sight == SIGHT_YES)
            return json_window_byte(window, at);
        if (sight == SIGHT_NO) {
            at++;
            continue;
        }
        byte = json_window_byte(window, at);
        window->at = at - window->start > LOOK_BACK_BYTES ? at - LOOK_BACK_BYTES : window->start;
        if (!json_window_grow(window))
            break;
        at = window->start + (byte - window->start_byte);
    }
    return -1;
}
