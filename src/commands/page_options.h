/* The options of a page, of its memory and of reading: shared by the commands that print one. */
#ifndef FLOPLEDGER_COMMANDS_PAGE_OPTIONS_H
#define FLOPLEDGER_COMMANDS_PAGE_OPTIONS_H

#include "base/text/option.h"
#include "output/reports/write_report.h"
#include "pipeline/page.h"

#include <stdbool.h>

/* For OPTION_PARSED into a struct page_settings: the file of an HTML page. */
bool parse_html_output(const char *text, void *field);
extern const char html_output_accepted[];

/* A line of an option table for a struct of settings that has a bool `field`. */
#define FORCE_OPTION(type, field)                                                           \
    FLAG_OPTION("force", offsetof(type, field),                                             \
                "replace a file even where it is a trace, a database, a snapshot or a log " \
                "(never one that is read)",                                                 \
                .is_of_page = true)

/* Lines of an option table for a struct of settings `type` that has a struct page_settings `page`.
 */
#define PAGE_OPTIONS(type) PAGE_OPTIONS_OF(type, report_names, "")

/* The same with more formats than the reports': `names` begins with theirs, `more_help` says what
 * the others are. */
#define PAGE_OPTIONS_OF(type, names, more_help)                                                  \
    CHOICE_OPTION(                                                                               \
        "format", offsetof(type, page.format), "NAME", names,                                    \
        "how to print: text (for people, the default), json (for programs), deepspeed (by "      \
        "module, as DeepSpeed's profiler does), html (a page for a browser), markdown (the "     \
        "summary of a CI job), junit (conditions as tests) or sarif (findings as "               \
        "annotations)" more_help,                                                                \
        .letter = 'f', .is_of_page = true),                                                      \
        ALIAS_OPTION("json", "format", "json", "short for --format json", .is_of_page = true),   \
        PARSED_OPTION(                                                                           \
            "html", offsetof(type, page), "FILE", html_output,                                   \
            "short for --format html --output FILE: one page, with all tables and charts",       \
            .is_of_page = true),                                                                 \
        TEXT_OPTION("output", offsetof(type, page.output), "FILE",                               \
                    "write to FILE, atomically (default: standard output)", .letter = 'o',       \
                    .is_of_page = true),                                                         \
        FORCE_OPTION(type, page.is_forced),                                                      \
        INTEGER_OPTION("width", offsetof(type, page.width), "N", 40, 1000,                       \
                       "columns of the page (default: those of the terminal, 80 without one)",   \
                       .is_of_page = true),                                                      \
        TEXT_OPTION("section", offsetof(type, page.sections), "NAMES",                           \
                    "print these sections in full, with commas between: kernels,operators; a "   \
                    "group stands for its sections: time, flops, memory, communication",         \
                    .is_of_page = true),                                                         \
        FLAG_OPTION("list-sections", offsetof(type, page.lists_sections),                        \
                    "print the names of the sections that this input has, and their groups",     \
                    .is_of_page = true),                                                         \
        FLAG_OPTION("all", offsetof(type, page.is_whole),                                        \
                    "print all sections, not only the first screen", .is_of_page = true),        \
        FLAG_OPTION("no-pager", offsetof(type, page.has_no_pager),                               \
                    "print to the terminal itself (default: through $PAGER, or less)",           \
                    .is_of_page = true),                                                         \
        CHOICE_OPTION("color", offsetof(type, page.color), "WHEN", color_names,                  \
                      "auto (on a terminal and without NO_COLOR, the default), always or never", \
                      .is_of_page = true)

/* For all commands that read files; sets the limit at once. */
#define MEMORY_LIMIT_OPTION                                                                     \
    PARSED_OPTION(                                                                              \
        "memory-limit", 0, "SIZE", memory_limit,                                                \
        "end with a message rather than take more memory (default: 90 % of what is available)", \
        .is_of_page = true)
bool parse_memory_limit(const char *text, void *unused);
extern const char memory_limit_accepted[];

/* Likewise for settings that have an int64_t `threads` and a bool `shows_progress`: how traces are
 * read. */
#define READING_OPTIONS(type)                                                                    \
    INTEGER_OPTION("threads", offsetof(type, threads), "N", 1, 1024,                             \
                   "threads to read with (default: one for each processor core)", .letter = 'j', \
                   .is_of_page = true),                                                          \
        MEMORY_LIMIT_OPTION,                                                                     \
        NEGATED_OPTION("no-progress", offsetof(type, shows_progress),                            \
                       "no progress bar (there is one on a terminal, for work over a second)",   \
                       .is_of_page = true)

/* Likewise for settings that have a struct cache_choice `cache`. */
#define CACHE_OPTIONS(type)                                                                 \
    FLAG_OPTION(                                                                            \
        "cache", offsetof(type, cache.is_wanted),                                           \
        "keep the answer, so that it is there at once when it is asked for again and the "  \
        "files are the same (default: only where $FLOPLEDGER_CACHE names a folder for it)", \
        .is_of_page = true),                                                                \
        FLAG_OPTION("no-cache", offsetof(type, cache.is_refused),                           \
                    "neither keep nor look for answers", .is_of_page = true)

/* Likewise for settings that have an int64_t `top`, an int64_t `rank`. */
#define TOP_OPTION(type) \
    TOP_OPTION_OF(type, "rows of long tables; 0 for all (default: 10; 2,000 of an HTML page)")
#define TOP_OPTION_OF(type, what) \
    INTEGER_OPTION("top", offsetof(type, top), "N", 0, INT32_MAX, (what), .letter = 'n')
#define RANK_OPTION(type)                                                                \
    INTEGER_OPTION("rank", offsetof(type, rank), "N", 0, INT32_MAX,                      \
                   "of several ranks: the one to print in full (default: the lowest in " \
                   "text, all in json)",                                                 \
                   .letter = 'r')

#endif
