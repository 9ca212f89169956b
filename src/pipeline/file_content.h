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

/* ---- folders as other recorders lay them out, and recordings that lie there in several forms ----
 */

/* The folders below one that was given which hold the traces; zeroed: none. */
struct recorder_folders {
    char **paths; /* [count], owned, by name */
    size_t count;
    size_t older; /* profiles of other runs, which are not among them */
};

/* LOGDIR/plugins/profile/TIME of JAX and TensorFlow, of which the newest is meant, given as LOGDIR,
 * as LOGDIR/plugins or as LOGDIR/plugins/profile (of LOGDIR/rank_3/plugins/profile/TIME the newest
 * of each rank), and NAME_ascend_pt/ASCEND_PROFILER_OUTPUT of
 * torch_npu (of MindSpore: NAME_ascend_ms), one a rank. */
void find_recorder_folders(struct recorder_folders *folders, const char *folder);
/* "RECORDER: what writes the traces", where the folder holds what is recorded before that; NULL
 * where it does not. */
const char *recording_without_analysis(const char *folder);
void recorder_folders_clear(struct recorder_folders *folders);

/* The names of the traces of a folder: of those that hold one recording in several forms (JAX's
 * trace.json.gz beside the XSpace, rocprofv3's JSON beside its database, torch.profiler's JSON and
 * Perfetto's packets, a file and what it was packed into) one is read. read_for[i] is its index,
 * `i` itself where there is no other. */
void find_other_forms(size_t *read_for, const char *const *names, size_t count);

#endif
