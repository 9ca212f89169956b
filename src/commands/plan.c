/* `flopledger plan --model`: what a training step will take, before it runs. */
#include "commands/command.h"
#include "commands/model_options.h"
#include "commands/page_options.h"
#include "pipeline/subcommands.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const char *const attention_names[] = {"flash",   "flash1", "flash2",
                                              "unfused", "flash8", NULL};
static const char *const allreduce_names[] = {"one-shot", "nccl", NULL};
static const char *const dispatcher_names[] = {"deepep", "alltoall", NULL};

static const char positive_number_accepted[] = "a number of more than 0 (12.5, 15e12 or 15T)";

static const char batch_change_accepted[] =
    "a factor (2x, 0.5x) or the samples that a device has in a pass (8)";

/* "2x" is a factor, "8" a number of samples: only the latter has to be whole. */
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

static const char recomputed_modules_accepted[] = "parts of a layer, with commas between, of these:"
#define PLAN_MODULE(id, name, needs) " " name
#include "cost/plan/plan_module_list.def"
#undef PLAN_MODULE
    ;

static bool parse_recomputed_modules(const char *text, void *field)
{
    unsigned *all = field;

    /* A name twice is the same as once, as in Megatron-Core's list. */
    for (const char *at = text;; at++) {
        size_t length = strcspn(at, ",");
        int i = 0;

        while (i < PLAN_MODULE_COUNT && (strlen(plan_module_name(i)) != length ||
                                         strncmp(plan_module_name(i), at, length) != 0))
            i++;
        if (i == PLAN_MODULE_COUNT)
            return false;
        *all |= 1U << i;
        at += length;
        if (*at == '\0')
            return true;
    }
}

struct plan_settings {
    struct page_settings page;
    struct rates_option rates;
    struct rates_option recorded_rates;
    struct plan_wanted wanted;
};

#define FIELD(name) offsetof(struct plan_settings, wanted.name)
#define PLAN_NUMBER(name_, field, most, help_) \
    INTEGER_OPTION(name_, FIELD(field), "N", 1, most, help_)

#define PLAN_POSITIVE(name_, field, unit, help_) \
    PARSED_OPTION(name_, FIELD(field), unit, positive_number, help_)

static const struct option plan_options[] = {
    TEXT_OPTION("model", FIELD(model.config), "FILE",
                "the model's config.json, as Hugging Face writes it"),
    TEXT_OPTION("from", FIELD(recording), "TRACE",
                "plan from a recorded run (a trace or a capture): with --batch, --seq, --device, "
                "--devices, --tp or --pp (with --vp and --global-batch) as what shall be another"),
    PARSED_OPTION(
        "batch", FIELD(request), "N|FACTORx", batch_change,
        "with --from: samples of a device in a pass of the model, or how many times as many "
        "(2x)"),
    TEXT_OPTION("device", FIELD(model.device), "NAME",
                "what the devices are (\"H100 SXM\"; see 'flopledger device')", .letter = 'd'),
    RATES_OPTION(struct plan_settings, rates,
                 "what matmuls and memory of such a device reached, as 'flopledger device "
                 "--measure FILE' measured it (default: what its generation reaches)"),
    TEXT_OPTION("recorded-rates", offsetof(struct plan_settings, recorded_rates.path), "FILE",
                "with --from and --rates: the same of the device or processor that recorded it; of "
                "a processor both are needed"),
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
    FLAG_OPTION("search", FIELD(searches),
                "try all layouts with what is given of them (the default where nothing is)"),
    CHOICE_OPTION(
        "recompute", FIELD(model.recompute), "WHAT", recompute_names,
        "activation checkpointing: none (the default), selective (the core of attention) or "
        "full"),
    INTEGER_OPTION(
        "zero", FIELD(model.zero), "STAGE", 0, 3,
        "what ZeRO or FSDP shards: 1 the optimizer, 2 gradients too, 3 weights too (default: "
        "0, nothing)"),
    PLAN_NUMBER("offload-layers", offloaded_layers, 1 << 16,
                "layers whose activations the host's memory keeps, sent beside the work"),
    PLAN_NUMBER("shard-devices", shard_devices, 1 << 20,
                "data ranks that share what ZeRO or FSDP shards, each such group the same (hybrid "
                "sharding; default: all)"),
    PARSED_OPTION("recompute-modules", FIELD(recomputed), "NAMES", recomputed_modules,
                  "with --recompute selective: of what, by Megatron-Core's names, with commas "
                  "between: core_attn (the default), layernorm, moe_act, mla_up_proj, mlp, moe, "
                  "shared_experts; or op: torchtitan's, all but attention and every other matmul"),
    PLAN_POSITIVE("recompute-share", recomputed_share, "SHARE",
                  "with --recompute full: of how many of the layers, as a share (default: 1)"),
    PARSED_OPTION(
        "dtype", FIELD(model.peaks), "DTYPE", precision,
        "type of the layers' matmuls (default: bf16); fp8 and fp4 leave attention and logits "
        "in bf16"),
    CHOICE_OPTION("attention", FIELD(attention), "KERNEL", attention_names,
                  "flash (the fastest fused kernel, the default), flash2 (FlashAttention-2, "
                  "PyTorch's own), flash1 (kernels of before the device, Triton's), flash8 (as "
                  "flash, its products in 8 bits) or unfused: scores go to memory and back"),
    FLAG_OPTION("eager", FIELD(is_eager),
                "norms and activations are not fused, neither by hand nor by a compiler"),
    NEGATED_OPTION("no-sequence-parallel", FIELD(splits_sequence),
                   "norms and dropout of tensor parallelism work on whole sequences"),
    NEGATED_OPTION("no-overlap", FIELD(hides_gradients),
                   "gradients are reduced behind the backward, not while it runs"),
    FLAG_OPTION("overlap-gather", FIELD(hides_weights),
                "weights that ZeRO 1 or 2 shards are gathered while the next forward runs"),
    FLAG_OPTION("reshard", FIELD(gathers_each_pass),
                "--zero 3 shards weights and gradients between micro-batches of --pp, too"),
    FLAG_OPTION("all-reduce-gradients", FIELD(reduces_whole),
                "each device gets all gradients, also where ZeRO shards the optimizer"),
    FLAG_OPTION("broadcast-weights", FIELD(broadcasts_weights),
                "those are sent by one broadcast of each device that has a shard, not gathered"),
    FLAG_OPTION("overlap-tp", FIELD(hides_tensor),
                "collectives of tensor parallelism run beside the matmuls, in pieces"),
    FLAG_OPTION("overlap-ep", FIELD(hides_exchange),
                "tokens are exchanged while another micro-batch is worked on"),
    CHOICE_OPTION("dispatcher", FIELD(dispatcher), "KIND", dispatcher_names,
                  "deepep (a token goes to a node once, the default) or alltoall: once for each of "
                  "its experts"),
    FLAG_OPTION("unfused-rotation", FIELD(rotates_apart),
                "queries and keys are turned by several kernels, as Megatron-Core does for YaRN"),
    FLAG_OPTION("fused-experts", FIELD(fuses_experts),
                "activations, casts, biases and padding of experts are part of their matmuls' "
                "kernels"),
    FLAG_OPTION("blocking", FIELD(is_blocking),
                "each kernel is waited for before the next is launched (CUDA_LAUNCH_BLOCKING=1)"),
    FLAG_OPTION("mtp", FIELD(predicts_further),
                "the model's layers that predict further tokens are trained, too"),
    FLAG_OPTION("zero-bubble", FIELD(delays_weights),
                "gradients of weights wait until a stage of --pp has nothing else to do (ZB-H1)"),
    FLAG_OPTION("uneven-stages", FIELD(is_uneven),
                "stages may differ by a layer where --pp does not divide the layers"),
    PLAN_NUMBER("node", node, 1 << 16,
                "devices that fast links join (default: 8; a rack of 72 GB200, a pod of TPUs)"),
    PLAN_POSITIVE("network", network, "GB/S",
                  "GB/s of a node into the network, one way (default: by device)"),
    FLAG_OPTION("no-pxn", FIELD(crosses_by_one_card),
                "groups of every second or fourth device, of those that share network cards, reach "
                "one card (NCCL before 2.12, or NCCL_PXN_DISABLE=1)"),
    PLAN_POSITIVE("launch", launch, "US",
                  "µs that the host takes to launch a kernel (default: 10)"),
    PLAN_POSITIVE("calibrate", calibration, "RATIO",
                  "what a run of yours like this took, by what was planned for it (1.12): all "
                  "but FLOPs at the peak follows it"),
    PLAN_POSITIVE("tokens", bill.tokens, "N",
                  "tokens to train on (15e12): says days, device-hours and energy"),
    PLAN_POSITIVE("cost-per-hour", bill.of_device_hour, "MONEY",
                  "with --tokens: what a device-hour costs, for the cost of the training"),
    PLAN_POSITIVE("watts", bill.watts, "W",
                  "with --tokens: what a device draws, with its share of all around it, for the "
                  "energy of the training (default: the board alone)"),
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
    PARSED_OPTION(
        "latency", FIELD(model.step_time_ns), "TIME", step_time,
        "with --context: what a token may take (30ms); says how many requests that allows"),
    CHOICE_OPTION("allreduce", FIELD(allreduce), "KERNEL", allreduce_names,
                  "with --context: one-shot (servers' own kernel in an NVLink domain, the default) "
                  "or nccl"),
    PLAN_NUMBER("gradient-bytes", gradient_bytes, 8, "bytes of a gradient (default: 4)"),
    PLAN_NUMBER("accumulated-bytes", accumulated_bytes, 64,
                "bytes read and written to add a micro-batch's gradient to the others (default: "
                "twice those of a gradient, as a fused kernel does)"),
    PAGE_OPTIONS(struct plan_settings),
    {0},
};

/* The last of the list is for training only. */
static bool plan_needs(const struct plan_settings *settings, struct error *error)
{
    const struct {
        bool is_given;
        const char *name;
        const char *what;
    } needed[] = {
        {settings->wanted.model.config, "--model FILE", "the config.json of the model"},
        {settings->wanted.model.device, "--device NAME", "what it runs on"},
        {settings->wanted.model.batch > 0, "--global-batch N", "samples of a step of all devices"},
    };
    size_t count = sizeof needed / sizeof needed[0] - (settings->wanted.model.context > 0 ? 1 : 0);

    for (size_t i = 0; i < count; i++)
        if (!needed[i].is_given)
            return error_set(error, ERROR_USAGE, "%s is missing: %s", needed[i].name,
                             needed[i].what);
    return true;
}

/* The first option in `asked` (names and values as parse_options_noting leaves them) that is in
 * `names`, which ends with NULL, or, without is_among, that is not. */
static const char *plan_option_asked(const struct bytes *asked, const char *const names[],
                                     bool is_among)
{
    const char *end = (const char *)asked->bytes + asked->length;

    for (const char *at = (const char *)asked->bytes; at < end; at += strlen(at) + 1) {
        size_t i = 0;

        while (names[i] && strcmp(names[i], at) != 0)
            i++;
        if ((names[i] != NULL) == is_among)
            return at;
        at += strlen(at) + 1;
    }
    return NULL;
}

/* A recording has its layout and its kernels already; an option that would choose one is refused by
 * name and not ignored. */
static bool plan_a_recording(struct plan_settings *settings, const struct bytes *asked,
                             struct error *error)
{
    static const char *const read[] = {
        "from", "model", "batch",        "seq",   "device",         "devices", "tp",
        "pp",   "vp",    "global-batch", "rates", "recorded-rates", NULL};
    const char *of_model = plan_option_asked(asked, read, false);
    struct peak_settings recorded = {.rates = NULL};

    if (of_model)
        return error_set(
            error, ERROR_USAGE,
            "--%s plans a model by its config.json, not a recording: leave --from out, or "
            "change --batch, --seq, --device, --devices, --tp, --pp, --vp or --global-batch",
            of_model);
    if (!check_output(&settings->page,
                      &(struct output_inputs){&settings->wanted.recording,
                                              1,
                                              {settings->wanted.model.config, settings->rates.path,
                                               settings->recorded_rates.path}},
                      error) ||
        !rates_option_read(&settings->rates, &settings->wanted.model.peaks, error) ||
        !rates_option_read(&settings->recorded_rates, &recorded, error))
        return false;
    settings->wanted.request.rates = settings->wanted.model.peaks.rates;
    settings->wanted.request.recorded_rates = recorded.rates;
    return print_plan_of_recording(&settings->wanted, &settings->page, error);
}

/* A server has no batch of its own, no stages and no optimizer: what would change them is refused,
 * so that no answer is of another run than was meant. */
static bool plan_reads_for_serving(const struct bytes *asked, struct error *error)
{
    static const char *const read[] = {"model", "device",  "tp",    "context",   "latency", "rates",
                                       "node",  "network", "dtype", "allreduce", NULL};
    const char *of_training = plan_option_asked(asked, read, false);

    return !of_training ||
           error_set(error, ERROR_USAGE,
                     "--%s is of a training step, and --context plans inference: leave one of them "
                     "out",
                     of_training);
}

static bool plan_is_asked(const struct bytes *asked, const char *name)
{
    return plan_option_asked(asked, (const char *const[]){name, NULL}, true) != NULL;
}

/* Options that change nothing where nothing interrupts; NULL: none of them is given. */
static const char *plan_option_of_interruptions(const struct bytes *asked)
{
    static const char *const names[] = {"restart", "checkpoint-time", "checkpoint-every"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (plan_is_asked(asked, names[i]))
            return names[i];
    return NULL;
}

static const char *plan_option_of_bill(const struct plan_bill *bill)
{
    return bill->of_device_hour > 0.0  ? "--cost-per-hour"
           : bill->watts > 0.0         ? "--watts"
           : bill->interruptions > 0.0 ? "--interruptions"
                                       : NULL;
}

/* Each wrong pair of options has a sentence of its own, and all are refused before a file is
 * read: a plan that leaves an option out without a word would be of another run than was
 * meant. */
static bool plan_options_agree(const struct plan_wanted *wanted, const struct bytes *asked,
                               struct error *error)
{
    if (wanted->bill.tokens <= 0.0 && plan_option_of_bill(&wanted->bill))
        return error_set(error, ERROR_USAGE,
                         "%s is of use with --tokens: how many shall be trained on?",
                         plan_option_of_bill(&wanted->bill));
    if (wanted->bill.interruptions <= 0.0 && plan_option_of_interruptions(asked))
        return error_set(error, ERROR_USAGE,
                         "--%s is of use with --interruptions: how many has a device in a day?",
                         plan_option_of_interruptions(asked));
    if (wanted->model.context == 0 &&
        (wanted->model.step_time_ns > 0 || plan_is_asked(asked, "allreduce")))
        return error_set(error, ERROR_USAGE,
                         "--%s is of use with --context: how many tokens has a request?",
                         wanted->model.step_time_ns > 0 ? "latency" : "allreduce");
    if (wanted->recomputed != 0 && wanted->model.recompute != RECOMPUTE_SELECTIVE)
        return error_set(error, ERROR_USAGE,
                         "--recompute-modules is of parts of layers: give --recompute selective, "
                         "too");
    if (wanted->recomputed_share > 0.0 && wanted->model.recompute != RECOMPUTE_FULL)
        return error_set(error, ERROR_USAGE,
                         "--recompute-share is of whole layers: give --recompute full, too");
    if (wanted->recomputed_share > 1.0)
        return error_set(error, ERROR_USAGE,
                         "--recompute-share is %g, more than all layers: give at most 1",
                         wanted->recomputed_share);
    if (wanted->shard_devices > 0 && wanted->model.zero < 1)
        return error_set(error, ERROR_USAGE,
                         "--shard-devices is of what ZeRO shards: give --zero 1, 2 or 3, too");
    return wanted->model.context == 0 || plan_reads_for_serving(asked, error);
}

/* Numbers that no run has are mistyped, and what is computed from them means nothing. */
static bool plan_numbers_can_be(const struct plan_wanted *wanted, struct error *error)
{
    const struct plan_bill *bill = &wanted->bill;
    const struct {
        const char *name;
        double number; /* 0: not given */
        double least;
        double most;
        const char *of_what;
    } numbers[] = {
        {"tokens", bill->tokens, 1, 1e18, "tokens"},
        {"cost-per-hour", bill->of_device_hour, 1e-6, 1e6, "for an hour of one device"},
        {"watts", bill->watts, 1, 1e5, "W of one device"},
        {"interruptions", bill->interruptions, 1e-9, 1e3, "of one device in a day"},
        {"restart", bill->restart_minutes, 1e-3, 1e5, "minutes"},
        {"checkpoint-time", bill->checkpoint_seconds, 1e-3, 1e6, "seconds"},
        {"checkpoint-every", bill->checkpoint_interval, 1e-3, 1e6, "minutes"},
        {"network", wanted->network, 1e-2, 1e5, "GB/s"},
        {"launch", wanted->launch, 1e-3, 1e5, "µs"},
        {"calibrate", wanted->calibration, 0.1, 10, "times as long as planned"},
    };

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (numbers[i].number > 0.0 &&
            !(numbers[i].number >= numbers[i].least && numbers[i].number <= numbers[i].most))
            return error_set(error, ERROR_USAGE, "--%s is %g, and can be %g to %g %s",
                             numbers[i].name, numbers[i].number, numbers[i].least, numbers[i].most,
                             numbers[i].of_what);
    return true;
}

/* The two plans have nothing in common: a recording is scaled, a model is counted. */
static bool plan_as_asked(struct plan_settings *settings, const struct bytes *asked,
                          struct error *error)
{
    if (settings->wanted.recording)
        return plan_a_recording(settings, asked, error);
    if (settings->recorded_rates.path)
        return error_set(error, ERROR_USAGE,
                         "--recorded-rates is of a recording: give --from TRACE, or --rates alone");
    if (!plan_numbers_can_be(&settings->wanted, error) ||
        !plan_options_agree(&settings->wanted, asked, error))
        return false;
    /* A factor has no meaning without a recorded pass to multiply. */
    if (settings->wanted.request.batch > 0 || settings->wanted.request.batch_factor > 0.0)
        return error_set(error, ERROR_USAGE,
                         "--batch changes a recorded pass: give --from TRACE, or --global-batch "
                         "and --micro-batch of a model");
    return plan_needs(settings, error) &&
           check_output(&settings->page,
                        &(struct output_inputs){
                            NULL, 0, {settings->wanted.model.config, settings->rates.path}},
                        error) &&
           rates_option_read(&settings->rates, &settings->wanted.model.peaks, error) &&
           print_plan(&settings->wanted, &settings->page, error);
}

static bool run_plan(int count, char **arguments, struct error *error)
{
    struct plan_settings settings = {
        .page.is_whole = true,
        .wanted = {.bill = {.restart_minutes = 10, .checkpoint_seconds = 30},
                   .model = {.zero = -1, .recompute = -1},
                   .splits_sequence = true,
                   .hides_gradients = true}};
    struct bytes asked = {0};
    bool is_done =
        parse_options_noting(plan_options, &settings,
                             &(struct noted_arguments){arguments, &count, &asked}, error) &&
        (count == 0 || error_set(error, ERROR_USAGE,
                                 "a plan reads no traces but that of --from, and '%s' was given",
                                 arguments[0])) &&
        plan_as_asked(&settings, &asked, error);

    rates_option_clear(&settings.rates);
    rates_option_clear(&settings.recorded_rates);
    bytes_clear(&asked);
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
