/* `flopledger plan`: what a training step, or one of a server, will take, before it runs. */
#include "base/text/spelling.h"
#include "cost/architectures/read_architecture.h"
#include "cost/architectures/serving_cost.h"
#include "cost/devices/find_device_peak.h"
#include "cost/plan/plan_search.h"
#include "output/results/device_words.h"
#include "output/results/metrics.h"
#include "pipeline/analyzed_rank.h"
#include "pipeline/session.h"
#include "pipeline/subcommands.h"
#include "sections/model/plan_headlines.h"
#include "sections/model/plan_sections.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* "GPU", "TPU", "AMD" or "one" name no device. */
static bool plan_names_a_device(const char *word)
{
    return strlen(word) > 3 || strpbrk(word, "0123456789");
}

/* The device of which a word is spelled most like `typed`; NULL where none is near. */
static const struct device_peak *plan_near_device(const char *typed)
{
    size_t count;
    const struct device_peak *devices = all_device_peaks(&count);
    const struct device_peak *found = NULL;
    int least = 0;

    for (size_t i = 0; i < count; i++)
        for (const char *word = devices[i].name; *word; word += strcspn(word, " ")) {
            struct spelling near = {0};
            char copy[64];

            word += strspn(word, " ");
            snprintf(copy, sizeof copy, "%.*s", (int)strcspn(word, " "), word);
            if (plan_names_a_device(copy))
                spelling_consider(&near, typed, copy);
            if (near.word && (!found || near.distance < least)) {
                found = &devices[i];
                least = near.distance;
            }
        }
    return found;
}

static bool plan_no_device(const char *typed, const struct device_match *match, struct error *error)
{
    const struct device_peak *near = match->candidates[0] ? NULL : plan_near_device(typed);

    if (strcasecmp(typed, "cpu") == 0)
        return error_set(
            error, ERROR_USAGE,
            "processors are not in the table: plan from what one recorded, with --from "
            "TRACE, and for another with --rates and --recorded-rates");
    return near ? error_set(error, ERROR_USAGE,
                            "'%s' is no device of the table: did you mean '%s'? ('flopledger "
                            "device' lists them)",
                            typed, near->name)
                : error_set(error, ERROR_USAGE,
                            "'%s' is no device of the table: %s; 'flopledger device' lists them",
                            typed, match->how);
}

/* "NVIDIA A100 (board not said)": the boards whose names begin as this one's does. */
static bool plan_no_board(const struct device_peak *device, const char *typed, struct error *error)
{
    size_t count;
    const struct device_peak *devices = all_device_peaks(&count);
    size_t length = strcspn(device->name, "(");
    char boards[240] = "";
    size_t used = 0;

    for (size_t i = 0; i < count && used < sizeof boards; i++)
        if (strncmp(devices[i].name, device->name, length) == 0 &&
            devices[i].memory_bytes_per_second > 0.0)
            used += (size_t)snprintf(boards + used, sizeof boards - used, "%s'%s'",
                                     used ? ", " : "", devices[i].name);
    return error_set(error, ERROR_USAGE,
                     "'%s' may be several boards, of which memory and links differ: name one (%s)",
                     typed, used ? boards : "'flopledger device' lists them");
}

/* What --dtype can be instead: one of layers' matmuls that the device has a rate for. */
static bool plan_no_peak(const struct plan_setting *setting, struct error *error)
{
    static const enum peak_type types[] = {PEAK_FP16, PEAK_BF16, PEAK_FP8, PEAK_FP4};
    char known[64] = "";
    size_t used = 0;

    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (device_peak_state(setting->device, types[i]) == PEAK_KNOWN && used < sizeof known)
            used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", used ? ", " : "",
                                     peak_type_name(types[i]));
    return error_set(error, ERROR_USAGE, "no peak of %s for %s is known%s%s", setting->device->name,
                     peak_type_name(setting->precision), used ? "; --dtype can be " : "", known);
}

/* A device of the table that stands for several boards has no one bandwidth of memory, without
 * which no time of a step can be planned. Measured rates have to be of the device that was
 * named. */
static bool plan_find_device(struct plan_setting *setting, const struct plan_wanted *settings,
                             struct error *error)
{
    struct device_match match;

    setting->device = find_device_peak(settings->model.device, NULL, &match);
    if (!setting->device)
        return plan_no_device(settings->model.device, &match, error);
    setting->precision =
        settings->model.peaks.has_precision ? settings->model.peaks.precision : PEAK_BF16;
    if (device_peak_state(setting->device, setting->precision) != PEAK_KNOWN)
        return plan_no_peak(setting, error);
    if (settings->model.peaks.rates) {
        double measured;

        if (!measured_rates_check_device(settings->model.peaks.rates, settings->model.device,
                                         error) ||
            !measured_rates_peak(settings->model.peaks.rates, setting->precision, &measured, error))
            return false;
        setting->measured = settings->model.peaks.rates;
    }
    if (setting->device->memory_bytes_per_second <= 0.0)
        return plan_no_board(setting->device, settings->model.device, error);
    return true;
}

/* Some models take samples of one length alone (images in patches): for them the length is
 * read from the file, and another one is a mistake, not a wish. */
static bool plan_find_sequence(struct plan_setting *setting, const struct plan_wanted *settings,
                               struct error *error)
{
    int64_t fixed = setting->model->fixed_sequence;

    setting->sequence = settings->model.sequence > 0 ? settings->model.sequence : fixed;
    if (setting->sequence == 0)
        return error_set(error, ERROR_USAGE, "--seq is missing: how many tokens has a sample?");
    if (fixed > 0 && setting->sequence != fixed)
        return error_set(error, ERROR_USAGE,
                         "--seq is %lld, but a sample of this model has %lld tokens: leave --seq "
                         "out",
                         (long long)setting->sequence, (long long)fixed);
    return architecture_check_tokens(setting->model, "--seq", setting->sequence, error);
}

/* Inference: `setting` as plan_read leaves it, but for batch and sequence. Memory bandwidth
 * bounds a server's step, so that a storage of weights which is not known ends it. */
static bool print_plan_serving(const struct plan_wanted *settings,
                               const struct plan_setting *setting, const struct page_settings *page,
                               struct error *error)
{
    const struct plan_server server = {
        .tensor = settings->model.tensor > 0 ? settings->model.tensor : 1,
        .context = settings->model.context,
        .latency = (double)settings->model.step_time_ns * 1e-9,
    };
    const char *why = why_no_serving_cost(setting->model);
    SCOPED(results) results = {0};

    if (why)
        return error_set(error, ERROR_NO_DATA, "%s: %s", settings->model.config, why);
    if (!architecture_check_tokens(setting->model, "--context", server.context, error) ||
        !plan_check_heads(setting->model, server.tensor, error))
        return false;
    results_init(&results);
    describe_plan_serving(&results,
                          results_add_rank(&results, settings->model.config, settings->model.config,
                                           -1, speakers_by_device_name(setting->device->name)),
                          setting, &server);
    return print_page(&results, page, error);
}

/* Defaults fill what was not given, after the device is known: its links and its node are
 * among them. The network is given for a node and shared by its devices. */
static bool plan_read(struct plan_setting *setting, struct architecture *model,
                      const struct plan_wanted *settings, struct error *error)
{
    if (!architecture_read(model, settings->model.config, error))
        return false;
    *setting = (struct plan_setting){
        .model = model,
        .batch = settings->model.batch,
        .node = settings->node,
        .attention = (enum plan_attention)settings->attention,
        .is_eager = settings->is_eager,
        .splits_sequence = settings->splits_sequence,
        .hides_gradients = settings->hides_gradients,
        .hides_weights = settings->hides_weights,
        .hides_tensor = settings->hides_tensor,
        .hides_exchange = settings->hides_exchange,
        .fuses_experts = settings->fuses_experts,
        .rotates_apart = settings->rotates_apart,
        .predicts_further = settings->predicts_further,
        .reduces_whole = settings->reduces_whole,
        .broadcasts_weights = settings->broadcasts_weights,
        .reduces_by_nccl = settings->allreduce == 1,
        .gathers_each_pass = settings->gathers_each_pass,
        .crosses_by_one_card = settings->crosses_by_one_card,
        .is_blocking = settings->is_blocking,
        .recomputed_share = settings->recomputed_share,
        .recomputed = settings->recomputed,
        .shard_devices = settings->shard_devices,
        .offloaded_layers = settings->offloaded_layers,
        .sends_copies = settings->dispatcher == 1,
        .is_uneven = settings->is_uneven,
        .delays_weights = settings->delays_weights,
        .launch_seconds = settings->launch * 1e-6,
        .gradient_bytes = settings->gradient_bytes,
        .accumulated_bytes = settings->accumulated_bytes,
        .calibration = settings->calibration,
    };
    if (!plan_find_device(setting, settings, error) ||
        (settings->model.context == 0 && !plan_find_sequence(setting, settings, error)))
        return false;
    if (settings->model.context > 0 && settings->model.peaks.has_precision)
        weight_storage_force(&model->storage, setting->precision);
    plan_defaults(setting);
    if (settings->network > 0.0)
        setting->network = settings->network * 1e9 / (double)setting->node;
    return true;
}

/* What is not given is 0, of ZeRO's stage -1. */
static struct plan_layout plan_given_layout(const struct plan_wanted *settings)
{
    const struct model_settings *model = &settings->model;

    return (struct plan_layout){
        .tensor = model->tensor,
        .pipeline = model->pipeline,
        .chunks = settings->chunks,
        .context = settings->context,
        .expert = model->expert,
        .data = model->data,
        .micro = settings->micro,
        .zero = (int)model->zero,
        .recompute = model->recompute > 0 ? (enum recompute)model->recompute : RECOMPUTE_NONE,
    };
}

/* Sizes that were not given are 1, but for the data ranks, which take what is left of the
 * devices. The nearest number that fits is told, since it is what the user changes next. */
static bool plan_lay_out(struct plan_layout *layout, const struct plan_wanted *settings,
                         const struct plan_setting *setting, struct error *error)
{
    const struct model_settings *model = &settings->model;
    int64_t *const sizes[] = {&layout->tensor, &layout->pipeline, &layout->chunks, &layout->context,
                              &layout->expert, &layout->data,     &layout->micro};

    *layout = plan_given_layout(settings);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        *sizes[i] = *sizes[i] > 0 ? *sizes[i] : 1;
    layout->zero = layout->zero > 0 ? layout->zero : 0;
    /* Who gives sizes that the model does not divide is helped by no other number of devices. */
    if (!plan_check_model(setting, layout, error) ||
        (model->devices > 0 && !plan_check_devices(layout, model->devices, model->data > 0, error)))
        return false;
    if (model->data == 0 && model->devices > 0)
        layout->data = model->devices / (layout->tensor * layout->pipeline * layout->context);
    return plan_check(setting, layout, error);
}

/* Nothing of a layout is given: all are tried. One size that is given fixes the layout, unless a
 * search is asked for: then what is given holds in all layouts tried. */
static bool plan_is_open(const struct plan_wanted *settings)
{
    const struct model_settings *model = &settings->model;

    return model->tensor == 0 && model->pipeline == 0 && model->data == 0 && model->expert == 0 &&
           model->zero < 0 && model->recompute < 0 && settings->chunks == 0 &&
           settings->context == 0 && settings->micro == 0;
}

/* The nearest number that has a layout is told, of devices and of samples: either may be free. */
static bool plan_refuse_search(const struct plan_setting *setting, const struct plan_given *given,
                               int64_t devices, struct error *error)
{
    struct plan_nearest nearest = plan_search_nearest(setting, given, devices);
    char fits[160] = "none near these is";

    if (nearest.devices > 0 && nearest.batch > 0)
        (void)snprintf(fits, sizeof fits,
                       "--devices %lld is the nearest that is, or --global-batch %lld",
                       (long long)nearest.devices, (long long)nearest.batch);
    else if (nearest.devices > 0 || nearest.batch > 0)
        (void)snprintf(fits, sizeof fits, "--%s %lld is the nearest that is",
                       nearest.devices > 0 ? "devices" : "global-batch",
                       (long long)(nearest.devices > 0 ? nearest.devices : nearest.batch));
    return error_set(error, ERROR_USAGE,
                     "--devices %lld and --global-batch %lld are divided by no layout of this "
                     "model's layers and heads%s: %s",
                     (long long)devices, (long long)setting->batch,
                     given->layout.tensor + given->layout.pipeline + given->layout.data > 0
                         ? " with what is given of it"
                         : "",
                     fits);
}

/* Sizes that the model does not divide are told as such: no number of devices helps. */
static bool plan_check_given(const struct plan_setting *setting, const struct plan_given *given,
                             struct error *error)
{
    struct plan_layout layout = given->layout;

    layout.tensor = layout.tensor > 0 ? layout.tensor : 1;
    layout.context = layout.context > 0 ? layout.context : 1;
    layout.chunks = layout.pipeline > 0 && layout.chunks > 0 ? layout.chunks : 1;
    layout.pipeline = layout.pipeline > 0 ? layout.pipeline : 1;
    layout.expert = layout.data = layout.micro = 1;
    return plan_check_model(setting, &layout, error);
}

/* Finds the layout of the least time, and describes all that were tried. If nothing fits, the
 * one that is nearest to fitting is described, so that the page shows what lacks. */
static bool plan_find_layout(struct plan_layout *layout, const struct plan_wanted *settings,
                             const struct plan_setting *setting, struct plan_search *search,
                             struct error *error)
{
    const struct model_settings *model = &settings->model;
    const struct plan_given given = {
        .layout = plan_given_layout(settings),
        .has_zero = model->zero >= 0,
        .has_recompute = model->recompute >= 0,
    };

    if (model->devices == 0)
        return error_set(error, ERROR_USAGE,
                         "--devices is missing: over how many shall layouts be tried?");
    if (!plan_check_given(setting, &given, error))
        return false;
    plan_search(search, setting, &given, model->devices);
    if (search->planned == 0)
        return plan_refuse_search(setting, &given, model->devices, error);
    *layout = search->best.count > 0 ? search->best.candidates[0].layout
                                     : search->smallest.candidates[0].layout;
    return true;
}

/* Where degrees of parallelism are open a layout is searched; given ones are laid out as they
 * are, or refused. */
static bool print_plan_training(const struct plan_wanted *settings,
                                const struct plan_setting *setting,
                                const struct page_settings *page, struct error *error)
{
    struct rank_results *planned;
    struct plan_layout layout;
    struct plan_outcome outcome;
    struct plan_search search;
    bool is_searched = settings->searches || plan_is_open(settings);
    SCOPED(results) results = {0};

    results_init(&results);
    planned = results_add_rank(&results, settings->model.config, settings->model.config, -1,
                               speakers_by_device_name(setting->device->name));
    if (!(is_searched ? plan_find_layout(&layout, settings, setting, &search, error)
                      : plan_lay_out(&layout, settings, setting, error)))
        return false;
    outcome = plan_step(setting, &layout);
    planned->headline =
        plan_headline(&results, setting, &outcome, &layout, is_searched ? &search : NULL);
    if (is_searched)
        rank_add_section(&results, planned, describe_plan_search(&results, setting, &search));
    rank_add_section(&results, planned, describe_plan(&results, setting, &layout, &outcome));
    if (settings->bill.tokens > 0.0)
        rank_add_section(&results, planned,
                         describe_plan_bill(&results, setting->device, &outcome, &settings->bill));
    rank_add_section(&results, planned, describe_plan_ledger(&results, &outcome));
    rank_add_section(&results, planned, describe_plan_memory(&results, setting, &outcome));
    return print_page(&results, page, error);
}

bool print_plan(const struct plan_wanted *wanted, const struct page_settings *page,
                struct error *error)
{
    struct architecture model = {0};
    struct plan_setting setting;

    return plan_read(&setting, &model, wanted, error) &&
           (wanted->model.context > 0 ? print_plan_serving(wanted, &setting, page, error)
                                      : print_plan_training(wanted, &setting, page, error));
}

/* ---- from a recording ---- */

/* The replay goes with it, where there is one: which time hides behind other time is known from
 * it alone. */
static bool plan_from_one(struct results *results, const struct trace *trace, const void *context,
                          struct error *error)
{
    const struct scaled_request *request = context;
    struct attribution_options options = {
        .ledger = {.first_step = INT64_MIN, .last_step = INT64_MAX, .device = -1}};
    struct analysis_options no_options = {.top = 10};
    SCOPED(analyzed_rank) analyzed = {0};
    struct scaled_steps steps;
    const char *path;

    if (!analyze_rank(&analyzed, trace, &options, error))
        return false;
    if (!scale_steps(&steps,
                     &(struct analysis_input){.trace = trace,
                                              .ledger = &analyzed.ledger,
                                              .costs = &analyzed.costs,
                                              .efficiency = &analyzed.efficiency,
                                              .work = &analyzed.work,
                                              .simulation = analyzed_rank_replay(&analyzed),
                                              .description = &analyzed.description,
                                              .options = &no_options},
                     request, error))
        return false;
    path = results_text(results, trace_text(trace, trace->path));
    describe_scaled_steps(results,
                          results_add_rank(results, path, path, trace->facts.rank,
                                           device_speakers(trace, &analyzed.efficiency.peaks)),
                          &steps, request);
    return true;
}

/* A device must be one of the table: there is nothing measured to scale by otherwise. Rates of a
 * GPU name theirs; whether that is the recorded one, or of a processor at all, is known later. */
static bool plan_find_requested(struct scaled_request *request, const struct plan_wanted *wanted,
                                struct error *error)
{
    const struct measured_rates *rates = request->rates;
    struct device_match match;

    if (wanted->model.device) {
        request->device = find_device_peak(wanted->model.device, NULL, &match);
        return request->device || plan_no_device(wanted->model.device, &match, error);
    }
    if (!rates || rates->is_processor)
        return true;
    request->device = find_device_peak(rates->device, NULL, &match);
    return request->device ||
           error_set(error, ERROR_USAGE,
                     "'%s' was measured on %s, which is no device of the table: leave --rates out",
                     rates->path, rates->device);
}

/* Sizes that are left at zero stay as they were recorded. */
bool print_plan_of_recording(const struct plan_wanted *wanted, const struct page_settings *page,
                             struct error *error)
{
    SCOPED(session) session = {0};
    char *operands[] = {wanted->recording};
    struct scaled_request request = wanted->request;
    struct file_reading reading = {.threads = default_thread_count(),
                                   .use = plan_from_one,
                                   .context = &request,
                                   .captures = &(struct capture_choice){.count = 0}};
    struct architecture model = {0};

    request.sequence = wanted->model.sequence;
    request.devices = wanted->model.devices;
    request.tensor = wanted->model.tensor;
    request.pipeline = wanted->model.pipeline;
    request.chunks = wanted->chunks;
    request.step_batch = wanted->model.batch;
    if (!plan_find_requested(&request, wanted, error))
        return false;
    if (wanted->model.config) {
        if (!architecture_read(&model, wanted->model.config, error))
            return false;
        request.model = &model;
    }
    return session_open(&session, operands, 1, error) &&
           session_for_each_rank(&session, &reading, error) &&
           print_session(&session, -1, page, error);
}
