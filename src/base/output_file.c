/* A file that appears whole or not at all: written beside its place under another name, then
 * renamed. */
#include "base/output_file.h"

#include "base/out_of_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void hold_signals(struct output_file *file)
{
    sigset_t ending;

    sigemptyset(&ending);
    sigaddset(&ending, SIGINT);
    sigaddset(&ending, SIGTERM);
    sigaddset(&ending, SIGHUP);
    sigaddset(&ending, SIGQUIT);
    pthread_sigmask(SIG_BLOCK, &ending, &file->old_signals);
}

static bool cannot(const char *what, const char *path, struct error *error)
{
    return error_set(error, ERROR_FAILURE, "cannot %s '%s': %s", what, path, strerror(errno));
}

/* The file a link points to, so that the link stays a link. */
static char *final_path(const char *path)
{
    char *resolved = realpath(path, NULL);
    char *result = resolved ? resolved : strdup(path);

    if (!result)
        end_out_of_memory();
    return result;
}

static bool open_temporary(struct output_file *file, mode_t mode, struct error *error)
{
    int descriptor;

    if (asprintf(&file->temporary_path, "%s.%ld.part", file->path, (long)getpid()) < 0)
        end_out_of_memory();
    descriptor = open(file->temporary_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (descriptor < 0) {
        cannot("create", file->path, error);
        free(file->temporary_path);
        file->temporary_path = NULL;
        return false;
    }
    file->stream = fdopen(descriptor, "w");
    if (!file->stream)
        end_out_of_memory();
    return true;
}

bool output_file_open(struct output_file *file, const char *path, struct error *error)
{
    struct stat status;
    mode_t mode = 0666;
    bool is_open;

    file->path = final_path(path);
    hold_signals(file);
    if (stat(file->path, &status) == 0) {
        if (S_ISDIR(status.st_mode)) {
            errno = EISDIR;
            is_open = cannot("write", file->path, error);
        } else if (!S_ISREG(status.st_mode)) {
            file->stream = fopen(file->path, "we");
            is_open = file->stream || cannot("write", file->path, error);
        } else {
            mode = status.st_mode & 0777;
            is_open = open_temporary(file, mode, error);
        }
    } else {
        is_open = open_temporary(file, mode, error);
    }
    if (!is_open)
        output_file_clear(file);
    return is_open;
}

bool output_file_close(struct output_file *file, struct error *error)
{
    bool had_error = ferror(file->stream) != 0;
    bool is_done;

    if (fclose(file->stream) != 0)
        had_error = true;
    file->stream = NULL;
    if (had_error)
        is_done = cannot("write", file->path, error);
    else if (file->temporary_path && rename(file->temporary_path, file->path) != 0)
        is_done = cannot("write", file->path, error);
    else
        is_done = true;
    if (is_done) {
        free(file->temporary_path);
        file->temporary_path = NULL;
    }
    output_file_clear(file);
    return is_done;
}

void output_file_clear(struct output_file *file)
{
    if (!file || !file->path)
        return;
    if (file->stream)
        fclose(file->stream);
    if (file->temporary_path)
        unlink(file->temporary_path);
    free(file->temporary_path);
    free(file->path);
    pthread_sigmask(SIG_SETMASK, &file->old_signals, NULL);
    memset(file, 0, sizeof *file);
}
