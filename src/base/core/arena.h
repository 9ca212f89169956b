/* Memory that is handed out piece by piece and given back all at once. */
#ifndef FLOPLEDGER_BASE_CORE_ARENA_H
#define FLOPLEDGER_BASE_CORE_ARENA_H

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

/* `allocated`, of malloc, is free()d with the arena. */
void arena_give(struct arena *arena, void *allocated);

/* A list in the arena that grows one by one: room for at least one more element of `element_bytes`
 * behind `count`. It moves where the count reaches a power of two; what it was stays in the arena
 * until the end. */
void *arena_list_with_room(struct arena *arena, void *list, size_t count, size_t element_bytes);

/* Adds an element, the last argument, to the `count` of a list in an arena. */
#define ARENA_LIST_ADD(arena, list, count, ...)                                  \
    do {                                                                         \
        (list) = arena_list_with_room((arena), (list), (count), sizeof *(list)); \
        (list)[count] = (__VA_ARGS__);                                           \
        (count)++;                                                               \
    } while (0)

void arena_clear(struct arena *arena);

#endif
