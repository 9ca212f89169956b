/* Any bytes as the recorder's capture.json: what it says of modules and steps is found again. */
#include "base/core/attributes.h"
#include "base/core/invariant.h"
#include "cost/modules/model_description.h"

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    SCOPED(model_description) description = {0};
    struct error error = {0};

    if (!model_description_parse(&description, "capture.json", (const char *)data, size, &error)) {
        require_invariant(error.message[0] != '\0', "that errors are told");
        return 0;
    }
    for (uint32_t i = 0; i < description.count; i++)
        require_invariant(describe_module(&description, description.modules[i].name) != NULL,
                          "that a described module is found by its name");
    for (uint32_t i = 0; i < description.step_count; i++)
        require_invariant(describe_step(&description, description.steps[i].number) != NULL,
                          "that a described step is found by its number");
    return 0;
}
