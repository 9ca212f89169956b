/* Rounds and names numbers as DeepSpeed does. */
#include "output/reports/deepspeed_numbers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct magnitude {
    double factor;
    const char *prefix;
};

/* Its own steps: down to "m" for thousandths, all smaller in "u". 0 has no prefix. */
static struct magnitude magnitude_of(double number)
{
    static const struct magnitude magnitudes[] = {{1e12, "T"}, {1e9, "G"}, {1e6, "M"},
                                                  {1e3, "K"},  {1, ""},    {1e-3, "m"}};

    if (number == 0)
        return (struct magnitude){1, ""};
    for (size_t i = 0; i < sizeof magnitudes / sizeof magnitudes[0]; i++)
        if (number >= magnitudes[i].factor)
            return magnitudes[i];
    return (struct magnitude){1e-6, "u"};
}

/* As Python's round(x, 2): the decimal nearest to the exact binary number. */
static double rounded(double number)
{
    char text[64];

    (void)snprintf(text, sizeof text, "%.2f", number);
    return strtod(text, NULL);
}

struct short_text deepspeed_number(double number, const char *suffix)
{
    struct short_text text;
    struct magnitude magnitude = magnitude_of(number);

    (void)snprintf(text.text, sizeof text.text, "%g %s%s", rounded(number / magnitude.factor),
                   magnitude.prefix, suffix);
    return text;
}

/* Parameters are counted in billions ("B"), everything else in "G"; a space without a prefix
 * behind it is cut off, as there. */
struct short_text deepspeed_parameters(double number)
{
    struct short_text text = deepspeed_number(number, "");
    char *giga = strchr(text.text, 'G');
    size_t length;

    if (giga)
        *giga = 'B';
    length = strlen(text.text);
    while (length > 0 && text.text[length - 1] == ' ')
        text.text[--length] = '\0';
    return text;
}

/* As str(round(x, 2)) in Python writes it: one zero at the end is dropped, the other stays
 * ("1.0"). */
struct short_text deepspeed_rounded(double number)
{
    struct short_text text;
    size_t length;

    (void)snprintf(text.text, sizeof text.text, "%.2f", number);
    length = strlen(text.text);
    if (length > 1 && text.text[length - 1] == '0')
        text.text[length - 1] = '\0';
    return text;
}

struct short_text deepspeed_per_cent(double part, double whole)
{
    struct short_text text;

    (void)snprintf(text.text, sizeof text.text, "%g%%",
                   whole > 0 ? rounded(100 * part / whole) : 0.0);
    return text;
}
