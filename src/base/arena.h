/* Memory that is handed out piece by piece and given back all at once. */
#ifndef FLOPLEDGER_BASE_ARENA_H
#define FLOPLEDGER_BASE_ARENA_H

#include <stddef.h>

/* A zeroed arena is an empty one. */
struct arena {
    struct arena_block *blocks; /* the newest first */
};

/* Zeroed memory, aligned for any type, that lives until arena_clear. Ends the program when memory
 * is out. */
void *arena_allocate(struct arena *arena, size_t bytes);

/* A copy of `length` bytes with a NUL behind them. */
char *arena_copy_text(struct arena *arena, const char *text, size_t length);

/* Moves all memory of `from` to `arena`: what lived in `from` now lives as long as `arena`. */
void arena_adopt(struct arena *arena, struct arena *from);

void arena_clear(struct arena *arena);

#endif
