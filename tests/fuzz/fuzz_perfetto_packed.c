/* Any packets of Perfetto, compressed into one packet (which no fuzzer hits upon by itself): they
 * are read as they are read plain. */
#include "base/core/attributes.h"
#include "base/core/invariant.h"
#include "base/io/input_stream.h"
#include "readers/reader.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <zlib.h>

extern const struct reader perfetto_reader;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* How many events there are; -1 where they cannot be read. *is_damaged: not all of it is well. */
static int64_t packed_events(const uint8_t *data, size_t size, bool *is_damaged)
{
    const struct read_options options = {.threads = 1};
    SCOPED(trace) trace = {0};
    SCOPED(input_stream) input = {0};
    struct error error = {0};

    input_stream_open_memory(&input, data, size);
    if (input.compression != COMPRESSION_NONE ||
        !perfetto_reader.read(&trace, &input, &options, &error)) {
        *is_damaged = true;
        return -1;
    }
    *is_damaged |= trace.read.is_truncated || trace.read.damage_count > 0;
    return trace.read.events;
}

static size_t put_varint(uint8_t *at, uint64_t value)
{
    size_t length = 0;

    for (; value >= 0x80; value >>= 7)
        at[length++] = (uint8_t)(value | 0x80);
    at[length++] = (uint8_t)value;
    return length;
}

/* Packet 1 { compressed_packets 50 }; free() it. */
static uint8_t *pack(const uint8_t *data, size_t size, size_t *length)
{
    enum { ROOM_FOR_KEYS = 32, KEY_OF_PACKET = 1 << 3 | 2, KEY_OF_PACKED = 50 << 3 | 2 };
    uLongf packed_length = compressBound((uLong)size);
    uint8_t *packed = require_memory(malloc(packed_length));
    uint8_t *file = require_memory(malloc(packed_length + ROOM_FOR_KEYS));
    uint8_t inner[ROOM_FOR_KEYS];
    size_t inner_length;

    require_invariant(compress2(packed, &packed_length, data, (uLong)size, 1) == Z_OK,
                      "that zlib packs it");
    inner_length = put_varint(inner, KEY_OF_PACKED);
    inner_length += put_varint(inner + inner_length, packed_length);
    *length = put_varint(file, KEY_OF_PACKET);
    *length += put_varint(file + *length, inner_length + packed_length);
    for (size_t i = 0; i < inner_length; i++)
        file[(*length)++] = inner[i];
    for (size_t i = 0; i < packed_length; i++)
        file[(*length)++] = packed[i];
    free(packed);
    return file;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t length;
    uint8_t *file = pack(data, size, &length);
    bool is_damaged = false, is_packed_damaged = false;
    int64_t plain = packed_events(data, size, &is_damaged);
    int64_t packed = packed_events(file, length, &is_packed_damaged);

    require_invariant(is_damaged || is_packed_damaged || plain == packed,
                      "that compressed packets are read as plain ones");
    free(file);
    return 0;
}
