/* Reads a step record, while it is written or after its writer was killed. */
#include "readers/step_record/read_step_record.h"

#include "base/core/array.h"
#include "trace/step_record/step_record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How many bytes were there. */
static size_t read_at(int descriptor, void *data, size_t size, int64_t place)
{
    char *to = data;
    size_t done = 0;

    while (done < size) {
        ssize_t got = pread(descriptor, to + done, size - done, (off_t)(place + (int64_t)done));

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        done += (size_t)got;
    }
    return done;
}

bool looks_like_step_record(const char *bytes, size_t size)
{
    return size >= sizeof STEP_RECORD_MAGIC - 1 &&
           memcmp(bytes, STEP_RECORD_MAGIC, sizeof STEP_RECORD_MAGIC - 1) == 0;
}

/* From the vague to the certain, so that each message says what is wrong with the file: no
 * record, cut, damaged, too new. */
static bool check_header(const struct step_record_header *header, size_t size, struct error *error)
{
    if (!looks_like_step_record((const char *)header, size))
        return error_set(
            error, ERROR_INPUT,
            "byte 0: not a step record: one begins with '%s', as steps/rank0.steps of a "
            "capture does",
            STEP_RECORD_MAGIC);
    if (size < sizeof *header)
        return error_set(error, ERROR_INPUT,
                         "the header of a step record has %zu bytes, and this file ends after %zu: "
                         "it was cut",
                         sizeof *header, size);
    if (header->checksum != step_record_header_checksum(header))
        return error_set(error, ERROR_INPUT,
                         "byte 20: the checksum of the header does not hold: the file is damaged, "
                         "and its entries cannot be told from garbage");
    if (header->version != STEP_RECORD_VERSION || header->header_bytes != sizeof *header ||
        header->entry_bytes != STEP_RECORD_ENTRY_BYTES)
        return error_set(error, ERROR_INPUT,
                         "byte 8: a step record of version %u, and this program reads version %d: "
                         "a newer flopledger reads it",
                         header->version, STEP_RECORD_VERSION);
    return true;
}

/* Texts of a damaged header may have no end. */
static void end_texts(struct step_record_header *header)
{
    header->boot_id[sizeof header->boot_id - 1] = '\0';
    header->host[sizeof header->host - 1] = '\0';
    header->job[sizeof header->job - 1] = '\0';
    header->recorder[sizeof header->recorder - 1] = '\0';
    header->torch[sizeof header->torch - 1] = '\0';
    header->python[sizeof header->python - 1] = '\0';
}

/* Entries are in monotonic time, which differs from the wall clock by an offset that may be
 * set anew (NTP): each clock entry gives the one from then on. */
static void add_clock(struct step_reader *reader, int64_t from_ns, int64_t unix_ns)
{
    int64_t offset;

    if (__builtin_sub_overflow(unix_ns, from_ns, &offset))
        offset = 0;
    ARRAY_ADD(reader->clocks, reader->clock_count, (struct clock_offset){from_ns, offset});
}

/* Read by descriptor and place, not mapped: the file grows while it is read, and may be cut. */
bool step_reader_open(struct step_reader *reader, const char *path, struct error *error)
{
    struct step_record_header header;
    size_t size;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);

    if (descriptor < 0)
        return error_set(error, ERROR_INPUT, "cannot read '%s': %s", path, strerror(errno));
    memset(&header, 0, sizeof header);
    size = read_at(descriptor, &header, sizeof header, 0);
    if (!check_header(&header, size, error)) {
        close(descriptor);
        return error_in(error, "cannot read '%s'", path);
    }
    end_texts(&header);
    *reader = (struct step_reader){
        .descriptor = descriptor, .is_open = true, .header = header, .place = sizeof header};
    add_clock(reader, header.opened_ns, header.opened_unix_ns);
    return true;
}

/* The entry at `place`, in the buffer; NULL where the file ends before. Entries are read many at
 * a time, but never kept beyond the last that was whole: the writer may fill what was empty. */
static const struct step_entry *entry_at(struct step_reader *reader, int64_t place)
{
    int64_t index = (place - reader->buffer_place) / STEP_RECORD_ENTRY_BYTES;

    if (place < reader->buffer_place || index >= (int64_t)reader->buffer_entries) {
        size_t size = read_at(reader->descriptor, reader->buffer, sizeof reader->buffer, place);

        reader->buffer_place = place;
        reader->buffer_entries = size / STEP_RECORD_ENTRY_BYTES;
        index = 0;
    }
    return reader->buffer_entries > 0 ? &reader->buffer[index] : NULL;
}

/* Zeros are room that was made and not yet written: no step, and no damage either. */
static bool is_untouched(const struct step_entry *entry)
{
    const unsigned char *bytes = (const unsigned char *)entry;

    for (size_t i = 0; i < sizeof *entry; i++) {
        if (bytes[i] != 0)
            return false;
    }
    return true;
}

/* Nine years: what no clock and no count of a process reaches, so that sums of many cannot wrap
 * around soon. */
static bool read_step_record_is_possible(int64_t number)
{
    return number >= -1 && number < INT64_C(1) << 58;
}

/* What a crash left half written may hold anything: an entry is used only where all its
 * numbers can be. */
static bool has_possible_numbers(const struct step_entry *entry)
{
    return read_step_record_is_possible(entry->step) &&
           read_step_record_is_possible(entry->start_ns) &&
           read_step_record_is_possible(entry->end_ns) &&
           read_step_record_is_possible(entry->data_wait_ns) &&
           read_step_record_is_possible(entry->forward_ns) &&
           read_step_record_is_possible(entry->backward_ns) &&
           read_step_record_is_possible(entry->optimizer_ns) &&
           read_step_record_is_possible(entry->tokens) &&
           read_step_record_is_possible(entry->samples) &&
           read_step_record_is_possible(entry->memory_bytes) &&
           read_step_record_is_possible(entry->host_bytes);
}

/* The sequence number is the place: an entry of another file's rest, or of a place before, has
 * another. With the checksum, which has the file's mark in it, a half-written entry is not
 * taken. */
static bool read_step_record_is_whole(const struct step_reader *reader,
                                      const struct step_entry *entry, int64_t place)
{
    uint64_t sequence = (uint64_t)(place - STEP_RECORD_HEADER_BYTES) / STEP_RECORD_ENTRY_BYTES + 1;

    return entry->sequence == sequence &&
           entry->checksum == step_entry_checksum(entry, reader->header.file_mark) &&
           has_possible_numbers(entry);
}

/* What is written is written in order, so while the writer lives nothing lies behind an untouched
 * place. After a power loss a page may be missing before others. */
static bool may_have_more(const struct step_reader *reader, const struct step_entry *entry)
{
    return !is_untouched(entry) || !step_reader_writer_lives(reader);
}

/* A damaged entry is passed over only when a whole one follows; else it may be one that is
 * being written, and is looked at again next time. Entries have one size, so the next place is
 * always known. */
bool step_reader_next(struct step_reader *reader, struct step_entry *entry)
{
    int64_t passed = 0;
    const struct step_entry *found;

    if (!reader->is_open)
        return false;
    for (int64_t place = reader->place; (found = entry_at(reader, place));
         place += STEP_RECORD_ENTRY_BYTES) {
        if (read_step_record_is_whole(reader, found, place)) {
            *entry = *found;
            reader->place = place + STEP_RECORD_ENTRY_BYTES;
            reader->damaged_count += passed;
            if (entry->kind == STEP_ENTRY_CLOCK)
                add_clock(reader, entry->start_ns, entry->count);
            return true;
        }
        if (!may_have_more(reader, found))
            break;
        passed += !is_untouched(found);
    }
    reader->unfinished_count = passed;
    reader->buffer_entries = 0; /* read again next time */
    return false;
}

/* The writer holds a lock on the file, which the kernel drops when it dies, however it dies; a
 * process id could be another's by then. */
bool step_reader_writer_lives(const struct step_reader *reader)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

    return reader->is_open && fcntl(reader->descriptor, F_GETLK, &whole) == 0 &&
           whole.l_type != F_UNLCK;
}

/* The offset that held at that time: a clock that was set in between moves later times only. */
int64_t step_reader_unix_ns(const struct step_reader *reader, int64_t monotonic_ns)
{
    int64_t offset = 0;
    int64_t unix_ns;

    for (size_t i = 0; i < reader->clock_count; i++) {
        if (i > 0 && reader->clocks[i].from_ns > monotonic_ns)
            break;
        offset = reader->clocks[i].offset_ns;
    }
    return __builtin_add_overflow(monotonic_ns, offset, &unix_ns) ? monotonic_ns : unix_ns;
}

void step_reader_clear(struct step_reader *reader)
{
    if (reader->is_open)
        close(reader->descriptor);
    free(reader->clocks);
    *reader = (struct step_reader){0};
}
