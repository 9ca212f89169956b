/* TensorBoard's event files. */
#include "output/exports/event_file.h"

#include "base/core/attributes.h"
#include "base/core/bytes.h"

/* Fields of the message Event. */
enum { EVENT_WALL_TIME = 1, EVENT_STEP = 2, EVENT_FILE_VERSION = 3, EVENT_SUMMARY = 5 };

/* The mask is the format's own: the sum of bytes that hold sums themselves, as records within
 * records do, would else be weak. */
uint32_t masked_crc32c(const void *bytes, size_t length)
{
    const unsigned char *at = bytes;
    uint32_t crc = UINT32_MAX;

    for (size_t i = 0; i < length; i++) {
        crc ^= at[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc & 1 ? crc >> 1 ^ UINT32_C(0x82F63B78) : crc >> 1;
    }
    crc = ~crc;
    return (crc >> 15 | crc << 17) + UINT32_C(0xA282EAD8);
}

static void event_file_write_number(FILE *output, uint64_t number, unsigned byte_count)
{
    for (unsigned i = 0; i < byte_count; i++)
        (void)fputc((int)(number >> (8 * i) & 0xFF), output);
}

/* The length has a sum of its own, so that a reader of a file that is still being written, or that
 * was cut, never skips by a length that is not whole. */
static void event_file_write_record(FILE *output, const struct bytes *event)
{
    unsigned char length[8];

    for (unsigned i = 0; i < sizeof length; i++)
        length[i] = (unsigned char)((uint64_t)event->length >> (8 * i));
    (void)fwrite(length, 1, sizeof length, output);
    event_file_write_number(output, masked_crc32c(length, sizeof length), 4);
    (void)fwrite(event->bytes, 1, event->length, output);
    event_file_write_number(output, masked_crc32c(event->bytes, event->length), 4);
}

/* The version is the first record of every file; TensorBoard reads no file without. */
void event_file_begin(FILE *output, double wall_seconds)
{
    SCOPED(bytes) event = {0};

    protobuf_double(&event, EVENT_WALL_TIME, wall_seconds);
    protobuf_text(&event, EVENT_FILE_VERSION, "brain.Event:2");
    event_file_write_record(output, &event);
}

void event_file_add(FILE *output, struct event_time time, const struct bytes *summary)
{
    SCOPED(bytes) event = {0};

    protobuf_double(&event, EVENT_WALL_TIME, time.wall_seconds);
    protobuf_integer(&event, EVENT_STEP, time.step);
    protobuf_message(&event, EVENT_SUMMARY, summary);
    event_file_write_record(output, &event);
}
