/* Calls what it stands for, and notes what that took. */
#include "call_hook.h"

#include <structmember.h>

struct call_hook {
    PyObject_HEAD

        PyObject *attributes;
    PyObject *weak_references;
    PyObject *original;
    struct running_step *running;
    enum call_hook_kind kind;
};

/* All made once, by prepare_call_hooks(). */
static struct {
    PyObject *type;
    PyObject *method_type; /* what binds a function to an object */
} made;

static PyObject *fetch(struct call_hook *hook, PyObject *arguments, PyObject *keywords)
{
    struct running_step *running = hook->running;
    int64_t started = clock_ns();
    PyObject *batch;

    running->is_inside = true;
    batch = PyObject_Call(hook->original, arguments, keywords);
    running->is_inside = false;
    if (running_step_end_wait(running, started) && batch)
        running_step_count(running, batch);
    return batch;
}

/* torch.autograd.grad() trains nothing by itself. */
static bool accumulates(PyObject *arguments, PyObject *keywords)
{
    PyObject *given =
        keywords ? PyDict_GetItemWithError(keywords, known_names.accumulate_grad) : NULL;
    int truth = given ? PyObject_IsTrue(given) : 1;

    if (!given || truth < 0) /* what has no truth is the program's error: the call raises it */
        PyErr_Clear();
    return PyTuple_Size(arguments) > 0 && truth == 1;
}

/* While torch.compile or torch.export looks at the program. */
static bool is_compiling(const struct running_step *running)
{
    PyObject *flag = running->compiler
                         ? PyDict_GetItemWithError(running->compiler, known_names.is_compiling)
                         : NULL;

    if (!flag)
        PyErr_Clear();
    return flag == Py_True;
}

static PyObject *backward(struct call_hook *hook, PyObject *arguments, PyObject *keywords)
{
    struct running_step *running = hook->running;
    PyObject *result;
    int64_t started;

    if (!accumulates(arguments, keywords) || is_compiling(running))
        return PyObject_Call(hook->original, arguments, keywords);
    started = clock_ns();
    running_step_begin_backward(running, PyTuple_GetItem(arguments, 0), started);
    running->is_inside = true;
    result = PyObject_Call(hook->original, arguments, keywords);
    running_step_end_backward(running, started);
    return result;
}

/* Of a number that is read, or a copy that is made. */
static PyObject *look_on(struct call_hook *hook, PyObject *arguments, PyObject *keywords)
{
    PyObject *value = PyObject_Call(hook->original, arguments, keywords);

    if (!value || !hook->running->loss || PyTuple_Size(arguments) == 0)
        return value;
    if (hook->kind == HOOK_ITEM)
        running_step_see_item(hook->running, PyTuple_GetItem(arguments, 0), value);
    else
        running_step_see_copy(hook->running, PyTuple_GetItem(arguments, 0), value);
    return value;
}

static PyObject *call(PyObject *self, PyObject *arguments, PyObject *keywords)
{
    struct call_hook *hook = (struct call_hook *)self;

    if (hook->kind == HOOK_ITEM || hook->kind == HOOK_COPY)
        return look_on(hook, arguments, keywords);
    if (hook->running->is_inside || !is_training_thread(hook->running))
        return PyObject_Call(hook->original, arguments, keywords);
    if (hook->kind == HOOK_FETCH)
        return fetch(hook, arguments, keywords);
    return backward(hook, arguments, keywords);
}

static PyObject *bind_to(PyObject *self, PyObject *object, PyObject *type)
{
    (void)type;
    if (!object) {
        Py_INCREF(self);
        return self;
    }
    return PyObject_CallFunctionObjArgs(made.method_type, self, object, NULL);
}

/* What it does not have itself, the function that it stands for has. */
static PyObject *get_attribute(PyObject *self, PyObject *name)
{
    PyObject *value = PyObject_GenericGetAttr(self, name);

    if (value || !PyErr_ExceptionMatches(PyExc_AttributeError))
        return value;
    PyErr_Clear();
    return PyObject_GetAttr(((struct call_hook *)self)->original, name);
}

/* Pickled and copied as a function is: by its name. */
static PyObject *reduce(PyObject *self, PyObject *ignored)
{
    (void)ignored;
    return PyObject_GetAttrString(self, "__qualname__");
}

static int traverse(PyObject *self, visitproc visit, void *arg)
{
    struct call_hook *hook = (struct call_hook *)self;

    Py_VISIT(Py_TYPE(self));
    Py_VISIT(hook->attributes);
    Py_VISIT(hook->original);
    Py_VISIT(hook->running);
    return 0;
}

static int clear(PyObject *self)
{
    struct call_hook *hook = (struct call_hook *)self;

    Py_CLEAR(hook->attributes);
    return 0;
}

static void deallocate(PyObject *self)
{
    struct call_hook *hook = (struct call_hook *)self;
    PyTypeObject *type = Py_TYPE(self);

    PyObject_GC_UnTrack(self);
    if (hook->weak_references)
        PyObject_ClearWeakRefs(self);
    (void)clear(self);
    Py_CLEAR(hook->original);
    Py_CLEAR(hook->running);
    PyObject_GC_Del(self);
    Py_DECREF(type);
}

static PyMethodDef methods[] = {
    {"__reduce__", reduce, METH_NOARGS, "Its name."},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef members[] = {
    {"__dictoffset__", T_PYSSIZET, offsetof(struct call_hook, attributes), READONLY, NULL},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(struct call_hook, weak_references), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyGetSetDef properties[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "Stands in the place of a function of torch."},
    {Py_tp_call, SLOT(call)},
    {Py_tp_descr_get, SLOT(bind_to)},
    {Py_tp_getattro, SLOT(get_attribute)},
    {Py_tp_traverse, SLOT(traverse)},
    {Py_tp_clear, SLOT(clear)},
    {Py_tp_dealloc, SLOT(deallocate)},
    {Py_tp_methods, methods},
    {Py_tp_members, members},
    {Py_tp_getset, properties},
    {0, NULL},
};

/* As a method it is called without being bound first. */
static PyType_Spec specification = {
    .name = "flopledger.step_writer.CallHook",
    .basicsize = sizeof(struct call_hook),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_METHOD_DESCRIPTOR,
    .slots = slots,
};

bool prepare_call_hooks(void)
{
    PyObject *types = PyImport_ImportModule("types");

    made.method_type = types ? PyObject_GetAttrString(types, "MethodType") : NULL;
    Py_XDECREF(types);
    made.type = PyType_FromSpec(&specification);
    return made.method_type && made.type;
}

PyObject *call_hook_new(enum call_hook_kind kind, struct running_step *running, PyObject *original)
{
    struct call_hook *hook = (struct call_hook *)PyType_GenericAlloc((PyTypeObject *)made.type, 0);

    if (!hook)
        return NULL;
    Py_INCREF(original);
    Py_INCREF((PyObject *)running);
    hook->original = original;
    hook->running = running;
    hook->kind = kind;
    return (PyObject *)hook;
}
