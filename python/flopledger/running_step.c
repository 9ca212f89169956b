/* Sums up the step that runs, and writes its entry. Python code that does the same:
 * running_step.py. */
#include "running_step.h"

#include "process_record.h"

#include <math.h>
#include <stdlib.h>
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

/* An exception that was raised before: no Python code may run while it is pending. */
struct pending_exception {
    PyObject *type;
    PyObject *value;
    PyObject *traceback;
};

static struct pending_exception set_aside(void)
{
    struct pending_exception pending = {0};

    PyErr_Fetch(&pending.type, &pending.value, &pending.traceback);
    return pending;
}

static void raise_again(struct pending_exception pending)
{
    PyErr_Restore(pending.type, pending.value, pending.traceback);
}

static bool is_grad_enabled(struct running_step *running)
{
    struct pending_exception pending = set_aside(); /* the end of the data is one */
    bool is_enabled = asks(running->is_grad_enabled);

    raise_again(pending);
    return is_enabled;
}

/* ---------------------------------------------------------------------------------------------
 * Writing */

/* By step_record.py, where the record could not take `entry` or was full before. */
static void append_by_python(struct running_step *running, const struct step_entry *entry)
{
    struct pending_exception pending = set_aside();
    PyObject *done = PyObject_CallFunction(
        running->append_numbers, "LHHLLLLLLLLLLLd", entry->end_ns, entry->kind, entry->flags,
        entry->step, entry->start_ns, entry->end_ns, entry->data_wait_ns, entry->forward_ns,
        entry->backward_ns, entry->optimizer_ns, entry->tokens, entry->samples, entry->memory_bytes,
        entry->count, entry->number);

    if (!done)
        PyErr_Clear();
    Py_XDECREF(done);
    raise_again(pending);
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

/* An entry of nothing but a span. */
static struct step_entry span(enum step_entry_kind kind, long long step, int64_t start, int64_t end)
{
    return (struct step_entry){.kind = (uint16_t)kind,
                               .step = step,
                               .start_ns = start,
                               .end_ns = end,
                               .data_wait_ns = NOT_KNOWN,
                               .forward_ns = NOT_KNOWN,
                               .backward_ns = NOT_KNOWN,
                               .optimizer_ns = NOT_KNOWN,
                               .tokens = NOT_KNOWN,
                               .samples = NOT_KNOWN,
                               .memory_bytes = NOT_KNOWN,
                               .count = NOT_KNOWN,
                               .number = (double)NAN};
}

/* ---------------------------------------------------------------------------------------------
 * Data */

/* The program has trained until `now`, or evaluated. */
static void end_looks(struct running_step *running, int64_t now)
{
    struct step_entry entry = span(STEP_ENTRY_EVALUATION, running->step, running->looks_since, now);

    running->looks = 0;
    if (!running->is_start_seen)
        return; /* before the first step it is of the start */
    append(running, &entry);
    running->mark = now;
}

static void begin_first_step(struct running_step *running, int64_t at)
{
    if (running->is_start_seen)
        return;
    running->is_start_seen = true;
    running->started_at = at;
}

/* Data that came while no gradients were asked for was to train on after all, if it was one
 * batch. */
static void end_looks_by_backward(struct running_step *running)
{
    if (running->looks > 1) {
        end_looks(running, running->looks_until);
        return;
    }
    running->looks = 0;
    begin_first_step(running, running->looks_since);
    add(&running->data_wait, running->looks_until - running->looks_since);
    if (running->looks_until > running->mark)
        running->mark = running->looks_until;
}

bool running_step_end_wait(struct running_step *running, int64_t started)
{
    if (running->evaluates_since != NOT_KNOWN) {
        running->looks_until = clock_ns();
        return false;
    }
    if (!is_grad_enabled(running)) {
        if (running->looks++ == 0)
            running->looks_since = started;
        running->looks_until = clock_ns();
        return false;
    }
    if (running->looks > 0)
        end_looks(running, started);
    begin_first_step(running, started);
    running->mark = clock_ns();
    add(&running->data_wait, running->mark - started);
    return true;
}

/* ---------------------------------------------------------------------------------------------
 * The loss */

void running_step_flush_loss(struct running_step *running)
{
    int64_t now = clock_ns();
    struct step_entry entry = span(STEP_ENTRY_LOSS, running->read_step, now, now);

    if (!running->has_read_loss)
        return;
    entry.number = running->read_loss;
    running->has_read_loss = false;
    append(running, &entry);
}

void running_step_tell_loss(struct running_step *running, double value, long long step)
{
    running_step_flush_loss(running);
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
    Py_CLEAR(running->loss_copy);
    Py_XDECREF(running->loss);
    running->loss = PyWeakref_NewRef(tensor, NULL);
    if (!running->loss)
        PyErr_Clear();
    running->loss_step = running->step;
}

/* Borrowed; NULL: it has gone, or there was none. */
static PyObject *object_of(PyObject *reference)
{
    PyObject *object = reference ? PyWeakref_GetObject(reference) : NULL;

    return object == Py_None ? NULL : object;
}

/* Whether the tensor is what `reference` is of, or shares its memory, as `loss.detach()`. */
static bool is_same(PyObject *reference, PyObject *tensor)
{
    PyObject *known = object_of(reference);
    unsigned long long place;
    bool shares_memory;

    if (!known || known == tensor)
        return known != NULL;
    Py_INCREF(known);
    place = number_of(tensor, known_names.data_ptr);
    shares_memory = place != 0 && place == number_of(known, known_names.data_ptr) &&
                    number_of(known, known_names.numel) == 1;
    Py_DECREF(known);
    return shares_memory;
}

static bool is_loss(const struct running_step *running, PyObject *tensor)
{
    return is_training_thread(running) &&
           (is_same(running->loss, tensor) || is_same(running->loss_copy, tensor));
}

void running_step_see_item(struct running_step *running, PyObject *tensor, PyObject *value)
{
    double number;

    if (!is_loss(running, tensor))
        return;
    number = PyFloat_AsDouble(value);
    if (PyErr_Occurred()) {
        PyErr_Clear();
        return;
    }
    Py_CLEAR(running->loss);
    Py_CLEAR(running->loss_copy);
    running_step_tell_loss(running, number, running->loss_step);
}

void running_step_see_copy(struct running_step *running, PyObject *tensor, PyObject *copy)
{
    if (copy == tensor || !is_loss(running, tensor))
        return;
    Py_XDECREF(running->loss_copy);
    running->loss_copy = PyWeakref_NewRef(copy, NULL);
    if (!running->loss_copy)
        PyErr_Clear();
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
    if (running->looks > 0)
        end_looks_by_backward(running);
    if (now > running->mark)
        running->forward += now - running->mark;
    if (running->loss_step == running->step && object_of(running->loss))
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
    if (running->optimizer_started != NOT_KNOWN) /* a closure: only what follows is its own */
        running->optimizer_started = running->mark;
}

void running_step_end_optimizer(struct running_step *running, int64_t now)
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

void running_step_end_step(struct running_step *running, int64_t now, unsigned flags)
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

    if (running->data_wait == NOT_KNOWN && running->window_samples >= 0) {
        entry.tokens = running->window_tokens;
        entry.samples = running->window_samples;
        flags |= STEP_FLAG_TOKENS_TRACED;
    }
    running_step_end_optimizer(running, now);
    if (running->has_read_loss && running->read_step < running->step - 1)
        running_step_flush_loss(running);
    entry.flags = (uint16_t)(flags | flags_of(running));
    entry.optimizer_ns = running->optimizer;
    entry.number = running->has_read_loss ? running->read_loss : (double)NAN;
    running->is_start_seen = true;
    running->has_read_loss = false;
    note_end_time(running, now);
    append(running, &entry);
    begin_next(running, now);
}
