/* A step record may hold anything behind its header: entries cut, damaged, or whole and nonsense
 * (an odd first byte: each gets the checksum that it should have). */
#include "base/core/attributes.h"
#include "readers/step_record/job_records.h"
#include "trace/step_record/step_record.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_all(int file, const void *bytes, size_t size)
{
    if (write(file, bytes, size) != (ssize_t)size)
        abort();
}

static void write_entries(int file, const uint8_t *data, size_t size)
{
    uint64_t sequence = 0;

    while (size >= sizeof(struct step_entry)) {
        struct step_entry entry;

        memcpy(&entry, data, sizeof entry);
        entry.sequence = ++sequence;
        entry.checksum = step_entry_checksum(&entry, 1);
        write_all(file, &entry, sizeof entry);
        data += sizeof entry;
        size -= sizeof entry;
    }
    write_all(file, data, size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct step_record_header header = {.version = STEP_RECORD_VERSION,
                                        .header_bytes = STEP_RECORD_HEADER_BYTES,
                                        .entry_bytes = STEP_RECORD_ENTRY_BYTES,
                                        .file_mark = 1};
    struct rank_progress *progress = calloc(1, sizeof *progress);
    int file = memfd_create("record", 0);
    struct error error;
    char path[32];

    if (file < 0 || !progress)
        abort();
    memcpy(header.magic, STEP_RECORD_MAGIC, sizeof header.magic);
    header.checksum = step_record_header_checksum(&header);
    write_all(file, &header, sizeof header);
    if (size > 0 && (data[0] & 1))
        write_entries(file, data + 1, size - 1);
    else
        write_all(file, data, size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    if (!rank_progress_open(progress, path, &error))
        abort();
    rank_progress_update(progress);
    if (progress->net_ns < 0 || progress->data_wait_ns < 0 || rank_recent_step_ns(progress, 20) < 0)
        abort();
    rank_progress_clear(progress);
    free(progress);
    close(file);
    return 0;
}
