/* Sees each call of one Python function, of torch's for all calls of modules: what runs it is
 * another C function while it is watched.
 *
 * The function and its code stay the objects that they are. So torch.compile, which reads the code
 * of what it meets and asks on each run whether it is still the same, neither finds anything else
 * nor compiles again. Under the interpreter's lock. */
#ifndef FLOPLEDGER_PYTHON_CALL_WATCH_H
#define FLOPLEDGER_PYTHON_CALL_WATCH_H

#define Py_LIMITED_API 0x030A0000
#include <Python.h>
#include <stdbool.h>

/* What a call hands to the function: first the object that was called, then `count` - 1 further
 * arguments and the values of the keywords in `names` (a tuple, or NULL). */
struct watched_call {
    PyObject *const *arguments;
    Py_ssize_t count;
    PyObject *names;
};

struct call_watcher {
    /* A new reference that goes to `leave`, which need not be told of None; NULL with an exception,
     * which the call then ends with. */
    PyObject *(*enter)(const struct watched_call *call);
    void (*leave)(PyObject *token); /* leaves no exception */
};

/* In place of the watcher before, if any. False with an exception: this is no Python function, or
 * this interpreter does not tell what runs one. */
bool call_watch_set(PyObject *function, const struct call_watcher *watcher);

/* Afterwards all is as it was. Calls that have begun still reach the `leave` of theirs. */
void call_watch_end(void);

/* The arguments behind the object as (tuple, dict), as a function with *args and **kwargs sees
 * them; a new reference, or NULL with an exception. */
PyObject *watched_call_arguments(const struct watched_call *call);

#endif
