/* The settings of a page, and how it is printed. */
#include "pipeline/page.h"

#include "base/core/arena.h"
#include "base/core/attributes.h"
#include "base/core/memory_limit.h"
#include "base/core/out_of_memory.h"
#include "base/io/output_file.h"
#include "base/text/terminal.h"
#include "output/reports/section_choice.h"
#include "output/reports/write_report.h"
#include "output/results/device_words.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- the pager ------------------------------------------------------------------------------- */

/* A program through which a terminal shows a long page. */

/* A zeroed pager is none. */
struct pager {
    FILE *stream; /* what is written here is shown; NULL: there is no pager */
    pid_t process;
};

/* Starts the program with `input` as its standard input; false where there is no such program.
 * posix_spawn, since fork would copy the page tables of a process that may hold a large trace. A
 * limit of memory that was set for reading is not for the pager. */
static bool pager_start_here(pid_t *process, char *const *words, int input)
{
    posix_spawn_file_actions_t actions;
    int failure;

    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
    memory_limit_suspend();
    failure = posix_spawnp(process, words[0], &actions, NULL, words, environ);
    memory_limit_resume();
    posix_spawn_file_actions_destroy(&actions);
    return failure == 0;
}

/* A pager's settings, for pagers that the user has not set up. 0: what the user has set stays. */
static bool set_usual_settings(void)
{
    return setenv("LESS", "FRX", 0) == 0 && setenv("LV", "-c", 0) == 0;
}

static bool is_no_pager(const char *command)
{
    return command && (*command == '\0' || strcmp(command, "cat") == 0);
}

/* Starts the command of PAGER, or less: as git does, with LESS=FRX where LESS is not set, so that a
 * page that fits the screen is just printed. Leaves `pager` empty where PAGER is empty or "cat", on
 * a terminal that can't do it, and where there is no such program. The pipe's ends close on
 * exec, so that the pager does not hold the end it reads from itself: it would never see the end
 * of the page. The reading end is closed here for the same reason. What stands in stdout's
 * buffer goes out first, before the page. */
static void pager_start(struct pager *pager)
{
    const char *command = getenv("PAGER");
    const char *terminal = getenv("TERM");
    char less[] = "less", shell[] = "sh", option[] = "-c";
    char *of_less[] = {less, NULL};
    char *of_shell[] = {shell, option, NULL, NULL};
    int ends[2];

    if (is_no_pager(command) || !terminal || strcmp(terminal, "dumb") == 0)
        return;
    if (!set_usual_settings() || pipe2(ends, O_CLOEXEC) != 0)
        return;
    of_shell[2] = command ? strdup(command) : NULL;
    fflush(stdout);
    if (pager_start_here(&pager->process, of_shell[2] ? of_shell : of_less, ends[0]))
        pager->stream = fdopen(ends[1], "w");
    free(of_shell[2]);
    close(ends[0]);
    if (!pager->stream) {
        close(ends[1]);
        return;
    }
    /* Ctrl-C and an early end of the pager are the pager's: this process only waits for it. */
    signal(SIGINT, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
}

/* Waits until the reader has closed the pager. Closing the pipe ends the page; the program
 * waits, or the shell's prompt would appear over it. */
static void pager_clear(struct pager *pager)
{
    int status;

    if (!pager->stream)
        return;
    fclose(pager->stream);
    while (waitpid(pager->process, &status, 0) < 0 && errno == EINTR)
        ;
    *pager = (struct pager){0};
}

/* ---- page ------------------------------------------------------------------------------------ */

/* Blocks of all timelines of a page together: some megabytes. */
enum { TIMELINE_BLOCKS = 300000, TIMELINE_BLOCKS_LEAST = 4000 };
enum { ROWS_USUAL = 10, ROWS_OF_HTML = 2000, ROWS_OF_HTML_LEAST = 50 };

enum color_choice { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };

const char *const color_names[] = {"auto", "always", "never", NULL};

static bool is_of_format(const struct page_settings *settings, const char *name)
{
    return strcmp(all_reports()[settings->format]->name, name) == 0;
}

/* The first screen unless more is asked for: most who look at a trace want one answer. */
static enum report_extent extent_of(const struct page_settings *settings)
{
    if (settings->lists_sections)
        return REPORT_LIST;
    if (settings->sections)
        return REPORT_SECTIONS;
    return settings->is_whole ? REPORT_WHOLE : REPORT_FIRST_SCREEN;
}

bool page_has_timeline(const struct page_settings *settings)
{
    return is_of_format(settings, "html");
}

bool page_has_all(const struct page_settings *settings)
{
    return is_of_format(settings, "html") || is_of_format(settings, "json");
}

bool page_is_first_screen(const struct page_settings *settings)
{
    return is_of_format(settings, "text") && extent_of(settings) == REPORT_FIRST_SCREEN;
}

bool page_wants_section(const struct page_settings *settings, const char *key)
{
    return settings->lists_sections ||
           (settings->sections && section_is_chosen(settings->sections, key));
}

/* A page in HTML can be searched and sorted, so that more rows are of use there; they are
 * shared among the ranks to bound the size of the file. */
int64_t rows_of_page(const struct page_settings *settings, int64_t top, size_t files)
{
    int64_t rows = ROWS_OF_HTML / (int64_t)(files ? files : 1);

    if (top >= 0)
        return top;
    if (!page_has_timeline(settings))
        return ROWS_USUAL;
    return rows > ROWS_OF_HTML_LEAST ? rows : ROWS_OF_HTML_LEAST;
}

/* All ranks share the budget, but each has a least, below which a timeline shows nothing. */
int64_t timeline_blocks_of_page(const struct page_settings *settings, size_t files)
{
    int64_t blocks = TIMELINE_BLOCKS / (int64_t)(files ? files : 1);

    if (!page_has_timeline(settings))
        return 0;
    return blocks > TIMELINE_BLOCKS_LEAST ? blocks : TIMELINE_BLOCKS_LEAST;
}

static bool page_is_standard_output(const struct page_settings *settings)
{
    return !settings->output || strcmp(settings->output, "-") == 0;
}

/* `place`: where the page is looked at in the end, which tells its width and colors. */
static bool page_write_page(FILE *output, FILE *place, struct results *results,
                            const struct page_settings *settings, struct error *error)
{
    struct report_options options = {
        .extent = extent_of(settings),
        .sections = settings->sections,
        .width = settings->width > 0 ? (int)settings->width : terminal_width(place),
        .use_color = settings->color == COLOR_ALWAYS ||
                     (settings->color == COLOR_AUTO && terminal_shows_color(place)),
        .use_unicode = locale_is_utf8(),
    };

    results_use_device_words(results); /* here, so that no command can forget it */
    return all_reports()[settings->format]->write(output, results, &options, error);
}

/* On a terminal through a pager, where there is one. */
static bool show_page(struct results *results, const struct page_settings *settings,
                      struct error *error)
{
    SCOPED(pager) pager = {0};

    if (!settings->has_no_pager && is_of_format(settings, "text") && is_terminal(stdout))
        pager_start(&pager);
    return page_write_page(pager.stream ? pager.stream : stdout, stdout, results, settings, error);
}

/* A file gets its name when it is whole (see output_file): no program finds half a page. */
bool print_page(struct results *results, const struct page_settings *settings, struct error *error)
{
    SCOPED(output_file) file = {0};

    if (page_is_standard_output(settings))
        return show_page(results, settings, error);
    if (!output_file_open(&file, settings->output, error))
        return false;
    if (!page_write_page(file.stream, file.stream, results, settings, error))
        return false;
    return output_file_close(&file, error);
}

/* A page of HTML has no width and no colors of a terminal. To make it again from its results takes
 * longer than to read it, unlike a text, of which one answer serves every width and section. */
bool page_can_be_kept(const struct page_settings *settings)
{
    return is_of_format(settings, "html");
}

bool finish_page(struct finished_page *page, struct results *results,
                 const struct page_settings *settings, struct error *error)
{
    char *text = NULL;
    FILE *memory = require_memory(open_memstream(&text, &page->length));
    bool is_done = page_write_page(memory, memory, results, settings, error);

    if (fclose(memory) != 0)
        end_out_of_memory();
    arena_give(results->arena, text);
    page->text = text;
    return is_done;
}

bool print_finished_page(const struct finished_page *page, const struct page_settings *settings,
                         struct error *error)
{
    SCOPED(output_file) file = {0};

    if (page_is_standard_output(settings)) {
        fwrite(page->text, 1, page->length, stdout);
        return true;
    }
    if (output_file_holds(settings->output, page->text, page->length))
        return true;
    if (!output_file_open(&file, settings->output, error))
        return false;
    fwrite(page->text, 1, page->length, file.stream);
    return output_file_close(&file, error);
}

struct output_place place_of_page(const struct page_settings *settings, const char *what)
{
    return (struct output_place){
        .path = settings->output,
        .option = settings->output_option ? settings->output_option : "--output",
        .what = what,
        .is_forced = settings->is_forced,
    };
}

/* Before anything is read: a section that does not exist shall not cost the minutes of a large
 * trace. */
bool check_output(const struct page_settings *settings, const struct output_inputs *inputs,
                  struct error *error)
{
    const struct report *report = all_reports()[settings->format];
    struct output_place place = place_of_page(settings, "page");

    if (settings->sections && !check_section_names(settings->sections, error))
        return false;
    if (report->can_write &&
        !report->can_write(page_is_standard_output(settings) && isatty(STDOUT_FILENO), error))
        return false;
    return check_output_place(&place, inputs, error);
}

/* A broken end makes earlier numbers doubtful (a bad checksum is noticed behind them); more
 * behind a whole end does not. */
bool note_file_rest(struct results *results, const char *path, const struct input_rest *rest)
{
    const char *what;

    if (rest->kind == REST_NOTHING)
        return false;
    if (rest->kind == REST_BROKEN)
        what = results_format(results, "'%s': %s: numbers read before it may be wrong, too", path,
                              rest->message);
    else
        what = results_format(results, "'%s': behind its end stands more: %s", path, rest->message);
    results_add_warning(results, what);
    return true;
}
