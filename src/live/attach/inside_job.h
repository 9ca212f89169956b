/* Programs that train already, recorded by our own recorder, which is put into them for that time.
 */
#ifndef FLOPLEDGER_LIVE_ATTACH_INSIDE_JOB_H
#define FLOPLEDGER_LIVE_ATTACH_INSIDE_JOB_H

#include "base/core/arena.h"
#include "base/core/attributes.h"
#include "base/core/error.h"
#include "live/attach/attachment.h"

/* Records the next steps of all processes of `attachment` into the folder of the run, all ranks the
 * same steps. What is wrong with one is said on standard error; ERROR_NO_DATA (or ERROR_FAILURE
 * where the system forbids it) where none was recorded. Whatever happens, the processes are left as
 * they were. */
MUST_USE bool inside_job_record(const struct attachment *attachment, struct arena *arena,
                                const struct attach_wish *wish, const struct attach_places *places,
                                struct error *error);

#endif
