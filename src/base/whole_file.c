/* Reads a small file at once: side files and settings, not traces. */
#include "base/whole_file.h"

#include "base/input_stream.h"
#include "base/invariant.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WHOLE_FILE_BYTES_MAX = 256 << 20 };

char *read_whole_file(const char *path, size_t *length, bool *is_missing, struct error *error)
{
    FILE *file = fopen(path, "re");
    size_t capacity = 1 << 16;
    char *text;

    *is_missing = !file && errno == ENOENT;
    if (!file) {
        (void)error_set(error, ERROR_INPUT, "cannot read '%s': %s", path, strerror(errno));
        return NULL;
    }
    text = require_memory(malloc(capacity));
    *length = 0;
    for (;;) {
        size_t more = fread(text + *length, 1, capacity - *length, file);

        *length += more;
        if (more == 0 || *length >= WHOLE_FILE_BYTES_MAX)
            break;
        if (*length == capacity) {
            capacity *= 2;
            text = require_memory(realloc(text, capacity));
        }
    }
    if (!ferror(file) && *length < WHOLE_FILE_BYTES_MAX) {
        (void)fclose(file);
        return text;
    }
    (void)fclose(file);
    free(text);
    (void)error_set(error, ERROR_INPUT, "cannot read '%s': it is damaged or too large", path);
    return NULL;
}

char *read_whole_stream(struct input_stream *stream, size_t *length)
{
    struct input_window window;
    size_t capacity = 1 << 16;
    char *text = require_memory(malloc(capacity));

    *length = 0;
    while (input_stream_next(stream, 0, &window)) {
        while (capacity - *length <= window.length)
            capacity *= 2;
        text = require_memory(realloc(text, capacity));
        memcpy(text + *length, window.text, window.length);
        *length += window.length;
    }
    text[*length] = '\0';
    return text;
}
