/* The option table of a command: parsing. */
#include "base/text/option.h"

#include "base/text/spelling.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct option *find_by_name(const struct option *options, const char *name,
                                         size_t length)
{
    for (const struct option *option = options; option->name; option++) {
        if (strlen(option->name) == length && strncmp(option->name, name, length) == 0)
            return option;
    }
    return NULL;
}

static const struct option *find_by_letter(const struct option *options, char letter)
{
    for (const struct option *option = options; option->name; option++) {
        if (option->letter == letter && letter != '\0')
            return option;
    }
    return NULL;
}

static bool takes_value(const struct option *option)
{
    return option->kind != OPTION_FLAG && option->kind != OPTION_NEGATED &&
           option->kind != OPTION_ALIAS;
}

/* What launchers, Megatron-LM and others call an option. NULL: none of these. */
static const char *known_elsewhere(const struct option *options, const char *name)
{
    static const char *const names[][2] = {
        {"gpu", "device"},
        {"gpus", "devices"},
        {"num-gpus", "devices"},
        {"world-size", "devices"},
        {"tensor-parallel-size", "tp"},
        {"tensor-model-parallel-size", "tp"},
        {"pipeline-parallel-size", "pp"},
        {"pipeline-model-parallel-size", "pp"},
        {"context-parallel-size", "cp"},
        {"expert-parallel-size", "ep"},
        {"expert-model-parallel-size", "ep"},
        {"data-parallel-size", "dp"},
        {"micro-batch-size", "micro-batch"},
        {"global-batch-size", "global-batch"},
        {"seq-len", "seq"},
        {"seq-length", "seq"},
        {"sequence-length", "seq"},
        {"zero-stage", "zero"},
        {"precision", "dtype"},
    };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i][0], name) == 0 &&
            find_by_name(options, names[i][1], strlen(names[i][1])))
            return names[i][1];
    return NULL;
}

/* The nearest name is offered only if it is near: see spelling.c. */
static bool unknown_option(const struct option *options, const char *name, size_t length,
                           struct error *error)
{
    char given[64];
    const char *elsewhere;
    struct spelling best = {0};

    snprintf(given, sizeof given, "%.*s", (int)(length < 60 ? length : 60), name);
    for (const struct option *option = options; option->name; option++)
        spelling_consider(&best, given, option->name);
    elsewhere = known_elsewhere(options, given);
    if (elsewhere || best.word)
        return error_set(error, ERROR_USAGE, "unknown option '--%s': did you mean '--%s'?", given,
                         elsewhere ? elsewhere : best.word);
    return error_set(error, ERROR_USAGE, "unknown option '--%s': --help lists those there are",
                     given);
}

/* What a number that is not whole was to be: "4e2" is 400, but "8k" is 8192 to one and 8000 to
 * another, so that neither is taken. Empty where it is none. */
static void option_number_meant(const struct option *option, const char *text, char *meant,
                                size_t size)
{
    static const char suffixes[] = "kmbt";
    char *end;
    double number = strtod(text, &end);
    const char *suffix = *end ? strchr(suffixes, tolower((unsigned char)*end)) : NULL;
    int steps = suffix ? (int)(suffix - suffixes) + 1 : 0;
    double decimal = number * pow(1000.0, steps);
    double binary = number * pow(1024.0, steps);

    meant[0] = '\0';
    if (end == text || (*end != '\0' && (!suffix || end[1] != '\0')) ||
        decimal < (double)option->minimum || decimal > (double)option->maximum ||
        decimal != floor(decimal))
        return;
    if (steps > 0 && steps < 3 && binary == floor(binary) && binary <= (double)option->maximum)
        snprintf(meant, size, ": did you mean %.0f or %.0f?", decimal, binary);
    else
        snprintf(meant, size, ": did you mean %.0f?", decimal);
}

/* errno tells what strtoll only clamps. */
static bool option_parse_integer(const struct option *option, const char *typed, const char *text,
                                 void *field, struct error *error)
{
    char *end;
    char meant[80];
    long long number;

    errno = 0;
    number = strtoll(text, &end, 10);
    if (end == text || *end != '\0' || errno == ERANGE || number < option->minimum ||
        number > option->maximum) {
        option_number_meant(option, text, meant, sizeof meant);
        if (option->maximum == INT64_MAX)
            return error_set(error, ERROR_USAGE,
                             "option '%s': '%s' is not a whole number from %lld up%s", typed, text,
                             (long long)option->minimum, meant);
        return error_set(error, ERROR_USAGE,
                         "option '%s': '%s' is not a whole number from %lld to %lld%s", typed, text,
                         (long long)option->minimum, (long long)option->maximum, meant);
    }
    *(int64_t *)field = number;
    return true;
}

/* "text, json or html" */
static void list_words(char *buffer, size_t size, const char *const *words)
{
    size_t used = 0;

    buffer[0] = '\0';
    for (size_t i = 0; words[i] && used < size; i++) {
        const char *between = i == 0 ? "" : words[i + 1] ? ", " : " or ";
        int length = snprintf(buffer + used, size - used, "%s%s", between, words[i]);

        if (length < 0)
            return;
        used += (size_t)length;
    }
}

/* The nearest word is offered only where there is one: a guess that is far off is worse than
 * the list. */
static bool parse_choice(const struct option *option, const char *typed, const char *text,
                         void *field, struct error *error)
{
    char words[256];
    const char *near;

    for (int i = 0; option->choices[i]; i++) {
        if (strcmp(option->choices[i], text) == 0) {
            *(int *)field = i;
            return true;
        }
    }
    list_words(words, sizeof words, option->choices);
    near = nearest_word(text, option->choices);
    if (near)
        return error_set(error, ERROR_USAGE,
                         "option '%s': '%s' is not one of %s: did you mean '%s'?", typed, text,
                         words, near);
    return error_set(error, ERROR_USAGE, "option '%s': '%s' is not one of %s", typed, text, words);
}

/* The last line is for a mistake in the table of options: flags are handled before. */
static bool option_store_value(const struct option *option, const char *typed, const char *text,
                               void *settings, struct error *error)
{
    void *field = (char *)settings + option->offset;

    switch (option->kind) {
    case OPTION_INTEGER:
        return option_parse_integer(option, typed, text, field, error);
    case OPTION_CHOICE:
        return parse_choice(option, typed, text, field, error);
    case OPTION_TEXT:
        if (text[0] == '\0')
            return error_set(error, ERROR_USAGE, "option '%s' needs a value: %s", typed,
                             option->metavar);
        *(const char **)field = text;
        return true;
    case OPTION_PARSED:
        if (option->parse(text, field))
            return true;
        return error_set(error, ERROR_USAGE, "option '%s': '%s' is not %s", typed, text,
                         option->accepts);
    case OPTION_FLAG:
    case OPTION_NEGATED:
    case OPTION_ALIAS:
        break;
    }
    return error_set(error, ERROR_FAILURE, "option '%s' takes no value", typed);
}

/* An alias stores the value that it stands for in the option it names, by the same checks. */
static bool store_plain(const struct option *options, const struct option *option,
                        const char *typed, void *settings, struct error *error)
{
    const struct option *target;

    if (option->kind != OPTION_ALIAS) {
        *(bool *)((char *)settings + option->offset) = option->kind == OPTION_FLAG;
        return true;
    }
    target = find_by_name(options, option->alias_of, strlen(option->alias_of));
    if (!target)
        return error_set(error, ERROR_FAILURE, "option '%s' stands for no option", typed);
    return option_store_value(target, typed, option->alias_value, settings, error);
}

/* What is being parsed: the arguments, and how far. */
struct parse_state {
    const struct option *options;
    void *settings;
    char **arguments;
    int count;
    int next;
    struct bytes *asked; /* NULL: nobody wants to know */
};

/* Options of the page (width, color) do not change the results, and are no part of a question. */
static void note_given(const struct parse_state *state, const struct option *option,
                       const char *value)
{
    if (!state->asked || option->is_of_page)
        return;
    bytes_add(state->asked, option->name, strlen(option->name) + 1);
    bytes_add(state->asked, value, strlen(value) + 1);
}

/* "--name=value" and "--name value" are the same; the next word is the value whatever it looks
 * like, as with getopt_long: "-5" may be one. */
static bool parse_option(struct parse_state *state, const struct option *option, const char *typed,
                         const char *value, struct error *error)
{
    if (!takes_value(option)) {
        if (value)
            return error_set(error, ERROR_USAGE, "option '%s' takes no value, but '%s' was given",
                             typed, value);
        note_given(state, option, "");
        return store_plain(state->options, option, typed, state->settings, error);
    }
    if (!value) {
        if (state->next >= state->count)
            return error_set(error, ERROR_USAGE, "option '%s' needs a value: %s %s", typed, typed,
                             option->metavar);
        value = state->arguments[state->next++];
    }
    note_given(state, option, value);
    return option_store_value(option, typed, value, state->settings, error);
}

/* --no-name is in the table; --name takes it back, so that the last word counts. */
static bool parse_long(struct parse_state *state, const char *name, struct error *error)
{
    const char *equals = strchr(name, '=');
    size_t length = equals ? (size_t)(equals - name) : strlen(name);
    const struct option *option = find_by_name(state->options, name, length);
    char typed[64];
    char negated[64];

    if (!option && length < sizeof negated - 4) { /* --name of a --no-name */
        snprintf(negated, sizeof negated, "no-%.*s", (int)length, name);
        option = find_by_name(state->options, negated, length + 3);
        if (option && option->kind == OPTION_NEGATED && !equals) {
            note_given(state, option, "not");
            *(bool *)((char *)state->settings + option->offset) = true;
            return true;
        }
        option = NULL;
    }
    if (!option)
        return unknown_option(state->options, name, length, error);
    snprintf(typed, sizeof typed, "--%s", option->name);
    return parse_option(state, option, typed, equals ? equals + 1 : NULL, error);
}

/* "-n 5", "-n5"; flags may stand together: "-ab". */
static bool parse_letters(struct parse_state *state, const char *letters, struct error *error)
{
    for (size_t i = 0; letters[i]; i++) {
        const struct option *option = find_by_letter(state->options, letters[i]);
        const char typed[] = {'-', letters[i], '\0'};

        if (!option)
            return error_set(error, ERROR_USAGE,
                             "unknown option '%s': --help lists those there are", typed);
        if (takes_value(option))
            return parse_option(state, option, typed, letters[i + 1] ? letters + i + 1 : NULL,
                                error);
        if (!parse_option(state, option, typed, NULL, error))
            return false;
    }
    return true;
}

bool parse_options(const struct option *options, void *settings, char **arguments, int *count,
                   struct error *error)
{
    return parse_options_noting(options, settings,
                                &(struct noted_arguments){arguments, count, NULL}, error);
}

/* Operands move to the front of the array that is read: they are never ahead of it. "-" alone
 * is standard input, and "--" ends the options (POSIX, Utility Syntax Guidelines). */
bool parse_options_noting(const struct option *options, void *settings,
                          const struct noted_arguments *arguments, struct error *error)
{
    struct parse_state state = {.options = options,
                                .settings = settings,
                                .arguments = arguments->arguments,
                                .count = *arguments->count,
                                .asked = arguments->asked};
    bool options_ended = false;
    int operands = 0;

    while (state.next < state.count) {
        char *argument = state.arguments[state.next++];

        if (options_ended || argument[0] != '-' || argument[1] == '\0') {
            state.arguments[operands++] = argument;
        } else if (strcmp(argument, "--") == 0) {
            options_ended = true;
        } else if (argument[1] == '-') {
            if (!parse_long(&state, argument + 2, error))
                return false;
        } else if (!parse_letters(&state, argument + 1, error)) {
            return false;
        }
    }
    *arguments->count = operands;
    return true;
}

/* "inf" and "nan" are numbers for strtod and none for an option. Tokens come in T, parameters in B;
 * m would be a thousandth, minutes or meters. */
bool parse_positive_number(const char *text, void *field)
{
    static const char suffixes[] = "kMBT";
    char *end;
    double number = strtod(text, &end);
    const char *suffix = end != text && *end ? strchr(suffixes, *end) : NULL;

    if (suffix) {
        number *= pow(1000.0, (double)(suffix - suffixes + 1));
        end++;
    }
    if (end == text || *end != '\0' || !isfinite(number) || number <= 0.0)
        return false;
    *(double *)field = number;
    return true;
}
