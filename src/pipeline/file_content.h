/* What data a file holds, by its name and its first bytes. */
#ifndef FLOPLEDGER_PIPELINE_FILE_CONTENT_H
#define FLOPLEDGER_PIPELINE_FILE_CONTENT_H

#include <stdbool.h>
#include <stddef.h>

enum file_content {
    CONTENT_OTHER,  /* nothing that is known to be data */
    CONTENT_REPORT, /* that this program wrote */
    CONTENT_TRACE,
    CONTENT_EXPORTED_TRACE, /* that this program wrote */
    CONTENT_DATABASE,
    CONTENT_EXPORTED_DATABASE, /* that this program wrote */
    CONTENT_DIGEST,
    CONTENT_STEP_RECORD,
    CONTENT_PICKLE,
    CONTENT_ARCHIVE,
    CONTENT_PROFILE,
    CONTENT_LOG,
};

/* Is it data of a run, which no report may replace? */
bool is_data(enum file_content content);

/* "a trace" */
const char *file_content_words(enum file_content content);

/* Never fails: what can't be read, and what is no regular file, is CONTENT_OTHER. */
enum file_content content_of_file(const char *path);

/* .json, .json.gz, .json.zst */
bool has_trace_name(const char *name);

/* Does a reader of traces recognise the unpacked bytes (there are some), and may they hold events?
 */
bool is_trace_head(const char *head, size_t length);

#endif
