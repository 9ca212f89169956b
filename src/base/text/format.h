/* Numbers as text for people: times, bytes, counts, shares and rates. The one place where units are
 * chosen. */
#ifndef FLOPLEDGER_BASE_TEXT_FORMAT_H
#define FLOPLEDGER_BASE_TEXT_FORMAT_H

#include <stdint.h>

/* Text returned by value: no buffers to own. */
struct short_text {
    char text[48];
};

/* A unit, and how many of the base unit one of it is. */
struct unit_scale {
    const char *unit; /* "ms" */
    double factor;    /* 1e6 */
    int decimals;
};

/* The unit in which numbers up to `largest` (its sign does not matter) read well, so that a whole
 * column can share it. */
struct unit_scale time_scale(int64_t largest_ns);
/* The unit in which the largest amount has at least one digit before the point; no decimals. */
struct unit_scale short_time_scale(int64_t largest_ns);
struct unit_scale bytes_scale(int64_t largest_bytes); /* B, KiB, MiB, GiB, TiB */
struct unit_scale decimal_scale(double largest, const char *const units[6]); /* units of 1, 1e3, ...
                                                                                1e15 */

/* "1,234.568": without the unit. Times are cut from integers and rounded half away from zero. */
struct short_text format_scaled_time(int64_t ns, struct unit_scale scale);
struct short_text format_scaled(double number, struct unit_scale scale);

struct short_text format_time(int64_t ns);       /* "1.235 ms" */
struct short_text format_short_time(int64_t ns); /* "1.23 ms", "175 µs": of three digits */
struct short_text format_duration(int64_t ns);   /* "12 min 45 s"; below two minutes as above */
struct short_text format_bytes(int64_t bytes);   /* "1.5 MiB" */
struct short_text format_count(int64_t count);   /* "1,234,567" */
/* 0.1234: "12.3 %"; 0.000034: "0.0034 %", for "0.0 %" would be nothing */
struct short_text format_fraction(double fraction);
struct short_text format_number(double number);         /* "1,234.57", "0.000123" */
struct short_text format_bytes_per_second(double rate); /* "12.3 GB/s" */
struct short_text format_flops(double flops);           /* "3.12 TFLOP" */
struct short_text format_flops_per_second(double rate); /* "312 TFLOP/s" */

/* Digits behind the point with which `number` has three in all. */
int three_digit_decimals(double number);

/* Decimals of a percentage: one, or as many as two digits of less than 1 % need. */
int percent_decimals(double fraction);

/* Units for decimal_scale. */
extern const char *const bytes_per_second_units[6];
extern const char *const flops_units[6];
extern const char *const flops_per_second_units[6];

#endif
