/* The processes that `flopledger attach` means: those that train. */
#include "base/io/processes.h"
#include "base/io/whole_file.h"
#include "live/attach/attachment.h"
#include "live/inject/tracing.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PROCESSES_MAX = 4096 };

const char attach_library[] = "libtorch_cpu";

/* Numbers of processes. */
struct process_list {
    long *pids; /* [PROCESSES_MAX], in the arena */
    size_t count;
    size_t named; /* the first of them were named by the user */
};

/* By the owner of /proc/PID: attaching to another user's process fails later anyway, with a
 * worse message. */
static bool parse_process(long *pid, const char *text, struct error *error)
{
    char path[64];
    struct stat about;
    char *end;

    errno = 0;
    *pid = strtol(text, &end, 10);
    if (errno || *end || end == text || *pid <= 0)
        return error_set(error, ERROR_USAGE, "'%s' is not the number of a process", text);
    snprintf(path, sizeof path, "/proc/%ld", *pid);
    if (stat(path, &about) != 0)
        return error_set(error, ERROR_INPUT, "no process %ld runs on this machine", *pid);
    if (about.st_uid != geteuid())
        return error_set(error, ERROR_INPUT,
                         "process %ld belongs to user %u, and this is user %u: attach as the user "
                         "who started it",
                         *pid, (unsigned)about.st_uid, (unsigned)geteuid());
    return true;
}

/* ---- jobs ----------------------------------------------------------------------------------- */

/* By the environment of the process, which its children inherit: our own variable, Slurm's id
 * and name, and torchrun's --rdzv-id. */
static bool is_of_job(struct arena *arena, long pid, const char *job)
{
    static const char *const variables[] = {"FLOPLEDGER_JOB", "SLURM_JOB_ID", "SLURM_JOB_NAME",
                                            "TORCHELASTIC_RUN_ID"};

    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *value = process_variable(arena, pid, variables[i]);

        if (value && strcmp(value, job) == 0)
            return true;
    }
    return false;
}

/* Those of this user that have loaded PyTorch. /proc is walked, not a list of a scheduler: it is
 * there on every machine. */
static void add_processes_of_job(struct process_list *list, struct arena *arena, const char *job)
{
    DIR *all = opendir("/proc");
    struct dirent *entry;

    while (all && (entry = readdir(all)) && list->count < PROCESSES_MAX) {
        char path[320];
        struct stat about;
        char *end;
        long pid = strtol(entry->d_name, &end, 10);

        snprintf(path, sizeof path, "/proc/%s", entry->d_name);
        if (*end || pid <= 0 || stat(path, &about) != 0 || about.st_uid != geteuid())
            continue;
        if (process_maps_file(pid, attach_library) && is_of_job(arena, pid, job))
            list->pids[list->count++] = pid;
    }
    if (all)
        closedir(all);
}

/* ---- those that train nothing --------------------------------------------------------------- */

static char *read_of_process(long pid, const char *name, size_t *length)
{
    struct error ignored;
    bool is_missing;
    char path[64];

    snprintf(path, sizeof path, "/proc/%ld/%s", pid, name);
    return read_whole_file(path, length, &is_missing, &ignored);
}

/* It was made by fork() and runs no program of its own: the words of its command are those of its
 * parent. */
static bool is_forked_from(long pid, long parent)
{
    size_t length = 0;
    size_t parent_length = 0;
    char *words = read_of_process(pid, "cmdline", &length);
    char *parent_words = read_of_process(parent, "cmdline", &parent_length);
    bool is_copy = words && parent_words && length > 0 && length == parent_length &&
                   memcmp(words, parent_words, length) == 0;

    free(words);
    free(parent_words);
    return is_copy;
}

/* Newer torch gives them a name; before, they are copies of a process that trains. */
static bool is_worker(const struct process_list *list, size_t place)
{
    static const char name[] = "pt_data_worker";
    long pid = list->pids[place];
    struct process_state state;
    size_t length = 0;
    char *own = read_of_process(pid, "comm", &length);
    bool is_named = own && length >= sizeof name - 1 && memcmp(own, name, sizeof name - 1) == 0;

    free(own);
    if (is_named || place < list->named)
        return is_named;
    return process_state_read(&state, pid) && process_maps_file(state.parent, attach_library) &&
           is_forked_from(pid, state.parent);
}

static bool is_listed(const struct attachment *attachment, long pid)
{
    for (size_t i = 0; i < attachment->count; i++) {
        if (attachment->targets[i].pid == pid)
            return true;
    }
    return false;
}

/* A process without PyTorch cannot be recorded, whatever it is called. */
static void consider_process(struct attachment *attachment, struct arena *arena,
                             const struct process_list *list, size_t place)
{
    long pid = list->pids[place];
    struct attach_target target = {.pid = pid};

    if (is_listed(attachment, pid) || !process_maps_file(pid, attach_library))
        return; /* one that was named may stand below another */
    if (is_worker(list, place)) {
        attachment->worker_count++;
        return;
    }
    target.listens = process_variable(arena, pid, "KINETO_USE_DAEMON") != NULL;
    if (target.listens && !attachment->listen_folder)
        attachment->listen_folder = process_variable(arena, pid, "KINETO_IPC_SOCKET_DIR");
    attachment->targets[attachment->count++] = target;
}

/* A launcher like torchrun loads PyTorch too, and trains nothing: where others have a rank, one
 * without is no rank of the job. */
static void drop_launchers(struct attachment *attachment, struct arena *arena)
{
    size_t kept = 0;

    for (size_t i = 0; i < attachment->count; i++) {
        if (process_variable(arena, attachment->targets[i].pid, "RANK"))
            attachment->targets[kept++] = attachment->targets[i];
    }
    if (kept)
        attachment->count = kept;
}

/* The reason that fits best: a worker was named, a job has no process, or what was named has
 * no PyTorch below it. */
static bool none_found(const struct attachment *attachment, const struct attach_named *named,
                       const struct process_list *list, struct error *error)
{
    for (size_t i = 0; i < list->named; i++) {
        if (process_is_hidden(list->pids[i]) && !tracing_is_allowed(list->pids[i], error))
            return false;
    }
    if (attachment->worker_count)
        return error_set(error, ERROR_NO_DATA,
                         "process %s is a worker of a data loader, which trains nothing: name the "
                         "process that started it",
                         named->words[0]);
    if (named->count == 0)
        return error_set(error, ERROR_NO_DATA,
                         "no process of this user has loaded PyTorch and is of job '%s' (its "
                         "FLOPLEDGER_JOB, SLURM_JOB_ID, SLURM_JOB_NAME or TORCHELASTIC_RUN_ID): "
                         "name the process itself",
                         named->job);
    return error_set(error, ERROR_NO_DATA,
                     "neither process %s nor one below it has loaded PyTorch (%s.so): name the "
                     "process that trains, or the launcher that started it",
                     named->words[0], attach_library);
}

/* Processes that were named stand first: what is found by --job comes behind and may be left
 * out, these may not. */
static bool parse_named(struct process_list *list, const struct attach_named *named,
                        struct error *error)
{
    for (int i = 0; i < named->count && list->count < PROCESSES_MAX; i++) {
        if (!parse_process(&list->pids[list->count++], named->words[i], error))
            return false;
    }
    list->named = list->count;
    return true;
}

/* Children of children are found as the list grows: each that is added is looked at in its
 * turn. */
bool attachment_find(struct attachment *attachment, struct arena *arena,
                     const struct attach_named *named, struct error *error)
{
    struct process_list list = {.pids = arena_allocate(arena, PROCESSES_MAX * sizeof *list.pids)};

    if (!parse_named(&list, named, error))
        return false;
    if (named->job)
        add_processes_of_job(&list, arena, named->job);
    for (size_t i = 0; i < list.count; i++)
        list.count = add_child_processes(list.pids[i], list.pids, list.count, PROCESSES_MAX);
    attachment->targets = arena_allocate(arena, (list.count + 1) * sizeof *attachment->targets);
    for (size_t i = 0; i < list.count; i++)
        consider_process(attachment, arena, &list, i);
    drop_launchers(attachment, arena);
    return attachment->count > 0 || none_found(attachment, named, &list, error);
}

/* All must listen, as traces of one job come by one way or not at all. */
bool attachment_listens(const struct attachment *attachment)
{
    for (size_t i = 0; i < attachment->count; i++) {
        if (!attachment->targets[i].listens)
            return false;
    }
    return true;
}
