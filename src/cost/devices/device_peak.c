/* The table of devices. */
#include "cost/devices/device_peak.h"

#include <string.h>
#include <strings.h>

/* What one device of a table row is: makers give peaks of cards, of dies, of chips or of
 * cores, and a program sees one of these as a device. */
#define CARD      "a card"
#define GCD       "one of the two dies of a card"
#define CHIP      "a chip"
#define HALF_CHIP "one of the two dies of a chip"
#define CORE      "one core of a chip"

/* The device has no unit for the type; 0 stands for a figure that nobody publishes. The two are
 * told apart, since a share of a peak that isn't there is meaningless while one that is not
 * known may be given by --peak. */
#define NO           (-1.0)
#define TERA(figure) ((figure)*1e12)
#define PEAKS(fp64, fp64_matrix, fp32, tf32, fp16, bf16, fp8, fp4, int8)                          \
    {                                                                                             \
        TERA(fp64), TERA(fp64_matrix), TERA(fp32), TERA(tf32), TERA(fp16), TERA(bf16), TERA(fp8), \
            TERA(fp4), TERA(int8)                                                                 \
    }
#define DEVICE(id, name_, architecture_, one_is_, peaks_, gib, tb_per_second, link_gb_per_second, \
               multiprocessors_, clock_mhz, capability, source_, conflict_)                       \
    {.name = name_,                                                                               \
     .architecture = architecture_,                                                               \
     .one_is = one_is_,                                                                           \
     .peaks = peaks_,                                                                             \
     .memory_bytes = (int64_t)(gib) << 30,                                                        \
     .memory_bytes_per_second = TERA(tb_per_second),                                              \
     .link_bytes_per_second = (link_gb_per_second)*1e9,                                           \
     .multiprocessors = multiprocessors_,                                                         \
     .clock_hz = (clock_mhz)*1e6,                                                                 \
     .compute_major = (capability) / 10,                                                          \
     .compute_minor = (capability) % 10,                                                          \
     .source = source_,                                                                           \
     .conflict = conflict_},

static const struct device_peak devices[] = {
#include "cost/devices/device_list.def"
};

#define DEVICE_POWER(name_, watts_) {name_, watts_},
static const struct {
    const char *name;
    double watts;
} powers[] = {
#include "cost/devices/device_power_list.def"
};

/* "NVIDIA A100 SXM4" is the board of both its memories. */
double device_board_watts(const struct device_peak *device)
{
    for (size_t i = 0; i < sizeof powers / sizeof *powers; i++) {
        size_t length = strlen(powers[i].name);
        const char *rest = device->name + length;

        if (strncmp(device->name, powers[i].name, length) == 0 &&
            (*rest == '\0' || (*rest == ' ' && strstr(rest, "GB"))))
            return powers[i].watts;
    }
    return 0.0;
}

static const char *const type_names[PEAK_TYPE_COUNT] = {
    [PEAK_FP64] = "fp64", [PEAK_FP64_MATRIX] = "fp64-matrix",
    [PEAK_FP32] = "fp32", [PEAK_TF32] = "tf32",
    [PEAK_FP16] = "fp16", [PEAK_BF16] = "bf16",
    [PEAK_FP8] = "fp8",   [PEAK_FP4] = "fp4",
    [PEAK_INT8] = "int8",
};

static const struct {
    const char *name;
    enum peak_type type;
} other_names[] = {
    {"float64", PEAK_FP64},      {"double", PEAK_FP64},
    {"float32", PEAK_FP32},      {"float", PEAK_FP32},
    {"float16", PEAK_FP16},      {"half", PEAK_FP16},
    {"bfloat16", PEAK_BF16},     {"c10::BFloat16", PEAK_BF16},
    {"c10::Half", PEAK_FP16},    {"float8", PEAK_FP8},
    {"float8_e4m3fn", PEAK_FP8}, {"float8_e5m2", PEAK_FP8},
    {"mxfp8", PEAK_FP8},         {"nvfp4", PEAK_FP4},
    {"mxfp4", PEAK_FP4},         {"fp64_matrix", PEAK_FP64_MATRIX},
};

/* 16 bits also where the type is not known: what most models are stored in. */
double bytes_of_peak_type(enum peak_type type)
{
    switch (type) {
    case PEAK_FP64:
    case PEAK_FP64_MATRIX:
        return 8;
    case PEAK_FP32:
    case PEAK_TF32:
        return 4;
    case PEAK_FP8:
    case PEAK_INT8:
        return 1;
    case PEAK_FP4:
        return 0.5;
    case PEAK_FP16:
    case PEAK_BF16:
    case PEAK_TYPE_COUNT:
        break;
    }
    return 2;
}

enum peak_state device_peak_state(const struct device_peak *device, enum peak_type type)
{
    if (device->peaks[type] < 0.0)
        return PEAK_NO_UNIT;
    return device->peaks[type] > 0.0 ? PEAK_KNOWN : PEAK_NOT_KNOWN;
}

const char *peak_type_name(enum peak_type type)
{
    return type_names[type];
}

/* Letters count alike: types are written bf16, BF16 and bfloat16. */
enum peak_type peak_type_named(const char *name)
{
    for (int i = 0; i < PEAK_TYPE_COUNT; i++)
        if (strcasecmp(type_names[i], name) == 0)
            return (enum peak_type)i;
    for (size_t i = 0; i < sizeof other_names / sizeof other_names[0]; i++)
        if (strcasecmp(other_names[i].name, name) == 0)
            return other_names[i].type;
    return PEAK_TYPE_COUNT;
}

const struct device_peak *all_device_peaks(size_t *count)
{
    *count = sizeof devices / sizeof devices[0];
    return devices;
}
