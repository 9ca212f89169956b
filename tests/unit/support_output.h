/* What is written to a stream, as text to compare. */
#ifndef FLOPLEDGER_TESTS_SUPPORT_OUTPUT_H
#define FLOPLEDGER_TESTS_SUPPORT_OUTPUT_H

#include <stddef.h>
#include <stdio.h>

struct captured_output {
    FILE *stream; /* write here */
    char *text;   /* valid after capture_end */
    size_t length;
};

/* `output` must be zeroed. */
void capture_begin(struct captured_output *output);

/* All that was written; lives until captured_output_clear. */
const char *capture_end(struct captured_output *output);

void captured_output_clear(struct captured_output *output);

#endif
