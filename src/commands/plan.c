/* `flopledger plan --model`: what a training step will take, before it runs. */
#include "commands/command.h"
#include "commands/model_settings.h"
#include "commands/page_options.h"
#include "cost/architectures/read_architecture.h"
#include "cost/architectures/serving_cost.h"
#include "cost/devices/find_device_peak.h"
#include "cost/plan/plan_search.h"
#include "output/reports/write_report.h"
#include "output/results/metrics.h"
#include "pipeline/analyzed_rank.h"
#include "pipeline/session.h"
#include "sections/model/plan_sections.h"
#include "sections/model/scaled_parts.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct plan_from {
    char *path; /* a trace or a capture */
    struct scaled_request request;
    const struct page_settings *page;
};

struct plan_settings {
    struct page_settings page;
    struct model_settings model;
    struct plan_from from;
    int64_t chunks;
    int64_t context;
    int64_t micro;
    int64_t node;
    int64_t gradient_bytes;
    double network; /* GB/s of a node */
    struct plan_bill bill;
    double launch; /* microseconds */
    int attention;
    bool splits_sequence;
    bool hides_gradients;
    bool hides_tensor;
    bool is_uneven;
    bool is_eager;
    bool searches;
};

static const char *const attention_names[] = {"flash", "flash1", "unfused", NULL};

static const char positive_accepted[] = "a number of more than 0 (12.5)";

static const char batch_change_accepted[] =
    "a factor (2x, 0.5x) or the samples that a device has in a pass (8)";

static bool parse_batch_change(const char *text, void *field)
{
    struct scaled_request *request = field;
    char *end;
    double number = strtod(text, &end);

    if (end == text || !isfinite(number) || number <= 0.0 || number > 1e9)
        return false;
    if (strcmp(end, "x") == 0) {
        request->batch_factor = number;
        return true;
    }
    if (*end != '\0' || floor(number) < number)
        return false;
    request->batch = llround(number);
    return true;
}

#define FIELD(name) .offset = offsetof(struct plan_settings, name)
#define PLAN_NUMBER(name_, field, most, help_)                                             \
    {                                                                                      \
        .name = name_, .kind = OPTION_INTEGER, .metavar = "N", FIELD(field), .minimum = 1, \
        .maximum = most, .help = help_                                                     \
    }

#define PLAN_POSITIVE(name_, field, unit, help_)                                      \
    {                                                                                 \
        .name = name_, .kind = OPTION_PARSED, .metavar = unit, FIELD(field),          \
        .parse = parse_positive_number, .accepts = positive_accepted, .help = (help_) \
    }

static const struct option plan_options[] = {
    {.name = "model",
     .kind = OPTION_TEXT,
     .metavar = "FILE",
     FIELD(model.config),
     .help = "the model's config.json, as Hugging Face writes it"},
    {.name = "from",
     .kind = OPTION_TEXT,
     .metavar = "TRACE",
     FIELD(from.path),
     .help = "plan from a recorded run (a trace or a capture): with --batch, --seq, --device, "
             "--devices, --tp or --pp as what shall be another"},
    {.name = "batch",
     .kind = OPTION_PARSED,
     .metavar = "N|FACTORx",
     FIELD(from.request),
     .parse = parse_batch_change,
     .accepts = batch_change_accepted,
     .help = "with --from: samples of a device in a pass of the model, or how many times as many "
             "(2x)"},
    {.name = "device",
     .letter = 'd',
     .kind = OPTION_TEXT,
     .metavar = "NAME",
     FIELD(model.device),
     .help = "what the devices are (\"H100 SXM\"; see 'flopledger device')"},
    RATES_OPTION(struct plan_settings, model.rates,
                 "what matmuls and memory of such a device reached, as 'flopledger device "
                 "--measure FILE' measured it (default: what its generation reaches)"),
    PLAN_NUMBER("devices", model.devices, 1 << 20,
                "devices of the run (default: --tp times --pp times --cp times --dp)"),
    PLAN_NUMBER("seq", model.sequence, INT32_MAX, "tokens of a sample"),
    PLAN_NUMBER("global-batch", model.batch, INT32_MAX,
                "samples of one step, of all devices together"),
    PLAN_NUMBER("tp", model.tensor, 1 << 20, "tensor parallel size (default: 1)"),
    PLAN_NUMBER("pp", model.pipeline, 1 << 20, "pipeline stages (default: 1)"),
    PLAN_NUMBER("vp", chunks, 1024, "virtual stages of a device, interleaved (default: 1)"),
    PLAN_NUMBER("cp", context, 1 << 20, "context parallel size (default: 1)"),
    PLAN_NUMBER("ep", model.expert, 1 << 20, "expert parallel size (default: 1)"),
    PLAN_NUMBER("dp", model.data, 1 << 20, "data parallel size (default: what --devices leaves)"),
    PLAN_NUMBER("micro-batch", micro, INT32_MAX, "samples of a micro-batch (default: 1)"),
    {.name = "search",
     .kind = OPTION_FLAG,
     FIELD(searches),
     .help = "try all layouts with what is given of them (the default where nothing is)"},
    {.name = "recompute",
     .kind = OPTION_CHOICE,
     .metavar = "WHAT",
     .choices = recompute_names,
     FIELD(model.recompute),
     .help = "activation checkpointing: none (the default), selective (the core of attention) or "
             "full"},
    {.name = "zero",
     .kind = OPTION_INTEGER,
     .metavar = "STAGE",
     FIELD(model.zero),
     .minimum = 0,
     .maximum = 3,
     .help = "what ZeRO or FSDP shards: 1 the optimizer, 2 gradients too, 3 weights too (default: "
             "0, nothing)"},
    {.name = "dtype",
     .kind = OPTION_PARSED,
     .metavar = "DTYPE",
     FIELD(model.peaks),
     .parse = parse_precision,
     .accepts = precision_accepted,
     .help = "type of the layers' matmuls (default: bf16); fp8 and fp4 leave attention and logits "
             "in bf16"},
    {.name = "attention",
     .kind = OPTION_CHOICE,
     .metavar = "KERNEL",
     .choices = attention_names,
     FIELD(attention),
     .help = "flash (the fastest fused kernel, the default), flash1 (kernels of "
             "before the device, Triton's) or unfused: scores go to memory and back"},
    {.name = "eager",
     .kind = OPTION_FLAG,
     FIELD(is_eager),
     .help = "norms and activations are not fused, neither by hand nor by a compiler"},
    {.name = "no-sequence-parallel",
     .kind = OPTION_NEGATED,
     FIELD(splits_sequence),
     .help = "norms and dropout of tensor parallelism work on whole sequences"},
    {.name = "no-overlap",
     .kind = OPTION_NEGATED,
     FIELD(hides_gradients),
     .help = "gradients are reduced behind the backward, not while it runs"},
    {.name = "overlap-tp",
     .kind = OPTION_FLAG,
     FIELD(hides_tensor),
     .help = "collectives of tensor parallelism run beside the matmuls, in pieces"},
    {.name = "uneven-stages",
     .kind = OPTION_FLAG,
     FIELD(is_uneven),
     .help = "stages may differ by a layer where --pp does not divide the layers"},
    PLAN_NUMBER("node", node, 1 << 16,
                "devices that NVLink or the like joins (default: 8; 72 of a rack of GB200)"),
    PLAN_POSITIVE("network", network, "GB/S",
                  "GB/s of a node into the network, one way (default: by device)"),
    PLAN_POSITIVE("launch", launch, "US",
                  "µs that the host takes to launch a kernel (default: 10)"),
    PLAN_POSITIVE("tokens", bill.tokens, "N",
                  "tokens to train on (15e12): says days and device-hours"),
    PLAN_POSITIVE("cost-per-hour", bill.of_device_hour, "MONEY",
                  "with --tokens: what a device-hour costs, for the cost of the training"),
    PLAN_POSITIVE("watts", bill.watts, "W",
                  "with --tokens: what a device draws, with its share of all around it, for the "
                  "energy of the training"),
    PLAN_POSITIVE("interruptions", bill.interruptions, "N",
                  "with --tokens: interruptions of a device in a day (2e-4), for the days with "
                  "restarts and checkpoints"),
    PLAN_POSITIVE("restart", bill.restart_minutes, "MIN",
                  "minutes from an interruption to the next step (default: 10)"),
    PLAN_POSITIVE("checkpoint-time", bill.checkpoint_seconds, "S",
                  "seconds that training is stalled for a checkpoint (default: 30)"),
    PLAN_POSITIVE("checkpoint-every", bill.checkpoint_interval, "MIN",
                  "minutes between checkpoints (default: those of the highest ETTR)"),
    PLAN_NUMBER("context", model.context, INT32_MAX, "plan inference instead: tokens of a request"),
    {.name = "latency",
     .kind = OPTION_PARSED,
     .metavar = "TIME",
     FIELD(model.step_time_ns),
     .parse = parse_step_time,
     .accepts = step_time_accepted,
     .help = "with --context: what a token may take (30ms); says how many requests that allows"},
    PLAN_NUMBER("gradient-bytes", gradient_bytes, 8, "bytes of a gradient (default: 4)"),
    PAGE_OPTIONS(struct plan_settings),
    {0},
};

static bool plan_needs(const struct plan_settings *settings, struct error *error)
{
    const struct {
        bool is_given;
        const char *name;
        const char *what;
    } needed[] = {
        {settings->model.config, "--model FILE", "the config.json of the model"},
        {settings->model.device, "--device NAME", "what it runs on"},
        {settings->model.batch > 0, "--global-batch N", "samples of a step of all devices"},
    };
    size_t count = sizeof needed / sizeof needed[0] - (settings->model.context > 0 ? 1 : 0);

    for (size_t i = 0; i < count; i++)
        if (!needed[i].is_given)
            return error_set(error, ERROR_USAGE, "%s is missing: %s", needed[i].name,
                             needed[i].what);
    return true;
}

static bool plan_find_device(struct plan_setting *setting, const struct plan_settings *settings,
                             struct error *error)
{
    struct device_match match;

    setting->device = find_device_peak(settings->model.device, NULL, &match);
    if (!setting->device)
        return error_set(error, ERROR_USAGE,
                         "'%s' is no device of the table: %s; 'flopledger device' lists them",
                         settings->model.device, match.how);
    setting->precision =
        settings->model.peaks.has_precision ? settings->model.peaks.precision : PEAK_BF16;
    if (device_peak_state(setting->device, setting->precision) != PEAK_KNOWN)
        return error_set(error, ERROR_USAGE, "no peak of %s for %s is known; see --dtype",
                         setting->device->name, peak_type_name(setting->precision));
    if (settings->model.peaks.rates) {
        double measured;

        if (!measured_rates_check_device(settings->model.peaks.rates, settings->model.device,
                                         error) ||
            !measured_rates_peak(settings->model.peaks.rates, setting->precision, &measured, error))
            return false;
        setting->measured = settings->model.peaks.rates;
    }
    if (setting->device->memory_bytes_per_second <= 0.0)
        return error_set(error, ERROR_USAGE,
                         "'%s' may be several boards, of which memory and links differ: name one "
                         "('flopledger device' lists them)",
                         settings->model.device);
    return true;
}

static bool plan_find_sequence(struct plan_setting *setting, const struct plan_settings *settings,
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
    return true;
}

/* Inference: `setting` as plan_read leaves it, but for batch and sequence. */
static bool print_plan_serving(const struct plan_settings *settings,
                               const struct plan_setting *setting, struct error *error)
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
    if (setting->model->heads > 0 && setting->model->heads % server.tensor != 0)
        return error_set(error, ERROR_USAGE, "--tp is %lld, which does not divide the %lld heads",
                         (long long)server.tensor, (long long)setting->model->heads);
    results_init(&results);
    rank_add_section(&results,
                     results_add_rank(&results, settings->model.config, settings->model.config, -1),
                     describe_plan_serving(&results, setting, &server));
    return print_page(&results, &settings->page, error);
}

static bool plan_read(struct plan_setting *setting, struct architecture *model,
                      const struct plan_settings *settings, struct error *error)
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
        .hides_tensor = settings->hides_tensor,
        .is_uneven = settings->is_uneven,
        .launch_seconds = settings->launch * 1e-6,
        .gradient_bytes = settings->gradient_bytes,
    };
    if (!plan_find_device(setting, settings, error) ||
        (settings->model.context == 0 && !plan_find_sequence(setting, settings, error)))
        return false;
    plan_defaults(setting);
    if (settings->network > 0.0)
        setting->network = settings->network * 1e9 / (double)setting->node;
    return true;
}

/* What is not given is 0, of ZeRO's stage -1. */
static struct plan_layout plan_given_layout(const struct plan_settings *settings)
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

static bool plan_lay_out(struct plan_layout *layout, const struct plan_settings *settings,
                         struct error *error)
{
    const struct model_settings *model = &settings->model;
    int64_t *const sizes[] = {&layout->tensor, &layout->pipeline, &layout->chunks, &layout->context,
                              &layout->expert, &layout->data,     &layout->micro};
    int64_t of_replica;
    int64_t nearest;

    *layout = plan_given_layout(settings);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        *sizes[i] = *sizes[i] > 0 ? *sizes[i] : 1;
    layout->zero = layout->zero > 0 ? layout->zero : 0;
    of_replica = layout->tensor * layout->pipeline * layout->context;
    nearest = (model->devices / of_replica + 1) * of_replica;
    if (model->data == 0 && model->devices > 0) {
        if (model->devices % of_replica != 0)
            return error_set(error, ERROR_USAGE,
                             "--devices is %lld, which --tp times --pp times --cp (%lld) does not "
                             "divide; the nearest that fits is %lld",
                             (long long)model->devices, (long long)of_replica, (long long)nearest);
        layout->data = model->devices / of_replica;
    }
    if (model->devices > 0 && plan_devices(layout) != model->devices)
        return error_set(error, ERROR_USAGE,
                         "--devices is %lld, but --tp times --pp times --cp times --dp is %lld",
                         (long long)model->devices, (long long)plan_devices(layout));
    return true;
}

/* Nothing of a layout is given: all are tried. */
static bool plan_is_open(const struct plan_settings *settings)
{
    const struct model_settings *model = &settings->model;

    return model->tensor == 0 && model->pipeline == 0 && model->data == 0 && model->expert == 0 &&
           model->zero < 0 && model->recompute < 0 && settings->chunks == 0 &&
           settings->context == 0 && settings->micro == 0;
}

/* Finds the layout of the least time, and describes all that were tried. */
static bool plan_find_layout(struct plan_layout *layout, const struct plan_settings *settings,
                             const struct plan_setting *setting, struct results *results,
                             struct error *error)
{
    const struct model_settings *model = &settings->model;
    const struct plan_given given = {
        .layout = plan_given_layout(settings),
        .has_zero = model->zero >= 0,
        .has_recompute = model->recompute >= 0,
    };
    struct plan_search search;

    if (model->devices == 0)
        return error_set(error, ERROR_USAGE,
                         "--devices is missing: over how many shall layouts be tried?");
    plan_search(&search, setting, &given, model->devices);
    if (search.planned == 0)
        return error_set(error, ERROR_USAGE,
                         "no layout of %lld devices divides layers, heads and --global-batch %lld: "
                         "try a number of devices or samples with more divisors",
                         (long long)model->devices, (long long)setting->batch);
    *layout = search.best.count > 0 ? search.best.candidates[0].layout
                                    : search.too_large.candidates[0].layout;
    rank_add_section(results, &results->ranks[0], describe_plan_search(results, setting, &search));
    return true;
}

static bool print_plan(const struct plan_settings *settings, const struct plan_setting *setting,
                       struct error *error)
{
    struct rank_results *planned;
    struct plan_layout layout;
    struct plan_outcome outcome;
    SCOPED(results) results = {0};

    results_init(&results);
    planned = results_add_rank(&results, settings->model.config, settings->model.config, -1);
    if (settings->searches || plan_is_open(settings)) {
        if (!plan_find_layout(&layout, settings, setting, &results, error))
            return false;
    } else if (!plan_lay_out(&layout, settings, error) || !plan_check(setting, &layout, error)) {
        return false;
    }
    outcome = plan_step(setting, &layout);
    rank_add_section(&results, planned, describe_plan(&results, setting, &layout, &outcome));
    if (settings->bill.tokens > 0.0)
        rank_add_section(&results, planned,
                         describe_plan_bill(&results, &outcome, &settings->bill));
    rank_add_section(&results, planned, describe_plan_ledger(&results, &outcome));
    rank_add_section(&results, planned, describe_plan_memory(&results, setting, &outcome));
    return print_page(&results, &settings->page, error);
}

/* ---- from a recording ---- */

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
    describe_scaled_steps(results, results_add_rank(results, path, path, trace->facts.rank), &steps,
                          request);
    return true;
}

static bool print_plan_from(const struct plan_from *from, struct error *error)
{
    SCOPED(session) session = {0};
    char *operands[] = {from->path};
    struct file_reading reading = {.threads = default_thread_count(),
                                   .use = plan_from_one,
                                   .context = &from->request,
                                   .captures = &(struct capture_choice){.count = 0}};

    return session_open(&session, operands, 1, error) &&
           session_for_each_rank(&session, &reading, error) &&
           print_session(&session, -1, from->page, error);
}

/* What says how a model is laid out; a recording has its own. */
static const char *plan_option_of_layout(const struct plan_settings *settings)
{
    const struct {
        bool is_given;
        const char *name;
    } options[] = {
        {settings->model.batch > 0, "--global-batch"},
        {settings->model.data > 0, "--dp"},
        {settings->model.expert > 0, "--ep"},
        {settings->model.zero >= 0, "--zero"},
        {settings->model.recompute >= 0, "--recompute"},
        {settings->context > 0, "--cp"},
        {settings->chunks > 0, "--vp"},
        {settings->micro > 0, "--micro-batch"},
        {settings->searches, "--search"},
        {settings->bill.tokens > 0.0, "--tokens"},
        {settings->model.rates.path, "--rates"},
    };

    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++)
        if (options[i].is_given)
            return options[i].name;
    return NULL;
}

static bool plan_a_recording(struct plan_settings *settings, struct error *error)
{
    struct scaled_request *request = &settings->from.request;
    const char *of_layout = plan_option_of_layout(settings);
    struct device_match match;
    struct architecture model = {0};

    if (of_layout)
        return error_set(error, ERROR_USAGE,
                         "%s plans a model by its config.json, not a recording: leave --from out, "
                         "or change --batch, --seq, --device, --devices, --tp or --pp",
                         of_layout);
    request->sequence = settings->model.sequence;
    request->devices = settings->model.devices;
    request->tensor = settings->model.tensor;
    request->pipeline = settings->model.pipeline;
    if (settings->model.device) {
        request->device = find_device_peak(settings->model.device, NULL, &match);
        if (!request->device)
            return error_set(error, ERROR_USAGE,
                             "'%s' is no device of the table: %s; 'flopledger device' lists them",
                             settings->model.device, match.how);
    }
    settings->from.page = &settings->page;
    if (settings->model.config) {
        if (!architecture_read(&model, settings->model.config, error))
            return false;
        request->model = &model;
    }
    return check_output(&settings->page,
                        &(struct output_inputs){&settings->from.path, 1, {settings->model.config}},
                        error) &&
           print_plan_from(&settings->from, error);
}

static const char *plan_option_of_bill(const struct plan_bill *bill)
{
    return bill->of_device_hour > 0.0  ? "--cost-per-hour"
           : bill->watts > 0.0         ? "--watts"
           : bill->interruptions > 0.0 ? "--interruptions"
                                       : NULL;
}

static bool run_plan(int count, char **arguments, struct error *error)
{
    struct plan_settings settings = {.page.is_whole = true,
                                     .bill = {.restart_minutes = 10, .checkpoint_seconds = 30},
                                     .model.zero = -1,
                                     .model.recompute = -1,
                                     .splits_sequence = true,
                                     .hides_gradients = true};
    struct architecture model = {0};
    struct plan_setting setting;
    bool is_done;

    if (!parse_options(plan_options, &settings, arguments, &count, error))
        return false;
    if (count > 0)
        return error_set(error, ERROR_USAGE,
                         "a plan reads no traces but that of --from, and '%s' was given",
                         arguments[0]);
    if (settings.bill.tokens <= 0.0 && plan_option_of_bill(&settings.bill))
        return error_set(error, ERROR_USAGE,
                         "%s is of use with --tokens: how many shall be trained on?",
                         plan_option_of_bill(&settings.bill));
    if (settings.model.step_time_ns > 0 && settings.model.context == 0)
        return error_set(error, ERROR_USAGE,
                         "--latency is of use with --context: how many tokens has a request?");
    if (settings.from.path)
        return plan_a_recording(&settings, error);
    if (settings.from.request.batch > 0 || settings.from.request.batch_factor > 0.0)
        return error_set(error, ERROR_USAGE,
                         "--batch changes a recorded pass: give --from TRACE, or --global-batch "
                         "and --micro-batch of a model");
    is_done = plan_needs(&settings, error) &&
              check_output(&settings.page,
                           &(struct output_inputs){
                               arguments, 0, {settings.model.config, settings.model.rates.path}},
                           error) &&
              rates_option_read(&settings.model.rates, &settings.model.peaks, error) &&
              plan_read(&setting, &model, &settings, error) &&
              (settings.model.context > 0 ? print_plan_serving(&settings, &setting, error)
                                          : print_plan(&settings, &setting, error));
    rates_option_clear(&settings.model.rates);
    return is_done;
}

const struct command plan_command = {
    .name = "plan",
    .summary = "step time, MFU and memory of a run, before it runs",
    .usage = "--model FILE --device NAME --global-batch N",
    .description =
        "Predicts what a training step will take from the config.json of a model, the device and "
        "the layout: step time, MFU, tokens a second, the memory of the fullest device, and the "
        "ledger: where the time will go, account by account.\n\n"
        "Without a layout all of them are tried: those that take the least time, what "
        "limits each, and those that lack memory.\n\n"
        "No run is needed. Each operator takes what its FLOPs or its bytes take at the rates "
        "that such devices reach, or at those of --rates; how far published runs lie from that: "
        "flopledger help docs/plan",
    .examples =
        "flopledger plan --model config.json --device \"H100 SXM\" --devices 512 --seq 8192 "
        "--global-batch 1024 --tp 8 --pp 4\n"
        "    a step of 512 devices with this layout\n"
        "flopledger plan --model config.json --device B200 --devices 64 --seq 8192 "
        "--global-batch 256\n"
        "    the ten best layouts",
    .options = plan_options,
    .run = run_plan,
};
