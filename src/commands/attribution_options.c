/* Reads what the user says of steps and of the device: its name, its peak, and the number format.
 */
#include "commands/attribution_options.h"

#include "cost/architectures/convention.h"
#include "cost/devices/device_peak.h"
#include "cost/devices/find_device_peak.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WORD_MAX = 32 };

/* No device does more TFLOP/s, nor fewer FLOP/s: "989.5" and "989.5e12" are one peak. */
static const double TFLOPS_MAX = 1e6;
static const double PLAIN_FLOPS_MIN = 1e9;

const char device_accepted[] = "a number from 0 to 2147483647, or a name (\"H100 SXM\")";
const char peak_accepted[] = "TFLOP/s, of one number format or of all (989, 989:bf16 or "
                             "989:bf16,1979:fp8)";
const char precision_accepted[] = "bf16, fp16, tf32, fp32, fp64, fp8, fp4 or int8";

/* Digits alone are a number of a device; anything else is a name. "-1" is a number, and
 * refused as one. */
bool parse_device(const char *text, void *field)
{
    struct device_option *device = field;
    char *end;
    long long number;

    if (text[0] == '\0')
        return false;
    if (strspn(text, "+-0123456789.") < strlen(text)) {
        device->name = text;
        return true;
    }
    number = strtoll(text, &end, 10);
    if (*end != '\0' || end == text || number < 0 || number > INT32_MAX)
        return false;
    device->number = number;
    return true;
}

/* Stores one "989" or "989:bf16", which ends before `end`. Readers copy both "989.5" (TFLOP/s)
 * and "989.5e12" (FLOP/s) from data sheets: they are 10^9 apart at least, so that no value can
 * mean both. */
static bool read_peak(struct peak_settings *peaks, const char *text, const char *end)
{
    char word[WORD_MAX];
    char *behind;
    double tflops = strtod(text, &behind);
    enum peak_type type;
    size_t length;

    if (behind == text || behind > end || !isfinite(tflops))
        return false;
    if (tflops >= PLAIN_FLOPS_MIN)
        tflops /= 1e12;
    if (tflops <= 0 || tflops > TFLOPS_MAX)
        return false;
    if (behind == end) {
        peaks->peak_of_all = tflops * 1e12;
        return true;
    }
    length = (size_t)(end - behind - 1);
    if (*behind != ':' || length == 0 || length >= sizeof word)
        return false;
    memcpy(word, behind + 1, length);
    word[length] = '\0';
    type = peak_type_named(word);
    if (type == PEAK_TYPE_COUNT)
        return false;
    peaks->peaks[type] = tflops * 1e12;
    return true;
}

/* Repeated options and commas add up: each number format is set by itself. */
bool parse_peak(const char *text, void *field)
{
    struct peak_settings *peaks = field;

    for (;;) {
        const char *comma = strchr(text, ',');
        const char *end = comma ? comma : text + strlen(text);

        if (!read_peak(peaks, text, end))
            return false;
        if (!comma)
            return true;
        text = comma + 1;
    }
}

/* That one was given is kept beside it: the first type of the list would else be taken for
 * none. */
bool parse_precision(const char *text, void *field)
{
    struct peak_settings *peaks = field;
    enum peak_type type = peak_type_named(text);

    if (type == PEAK_TYPE_COUNT)
        return false;
    peaks->has_precision = true;
    peaks->precision = type;
    return true;
}

const char convention_accepted[] =
    "one of exact, full, megatron, maxtext, nemo, nemo-default, torchtitan, olmo-core, nanotron, "
    "deepspeed, palm, nanogpt, llm-foundry, internevo, megatron-sc21, megatron-deepspeed, "
    "6n-active and 6n";

bool parse_convention(const char *text, void *field)
{
    const struct convention **convention = field;

    *convention = convention_named(text);
    return *convention != NULL;
}

/* Puts the name of the device into the settings; an error where it is none of the table and no peak
 * stands in its place. Told at once: a report of an hour should not end with an unknown name. */
static bool resolve_device(struct peak_settings *peaks, const struct device_option *device,
                           const char *device_name, struct error *error)
{
    static const struct device_hints nothing_more;
    const char *name = device_name ? device_name : device->name;
    struct device_match match;

    if (!name)
        return true;
    peaks->device_name = name;
    if (peaks->peak_of_all > 0 || find_device_peak(name, &nothing_more, &match))
        return true;
    return error_set(error, ERROR_USAGE,
                     "no peak for device '%s': %s; 'flopledger device' lists those known, --peak "
                     "TFLOPS gives another",
                     name, match.how);
}

const char step_time_accepted[] = "a time of more than 0 (1.23s, 850ms, 1.23)";

/* A number alone is in seconds. Below a nanosecond there is no step, and from 1e18 ns (31
 * years) on none either: such text has another unit than its writer thinks. */
bool parse_step_time(const char *text, void *field)
{
    static const struct {
        const char *unit;
        double ns;
    } units[] = {{"", 1e9}, {"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"min", 60e9}};
    int64_t *time_ns = field;
    char *behind;
    double number = strtod(text, &behind);

    if (behind == text || !isfinite(number))
        return false;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        double ns = number * units[i].ns;

        if (strcmp(behind, units[i].unit) == 0 && ns >= 1.0 && ns < 1e18) {
            *time_ns = llround(ns);
            return true;
        }
    }
    return false;
}

/* Without the option there is nothing to do, which is no error: callers need not ask. */
bool rates_option_read(struct rates_option *option, struct peak_settings *peaks,
                       struct error *error)
{
    if (!option->path)
        return true;
    if (!measured_rates_read(&option->rates, option->path, error))
        return false;
    peaks->rates = &option->rates;
    return true;
}

void rates_option_clear(struct rates_option *option)
{
    measured_rates_clear(&option->rates);
}

const char *const window_names[] = {"auto", "steps", "optimizer", "ranges", "whole", NULL};
const char *const clock_names[] = {"auto", "host", "device", NULL};

bool attribution_resolve(struct attribution_settings *settings, struct error *error)
{
    return rates_option_read(&settings->rates, &settings->peaks, error) &&
           step_pattern_compile(&settings->pattern, settings->step_range, error) &&
           resolve_device(&settings->peaks, &settings->device, settings->device_name, error);
}

void attribution_settings_clear(struct attribution_settings *settings)
{
    step_pattern_clear(&settings->pattern);
    rates_option_clear(&settings->rates);
}

/* The order of the names on the command line is that of the tables, not of the enumerations. */
struct attribution_options attribution_options_of(const struct attribution_settings *settings)
{
    static const enum window_choice window_choices[] = {WINDOW_CHOICE_AUTO, WINDOW_CHOICE_STEPS,
                                                        WINDOW_CHOICE_OPTIMIZER,
                                                        WINDOW_CHOICE_RANGES, WINDOW_CHOICE_WHOLE};

    static const enum step_clock_choice clock_choices[] = {CLOCK_CHOICE_AUTO, CLOCK_CHOICE_HOST,
                                                           CLOCK_CHOICE_DEVICE};

    return (struct attribution_options){
        .ledger = {.choice = window_choices[settings->window],
                   .first_step = settings->steps.first,
                   .last_step = settings->steps.last,
                   .device = (int32_t)settings->device.number,
                   .clock = clock_choices[settings->clock],
                   .step_pattern = settings->pattern.is_set ? &settings->pattern.regex : NULL},
        .peaks = settings->peaks,
        .architecture = settings->architecture,
    };
}
