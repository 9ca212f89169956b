/* What was measured of a run, step by step. */
#include "sections/comparison/run_profile.h"

#include "base/core/array.h"
#include "base/core/invariant.h"
#include "cost/flops/saturating.h"

#include <stdlib.h>
#include <string.h>

const char *profile_text(struct run_profile *profile, const char *text)
{
    return arena_copy_text(&profile->arena, text, strlen(text));
}

static uint64_t key_of(enum measure_kind kind, uint32_t name, uint32_t detail)
{
    return (uint64_t)kind << 58 | (uint64_t)name << 29 | detail;
}

static int64_t *run_profile_new_row(struct run_profile *profile)
{
    return arena_allocate(&profile->arena, (profile->step_count + (size_t)1) * sizeof(int64_t));
}

static uint32_t new_measure(struct run_profile *profile)
{
    ARRAY_ROOM(profile->measures, profile->count);
    return profile->count++;
}

/* The key has 6 bits of kind and 29 of each name: more names than that would be a trace of
 * gigabytes of names. */
struct measure *profile_measure(struct run_profile *profile, enum measure_kind kind,
                                const char *name, const char *detail)
{
    uint32_t name_id = string_pool_add(&profile->names, name, strlen(name));
    uint32_t detail_id = string_pool_add(&profile->names, detail, strlen(detail));
    uint32_t index =
        hash_map_add(&profile->by_name, key_of(kind, name_id, detail_id), profile->count);

    if (index == profile->count) {
        (void)new_measure(profile);
        profile->measures[index] =
            (struct measure){.kind = kind,
                             .unit = UNIT_TIME_NS,
                             .name = string_pool_text(&profile->names, name_id),
                             .title = string_pool_text(&profile->names, name_id),
                             .detail = string_pool_text(&profile->names, detail_id),
                             .values = run_profile_new_row(profile)};
    }
    return &profile->measures[index];
}

/* A text that was never added is in no measure, so that it is not added by asking. */
const struct measure *profile_find(const struct run_profile *profile, enum measure_kind kind,
                                   const char *name, const char *detail)
{
    uint32_t name_id = string_pool_find(&profile->names, name, strlen(name));
    uint32_t detail_id = string_pool_find(&profile->names, detail, strlen(detail));
    uint32_t index;

    if (name_id == UINT32_MAX || detail_id == UINT32_MAX)
        return NULL;
    index = hash_map_find(&profile->by_name, key_of(kind, name_id, detail_id));
    return index == NO_VALUE ? NULL : &profile->measures[index];
}

void measure_has_wholes(struct run_profile *profile, struct measure *measure)
{
    if (!measure->wholes)
        measure->wholes = run_profile_new_row(profile);
}

void measure_has_calls(struct run_profile *profile, struct measure *measure)
{
    if (!measure->calls)
        measure->calls = run_profile_new_row(profile);
}

void run_profile_clear(struct run_profile *profile)
{
    if (!profile)
        return;
    free(profile->measures);
    hash_map_clear(&profile->by_name);
    string_pool_clear(&profile->names);
    arena_clear(&profile->arena);
    *profile = (struct run_profile){0};
}

/* ---- several ranks ---- */

/* Which step of each rank is which of the run. */
struct alignment {
    struct run_profile *const *ranks;
    size_t rank_count;
    struct hash_map *places; /* of each rank: number of a step -> its index */
    uint32_t *steps;         /* [rank_count * step_count], rank by rank; free() it */
    uint32_t step_count;
};

static struct hash_map *places_of_ranks(struct run_profile *const *ranks, size_t count)
{
    struct hash_map *places = require_memory(calloc(count + 1, sizeof *places));

    for (size_t r = 0; r < count; r++)
        for (uint32_t i = 0; i < ranks[r]->step_count; i++)
            (void)hash_map_add(&places[r], (uint64_t)ranks[r]->numbers[i], i);
    return places;
}

/* Only steps that all ranks have are compared: a mean of other steps on each rank would be of
 * none. */
static bool all_have(const struct alignment *alignment, int64_t number)
{
    for (size_t r = 0; r < alignment->rank_count; r++)
        if (hash_map_find(&alignment->places[r], (uint64_t)number) == NO_VALUE)
            return false;
    return true;
}

/* Steps of the first rank that all have; `most` is room enough for each rank. Ranks may have
 * recorded different steps; those that all have are compared. */
static void align_by_number(struct alignment *alignment, uint32_t most)
{
    const struct run_profile *first = alignment->ranks[0];

    for (uint32_t i = 0; i < first->step_count; i++) {
        if (!all_have(alignment, first->numbers[i]))
            continue;
        for (size_t r = 0; r < alignment->rank_count; r++)
            alignment->steps[r * most + alignment->step_count] =
                hash_map_find(&alignment->places[r], (uint64_t)first->numbers[i]);
        alignment->step_count++;
    }
}

/* Numbers that do not meet at all count from another start on each rank: then the first is the
 * first. */
static void align_by_order(struct alignment *alignment, uint32_t most)
{
    alignment->step_count = most;
    for (size_t r = 0; r < alignment->rank_count; r++)
        if (alignment->ranks[r]->step_count < alignment->step_count)
            alignment->step_count = alignment->ranks[r]->step_count;
    for (size_t r = 0; r < alignment->rank_count; r++)
        for (uint32_t i = 0; i < alignment->step_count; i++)
            alignment->steps[r * most + i] = i;
}

static void run_profile_add_row(int64_t *to, const int64_t *from, const uint32_t *steps,
                                uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        to[i] = plus(to[i], from[steps[i]]);
}

/* Summed over ranks, and divided by their number where it is read (measure_at): a rank without
 * the kernel counts as 0. */
static void add_measure(struct run_profile *run, const struct measure *from, const uint32_t *steps)
{
    struct measure *to = profile_measure(run, from->kind, from->name, from->detail);

    to->unit = from->unit;
    to->class = from->class;
    if (!to->owner && from->owner)
        to->owner = profile_text(run, from->owner);
    if (from->title != from->name && to->title == to->name)
        to->title = profile_text(run, from->title);
    run_profile_add_row(to->values, from->values, steps, run->step_count);
    if (from->wholes) {
        measure_has_wholes(run, to);
        run_profile_add_row(to->wholes, from->wholes, steps, run->step_count);
    }
    if (from->calls) {
        measure_has_calls(run, to);
        run_profile_add_row(to->calls, from->calls, steps, run->step_count);
    }
}

static const char *text_or_null(struct run_profile *run, const char *text)
{
    return text ? profile_text(run, text) : NULL;
}

/* What the first rank says of the run, and what all say together. */
static void run_profile_take_facts(struct run_profile *run, struct run_profile *const *ranks,
                                   size_t count)
{
    const struct run_profile *first = ranks[0];

    run->file = text_or_null(run, first->file);
    run->device_name = text_or_null(run, first->device_name);
    run->speakers = first->speakers;
    run->window = text_or_null(run, first->window);
    run->needs_flops = text_or_null(run, first->needs_flops);
    run->needs_mfu = text_or_null(run, first->needs_mfu);
    run->needs_memory = text_or_null(run, first->needs_memory);
    run->needs_modules = text_or_null(run, first->needs_modules);
    run->needs_model = text_or_null(run, first->needs_model);
    run->needs_batch = text_or_null(run, first->needs_batch);
    run->torch_version = text_or_null(run, first->torch_version);
    run->world_size = first->world_size;
    run->parameters = first->parameters;
    run->is_whole = first->is_whole;
    run->is_cpu_only = first->is_cpu_only;
    run->is_compiled = first->is_compiled;
    for (size_t r = 0; r < count; r++) {
        run->rank_count += ranks[r]->rank_count;
        run->device_count += ranks[r]->device_count;
        run->steps_left_out += ranks[r]->steps_left_out;
    }
}

/* Steps are matched by number where ranks share numbers, else by order: ranks whose recorders
 * began at different counts have no number in common. */
void profile_of_ranks(struct run_profile *run, struct run_profile *const *ranks, size_t count)
{
    struct alignment alignment = {.ranks = ranks, .rank_count = count};
    uint32_t most = 0;

    for (size_t r = 0; r < count; r++)
        if (ranks[r]->step_count > most)
            most = ranks[r]->step_count;
    alignment.steps = require_memory(calloc(count * most + 1, sizeof *alignment.steps));
    alignment.places = places_of_ranks(ranks, count);
    align_by_number(&alignment, most);
    for (size_t r = 0; r < count; r++)
        hash_map_clear(&alignment.places[r]);
    free(alignment.places);
    /* No number in common at all; one is enough to trust numbers. */
    if (alignment.step_count == 0)
        align_by_order(&alignment, most);
    run_profile_take_facts(run, ranks, count);
    run->step_count = alignment.step_count;
    run->numbers = run_profile_new_row(run);
    for (uint32_t i = 0; i < run->step_count; i++)
        /* By number all ranks have the same; by order the first one's stand for all. */
        run->numbers[i] = ranks[0]->numbers[alignment.steps[i]];
    for (size_t r = 0; r < count; r++) {
        run->steps_left_out += ranks[r]->step_count - run->step_count;
        for (uint32_t i = 0; i < ranks[r]->count; i++)
            add_measure(run, &ranks[r]->measures[i], &alignment.steps[r * most]);
    }
    free(alignment.steps);
}

/* ---- values ---- */

int64_t measure_sum(const int64_t *values, uint32_t count)
{
    int64_t sum = 0;

    for (uint32_t i = 0; values && i < count; i++)
        sum = plus(sum, values[i]);
    return sum;
}

static double run_profile_part_of(int64_t part, int64_t whole)
{
    return whole == 0 ? 0 : (double)part / (double)whole;
}

double measure_at(const struct run_profile *profile, const struct measure *measure, uint32_t step)
{
    return run_profile_part_of(measure->values[step], measure->wholes
                                                          ? measure->wholes[step]
                                                          : (int64_t)profile->rank_count);
}

/* Of a share the sums are divided, not the shares averaged: a long step counts for more. */
double measure_mean(const struct run_profile *profile, const struct measure *measure)
{
    int64_t sum = measure_sum(measure->values, profile->step_count);

    if (measure->wholes)
        return run_profile_part_of(sum, measure_sum(measure->wholes, profile->step_count));
    return run_profile_part_of(sum, (int64_t)profile->rank_count * profile->step_count);
}

double measure_mean_calls(const struct run_profile *profile, const struct measure *measure)
{
    return run_profile_part_of(measure_sum(measure->calls, profile->step_count),
                               (int64_t)profile->rank_count * profile->step_count);
}
