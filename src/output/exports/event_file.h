/* TensorBoard's event files: records of TFRecord, each an Event.
 *
 * A record: its length (8 bytes), a checksum of these, the bytes, a checksum of them; numbers with
 * the lowest byte first. https://www.tensorflow.org/tutorials/load_data/tfrecord */
#ifndef FLOPLEDGER_OUTPUT_EXPORTS_EVENT_FILE_H
#define FLOPLEDGER_OUTPUT_EXPORTS_EVENT_FILE_H

#include "base/core/bytes.h"
#include "output/exports/protobuf_writer.h"

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

#endif
