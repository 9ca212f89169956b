/* The table of FLOPs formulas (src/cost/flops) for Python: counts one call of an op by its shapes.
 *
 * An extension of CPython's limited API (3.10 and later). Python code around it: op_counter.py. */
#define Py_LIMITED_API 0x030A0000
#include "base/core/error.h"
#include "cost/flops/count_flops.h"
#include "cost/flops/user_formula.h"

#include <Python.h>

/* Under the interpreter's lock; kept from call to call, as its arrays are used again. */
static struct op_call call;
static struct user_formulas user;

/* count(name, shapes, types, values): the texts are as a trace has them. Returns (kind, flops,
 * model_flops, masked_flops, macs, bytes, why). */
static PyObject *count(PyObject *self, PyObject *arguments)
{
    struct op_call_text text = {0};
    struct op_cost cost;

    (void)self;
    if (!PyArg_ParseTuple(arguments, "szzz", &text.name, &text.shapes, &text.types, &text.values))
        return NULL;
    cost = count_flops_of_text(&call, &text, &user);
    return Py_BuildValue("(iLLLLLz)", (int)cost.kind, (long long)cost.flops,
                         (long long)cost.model_flops, (long long)cost.masked_flops,
                         (long long)cost.macs, (long long)cost.bytes, cost.why);
}

/* add_formulas(text): the user's own, as in a file for `--formulas`. */
static PyObject *add_formulas(PyObject *self, PyObject *arguments)
{
    struct error error = {0};
    const char *text;

    (void)self;
    if (!PyArg_ParseTuple(arguments, "s", &text))
        return NULL;
    if (!user_formulas_add(&user, "formula", text, &error))
        return PyErr_Format(PyExc_ValueError, "%s", error.message);
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"add_formulas", add_formulas, METH_VARARGS, "Adds formulas of the user's own."},
    {"count", count, METH_VARARGS, "What one call of an op costs."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "flop_counts", .m_doc = "The table of FLOPs formulas.",
    .m_size = -1,          .m_methods = functions,
};

PyMODINIT_FUNC PyInit_flop_counts(void);

PyMODINIT_FUNC PyInit_flop_counts(void)
{
    PyObject *module = PyModule_Create(&definition);

    if (module && (PyModule_AddIntConstant(module, "NOT_COUNTED", COST_NOT_COUNTED) != 0 ||
                   PyModule_AddIntConstant(module, "FREE", COST_FREE) != 0 ||
                   PyModule_AddIntConstant(module, "MOVEMENT", COST_MOVEMENT) != 0 ||
                   PyModule_AddIntConstant(module, "POINTWISE", COST_POINTWISE) != 0 ||
                   PyModule_AddIntConstant(module, "MATRIX", COST_MATRIX) != 0)) {
        Py_DECREF(module);
        return NULL;
    }
    return module;
}
