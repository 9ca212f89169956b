/* Reads a small file at once: side files and settings, not traces. */
#include "base/io/whole_file.h"

#include "base/core/array.h"
#include "base/core/invariant.h"
#include "base/io/files_seen.h"
#include "base/io/input_stream.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool whole_file_is_too_large(const char *name, struct error *error)
{
    return error_set(error, ERROR_INPUT,
                     "'%s': over %d MiB, more than is read of a file of this kind", name,
                     WHOLE_FILE_BYTES_MAX >> 20);
}

/* One byte more than the text is there, for a NUL. The size is not asked before: files of
 * /proc have none. */
char *read_whole_file(const char *path, size_t *length, bool *is_missing, struct error *error)
{
    FILE *file = fopen(path, "re");
    size_t capacity = 1 << 16;
    char *text;

    files_seen_note(path);
    *is_missing = !file && errno == ENOENT;
    if (!file) {
        (void)error_set(error, ERROR_INPUT, "cannot read '%s': %s", path, strerror(errno));
        return NULL;
    }
    text = require_memory(malloc(capacity));
    *length = 0;
    errno = 0; /* "Is a directory" shows when it is read */
    for (;;) {
        size_t more = fread(text + *length, 1, capacity - *length, file);

        *length += more;
        if (more == 0 || *length >= WHOLE_FILE_BYTES_MAX)
            break;
        ARRAY_RESERVE(text, capacity, *length + 1);
    }
    if (!ferror(file) && *length < WHOLE_FILE_BYTES_MAX) {
        (void)fclose(file);
        return text;
    }
    if (ferror(file))
        (void)error_set(error, ERROR_INPUT, "cannot read '%s': %s", path,
                        strerror(errno ? errno : EIO));
    else
        (void)whole_file_is_too_large(path, error);
    (void)fclose(file);
    free(text);
    return NULL;
}

/* What is unpacked is limited, too: a small packed file may hold more than there is memory. */
char *read_whole_stream(struct input_stream *stream, size_t *length, struct error *error)
{
    struct input_window window;
    size_t capacity = 1 << 16;
    char *text = require_memory(malloc(capacity));

    *length = 0;
    while (input_stream_next(stream, 0, &window)) {
        if (window.length > WHOLE_FILE_BYTES_MAX - *length) {
            free(text);
            (void)whole_file_is_too_large(stream->name, error);
            return NULL;
        }
        ARRAY_RESERVE(text, capacity, *length + window.length + 1);
        memcpy(text + *length, window.text, window.length);
        *length += window.length;
    }
    text[*length] = '\0';
    return text;
}
