/* The options that say how traces are booked: which steps, which device, against which peak. */
#ifndef FLOPLEDGER_COMMANDS_ATTRIBUTION_OPTIONS_H
#define FLOPLEDGER_COMMANDS_ATTRIBUTION_OPTIONS_H

#include "base/core/attributes.h"
#include "base/core/error.h"
#include "commands/peak_options.h"
#include "pipeline/analyzed_rank.h"
#include "pipeline/graph_captures.h"
#include "pipeline/step_range.h"

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
#define STEPS_OPTION(type, field)                                                              \
    {                                                                                          \
        .name = "steps", .letter = 's', .kind = OPTION_PARSED, .metavar = "RANGE",             \
        .offset = offsetof(type, field), .parse = parse_step_range,                            \
        .accepts = step_range_accepted,                                                        \
        .help = "only these steps, by their numbers in the trace: 3, 3-5 or 3- (default: all)" \
    }

/* The line of an option table for a struct of settings `type` that has a struct capture_choice
 * `captures`. */
#define CAPTURE_OPTION(type)                                                                     \
    {                                                                                            \
        .name = "capture", .kind = OPTION_PARSED, .metavar = "FILE",                             \
        .offset = offsetof(type, captures), .parse = parse_capture, .accepts = capture_accepted, \
        .help = "where CUDA graphs were captured: the trace of it, a folder of such traces or "  \
                "execution_details.json; kernels of a replayed graph get its operators; may be " \
                "given several times (default: what lies beside the trace)"                      \
    }

/* Lines of an option table for a struct of settings `type` that has a struct attribution_settings
 * `attribution`. */
#define ATTRIBUTION_OPTIONS(type)                                                                  \
    STEPS_OPTION(type, attribution.steps),                                                         \
        {.name = "window",                                                                         \
         .letter = 'w',                                                                            \
         .kind = OPTION_CHOICE,                                                                    \
         .metavar = "KIND",                                                                        \
         .choices = window_names,                                                                  \
         .offset = offsetof(type, attribution.window),                                             \
         .help = "what a step is: steps (ProfilerStep marks), optimizer (from one Optimizer.step " \
                 "to the next), ranges (those that the program called iteration 5, train_step or " \
                 "the like), whole (the whole trace as one) or auto, the first of these that the " \
                 "trace has (default)"},                                                           \
        {.name = "step-range",                                                                     \
         .kind = OPTION_TEXT,                                                                      \
         .metavar = "REGEX",                                                                       \
         .offset = offsetof(type, attribution.step_range),                                         \
         .help = "the ranges (NVTX or record_function) that are the steps: those whose names the " \
                 "extended regular expression matches (default: see --window)"},                   \
        {.name = "clock",                                                                          \
         .kind = OPTION_CHOICE,                                                                    \
         .metavar = "WHOSE",                                                                       \
         .choices = clock_names,                                                                   \
         .offset = offsetof(type, attribution.clock),                                              \
         .help = "by whose clock steps begin and end: host (its marks), device (from the first "   \
                 "to the last work launched in them) or auto, the host's unless it runs so far "   \
                 "ahead that its marks do not hold the steps' work (default)"},                    \
        {.name = "device",                                                                         \
         .kind = OPTION_PARSED,                                                                    \
         .metavar = "N|NAME",                                                                      \
         .offset = offsetof(type, attribution.device),                                             \
         .parse = parse_device,                                                                    \
         .accepts = device_accepted,                                                               \
         .help =                                                                                   \
             "a number: the device to report on, where a trace has several (default: the "         \
             "one with the most events); a name: the device to measure against, in place of the "  \
             "trace's own"},                                                                       \
        {.name = "device-name",                                                                    \
         .kind = OPTION_TEXT,                                                                      \
         .metavar = "NAME",                                                                        \
         .offset = offsetof(type, attribution.device_name),                                        \
         .help = "the name alone, for use beside --device N"},                                     \
        {.name = "peak",                                                                           \
         .kind = OPTION_PARSED,                                                                    \
         .metavar = "TFLOPS[:DTYPE]",                                                              \
         .offset = offsetof(type, attribution.peaks),                                              \
         .parse = parse_peak,                                                                      \
         .accepts = peak_accepted,                                                                 \
         .help = "dense peak of the device in TFLOP/s, of one number format or of all; several "   \
                 "with commas (default: the table of 'flopledger device')"},                       \
        RATES_OPTION(type, attribution.rates,                                                      \
                     "peaks that 'flopledger device --measure FILE' measured on this device; "     \
                     "--peak goes before them"),                                                   \
    {                                                                                              \
        .name = "dtype", .kind = OPTION_PARSED, .metavar = "DTYPE",                                \
        .offset = offsetof(type, attribution.peaks), .parse = parse_precision,                     \
        .accepts = precision_accepted,                                                             \
        .help = "measure all matmuls against the peak of this number format (default: "            \
                "that of each operator's inputs)"                                                  \
    }

/* To be called once after the options were read. Errors (ERROR_USAGE): a pattern that is none, a
 * device that is not known. */
MUST_USE bool attribution_resolve(struct attribution_settings *settings, struct error *error);
void attribution_settings_clear(struct attribution_settings *settings);

/* `settings` must live as long as the plan. */
struct attribution_options attribution_options_of(const struct attribution_settings *settings);

#endif
