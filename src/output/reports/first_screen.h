/* What a busy reader sees of a report: at most one screen. Numbers, where the time (or the memory)
 * goes, the findings that are worth most, what is not known, and where the rest stands.
 *
 * It is made from results alone, so that the text and the page for a browser say the same in the
 * same words. To add a kind of report: write reports/screen_<name>.c with `const struct
 * screen_kind <name>_screen`, and one line SCREEN_KIND(<name>) in screen_kind_list.def. */
#ifndef FLOPLEDGER_OUTPUT_REPORTS_FIRST_SCREEN_H
#define FLOPLEDGER_OUTPUT_REPORTS_FIRST_SCREEN_H

#include "base/core/arena.h"
#include "base/text/text_table.h"
#include "output/results/results.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum {
    SCREEN_ROWS_MAX = 10,
    SCREEN_FINDINGS_MAX = 3,
    SCREEN_FIGURES_MAX = 8,
    SCREEN_WARNINGS_MAX = 2,
    SCREEN_ANSWERS_MAX = 6,
};

/* One bar. */
struct screen_row {
    const char *group;  /* "idle": of the rows that follow each other, the first says it, too */
    const char *title;  /* "waiting for data" */
    const char *amount; /* "58.7": in the unit of the chart */
    double share; /* of the whole, 0...1; negative: less than nothing, it is drawn without a bar
                   */
    const char *percent; /* "33.6" */
    const char *remark;  /* NULL, or what stands behind: "rank 5" */
    const char *key;     /* NULL, or the key of the account: gives a page its color */
    bool is_single;      /* not several small ones put together */
};

/* Bars that share one scale; where `total` is known their amounts and shares add up to it exactly,
 * as printed. */
struct screen_chart {
    const char *title; /* "Where a step goes"; NULL: there is no chart */
    const char *unit;  /* "ms" */
    const char *remark_title;
    const char *total; /* NULL, or the sum of the rows */
    struct screen_row rows[SCREEN_ROWS_MAX];
    size_t row_count;
};

/* One thing to do, in two lines. */
struct screen_finding {
    const char *what;       /* "waiting for data: 58.7 ms of each step (33.6 %)" */
    const char *try_this;   /* NULL, or what to do */
    const char *estimate;   /* NULL, or "1.25-1.50x" */
    const char *confidence; /* NULL, or "high" */
    const char *id;         /* NULL, or of the advice: a page links to it */
};

struct first_screen {
    const char *subject;                     /* "train.json.gz | NVIDIA A100 | steps 5 to 10" */
    const char *figures[SCREEN_FIGURES_MAX]; /* "step 175 ms (164-181)", "MFU 27.9 % ..." */
    size_t figure_count;
    const char *verdict;                     /* NULL, or the report in one sentence */
    const char *answers[SCREEN_ANSWERS_MAX]; /* to what options ask: --what-if, --fit, --fail-if */
    size_t answer_count;
    const char *warnings[SCREEN_WARNINGS_MAX]; /* what is wrong with the input */
    size_t warning_count;
    size_t further_warnings;
    struct screen_chart chart;
    const char *findings_title;
    struct screen_finding findings[SCREEN_FINDINGS_MAX];
    size_t finding_count;
    const char *not_known; /* NULL, or what is not known, and what would tell */
    const char *sections;  /* names for --section, most important first; with commas */
};

/* A first screen while it is made. */
struct screen_builder {
    struct arena *arena;
    const struct results *results;
    const struct rank_results *rank; /* whose sections stand in it; NULL where there is none */
    const char *dot;                 /* what parts words of one line: "·", or "|" in ASCII */
    struct first_screen *screen;
};

struct screen_kind {
    /* Whether results are of this kind. */
    bool (*recognizes)(const struct screen_builder *builder);
    /* Fills in the subject, figures, verdict and chart. */
    void (*fill)(struct screen_builder *builder);
    const char *findings_title; /* NULL: "What to try" */
    bool costs_only;            /* its findings are those that a rule has put a price on */
    bool warnings_are_findings; /* what is wrong is what the report is about */
    bool is_of_all_ranks;       /* its chart is: a finding of one rank says whose it is */
    bool is_of_no_rank;         /* what any of the ranks says is not for this screen */
    /* Keys of the sections that the last line names, most important first; NULL-terminated. */
    const char *const *sections;
};

/* All texts live in `arena` or as long as the results. Never fails: results of a kind that is not
 * known get their sentence, findings and sections. */
void make_first_screen(struct first_screen *screen, struct arena *arena,
                       const struct results *results, bool use_unicode);

/* ---- the first screen on a terminal ---- */

/* At most 48 lines where a page has 80 columns or more; nothing is wider than the page. */
void write_first_screen(FILE *output, const struct first_screen *screen, struct text_style style,
                        struct arena *arena);

#endif
