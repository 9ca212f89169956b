/* `flopledger trace PID|CAPTURE`: has a running program record a window now. */
#include "base/core/attributes.h"
#include "base/text/display_text.h"
#include "commands/command.h"
#include "pipeline/subcommands.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

enum { STEPS_MAX = 1000 };

struct trace_settings {
    int64_t steps;
    int64_t timeout_s;
};

static const struct option trace_options[] = {
    INTEGER_OPTION("steps", offsetof(struct trace_settings, steps), "N", 1, STEPS_MAX,
                   "how many steps to record (default: 3)", .letter = 's'),
    INTEGER_OPTION("timeout", offsetof(struct trace_settings, timeout_s), "SECONDS", 1, INT32_MAX,
                   "give up after so long (default: when no rank answers, or none is left)"),
    {0},
};

/* Sent, then told, then awaited: whoever ends the command early still gets the window. */
static bool run_trace(int count, char **arguments, struct error *error)
{
    struct trace_settings settings = {.steps = 3};
    SCOPED(trace_request) request = {0};

    if (!parse_options(trace_options, &settings, arguments, &count, error) ||
        !check_one_running_job(count, arguments, error))
        return false;
    if (!trace_request_send(&request, count > 0 ? arguments[0] : NULL, settings.steps, error))
        return false;
    fprintf(stderr,
            "flopledger: asked %zu rank%s of '%s' for steps %" PRId64 " to %" PRId64
            "; step %" PRId64 " has ended\n",
            request.rank_count, request.rank_count == 1 ? "" : "s", show_text(request.capture).text,
            request.first_step, request.last_step, trace_request_reached(&request));
    trace_request_await(&request, settings.timeout_s);
    return trace_request_tell(&request, error);
}

const struct command trace_command = {
    .name = "trace",
    .summary = "capture a trace from a running job, on demand",
    .usage = "[PID|CAPTURE]",
    .description =
        "Asks a program that 'flopledger run' started for a window of full recording, as --steps "
        "of 'run' would have done: all its ranks record the same steps, a moment ahead of where "
        "they are. The request is a file in the capture's folder, which the recorder looks at once "
        "a second between two steps; the program is not stopped.\n\n"
        "PID is the number of a process that trains, or of 'flopledger run'; CAPTURE is the folder "
        "that 'run' named, or one above it. Without either, the newest capture below captures/ "
        "counts. The command ends when the traces are written, or says which rank did not record, "
        "and why.",
    .examples = "flopledger trace --steps 5\n"
                "    five steps of the newest run below captures/\n"
                "flopledger trace 4711\n"
                "    of that process and its other ranks\n",
    .options = trace_options,
    .run = run_trace,
};
