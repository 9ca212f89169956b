/* The options that say how traces are booked: which steps, which device, against which peak. */
#include "commands/attribution_options.h"

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
