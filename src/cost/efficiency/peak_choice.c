/* Takes peak rates from the user, else from the table of devices by the trace's device name. */
#include "cost/efficiency/peak_choice.h"

#include <stddef.h>
#include <strings.h>

static const struct device *device_of(const struct trace *trace, int32_t number)
{
    for (uint32_t i = 0; i < trace->device_list_count; i++)
        if (trace->devices[i].number == number)
            return &trace->devices[i];
    return NULL;
}

const struct device_peak *find_peak_of_device(const struct trace *trace,
                                              const struct device *device,
                                              struct device_match *match)
{
    struct device_hints hints = {.memory_bytes = device->memory_bytes,
                                 .multiprocessors = device->multiprocessors,
                                 .compute_major = device->compute_major,
                                 .compute_minor = device->compute_minor};

    return find_device_peak(trace_text(trace, device->name), &hints, match);
}

/* The user's name stands alone: what the trace says of memory and SMs belongs to another device. */
static void find_device(struct peak_choice *choice, const struct trace *trace, int32_t number)
{
    const struct device *device = device_of(trace, number);

    if (choice->name) {
        choice->device = find_device_peak(choice->name, NULL, &choice->match);
    } else if (device && device->entry != DEVICE_ENTRY_NONE) {
        choice->device = find_peak_of_device(trace, device, &choice->match);
        if (device->name)
            choice->name = trace_text(trace, device->name);
        else if (choice->device)
            choice->name = choice->device->name;
    }
}

/* A trace that does not name its device is taken by the kind: refusing it would leave --rates
 * of no use there. */
bool check_rates_fit(const struct measured_rates *rates, const struct trace *trace, int32_t device,
                     struct error *error)
{
    const struct device *own = device < 0 ? NULL : device_of(trace, device);
    const char *name = own && own->name ? trace_text(trace, own->name) : NULL;

    if (rates->is_processor == (device < 0) &&
        (device < 0 || !name || strcasecmp(name, rates->device) == 0))
        return true;
    return error_set(error, ERROR_USAGE,
                     "'%s' was measured on %s%s, and the trace ran on %s%s: run 'flopledger device "
                     "--measure' there, or leave --rates out",
                     rates->path, rates->is_processor ? "the processor " : "", rates->device,
                     device < 0 ? "a processor"
                     : name     ? ""
                                : "another device",
                     name ? name : "");
}

/* What was said or measured of a type; 0: nothing. */
static double said_peak(const struct peak_settings *said, int type, bool *is_measured)
{
    double peak = said->peaks[type] > 0 ? said->peaks[type] : said->peak_of_all;

    *is_measured = peak <= 0 && said->rates && said->rates->peaks[type] > 0;
    return *is_measured ? said->rates->peaks[type] : peak;
}

/* TF32 is NVIDIA's, and Intel's as its table has it: those of ROCm, Ascend and MTIA multiply real
 * FP32, as do units before Ampere. */
static bool is_fp32_tf32(const struct trace *trace, const struct device_peak *device)
{
    return trace->facts.is_rocm != 1 && trace->facts.platform != PLATFORM_NPU &&
           trace->facts.platform != PLATFORM_MTIA &&
           !(device && device_peak_state(device, PEAK_TF32) == PEAK_NO_UNIT);
}

/* The user, then a file of measured rates, then the table, then what is derived from the
 * processor: per type, so that --peak of one type leaves the others as they are. */
void choose_peaks(struct peak_choice *choice, const struct trace *trace, int32_t device,
                  const struct peak_settings *settings)
{
    static const struct peak_settings nothing_said;
    const struct peak_settings *said = settings ? settings : &nothing_said;

    *choice = (struct peak_choice){.name = said->device_name,
                                   .is_name_by_user = said->device_name != NULL,
                                   .is_rocm = trace->facts.is_rocm == 1,
                                   .rates = said->rates,
                                   .has_precision = said->has_precision,
                                   .precision = said->precision};
    if (device >= 0 || choice->name)
        find_device(choice, trace, device);
    choice->is_fp32_tf32 = is_fp32_tf32(trace, choice->device);
    for (int type = 0; type < PEAK_TYPE_COUNT; type++) {
        double peak = said_peak(said, type, &choice->is_measured[type]);

        choice->is_by_user[type] = peak > 0 && !choice->is_measured[type];
        if (choice->is_measured[type])
            choice->how_measured = said->rates->how;
        if (peak <= 0 && choice->device &&
            device_peak_state(choice->device, (enum peak_type)type) == PEAK_KNOWN)
            peak = choice->device->peaks[type];
        if (peak <= 0 && device < 0 && !choice->name && said->derived[type] > 0) {
            peak = said->derived[type];
            choice->how_derived = said->how_derived;
        }
        choice->peaks[type] = peak;
    }
}
