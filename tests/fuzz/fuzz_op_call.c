/* Shapes, types, values and formulas may hold anything: four lines (op, shapes, types, values), and
 * the rest a file of formulas. */
#include "base/core/attributes.h"
#include "cost/flops/count_flops.h"
#include "cost/flops/user_formula.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Cuts the next line off. */
static const char *parse_line(char **rest)
{
    char *line = *rest;
    size_t length = strcspn(line, "\n");

    *rest = line[length] ? line + length + 1 : line + length;
    line[length] = '\0';
    return line;
}

static void count_with_every_rule(struct op_call *call)
{
    for (const struct flop_formula *const *formula = all_flop_formulas(); *formula; formula++)
        for (size_t i = 0; i < (*formula)->rule_count; i++) {
            struct op_cost cost;

            call->name = (*formula)->rules[i].op;
            cost = count_flops(call, NULL);
            if (cost.flops < 0 || cost.macs < 0 || cost.model_flops < 0 || cost.bytes < -1 ||
                cost.masked_flops < 0 || cost.masked_flops > cost.flops ||
                (cost.kind == COST_NOT_COUNTED) != (cost.why != NULL))
                abort();
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    SCOPED(user_formulas) formulas = {0};
    struct error error = {0};
    struct op_call call = {0};
    struct op_call_text text = {0};
    char *copy = malloc(size + 1);
    char *rest = copy;

    if (!copy)
        return 0;
    memcpy(copy, data, size);
    copy[size] = '\0';
    text.name = parse_line(&rest);
    text.shapes = parse_line(&rest);
    text.types = parse_line(&rest);
    text.values = parse_line(&rest);
    text.result = text.shapes; /* of the same op, the first: as good as any */
    if (!user_formulas_add(&formulas, "formulas", rest, &error) && !error.message[0])
        abort();
    (void)count_flops_of_text(&call, &text, &formulas);
    if (op_call_parse(&call, &text))
        count_with_every_rule(&call);
    op_call_clear(&call);
    free(copy);
    return 0;
}
