/* Names a file to a Python of 3.14 or later that it runs between two steps of its main thread. */
#include "live/inject/process_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What the interpreter's state begins with tells where its parts lie: words of 8 bytes, of which
 * these are the numbers. */
enum {
    WORD_COOKIE,
    WORD_VERSION, /* as sys.hexversion */
    WORD_INTERPRETERS = 5,
    WORD_INTERPRETER_ID = 7,
    WORD_NEXT_INTERPRETER = 8,
    WORD_MAIN_THREAD = 10,
    WORDS_MAX = 128,
};

/* Behind these stand, in this order, what is needed here; where, each version has it anew. */
enum { SUPPORT_BREAKER, SUPPORT, SUPPORT_IS_ON, SUPPORT_IS_PENDING, SUPPORT_NAME, SUPPORT_BYTES };
static const struct {
    int minor;
    int first_word;
} layouts[] = {{14, 89}, {15, 105}};

enum { RELEASED = 0xf, ASKED_TO_STOP = 1 << 5, INTERPRETERS_MAX = 1000, NAME_BYTES_MAX = 4096 };
static const char cookie[8] = {'x', 'd', 'e', 'b', 'u', 'g', 'p', 'y'};

static int open_memory_of(long pid)
{
    char path[64];

    snprintf(path, sizeof path, "/proc/%ld/mem", pid);
    return open(path, O_RDWR | O_CLOEXEC);
}

static bool read_from(int memory, uint64_t address, void *bytes, size_t length)
{
    return pread(memory, bytes, length, (off_t)address) == (ssize_t)length;
}

static bool write_to(int memory, uint64_t address, const void *bytes, size_t length)
{
    return pwrite(memory, bytes, length, (off_t)address) == (ssize_t)length;
}

static bool read_address(int memory, uint64_t address, uint64_t *value)
{
    return read_from(memory, address, value, sizeof *value) && *value != 0;
}

/* The number of the first of those words; 0: not known. The layout is of a released version that
 * is known; of betas and later versions the words may mean something else, and nothing is
 * written then. */
static int find_support(const uint64_t words[WORDS_MAX], int *minor)
{
    uint64_t version = words[WORD_VERSION];

    if (memcmp(&words[WORD_COOKIE], cookie, sizeof cookie) != 0 || version >> 24 != 3)
        return 0;
    *minor = (int)(version >> 16 & 0xff);
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        if (layouts[i].minor == *minor && (version >> 4 & 0xf) == RELEASED)
            return layouts[i].first_word;
    }
    return 0;
}

/* The first interpreter of the process, which is the last of the list: number 0. Subinterpreters
 * stand before the main one. INTERPRETERS_MAX ends a list that is changed while it is read. */
static bool find_main_interpreter(int memory, uint64_t runtime, const uint64_t words[WORDS_MAX],
                                  uint64_t *interpreter)
{
    int64_t id = -1;
    bool is_there = read_address(memory, runtime + words[WORD_INTERPRETERS], interpreter);

    for (int i = 0; is_there && i < INTERPRETERS_MAX; i++) {
        if (!read_from(memory, *interpreter + words[WORD_INTERPRETER_ID], &id, sizeof id))
            return false;
        if (id == 0)
            return true;
        is_there = read_address(memory, *interpreter + words[WORD_NEXT_INTERPRETER], interpreter);
    }
    return false;
}

/* Read without stopping the process, so every pointer is checked for being there, and lengths
 * for being possible. */
static enum remote_state find_in_memory(struct remote_script *script, int *minor, int memory,
                                        uint64_t runtime)
{
    uint64_t words[WORDS_MAX];
    const uint64_t *support;
    uint64_t interpreter;
    uint64_t thread;
    int is_on = 0;
    int first;

    if (!read_from(memory, runtime, words, sizeof words))
        return REMOTE_UNKNOWN;
    first = find_support(words, minor);
    support = words + first;
    if (first == 0 || !find_main_interpreter(memory, runtime, words, &interpreter) ||
        !read_from(memory, interpreter + support[SUPPORT_IS_ON], &is_on, sizeof is_on) ||
        !read_address(memory, interpreter + words[WORD_MAIN_THREAD], &thread))
        return REMOTE_UNKNOWN;
    script->breaker = thread + support[SUPPORT_BREAKER];
    script->is_pending = thread + support[SUPPORT] + support[SUPPORT_IS_PENDING];
    script->name = thread + support[SUPPORT] + support[SUPPORT_NAME];
    if (support[SUPPORT_BYTES] > NAME_BYTES_MAX)
        return REMOTE_UNKNOWN;
    if (is_on == 1)
        script->name_bytes = support[SUPPORT_BYTES];
    return is_on == 1 ? REMOTE_LOOKS : REMOTE_IS_OFF;
}

enum remote_state remote_script_find(struct remote_script *script, int *minor, long pid,
                                     uint64_t runtime)
{
    int memory = open_memory_of(pid);
    enum remote_state state = REMOTE_UNKNOWN;

    *script = (struct remote_script){0};
    if (memory < 0)
        return REMOTE_UNKNOWN; /* ptrace is refused, too, and says why */
    if (runtime)
        state = find_in_memory(script, minor, memory, runtime);
    close(memory);
    return state;
}

/* Which file waits to be run; false: none does, or the process has ended. */
static bool read_waiting(const struct remote_script *script, int memory, char name[NAME_BYTES_MAX])
{
    int is_pending = 0;

    memset(name, 0, NAME_BYTES_MAX);
    return read_from(memory, script->is_pending, &is_pending, sizeof is_pending) &&
           is_pending == 1 && read_from(memory, script->name, name, script->name_bytes - 1);
}

/* The flags are of one byte: what other threads change meanwhile stands in the bytes beside it.
 * The name, then the flag, then the request to look: the interpreter reads in the opposite
 * order, so it never sees a flag without its name. */
static bool write_script_name(const struct remote_script *script, int memory, const char *path)
{
    const int is_pending = 1;
    unsigned char flags;

    if (!write_to(memory, script->name, path, strlen(path) + 1) ||
        !write_to(memory, script->is_pending, &is_pending, sizeof is_pending) ||
        !read_from(memory, script->breaker, &flags, sizeof flags))
        return false;
    flags |= ASKED_TO_STOP;
    return write_to(memory, script->breaker, &flags, sizeof flags);
}

/* Python 3.14 has one place for such a script: whoever wrote another name there is waited for,
 * as it would be lost. */
bool remote_script_send(const struct remote_script *script, long pid, const char *path,
                        struct error *error)
{
    int memory = open_memory_of(pid);
    char name[NAME_BYTES_MAX];
    bool is_other = memory >= 0 && read_waiting(script, memory, name) && strcmp(name, path) != 0;
    bool is_written = false;

    if (memory >= 0 && !is_other && strlen(path) < script->name_bytes)
        is_written = write_script_name(script, memory, path);
    if (memory >= 0)
        close(memory);
    if (is_other)
        return error_set(error, ERROR_NO_DATA,
                         "process %ld is to run '%s' first, for another program (a debugger, or "
                         "an attachment that was killed), and its main thread has run no Python "
                         "since: try again later",
                         pid, name);
    return is_written ||
           error_set(error, ERROR_FAILURE, "process %ld could not be told what to run: %s", pid,
                     memory < 0 ? strerror(errno) : "it has ended");
}

/* Only what is ours is taken back, compared by name. */
void remote_script_withdraw(const struct remote_script *script, long pid, const char *path)
{
    const int is_pending = 0;
    int memory = open_memory_of(pid);
    char name[NAME_BYTES_MAX];

    if (memory < 0)
        return;
    if (read_waiting(script, memory, name) && strcmp(name, path) == 0)
        (void)write_to(memory, script->is_pending, &is_pending, sizeof is_pending);
    close(memory);
}
