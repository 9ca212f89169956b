/* `flopledger top [CAPTURE]`: a running job, live in the terminal. */
#include "base/core/attributes.h"
#include "base/core/out_of_memory.h"
#include "base/text/terminal.h"
#include "commands/command.h"
#include "commands/recording_options.h"
#include "live/top/top_view.h"
#include "pipeline/watched_job.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

struct top_settings {
    bool is_once;
    int64_t interval_s;
    int64_t width;
    const char *root;
    const char *ras;
    int64_t planned_steps;
    struct peak_settings peaks;
};

static const struct option top_options[] = {
    FLAG_OPTION("once", offsetof(struct top_settings, is_once),
                "print one page and end (so it is where standard output is no terminal)"),
    INTEGER_OPTION("interval", offsetof(struct top_settings, interval_s), "SECONDS", 1, 3600,
                   "time between two looks (default: 1)", .letter = 'd'),
    INTEGER_OPTION("steps", offsetof(struct top_settings, planned_steps), "N", 1, INT64_MAX,
                   "steps that the job is to make, for the time that is left"),
    WATCHED_PEAK_OPTION(struct top_settings),
    INTEGER_OPTION("width", offsetof(struct top_settings, width), "N", 40, 1000,
                   "columns of the page (default: those of the terminal, 80 without one)"),
    WATCHED_ROOT_OPTION(struct top_settings),
    WATCHED_RAS_OPTION(struct top_settings),
    {0},
};

static volatile sig_atomic_t is_stopped;
static volatile sig_atomic_t is_suspended;

static void stop(int signal)
{
    (void)signal;
    is_stopped = 1;
}

static void suspend(int signal)
{
    (void)signal;
    is_suspended = 1;
}

static void look_again(int signal)
{
    (void)signal; /* it has ended poll() */
}

/* The terminal as it was, to be put back. */
static struct termios terminal_before;

/* Keys come one by one and are not shown; lines are cut rather than wrapped. All of it is put
 * back by end_screen, whatever signal ends the program. */
static void begin_screen(void)
{
    struct sigaction on_stop = {.sa_handler = stop};
    struct sigaction on_suspend = {.sa_handler = suspend};
    struct sigaction on_resize = {.sa_handler = look_again};
    struct termios terminal;

    sigaction(SIGINT, &on_stop, NULL);
    sigaction(SIGTERM, &on_stop, NULL);
    sigaction(SIGHUP, &on_stop, NULL);
    sigaction(SIGQUIT, &on_stop, NULL);
    sigaction(SIGTSTP, &on_suspend, NULL);
    sigaction(SIGWINCH, &on_resize, NULL);
    if (tcgetattr(STDIN_FILENO, &terminal_before) == 0) {
        terminal = terminal_before;
        terminal.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
        terminal.c_cc[VMIN] = 0;
        terminal.c_cc[VTIME] = 0;
        tcsetattr(STDIN_FILENO, TCSANOW, &terminal);
    }
    fputs("\033[?1049h\033[?25l\033[?7l", stdout); /* own screen, no cursor, lines are cut */
}

static void end_screen(void)
{
    fputs("\033[?7h\033[?25h\033[?1049l", stdout);
    fflush(stdout);
    tcsetattr(STDIN_FILENO, TCSANOW, &terminal_before);
}

static int screen_height(void)
{
    struct winsize size;

    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 2 ? size.ws_row : 24;
}

/* Ctrl-Z: the shell gets its terminal back until the program goes on. SIGSTOP, since SIGTSTP is
 * handled here. */
static void leave_screen_for_a_while(void)
{
    is_suspended = 0;
    end_screen();
    (void)raise(SIGSTOP);
    begin_screen();
}

/* As many lines as there is room for; the last line of the screen says what can be done. Each
 * line is cleared behind its end and the screen below the last: nothing is cleared before it is
 * written, so that nothing flickers. */
static void show_on_screen(const char *page)
{
    int left = screen_height() - 1;

    fputs("\033[H", stdout);
    while (*page && left-- > 0) {
        int length = (int)strcspn(page, "\n");

        printf("%.*s\033[K\r\n", length, page);
        page += length + (page[length] == '\n');
    }
    fputs("q quits\033[K\033[J", stdout);
    fflush(stdout);
}

/* Written into memory and then shown at once: a terminal that is drawn line by line flickers. */
static char *make_page(const struct watched_job *job, const struct live_samples *before,
                       const struct live_samples *now, const struct top_settings *settings,
                       int screen_lines)
{
    struct top_view view = {
        .records = job->capture ? &job->records : NULL,
        .before = before->count > 0 ? before : NULL,
        .now = now,
        .planned_steps = settings->planned_steps,
        .mfu_needs = job->mfu_needs,
        .screen_lines = screen_lines,
        .style = {.width = settings->width > 0 ? (int)settings->width : terminal_width(stdout),
                  .use_unicode = locale_is_utf8()}};
    char *page = NULL;
    size_t length = 0;
    FILE *memory = open_memstream(&page, &length);

    if (!memory)
        end_out_of_memory();
    write_top_page(memory, &view);
    fclose(memory);
    return page;
}

/* Waits for the time of the next look, a key or a signal. The end of standard input ends it as
 * well: a program that cannot be told to stop should. */
static void await_key(int64_t milliseconds)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    char key;

    if (poll(&input, 1, (int)milliseconds) <= 0)
        return;
    if (read(STDIN_FILENO, &key, 1) != 1 || key == 'q' || key == 'Q')
        is_stopped = 1;
}

/* Rates are differences of two looks; the older is kept until the next. */
static void show_live(struct watched_job *job, const struct top_settings *settings)
{
    struct live_samples before = {0};

    begin_screen();
    while (!is_stopped) {
        struct live_samples now = {0};
        char *page;

        watched_job_look(job, &now);
        page = make_page(job, &before, &now, settings, screen_height() - 1);
        show_on_screen(page);
        free(page);
        live_samples_clear(&before);
        before = now;
        await_key(settings->interval_s * 1000);
        if (is_suspended)
            leave_screen_for_a_while();
    }
    live_samples_clear(&before);
    end_screen();
}

/* Rates need two looks. */
static bool show_once(struct watched_job *job, const struct top_settings *settings,
                      struct error *error)
{
    SCOPED(live_samples) before = {0};
    SCOPED(live_samples) now = {0};
    char *page;

    watched_job_look(job, &before);
    sleep((unsigned)settings->interval_s);
    watched_job_look(job, &now);
    page = make_page(job, &before, &now, settings, 0);
    fputs(page, stdout);
    free(page);
    return fflush(stdout) == 0 ||
           error_set(error, ERROR_FAILURE, "cannot write the page: %s", strerror(errno));
}

/* Without a terminal on both ends there is nobody to watch or to press a key: one page is
 * printed, as for a script. */
static bool run_top(int count, char **arguments, struct error *error)
{
    struct top_settings settings = {.interval_s = 1, .root = ""};
    SCOPED(watched_job) job = {0};

    if (!parse_options(top_options, &settings, arguments, &count, error) ||
        !check_one_running_job(count, arguments, error))
        return false;
    job.peaks = settings.peaks;
    job.ras = settings.ras;
    if (!watched_job_open(&job, count > 0 ? arguments[0] : NULL, settings.root, error))
        return false;
    if (settings.is_once || !isatty(STDOUT_FILENO) || !isatty(STDIN_FILENO))
        return show_once(&job, &settings, error);
    show_live(&job, &settings);
    return true;
}

const struct command top_command = {
    .name = "top",
    .summary = "monitor a running job in the terminal: steps, MFU, data wait, ETTR, GPUs, machine",
    .usage = "[PID|CAPTURE]",
    .description =
        "Shows what a program that 'flopledger run' started does now: the time of its newest steps "
        "by rank, what they wait for data, MFU, tokens a second, memory, and the share of time so "
        "far that went into steps that count (ETTR). Below it stands what explains these numbers: "
        "GPUs by NVML (busy, multiprocessors, Tensor Cores, memory, clock, power, what slows them "
        "down), processors, pressure, disks, networks and InfiniBand of this machine.\n\n"
        "It only reads files: the program does not notice. PID and CAPTURE are as of 'flopledger "
        "trace'. q quits.",
    .examples = "flopledger top\n"
                "    the newest run below captures/\n"
                "flopledger top --once captures/train\n"
                "    one page, for a script",
    .options = top_options,
    .run = run_top,
};
