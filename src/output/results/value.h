/* A number (or text) with its unit, or the statement that it is not known and what would tell. */
#ifndef FLOPLEDGER_OUTPUT_RESULTS_VALUE_H
#define FLOPLEDGER_OUTPUT_RESULTS_VALUE_H

#include <stdbool.h>
#include <stdint.h>

enum unit {
    UNIT_NONE, /* an empty cell: the question does not apply here */
    UNIT_TEXT,
    UNIT_COUNT,    /* integer */
    UNIT_TIME_NS,  /* integer nanoseconds; shown as us, ms or s */
    UNIT_BYTES,    /* integer */
    UNIT_FRACTION, /* 0...1; shown as per cent */
    UNIT_NUMBER,   /* a plain real number */
    UNIT_BYTES_PER_SECOND,
    UNIT_FLOPS,
    UNIT_FLOPS_PER_SECOND,
    UNIT_NOT_KNOWN, /* `text` says what input would tell: "needs record_shapes=True" */
};

struct value {
    enum unit unit;
    union {
        int64_t integer;  /* COUNT, TIME_NS, BYTES */
        double real;      /* FRACTION, NUMBER, ..._PER_SECOND, FLOPS */
        const char *text; /* TEXT, NOT_KNOWN; lives as long as the results (results_text) or is
                             static */
    };
};

/* "ns", "bytes", "fraction": as the JSON report calls it. */
const char *unit_key(enum unit unit);

/* Neither text, nor empty, nor not known. */
bool value_is_number(const struct value *value);
/* A number that is kept as `integer`. */
bool value_is_integer(const struct value *value);
/* A number in the unit that it has; `value` must be one. */
double value_as_real(const struct value *value);

static inline struct value value_none(void)
{
    return (struct value){.unit = UNIT_NONE, .integer = 0};
}
static inline struct value value_text(const char *text)
{
    return (struct value){.unit = UNIT_TEXT, .text = text};
}
static inline struct value value_count(int64_t count)
{
    return (struct value){.unit = UNIT_COUNT, .integer = count};
}
static inline struct value value_time_ns(int64_t ns)
{
    return (struct value){.unit = UNIT_TIME_NS, .integer = ns};
}
static inline struct value value_bytes(int64_t bytes)
{
    return (struct value){.unit = UNIT_BYTES, .integer = bytes};
}
static inline struct value value_fraction(double fraction)
{
    return (struct value){.unit = UNIT_FRACTION, .real = fraction};
}
static inline struct value value_number(double number)
{
    return (struct value){.unit = UNIT_NUMBER, .real = number};
}
static inline struct value value_bytes_per_second(double rate)
{
    return (struct value){.unit = UNIT_BYTES_PER_SECOND, .real = rate};
}
static inline struct value value_flops(double flops)
{
    return (struct value){.unit = UNIT_FLOPS, .real = flops};
}
static inline struct value value_flops_per_second(double rate)
{
    return (struct value){.unit = UNIT_FLOPS_PER_SECOND, .real = rate};
}
static inline struct value value_not_known(const char *needs)
{
    return (struct value){.unit = UNIT_NOT_KNOWN, .text = needs};
}

#endif
