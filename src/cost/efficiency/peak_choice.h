/* Which peak rates a trace is measured against, and who says so. */
#ifndef FLOPLEDGER_COST_EFFICIENCY_PEAK_CHOICE_H
#define FLOPLEDGER_COST_EFFICIENCY_PEAK_CHOICE_H

#include "cost/devices/device_peak.h"
#include "cost/devices/find_device_peak.h"
#include "cost/devices/measured_rates.h"
#include "trace/trace.h"

#include <stdbool.h>
#include <stdint.h>

/* What the user said. Zeroed: nothing. */
struct peak_settings {
    double peaks[PEAK_TYPE_COUNT];   /* --peak TFLOPS:DTYPE, in FLOP/s; 0: not said */
    double peak_of_all;              /* --peak TFLOPS; 0: not said */
    const char *device_name;         /* --device NAME; NULL: the trace's own */
    double derived[PEAK_TYPE_COUNT]; /* of the host's processor, for what ran there; 0: not known */
    const char *how_derived;         /* NULL: none is */
    const struct measured_rates *rates; /* --rates FILE; NULL: not said */
    bool has_precision;
    enum peak_type precision; /* --dtype: every product counts as one of this type */
};

struct peak_choice {
    const char *name;                   /* as the trace or the user says, or inferred; NULL: none */
    const struct device_peak *device;   /* NULL: not in the table */
    struct device_match match;          /* how the name was matched; of no meaning without a name */
    double peaks[PEAK_TYPE_COUNT];      /* FLOP/s to measure against; 0: not known */
    bool is_by_user[PEAK_TYPE_COUNT];   /* --peak gave it */
    bool is_measured[PEAK_TYPE_COUNT];  /* --rates gave it */
    const char *how_measured;           /* NULL: none is */
    const struct measured_rates *rates; /* as in the settings: of the memory, too */
    const char *how_derived;            /* NULL, or where the peaks of the processor are from */
    bool is_name_by_user;
    bool is_rocm;
    bool is_fp32_tf32;  /* matrix units multiply float32 as TF32 */
    bool has_precision; /* as in the settings */
    enum peak_type precision;
};

/* The row of the table that a device of the trace is, by its name and what else the trace says of
 * it; NULL where none is. */
const struct device_peak *find_peak_of_device(const struct trace *trace,
                                              const struct device *device,
                                              struct device_match *match);

/* Whether measured rates are of the device with that number (-1: the processor): a processor's are
 * not a GPU's, nor those of one GPU another's. What has no name in the trace may be any. */
MUST_USE bool check_rates_fit(const struct measured_rates *rates, const struct trace *trace,
                              int32_t device, struct error *error);

/* `device`: the number of the device that the ledger books; -1 for a trace without device work,
 * whose peak only the user can tell. `settings` may be NULL. Texts live as long as the trace and
 * the settings. */
void choose_peaks(struct peak_choice *choice, const struct trace *trace, int32_t device,
                  const struct peak_settings *settings);

#endif
