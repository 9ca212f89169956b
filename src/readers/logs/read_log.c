/* Reads the log of a training job, whatever program wrote it. */
#include "readers/logs/read_log.h"

#include "base/core/array.h"
#include "base/core/invariant.h"
#include "base/io/input_stream.h"
#include "base/io/whole_file.h"
#include "readers/logs/log_format.h"
#include "readers/logs/log_pattern.h"
#include "readers/logs/log_signs.h"
#include "readers/logs/log_text.h"
#include "readers/logs/log_time.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- lines of a log -------------------------------------------------------------------------- */

/* Cuts a text that comes window by window into lines, without colours and what was overwritten. */

/* A line longer than this is cut: it is no line of a log. */
enum { LOG_LINE_BYTES_MAX = 1 << 20 };

/* A zeroed one begins. */
struct log_lines {
    struct input_stream *input;
    struct input_window window;
    size_t at;        /* what is handed out of the window */
    bool is_skipping; /* what is left of a line that was cut */
    bool is_at_end;
    bool has_returns; /* the window has carriage returns */
    bool has_escapes; /* the window has escape sequences or zero bytes */
    int64_t long_lines;
    char *clean; /* the line without escape sequences; owned */
    size_t clean_bytes;
};

static const char escape = '\x1b';

/* Behind an escape sequence that `at` stands on: "\x1b[31m", "\x1b]0;title\a", "\x1b(B". */
static const char *behind_escape(const char *at, const char *end)
{
    if (++at >= end)
        return at;
    if (*at == '[') {
        for (at++; at < end && (*at < '@' || *at > '~'); at++)
            continue;
        return at < end ? at + 1 : at;
    }
    if (*at == ']') {
        for (at++; at < end && *at != '\a' && *at != escape; at++)
            continue;
        return at < end && *at == '\a' ? at + 1 : at;
    }
    return at + 1 < end && (*at == '(' || *at == ')') ? at + 2 : at + 1;
}

/* Without zero bytes, too: a file that was cut while a process wrote to it has a hole of them. */
static struct log_text without_escapes(struct log_lines *lines, struct log_text line)
{
    size_t length = log_text_length(line), used = 0;

    if (!lines->has_escapes || (!memchr(line.at, escape, length) && !memchr(line.at, '\0', length)))
        return line;
    ARRAY_RESERVE(lines->clean, lines->clean_bytes, length);
    while (line.at < line.end) {
        if (*line.at == escape)
            line.at = behind_escape(line.at, line.end);
        else if (*line.at == '\0')
            line.at++;
        else
            lines->clean[used++] = *line.at++;
    }
    return (struct log_text){lines->clean, lines->clean + used};
}

/* Most logs have none of these: then no line need be searched for them. */
static void look_over(struct log_lines *lines)
{
    const char *text = lines->window.text;
    size_t length = lines->window.length;

    lines->has_returns = length > 0 && memchr(text, '\r', length);
    lines->has_escapes = length > 0 && (memchr(text, escape, length) || memchr(text, '\0', length));
}

/* More text behind what is left of the window; false at the end. */
static bool read_on(struct log_lines *lines)
{
    size_t left = lines->window.length - lines->at;

    if (lines->is_at_end)
        return false;
    lines->is_at_end = !input_stream_next(lines->input, left, &lines->window);
    lines->at = 0;
    look_over(lines);
    return !lines->is_at_end;
}

/* The end of the line that begins at `from`; NULL: not in the window. */
static const char *end_of_line(const struct log_lines *lines, const char *from, size_t length)
{
    const char *feed = memchr(from, '\n', length);
    const char *back =
        lines->has_returns ? memchr(from, '\r', feed ? (size_t)(feed - from) : length) : NULL;

    return back ? back : feed;
}

/* Drops what is left of a line that was cut; false where the end is not in the window. */
static bool skip_line(struct log_lines *lines)
{
    const char *end =
        end_of_line(lines, lines->window.text + lines->at, lines->window.length - lines->at);

    lines->at = end ? (size_t)(end - lines->window.text) + 1 : lines->window.length;
    lines->is_skipping = !end;
    return end != NULL;
}

/* The next line, valid until the next call; false at the end. Lines end with a line feed, a
 * carriage return or both. Windows are kept from the line's beginning on, so a line is whole in
 * memory, and copied only where it has escapes. */
static bool log_lines_next(struct log_lines *lines, struct log_text *line)
{
    for (;;) {
        const char *from, *end;
        size_t length = lines->window.length - lines->at;

        if (!lines->window.text)
            lines->window.text = ""; /* nothing has been read */
        while (length > 0 && lines->window.text[lines->at] == '\0') {
            lines->at++;
            length--;
        }
        from = lines->window.text + lines->at;

        if (lines->is_skipping) {
            if (!skip_line(lines) && !read_on(lines))
                return false;
            continue;
        }
        end = length ? end_of_line(lines, from, length) : NULL;
        if (!end && length >= LOG_LINE_BYTES_MAX) {
            lines->long_lines++;
            lines->is_skipping = true;
            end = from + length;
            lines->at = lines->window.length;
        } else if (end) {
            lines->at += (size_t)(end - from) + 1;
        } else if (read_on(lines)) {
            continue;
        } else {
            from = lines->window.text + lines->at;
            length = lines->window.length - lines->at;
            lines->at = lines->window.length;
            end = from + length;
            if (!length)
                return false;
        }
        *line = without_escapes(lines, (struct log_text){from, end});
        return true;
    }
}

static void log_lines_clear(struct log_lines *lines)
{
    free(lines->clean);
    *lines = (struct log_lines){0};
}

/* ---- read log -------------------------------------------------------------------------------- */

#define LOG_FORMAT(name) extern const struct log_format name##_format;
#include "readers/logs/list.def"
#undef LOG_FORMAT

static const struct log_format *const formats[] = {
#define LOG_FORMAT(name) &name##_format,
#include "readers/logs/list.def"
#undef LOG_FORMAT
    NULL,
};

/* Lines that were wrapped are put together again up to this. */
enum { WRAPPED_BYTES_MAX = 16384, WRAPPED_LINES_MAX = 6 };

/* A text may begin with a hole; one of fewer bytes is seen to its end. */
enum { HOLE_BYTES = 65536 };

/* So many lines of a format that gives way are no proof that steps are told in it: an engine tells
 * of step 0 once on each rank. */
enum { FEW_LINES = 4 };

/* All that reading one file needs. */
struct log_walk {
    struct log_reading reading;
    struct log_outcome *outcome;
    struct log_signs signs;
    struct log_words words;                /* a line with none of them tells at most a time, */
    const struct log_format *words_format; /* as long as this is the format; NULL: there are none */
    char wrapped[WRAPPED_BYTES_MAX];       /* the beginning of a line that goes on */
    size_t wrapped_bytes;
    int wrapped_lines;
    bool is_format_weak; /* told by a line that several programs write */
};

/* Times of no known day: one that goes back by half a day or more is of the next. */
static int64_t with_day(struct log_reading *reading, int64_t time_of_day_ns)
{
    const int64_t day_ns = INT64_C(86400000000000);

    if (time_of_day_ns < reading->last_time_of_day_ns - day_ns / 2)
        reading->day_ns += day_ns;
    reading->last_time_of_day_ns = time_of_day_ns;
    return reading->day_ns + time_of_day_ns;
}

/* A count that was not 0 in the first line is of an unknown time before. */
int64_t log_newly_skipped(int64_t *has_count, int64_t *count, int64_t skipped)
{
    int64_t before = *has_count ? *count : 0;
    bool is_known = *has_count || skipped == 0;

    *has_count = 1;
    *count = skipped;
    if (!is_known)
        return JOB_NOT_KNOWN;
    return skipped > before ? skipped - before : 0;
}

/* Once a file had dated times, those without a date are of something else. */
struct job_event log_event(struct log_reading *reading, struct log_text line,
                           enum job_event_kind kind)
{
    struct job_event event = job_event_of(kind);
    struct log_text rest;
    struct log_time time;

    event.line = reading->line;
    if (!log_find_time(line, &time, &rest) || (!time.has_date && reading->has_dated_times))
        return event;
    reading->has_dated_times = reading->has_dated_times || time.has_date;
    event.time_ns = time.has_date ? time.ns : with_day(reading, time.ns);
    event.clock = time.clock;
    return event;
}

void log_tell(struct log_reading *reading, struct log_text line, enum job_event_kind kind)
{
    struct job_event event = log_event(reading, line, kind);

    job_add(reading->job, &event);
}

/* The first format of the list that recognizes it: the list has strict ones first. */
static const struct log_format *format_of_line(struct log_text line)
{
    for (size_t i = 0; formats[i]; i++)
        if (formats[i]->recognises && formats[i]->recognises(line))
            return formats[i];
    return NULL;
}

static const struct log_format *format_that_line_may_be(struct log_text line)
{
    for (size_t i = 0; formats[i]; i++)
        if (formats[i]->may_recognise && formats[i]->may_recognise(line))
            return formats[i];
    return NULL;
}

/* The first format of the list that a line in the beginning of the file is of. Of several that
 * the head has lines of, the one that stands first in the list. */
static const struct log_format *format_of_head(struct input_window head)
{
    struct input_stream memory = {0};
    struct log_lines lines = {.input = &memory};
    const struct log_format *found = NULL;
    struct log_text line;

    input_stream_open_memory(&memory, head.text, head.length);
    while (log_lines_next(&lines, &line))
        for (size_t i = 0; formats[i] && formats[i] != found; i++)
            if (formats[i]->recognises && formats[i]->recognises(line))
                found = formats[i];
    log_lines_clear(&lines);
    input_stream_clear(&memory);
    return found;
}

/* What there is of a wrapped line is all. */
static enum log_line_use parse_wrapped(struct log_walk *walk)
{
    enum log_line_use use;

    walk->reading.takes_cut_lines = true;
    use = walk->outcome->format->read(
        &walk->reading, (struct log_text){walk->wrapped, walk->wrapped + walk->wrapped_bytes});
    walk->reading.takes_cut_lines = false;
    return use;
}

/* The line is the rest of the wrapped one, or more of it: NONE where it is not. */
static enum log_line_use read_joined(struct log_walk *walk, struct log_text line)
{
    const struct log_format *format = walk->outcome->format;
    size_t length = log_text_length(line);
    enum log_line_use use;

    if (walk->wrapped_bytes + length > sizeof walk->wrapped || !format->goes_on ||
        !format->goes_on(line))
        return LOG_LINE_NONE;
    memcpy(walk->wrapped + walk->wrapped_bytes, line.at, length);
    use = format->read(
        &walk->reading,
        (struct log_text){walk->wrapped, walk->wrapped + walk->wrapped_bytes + length});
    if (use == LOG_LINE_CUT)
        walk->wrapped_bytes += length;
    return use;
}

/* The line alone, or together with those before it that it goes on from. */
static enum log_line_use read_wrapped(struct log_walk *walk, struct log_text line)
{
    const struct log_format *format = walk->outcome->format;
    enum log_line_use use;

    if (walk->wrapped_bytes) {
        use = format->recognises(line) ? LOG_LINE_NONE : read_joined(walk, line);
        if (use == LOG_LINE_USED)
            walk->wrapped_bytes = 0;
        if (use != LOG_LINE_NONE)
            return LOG_LINE_USED;
        if (parse_wrapped(walk) == LOG_LINE_USED || ++walk->wrapped_lines > WRAPPED_LINES_MAX)
            walk->wrapped_bytes = 0;
    }
    use = format->read(&walk->reading, line);
    if (use == LOG_LINE_CUT && log_text_length(line) <= sizeof walk->wrapped) {
        memcpy(walk->wrapped, line.at, log_text_length(line));
        walk->wrapped_bytes = log_text_length(line);
        walk->wrapped_lines = 1;
    }
    return use;
}

/* Another format than so far: its lines tell of the same steps. */
static void change_format(struct log_walk *walk, const struct log_format *format)
{
    struct job_event event = job_event_of(JOB_STEPS_ANEW);

    job_add(walk->reading.job, &event);
    memset(walk->reading.memory, 0, sizeof walk->reading.memory);
    walk->wrapped_bytes = 0;
    walk->outcome->format = format;
}

/* The format of the file, as far as its lines up to this one tell. */
static void resolve_format(struct log_walk *walk, struct log_text line)
{
    const struct log_format *so_far = walk->outcome->format, *format;

    if (so_far && !so_far->gives_way && !walk->is_format_weak)
        return;
    format = format_of_line(line);
    if (!format && (!so_far || (so_far->gives_way && walk->outcome->step_lines < FEW_LINES))) {
        format = format_that_line_may_be(line);
        walk->is_format_weak = format != NULL;
    } else if (format) {
        walk->is_format_weak = false;
    }
    if (so_far && format && format != so_far)
        change_format(walk, format);
    else if (format)
        walk->outcome->format = format;
}

/* Words of what any program writes, and those of the format. */
static void resolve_words(struct log_walk *walk)
{
    const struct log_format *format = walk->outcome->format;

    if (walk->words_format == format)
        return;
    walk->words_format = format && format->words ? format : NULL;
    if (!walk->words_format)
        return;
    memset(&walk->words, 0, sizeof walk->words);
    log_signs_add_words(&walk->words);
    for (const char *const *word = format->words; *word; word++)
        log_words_add(&walk->words, *word);
}

/* Tells the line nothing but perhaps a time? Most lines of a log do. */
static bool is_other_line(struct log_walk *walk, struct log_text line)
{
    if (!walk->outcome->format || walk->outcome->format->gives_way || walk->is_format_weak ||
        walk->wrapped_bytes)
        return false;
    resolve_words(walk);
    return walk->words_format && !log_words_find_any(&walk->words, line);
}

/* Most lines of a log are none of training: one look for words passes them over, and only a
 * time is looked for. */
static void read_log_read_line(struct log_walk *walk, struct log_text line)
{
    enum log_line_use use = LOG_LINE_NONE;

    while (line.end > line.at && (line.end[-1] == ' ' || line.end[-1] == '\t'))
        line.end--;
    if (line.at == line.end)
        return;
    if (is_other_line(walk, line)) {
        log_signs_read_time(&walk->reading, line);
        return;
    }
    resolve_format(walk, line);
    walk->reading.reports_starts = walk->outcome->format && walk->outcome->format->reports_starts;
    if (walk->outcome->format)
        use = read_wrapped(walk, line);
    if (use == LOG_LINE_NONE)
        log_signs_read(&walk->signs, &walk->reading, line);
    else
        walk->outcome->step_lines++;
}

/* Formats that are one document cannot be read line by line. What is broken or followed by
 * something is told even where the document was read. */
static bool read_log_read_whole(struct log_walk *walk, struct input_stream *input,
                                struct error *error)
{
    size_t length = 0;
    char *text = read_whole_stream(input, &length, error);
    bool is_read = text && walk->outcome->format->read_file(
                               &walk->reading, (struct log_text){text, text + length}, error);

    free(text);
    walk->outcome->is_broken = input->is_broken || input->is_followed;
    return is_read;
}

/* A byte that no text has; NULL: none. A hole of zero bytes in a text is none of its own: it is
 * left where a file was cut while a process wrote to it, or where a machine broke down. */
static const char *find_no_text(struct input_window head)
{
    const char *other = NULL;
    size_t others = 0, zeros = 0;

    for (size_t i = 0; i < head.length; i++) {
        unsigned char c = (unsigned char)head.text[i];

        if (c == '\0') {
            zeros++;
        } else if (c < ' ' && !strchr("\a\b\t\n\v\f\r\x1b", c)) {
            other = other ? other : head.text + i;
            others++;
        }
    }
    if (zeros == 0)
        return NULL;
    if (zeros == head.length)
        return head.length >= HOLE_BYTES ? NULL : head.text;
    return others > (head.length - zeros) / 1000 ? memchr(head.text, '\0', head.length) : NULL;
}

/* Notepad's and PowerShell's mark of text that has two bytes a character. */
static bool is_utf16(struct input_window head)
{
    return head.length >= 2 &&
           (memcmp(head.text, "\xff\xfe", 2) == 0 || memcmp(head.text, "\xfe\xff", 2) == 0);
}

/* Each of these is a file that somebody names in place of a log: nothing written yet, text of
 * Windows, a pickle or a trace. */
static bool refuse_no_text(const struct input_stream *input, struct input_window head,
                           struct error *error)
{
    const char *zero = find_no_text(head);

    if (head.length == 0 && input->is_broken)
        return error_set(error, ERROR_INPUT, "nothing can be read: %s", input->breakage);
    if (head.length == 0)
        return error_set(error, ERROR_INPUT, "empty: was the job started at all?");
    if (is_utf16(head))
        return error_set(error, ERROR_INPUT,
                         "text in UTF-16, expected UTF-8 (convert it: 'iconv -f UTF-16 -t UTF-8')");
    if (zero)
        return error_set(error, ERROR_INPUT,
                         "not a log: byte %zu is zero, expected text (name the file that the job's "
                         "output went to)",
                         (size_t)(zero - head.text));
    return true;
}

/* At the end of the file what still waits is told: the beginning of a line that was wrapped,
 * and the sign of an ending. */
static void read_lines(struct log_walk *walk, struct input_stream *input)
{
    struct log_lines lines = {.input = input};
    struct log_text line;

    while (log_lines_next(&lines, &line)) {
        walk->reading.line = ++walk->outcome->lines;
        read_log_read_line(walk, line);
    }
    if (walk->wrapped_bytes)
        (void)parse_wrapped(walk);
    log_signs_finish(&walk->reading);
    walk->outcome->long_lines = lines.long_lines;
    walk->outcome->is_broken = input->is_broken || input->is_followed;
    log_lines_clear(&lines);
}

/* By --pattern, by the beginning of the file, or by the line that comes first. */
static const struct log_format *choose_format(struct input_window head,
                                              const struct log_pattern *pattern)
{
    if (pattern)
        return &log_pattern_format;
    for (size_t i = 0; formats[i]; i++)
        if (formats[i]->recognises_file &&
            formats[i]->recognises_file((struct log_text){head.text, head.text + head.length}))
            return formats[i];
    return format_of_head(head);
}

/* Does a line tell of a step as several programs write it? */
static const struct log_format *format_that_head_may_be(struct input_window head)
{
    struct input_stream memory = {0};
    struct log_lines lines = {.input = &memory};
    const struct log_format *found = NULL;
    struct log_text line;

    input_stream_open_memory(&memory, head.text, head.length);
    while (!found && log_lines_next(&lines, &line))
        found = format_that_line_may_be(line);
    log_lines_clear(&lines);
    input_stream_clear(&memory);
    return found;
}

const struct log_format *log_format_of_head(struct input_window head)
{
    const struct log_format *format = choose_format(head, NULL);

    return format ? format : format_that_head_may_be(head);
}

/* What one file of a job told (carry) goes on in the next one of the same format: rotated logs
 * are cut anywhere. */
bool read_log(struct job *job, struct input_stream *input, struct log_carry *carry,
              struct log_outcome *outcome, struct error *error)
{
    struct log_walk *walk;
    struct input_window head = input_stream_peek(input);
    bool is_read = true;

    *outcome = (struct log_outcome){0};
    if (!refuse_no_text(input, head, error))
        return false;
    walk = require_memory(calloc(1, sizeof *walk));
    walk->outcome = outcome;
    walk->reading = (struct log_reading){.job = job, .pattern = carry->pattern};
    log_signs_init(&walk->signs);
    job_begin_source(job, input->name);
    outcome->format = choose_format(head, carry->pattern);
    if (outcome->format && outcome->format == carry->format)
        memcpy(walk->reading.memory, carry->memory, sizeof carry->memory);
    if (outcome->format && outcome->format->read_file)
        is_read = read_log_read_whole(walk, input, error);
    else
        read_lines(walk, input);
    carry->format = outcome->format;
    memcpy(carry->memory, walk->reading.memory, sizeof carry->memory);
    free(walk);
    return is_read;
}
