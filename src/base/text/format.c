/* Numbers as text for people: times, bytes, counts, shares and rates. */
#include "base/text/format.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const bytes_per_second_units[6] = {"B/s", "kB/s", "MB/s", "GB/s", "TB/s", "PB/s"};
const char *const flops_units[6] = {"FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP"};
const char *const flops_per_second_units[6] = {"FLOP/s",  "kFLOP/s", "MFLOP/s",
                                               "GFLOP/s", "TFLOP/s", "PFLOP/s"};

/* The number of magnitude `number`; INT64_MIN has one too. */
static uint64_t magnitude(int64_t number)
{
    return number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
}

/* The unit changes at ten of the next one: "9,876.543 µs" keeps three digits behind the point
 * that "9.877 ms" would hide. */
struct unit_scale time_scale(int64_t largest_ns)
{
    uint64_t size = magnitude(largest_ns);

    if (size < 10 * UINT64_C(1000000))
        return (struct unit_scale){"µs", 1e3, 3};
    if (size < 10 * UINT64_C(1000000000))
        return (struct unit_scale){"ms", 1e6, 3};
    if (size < 10000 * UINT64_C(1000000000))
        return (struct unit_scale){"s", 1e9, 3};
    return (struct unit_scale){"h", 3600e9, 3};
}

/* ldexp is exact, as powers of two are. */
struct unit_scale bytes_scale(int64_t largest_bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    uint64_t size = magnitude(largest_bytes);
    int power = 0;

    while (power < 4 && size >= 1024) {
        size /= 1024;
        power++;
    }
    return (struct unit_scale){units[power], ldexp(1, 10 * power), power == 0 ? 0 : 1};
}

/* By the largest of a column, so that all its numbers have one unit and can be compared. */
struct unit_scale decimal_scale(double largest, const char *const units[6])
{
    double size = fabs(largest);
    double factor = 1;
    int power = 0;

    while (power < 5 && size >= 1000 * factor) {
        factor *= 1000;
        power++;
    }
    return (struct unit_scale){units[power], factor, power == 0 ? 0 : size >= 100 * factor ? 1 : 2};
}

/* Digits of `whole` in groups of three, a sign before and `fraction` (".123" or "") behind.
 * Thousands are parted by commas, in every locale: reports of two machines can be compared as
 * text. */
static struct short_text grouped(bool is_negative, uint64_t whole, const char *fraction)
{
    char digits[24];
    struct short_text result;
    int length = snprintf(digits, sizeof digits, "%llu", (unsigned long long)whole);
    size_t used = 0;

    if (is_negative)
        result.text[used++] = '-';
    for (int i = 0; i < length; i++) {
        result.text[used++] = digits[i];
        if (i + 1 < length && (length - 1 - i) % 3 == 0)
            result.text[used++] = ',';
    }
    snprintf(result.text + used, sizeof result.text - used, "%s", fraction);
    return result;
}

static uint64_t power_of_ten(int exponent)
{
    uint64_t power = 1;

    while (exponent-- > 0)
        power *= 10;
    return power;
}

/* In whole numbers: a double of nanoseconds loses the last ones after a hundred days, and
 * columns have to add up. Rounded half up. */
struct short_text format_scaled_time(int64_t ns, struct unit_scale scale)
{
    uint64_t size = magnitude(ns);
    uint64_t steps = power_of_ten(scale.decimals);
    uint64_t step_ns = (uint64_t)scale.factor / steps; /* what the last decimal stands for */
    uint64_t rounded;
    char fraction[24] = "";

    if (step_ns < 1)
        step_ns = 1;
    rounded = size / step_ns + (size % step_ns >= (step_ns + 1) / 2 && step_ns > 1);
    if (scale.decimals > 0)
        snprintf(fraction, sizeof fraction, ".%0*llu", scale.decimals,
                 (unsigned long long)(rounded % steps));
    return grouped(ns < 0 && rounded > 0, rounded / steps, fraction);
}

/* A number that rounds to zero has no sign: "-0.0" is avoided. */
struct short_text format_scaled(double number, struct unit_scale scale)
{
    double scaled = number / scale.factor;
    struct short_text result;
    char digits[40];
    const char *point;

    if (!isfinite(scaled) || fabs(scaled) >= 1e15) {
        snprintf(result.text, sizeof result.text, "%.4g", scaled);
        return result;
    }
    snprintf(digits, sizeof digits, "%.*f", scale.decimals, fabs(scaled));
    point = strchr(digits, '.');
    return grouped(scaled < 0 && strpbrk(digits, "123456789"), strtoull(digits, NULL, 10),
                   point ? point : "");
}

static struct short_text with_unit(struct short_text number, const char *unit)
{
    size_t length = strlen(number.text);

    snprintf(number.text + length, sizeof number.text - length, " %s", unit);
    return number;
}

/* The limits are where rounding would make one digit more: 9.995 is printed as 10.0. */
int three_digit_decimals(double number)
{
    double size = fabs(number);

    return size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2;
}

/* Hours only from two on: below that seconds are still read at a glance, and minutes would be
 * one unit more to convert. */
struct unit_scale short_time_scale(int64_t largest_ns)
{
    static const struct unit_scale scales[] = {
        {"h", 3600e9, 0}, {"s", 1e9, 0}, {"ms", 1e6, 0}, {"µs", 1e3, 0}};
    double size = fabs((double)largest_ns);

    if (size >= 2 * 3600e9)
        return scales[0];
    return size >= 1e9 ? scales[1] : size >= 1e6 ? scales[2] : scales[3];
}

struct short_text format_short_time(int64_t ns)
{
    struct unit_scale scale = short_time_scale(ns);

    scale.decimals = ns == 0 ? 0 : three_digit_decimals((double)ns / scale.factor);
    return with_unit(format_scaled((double)ns, scale), scale.unit);
}

/* Two units at most: beyond, nobody reads on. */
struct short_text format_duration(int64_t ns)
{
    int64_t seconds = ns / 1000000000 + (ns % 1000000000 >= 500000000);
    struct short_text result;

    if (seconds < 120)
        return format_short_time(ns);
    if (seconds < 7200)
        (void)snprintf(result.text, sizeof result.text, "%" PRId64 " min %" PRId64 " s",
                       seconds / 60, seconds % 60);
    else if (seconds < INT64_C(48) * 3600)
        (void)snprintf(result.text, sizeof result.text, "%" PRId64 " h %" PRId64 " min",
                       seconds / 3600, seconds % 3600 / 60);
    else
        (void)snprintf(result.text, sizeof result.text, "%" PRId64 " days %" PRId64 " h",
                       seconds / 86400, seconds % 86400 / 3600);
    return result;
}

/* Microseconds with nanoseconds behind the point only where there are any; hours from ten
 * thousand seconds on, where seconds have too many digits to read. */
struct short_text format_time(int64_t ns)
{
    uint64_t size = magnitude(ns);
    struct unit_scale scale = {"µs", 1e3, size % 1000 == 0 ? 0 : 3};

    if (size >= UINT64_C(10000000000000))
        scale = (struct unit_scale){"h", 3600e9, 3};
    else if (size >= 1000000000)
        scale = (struct unit_scale){"s", 1e9, 3};
    else if (size >= 1000000)
        scale = (struct unit_scale){"ms", 1e6, 3};

    return with_unit(format_scaled_time(ns, scale), scale.unit);
}

struct short_text format_bytes(int64_t bytes)
{
    struct unit_scale scale = bytes_scale(bytes);

    return with_unit(format_scaled((double)bytes, scale), scale.unit);
}

struct short_text format_count(int64_t count)
{
    return grouped(count < 0, magnitude(count), "");
}

/* More decimals below 1 %, so that two digits stay: a share of 0.03 % is a number, 0.0 % is
 * none. */
int percent_decimals(double fraction)
{
    double percent = fabs(fraction) * 100;
    int decimals = 1;

    while (percent > 0 && percent < 0.995 && decimals < 8) {
        percent *= 10;
        decimals++;
    }
    return decimals;
}

struct short_text format_fraction(double fraction)
{
    return with_unit(
        format_scaled(fraction * 100, (struct unit_scale){"%", 1, percent_decimals(fraction)}),
        "%");
}

/* Three digits or so, whatever the size; the loop adds decimals for small ones. */
struct short_text format_number(double number)
{
    double size = fabs(number);
    bool is_whole = size < 1e15 && number == floor(number);
    int decimals = is_whole ? 0 : size >= 1000 ? 1 : size >= 1 ? 2 : 3;

    for (; size > 0 && size < 0.0995 && decimals < 9; size *= 10)
        decimals++; /* "0.000" would be nothing */
    return format_scaled(number, (struct unit_scale){"", 1, decimals});
}

static struct short_text format_decimal(double number, const char *const units[6])
{
    struct unit_scale scale = decimal_scale(number, units);

    return with_unit(format_scaled(number, scale), scale.unit);
}

struct short_text format_bytes_per_second(double rate)
{
    return format_decimal(rate, bytes_per_second_units);
}

struct short_text format_flops(double flops)
{
    return format_decimal(flops, flops_units);
}

struct short_text format_flops_per_second(double rate)
{
    return format_decimal(rate, flops_per_second_units);
}
