/* What an export is: one way to hand results to another program.
 *
 * To add one: write exports/<name>.c with `const struct export_format <name>_export`, and one line
 * EXPORT(<name>) in list.def. */
#ifndef FLOPLEDGER_OUTPUT_EXPORTS_EXPORT_FORMAT_H
#define FLOPLEDGER_OUTPUT_EXPORTS_EXPORT_FORMAT_H

#include "base/core/attributes.h"
#include "base/core/error.h"
#include "base/io/output_folder.h"
#include "output/results/results.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* What a trace that is exported says at its beginning, and a database in its header ("FLDG"): so an
 * export may take the place of an earlier one. */
#define EXPORT_MARK           "flopledgerExport"
#define EXPORT_APPLICATION_ID UINT32_C(0x464c4447)

/* The category of what an export in Perfetto's format adds; our reader passes over it. */
#define PERFETTO_OWN_CATEGORY "flopledger"
/* The process that it adds, named in the first packets. */
#define PERFETTO_OWN_PROCESS "step ledger (flopledger)"

enum export_place {
    EXPORT_TEXT,   /* a file, or standard output where the user names none */
    EXPORT_FILE,   /* a file that is not for a terminal: the user must name it */
    EXPORT_FOLDER, /* a folder of files, which the user must name */
    EXPORT_TRACE,  /* a file made from traces, not from results: no functions below */
};

/* What is exported. */
struct export_content {
    const struct results *results;
    const char *const *reports; /* [results->rank_count]: on each rank alone, as a terminal of 100
                                   columns shows it; NULL where the format does not ask for them */
};

struct export_format {
    const char *name;    /* "csv" */
    const char *summary; /* "a folder of tables for spreadsheets and pandas" */
    enum export_place place;
    bool wants_reports;
    /* For EXPORT_TEXT and EXPORT_FILE. */
    bool (*write)(FILE *output, const struct export_content *content, struct error *error);
    /* For EXPORT_FOLDER. */
    bool (*write_folder)(struct output_folder *folder, const struct export_content *content,
                         struct error *error);
};

/* NULL-terminated, in the order of list.def. */
const struct export_format *const *all_exports(void);

#endif
