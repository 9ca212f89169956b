/* Unpacks the recorder that is part of the program.
 *
 * Its folder is named by what it holds, so a newer program never meets an older recorder. Each file
 * is written beside its place and then put there at once: processes that start together do the same
 * work twice and end with the same files, and a file that is there in its full size is a whole one.
 * Nothing is taken from a folder that somebody else could have written to. */
#include "pipeline/unpacked_recorder.h"

#include "base/core/out_of_memory.h"
#include "base/io/folders.h"
#include "base/io/packed_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool has_packed_recorder(void)
{
    return packed_recorder.count > 0;
}

/* `name` below `folder`; false where that is too long for a path. */
static bool join(char path[PATH_MAX], const char *folder, const char *name)
{
    int length = snprintf(path, PATH_MAX, "%s/%s", folder, name);

    if (length > 0 && length < PATH_MAX)
        return true;
    errno = ENAMETOOLONG;
    return false;
}

/* Ours, and nobody else may write to it. */
static bool is_private(const char *folder)
{
    struct stat found;

    if (lstat(folder, &found) != 0)
        return false;
    if (S_ISDIR(found.st_mode) && found.st_uid == geteuid() && (found.st_mode & 022) == 0)
        return true;
    errno = EPERM;
    return false;
}

static bool unpacked_recorder_write_bytes(int file, const char *bytes, size_t count)
{
    while (count > 0) {
        ssize_t written = write(file, bytes, count);

        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        bytes += written;
        count -= (size_t)written;
    }
    return true;
}

static bool unpacked_recorder_is_whole(const char *path, size_t bytes)
{
    struct stat found;

    return lstat(path, &found) == 0 && S_ISREG(found.st_mode) && (size_t)found.st_size == bytes;
}

static bool unpacked_recorder_write_file(const char *path, const char *bytes, size_t count)
{
    char beside[PATH_MAX];
    int file;
    bool is_written;

    if (snprintf(beside, sizeof beside, "%s.%ld", path, (long)getpid()) >= PATH_MAX)
        return false;
    file = open(beside, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (file < 0)
        return false;
    is_written = unpacked_recorder_write_bytes(file, bytes, count);
    if (close(file) != 0)
        is_written = false;
    if (is_written && rename(beside, path) == 0)
        return true;
    unlink(beside);
    return false;
}

static bool make_folder_of(const char *path)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');

    memcpy(folder, path, (size_t)(slash - path));
    folder[slash - path] = '\0';
    return make_folders(folder);
}

static bool unpack_into(const char *folder)
{
    char *whole = packed_folder_unpack(&packed_recorder);
    bool is_done = true;

    for (size_t i = 0; is_done && i < packed_recorder.count; i++) {
        const struct packed_file *file = &packed_recorder.files[i];
        char path[PATH_MAX];

        is_done = join(path, folder, file->name) &&
                  (unpacked_recorder_is_whole(path, file->bytes) ||
                   (make_folder_of(path) &&
                    unpacked_recorder_write_file(path, whole + file->at, file->bytes)));
    }
    free(whole);
    return is_done;
}

/* A folder for it, by name; the places are tried in this order. */
static bool name_place(int place, char path[PATH_MAX])
{
    const char *folder = getenv(place == 0 ? "XDG_CACHE_HOME" : place == 1 ? "HOME" : "TMPDIR");
    int length = 0;

    if (!folder || folder[0] != '/') {
        if (place < 2)
            return false;
        folder = "/tmp";
    }
    if (place < 2)
        length = snprintf(path, PATH_MAX, "%s%s/flopledger", folder, place == 0 ? "" : "/.cache");
    else
        length = snprintf(path, PATH_MAX, "%s/flopledger-%ld", folder, (long)geteuid());
    return length < PATH_MAX;
}

static bool unpack_at(int place, char start[PATH_MAX])
{
    char parent[PATH_MAX];
    char folder[PATH_MAX];
    mode_t before;
    bool is_done;

    if (!name_place(place, parent) || !join(folder, parent, packed_recorder.key))
        return false;
    before = umask(022);
    is_done = make_folders(folder) && is_private(parent) && is_private(folder) &&
              unpack_into(folder) && join(start, folder, "flopledger/start");
    umask(before);
    return is_done;
}

const char *unpack_recorder(struct arena *arena, struct error *error)
{
    char start[PATH_MAX];

    for (int place = 0; place < 3; place++) {
        if (unpack_at(place, start))
            return arena_copy_text(arena, start, strlen(start));
    }
    error_set(error, ERROR_FAILURE,
              "cannot unpack the recorder below XDG_CACHE_HOME, HOME or TMPDIR: %s (set "
              "XDG_CACHE_HOME to a folder that can be written, or install flopledger by pip)",
              strerror(errno));
    return NULL;
}
