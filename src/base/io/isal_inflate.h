/* gzip by ISA-L, which is looked for when the program runs: three times as fast as zlib. */
#ifndef FLOPLEDGER_BASE_IO_ISAL_INFLATE_H
#define FLOPLEDGER_BASE_IO_ISAL_INFLATE_H

#include <stddef.h>

struct isal_inflate; /* opaque */

enum isal_step { ISAL_STEP_MORE, ISAL_STEP_END, ISAL_STEP_DAMAGED };

/* NULL where this machine has no libisal.so.2, or the program was built without its header. */
struct isal_inflate *isal_inflate_new(void);

/* Unpacks as far as input and room allow and moves all four on. END: a gzip member has ended, and
 * the next call begins another. */
enum isal_step isal_inflate_step(struct isal_inflate *inflate, const unsigned char **input,
                                 size_t *input_left, unsigned char **output, size_t *output_left);

/* What is wrong, after ISAL_STEP_DAMAGED. */
const char *isal_inflate_problem(const struct isal_inflate *inflate);

void isal_inflate_free(struct isal_inflate *inflate);

#endif
