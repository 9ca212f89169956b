/* The options of a page, of its memory and of reading: shared by the commands that print one. */
#ifndef FLOPLEDGER_COMMANDS_PAGE_OPTIONS_H
#define FLOPLEDGER_COMMANDS_PAGE_OPTIONS_H

#include "pipeline/page.h"

#include <stdbool.h>

/* For OPTION_PARSED into a struct page_settings: the file of an HTML page. */
bool parse_html_output(const char *text, void *field);
extern const char html_output_accepted[];

/* A line of an option table for a struct of settings that has a bool `field`. */
#define FORCE_OPTION(type, field)                                                                  \
    {                                                                                              \
        .name = "force", .is_of_page = true, .kind = OPTION_FLAG, .offset = offsetof(type, field), \
        .help = "replace a file even where it is a trace, a database, a snapshot or a log "        \
                "(never one that is read)"                                                         \
    }

/* Lines of an option table for a struct of settings `type` that has a struct page_settings `page`.
 */
#define PAGE_OPTIONS(type) PAGE_OPTIONS_OF(type, report_names, "")

/* The same with more formats than the reports': `names` begins with theirs, `more_help` says what
 * the others are. */
#define PAGE_OPTIONS_OF(type, names, more_help)                                                   \
    {.name = "format",                                                                            \
     .is_of_page = true,                                                                          \
     .letter = 'f',                                                                               \
     .kind = OPTION_CHOICE,                                                                       \
     .metavar = "NAME",                                                                           \
     .choices = names,                                                                            \
     .offset = offsetof(type, page.format),                                                       \
     .help = "how to print: text (for people, the default), json (for programs), deepspeed (by "  \
             "module, as DeepSpeed's profiler does), html (a page for a browser), markdown (the " \
             "summary of a CI job), junit (conditions as tests) or sarif (findings as "           \
             "annotations)" more_help},                                                           \
        {.name = "json",                                                                          \
         .is_of_page = true,                                                                      \
         .kind = OPTION_ALIAS,                                                                    \
         .alias_of = "format",                                                                    \
         .alias_value = "json",                                                                   \
         .help = "short for --format json"},                                                      \
        {.name = "html",                                                                          \
         .is_of_page = true,                                                                      \
         .kind = OPTION_PARSED,                                                                   \
         .metavar = "FILE",                                                                       \
         .offset = offsetof(type, page),                                                          \
         .parse = parse_html_output,                                                              \
         .accepts = html_output_accepted,                                                         \
         .help = "short for --format html --output FILE: one page, with all tables and charts"},  \
        {.name = "output",                                                                        \
         .is_of_page = true,                                                                      \
         .letter = 'o',                                                                           \
         .kind = OPTION_TEXT,                                                                     \
         .metavar = "FILE",                                                                       \
         .offset = offsetof(type, page.output),                                                   \
         .help = "write to FILE, atomically (default: standard output)"},                         \
        FORCE_OPTION(type, page.is_forced),                                                       \
        {.name = "width",                                                                         \
         .is_of_page = true,                                                                      \
         .kind = OPTION_INTEGER,                                                                  \
         .metavar = "N",                                                                          \
         .offset = offsetof(type, page.width),                                                    \
         .minimum = 40,                                                                           \
         .maximum = 1000,                                                                         \
         .help = "columns of the page (default: those of the terminal, 80 without one)"},         \
        {.name = "section",                                                                       \
         .is_of_page = true,                                                                      \
         .kind = OPTION_TEXT,                                                                     \
         .metavar = "NAMES",                                                                      \
         .offset = offsetof(type, page.sections),                                                 \
         .help = "print these sections in full, with commas between: kernels,operators; a "       \
                 "group stands for its sections: time, flops, memory, communication"},            \
        {.name = "list-sections",                                                                 \
         .is_of_page = true,                                                                      \
         .kind = OPTION_FLAG,                                                                     \
         .offset = offsetof(type, page.lists_sections),                                           \
         .help = "print the names of the sections that this input has, and their groups"},        \
        {.name = "all",                                                                           \
         .is_of_page = true,                                                                      \
         .kind = OPTION_FLAG,                                                                     \
         .offset = offsetof(type, page.is_whole),                                                 \
         .help = "print all sections, not only the first screen"},                                \
        {.name = "no-pager",                                                                      \
         .is_of_page = true,                                                                      \
         .kind = OPTION_FLAG,                                                                     \
         .offset = offsetof(type, page.has_no_pager),                                             \
         .help = "print to the terminal itself (default: through $PAGER, or less)"},              \
    {                                                                                             \
        .name = "color", .is_of_page = true, .kind = OPTION_CHOICE, .metavar = "WHEN",            \
        .choices = color_names, .offset = offsetof(type, page.color),                             \
        .help = "auto (on a terminal and without NO_COLOR, the default), always or never"         \
    }

/* For all commands that read files; sets the limit at once. */
#define MEMORY_LIMIT_OPTION                                                                   \
    {                                                                                         \
        .name = "memory-limit", .is_of_page = true, .kind = OPTION_PARSED, .metavar = "SIZE", \
        .parse = parse_memory_limit, .accepts = memory_limit_accepted,                        \
        .help = "end with a message rather than take more memory (default: 90 % of what is "  \
                "available)"                                                                  \
    }
bool parse_memory_limit(const char *text, void *unused);
extern const char memory_limit_accepted[];

/* Likewise for settings that have an int64_t `threads` and a bool `shows_progress`: how traces are
 * read. */
#define READING_OPTIONS(type)                                                          \
    {.name = "threads",                                                                \
     .is_of_page = true,                                                               \
     .letter = 'j',                                                                    \
     .kind = OPTION_INTEGER,                                                           \
     .metavar = "N",                                                                   \
     .offset = offsetof(type, threads),                                                \
     .minimum = 1,                                                                     \
     .maximum = 1024,                                                                  \
     .help = "threads to read with (default: one for each processor core)"},           \
        MEMORY_LIMIT_OPTION,                                                           \
    {                                                                                  \
        .name = "no-progress", .is_of_page = true, .kind = OPTION_NEGATED,             \
        .offset = offsetof(type, shows_progress),                                      \
        .help = "no progress bar (there is one on a terminal, for work over a second)" \
    }

/* Likewise for settings that have a struct cache_choice `cache`. */
#define CACHE_OPTIONS(type)                                                                       \
    {.name = "cache",                                                                             \
     .is_of_page = true,                                                                          \
     .kind = OPTION_FLAG,                                                                         \
     .offset = offsetof(type, cache.is_wanted),                                                   \
     .help = "keep the answer, so that it is there at once when it is asked for again and the "   \
             "files are the same (default: only where $FLOPLEDGER_CACHE names a folder for it)"}, \
    {                                                                                             \
        .name = "no-cache", .is_of_page = true, .kind = OPTION_FLAG,                              \
        .offset = offsetof(type, cache.is_refused), .help = "neither keep nor look for answers"   \
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

#endif
