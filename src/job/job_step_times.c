/* How long the steps of a job took: how they spread, which stood out, and whether they drifted. */
#include "job/job_step_times.h"

#include "base/core/invariant.h"
#include "base/core/saturated.h"

#include <stdlib.h>
#include <string.h>

/* An entry of an attempt, with its length. */
struct timed_entry {
    int64_t each_ns;
    int64_t count;
    size_t attempt;
    const struct job_step *step;
};

struct timed_entries {
    struct timed_entry *entries;
    size_t count;
};

/* Steps whose rate cannot be have a length that cannot, either. */
static struct timed_entries entries_of(const struct job *job, const struct job_accounts *accounts)
{
    struct timed_entries all = {0};
    size_t room = 0;

    for (size_t i = 0; i < job->attempt_count; i++)
        room += job->attempts[i].step_count;
    all.entries = require_memory(malloc((room + 1) * sizeof *all.entries));
    for (size_t i = 0; i < job->attempt_count; i++)
        for (size_t j = 0; j < job->attempts[i].step_count; j++) {
            const struct job_step *step = &job->attempts[i].steps[j];
            int64_t each_ns = accounts->attempts[i].each_ns[j];

            if (each_ns == JOB_NOT_KNOWN || step->is_incredible)
                continue;
            all.entries[all.count++] = (struct timed_entry){
                .each_ns = each_ns, .count = step->count, .attempt = i, .step = step};
        }
    return all;
}

static int compare_lengths(const void *first, const void *second)
{
    const struct timed_entry *a = first, *b = second;

    return a->each_ns < b->each_ns ? -1 : a->each_ns > b->each_ns;
}

/* The length that so many per cent of the steps do not exceed; `sorted` by length. Over steps,
 * not entries: an entry may stand for a hundred. The product is split, so that it cannot
 * overflow. */
static int64_t per_cent_of(const struct timed_entry *sorted, size_t count, int64_t steps,
                           int64_t per_cent)
{
    int64_t wanted = steps / 100 * per_cent + (steps % 100 * per_cent + 99) / 100, seen = 0;

    for (size_t i = 0; i < count; i++) {
        seen += sorted[i].count;
        if (seen >= wanted)
            return sorted[i].each_ns;
    }
    return count ? sorted[count - 1].each_ns : 0;
}

static int64_t steps_in(const struct timed_entry *entries, size_t count)
{
    int64_t steps = 0;

    for (size_t i = 0; i < count; i++)
        steps += entries[i].count;
    return steps;
}

/* What they took beyond the median, together. */
static int64_t job_step_times_excess_ns(const struct slow_step *slow)
{
    return saturated_product(saturated_difference(slow->each_ns, slow->median_ns), slow->count);
}

/* Keeps the worst: by what they took beyond the median. Insertion into a short list, by what the
 * entry took beyond the median. */
static void note_slow(struct job_step_times *times, const struct timed_entry *entry,
                      int64_t median_ns)
{
    struct slow_step slow = {.attempt = entry->attempt,
                             .step = entry->step->step,
                             .count = entry->count,
                             .each_ns = entry->each_ns,
                             .median_ns = median_ns,
                             .end_ns = entry->step->end_ns};
    int64_t excess_ns = job_step_times_excess_ns(&slow);
    size_t place = times->slow_count;

    times->slow_steps += slow.count;
    times->slow_ns = saturated_sum(times->slow_ns, excess_ns);
    while (place > 0 && job_step_times_excess_ns(&times->slow[place - 1]) < excess_ns)
        place--;
    /* Counted above, and less slow than all that are kept. */
    if (place == SLOW_STEPS_MAX)
        return;
    if (times->slow_count < SLOW_STEPS_MAX)
        times->slow_count++;
    memmove(times->slow + place + 1, times->slow + place,
            (times->slow_count - place - 1) * sizeof *times->slow);
    times->slow[place] = slow;
}

/* A copy is sorted, for the entries stay in the order of time. The bound is divided before it
 * is compared, against overflow of products. */
static void measure_part(struct job_step_times *times, const struct timed_entry *entries,
                         size_t count, struct timed_entry *sorted)
{
    struct step_part *part = &times->parts[times->part_count++];

    memcpy(sorted, entries, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, compare_lengths);
    *part = (struct step_part){
        .attempt = entries[0].attempt,
        .first_step = entries[0].step->step - entries[0].step->count + 1,
        .last_step = entries[count - 1].step->step,
        .median_ns = per_cent_of(sorted, count, steps_in(entries, count), 50),
    };
    for (size_t i = 0; i < count; i++)
        if (entries[i].each_ns / SLOW_PER_CENT > part->median_ns / 100)
            note_slow(times, &entries[i], part->median_ns);
}

/* Parts of the same number of entries.
 *
 * A job is looked at in parts because "slow" means slow for its time: a run whose sequences grow
 * has no slow steps, only later ones. Each part has its own median, and enough entries for it to
 * mean something. */
static void measure_parts(struct job_step_times *times, const struct timed_entries *all,
                          struct timed_entry *sorted)
{
    size_t parts = all->count / STEP_PART_ENTRIES_MIN;
    size_t from = 0;

    if (parts > STEP_PARTS_MAX)
        parts = STEP_PARTS_MAX;
    if (parts == 0)
        parts = 1;
    for (size_t part = 0; part < parts; part++) {
        size_t end = all->count * (part + 1) / parts;

        measure_part(times, all->entries + from, end - from, sorted);
        from = end;
    }
}

/* The sum is in double: 10^15 ns (eleven days) times a million steps is beyond 63 bits. */
void job_step_times_fill(struct job_step_times *times, const struct job *job,
                         const struct job_accounts *accounts)
{
    struct timed_entries all = entries_of(job, accounts);
    struct timed_entry *sorted = require_memory(malloc((all.count + 1) * sizeof *sorted));
    double total_ns = 0.0;

    *times = (struct job_step_times){.entries = (int64_t)all.count};
    times->steps = steps_in(all.entries, all.count);
    if (all.count) {
        measure_parts(times, &all, sorted);
        memcpy(sorted, all.entries, all.count * sizeof *sorted);
        qsort(sorted, all.count, sizeof *sorted, compare_lengths);
        for (size_t i = 0; i < all.count; i++)
            total_ns += (double)sorted[i].each_ns * (double)sorted[i].count;
        times->mean_ns = (int64_t)(total_ns / (double)times->steps);
        times->minimum_ns = sorted[0].each_ns;
        times->median_ns = per_cent_of(sorted, all.count, times->steps, 50);
        times->p90_ns = per_cent_of(sorted, all.count, times->steps, 90);
        times->p99_ns = per_cent_of(sorted, all.count, times->steps, 99);
        times->maximum_ns = sorted[all.count - 1].each_ns;
    }
    free(sorted);
    free(all.entries);
}
