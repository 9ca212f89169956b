/* Real numbers as text for programs. */
#include "base/core/exact_real.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A count that went through arithmetic of doubles is written as the count that it is. Above it a
 * double has gaps. */
static const double largest_whole = 9007199254740992.0; /* 2^53 */

/* Every decimal of up to 15 digits is told from all others by a double. */
enum { SURE_DIGITS = 15, DECIMALS_MAX = 19 };

/* Writes the number as whole / 10^decimals; `whole` has at most 18 digits. */
static void write_decimal(char *to, bool is_negative, uint64_t whole, int decimals)
{
    char digits[32];
    char *at = digits + sizeof digits;

    for (int written = 0; whole || written <= decimals; written++) {
        if (written == decimals && written > 0)
            *--at = '.';
        *--at = (char)('0' + whole % 10);
        whole /= 10;
    }
    if (is_negative)
        *--at = '-';
    memcpy(to, at, (size_t)(digits + sizeof digits - at));
    to[digits + sizeof digits - at] = '\0';
}

/* What is a decimal of few digits, from 0.0001 on, in the same form as printf's %g; false for
 * all others, which need more digits than SURE_DIGITS. From one decimal up: the first count of
 * decimals at which the number, written as whole / 10^decimals, reads back as itself. Both whole
 * (below 10^15) and the power (the largest that is one is 10^22) are exact doubles, so that the
 * division rounds once, as reading the text does: if it gives the number, so does the text. */
static bool write_short_decimal(char *to, double number)
{
    static const double powers[DECIMALS_MAX + 1] = {1,    1e1,  1e2,  1e3,  1e4,  1e5,  1e6,
                                                    1e7,  1e8,  1e9,  1e10, 1e11, 1e12, 1e13,
                                                    1e14, 1e15, 1e16, 1e17, 1e18, 1e19};
    double magnitude = fabs(number);

    for (int decimals = 1; decimals <= DECIMALS_MAX; decimals++) {
        double scaled = magnitude * powers[decimals];
        uint64_t whole;

        if (!(scaled < powers[SURE_DIGITS]))
            return false;
        whole = (uint64_t)(scaled + 0.5);
        if ((double)whole / powers[decimals] == magnitude) {
            write_decimal(to, signbit(number), whole, decimals);
            return true;
        }
    }
    return false;
}

/* The shortest text that reads back as the same double, in the common cases without asking
 * printf: whole numbers, then short decimals. Others are tried with one digit more each time;
 * 17 are enough for any double (IEEE 754). */
struct real_text exact_real(double number)
{
    static const double least = 0.0001; /* below it %g writes an exponent */
    struct real_text text;
    bool has_exponent = !(fabs(number) >= least);

    if (fabs(number) <= largest_whole && trunc(number) == number) {
        write_decimal(text.text, signbit(number), (uint64_t)fabs(number), 0);
        return text;
    }
    if (!has_exponent && write_short_decimal(text.text, number))
        return text;
    for (int precision = has_exponent ? 6 : SURE_DIGITS; precision <= 17; precision++) {
        (void)snprintf(text.text, sizeof text.text, "%.*g", precision, number);
        if (strtod(text.text, NULL) == number)
            break;
    }
    return text;
}
