/* Diaries that people keep of a training job, in Markdown: entries with a date in their heading
 * ("## 2022-05-07 20:14 Node failure"), in which they say from which step it went on, which run
 * that was, and what was lost. Lines of logs pasted into them are not read: they are examples. */
#include "readers/logs/log_format.h"
#include "readers/logs/log_time.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

static const int64_t ns_per_second = 1000000000;

/* A file is a diary where so many headings have a date. */
enum { HEADINGS_MIN = 2 };

/* Exactly so many digits, as dates have them: a shorter number is no part of a date, and
 * nothing is taken then. */
static bool training_diary_take_digits(struct log_text *text, int count, int *number)
{
    *number = 0;
    if (log_text_length(*text) < (size_t)count)
        return false;
    for (int i = 0; i < count; i++) {
        if (text->at[i] < '0' || text->at[i] > '9')
            return false;
        *number = *number * 10 + (text->at[i] - '0');
    }
    text->at += count;
    return true;
}

/* "2022-05-07", "2022.05.03 20:00": as a time for log_take_time, which wants one with seconds. */
static bool parse_date(struct log_text *text, int64_t *time_ns)
{
    char full[] = "2022-05-07 20:14:00";
    struct log_text behind = *text, whole = {full, full + sizeof full - 1};
    struct log_time time;
    int year, month, day, hour = 0, minute = 0;

    if (!training_diary_take_digits(&behind, 4, &year) ||
        !(log_skip(&behind, "-") || log_skip(&behind, ".")) ||
        !training_diary_take_digits(&behind, 2, &month) ||
        !(log_skip(&behind, "-") || log_skip(&behind, ".")))
        return false;
    if (!training_diary_take_digits(&behind, 2, &day)) {
        if (!log_skip(&behind, "XX")) /* some day of the month */
            return false;
        day = 1;
    }
    *text = behind;
    if (log_skip(&behind, " ") && training_diary_take_digits(&behind, 2, &hour) &&
        log_skip(&behind, ":") && training_diary_take_digits(&behind, 2, &minute))
        *text = behind;
    else
        hour = minute = 0;
    memcpy(full,
           (char[]){(char)('0' + year / 1000), (char)('0' + year / 100 % 10),
                    (char)('0' + year / 10 % 10), (char)('0' + year % 10)},
           4);
    full[5] = (char)('0' + month / 10);
    full[6] = (char)('0' + month % 10);
    full[8] = (char)('0' + day / 10);
    full[9] = (char)('0' + day % 10);
    full[11] = (char)('0' + hour / 10);
    full[12] = (char)('0' + hour % 10);
    full[14] = (char)('0' + minute / 10);
    full[15] = (char)('0' + minute % 10);
    if (!log_take_time(&whole, &time))
        return false;
    *time_ns = time.ns;
    return true;
}

/* "## 2022-05-07 20:14 Node failure": the words are what follows. */
static bool parse_heading(struct log_text line, int64_t *time_ns, struct log_text *words)
{
    *words = line;
    if (!log_skip(words, "#"))
        return false;
    while (log_skip(words, "#") || log_skip(words, " "))
        continue;
    if (!parse_date(words, time_ns))
        return false;
    log_skip_spaces(words);
    return true;
}

/* A carriage return before the line end is of Windows, and no part of the text. */
static bool next_line(struct log_text *text, struct log_text *line)
{
    if (text->at >= text->end)
        return false;
    *line = *text;
    if (log_skip_past(text, '\n'))
        line->end = text->at - 1;
    else
        text->at = text->end;
    if (line->end > line->at && line->end[-1] == '\r')
        line->end--;
    return true;
}

/* One dated heading may be a changelog's or a letter's; two are a diary. */
static bool training_diary_recognises_file(struct log_text head)
{
    struct log_text line, words;
    int64_t time_ns;
    int headings = 0;

    while (headings < HEADINGS_MIN && next_line(&head, &line))
        headings += parse_heading(line, &time_ns, &words);
    return headings >= HEADINGS_MIN;
}

/* Do the words stand in the line, in capitals or not? */
static bool find_any_case(struct log_text line, const char *words, struct log_text *rest)
{
    size_t length = strlen(words);

    for (; log_text_length(line) >= length; line.at++) {
        if (strncasecmp(line.at, words, length) == 0) {
            *rest = (struct log_text){line.at + length, line.end};
            return true;
        }
    }
    return false;
}

/* "restart from 4000 step", "loading from 22800", "restarting from global_step23200". */
static void parse_restart(struct log_text line, struct job_incident *incident)
{
    static const char *const verbs[] = {"restar", "loading from", "resum", "rolled back",
                                        "kicking it out"};
    struct log_text rest, number;
    bool is_restart = false;
    int64_t step;

    for (size_t i = 0; i < sizeof verbs / sizeof *verbs && !is_restart; i++)
        is_restart = find_any_case(line, verbs[i], &rest);
    if (!is_restart || incident->restored_step != JOB_NOT_KNOWN)
        return;
    if (log_find(line, "global_step", &number) && log_take_integer(&number, false, &step)) {
        incident->restored_step = step;
        return;
    }
    for (rest = line; log_find(rest, "from ", &rest);) {
        number = rest;
        (void)log_skip(&number, "step ");
        if (log_take_integer(&number, true, &step) && step > 0 &&
            (number.at == number.end || strchr(" ,;.)", *number.at))) {
            incident->restored_step = step;
            return;
        }
    }
}

/* "we lost 7.3h of work", "lost about 18h", "We lost ~11h", "lost 3 days". Several losses of one
 * entry are added: people write what each restart cost. */
static void parse_loss(struct log_text line, struct job_incident *incident)
{
    static const struct {
        const char *unit;
        int64_t seconds;
    } units[] = {{"h", 3600}, {"day", 86400}, {"min", 60}};

    while (find_any_case(line, "lost ", &line)) {
        struct log_text number = line;
        double amount;

        while (log_skip(&number, "about ") || log_skip(&number, "around ") ||
               log_skip(&number, "some ") || log_skip(&number, "~") || log_skip(&number, " "))
            continue;
        if (!log_take_real(&number, false, &amount) || !(amount > 0.0 && amount < 1e5))
            continue;
        log_skip_spaces(&number);
        for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
            if (!log_skip(&number, units[i].unit))
                continue;
            if (incident->lost_ns == JOB_NOT_KNOWN)
                incident->lost_ns = 0;
            incident->lost_ns += (int64_t)(amount * (double)units[i].seconds) * ns_per_second;
            break;
        }
    }
}

/* The name of a run with the time it began: "glm-130B-2022.05.07-13:44:59". */
static void parse_run(struct log_text line, struct job_incident *incident)
{
    for (struct log_text text = line; log_text_length(text) >= 19; text.at++) {
        struct log_text behind = text;
        struct log_time time;

        if (text.at[4] != '.' || text.at == line.at || text.at[-1] != '-' ||
            !log_take_time(&behind, &time) || !time.has_date)
            continue;
        if (incident->start_ns == JOB_NOT_KNOWN)
            incident->start_ns = time.ns;
        return;
    }
}

/* What stands before the first heading is no entry's. */
static bool training_diary_read_file(struct log_reading *reading, struct log_text text,
                                     struct error *error)
{
    struct job_incident *incident = NULL;
    struct log_text line, words;
    int64_t time_ns;

    (void)error;
    while (next_line(&text, &line)) {
        reading->line++;
        if (parse_heading(line, &time_ns, &words)) {
            incident = job_add_incident(reading->job, time_ns, words.at, log_text_length(words));
            incident->line = reading->line;
        }
        if (!incident)
            continue;
        parse_restart(line, incident);
        parse_loss(line, incident);
        parse_run(line, incident);
    }
    return true;
}

const struct log_format training_diary_format = {
    .name = "diary",
    .summary = "diaries in Markdown: '## 2022-05-07 20:14 Node failure', what it cost, where it "
               "went on",
    .recognises_file = training_diary_recognises_file,
    .read_file = training_diary_read_file,
};
