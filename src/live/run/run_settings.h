/* What `flopledger run` was asked for: by its options, and by a file of settings. */
#ifndef FLOPLEDGER_LIVE_RUN_RUN_SETTINGS_H
#define FLOPLEDGER_LIVE_RUN_RUN_SETTINGS_H

#include "base/core/arena.h"
#include "base/core/attributes.h"
#include "base/core/error.h"
#include "live/run/trigger_rules.h"

#include <stdbool.h>
#include <stdint.h>

/* Numbered from 1; zeroed: not asked for. */
struct step_window_asked {
    int64_t first;
    int64_t last;
};

struct run_settings {
    const char *config;      /* the file of settings, or NULL */
    const char *output;      /* the folder of all runs */
    const char *name;        /* of the run; NULL: the script's */
    const char *modules;     /* name patterns with commas between; NULL: all */
    const char *step_of;     /* "module", or a range; NULL: an optimizer's step */
    const char *module;      /* of `-m`, or NULL */
    const char *tensorboard; /* folder of event files, or NULL */
    const char *otlp;        /* the address of a collector of OpenTelemetry, or NULL */
    const char *fleet;       /* folder of the files of many runs, or NULL */
    const char *labels;      /* of the job there, or NULL */
    struct step_window_asked steps;
    int64_t every; /* 0: one window */
    struct trigger_wish triggers;
    bool records_shapes;
    bool records_stacks;
    bool records_memory;
    bool records_compiled; /* what torch.compile fused */
    bool records_captures; /* of CUDA graphs */
    bool marks_modules;
    bool shows_report;
    bool logs_to_wandb;
    bool logs_to_mlflow;

    /* From DeepSpeed's block `flops_profiler`. */
    bool is_enabled;
    bool has_deepspeed_block;
    bool is_detailed;
    int64_t module_depth; /* -1: all */
    int64_t top_modules;
    const char *output_file; /* NULL: standard output */
};

extern const struct run_settings default_run_settings;

/* "3", "3-5": for an option table and for the file; the first step that can be recorded is 2. */
bool parse_step_window(const char *text, void *field);
extern const char step_window_accepted[];

/* Takes what the JSON file `path` says: a block "flopledger", a block "flops_profiler" as DeepSpeed
 * has it, or the latter's keys alone; other blocks are DeepSpeed's and are passed over. Texts live
 * in `arena`. Errors name the file, the key and what is accepted. */
MUST_USE bool read_run_config(struct run_settings *settings, const char *path, struct arena *arena,
                              struct error *error);

#endif
