/* What TensorBoard's plugins read: values of a Summary. Each function adds one to `summary`. All
 * texts must be UTF-8. */
#ifndef FLOPLEDGER_OUTPUT_EXPORTS_TENSORBOARD_SUMMARY_H
#define FLOPLEDGER_OUTPUT_EXPORTS_TENSORBOARD_SUMMARY_H

#include "base/core/bytes.h"
#include "output/exports/protobuf_writer.h"

#include <stdbool.h>
#include <stddef.h>

/* `description`: Markdown; NULL from the second step of a tag on. */
void summary_add_scalar(struct bytes *summary, const char *tag, double number,
                        const char *description);

/* `text`: Markdown. */
void summary_add_text(struct bytes *summary, const char *tag, const char *text);

/* A chart of all scalars whose tags match one of the patterns. */
struct scalar_chart {
    const char *title;
    const char *patterns[3]; /* regular expressions; NULL: no more */
};

/* A group of charts. */
struct chart_category {
    const char *title;
    const struct scalar_chart *charts; /* [count] */
    size_t count;
};

/* The layout of the page "Custom scalars". */
void summary_add_layout(struct bytes *summary, const struct chart_category *categories,
                        size_t count);

/* A setting of the run: a text or a number. */
struct hyperparameter {
    const char *name;
    bool is_text;
    bool is_known;
    const char *text;
    double number;
};

/* What the page "HParams" shows: settings of a run, and the tags of scalars that measure it
 * (NULL-terminated). The names should be the same for all runs, known or not: TensorBoard takes
 * them from any one. */
void summary_add_hyperparameters(struct bytes *summary, const struct hyperparameter *settings,
                                 size_t count, const char *const *metric_tags);

#endif
