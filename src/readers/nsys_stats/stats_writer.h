/* Writes reports of nsys-stats: as a table for people, and as `nsys stats` writes CSV and JSON. */
#ifndef FLOPLEDGER_READERS_NSYS_STATS_STATS_WRITER_H
#define FLOPLEDGER_READERS_NSYS_STATS_STATS_WRITER_H

#include "base/core/attributes.h"
#include "base/core/error.h"
#include "readers/nsys/nsys_database.h"
#include "readers/nsys_stats/stats_report.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum stats_format {
    STATS_AS_TEXT, /* for people: aligned; where `width` columns do not hold it all, names are
                   shortened and what is less important is left out */
    STATS_AS_CSV,  /* a line of titles, then one a row; quoted where needed */
    STATS_AS_JSON, /* an array with an object a row, whose keys are the titles */
};

struct stats_page_settings {
    int format;    /* enum stats_format */
    int64_t width; /* columns; 0: those of the terminal */
};

enum { STATS_REPORTS_MAX = 64 };

/* The reports that were asked for, in that order. */
struct chosen_stats {
    struct {
        const struct stats_report *report;
        enum kernel_name_form form;
    } reports[STATS_REPORTS_MAX];
    size_t count;
};

/* The reports of these names; of none, those that a training run is most often asked for. Errors
 * (ERROR_USAGE): no such report, too many. */
MUST_USE bool choose_stats_reports(struct chosen_stats *chosen, char **names, int count,
                                   struct error *error);

/* What one of several reports lacks is told in its place; false where none could be filled. Write
 * errors show in ferror(output). */
MUST_USE bool stats_write_reports(FILE *output, struct nsys_database *database,
                                  const struct chosen_stats *chosen,
                                  const struct stats_page_settings *settings, struct error *error);

#endif
