/* Turns a .nsys-rep, which only Nsight Systems can read, into a database with its own `nsys`. */
#ifndef FLOPLEDGER_READERS_NSYS_REPORT_EXPORT_H
#define FLOPLEDGER_READERS_NSYS_REPORT_EXPORT_H

#include "base/attributes.h"
#include "base/error.h"

#include <stdbool.h>

/* By its name: .nsys-rep, or .qdrep as it was called before 2021. */
bool is_nsys_report(const char *path);

/* Runs `nsys export` into a folder of its own under TMPDIR; *database is then the file's path: give
 * it to nsys_export_remove and free() it. Errors: no such file, no `nsys` in PATH, the export
 * failed (with nsys's own words). */
MUST_USE bool nsys_report_export(char **database, const char *path, struct error *error);

/* Removes the file and its folder. */
void nsys_export_remove(const char *database);

#endif
