/* TensorBoard's event files, and what its plugins read. The numbers of fields are those of its
 * message files: summary, tensor, plugins/hparams/api and plugin_data,
 * plugins/custom_scalar/layout. */
#ifndef FLOPLEDGER_OUTPUT_EXPORTS_TENSORBOARD_SUMMARY_H
#define FLOPLEDGER_OUTPUT_EXPORTS_TENSORBOARD_SUMMARY_H

#include "base/core/bytes.h"
#include "output/exports/protobuf_writer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* When and in which step something was. */
struct event_time {
    double wall_seconds; /* since 1970; from another moment on where that is not known */
    int64_t step;
};

/* The first record of each file. Write errors show in ferror(output). */
void event_file_begin(FILE *output, double wall_seconds);

/* `summary`: a Summary, as tensorboard_summary.h makes it. */
void event_file_add(FILE *output, struct event_time time, const struct bytes *summary);

/* CRC-32C (Castagnoli) as TFRecord stores it: turned, and a constant added. */
uint32_t masked_crc32c(const void *bytes, size_t length);

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
