/* Writes the step record of this process (src/trace/step_record) at the price of a call an entry,
 * and takes entries of any process apart.
 *
 * An extension of CPython's limited API (3.10 and later). Python code around it: step_record.py. */
#include "call_hook.h"
#include "process_record.h"

#include <string.h>

static PyObject *raise_error(const struct error *error)
{
    return PyErr_Format(error->class == ERROR_USAGE ? PyExc_FileExistsError : PyExc_OSError, "%s",
                        error->message);
}

/* open(path, header): the whole header. FileExistsError: the path is taken. */
static PyObject *open_record(PyObject *self, PyObject *arguments)
{
    struct step_record_header header;
    struct error error = {0};
    const char *bytes;
    const char *path;
    Py_ssize_t size;

    (void)self;
    if (!PyArg_ParseTuple(arguments, "sy#", &path, &bytes, &size))
        return NULL;
    if (size != (Py_ssize_t)sizeof header)
        return PyErr_Format(PyExc_ValueError, "a header has %d bytes", (int)sizeof header);
    memcpy(&header, bytes, sizeof header);
    step_writer_clear(&process_record.writer);
    process_record.is_full = false;
    if (!step_writer_open(&process_record.writer, path, &header, &error))
        return raise_error(&error);
    Py_RETURN_NONE;
}

/* append(kind, flags, step, start_ns, end_ns, data_wait_ns, forward_ns, backward_ns, optimizer_ns,
 * tokens, samples, memory_bytes, count, number). OSError: there is no room. */
static PyObject *append(PyObject *self, PyObject *arguments)
{
    struct step_entry entry = {0};
    struct error error = {0};
    long long number[11];

    (void)self;
    if (!PyArg_ParseTuple(arguments, "HHLLLLLLLLLLLd", &entry.kind, &entry.flags, &number[0],
                          &number[1], &number[2], &number[3], &number[4], &number[5], &number[6],
                          &number[7], &number[8], &number[9], &number[10], &entry.number))
        return NULL;
    entry.step = number[0];
    entry.start_ns = number[1];
    entry.end_ns = number[2];
    entry.data_wait_ns = number[3];
    entry.forward_ns = number[4];
    entry.backward_ns = number[5];
    entry.optimizer_ns = number[6];
    entry.tokens = number[7];
    entry.samples = number[8];
    entry.memory_bytes = number[9];
    entry.count = number[10];
    if (!process_record.writer.is_open)
        return PyErr_Format(PyExc_OSError, "the step record is closed");
    if (!process_record_append(&entry, &error))
        return raise_error(&error);
    Py_RETURN_NONE;
}

static PyObject *fields_of(const struct step_entry *entry)
{
    return Py_BuildValue(
        "IHHKLLLLLLLLLLLdLL", entry->checksum, entry->kind, entry->flags,
        (unsigned long long)entry->sequence, (long long)entry->step, (long long)entry->start_ns,
        (long long)entry->end_ns, (long long)entry->data_wait_ns, (long long)entry->forward_ns,
        (long long)entry->backward_ns, (long long)entry->optimizer_ns, (long long)entry->tokens,
        (long long)entry->samples, (long long)entry->memory_bytes, (long long)entry->count,
        entry->number, (long long)entry->host_bytes, (long long)entry->reserved);
}

/* entries_of(bytes, mark): a tuple of the fields of each whole entry; None in place of one whose
 * checksum does not hold. `mark`: what checksums of the file begin with, as its header has it. */
static PyObject *entries_of(PyObject *self, PyObject *arguments)
{
    const Py_ssize_t each = STEP_RECORD_ENTRY_BYTES;
    struct step_entry entry;
    const char *bytes;
    Py_ssize_t size;
    unsigned mark;
    PyObject *entries;

    (void)self;
    if (!PyArg_ParseTuple(arguments, "y#I", &bytes, &size, &mark))
        return NULL;
    entries = PyList_New(0);
    for (Py_ssize_t at = 0; entries && size - at >= each; at += each) {
        PyObject *fields;

        memcpy(&entry, bytes + at, sizeof entry);
        fields = entry.sequence > 0 && step_entry_checksum(&entry, mark) == entry.checksum
                     ? fields_of(&entry)
                     : Py_NewRef(Py_None);
        if (!fields || PyList_Append(entries, fields) < 0)
            Py_CLEAR(entries);
        Py_XDECREF(fields);
    }
    return entries;
}

static PyObject *has_entries(PyObject *self, PyObject *ignored)
{
    (void)self;
    (void)ignored;
    return PyBool_FromLong(process_record.writer.used_bytes > STEP_RECORD_HEADER_BYTES);
}

static PyObject *close_record(PyObject *self, PyObject *ignored)
{
    (void)self;
    (void)ignored;
    step_writer_clear(&process_record.writer);
    Py_RETURN_NONE;
}

/* In a child of fork(): the record stays its parent's. */
static PyObject *forget(PyObject *self, PyObject *ignored)
{
    (void)self;
    (void)ignored;
    step_writer_forget(&process_record.writer);
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"open", open_record, METH_VARARGS, "Makes a record."},
    {"append", append, METH_VARARGS, "Writes an entry."},
    {"entries_of", entries_of, METH_VARARGS, "The entries in these bytes."},
    {"has_entries", has_entries, METH_NOARGS, "Whether any was written."},
    {"close", close_record, METH_NOARGS, "Ends the record."},
    {"forget", forget, METH_NOARGS, "Leaves the record to the parent process."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "step_writer", .m_doc = "Writes the step record.",
    .m_size = -1,          .m_methods = functions,
};

PyMODINIT_FUNC PyInit_step_writer(void);

PyMODINIT_FUNC PyInit_step_writer(void)
{
    PyObject *module = PyModule_Create(&definition);
    PyObject *type =
        module && make_known_names() && prepare_call_hooks() ? make_running_step_type() : NULL;

    if (type && PyModule_AddIntConstant(module, "HEADER_BYTES", STEP_RECORD_HEADER_BYTES) == 0 &&
        PyModule_AddIntConstant(module, "ENTRY_BYTES", STEP_RECORD_ENTRY_BYTES) == 0 &&
        PyModule_AddObject(module, "RunningStep", type) == 0)
        return module;
    Py_XDECREF(type);
    Py_XDECREF(module);
    return NULL;
}
