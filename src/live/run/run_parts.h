/* What `flopledger run` sets up for the program that it records, and says when that has ended. */
#ifndef FLOPLEDGER_LIVE_RUN_RUN_PARTS_H
#define FLOPLEDGER_LIVE_RUN_RUN_PARTS_H

#include "base/core/arena.h"
#include "base/core/attributes.h"
#include "base/core/error.h"

#include <stdbool.h>
#include <stdint.h>

/* ---- when a window is to be recorded by itself: the rules of `--on` ---- */

/* Zeroed: none. */
struct trigger_wish {
    const char *rules; /* as given: "step_time>1.5*median,mfu<0.8*median"; NULL: none */
    int64_t windows;   /* at most; 0: as usual */
    int64_t bytes;     /* of the traces of a rank, at most; 0: as usual */
};

/* Whether the recorder (python/flopledger/trigger_rules.py) understands all of them; for option
 * tables, where `field` is a const char *. */
bool parse_trigger_rules(const char *text, void *field);
extern const char trigger_rules_accepted[];

/* "500", "64K", "2G": bytes, for option tables, where `field` is an int64_t. */
bool parse_byte_limit(const char *text, void *field);
extern const char byte_limit_accepted[];

/* ---- what `flopledger run` was asked for: by its options, and by a file of settings ---- */

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

/* ---- why a program under `flopledger run` was not recorded, as far as it left signs ---- */

/* What python/flopledger/seen.py wrote. */
struct seen_signs {
    bool has_python; /* one that loaded the recorder's first file */
    bool has_torch;
    bool has_stopped;      /* by an error, which was said */
    bool has_no_extension; /* the recorder's parts in C are not there, or of another Python */
};

/* Removes the file of signs from the capture's folder. */
struct seen_signs collect_seen_signs(const char *capture);

/* Prints one message to standard error. `step_of`: what a step
 * was said to be, or NULL; `status`: of the program. */
void say_nothing_recorded(const struct seen_signs *signs, const char *step_of, char *const *command,
                          int status);

/* ---- the program that is recorded: found, started, and waited for ---- */

/* Runs `words` ([NULL-terminated], found on PATH) in this environment and waits. Signals that this
 * process gets meanwhile go to the program; those that a terminal sends reach it by themselves.
 * *status: its exit status, 128 + N where signal N ended it. */
MUST_USE bool run_program(char *const *words, int *status, struct error *error);

#endif
