/* Reads the shapes, types and values of an op's arguments as traces write them. */
#include "cost/flops/op_call.h"

#include "base/core/array.h"
#include "base/text/prefix.h"
#include "cost/flops/saturating.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { SHAPE_DEPTH_MAX = 3 }; /* the list of arguments, a list of tensors, a shape */

struct element_type {
    const char *name; /* or how it begins */
    int bytes;
};

/* As c10::demangle names them. Longer names stand before those that they begin with. */
static const struct element_type element_types[] = {
    {"float", 4},
    {"double", 8},
    {"c10::BFloat16", 2},
    {"c10::Half", 2},
    {"c10::Float8", 1},
    {"c10::Float4", 1}, /* two numbers in a byte */
    {"c10::complex<float>", 8},
    {"c10::complex<double>", 16},
    {"c10::complex<c10::Half>", 4},
    {"long", 8}, /* "long int" */
    {"int", 4},
    {"short", 2},
    {"signed char", 1},
    {"unsigned char", 1},
    {"unsigned short", 2},
    {"unsigned int", 4},
    {"unsigned long", 8},
    {"bool", 1},
    {"c10::qint8", 1},
    {"c10::quint8", 1},
    {"c10::qint32", 4},
    {"at::BFloat16", 2},
    {"at::Half", 2},
};

/* Arrays keep their capacity from call to call: a trace has millions of calls, and parsing one
 * allocates nothing once the largest was seen. */
static struct op_argument *add_argument(struct op_call *call)
{
    ARRAY_RESERVE(call->arguments, call->argument_capacity, call->argument_count + 1);
    call->arguments[call->argument_count] =
        (struct op_argument){.first_tensor = call->tensor_count};
    return &call->arguments[call->argument_count++];
}

/* A tensor is a range of `dims`, so a call with a list of a hundred tensors has one array of
 * sizes, not a hundred. */
static void add_tensor(struct op_call *call, uint32_t first_dim)
{
    ARRAY_RESERVE(call->tensors, call->tensor_capacity, call->tensor_count + 1);
    call->tensors[call->tensor_count++] =
        (struct tensor_shape){.first_dim = first_dim, .rank = call->dim_count - first_dim};
}

/* Saturating: a size beyond 63 bits refuses the whole text, as no tensor has it. */
static bool add_dim(struct op_call *call, const char **at)
{
    int64_t size = 0;

    for (; **at >= '0' && **at <= '9'; ++*at) {
        size = plus(times(size, 10), **at - '0');
        if (size == TOO_LARGE)
            return false;
    }
    ARRAY_RESERVE(call->dims, call->dim_capacity, call->dim_count + 1);
    call->dims[call->dim_count++] = size;
    return true;
}

/* What lies open while the text of shapes is walked through. */
struct shape_walk {
    int depth;             /* open brackets */
    uint32_t first_dim[2]; /* of the open argument and the open tensor of a list */
    bool is_list;          /* the open argument holds brackets: it is a list of tensors */
};

/* Depth 1 is the list of arguments, 2 an argument, 3 a tensor of a list. A number beside a
 * bracket in one argument is neither a shape nor a list. */
static bool open_bracket(struct op_call *call, struct shape_walk *walk)
{
    if (++walk->depth > SHAPE_DEPTH_MAX)
        return false;
    if (walk->depth == 2) {
        add_argument(call);
        walk->first_dim[0] = call->dim_count;
        walk->is_list = false;
    } else if (walk->depth == 3) {
        if (!walk->is_list && call->dim_count > walk->first_dim[0])
            return false; /* "[[1, [2]]]" */
        walk->is_list = true;
        walk->first_dim[1] = call->dim_count;
    }
    return true;
}

/* Depth 2 ends a tensor of a list, depth 1 an argument: a list if tensors were in it, else a
 * tensor whose sizes these were. */
static bool op_call_close_bracket(struct op_call *call, struct shape_walk *walk)
{
    struct op_argument *argument;

    if (walk->depth-- == 0)
        return false;
    if (walk->depth == 2) {
        add_tensor(call, walk->first_dim[1]);
        call->arguments[call->argument_count - 1].tensor_count++;
    } else if (walk->depth == 1) {
        argument = &call->arguments[call->argument_count - 1];
        argument->kind = walk->is_list ? ARGUMENT_TENSOR_LIST : ARGUMENT_TENSOR;
        if (!walk->is_list) {
            add_tensor(call, walk->first_dim[0]);
            argument->tensor_count = 1;
        }
    }
    return true;
}

/* One character or number of the shapes; false where it does not belong there. */
static bool collect_shape_token(struct op_call *call, struct shape_walk *walk, const char **at)
{
    if (**at >= '0' && **at <= '9')
        return walk->depth == (walk->is_list ? 3 : 2) && add_dim(call, at);
    if (**at == '[') {
        ++*at;
        return open_bracket(call, walk);
    }
    if (**at == ']') {
        ++*at;
        return op_call_close_bracket(call, walk);
    }
    return *(*at)++ == ',';
}

/* One pass and no recursion: depth is bounded by what can mean anything, so a file of brackets
 * cannot exhaust the stack. */
static bool parse_shapes(struct op_call *call, const char *text)
{
    struct shape_walk walk = {0};

    do {
        while (*text == ' ' || *text == '\n' || *text == '\t')
            text++;
        if (*text == '\0' || !collect_shape_token(call, &walk, &text))
            return false;
    } while (walk.depth > 0);
    return *text == '\0';
}

/* The next string of a JSON list of strings: false at its end. Escapes are left as they are. */
static bool next_string(const char **at, const char **start, uint32_t *length)
{
    const char *quote = strchr(*at, '"');
    const char *end;

    if (!quote)
        return false;
    for (end = quote + 1; *end && *end != '"'; end++)
        if (*end == '\\' && end[1])
            end++;
    if (!*end)
        return false;
    *start = quote + 1;
    *length = (uint32_t)(end - quote - 1);
    *at = end + 1;
    return true;
}

static void set_type(const struct op_call *call, struct op_argument *argument, const char *name,
                     uint32_t length)
{
    static const char tensor_list[] = "TensorList";

    if (length == sizeof tensor_list - 1 && memcmp(name, tensor_list, length) == 0) {
        /* "[]" is a list that is empty or was left out, not a scalar tensor */
        if (argument->kind == ARGUMENT_TENSOR)
            argument->tensor_count = 0;
        argument->kind = ARGUMENT_TENSOR_LIST;
        argument->element_bytes = 0;
        return;
    }
    for (size_t i = 0; i < sizeof element_types / sizeof element_types[0]; i++) {
        const struct element_type *type = &element_types[i];
        size_t type_length = strlen(type->name);

        if (type_length <= length && memcmp(name, type->name, type_length) == 0) {
            argument->element_bytes = type->bytes;
            argument->is_packed_pair = has_prefix(type->name, "c10::Float4");
            argument->is_complex = has_prefix(type->name, "c10::complex");
            return;
        }
    }
    /* "Scalar", "ScalarList", "": only what has dimensions is a tensor of a type not known here */
    if (argument->kind == ARGUMENT_TENSOR && call->tensors[argument->first_tensor].rank == 0)
        argument->kind = ARGUMENT_OTHER;
}

/* Elements of a list of tensors have the type of the first tensor: traces do not say it. */
static void guess_list_types(struct op_call *call)
{
    int bytes = 0;

    for (uint32_t i = 0; i < call->argument_count && bytes == 0; i++)
        if (call->arguments[i].kind == ARGUMENT_TENSOR && size_of(call, i, 0) >= 0)
            bytes = call->arguments[i].element_bytes;
    for (uint32_t i = 0; i < call->argument_count; i++)
        if (call->arguments[i].kind == ARGUMENT_TENSOR_LIST)
            call->arguments[i].element_bytes = bytes;
}

/* Types stand in a list of their own, in the order of the shapes; a shorter one leaves the
 * last arguments without a type, whose bytes are then unknown. */
static void parse_types(struct op_call *call, const char *text)
{
    const char *name;
    uint32_t length;

    for (uint32_t i = 0; i < call->argument_count && next_string(&text, &name, &length); i++)
        set_type(call, &call->arguments[i], name, length);
    guess_list_types(call);
}

/* Values may be more than shapes are (scalars at the end): these become arguments without a
 * shape. */
static void parse_values(struct op_call *call, const char *text)
{
    const char *value;
    uint32_t length;

    for (uint32_t i = 0; next_string(&text, &value, &length); i++) {
        struct op_argument *argument =
            i < call->argument_count ? &call->arguments[i] : add_argument(call);

        if (length > 0) {
            argument->value = value;
            argument->value_length = length;
        }
    }
}

/* Reads behind the arguments, and takes away again what is no shape of the result. */
static void parse_result(struct op_call *call, const struct op_call_text *text)
{
    uint32_t count = call->argument_count;
    uint32_t argument = count + text->result_argument;

    if (parse_shapes(call, text->result) && argument < call->argument_count &&
        call->arguments[argument].kind == ARGUMENT_TENSOR) {
        call->output = call->tensors[call->arguments[argument].first_tensor];
        call->has_output = true;
    }
    call->argument_count = count;
}

/* Without shapes there is nothing to count; types and values may lack, and formulas ask for
 * what they need. */
bool op_call_parse(struct op_call *call, const struct op_call_text *text)
{
    call->name = text->name;
    call->argument_count = 0;
    call->tensor_count = 0;
    call->dim_count = 0;
    call->has_output = false;
    call->around = text->around;
    if (!text->shapes || !parse_shapes(call, text->shapes)) {
        call->argument_count = 0;
        return false;
    }
    if (text->types && *text->types)
        parse_types(call, text->types);
    if (text->values && *text->values)
        parse_values(call, text->values);
    if (text->result && *text->result)
        parse_result(call, text);
    return true;
}

void op_call_clear(struct op_call *call)
{
    free(call->arguments);
    free(call->tensors);
    free(call->dims);
    *call = (struct op_call){0};
}

bool is_tensor(const struct op_call *call, uint32_t argument)
{
    return argument < call->argument_count && call->arguments[argument].kind == ARGUMENT_TENSOR;
}

int rank_of(const struct op_call *call, uint32_t argument)
{
    if (!is_tensor(call, argument))
        return -1;
    return (int)call->tensors[call->arguments[argument].first_tensor].rank;
}

/* Negative from the end, as in Python. -1 for what is not there: every formula compares with
 * it or multiplies to a negative number, which is refused. */
int64_t size_of(const struct op_call *call, uint32_t argument, int dim)
{
    int rank = rank_of(call, argument);

    if (dim < 0)
        dim += rank;
    if (dim < 0 || dim >= rank)
        return -1;
    return call
        ->dims[call->tensors[call->arguments[argument].first_tensor].first_dim + (uint32_t)dim];
}

int64_t shape_elements(const struct op_call *call, const struct tensor_shape *shape)
{
    int64_t elements = 1;

    for (uint32_t i = 0; i < shape->rank; i++)
        elements = times(elements, call->dims[shape->first_dim + i]);
    return elements;
}

/* Of a list the sum over its tensors. An empty list has no elements known, since torch leaves
 * long lists out. */
int64_t elements_of(const struct op_call *call, uint32_t argument)
{
    const struct op_argument *about;
    int64_t elements = 0;

    if (argument >= call->argument_count)
        return -1;
    about = &call->arguments[argument];
    if (about->kind == ARGUMENT_OTHER || about->tensor_count == 0)
        return -1;
    for (uint32_t i = 0; i < about->tensor_count; i++)
        elements = plus(elements, shape_elements(call, &call->tensors[about->first_tensor + i]));
    return elements;
}

/* Unknown where the type is: a guess of 2 or 4 bytes would be wrong by a factor of two. */
int64_t bytes_of(const struct op_call *call, uint32_t argument)
{
    int64_t elements = elements_of(call, argument);

    if (elements < 0 || call->arguments[argument].element_bytes == 0)
        return -1;
    return times(elements, call->arguments[argument].element_bytes);
}

/* An integer, also one written as "2." as torch writes doubles. */
static bool op_call_parse_integer(const char **at, const char *end, int64_t *value)
{
    bool is_negative = *at < end && **at == '-';
    int64_t number = 0;
    const char *first;

    *at += is_negative;
    for (first = *at; *at < end && **at >= '0' && **at <= '9'; ++*at)
        number = plus(times(number, 10), **at - '0');
    if (*at == first || number == TOO_LARGE)
        return false;
    *value = is_negative ? -number : number;
    return true;
}

/* All of the text must be the number: "2.5" and "2, 3" are none. */
bool integer_value(const struct op_call *call, uint32_t argument, int64_t *value)
{
    const char *at;
    const char *end;

    if (argument >= call->argument_count || !call->arguments[argument].value)
        return false;
    at = call->arguments[argument].value;
    end = at + call->arguments[argument].value_length;
    return op_call_parse_integer(&at, end, value) && at == end;
}

/* As Python prints them; a number in place of one is another argument. */
bool boolean_value(const struct op_call *call, uint32_t argument, bool *value)
{
    const struct op_argument *about;

    if (argument >= call->argument_count || !call->arguments[argument].value)
        return false;
    about = &call->arguments[argument];
    *value = about->value_length == 4 && memcmp(about->value, "True", 4) == 0;
    return *value || (about->value_length == 5 && memcmp(about->value, "False", 5) == 0);
}

/* "True" and "False" of a list count as 1 and 0. */
static bool parse_list_item(const char **at, const char *end, int64_t *value)
{
    if (end - *at >= 4 && memcmp(*at, "True", 4) == 0) {
        *at += 4;
        *value = 1;
        return true;
    }
    if (end - *at >= 5 && memcmp(*at, "False", 5) == 0) {
        *at += 5;
        *value = 0;
        return true;
    }
    return op_call_parse_integer(at, end, value);
}

/* At most VALUE_LIST_MAX numbers, as a stride or a window has: longer lists are no arguments
 * of a formula. */
bool list_value(const struct op_call *call, uint32_t argument, struct value_list *list)
{
    const char *at;
    const char *end;

    list->count = 0;
    if (argument >= call->argument_count || !call->arguments[argument].value)
        return false;
    at = call->arguments[argument].value;
    end = at + call->arguments[argument].value_length;
    while (at < end) {
        if (*at == '[' || *at == ']' || *at == ',' || *at == ' ') {
            at++;
            continue;
        }
        if (list->count == VALUE_LIST_MAX || !parse_list_item(&at, end, &list->values[list->count]))
            return false;
        list->count++;
    }
    return true;
}
