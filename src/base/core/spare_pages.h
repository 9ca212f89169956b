/* Pages of arrays that were freed, for the arrays to come: a page that the kernel hands out costs a
 * fault and is zeroed by it, which together take longer than most arrays are used.
 *
 * No more is kept than would be in use at the peak so far: the process never takes more memory for
 * it. Any thread may call these. */
#ifndef FLOPLEDGER_BASE_CORE_SPARE_PAGES_H
#define FLOPLEDGER_BASE_CORE_SPARE_PAGES_H

#include <stdbool.h>
#include <stddef.h>

/* Pages of `bytes` in a row, which hold anything; NULL: none are left so long. Of what is to grow
 * the pages behind are left alone where that can be. The bytes count as in use. */
char *spare_pages_take(size_t bytes, bool grows);

/* The `bytes` behind `end` as well, which hold anything; false where they are no spare ones. */
bool spare_pages_extend(char *end, size_t bytes);

/* Bytes that the caller mapped and uses now. */
void spare_pages_count(size_t bytes);

/* Of all that were counted or taken, and not kept since. */
size_t spare_pages_in_use(void);

/* Takes back what was in use: keeps it, or unmaps it. */
void spare_pages_keep(char *pages, size_t bytes);

/* The same, but unmaps it: for what is freed bit by bit while an array is filled that counts as in
 * use already, so that both would be there. */
void spare_pages_give_back(char *pages, size_t bytes);

/* Unmaps all: where the kernel has no more. False: there was nothing. */
bool spare_pages_release(void);

#endif
