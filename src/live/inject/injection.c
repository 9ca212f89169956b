/* Has a process of Python run a few lines, in its main thread. */
#include "live/inject/injection.h"

#include "live/inject/traced_thread.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A place without harm is awaited for so long, and a call then takes microseconds. */
enum { STOP_MS = 3000, CALL_MS = 3000, TRIES = 5 };

static char state_of_process(long pid)
{
    char path[64];
    char text[512];
    FILE *file;
    const char *end;
    size_t length;

    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    file = fopen(path, "re");
    if (!file)
        return '\0';
    length = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[length] = '\0';
    end = strrchr(text, ')');
    return end && end[1] == ' ' ? end[2] : '\0';
}

bool injection_prepare(struct injection *injection, struct arena *arena, long pid,
                       struct error *error)
{
    *injection = (struct injection){0};
    if (state_of_process(pid) == 'T')
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

static bool injection_tell_end(const struct injection *injection, enum traced_end end,
                               const char *what, struct error *error)
{
    if (end == TRACED_GONE)
        return error_set(error, ERROR_NO_DATA, "process %ld has ended", injection->target.pid);
    if (end == TRACED_STUCK)
        return error_set(error, ERROR_FAILURE,
                         "process %ld did not come back from %s: it was put back where it was, and "
                         "goes on",
                         injection->target.pid, what);
    return error_set(error, ERROR_FAILURE, "process %ld could not be made to call %s: %s",
                     injection->target.pid, what, strerror(errno));
}

static bool call_in_process(const struct injection *injection, const struct traced_call *call,
                            bool (*is_unsafe)(const void *context, uint64_t address),
                            const char *what, struct error *error)
{
    struct traced_thread thread;
    enum traced_end end = TRACED_FAILED;
    bool is_stopped;

    if (!traced_thread_attach(&thread, injection->target.pid, error))
        return false;
    is_stopped = traced_thread_stop(&thread, is_unsafe, injection, STOP_MS);
    if (is_stopped)
        end = traced_thread_call(&thread, call, CALL_MS);
    traced_thread_clear(&thread);
    if (end == TRACED_DONE)
        return true;
    if (!is_stopped)
        return error_set(error, ERROR_NO_DATA,
                         "process %ld stays within the interpreter and calls nothing (a loop in "
                         "C?), where it can't be interrupted without risk: try again later",
                         injection->target.pid);
    return injection_tell_end(injection, end, what, error);
}

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

bool injection_make_room(struct injection *injection, struct arena *arena, struct error *error)
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

bool injection_send(struct injection *injection, const char *text, struct error *error)
{
    const struct python_target *target = &injection->target;
    const struct traced_call call = {
        .function = target->add_pending_call,
        .arguments = {target->run_string, injection->room},
        .signal_return = target->signal_return,
        .stack_end = injection->room + INJECTION_ROOM_BYTES,
    };

    return strlen(text) < INJECTION_TEXT_MAX && write_text(injection, text, error) &&
           call_in_process(injection, &call, may_hold_lock, "Py_AddPendingCall", error);
}

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
