/* Any bytes as packets of Perfetto: whatever is read, and in windows of whatever size, it is the
 * same. */
#include "base/core/attributes.h"
#include "base/core/invariant.h"
#include "base/io/input_stream.h"
#include "readers/reader.h"

#include <stddef.h>
#include <stdint.h>

extern const struct reader perfetto_reader;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* How many events there are, read in windows that grow by `piece` bytes (0: as usual); -1 where
 * they cannot be read. */
static int64_t count_events(const uint8_t *data, size_t size, size_t piece)
{
    const struct read_options options = {.threads = 1, .skips_details = size & 1};
    SCOPED(trace) trace = {0};
    SCOPED(input_stream) input = {0};
    struct error error = {0};

    input_stream_open_memory(&input, data, size);
    if (piece)
        input_stream_set_piece(&input, piece);
    if (!perfetto_reader.read(&trace, &input, &options, &error)) {
        require_invariant(error.class != ERROR_NONE && error.message[0], "that errors are told");
        return -1;
    }
    for (uint32_t i = 0; i < trace.device_count; i++)
        require_invariant(trace.device[i].duration_ns >= 0, "that no kernel ends before it starts");
    for (uint32_t i = 0; i < trace.host_count; i++)
        require_invariant(trace.host[i].duration_ns >= 0, "that no call ends before it starts");
    return trace.read.events;
}

/* How much of a damaged packed stream comes out before the damage, its library decides by the room
 * that it is given. */
static bool is_packed(const uint8_t *data, size_t size)
{
    SCOPED(input_stream) input = {0};

    input_stream_open_memory(&input, data, size);
    return input.compression != COMPRESSION_NONE;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int64_t events = count_events(data, size, 0);

    (void)perfetto_reader.recognises((const char *)data, size);
    require_invariant(count_events(data, size, 7) == events || is_packed(data, size),
                      "that the size of windows does not matter");
    return 0;
}
