/* Why a program under `flopledger run` was not recorded, as far as it left signs. */
#ifndef FLOPLEDGER_LIVE_RUN_NOTHING_RECORDED_H
#define FLOPLEDGER_LIVE_RUN_NOTHING_RECORDED_H

#include <stdbool.h>

/* What python/flopledger/seen.py wrote. */
struct seen_signs {
    bool has_python; /* one that loaded the recorder's first file */
    bool has_torch;
    bool has_stopped;      /* by an error, which was said */
    bool has_no_extension; /* the recorder's parts in C are not there, or of another Python */
};

/* Removes the file of signs from the capture's folder. */
struct seen_signs collect_seen_signs(const char *capture);

/* Prints one message to standard error. `step_of`: what a step
 * was said to be, or NULL; `status`: of the program. */
void say_nothing_recorded(const struct seen_signs *signs, const char *step_of, char *const *command,
                          int status);

#endif
