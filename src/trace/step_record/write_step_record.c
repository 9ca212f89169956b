/* Writes a step record, at the price of a checksum and a copy an entry. */
#include "trace/step_record/step_record.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <zlib.h>

#ifndef XFS_SUPER_MAGIC
#define XFS_SUPER_MAGIC 0x58465342 /* linux/magic.h has it since 5.8 */
#endif

uint32_t step_record_header_checksum(const struct step_record_header *header)
{
    struct step_record_header copy = *header;

    copy.checksum = 0;
    return (uint32_t)crc32(0, (const unsigned char *)&copy, sizeof copy);
}

/* Seeded by the file's mark: an entry of an older file in a reused block does not check. */
uint32_t step_entry_checksum(const struct step_entry *entry, uint32_t file_mark)
{
    struct step_entry copy = *entry;

    copy.checksum = 0;
    return (uint32_t)crc32(file_mark, (const unsigned char *)&copy, sizeof copy);
}

/* File systems on which a page that was allocated stays writable, however full the disk is. On
 * other file systems a full disk would end the program by SIGBUS when it writes to the mapping. */
static bool keeps_promised_room(int descriptor)
{
    static const unsigned long kinds[] = {EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, TMPFS_MAGIC,
                                          RAMFS_MAGIC};
    struct statfs about;

    if (fstatfs(descriptor, &about) != 0)
        return false;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if ((unsigned long)about.f_type == kinds[i])
            return true;
    }
    return false;
}

/* A disk that is full may take part of a write, and 0 of the next: that is its error. */
static bool write_step_record_write_whole(int descriptor, const void *data, size_t size,
                                          int64_t place)
{
    const char *from = data;

    while (size > 0) {
        ssize_t written = pwrite(descriptor, from, size, (off_t)place);

        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0) {
            if (written == 0)
                errno = ENOSPC;
            return false;
        }
        from += written;
        size -= (size_t)written;
        place += written;
    }
    return true;
}

static bool write_step_record_fail(const char *what, struct error *error)
{
    return error_set(error, errno == EEXIST ? ERROR_USAGE : ERROR_FAILURE, "%s: %s", what,
                     strerror(errno));
}

/* Held until the process ends, however it does, and not by its children. */
static void lock(int descriptor)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

    /* Some file systems have no locks: then nobody can tell, and the record is as good. */
    (void)fcntl(descriptor, F_SETLK, &whole);
}

/* O_EXCL: a record is never written over. */
bool step_writer_open(struct step_writer *writer, const char *path,
                      const struct step_record_header *header, struct error *error)
{
    int descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

    if (descriptor < 0)
        return write_step_record_fail("cannot make the step record", error);
    lock(descriptor);
    if (!write_step_record_write_whole(descriptor, header, sizeof *header, 0)) {
        write_step_record_fail("cannot write the step record", error);
        unlink(path);
        close(descriptor);
        return false;
    }
    *writer = (struct step_writer){.descriptor = descriptor,
                                   .is_open = true,
                                   .is_mapped = keeps_promised_room(descriptor),
                                   .used_bytes = sizeof *header,
                                   .file_mark = header->file_mark};
    return true;
}

static void unmap(struct step_writer *writer)
{
    if (writer->chunk)
        munmap(writer->chunk, STEP_RECORD_CHUNK_BYTES);
    writer->chunk = NULL;
}

/* Maps the chunk that the next entry lies in. A file system that cannot allocate ahead, or has no
 * room for a whole chunk, turns mapping off: entries are written one by one as long as they fit.
 * A store into shared memory survives the process, however it ends, and costs no call of the
 * system. MADV_DONTFORK keeps children from holding it. */
static void map_chunk(struct step_writer *writer)
{
    int64_t start = writer->used_bytes / STEP_RECORD_CHUNK_BYTES * STEP_RECORD_CHUNK_BYTES;
    void *chunk;

    if (writer->chunk && writer->chunk_start == start)
        return;
    unmap(writer);
    if (fallocate(writer->descriptor, 0, (off_t)start, STEP_RECORD_CHUNK_BYTES) != 0) {
        writer->is_mapped = false;
        return;
    }
    chunk = mmap(NULL, STEP_RECORD_CHUNK_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
                 writer->descriptor, (off_t)start);
    if (chunk == MAP_FAILED) {
        writer->is_mapped = false;
        return;
    }
    (void)madvise(chunk, STEP_RECORD_CHUNK_BYTES, MADV_DONTFORK);
    writer->chunk = chunk;
    writer->chunk_start = start;
}

/* The sequence number comes from the place, so a gap shows. The checksum is in the entry that
 * it is of, so half of one is never taken for whole. */
bool step_writer_append(struct step_writer *writer, struct step_entry *entry, struct error *error)
{
    entry->sequence =
        (uint64_t)(writer->used_bytes - STEP_RECORD_HEADER_BYTES) / STEP_RECORD_ENTRY_BYTES + 1;
    entry->checksum = step_entry_checksum(entry, writer->file_mark);
    if (writer->is_mapped)
        map_chunk(writer);
    if (writer->is_mapped)
        memcpy(writer->chunk + (writer->used_bytes - writer->chunk_start), entry, sizeof *entry);
    else if (!write_step_record_write_whole(writer->descriptor, entry, sizeof *entry,
                                            writer->used_bytes))
        return write_step_record_fail("no room for the step record", error);
    writer->used_bytes += (int64_t)sizeof *entry;
    return true;
}

void step_writer_forget(struct step_writer *writer)
{
    if (writer->is_open)
        close(writer->descriptor);
    *writer = (struct step_writer){0};
}

void step_writer_clear(struct step_writer *writer)
{
    if (!writer->is_open)
        return;
    unmap(writer);
    /* What lies behind the last entry is zeros, which a reader passes over: no harm if it stays. */
    if (ftruncate(writer->descriptor, (off_t)writer->used_bytes) != 0)
        errno = 0;
    close(writer->descriptor);
    *writer = (struct step_writer){0};
}
