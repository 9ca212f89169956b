/* The capture of a program that runs, by what a user has at hand: its folder, its process, or
 * nothing at all. */
#include "pipeline/running_capture.h"

#include "base/core/attributes.h"
#include "base/io/processes.h"
#include "base/text/owned_text.h"
#include "readers/step_record/job_records.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEPTH_MAX = 3, PROCESSES_MAX = 256 };

static const char default_folder[] = "captures";

struct newest {
    char *path;
    struct timespec changed;
};

static bool is_later(struct timespec a, struct timespec b)
{
    return a.tv_sec != b.tv_sec ? a.tv_sec > b.tv_sec : a.tv_nsec > b.tv_nsec;
}

/* Keeps the capture at `path`, if it is one, and newer than that found before. By the time of
 * the folder "steps", which changes when a record is made in it, not with every step. True also
 * for an older one: a capture holds no other, and nobody looks below it. */
static bool running_capture_consider(struct newest *newest, const char *path)
{
    struct stat about;
    char *steps;

    if (!has_step_records(path))
        return false;
    steps = text_format("%s/steps", path);
    if (stat(steps, &about) == 0 && (!newest->path || is_later(about.st_mtim, newest->changed))) {
        free(newest->path);
        newest->path = text_copy(path);
        newest->changed = about.st_mtim;
    }
    free(steps);
    return true;
}

/* {output}/{name}/{start time}: two folders deep at most. d_type may be unknown on some file
 * systems; opening what is no folder fails then, without harm. */
static void look_below(struct newest *newest, const char *path, int depth)
{
    DIR *folder;
    struct dirent *file;

    if (running_capture_consider(newest, path) || depth == 0)
        return;
    folder = opendir(path);
    while (folder && (file = readdir(folder))) {
        char *below;

        if (file->d_name[0] == '.' || (file->d_type != DT_DIR && file->d_type != DT_UNKNOWN))
            continue;
        below = path_join(path, file->d_name);
        look_below(newest, below, depth - 1);
        free(below);
    }
    if (folder)
        closedir(folder);
}

/* What is found is copied into the arena: the search keeps one path at a time, whichever is
 * newest so far. */
static const char *newest_below(struct arena *arena, const char *path)
{
    struct newest newest = {0};
    const char *kept = NULL;

    look_below(&newest, path, DEPTH_MAX - 1);
    if (newest.path)
        kept = arena_copy_text(arena, newest.path, strlen(newest.path));
    free(newest.path);
    return kept;
}

/* The capture whose step record the process writes: {capture}/steps/rank0.steps. NULL: none. So
 * it is where 'flopledger attach' records it. From the open files of the process: its
 * environment is that of its start, and does not tell what was attached later. */
static const char *capture_written_by(struct arena *arena, long pid)
{
    static const char folder_name[] = "/steps/";
    char path[320];
    DIR *files;
    struct dirent *file;
    const char *capture = NULL;

    snprintf(path, sizeof path, "/proc/%ld/fd", pid);
    files = opendir(path);
    while (files && !capture && (file = readdir(files))) {
        char target[4096];
        ssize_t length;
        char *slash;

        snprintf(path, sizeof path, "/proc/%ld/fd/%s", pid, file->d_name);
        length = readlink(path, target, sizeof target - 1);
        if (length < 6 || memcmp(target + length - 6, ".steps", 6) != 0)
            continue;
        target[length] = '\0';
        slash = strrchr(target, '/');
        if (!slash || slash - target < 6 || strncmp(slash - 6, folder_name, 7) != 0)
            continue;
        capture = arena_copy_text(arena, target, (size_t)(slash - target) - 6);
    }
    if (files)
        closedir(files);
    return capture;
}

/* Of the process, or of the first one below it that is recorded. Breadth first through the
 * children, in one array that is queue and list at once: a launcher (torchrun, a shell) is not
 * recorded itself, its children are. */
static const char *capture_of_process(struct arena *arena, long pid, struct error *error)
{
    long processes[PROCESSES_MAX] = {pid};
    size_t count = 1;
    char path[64];
    struct stat about;

    snprintf(path, sizeof path, "/proc/%ld", pid);
    if (stat(path, &about) != 0) {
        error_set(error, ERROR_INPUT, "no process %ld runs on this machine", pid);
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        const char *capture = process_variable(arena, processes[i], "FLOPLEDGER_CAPTURE");

        if (!capture)
            capture = capture_written_by(arena, processes[i]);
        if (capture)
            return capture;
        count = add_child_processes(processes[i], processes, count, PROCESSES_MAX);
    }
    error_set(error, ERROR_NO_DATA,
              "process %ld is not recorded: 'flopledger attach --watch %ld' does that from now on, "
              "'flopledger run -- COMMAND' from the start (or it belongs to another user, and its "
              "environment cannot be read)",
              pid, pid);
    return NULL;
}

static bool running_capture_is_number(const char *text)
{
    return *text && strspn(text, "0123456789") == strlen(text) && strlen(text) < 10;
}

/* A number may be a folder's name: if one of that name exists, it is that folder. */
const char *find_running_capture(struct arena *arena, const char *given, struct error *error)
{
    const char *found;
    struct stat about;

    if (given && running_capture_is_number(given) && stat(given, &about) != 0) {
        found = capture_of_process(arena, strtol(given, NULL, 10), error);
        if (!found)
            return NULL;
        given = found;
    } else {
        found = newest_below(arena, given ? given : default_folder);
    }
    if (found && has_step_records(found))
        return found;
    if (given && stat(given, &about) != 0)
        error_set(error, ERROR_INPUT, "cannot read '%s': %s", given, strerror(errno));
    else
        error_set(error, ERROR_NO_DATA,
                  "no step record is in '%s': name the folder of a capture of 'flopledger run' "
                  "(captures/NAME/START TIME), or the number of a process that it runs; a record "
                  "begins when the program makes its optimizer",
                  given ? given : default_folder);
    return NULL;
}
