/* `flopledger run --tensorboard FOLDER`: event files that grow while a program is recorded.
 *
 * It reads what the recorder writes, in a thread of this process: the recorded program knows
 * nothing of it, and does nothing for it. */
#ifndef FLOPLEDGER_PIPELINE_LIVE_TENSORBOARD_H
#define FLOPLEDGER_PIPELINE_LIVE_TENSORBOARD_H

#include "base/core/attributes.h"
#include "base/core/error.h"

struct live_tensorboard;

/* Begins to watch the folder `capture` (both paths must live until the end) and to write below
 * `logs`: one run, or rank0, rank1, ... of several. NULL with `error` set where nothing can be
 * written there. */
MUST_USE struct live_tensorboard *live_tensorboard_start(const char *logs, const char *capture,
                                                         struct error *error);

/* Takes in what was written last, and ends. What went wrong meanwhile is said in one line on
 * standard error. `live` may be NULL. */
void live_tensorboard_finish(struct live_tensorboard *live);

#endif
