/* What a device can do at most: dense peak rates, memory, links. Our own table, one line a device
 * in device_list.def; docs/metrics/peak.md says what the figures mean.
 *
 * To add one: a DEVICE(...) in device_list.def, and its names in device_name_list.def. */
#ifndef FLOPLEDGER_COST_DEVICES_DEVICE_PEAK_H
#define FLOPLEDGER_COST_DEVICES_DEVICE_PEAK_H

#include <stddef.h>
#include <stdint.h>

enum peak_type {
    PEAK_FP64,        /* vector units */
    PEAK_FP64_MATRIX, /* matrix units, as all below but FP32 */
    PEAK_FP32,        /* vector units */
    PEAK_TF32,
    PEAK_FP16, /* with 32-bit sums */
    PEAK_BF16,
    PEAK_FP8,
    PEAK_FP4,
    PEAK_INT8, /* operations, not FLOPs */
    PEAK_TYPE_COUNT
};

enum peak_state {
    PEAK_NOT_KNOWN, /* no figure that can be relied on */
    PEAK_NO_UNIT,   /* the device has no unit for this type */
    PEAK_KNOWN,
};

struct device_peak {
    const char *name;         /* "NVIDIA H100 SXM5" */
    const char *architecture; /* "Hopper" */
    const char *one_is; /* what a framework sees as one device: "a card", "one of the two ..." */
    double peaks[PEAK_TYPE_COUNT]; /* FLOP/s, dense; ask device_peak_state before using one */
    int64_t memory_bytes;          /* 0: not known, or the name leaves it open */
    double memory_bytes_per_second;
    double link_bytes_per_second; /* of all links to other devices together, one direction; 0: not
                                     known */
    int32_t multiprocessors;      /* SMs or compute units of one device; 0: not known */
    double clock_hz;              /* at which the matrix peaks hold; 0: not known */
    int32_t compute_major;        /* 0: not known, or has none */
    int32_t compute_minor;
    const char *source;   /* who gives these figures */
    const char *conflict; /* where sources disagree, and what was taken; NULL: they do not */
};

enum peak_state device_peak_state(const struct device_peak *device, enum peak_type type);

/* W that the board of one device may draw at most; 0: not known. */
double device_board_watts(const struct device_peak *device);

/* "bf16"; as --dtype takes them. */
const char *peak_type_name(enum peak_type type);

/* Bytes of a number of this type: 8, 4, 2, 1 or 0.5. */
double bytes_of_peak_type(enum peak_type type);
enum { MATRIX_ROW_BYTES = 16 }; /* matrix units load rows in pieces of so many */

/* PEAK_TYPE_COUNT where `name` is none; takes "bfloat16", "float16", "half", "float32", ... too. */
enum peak_type peak_type_named(const char *name);

/* All devices, in the order of device_list.def. */
const struct device_peak *all_device_peaks(size_t *count);

#endif
