/* A file that appears whole or not at all. */
#ifndef FLOPLEDGER_BASE_IO_OUTPUT_FILE_H
#define FLOPLEDGER_BASE_IO_OUTPUT_FILE_H

#include "base/core/attributes.h"
#include "base/core/error.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>

/* Ends the program when memory is out. `target` stays open when the stream is closed, by fclose:
 * that writes what waits, and tells by EOF where `target` did not take it. */
MUST_USE FILE *packed_output_open(FILE *target);

/* Between open and close, signals that end the program (Ctrl-C) wait, so that no half-written file
 * is left behind: open late, write, close. What exists and is no regular file (a pipe, /dev/null)
 * is written to directly. */
struct output_file {
    FILE *stream;
    char *buffer;         /* of the stream */
    char *path;           /* where the file is to stand */
    char *name;           /* what messages call it */
    char *temporary_path; /* NULL: written directly */
    sigset_t old_signals;
};

/* Signals that end the program (Ctrl-C) wait from now on; pthread_sigmask(SIG_SETMASK, old) lets
 * them come again. */
void output_hold_signals(sigset_t *old);

/* Fails (ERROR_FAILURE) where output_file_open would: before the work is done. */
MUST_USE bool output_file_check(const char *path, struct error *error);

/* `file` must be zeroed. */
MUST_USE bool output_file_open(struct output_file *file, const char *path, struct error *error);

/* Writes what waits, and puts the file in its place. */
MUST_USE bool output_file_close(struct output_file *file, struct error *error);

/* True where all that was written to the stream has arrived; else `error` says why not. What still
 * waits in it is written. `path`: for the message; NULL: it is standard output. */
MUST_USE bool stream_has_arrived(FILE *stream, const char *path, struct error *error);

/* Whether a file at `path` already has these bytes, and no others: to write it again would make the
 * disk wait for megabytes that it has. */
MUST_USE bool output_file_holds(const char *path, const char *bytes, size_t length);

/* Gives up: removes the temporary file. Does nothing after output_file_close. */
void output_file_clear(struct output_file *file);

#endif
