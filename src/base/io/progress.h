/* A progress bar on standard error for work that takes more than a second. */
#ifndef FLOPLEDGER_BASE_IO_PROGRESS_H
#define FLOPLEDGER_BASE_IO_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress; /* opaque; NULL is a bar that shows nothing */

/* `is_wanted` false, or standard error no terminal: shows nothing. `total_bytes` -1: not known
 * (shows bytes done). */
struct progress *progress_new(const char *title, int64_t total_bytes, bool is_wanted);

/* Adds to what is done; may be called from any thread, cheap. The bar first appears after one
 * second. */
void progress_advance(struct progress *progress, int64_t bytes);

/* Another file begins, or another kind of work: changes the title. */
void progress_title(struct progress *progress, const char *title);

/* Removes the bar from the screen. */
void progress_free(struct progress *progress);

#endif
