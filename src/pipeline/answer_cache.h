/* Answers that are kept, so that a question asked before is answered at once: what a page shows of
 * some files, with the content of all that it was made from. docs/how-to/cache.md says what is
 * kept, and when it is believed. */
#ifndef FLOPLEDGER_PIPELINE_ANSWER_CACHE_H
#define FLOPLEDGER_PIPELINE_ANSWER_CACHE_H

#include "base/core/attributes.h"
#include "base/core/bytes.h"
#include "base/core/content_hash.h"
#include "base/core/error.h"
#include "output/results/results.h"
#include "pipeline/page.h"

#include <stdbool.h>
#include <stdint.h>

#define ANSWER_CACHE_FOLDER_VARIABLE "FLOPLEDGER_CACHE"
#define ANSWER_CACHE_SIZE_VARIABLE   "FLOPLEDGER_CACHE_MIB"
enum { ANSWER_CACHE_USUAL_MIB = 512 };

/* Zeroed is closed: nothing is found in it, and nothing kept. */
struct answer_cache {
    char *folder; /* NULL: closed */
    struct content_hash secret;
    struct content_hash key; /* of the question */
    unsigned threads;
    bool is_watching;
};

/* Where answers are kept: $FLOPLEDGER_CACHE, else flopledger in $XDG_CACHE_HOME or ~/.cache. NULL
 * where none of these is set; free() it. */
char *answer_cache_folder(void);

/* Makes the folder where it is missing. Errors (ERROR_FAILURE): it cannot be made or written to, or
 * another user could write to it. */
MUST_USE bool answer_cache_open(struct answer_cache *cache, struct error *error);

/* What is asked: every byte of `question` counts, and the program, and the folder it runs in. */
void answer_cache_ask(struct answer_cache *cache, const struct bytes *question, unsigned threads);

/* True where the answer was kept and all it was made from is still the same: `results`, only
 * initialized before, are filled, or *page, where it was one; and *check is what its check said. */
MUST_USE bool answer_cache_find(struct answer_cache *cache, struct results *results,
                                struct finished_page *page, struct error *check);

/* Until answer_cache_keep or answer_cache_clear, what is read belongs to the answer. */
void answer_cache_watch(struct answer_cache *cache);

/* Keeps the answer, which is the page where there is one, and removes the oldest beyond the limit.
 * Where that cannot be done, or a file changed meanwhile, nothing is kept. */
void answer_cache_keep(struct answer_cache *cache, const struct results *results,
                       const struct finished_page *page, const struct error *check);

struct answer_cache_size {
    size_t count;
    int64_t bytes;
    int64_t bytes_max;
};

/* What is kept in the folder. */
struct answer_cache_size answer_cache_measure(const char *folder);

/* Removes all that is kept, and the folder's secret; `size` is what was there. */
MUST_USE bool answer_cache_remove_all(const char *folder, struct answer_cache_size *size,
                                      struct error *error);

void answer_cache_clear(struct answer_cache *cache);

#endif
