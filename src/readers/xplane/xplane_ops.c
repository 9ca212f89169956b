/* HLO ops as operators: which program and module they are of, what they cost by XLA's own count,
 * and the line of the program that asked for them. */
#include "base/core/array.h"
#include "base/core/hash_mix.h"
#include "base/core/invariant.h"
#include "readers/xplane/xplane_hlo.h"
#include "readers/xplane/xplane_reading.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES_MAX = 512, SHAPES_MAX = 16 };

uint32_t xplane_string(struct xplane_reading *reading, struct proto_bytes text)
{
    return string_pool_add(&reading->builder.strings, text.at ? text.at : "", text.length);
}

static uint32_t known_word(struct xplane_reading *reading, const char *word)
{
    return word ? string_pool_add(&reading->builder.strings, word, strlen(word)) : 0;
}

/* ---- names ---------------------------------------------------------------------------------- */

/* True where `id` is another program than the first of this module name: functions that were
 * compiled again have one name. The first program of a name has it alone; later ones get their
 * number behind it. */
static bool is_other_program(struct xplane_reading *reading, uint32_t module, int64_t id)
{
    uint32_t first = hash_map_add(&reading->module_ids, module, (uint32_t)reading->program_count);

    if (first == reading->program_count)
        ARRAY_ADD(reading->programs, reading->program_count, id);
    return reading->programs[first] != id;
}

static int shown_length(struct proto_bytes text)
{
    return (int)(text.length < NAME_BYTES_MAX / 3 ? text.length : NAME_BYTES_MAX / 3);
}

/* "jit_train_step::fusion.3": an op's name is its own only in its program. */
static uint32_t hlo_name(struct xplane_reading *reading, const struct xplane_op *op)
{
    struct proto_bytes name = xplane_text(op->stats, XSTAT_HLO_OP);
    struct proto_bytes module = xplane_text(op->stats, XSTAT_HLO_MODULE);
    char text[NAME_BYTES_MAX];
    int length;

    if (!name.length && op->metadata)
        name = op->metadata->display_name.length ? op->metadata->display_name : op->metadata->name;
    if (!module.length && xplane_has(op->stats, XSTAT_PROGRAM))
        module = xplane_module_of_program(reading->plane, xplane_number(op->stats, XSTAT_PROGRAM));
    if (!module.length)
        return xplane_string(reading, name);
    if (xplane_has(op->stats, XSTAT_PROGRAM) &&
        is_other_program(reading, xplane_string(reading, module),
                         xplane_number(op->stats, XSTAT_PROGRAM)))
        length =
            snprintf(text, sizeof text, "%.*s(%" PRId64 ")::%.*s", shown_length(module), module.at,
                     xplane_number(op->stats, XSTAT_PROGRAM), shown_length(name), name.at);
    else
        length = snprintf(text, sizeof text, "%.*s::%.*s", shown_length(module), module.at,
                          shown_length(name), name.at);
    return string_pool_add(&reading->builder.strings, text, (size_t)length);
}

/* The path of scopes that JAX gives an op: "jit(f)/jvp(Model)/mlp/dot_general". Newer versions
 * have a stat for it, older ones put it into tf_op, with the kind of op behind a colon. Without
 * a slash it is no path. */
static struct proto_bytes scope_of(const struct xplane_stats *stats)
{
    struct proto_bytes scope = xplane_text(stats, XSTAT_SCOPE);
    const char *colon;

    if (!scope.length || !memchr(scope.at, '/', scope.length))
        scope = xplane_text(stats, XSTAT_TF_OP);
    if (!scope.length || !memchr(scope.at, '/', scope.length))
        return (struct proto_bytes){NULL, 0};
    colon = memrchr(scope.at, ':', scope.length);
    if (colon)
        scope.length = (size_t)(colon - scope.at);
    return scope;
}

/* The last part of the path: what JAX calls the op. */
static struct proto_bytes primitive_of(const struct xplane_stats *stats)
{
    struct proto_bytes scope = scope_of(stats);
    const char *slash = scope.length ? memrchr(scope.at, '/', scope.length) : NULL;

    if (slash)
        scope = (struct proto_bytes){slash + 1, (size_t)(scope.at + scope.length - slash - 1)};
    return scope;
}

/* ---- modules -------------------------------------------------------------------------------- */

/* Parts of a scope that JAX itself puts there: they call, map or differentiate, and are no module.
 * Those that wrap a part keep it: "transpose(jvp(Model))" is Model. */
static bool is_plumbing(struct proto_bytes part)
{
    static const char *const words[] = {"while",
                                        "body",
                                        "cond",
                                        "scan",
                                        "closed_call",
                                        "core_call",
                                        "checkpoint",
                                        "remat",
                                        "rematted_computation",
                                        "custom_jvp_call",
                                        "custom_vjp_call",
                                        "custom_vjp_call_jaxpr",
                                        "pjit",
                                        "jit",
                                        "main",
                                        "shard_map",
                                        "branch_0_fun",
                                        "branch_1_fun"};

    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (proto_text_is(part, words[i]))
            return true;
    }
    return false;
}

/* What of a part is the name of a module; empty where nothing is. Transformations wrap a part in
 * parentheses, from the outside in; jit names a function and is no module. */
static struct proto_bytes module_part(struct proto_bytes part)
{
    while (part.length && part.at[part.length - 1] == ')') {
        const char *open = memchr(part.at, '(', part.length);

        if (!open || proto_text_begins(part, "jit(") || proto_text_begins(part, "pjit("))
            return (struct proto_bytes){NULL, 0};
        part = (struct proto_bytes){open + 1, (size_t)(part.at + part.length - 1 - (open + 1))};
    }
    return is_plumbing(part) ? (struct proto_bytes){NULL, 0} : part;
}

/* The mark of the module "nn:Model.mlp"; 0 where the scope names none. The last part is the
 * primitive and none of the module, so only parts before a slash are taken. */
static uint32_t module_mark(struct xplane_reading *reading, const struct xplane_stats *stats)
{
    struct proto_bytes scope = scope_of(stats);
    char text[NAME_BYTES_MAX] = "nn:";
    size_t used = 3;

    for (const char *slash; scope.length && (slash = memchr(scope.at, '/', scope.length));) {
        struct proto_bytes part =
            module_part((struct proto_bytes){scope.at, (size_t)(slash - scope.at)});

        scope.length -= (size_t)(slash + 1 - scope.at);
        scope.at = slash + 1;
        if (!part.length || used + part.length + 2 > sizeof text)
            continue;
        if (used > 3)
            text[used++] = '.';
        memcpy(text + used, part.at, part.length);
        used += part.length;
    }
    return used > 3 ? string_pool_add(&reading->builder.strings, text, used) : 0;
}

/* ---- phases --------------------------------------------------------------------------------- */

/* XLA itself computes some ops twice, and calls the second "dot.3.remat". */
static bool is_computed_again(const struct xplane_op *op)
{
    struct proto_bytes name = xplane_text(op->stats, XSTAT_HLO_OP);

    if (!name.length && op->metadata)
        name = op->metadata->display_name;
    return proto_text_has(name, ".remat");
}

/* NULL: the compiler lost the path of scopes. */
static const char *op_phase(const struct xplane_op *op, const struct hlo_op *hlo)
{
    struct proto_bytes scope =
        hlo && hlo->product_scope.length ? hlo->product_scope : scope_of(op->stats);

    return is_computed_again(op) ? "recompute" : hlo_scope_phase(scope);
}

/* ---- kinds of work -------------------------------------------------------------------------- */

/* Longer words that begin with another op's ("ragged-all-to-all") do not begin with it, so the
 * order does not matter. */
static const char *collective_word(struct proto_bytes text)
{
    static const char *const ops[][2] = {
        {"all-reduce", "all_reduce"},          {"all-gather", "all_gather"},
        {"reduce-scatter", "reduce_scatter"},  {"all-to-all", "all_to_all"},
        {"ragged-all-to-all", "all_to_all"},   {"collective-permute", "send_recv"},
        {"collective-broadcast", "broadcast"},
    };

    for (size_t i = 0; text.length && i < sizeof ops / sizeof *ops; i++) {
        if (proto_text_begins(text, ops[i][0]))
            return ops[i][1];
    }
    return NULL;
}

const char *xplane_collective_of(const struct xplane_stats *stats, struct proto_bytes name)
{
    struct proto_bytes texts[] = {xplane_text(stats, XSTAT_CATEGORY),
                                  xplane_text(stats, XSTAT_HLO_OP), name};
    const char *word = NULL;

    for (size_t t = 0; !word && t < sizeof texts / sizeof *texts; t++)
        word = collective_word(texts[t]);
    return word;
}

/* The key of the class of work that XLA's category of an op stands for; NULL where it tells
 * nothing. Products are called convolutions there: what JAX called them tells. What XLA fuses is
 * generated code, which has the class of Triton's kernels. */
static const char *work_of(const struct xplane_stats *stats)
{
    static const char *const kinds[][2] = {
        {"convolution", "convolution"},
        {"dot", "matmul"},
        {"gemm", "matmul"},
        {"loop fusion", "triton"},
        {"input fusion", "triton"},
        {"output fusion", "triton"},
        {"reduce", "reduction"},
        {"sort", "sort"},
        {"data formatting", "indexing"},
        {"dynamic-", "indexing"},
        {"gather", "indexing"},
        {"scatter", "indexing"},
        {"transpose", "indexing"},
        {"reshape", "indexing"},
        {"rng", "random"},
        {"non-fusion elementwise", "elementwise"},
        {"broadcast", "elementwise"},
    };
    struct proto_bytes category = xplane_text(stats, XSTAT_CATEGORY);

    if (proto_text_begins(category, "convolution") &&
        proto_text_begins(primitive_of(stats), "dot_general"))
        return "matmul";
    for (size_t i = 0; category.length && i < sizeof kinds / sizeof *kinds; i++) {
        if (proto_text_begins(category, kinds[i][0]))
            return kinds[i][1];
    }
    return NULL;
}

/* ---- shapes --------------------------------------------------------------------------------- */

/* XLA's names of element types, in torch's words. */
static const char *const element_types[][2] = {
    {"bf16", "c10::BFloat16"},
    {"f16", "c10::Half"},
    {"f32", "float"},
    {"f64", "double"},
    {"s8", "signed char"},
    {"u8", "unsigned char"},
    {"s16", "short int"},
    {"s32", "int"},
    {"s64", "long int"},
    {"pred", "bool"},
    {"f8e4m3fn", "c10::Float8_e4m3fn"},
    {"f8e5m2", "c10::Float8_e5m2"},
    {"c64", "c10::complex<float>"},
    {"c128", "c10::complex<double>"},
};

static const char *element_type(const char *start, size_t length)
{
    struct proto_bytes name = {start, length};

    for (size_t i = 0; i < sizeof element_types / sizeof *element_types; i++) {
        if (proto_text_is(name, element_types[i][0]))
            return element_types[i][1];
    }
    return NULL;
}

/* Texts of operands, as they are written: "[[8, 64], [64]]" and "[\"float\", \"float\"]". */
struct operands {
    char shapes[NAME_BYTES_MAX];
    char types[NAME_BYTES_MAX];
    size_t shapes_length;
    size_t types_length;
    unsigned count;
};

/* "8,64" behind a type; `end` is at the ']'. */
static bool write_operand(struct operands *operands, const char *type, const char *sizes,
                          const char *end)
{
    size_t *length = &operands->shapes_length;

    if (*length + 2 * (size_t)(end - sizes) + 8 > sizeof operands->shapes ||
        operands->types_length + strlen(type) + 8 > sizeof operands->types)
        return false;
    *length += (size_t)sprintf(operands->shapes + *length, operands->count ? ", [" : "[");
    for (; sizes < end; sizes++) {
        if (*sizes == '<' || *sizes == '=') /* "<=8": a size that may be smaller */
            continue;
        operands->shapes[(*length)++] = *sizes;
        if (*sizes == ',')
            operands->shapes[(*length)++] = ' ';
    }
    operands->shapes[(*length)++] = ']';
    operands->types_length += (size_t)sprintf(operands->types + operands->types_length, "%s\"%s\"",
                                              operands->count ? ", " : "", type);
    operands->count++;
    return true;
}

/* The operands of "%f.1 = bf16[8,4]{1,0} fusion(bf16[8,2]{1,0} %a, f32[2] %b), kind=...": each
 * type with sizes behind the op's own parenthesis. A scan for "type[sizes]" at any depth of the
 * call's parentheses: a layout "{1,0}" and names "%a" have neither. What is not in the table
 * (tuples, tokens) is passed over. */
static void find_operands(struct operands *operands, struct proto_bytes text)
{
    const char *at = memmem(text.at, text.length, " = ", 3);
    const char *end = proto_bytes_end(text);
    unsigned depth = 0;

    while (at && at < end && !(*at == '(' && isalnum((unsigned char)at[-1])))
        at++;
    for (; at && at < end && operands->count < SHAPES_MAX; at++) {
        const char *type = at;
        const char *sizes;
        const char *close;

        depth += *at == '(';
        if (*at == ')' && --depth == 0)
            return;
        if (!isalpha((unsigned char)*at) || isalnum((unsigned char)at[-1]) || at[-1] == '%')
            continue;
        while (at < end && isalnum((unsigned char)*at))
            at++;
        if (at == end || *at != '[' || !element_type(type, (size_t)(at - type))) {
            at--;
            continue;
        }
        sizes = at + 1;
        close = memchr(sizes, ']', (size_t)(end - sizes));
        if (!close ||
            !write_operand(operands, element_type(type, (size_t)(at - type)), sizes, close))
            return;
        at = close;
    }
}

static uint32_t bracketed(struct xplane_reading *reading, const char *text, size_t length)
{
    char whole[NAME_BYTES_MAX + 2];
    int written = snprintf(whole, sizeof whole, "[%.*s]", (int)length, text);

    return string_pool_add(&reading->builder.strings, whole, (size_t)written);
}

/* ---- the operator --------------------------------------------------------------------------- */

/* "model.py(12): dot_general" of a file and a line; 0 where none is own. */
static uint32_t stack_text(struct xplane_reading *reading, struct proto_bytes file,
                           struct proto_bytes line, struct proto_bytes primitive)
{
    char text[NAME_BYTES_MAX];
    int length = snprintf(text, sizeof text, "%.*s(%.*s): %.*s", shown_length(file), file.at,
                          shown_length(line), line.at, shown_length(primitive),
                          primitive.length ? primitive.at : "");

    return length < (int)sizeof text
               ? string_pool_add(&reading->builder.strings, text, (size_t)length)
               : 0;
}

/* Of "/home/me/model.py:12", else of what the program says. */
static uint32_t call_stack(struct xplane_reading *reading, const struct xplane_stats *stats,
                           const struct hlo_op *hlo)
{
    struct proto_bytes source = xplane_text(stats, XSTAT_SOURCE);
    const char *colon = source.length ? memrchr(source.at, ':', source.length) : NULL;
    char digits[24];
    int length;

    if (colon && colon != source.at)
        return stack_text(
            reading, (struct proto_bytes){source.at, (size_t)(colon - source.at)},
            (struct proto_bytes){colon + 1, (size_t)(source.at + source.length - colon - 1)},
            primitive_of(stats));
    if (!hlo || !hlo->source.length || hlo->line <= 0)
        return 0;
    length = snprintf(digits, sizeof digits, "%" PRId64, hlo->line);
    return stack_text(reading, hlo->source, (struct proto_bytes){digits, (size_t)length},
                      primitive_of(stats));
}

/* The first two operands are what a product is told by. An operand that cannot be written ends
 * the list there: a later one would take its place. */
static void find_operands_in_program(struct operands *operands, const struct hlo_op *hlo)
{
    char sizes[NAME_BYTES_MAX / 4];

    for (size_t i = 0; i < 2 && hlo->operands[i].length; i++) {
        const char *name = hlo_element_type(hlo->operands[i]);
        const char *type = name ? element_type(name, strlen(name)) : NULL;

        if (!type || !hlo_sizes_text(hlo->operands[i], sizes, sizeof sizes) ||
            !write_operand(operands, type, sizes, sizes + strlen(sizes)))
            return;
    }
}

/* What the program says of the op, where the profiler says nothing. XLA's own count on the event
 * goes first; the program's is used where an op runs once per run, as else how often it ran is
 * unknown. */
static void use_program(struct event_detail *detail, struct xplane_reading *reading,
                        const struct xplane_op *op, const struct hlo_op *hlo)
{
    const char *work = hlo->has_products ? "matmul" : hlo->has_convolutions ? "convolution" : NULL;

    if (op->is_uncounted || !work || hlo->flops <= 0 ||
        (reading->has_device && !hlo->runs_are_known))
        return;
    detail->flops = hlo->flops;
    detail->work = known_word(reading, work);
}

/* XLA's own count. Of what it calls without knowing it (Pallas on a TPU) it says 0, which is none.
 */
static int64_t flops_of_stat(const struct xplane_op *op)
{
    int64_t flops = xplane_has(op->stats, XSTAT_FLOPS) ? xplane_number(op->stats, XSTAT_FLOPS) : -1;
    struct proto_bytes category = xplane_text(op->stats, XSTAT_CATEGORY);

    if (op->is_uncounted || flops < 0 ||
        (flops == 0 && proto_text_begins(category, "custom") && proto_text_has(category, "call")))
        return -1;
    return flops;
}

/* What the profiler measured or XLA's cost analysis wrote with the event goes before what the
 * program's text gives: it belongs to this very op. */
static uint32_t operator_detail(struct xplane_reading *reading, const struct xplane_op *op,
                                const struct hlo_op *hlo)
{
    struct event_detail detail = event_detail_none();
    struct operands operands = {.count = 0};
    const char *work = work_of(op->stats);

    detail.phase = known_word(reading, op_phase(op, hlo));
    detail.call_stack = call_stack(reading, op->stats, hlo);
    if (op->metadata && op->metadata->name.length)
        find_operands(&operands, op->metadata->name);
    if (!operands.count && hlo)
        find_operands_in_program(&operands, hlo);
    if (operands.count) {
        detail.input_shapes = bracketed(reading, operands.shapes, operands.shapes_length);
        detail.input_types = bracketed(reading, operands.types, operands.types_length);
    }
    if (!work && hlo && collective_word(hlo->opcode)) /* JAX names it by what was called: psum.7 */
        work = "communication";
    if (work)
        detail.work = known_word(reading, work);
    detail.flops = flops_of_stat(op);
    if (detail.flops < 0 && hlo)
        use_program(&detail, reading, op, hlo);
    if (xplane_has(op->stats, XSTAT_BYTES) && xplane_number(op->stats, XSTAT_BYTES) >= 0)
        detail.bytes = xplane_number(op->stats, XSTAT_BYTES);
    return trace_builder_detail(&reading->builder, &detail);
}

/* Of the mark around an op, which is in no other phase than the op. */
static uint32_t phase_detail(struct xplane_reading *reading, const char *phase)
{
    struct event_detail detail = event_detail_none();

    detail.phase = known_word(reading, phase);
    return phase ? trace_builder_detail(&reading->builder, &detail) : 0;
}

/* A table of fixed size with two places per key, the newer one first: ops come in loops, so
 * nearly all are found, and memory is bounded whatever the file has. Losing an entry costs
 * time only. */
struct xplane_known *xplane_known(struct xplane_known **table, const struct xplane_key *key)
{
    struct xplane_known *known, *other;
    uint64_t hash = 0;
    uint64_t word;

    _Static_assert(sizeof *key % sizeof word == 0, "no bytes between its members");
    if (!*table)
        *table = require_memory(calloc(XPLANE_KNOWN_COUNT, sizeof **table));
    for (size_t i = 0; i < sizeof *key; i += sizeof word) {
        memcpy(&word, (const char *)key + i, sizeof word);
        hash = (hash ^ word) * HASH_MULTIPLIER;
        hash ^= hash >> 32;
    }
    known = &(*table)[hash % XPLANE_KNOWN_COUNT];
    other = &(*table)[(hash % XPLANE_KNOWN_COUNT) ^ 1];
    if (known->is_known && memcmp(&known->key, key, sizeof *key) == 0)
        return known;
    if (other->is_known && memcmp(&other->key, key, sizeof *key) == 0)
        return other;
    *other = *known; /* the older one goes */
    *known = (struct xplane_known){.key = *key};
    return known;
}

/* By where the texts lie in the file: one text stands once in its plane, and comparing
 * addresses needs no reading. */
static struct xplane_key op_key(const struct xplane_reading *reading, const struct xplane_op *op)
{
    const struct xplane_stats *stats = op->stats;

    return (struct xplane_key){
        .plane = reading->plane->message.at,
        .texts = {xplane_text(stats, XSTAT_HLO_OP).at, xplane_text(stats, XSTAT_HLO_MODULE).at,
                  xplane_text(stats, XSTAT_TF_OP).at, xplane_text(stats, XSTAT_SCOPE).at,
                  xplane_text(stats, XSTAT_SOURCE).at, xplane_text(stats, XSTAT_CATEGORY).at},
        .metadata = op->metadata,
        .numbers = {xplane_number(stats, XSTAT_PROGRAM), xplane_number(stats, XSTAT_FLOPS),
                    xplane_number(stats, XSTAT_BYTES)},
        .has = (stats->has & (1u << XSTAT_PROGRAM | 1u << XSTAT_FLOPS | 1u << XSTAT_BYTES)) |
               (uint64_t)op->is_uncounted << 32,
    };
}

/* What such an op is, in the builder. */
static void fill_op(struct xplane_reading *reading, struct xplane_known *known,
                    const struct xplane_op *op)
{
    struct xplane_stats stats = *op->stats;
    struct xplane_op own = *op;
    const struct hlo_op *hlo =
        hlo_op_of(&reading->programs_run, xplane_number(&stats, XSTAT_PROGRAM),
                  xplane_text(&stats, XSTAT_HLO_OP));

    own.stats = &stats;
    if (hlo && !scope_of(&stats).length) {
        stats.texts[XSTAT_SCOPE - XSTAT_HLO_OP] = hlo->scope;
        stats.has |= 1u << XSTAT_SCOPE;
    }
    known->module = module_mark(reading, &stats);
    known->name = hlo_name(reading, &own);
    known->detail = operator_detail(reading, &own, hlo);
    known->module_detail = phase_detail(reading, op_phase(&own, hlo));
    known->has_several_phases = hlo && hlo->has_several_phases && !is_computed_again(&own);
    known->is_known = true;
}

/* Names, shapes and FLOPs are found once for each op of a program; its executions differ in
 * time only. Each gets a number of its own, which its device work refers to. */
int64_t xplane_add_operator(struct xplane_reading *reading, const struct xplane_op *op)
{
    struct xplane_key key = op_key(reading, op);
    struct xplane_known *known = xplane_known(&reading->ops, &key);
    struct found_event event = {.kind = EVENT_ANNOTATION,
                                .start_ns = op->time.start_ns,
                                .duration_ns = op->time.duration_ns,
                                .correlation = NO_ID,
                                .external_id = NO_ID,
                                .track = op->track};

    if (!known->is_known)
        fill_op(reading, known, op);
    reading->builder.read.mixed_phases += known->has_several_phases;
    event.name = known->module;
    event.detail = known->module_detail;
    if (event.name)
        trace_builder_add(&reading->builder, &event);
    event.kind = EVENT_OPERATOR;
    event.name = known->name;
    event.detail = known->detail;
    event.external_id = ++reading->next_operator;
    trace_builder_add(&reading->builder, &event);
    return event.external_id;
}

/* ---- launches -------------------------------------------------------------------------------- */

/* An op may take several kernels: launches behind one another, with none of another op between.
 * FLOPs of an op count once, however many kernels it launches. */
static bool is_launched_again(struct xplane_reading *reading, const struct xplane_stats *stats)
{
    struct proto_bytes name = xplane_text(stats, XSTAT_HLO_OP);
    int64_t program = xplane_number(stats, XSTAT_PROGRAM);
    bool is_again = reading->launched.length == name.length && name.length > 0 &&
                    memcmp(reading->launched.at, name.at, name.length) == 0 &&
                    reading->launched_program == program;

    reading->launched = name;
    reading->launched_program = program;
    return is_again;
}

/* Its launches behind one another are one time that it runs, and not several. */
static bool op_runs_are_known(const struct xplane_reading *reading,
                              const struct xplane_stats *stats)
{
    const struct hlo_op *hlo =
        hlo_op_of(&reading->programs_run, xplane_number(stats, XSTAT_PROGRAM),
                  xplane_text(stats, XSTAT_HLO_OP));

    return hlo && hlo->runs_are_known;
}

/* The op of the kernel before stands already: this one's time is added to it by its id, and an op
 * of its own would be one without FLOPs. */
int64_t xplane_add_kernel(struct xplane_reading *reading, const struct xplane_op *op)
{
    struct xplane_op own = *op;

    own.is_uncounted = is_launched_again(reading, op->stats);
    if (own.is_uncounted && op_runs_are_known(reading, op->stats))
        return reading->next_operator;
    return xplane_add_operator(reading, &own);
}

/* Nothing that ran on the device of this rank is of the call. */
static bool is_elsewhere(const struct xplane_reading *reading, const struct xplane_stats *stats)
{
    return reading->is_one_of_several &&
           hash_map_find(&reading->launches, (uint64_t)xplane_number(stats, XSTAT_CORRELATION)) ==
               NO_VALUE;
}

/* Kept back until then, as events that were added have their length. */
void xplane_end_launches(struct xplane_reading *reading)
{
    struct xplane_op op = {.stats = &reading->launching.stats,
                           .time = reading->launching.time,
                           .track = reading->launching.track};

    if (reading->launching.is_there)
        (void)xplane_add_operator(reading, &op);
    reading->launching.is_there = false;
}

/* From the first begin to the last end: events need not stand in order. False where that is longer
 * than a time can be. */
static bool join_time(struct xplane_time *whole, const struct xplane_time *time)
{
    int64_t end_ns = whole->start_ns + whole->duration_ns;
    struct xplane_time joined = {.start_ns = whole->start_ns};

    if (time->start_ns < joined.start_ns)
        joined.start_ns = time->start_ns;
    if (time->start_ns + time->duration_ns > end_ns)
        end_ns = time->start_ns + time->duration_ns;
    if (__builtin_sub_overflow(end_ns, joined.start_ns, &joined.duration_ns))
        return false;
    *whole = joined;
    return true;
}

/* What is not known is never joined: two times that an op runs would be one, with the FLOPs of one.
 * Launches for another device do not lengthen it, as nothing of them ran on this one. */
void xplane_add_launch(struct xplane_reading *reading, const struct xplane_op *op)
{
    struct xplane_op own = *op;
    bool is_known = !is_elsewhere(reading, op->stats) && op_runs_are_known(reading, op->stats);
    bool is_again = is_launched_again(reading, op->stats);

    if (is_again && is_known && reading->launching.is_there &&
        join_time(&reading->launching.time, &op->time))
        return;
    xplane_end_launches(reading);
    own.is_uncounted = is_again || is_elsewhere(reading, op->stats);
    if (is_known && !is_again) {
        reading->launching.stats = *op->stats;
        reading->launching.time = op->time;
        reading->launching.track = op->track;
        reading->launching.is_there = true;
    } else {
        (void)xplane_add_operator(reading, &own);
    }
}
