/* Real numbers as text for programs. */
#include "base/core/exact_real.h"

#include <float.h>
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

static const double powers[DECIMALS_MAX + 1] = {1,    1e1,  1e2,  1e3,  1e4,  1e5,  1e6,
                                                1e7,  1e8,  1e9,  1e10, 1e11, 1e12, 1e13,
                                                1e14, 1e15, 1e16, 1e17, 1e18, 1e19};

/* What is a decimal of few digits, from 0.0001 on, in the same form as printf's %g; false for
 * all others, which need more digits than SURE_DIGITS. From one decimal up: the first count of
 * decimals at which the number, written as whole / 10^decimals, reads back as itself. Both whole
 * (below 10^15) and the power (the largest that is one is 10^22) are exact doubles, so that the
 * division rounds once, as reading the text does: if it gives the number, so does the text. */
static bool write_short_decimal(char *to, double number)
{
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

/* How many digits stand before the point; of 0.00012 it is -3. The double of each of these powers
 * below 1 is the first that is not below the power itself. */
static int digits_before_point(double magnitude)
{
    static const double limits[] = {0.001, 0.01, 0.1};
    int digits = -3;

    while (digits < 0 && magnitude >= limits[digits + 3])
        digits++;
    while (digits >= 0 && magnitude >= powers[digits])
        digits++;
    return digits;
}

/* What is no such decimal, from 0.0001 to 10^15: of 15, 16 and 17 digits the first that read back,
 * as printf would round them, in whole numbers and without reading them. The number is
 * bits / 2^shift, of bits up to 2^53, and the power at most 10^20: their product has 120 bits. What
 * was rounded off it, times 2^shift, is at most half of the power where the decimal is nearer to
 * the number than to the doubles beside it; at half it reads back as the one whose bits are even.
 * The double below a power of two is half as far away. */
static void write_long_decimal(char *to, double number)
{
    __extension__ typedef unsigned __int128 wide;
    double magnitude = fabs(number);
    int exponent;
    uint64_t bits = (uint64_t)ldexp(frexp(magnitude, &exponent), DBL_MANT_DIG);
    int shift = DBL_MANT_DIG - exponent;
    int decimals = SURE_DIGITS - digits_before_point(magnitude);
    wide power = (uint64_t)powers[decimals];

    for (;; decimals++, power *= 10) {
        wide scaled = power * bits;
        wide rest = scaled & (((wide)1 << shift) - 1);
        wide half = (wide)1 << (shift - 1);
        uint64_t whole = (uint64_t)(scaled >> shift);
        bool is_up = rest > half || (rest == half && whole % 2 == 1);
        wide distance = is_up ? 2 * half - rest : rest;
        bool is_power_of_two = bits == (uint64_t)1 << (DBL_MANT_DIG - 1);

        distance *= is_power_of_two && !is_up ? 4 : 2;
        if (distance < power || (distance == power && bits % 2 == 0)) {
            write_decimal(to, signbit(number), whole + is_up, decimals);
            return;
        }
    }
}

/* The shortest text that reads back as the same double, mostly without asking printf: whole
 * numbers, then decimals. Very large and very small ones are tried with one digit more each time;
 * 17 are enough for any double (IEEE 754). Of 15 the %g leaves out those that were not needed,
 * except where a number is so small that it has fewer bits. */
struct real_text exact_real(double number)
{
    static const double least = 0.0001; /* below it %g writes an exponent */
    struct real_text text;
    bool is_common = fabs(number) >= least && fabs(number) < powers[SURE_DIGITS];
    bool has_all_bits = fabs(number) >= DBL_MIN;

    if (fabs(number) <= largest_whole && trunc(number) == number) {
        write_decimal(text.text, signbit(number), (uint64_t)fabs(number), 0);
        return text;
    }
    if (is_common) {
        if (!write_short_decimal(text.text, number))
            write_long_decimal(text.text, number);
        return text;
    }
    for (int precision = has_all_bits ? SURE_DIGITS : 6; precision <= 17; precision++) {
        (void)snprintf(text.text, sizeof text.text, "%.*g", precision, number);
        if (strtod(text.text, NULL) == number)
            break;
    }
    return text;
}
