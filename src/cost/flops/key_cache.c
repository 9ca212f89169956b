/* Bytes of writing new keys and values into the cache of an inference server: they are read, and
 * written in the type of the cache, and the number of each token's place is read. Nothing is
 * computed. Source: argument lists from the schemas that vLLM, SGLang and aiter register. */
#include "cost/flops/flop_formula.h"
#include "cost/flops/saturating.h"

/* (keys [T, ..], values [T, ..], caches, places [T], ...): numbers: index of a cache, of the
 * places. The cache is written where the places say, not read: its own size says nothing of the
 * bytes. */
static bool count_cached(struct op_cost *cost, const struct op_call *call,
                         const struct op_rule *rule)
{
    uint32_t cache = (uint32_t)rule->numbers[0];
    int64_t elements = plus(elements_of(call, 0), elements_of(call, 1));
    int64_t read = bytes_moved(call, (struct byte_range){0, 2, cache, elements});
    int64_t places = bytes_of(call, (uint32_t)rule->numbers[1]);

    if (elements_of(call, 0) < 0 || elements_of(call, 1) < 0 || !is_tensor(call, cache))
        return not_counted(cost, why_odd_shapes);
    return plain_cost(cost, COST_MOVEMENT, 0, read < 0 || places < 0 ? -1 : plus(read, places));
}

static const struct op_rule rules[] = {
    {"serving::reshape_and_cache", count_cached, {2, 4}},
    {"serving::reshape_and_cache_flash", count_cached, {2, 4}},
    {"serving::store_cache", count_cached, {2, 4}},
    {"serving::concat_and_cache_mla", count_cached, {2, 3}},
};

const struct flop_formula key_cache_formula = {
    .name = "key_cache",
    .summary = "new keys and values into the cache: bytes",
    RULES(rules),
};
