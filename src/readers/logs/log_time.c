/* Times as logs write them: to nanoseconds since 1970. */
#include "readers/logs/log_time.h"

#include <stddef.h>
#include <string.h>

static const int64_t ns_per_second = 1000000000;

/* Behind so many characters of a line no time is looked for. */
enum { TIME_WITHIN = 72 };

/* A date before the time of day has no more. */
enum { DATE_WITHIN = 128 };

/* glog tells no year: this one has a 29th of February. */
enum { YEAR_NOT_KNOWN = 1972 };

struct date {
    int year;
    int month;
    int day;
};

static bool log_time_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The number of exactly `count` digits at `at`; -1: there are others. */
static int digits_at(const char *at, int count)
{
    int number = 0;

    for (int i = 0; i < count; i++) {
        if (!log_time_is_digit(at[i]))
            return -1;
        number = number * 10 + (at[i] - '0');
    }
    return number;
}

static bool log_time_has_room(struct log_text text, ptrdiff_t length)
{
    return text.end - text.at >= length;
}

/* Days since 1970-01-01 of a date of the Gregorian calendar (H. Hinnant's days_from_civil). */
static int64_t days_since_1970(struct date date)
{
    int year = date.year - (date.month <= 2);
    int era = year / 400;
    int year_of_era = year - era * 400;
    int day_of_year = (153 * (date.month + (date.month > 2 ? -3 : 9)) + 2) / 5 + date.day - 1;
    int day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;

    return (int64_t)era * 146097 + day_of_era - 719468;
}

static bool is_date(struct date date)
{
    return date.year >= YEAR_NOT_KNOWN && date.year < 2100 && date.month >= 1 && date.month <= 12 &&
           date.day >= 1 && date.day <= 31;
}

/* Digits beyond nanoseconds add nothing: the unit has become 0 by then. */
static bool parse_fraction(struct log_text *text, int64_t *ns)
{
    int64_t unit_ns = ns_per_second;

    if (!log_time_has_room(*text, 2) || (*text->at != '.' && *text->at != ',') ||
        !log_time_is_digit(text->at[1]))
        return false;
    for (text->at++; text->at < text->end && log_time_is_digit(*text->at); text->at++) {
        unit_ns /= 10;
        *ns += unit_ns * (*text->at - '0');
    }
    return true;
}

/* "23:41:12", with a fraction or without. 60 is a leap second. */
static bool parse_time_of_day(struct log_text *text, int64_t *ns)
{
    const char *at = text->at;
    int hours, minutes, seconds;

    if (!log_time_has_room(*text, 8) || at[2] != ':' || at[5] != ':')
        return false;
    hours = digits_at(at, 2);
    minutes = digits_at(at + 3, 2);
    seconds = digits_at(at + 6, 2);
    if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59 || seconds < 0 || seconds > 60)
        return false;
    text->at += 8;
    if (text->at < text->end && log_time_is_digit(*text->at))
        return false;
    *ns = (hours * INT64_C(3600) + minutes * INT64_C(60) + seconds) * ns_per_second;
    (void)parse_fraction(text, ns);
    return true;
}

/* " PM" behind a time of day of twelve hours. */
static void parse_half_of_day(struct log_text *text, int64_t *ns)
{
    struct log_text behind = *text;
    int64_t half_ns = INT64_C(43200) * ns_per_second;

    log_skip_spaces(&behind);
    if (log_skip(&behind, "PM"))
        *ns += *ns < half_ns ? half_ns : 0;
    else if (log_skip(&behind, "AM"))
        *ns -= *ns >= half_ns && *ns < half_ns + 3600 * ns_per_second ? half_ns : 0;
    else
        return;
    *text = behind;
}

/* "Z", "+08:00", "-0800" right behind the time. */
static void parse_zone(struct log_text *text, struct log_time *time)
{
    const char *at = text->at;
    int hours, minutes;

    if (log_time_has_room(*text, 1) && *at == 'Z') {
        time->clock = JOB_CLOCK_UTC;
        text->at++;
        return;
    }
    if (!log_time_has_room(*text, 5) || (*at != '+' && *at != '-'))
        return;
    hours = digits_at(at + 1, 2);
    minutes = at[3] == ':' ? (log_time_has_room(*text, 6) ? digits_at(at + 4, 2) : -1)
                           : digits_at(at + 3, 2);
    if (hours < 0 || hours > 14 || minutes < 0 || minutes > 59)
        return;
    time->ns -=
        (*at == '-' ? -1 : 1) * (hours * INT64_C(3600) + minutes * INT64_C(60)) * ns_per_second;
    time->clock = JOB_CLOCK_UTC;
    text->at += at[3] == ':' ? 6 : 5;
}

/* The date, then one character, then the time of day. */
static bool finish_time(struct log_text *text, struct date date, struct log_time *time)
{
    struct log_text behind = *text;
    int64_t ns;

    if (!is_date(date) || !log_time_has_room(behind, 9) || !strchr(" T_-", *behind.at))
        return false;
    behind.at++;
    if (!parse_time_of_day(&behind, &ns))
        return false;
    parse_half_of_day(&behind, &ns);
    *time = (struct log_time){
        .ns = days_since_1970(date) * 86400 * ns_per_second + ns,
        .clock = JOB_CLOCK_LOCAL,
        .has_date = true,
    };
    parse_zone(&behind, time);
    *text = behind;
    return true;
}

/* The same sign must stand in both places: "2025-07/31" is no date. */
static bool parse_year_first(struct log_text *text, struct log_time *time)
{
    const char *at = text->at;
    struct log_text behind = {at + 10, text->end};

    if (!log_time_has_room(*text, 19) || (at[4] != '-' && at[4] != '/' && at[4] != '.') ||
        at[7] != at[4] ||
        !finish_time(&behind,
                     (struct date){digits_at(at, 4), digits_at(at + 5, 2), digits_at(at + 8, 2)},
                     time))
        return false;
    *text = behind;
    return true;
}

/* "03/15/2024 12:34:56", and "15.03.2024 12:34:56" with the day first. */
static bool parse_year_last(struct log_text *text, struct log_time *time)
{
    const char *at = text->at;
    struct log_text behind = {at + 10, text->end};
    bool is_day_first;

    if (!log_time_has_room(*text, 19) || (at[2] != '/' && at[2] != '.') || at[5] != at[2])
        return false;
    is_day_first = at[2] == '.';
    if (!finish_time(&behind,
                     (struct date){digits_at(at + 6, 4), digits_at(is_day_first ? at + 3 : at, 2),
                                   digits_at(is_day_first ? at : at + 3, 2)},
                     time))
        return false;
    *text = behind;
    return true;
}

/* "20250731 09:48:56": eight digits alone are a number as often as a date, so a time must
 * follow. */
static bool parse_compact(struct log_text *text, struct log_time *time)
{
    const char *at = text->at;
    struct log_text behind = {at + 8, text->end};

    if (!log_time_has_room(*text, 17) || at[8] != ' ' ||
        !finish_time(&behind,
                     (struct date){digits_at(at, 4), digits_at(at + 4, 2), digits_at(at + 6, 2)},
                     time))
        return false;
    *text = behind;
    return true;
}

/* "07-31 09:47:48", "07/31 09:47:48": of no known year. */
static bool parse_no_year(struct log_text *text, struct log_time *time)
{
    const char *at = text->at;
    struct log_text behind = {at + 5, text->end};

    if (!log_time_has_room(*text, 14) || (at[2] != '-' && at[2] != '/') || at[5] != ' ' ||
        !finish_time(&behind, (struct date){YEAR_NOT_KNOWN, digits_at(at, 2), digits_at(at + 3, 2)},
                     time))
        return false;
    *text = behind;
    return true;
}

/* "I0731 09:47:48.898259"; newer ones tell the year: "I20250731 09:47:48.898259". */
static bool parse_glog(struct log_text *text, struct log_time *time)
{
    const char *at = text->at;
    struct log_text behind = {at + 1, text->end};

    if (log_time_has_room(behind, 17) && strchr("IWEF", *at) && parse_compact(&behind, time)) {
        *text = behind;
        return true;
    }
    behind.at = at + 5;
    if (!log_time_has_room(*text, 14) || !strchr("IWEF", *at) || at[5] != ' ' ||
        !finish_time(&behind,
                     (struct date){YEAR_NOT_KNOWN, digits_at(at + 1, 2), digits_at(at + 3, 2)},
                     time))
        return false;
    *text = behind;
    return true;
}

static int month_named(const char *at)
{
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";

    for (int month = 0; month < 12; month++)
        if (memcmp(at, months + (ptrdiff_t)3 * month, 3) == 0)
            return month + 1;
    return -1;
}

/* "Jul 31 09:48:56", as syslog writes it: of no known year. */
static bool parse_syslog(struct log_text *text, struct log_time *time)
{
    struct log_text behind = {text->at + 4, text->end};
    int64_t day;
    int month;

    if (!log_time_has_room(*text, 15) || text->at[3] != ' ' ||
        (month = month_named(text->at)) < 0 || !log_take_integer(&behind, false, &day) ||
        behind.at - text->at != 6 ||
        !finish_time(&behind, (struct date){YEAR_NOT_KNOWN, month, (int)day}, time))
        return false;
    *text = behind;
    return true;
}

/* "Thu Jul 31 09:48:56 UTC 2025", "Fri Oct 11 04:27:13 PM UTC 2024" What `date` prints, also
 * with a clock of 12 hours. Of zones only UTC and GMT are one place for sure (CST is three), all
 * others count as local. */
static bool parse_date_command(struct log_text *text, struct log_time *time)
{
    static const char days[] = "MonTueWedThuFriSatSun";
    struct log_text behind = *text;
    struct date date = {0};
    int64_t day, year, ns;
    const char *zone;
    bool is_day = false;

    for (int i = 0; log_time_has_room(behind, 24) && i < 7; i++)
        is_day = is_day || memcmp(behind.at, days + (ptrdiff_t)3 * i, 3) == 0;
    /* `days` is one text, so that a word across two days ("onT") is ruled out by the step of
     * 3. */
    if (!is_day || behind.at[3] != ' ')
        return false;
    date.month = month_named(behind.at + 4);
    behind.at += 7;
    if (!log_take_integer(&behind, false, &day) || !log_skip(&behind, " ") ||
        !parse_time_of_day(&behind, &ns))
        return false;
    parse_half_of_day(&behind, &ns);
    log_skip_spaces(&behind);
    /* The zone is what lies before the year, of up to 6 letters; none at all is possible, too. */
    zone = behind.at;
    while (behind.at < behind.end && !log_time_is_digit(*behind.at) && behind.at - zone < 6)
        behind.at++;
    if (!log_take_integer(&behind, false, &year) || year > 2100 || day > 31)
        return false;
    date.day = (int)day;
    date.year = (int)year;
    if (!is_date(date))
        return false;
    *time = (struct log_time){
        .ns = days_since_1970(date) * 86400 * ns_per_second + ns,
        .clock = strncmp(zone, "UTC", 3) == 0 || strncmp(zone, "GMT", 3) == 0 ? JOB_CLOCK_UTC
                                                                              : JOB_CLOCK_LOCAL,
        .has_date = true,
    };
    *text = behind;
    return true;
}

/* Anything with a date. */
static bool parse_dated(struct log_text *text, struct log_time *time)
{
    char c = *text->at;

    if (log_time_is_digit(c))
        return parse_year_first(text, time) || parse_compact(text, time) ||
               parse_year_last(text, time);
    return (strchr("IWEF", c) && parse_glog(text, time)) ||
           (strchr("MTWFS", c) && parse_date_command(text, time)) ||
           (strchr("JFMASOND", c) && parse_syslog(text, time));
}

/* Dated forms first: a time of day alone is also within each of them. */
bool log_take_time(struct log_text *text, struct log_time *time)
{
    struct log_text behind = *text;
    int64_t ns;

    if (text->at >= text->end)
        return false;
    if (parse_dated(text, time))
        return true;
    if (!parse_time_of_day(&behind, &ns))
        return false;
    *time = (struct log_time){.ns = ns, .clock = JOB_CLOCK_LOCAL};
    *text = behind;
    return true;
}

/* Until 2100: larger numbers are of something else. */
bool log_take_epoch(struct log_text *text, int64_t *ns)
{
    struct log_text behind = *text;
    int64_t seconds, fraction_ns = 0;

    if (!log_take_integer(&behind, false, &seconds) || seconds < 0 ||
        seconds >= INT64_C(4102444800)) /* 2100-01-01 */
        return false;
    (void)parse_fraction(&behind, &fraction_ns);
    *ns = seconds * ns_per_second + fraction_ns;
    *text = behind;
    return true;
}

/* Before the time of a line stand at most levels ("INFO"), ranks and names in brackets, names of
 * hosts ("node12:") and tasks ("train/0"): other words tell that the time is what the line is
 * about. */
static bool is_before_time(const char *word, const char *end)
{
    bool has_lower = false, has_digit = false;

    for (const char *at = word; at < end; at++) {
        has_lower = has_lower || (*at >= 'a' && *at <= 'z');
        has_digit = has_digit || log_time_is_digit(*at);
    }
    if (!has_lower || *word == '[' || *word == '(')
        return true;
    if (!has_digit || end == word)
        return false;
    if (strchr(":])>|", end[-1]))
        return true;
    while (end > word && log_time_is_digit(end[-1]))
        end--;
    return end > word && end[-1] == '/';
}

/* "worker-1  | ..." as docker compose writes it: does the line's first word, which ends at `end`,
 * name who wrote it? */
static bool is_writer(struct log_text line, const char *word, const char *end)
{
    struct log_text behind = {end, line.end};

    log_skip_spaces(&behind);
    return word == line.at && log_skip(&behind, "| ");
}

/* Does a date without a year begin at `at`? Not in the middle of another date. */
static bool may_begin(struct log_text line, const char *at)
{
    return at == line.at || strchr(" \t[(", at[-1]);
}

/* Each time has "23:41:1" in it. */
bool log_may_have_time(struct log_text line)
{
    struct log_text text = line;

    if (log_text_length(text) > TIME_WITHIN + DATE_WITHIN)
        text.end = text.at + TIME_WITHIN + DATE_WITHIN;
    while (log_skip_past(&text, ':'))
        if (text.at - line.at > 2 && line.end - text.at > 3 && text.at[2] == ':' &&
            log_time_is_digit(text.at[-2]) && log_time_is_digit(text.at[0]) &&
            log_time_is_digit(text.at[1]))
            return true;
    return false;
}

/* At the line's beginning first, which nearly every line has; then from word to word, while
 * what stands before may stand before a time. */
bool log_find_time(struct log_text line, struct log_time *time, struct log_text *rest)
{
    const char *limit = log_text_length(line) > TIME_WITHIN ? line.at + TIME_WITHIN : line.end;
    const char *word = line.at;
    int depth = 0;
    bool is_inside_word = false;

    *rest = line;
    if (log_skip(rest, "[") && log_take_time(rest, time))
        return true;
    *rest = line;
    if (log_take_time(rest, time))
        return true;
    for (const char *at = line.at; at < limit; at++) {
        bool is_word =
            log_time_is_digit(*at) || (*at >= 'A' && *at <= 'Z') || (*at >= 'a' && *at <= 'z');

        *rest = (struct log_text){at, line.end};
        if (is_word && !is_inside_word &&
            (parse_dated(rest, time) || (may_begin(line, at) && parse_no_year(rest, time))))
            return true;
        is_inside_word = is_word;
        depth += (*at == '[' || *at == '(') - (*at == ']' || *at == ')');
        if ((*at != ' ' && *at != '\t') || depth > 0)
            continue;
        if (!is_before_time(word, at) && !is_writer(line, word, at))
            return false;
        word = at + 1;
    }
    return false;
}
