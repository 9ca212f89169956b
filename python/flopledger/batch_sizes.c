/* How much a data loader gave to train on: the usual kinds of batches, without a call of Python
 * code; all others are left to batch.py. */
#include "running_step.h"

/* batch.py has the same names, in this order. */
static const char *const token_names[] = {"input_ids", "tokens", "idx", "tokens_ids",
                                          "decoder_input_ids"};

static void add_batch(struct running_step *running, long long samples, long long tokens)
{
    running->samples = (running->samples > 0 ? running->samples : 0) + samples;
    if (tokens >= 0 && (running->tokens >= 0 || running->batches == 0))
        running->tokens = (running->tokens > 0 ? running->tokens : 0) + tokens;
    else
        running->tokens = NOT_KNOWN;
    running->batches++;
}

/* False with an exception. */
static bool has_method_saying_true(PyObject *object, const char *method, bool *is_true)
{
    PyObject *answer = PyObject_CallMethod(object, method, NULL);

    *is_true = answer == Py_True;
    Py_XDECREF(answer);
    return answer != NULL;
}

/* Whether the tensor's type is one that ids have: looked at when it is another than the last. */
static bool may_be_ids(struct running_step *running, PyObject *tensor)
{
    PyObject *dtype = PyObject_GetAttr(tensor, known_names.dtype);
    bool is_floating = true;
    bool is_complex = true;

    if (dtype && dtype != running->dtype) {
        running->counts_dtype = has_method_saying_true(tensor, "is_floating_point", &is_floating) &&
                                has_method_saying_true(tensor, "is_complex", &is_complex) &&
                                !is_floating && !is_complex;
        Py_XDECREF(running->dtype);
        running->dtype = dtype;
        Py_INCREF(dtype);
    }
    Py_XDECREF(dtype);
    if (PyErr_Occurred()) {
        PyErr_Clear();
        return false;
    }
    return running->counts_dtype;
}

/* Adds a tensor of two dimensions. False, and nothing is added: it is something else. */
static bool count_rows(struct running_step *running, PyObject *tensor)
{
    PyObject *shape = PyObject_GetAttr(tensor, known_names.shape);
    bool has_rows = shape && PyTuple_Check(shape) && PyTuple_Size(shape) == 2;

    if (has_rows) {
        long long rows = PyLong_AsLongLong(PyTuple_GetItem(shape, 0));
        long long columns = PyLong_AsLongLong(PyTuple_GetItem(shape, 1));

        has_rows = !PyErr_Occurred() && rows >= 0 && columns >= 0;
        if (has_rows)
            add_batch(running, rows, rows * columns);
    }
    Py_XDECREF(shape);
    if (PyErr_Occurred())
        PyErr_Clear();
    return has_rows;
}

static bool is_tensor(const struct running_step *running, PyObject *object)
{
    return (PyObject *)Py_TYPE(object) == running->tensor_type;
}

/* A 2-D tensor of ids that comes first. */
static bool count_sequence(struct running_step *running, PyObject *batch)
{
    PyObject *first = NULL;

    if (PyList_CheckExact(batch) && PyList_Size(batch) > 0)
        first = PyList_GetItem(batch, 0);
    else if (PyTuple_CheckExact(batch) && PyTuple_Size(batch) > 0)
        first = PyTuple_GetItem(batch, 0);
    else if (is_tensor(running, batch))
        first = batch;
    return first && is_tensor(running, first) && may_be_ids(running, first) &&
           count_rows(running, first);
}

/* One that says which of its tensors has the tokens. */
static bool count_dictionary(struct running_step *running, PyObject *batch)
{
    for (size_t i = 0; i < sizeof token_names / sizeof *token_names; i++) {
        PyObject *tensor = PyDict_GetItemString(batch, token_names[i]);

        if (tensor && is_tensor(running, tensor) && count_rows(running, tensor))
            return true;
    }
    return false;
}

/* A dictionary, or an object around one, as tokenizers give. */
static bool count_named(struct running_step *running, PyObject *batch)
{
    PyObject *inner;
    bool is_counted;

    if (PyDict_CheckExact(batch))
        return count_dictionary(running, batch);
    if (!running->user_dict_type || PyObject_IsInstance(batch, running->user_dict_type) != 1) {
        PyErr_Clear();
        return false;
    }
    inner = PyObject_GetAttr(batch, known_names.data);
    is_counted = inner && PyDict_CheckExact(inner) && count_dictionary(running, inner);
    Py_XDECREF(inner);
    PyErr_Clear();
    return is_counted;
}

/* `sizes_of` gives (samples, tokens), and less than 0 for what is not known. */
static void count_by_python(struct running_step *running, PyObject *batch)
{
    PyObject *sizes =
        running->sizes_of ? PyObject_CallFunctionObjArgs(running->sizes_of, batch, NULL) : NULL;
    long long samples;
    long long tokens;

    if (sizes && PyTuple_Check(sizes) && PyArg_ParseTuple(sizes, "LL", &samples, &tokens) &&
        samples >= 0)
        add_batch(running, samples, tokens);
    Py_XDECREF(sizes);
    PyErr_Clear();
}

void running_step_count(struct running_step *running, PyObject *batch)
{
    if (!count_sequence(running, batch) && !count_named(running, batch))
        count_by_python(running, batch);
}
