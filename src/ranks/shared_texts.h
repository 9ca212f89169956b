/* Texts that the digests of many ranks have in common, each kept once: the ranks of a process
 * group, the names of the accounts. A text is told by 64 bits of its hash. Digests that were read
 * point into them, so they live until the last who keeps them has released them. */
#ifndef FLOPLEDGER_RANKS_SHARED_TEXTS_H
#define FLOPLEDGER_RANKS_SHARED_TEXTS_H

#include "base/core/arena.h"
#include "base/core/hash_map.h"

#include <stddef.h>
#include <stdint.h>

struct shared_text {
    uint64_t hash;
    const char *bytes; /* [length], and a NUL behind */
    size_t length;
};

struct shared_texts {
    struct shared_text *texts; /* [count], in the order in which they came */
    uint32_t count;
    struct hash_map place_of; /* by hash: index in texts */
    struct arena arena;
    unsigned keepers; /* one at a time: no two threads may keep or release */
};

/* Empty, and kept once. */
struct shared_texts *shared_texts_new(void);

struct shared_texts *shared_texts_keep(struct shared_texts *texts);

/* `texts` may be NULL. */
void shared_texts_release(struct shared_texts *texts);

/* The text, which is copied where it is new; NULL where another text has its hash. Valid until the
 * next is added; its bytes as long as the texts. */
const struct shared_text *shared_texts_add(struct shared_texts *texts, const void *bytes,
                                           size_t length);

/* NULL where there is none. */
const struct shared_text *shared_texts_find(const struct shared_texts *texts, uint64_t hash);

/* FNV-1a: the same on all machines. */
uint64_t shared_text_hash(const void *bytes, size_t length);

#endif
