/* The processes that mpirun started together. The program is built without MPI: where it finds
 * itself under Open MPI's mpirun, it loads that library while it runs. */
#ifndef FLOPLEDGER_PIPELINE_MPI_WORLD_H
#define FLOPLEDGER_PIPELINE_MPI_WORLD_H

#include "base/core/attributes.h"
#include "base/core/error.h"

#include <stdbool.h>
#include <stddef.h>

struct mpi_calls; /* private */

/* Zeroed is a world of this process alone. */
struct mpi_world {
    int place; /* this process: 0 is the first, which prints */
    int size;  /* 0 or 1: no other process */
    struct mpi_calls *calls;
};

/* Joins the other processes, where there are any. Errors (ERROR_FAILURE): the library cannot be
 * loaded or is another one than mpirun's. */
MUST_USE bool mpi_world_join(struct mpi_world *world, struct error *error);

/* How many threads of `cores` are for this process, where others run on the same machine. */
unsigned mpi_world_threads(const struct mpi_world *world, unsigned cores);

/* Takes what another process sent. */
struct mpi_receiver {
    void (*take)(void *argument, const void *bytes, size_t length);
    void *argument;
};

/* Called on all processes: those behind the first send `length` bytes, and the first gives
 * `receiver` what each of them sent, in their order. False where MPI says that a message was lost.
 */
MUST_USE bool mpi_world_gather(const struct mpi_world *world, const void *bytes, size_t length,
                               const struct mpi_receiver *receiver, struct error *error);

/* Waits for all processes and leaves; to be called where mpi_world_join was. */
void mpi_world_clear(struct mpi_world *world);

#endif
