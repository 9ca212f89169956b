/* RunningStep as Python sees it. */
#include "call_hook.h"

#include <stdlib.h>
#include <structmember.h>

static struct running_step *of(PyObject *self)
{
    return (struct running_step *)self;
}

static PyObject *python_end_wait(PyObject *self, PyObject *started)
{
    long long since = PyLong_AsLongLong(started);

    if (PyErr_Occurred())
        return NULL;
    return PyBool_FromLong(running_step_end_wait(of(self), since));
}

static PyObject *python_begin_optimizer(PyObject *self, PyObject *ignored)
{
    (void)ignored;
    of(self)->optimizer_started = clock_ns();
    Py_RETURN_NONE;
}

static PyObject *python_end_optimizer(PyObject *self, PyObject *now)
{
    long long at = PyLong_AsLongLong(now);

    if (PyErr_Occurred())
        return NULL;
    running_step_end_optimizer(of(self), at);
    Py_RETURN_NONE;
}

static PyObject *python_ends_plain_step(PyObject *self, PyObject *optimizer)
{
    struct running_step *running = of(self);
    int64_t now;

    running->calls++;
    if ((uintptr_t)optimizer != running->ender || running->skips_update)
        Py_RETURN_FALSE;
    now = clock_ns();
    if (now >= running->poll_at || running->step >= running->wakes_at)
        Py_RETURN_FALSE;
    running_step_end_step(running, now, 0);
    Py_RETURN_TRUE;
}

static PyObject *python_end_step(PyObject *self, PyObject *arguments)
{
    unsigned flags;
    long long now;

    if (!PyArg_ParseTuple(arguments, "LI", &now, &flags))
        return NULL;
    running_step_end_step(of(self), now, flags);
    Py_RETURN_NONE;
}

static PyObject *python_note_loss(PyObject *self, PyObject *tensor)
{
    running_step_note_loss(of(self), tensor);
    Py_RETURN_NONE;
}

static PyObject *python_tell_loss(PyObject *self, PyObject *arguments)
{
    long long step;
    double value;

    if (!PyArg_ParseTuple(arguments, "dL", &value, &step))
        return NULL;
    running_step_tell_loss(of(self), value, step);
    Py_RETURN_NONE;
}

static PyObject *python_flush_loss(PyObject *self, PyObject *ignored)
{
    (void)ignored;
    running_step_flush_loss(of(self));
    Py_RETURN_NONE;
}

static PyObject *python_end_times(PyObject *self, PyObject *ignored)
{
    const struct running_step *running = of(self);
    PyObject *times = PyList_New((Py_ssize_t)running->step_count);

    (void)ignored;
    for (size_t i = 0; times && i < running->step_count; i++) {
        PyObject *time = PyLong_FromLongLong(running->ended_at[i]);

        if (!time || PyList_SetItem(times, (Py_ssize_t)i, time) != 0)
            Py_CLEAR(times);
    }
    return times;
}

/* These give what is to be put in the place of a function of torch. */
static PyObject *around_fetch(PyObject *self, PyObject *original)
{
    return call_hook_new(HOOK_FETCH, of(self), original);
}

static PyObject *around_backward(PyObject *self, PyObject *original)
{
    return call_hook_new(HOOK_BACKWARD, of(self), original);
}

static PyObject *around_item(PyObject *self, PyObject *original)
{
    return call_hook_new(HOOK_ITEM, of(self), original);
}

static PyObject *around_copy(PyObject *self, PyObject *original)
{
    return call_hook_new(HOOK_COPY, of(self), original);
}

static PyMethodDef methods[] = {
    {"around_fetch", around_fetch, METH_O, "Sees what a data loader gives."},
    {"around_backward", around_backward, METH_O, "Sees backward."},
    {"around_item", around_item, METH_O, "Sees which numbers are read."},
    {"around_copy", around_copy, METH_O, "Sees what is copied to the host."},
    {"end_wait", python_end_wait, METH_O, "Data has come; true: to train on."},
    {"begin_optimizer", python_begin_optimizer, METH_NOARGS, "The step of an optimizer begins."},
    {"end_optimizer", python_end_optimizer, METH_O, "It has ended."},
    {"ends_plain_step", python_ends_plain_step, METH_O, "True: it ended a step; all is done."},
    {"end_step", python_end_step, METH_VARARGS, "Writes the step, and begins the next."},
    {"note_loss", python_note_loss, METH_O, "This is the loss."},
    {"tell_loss", python_tell_loss, METH_VARARGS, "The program has read its loss."},
    {"flush_loss", python_flush_loss, METH_NOARGS, "Writes a loss that waits for a step."},
    {"end_times", python_end_times, METH_NOARGS, "When each step ended."},
    {NULL, NULL, 0, NULL},
};

#define NUMBER(name)                                                    \
    {                                                                   \
#name, T_LONGLONG, offsetof(struct running_step, name), 0, NULL \
    }
#define ADDRESS(name)                                                    \
    {                                                                    \
#name, T_ULONGLONG, offsetof(struct running_step, name), 0, NULL \
    }
#define TRUTH(name)                                                 \
    {                                                               \
#name, T_BOOL, offsetof(struct running_step, name), 0, NULL \
    }
#define OBJECT(name)                                                  \
    {                                                                 \
#name, T_OBJECT, offsetof(struct running_step, name), 0, NULL \
    }

static PyMemberDef members[] = {
    NUMBER(step),
    NUMBER(started_at),
    NUMBER(mark),
    NUMBER(data_wait),
    NUMBER(forward),
    NUMBER(backward),
    NUMBER(optimizer),
    NUMBER(optimizer_started),
    NUMBER(tokens),
    NUMBER(samples),
    NUMBER(window_tokens),
    NUMBER(window_samples),
    NUMBER(batches),
    NUMBER(backwards),
    NUMBER(evaluates_since),
    NUMBER(looks),
    NUMBER(looks_since),
    NUMBER(looks_until),
    NUMBER(loss_step),
    NUMBER(read_step),
    NUMBER(calls),
    NUMBER(poll_at),
    NUMBER(wakes_at),
    NUMBER(memory_bytes),
    ADDRESS(thread),
    ADDRESS(ender),
    TRUTH(is_start_seen),
    TRUTH(is_inside),
    TRUTH(has_read_loss),
    TRUTH(skips_update),
    OBJECT(append_numbers),
    OBJECT(sizes_of),
    OBJECT(end_false_evaluation),
    OBJECT(is_grad_enabled),
    OBJECT(compiler),
    OBJECT(tensor_type),
    OBJECT(user_dict_type),
    {NULL, 0, 0, 0, NULL},
};

static int initialize(PyObject *self, PyObject *arguments, PyObject *keywords)
{
    struct running_step *running = of(self);

    (void)arguments;
    (void)keywords;
    running->step = 1;
    running->started_at = clock_ns();
    running->mark = running->started_at;
    running->thread = PyThread_get_thread_ident();
    running->evaluates_since = NOT_KNOWN;
    running->memory_bytes = NOT_KNOWN;
    running->data_wait = NOT_KNOWN;
    running->backward = NOT_KNOWN;
    running->optimizer = NOT_KNOWN;
    running->optimizer_started = NOT_KNOWN;
    running->tokens = NOT_KNOWN;
    running->samples = NOT_KNOWN;
    running->window_tokens = NOT_KNOWN;
    running->window_samples = NOT_KNOWN;
    return 0;
}

static int traverse(PyObject *self, visitproc visit, void *arg)
{
    struct running_step *running = of(self);

    Py_VISIT(Py_TYPE(self));
    Py_VISIT(running->append_numbers);
    Py_VISIT(running->sizes_of);
    Py_VISIT(running->end_false_evaluation);
    Py_VISIT(running->is_grad_enabled);
    Py_VISIT(running->compiler);
    Py_VISIT(running->tensor_type);
    Py_VISIT(running->user_dict_type);
    Py_VISIT(running->loss);
    Py_VISIT(running->loss_copy);
    Py_VISIT(running->dtype);
    return 0;
}

static int clear(PyObject *self)
{
    struct running_step *running = of(self);

    Py_CLEAR(running->append_numbers);
    Py_CLEAR(running->sizes_of);
    Py_CLEAR(running->end_false_evaluation);
    Py_CLEAR(running->is_grad_enabled);
    Py_CLEAR(running->compiler);
    Py_CLEAR(running->tensor_type);
    Py_CLEAR(running->user_dict_type);
    Py_CLEAR(running->loss);
    Py_CLEAR(running->loss_copy);
    Py_CLEAR(running->dtype);
    return 0;
}

static void deallocate(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);

    PyObject_GC_UnTrack(self);
    (void)clear(self);
    free(of(self)->ended_at);
    PyObject_GC_Del(self);
    Py_DECREF(type);
}

static PyType_Slot slots[] = {
    {Py_tp_doc, "What the step that runs has had so far."},
    {Py_tp_init, SLOT(initialize)},
    {Py_tp_traverse, SLOT(traverse)},
    {Py_tp_clear, SLOT(clear)},
    {Py_tp_dealloc, SLOT(deallocate)},
    {Py_tp_methods, methods},
    {Py_tp_members, members},
    {0, NULL},
};

static PyType_Spec specification = {
    .name = "flopledger.step_writer.RunningStep",
    .basicsize = sizeof(struct running_step),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .slots = slots,
};

PyObject *make_running_step_type(void)
{
    return PyType_FromSpec(&specification);
}
