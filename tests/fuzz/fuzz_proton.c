/* Any bytes as a profile of Proton: whatever is read, its sums can be, and each scope stands before
 * what is in it. */
#include "base/core/attributes.h"
#include "base/core/invariant.h"
#include "fuzz_file.h"
#include "readers/proton/read_proton.h"

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_file file = fuzz_file_of(data, size);
    struct call_sums sums = {0};
    struct error error = {0};

    (void)looks_like_proton((const char *)data, size);
    if (!read_proton(&sums, file.path, size % 64 + 1, &error))
        require_invariant(error.class != ERROR_NONE && error.message[0], "that errors are told");
    for (size_t i = 0; i < sums.count; i++) {
        require_invariant(sums.sums[i].time_ns >= 0 && call_sum_flops(&sums.sums[i]) >= 0,
                          "that no sum is negative");
        require_invariant(i == 0 || sums.sums[i].parent < i,
                          "that scopes stand before their parts");
    }
    call_sums_clear(&sums);
    fuzz_file_close(&file);
    return 0;
}
