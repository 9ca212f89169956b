/* How much memory this process may take. The limit is the kernel's (RLIMIT_DATA): whoever asks for
 * more, be it a reader or a library, gets nothing, and end_out_of_memory tells. Files that are
 * mapped do not count. */
#ifndef FLOPLEDGER_BASE_CORE_MEMORY_LIMIT_H
#define FLOPLEDGER_BASE_CORE_MEMORY_LIMIT_H

#include <stdint.h>

/* What the user said (--memory-limit); takes the place of the usual limit. */
void memory_limit_set(int64_t bytes);

/* 90 % of what is left now. */
void memory_limit_set_usual(void);

/* 0: none. */
int64_t memory_limit_bytes(void);

/* While another program is started, which shall not inherit it. */
void memory_limit_suspend(void);
void memory_limit_resume(void);

/* What can still be used: the least of what `root`/proc/meminfo calls available and of what the
 * control groups of `root`/proc/self/cgroup (version 2, or memory of version 1) leave; -1 where
 * none of them tells. `root` is empty but in tests. */
int64_t memory_left_bytes(const char *root);

#endif
