/* Reads ranges of steps. */
#include "pipeline/step_range.h"

#include <stdlib.h>

const char step_range_accepted[] = "a step (3), a range of steps (3-5) or an open one (3-)";

/* strtoll gives INT64_MAX for what is too large, which is refused: it also stands for an open
 * end. */
static bool step_range_take_number(const char **text, int64_t *number)
{
    char *end;

    if (**text < '0' || **text > '9')
        return false;
    *number = strtoll(*text, &end, 10);
    *text = end;
    return *number < INT64_MAX;
}

/* "3", "3-5", "3-" and "-5": a dash alone is none of these. A range that ends before it begins
 * is refused, for it would choose nothing. */
bool parse_step_range(const char *text, void *field)
{
    struct step_range range = {.first = INT64_MIN, .last = INT64_MAX};
    bool has_first = step_range_take_number(&text, &range.first);

    if (!has_first && *text != '-')
        return false;
    if (*text == '\0') {
        range.last = range.first;
    } else {
        if (*text++ != '-' || (*text == '\0' && !has_first))
            return false;
        if (*text != '\0' && !step_range_take_number(&text, &range.last))
            return false;
    }
    if (*text != '\0' || range.first > range.last)
        return false;
    *(struct step_range *)field = range;
    return true;
}

/* Compiled before a trace is opened, so that a mistake in it is told at once, with the place
 * that the C library names. */
bool step_pattern_compile(struct step_pattern *pattern, const char *text, struct error *error)
{
    char problem[256];
    int result;

    if (!text)
        return true;
    result = regcomp(&pattern->regex, text, REG_EXTENDED | REG_NOSUB);
    if (result != 0) {
        (void)regerror(result, &pattern->regex, problem, sizeof problem);
        return error_set(error, ERROR_USAGE,
                         "--step-range: '%s' is no regular expression (%s); an example: "
                         "'^iteration [0-9]+'",
                         text, problem);
    }
    pattern->is_set = true;
    return true;
}

void step_pattern_clear(struct step_pattern *pattern)
{
    if (pattern->is_set)
        regfree(&pattern->regex);
    *pattern = (struct step_pattern){0};
}
