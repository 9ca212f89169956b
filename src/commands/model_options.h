/* The options of `flopledger flops --model`: a model by its config.json, without a trace. */
#ifndef FLOPLEDGER_COMMANDS_MODEL_OPTIONS_H
#define FLOPLEDGER_COMMANDS_MODEL_OPTIONS_H

#include "commands/attribution_options.h"
#include "pipeline/model_settings.h"

/* One that counts a number of devices: into settings.model.FIELD. */
#define LAYOUT_OPTION(type, name_, field, help_) \
    INTEGER_OPTION(name_, offsetof(type, model.field), "N", 1, 1 << 20, help_)

/* Lines of an option table for a struct of settings `type` that has a struct model_settings
 * `model` and a struct rates_option `rates`.
 */
#define MODEL_OPTIONS(type)                                                                        \
    TEXT_OPTION("model", offsetof(type, model.config), "FILE",                                     \
                "no trace: count a model by its config.json, as Hugging Face writes it"),          \
        INTEGER_OPTION("batch", offsetof(type, model.batch), "N", 1, INT32_MAX,                    \
                       "with --model: samples of one step, of all devices together (default: 1)"), \
        CHOICE_OPTION(                                                                             \
            "phase", offsetof(type, model.phase), "PHASE", phase_names,                            \
            "with --model: what one step costs: training (the default), or of an inference "       \
            "server decode or prefill"),                                                           \
        INTEGER_OPTION(                                                                            \
            "context", offsetof(type, model.context), "N", 1, 1 << 30,                             \
            "with --phase: tokens of each of the --batch requests so far, new ones "               \
            "included; new are --seq of them (default: 1 in a decode, all in a prefill)"),         \
        CHOICE_OPTION("kv-dtype", offsetof(type, model.cache_type), "DTYPE", cache_type_names,     \
                      "with --phase: type of the KV cache: model (as the config.json says, the "   \
                      "default), bf16, fp16, fp32 or fp8"),                                        \
        INTEGER_OPTION("seq", offsetof(type, model.sequence), "N", 1, 1 << 30,                     \
                       "with --model: tokens of a sample"),                                        \
        PARSED_OPTION("step-time", offsetof(type, model.step_time_ns), "TIME", step_time,          \
                      "with --model: how long a step took (1.23s, 850ms), for rates and the MFU"), \
        LAYOUT_OPTION(type, "devices", devices,                                                    \
                      "with --model: devices of the run (default: --dp times --tp times --pp)"),   \
        TEXT_OPTION("device", offsetof(type, model.device), "NAME",                                \
                    "with --model: the device, for its peak (see 'flopledger device')"),           \
        PARSED_OPTION(                                                                             \
            "peak", offsetof(type, model.peaks), "TFLOPS[:DTYPE]", peak,                           \
            "with --model: dense peak of the device in TFLOP/s (989.5) or FLOP/s (989.5e12)"),     \
        RATES_OPTION(type, rates,                                                                  \
                     "with --model: peaks that 'flopledger device --measure FILE' measured; "      \
                     "--peak goes before them"),                                                   \
        PARSED_OPTION("dtype", offsetof(type, model.peaks), "DTYPE", precision,                    \
                      "with --model: type of the matmuls, for peak and memory (default: bf16)"),   \
        CHOICE_OPTION(                                                                             \
            "recompute", offsetof(type, model.recompute), "WHAT", recompute_names,                 \
            "with --model: activation checkpointing: none (the default), selective (the core "     \
            "of attention) or full"),                                                              \
        LAYOUT_OPTION(type, "dp", data, "with --model: data parallel size (default: 1)"),          \
        LAYOUT_OPTION(type, "tp", tensor, "with --model: tensor parallel size (default: 1)"),      \
        LAYOUT_OPTION(type, "pp", pipeline, "with --model: pipeline stages (default: 1)"),         \
        LAYOUT_OPTION(type, "ep", expert,                                                          \
                      "with --model: expert parallel size, a part of --dp (default: 1)"),          \
        INTEGER_OPTION(                                                                            \
            "zero", offsetof(type, model.zero), "STAGE", 0, 3,                                     \
            "with --model: what ZeRO or FSDP shards: 1 the optimizer, 2 gradients too, 3 "         \
            "weights too (default: 0, nothing)")

#endif
