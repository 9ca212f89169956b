/* Names of number formats as PyTorch's profiler records them. */
#include "cost/efficiency/op_precision.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct type_name {
    const char *start; /* of the recorded type */
    enum peak_type type;
};

/* The profiler writes what the compiler calls the type. */
static const struct type_name recorded_types[] = {
    {"c10::BFloat16", PEAK_BF16}, {"c10::Half", PEAK_FP16},     {"c10::Float8_", PEAK_FP8},
    {"c10::Float4_", PEAK_FP4},   {"float", PEAK_FP32},         {"double", PEAK_FP64},
    {"signed char", PEAK_INT8},   {"unsigned char", PEAK_INT8}, {"c10::qint8", PEAK_INT8},
};

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static enum peak_type type_of_entry(const char *entry, size_t length)
{
    for (size_t i = 0; i < COUNT_OF(recorded_types); i++) {
        size_t start = strlen(recorded_types[i].start);

        if (length >= start && strncmp(entry, recorded_types[i].start, start) == 0)
            return recorded_types[i].type;
    }
    return PEAK_TYPE_COUNT;
}

/* Complex numbers multiply at a rate that no table gives. */
static bool is_complex(const char *entry, size_t length)
{
    static const char complex[] = "c10::complex";

    return length >= sizeof complex - 1 && strncmp(entry, complex, sizeof complex - 1) == 0;
}

/* The quote that opens entry `number`, or NULL. */
static const char *open_entry(const char *types, int number)
{
    const char *open = types ? strchr(types, '"') : NULL;

    for (; open && number > 0; number--) {
        open = strchr(open + 1, '"');
        open = open ? strchr(open + 1, '"') : NULL;
    }
    return open;
}

enum peak_type precision_of_types(const char *types, int first)
{
    const char *open = open_entry(types, first);

    while (open) {
        const char *close = strchr(open + 1, '"');
        enum peak_type type;

        if (!close || is_complex(open + 1, (size_t)(close - open - 1)))
            break;
        type = type_of_entry(open + 1, (size_t)(close - open - 1));
        if (type != PEAK_TYPE_COUNT)
            return type;
        open = strchr(close + 1, '"');
    }
    return PEAK_TYPE_COUNT;
}
