/* A log format that the user describes: a regular expression whose named groups say what a line
 * tells. */
#include "readers/logs/log_pattern.h"

#include "base/core/invariant.h"
#include "readers/logs/log_time.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const char *const group_names[GROUP_COUNT] = {
    [GROUP_STEP] = "step",
    [GROUP_LAST_STEP] = "last_step",
    [GROUP_TIME] = "time",
    [GROUP_SECONDS] = "seconds",
    [GROUP_MS] = "ms",
    [GROUP_LOSS] = "loss",
    [GROUP_TFLOPS] = "tflops",
    [GROUP_MFU] = "mfu",
    [GROUP_TOKENS] = "tokens",
    [GROUP_SKIPPED] = "skipped",
    [GROUP_CHECKPOINT] = "checkpoint",
    [GROUP_RESTORE] = "restore",
};
static const char log_group_names[] =
    "step, last_step, time, seconds, ms, loss, tflops, mfu, tokens, skipped, checkpoint, restore";

enum { GROUPS_MAX = 32, PATTERN_BYTES_MAX = 4096 };

/* The pattern on its way to POSIX. */
struct translation {
    const char *from;
    const char *at;
    char *to;
    size_t used;
    bool is_in_brackets;
    struct log_pattern *pattern;
};

/* There is room: a character becomes eight at most, and ten are allocated for each. */
static void log_pattern_put(struct translation *translation, const char *text)
{
    size_t length = strlen(text);

    memcpy(translation->to + translation->used, text, length);
    translation->used += length;
}

static bool log_pattern_refuse(const struct translation *translation, struct error *error,
                               const char *what)
{
    return error_set(error, ERROR_USAGE, "--pattern: character %td ('%.8s'): %s",
                     translation->at - translation->from + 1, translation->at, what);
}

/* Behind "(?P<" or "(?<": the name, up to '>'. */
static bool parse_name(struct translation *translation, const char *name, struct error *error)
{
    const char *end = strchr(name, '>');
    size_t length;

    if (!end)
        return log_pattern_refuse(translation, error, "the group's name has no end: expected '>'");
    length = (size_t)(end - name);
    for (int group = 0; group < GROUP_COUNT; group++) {
        if (strlen(group_names[group]) != length || memcmp(group_names[group], name, length) != 0)
            continue;
        if (translation->pattern->group_of[group])
            return log_pattern_refuse(translation, error, "the name stands twice");
        translation->pattern->group_of[group] = translation->pattern->groups;
        translation->at = end + 1;
        return true;
    }
    return error_set(error, ERROR_USAGE,
                     "--pattern: a group is called '%.*s': names are %s (other groups have none)",
                     (int)(length < 40 ? length : 40), name, log_group_names);
}

/* Named groups are Python's; POSIX has numbers alone, so names are kept beside. */
static bool parse_group(struct translation *translation, struct error *error)
{
    const char *at = translation->at;

    if (++translation->pattern->groups >= GROUPS_MAX)
        return log_pattern_refuse(translation, error, "more than 31 groups");
    log_pattern_put(translation, "(");
    if (at[1] != '?') {
        translation->at++;
        return true;
    }
    if (at[2] == ':') {
        translation->at += 3;
        return true;
    }
    if (at[2] == 'P' && at[3] == '<')
        return parse_name(translation, at + 4, error);
    if (at[2] == '<' && at[3] != '=' && at[3] != '!')
        return parse_name(translation, at + 3, error);
    return log_pattern_refuse(translation, error,
                              "look-ahead, look-behind and flags are not known here");
}

/* Python's classes in POSIX's words; in brackets they are written otherwise. */
static bool log_pattern_take_escape(struct translation *translation, struct error *error)
{
    char c = translation->at[1];
    char both[3] = {'\\', c, '\0'};

    if (!c)
        return log_pattern_refuse(translation, error, "a backslash at the end");
    if (c == 'd')
        log_pattern_put(translation, translation->is_in_brackets ? "0-9" : "[0-9]");
    else if (c == 'D')
        log_pattern_put(translation, "[^0-9]");
    else if (c == 't')
        log_pattern_put(translation, "\t");
    else if (translation->is_in_brackets && c == 's')
        log_pattern_put(translation, "[:space:]");
    else if (translation->is_in_brackets && c == 'w')
        log_pattern_put(translation, "[:alnum:]_");
    else if (translation->is_in_brackets)
        log_pattern_put(translation, both + 1); /* POSIX has no escapes in brackets */
    else
        log_pattern_put(translation, both);
    translation->at += 2;
    return true;
}

/* A plain character, a bracket, or a repetition. */
static bool parse_plain(struct translation *translation, struct error *error)
{
    char c = *translation->at;
    char one[2] = {c, '\0'};

    if (!translation->is_in_brackets && c != '\0' && strchr("*+?}", c) && translation->at[1] == '?')
        return log_pattern_refuse(translation, error,
                                  "repetition that is not greedy is not known here");
    log_pattern_put(translation, one);
    translation->at++;
    if (translation->is_in_brackets) {
        translation->is_in_brackets = c != ']';
        return true;
    }
    if (c != '[')
        return true;
    translation->is_in_brackets = true;
    if (*translation->at == '^') {
        log_pattern_put(translation, "^");
        translation->at++;
    }
    if (*translation->at == ']') {
        log_pattern_put(translation, "]");
        translation->at++;
    }
    return true;
}

/* Group by group, so that a name in brackets becomes a number that regexec knows, and all else
 * stays as it was typed. */
static bool translate(struct translation *translation, struct error *error)
{
    while (*translation->at) {
        bool is_taken = *translation->at == '\\' ? log_pattern_take_escape(translation, error)
                        : *translation->at == '(' && !translation->is_in_brackets
                            ? parse_group(translation, error)
                            : parse_plain(translation, error);

        if (!is_taken)
            return false;
    }
    translation->to[translation->used] = '\0';
    return true;
}

/* A pattern without a step can tell nothing, so it is refused before a line is read. */
bool log_pattern_compile(struct log_pattern *pattern, const char *text, struct error *error)
{
    struct translation translation = {.from = text, .at = text, .pattern = pattern};
    int failure;

    *pattern = (struct log_pattern){0};
    if (strlen(text) > PATTERN_BYTES_MAX)
        return error_set(error, ERROR_USAGE, "--pattern: longer than %d bytes", PATTERN_BYTES_MAX);
    translation.to = require_memory(malloc(strlen(text) * 10 + 16));
    if (!translate(&translation, error)) {
        free(translation.to);
        return false;
    }
    failure = regcomp(&pattern->expression, translation.to, REG_EXTENDED);
    free(translation.to);
    if (failure) {
        char why[128];

        regerror(failure, &pattern->expression, why, sizeof why);
        return error_set(error, ERROR_USAGE, "--pattern: not a regular expression: %s", why);
    }
    pattern->is_compiled = true;
    if (pattern->group_of[GROUP_STEP])
        return true;
    log_pattern_clear(pattern);
    return error_set(error, ERROR_USAGE,
                     "--pattern: no group tells the step's number: write (?P<step>[0-9]+) where it "
                     "stands (other names: %s)",
                     log_group_names + sizeof "step, " - 1);
}

void log_pattern_clear(struct log_pattern *pattern)
{
    if (pattern->is_compiled)
        regfree(&pattern->expression);
    *pattern = (struct log_pattern){0};
}

/* What a group matched; an empty text where it took no part. */
static struct log_text matched(const struct log_pattern *pattern, const regmatch_t *matches,
                               struct log_text line, enum log_group group)
{
    int number = pattern->group_of[group];

    if (number == 0 || matches[number].rm_so < 0)
        return (struct log_text){line.end, line.end};
    return (struct log_text){line.at + matches[number].rm_so, line.at + matches[number].rm_eo};
}

/* A group that is not in the pattern matched nothing, so that its field keeps what it had.
 * TFLOP and percent are what people print. */
static void parse_numbers(const struct log_pattern *pattern, const regmatch_t *matches,
                          struct log_text line, struct job_event *event)
{
    struct log_text text = matched(pattern, matches, line, GROUP_LAST_STEP);
    double number;

    (void)log_take_integer(&text, true, &event->last_step);
    text = matched(pattern, matches, line, GROUP_SKIPPED);
    (void)log_take_integer(&text, true, &event->skipped);
    text = matched(pattern, matches, line, GROUP_SECONDS);
    (void)log_take_length(&text, 1000000000, &event->each_ns);
    text = matched(pattern, matches, line, GROUP_MS);
    (void)log_take_length(&text, 1000000, &event->each_ns);
    text = matched(pattern, matches, line, GROUP_LOSS);
    (void)log_take_real(&text, false, &event->loss);
    text = matched(pattern, matches, line, GROUP_TOKENS);
    (void)log_take_real(&text, true, &event->tokens_per_second);
    text = matched(pattern, matches, line, GROUP_TFLOPS);
    if (log_take_real(&text, true, &number))
        event->flops_per_second = number * 1e12;
    text = matched(pattern, matches, line, GROUP_MFU);
    if (log_take_real(&text, false, &number))
        event->mfu = number / 100.0;
}

/* The step, or the checkpoint that is saved or loaded; false: the line tells of none. A
 * checkpoint or a restore goes before a step: their lines have a step's number, too. */
static bool parse_kind(const struct log_pattern *pattern, const regmatch_t *matches,
                       struct log_text line, struct job_event *event)
{
    struct log_text text = matched(pattern, matches, line, GROUP_CHECKPOINT);

    if (log_take_integer(&text, true, &event->step)) {
        event->kind = JOB_CHECKPOINT_END;
        return true;
    }
    text = matched(pattern, matches, line, GROUP_RESTORE);
    if (log_take_integer(&text, true, &event->step)) {
        event->kind = JOB_RESTORE_END;
        return true;
    }
    text = matched(pattern, matches, line, GROUP_STEP);
    return log_take_integer(&text, true, &event->step) && event->step >= 0;
}

/* A line is a part of a larger text; POSIX matches texts that end, and REG_STARTEND is not in every
 * C library. */
static bool pattern_matches(const struct log_pattern *pattern, struct log_text line,
                            regmatch_t matches[GROUPS_MAX])
{
    char *text = require_memory(strndup(line.at, log_text_length(line)));
    bool is_match = regexec(&pattern->expression, text, GROUPS_MAX, matches, 0) == 0;

    free(text);
    return is_match;
}

/* A time without a date cannot be placed on the job's clock, and is left out. */
static enum log_line_use read_pattern_line(struct log_reading *reading, struct log_text line)
{
    regmatch_t matches[GROUPS_MAX];
    struct job_event event;
    struct log_text text;
    struct log_time time;

    if (!pattern_matches(reading->pattern, line, matches))
        return LOG_LINE_NONE;
    event = log_event(reading, line, JOB_STEP);
    if (!parse_kind(reading->pattern, matches, line, &event))
        return LOG_LINE_NONE;
    parse_numbers(reading->pattern, matches, line, &event);
    text = matched(reading->pattern, matches, line, GROUP_TIME);
    if (log_take_time(&text, &time) && time.has_date) {
        event.time_ns = time.ns;
        event.clock = time.clock;
    }
    job_add(reading->job, &event);
    return LOG_LINE_USED;
}

const struct log_format log_pattern_format = {
    .name = "pattern",
    .summary = "lines that --pattern describes",
    .read = read_pattern_line,
};
