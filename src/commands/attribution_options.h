/* The options that say how traces are attributed, and what a run is measured against: which steps,
 * which device, which peak (--peak, --device, --device-name, --dtype, --rates, --convention). */
#ifndef FLOPLEDGER_COMMANDS_ATTRIBUTION_OPTIONS_H
#define FLOPLEDGER_COMMANDS_ATTRIBUTION_OPTIONS_H

#include "base/core/attributes.h"
#include "base/core/error.h"
#include "base/text/option.h"
#include "cost/efficiency/peak_choice.h"
#include "pipeline/analyzed_rank.h"
#include "pipeline/graph_captures.h"
#include "pipeline/step_range.h"

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

struct attribution_settings {
    struct step_range steps;
    int window; /* index in window_names */
    int clock;  /* index in clock_names */
    const char *step_range;
    struct step_pattern pattern; /* of step_range */
    struct device_option device;
    const char *device_name;
    struct peak_settings peaks;
    const struct architecture *architecture; /* of the model; NULL: not given */
    struct rates_option rates;
};

/* What each field is where the user named nothing. */
#define ATTRIBUTION_DEFAULTS                                       \
    {                                                              \
        .steps = {INT64_MIN, INT64_MAX}, .device = {.number = -1 } \
    }

/* NULL-terminated: auto, steps, optimizer, ranges, whole. */
extern const char *const window_names[];
/* NULL-terminated: auto, host, device. */
extern const char *const clock_names[];

/* The line of an option table for a struct of settings `type`, with a struct step_range `field`. */
#define STEPS_OPTION(type, field)                                                                 \
    PARSED_OPTION("steps", offsetof(type, field), "RANGE", step_range,                            \
                  "only these steps, by their numbers in the trace: 3, 3-5 or 3- (default: all)", \
                  .letter = 's')

/* The line of an option table for a struct of settings `type` that has a struct capture_choice
 * `captures`. */
#define CAPTURE_OPTION(type)                                                                       \
    PARSED_OPTION("capture", offsetof(type, captures), "FILE", capture,                            \
                  "where CUDA graphs were captured: the trace of it, a folder of such traces or "  \
                  "execution_details.json; kernels of a replayed graph get its operators; may be " \
                  "given several times (default: what lies beside the trace)")

/* Lines of an option table for a struct of settings `type` that has a struct attribution_settings
 * `attribution`. */
#define ATTRIBUTION_OPTIONS(type)                                                                \
    STEPS_OPTION(type, attribution.steps),                                                       \
        CHOICE_OPTION(                                                                           \
            "window", offsetof(type, attribution.window), "KIND", window_names,                  \
            "what a step is: steps (ProfilerStep marks), optimizer (from one Optimizer.step "    \
            "to the next), ranges (those that the program called iteration 5, train_step or "    \
            "the like), whole (the whole trace as one) or auto, the first of these that the "    \
            "trace has (default)",                                                               \
            .letter = 'w'),                                                                      \
        TEXT_OPTION(                                                                             \
            "step-range", offsetof(type, attribution.step_range), "REGEX",                       \
            "the ranges (NVTX or record_function) that are the steps: those whose names the "    \
            "extended regular expression matches (default: see --window)"),                      \
        CHOICE_OPTION(                                                                           \
            "clock", offsetof(type, attribution.clock), "WHOSE", clock_names,                    \
            "by whose clock steps begin and end: host (its marks), device (from the first "      \
            "to the last work launched in them) or auto, the host's unless it runs so far "      \
            "ahead that its marks do not hold the steps' work (default)"),                       \
        PARSED_OPTION(                                                                           \
            "device", offsetof(type, attribution.device), "N|NAME", device,                      \
            "a number: the device to report on, where a trace has several (default: the "        \
            "one with the most events); a name: the device to measure against, in place of the " \
            "trace's own"),                                                                      \
        TEXT_OPTION("device-name", offsetof(type, attribution.device_name), "NAME",              \
                    "the name alone, for use beside --device N"),                                \
        PARSED_OPTION(                                                                           \
            "peak", offsetof(type, attribution.peaks), "TFLOPS[:DTYPE]", peak,                   \
            "dense peak of the device in TFLOP/s, of one number format or of all; several "      \
            "with commas (default: the table of 'flopledger device')"),                          \
        RATES_OPTION(type, attribution.rates,                                                    \
                     "peaks that 'flopledger device --measure FILE' measured on this device; "   \
                     "--peak goes before them"),                                                 \
        PARSED_OPTION("dtype", offsetof(type, attribution.peaks), "DTYPE", precision,            \
                      "measure all matmuls against the peak of this number format (default: "    \
                      "that of each operator's inputs)")

/* To be called once after the options were read. Errors (ERROR_USAGE): a pattern that is none, a
 * device that is not known. */
MUST_USE bool attribution_resolve(struct attribution_settings *settings, struct error *error);
void attribution_settings_clear(struct attribution_settings *settings);

/* `settings` must live as long as the plan. */
struct attribution_options attribution_options_of(const struct attribution_settings *settings);

#endif
