/* Where a library or program keeps its functions and its state, by the file on disk. */
#include "base/core/page_size.h"
#include "live/inject/process_memory.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__x86_64__)
enum { OWN_MACHINE = EM_X86_64 };
#else
enum { OWN_MACHINE = EM_AARCH64 };
#endif

/* `count` things of `size` bytes at `offset`; NULL where they don't lie within the file. Offsets
 * come from a file that may be anything: checked by subtraction and division, so that no sum
 * overflows. Everything is copied out by memcpy, as a file aligns nothing. */
static const void *elf_part(const struct elf_file *file, uint64_t offset, uint64_t count,
                            uint64_t size)
{
    if (offset > file->size || (size && count > (file->size - offset) / size))
        return NULL;
    return file->bytes + offset;
}

static bool elf_is_ours(const Elf64_Ehdr *head)
{
    return memcmp(head->e_ident, ELFMAG, SELFMAG) == 0 && head->e_ident[EI_CLASS] == ELFCLASS64 &&
           head->e_ident[EI_DATA] == ELFDATA2LSB && head->e_machine == OWN_MACHINE &&
           head->e_phentsize == sizeof(Elf64_Phdr);
}

/* Segment number `at`; false where there is none. */
static bool elf_segment(const struct elf_file *file, size_t at, Elf64_Phdr *segment)
{
    Elf64_Ehdr head;
    const unsigned char *all;

    memcpy(&head, file->bytes, sizeof head);
    all = elf_part(file, head.e_phoff, head.e_phnum, sizeof *segment);
    if (!all || at >= head.e_phnum)
        return false;
    memcpy(segment, all + at * sizeof *segment, sizeof *segment);
    return true;
}

/* Addresses are relative to the first segment's page: that is where the file is mapped. */
static bool elf_check(struct elf_file *file)
{
    Elf64_Ehdr head;
    Elf64_Phdr segment;

    if (file->size < sizeof head)
        return false;
    memcpy(&head, file->bytes, sizeof head);
    if (!elf_is_ours(&head))
        return false;
    for (size_t i = 0; elf_segment(file, i, &segment); i++) {
        if (segment.p_type == PT_LOAD) {
            file->first_address = segment.p_vaddr - segment.p_vaddr % page_bytes();
            return true;
        }
    }
    return false;
}

/* O_NONBLOCK, since a path of another process may be a pipe, which open() would wait for. */
bool elf_file_open(struct elf_file *file, const char *path)
{
    struct stat about;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    void *bytes = MAP_FAILED;

    *file = (struct elf_file){0};
    if (descriptor < 0)
        return false;
    if (fstat(descriptor, &about) == 0 && S_ISREG(about.st_mode) && about.st_size > 0)
        bytes = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    close(descriptor);
    if (bytes == MAP_FAILED)
        return false;
    file->bytes = bytes;
    file->size = (size_t)about.st_size;
    if (elf_check(file))
        return true;
    elf_file_clear(file);
    return false;
}

/* munmap wants what mmap gave, without const; the union takes it away without a cast that the
 * compiler warns of. */
void elf_file_clear(struct elf_file *file)
{
    union {
        const unsigned char *bytes;
        void *mapped;
    } place = {.bytes = file->bytes};

    if (place.mapped)
        munmap(place.mapped, file->size);
    *file = (struct elf_file){0};
}

/* ---- symbols and sections ------------------------------------------------------------------- */

struct symbol_table {
    const unsigned char *symbols;
    uint64_t count;
    const char *names;
    uint64_t names_bytes;
};

/* Linear: the table is looked at some ten times in an attachment, and a hash section may be
 * missing. */
static uint64_t symbol_table_find(const struct symbol_table *table, const char *name)
{
    size_t length = strlen(name) + 1; /* with its NUL */
    Elf64_Sym symbol;

    for (uint64_t i = 0; i < table->count; i++) {
        memcpy(&symbol, table->symbols + i * sizeof symbol, sizeof symbol);
        if (symbol.st_shndx == SHN_UNDEF || symbol.st_value == 0 ||
            symbol.st_name >= table->names_bytes || table->names_bytes - symbol.st_name < length)
            continue;
        if (memcmp(table->names + symbol.st_name, name, length) == 0)
            return symbol.st_value;
    }
    return 0;
}

/* Section number `at`; false where there is none. */
static bool elf_section_at(const struct elf_file *file, size_t at, Elf64_Shdr *section)
{
    Elf64_Ehdr head;
    const unsigned char *all;

    memcpy(&head, file->bytes, sizeof head);
    all = elf_part(file, head.e_shoff, head.e_shnum, sizeof *section);
    if (!all || head.e_shentsize != sizeof *section || at >= head.e_shnum)
        return false;
    memcpy(section, all + at * sizeof *section, sizeof *section);
    return true;
}

/* A section of symbols with its section of names. */
static bool elf_symbol_table(const struct elf_file *file, const Elf64_Shdr *section,
                             struct symbol_table *table)
{
    Elf64_Shdr names;

    if (!elf_section_at(file, section->sh_link, &names))
        return false;
    table->count = section->sh_size / sizeof(Elf64_Sym);
    table->symbols = elf_part(file, section->sh_offset, table->count, sizeof(Elf64_Sym));
    table->names = elf_part(file, names.sh_offset, names.sh_size, 1);
    table->names_bytes = names.sh_size;
    return table->symbols && table->names;
}

/* Dynamic symbols and the full table alike; stripped files have the first only. */
uint64_t elf_symbol(const struct elf_file *file, const char *name)
{
    Elf64_Shdr section;

    for (size_t i = 0; elf_section_at(file, i, &section); i++) {
        struct symbol_table table;
        uint64_t value;

        if ((section.sh_type != SHT_DYNSYM && section.sh_type != SHT_SYMTAB) ||
            !elf_symbol_table(file, &section, &table))
            continue;
        value = symbol_table_find(&table, name);
        if (value >= file->first_address && value)
            return value - file->first_address;
    }
    return 0;
}

/* Section names survive stripping: ".PyRuntime" leads to the interpreter's state where symbols
 * do not (CPython 3.11+ puts it there). */
uint64_t elf_section(const struct elf_file *file, const char *name)
{
    size_t length = strlen(name) + 1; /* with its NUL */
    Elf64_Ehdr head;
    Elf64_Shdr names;
    Elf64_Shdr section;
    const char *text;

    memcpy(&head, file->bytes, sizeof head);
    text = elf_section_at(file, head.e_shstrndx, &names)
               ? elf_part(file, names.sh_offset, names.sh_size, 1)
               : NULL;
    for (size_t i = 0; text && elf_section_at(file, i, &section); i++) {
        if (section.sh_name < names.sh_size && names.sh_size - section.sh_name >= length &&
            memcmp(text + section.sh_name, name, length) == 0 &&
            section.sh_addr > file->first_address)
            return section.sh_addr - file->first_address;
    }
    return 0;
}

/* In executable segments alone, since the bytes may occur in data. */
uint64_t elf_find_code(const struct elf_file *file, const void *pattern, size_t length)
{
    Elf64_Phdr segment;

    for (size_t i = 0; elf_segment(file, i, &segment); i++) {
        const unsigned char *code = elf_part(file, segment.p_offset, segment.p_filesz, 1);
        const unsigned char *found;

        if (segment.p_type != PT_LOAD || !(segment.p_flags & PF_X) || !code)
            continue;
        found = memmem(code, segment.p_filesz, pattern, length);
        if (found)
            return segment.p_vaddr + (uint64_t)(found - code) - file->first_address;
    }
    return 0;
}
