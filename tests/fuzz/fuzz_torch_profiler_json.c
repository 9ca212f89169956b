/* Feeds any bytes to the reader of torch-profiler traces, in one window and in many small ones:
 * nothing may crash or hang, and both must find the same. */
#include "base/core/invariant.h"
#include "base/io/input_stream.h"
#include "readers/reader.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

extern const struct reader torch_profiler_json_reader;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool read_all(struct trace *trace, const uint8_t *data, size_t size, size_t piece)
{
    const struct read_options options = {.threads = 1};
    SCOPED(input_stream) input = {0};
    struct error error = {0};

    input_stream_open_memory(&input, data, size);
    if (piece)
        input_stream_set_piece(&input, piece);
    if (torch_profiler_json_reader.read(trace, &input, &options, &error))
        return true;
    require_invariant(error.class == ERROR_INPUT && error.message[0], "that errors are told");
    return false;
}

static void compare(const struct trace *a, const struct trace *b)
{
    require_invariant(a->host_count == b->host_count && a->device_count == b->device_count &&
                          a->device_note_count == b->device_note_count &&
                          a->read.events == b->read.events &&
                          a->read.damaged_events == b->read.damaged_events &&
                          a->read.is_truncated == b->read.is_truncated,
                      "that the size of the windows does not matter");
    for (uint32_t i = 0; i < a->host_count; i++)
        require_invariant(
            a->host[i].start_ns == b->host[i].start_ns &&
                a->host[i].duration_ns == b->host[i].duration_ns &&
                strcmp(trace_text(a, a->host[i].name), trace_text(b, b->host[i].name)) == 0,
            "that the size of the windows does not matter to any event");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    SCOPED(trace) whole = {0};
    SCOPED(trace) pieces = {0};
    bool is_read = read_all(&whole, data, size, 0);

    require_invariant(read_all(&pieces, data, size, 1 + size % 61) == is_read,
                      "that the size of the windows does not matter to what is a trace");
    if (is_read)
        compare(&whole, &pieces);
    return 0;
}
