/* Where a library or program keeps its functions, by the file on disk. */
#ifndef FLOPLEDGER_LIVE_INJECT_ELF_SYMBOLS_H
#define FLOPLEDGER_LIVE_INJECT_ELF_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/* The first place in the code of the file where `pattern` stands, counted likewise; 0: none. */
uint64_t elf_find_code(const struct elf_file *file, const void *pattern, size_t length);

#endif
