/* Any bytes as an XSpace: whatever is read, its events have times that can be. */
#include "base/core/attributes.h"
#include "base/core/invariant.h"
#include "base/io/input_stream.h"
#include "readers/reader.h"

#include <stddef.h>
#include <stdint.h>

extern const struct reader xplane_reader;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct read_options options = {
        .threads = 1, .part = size & 1, .skips_details = size >> 1 & 1};
    SCOPED(trace) trace = {0};
    SCOPED(input_stream) input = {0};
    struct error error = {0};

    (void)xplane_reader.recognises((const char *)data, size);
    input_stream_open_memory(&input, data, size);
    if (!xplane_reader.read(&trace, &input, &options, &error)) {
        require_invariant(error.class != ERROR_NONE && error.message[0], "that errors are told");
        return 0;
    }
    for (uint32_t i = 0; i < trace.device_count; i++)
        require_invariant(trace.device[i].duration_ns >= 0, "that no kernel ends before it starts");
    for (uint32_t i = 0; i < trace.host_count; i++)
        require_invariant(trace.host[i].duration_ns >= 0, "that no call ends before it starts");
    return 0;
}
