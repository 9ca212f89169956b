/* Any bytes as a database of Ascend's recorders. */
#include "base/core/attributes.h"
#include "base/core/invariant.h"
#include "fuzz_file.h"
#include "readers/open_trace.h"

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct read_options options = {.threads = 1};
    struct fuzz_file file = fuzz_file_of(data, size);
    SCOPED(trace) trace = {0};
    struct error error = {0};

    if (!open_trace(&trace, file.path, &options, &error))
        require_invariant(error.message[0] != '\0', "that errors are told");
    for (uint32_t i = 0; i < trace.device_count; i++)
        require_invariant(trace.device[i].duration_ns >= 0, "that no task ends before it starts");
    fuzz_file_close(&file);
    return 0;
}
