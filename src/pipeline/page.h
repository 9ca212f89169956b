/* The settings of a page, and how it is printed: shared by all that print one. */
#ifndef FLOPLEDGER_PIPELINE_PAGE_H
#define FLOPLEDGER_PIPELINE_PAGE_H

#include "base/core/attributes.h"
#include "base/core/error.h"
#include "base/io/input_rest.h"
#include "output/results/results.h"
#include "pipeline/output_place.h"

#include <stdbool.h>
#include <stdint.h>

struct page_settings {
    int format; /* index in report_names */
    const char *output;
    const char *output_option; /* that named it, where that is not --output */
    bool is_forced;            /* --force */
    int64_t width;             /* 0: the terminal's */
    int color;                 /* index in color_names */
    bool is_whole;             /* --all: every section, not the first screen */
    const char *sections;      /* --section: their names; NULL: not given */
    bool lists_sections;       /* --list-sections */
    bool has_no_pager;         /* --no-pager */
};

/* NULL-terminated: auto, always, never. */
extern const char *const color_names[];

/* Writes the results in the chosen format to the chosen place. */
MUST_USE bool print_page(struct results *results, const struct page_settings *settings,
                         struct error *error);

/* A page as it is written, whatever the place. */
struct finished_page {
    const char *text; /* in the arena of its results; NULL: none */
    size_t length;
};

/* It looks the same wherever it is printed, so that it can be kept as it is. */
bool page_can_be_kept(const struct page_settings *settings);

/* Makes one of such a page. */
MUST_USE bool finish_page(struct finished_page *page, struct results *results,
                          const struct page_settings *settings, struct error *error);

/* Writes it to the chosen place. */
MUST_USE bool print_finished_page(const struct finished_page *page,
                                  const struct page_settings *settings, struct error *error);

/* A page for a browser or for a program tells all that a trace does: its memory, too, and all of
 * its modules. */
bool page_has_all(const struct page_settings *settings);

/* Nothing but the first screen is printed. */
bool page_is_first_screen(const struct page_settings *settings);

/* --section names the section of this key, or --list-sections asks for its name. */
bool page_wants_section(const struct page_settings *settings, const char *key);

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

/* Adds a problem where anything stands behind the end of a file that was read; true then. */
bool note_file_rest(struct results *results, const char *path, const struct input_rest *rest);

#endif
