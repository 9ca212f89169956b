/* The processes that mpirun started together: Open MPI, loaded while the program runs. */
#include "pipeline/mpi_world.h"

#include "base/core/invariant.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* What of Open MPI's interface is used; its handles are pointers to objects of the library. */
struct mpi_calls {
    void *library;
    int (*init)(int *count, char ***arguments);
    int (*finalize)(void);
    int (*comm_rank)(void *communicator, int *rank);
    int (*comm_size)(void *communicator, int *size);
    int (*send)(const void *buffer, int count, void *type, int to, int tag, void *communicator);
    int (*receive)(void *buffer, int count, void *type, int from, int tag, void *communicator,
                   void *status);
    void *world; /* MPI_COMM_WORLD */
    void *byte;  /* MPI_BYTE */
};

/* MPI counts in int: a message of more than 2 GiB goes in pieces. */
enum { TAG = 1, SUCCESS = 0, PIECE_BYTES = 1 << 28 };

/* Open MPI by the versions of its library, then whatever the name without a version leads to. */
static const char *const library_names[] = {"libmpi.so.40", "libmpi.so.80", "libmpi.so"};

/* mpirun of Open MPI, and launchers that stand in for it, say so in the environment. The library
 * is loaded only then: the program has to run where no MPI is installed. */
static bool is_started_by_mpirun(void)
{
    const char *size = getenv("OMPI_COMM_WORLD_SIZE");

    return size && atoi(size) > 1;
}

/* dlsym gives an object's address as well as a function's. memcpy, since ISO C has no conversion
 * between pointers to objects and to functions. */
static bool find_symbol(void *library, const char *name, void *into)
{
    void *symbol = dlsym(library, name);

    memcpy(into, &symbol, sizeof symbol);
    return symbol != NULL;
}

/* Handles of Open MPI are addresses of objects in its library (ompi_mpi_comm_world), while
 * those of MPICH are numbers: another library lacks the symbols and is refused. */
static bool find_calls(struct mpi_calls *calls)
{
    return find_symbol(calls->library, "MPI_Init", &calls->init) &&
           find_symbol(calls->library, "MPI_Finalize", &calls->finalize) &&
           find_symbol(calls->library, "MPI_Comm_rank", &calls->comm_rank) &&
           find_symbol(calls->library, "MPI_Comm_size", &calls->comm_size) &&
           find_symbol(calls->library, "MPI_Send", &calls->send) &&
           find_symbol(calls->library, "MPI_Recv", &calls->receive) &&
           find_symbol(calls->library, "ompi_mpi_comm_world", &calls->world) &&
           find_symbol(calls->library, "ompi_mpi_byte", &calls->byte);
}

/* RTLD_GLOBAL: Open MPI loads its own plug-ins, which look for its symbols among the global
 * ones. */
static bool load_library(struct mpi_calls *calls, struct error *error)
{
    for (size_t i = 0; !calls->library && i < sizeof library_names / sizeof *library_names; i++)
        calls->library = dlopen(library_names[i], RTLD_NOW | RTLD_GLOBAL);
    if (!calls->library)
        return error_set(error, ERROR_FAILURE,
                         "started by mpirun, but Open MPI's library cannot be loaded (%s): install "
                         "it on every node, or add its folder to LD_LIBRARY_PATH",
                         dlerror());
    if (!find_calls(calls))
        return error_set(error, ERROR_FAILURE,
                         "started by mpirun, but the MPI library found is not Open MPI: add the "
                         "folder of Open MPI's to LD_LIBRARY_PATH");
    return true;
}

/* MPI is loaded while the program runs, and only where mpirun started it: neither building nor
 * running needs it otherwise. */
bool mpi_world_join(struct mpi_world *world, struct error *error)
{
    struct mpi_calls *calls;

    if (!is_started_by_mpirun())
        return true;
    calls = require_memory(calloc(1, sizeof *calls));
    if (!load_library(calls, error)) {
        free(calls);
        return false;
    }
    require_invariant(calls->init && calls->comm_rank && calls->comm_size, "MPI's calls are found");
    if (calls->init(NULL, NULL) != SUCCESS ||
        calls->comm_rank(calls->world, &world->place) != SUCCESS ||
        calls->comm_size(calls->world, &world->size) != SUCCESS) {
        free(calls);
        return error_set(error, ERROR_FAILURE, "MPI does not start: MPI_Init failed");
    }
    world->calls = calls;
    return true;
}

/* Processes on one node share its cores. */
unsigned mpi_world_threads(const struct mpi_world *world, unsigned cores)
{
    const char *local = getenv("OMPI_COMM_WORLD_LOCAL_SIZE");
    int processes = world->size > 1 && local ? atoi(local) : 1;

    return processes > 1 && cores > (unsigned)processes ? cores / (unsigned)processes
           : processes > 1                              ? 1
                                                        : cores;
}

/* In pieces, since MPI counts bytes by an int. The length first, so that the receiver can make
 * room for all of it. */
static bool send_bytes(const struct mpi_world *world, const unsigned char *bytes, uint64_t length)
{
    const struct mpi_calls *calls = world->calls;

    if (calls->send(&length, sizeof length, calls->byte, 0, TAG, calls->world) != SUCCESS)
        return false;
    for (uint64_t done = 0; done < length; done += PIECE_BYTES) {
        uint64_t piece = length - done < PIECE_BYTES ? length - done : PIECE_BYTES;

        if (calls->send(bytes + done, (int)piece, calls->byte, 0, TAG, calls->world) != SUCCESS)
            return false;
    }
    return true;
}

/* What the process `from` sent; free() it. NULL where it was lost. */
static unsigned char *receive_bytes(const struct mpi_world *world, int from, uint64_t *length)
{
    const struct mpi_calls *calls = world->calls;
    unsigned char *bytes;

    if (calls->receive(length, sizeof *length, calls->byte, from, TAG, calls->world, NULL) !=
        SUCCESS)
        return NULL;
    bytes = require_memory(malloc((size_t)*length + 1));
    for (uint64_t done = 0; done < *length; done += PIECE_BYTES) {
        uint64_t piece = *length - done < PIECE_BYTES ? *length - done : PIECE_BYTES;

        if (calls->receive(bytes + done, (int)piece, calls->byte, from, TAG, calls->world, NULL) !=
            SUCCESS) {
            free(bytes);
            return NULL;
        }
    }
    return bytes;
}

/* In the order of the processes, not of arrival: the result is the same each time. The others
 * wait in send until it is their turn. */
bool mpi_world_gather(const struct mpi_world *world, const void *bytes, size_t length,
                      const struct mpi_receiver *receiver, struct error *error)
{
    if (world->size <= 1)
        return true;
    if (world->place > 0)
        return send_bytes(world, bytes, length) ||
               error_set(error, ERROR_FAILURE, "MPI could not send what process %d read",
                         world->place);
    for (int from = 1; from < world->size; from++) {
        uint64_t received;
        unsigned char *message = receive_bytes(world, from, &received);

        if (!message)
            return error_set(error, ERROR_FAILURE, "MPI lost what process %d read", from);
        receiver->take(receiver->argument, message, (size_t)received);
        free(message);
    }
    return true;
}

void mpi_world_clear(struct mpi_world *world)
{
    if (world->calls) {
        (void)world->calls->finalize();
        free(world->calls);
    }
    *world = (struct mpi_world){0};
}
