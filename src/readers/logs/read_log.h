/* Reads the log of a training job, whatever program wrote it. */
#ifndef FLOPLEDGER_READERS_LOGS_READ_LOG_H
#define FLOPLEDGER_READERS_LOGS_READ_LOG_H

#include "base/core/attributes.h"
#include "base/core/error.h"
#include "base/io/input_stream.h"
#include "readers/logs/log_format.h"
#include "trace/job/job.h"

#include <stdbool.h>
#include <stdint.h>

struct log_pattern;

/* What one file tells that helps with the next. Zeroed: there was none. */
struct log_carry {
    const struct log_format *format;
    int64_t memory[LOG_MEMORY];
    const struct log_pattern *pattern; /* of --pattern: set it before the first file; else NULL */
};

/* What was read. */
struct log_outcome {
    const struct log_format *format; /* NULL: none was recognised */
    int64_t lines;
    int64_t step_lines; /* that tell of steps, checkpoints and the like in this format */
    int64_t long_lines; /* cut behind so many bytes that no log line has them */
    bool is_broken;     /* packed text that ends too early, or with something else behind it */
};

/* The format that the beginning of a file is of; NULL where no line tells. */
const struct log_format *log_format_of_head(struct input_window head);

/* Adds what `input` tells to the job, as a source of its name. Errors
 * (ERROR_INPUT): it is empty, or no text. A text in which no format is recognised is none:
 * outcome->format is NULL then. */
MUST_USE bool read_log(struct job *job, struct input_stream *input, struct log_carry *carry,
                       struct log_outcome *outcome, struct error *error);

#endif
