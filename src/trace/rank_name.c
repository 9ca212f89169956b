/* Numbers of ranks in names. */
#include "trace/rank_name.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { RANK_NUMBER_MAX = 1 << 20 };

/* The number at `text`; -1 where there is none, or no small one. */
static int32_t number_at(const char *text)
{
    char *end;
    long number;

    if (!isdigit((unsigned char)*text))
        return -1;
    number = strtol(text, &end, 10);
    return number <= RANK_NUMBER_MAX ? (int32_t)number : -1;
}

/* Behind what may stand between a word and its number: "rank_3", "rank[3]", "rank.3". */
static const char *behind_separator(const char *text)
{
    return *text && strchr("_-=.[: ", *text) ? text + 1 : text;
}

/* Does a word begin at `at`: no letter stands before it, or a small one before a capital? */
static bool is_word_start(const char *start, const char *at)
{
    if (at == start || !isalpha((unsigned char)at[-1]))
        return true;
    return islower((unsigned char)at[-1]) && isupper((unsigned char)*at);
}

/* With nothing or one separator between them. */
int32_t number_behind_word(const char *start, const char *end, const char *word, const char **after)
{
    size_t length = strlen(word);

    for (const char *at = start; at + length < end; at++) {
        const char *number = at + length;
        int32_t value;

        if (strncasecmp(at, word, length) != 0 || !is_word_start(start, at))
            continue;
        value = number_at(behind_separator(number));
        number = behind_separator(number);
        if (value < 0 && strncasecmp(number, "rank", 4) == 0)
            value = number_at(behind_separator(number + 4));
        if (value < 0)
            continue;
        if (after)
            *after = at;
        return value;
    }
    return -1;
}

/* Does the text end, before a separator, with the word? "local_" before "rank_3" */
static bool ends_with_word(const char *start, const char *end, const char *word)
{
    size_t length = strlen(word);

    if (end > start && strchr("_-. ", end[-1]))
        end--;
    return (size_t)(end - start) >= length && strncasecmp(end - length, word, length) == 0 &&
           ((size_t)(end - start) == length || !isalpha((unsigned char)end[-1 - (int)length]));
}

/* Does the name of a dimension of parallelism stand before it? Its group is none of the whole run.
 */
static bool names_an_axis(const char *start, const char *at)
{
    static const char *const axes[] = {"tp", "cp", "dp", "pp", "ep", "dcp", "etp", "vp"};

    for (size_t i = 0; i < sizeof axes / sizeof *axes; i++)
        if (ends_with_word(start, at, axes[i]))
            return true;
    return false;
}

int32_t rank_in_name(const char *start, const char *end, const char *word)
{
    int32_t along_axis = -1;
    unsigned axis_count = 0;

    for (const char *at = start, *found; at < end; at = found + 1) {
        int32_t rank = number_behind_word(at, end, word, &found);

        if (rank < 0)
            break;
        if (ends_with_word(start, found, "local") || ends_with_word(start, found, "node"))
            continue;
        if (!names_an_axis(start, found))
            return rank;
        along_axis = rank;
        axis_count++;
    }
    return axis_count == 1 ? along_axis : -1;
}
