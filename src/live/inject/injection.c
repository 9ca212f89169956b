/* Has a process of Python run a few lines, in its main thread. */
#include "live/inject/injection.h"

#include "base/io/folders.h"
#include "base/io/processes.h"
#include "base/text/owned_text.h"
#include "live/inject/tracing.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- the target ------------------------------------------------------------------------------ */

/* The interpreter in a process of Python, and where its functions are. */

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

/* By what each version was the first to have. Newest first: each symbol is in its version and in
 * all later ones. */
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

/* Extension modules have ".cpython-" in their names and no interpreter in them. */
static bool may_hold_python(const char *path)
{
    return path[0] == '/' && strstr(target_file_name(path), "python") != NULL &&
           !strstr(target_file_name(path), ".cpython-") && strncmp(path, "/dev/", 5) != 0;
}

/* Whether this file is the interpreter, and then where its functions are. The file is read
 * through /proc/PID/root, as the process has it: a container's Python is not ours. */
static bool read_interpreter(struct python_target *target, struct arena *arena,
                             const struct process_memory *memory, const char *path)
{
    uint64_t base = memory_file_base(memory, path);
    struct elf_file file;
    uint64_t pending;
    uint64_t run;
    uint64_t runtime;

    if (!elf_file_open(&file, process_path(arena, memory->pid, path)))
        return false;
    pending = elf_symbol(&file, "Py_AddPendingCall");
    run = elf_symbol(&file, "PyRun_SimpleString");
    runtime = elf_symbol(&file, "_PyRuntime");
    runtime = runtime ? runtime : elf_section(&file, ".PyRuntime"); /* which stripping leaves */
    if ((pending && run) || runtime) {
        target->library = path;
        target->add_pending_call = pending && run ? base + pending : 0;
        target->run_string = base + run;
        target->runtime = runtime ? base + runtime : 0;
        target->dump_threads = elf_symbol(&file, "_Py_DumpTracebackThreads");
        target->dump_threads += target->dump_threads ? base : 0;
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

/* The kernel's return from a signal (rt_sigreturn) is found by its bytes in the C library: no
 * symbol names it in all versions, while unwinders depend on the bytes. */
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
    target->open_file = elf_symbol(&file, "open");
    target->close_file = elf_symbol(&file, "close");
    target->signal_return = elf_find_code(&file, long_return, sizeof long_return);
    if (!target->signal_return)
        target->signal_return = elf_find_code(&file, short_return, sizeof short_return);
    elf_file_clear(&file);
    if (!target->map_memory || !target->unmap_memory || !target->open_file || !target->close_file ||
        !target->signal_return)
        return false;
    target->map_memory += base;
    target->unmap_memory += base;
    target->open_file += base;
    target->close_file += base;
    target->signal_return += base;
    target->libc = path;
    return true;
}

static bool not_found(const struct python_target *target, const char *gone, bool is_pypy,
                      struct error *error)
{
    if (!tracing_is_allowed(target->pid, error))
        return false; /* nor could its files be looked into */
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

/* The last deleted one is remembered for the message: an updated Python is the usual reason
 * for none. */
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

/* Whether it looks for what to run by itself; else it has to be made to, where it shows how. PEP
 * 768 (Python 3.14) goes before ptrace: it needs no stop, and the interpreter itself says
 * whether it is allowed. */
static bool find_way_in(struct python_target *target, struct error *error)
{
    if (remote_script_find(&target->remote, &target->minor, target->pid, target->runtime) ==
        REMOTE_IS_OFF)
        return error_set(error, ERROR_NO_DATA,
                         "process %ld was started with PYTHON_DISABLE_REMOTE_DEBUG or '-X "
                         "disable-remote-debug', or its Python was built without remote "
                         "debugging, which forbids it: start it without, or record it with "
                         "'flopledger run'",
                         target->pid);
    if (!target->remote.name_bytes && !target->add_pending_call)
        return not_found(target, NULL, false, error);
    return true;
}

/* ERROR_NO_DATA with a reason where the interpreter is not found, or is none that is known. */
static bool python_target_find(struct python_target *target, struct arena *arena,
                               const struct process_memory *memory, struct error *error)
{
    *target = (struct python_target){.pid = memory->pid};
    if (!find_interpreter(target, arena, memory, error) || !find_way_in(target, error))
        return false;
    if (target->minor < OLDEST_MINOR)
        return error_set(error, ERROR_NO_DATA,
                         "process %ld runs Python 3.%d, and the recorder needs 3.%d or later",
                         target->pid, target->minor, OLDEST_MINOR);
    for (size_t i = 0; i < memory->count && !target->libc; i++) {
        if (is_libc(memory->regions[i].path) && !is_gone(memory->regions[i].path))
            (void)read_libc(target, arena, memory, memory->regions[i].path);
    }
    return true;
}

/* ---- injection ------------------------------------------------------------------------------- */

/* A place without harm is awaited for so long, and a call then takes microseconds. */
enum { STOP_MS = 3000, CALL_MS = 3000, END_MS = 100, TRIES = 5 };

bool injection_process_is_stopped(long pid)
{
    struct process_state state;

    return process_state_read(&state, pid) && state.letter == 'T';
}

/* A process that is being killed is there for some milliseconds more, and calls into it fail
 * meanwhile: the wait tells that end from a failure of ours. */
bool injection_process_has_ended(long pid)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    struct process_state state = {0};

    for (int i = 0; i < END_MS && !state.is_exiting; i++) {
        if (i > 0)
            (void)nanosleep(&pause, NULL);
        if (!process_state_read(&state, pid))
            return true;
    }
    return state.is_exiting;
}

/* A stopped process would never return from a call: it is refused before anything is touched. */
bool injection_prepare(struct injection *injection, struct arena *arena, long pid,
                       struct error *error)
{
    *injection = (struct injection){0};
    if (injection_process_is_stopped(pid))
        return error_set(error, ERROR_NO_DATA,
                         "process %ld is stopped (Ctrl-Z, SIGSTOP): let it go on ('kill -CONT "
                         "%ld') and attach again",
                         pid, pid);
    if (!process_memory_read(&injection->memory, arena, pid))
        return error_set(error, ERROR_NO_DATA,
                         "the memory of process %ld may not be looked at, or it has ended: %s", pid,
                         strerror(errno));
    return python_target_find(&injection->target, arena, &injection->memory, error);
}

/* Any place will do for what calls the system and nothing else. */
static bool is_never_unsafe(const void *context, uint64_t address)
{
    (void)context;
    (void)address;
    return false;
}

/* The interpreter takes a lock for what waits to be called, in its own code and in that of the
 * library of C: a thread that is stopped there may hold it. */
static bool may_hold_lock(const void *context, uint64_t address)
{
    const struct injection *injection = context;
    const struct memory_region *region = memory_region_at(&injection->memory, address);

    if (region && strcmp(region->path, "[vdso]") == 0)
        return false; /* nobody asks for the time under that lock */
    return !region || strcmp(region->path, injection->target.library) == 0 ||
           strcmp(region->path, injection->target.libc) == 0 || region->path[0] != '/' ||
           strstr(region->path, "libpthread") != NULL || strstr(region->path, "/ld-") != NULL;
}

/* Whether it has ended is asked first: every other failure may follow from that one. */
static bool injection_tell_end(const struct injection *injection, enum traced_end end,
                               const char *what, struct error *error)
{
    if (injection_process_has_ended(injection->target.pid))
        return error_set(error, ERROR_NO_DATA, "process %ld has ended", injection->target.pid);
    if (end == TRACED_GONE)
        return error_set(error, ERROR_NO_DATA,
                         "process %ld was stopped or let go on by another at the same moment: try "
                         "again",
                         injection->target.pid);
    if (end == TRACED_STUCK)
        return error_set(error, ERROR_FAILURE,
                         "process %ld did not come back from %s: it was put back where it was, and "
                         "goes on",
                         injection->target.pid, what);
    return error_set(error, ERROR_FAILURE, "process %ld could not be made to call %s: %s",
                     injection->target.pid, what, strerror(errno));
}

/* Attach, stop where it does no harm, call, put back, detach: clear() undoes whatever was
 * done, on every way out. */
static bool call_in_process(struct injection *injection, const struct traced_call *call,
                            bool (*is_unsafe)(const void *context, uint64_t address),
                            const char *what, struct error *error)
{
    struct traced_thread thread;
    enum traced_end stop;
    enum traced_end end;

    injection->has_called = false;
    if (!injection->target.libc)
        return error_set(error, ERROR_NO_DATA,
                         "process %ld has no library of C that is known (glibc, musl): it cannot "
                         "be attached to; record it with 'flopledger run'",
                         injection->target.pid);
    if (!traced_thread_attach(&thread, injection->target.pid, error))
        return false;
    stop = traced_thread_stop(&thread, is_unsafe, injection, STOP_MS);
    injection->has_called = stop == TRACED_DONE;
    end = stop == TRACED_DONE ? traced_thread_call(&thread, call, CALL_MS) : stop;
    traced_thread_clear(&thread);
    if (end == TRACED_DONE)
        return true;
    if (stop == TRACED_STUCK && !injection_process_has_ended(injection->target.pid))
        return error_set(error, ERROR_NO_DATA,
                         "process %ld stays within the interpreter and calls nothing (a loop in "
                         "C?), where it can't be interrupted without risk: try again later",
                         injection->target.pid);
    return injection_tell_end(injection, end, what, error);
}

/* mmap's result is not read from registers: the map of the process says whether the room is
 * there. */
static bool room_is_there(const struct injection *injection, struct arena *arena, uint64_t place)
{
    struct process_memory memory;
    const struct memory_region *region;

    if (!process_memory_read(&memory, arena, injection->target.pid))
        return false;
    region = memory_region_at(&memory, place);
    return region && region->path[0] == '\0' && region->is_written &&
           memory_region_at(&memory, place + INJECTION_ROOM_BYTES - 1) != NULL;
}

/* MAP_FIXED_NOREPLACE fails where the process mapped something there meanwhile; then another
 * place is tried. The address is chosen here, so it need not be read back. */
static bool make_room(struct injection *injection, struct arena *arena,
                      const struct injection_note *note, struct error *error)
{
    const struct python_target *target = &injection->target;

    for (int i = 0; i < TRIES; i++) {
        struct process_memory now;
        uint64_t place = process_memory_read(&now, arena, target->pid)
                             ? memory_find_room(&now, INJECTION_ROOM_BYTES)
                             : 0;
        struct traced_call call = {
            .function = target->map_memory,
            .signal_return = target->signal_return,
            .arguments = {place, INJECTION_ROOM_BYTES, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE,
                          UINT64_MAX, 0},
        };

        if (!place)
            return error_set(error, ERROR_NO_DATA, "process %ld has ended", target->pid);
        note->place(note->context, place);
        if (!call_in_process(injection, &call, is_never_unsafe, "mmap", error))
            return false;
        if (room_is_there(injection, arena, place)) {
            injection->room = place;
            return true;
        }
    }
    return error_set(error, ERROR_FAILURE,
                     "process %ld gets no memory any more, not even %d KiB: it was left as it is",
                     target->pid, INJECTION_ROOM_BYTES >> 10);
}

/* Through /proc/PID/mem, which writes where ptrace would, without stopping the process. */
static bool write_text(const struct injection *injection, const char *text, struct error *error)
{
    char path[64];
    size_t length = strlen(text) + 1;
    FILE *memory;
    bool is_written;

    snprintf(path, sizeof path, "/proc/%ld/mem", injection->target.pid);
    memory = fopen(path, "r+e");
    is_written = memory && fseeko(memory, (off_t)injection->room, SEEK_SET) == 0 &&
                 fwrite(text, 1, length, memory) == length;
    if (memory)
        is_written &= fclose(memory) == 0;
    return is_written ||
           error_set(error, ERROR_FAILURE, "cannot write into the memory of process %ld: %s",
                     injection->target.pid, strerror(errno));
}

/* Py_AddPendingCall may be called without the interpreter's lock, and runs the function in the
 * main thread between two bytecodes (C API reference); here from a stopped thread, hence
 * may_hold_lock. */
bool injection_send(struct injection *injection, const char *text, const char *path,
                    struct error *error)
{
    const struct python_target *target = &injection->target;
    const struct traced_call call = {
        .function = target->add_pending_call,
        .arguments = {target->run_string, injection->room},
        .signal_return = target->signal_return,
        .stack_end = injection->room + INJECTION_ROOM_BYTES,
    };

    injection->has_called = false;
    if (target->remote.name_bytes)
        return remote_script_send(&target->remote, target->pid, path, error);
    return strlen(text) < INJECTION_TEXT_MAX && write_text(injection, text, error) &&
           call_in_process(injection, &call, may_hold_lock, "Py_AddPendingCall", error);
}

void injection_withdraw(const struct injection *injection, const char *path)
{
    if (injection->target.remote.name_bytes)
        remote_script_withdraw(&injection->target.remote, injection->target.pid, path);
}

/* munmap is safe wherever the thread is; if it fails, the room stays behind, which harms nobody. */
void injection_free_room(struct injection *injection)
{
    const struct python_target *target = &injection->target;
    const struct traced_call call = {
        .function = target->unmap_memory,
        .signal_return = target->signal_return,
        .arguments = {injection->room, INJECTION_ROOM_BYTES},
    };
    struct error ignored;

    if (injection->room && call_in_process(injection, &call, is_never_unsafe, "munmap", &ignored))
        injection->room = 0;
}

/* ---- what a reader of stacks left ---------------------------------------------------------------
 */

/* One that was killed leaves its file, which may be open in the process, and its room there. The
 * file begins with a line that tells the process and the room; it is locked as long as the reader
 * lives. */

enum { HEAD_BYTES = 80, CALL_IS_OVER_S = 2 };
#define STACKS_NAME "flopledger-stacks-"

/* The number under which the process has the file open; -1: it has not. By device and inode
 * among its open files: what open() returned is not read from the stopped thread. */
static int descriptor_inside(long pid, int wanted_file)
{
    struct stat wanted;
    struct stat about;
    char entry[320];
    DIR *folder;
    struct dirent *file;
    int found = -1;

    snprintf(entry, sizeof entry, "/proc/%ld/fd", pid);
    folder = opendir(entry);
    if (fstat(wanted_file, &wanted) != 0)
        wanted.st_ino = 0;
    while (folder && found < 0 && (file = readdir(folder))) {
        snprintf(entry, sizeof entry, "/proc/%ld/fd/%s", pid, file->d_name);
        if (file->d_name[0] != '.' && stat(entry, &about) == 0 && about.st_ino == wanted.st_ino &&
            about.st_dev == wanted.st_dev)
            found = (int)strtol(file->d_name, NULL, 10);
    }
    if (folder)
        closedir(folder);
    return found;
}

/* The process that the file is of, as long as it lives; 0: it is gone. */
static long process_of_head(int file, uint64_t *room)
{
    struct process_state state;
    char head[HEAD_BYTES + 1] = "";
    unsigned long long began = 0;
    long pid = 0;

    *room = 0;
    (void)!pread(file, head, HEAD_BYTES, 0);
    return sscanf(head, "%ld %llu %" SCNu64, &pid, &began, room) == 3 &&
                   process_state_read(&state, pid) && state.began == began
               ? pid
               : 0;
}

/* Closes the file in the process, and frees the room there. */
static void clear_left_stacks(struct injection *injection, struct arena *arena, int file,
                              uint64_t room)
{
    int inside = descriptor_inside(injection->target.pid, file);
    struct injection other = *injection;
    struct error ignored;
    const struct traced_call closing = {.function = injection->target.close_file,
                                        .arguments = {(uint64_t)inside},
                                        .signal_return = injection->target.signal_return};

    if (inside >= 0)
        (void)call_in_process(injection, &closing, is_never_unsafe, "close", &ignored);
    other.room = room_is_there(&other, arena, room) ? room : 0;
    injection_free_room(&other);
}

/* Whether nobody holds it, and what was called is over. */
static bool are_stacks_left(int file)
{
    struct stat about;

    return fstat(file, &about) == 0 && about.st_uid == geteuid() &&
           flock(file, LOCK_EX | LOCK_NB) == 0 && time(NULL) - about.st_mtime >= CALL_IS_OVER_S;
}

static void close_if_open(int descriptor)
{
    if (descriptor >= 0)
        close(descriptor);
}

/* /tmp is writable by all: no link is followed, and no pipe blocks. A file whose head is not
 * whole has no owner left, and goes too. */
static void remove_left_stacks(struct injection *injection, struct arena *arena)
{
    glob_t found;

    find_paths(&found, process_path(arena, injection->target.pid, "/tmp"), STACKS_NAME "*");
    for (size_t i = 0; i < found.gl_pathc; i++) {
        int file = open(found.gl_pathv[i], O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        bool is_left = file >= 0 && are_stacks_left(file);
        uint64_t room = 0;
        long pid = is_left ? process_of_head(file, &room) : 0;

        if (pid == injection->target.pid)
            clear_left_stacks(injection, arena, file, room);
        if (is_left && (pid == 0 || pid == injection->target.pid))
            (void)unlink(found.gl_pathv[i]);
        close_if_open(file);
    }
    globfree(&found);
}

bool injection_make_room(struct injection *injection, struct arena *arena,
                         const struct injection_note *note, struct error *error)
{
    if (injection->target.remote.name_bytes)
        return true;
    remove_left_stacks(injection, arena);
    return make_room(injection, arena, note, error);
}

/* ---- stacks --------------------------------------------------------------------------------- */

enum { STACKS_BYTES_MAX = 256 << 10 };

/* For functions that may be called wherever a thread was stopped: those that only enter the
 * kernel, and the one that is made for signal handlers. */
static bool call_any_time(struct injection *injection, uint64_t function,
                          const uint64_t arguments[3], const char *what, struct error *error)
{
    const struct traced_call call = {
        .function = function,
        .arguments = {arguments[0], arguments[1], arguments[2]},
        .signal_return = injection->target.signal_return,
        .stack_end = injection->room + INJECTION_ROOM_BYTES,
    };

    return call_in_process(injection, &call, is_never_unsafe, what, error);
}

/* Has the process write its stacks to the file, which it sees as `inside`.
 * _Py_DumpTracebackThreads is made for signal handlers: it allocates nothing and takes no lock,
 * so any place will do for it. */
static bool write_stacks(struct injection *injection, int file, const char *inside,
                         struct error *error)
{
    const struct python_target *target = &injection->target;
    const uint64_t opened[3] = {injection->room, O_WRONLY | O_APPEND | O_CLOEXEC, 0};
    uint64_t written[3] = {0};
    int descriptor;
    bool is_written;

    if (!write_text(injection, inside, error) ||
        !call_any_time(injection, target->open_file, opened, "open", error))
        return false;
    descriptor = descriptor_inside(target->pid, file);
    if (descriptor < 0)
        return error_set(error, ERROR_FAILURE, "process %ld cannot open a file in its /tmp",
                         target->pid);
    written[0] = (uint64_t)descriptor;
    is_written = call_any_time(injection, target->dump_threads, written, "its traceback", error);
    return call_any_time(injection, target->close_file, written, "close", error) && is_written;
}

static const char *read_stacks_file(struct arena *arena, int descriptor)
{
    char *text = arena_allocate(arena, STACKS_BYTES_MAX);
    ssize_t length = pread(descriptor, text, STACKS_BYTES_MAX - 1, HEAD_BYTES);

    text[length > 0 ? length : 0] = '\0';
    return text;
}

struct stacks_file {
    long pid;
    int descriptor;
};

/* Fields of fixed width: who finds the file left behind reads them without lengths to trust.
 * When the process began tells it from a later one of the same number. */
static void write_stacks_head(void *context, uint64_t room)
{
    const struct stacks_file *file = context;
    struct process_state state;
    char head[HEAD_BYTES + 1];

    (void)process_state_read(&state, file->pid);
    snprintf(head, sizeof head, "%-10ld %-25llu %-*" PRIu64 "\n", file->pid, state.began,
             HEAD_BYTES - 10 - 1 - 25 - 1 - 1, room);
    (void)!pwrite(file->descriptor, head, HEAD_BYTES, 0);
}

/* The room is freed on every way, and the file removed before it is closed. */
static const char *read_stacks_of(struct injection *injection, struct arena *arena,
                                  struct error *error)
{
    const char *stacks = NULL;
    struct stacks_file to = {.pid = injection->target.pid};
    const struct injection_note note = {write_stacks_head, &to};
    /* The folder is there when the process is not any more. */
    int place = open(process_path(arena, to.pid, "/tmp"), O_PATH | O_DIRECTORY | O_CLOEXEC);
    char path[128];

    remove_left_stacks(injection, arena);
    snprintf(path, sizeof path, "/proc/self/fd/%d/" STACKS_NAME "XXXXXX", place);
    to.descriptor = mkostemp(path, O_CLOEXEC);
    if (to.descriptor < 0 || flock(to.descriptor, LOCK_EX) != 0) {
        error_set(error, ERROR_FAILURE, "cannot make a file in the /tmp of process %ld: %s", to.pid,
                  strerror(errno));
    } else {
        char *inside = text_format("/tmp%s", strrchr(path, '/'));

        if (make_room(injection, arena, &note, error) &&
            write_stacks(injection, to.descriptor, inside, error))
            stacks = read_stacks_file(arena, to.descriptor);
        injection_free_room(injection);
        (void)unlink(path);
        free(inside);
    }
    close_if_open(to.descriptor);
    close_if_open(place);
    return stacks;
}

const char *injection_read_stacks(struct arena *arena, long pid, struct error *error)
{
    struct injection injection;

    if (!injection_prepare(&injection, arena, pid, error))
        return NULL;
    if (injection.target.dump_threads)
        return read_stacks_of(&injection, arena, error);
    error_set(error, ERROR_NO_DATA,
              "the Python of process %ld is stripped of the function that prints stacks "
              "(_Py_DumpTracebackThreads): use py-spy dump",
              pid);
    return NULL;
}
