/* When a window is to be recorded by itself: the rules of `--on`. */
#include "live/run/run_parts.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { RULE_MAX = 64 };

const char trigger_rules_accepted[] =
    "rules with commas between: step_time>1.5*median, step_time>2s, mfu<0.8*median, "
    "memory_growth>20steps, rank_lag>0.5*median";

const char byte_limit_accepted[] = "a number of bytes: 500000000, 500M, 2G";

static const char *const median_only[] = {"*median", NULL};
static const char *const of_time[] = {"*median", "ms", "s", NULL};
static const char *const of_steps[] = {"steps", NULL};

static const struct {
    const char *begin;
    const char *const *units;
} rule_forms[] = {
    {"step_time>", of_time},
    {"rank_lag>", of_time},
    {"mfu<", median_only},
    {"memory_growth>", of_steps},
};

/* "12", "1.5": no sign, no exponent. NULL: there is none. No strtod: it would take "inf",
 * hexadecimals and the locale's comma. */
static const char *behind_number(const char *text)
{
    size_t digits = strspn(text, "0123456789");

    if (digits == 0)
        return NULL;
    text += digits;
    if (*text != '.')
        return text;
    digits = strspn(text + 1, "0123456789");
    return digits == 0 ? NULL : text + 1 + digits;
}

/* The recorder reads rules again, in Python: both have the same forms, and this one only
 * refuses what that would. */
static bool is_rule(const char *rule)
{
    for (size_t i = 0; i < sizeof rule_forms / sizeof *rule_forms; i++) {
        size_t length = strlen(rule_forms[i].begin);
        const char *unit;

        if (strncmp(rule, rule_forms[i].begin, length) != 0)
            continue;
        unit = behind_number(rule + length);
        for (const char *const *known = rule_forms[i].units; unit && *known; known++) {
            if (strcmp(unit, *known) == 0)
                return true;
        }
    }
    return false;
}

/* Checked here, and handed on as text: the recorder inside of the program evaluates the rules,
 * and has its own parser. */
bool parse_trigger_rules(const char *text, void *field)
{
    const char *at = text;

    for (;;) {
        char rule[RULE_MAX] = "";
        size_t length = 0;

        for (; *at && *at != ','; at++) {
            if (*at == ' ')
                continue;
            if (length == RULE_MAX - 1)
                return false;
            rule[length++] = *at;
        }
        if (!is_rule(rule))
            return false;
        if (!*at)
            break;
        at++;
    }
    *(const char **)field = text;
    return true;
}

/* Powers of two, as units of memory are read; the shift is checked before it is made. */
bool parse_byte_limit(const char *text, void *field)
{
    static const char units[] = "KMGT";
    const char *unit;
    char *end;
    long long number;
    int shift = 0;

    if (*text < '0' || *text > '9')
        return false;
    errno = 0;
    number = strtoll(text, &end, 10);
    unit = *end ? strchr(units, *end) : NULL;
    if (unit) {
        shift = 10 * (int)(unit - units + 1);
        end++;
    }
    if (errno || *end || number <= 0 || number > INT64_MAX >> shift)
        return false;
    *(int64_t *)field = number << shift;
    return true;
}
