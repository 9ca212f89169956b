/* What the ops of a program compute, by its HLO: products and convolutions, a multiply-add as 2. */
#include "readers/xplane/xplane_hlo.h"

#include "base/core/array.h"
#include "base/core/hash_mix.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANK_MAX = 16, FUSIONS_MAX = 8 };

/* ---- a program on its way ------------------------------------------------------------------- */

/* HloInstructionProto: the fields that tell what it computes. */
struct hlo_instruction {
    int64_t id;
    uint32_t computation;
    struct proto_bytes opcode;
    struct proto_bytes scope; /* as in struct hlo_op */
    struct proto_bytes shape;
    struct proto_bytes window;
    struct proto_bytes convolution; /* which dimension is what */
    struct proto_bytes dot;         /* likewise */
    struct proto_bytes target;      /* of a custom call */
    struct proto_bytes settings;    /* of its library: JSON */
    struct proto_bytes operands;    /* packed ids */
    struct proto_bytes called;      /* packed ids of computations */
};

struct hlo_computation {
    int64_t id;
    size_t first; /* of its instructions */
    size_t count;
    size_t working; /* instructions that a device runs */
    /* as the part of an op that calls it */
    struct hlo_op total;
    bool is_counted; /* or is being counted: one that calls itself is not known */
};

struct hlo_program {
    struct hlo_instruction *instructions;
    size_t count;
    struct hash_map by_id;
    struct hlo_computation *computations;
    size_t computation_count;
    struct hash_map computation_by_id;
    int64_t entry; /* id of the computation that is the program */
};

struct hlo_sizes {
    int64_t sizes[RANK_MAX];
    size_t rank;
};

/* Numbers that are packed, or of which each stands alone. */
static void hlo_add_number(struct hlo_sizes *numbers, int64_t number)
{
    if (numbers->rank < RANK_MAX)
        numbers->sizes[numbers->rank++] = number;
}

static void hlo_add_numbers(struct hlo_sizes *numbers, const struct proto_field *field)
{
    struct proto_bytes packed = field->bytes;
    uint64_t number;

    if (field->form == PROTO_VARINT)
        hlo_add_number(numbers, proto_signed(field));
    while (field->form == PROTO_LENGTH && proto_next_packed(&packed, &number))
        hlo_add_number(numbers, (int64_t)number);
}

/* ShapeProto: sizes 3; of several values 4, of which the first counts. */
static struct hlo_sizes sizes_of(struct proto_bytes shape)
{
    struct proto_walk walk = proto_walk_of(shape);
    struct proto_field field;
    struct hlo_sizes sizes = {.rank = 0};

    while (proto_next(&walk, &field)) {
        if (field.number == 3)
            hlo_add_numbers(&sizes, &field);
        if (proto_is(&field, 4, PROTO_LENGTH)) {
            walk = proto_walk_of(field.bytes);
            sizes.rank = 0;
        }
    }
    return sizes;
}

/* A repeated field may come packed or one by one, mixed too; both are added. */
static struct hlo_sizes numbers_of(struct proto_bytes message, uint32_t number)
{
    struct proto_walk walk = proto_walk_of(message);
    struct proto_field field;
    struct hlo_sizes numbers = {.rank = 0};

    while (proto_next(&walk, &field)) {
        if (field.number == number)
            hlo_add_numbers(&numbers, &field);
    }
    return numbers;
}

static bool multiply_by(int64_t *product, int64_t factor)
{
    return factor >= 0 && !__builtin_mul_overflow(*product, factor, product);
}

static bool multiply_by_all(int64_t *product, const struct hlo_sizes *sizes)
{
    for (size_t i = 0; i < sizes->rank; i++) {
        if (!multiply_by(product, sizes->sizes[i]))
            return false;
    }
    return true;
}

/* NULL where the file refers to what it does not hold: then the sizes are not known, and no
 * FLOPs are counted. */
static const struct hlo_instruction *operand_of(const struct hlo_program *program,
                                                const struct hlo_instruction *instruction,
                                                size_t number)
{
    struct proto_bytes left = instruction->operands;
    uint64_t id = 0;
    uint32_t index;

    for (size_t i = 0; i <= number; i++) {
        if (!proto_next_packed(&left, &id))
            return NULL;
    }
    index = hash_map_find(&program->by_id, id);
    return index == NO_VALUE ? NULL : &program->instructions[index];
}

/* ---- products ------------------------------------------------------------------------------- */

/* The numbers behind `key` in the settings of a library: "lhs_contracting_dimensions":["1"]. */
static struct hlo_sizes numbers_behind(struct proto_bytes text, const char *key)
{
    struct hlo_sizes numbers = {.rank = 0};
    const char *end = proto_bytes_end(text);
    const char *at = text.length ? memmem(text.at, text.length, key, strlen(key)) : NULL;

    at = at ? memchr(at, '[', (size_t)(end - at)) : NULL;
    while (at && ++at < end && *at != ']') {
        int64_t number = 0;

        if (*at < '0' || *at > '9')
            continue;
        for (; at < end && *at >= '0' && *at <= '9' && number < RANK_MAX; at++)
            number = number * 10 + (*at - '0');
        hlo_add_number(&numbers, number);
        at--;
    }
    return numbers;
}

/* 2 for each element of the result and of what is summed over; -1: not told. Source: XLA's
 * HloCostAnalysis, dot: 2 * elements of the result * sizes that are contracted. Which sizes
 * those are stands in the dimension numbers, as places in the left operand. */
static int64_t product_flops(const struct hlo_program *program,
                             const struct hlo_instruction *instruction,
                             const struct hlo_sizes *summed)
{
    const struct hlo_instruction *left = operand_of(program, instruction, 0);
    struct hlo_sizes result = sizes_of(instruction->shape);
    struct hlo_sizes sizes = {.rank = 0};
    int64_t flops = 2;

    if (left)
        sizes = sizes_of(left->shape);
    if (!left || !multiply_by_all(&flops, &result))
        return -1;
    for (size_t i = 0; i < summed->rank; i++) {
        int64_t dimension = summed->sizes[i];

        if (dimension < 0 || dimension >= (int64_t)sizes.rank ||
            !multiply_by(&flops, sizes.sizes[dimension]))
            return -1;
    }
    return flops;
}

/* ---- convolutions --------------------------------------------------------------------------- */

/* WindowDimension: size 1, holes in the input 6. */
struct window_size {
    int64_t size;
    int64_t holes;
};

/* Of each dimension the size (1) and the dilation of the base (6): stride and padding are
 * already in the sizes of the result. */
static size_t hlo_read_window(struct proto_bytes message, struct window_size *sizes)
{
    struct proto_walk walk = proto_walk_of(message);
    struct proto_field field;
    size_t count = 0;

    while (proto_next(&walk, &field) && count < RANK_MAX) {
        if (!proto_is(&field, 1, PROTO_LENGTH))
            continue;
        sizes[count] = (struct window_size){numbers_of(field.bytes, 1).sizes[0],
                                            numbers_of(field.bytes, 6).sizes[0]};
        count++;
    }
    return count;
}

/* Input, filter and result of the forward convolution that a call is, or is a gradient of. */
struct convolution_shapes {
    struct hlo_sizes input;
    struct hlo_sizes filter;
    struct hlo_sizes result;
};

/* cuDNN's calls for gradients have operands and result in other places than the forward
 * convolution, which has the same number of multiplications. */
static bool find_shapes(struct convolution_shapes *shapes, const struct hlo_program *program,
                        const struct hlo_instruction *instruction)
{
    const struct hlo_instruction *left = operand_of(program, instruction, 0);
    const struct hlo_instruction *right = operand_of(program, instruction, 1);
    struct hlo_sizes made = sizes_of(instruction->shape);

    if (!left || !right)
        return false;
    *shapes = (struct convolution_shapes){sizes_of(left->shape), sizes_of(right->shape), made};
    if (proto_text_begins(instruction->target, "__cudnn$convBackwardInput"))
        *shapes = (struct convolution_shapes){made, shapes->filter, shapes->input};
    else if (proto_text_begins(instruction->target, "__cudnn$convBackwardFilter"))
        *shapes = (struct convolution_shapes){shapes->input, made, shapes->filter};
    return true;
}

/* 2 for each element of the result, of the window and of the filter's features. Where the input has
 * holes (the gradient of a convolution with strides), each of its elements is met so often. */
static int64_t convolution_flops(const struct hlo_program *program,
                                 const struct hlo_instruction *instruction)
{
    struct convolution_shapes shapes;
    struct window_size window[RANK_MAX];
    size_t rank = hlo_read_window(instruction->window, window);
    struct hlo_sizes input_places = numbers_of(instruction->convolution, 11);
    struct hlo_sizes result_places = numbers_of(instruction->convolution, 12);
    int64_t features = numbers_of(instruction->convolution, 3).sizes[0];
    int64_t flops = 2;

    if (!instruction->convolution.at || !find_shapes(&shapes, program, instruction) ||
        input_places.rank != rank || result_places.rank != rank || features < 0 ||
        features >= (int64_t)shapes.filter.rank)
        return -1;
    for (size_t i = 0; i < rank; i++) {
        int64_t from = input_places.sizes[i];
        int64_t to = result_places.sizes[i];

        if (from < 0 || from >= (int64_t)shapes.input.rank || to < 0 ||
            to >= (int64_t)shapes.result.rank || !multiply_by(&flops, window[i].size))
            return -1;
        if (window[i].holes > 1)
            shapes.result.sizes[to] = shapes.input.sizes[from];
    }
    if (!multiply_by_all(&flops, &shapes.result) ||
        !multiply_by(&flops, shapes.filter.sizes[features]))
        return -1;
    return flops;
}

/* ---- ops ------------------------------------------------------------------------------------ */

static void add_flops(struct hlo_op *op, int64_t flops)
{
    if (flops < 0 || op->flops < 0 || __builtin_add_overflow(op->flops, flops, &op->flops))
        op->flops = -1;
}

/* JAX tells by the path of scopes: "transpose(jvp(Model))/..." of gradients, also of custom ones,
 * "rematted_computation" of what jax.checkpoint computes once more; TensorFlow by that of its tape.
 */
const char *hlo_scope_phase(struct proto_bytes scope)
{
    if (!scope.length)
        return NULL;
    if (proto_text_has(scope, "rematted_computation/"))
        return "recompute";
    if (proto_text_has(scope, "transpose(") || proto_text_has(scope, "/gradient_tape/") ||
        proto_text_begins(scope, "gradient_tape/"))
        return "backward";
    return "forward";
}

/* Of the largest: a fusion of several is of one phase here, and what it computes most decides; that
 * there are others is told. One whose FLOPs are not known (-1) gives way to any other. */
static void note_product(struct hlo_op *op, struct proto_bytes scope, int64_t flops)
{
    const char *phase = hlo_scope_phase(scope);
    const char *before = hlo_scope_phase(op->product_scope);

    op->has_several_phases |= phase && before && strcmp(phase, before) != 0;
    if (op->product_scope.at && op->product_flops >= flops)
        return;
    op->product_scope = scope;
    op->product_flops = flops;
}

static void note_operands(struct hlo_op *op, const struct hlo_program *program,
                          const struct hlo_instruction *instruction)
{
    for (size_t i = 0; i < 2; i++) {
        const struct hlo_instruction *operand = operand_of(program, instruction, i);

        if (operand && !op->operands[i].length)
            op->operands[i] = operand->shape;
    }
}

static void count_instruction(struct hlo_op *op, struct hlo_program *program,
                              const struct hlo_instruction *instruction, int depth);

/* Each computation is counted once, whoever calls it. While it is counted its total is unknown
 * (-1), so one that calls itself is unknown and ends. */
static void add_computation(struct hlo_op *op, struct hlo_program *program,
                            struct hlo_computation *computation, int depth)
{
    struct hlo_op total = {.flops = 0};

    if (!computation->is_counted) {
        computation->is_counted = true;
        computation->total.flops = -1;
        for (size_t i = 0; i < computation->count; i++)
            count_instruction(&total, program, &program->instructions[computation->first + i],
                              depth + 1);
        computation->total = total;
    }
    add_flops(op, computation->total.flops);
    for (size_t i = 0; i < 2 && !op->operands[i].length; i++)
        op->operands[i] = computation->total.operands[i];
    if (computation->total.product_scope.at)
        note_product(op, computation->total.product_scope, computation->total.product_flops);
    op->has_products |= computation->total.has_products;
    op->has_convolutions |= computation->total.has_convolutions;
    op->has_several_phases |= computation->total.has_several_phases;
}

/* A computation that is not there, or nested too deeply, makes the sum not known rather than
 * too small. */
static void add_called(struct hlo_op *op, struct hlo_program *program,
                       const struct hlo_instruction *instruction, int depth)
{
    struct proto_bytes left = instruction->called;
    uint64_t id;

    while (proto_next_packed(&left, &id)) {
        uint32_t index = hash_map_find(&program->computation_by_id, id);

        if (index == NO_VALUE || depth == FUSIONS_MAX)
            op->flops = -1;
        else
            add_computation(op, program, &program->computations[index], depth);
    }
}

/* Products and convolutions only, as docs/metrics defines FLOPs of the model; what a library
 * computes by a custom call is unknown and makes the whole op unknown, rather than too small. */
static void count_instruction(struct hlo_op *op, struct hlo_program *program,
                              const struct hlo_instruction *instruction, int depth)
{
    struct hlo_sizes summed;
    bool is_product = true;
    int64_t flops = 0;

    if (proto_text_is(instruction->opcode, "dot")) {
        summed = numbers_of(instruction->dot, 1);
        flops = product_flops(program, instruction, &summed);
        op->has_products = true;
    } else if (proto_text_begins(instruction->target, "__cublas$")) {
        summed = numbers_behind(instruction->settings, "\"lhs_contracting_dimensions\"");
        flops = summed.rank ? product_flops(program, instruction, &summed) : -1;
        op->has_products = true;
    } else if (proto_text_is(instruction->opcode, "convolution") ||
               proto_text_begins(instruction->target, "__cudnn$conv")) {
        flops = convolution_flops(program, instruction);
        op->has_convolutions = true;
    } else {
        is_product = false;
        if (proto_text_is(instruction->opcode, "custom-call"))
            op->flops = -1; /* what it computes only its library knows */
        else if (proto_text_is(instruction->opcode, "fusion"))
            add_called(op, program, instruction, depth);
    }
    if (is_product) {
        add_flops(op, flops);
        note_product(op, instruction->scope, flops);
    }
    if ((op->has_products || op->has_convolutions) && !op->operands[0].length)
        note_operands(op, program, instruction);
}

/* What a device runs nothing for, or a copy, whose op the recorder does not tell. */
static bool is_no_work(struct proto_bytes opcode)
{
    static const char *const words[] = {"parameter", "constant",          "tuple",
                                        "bitcast",   "get-tuple-element", "after-all",
                                        "copy",      "copy-start",        "copy-done"};

    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (proto_text_is(opcode, words[i]))
            return true;
    }
    return false;
}

/* ---- reading -------------------------------------------------------------------------------- */

/* OpMetadata: op_name 2, source_file 3, source_line 4. */
static void hlo_read_metadata(struct hlo_op *op, struct proto_bytes message)
{
    struct proto_walk walk = proto_walk_of(message);
    struct proto_field field;

    while (proto_next(&walk, &field)) {
        if (proto_is(&field, 2, PROTO_LENGTH))
            op->scope = field.bytes;
        else if (proto_is(&field, 3, PROTO_LENGTH))
            op->source = field.bytes;
        else if (proto_is(&field, 4, PROTO_VARINT))
            op->line = proto_signed(&field);
    }
}

/* Field numbers of HloInstructionProto (xla/service/hlo.proto). */
static void read_instruction(struct hlo_instruction *instruction, struct hlo_op *op,
                             struct proto_bytes message)
{
    struct proto_walk walk = proto_walk_of(message);
    struct proto_field field;
    struct {
        uint32_t number;
        struct proto_bytes *bytes;
    } texts[] = {
        {1, &op->name},
        {2, &instruction->opcode},
        {3, &instruction->shape},
        {15, &instruction->window},
        {16, &instruction->convolution},
        {28, &instruction->target},
        {30, &instruction->dot},
        {36, &instruction->operands},
        {38, &instruction->called},
        {43, &instruction->settings},
    };

    while (proto_next(&walk, &field)) {
        if (proto_is(&field, 35, PROTO_VARINT))
            instruction->id = proto_signed(&field);
        if (proto_is(&field, 7, PROTO_LENGTH))
            hlo_read_metadata(op, field.bytes);
        instruction->scope = op->scope;
        for (size_t i = 0; field.form == PROTO_LENGTH && i < sizeof texts / sizeof *texts; i++) {
            if (texts[i].number == field.number)
                *texts[i].bytes = field.bytes;
        }
    }
}

/* HloComputationProto: instructions 2, id 5. */
static void read_computation(struct hlo_programs *programs, struct hlo_program *program,
                             struct proto_bytes message, int64_t number)
{
    struct proto_walk walk = proto_walk_of(message);
    struct proto_field field;
    struct hlo_computation computation = {.first = program->count};

    while (proto_next(&walk, &field)) {
        struct hlo_instruction instruction = {.computation = (uint32_t)program->computation_count};
        struct hlo_op op = {.program = number};

        if (proto_is(&field, 5, PROTO_VARINT))
            computation.id = proto_signed(&field);
        if (!proto_is(&field, 2, PROTO_LENGTH))
            continue;
        read_instruction(&instruction, &op, field.bytes);
        computation.working += !is_no_work(instruction.opcode);
        hash_map_set(&program->by_id, (uint64_t)instruction.id, (uint32_t)program->count);
        op.opcode = instruction.opcode;
        ARRAY_ADD(program->instructions, program->count, instruction);
        ARRAY_ADD(programs->ops, programs->count, op);
    }
    computation.count = program->count - computation.first;
    hash_map_set(&program->computation_by_id, (uint64_t)computation.id,
                 (uint32_t)program->computation_count);
    ARRAY_ADD(program->computations, program->computation_count, computation);
}

static uint64_t op_hash(int64_t program, struct proto_bytes name)
{
    uint64_t hash = (uint64_t)program ^ name.length;

    for (size_t i = 0; i < name.length; i++)
        hash = (hash ^ (unsigned char)name.at[i]) * HASH_MULTIPLIER;
    return hash ^ hash >> 32;
}

/* As XLA makes a function's name of an instruction's. */
static unsigned char kernel_character(char c)
{
    return isalnum((unsigned char)c) ? (unsigned char)c : '_';
}

static uint64_t kernel_hash(int64_t program, struct proto_bytes name)
{
    uint64_t hash = (uint64_t)program ^ name.length;

    for (size_t i = 0; i < name.length; i++)
        hash = (hash ^ kernel_character(name.at[i])) * HASH_MULTIPLIER;
    return hash ^ hash >> 32;
}

/* HloModuleProto: computations 3, the id of the one that is the program 6. */
static void read_module(struct hlo_programs *programs, struct hlo_program *program,
                        struct proto_bytes message, int64_t number)
{
    struct proto_walk walk = proto_walk_of(message);
    struct proto_field field;

    while (proto_next(&walk, &field)) {
        if (proto_is(&field, 3, PROTO_LENGTH))
            read_computation(programs, program, field.bytes, number);
        else if (proto_is(&field, 6, PROTO_VARINT))
            program->entry = proto_signed(&field);
    }
}

/* Whether an op runs once per run of its program is known for those of the entry: the body of
 * a loop runs as often as it loops, which the program does not tell. */
void hlo_programs_add(struct hlo_programs *programs, int64_t number, struct proto_bytes proto)
{
    struct proto_walk walk = proto_walk_of(proto);
    struct proto_field field;
    struct hlo_program program = {.count = 0};
    size_t first = programs->count;

    while (proto_next(&walk, &field)) {
        if (proto_is(&field, 1, PROTO_LENGTH) && program.count == 0)
            read_module(programs, &program, field.bytes, number);
    }
    for (size_t i = 0; i < program.count; i++) {
        const struct hlo_instruction *instruction = &program.instructions[i];
        const struct hlo_computation *around = &program.computations[instruction->computation];
        struct hlo_op *op = &programs->ops[first + i];

        count_instruction(op, &program, instruction, 0);
        op->runs_are_known = around->id == program.entry && around->working > 1;
        hash_map_set(&programs->by_key, op_hash(number, op->name), (uint32_t)(first + i));
        hash_map_set(&programs->by_kernel, kernel_hash(number, op->name), (uint32_t)(first + i));
    }
    free(program.instructions);
    free(program.computations);
    hash_map_clear(&program.by_id);
    hash_map_clear(&program.computation_by_id);
}

/* By hash, then compared: a collision makes it unknown, not wrong. */
const struct hlo_op *hlo_op_of(const struct hlo_programs *programs, int64_t program,
                               struct proto_bytes name)
{
    uint32_t index = hash_map_find(&programs->by_key, op_hash(program, name));
    const struct hlo_op *op = index == NO_VALUE ? NULL : &programs->ops[index];

    if (!op || op->program != program || op->name.length != name.length ||
        (name.length && memcmp(op->name.at, name.at, name.length) != 0))
        return NULL;
    return op;
}

const struct hlo_op *hlo_op_of_kernel(const struct hlo_programs *programs, int64_t program,
                                      struct proto_bytes kernel)
{
    uint32_t index = hash_map_find(&programs->by_kernel, kernel_hash(program, kernel));
    const struct hlo_op *op = index == NO_VALUE ? NULL : &programs->ops[index];

    if (!op || op->program != program || op->name.length != kernel.length)
        return NULL;
    for (size_t i = 0; i < kernel.length; i++)
        if (kernel_character(op->name.at[i]) != kernel_character(kernel.at[i]))
            return NULL;
    return op;
}

bool hlo_sizes_text(struct proto_bytes shape, char *text, size_t size)
{
    struct hlo_sizes sizes = sizes_of(shape);
    size_t used = 0;

    for (size_t i = 0; i < sizes.rank && used < size; i++)
        used +=
            (size_t)snprintf(text + used, size - used, "%s%" PRId64, i ? "," : "", sizes.sizes[i]);
    return sizes.rank > 0 && used < size;
}

/* The numbers of PrimitiveType (xla_data.proto). */
const char *hlo_element_type(struct proto_bytes shape)
{
    static const char *const names[] = {
        [1] = "pred",  [2] = "s8",    [3] = "s16",     [4] = "s32",       [5] = "s64",
        [6] = "u8",    [10] = "f16",  [11] = "f32",    [12] = "f64",      [15] = "c64",
        [16] = "bf16", [18] = "c128", [19] = "f8e5m2", [20] = "f8e4m3fn",
    };
    struct hlo_sizes type = numbers_of(shape, 2);

    return type.rank && type.sizes[0] > 0 && type.sizes[0] < (int64_t)(sizeof names / sizeof *names)
               ? names[type.sizes[0]]
               : NULL;
}

void hlo_programs_clear(struct hlo_programs *programs)
{
    free(programs->ops);
    hash_map_clear(&programs->by_key);
    hash_map_clear(&programs->by_kernel);
    *programs = (struct hlo_programs){0};
}
