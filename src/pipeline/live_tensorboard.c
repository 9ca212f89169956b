/* `flopledger run --tensorboard FOLDER`: event files that grow while a program is recorded. */
#include "base/core/array.h"
#include "base/core/bytes.h"
#include "base/core/invariant.h"
#include "base/io/folders.h"
#include "base/text/display_text.h"
#include "base/text/owned_text.h"
#include "output/exports/tensorboard_run.h"
#include "output/exports/tensorboard_summary.h"
#include "pipeline/exported_results.h"
#include "pipeline/rank_sections.h"
#include "pipeline/subcommands.h"
#include "readers/open_trace.h"
#include "readers/step_record/read_step_record.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Half a second: TensorBoard itself looks less often than that. */
enum { RUNS_MAX = 1024, LOOK_EVERY_MS = 500, SINGLE_RANK = -1 };

/* The event file of one rank. */
struct live_run {
    int64_t rank; /* SINGLE_RANK: the only one */
    FILE *output;
    uint32_t described; /* bits by enum live_scalar: the file tells already what they are */
};

/* A file of the capture that is read: a step record as it grows, or a trace once. */
struct watched_file {
    char *path;
    struct step_reader reader; /* closed of a trace, and of a record that can't be read */
};

struct live_tensorboard {
    const char *logs;
    const char *capture;
    pthread_t thread;
    atomic_bool is_ending;
    struct live_run runs[RUNS_MAX];
    size_t run_count;
    struct watched_file *files;
    size_t file_count;
    int64_t world_size; /* as the step records say; 1 until then */
    struct error error; /* the first */
};

static void keep_error(struct live_tensorboard *live, const struct error *error)
{
    if (live->error.class == ERROR_NONE)
        live->error = *error;
}

/* ---- event files ----------------------------------------------------------------------------- */

/* "x": a file that is there belongs to another run, and is never written over. The name is the
 * one that TensorBoard looks for (".tfevents."), with time and process as its own writers give
 * them. */
static FILE *open_run(struct live_tensorboard *live, int64_t rank)
{
    struct error error = {0};
    struct timespec now;
    char *folder, *path;
    FILE *output = NULL;

    clock_gettime(CLOCK_REALTIME, &now);
    folder = rank == SINGLE_RANK ? text_copy(live->logs)
                                 : text_format("%s/rank%" PRId64, live->logs, rank);
    path = text_format("%s/events.out.tfevents.%010lld.flopledger.%d", folder,
                       (long long)now.tv_sec, (int)getpid());
    if (make_folders(folder))
        output = fopen(path, "wxe");
    if (output) {
        event_file_begin(output, (double)now.tv_sec + (double)now.tv_nsec / 1e9);
    } else {
        error_set(&error, ERROR_FAILURE, "cannot write '%s': %s", path, strerror(errno));
        keep_error(live, &error);
    }
    free(folder);
    free(path);
    return output;
}

/* NULL where it can't be written, or there are too many. A run without an output stays in the
 * list, so that a folder that cannot be written is tried once and not twice a second. */
static struct live_run *live_tensorboard_run_of(struct live_tensorboard *live, int64_t rank)
{
    struct live_run *run;

    if (live->world_size <= 1)
        rank = SINGLE_RANK;
    for (size_t i = 0; i < live->run_count; i++)
        if (live->runs[i].rank == rank)
            return live->runs[i].output ? &live->runs[i] : NULL;
    if (live->run_count == RUNS_MAX)
        return NULL;
    run = &live->runs[live->run_count++];
    *run = (struct live_run){.rank = rank, .output = open_run(live, rank)};
    return run->output ? run : NULL;
}

/* ---- steps, one by one ----------------------------------------------------------------------- */

enum live_scalar {
    LIVE_STEP_TIME,
    LIVE_DATA_WAIT,
    LIVE_FORWARD,
    LIVE_BACKWARD,
    LIVE_OPTIMIZER,
    LIVE_TOKENS,
    LIVE_SAMPLES,
    LIVE_MEMORY,
    LIVE_LOSS,
};

static const struct {
    const char *tag;
    const char *description;
} live_scalars[] = {
    [LIVE_STEP_TIME] = {"live/step_time_ms", "from the end of the step before to the end of this "
                                             "one, as the host saw it"},
    [LIVE_DATA_WAIT] = {"live/data_wait_ms", "in the data loader"},
    [LIVE_FORWARD] = {"live/forward_ms", "forward, as the host saw it"},
    [LIVE_BACKWARD] = {"live/backward_ms", "backward, as the host saw it"},
    [LIVE_OPTIMIZER] = {"live/optimizer_ms", "in the optimizers' step, as the host saw it"},
    [LIVE_TOKENS] = {"live/tokens_per_second", "of this rank"},
    [LIVE_SAMPLES] = {"live/samples_per_second", "of this rank"},
    [LIVE_MEMORY] = {"live/memory_peak_bytes",
                     "the most that was allocated since the program began"},
    [LIVE_LOSS] = {"live/loss", "what the program read of the loss"},
};

/* The description stands with the first value of a tag: TensorBoard takes it from there. */
static void add_scalar(struct bytes *summary, struct live_run *run, enum live_scalar scalar,
                       double number)
{
    bool is_described = run->described >> scalar & 1;

    if (!isfinite(number))
        return;
    summary_add_scalar(summary, live_scalars[scalar].tag, number,
                       is_described ? NULL : live_scalars[scalar].description);
    run->described |= (uint32_t)1 << scalar;
}

static double in_ms(int64_t ns)
{
    return ns < 0 ? NAN : (double)ns / 1e6;
}

/* `duration_ns` not positive: not known. */
static double live_tensorboard_per_second(int64_t count, int64_t duration_ns)
{
    return count < 0 || duration_ns <= 0 ? NAN : (double)count * 1e9 / (double)duration_ns;
}

/* A first step has no known start: its duration would be the time since the program began. */
static void fill_step(struct bytes *summary, struct live_run *run, const struct step_entry *entry)
{
    bool is_whole = !(entry->flags & STEP_FLAG_START_UNKNOWN);
    int64_t duration_ns = is_whole ? entry->end_ns - entry->start_ns : -1;

    add_scalar(summary, run, LIVE_STEP_TIME, in_ms(duration_ns));
    add_scalar(summary, run, LIVE_DATA_WAIT, in_ms(entry->data_wait_ns));
    add_scalar(summary, run, LIVE_FORWARD, in_ms(entry->forward_ns));
    add_scalar(summary, run, LIVE_BACKWARD, in_ms(entry->backward_ns));
    add_scalar(summary, run, LIVE_OPTIMIZER, in_ms(entry->optimizer_ns));
    add_scalar(summary, run, LIVE_TOKENS, live_tensorboard_per_second(entry->tokens, duration_ns));
    add_scalar(summary, run, LIVE_SAMPLES,
               live_tensorboard_per_second(entry->samples, duration_ns));
    add_scalar(summary, run, LIVE_MEMORY,
               entry->memory_bytes < 0 ? NAN : (double)entry->memory_bytes);
}

/* Of other kinds of entries nothing is plotted but the loss. */
static void collect_entry(struct live_run *run, const struct step_reader *reader,
                          const struct step_entry *entry)
{
    bool is_step = entry->kind == STEP_ENTRY_STEP;
    int64_t at_ns = is_step ? entry->end_ns : entry->start_ns;
    SCOPED(bytes) summary = {0};

    if (is_step)
        fill_step(&summary, run, entry);
    else if (entry->kind == STEP_ENTRY_LOSS)
        add_scalar(&summary, run, LIVE_LOSS, entry->number);
    if (summary.length > 0)
        event_file_add(
            run->output,
            (struct event_time){(double)step_reader_unix_ns(reader, at_ns) / 1e9, entry->step},
            &summary);
}

/* Flushed after each look: TensorBoard reads the file while it grows. */
static void live_tensorboard_take_steps(struct live_tensorboard *live, struct watched_file *file)
{
    struct live_run *run = live_tensorboard_run_of(live, file->reader.header.rank);
    struct step_entry entry;

    if (!run)
        return;
    while (step_reader_next(&file->reader, &entry))
        collect_entry(run, &file->reader, &entry);
    (void)fflush(run->output);
}

/* ---- windows --------------------------------------------------------------------------------- */

/* "…/traces/rank3_dp3_tp0_pp0/steps4-8.pt.trace.json.gz" */
static int64_t rank_of_path(const char *path)
{
    const char *at = strstr(path, "/traces/rank");

    return at ? strtoll(at + strlen("/traces/rank"), NULL, 10) : 0;
}

/* The memory of this report lives for one window only; a long run has hundreds. */
static bool live_tensorboard_add_window(struct live_run *run, const char *path, struct error *error)
{
    const struct read_options options = {.threads = 1, .keeps_memory = true};
    const struct analysis_plan plan = {
        .attribution = {.ledger = {.first_step = INT64_MIN, .last_step = INT64_MAX, .device = -1}},
        .analysis = {.top = 10},
        .with_memory = true,
    };
    SCOPED(trace) trace = {0};
    SCOPED(analyzed_rank) analyzed = {0};
    SCOPED(results) results = {0};
    const char *report;

    results_init(&results);
    if (!open_trace(&trace, path, &options, error) ||
        !analyze_rank(&analyzed, &trace, &plan.attribution, error))
        return false;
    add_rank_sections(&results, &trace, &analyzed, &plan);
    report = print_rank_report(&results, 0, error);
    if (!report)
        return false;
    tensorboard_add_run(run->output, &results.ranks[0], report);
    /* TensorBoard reads the file while it grows: what waits in a buffer is not there for it. */
    (void)fflush(run->output);
    return true;
}

static void collect_window(struct live_tensorboard *live, const char *path)
{
    struct live_run *run = live_tensorboard_run_of(live, rank_of_path(path));
    struct error error = {0};

    if (run && !live_tensorboard_add_window(run, path, &error))
        keep_error(live, &error);
}

/* What stands beside a trace is written after it. capture.json is written after the trace it
 * stands beside: as new as the trace, it says that the trace is whole. */
static bool is_complete(const char *trace)
{
    const char *slash = strrchr(trace, '/');
    struct stat of_trace, of_side;
    bool is_there;
    char *side = text_format("%.*s/capture.json", (int)(slash - trace), trace);

    is_there = stat(trace, &of_trace) == 0 && stat(side, &of_side) == 0 &&
               (of_side.st_mtim.tv_sec > of_trace.st_mtim.tv_sec ||
                (of_side.st_mtim.tv_sec == of_trace.st_mtim.tv_sec &&
                 of_side.st_mtim.tv_nsec >= of_trace.st_mtim.tv_nsec));
    free(side);
    return is_there;
}

/* ---- the capture ----------------------------------------------------------------------------- */

static bool live_tensorboard_is_known(const struct live_tensorboard *live, const char *path)
{
    for (size_t i = 0; i < live->file_count; i++)
        if (strcmp(live->files[i].path, path) == 0)
            return true;
    return false;
}

static struct watched_file *live_tensorboard_add_file(struct live_tensorboard *live,
                                                      const char *path)
{
    ARRAY_ADD(live->files, live->file_count, (struct watched_file){.path = text_copy(path)});
    return &live->files[live->file_count - 1];
}

static void find_records(struct live_tensorboard *live, char **paths, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct step_reader reader = {0};

        if (live_tensorboard_is_known(live, paths[i]) || !step_reader_open(&reader, paths[i], NULL))
            continue; /* not yet whole: the next look tells */
        if (reader.header.world_size > live->world_size)
            live->world_size = reader.header.world_size;
        live_tensorboard_add_file(live, paths[i])->reader = reader;
    }
}

/* In the last look the program has ended, and what is there is all there will be: no waiting
 * for completeness. */
static void find_windows(struct live_tensorboard *live, char **paths, size_t count, bool is_last)
{
    for (size_t i = 0; i < count; i++) {
        if (live_tensorboard_is_known(live, paths[i]) || !(is_last || is_complete(paths[i])))
            continue;
        (void)live_tensorboard_add_file(live, paths[i]);
        collect_window(live, paths[i]);
    }
}

static void look(struct live_tensorboard *live, bool is_last)
{
    glob_t records;
    glob_t windows;

    find_paths(&records, live->capture, "steps/*");
    find_records(live, records.gl_pathv, records.gl_pathc);
    globfree(&records);
    for (size_t i = 0; i < live->file_count; i++)
        if (live->files[i].reader.is_open)
            live_tensorboard_take_steps(live, &live->files[i]);
    find_paths(&windows, live->capture, "traces/rank*/*.pt.trace.json.gz");
    find_windows(live, windows.gl_pathv, windows.gl_pathc, is_last);
    globfree(&windows);
}

/* A short pause instead of one wait for all: the end is asked for between looks and must not
 * take long. */
static void *watch(void *argument)
{
    struct live_tensorboard *live = argument;
    const struct timespec pause = {.tv_nsec = (long)LOOK_EVERY_MS * 1000000};

    while (!atomic_load(&live->is_ending)) {
        look(live, false);
        nanosleep(&pause, NULL);
    }
    return NULL;
}

/* ---- from start to end ----------------------------------------------------------------------- */

/* Before the program is started: a folder that cannot be written to is no reason to lose a run
 * later. */
static bool can_write(const char *logs, struct error *error)
{
    char *folder = text_copy(logs);
    bool is_writable = make_folders(folder) && access(folder, W_OK) == 0;

    if (!is_writable)
        error_set(error, ERROR_FAILURE, "cannot write to '%s': %s", logs, strerror(errno));
    free(folder);
    return is_writable;
}

/* Signals are blocked while the thread starts, which inherits the mask: Ctrl-C must reach the
 * thread that passes it on to the program. */
struct live_tensorboard *live_tensorboard_start(const char *logs, const char *capture,
                                                struct error *error)
{
    struct live_tensorboard *live;
    sigset_t all, before;
    int failure;

    if (!can_write(logs, error))
        return NULL;
    live = require_memory(calloc(1, sizeof *live));
    live->logs = logs;
    live->capture = capture;
    live->world_size = 1;
    sigfillset(&all); /* signals are for the thread that waits for the program */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    failure = pthread_create(&live->thread, NULL, watch, live);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failure == 0)
        return live;
    free(live);
    error_set(error, ERROR_FAILURE, "cannot start a thread: %s", strerror(failure));
    return NULL;
}

/* After the thread has ended one more look, in this thread: nothing that was written between
 * its last look and the end is missed. */
void live_tensorboard_finish(struct live_tensorboard *live)
{
    struct error error = {0};

    if (!live)
        return;
    atomic_store(&live->is_ending, true);
    pthread_join(live->thread, NULL);
    look(live, true);
    for (size_t i = 0; i < live->run_count; i++) {
        bool is_broken = live->runs[i].output && ferror(live->runs[i].output);

        if (live->runs[i].output && (fclose(live->runs[i].output) != 0 || is_broken)) {
            error_set(&error, ERROR_FAILURE, "cannot write below '%s': %s", live->logs,
                      strerror(errno));
            keep_error(live, &error);
        }
    }
    /* Told once at the end: a full disk must not stop the training, nor fill its terminal. */
    if (live->error.class != ERROR_NONE)
        (void)fprintf(stderr, "flopledger: for TensorBoard: %s\n",
                      show_text(live->error.message).text);
    for (size_t i = 0; i < live->file_count; i++) {
        step_reader_clear(&live->files[i].reader);
        free(live->files[i].path);
    }
    free(live->files);
    free(live);
}
