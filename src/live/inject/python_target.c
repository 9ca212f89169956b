/* The interpreter in a process of Python, and where its functions are. */
#include "live/inject/python_target.h"

#include "live/inject/elf_symbols.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Older ones have other functions, and the recorder does not run in them. */
enum { OLDEST_MINOR = 10 };

static const char *target_file_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* "3.11" of "libpython3.11.so.1.0" or "python3.11"; 0: the name does not tell. */
static int minor_of_name(const char *name)
{
    const char *at = strstr(name, "python3.");
    long minor = at ? strtol(at + strlen("python3."), NULL, 10) : 0;

    return minor > 0 && minor < 100 ? (int)minor : 0;
}

/* By what each version was the first to have. */
static int minor_of_symbols(const struct elf_file *file)
{
    static const struct {
        const char *name;
        int minor;
    } first[] = {{"PyUnstable_IsImmortal", 14},
                 {"PyMonitoring_EnterScope", 13},
                 {"PyUnstable_Long_IsCompact", 12},
                 {"Py_Version", 11},
                 {"PyModule_AddObjectRef", 10}};

    for (size_t i = 0; i < sizeof first / sizeof *first; i++) {
        if (elf_symbol(file, first[i].name))
            return first[i].minor;
    }
    return OLDEST_MINOR - 1;
}

/* The path of a mapped file without the note that it is gone. */
static bool is_gone(const char *path)
{
    static const char note[] = " (deleted)";
    size_t length = strlen(path);

    return length > sizeof note - 1 && strcmp(path + length - (sizeof note - 1), note) == 0;
}

static bool may_hold_python(const char *path)
{
    return path[0] == '/' && strstr(target_file_name(path), "python") != NULL &&
           !strstr(target_file_name(path), ".cpython-") && strncmp(path, "/dev/", 5) != 0;
}

/* Whether this file is the interpreter, and then where its functions are. */
static bool read_interpreter(struct python_target *target, struct arena *arena,
                             const struct process_memory *memory, const char *path)
{
    uint64_t base = memory_file_base(memory, path);
    struct elf_file file;
    uint64_t pending;
    uint64_t run;

    if (!elf_file_open(&file, process_path(arena, memory->pid, path)))
        return false;
    pending = elf_symbol(&file, "Py_AddPendingCall");
    run = elf_symbol(&file, "PyRun_SimpleString");
    if (pending && run) {
        target->library = path;
        target->add_pending_call = base + pending;
        target->run_string = base + run;
        target->runtime = elf_symbol(&file, "_PyRuntime");
        target->runtime += target->runtime ? base : 0;
        target->minor = minor_of_name(target_file_name(path));
        if (!target->minor)
            target->minor = minor_of_symbols(&file);
    }
    elf_file_clear(&file);
    return target->library != NULL;
}

/* The library of C, by what begins its name: glibc's or musl's, which is the loader as well. */
static bool is_libc(const char *path)
{
    const char *name = target_file_name(path);

    return strncmp(name, "libc.so", 7) == 0 || strncmp(name, "libc-2.", 7) == 0 ||
           strncmp(name, "ld-musl-", 8) == 0 || strncmp(name, "libc.musl-", 10) == 0;
}

static bool read_libc(struct python_target *target, struct arena *arena,
                      const struct process_memory *memory, const char *path)
{
    /* mov $15, %rax (or %eax); syscall: debuggers know it by these bytes, so they stay. */
    static const unsigned char long_return[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
    static const unsigned char short_return[] = {0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05};
    uint64_t base = memory_file_base(memory, path);
    struct elf_file file;

    if (!elf_file_open(&file, process_path(arena, memory->pid, path)))
        return false;
    target->map_memory = elf_symbol(&file, "mmap");
    target->unmap_memory = elf_symbol(&file, "munmap");
    target->signal_return = elf_find_code(&file, long_return, sizeof long_return);
    if (!target->signal_return)
        target->signal_return = elf_find_code(&file, short_return, sizeof short_return);
    elf_file_clear(&file);
    if (!target->map_memory || !target->unmap_memory || !target->signal_return)
        return false;
    target->map_memory += base;
    target->unmap_memory += base;
    target->signal_return += base;
    target->libc = path;
    return true;
}

static bool not_found(const struct python_target *target, const char *gone, bool is_pypy,
                      struct error *error)
{
    if (gone)
        return error_set(error, ERROR_NO_DATA,
                         "process %ld runs '%s', which has been replaced or removed since (an "
                         "update?): restart the job, or record it with 'flopledger run'",
                         target->pid, gone);
    if (is_pypy)
        return error_set(error, ERROR_NO_DATA,
                         "process %ld runs PyPy, and only CPython can be attached to", target->pid);
    return error_set(error, ERROR_NO_DATA,
                     "process %ld shows no function Py_AddPendingCall: it is no Python, or one "
                     "that was linked statically and stripped; record it with 'flopledger run'",
                     target->pid);
}

static bool find_interpreter(struct python_target *target, struct arena *arena,
                             const struct process_memory *memory, struct error *error)
{
    const char *before = "";
    const char *gone = NULL;
    bool is_pypy = false;

    for (size_t i = 0; i < memory->count && !target->library; i++) {
        const char *path = memory->regions[i].path;

        if (strcmp(path, before) == 0)
            continue;
        before = path;
        is_pypy |= strstr(target_file_name(path), "libpypy") != NULL;
        if (!may_hold_python(path))
            continue;
        if (is_gone(path))
            gone = path;
        else
            (void)read_interpreter(target, arena, memory, path);
    }
    return target->library || not_found(target, gone, is_pypy, error);
}

bool python_target_find(struct python_target *target, struct arena *arena,
                        const struct process_memory *memory, struct error *error)
{
    *target = (struct python_target){.pid = memory->pid};
    if (!find_interpreter(target, arena, memory, error))
        return false;
    if (target->minor < OLDEST_MINOR)
        return error_set(error, ERROR_NO_DATA,
                         "process %ld runs Python 3.%d, and the recorder needs 3.%d or later",
                         target->pid, target->minor, OLDEST_MINOR);
    for (size_t i = 0; i < memory->count && !target->libc; i++) {
        if (is_libc(memory->regions[i].path) && !is_gone(memory->regions[i].path))
            (void)read_libc(target, arena, memory, memory->regions[i].path);
    }
    if (!target->libc)
        return error_set(error, ERROR_NO_DATA,
                         "process %ld has no library of C that is known (glibc, musl): it cannot "
                         "be attached to; record it with 'flopledger run'",
                         target->pid);
    return true;
}
