/* What the step that runs has had so far: RunningStep of running_step.py in C, for a twentieth of
 * its price. The two have the same attributes and methods; that file says what they mean. */
#ifndef FLOPLEDGER_PYTHON_RUNNING_STEP_H
#define FLOPLEDGER_PYTHON_RUNNING_STEP_H

/* CPython's limited API (3.10 and later). */
#define PY_SSIZE_T_CLEAN
#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x030A0000
#endif
#include "base/core/attributes.h"

#include <Python.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NOT_KNOWN = -1 };

/* A function in a PyType_Slot, which holds functions as pointers to objects: ISO C has no such
 * conversion, POSIX does. */
#define SLOT(function) (__extension__(void *)(function))

/* All under the interpreter's lock. Objects may be NULL until they are set. */
struct running_step {
    PyObject_HEAD

        long long step;
    long long started_at;
    long long mark;
    long long data_wait;
    long long forward;
    long long backward;
    long long optimizer;
    long long optimizer_started;
    long long tokens;
    long long samples;
    long long window_tokens;
    long long window_samples;
    long long batches;
    long long backwards;
    long long evaluates_since;
    long long looks;
    long long looks_since;
    long long looks_until;
    long long loss_step;
    long long read_step;
    long long calls;
    long long poll_at;
    long long wakes_at;
    long long memory_bytes;
    unsigned long long thread;
    unsigned long long ender;
    double read_loss;
    char is_start_seen;
    char is_inside;
    char has_read_loss;
    char skips_update;
    char counts_dtype; /* ids of tokens may be of `dtype` */

    int64_t *ended_at; /* [step_count] */
    size_t step_count;
    size_t step_room;

    PyObject *append_numbers;
    PyObject *sizes_of;
    PyObject *end_false_evaluation;
    PyObject *is_grad_enabled;
    PyObject *compiler; /* the dictionary of torch.compiler */
    PyObject *tensor_type;
    PyObject *user_dict_type;
    PyObject *loss;      /* a weak reference */
    PyObject *loss_copy; /* the same, of what .cpu() made of it */
    PyObject *dtype;     /* the last that was seen */
};

/* Names of attributes and keys, made once: a name given as char * would be made at each look-up. */
struct known_names {
    PyObject *accumulate_grad;
    PyObject *data;
    PyObject *data_ptr;
    PyObject *dtype;
    PyObject *is_compiling;
    PyObject *numel;
    PyObject *shape;
};

extern struct known_names known_names;

/* To be called once, before all else; false with an exception. */
MUST_USE bool make_known_names(void);

/* The type itself, once; NULL with an exception. Owned by the caller. */
PyObject *make_running_step_type(void);

int64_t clock_ns(void);

/* Whether the calling thread is the one that trains. */
bool is_training_thread(const struct running_step *running);

/* The following never fail: an exception in them is dropped, and one that was raised before stays.
 */

/* True where the data is to train on. */
bool running_step_end_wait(struct running_step *running, int64_t started);

/* Adds what a data loader gave; batch_sizes.c. */
void running_step_count(struct running_step *running, PyObject *batch);

void running_step_end_optimizer(struct running_step *running, int64_t now);

/* Writes the step, and begins the next. `flags`: what the caller knows of enum step_entry_flag. */
void running_step_end_step(struct running_step *running, int64_t now, unsigned flags);

/* The program has read its loss of `step`: written with the step that runs; or, flushed, at once.
 */
void running_step_tell_loss(struct running_step *running, double value, long long step);
void running_step_flush_loss(struct running_step *running);

void running_step_begin_backward(struct running_step *running, PyObject *outputs, int64_t now);
void running_step_end_backward(struct running_step *running, int64_t started);
void running_step_note_loss(struct running_step *running, PyObject *tensor);

/* The program has made `value` of `tensor`, which is a number, or an array of one. */
void running_step_see_item(struct running_step *running, PyObject *tensor, PyObject *value);

/* The program has made `copy` of `tensor`, on the host. */
void running_step_see_copy(struct running_step *running, PyObject *tensor, PyObject *copy);

#endif
