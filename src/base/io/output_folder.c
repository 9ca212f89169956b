/* A folder of files that appear all together or not at all. */
#include "base/io/output_folder.h"

#include "base/core/array.h"
#include "base/core/invariant.h"
#include "base/io/folders.h"
#include "base/io/half_written.h"
#include "base/text/owned_text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char *output_folder_joined(const char *folder, const char *name)
{
    char *path = path_join(folder, name);

    return path;
}

static bool output_folder_cannot(const char *what, const char *path, struct error *error)
{
    return error_set(error, ERROR_FAILURE, "cannot %s '%s': %s", what, path, strerror(errno));
}

/* Makes the folders that the file is in. */
static bool make_way(const char *path)
{
    char *folder = text_copy(path);
    char *slash = strrchr(folder, '/');
    bool is_made = true;

    if (slash && slash > folder) {
        *slash = '\0';
        is_made = make_folders(folder);
    }
    free(folder);
    return is_made;
}

/* False with errno set where it cannot be made. A folder cannot be made and locked at once:
 * another process may sweep it between, and then it is made again. */
static bool make_temporary(struct output_folder *folder)
{
    for (;;) {
        if (mkdir(folder->temporary, 0777) != 0 && errno != EEXIST)
            return false;
        folder->held = open(folder->temporary, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (folder->held < 0 && errno != ENOENT)
            return false;
        if (folder->held >= 0 && half_written_hold(folder->held))
            return true;
        if (folder->held >= 0)
            close(folder->held); /* it was taken for abandoned before it was held */
    }
}

/* A new folder is made beside its place, so that one rename shows it; into one that is there,
 * files are moved one by one from a folder inside it, since other files in it have to stay. */
bool output_folder_open(struct output_folder *folder, const char *path, struct error *error)
{
    struct stat status;
    size_t length = strlen(path);
    char *place;

    output_hold_signals(&folder->old_signals);
    while (length > 1 && path[length - 1] == '/')
        length--;
    folder->path = require_memory(strndup(path, length));
    folder->is_new = stat(folder->path, &status) != 0;
    place = text_format(folder->is_new ? "%s" : "%s/", folder->path);
    half_written_sweep(place);
    folder->temporary = half_written_name(place);
    free(place);
    if ((folder->is_new && !make_way(folder->path)) || !make_temporary(folder)) {
        (void)output_folder_cannot("make a folder at", folder->path, error);
        output_folder_clear(folder);
        return false;
    }
    unfinished_begin(folder->temporary);
    return true;
}

/* Calls `act` with what the folder of this name leaves when it is not finished: the folder in it
 * that holds the file, if any, and the file. From the outside in, so that what is removed in the
 * reverse order is empty by then. */
static void for_each_made(const struct output_folder *folder, const char *name,
                          void (*act)(const char *path))
{
    char *path = output_folder_joined(folder->temporary, name);
    char *slash = path + strlen(folder->temporary);

    for (slash = strchr(slash + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        act(path);
        *slash = '/';
    }
    act(path);
    free(path);
}

/* Written beside the folder and moved when all files are whole. What stands there and was not
 * written by this program is left as it is, unless forced; the message names the path that was
 * asked for, not the temporary one. */
bool output_folder_add(struct output_folder *folder, struct output_file *file, const char *name,
                       struct error *error)
{
    char *path = output_folder_joined(folder->temporary, name);
    char *known = output_folder_joined(folder->path, name);
    const char *data = folder->data_in_file && !folder->is_new ? folder->data_in_file(known) : NULL;
    bool is_open = false;

    ARRAY_ADD(folder->names, folder->count, text_copy(name));
    if (data)
        (void)error_set(error, ERROR_USAGE,
                        "'%s' is %s, and is left as it is: name another folder, or give --force, "
                        "too",
                        known, data);
    else if (!make_way(path))
        (void)output_folder_cannot("make a folder for", known, error);
    else
        is_open = output_file_open(file, path, error);
    for_each_made(folder, name, unfinished_begin);
    if (is_open) {
        free(file->name);
        file->name = text_copy(known);
    }
    free(path);
    free(known);
    return is_open;
}

/* In the order of writing, and stopped at the first that cannot be moved: what was moved until
 * then is whole. */
static bool move_files(struct output_folder *folder, struct error *error)
{
    bool is_moved = true;

    for (size_t i = 0; i < folder->count && is_moved; i++) {
        char *from = output_folder_joined(folder->temporary, folder->names[i]);
        char *to = output_folder_joined(folder->path, folder->names[i]);

        is_moved =
            (make_way(to) && rename(from, to) == 0) || output_folder_cannot("write", to, error);
        free(from);
        free(to);
    }
    return is_moved;
}

bool output_folder_close(struct output_folder *folder, struct error *error)
{
    bool is_done = folder->is_new ? rename(folder->temporary, folder->path) == 0 ||
                                        output_folder_cannot("write", folder->path, error)
                                  : move_files(folder, error);

    output_folder_clear(folder);
    return is_done;
}

/* The folders that `name` is in are removed where they are empty. */
static void remove_way(const char *folder, char *name)
{
    for (char *slash = strrchr(name, '/'); slash; slash = strrchr(name, '/')) {
        char *path;

        *slash = '\0';
        path = output_folder_joined(folder, name);
        (void)rmdir(path);
        free(path);
    }
}

/* Files first, then the folders that they were in: rmdir takes only empty ones. */
void output_folder_clear(struct output_folder *folder)
{
    if (!folder || !folder->path)
        return;
    for (size_t i = 0; i < folder->count; i++) {
        char *path = output_folder_joined(folder->temporary, folder->names[i]);

        for_each_made(folder, folder->names[i], unfinished_end);
        (void)unlink(path);
        remove_way(folder->temporary, folder->names[i]);
        free(path);
        free(folder->names[i]);
    }
    (void)rmdir(folder->temporary);
    if (folder->held > 0)
        close(folder->held);
    unfinished_end(folder->temporary);
    free(folder->names);
    free(folder->temporary);
    free(folder->path);
    pthread_sigmask(SIG_SETMASK, &folder->old_signals, NULL);
    memset(folder, 0, sizeof *folder);
}
