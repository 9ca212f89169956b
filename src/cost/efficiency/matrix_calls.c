/* Joins ops and their kernels, and prices what the products compute. */
#include "cost/efficiency/matrix_calls.h"

#include "base/core/array.h"
#include "base/core/invariant.h"
#include "base/core/large_array.h"
#include "cost/flops/saturating.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct unit_rule {
    const char *pattern;
    enum matrix_unit_use use;
};

static const struct unit_rule unit_rules[] = {
#define MATRIX_UNIT(use_, pattern_) {.pattern = (pattern_), .use = MATRIX_UNIT_##use_},
#include "cost/efficiency/matrix_unit_list.def"
#undef MATRIX_UNIT
};

static const struct {
    const char *word;
    int capability;
} generations[] = {
    {"volta_", 70}, {"turing_", 75}, {"ampere_", 80}, {"hopper_", 90}, {"blackwell_", 100},
};

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

enum matrix_unit_use matrix_unit_of_name(const char *kernel_name)
{
    for (size_t i = 0; i < COUNT_OF(unit_rules); i++)
        if (strstr(kernel_name, unit_rules[i].pattern))
            return unit_rules[i].use;
    return MATRIX_UNIT_NOT_TOLD;
}

/* The number behind `prefix`, where it is followed by an underscore: "sm90_", "cutlass_80_". */
static int matrix_unit_number_behind(const char *name, const char *prefix)
{
    const char *at = strstr(name, prefix);
    char *end;
    long number;

    if (!at || !isdigit((unsigned char)at[strlen(prefix)]))
        return 0;
    number = strtol(at + strlen(prefix), &end, 10);
    return *end == '_' && number >= 50 && number < 200 ? (int)number : 0;
}

/* The most exact word first: the number behind "cutlass_", then that behind "sm", then words
 * that stand for a generation. */
int instruction_generation(const char *kernel_name)
{
    int number = matrix_unit_number_behind(kernel_name, "cutlass_");

    if (number == 0)
        number = matrix_unit_number_behind(kernel_name, "sm");
    for (size_t i = 0; number == 0 && i < COUNT_OF(generations); i++)
        if (strstr(kernel_name, generations[i].word))
            number = generations[i].capability;
    return number;
}

/* ---- precision of an op ---------------------------------------------------------------------- */

/* Names of number formats as PyTorch's profiler records them. */

struct type_name {
    const char *start; /* of the recorded type */
    enum peak_type type;
};

/* The profiler writes what the compiler calls the type. */
static const struct type_name recorded_types[] = {
    {"c10::BFloat16", PEAK_BF16}, {"c10::Half", PEAK_FP16},     {"c10::Float8_", PEAK_FP8},
    {"c10::Float4_", PEAK_FP4},   {"float", PEAK_FP32},         {"double", PEAK_FP64},
    {"signed char", PEAK_INT8},   {"unsigned char", PEAK_INT8}, {"c10::qint8", PEAK_INT8},
};

/* By the begin of the name: formats of 8 and 4 bits have their variant behind it
 * (c10::Float8_e4m3fn), and all variants have one peak. */
static enum peak_type type_of_entry(const char *entry, size_t length)
{
    for (size_t i = 0; i < COUNT_OF(recorded_types); i++) {
        size_t start = strlen(recorded_types[i].start);

        if (length >= start && strncmp(entry, recorded_types[i].start, start) == 0)
            return recorded_types[i].type;
    }
    return PEAK_TYPE_COUNT;
}

/* Complex numbers multiply at a rate that no table gives. */
static bool is_complex(const char *entry, size_t length)
{
    static const char complex[] = "c10::complex";

    return length >= sizeof complex - 1 && strncmp(entry, complex, sizeof complex - 1) == 0;
}

/* The quote that opens entry `number`, or NULL. */
static const char *open_entry(const char *types, int number)
{
    const char *open = types ? strchr(types, '"') : NULL;

    for (; open && number > 0; number--) {
        open = strchr(open + 1, '"');
        open = open ? strchr(open + 1, '"') : NULL;
    }
    return open;
}

/* The first tensor among the operands whose type is a number format: scalars and lists in
 * between have other types. */
enum peak_type precision_of_types(const char *types, int first)
{
    const char *open = open_entry(types, first);

    while (open) {
        const char *close = strchr(open + 1, '"');
        enum peak_type type;

        if (!close || is_complex(open + 1, (size_t)(close - open - 1)))
            break;
        type = type_of_entry(open + 1, (size_t)(close - open - 1));
        if (type != PEAK_TYPE_COUNT)
            return type;
        open = strchr(close + 1, '"');
    }
    return PEAK_TYPE_COUNT;
}

/* ---- matrix calls ---------------------------------------------------------------------------- */

/* So far above a product stands the op that masks it. */
enum { MASK_DEPTH_MAX = 12, UNIT_NOT_LOOKED_UP = UINT8_MAX };

static const struct product_cost no_cost;

/* Everything at hand while calls are found. */
struct call_search {
    struct matrix_calls *calls;
    const struct trace *trace;
    const struct ledger *ledger;
    const struct module_costs *costs;
    const struct peak_choice *peaks;
    uint32_t *owners;  /* [host_count]: the counted op that an event is, or lies in; or NO_EVENT */
    uint32_t *call_of; /* [host_count]: index in calls, or NO_CALL */
    uint8_t *units;    /* by name: enum matrix_unit_use */
};

static const struct op_cost *matrix_calls_cost_of(const struct module_costs *costs, uint32_t op)
{
    uint32_t cost = costs->counted.cost_of[op];

    return cost == NO_EVENT ? NULL : &costs->counted.costs[cost];
}

/* Of an op that is counted: it has one. */
static const struct op_cost *counted_cost_of(const struct module_costs *costs, uint32_t op)
{
    const struct op_cost *cost = matrix_calls_cost_of(costs, op);

    require_invariant(cost != NULL, "a counted operator has a cost");
    return cost;
}

/* Host events come with the outer before the inner ones, so an owner is known before what lies
 * in it: one pass. */
static void find_owners(struct call_search *search)
{
    const struct module_costs *costs = search->costs;

    search->owners =
        large_array_new((search->trace->host_count + (size_t)1) * sizeof *search->owners);
    for (uint32_t i = 0; i < search->trace->host_count; i++) {
        uint32_t parent = costs->contexts.parents[i];
        uint8_t state = costs->counted.states[i];

        search->owners[i] = NO_EVENT;
        if (state == OP_COUNTED || state == OP_DOUBTFUL)
            search->owners[i] = i; /* a doubtful op that has kernels was carried out */
        else if (state == OP_INSIDE && parent != NO_EVENT)
            search->owners[i] = search->owners[parent];
    }
}

/* A call is made with the first kernel of its operator; most operators have none on the
 * device. */
static uint32_t call_of_op(struct call_search *search, uint32_t op)
{
    struct matrix_calls *calls = search->calls;

    if (search->call_of[op] != NO_CALL)
        return search->call_of[op];
    LARGE_ARRAY_RESERVE(calls->calls, calls->count + (size_t)1);
    calls->calls[calls->count] =
        (struct matrix_call){.op = op,
                             .matmul_cost = &no_cost,
                             .longest = NO_EVENT,
                             .is_matrix = counted_cost_of(search->costs, op)->kind == COST_MATRIX,
                             .precision = PEAK_TYPE_COUNT};
    return search->call_of[op] = calls->count++;
}

static enum matrix_unit_use unit_of(struct call_search *search, uint32_t name)
{
    if (search->units[name] == UNIT_NOT_LOOKED_UP)
        search->units[name] = (uint8_t)matrix_unit_of_name(trace_text(search->trace, name));
    return (enum matrix_unit_use)search->units[name];
}

/* Whether a call runs on the matrix unit is decided by the time of its kernels for it against
 * that without, as a split-k reduction runs beside. */
static void add_to_call(struct call_search *search, const struct work_piece *piece)
{
    struct matrix_call *call = &search->calls->calls[piece->call];
    const struct event *device = search->trace->device;
    int64_t length_ns = event_of_piece(search->calls, piece)->duration_ns;

    call->kernel_ns += length_ns;
    if (piece->unit == MATRIX_UNIT_USED)
        call->unit_lead_ns += length_ns;
    if (piece->unit == MATRIX_UNIT_NOT_USED)
        call->unit_lead_ns -= length_ns;
    if (call->longest == NO_EVENT || device[call->longest].duration_ns < length_ns)
        call->longest = piece->event;
}

/* A counted op of another kind (softmax) owns all of its kernels; a matmul its matrix kernels
 * alone. */
static void matrix_calls_add_kernel(struct call_search *search, uint32_t index)
{
    const struct event *event = &search->trace->device[index];
    uint32_t op = trace_operator_of(search->trace, index);
    uint32_t owner = op == NO_EVENT ? NO_EVENT : search->owners[op];
    struct work_piece piece = {.event = index,
                               .call = NO_CALL,
                               .class = search->ledger->classes[index],
                               .unit = (uint8_t)unit_of(search, event->name)};

    /* a copy that a product makes for itself is none of its FLOPs */
    if (owner != NO_EVENT && (kernel_class_is_matrix((enum kernel_class)piece.class) ||
                              counted_cost_of(search->costs, owner)->kind != COST_MATRIX))
        piece.call = call_of_op(search, owner);
    if (piece.call != NO_CALL)
        add_to_call(search, &piece);
    search->calls->pieces[search->calls->piece_count++] = piece;
}

/* Only the ledger's device: a process may drive several, and time of another one is in another
 * ledger. */
static void matrix_calls_add_kernels(struct call_search *search)
{
    const struct trace *trace = search->trace;

    for (uint32_t i = 0; i < trace->device_count; i++) {
        const struct event *event = &trace->device[i];

        if (event->kind == EVENT_KERNEL &&
            trace->tracks[event->track].device == search->ledger->device &&
            kernel_class_is_compute((enum kernel_class)search->ledger->classes[i]))
            matrix_calls_add_kernel(search, i);
    }
}

/* By start, then by event: pieces of one kernel must stand together. */
static int compare_pieces(const void *a, const void *b, void *argument)
{
    const struct work_piece *left = a;
    const struct work_piece *right = b;
    int64_t left_ns = event_of_piece(argument, left)->start_ns;
    int64_t right_ns = event_of_piece(argument, right)->start_ns;

    if (left_ns != right_ns)
        return left_ns < right_ns ? -1 : 1;
    return left->event < right->event ? -1 : left->event > right->event;
}

/* CPU only: the products are the work. */
static void add_products(struct call_search *search)
{
    struct matrix_calls *calls = search->calls;
    const struct trace *trace = search->trace;

    for (uint32_t i = 0; i < trace->host_count; i++) {
        const struct event *event = &trace->host[i];

        if (search->costs->counted.states[i] != OP_COUNTED ||
            counted_cost_of(search->costs, i)->kind != COST_MATRIX)
            continue;
        calls->pieces[calls->piece_count++] =
            (struct work_piece){.event = i,
                                .call = call_of_op(search, i),
                                .class = (uint8_t)host_event_class(trace, event),
                                .unit = MATRIX_UNIT_NOT_TOLD};
        calls->calls[calls->count - 1].kernel_ns = event->duration_ns;
    }
    if (calls->piece_count)
        qsort_r(calls->pieces, calls->piece_count, sizeof *calls->pieces, compare_pieces, calls);
}

/* The share of its pairs that an op around `op` leaves unmasked: of products that attention is made
 * of, where no fused kernel does it. Unfused attention: bmm, softmax, bmm below
 * scaled_dot_product_attention, which knows the mask; the bmm computes all pairs, and the share
 * tells what of them the model needs. */
static double unmasked_share(const struct module_costs *costs, uint32_t op)
{
    uint32_t above = costs->contexts.parents[op];

    for (int depth = 0; above != NO_EVENT && depth < MASK_DEPTH_MAX; depth++) {
        const struct op_cost *cost = matrix_calls_cost_of(costs, above);

        if (cost && cost->kind == COST_MATRIX && cost->masked_flops < cost->flops)
            return (double)cost->masked_flops / (double)cost->flops;
        above = costs->contexts.parents[above];
    }
    return 1;
}

/* executed = model + recomputed + extra, always. Extra is what masks hide and what the
 * optimizer computes; recomputed what checkpointing (by phase) or a fused backward (by
 * formula) does once more. */
static struct flop_parts parts_of_call(const struct module_costs *costs, uint32_t op)
{
    const struct op_cost *cost = counted_cost_of(costs, op);
    enum training_phase phase = (enum training_phase)costs->contexts.phases[op];
    bool skips_masked = cost->masked_flops < cost->flops; /* fused attention leaves them out */
    double flops = (double)cost->flops;
    double model_share = cost->flops > 0 ? (double)cost->model_flops / flops : 0;
    struct flop_parts parts = {.executed = skips_masked ? (double)cost->masked_flops : flops};
    double needed = parts.executed;

    if (phase == PHASE_RECOMPUTE) {
        parts.recomputed = parts.executed;
        return parts;
    }
    if (phase == PHASE_OPTIMIZER) {
        parts.extra = parts.executed;
        return parts;
    }
    if (!skips_masked)
        needed *= unmasked_share(costs, op);
    parts.extra = parts.executed - needed;
    parts.model = needed * model_share;
    parts.recomputed = needed - parts.model;
    parts.all_pairs = flops * model_share;
    return parts;
}

/* float32 on matrix units that have TF32 is that; others multiply real FP32. The user's --dtype
 * goes before all. */
static enum peak_type precision_of_call(const struct call_search *search,
                                        const struct matrix_call *call)
{
    const struct event *op = &search->trace->host[call->op];
    uint32_t types = search->trace->details[op->detail].input_types;
    const struct op_cost *cost = counted_cost_of(search->costs, call->op);
    enum peak_type type =
        precision_of_types(types ? trace_text(search->trace, types) : NULL, cost->operand);
    bool is_on_units = call->unit_lead_ns > 0;

    if (search->peaks->has_precision)
        return search->peaks->precision;
    if (cost->is_four_bit)
        return PEAK_FP4;
    if (type == PEAK_FP32 && is_on_units && search->peaks->is_fp32_tf32)
        return PEAK_TF32;
    if (type == PEAK_FP64 && is_on_units)
        return PEAK_FP64_MATRIX;
    return type;
}

/* `matmul_cost` is zeroed. A count beyond 63 bits comes from sizes that no memory holds: the
 * call is then not known, rather than wrong. */
static void cost_call(const struct call_search *search, struct matrix_call *call,
                      struct product_cost *matmul_cost)
{
    const struct op_cost *cost = counted_cost_of(search->costs, call->op);

    call->matmul_cost = matmul_cost;
    if (cost->flops == TOO_LARGE) {
        call->obstacle = PRICE_NO_ARGUMENTS;
        return;
    }
    matmul_cost->flops = parts_of_call(search->costs, call->op);
    call->precision = (uint8_t)precision_of_call(search, call);
    if (call->precision == PEAK_TYPE_COUNT) {
        call->obstacle = PRICE_NO_TYPE;
        return;
    }
    matmul_cost->peak = search->peaks->peaks[call->precision];
    if (matmul_cost->peak <= 0)
        call->obstacle = PRICE_NO_PEAK;
}

/* Counted first, so that the estimates are one array: calls keep pointers into it. */
static void cost_calls(const struct call_search *search)
{
    struct matrix_calls *calls = search->calls;
    size_t products = 0;

    for (uint32_t i = 0; i < calls->count; i++)
        products += calls->calls[i].is_matrix;
    calls->estimates = require_memory(calloc(products + 1, sizeof *calls->estimates));
    products = 0;
    for (uint32_t i = 0; i < calls->count; i++) {
        if (calls->calls[i].is_matrix)
            cost_call(search, &calls->calls[i], &calls->estimates[products++]);
        else
            calls->calls[i].obstacle = PRICE_NO_FORMULA;
    }
}

/* Names of kernels are looked at once each (UNIT_NOT_LOOKED_UP); a trace has millions of
 * kernels and some hundreds of names. */
void find_matrix_calls(struct matrix_calls *calls, const struct trace *trace,
                       const struct ledger *ledger, const struct module_costs *costs,
                       const struct peak_choice *peaks)
{
    struct call_search search = {
        .calls = calls, .trace = trace, .ledger = ledger, .costs = costs, .peaks = peaks};
    size_t names = string_pool_count(&trace->strings);
    size_t pieces = ledger->is_cpu_only ? trace->host_count : trace->device_count;

    calls->events = ledger->is_cpu_only ? trace->host : trace->device;
    search.call_of = large_array_new((trace->host_count + (size_t)1) * sizeof *search.call_of);
    memset(search.call_of, 0xff, (trace->host_count + (size_t)1) * sizeof *search.call_of);
    calls->pieces = large_array_new((pieces + 1) * sizeof *calls->pieces);
    search.units = require_memory(malloc(names + 1));
    memset(search.units, UNIT_NOT_LOOKED_UP, names + 1);
    find_owners(&search);
    if (ledger->is_cpu_only)
        add_products(&search);
    else
        matrix_calls_add_kernels(&search);
    large_array_trim(calls->pieces, calls->piece_count * sizeof *calls->pieces);
    cost_calls(&search);
    large_array_free(search.call_of);
    free(search.units);
    large_array_free(search.owners);
}

/* From the operator outwards, to the nearest that was not counted and says why. */
enum cost_obstacle obstacle_of_piece(const struct trace *trace, const struct module_costs *costs,
                                     uint32_t device_event)
{
    uint32_t op = trace_operator_of(trace, device_event);

    if (op == NO_EVENT)
        return PRICE_NO_OPERATOR;
    if (strstr(trace_text(trace, trace->host[op].name), "::command_buffer")) /* of a program of XLA
                                                                              */
        return PRICE_IN_BUFFER;
    for (; op != NO_EVENT; op = costs->contexts.parents[op]) {
        const struct op_cost *cost = matrix_calls_cost_of(costs, op);

        if (costs->counted.states[op] != OP_NOT_COUNTED || !cost)
            continue;
        if (cost->why == why_no_shapes)
            return PRICE_NO_SHAPES;
        return cost->why == why_no_formula ? PRICE_NO_FORMULA : PRICE_NO_ARGUMENTS;
    }
    return costs->has_shapes ? PRICE_NO_FORMULA : PRICE_NO_SHAPES;
}

void matrix_calls_clear(struct matrix_calls *calls)
{
    large_array_free(calls->calls);
    large_array_free(calls->pieces);
    free(calls->estimates);
    *calls = (struct matrix_calls){0};
}
