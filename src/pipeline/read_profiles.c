/* Reads the traces of one run and profiles all ranks together. */
#include "base/core/array.h"
#include "base/core/invariant.h"
#include "pipeline/input_files.h"
#include "pipeline/recorded_memory.h"
#include "pipeline/subcommands.h"
#include "sections/comparison/profile_trace.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* The profiles of the ranks while they are read. */
struct rank_profile {
    int64_t rank; /* -1: not known */
    struct run_profile *profile;
};

struct rank_profiles {
    pthread_mutex_t lock;
    struct rank_profile *ranks; /* [count] */
    size_t count;
};

struct profiling {
    const struct attribution_options *plan;
    struct rank_profiles *profiles;
};

static void keep_profile(struct rank_profiles *profiles, int64_t rank, struct run_profile *profile)
{
    pthread_mutex_lock(&profiles->lock);
    ARRAY_ADD(profiles->ranks, profiles->count, (struct rank_profile){rank, profile});
    pthread_mutex_unlock(&profiles->lock);
}

/* What the memory events of the trace tell, where it has any; damaged files beside it are told by
 * `flopledger memory`. */
static bool find_memory(struct recorded_memory *memory, const struct trace *trace,
                        struct profile_source *source)
{
    struct error ignored = {0};

    if (trace->memory.count == 0 || !recorded_memory_read(memory, trace, &ignored) ||
        !recorded_memory_device(memory, -1, &source->memory_device, &ignored))
        return false;
    source->memory = &memory->run;
    return true;
}

static bool profile_one(struct results *results, const struct trace *trace, const void *context,
                        struct error *error)
{
    const struct profiling *profiling = context;
    struct run_profile *profile;
    SCOPED(analyzed_rank) analyzed = {0};
    SCOPED(recorded_memory) memory = {0};
    struct profile_source source = {.trace = trace};

    (void)results;
    if (!analyze_rank(&analyzed, trace, profiling->plan, error))
        return false;
    source.ledger = &analyzed.ledger;
    source.costs = &analyzed.costs;
    source.efficiency = &analyzed.efficiency;
    source.description = &analyzed.description;
    (void)find_memory(&memory, trace, &source);
    profile = require_memory(calloc(1, sizeof *profile));
    profile_trace(profile, &source);
    keep_profile(profiling->profiles, trace->facts.rank, profile);
    return true;
}

static int compare_ranks_read(const void *a, const void *b)
{
    const struct rank_profile *left = a;
    const struct rank_profile *right = b;

    if (left->rank != right->rank) /* -1, not known, behind all others */
        return (uint64_t)left->rank < (uint64_t)right->rank ? -1 : 1;
    return strcmp(left->profile->file, right->profile->file);
}

static void join_ranks(struct run_profile *run, struct rank_profiles *profiles)
{
    struct run_profile **ranks =
        require_memory(calloc(profiles->count + 1, sizeof(struct run_profile *)));

    qsort(profiles->ranks, profiles->count, sizeof *profiles->ranks, compare_ranks_read);
    for (size_t i = 0; i < profiles->count; i++)
        ranks[i] = profiles->ranks[i].profile;
    profile_of_ranks(run, ranks, profiles->count);
    free(ranks);
}

static void rank_profiles_clear(struct rank_profiles *profiles)
{
    for (size_t i = 0; i < profiles->count; i++) {
        run_profile_clear(profiles->ranks[i].profile);
        free(profiles->ranks[i].profile);
    }
    free(profiles->ranks);
    pthread_mutex_destroy(&profiles->lock);
}

bool read_run_profile(struct run_profile *profile, struct files_read *outcome, char *operand,
                      const struct profile_reading *reading, struct error *error)
{
    SCOPED(rank_profiles) profiles = {.lock = PTHREAD_MUTEX_INITIALIZER};
    struct profiling profiling = {.plan = &reading->plan, .profiles = &profiles};
    struct file_reading files_reading = {.threads = reading->threads,
                                         .shows_progress = reading->shows_progress,
                                         .keeps_memory = true,
                                         .use = profile_one,
                                         .captures = &(struct capture_choice){.count = 0},
                                         .context = &profiling};
    SCOPED(input_files) files = {0};

    if (!find_input_files(&files, &operand, 1, error))
        return false;
    read_files(outcome, reading->results, &files, &files_reading);
    if (outcome->used_count == 0) {
        *error = outcome->first_error;
        return false;
    }
    note_passed_over(reading->results, &files, reading->name);
    join_ranks(profile, &profiles);
    return true;
}
