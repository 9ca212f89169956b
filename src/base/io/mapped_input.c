/* All bytes of an input at once; a plain file is mapped. */
#include "base/io/mapped_input.h"

#include "base/core/invariant.h"
#include "base/core/large_array.h"
#include "base/core/page_size.h"
#include "base/io/input_source.h"
#include "base/io/input_stream.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static bool too_long(size_t bytes_max, struct error *error)
{
    return error_set(error, ERROR_INPUT,
                     "more than %zu MiB of text: nothing of its kind is so long", bytes_max >> 20);
}

/* Less than this stays in memory: a file would spare nothing. */
enum { UNPACKED_IN_MEMORY = 2 << 20 };

/* ---- what is kept --------------------------------------------------------------------------- */

/* A folder may hold a thousand files, and all are looked into before the first is read. */
enum { UNPACKED_FILES_MAX = 4 };

static atomic_int unpacked_files;

/* Zero is a file that others may have: nothing kept is -1. */
struct unpacked_input *unpacked_input_new(void)
{
    struct unpacked_input *unpacked = require_memory(calloc(1, sizeof *unpacked));

    unpacked->file = -1;
    return unpacked;
}

void unpacked_input_free(struct unpacked_input *unpacked)
{
    if (unpacked && unpacked->file >= 0) {
        (void)close(unpacked->file);
        atomic_fetch_sub(&unpacked_files, 1);
    }
    free(unpacked);
}

/* The file is theirs from now on; the mapping stays ours. What is in memory is not kept: it is
 * small and soon unpacked again, or there is no disk, and then memory is what is short. */
static void keep_unpacked(struct mapped_input *mapped, const struct input_stream *input)
{
    if (!input->unpacked || !mapped->owns_file)
        return;
    if (atomic_fetch_add(&unpacked_files, 1) >= UNPACKED_FILES_MAX) {
        atomic_fetch_sub(&unpacked_files, 1);
        return;
    }
    *input->unpacked = (struct unpacked_input){.file = mapped->file,
                                               .length = mapped->length,
                                               .is_broken = input->is_broken,
                                               .is_followed = input->is_followed};
    memcpy(input->unpacked->breakage, input->breakage, sizeof input->breakage);
    mapped->owns_file = false;
}

/* ---- unpacking ------------------------------------------------------------------------------ */

static void add_in_memory(struct mapped_input *mapped, const char *text, size_t length)
{
    if (mapped->length + length > large_array_bytes(mapped->read))
        mapped->read = large_array_grown(mapped->read, mapped->length + length);
    memcpy(mapped->read + mapped->length, text, length);
}

/* What the file has is mapped. */
static bool map_own_file(struct mapped_input *mapped)
{
    void *text = mmap(NULL, mapped->length, PROT_READ, MAP_PRIVATE, mapped->file, 0);

    mapped->is_mapped = text != MAP_FAILED;
    mapped->text = mapped->is_mapped ? text : NULL;
    return mapped->is_mapped;
}

/* From the memory to a file, where there is a disk for as much as may come. */
static void put_in_file(struct mapped_input *mapped, size_t bytes_max)
{
    int file = large_array_open_file(bytes_max);

    if (file < 0)
        return;
    if (!large_array_write_file(file, mapped->read, mapped->length)) {
        (void)close(file);
        return;
    }
    mapped->file = file;
    mapped->owns_file = true;
    large_array_give_back(mapped->read);
    mapped->read = NULL;
}

/* Back into memory: the disk takes no more, or the file cannot be mapped. */
static void return_to_memory(struct mapped_input *mapped)
{
    mapped->read = large_array_new(mapped->length);
    for (size_t at = 0; at < mapped->length;) {
        ssize_t count = pread(mapped->file, mapped->read + at, mapped->length - at, (off_t)at);

        require_invariant(count > 0, "that what was written to a file can be read");
        at += (size_t)count;
    }
    (void)close(mapped->file);
    mapped->file = -1;
    mapped->owns_file = false;
}

/* Window by window: what is packed, or comes through a pipe. The bound is checked before
 * growing: a packed file may hold more than memory. */
static bool read_windows(struct mapped_input *mapped, struct input_stream *input, size_t bytes_max,
                         struct error *error)
{
    struct input_window window = {NULL, 0};
    bool may_use_file = true;

    mapped->read = large_array_new(1);
    while (input_stream_next(input, 0, &window)) {
        if (window.length > bytes_max - mapped->length)
            return too_long(bytes_max, error);
        if (may_use_file && !mapped->owns_file && mapped->length > UNPACKED_IN_MEMORY) {
            put_in_file(mapped, bytes_max);
            may_use_file = mapped->owns_file;
        }
        if (mapped->owns_file &&
            !large_array_write_file(mapped->file, window.text, window.length)) {
            return_to_memory(mapped);
            may_use_file = false;
        }
        if (!mapped->owns_file)
            add_in_memory(mapped, window.text, window.length);
        mapped->length += window.length;
    }
    if (mapped->owns_file && !map_own_file(mapped))
        return_to_memory(mapped);
    if (!mapped->owns_file)
        mapped->text = mapped->read;
    return true;
}

/* False where the input is no plain file. MAP_PRIVATE: nothing is written, and what is mapped is
 * given back under pressure without being written out. */
static bool map_file(struct mapped_input *mapped, const struct input_stream *input)
{
    struct input_source *source = input->source;
    struct stat facts;
    void *text;

    if (!input_stream_can_seek(input) || source->memory || fstat(source->file, &facts) != 0 ||
        facts.st_size <= 0)
        return false;
    text = mmap(NULL, (size_t)facts.st_size, PROT_READ, MAP_PRIVATE, source->file, 0);
    if (text == MAP_FAILED)
        return false;
    *mapped = (struct mapped_input){
        .text = text, .length = (size_t)facts.st_size, .file = source->file, .is_mapped = true};
    return true;
}

/* How the packed input ended is told again, as if it had been read. Where the file cannot be mapped
 * the input is unpacked as if there were none. */
static bool map_unpacked(struct mapped_input *mapped, struct input_stream *input)
{
    const struct unpacked_input *unpacked = input->unpacked;

    if (unpacked->file < 0)
        return false;
    mapped->file = unpacked->file;
    mapped->length = unpacked->length;
    if (!map_own_file(mapped)) {
        *mapped = (struct mapped_input){.file = -1};
        return false;
    }
    input->is_broken = unpacked->is_broken;
    input->is_followed = unpacked->is_followed;
    memcpy(input->breakage, unpacked->breakage, sizeof input->breakage);
    input->text_bytes = (int64_t)mapped->length;
    return true;
}

bool mapped_input_open(struct mapped_input *mapped, struct input_stream *input, size_t bytes_max,
                       struct error *error)
{
    *mapped = (struct mapped_input){.file = -1};
    if (input->unpacked && map_unpacked(mapped, input))
        return true;
    if (!map_file(mapped, input)) {
        if (!read_windows(mapped, input, bytes_max, error))
            return false;
        keep_unpacked(mapped, input);
        return true;
    }
    input->text_bytes = (int64_t)mapped->length;
    return mapped->length <= bytes_max || too_long(bytes_max, error);
}

/* In whole pages: the kernel reads them again if somebody looks once more. */
void mapped_input_forget(const struct mapped_input *mapped, const char *until)
{
    const size_t page = page_bytes();
    size_t bytes = until > mapped->text ? (size_t)(until - mapped->text) / page * page : 0;

    if (mapped->is_mapped && bytes)
        (void)madvise((void *)(uintptr_t)mapped->text, bytes, MADV_DONTNEED);
}

/* A file that became shorter while it was mapped ends the process at the next access behind
 * its end; the size is asked before results are believed. */
bool mapped_input_is_there(const struct mapped_input *mapped)
{
    struct stat facts;

    return !mapped->is_mapped ||
           (fstat(mapped->file, &facts) == 0 && (size_t)facts.st_size >= mapped->length);
}

void mapped_input_close(struct mapped_input *mapped)
{
    if (mapped->is_mapped)
        (void)munmap((void *)(uintptr_t)mapped->text, mapped->length);
    if (mapped->owns_file)
        (void)close(mapped->file);
    large_array_free(mapped->read);
    *mapped = (struct mapped_input){0};
}
