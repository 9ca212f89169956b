/* What one subcommand each asks of the pipeline: a struct of what is wanted, and a function that
 * does it. What several ask for (sessions, pages, ranks) has headers of its own. */
#ifndef FLOPLEDGER_PIPELINE_SUBCOMMANDS_H
#define FLOPLEDGER_PIPELINE_SUBCOMMANDS_H

#include "base/core/arena.h"
#include "base/core/attributes.h"
#include "base/core/error.h"
#include "cost/efficiency/peak_choice.h"
#include "cost/flops/user_formula.h"
#include "output/results/results.h"
#include "pipeline/analyzed_rank.h"
#include "pipeline/memory_settings.h"
#include "pipeline/model_settings.h"
#include "pipeline/page.h"
#include "pipeline/step_range.h"
#include "readers/step_record/job_records.h"
#include "sections/job/job_inputs.h"
#include "sections/model/module_cost_sections.h"
#include "sections/model/plan_sections.h"
#include "sections/model/scaled_parts.h"
#include "trace/trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* What the logs and records of a training job tell, from its files to the sections of its page. */

/* Which files, and what the user says of the job. */
struct job_report {
    char **paths; /* [count] */
    int count;
    const struct log_pattern *pattern; /* of --pattern; NULL: the formats that are known */
    struct peak_settings peaks;
    const char *device_name; /* NULL: not given */
    int64_t devices;         /* where the log does not say; 0: not given */
    double flops_per_token;  /* 0: not known */
    int64_t top;             /* rows of long tables; 0: all */
    bool shows_progress;
};

/* Adds the job to the results: files are read, attempts ordered, every second put to an account,
 * and each section written. */
MUST_USE bool make_job_report(struct results *results, struct job_reading *reading,
                              const struct job_report *wanted, struct error *error);

/* The report is of what could be read: true, or ERROR_PARTIAL that says what could not. */
bool check_job_reading(const struct job_reading *reading, struct error *error);

/* What `flopledger memory` prints: of snapshots of the CUDA allocator, of the allocations in
 * traces, and the files that InternEvo writes of them. */

/* Writes memory_trace/rank{r}_dp{d}_tp{t}/ for each trace, below the folder --output names
 * (default: here), and prints the names of the folders. */
MUST_USE bool write_internevo_folders(char **paths, int count,
                                      const struct memory_settings *settings, struct error *error);

/* Reads the traces (files, and folders of captures) and prints their page. */
MUST_USE bool print_memory_of_captures(char **paths, int count,
                                       const struct memory_settings *settings, struct error *error);

/* True where the file can be read and begins as a pickle, packed or not; and of standard input. */
bool is_snapshot_file(const char *path);

/* Reads the files and prints their page. */
MUST_USE bool print_memory_of_snapshots(char **paths, int count,
                                        const struct memory_settings *settings,
                                        struct error *error);

/* ---- what each module of a traced model computes, in the steps asked for ---- */

struct module_report {
    struct module_cost_view view; /* depth, top, pattern and sort: the rest is filled in here */
    struct step_range steps;
    struct user_formulas formulas;
    int64_t depth_asked; /* as the user gave them, for DeepSpeed's text; -1: not given */
    int64_t top_asked;
    bool is_deepspeed;
};

/* For file_reading.use: adds a rank; `context` is a const struct module_report. */
MUST_USE bool add_module_report(struct results *results, const struct trace *trace,
                                const void *context, struct error *error);

/* ---- `flopledger report` of a timeline of pipelines ---- */

/* Whether the file is such a timeline; a pipe never is. */
bool is_pipeline_timeline(const char *path);

struct pipeline_report {
    const struct page_settings *page;
    struct step_range steps;
    int64_t top; /* rows of long tables; 0: all, -1: as usual */
};

/* Prints what its stragglers cost. Errors: see read_pipeline_timeline and pipeline_replay_begin. */
MUST_USE bool print_pipeline_report(const char *path, const struct pipeline_report *wanted,
                                    struct error *error);

/* ---- `flopledger report` of a profile of Proton ---- */

/* Whether the file is one; a pipe never is. */
bool is_proton_profile(const char *path);

struct proton_report {
    const struct page_settings *page;
    const char *device_name; /* to measure against; NULL: what the file says */
    int64_t top;             /* rows of long tables; 0: all, -1: as usual */
};

/* Errors: see read_proton. */
MUST_USE bool print_proton_report(const char *path, const struct proton_report *wanted,
                                  struct error *error);
/* `flopledger inspect` of one. Errors: see read_proton. */
MUST_USE bool print_proton_inspection(const char *path, const struct page_settings *page,
                                      struct error *error);

/* ---- `flopledger ranks`: what hangs ---- */

struct hang_report {
    const struct page_settings *page;
    uint32_t top;    /* rows of long tables; UINT32_MAX: all */
    int64_t threads; /* 0: one for each core */
    bool shows_progress;
};

/* By the dumps of flight recorders in these files and folders. Errors: no operand (ERROR_USAGE), no
 * dump that can be used (ERROR_INPUT); ERROR_PARTIAL, behind the page, where some cannot. */
MUST_USE bool print_hang_of_dumps(char **operands, int count, const struct hang_report *wanted,
                                  struct error *error);

/* What `flopledger ranks --live` asks. */
struct live_question {
    const char *given; /* as of find_running_capture */
    const char *ras;   /* the address of NCCL's RAS; NULL: as NCCL itself */
    double apart_s;    /* between two looks */
    bool reads_stacks; /* of ranks on this machine that end no step */
};

/* By two looks at a job that runs. An error where neither RAS nor step records tell of it. */
MUST_USE bool print_hang_of_live_job(const struct live_question *question,
                                     const struct hang_report *wanted, struct error *error);

/* `flopledger run --tensorboard FOLDER`: event files that grow while a program is recorded. It
 * reads what the recorder writes, in a thread of this process: the recorded program knows nothing
 * of it, and does nothing for it. */

struct live_tensorboard;

/* Begins to watch the folder `capture` (both paths must live until the end) and to write below
 * `logs`: one run, or rank0, rank1, ... of several. NULL with `error` set where nothing can be
 * written there. */
MUST_USE struct live_tensorboard *live_tensorboard_start(const char *logs, const char *capture,
                                                         struct error *error);

/* Takes in what was written last, and ends. What went wrong meanwhile is said in one line on
 * standard error. `live` may be NULL. */
void live_tensorboard_finish(struct live_tensorboard *live);

/* Measures the device of this machine: matmuls by number format and shape, memory. */

/* Writes what was measured to `path`, which is none or such a file, and says it in `results`.
 * `kind`: "cpu", "cuda" or "auto". Errors: ERROR_USAGE where another file is there; ERROR_FAILURE
 * where Python has no torch, or no such device. */
MUST_USE bool measure_device(struct results *results, const char *path, const char *kind,
                             struct error *error);

/* ---- `flopledger compare` ---- */

struct comparison_report {
    struct page_settings page;
    struct attribution_options attribution;
    int64_t top;     /* as it was given; -1: not */
    int64_t threads; /* 0: one for each core */
    int64_t rank;    /* to print in full, beside a plan; -1: the one that others wait for */
    bool shows_progress;
    bool only_significant;
    const char *const *conditions; /* [condition_count] of --fail-if */
    size_t condition_count;
};

/* Errors (ERROR_USAGE): a condition that is none. */
MUST_USE bool check_conditions(const struct comparison_report *wanted, struct error *error);

/* Prints what changed from the run operands[0] to operands[1]. ERROR_CONDITION or ERROR_UNDECIDED,
 * behind the page, where the conditions say so. */
MUST_USE bool compare_two_runs(char **operands, const struct comparison_report *wanted,
                               struct error *error);

/* Prints the plan operands[0] beside the run operands[1]. */
MUST_USE bool compare_with_plan(char **operands, const struct comparison_report *wanted,
                                struct error *error);

/* ---- a window of full recording that a running job is asked for ---- */

struct traced_rank; /* private */

struct trace_request {
    struct arena arena;
    struct job_records records;
    const char *capture;
    char id[17];
    int64_t first_step;
    int64_t last_step;
    int64_t step_ns;
    struct traced_rank *ranks; /* those that lived */
    size_t rank_count;
};

void trace_request_clear(struct trace_request *request);

/* Asks the ranks of the capture (as find_running_capture takes it; NULL: the newest) for `steps`
 * steps, a moment ahead of where they are. `request` must be zeroed. */
MUST_USE bool trace_request_send(struct trace_request *request, const char *given, int64_t steps,
                                 struct error *error);

/* The step that the first of its ranks had ended when it was asked. */
int64_t trace_request_reached(const struct trace_request *request);

/* Until each rank has recorded, refused, or is gone; or until patience, or `timeout_s`, ends. 0: no
 * such limit. */
void trace_request_await(struct trace_request *request, int64_t timeout_s);

/* Prints which traces there are, and fails where a rank made none. */
MUST_USE bool trace_request_tell(const struct trace_request *request, struct error *error);

/* What this program was built with and has at hand: `flopledger --version --verbose`. */

void write_program_parts(FILE *output);

/* ---- `flopledger help PAGE` ---- */

struct spelling;

/* All pages by folder, each with its title. */
void write_help_pages(FILE *output);

/* Writes the page of this name ("ettr", "how-to/ettr" or "docs/how-to/ettr.md"), its links to other
 * pages as names of theirs; a word of the field leads to its metric. False where there is none; the
 * nearest name is then taken into `best`, in the arena. Where several folders have a page of the
 * name, the first of how-to, metrics, formats, tutorials. */
bool write_help_page(FILE *output, const char *name, struct arena *arena, struct spelling *best);

/* ---- what a model costs by its config.json, and what its run will take ---- */

/* Reads what the settings name, and prints the page. */
MUST_USE bool print_model_flops(const struct model_settings *settings,
                                const struct page_settings *page, struct error *error);

/* 0 and NULL: not given, but for ZeRO's stage and recomputation: -1. */
struct plan_wanted {
    struct model_settings model;
    char *recording;               /* a trace or a capture to plan from */
    struct scaled_request request; /* what shall be another there */
    int64_t chunks;
    int64_t context;
    int64_t micro;
    int64_t node;
    int64_t gradient_bytes;
    int64_t accumulated_bytes;
    int64_t shard_devices;
    int64_t offloaded_layers;
    double recomputed_share;
    unsigned recomputed; /* bits of enum plan_module */
    double network;      /* GB/s of a node */
    struct plan_bill bill;
    double launch; /* microseconds */
    double calibration;
    int attention;  /* an enum plan_attention */
    int allreduce;  /* of a server; 0: its own kernels, 1: NCCL's */
    int dispatcher; /* 0: copies of a token go to another node once; 1: each by itself */
    bool splits_sequence;
    bool hides_gradients;
    bool hides_weights;
    bool hides_tensor;
    bool gathers_each_pass;
    bool hides_exchange;
    bool fuses_experts;
    bool rotates_apart;
    bool predicts_further;
    bool reduces_whole;
    bool broadcasts_weights;
    bool crosses_by_one_card;
    bool is_blocking;
    bool is_uneven;
    bool delays_weights;
    bool is_eager;
    bool searches;
};

/* By the config.json of a model: a layout, or where none is given the best ones; or a server. */
MUST_USE bool print_plan(const struct plan_wanted *wanted, const struct page_settings *page,
                         struct error *error);
MUST_USE bool print_plan_of_recording(const struct plan_wanted *wanted,
                                      const struct page_settings *page, struct error *error);

/* ---- exports of the traces themselves, with what the ledger says of them as tracks ---- */

struct chrome_plan {
    struct attribution_options attribution;
    int64_t rank; /* only this one; -1: all */
    unsigned threads;
};

/* All events of the files as they stand there, and ours behind those of each; of several files,
 * numbers of processes and of flows are moved apart, and times onto one clock. `path`: packed with
 * gzip where it ends in ".gz". Errors: a file that is no trace of torch.profiler, or whose text is
 * needed twice and can't be had twice (standard input). ERROR_PARTIAL where some of it was damaged.
 */
MUST_USE bool export_chrome(const char *path, const struct input_files *files,
                            const struct chrome_plan *plan, struct error *error);

/* `flopledger export perfetto`: all events of all ranks of the files, whatever recorded them, in
 * Perfetto's own format. Packed with gzip where `path` ends in ".gz". */
MUST_USE bool export_perfetto(const char *path, const struct input_files *files,
                              const struct chrome_plan *plan, struct error *error);

#endif
