/* What the units of values are called, and values as plain numbers. */
#include "output/results/value.h"

/* Part of the JSON schema: these words must stay, whatever the reports write. */
const char *unit_key(enum unit unit)
{
    switch (unit) {
    case UNIT_NONE:
        return "none";
    case UNIT_TEXT:
        return "text";
    case UNIT_COUNT:
        return "count";
    case UNIT_TIME_NS:
        return "ns";
    case UNIT_BYTES:
        return "bytes";
    case UNIT_FRACTION:
        return "fraction";
    case UNIT_NUMBER:
        return "number";
    case UNIT_BYTES_PER_SECOND:
        return "bytes/s";
    case UNIT_FLOPS:
        return "flop";
    case UNIT_FLOPS_PER_SECOND:
        return "flop/s";
    case UNIT_NOT_KNOWN:
        return "not_known";
    }
    return "none";
}

bool value_is_number(const struct value *value)
{
    return value->unit != UNIT_NONE && value->unit != UNIT_TEXT && value->unit != UNIT_NOT_KNOWN;
}

bool value_is_integer(const struct value *value)
{
    return value->unit == UNIT_COUNT || value->unit == UNIT_TIME_NS || value->unit == UNIT_BYTES;
}

double value_as_real(const struct value *value)
{
    return value_is_integer(value) ? (double)value->integer : value->real;
}
