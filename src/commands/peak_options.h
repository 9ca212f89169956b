/* The options that say what a run is measured against: --peak, --device, --device-name, --dtype,
 * --convention. */
#ifndef FLOPLEDGER_COMMANDS_PEAK_OPTIONS_H
#define FLOPLEDGER_COMMANDS_PEAK_OPTIONS_H

#include "base/core/attributes.h"
#include "base/core/error.h"
#include "cost/efficiency/peak_choice.h"

#include <stdbool.h>
#include <stdint.h>

/* A device by its number in the trace, or by its name. */
struct device_option {
    int64_t number;   /* -1: not given */
    const char *name; /* NULL: not given */
};

/* For OPTION_PARSED: into a struct device_option, a struct peak_settings. */
bool parse_device(const char *text, void *field);
bool parse_peak(const char *text, void *field);
bool parse_precision(const char *text, void *field);
/* Into a const struct convention *. */
bool parse_convention(const char *text, void *field);

/* For OPTION_PARSED: "1.23s", "850ms", "1.23" (seconds), into an int64_t of nanoseconds. */
bool parse_step_time(const char *text, void *field);
extern const char step_time_accepted[];

extern const char device_accepted[];
extern const char peak_accepted[];
extern const char precision_accepted[];
extern const char convention_accepted[];

/* Of --rates FILE. */
struct rates_option {
    const char *path; /* NULL: not given */
    struct measured_rates rates;
};

/* A line of an option table: `field` of `type` is a struct rates_option. */
#define RATES_OPTION(type, field, help_) \
    TEXT_OPTION("rates", offsetof(type, field) + offsetof(struct rates_option, path), "FILE", help_)

/* Reads the file of the option, where it is given, and lets `peaks` have it. To be cleared in any
 * case. */
MUST_USE bool rates_option_read(struct rates_option *option, struct peak_settings *peaks,
                                struct error *error);
void rates_option_clear(struct rates_option *option);

/* Puts the name of the device into the settings; an error where it is none of the table and no peak
 * stands in its place. */
MUST_USE bool resolve_device(struct peak_settings *peaks, const struct device_option *device,
                             const char *device_name, struct error *error);

#endif
