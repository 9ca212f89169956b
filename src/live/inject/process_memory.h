/* Another process: what lies where in its memory, as /proc/PID/maps tells; files of code; and the
 * file that a Python of 3.14 or later is told to run, for which it need not be stopped or traced.
 */
#ifndef FLOPLEDGER_LIVE_INJECT_PROCESS_MEMORY_H
#define FLOPLEDGER_LIVE_INJECT_PROCESS_MEMORY_H

#include "base/core/arena.h"
#include "base/core/attributes.h"
#include "base/core/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct memory_region {
    uint64_t start;
    uint64_t end;
    uint64_t offset; /* in the file */
    bool is_code;    /* may be executed */
    bool is_written;
    const char *path; /* as that process sees it; "[stack]" and the like; "": none */
};

struct process_memory {
    long pid;
    struct memory_region *regions; /* [count], by address, in the arena */
    size_t count;
};

/* False where it may not be read, or the process has none any more. */
bool process_memory_read(struct process_memory *memory, struct arena *arena, long pid);

/* NULL: nothing is there. */
const struct memory_region *memory_region_at(const struct process_memory *memory, uint64_t address);

/* Where the file of this region begins in memory: its first page. */
uint64_t memory_file_base(const struct process_memory *memory, const char *path);

/* `bytes` (whole pages) that are free, far from what grows; 0: none. */
uint64_t memory_find_room(const struct process_memory *memory, uint64_t bytes);

/* A file of the process, as this one can open it, whatever that one sees as its root. */
const char *process_path(struct arena *arena, long pid, const char *path);

/* A 64-bit ELF file of this machine's kind, whole in memory. */
struct elf_file {
    const unsigned char *bytes; /* mapped */
    size_t size;
    uint64_t first_address; /* of its first loaded page, as the file has it */
};

/* False where the file cannot be read, or is no ELF file of this machine's kind. */
bool elf_file_open(struct elf_file *file, const char *path);

void elf_file_clear(struct elf_file *file);

/* The address of a symbol that the file defines and shows to others (or, where it was not stripped,
 * of any it defines), as far behind the first loaded page; 0: it has none of that name. */
uint64_t elf_symbol(const struct elf_file *file, const char *name);

/* Likewise where a section of that name begins. */
uint64_t elf_section(const struct elf_file *file, const char *name);

/* The first place in the code of the file where `pattern` stands, counted likewise; 0: none. */
uint64_t elf_find_code(const struct elf_file *file, const void *pattern, size_t length);

/* Where a Python of 3.14 or later looks for the name of a file that it is to run: as
 * sys.remote_exec does, and without a stop. All are addresses in the process. */
struct remote_script {
    uint64_t breaker;    /* flags of the main thread that have it look */
    uint64_t is_pending; /* int: a file is named */
    uint64_t name;
    uint64_t name_bytes; /* there is room for so many; 0: it looks for none */
};

enum remote_state {
    REMOTE_UNKNOWN, /* it is older, or laid out in a way that is not known */
    REMOTE_IS_OFF,  /* it was started so that it does not look */
    REMOTE_LOOKS,
};

/* `minor` is set where the process tells it, which it does from 3.13 on. */
enum remote_state remote_script_find(struct remote_script *script, int *minor, long pid,
                                     uint64_t runtime);

/* Has it run the file at its next step in Python: this comes back before. `path` is as the process
 * sees it. ERROR_FAILURE where that can't be written into it, or another file waits to be run. */
MUST_USE bool remote_script_send(const struct remote_script *script, long pid, const char *path,
                                 struct error *error);

/* It is not run any more, if that has not begun. */
void remote_script_withdraw(const struct remote_script *script, long pid, const char *path);

#endif
