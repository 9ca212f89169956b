/* The settings of a page, and how it is printed: shared by the commands that print one. */
#ifndef FLOPLEDGER_COMMANDS_PAGE_OPTIONS_H
#define FLOPLEDGER_COMMANDS_PAGE_OPTIONS_H

#include "base/attributes.h"
#include "base/error.h"
#include "commands/output_place.h"
#include "results/results.h"

#include <stdbool.h>
#include <stdint.h>

struct page_settings {
    int format; /* index in report_names */
    const char *output;
    const char *output_option; /* that named it, where that is not --output */
    bool is_forced;            /* --force */
    int64_t width;             /* 0: the terminal's */
    int color;                 /* index in color_names */
};

/* NULL-terminated: auto, always, never. */
extern const char *const color_names[];

/* For OPTION_PARSED into a struct page_settings: the file of an HTML page. */
bool parse_html_output(const char *text, void *field);
extern const char html_output_accepted[];

/* Lines of an option table for a struct of settings `type` that has a struct page_settings `page`.
 */
#define PAGE_OPTIONS(type) PAGE_OPTIONS_OF(type, report_names, "")

/* The same with more formats than the reports': `names` begins with theirs, `more_help` says what
 * the others are. */
#define PAGE_OPTIONS_OF(type, names, more_help)                                                  \
    {.name = "format",                                                                           \
     .letter = 'f',                                                                              \
     .kind = OPTION_CHOICE,                                                                      \
     .metavar = "NAME",                                                                          \
     .choices = names,                                                                           \
     .offset = offsetof(type, page.format),                                                      \
     .help = "how to print: text (for people, the default), json (for programs), deepspeed (by " \
             "module, as DeepSpeed's profiler does) or html (a page for a browser)" more_help},  \
        {.name = "json",                                                                         \
         .kind = OPTION_ALIAS,                                                                   \
         .alias_of = "format",                                                                   \
         .alias_value = "json",                                                                  \
         .help = "short for --format json"},                                                     \
        {.name = "html",                                                                         \
         .kind = OPTION_PARSED,                                                                  \
         .metavar = "FILE",                                                                      \
         .offset = offsetof(type, page),                                                         \
         .parse = parse_html_output,                                                             \
         .accepts = html_output_accepted,                                                        \
         .help = "short for --format html --output FILE: one page, with all tables and charts"}, \
        {.name = "output",                                                                       \
         .letter = 'o',                                                                          \
         .kind = OPTION_TEXT,                                                                    \
         .metavar = "FILE",                                                                      \
         .offset = offsetof(type, page.output),                                                  \
         .help = "write to FILE, which appears whole or not at all (default: standard output)"}, \
        FORCE_OPTION(type, page.is_forced),                                                      \
        {.name = "width",                                                                        \
         .kind = OPTION_INTEGER,                                                                 \
         .metavar = "N",                                                                         \
         .offset = offsetof(type, page.width),                                                   \
         .minimum = 40,                                                                          \
         .maximum = 1000,                                                                        \
         .help = "columns of the page (default: those of the terminal, 80 without one)"},        \
    {                                                                                            \
        .name = "color", .kind = OPTION_CHOICE, .metavar = "WHEN", .choices = color_names,       \
        .offset = offsetof(type, page.color),                                                    \
        .help = "auto (on a terminal and without NO_COLOR, the default), always or never"        \
    }

/* For all commands that read files; sets the limit at once. */
#define MEMORY_LIMIT_OPTION                                                                  \
    {                                                                                        \
        .name = "memory-limit", .kind = OPTION_PARSED, .metavar = "SIZE",                    \
        .parse = parse_memory_limit, .accepts = memory_limit_accepted,                       \
        .help = "end with a message rather than take more memory (default: 90 % of what is " \
                "available)"                                                                 \
    }
bool parse_memory_limit(const char *text, void *unused);
extern const char memory_limit_accepted[];

/* Likewise for settings that have an int64_t `threads` and a bool `shows_progress`: how traces are
 * read. */
#define READING_OPTIONS(type)                                                                    \
    {.name = "threads",                                                                          \
     .letter = 'j',                                                                              \
     .kind = OPTION_INTEGER,                                                                     \
     .metavar = "N",                                                                             \
     .offset = offsetof(type, threads),                                                          \
     .minimum = 1,                                                                               \
     .maximum = 1024,                                                                            \
     .help = "threads to read with (default: one for each processor core)"},                     \
        MEMORY_LIMIT_OPTION,                                                                     \
    {                                                                                            \
        .name = "no-progress", .kind = OPTION_NEGATED, .offset = offsetof(type, shows_progress), \
        .help = "no progress bar (there is one on a terminal, for work over a second)"           \
    }

/* Likewise for settings that have an int64_t `top`, an int64_t `rank`. */
#define TOP_OPTION(type) \
    TOP_OPTION_OF(type, "rows of long tables; 0 for all (default: 10; 2,000 of an HTML page)")
#define TOP_OPTION_OF(type, what)                                                         \
    {                                                                                     \
        .name = "top", .letter = 'n', .kind = OPTION_INTEGER, .metavar = "N",             \
        .offset = offsetof(type, top), .minimum = 0, .maximum = INT32_MAX, .help = (what) \
    }
#define RANK_OPTION(type)                                                             \
    {                                                                                 \
        .name = "rank", .letter = 'r', .kind = OPTION_INTEGER, .metavar = "N",        \
        .offset = offsetof(type, rank), .minimum = 0, .maximum = INT32_MAX,           \
        .help = "of several ranks: the one to print in full (default: the lowest in " \
                "text, all in json)"                                                  \
    }

/* Writes the results in the chosen format to the chosen place. */
MUST_USE bool print_page(const struct results *results, const struct page_settings *settings,
                         struct error *error);

/* A page for a browser or for a program tells all that a trace does: its memory, too, and all of
 * its modules. */
bool page_tells_all(const struct page_settings *settings);

/* It can draw a timeline. */
bool page_has_timeline(const struct page_settings *settings);

/* Rows of long tables: `top` where the user gave one, else the usual number of them, or for an HTML
 * page, which can be searched, as many as `files` of them leave room for. `top` is -1 where not
 * given. */
int64_t rows_of_page(const struct page_settings *settings, int64_t top, size_t files);

/* Blocks that the timeline of each of `files` may have; 0 where the page draws none. */
int64_t timeline_blocks_of_page(const struct page_settings *settings, size_t files);

/* Fails early where `output` or the format cannot be written, before the work is done, and where
 * what stands there must not be replaced. */
MUST_USE bool check_output(const struct page_settings *settings, const struct output_inputs *inputs,
                           struct error *error);

/* Where the page goes; `what` it is: "page". */
struct output_place place_of_page(const struct page_settings *settings, const char *what);

#endif
