/* Arrays that grow by one. */
#ifndef FLOPLEDGER_BASE_GROWTH_H
#define FLOPLEDGER_BASE_GROWTH_H

#include "base/invariant.h"

#include <stddef.h>
#include <stdlib.h>

/* Room for one more behind `count` things of `size` bytes: they grow at each power of two. */
static inline void *room_for_one(void *things, size_t count, size_t size)
{
    if ((count & (count - 1)) != 0)
        return things;
    return require_memory(realloc(things, (count ? 2 * count : 1) * size));
}

#endif
