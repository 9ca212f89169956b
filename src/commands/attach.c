/* `flopledger attach PID...`: records a training program that already runs: by our recorder, which
 * is put into it for that time, or through the profiler that is in PyTorch itself. */
#include "base/core/arena.h"
#include "base/core/attributes.h"
#include "base/text/display_text.h"
#include "commands/command.h"
#include "commands/recording_options.h"
#include "live/attach/attach_inside.h"
#include "live/attach/attachment.h"
#include "pipeline/capture_run.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

struct attach_settings {
    struct attach_wish wish;
    const char *output;
    const char *name;
    const char *job;
    bool shows_report;
};

#define FIELD(name) offsetof(struct attach_settings, name)

enum { DEFAULT_STEPS = 5, DEFAULT_MILLISECONDS = 2000 };

static const struct option attach_options[] = {
    INTEGER_OPTION("steps", FIELD(wish.steps), "N", 1, 1000,
                   "record the next N steps, as 'flopledger run' does (default: 5)", .letter = 's'),
    TRIGGER_OPTIONS(struct attach_settings, wish.triggers, "1"),
    FLAG_OPTION(
        "watch", FIELD(wish.watches),
        "time each step and record none, until Ctrl-C: 'flopledger top PID' shows them; with "
        "--on, windows that the rules ask for"),
    TEXT_OPTION(
        "job", FIELD(job), "NAME",
        "all processes on this machine of a job: the value of FLOPLEDGER_JOB, SLURM_JOB_ID, "
        "SLURM_JOB_NAME or TORCHELASTIC_RUN_ID in their environment"),
    FLAG_OPTION("memory", FIELD(wish.records_memory),
                "record what is allocated and freed and what for, and print it at the end, too"),
    TEXT_OPTION("modules", FIELD(wish.modules), "NAMES",
                "mark only modules of these names, as with 'flopledger run'"),
    TEXT_OPTION("step-of", FIELD(wish.step_of), "WHAT",
                "what a step is, as with 'flopledger run' (default: the step of an optimizer)"),
    NEGATED_OPTION("no-markers", FIELD(wish.marks_modules), "leave out the marks of module calls"),
    INTEGER_OPTION(
        "milliseconds", FIELD(wish.milliseconds), "N", 10, 600000,
        "record so long in place of steps, by the profiler that is in PyTorch itself: for jobs "
        "with KINETO_USE_DAEMON=1 (default there: 2000)"),
    INTEGER_OPTION("wait", FIELD(wish.wait_seconds), "SECONDS", 1, 86400,
                   "give up when nothing comes for so long: no answer, no step (default: 30)"),
    SHAPES_OPTION(struct attach_settings, wish.records_shapes),
    FLAG_OPTION("stacks", FIELD(wish.records_stacks),
                "record the Python code that calls each operator, too"),
    CAPTURE_FOLDER_OPTION(struct attach_settings, output),
    CAPTURE_NAME_OPTION(struct attach_settings, name, "attach"),
    REPORT_OPTION(struct attach_settings, shows_report),
    {0},
};

static bool show_attached(struct arena *arena, const char *capture,
                          const struct attach_settings *settings, struct error *error)
{
    const struct command *report = find_command("report", error);
    const struct command *memory = find_command("memory", error);
    struct capture_content content;

    list_capture(&content, arena, capture);
    if (content.trace_count == 0) { /* it was watched */
        fprintf(stderr, "flopledger: no window was recorded: 'flopledger ettr' and 'report' read "
                        "the record of its steps\n");
        return true;
    }
    if (!report || !memory || !report->run(content.trace_count, content.traces, error))
        return false;
    return !settings->wish.records_memory ||
           memory->run(content.trace_count, content.traces, error);
}

/* The recorder's folder: that of what Python runs at its start is in it. The folder above
 * "start": attaching puts another part of the package into the process than Python's own start
 * does. */
static const char *find_recorder(struct arena *arena, struct error *error)
{
    const char *start = find_python_package(arena, error);
    const char *end = start ? strrchr(start, '/') : NULL;

    return end ? arena_copy_text(arena, start, (size_t)(end - start)) : NULL;
}

/* By our own recorder, in the processes. */
static bool record_inside(struct attachment *attachment, struct arena *arena, const char *capture,
                          const struct attach_settings *settings, struct error *error)
{
    const struct attach_places places = {find_recorder(arena, error), capture};

    if (settings->wish.watches || settings->wish.triggers.rules)
        fprintf(stderr, "flopledger: watching the steps of %zu process%s%s in %s until Ctrl-C\n",
                attachment->count, attachment->count == 1 ? "" : "es",
                settings->wish.triggers.rules ? ", for a reason to record," : "",
                show_text(capture).text);
    else
        fprintf(stderr, "flopledger: recording %" PRId64 " step%s of %zu process%s\n",
                settings->wish.steps, settings->wish.steps == 1 ? "" : "s", attachment->count,
                attachment->count == 1 ? "" : "es");
    return places.package && inside_job_record(attachment, arena, &settings->wish, &places, error);
}

/* By the profiler that is in PyTorch. */
static bool record_by_kineto(struct attachment *attachment, struct arena *arena,
                             const char *capture, const struct attach_settings *settings,
                             struct error *error)
{
    bool is_done;

    fprintf(stderr, "flopledger: waiting for the profiler of %zu process%s\n", attachment->count,
            attachment->count == 1 ? "" : "es");
    is_done = attachment_ask(attachment, arena, &settings->wish, error) &&
              attachment_collect(attachment, arena, capture, settings->wish.milliseconds, error);
    attachment_clear(attachment);
    return is_done;
}

/* Which of the two; what asks for the one or for the other can't be had of both. Our recorder
 * knows steps, modules and memory; PyTorch's own only a duration, and asks no right to trace.
 * What is asked decides; with nothing asked, a process that listens is asked, for that disturbs
 * it least. */
static bool choose_way(const struct attachment *attachment, struct attach_settings *settings,
                       bool *is_inside, struct error *error)
{
    struct attach_wish *wish = &settings->wish;
    bool asks_inside = wish->steps || wish->records_memory || wish->modules || wish->step_of ||
                       !wish->marks_modules || wish->watches || wish->triggers.rules;

    if (asks_inside && wish->milliseconds)
        return error_set(error, ERROR_USAGE,
                         "--milliseconds is of PyTorch's own profiler, which knows no steps, "
                         "modules or memory: leave it out, or the others");
    if (wish->watches && wish->steps && !wish->triggers.rules)
        return error_set(error, ERROR_USAGE,
                         "--watch records no steps, and --steps says how many: leave one out, or "
                         "say by --on when a window is to be recorded");
    if (wish->milliseconds && !attachment_listens(attachment))
        return error_set(error, ERROR_NO_DATA,
                         "process %ld was started without KINETO_USE_DAEMON=1, so its own profiler "
                         "does not listen: leave --milliseconds out, and steps are recorded",
                         attachment->targets[0].pid);
    *is_inside = asks_inside || !attachment_listens(attachment);
    wish->steps = wish->steps ? wish->steps : DEFAULT_STEPS;
    wish->triggers.windows = wish->triggers.windows ? wish->triggers.windows : 1;
    wish->triggers.bytes = wish->triggers.bytes ? wish->triggers.bytes : INT64_C(1) << 30;
    wish->milliseconds = wish->milliseconds ? wish->milliseconds : DEFAULT_MILLISECONDS;
    return true;
}

/* The way is chosen before a folder is made: a wrong option leaves nothing behind. */
static bool record_and_show(struct attachment *attachment, struct arena *arena,
                            struct attach_settings *settings, struct error *error)
{
    const char *capture;
    bool is_inside = false;
    bool is_done;

    if (!choose_way(attachment, settings, &is_inside, error))
        return false;
    capture = make_capture_folder(arena, settings->output, settings->name, error);
    if (!capture)
        return false;
    is_done = is_inside ? record_inside(attachment, arena, capture, settings, error)
                        : record_by_kineto(attachment, arena, capture, settings, error);
    if (!is_done) {
        remove_empty_capture(capture);
        return false;
    }
    fprintf(stderr, "flopledger: recorded in %s\n", show_text(capture).text);
    return !settings->shows_report || show_attached(arena, capture, settings, error);
}

/* --job is enough without a number: processes of the job are found by their environment. */
static bool run_attach(int count, char **arguments, struct error *error)
{
    SCOPED(arena) arena = {0};
    struct attach_settings settings = {
        .wish = {.wait_seconds = 30, .records_shapes = true, .marks_modules = true},
        .output = "captures",
        .name = "attach",
        .shows_report = true};
    struct attachment attachment = {0};
    struct attach_named named;

    if (!parse_options(attach_options, &settings, arguments, &count, error))
        return false;
    if (count == 0 && !settings.job)
        return error_set(error, ERROR_USAGE,
                         "no process given: flopledger attach PID, or --job NAME");
    named = (struct attach_named){arguments, count, settings.job};
    return attachment_find(&attachment, &arena, &named, error) &&
           record_and_show(&attachment, &arena, &settings, error);
}

const struct command attach_command = {
    .name = "attach",
    .summary = "profile a training program that already runs, and report on it",
    .usage = "PID...",
    .description =
        "Records the next steps of programs that train with PyTorch and were not started by "
        "'flopledger run'. The recorder is put into each process for that time: it runs the "
        "recorder's first lines at its next step in Python (from 3.14 on by itself; before that "
        "it is stopped for less than a millisecond); after the last step the recorder takes itself "
        "away again. What the program computes stays the same to the bit. When this command is "
        "killed, the program goes on, and the recorder leaves at its next step.\n\n"
        "PID is a process that trains, or a launcher: all ranks below it are recorded in the same "
        "steps; workers of data loaders are left out. They must belong to the user who attaches, "
        "run CPython 3.10 or later, and the system must allow ptrace; where it does not, the "
        "message says what forbids it. A job that was started with KINETO_USE_DAEMON=1 needs none "
        "of that: its own profiler asks every 5 s whether it shall record, and this command "
        "answers. The traces are written to FOLDER/NAME/START TIME/traces/, one folder for each "
        "rank.",
    .examples = "flopledger attach 4711\n"
                "    record five steps of that process, or of all ranks of that torchrun\n"
                "flopledger attach --steps 10 --memory 4711\n"
                "    ten steps, and what the memory is for\n"
                "flopledger attach --on 'step_time>1.5*median' 4711\n"
                "    wait for a slow step, then record\n"
                "srun --overlap --ntasks-per-node 1 flopledger attach --job $SLURM_JOB_ID\n"
                "    on all nodes of a Slurm job\n"
                "flopledger attach --milliseconds 10000 --stacks 4711 --no-report\n"
                "    ten seconds of a job that was started with KINETO_USE_DAEMON=1",
    .options = attach_options,
    .run = run_attach,
};
