/* The option table at work. */
#include "base/text/option.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

struct settings {
    bool is_quiet;
    bool has_bar;
    int64_t top;
    int format;
    const char *output;
    int64_t range[2];
};

static bool parse_range(const char *text, void *field)
{
    int64_t *range = field;

    return sscanf(text, "%" SCNd64 "-%" SCNd64, &range[0], &range[1]) == 2;
}

static const char range_accepted[] = "two numbers: 3-5";
static const char *const formats[] = {"text", "json", NULL};

#define FIELD(name) offsetof(struct settings, name)

static const struct option options[] = {
    FLAG_OPTION("quiet", FIELD(is_quiet), "say less", .letter = 'q'),
    NEGATED_OPTION("no-bar", FIELD(has_bar), "no bar"),
    INTEGER_OPTION("top", FIELD(top), "N", 0, 50, "rows", .letter = 'n'),
    INTEGER_OPTION("devices", FIELD(top), "N", 1, 99999, "devices"),
    INTEGER_OPTION("samples", FIELD(top), "N", 1, 99999, "samples"),
    CHOICE_OPTION("format", FIELD(format), "NAME", formats, "how to print"),
    ALIAS_OPTION("json", "format", "json", "short for --format json"),
    TEXT_OPTION("output", FIELD(output), "FILE", "write to FILE", .letter = 'o',
                .is_of_page = true),
    PARSED_OPTION("range", FIELD(range), "A-B", range, "from A to B"),
    {0},
};

enum { ARGUMENTS_MAX = 12 };

/* A command line taken apart. */
struct parsed {
    struct settings settings;
    char *operands[ARGUMENTS_MAX];
    int count;
    struct error error;
    bool is_parsed;
};

static struct parsed parse(const char *line)
{
    static char copy[256];
    struct parsed parsed = {.settings = {.has_bar = true, .top = 10}};
    char *arguments[ARGUMENTS_MAX];
    snprintf(copy, sizeof copy, "%s", line);
    for (char *word = strtok(copy, " "); word; word = strtok(NULL, " "))
        arguments[parsed.count++] = word;
    parsed.is_parsed =
        parse_options(options, &parsed.settings, arguments, &parsed.count, &parsed.error);
    for (int i = 0; parsed.is_parsed && i < parsed.count; i++)
        parsed.operands[i] = arguments[i];
    return parsed;
}

static void assert_refused(const char *line, const char *message)
{
    struct parsed parsed = parse(line);

    assert_false(parsed.is_parsed);
    assert_int_equal(parsed.error.class, ERROR_USAGE);
    assert_string_equal(parsed.error.message, message);
}

static void all_ways_to_give_a_value(void **state)
{
    assert_int_equal(parse("--top 5").settings.top, 5);
    assert_int_equal(parse("--top=6").settings.top, 6);
    assert_int_equal(parse("-n 7").settings.top, 7);
    assert_int_equal(parse("-n8").settings.top, 8);
    assert_int_equal(parse("-qn9").settings.top, 9);
    assert_true(parse("-qn9").settings.is_quiet);
    assert_int_equal(parse("--top 5 --top 0").settings.top, 0);
    assert_string_equal(parse("-o x --output=y").settings.output, "y");
    assert_int_equal(parse("--range 3-5").settings.range[1], 5);
}

static void flags_choices_and_aliases(void **state)
{
    assert_true(parse("--quiet").settings.is_quiet);
    assert_true(parse("").settings.has_bar);
    assert_false(parse("--no-bar").settings.has_bar);
    assert_true(parse("--no-bar --bar").settings.has_bar);
    assert_int_equal(parse("").settings.format, 0);
    assert_int_equal(parse("--format json").settings.format, 1);
    assert_int_equal(parse("--json").settings.format, 1);
    assert_int_equal(parse("--json --format text").settings.format, 0);
}

/* Tokens are counted in T, and what a device draws in k; m would be a thousandth. */
static void positive_numbers_may_be_large(void **state)
{
    double number = 0.0;

    (void)state;
    assert_true(parse_positive_number("15T", &number) && number == 15e12);
    assert_true(parse_positive_number("1.4k", &number) && number == 1400.0);
    assert_true(parse_positive_number("2e-4", &number) && number == 2e-4);
    assert_false(parse_positive_number("15m", &number));
    assert_false(parse_positive_number("15TB", &number));
    assert_false(parse_positive_number("T", &number));
    assert_false(parse_positive_number("1e308T", &number));
    assert_false(parse_positive_number("-1k", &number));
}

static void operands_are_what_is_left(void **state)
{
    struct parsed parsed = parse("a --quiet b - -- --top");

    assert_true(parsed.is_parsed);
    assert_int_equal(parsed.count, 4);
    assert_string_equal(parsed.operands[0], "a");
    assert_string_equal(parsed.operands[1], "b");
    assert_string_equal(parsed.operands[2], "-");
    assert_string_equal(parsed.operands[3], "--top");
    assert_int_equal(parse("").count, 0);
}

static void wrong_lines_say_what_is_accepted(void **state)
{
    assert_refused("--tpo 3", "unknown option '--tpo': did you mean '--top'?");
    assert_refused("--gpus 3", "unknown option '--gpus': did you mean '--devices'?");
    assert_refused("--gpu 3", "unknown option '--gpu': --help lists those there are");
    assert_refused("--zzzzzz", "unknown option '--zzzzzz': --help lists those there are");
    assert_refused("-z", "unknown option '-z': --help lists those there are");
    assert_refused("--top", "option '--top' needs a value: --top N");
    assert_refused("-n", "option '-n' needs a value: -n N");
    assert_refused("--top=", "option '--top': '' is not a whole number from 0 to 50");
    assert_refused("--top 51", "option '--top': '51' is not a whole number from 0 to 50");
    assert_refused("--top -1", "option '--top': '-1' is not a whole number from 0 to 50");
    assert_refused("--top 3x", "option '--top': '3x' is not a whole number from 0 to 50");
    assert_refused("--top 1e1",
                   "option '--top': '1e1' is not a whole number from 0 to 50: did you mean 10?");
    assert_refused("--top 0.02k",
                   "option '--top': '0.02k' is not a whole number from 0 to 50: did you mean 20?");
    assert_refused("--top 1k", "option '--top': '1k' is not a whole number from 0 to 50");
    assert_refused("--samples 8k",
                   "option '--samples': '8k' is not a whole number from 1 to 99999: "
                   "did you mean 8000 or 8192?");
    assert_refused("--top 99999999999999999999",
                   "option '--top': '99999999999999999999' is not a whole number from 0 to 50");
    assert_refused("--format jsn",
                   "option '--format': 'jsn' is not one of text or json: did you mean 'json'?");
    assert_refused("--format qqqqqq", "option '--format': 'qqqqqq' is not one of text or json");
    assert_refused("--quiet=yes", "option '--quiet' takes no value, but 'yes' was given");
    assert_refused("--json=yes", "option '--json' takes no value, but 'yes' was given");
    assert_refused("--output=", "option '--output' needs a value: FILE");
    assert_refused("--range 3", "option '--range': '3' is not two numbers: 3-5");
}

/* What an answer hangs on is noted, however it was typed; where it goes is not. */
static void what_is_asked_is_noted(void **state)
{
    static const char noted[] = "top\0005\0quiet\0\0range\0001-2\0no-bar\0not";
    char words[][16] = {"-n5", "--output", "x", "-q", "--range=1-2", "trace", "--bar"};
    char *arguments[7];
    struct settings settings = {0};
    struct bytes asked = {0};
    struct error error = {0};
    int count = 7;

    for (int i = 0; i < count; i++)
        arguments[i] = words[i];
    assert_true(parse_options_noting(options, &settings,
                                     &(struct noted_arguments){arguments, &count, &asked}, &error));
    assert_int_equal(asked.length, sizeof noted);
    assert_memory_equal(asked.bytes, noted, sizeof noted);
    bytes_clear(&asked);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_ways_to_give_a_value),
        cmocka_unit_test(flags_choices_and_aliases),
        cmocka_unit_test(positive_numbers_may_be_large),
        cmocka_unit_test(operands_are_what_is_left),
        cmocka_unit_test(wrong_lines_say_what_is_accepted),
        cmocka_unit_test(what_is_asked_is_noted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
