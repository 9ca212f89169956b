/* Other processes of this machine, as /proc tells. */
#include "base/io/processes.h"

#include "base/io/whole_file.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A file of the process, with a NUL behind it; NULL where it cannot be read. */
static char *read_process_file(long pid, const char *name, size_t *length)
{
    struct error ignored;
    bool is_missing;
    char path[96];
    char *text;

    snprintf(path, sizeof path, "/proc/%ld/%s", pid, name);
    text = read_whole_file(path, length, &is_missing, &ignored);
    if (text)
        text[*length] = '\0'; /* there is room */
    return text;
}

bool process_state_read(struct process_state *state, long pid)
{
    const unsigned long exiting = 4; /* PF_EXITING of the kernel */
    unsigned long flags = exiting, pending = 0;
    size_t length = 0;
    char *text = read_process_file(pid, "stat", &length);
    const char *end = text ? strrchr(text, ')') : NULL; /* of its name, which may hold anything */

    *state = (struct process_state){0};
    if (end)
        (void)sscanf(end + 1,
                     " %c %ld %*d %*d %*d %*d %lu %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d "
                     "%llu %*u %*d %*u %*u %*u %*u %*u %*u %lu",
                     &state->letter, &state->parent, &flags, &state->began, &pending);
    state->is_exiting = (flags & exiting) != 0 || (pending & 1UL << (SIGKILL - 1)) != 0;
    free(text);
    return end != NULL;
}

/* The last of a name that stands twice. */
const char *process_variable(struct arena *arena, long pid, const char *name)
{
    size_t name_length = strlen(name);
    const char *value = NULL;
    size_t length = 0;
    char *all = read_process_file(pid, "environ", &length);

    for (size_t at = 0; all && at < length; at += strlen(all + at) + 1) {
        if (strncmp(all + at, name, name_length) == 0 && all[at + name_length] == '=')
            value = arena_copy_text(arena, all + at + name_length + 1,
                                    strlen(all + at + name_length + 1));
    }
    free(all);
    return value;
}

/* The kernel lists children by the thread that started them; these are those of the first. A
 * process that ends meanwhile leaves an empty text. */
size_t add_child_processes(long pid, long *processes, size_t count, size_t room)
{
    size_t length = 0;
    char name[48];
    char *text;

    snprintf(name, sizeof name, "task/%ld/children", pid);
    text = read_process_file(pid, name, &length);
    for (char *at = text; at && *at && count < room;) {
        char *end;
        long child = strtol(at, &end, 10);

        if (end == at)
            break;
        processes[count++] = child;
        at = end + strspn(end, " \n");
    }
    free(text);
    return count;
}

/* By the name of the file only, as a library may lie anywhere. */
bool process_maps_file(long pid, const char *name)
{
    size_t length = 0;
    char *maps = read_process_file(pid, "maps", &length);
    bool is_mapped = false;

    for (char *at = maps; at && !is_mapped; at = strchr(at, '\n')) {
        char *slash;

        at += *at == '\n';
        at = strchr(at, '/'); /* a path is the last word of its line */
        if (!at)
            break;
        slash = at;
        for (char *next = at; *next && *next != '\n'; next++) {
            if (*next == '/')
                slash = next;
        }
        is_mapped = strncmp(slash + 1, name, strlen(name)) == 0;
    }
    free(maps);
    return is_mapped;
}
