/* Feeds any bytes to the reader of config.json: nothing may crash, overflow or hang, and what it
 * takes has parameters and costs that can be printed. */
#include "base/core/arena.h"
#include "base/core/invariant.h"
#include "cost/architectures/architecture_cost.h"
#include "cost/architectures/convention.h"
#include "cost/architectures/model_memory.h"
#include "cost/architectures/read_architecture.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void count(const struct architecture *architecture, int64_t sequence)
{
    struct convention_setting setting = {.sequence = sequence, .recompute = RECOMPUTE_FULL};
    struct architecture_cost cost = architecture_cost(architecture, sequence);
    struct model_layout layout = {1, 1, 1, 1, 3};
    struct parameter_bytes one = {1, 1, 1};
    size_t convention_count;
    const struct convention *conventions = all_conventions(&convention_count);

    require_invariant(cost.total.parameters > 0, "that a model has parameters");
    require_invariant(cost.total.active_parameters <= cost.total.parameters,
                      "that a token meets no more than there are");
    require_invariant(cost.total.forward_flops <= cost.total.unmasked_flops * (1 + 1e-12),
                      "that a mask takes away");
    require_invariant(model_memory(architecture, &layout, one).parameters == cost.total.parameters,
                      "that one device holds all");
    for (size_t i = 0; i < convention_count; i++)
        require_invariant(isfinite(conventions[i].count(architecture, setting)),
                          "that every convention is a number");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct architecture architecture;
    struct arena arena = {0};
    struct error error = {0};
    const struct json_node *root = json_tree_parse(&arena, (const char *)data, size, &error);
    bool is_read = root && architecture_from_config(&architecture, root, "config", &error);

    arena_clear(&arena);
    if (is_read) {
        count(&architecture, 1);
        count(&architecture, INT64_C(1) << 30);
    } else {
        require_invariant(error.class == ERROR_INPUT && error.message[0], "that errors are told");
    }
    return 0;
}
