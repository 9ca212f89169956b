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
#include "pipeline/read_files.h"
#include "pipeline/step_range.h"
#include "readers/step_record/job_records.h"
#include "sections/comparison/run_profile.h"
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

/* The dumps of flight recorders that a command line names: files, and those in folders. */

struct dump_file {
    char *path;
    int64_t bytes;
};

/* A zeroed one is empty. */
struct dump_files {
    struct dump_file *files; /* [count]: in the order given, those of a folder by name */
    size_t count;
    int64_t bytes; /* in all */
};

/* Files given by name are taken as they are; of a folder those that begin as a dump does and whose
 * name holds a number. Errors: no operand (ERROR_USAGE), a folder that cannot be read or holds no
 * dump (ERROR_INPUT). */
MUST_USE bool find_dump_files(struct dump_files *files, char **operands, int count,
                              struct error *error);

void dump_files_clear(struct dump_files *files);

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

/* ---- reads the traces of one run and profiles all ranks together ---- */

struct profile_reading {
    struct attribution_options plan;
    unsigned threads;
    bool shows_progress;
    const char *name;        /* "A": of the run, in what is said of its files */
    struct results *results; /* files of a folder that cannot be used become its problems */
};

/* Sets `profile`, zeroed, to what the file or folder `operand` holds. */
MUST_USE bool read_run_profile(struct run_profile *profile, struct files_read *outcome,
                               char *operand, const struct profile_reading *reading,
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
    double network; /* GB/s of a node */
    struct plan_bill bill;
    double launch; /* microseconds */
    int attention; /* an enum plan_attention */
    bool splits_sequence;
    bool hides_gradients;
    bool hides_weights;
    bool hides_tensor;
    bool is_uneven;
    bool is_eager;
    bool searches;
};

/* By the config.json of a model: a layout, or where none is given the best ones; or a server. */
MUST_USE bool print_plan(const struct plan_wanted *wanted, const struct page_settings *page,
                         struct error *error);
MUST_USE bool print_plan_of_recording(const struct plan_wanted *wanted,
                                      const struct page_settings *page, struct error *error);

#endif
