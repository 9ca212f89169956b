/* The table of formulas, and the look-up in it. */
#include "cost/flops/count_flops.h"

#include "base/text/prefix.h"
#include "cost/flops/saturating.h"
#include "cost/flops/user_formula.h"
#include "ledger/kernel_class.h"

#include <string.h>

#define FLOP_FORMULA(name) extern const struct flop_formula name##_formula;
#include "cost/flops/list.def"
#undef FLOP_FORMULA

enum { SERVING_NAME_MAX = 128 };

static const struct flop_formula *const formulas[] = {
#define FLOP_FORMULA(name) &name##_formula,
#include "cost/flops/list.def"
#undef FLOP_FORMULA
    NULL,
};

const struct flop_formula *const *all_flop_formulas(void)
{
    return formulas;
}

/* A walk over some thousand rules: asked once per different call, as counted_ops.c keeps the
 * answers. */
static const struct op_rule *count_flops_find_rule(const char *op, size_t length)
{
    for (const struct flop_formula *const *formula = formulas; *formula; formula++)
        for (size_t i = 0; i < (*formula)->rule_count; i++) {
            const struct op_rule *rule = &(*formula)->rules[i];

            if (strncmp(rule->op, op, length) == 0 && rule->op[length] == '\0')
                return rule;
        }
    return NULL;
}

/* The name without the namespace of a library for inference; NULL where it is in none. Many are
 * forks of one another and register the same op. */
static const char *name_in_serving_library(const char *op)
{
    static const char *const libraries[] = {
        "_C::",         "_C_cache_ops::", "_moe_C::", "_rocm_C::",         "vllm::",
        "sgl_kernel::", "sglang::",       "aiter::",  "sglang_profiler::", NULL};

    for (const char *const *library = libraries; *library; library++)
        if (has_prefix(op, *library))
            return op + strlen(*library);
    return NULL;
}

size_t length_without_number(const char *name)
{
    size_t length = strlen(name);
    size_t end = length;

    while (end > 0 && name[end - 1] >= '0' && name[end - 1] <= '9')
        end--;
    return end > 1 && end < length && name[end - 1] == '_' ? end - 1 : length;
}

/* Servers register the same operations under names of their own; those with a number behind
 * the name (one of each layer) are one. */
static const struct op_rule *find_serving_rule(const char *op)
{
    static const char family[] = "serving::";
    const char *name = name_in_serving_library(op);
    char known[SERVING_NAME_MAX];
    size_t length;

    if (!name)
        return NULL;
    length = has_prefix(op, "sglang_profiler::") ? length_without_number(name) : strlen(name);
    if (length + sizeof family > sizeof known)
        return NULL;
    memcpy(known, family, sizeof family - 1);
    memcpy(known + sizeof family - 1, name, length);
    return count_flops_find_rule(known, sizeof family - 1 + length);
}

#define BACKWARD "_backward"

/* What torch.compile names its kernels by begins with their kind: "triton_poi_fused_add_0". */
static const struct op_rule *find_generated_rule(const char *op)
{
    static const char pattern[] = "triton_???_*";
    static const char flex[] = "triton_tem_flex_attention" BACKWARD;
    char known[sizeof pattern];
    size_t length = sizeof pattern - sizeof "*";

    if (strlen(op) < length || op[length - 1] != '_')
        return NULL;
    if (has_prefix(op, "triton_tem_") && strstr(op, "flex_attention"))
        return count_flops_find_rule(flex, strstr(op, "flex_attention" BACKWARD)
                                               ? sizeof flex - 1
                                               : sizeof flex - sizeof BACKWARD);
    memcpy(known, op, length);
    known[length] = '*';
    return count_flops_find_rule(known, length + 1);
}

/* aten::addmm for "addmm_out", as AOTInductor's code calls it. */
static const struct op_rule *find_shim_rule(const char *name)
{
    static const char out[] = "_out";
    size_t length = strlen(name);
    char known[128] = "aten::";

    if (length >= sizeof known - sizeof "aten::")
        return NULL;
    if (length > sizeof out - 1 && strcmp(name + length - (sizeof out - 1), out) == 0)
        length -= sizeof out - 1;
    strncat(known, name, length);
    return count_flops_find_rule(known, strlen(known));
}

/* From the exact name to looser ones: in-place twins ("add_"), libraries that fork one
 * another, what torch.compile generates, and Triton kernels with a number behind their name. */
const struct op_rule *find_op_rule(const char *op)
{
    size_t length = strlen(op);
    const struct op_rule *rule = count_flops_find_rule(op, length);

    if (!rule && length > 1 && op[length - 1] == '_')
        rule = count_flops_find_rule(op, length - 1);
    if (!rule)
        rule = find_serving_rule(op);
    if (!rule && has_prefix(op, "triton_"))
        rule = find_generated_rule(op);
    if (!rule && name_behind_shim(op))
        return find_shim_rule(name_behind_shim(op));
    if (!rule && !strstr(op, "::")) /* a Triton kernel of the program's own, in compiled code */
        rule = count_flops_find_rule(op, length_without_number(op));
    return rule;
}

static bool count_flops_is_too_large(const struct op_cost *cost)
{
    return cost->flops == TOO_LARGE || cost->macs == TOO_LARGE;
}

static bool has_complex_numbers(const struct op_call *call)
{
    for (uint32_t i = 0; i < call->argument_count; i++)
        if (call->arguments[i].kind != ARGUMENT_OTHER && call->arguments[i].is_complex)
            return true;
    return false;
}

/* A multiply-add of complex numbers is four of real ones: 8 FLOPs. */
static void count_as_complex(struct op_cost *cost)
{
    cost->flops = times(4, cost->flops);
    cost->model_flops = times(4, cost->model_flops);
    cost->masked_flops = times(4, cost->masked_flops);
    cost->macs = times(4, cost->macs);
}

/* A formula that the user gave goes before the table. Complex matmuls are counted as real ones
 * by the formulas and multiplied here, in one place. */
struct op_cost count_flops(const struct op_call *call, const struct user_formulas *user)
{
    struct op_cost cost = {0};
    const struct user_formula *own = user_formulas_find(user, call->name);
    const struct op_rule *rule = own ? NULL : find_op_rule(call->name);

    if (own)
        (void)user_formula_count(&cost, call, own);
    else if (rule)
        (void)rule->count(&cost, call, rule);
    else
        (void)not_counted(&cost, why_no_formula);
    if (rule && cost.kind == COST_MATRIX && has_complex_numbers(call))
        count_as_complex(&cost);
    if (cost.kind != COST_NOT_COUNTED && count_flops_is_too_large(&cost))
        (void)not_counted(&cost, why_too_large);
    return cost;
}

struct op_cost count_flops_of_text(struct op_call *call, const struct op_call_text *text,
                                   const struct user_formulas *user)
{
    const struct op_rule *rule;
    struct op_cost cost = {0};

    if (op_call_parse(call, text))
        return count_flops(call, user);
    /* views and allocations cost nothing, whatever their shapes */
    rule = find_op_rule(text->name);
    if (rule && rule->count(&cost, call, rule) && cost.kind == COST_FREE)
        return cost;
    (void)not_counted(&cost, rule || user_formulas_find(user, text->name) ? why_no_shapes
                                                                          : why_no_formula);
    return cost;
}
