/* `flopledger serve [CAPTURE]`: what `top` shows, at /metrics for Prometheus. */
#include "base/core/attributes.h"
#include "commands/command.h"
#include "commands/recording_options.h"
#include "live/metrics_server.h"
#include "pipeline/watched_job.h"

#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <time.h>

enum { DEFAULT_PORT = 9855 };

struct serve_settings {
    int64_t port;
    const char *address;
    const char *root;
    const char *ras;
    struct peak_settings peaks;
};

static const struct option serve_options[] = {
    INTEGER_OPTION("port", offsetof(struct serve_settings, port), "N", 0, 65535,
                   "listen on this port; 0: on a free one, which is printed (default: 9855)",
                   .letter = 'p'),
    TEXT_OPTION(
        "address", offsetof(struct serve_settings, address), "ADDRESS",
        "listen on this address of the machine: 0.0.0.0 is all of them (default: 127.0.0.1, "
        "reached from this machine alone)"),
    WATCHED_PEAK_OPTION(struct serve_settings),
    WATCHED_ROOT_OPTION(struct serve_settings),
    WATCHED_RAS_OPTION(struct serve_settings),
    {0},
};

static void serve_fill(void *source, struct live_samples *samples)
{
    watched_job_look(source, samples);
}

/* Until Ctrl-C or SIGTERM; ends slow requests meanwhile. Signals are blocked and taken here, so
 * that no handler interrupts a request. */
static void await_end(const sigset_t *signals, struct metrics_server *server)
{
    const struct timespec second = {.tv_sec = 1};

    while (sigtimedwait(signals, NULL, &second) < 0)
        metrics_server_end_late(server);
}

static bool run_serve(int count, char **arguments, struct error *error)
{
    struct serve_settings settings = {.port = DEFAULT_PORT, .address = "127.0.0.1", .root = ""};
    SCOPED(watched_job) job = {0};
    SCOPED(metrics_server) server = {.source = &job, .fill = serve_fill}; /* stops before the job
                                                                             goes */
    sigset_t signals;

    if (!parse_options(serve_options, &settings, arguments, &count, error) ||
        !check_one_running_job(count, arguments, error))
        return false;
    job.peaks = settings.peaks;
    job.ras = settings.ras;
    if (!watched_job_open(&job, count > 0 ? arguments[0] : NULL, settings.root, error))
        return false;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigprocmask(SIG_BLOCK, &signals, NULL); /* the server's threads inherit it */
    if (!metrics_server_start(&server, settings.address, (int)settings.port, error))
        return false;
    printf("serving %s on http://%s:%d/metrics until Ctrl-C\n",
           job.capture ? job.capture : "this machine", settings.address,
           metrics_server_port(&server));
    fflush(stdout);
    await_end(&signals, &server);
    return true;
}

const struct command serve_command = {
    .name = "serve",
    .summary = "serve the numbers of 'top' at /metrics, for Prometheus and Grafana",
    .usage = "[PID|CAPTURE]",
    .description =
        "Answers GET /metrics with what 'flopledger top' shows of a running job and of this "
        "machine, as OpenMetrics or in the older text format of Prometheus, whichever is asked "
        "for; GET /healthz says ok. But for --ras it only reads files, at most once a second "
        "however often it is asked: the program does not notice. A request that takes over 10 "
        "seconds is ended. PID and CAPTURE are as of 'flopledger trace'; without a capture the "
        "machine alone is told of.\n\n"
        "contrib/prometheus has alert rules, and contrib/grafana a dashboard.",
    .examples = "flopledger serve\n"
                "    on http://127.0.0.1:9855/metrics\n"
                "flopledger serve --address 0.0.0.0 --port 9000 captures/train\n"
                "    for other machines, too",
    .options = serve_options,
    .run = run_serve,
};
