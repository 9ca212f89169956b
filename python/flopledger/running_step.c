/* Sums up the step that runs, and writes its entry. Python code that does the same:
 * running_step.py. */
#include "running_step.h"

#include "call_hook.h"

#include <math.h>
#include <stdlib.h>
#include <structmember.h>
#include <time.h>

enum { MAX_STEP_TIMES = 1000000 };

struct known_names known_names;

bool make_known_names(void)
{
    const struct {
        PyObject **place;
        const char *name;
    } all[] = {
        {&known_names.accumulate_grad, "accumulate_grad"},
        {&known_names.data, "data"},
        {&known_names.data_ptr, "data_ptr"},
        {&known_names.dtype, "dtype"},
        {&known_names.is_compiling, "_is_compiling_flag"},
        {&known_names.numel, "numel"},
        {&known_names.shape, "shape"},
    };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        *all[i].place = PyUnicode_InternFromString(all[i].name);
        if (!*all[i].place)
            return false;
    }
    return true;
}

int64_t clock_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

bool is_training_thread(const struct running_step *running)
{
    return PyThread_get_thread_ident() == running->thread;
}

/* Adds to what may not be known yet. */
static void add(long long *sum, long long more)
{
    *sum = (*sum > 0 ? *sum : 0) + more;
}

/* Whether `function` says true; false where it is not there, or fails. */
static bool asks(PyObject *function)
{
    PyObject *answer = function ? PyObject_CallNoArgs(function) : NULL;
    bool is_true = answer == Py_True;

    if (!answer)
        PyErr_Clear();
    Py_XDECREF(answer);
    return is_true;
}

static bool is_grad_enabled(struct running_step *running)
{
    PyObject *type = NULL;
    PyObject *value = NULL;
    PyObject *traceback = NULL;
    bool is_enabled;

    PyErr_Fetch(&type, &value, &traceback); /* the end of the data is one */
    is_enabled = asks(running->is_grad_enabled);
    PyErr_Restore(type, value, traceback);
    return is_enabled;
}

bool running_step_end_wait(struct running_step *running, int64_t started)
{
    if (running->evaluates_since != NOT_KNOWN || !is_grad_enabled(running))
        return false;
    if (!running->is_start_seen) {
        running->is_start_seen = true;
        running->started_at = started;
    }
    running->mark = clock_ns();
    add(&running->data_wait, running->mark - started);
    return true;
}

/* ---------------------------------------------------------------------------------------------
 * The loss */

/* By step_record.py, where the record could not take `entry` or was full before. */
static void append_by_python(struct running_step *running, const struct step_entry *entry)
{
    PyObject *done = PyObject_CallFunction(
        running->append_numbers, "LHHLLLLLLLLLLLd", entry->end_ns, entry->kind, entry->flags,
        entry->step, entry->start_ns, entry->end_ns, entry->data_wait_ns, entry->forward_ns,
        entry->backward_ns, entry->optimizer_ns, entry->tokens, entry->samples, entry->memory_bytes,
        entry->count, entry->number);

    if (!done)
        PyErr_Clear();
    Py_XDECREF(done);
}

static void append(struct running_step *running, struct step_entry *entry)
{
    struct error error = {0};

    if (!process_record.is_full && process_record.writer.is_open &&
        process_record_append(entry, &error))
        return;
    if (running->append_numbers)
        append_by_python(running, entry);
}

static void flush_loss(struct running_step *running)
{
    int64_t now = clock_ns();
    struct step_entry entry = {.kind = STEP_ENTRY_LOSS,
                               .step = running->read_step,
                               .start_ns = now,
                               .end_ns = now,
                               .data_wait_ns = NOT_KNOWN,
                               .forward_ns = NOT_KNOWN,
                               .backward_ns = NOT_KNOWN,
                               .optimizer_ns = NOT_KNOWN,
                               .tokens = NOT_KNOWN,
                               .samples = NOT_KNOWN,
                               .memory_bytes = NOT_KNOWN,
                               .count = NOT_KNOWN,
                               .number = running->read_loss};

    if (!running->has_read_loss)
        return;
    running->has_read_loss = false;
    append(running, &entry);
}

static void tell_loss(struct running_step *running, double value, long long step)
{
    flush_loss(running);
    running->has_read_loss = true;
    running->read_loss = value;
    running->read_step = step;
}

/* What a method without arguments gives as a number; 0 where it does not. */
static unsigned long long number_of(PyObject *object, PyObject *method)
{
    PyObject *given = PyObject_CallMethodObjArgs(object, method, NULL);
    unsigned long long number = given ? PyLong_AsUnsignedLongLong(given) : 0;

    Py_XDECREF(given);
    if (PyErr_Occurred()) {
        PyErr_Clear();
        return 0;
    }
    return number;
}

void running_step_note_loss(struct running_step *running, PyObject *tensor)
{
    Py_XDECREF(running->loss);
    running->loss = PyWeakref_NewRef(tensor, NULL);
    if (!running->loss)
        PyErr_Clear();
    running->loss_step = running->step;
}

/* Borrowed; NULL: it has gone, or there was none. */
static PyObject *known_loss(const struct running_step *running)
{
    PyObject *loss = running->loss ? PyWeakref_GetObject(running->loss) : NULL;

    return loss == Py_None ? NULL : loss;
}

/* `loss.detach()` is the loss. The tensor has one element: a number was read of it. */
static bool shares_memory(PyObject *loss, PyObject *tensor)
{
    unsigned long long place = number_of(tensor, known_names.data_ptr);

    return place != 0 && place == number_of(loss, known_names.data_ptr) &&
           number_of(loss, known_names.numel) == 1;
}

void running_step_see_item(struct running_step *running, PyObject *tensor, PyObject *value)
{
    PyObject *loss = known_loss(running);
    bool is_loss;
    double number;

    if (!loss || !is_training_thread(running))
        return;
    Py_INCREF(loss);
    is_loss = loss == tensor || shares_memory(loss, tensor);
    Py_DECREF(loss);
    if (!is_loss)
        return;
    Py_CLEAR(running->loss);
    number = PyFloat_AsDouble(value);
    if (PyErr_Occurred())
        PyErr_Clear();
    else
        tell_loss(running, number, running->loss_step);
}

/* ---------------------------------------------------------------------------------------------
 * Backward and the optimizer */

void running_step_begin_backward(struct running_step *running, PyObject *outputs, int64_t now)
{
    if (running->evaluates_since != NOT_KNOWN && running->end_false_evaluation) {
        PyObject *done = PyObject_CallFunction(running->end_false_evaluation, "L", (long long)now);

        Py_XDECREF(done);
        PyErr_Clear();
    }
    if (now > running->mark)
        running->forward += now - running->mark;
    if (running->loss_step == running->step && known_loss(running))
        return;
    if (PyTuple_Check(outputs) && PyTuple_Size(outputs) > 0)
        running_step_note_loss(running, PyTuple_GetItem(outputs, 0));
}

void running_step_end_backward(struct running_step *running, int64_t started)
{
    running->is_inside = false;
    running->mark = clock_ns();
    add(&running->backward, running->mark - started);
    running->backwards++;
}

static void end_optimizer(struct running_step *running, int64_t now)
{
    if (running->optimizer_started == NOT_KNOWN)
        return;
    add(&running->optimizer, now - running->optimizer_started);
    running->optimizer_started = NOT_KNOWN;
}

/* ---------------------------------------------------------------------------------------------
 * The end of a step */

static void note_end_time(struct running_step *running, int64_t now)
{
    if (running->step_count == running->step_room) {
        size_t room = running->step_room ? 2 * running->step_room : 1024;
        int64_t *larger = running->step_count < MAX_STEP_TIMES
                              ? realloc(running->ended_at, room * sizeof *larger)
                              : NULL;

        if (!larger)
            return;
        running->ended_at = larger;
        running->step_room = room;
    }
    running->ended_at[running->step_count++] = now;
}

static void begin_next(struct running_step *running, int64_t now)
{
    running->step++;
    running->started_at = now;
    running->mark = now;
    running->forward = 0;
    running->batches = 0;
    running->backwards = 0;
    if (running->data_wait != NOT_KNOWN)
        running->data_wait = 0; /* there is a loader; this step may do without */
    running->backward = NOT_KNOWN;
    running->optimizer = NOT_KNOWN;
    running->optimizer_started = NOT_KNOWN;
    running->tokens = NOT_KNOWN;
    running->samples = NOT_KNOWN;
}

static unsigned flags_of(struct running_step *running)
{
    unsigned flags = 0;

    if (!running->is_start_seen)
        flags |= STEP_FLAG_START_UNKNOWN;
    if (running->optimizer == NOT_KNOWN)
        flags |= STEP_FLAG_COMPILED;
    if (running->memory_bytes >= 0)
        flags |= STEP_FLAG_MEMORY_IS_DEVICE;
    if (running->has_read_loss && running->read_step != running->step)
        flags |= STEP_FLAG_LOSS_BEFORE;
    return flags;
}

static void end_step(struct running_step *running, int64_t now, unsigned flags)
{
    bool has_backward = running->backward != NOT_KNOWN;
    struct step_entry entry = {.kind = STEP_ENTRY_STEP,
                               .step = running->step,
                               .start_ns = running->started_at,
                               .end_ns = now,
                               .data_wait_ns = running->data_wait,
                               .forward_ns = has_backward ? running->forward : NOT_KNOWN,
                               .backward_ns = running->backward,
                               .tokens = running->tokens,
                               .samples = running->samples,
                               .memory_bytes = running->memory_bytes,
                               .count = has_backward ? running->backwards : NOT_KNOWN};

    end_optimizer(running, now);
    if (running->has_read_loss && running->read_step < running->step - 1)
        flush_loss(running);
    entry.flags = (uint16_t)(flags | flags_of(running));
    entry.optimizer_ns = running->optimizer;
    entry.number = running->has_read_loss ? running->read_loss : (double)NAN;
    running->is_start_seen = true;
    running->has_read_loss = false;
    note_end_time(running, now);
    append(running, &entry);
    begin_next(running, now);
}

/* ---------------------------------------------------------------------------------------------
 * What Python sees */

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
    end_optimizer(of(self), at);
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
    end_step(running, now, 0);
    Py_RETURN_TRUE;
}

static PyObject *python_end_step(PyObject *self, PyObject *arguments)
{
    unsigned flags;
    long long now;

    if (!PyArg_ParseTuple(arguments, "LI", &now, &flags))
        return NULL;
    end_step(of(self), now, flags);
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
    tell_loss(of(self), value, step);
    Py_RETURN_NONE;
}

static PyObject *python_flush_loss(PyObject *self, PyObject *ignored)
{
    (void)ignored;
    flush_loss(of(self));
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

/* The three give what is to be put in the place of a function of torch. */
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

static PyMethodDef methods[] = {
    {"around_fetch", around_fetch, METH_O, "Sees what a data loader gives."},
    {"around_backward", around_backward, METH_O, "Sees backward."},
    {"around_item", around_item, METH_O, "Sees which numbers are read."},
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
    NUMBER(batches),
    NUMBER(backwards),
    NUMBER(evaluates_since),
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
