/* Which processes of an Nsight Systems database are ranks, and in which order. Private to its
 * reader. */
#ifndef FLOPLEDGER_READERS_NSYS_NSYS_SQLITE_RANKS_H
#define FLOPLEDGER_READERS_NSYS_NSYS_SQLITE_RANKS_H

#include "readers/nsys/nsys_database.h"

#include <stdbool.h>
#include <stdint.h>

/* A process that used a device. */
struct nsys_rank {
    int64_t process;  /* host and process bits of its ids */
    int64_t device;   /* the lowest number by which it calls a device it works on */
    int64_t gpu;      /* the number by which nsys calls that one: the same, where nothing is told */
    int64_t mpi_rank; /* of MPI_RANKS; -1: not told */
};

/* Zeroed is empty. */
struct nsys_ranks {
    struct nsys_rank *ranks; /* by MPI rank, where each has another one; else by GPU, then process
                              */
    uint32_t count;
    bool are_named;    /* each has an MPI rank of its own */
    bool are_too_many; /* more than are read: the tables are read once for each */
};

/* Errors (ERROR_INPUT): too many. */
MUST_USE bool nsys_ranks_find(struct nsys_ranks *ranks, struct nsys_database *database,
                              struct error *error);
void nsys_ranks_clear(struct nsys_ranks *ranks);

/* The number by which the process (-1: any) calls the GPU: TARGET_INFO_CUDA_DEVICE tells where only
 * some GPUs are visible to it. -1: it does not see the GPU. */
int32_t nsys_device_of_gpu(struct nsys_database *database, int64_t process, int64_t gpu);

#endif
