/* Binary search: the one place in which it is written. */
#ifndef FLOPLEDGER_BASE_CORE_SEARCH_H
#define FLOPLEDGER_BASE_CORE_SEARCH_H

/* The first `index` of [first, end) for which `is_before`, an expression of it, does not hold;
 * `end` where it holds for all. It must hold for none behind one for which it does not: so is the
 * order of what is searched. O(log(end - first)), with the comparison compiled in.
 *
 *     size_t first = LOWER_BOUND(i, 0, list->count, list->events[i].start_ns < time_ns); */
#define LOWER_BOUND(index, first, end, is_before)                                            \
    __extension__({                                                                          \
        __typeof__((end) + 0) search_##index##_low = (first), search_##index##_high = (end); \
                                                                                             \
        while (search_##index##_low < search_##index##_high) {                               \
            __typeof__((end) + 0) index =                                                    \
                search_##index##_low + (search_##index##_high - search_##index##_low) / 2;   \
                                                                                             \
            if (is_before)                                                                   \
                search_##index##_low = index + 1;                                            \
            else                                                                             \
                search_##index##_high = index;                                               \
        }                                                                                    \
        search_##index##_low;                                                                \
    })

#endif
