/* Reads conditions: 'step_time>+3%'. */
#include "sections/comparison/condition.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char units_accepted[] =
    "%, points (of a share), ns, µs (or us), ms, s, B, KiB, MiB, GiB, TiB, kB, MB, GB, TB or "
    "nothing";

/* What stands behind a number. */
static const struct {
    const char *name;
    enum unit unit;
    double factor;
} units[] = {
    {"", UNIT_COUNT, 1},         {"%", UNIT_FRACTION, 0.01},  {"points", UNIT_FRACTION, 0.01},
    {"ns", UNIT_TIME_NS, 1},     {"us", UNIT_TIME_NS, 1e3},   {"µs", UNIT_TIME_NS, 1e3},
    {"ms", UNIT_TIME_NS, 1e6},   {"s", UNIT_TIME_NS, 1e9},    {"B", UNIT_BYTES, 1},
    {"KiB", UNIT_BYTES, 0x1p10}, {"MiB", UNIT_BYTES, 0x1p20}, {"GiB", UNIT_BYTES, 0x1p30},
    {"TiB", UNIT_BYTES, 0x1p40}, {"kB", UNIT_BYTES, 1e3},     {"MB", UNIT_BYTES, 1e6},
    {"GB", UNIT_BYTES, 1e9},     {"TB", UNIT_BYTES, 1e12},
};
enum { UNIT_NAME_COUNT = sizeof units / sizeof *units };

/* The last '<' or '>': names of kernels hold them, too. */
static const char *find_comparison(const char *text)
{
    const char *last = NULL;

    for (; *text; text++)
        if (*text == '<' || *text == '>')
            last = text;
    return last;
}

static bool fail_at(const struct condition *condition, const char *place, const char *expected,
                    struct error *error)
{
    return error_set(error, ERROR_USAGE, "--fail-if '%s': at character %d, '%s': expected %s",
                     condition->text, (int)(place - condition->text) + 1, place, expected);
}

/* A sign makes it a change, % of itself a relative one: "-3%" of a share is of itself,
 * "-3points" of the whole. */
static bool parse_unit(struct condition *condition, const char *name, bool has_sign,
                       struct error *error)
{
    for (int i = 0; i < UNIT_NAME_COUNT; i++) {
        if (strcmp(units[i].name, name) != 0)
            continue;
        condition->unit = units[i].unit;
        condition->limit *= units[i].factor;
        condition->kind = !has_sign                         ? LIMIT_VALUE
                          : strcmp(units[i].name, "%") == 0 ? LIMIT_RELATIVE
                                                            : LIMIT_CHANGE;
        return true;
    }
    return fail_at(condition, name, units_accepted, error);
}

/* "+3%", "-2points", "200ms" A sign against the comparison could be met by no change anyone
 * means: "mfu>-3%". */
static bool parse_limit(struct condition *condition, const char *text, struct error *error)
{
    bool has_sign = *text == '+' || *text == '-';
    const char *digits = text + has_sign;
    char *end;

    if (!((*digits >= '0' && *digits <= '9') || *digits == '.'))
        return fail_at(condition, text, "a number: +3%, -2points, +5ms, or 200ms for B's value",
                       error);
    condition->limit = strtod(text, &end);
    if (!isfinite(condition->limit))
        return fail_at(condition, text, "a finite number", error);
    while (*end == ' ')
        end++;
    if (has_sign && (*text == '+') != condition->is_above)
        return fail_at(condition, text,
                       condition->is_above ? "a rise behind '>': +3%" : "a fall behind '<': -3%",
                       error);
    return parse_unit(condition, end, has_sign, error);
}

/* The comparison is looked for first and the name is what lies before it: names of kernels may
 * hold nearly any character. Spaces around it are the shell's or the user's habit and mean
 * nothing. */
bool condition_parse(struct condition *condition, const char *text, struct error *error)
{
    const char *comparison = find_comparison(text);
    size_t length;

    *condition = (struct condition){.text = text};
    if (!comparison)
        return fail_at(condition, text + strlen(text),
                       "'>' or '<' and a limit behind the name: step_time>+3%", error);
    length = (size_t)(comparison - text);
    while (length > 0 && text[length - 1] == ' ')
        length--;
    if (length == 0)
        return fail_at(condition, text, "a name: step_time, idle_data, mfu, memory, kernel:NAME",
                       error);
    /* Refused and not cut: a shorter name could be another kernel's. */
    if (length >= sizeof condition->subject)
        return fail_at(condition, text, "a name of at most 255 bytes; 'kernel:' takes patterns (*)",
                       error);
    memcpy(condition->subject, text, length);
    condition->subject[length] = '\0';
    condition->is_above = *comparison == '>';
    comparison++;
    while (*comparison == ' ')
        comparison++;
    return parse_limit(condition, comparison, error);
}
