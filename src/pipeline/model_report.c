/* `flopledger flops --model`: what a model costs by its config.json alone. */
#include "cost/architectures/model_memory.h"
#include "cost/architectures/read_architecture.h"
#include "cost/architectures/serving_cost.h"
#include "cost/devices/find_device_peak.h"
#include "output/results/device_words.h"
#include "output/results/metrics.h"
#include "pipeline/subcommands.h"
#include "sections/model/convention_table.h"
#include "sections/model/model_sections.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const recompute_names[] = {"none", "selective", "full", NULL};
const char *const phase_names[] = {"training", "decode", "prefill", NULL};
const char *const cache_type_names[] = {"model", "bf16", "fp16", "fp32", "fp8", NULL};

/* The first in this order is named where an option makes no sense without a model: one example
 * is enough for a message. */
const char *option_of_model(const struct model_settings *settings)
{
    const struct {
        const char *name;
        bool is_given;
    } options[] = {
        {"--batch", settings->batch > 0},
        {"--seq", settings->sequence > 0},
        {"--step-time", settings->step_time_ns > 0},
        {"--devices", settings->devices > 0},
        {"--device", settings->device != NULL},
        {"--dtype", settings->peaks.has_precision},
        {"--peak", settings->peaks.peak_of_all > 0.0},
        {"--recompute", settings->recompute > 0},
        {"--dp", settings->data > 0},
        {"--tp", settings->tensor > 0},
        {"--pp", settings->pipeline > 0},
        {"--ep", settings->expert > 0},
        {"--zero", settings->zero > 0},
        {"--phase", settings->phase > 0},
        {"--context", settings->context > 0},
        {"--kv-dtype", settings->cache_type > 0},
    };

    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++)
        if (options[i].is_given)
            return options[i].name;
    for (int i = 0; i < PEAK_TYPE_COUNT; i++)
        if (settings->peaks.peaks[i] > 0.0)
            return "--peak";
    return NULL;
}

static int64_t at_least_one(int64_t number)
{
    return number > 0 ? number : 1;
}

/* --devices and --dp say the same where both are given; each follows from the other. Experts are
 * spread over the data ranks, so that a replica has tensor times pipeline devices, however many
 * expert ranks there are. */
static bool resolve_layout(struct model_run *run, const struct model_settings *settings,
                           struct error *error)
{
    struct model_layout *layout = &run->layout;
    int64_t of_one_replica;

    *layout = (struct model_layout){.data = settings->data,
                                    .tensor = at_least_one(settings->tensor),
                                    .pipeline = at_least_one(settings->pipeline),
                                    .expert = at_least_one(settings->expert),
                                    .zero = (int)settings->zero};
    of_one_replica = layout->tensor * layout->pipeline;
    if (layout->data == 0 && settings->devices % of_one_replica != 0)
        return error_set(error, ERROR_USAGE,
                         "--devices is %lld, which --tp times --pp (%lld) does not divide",
                         (long long)settings->devices, (long long)of_one_replica);
    if (layout->data == 0)
        layout->data = at_least_one(settings->devices / of_one_replica);
    run->devices = layout->data * of_one_replica;
    if (settings->devices > 0 && settings->devices != run->devices)
        return error_set(error, ERROR_USAGE,
                         "--devices is %lld, but --dp times --tp times --pp is %lld",
                         (long long)settings->devices, (long long)run->devices);
    return model_layout_check(&run->architecture, layout, error);
}

/* Models of images have their number of tokens fixed by the image and its patches; a length
 * that differs would be another model. */
static bool resolve_sequence(struct model_run *run, const struct model_settings *settings,
                             struct error *error)
{
    int64_t fixed = run->architecture.fixed_sequence;

    if (fixed > 0 && settings->sequence > 0 && settings->sequence != fixed)
        return error_set(error, ERROR_USAGE,
                         "--seq is %lld, but a sample of this model has %lld tokens by its "
                         "image_size and patch_size: leave --seq out",
                         (long long)settings->sequence, (long long)fixed);
    if (fixed == 0 && settings->sequence == 0)
        return error_set(error, ERROR_USAGE, "--seq is missing: how many tokens has a sample?");
    if (settings->batch == 0 && settings->step_time_ns > 0)
        return error_set(error, ERROR_USAGE,
                         "--batch is missing: how many samples had the step of --step-time, of all "
                         "devices together?");
    run->setting = (struct convention_setting){
        .sequence = fixed > 0 ? fixed : settings->sequence,
        .recompute = (enum recompute)settings->recompute,
    };
    run->batch = at_least_one(settings->batch);
    run->step_time_ns = settings->step_time_ns;
    return architecture_check_tokens(&run->architecture, "--seq", run->setting.sequence, error);
}

/* --peak goes before the table; without either the peak is not known. No peak is a state, not an
 * error, where no device was named: the FLOPs are still told. A device that was named and is not
 * known is an error, since a wrong name is likely. */
static bool resolve_peak(struct model_run *run, const struct model_settings *settings,
                         struct results *results, struct error *error)
{
    const struct peak_settings *peaks = &settings->peaks;
    const struct device_peak *device;
    struct device_match match;

    /* bf16 unless said otherwise: nearly all models of today are trained in it. */
    run->precision = peaks->has_precision ? peaks->precision : PEAK_BF16;
    run->peak =
        peaks->peaks[run->precision] > 0.0 ? peaks->peaks[run->precision] : peaks->peak_of_all;
    run->peak_source = "by --peak";
    if (run->peak > 0.0)
        return true;
    if (peaks->rates) {
        run->peak_source = results_text(results, peaks->rates->how);
        return measured_rates_peak(peaks->rates, run->precision, &run->peak, error);
    }
    if (!settings->device)
        return true;
    device = find_device_peak(settings->device, NULL, &match);
    if (!device)
        return error_set(error, ERROR_USAGE,
                         "no peak for device '%s': %s; 'flopledger device' lists those known, "
                         "--peak TFLOPS gives another",
                         settings->device, match.how);
    if (device_peak_state(device, run->precision) != PEAK_KNOWN)
        return error_set(error, ERROR_USAGE, "no peak of %s for %s: %s; --peak TFLOPS gives one",
                         device->name, peak_type_name(run->precision),
                         device_peak_state(device, run->precision) == PEAK_NO_UNIT
                             ? "it has no unit for this type (see --dtype)"
                         : device->conflict ? device->conflict
                                            : "its makers give no figure");
    run->peak = device->peaks[run->precision];
    run->peak_source = results_format(results, "%s, %s, dense: %s", device->name,
                                      peak_type_name(run->precision), device->source);
    return true;
}

/* Whose words are used, by a name as the user may write it. */
static uint32_t speakers_of_device(const char *name)
{
    const struct device_peak *device = NULL;
    struct device_match match;

    if (name)
        device = find_device_peak(name, NULL, &match);
    return speakers_by_device_name(device ? device->name : name);
}

/* Parts, conventions and rules in this order: what is counted, by whom it is counted how, and
 * why these differ. */
static bool print_training_flops(const struct model_settings *settings,
                                 const struct page_settings *page, struct error *error)
{
    struct model_run run = {.batch = 0};
    struct rank_results *model;
    SCOPED(results) results = {0};

    if (settings->context > 0 || settings->cache_type > 0)
        return error_set(error, ERROR_USAGE, "%s is of use with --phase only",
                         settings->context > 0 ? "--context" : "--kv-dtype");
    if (!architecture_read(&run.architecture, settings->config, error))
        return false;
    results_init(&results);
    if (!resolve_sequence(&run, settings, error) || !resolve_layout(&run, settings, error) ||
        !resolve_peak(&run, settings, &results, error))
        return false;
    model = results_add_rank(&results, settings->config, settings->config, -1,
                             speakers_of_device(settings->device));
    rank_add_section(&results, model, describe_model_parts(&results, &run));
    rank_add_section(&results, model, describe_conventions(&results, &run));
    rank_add_section(&results, model, describe_convention_rules(&results));
    rank_add_section(&results, model, describe_model_memory(&results, &run));
    return print_page(&results, page, error);
}

/* ---- a step of an inference server ----------------------------------------------------------- */

/* Options of a training run, which say nothing of a step of inference. */
static bool has_no_training_option(const struct model_settings *settings, struct error *error)
{
    const struct {
        const char *name;
        bool is_given;
    } options[] = {
        {"--recompute", settings->recompute > 0}, {"--dp", settings->data > 0},
        {"--pp", settings->pipeline > 0},         {"--ep", settings->expert > 0},
        {"--zero", settings->zero > 0},           {"--devices", settings->devices > 0},
    };

    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++)
        if (options[i].is_given)
            return error_set(error, ERROR_USAGE,
                             "%s is not of use with --phase: a step is counted on one device of "
                             "--tp",
                             options[i].name);
    return true;
}

/* Requests, new tokens and context of the step. A step of decode makes one new token for each
 * request unless told otherwise; a prefill makes all of the context. */
static bool resolve_requests(struct serving_run *run, const struct model_settings *settings,
                             struct error *error)
{
    int64_t heads = run->architecture->heads;

    run->requests = at_least_one(settings->batch);
    run->tensor = at_least_one(settings->tensor);
    run->step_time_ns = settings->step_time_ns;
    run->context = settings->context > 0 ? settings->context
                   : run->is_decode      ? 0
                                         : settings->sequence;
    run->queries = settings->sequence > 0 ? settings->sequence : run->is_decode ? 1 : run->context;
    if (run->context == 0)
        return error_set(error, ERROR_USAGE,
                         "--context is missing: how many tokens has a request so far?");
    if (run->queries > run->context)
        return error_set(error, ERROR_USAGE,
                         "--seq is %lld, but a request has only %lld tokens by --context, new ones "
                         "included",
                         (long long)run->queries, (long long)run->context);
    if (heads > 0 && heads % run->tensor != 0)
        return error_set(error, ERROR_USAGE, "--tp is %lld, which does not divide the %lld heads",
                         (long long)run->tensor, (long long)heads);
    return architecture_check_tokens(run->architecture, "--context", run->context, error);
}

/* --peak goes before --rates, and these before the table, of one number format or of all. From
 * the weakest to the strongest source, each overwriting the one before: the table, measured
 * rates, one peak for all formats, the peak of a format. */
static bool resolve_roof(struct serving_run *run, const struct peak_settings *peaks,
                         const char *name, struct error *error)
{
    struct device_match match;

    run->rates = peaks->rates;
    if (name) {
        run->device = find_device_peak(name, NULL, &match);
        if (!run->device)
            return error_set(error, ERROR_USAGE,
                             "no peak for device '%s': %s; 'flopledger device' lists those known",
                             name, match.how);
    }
    for (int i = 0; i < PEAK_TYPE_COUNT; i++) {
        if (run->device && device_peak_state(run->device, (enum peak_type)i) == PEAK_KNOWN)
            run->peaks[i] = run->device->peaks[i];
        if (peaks->rates && peaks->rates->peaks[i] > 0.0)
            run->peaks[i] = peaks->rates->peaks[i];
        if (peaks->peak_of_all > 0.0)
            run->peaks[i] = peaks->peak_of_all;
        if (peaks->peaks[i] > 0.0)
            run->peaks[i] = peaks->peaks[i];
    }
    return true;
}

/* What --dtype and --kv-dtype say goes before the file. */
static void resolve_storage(struct weight_storage *storage, const struct model_settings *settings)
{
    if (settings->peaks.has_precision)
        weight_storage_force(storage, settings->peaks.precision);
    if (settings->cache_type > 0) {
        storage->cache_as = peak_type_named(cache_type_names[settings->cache_type]);
        storage->cache_bytes = bytes_of_peak_type(storage->cache_as);
    }
}

/* Weights whose storage is not known (a method of quantization) have no known number of bytes,
 * and decode is bound by bytes: it is refused rather than estimated. */
static bool print_serving_step(const struct model_settings *settings,
                               const struct page_settings *page, struct error *error)
{
    struct architecture architecture;
    struct serving_run run = {.architecture = &architecture,
                              .is_decode = strcmp(phase_names[settings->phase], "decode") == 0};
    SCOPED(results) results = {0};
    const char *why;

    if (!has_no_training_option(settings, error) ||
        !architecture_read(&architecture, settings->config, error))
        return false;
    resolve_storage(&architecture.storage, settings);
    why = why_no_serving_cost(&architecture);
    if (why && !architecture.storage.is_known)
        return error_set(error, ERROR_NO_DATA, "%s: quant_method '%s': %s", settings->config,
                         architecture.storage.method, why);
    if (why)
        return error_set(error, ERROR_NO_DATA, "%s: %s", settings->config, why);
    if (!resolve_requests(&run, settings, error) ||
        !resolve_roof(&run, &settings->peaks, settings->device, error))
        return false;
    results_init(&results);
    rank_add_section(&results,
                     results_add_rank(&results, settings->config, settings->config, -1,
                                      speakers_of_device(settings->device)),
                     describe_serving_step(&results, &run));
    return print_page(&results, page, error);
}

/* Rates that were measured on another device than the one named would mix two devices in one
 * share. */
bool print_model_flops(const struct model_settings *settings, const struct page_settings *page,
                       struct error *error)
{
    if (settings->peaks.rates && settings->device &&
        !measured_rates_check_device(settings->peaks.rates, settings->device, error))
        return false;
    return settings->phase > 0 ? print_serving_step(settings, page, error)
                               : print_training_flops(settings, page, error);
}
