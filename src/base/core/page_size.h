/* The kernel's pages: what is mapped, moved and given back goes by whole ones. */
#ifndef FLOPLEDGER_BASE_CORE_PAGE_SIZE_H
#define FLOPLEDGER_BASE_CORE_PAGE_SIZE_H

#include <stddef.h>
#include <unistd.h>

/* Pages of arm64 have 4, 16 or 64 KiB, as the kernel was built (64 on many hosts of GH200). */
enum { PAGE_BYTES_MOST = 64 * 1024 };

static inline size_t page_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

/* So many bytes, or as many more as fill the last page. */
static inline size_t whole_pages(size_t bytes)
{
    const size_t page = page_bytes();

    return (bytes + page - 1) / page * page;
}

#endif
