/* Files that are written, and packed where their name asks for it. */
#include "base/io/output_file.h"

#include "base/core/invariant.h"
#include "base/core/out_of_memory.h"
#include "base/io/half_written.h"
#include "base/text/owned_text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>
#include <zlib.h>

enum {
    PIECE_BYTES = 64 * 1024,
    BUFFER_BYTES = 256 * 1024, /* pages of megabytes: a system call for each 4 KB took four times as
                                  long */
    GZIP_WINDOW_BITS = 15 + 16, /* zlib's largest window, and gzip's header */
    MEMORY_LEVEL = 8,           /* zlib's usual one */
};

struct packing {
    FILE *target;
    z_stream stream;
    unsigned char packed[PIECE_BYTES];
};

/* Packs what the stream was given; false where the target does not take it. Until the packer
 * leaves room: only then it has taken all of its input. */
static bool packed_output_pack(struct packing *packing, int flush)
{
    do {
        size_t length;

        packing->stream.next_out = packing->packed;
        packing->stream.avail_out = PIECE_BYTES;
        (void)deflate(&packing->stream, flush);
        length = PIECE_BYTES - packing->stream.avail_out;
        if (fwrite(packing->packed, 1, length, packing->target) != length)
            return false;
    } while (packing->stream.avail_out == 0);
    return true;
}

static ssize_t packed_output_write_packed(void *cookie, const char *bytes, size_t length)
{
    struct packing *packing = cookie;
    size_t done = 0;

    while (done < length) {
        size_t piece = length - done > PIECE_BYTES ? PIECE_BYTES : length - done;
        unsigned char copy[PIECE_BYTES]; /* zlib wants what it does not change to be changeable */

        memcpy(copy, bytes + done, piece);
        packing->stream.next_in = copy;
        packing->stream.avail_in = (uInt)piece;
        if (!packed_output_pack(packing, Z_NO_FLUSH))
            return 0;
        done += piece;
    }
    return (ssize_t)length;
}

static int close_packed(void *cookie)
{
    struct packing *packing = cookie;
    bool is_done = packed_output_pack(packing, Z_FINISH);

    deflateEnd(&packing->stream);
    free(packing);
    return is_done ? 0 : EOF;
}

/* A FILE of its own kind (fopencookie): writers need not know that they are packed. */
FILE *packed_output_open(FILE *target)
{
    const cookie_io_functions_t functions = {.write = packed_output_write_packed,
                                             .close = close_packed};
    struct packing *packing = require_memory(calloc(1, sizeof *packing));

    packing->target = target;
    if (deflateInit2(&packing->stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW_BITS,
                     MEMORY_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK)
        end_out_of_memory();
    return require_memory(fopencookie(packing, "w", functions));
}

/* Blocked while a file is half written: whoever presses Ctrl-C gets the old file or the new,
 * and no remains. They come in when it is done. */
void output_hold_signals(sigset_t *old)
{
    sigset_t ending;

    sigemptyset(&ending);
    sigaddset(&ending, SIGINT);
    sigaddset(&ending, SIGTERM);
    sigaddset(&ending, SIGHUP);
    sigaddset(&ending, SIGQUIT);
    pthread_sigmask(SIG_BLOCK, &ending, old);
}

static bool output_file_cannot(const char *what, const char *path, struct error *error)
{
    return error_set(error, ERROR_FAILURE, "cannot %s '%s': %s", what, path, strerror(errno));
}

/* The file a link points to, so that the link stays a link. */
static char *final_path(const char *path)
{
    char *resolved = realpath(path, NULL);

    return resolved ? resolved : text_copy(path);
}

/* A file that is there is not asked whether it may be written: it is replaced by renaming,
 * which the folder decides. What is no file (a device, a pipe) is written in place. */
bool output_file_check(const char *path, struct error *error)
{
    char *final = final_path(path);
    char *folder = path_folder(final);
    bool is_writable;
    struct stat status;

    if (stat(final, &status) == 0 && S_ISDIR(status.st_mode)) {
        errno = EISDIR;
        is_writable = false;
    } else if (stat(final, &status) == 0 && !S_ISREG(status.st_mode)) {
        is_writable = access(final, W_OK) == 0;
    } else {
        is_writable = access(folder, W_OK | X_OK) == 0;
    }
    if (!is_writable)
        (void)output_file_cannot("write", path, error);
    free(folder);
    free(final);
    return is_writable;
}

/* Below 0 with errno set where it cannot be made. O_EXCL makes it ours; the loop is for a sweep
 * of another process between the two calls. */
static int open_held(const char *path, mode_t mode)
{
    for (;;) {
        int descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);

        if (descriptor < 0 || half_written_hold(descriptor))
            return descriptor;
        close(descriptor); /* it was taken for abandoned before it was held */
    }
}

static bool open_temporary(struct output_file *file, mode_t mode, struct error *error)
{
    int descriptor;

    half_written_sweep(file->path);
    file->temporary_path = half_written_name(file->path);
    (void)unlink(file->temporary_path); /* where nothing can be held, and this number was killed */
    descriptor = open_held(file->temporary_path, mode);
    if (descriptor < 0) {
        output_file_cannot("write", file->name, error);
        free(file->temporary_path);
        file->temporary_path = NULL;
        return false;
    }
    unfinished_begin(file->temporary_path);
    file->stream = fdopen(descriptor, "w");
    if (!file->stream)
        end_out_of_memory();
    return true;
}

/* Of what is not written no page of the buffer is touched, so that small files don't pay for it. */
static void make_buffer(struct output_file *file)
{
    file->buffer = require_memory(malloc(BUFFER_BYTES));
    (void)setvbuf(file->stream, file->buffer, _IOFBF, BUFFER_BYTES);
}

/* The permissions of the file that is replaced are kept. */
bool output_file_open(struct output_file *file, const char *path, struct error *error)
{
    struct stat status;
    mode_t mode = 0666;
    bool is_open;

    file->path = final_path(path);
    file->name = text_copy(path);
    output_hold_signals(&file->old_signals);
    if (stat(file->path, &status) == 0) {
        if (S_ISDIR(status.st_mode)) {
            errno = EISDIR;
            is_open = output_file_cannot("write", path, error);
        } else if (!S_ISREG(status.st_mode)) {
            file->stream = fopen(file->path, "we");
            is_open = file->stream || output_file_cannot("write", path, error);
        } else {
            mode = status.st_mode & 0777;
            is_open = open_temporary(file, mode, error);
        }
    } else {
        is_open = open_temporary(file, mode, error);
    }
    if (is_open)
        make_buffer(file);
    else
        output_file_clear(file);
    return is_open;
}

/* What went wrong before is no longer known, but goes wrong again. ferror tells that, not why:
 * one more byte fails in the same way and sets errno. */
static int reason_of_failure(FILE *stream)
{
    errno = 0;
    if (fputc('\n', stream) != EOF)
        (void)fflush(stream);
    return errno ? errno : EIO;
}

/* The reason is asked for before anything else can change errno. */
bool stream_has_arrived(FILE *stream, const char *path, struct error *error)
{
    int reason;

    if (!ferror(stream) && fflush(stream) == 0)
        return true;
    reason = reason_of_failure(stream);
    if (!path)
        return error_set(error, ERROR_FAILURE, "cannot write to standard output: %s",
                         strerror(reason));
    return error_set(error, ERROR_FAILURE, "cannot write '%s': %s", path, strerror(reason));
}

/* Flushed, closed and then renamed: a full disk may show at any of the first two, and then the
 * old file stays. */
bool output_file_close(struct output_file *file, struct error *error)
{
    bool has_arrived = stream_has_arrived(file->stream, file->name, error);
    bool is_done;

    if (fclose(file->stream) != 0 && has_arrived)
        has_arrived = output_file_cannot("write", file->name, error);
    file->stream = NULL;
    if (!has_arrived)
        is_done = false;
    else if (file->temporary_path && rename(file->temporary_path, file->path) != 0)
        is_done = output_file_cannot("write", file->name, error);
    else
        is_done = true;
    if (is_done && file->temporary_path) {
        unfinished_end(file->temporary_path);
        free(file->temporary_path);
        file->temporary_path = NULL;
    }
    output_file_clear(file);
    return is_done;
}

/* Its time is set, as if it had been written: who looks for what is new finds it. Where that cannot
 * be done, it is written. */
bool output_file_holds(const char *path, const char *bytes, size_t length)
{
    char piece[PIECE_BYTES];
    struct stat status;
    size_t done = 0;
    ssize_t count;
    bool is_same;
    int file;

    if (stat(path, &status) != 0 || !S_ISREG(status.st_mode) || (size_t)status.st_size != length)
        return false;
    file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    while ((count = read(file, piece, sizeof piece)) > 0 && (size_t)count <= length - done &&
           memcmp(piece, bytes + done, (size_t)count) == 0)
        done += (size_t)count;
    is_same = count == 0 && done == length && futimens(file, NULL) == 0;
    close(file);
    return is_same;
}

/* Signals are let in again last: one that came meanwhile must find nothing half done. */
void output_file_clear(struct output_file *file)
{
    if (!file || !file->path)
        return;
    if (file->stream)
        fclose(file->stream);
    if (file->temporary_path) {
        unlink(file->temporary_path);
        unfinished_end(file->temporary_path);
    }
    free(file->buffer);
    free(file->temporary_path);
    free(file->path);
    free(file->name);
    pthread_sigmask(SIG_SETMASK, &file->old_signals, NULL);
    memset(file, 0, sizeof *file);
}
