/* Any bytes as a database of Nsight Systems: its ranks are counted, and each is read. */
#include "base/core/attributes.h"
#include "base/core/invariant.h"
#include "fuzz_file.h"
#include "readers/open_trace.h"

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_part(const struct trace_source *source, uint32_t part)
{
    const struct read_options options = {.threads = 1, .part = part};
    SCOPED(trace) trace = {0};
    struct error error = {0};

    if (!open_trace_part(&trace, source, &options, &error)) {
        require_invariant(error.message[0] != '\0', "that errors are told");
        return;
    }
    for (uint32_t i = 0; i < trace.device_count; i++)
        require_invariant(trace.device[i].duration_ns >= 0, "that no kernel ends before it starts");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_file file = fuzz_file_of(data, size);
    SCOPED(trace_source) source = {0};
    struct error error = {0};

    if (trace_source_open(&source, file.path, &error))
        for (uint32_t part = 0; part < source.part_count && part < 4; part++)
            read_part(&source, part);
    fuzz_file_close(&file);
    return 0;
}
