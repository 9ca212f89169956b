/* Words and numbers of a line of a log, and progress bars as tqdm draws them. */
#include "readers/logs/log_text.h"

#include <math.h>
#include <string.h>

/* A decimal number as written. */
struct decimal {
    int64_t digits;
    int exponent; /* of ten */
    bool is_negative;
};

/* Up to 1e22 a double holds them exactly, so that one multiplication or division rounds only
 * once. */
static const double powers_of_ten[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                       1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                       1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
/* Nothing in a log takes longer: 115 days. */
static const int64_t LENGTH_MAX_NS = INT64_C(10000000000000000);

enum { POWERS = sizeof powers_of_ten / sizeof *powers_of_ten };

static bool log_text_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool log_find(struct log_text text, const char *words, struct log_text *rest)
{
    size_t length = strlen(words);

    /* on lines as short as these, quicker than memmem(), which begins with a table of its own */
    while (log_text_length(text) >= length) {
        const char *found = memchr(text.at, *words, log_text_length(text) - length + 1);

        if (!found)
            return false;
        if ((length < 2 || found[1] == words[1]) && memcmp(found, words, length) == 0) {
            *rest = (struct log_text){found + length, text.end};
            return true;
        }
        text.at = found + 1;
    }
    return false;
}

/* A word begins where the text does, or behind a space or what loggers put between fields. */
bool log_find_word(struct log_text text, const char *words, struct log_text *rest)
{
    const char *begin = text.at;
    size_t length = strlen(words);

    while (log_find(text, words, &text)) {
        const char *found = text.at - length;

        if (found == begin || strchr(" \t]|:>", found[-1])) {
            *rest = text;
            return true;
        }
    }
    return false;
}

/* The first character decides for most lines, before anything is measured. */
bool log_skip(struct log_text *text, const char *words)
{
    size_t length;

    if (text->at < text->end && *text->at != *words)
        return *words == '\0';
    length = strlen(words);
    if (log_text_length(*text) < length || memcmp(text->at, words, length) != 0)
        return false;
    text->at += length;
    return true;
}

void log_skip_spaces(struct log_text *text)
{
    while (text->at < text->end && (*text->at == ' ' || *text->at == '\t'))
        text->at++;
}

bool log_skip_past(struct log_text *text, char c)
{
    const char *found = memchr(text->at, c, log_text_length(*text));

    if (found)
        text->at = found + 1;
    return found != NULL;
}

/* "1,234": a comma between digits, three of which follow and not more. */
static bool is_thousands_comma(const struct log_text *text)
{
    const char *at = text->at;

    return text->end - at >= 4 && *at == ',' && log_text_is_digit(at[1]) &&
           log_text_is_digit(at[2]) && log_text_is_digit(at[3]) &&
           (text->end - at == 4 || !log_text_is_digit(at[4]));
}

/* Digits, as many as fit: those behind are dropped from a fraction and counted in a whole number.
 * How many digits there were in all. */
static int log_text_take_digits(struct log_text *text, struct decimal *decimal, bool is_fraction,
                                bool has_commas)
{
    int count = 0;

    while (text->at < text->end) {
        if (has_commas && count > 0 && !is_fraction && is_thousands_comma(text)) {
            text->at++;
            continue;
        }
        if (!log_text_is_digit(*text->at))
            break;
        if (decimal->digits < INT64_C(400000000000000000)) {
            decimal->digits = decimal->digits * 10 + (*text->at - '0');
            decimal->exponent -= is_fraction;
        } else {
            decimal->exponent += !is_fraction;
        }
        text->at++;
        count++;
    }
    return count;
}

/* An 'e' without digits behind it belongs to a word, not to the number. An exponent beyond
 * 10000 is infinite or zero anyway; more digits must not overflow the int. */
static void parse_exponent(struct log_text *text, struct decimal *decimal)
{
    struct log_text behind = {text->at + 1, text->end};
    bool is_negative = false;
    int exponent = 0;

    if (text->at >= text->end || (*text->at | 0x20) != 'e')
        return;
    if (behind.at < behind.end && (*behind.at == '-' || *behind.at == '+'))
        is_negative = *behind.at++ == '-';
    if (behind.at >= behind.end || !log_text_is_digit(*behind.at))
        return;
    for (; behind.at < behind.end && log_text_is_digit(*behind.at); behind.at++)
        exponent = exponent < 10000 ? exponent * 10 + (*behind.at - '0') : exponent;
    decimal->exponent += is_negative ? -exponent : exponent;
    text->at = behind.at;
}

/* By hand, since strtod reads the locale's comma and needs a text that ends. */
static bool log_text_take_decimal(struct log_text *text, bool has_commas, struct decimal *decimal)
{
    struct log_text behind = *text;
    int count;

    log_skip_spaces(&behind);
    *decimal = (struct decimal){0};
    if (behind.at < behind.end && (*behind.at == '-' || *behind.at == '+'))
        decimal->is_negative = *behind.at++ == '-';
    count = log_text_take_digits(&behind, decimal, false, has_commas);
    if (behind.at < behind.end && *behind.at == '.' &&
        (count > 0 || (behind.end - behind.at > 1 && log_text_is_digit(behind.at[1])))) {
        behind.at++;
        count += log_text_take_digits(&behind, decimal, true, false);
    }
    if (count == 0)
        return false;
    parse_exponent(&behind, decimal);
    *text = behind;
    return true;
}

/* A number with a fraction is none of these: it is refused, not cut. */
bool log_take_integer(struct log_text *text, bool has_commas, int64_t *number)
{
    struct log_text behind = *text;
    struct decimal decimal = {0};
    bool is_negative = false;

    log_skip_spaces(&behind);
    if (behind.at < behind.end && *behind.at == '-')
        is_negative = *behind.at++ == '-';
    if (log_text_take_digits(&behind, &decimal, false, has_commas) == 0 || decimal.exponent != 0)
        return false;
    *number = is_negative ? -decimal.digits : decimal.digits;
    *text = behind;
    return true;
}

/* Powers of ten up to 22 are exact in a double, so a product or quotient of one is rounded
 * once. */
static double log_text_value_of(const struct decimal *decimal)
{
    double value = (double)decimal->digits;

    if (decimal->exponent < 0)
        value = -decimal->exponent < POWERS ? value / powers_of_ten[-decimal->exponent]
                                            : value * pow(10.0, decimal->exponent);
    else if (decimal->exponent > 0)
        value = decimal->exponent < POWERS ? value * powers_of_ten[decimal->exponent]
                                           : value * pow(10.0, decimal->exponent);
    return decimal->is_negative ? -value : value;
}

/* "nan", "NaN", "inf", "-inf", "Infinity". */
static bool parse_special(struct log_text *text, double *number)
{
    struct log_text behind = *text;
    bool is_negative = log_skip(&behind, "-");

    if (log_skip(&behind, "nan") || log_skip(&behind, "NaN") || log_skip(&behind, "NAN"))
        *number = NAN;
    else if (log_skip(&behind, "Infinity") || log_skip(&behind, "inf") || log_skip(&behind, "Inf"))
        *number = is_negative ? -INFINITY : INFINITY;
    else
        return false;
    *text = behind;
    return true;
}

/* Words such as "nan" are numbers of a log, too: a loss that diverged is written so. */
bool log_take_real(struct log_text *text, bool has_commas, double *number)
{
    struct decimal decimal;

    log_skip_spaces(text);
    if (!log_text_take_decimal(text, has_commas, &decimal))
        return parse_special(text, number);
    *number = log_text_value_of(&decimal);
    return true;
}

/* In integers to the nanosecond: a length in seconds may have more digits than a double keeps.
 * Rounded half up. */
bool log_take_length(struct log_text *text, int64_t unit_ns, int64_t *length_ns)
{
    struct log_text behind = *text;
    struct decimal decimal;
    int64_t number, divisor = 1;

    if (!log_text_take_decimal(&behind, false, &decimal) || decimal.is_negative)
        return false;
    number = decimal.digits;
    for (; unit_ns > 1; unit_ns /= 10)
        decimal.exponent++;
    for (; decimal.exponent > 0 && number > 0; decimal.exponent--) {
        if (number > INT64_MAX / 10)
            return false;
        number *= 10;
    }
    for (; decimal.exponent < 0 && divisor <= INT64_MAX / 10; decimal.exponent++)
        divisor *= 10;
    if (decimal.exponent < 0)
        number = 0;
    number = number / divisor + (number % divisor >= divisor - number % divisor && divisor > 1);
    if (number > LENGTH_MAX_NS)
        return false;
    *length_ns = number;
    *text = behind;
    return true;
}

/* Whole seconds written as "1:02:03" or "02:03" (as tqdm does, with days as "1 day, 2:03:04" not
 * taken), in nanoseconds. "1:02:03", "02:03": hours may be many, parts beyond 2000 are none. */
static bool log_take_clock(struct log_text *text, int64_t *length_ns)
{
    struct log_text behind = *text;
    int64_t seconds = 0, part;
    int parts = 0;

    do {
        if (behind.at >= behind.end || !log_text_is_digit(*behind.at) ||
            !log_take_integer(&behind, false, &part) || part > 2000)
            return false;
        seconds = seconds * 60 + part;
        parts++;
    } while (parts < 3 && log_skip(&behind, ":"));
    if (parts < 2)
        return false;
    *length_ns = seconds * 1000000000;
    *text = behind;
    return true;
}

/* "  10%" at the end of the text before '|': moves the end to before it. */
static bool parse_percentage(struct log_text *title)
{
    const char *at = title->end;

    if (at == title->at || at[-1] != '%')
        return false;
    for (at--; at > title->at && at[-1] >= '0' && at[-1] <= '9'; at--)
        continue;
    if (*at == '%')
        return false;
    while (at > title->at && at[-1] == ' ')
        at--;
    if (at > title->at && at[-1] == ':')
        at--;
    title->end = at;
    log_skip_spaces(title);
    return true;
}

/* Behind the percentage: "%|###   | 100/1000", or "% 100/1000" where no bar is drawn. `rest` begins
 * with the counts. */
static bool find_counts(struct log_text line, struct log_text *title, struct log_text *rest)
{
    *title = *rest = line;
    if (log_find(line, "%|", rest)) {
        title->end = rest->at - 1;
        return log_skip_past(rest, '|');
    }
    while (log_find(*rest, "% ", rest)) {
        title->end = rest->at - 1;
        if (rest->at < rest->end && *rest->at >= '0' && *rest->at <= '9')
            return true;
    }
    return false;
}

/* "Epoch 0: : 129it [43:14, 20.11s/it, v_num=0]", where it is not known how many there will be. */
static bool parse_counter(struct log_text line, struct log_bar *bar)
{
    struct log_text rest, number;
    const char *at;

    if (!log_find(line, "it [", &rest))
        return false;
    at = rest.at - 4;
    while (at > line.at && at[-1] >= '0' && at[-1] <= '9')
        at--;
    number = (struct log_text){at, rest.at - 4};
    if (!log_take_integer(&number, false, &bar->done) || number.at != number.end ||
        !log_take_clock(&rest, &bar->elapsed_ns) || !log_skip(&rest, ", "))
        return false;
    while (at > line.at && (at[-1] == ' ' || at[-1] == ':'))
        at--;
    bar->title = (struct log_text){line.at, at};
    log_skip_spaces(&bar->title);
    bar->total = 0;
    bar->rest = rest;
    return true;
}

/* The counter without a total first, as it has no percentage that could be found. */
bool log_take_bar(struct log_text line, struct log_bar *bar)
{
    struct log_text rest;

    if (parse_counter(line, bar))
        return true;
    if (!find_counts(line, &bar->title, &rest) || !parse_percentage(&bar->title))
        return false;
    if (!log_take_integer(&rest, false, &bar->done) || !log_skip(&rest, "/") ||
        !log_take_integer(&rest, false, &bar->total) || !log_skip(&rest, " [") ||
        !log_take_clock(&rest, &bar->elapsed_ns) || bar->done < 0)
        return false;
    bar->rest = rest;
    return true;
}

/* What rich draws bars of: spaces, and characters that are not ASCII. */
static void skip_drawing(struct log_text *text)
{
    while (text->at < text->end && (*text->at == ' ' || (unsigned char)*text->at >= 0x80))
        text->at++;
}

/* rich draws the epoch, the bar, counts, then the clocks; one that names no count or no clock
 * is another line. */
bool log_take_rich_bar(struct log_text line, struct log_bar *bar)
{
    struct log_text rest;
    int64_t number, last;

    bar->title = line;
    if (!log_find_word(line, "Epoch ", &rest) || !log_take_integer(&rest, false, &number) ||
        !log_skip(&rest, "/") || !log_take_integer(&rest, false, &last))
        return false;
    bar->title.end = rest.at;
    skip_drawing(&rest);
    if (!log_take_integer(&rest, false, &bar->done) || !log_skip(&rest, "/") ||
        !log_take_integer(&rest, false, &bar->total) || bar->done < 0)
        return false;
    log_skip_spaces(&rest);
    if (!log_take_clock(&rest, &bar->elapsed_ns))
        return false;
    bar->rest = rest;
    return true;
}
