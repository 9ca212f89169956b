/* Marks module calls in the trace of torch.profiler, at the price of a look-up a call.
 *
 * An extension of CPython's limited API (3.10 and later): it links neither libpython nor torch.
 * torch's own C functions for profiler ranges are found in the library that is loaded already; an
 * older torch has a type for them.
 * Python code around it: module_markers.py. */
#include "call_watch.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* torch's shim, torch/csrc/inductor/aoti_torch/c/shim.h: both return 0 for success. */
typedef int32_t start_function(const char *name, void *kwargs, void *const *inputs,
                               uint64_t input_count, void **range);
typedef int32_t end_function(void *range);

struct marked_module {
    uintptr_t address; /* of the Python object; 0: free */
    char *name;
};

/* All under the interpreter's lock. */
static struct {
    start_function *start; /* NULL where torch is older than these: ranges are of `range_type` */
    end_function *end;
    PyObject *range_type;          /* torch's own, with __enter__ and __exit__; or NULL */
    struct marked_module *modules; /* [mask + 1]: open addressing */
    size_t mask;
    PyObject *observer; /* called with (module, args, kwargs) of outermost calls; or NULL */
} marks;

static __thread unsigned call_depth; /* of marked modules, on this thread */

static size_t first_slot(uintptr_t address)
{
    return (size_t)(((uint64_t)address >> 4) * UINT64_C(0x9E3779B97F4A7C15) >> 20) & marks.mask;
}

static const char *find_name(uintptr_t address)
{
    if (!marks.modules)
        return NULL;
    for (size_t i = first_slot(address); marks.modules[i].address; i = (i + 1) & marks.mask) {
        if (marks.modules[i].address == address)
            return marks.modules[i].name;
    }
    return NULL;
}

static void forget_modules(void)
{
    if (marks.modules) {
        for (size_t i = 0; i <= marks.mask; i++)
            free(marks.modules[i].name);
    }
    free(marks.modules);
    marks.modules = NULL;
    Py_CLEAR(marks.observer);
}

static bool make_table(Py_ssize_t count)
{
    size_t size = 16;

    while (size < 2 * (size_t)count + 2)
        size *= 2;
    marks.modules = calloc(size, sizeof *marks.modules);
    marks.mask = size - 1;
    return marks.modules != NULL;
}

static bool add_module(PyObject *module, PyObject *name)
{
    PyObject *bytes = PyUnicode_AsUTF8String(name);
    const char *text = bytes ? PyBytes_AsString(bytes) : NULL;
    char *copy = text ? strdup(text) : NULL;
    size_t i = first_slot((uintptr_t)module);

    Py_XDECREF(bytes);
    if (!copy) {
        if (!PyErr_Occurred())
            PyErr_NoMemory();
        return false;
    }
    while (marks.modules[i].address && marks.modules[i].address != (uintptr_t)module)
        i = (i + 1) & marks.mask;
    free(marks.modules[i].name);
    marks.modules[i] = (struct marked_module){.address = (uintptr_t)module, .name = copy};
    return true;
}

/* bind(path): finds torch's functions in the library at `path`, which must be loaded already. */
static PyObject *bind(PyObject *self, PyObject *path)
{
    PyObject *bytes = PyUnicode_EncodeFSDefault(path);
    void *library;

    (void)self;
    if (!bytes)
        return NULL;
    library = dlopen(PyBytes_AsString(bytes), RTLD_LAZY | RTLD_NOLOAD);
    Py_DECREF(bytes);
    if (library) {
        *(void **)&marks.start = dlsym(library, "aoti_record_function_start");
        *(void **)&marks.end = dlsym(library, "aoti_record_function_end");
        dlclose(library); /* torch keeps it open */
    }
    return PyBool_FromLong(marks.start && marks.end);
}

/* bind_type(type): of the ranges, where bind() found no functions. */
static PyObject *bind_type(PyObject *self, PyObject *type)
{
    PyObject *before = marks.range_type;

    (void)self;
    Py_INCREF(type);
    marks.range_type = type;
    Py_XDECREF(before);
    Py_RETURN_NONE;
}

/* mark(modules, observer): `modules` is a list of (module, name); whoever calls keeps the modules
 * alive until unmark(). */
static PyObject *mark(PyObject *self, PyObject *arguments)
{
    PyObject *modules;
    PyObject *observer;

    (void)self;
    if (!PyArg_ParseTuple(arguments, "OO", &modules, &observer))
        return NULL;
    if (!PyList_Check(modules))
        return PyErr_Format(PyExc_TypeError, "a list of (module, name) is needed");
    forget_modules();
    if (!make_table(PyList_Size(modules)))
        return PyErr_NoMemory();
    for (Py_ssize_t i = 0; i < PyList_Size(modules); i++) {
        PyObject *pair = PyList_GetItem(modules, i);
        PyObject *module;
        PyObject *name;

        if (!PyArg_ParseTuple(pair, "OU", &module, &name) || !add_module(module, name)) {
            forget_modules();
            return NULL;
        }
    }
    if (observer != Py_None) {
        Py_INCREF(observer);
        marks.observer = observer;
    }
    Py_RETURN_NONE;
}

static PyObject *unmark(PyObject *self, PyObject *ignored)
{
    (void)self;
    (void)ignored;
    forget_modules();
    Py_RETURN_NONE;
}

/* False where something must reach the user, as Ctrl-C; an error of ours is dropped. */
static bool observe(PyObject *module, PyObject *arguments, PyObject *keywords)
{
    PyObject *observer = marks.observer;
    PyObject *result;

    Py_INCREF(observer);
    result = PyObject_CallFunctionObjArgs(observer, module, arguments, keywords, NULL);
    Py_DECREF(observer);
    Py_XDECREF(result);
    if (result)
        return true;
    if (!PyErr_ExceptionMatches(PyExc_Exception))
        return false;
    PyErr_Clear();
    return true;
}

/* A new reference to what end_range() is given; NULL where there is no range, and no exception. */
static PyObject *begin_range(const char *name)
{
    PyObject *entered;
    PyObject *object;
    void *range = NULL;

    if (marks.start)
        return marks.start(name, NULL, NULL, 0, &range) == 0 && range ? PyLong_FromVoidPtr(range)
                                                                      : NULL;
    object = marks.range_type ? PyObject_CallFunction(marks.range_type, "s", name) : NULL;
    entered = object ? PyObject_CallMethod(object, "__enter__", NULL) : NULL;
    if (!entered)
        Py_CLEAR(object);
    Py_XDECREF(entered);
    PyErr_Clear();
    return object;
}

static void end_range(PyObject *token)
{
    PyObject *left;

    if (PyLong_Check(token)) {
        marks.end(PyLong_AsVoidPtr(token));
        return;
    }
    left = PyObject_CallMethod(token, "__exit__", "OOO", Py_None, Py_None, Py_None);
    Py_XDECREF(left);
    PyErr_Clear();
}

/* Of a module with this name; what it returns goes to leave(). */
static PyObject *open_marked(const char *name)
{
    PyObject *token = name ? begin_range(name) : NULL;

    if (!token)
        Py_RETURN_NONE;
    call_depth++;
    return token;
}

static bool is_observed(void)
{
    return call_depth == 0 && marks.observer;
}

/* enter(module, args, kwargs): opens the range of a module call. */
static PyObject *enter(PyObject *self, PyObject *const *arguments, Py_ssize_t count)
{
    const char *name = count > 0 ? find_name((uintptr_t)arguments[0]) : NULL;

    (void)self;
    if (name && is_observed() && count == 3) {
        if (!observe(arguments[0], arguments[1], arguments[2]))
            return NULL;
        name = find_name((uintptr_t)arguments[0]); /* the observer ran Python code */
    }
    return open_marked(name);
}

static void close_marked(PyObject *token)
{
    if (call_depth > 0)
        call_depth--;
    end_range(token);
}

static PyObject *leave(PyObject *self, PyObject *token)
{
    (void)self;
    if (token != Py_None)
        close_marked(token);
    Py_RETURN_NONE;
}

/* ---- calls that are watched ------------------------------------------------------------------ */

/* Python's callables, where calls are to go to those: enter(module, args, kwargs) and leave(token).
 */
static PyObject *python_enter, *python_leave;

static PyObject *enter_call(const struct watched_call *call)
{
    const char *name = find_name((uintptr_t)call->arguments[0]);
    PyObject *both;
    bool is_seen;

    if (!name || !is_observed())
        return open_marked(name);
    both = watched_call_arguments(call);
    is_seen =
        both && observe(call->arguments[0], PyTuple_GetItem(both, 0), PyTuple_GetItem(both, 1));
    Py_XDECREF(both);
    return is_seen ? open_marked(find_name((uintptr_t)call->arguments[0])) : NULL;
}

static PyObject *enter_in_python(const struct watched_call *call)
{
    PyObject *entering = python_enter, *leaving = python_leave;
    PyObject *both = watched_call_arguments(call), *token = NULL, *pair;

    Py_INCREF(entering); /* what is called may end the watch */
    Py_INCREF(leaving);
    if (both)
        token = PyObject_CallFunctionObjArgs(entering, call->arguments[0], PyTuple_GetItem(both, 0),
                                             PyTuple_GetItem(both, 1), NULL);
    pair = token ? PyTuple_Pack(2, leaving, token) : NULL;
    Py_XDECREF(token);
    Py_XDECREF(both);
    Py_DECREF(entering);
    Py_DECREF(leaving);
    return pair;
}

/* The one of its own enter(), whichever is the watcher by now. */
static void leave_in_python(PyObject *pair)
{
    PyObject *result =
        PyObject_CallFunctionObjArgs(PyTuple_GetItem(pair, 0), PyTuple_GetItem(pair, 1), NULL);

    Py_XDECREF(result);
    PyErr_Clear();
}

/* watch(function), watch(function, enter, leave): from now on each call of `function`, a method of
 * modules, is between the marks, or these. */
static PyObject *watch(PyObject *self, PyObject *arguments)
{
    static const struct call_watcher marks_alone = {enter_call, close_marked};
    static const struct call_watcher callables = {enter_in_python, leave_in_python};
    PyObject *function, *entering = NULL, *leaving = NULL, *before[2];

    (void)self;
    if (!PyArg_ParseTuple(arguments, "O|OO", &function, &entering, &leaving))
        return NULL;
    if (!call_watch_set(function, leaving ? &callables : &marks_alone))
        return NULL;
    Py_XINCREF(entering);
    Py_XINCREF(leaving);
    before[0] = python_enter;
    before[1] = python_leave;
    python_enter = entering;
    python_leave = leaving;
    Py_XDECREF(before[0]);
    Py_XDECREF(before[1]);
    Py_RETURN_NONE;
}

static PyObject *unwatch(PyObject *self, PyObject *ignored)
{
    (void)self;
    (void)ignored;
    call_watch_end();
    Py_CLEAR(python_enter);
    Py_CLEAR(python_leave);
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"bind", bind, METH_O, "Finds torch's functions in a library that is loaded."},
    {"bind_type", bind_type, METH_O, "Makes ranges of this type, where torch has no functions."},
    {"mark", mark, METH_VARARGS, "Marks these modules from now on."},
    {"unmark", unmark, METH_NOARGS, "Marks no module any more."},
    {"enter", (PyCFunction)(void (*)(void))enter, METH_FASTCALL, "A module call begins."},
    {"leave", leave, METH_O, "A module call ends."},
    {"watch", watch, METH_VARARGS, "Sees each call of this function."},
    {"unwatch", unwatch, METH_NOARGS, "Sees calls no more."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "module_marks",
    .m_doc = "Marks module calls in the trace of torch.profiler.",
    .m_size = -1,
    .m_methods = functions,
};

PyMODINIT_FUNC PyInit_module_marks(void);

PyMODINIT_FUNC PyInit_module_marks(void)
{
    return PyModule_Create(&definition);
}
