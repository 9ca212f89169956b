/* Any bytes as a database of Ascend's recorders: its ranks are counted, and each is read. */
#include "fuzz_parts.h"

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_parts(data, size);
    return 0;
}
