/* Turns a .nsys-rep, which only Nsight Systems can read, into a database with its own `nsys`. */
#ifndef FLOPLEDGER_READERS_NSYS_NSYS_REPORT_EXPORT_H
#define FLOPLEDGER_READERS_NSYS_NSYS_REPORT_EXPORT_H

#include "base/core/attributes.h"
#include "base/core/error.h"

#include <stdbool.h>

/* By its name: .nsys-rep, or .qdrep as it was called before 2021; .qdstrm, which is none yet. */
bool is_nsys_report(const char *path);

/* The database of a report. Zeroed is none. */
struct nsys_export {
    char *database;
    bool is_beside; /* it lay beside the report and is not older: nothing was exported */
};

/* Takes the .sqlite of the same name that lies beside the report, where it is not older; else runs
 * `nsys export` into a folder of its own under TMPDIR. Errors: no such file, no `nsys` in PATH, the
 * export failed (with nsys's own words). */
MUST_USE bool nsys_report_export(struct nsys_export *made, const char *path, struct error *error);

/* Removes what was exported, and its folder. */
void nsys_export_clear(struct nsys_export *made);

#endif
