/* Reads a plan back that `flopledger plan --json` wrote. */
#include "base/io/input_stream.h"
#include "base/io/whole_file.h"
#include "base/json/json_tree.h"
#include "cost/plan/planned_step.h"

#include <stdlib.h>
#include <string.h>

/* The sections of a report stand at its beginning: the first bytes tell, however long it is. */
bool is_plan_file(const char *path)
{
    static const char schema[] = "\"flopledger.report\"";
    static const char section[] = "\"plan";
    SCOPED(input_stream) input = {0};
    struct input_window head;

    if (strcmp(path, "-") == 0 || !input_stream_open(&input, path, false, NULL))
        return false;
    head = input_stream_peek(&input);
    return memmem(head.text, head.length, schema, strlen(schema)) &&
           memmem(head.text, head.length, section, strlen(section));
}

static double read_plan_number(const struct json_node *numbers, const char *key)
{
    const struct json_node *value = json_member(json_member(numbers, key), "value");

    return value && value->kind == JSON_NUMBER ? strtod(value->text, NULL) : 0.0;
}

/* Accounts of a later version that are not known here are left out of the parts. */
static void read_plan_row(struct planned_step *plan, const struct json_node *row)
{
    const char *key = json_text_of(row, "account_key", "");
    int64_t ns = json_integer_of(row, "time", 0);

    for (size_t i = 0; i < sizeof planned_part_keys / sizeof planned_part_keys[0]; i++)
        if (strcmp(planned_part_keys[i].key, key) == 0)
            plan->parts[planned_part_keys[i].part] += (double)ns;
    plan->is_from_run = plan->is_from_run || strcmp(key, "matrix") == 0;
}

/* Sizes were texts in plans of before these keys: 0 then, as where a plan has no layout. */
static int64_t read_plan_size(const struct json_node *numbers, const char *key)
{
    return json_integer_of(json_member(numbers, key), "value", 0);
}

/* A plan from a recording has none of these: all stay 0. */
static void read_plan_layout(struct planned_step *plan, const struct json_node *numbers)
{
    plan->tensor = read_plan_size(numbers, "tp");
    plan->stages = read_plan_size(numbers, "pp");
    plan->ranks_of_stage =
        plan->tensor * read_plan_size(numbers, "cp") * read_plan_size(numbers, "dp");
    plan->hidden = read_plan_size(numbers, "embedding_size");
    plan->layers = read_plan_size(numbers, "layers");
    plan->context = read_plan_size(numbers, "cp");
    plan->replicas = read_plan_size(numbers, "dp");
    plan->micro = read_plan_size(numbers, "micro_batch");
    plan->sequence = read_plan_size(numbers, "seq");
    /* A rank sees the tokens that all devices of its tensor group and all stages work on. */
    if (plan->tensor > 0)
        plan->tokens *= (double)(plan->tensor * plan->stages);
}

/* A run has each FLOP at the peak of its own format, and of recomputation what its FLOPs take at
 * the peak: what a plan has beyond is below the peak, or streams. A recorded kernel of attention
 * has FLOPs of scores again in its backward, which count as recomputation there; the plan has them
 * in what that kernel is below the peak. What a step does besides the optimizer's kernels is no
 * kernel: a device waits for it. */
static void read_plan_as_runs_have_it(struct planned_step *plan, const struct json_node *numbers)
{
    double wider = read_plan_number(numbers, "useful_in_16_bits");
    double at_peak = read_plan_number(numbers, "recompute_at_peak");
    double streamed = read_plan_number(numbers, "recompute_memory_bound");
    double whole = plan->parts[PLANNED_USEFUL] + plan->parts[PLANNED_BELOW_PEAK] +
                   plan->parts[PLANNED_RECOMPUTED] - streamed;

    plan->step_end_ns = read_plan_number(numbers, "step_end");
    plan->parts[PLANNED_OPTIMIZER] -= plan->step_end_ns;
    plan->parts[PLANNED_HOST] += plan->step_end_ns;
    plan->parts[PLANNED_USEFUL] += wider;
    plan->parts[PLANNED_RECOMPUTED] = at_peak;
    plan->parts[PLANNED_BELOW_PEAK] = whole - at_peak - plan->parts[PLANNED_USEFUL];
    plan->parts[PLANNED_OTHER] += streamed;
}

/* A plan is this program's own page of JSON: its keys are promised by the schema. */
static bool read_plan_tree(struct planned_step *plan, const struct json_node *root,
                           const char *path, struct error *error)
{
    const struct json_node *sections = json_member(json_items_of(root, "ranks"), "sections");
    const struct json_node *numbers = json_member(json_member(sections, "plan"), "numbers");
    const struct json_node *table =
        json_member(json_member(json_member(sections, "plan_ledger"), "tables"), "accounts");
    const char *device = json_text_of(json_member(numbers, "device"), "value", "");

    plan->step_ns = read_plan_number(numbers, "step_time");
    plan->tokens = read_plan_number(numbers, "tokens_per_second_per_device") * plan->step_ns / 1e9;
    plan->flops = read_plan_number(numbers, "matrix_flops");
    plan->waited_ns = read_plan_number(numbers, "recorded_core_wait");
    read_plan_layout(plan, numbers);
    strncpy(plan->device, device, sizeof plan->device - 1);
    for (const struct json_node *row = json_items_of(table, "rows"); row; row = row->next)
        read_plan_row(plan, row);
    if (!plan->is_from_run)
        read_plan_as_runs_have_it(plan, numbers);
    if (plan->step_ns <= 0.0 || !json_items_of(table, "rows"))
        return error_set(error, ERROR_INPUT,
                         "'%s' has no planned step with its ledger: write one with 'flopledger "
                         "plan --json'",
                         path);
    return true;
}

bool read_plan(struct planned_step *plan, const char *path, struct error *error)
{
    SCOPED(arena) arena = {0};
    size_t length;
    bool is_missing;
    char *text = read_whole_file(path, &length, &is_missing, error);
    const struct json_node *root;
    bool is_read;

    *plan = (struct planned_step){.step_ns = 0.0};
    if (!text)
        return false;
    root = json_tree_parse(&arena, text, length, error);
    is_read = root ? read_plan_tree(plan, root, path, error) : error_in(error, "'%s'", path);
    free(text);
    return is_read;
}
