/* One call of an op as a trace (or a dispatcher) describes it: its name, and of each argument the
 * shape, the element type and the value. */
#ifndef FLOPLEDGER_COST_FLOPS_OP_CALL_H
#define FLOPLEDGER_COST_FLOPS_OP_CALL_H

#include "base/core/attributes.h"
#include "ledger/serving_range.h"

#include <stdbool.h>
#include <stdint.h>

enum argument_kind {
    ARGUMENT_OTHER,       /* a number, a list of numbers, a text, or not given */
    ARGUMENT_TENSOR,      /* tensor_count 1 */
    ARGUMENT_TENSOR_LIST, /* tensor_count may be 0: the profiler leaves long lists out */
};

struct tensor_shape {
    uint32_t first_dim; /* in op_call.dims */
    uint32_t rank;
};

struct op_argument {
    enum argument_kind kind;
    uint32_t first_tensor; /* in op_call.tensors */
    uint32_t tensor_count;
    int element_bytes; /* 0: not known; a packed pair of 4-bit numbers is one byte */
    bool is_packed_pair;
    bool is_complex;
    const char *value; /* concrete input: "[2, 2]", "True", "0.5"; in the text given, not
                          NUL-terminated; NULL: not given */
    uint32_t value_length;
};

/* The routed experts of a layer, by the model's config. */
struct expert_sizes {
    int64_t hidden;
    int64_t experts;
    int64_t chosen;  /* by each token */
    int64_t weights; /* of one expert, in matmuls */
    double bytes;    /* of one expert, scales and biases included; negative: not known */
};

/* How many layers with attention see how many tokens at most; a window of 0 is none. */
enum { WINDOW_KINDS_MAX = 4 };
struct attention_windows {
    int64_t layers[WINDOW_KINDS_MAX];
    int64_t windows[WINDOW_KINDS_MAX];
    int count;
};

/* What is known of a call besides its arguments; what is NULL is not. */
struct call_surroundings {
    const struct serving_range *step; /* of an inference server */
    const struct expert_sizes *experts;
    const struct attention_windows *windows; /* of the model's layers */
};

/* A zeroed call is an empty one. Its arrays are used again by the next parse. */
struct op_call {
    const char *name;
    struct op_argument *arguments; /* [argument_count] */
    uint32_t argument_count;
    uint32_t argument_capacity;
    struct tensor_shape *tensors;
    uint32_t tensor_count;
    uint32_t tensor_capacity;
    int64_t *dims;
    uint32_t dim_count;
    uint32_t dim_capacity;
    bool has_output;            /* the shape of the result is known, too */
    struct tensor_shape output; /* then: its shape */
    struct call_surroundings around;
};

/* The texts of one call; all but `name` may be NULL or empty. They must outlive the call. */
struct op_call_text {
    const char *name;
    const char *shapes; /* "[[8, 64], [64]]", lists of tensors as "[[[8, 64], [64]], []]" */
    const char *types;  /* "[\"float\", \"TensorList\", \"Scalar\"]" */
    const char *values; /* "[\"\", \"\", \"1\"]" */
    const char *result; /* shapes of arguments of another op: one of them is that of the result */
    uint32_t result_argument; /* which of them */
    struct call_surroundings around;
};

/* False where `shapes` is missing or is no list of shapes (a negative size, text behind it); the
 * call then has no arguments. Missing or odd types and values only mean that they are not known. */
bool op_call_parse(struct op_call *call, const struct op_call_text *text);

void op_call_clear(struct op_call *call);

/* ---- what formulas ask; an index past the last argument is an argument that is not there ---- */

bool is_tensor(const struct op_call *call, uint32_t argument);

/* -1 where the argument is no tensor. */
int rank_of(const struct op_call *call, uint32_t argument);

/* The size of a dimension; negative ones count from the end (-1 is the last). -1 where there is
 * none. */
int64_t size_of(const struct op_call *call, uint32_t argument, int dim);

/* Number of elements; of a list of tensors the sum. -1 where it is neither, or an empty list.
 * May be TOO_LARGE. */
int64_t elements_of(const struct op_call *call, uint32_t argument);

/* Elements times bytes for each; -1 where either is not known. */
int64_t bytes_of(const struct op_call *call, uint32_t argument);

int64_t shape_elements(const struct op_call *call, const struct tensor_shape *shape);

/* The concrete value: false where it is not given or is no such thing. */
bool integer_value(const struct op_call *call, uint32_t argument, int64_t *value);
bool boolean_value(const struct op_call *call, uint32_t argument, bool *value);

enum { VALUE_LIST_MAX = 16 };

/* "[1, 2]" or a single "1"; false also where there are more than VALUE_LIST_MAX. */
struct value_list {
    int64_t values[VALUE_LIST_MAX];
    uint32_t count;
};
bool list_value(const struct op_call *call, uint32_t argument, struct value_list *list);

#endif
