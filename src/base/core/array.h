/* Arrays that grow: the one place in which they do.
 *
 * Two kinds. An array of `count` elements that grows one by one needs no capacity beside it: it has
 * room for 8 elements, or for the next power of two, so that its count tells when it is full.
 * Where an array is filled by index, or by many at once, its capacity is kept and ARRAY_RESERVE
 * raises it. Either doubles, so that adding n elements moves O(n) of them. What is one for each
 * event of a trace is no such array, but a large one (LARGE_ARRAY_ADD). */
#ifndef FLOPLEDGER_BASE_CORE_ARRAY_H
#define FLOPLEDGER_BASE_CORE_ARRAY_H

#include "base/core/invariant.h"
#include "base/core/large_array.h"
#include "base/core/out_of_memory.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { ARRAY_FIRST = 8 };

/* The array with room for `count` elements of `element_bytes`, moved if need be. Ends the program
 * when memory is out. */
static inline void *array_resize(void *array, size_t count, size_t element_bytes)
{
    size_t bytes;

    if (__builtin_mul_overflow(count, element_bytes, &bytes))
        end_out_of_memory();
    return require_memory(realloc(array, bytes ? bytes : 1));
}

/* For how many elements there is room in an array that grows one by one and holds `count`. */
static inline size_t array_room_of(size_t count)
{
    size_t room = ARRAY_FIRST;

    while (room < count)
        room *= 2;
    return room;
}

/* The array with room for one more behind `count` elements. */
static inline void *array_with_room(void *array, size_t count, size_t element_bytes)
{
    if (count != 0 && (count < ARRAY_FIRST || (count & (count - 1)) != 0))
        return array;
    require_invariant(count <= UINT32_MAX / 2, "that an array has fewer than 2^32 elements");
    return array_resize(array, count ? 2 * count : ARRAY_FIRST, element_bytes);
}

/* What a capacity is raised to, so that it is at least `needed`. */
static inline size_t array_capacity(size_t capacity, size_t needed)
{
    size_t doubled = capacity ? 2 * capacity : ARRAY_FIRST;

    require_invariant(needed <= SIZE_MAX / 4, "that an array fits into memory");
    return doubled > needed ? doubled : needed;
}

/* Room for one more element behind the `count` of `array`, which has grown one by one. */
#define ARRAY_ROOM(array, count) \
    ((void)((array) = array_with_room((array), (count), sizeof *(array))))

/* Adds an element, the last argument, to the `count` of `array`, which has grown one by one. */
#define ARRAY_ADD(array, count, ...)                                    \
    do {                                                                \
        ARRAY_ROOM(array, count);                                       \
        (array)[count] = (__VA_ARGS__); /* which may be of the count */ \
        (count)++;                                                      \
    } while (0)

/* Room for `needed` elements in all; what is new is not set. `capacity` is raised with it. */
#define ARRAY_RESERVE(array, capacity, needed)                                        \
    do {                                                                              \
        if ((needed) > (capacity)) {                                                  \
            size_t array_reserved = array_capacity((capacity), (needed));             \
                                                                                      \
            require_invariant(array_reserved == (__typeof__(capacity))array_reserved, \
                              "that an array's elements can be counted");             \
            (array) = array_resize((array), array_reserved, sizeof *(array));         \
            (capacity) = (__typeof__(capacity))array_reserved;                        \
        }                                                                             \
    } while (0)

/* Room for `needed` elements in all in a large array (base/core/large_array.h); what is new is
 * zero. */
#define LARGE_ARRAY_RESERVE(array, needed)                                             \
    do {                                                                               \
        if (!(array) || (size_t)(needed) * sizeof *(array) > large_array_bytes(array)) \
            (array) = large_array_grown((array), (size_t)(needed) * sizeof *(array));  \
    } while (0)

/* Adds an element, the last argument, to the `count` of a large array. */
#define LARGE_ARRAY_ADD(array, count, ...)                              \
    do {                                                                \
        LARGE_ARRAY_RESERVE(array, (count) + (size_t)1);                \
        (array)[count] = (__VA_ARGS__); /* which may be of the count */ \
        (count)++;                                                      \
    } while (0)

#endif
