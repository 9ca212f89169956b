/* `flopledger attach PID...`: records a training program that already runs, through the profiler
 * that is in PyTorch itself. */
#include "base/core/arena.h"
#include "base/core/attributes.h"
#include "base/text/display_text.h"
#include "commands/capture_options.h"
#include "commands/command.h"
#include "live/attach/attachment.h"
#include "pipeline/capture_run.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

struct attach_settings {
    struct attach_wish wish;
    const char *output;
    const char *name;
    bool shows_report;
};

#define FIELD(name) .offset = offsetof(struct attach_settings, name)

static const struct option attach_options[] = {
    {.name = "milliseconds",
     .kind = OPTION_INTEGER,
     .metavar = "N",
     FIELD(wish.milliseconds),
     .minimum = 10,
     .maximum = 600000,
     .help = "how long to record (default: 2000); some ten steps are enough"},
    {.name = "wait",
     .kind = OPTION_INTEGER,
     .metavar = "SECONDS",
     FIELD(wish.wait_seconds),
     .minimum = 1,
     .maximum = 86400,
     .help = "how long to wait until the profiler in the process asks, which it does every 5 s "
             "(default: 30)"},
    SHAPES_OPTION(struct attach_settings, wish.records_shapes),
    {.name = "stacks",
     .kind = OPTION_FLAG,
     FIELD(wish.records_stacks),
     .help = "record the modules and the Python code that call each operator, too"},
    CAPTURE_FOLDER_OPTION(struct attach_settings, output),
    CAPTURE_NAME_OPTION(struct attach_settings, name, "attach"),
    REPORT_OPTION(struct attach_settings, shows_report),
    {0},
};

static bool show_attached(struct arena *arena, const char *capture, struct error *error)
{
    const struct command *report = find_command("report", error);
    struct capture_content content;

    list_capture(&content, arena, capture);
    return report && report->run(content.trace_count, content.traces, error);
}

static bool record_and_show(struct attachment *attachment, struct arena *arena,
                            const struct attach_settings *settings, struct error *error)
{
    const char *capture = make_capture_folder(arena, settings->output, settings->name, error);

    if (!capture)
        return false;
    if (!attachment_collect(attachment, arena, capture, settings->wish.milliseconds, error)) {
        remove_empty_capture(capture);
        return false;
    }
    fprintf(stderr, "flopledger: recorded in %s\n", show_text(capture).text);
    return !settings->shows_report || show_attached(arena, capture, error);
}

static bool run_attach(int count, char **arguments, struct error *error)
{
    SCOPED(arena) arena = {0};
    struct attach_settings settings = {
        .wish = {.milliseconds = 2000, .wait_seconds = 30, .records_shapes = true},
        .output = "captures",
        .name = "attach",
        .shows_report = true};
    struct attachment attachment = {0};
    bool is_done;

    if (!parse_options(attach_options, &settings, arguments, &count, error))
        return false;
    if (count == 0)
        return error_set(error, ERROR_USAGE, "no process given: flopledger attach PID");
    if (!attachment_find(&attachment, &arena, arguments, count, error))
        return false;
    fprintf(stderr, "flopledger: waiting for the profiler of %zu process%s\n", attachment.count,
            attachment.count == 1 ? "" : "es");
    is_done = attachment_ask(&attachment, &arena, &settings.wish, error) &&
              record_and_show(&attachment, &arena, &settings, error);
    attachment_clear(&attachment);
    return is_done;
}

const struct command attach_command = {
    .name = "attach",
    .summary = "profile a training program that already runs, and report on it",
    .usage = "PID...",
    .description =
        "Records a window of programs that train with PyTorch and were not started by "
        "'flopledger run'. They need to have KINETO_USE_DAEMON=1 in their environment from the "
        "start: the profiler in PyTorch then asks every 5 s whether it shall record, and this "
        "command answers. Nothing is put into the program, and what it computes stays the same; "
        "when this command ends, or is killed, the program goes on.\n\n"
        "PID is a process that trains, or a launcher: all below it that have loaded PyTorch are "
        "recorded in the same window. They must belong to the user who attaches. The traces are "
        "written to FOLDER/NAME/START TIME/traces/, one folder for each rank.",
    .examples = "KINETO_USE_DAEMON=1 torchrun --nproc-per-node 8 train.py\n"
                "    a job that can be looked at later\n"
                "flopledger attach 4711\n"
                "    record two seconds of all processes of torchrun\n"
                "flopledger attach --milliseconds 10000 --stacks 4711 --no-report\n"
                "    ten seconds, with modules and Python code",
    .options = attach_options,
    .run = run_attach,
};
