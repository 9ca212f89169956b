/* Feeds any bytes to the readers of JSON of ROCm's recorders, in one window and in many small ones:
 * nothing may crash or hang, and both must find the same. */
#include "base/core/invariant.h"
#include "base/io/input_stream.h"
#include "readers/reader.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

extern const struct reader rocprof_json_reader;
extern const struct reader rpd_json_reader;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool read_pieces(struct trace *trace, const uint8_t *data, size_t size, size_t piece)
{
    const struct read_options options = {.threads = 1, .part = (uint32_t)(size % 2)};
    SCOPED(input_stream) input = {0};
    const struct reader *reader = rpd_json_reader.recognises((const char *)data, size)
                                      ? &rpd_json_reader
                                      : &rocprof_json_reader;
    struct error error = {0};

    input_stream_open_memory(&input, data, size);
    if (piece)
        input_stream_set_piece(&input, piece);
    if (reader->read(trace, &input, &options, &error))
        return true;
    require_invariant(error.message[0] != '\0', "that errors are told");
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    SCOPED(trace) whole = {0};
    SCOPED(trace) pieces = {0};
    bool is_read = read_pieces(&whole, data, size, 0);

    require_invariant(read_pieces(&pieces, data, size, 1 + size % 61) == is_read,
                      "that the size of the windows does not matter to what is a recording");
    require_invariant(whole.host_count == pieces.host_count &&
                          whole.device_count == pieces.device_count &&
                          whole.read.events == pieces.read.events &&
                          whole.read.damaged_events == pieces.read.damaged_events &&
                          whole.read.is_truncated == pieces.read.is_truncated,
                      "that the size of the windows does not matter");
    for (uint32_t i = 0; i < whole.device_count; i++)
        require_invariant(whole.device[i].duration_ns >= 0 &&
                              whole.device[i].start_ns == pieces.device[i].start_ns &&
                              strcmp(trace_text(&whole, whole.device[i].name),
                                     trace_text(&pieces, pieces.device[i].name)) == 0,
                          "that the size of the windows does not matter to any kernel");
    return 0;
}
