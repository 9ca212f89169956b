/* The one way to end where memory is out. */
#ifndef FLOPLEDGER_BASE_CORE_OUT_OF_MEMORY_H
#define FLOPLEDGER_BASE_CORE_OUT_OF_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

/* Says that memory is out, and which limit there is, and ends the program with exit code 1. Takes
 * no memory; any thread may call it. */
_Noreturn void end_out_of_memory(void);

/* The limit in force, for the message; `is_users`: the user asked for it. */
void out_of_memory_limit(int64_t bytes, bool is_users);

/* `clean` is called before the end and removes what is half written; it may take no memory. NULL:
 * none. */
void out_of_memory_cleanup(void (*clean)(void));

#endif
