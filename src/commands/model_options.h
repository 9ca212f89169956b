/* The options of `flopledger flops --model`: a model by its config.json, without a trace. */
#ifndef FLOPLEDGER_COMMANDS_MODEL_OPTIONS_H
#define FLOPLEDGER_COMMANDS_MODEL_OPTIONS_H

#include "commands/peak_options.h"
#include "pipeline/model_settings.h"

/* One that counts a number of devices: into settings.model.FIELD. */
#define LAYOUT_OPTION(type, name_, field, help_)                                               \
    {                                                                                          \
        .name = name_, .kind = OPTION_INTEGER, .metavar = "N",                                 \
        .offset = offsetof(type, model.field), .minimum = 1, .maximum = 1 << 20, .help = help_ \
    }

/* Lines of an option table for a struct of settings `type` that has a struct model_settings
 * `model` and a struct rates_option `rates`.
 */
#define MODEL_OPTIONS(type)                                                                       \
    {.name = "model",                                                                             \
     .kind = OPTION_TEXT,                                                                         \
     .metavar = "FILE",                                                                           \
     .offset = offsetof(type, model.config),                                                      \
     .help = "no trace: count a model by its config.json, as Hugging Face writes it"},            \
        {.name = "batch",                                                                         \
         .kind = OPTION_INTEGER,                                                                  \
         .metavar = "N",                                                                          \
         .offset = offsetof(type, model.batch),                                                   \
         .minimum = 1,                                                                            \
         .maximum = INT32_MAX,                                                                    \
         .help = "with --model: samples of one step, of all devices together (default: 1)"},      \
        {.name = "phase",                                                                         \
         .kind = OPTION_CHOICE,                                                                   \
         .metavar = "PHASE",                                                                      \
         .choices = phase_names,                                                                  \
         .offset = offsetof(type, model.phase),                                                   \
         .help = "with --model: what one step costs: training (the default), or of an inference " \
                 "server decode or prefill"},                                                     \
        {.name = "context",                                                                       \
         .kind = OPTION_INTEGER,                                                                  \
         .metavar = "N",                                                                          \
         .offset = offsetof(type, model.context),                                                 \
         .minimum = 1,                                                                            \
         .maximum = 1 << 30,                                                                      \
         .help = "with --phase: tokens of each of the --batch requests so far, new ones "         \
                 "included; new are --seq of them (default: 1 in a decode, all in a prefill)"},   \
        {.name = "kv-dtype",                                                                      \
         .kind = OPTION_CHOICE,                                                                   \
         .metavar = "DTYPE",                                                                      \
         .choices = cache_type_names,                                                             \
         .offset = offsetof(type, model.cache_type),                                              \
         .help = "with --phase: type of the KV cache: model (as the config.json says, the "       \
                 "default), bf16, fp16, fp32 or fp8"},                                            \
        {.name = "seq",                                                                           \
         .kind = OPTION_INTEGER,                                                                  \
         .metavar = "N",                                                                          \
         .offset = offsetof(type, model.sequence),                                                \
         .minimum = 1,                                                                            \
         .maximum = 1 << 30,                                                                      \
         .help = "with --model: tokens of a sample"},                                             \
        {.name = "step-time",                                                                     \
         .kind = OPTION_PARSED,                                                                   \
         .metavar = "TIME",                                                                       \
         .offset = offsetof(type, model.step_time_ns),                                            \
         .parse = parse_step_time,                                                                \
         .accepts = step_time_accepted,                                                           \
         .help = "with --model: how long a step took (1.23s, 850ms), for rates and the MFU"},     \
        LAYOUT_OPTION(type, "devices", devices,                                                   \
                      "with --model: devices of the run (default: --dp times --tp times --pp)"),  \
        {.name = "device",                                                                        \
         .kind = OPTION_TEXT,                                                                     \
         .metavar = "NAME",                                                                       \
         .offset = offsetof(type, model.device),                                                  \
         .help = "with --model: the device, for its peak (see 'flopledger device')"},             \
        {.name = "peak",                                                                          \
         .kind = OPTION_PARSED,                                                                   \
         .metavar = "TFLOPS[:DTYPE]",                                                             \
         .offset = offsetof(type, model.peaks),                                                   \
         .parse = parse_peak,                                                                     \
         .accepts = peak_accepted,                                                                \
         .help =                                                                                  \
             "with --model: dense peak of the device in TFLOP/s (989.5) or FLOP/s (989.5e12)"},   \
        RATES_OPTION(type, rates,                                                                 \
                     "with --model: peaks that 'flopledger device --measure FILE' measured; "     \
                     "--peak goes before them"),                                                  \
        {.name = "dtype",                                                                         \
         .kind = OPTION_PARSED,                                                                   \
         .metavar = "DTYPE",                                                                      \
         .offset = offsetof(type, model.peaks),                                                   \
         .parse = parse_precision,                                                                \
         .accepts = precision_accepted,                                                           \
         .help = "with --model: type of the matmuls, for peak and memory (default: bf16)"},       \
        {.name = "recompute",                                                                     \
         .kind = OPTION_CHOICE,                                                                   \
         .metavar = "WHAT",                                                                       \
         .choices = recompute_names,                                                              \
         .offset = offsetof(type, model.recompute),                                               \
         .help =                                                                                  \
             "with --model: activation checkpointing: none (the default), selective (the core "   \
             "of attention) or full"},                                                            \
        LAYOUT_OPTION(type, "dp", data, "with --model: data parallel size (default: 1)"),         \
        LAYOUT_OPTION(type, "tp", tensor, "with --model: tensor parallel size (default: 1)"),     \
        LAYOUT_OPTION(type, "pp", pipeline, "with --model: pipeline stages (default: 1)"),        \
        LAYOUT_OPTION(type, "ep", expert,                                                         \
                      "with --model: expert parallel size, a part of --dp (default: 1)"),         \
    {                                                                                             \
        .name = "zero", .kind = OPTION_INTEGER, .metavar = "STAGE",                               \
        .offset = offsetof(type, model.zero), .minimum = 0, .maximum = 3,                         \
        .help = "with --model: what ZeRO or FSDP shards: 1 the optimizer, 2 gradients too, 3 "    \
                "weights too (default: 0, nothing)"                                               \
    }

#endif
