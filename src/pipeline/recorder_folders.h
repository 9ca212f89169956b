/* Folders as other recorders lay them out, and recordings that lie there in several forms. */
#ifndef FLOPLEDGER_PIPELINE_RECORDER_FOLDERS_H
#define FLOPLEDGER_PIPELINE_RECORDER_FOLDERS_H

#include <stdbool.h>
#include <stddef.h>

/* The folders below one that was given which hold the traces; zeroed: none. */
struct recorder_folders {
    char **paths; /* [count], owned, by name */
    size_t count;
    size_t older; /* profiles of other runs, which are not among them */
};

/* LOGDIR/plugins/profile/TIME of JAX and TensorFlow, of which the newest is meant, given as LOGDIR,
 * as LOGDIR/plugins or as LOGDIR/plugins/profile, and NAME_ascend_pt/ASCEND_PROFILER_OUTPUT of
 * torch_npu, one a rank. */
void find_recorder_folders(struct recorder_folders *folders, const char *folder);
void recorder_folders_clear(struct recorder_folders *folders);

/* Whether the file `name` holds what the file `other` of its folder does, which is read in its
 * place: JAX's trace.json.gz beside the XSpace, rocprofv3's JSON beside its database, torch_npu's
 * trace_view.json beside its database. */
bool is_other_form(const char *name, const char *other);

/* Whether that may be so of any name beside `other`. */
bool may_have_other_forms(const char *other);

#endif
