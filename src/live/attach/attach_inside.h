/* Recording inside a job that runs already: from the folder of its capture to what is written
 * there. */
#ifndef FLOPLEDGER_LIVE_ATTACH_ATTACH_INSIDE_H
#define FLOPLEDGER_LIVE_ATTACH_ATTACH_INSIDE_H

#include "base/core/arena.h"
#include "base/core/attributes.h"
#include "base/core/error.h"
#include "live/attach/attachment.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where the recorder inside of a process and `flopledger attach` leave each other messages: a
 * folder that both see. python/flopledger/attached.py is the other side. */

/* Zeroed is none, but for the lock and the place, which are then -1. */
struct inside_folder {
    long pid;
    int place;           /* the folder it is in: what a process sees as its root goes with it */
    const char *path;    /* as this process sees it */
    const char *inside;  /* as that one does */
    const char *text;    /* what it is to run, which lets no exception out */
    const char *script;  /* a file that holds the text, as that process sees it */
    const char *capture; /* where it records, as this process sees it */
    bool is_own_capture; /* which is the folder of the run: what is recorded need not be brought
                            there */
    int lock;            /* held as long as this process lives; -1: no more */
    bool is_of_process;  /* it is that one's to remove: what was sent has not been run yet */
    size_t read_bytes;   /* of its messages */
};

/* What is told to the recorder. */
struct inside_wish {
    const struct attach_wish *wish;
    const struct attach_places *places;
    bool awaits_begin; /* until inside_folder_begin() */
};

/* Makes it, with all that the recorder needs where the process has other files (a container).
 * ERROR_FAILURE where there is no place that both may write to. */
MUST_USE bool inside_folder_make(struct inside_folder *folder, struct arena *arena, long pid,
                                 const struct inside_wish *wish, struct error *error);

/* Where the room in the process is, and how often it was sent what stands there: for when this side
 * can't free it. */
void inside_folder_note_room(const struct inside_folder *folder, uint64_t address, size_t sent);
/* Whether all of that has begun to run, and so nothing will look there any more. */
bool inside_folder_has_run(const struct inside_folder *folder, size_t sent);

/* The next message that has come; NULL: none. */
const struct json_node *inside_folder_next(struct inside_folder *folder, struct arena *arena);

/* All ranks begin with the step behind this: so many "collectives" that each has called, or a time
 * "at" in ns of the monotonic clock. */
void inside_folder_begin(const struct inside_folder *folder, const char *what, int64_t number);

/* From now on what was sent only frees the room and removes the folder, if it has not been run yet;
 * and what was begun by it ends when the text is sent once more. */
void inside_folder_withdraw(struct inside_folder *folder);
void inside_folder_ask_to_stop(const struct inside_folder *folder);

/* Brings what was recorded into the folder of the run. */
MUST_USE bool inside_folder_collect(const struct inside_folder *folder, const char *capture,
                                    struct error *error);

/* Removes it, or leaves it to the process. */
void inside_folder_clear(struct inside_folder *folder);

/* Programs that train already, recorded by our own recorder, which is put into them for that time.
 */

/* Records the next steps of all processes of `attachment` into the folder of the run, all ranks the
 * same steps. What is wrong with one is said on standard error; ERROR_NO_DATA (or ERROR_FAILURE
 * where the system forbids it) where none was recorded. Whatever happens, the processes are left as
 * they were. */
MUST_USE bool inside_job_record(const struct attachment *attachment, struct arena *arena,
                                const struct attach_wish *wish, const struct attach_places *places,
                                struct error *error);

#endif
