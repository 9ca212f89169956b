/* Rates that `flopledger device --measure` wrote to a file: what a device reached, by number format
 * and shape. Its form: docs/formats/rates.md. */
#ifndef FLOPLEDGER_COST_DEVICES_MEASURED_RATES_H
#define FLOPLEDGER_COST_DEVICES_MEASURED_RATES_H

#include "base/core/arena.h"
#include "base/core/attributes.h"
#include "base/core/error.h"
#include "cost/devices/device_peak.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An [m, k] by [k, n] matmul. */
struct measured_matmul {
    enum peak_type type;
    int64_t m;
    int64_t n;
    int64_t k;
    double flops_per_second; /* of the fastest repetition */
};

struct measured_rates {
    const char *path;
    const char *device; /* its name */
    bool is_processor;
    int64_t threads;               /* of a processor; 0: not said */
    const char *date;              /* "2026-11-24" */
    const char *how;               /* "measured: fastest of 12 matmuls on ..., 2026-11-24" */
    const char *how_memory;        /* the same of the memory's rate */
    double peaks[PEAK_TYPE_COUNT]; /* the fastest matmul of each type, in FLOP/s; 0: none was run */
    double memory_bytes_per_second;  /* read and written; 0: not measured */
    int64_t reduced_devices;         /* of the measured all-reduces; 0: none was measured */
    double reduced_bytes_per_second; /* of the largest, by what a ring of the devices sends */
    double reduced_seconds;          /* of the smallest */
    struct measured_matmul *matmuls; /* [count] */
    size_t count;
    struct arena arena;
};

/* `rates` must be zeroed. Errors: ERROR_INPUT where the file cannot be read or is no file of rates;
 * a rate that cannot be is such an error, too. */
MUST_USE bool measured_rates_read(struct measured_rates *rates, const char *path,
                                  struct error *error);
void measured_rates_clear(struct measured_rates *rates);

/* The fastest matmul of the type, in FLOP/s. Errors (ERROR_USAGE): none of it was measured. */
MUST_USE bool measured_rates_peak(const struct measured_rates *rates, enum peak_type type,
                                  double *peak, struct error *error);

/* Bytes a second of a device's memory: as measured, else by the table; 0: not known. Either may be
 * NULL. `source`, if not NULL, is where it is from: "measured: ..." or the device's name; NULL
 * where it is not known. */
double measured_memory_rate(const struct measured_rates *rates, const struct device_peak *device,
                            const char **source);

/* Whether they are of the GPU that the user names, as the table of devices knows it by. */
MUST_USE bool measured_rates_check_device(const struct measured_rates *rates, const char *device,
                                          struct error *error);

#endif
