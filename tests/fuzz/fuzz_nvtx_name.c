/* Random bytes for what reads the names of NVTX ranges: whatever they are, what comes back lies in
 * the text. */
#include "base/core/invariant.h"
#include "readers/nvtx_name.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = require_memory(malloc(size + 1));
    struct nvtx_name name;

    memcpy(text, data, size);
    text[size] = '\0';
    name = nvtx_name_parse(text);
    require_invariant(name.text == text && name.length <= strlen(text),
                      "that a name is the beginning of its text");
    require_invariant(!name.sizes || (name.sizes >= text && name.sizes_length > 0 &&
                                      name.sizes + name.sizes_length <= text + strlen(text)),
                      "that shapes lie in the text");
    require_invariant(name.sequence_number >= -1 && name.op_id >= -1, "that ids are not negative");
    free(text);
    return 0;
}
