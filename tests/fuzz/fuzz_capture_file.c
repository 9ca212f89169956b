/* Any bytes as the recorder's capture.json, compiled.json and the log of TORCH_TRACE: what they say
 * of modules, steps and graphs is found again. */
#include "base/core/attributes.h"
#include "base/core/invariant.h"
#include "cost/modules/compiled_code.h"
#include "cost/modules/model_description.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void find_graphs_again(struct compiled_code *code)
{
    for (uint32_t i = 0; i < code->count; i++)
        require_invariant(
            compiled_code_find(code, code->graphs[i].key, strlen(code->graphs[i].key)) != NULL,
            "that a described graph is found by its key");
    compiled_code_clear(code);
}

static void read_as_compiled_code(const char *text, size_t size)
{
    SCOPED(arena) arena = {0};
    struct compiled_code code = {0};
    struct error error = {0};

    require_invariant(compiled_code_parse(&code, &arena, text, size, &error) ||
                          error.message[0] != '\0',
                      "that errors are told");
    find_graphs_again(&code);
    compiled_code_parse_log(&code, &arena, text, size);
    find_graphs_again(&code);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    SCOPED(model_description) description = {0};
    struct error error = {0};

    read_as_compiled_code((const char *)data, size);
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
