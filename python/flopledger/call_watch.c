/* Watches a Python function by the pointer through which the interpreter runs it: since 3.12
 * PyFunction_SetVectorcall sets that. Before, it is looked for in the function's object: the one
 * word that holds the address of the interpreter's own function for it. In 3.11 a call that Python
 * code makes of the function itself, by super().__call__(x), does not go through it. */
#include "call_watch.h"

#include <dlfcn.h>
#include <string.h>

/* Of Python's headers, which have them outside of the limited API. */
typedef PyObject *vector_call(PyObject *function, PyObject *const *arguments, size_t flags,
                              PyObject *names);
typedef vector_call *get_vector_call(PyObject *function);
typedef void set_vector_call(PyObject *function, vector_call *call);

#define OFFSET_FLAG ((size_t)1 << (8 * sizeof(size_t) - 1)) /* PY_VECTORCALL_ARGUMENTS_OFFSET */

static struct {
    PyObject *function; /* that run_watched runs; NULL: none */
    vector_call *original;
    bool is_on; /* false: calls are only handed on */
    struct call_watcher watcher;
} watch;

/* Of the interpreter; NULL where it has none of the name. */
static struct {
    get_vector_call *get;
    set_vector_call *set;
    vector_call *usual; /* what runs a function that nobody has replaced it of */
} python;

static void find_functions(void)
{
    *(void **)&python.get = dlsym(RTLD_DEFAULT, "PyVectorcall_Function");
    *(void **)&python.set = dlsym(RTLD_DEFAULT, "PyFunction_SetVectorcall");
    *(void **)&python.usual = dlsym(RTLD_DEFAULT, "_PyFunction_Vectorcall");
}

static vector_call run_watched;

/* Where a function's object of a Python before 3.12 holds `call`; NULL where no word or several do.
 */
static vector_call **find_word(PyObject *function, vector_call *call)
{
    PyObject *size = PyObject_GetAttrString((PyObject *)Py_TYPE(function), "__basicsize__");
    size_t bytes = size ? PyLong_AsSize_t(size) : 0;
    vector_call **words = (vector_call **)(void *)function, **found = NULL;

    Py_XDECREF(size);
    PyErr_Clear();
    if (bytes == (size_t)-1)
        return NULL;
    for (size_t i = sizeof(PyObject) / sizeof *words; i < bytes / sizeof *words; i++) {
        if (words[i] != call)
            continue;
        if (found)
            return NULL;
        found = &words[i];
    }
    return found;
}

/* Makes `call` run the function where `before` does; false where that cannot be. */
static bool replace_call(PyObject *function, vector_call *before, vector_call *call)
{
    vector_call **word;

    if (python.get && python.set) {
        if (python.get(function) != before)
            return false;
        python.set(function, call);
        return true;
    }
    word = find_word(function, before);
    if (word)
        *word = call;
    return word != NULL;
}

static vector_call *call_of(PyObject *function)
{
    find_functions();
    return python.get && python.set ? python.get(function) : python.usual;
}

static bool is_python_function(PyObject *object)
{
    PyObject *name = PyObject_GetAttrString((PyObject *)Py_TYPE(object), "__name__");
    bool is_function = name && PyUnicode_CompareWithASCIIString(name, "function") == 0;

    Py_XDECREF(name);
    PyErr_Clear();
    return is_function;
}

bool call_watch_set(PyObject *function, const struct call_watcher *watcher)
{
    if (watch.function != function) {
        vector_call *original = is_python_function(function) ? call_of(function) : NULL;

        if (watch.function || !original || !replace_call(function, original, run_watched)) {
            PyErr_SetString(PyExc_TypeError, "this Python does not tell what runs the function");
            return false;
        }
        Py_INCREF(function);
        watch.function = function;
        watch.original = original;
    }
    watch.watcher = *watcher;
    watch.is_on = true;
    return true;
}

void call_watch_end(void)
{
    PyObject *function = watch.function;

    watch.is_on = false;
    /* Where another tool has put its own around ours, ours stays, and only hands calls on. */
    if (function && replace_call(function, run_watched, watch.original)) {
        watch.function = NULL;
        Py_DECREF(function);
    }
}

static PyObject *run_watched(PyObject *function, PyObject *const *arguments, size_t flags,
                             PyObject *names)
{
    struct watched_call call = {arguments, (Py_ssize_t)(flags & ~OFFSET_FLAG), names};
    struct call_watcher watcher = watch.watcher;
    PyObject *token, *result, *kind, *value, *trace;

    if (!watch.is_on || call.count == 0)
        return watch.original(function, arguments, flags, names);
    token = watcher.enter(&call);
    if (!token)
        return NULL;
    result = watch.original(function, arguments, flags, names);
    if (token != Py_None) {
        PyErr_Fetch(&kind, &value, &trace); /* the call's own */
        watcher.leave(token);
        PyErr_Restore(kind, value, trace);
    }
    Py_DECREF(token);
    return result;
}

PyObject *watched_call_arguments(const struct watched_call *call)
{
    PyObject *tuple = PyTuple_New(call->count - 1);
    PyObject *keywords = PyDict_New();
    Py_ssize_t named = call->names ? PyTuple_Size(call->names) : 0;
    PyObject *both;

    for (Py_ssize_t i = 1; tuple && i < call->count; i++) {
        Py_INCREF(call->arguments[i]);
        PyTuple_SetItem(tuple, i - 1, call->arguments[i]);
    }
    for (Py_ssize_t i = 0; keywords && i < named; i++)
        if (PyDict_SetItem(keywords, PyTuple_GetItem(call->names, i),
                           call->arguments[call->count + i]) < 0)
            Py_CLEAR(keywords);
    both = tuple && keywords ? PyTuple_Pack(2, tuple, keywords) : NULL;
    Py_XDECREF(tuple);
    Py_XDECREF(keywords);
    return both;
}
