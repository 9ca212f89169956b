/* What the devices did in the kept steps of a job: that of traced steps, scaled to all. */
#include "job/kept_parts.h"

#include "base/core/apportion.h"
#include "base/core/invariant.h"
#include "base/core/percentile.h"
#include "base/core/search.h"
#include "job/job_step_times.h"

#include <math.h>
#include <stdlib.h>

/* What is to be known of one step of an attempt. */
struct step_view {
    int64_t length_ns;   /* as it was booked */
    int64_t data_ns;     /* the device waited for data; JOB_NOT_KNOWN */
    int64_t rest_ns;     /* length less data */
    int64_t median_ns;   /* of rest_ns of the steps around it that were not traced; 0: none */
    int64_t measured_ns; /* of data, in its windows: their sum */
    int64_t windows;     /* of how many ranks */
    bool is_measure;     /* not traced, and not of the first few */
    bool is_kept;
    bool is_traced;
};

/* The windows of one attempt, summed up, without dilation. */
struct window_sum {
    int64_t part_ns[KEPT_PARTS_MAX];
    int64_t fixed_ns[KEPT_FIXED_MAX];
    int64_t count;
    int64_t hidden_ns; /* what of a step's data wait the device does not wait for, mean */
    int64_t plain_ns;  /* what a traced step would have taken otherwise, mean; 0: not known */
};

struct attempt_walk {
    const struct job_attempt *attempt;
    const struct attempt_accounts *accounts;
    const struct traced_steps *traced;
    size_t index;
    struct step_view *views; /* [step_count] */
    struct window_sum sum;
    int64_t dilation_ns; /* of kept steps */
};

struct all_walks {
    struct attempt_walk *walks; /* [count] */
    size_t count;
};

static void all_walks_clear(struct all_walks *all)
{
    for (size_t i = 0; i < all->count; i++)
        free(all->walks[i].views);
    free(all->walks);
}

static int64_t at_least_zero(int64_t value)
{
    return value > 0 ? value : 0;
}

static int64_t kept_parts_smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t kept_parts_larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Stays at the largest or the smallest where a record holds nonsense. */
static int64_t plus(int64_t a, int64_t b)
{
    int64_t sum;

    if (__builtin_add_overflow(a, b, &sum))
        return b > 0 ? INT64_MAX / 2 : INT64_MIN / 2;
    return sum;
}

/* ---- the steps of an attempt ----------------------------------------------------------------- */

/* The step with this number of the process's own count; NULL: none. Steps of one attempt count
 * up by the process's own count. */
static struct step_view *kept_parts_find_step(const struct attempt_walk *walk, int64_t number)
{
    size_t low =
        LOWER_BOUND(i, 0, walk->attempt->step_count, walk->attempt->steps[i].process_step < number);

    return low < walk->attempt->step_count && walk->attempt->steps[low].process_step == number
               ? &walk->views[low]
               : NULL;
}

/* Only a record of single steps can be compared with a trace; entries of a log stand for
 * several. */
static void view_steps(struct attempt_walk *walk)
{
    const struct job_attempt *attempt = walk->attempt;

    walk->views = require_memory(calloc(attempt->step_count + 1, sizeof *walk->views));
    for (size_t i = 0; i < attempt->step_count; i++) {
        const struct job_step *step = &attempt->steps[i];
        struct step_view *view = &walk->views[i];
        bool is_recorded = step->process_step > 0 && step->count == 1 &&
                           walk->accounts->each_ns[i] != JOB_NOT_KNOWN;

        view->data_ns = JOB_NOT_KNOWN;
        view->length_ns = is_recorded ? walk->accounts->each_ns[i] : JOB_NOT_KNOWN;
        view->is_kept =
            is_recorded && step->step <= walk->accounts->kept_until && step->skipped <= 0;
        view->is_traced = step->is_traced;
        view->is_measure =
            is_recorded && !step->is_traced && step->process_step > KEPT_WARM_UP_STEPS;
    }
}

/* Steps in the account of kept steps, recorded or told by a log. */
static int64_t count_kept(const struct attempt_walk *walk)
{
    int64_t kept = 0;

    for (size_t i = 0; i < walk->attempt->step_count; i++) {
        const struct job_step *step = &walk->attempt->steps[i];
        int64_t until = kept_parts_smaller(walk->accounts->kept_until, step->step);
        int64_t of_step =
            kept_parts_smaller(at_least_zero(until - (step->step - step->count)), step->count);

        kept += at_least_zero(of_step - at_least_zero(step->skipped));
    }
    return kept;
}

/* ---- its windows ----------------------------------------------------------------------------- */

/* Sums up the windows of the attempt; those of steps that it does not have, or that
 * its record knows nothing of being traced, are left out. */
static void sum_windows(struct attempt_walk *walk)
{
    for (size_t i = 0; i < walk->traced->count; i++) {
        const struct traced_step *step = &walk->traced->steps[i];
        struct step_view *view =
            step->attempt == walk->index ? kept_parts_find_step(walk, step->number) : NULL;

        if (!view || !view->is_traced || view->length_ns == JOB_NOT_KNOWN)
            continue;
        view->measured_ns += step->part_ns[walk->traced->data_part];
        view->windows++;
        walk->sum.count++;
        for (size_t part = 0; part < walk->traced->part_count; part++)
            walk->sum.part_ns[part] += step->part_ns[part];
        for (size_t fixed = 0; fixed < walk->traced->fixed_count; fixed++)
            walk->sum.fixed_ns[fixed] += step->fixed_ns[fixed];
    }
}

/* The program may wait for data while the device still works: that part costs nothing. What the
 * program says it waited less what the device idled for data, mean over the traced steps; below
 * 0 is noise. */
static void measure_hidden_wait(struct attempt_walk *walk)
{
    int64_t hidden_ns = 0, steps = 0;

    for (size_t i = 0; i < walk->attempt->step_count; i++) {
        const struct step_view *view = &walk->views[i];

        if (view->windows == 0 || walk->attempt->steps[i].data_wait_ns == JOB_NOT_KNOWN)
            continue;
        hidden_ns = plus(hidden_ns,
                         kept_parts_smaller(walk->attempt->steps[i].data_wait_ns, view->length_ns) -
                             view->measured_ns / view->windows);
        steps++;
    }
    walk->sum.hidden_ns = steps ? at_least_zero(hidden_ns / steps) : 0;
}

/* Splits each step into its wait for data and the rest. */
static void split_steps(struct attempt_walk *walk, int64_t hidden_ns)
{
    for (size_t i = 0; i < walk->attempt->step_count; i++) {
        struct step_view *view = &walk->views[i];
        int64_t wait_ns = walk->attempt->steps[i].data_wait_ns;

        if (view->length_ns == JOB_NOT_KNOWN)
            continue;
        view->rest_ns = view->length_ns;
        if (wait_ns == JOB_NOT_KNOWN) /* then a traced one's is left in, too: it is compared */
            continue;
        view->data_ns = kept_parts_smaller(view->windows > 0 ? view->measured_ns / view->windows
                                                             : at_least_zero(wait_ns - hidden_ns),
                                           view->length_ns);
        view->rest_ns -= view->data_ns;
    }
}

/* For each step the median of the steps around it.
 *
 * A running median, not one of the whole job: step times drift (longer sequences, other
 * batches), and a drift would else be told as dilation or as slow steps. Traced steps and those
 * of the warm-up are in none. */
static void find_medians(struct attempt_walk *walk)
{
    size_t count = walk->attempt->step_count, measure_count = 0, before = 0;
    int64_t *measures = require_memory(malloc((count + 1) * sizeof *measures));

    for (size_t i = 0; i < count; i++)
        if (walk->views[i].is_measure)
            measures[measure_count++] = walk->views[i].rest_ns;
    for (size_t i = 0; i < count; i++) {
        int64_t around[2 * KEPT_MEDIAN_STEPS + 1];
        size_t from = before > KEPT_MEDIAN_STEPS ? before - KEPT_MEDIAN_STEPS : 0;
        size_t end = before + KEPT_MEDIAN_STEPS + walk->views[i].is_measure;
        size_t found = 0;

        for (size_t j = from; j < end && j < measure_count; j++)
            around[found++] = measures[j];
        walk->views[i].median_ns = percentile_of(around, found, 50);
        before += walk->views[i].is_measure;
    }
    free(measures);
}

/* ---- dilation -------------------------------------------------------------------------------- */

/* What traced steps took beyond the steps around them: of all of the attempt, and of the kept. */
static int64_t measure_dilation(struct attempt_walk *walk, struct kept_parts *kept)
{
    int64_t excess_ns = 0, kept_excess_ns = 0, kept_rest_ns = 0, reference_ns = 0, steps = 0;

    for (size_t i = 0; i < walk->attempt->step_count; i++) {
        const struct step_view *view = &walk->views[i];

        if (!view->is_traced || view->median_ns == 0 || view->length_ns == JOB_NOT_KNOWN)
            continue;
        steps++;
        reference_ns = plus(reference_ns, view->median_ns);
        excess_ns = plus(excess_ns, view->rest_ns - view->median_ns);
        kept->compared_ns = plus(kept->compared_ns, view->rest_ns);
        if (view->is_kept) {
            kept_excess_ns = plus(kept_excess_ns, view->rest_ns - view->median_ns);
            kept_rest_ns = plus(kept_rest_ns, view->rest_ns);
        }
    }
    kept->compared_steps += steps;
    kept->reference_ns = plus(kept->reference_ns, reference_ns);
    /* Where recorded steps took less than those around, they are what they are: nothing is
     * taken off them. */
    walk->sum.plain_ns = steps ? (reference_ns + (excess_ns < 0 ? excess_ns : 0)) / steps : 0;
    walk->dilation_ns =
        excess_ns > 0 ? kept_parts_smaller(at_least_zero(kept_excess_ns), kept_rest_ns) : 0;
    return at_least_zero(excess_ns);
}

/* Takes up to `amount_ns` out of the parts of the mask, by their lengths; returns what is left.
 * By length, with largest remainders (apportion_by_weight), so that the parts lose exactly what
 * is taken. */
static int64_t subtract_part(struct window_sum *sum, const struct traced_steps *traced,
                             uint32_t mask, int64_t amount_ns)
{
    int64_t weights[KEPT_PARTS_MAX] = {0}, shares[KEPT_PARTS_MAX];
    int64_t room_ns = 0, taken_ns;

    for (size_t part = 0; part < traced->part_count; part++) {
        if (part == traced->data_part || !(mask & (1U << part)))
            continue;
        weights[part] = sum->part_ns[part];
        room_ns += weights[part];
    }
    taken_ns = kept_parts_smaller(amount_ns, room_ns);
    if (taken_ns <= 0)
        return amount_ns;
    apportion_by_weight(shares, weights, traced->part_count, taken_ns);
    for (size_t part = 0; part < traced->part_count; part++)
        sum->part_ns[part] -= shares[part];
    return amount_ns - taken_ns;
}

/* The windows have `dilation_ns` in their steps, by the record's clock: the same share of theirs
 * is taken out of what a slower host makes longer, and what that does not have out of all. */
static void subtract_dilation(struct attempt_walk *walk, int64_t dilation_ns)
{
    int64_t recorded_ns = 0, window_ns = 0;
    double share;

    for (size_t i = 0; i < walk->attempt->step_count; i++)
        if (walk->views[i].is_traced && walk->views[i].length_ns != JOB_NOT_KNOWN)
            recorded_ns += walk->views[i].length_ns;
    for (size_t part = 0; part < walk->traced->part_count; part++)
        window_ns += walk->sum.part_ns[part];
    if (dilation_ns == 0 || recorded_ns <= 0)
        return;
    share = (double)dilation_ns / (double)recorded_ns;
    (void)subtract_part(&walk->sum, walk->traced, UINT32_MAX,
                        subtract_part(&walk->sum, walk->traced, walk->traced->host_parts,
                                      llround((double)window_ns * share)));
}

/* ---- booking --------------------------------------------------------------------------------- */

static void kept_parts_add(struct kept_amount *amount, const struct attempt_walk *walk, int64_t ns)
{
    amount->ns += ns;
    amount->device_seconds += (double)ns / 1e9 * (double)walk->accounts->devices;
}

/* Divides `total_ns` among the parts as the windows have it, with the wait for data or without;
 * returns what could not be: the windows hold nothing. */
static int64_t divide(struct kept_parts *kept, const struct attempt_walk *walk,
                      const struct window_sum *sum, int64_t total_ns, bool with_data)
{
    int64_t weights[KEPT_PARTS_MAX] = {0}, shares[KEPT_PARTS_MAX];
    int64_t whole_ns = 0;

    for (size_t part = 0; part < walk->traced->part_count; part++) {
        weights[part] = part == walk->traced->data_part && !with_data ? 0 : sum->part_ns[part];
        whole_ns += weights[part];
    }
    if (whole_ns <= 0 || total_ns <= 0)
        return total_ns;
    apportion_by_weight(shares, weights, walk->traced->part_count, total_ns);
    for (size_t part = 0; part < walk->traced->part_count; part++)
        kept_parts_add(&kept->parts[part], walk, shares[part]);
    return 0;
}

/* What a slow step that nobody looked into took beyond those around it: nothing tells what for. */
static int64_t slow_excess(const struct step_view *view)
{
    return !view->is_traced && view->median_ns > 0 &&
                   view->rest_ns / SLOW_PER_CENT > view->median_ns / 100
               ? view->rest_ns - view->median_ns
               : 0;
}

/* Does the step take what a traced one would, had it not been traced? */
static bool is_alike(const struct step_view *view, int64_t plain_ns)
{
    return llabs(view->rest_ns - plain_ns) <= plain_ns / 100 * KEPT_ALIKE_PER_CENT;
}

/* A traced step is slower by its recording: only the others are asked whether they are alike. */
static void count_step(struct kept_parts *kept, const struct window_sum *sum,
                       const struct step_view *view)
{
    kept->known_steps++;
    if (view->is_traced) {
        kept->traced_steps++;
        kept->traced_ns += view->length_ns;
    } else if (sum->plain_ns > 0) {
        kept->other_steps++;
        kept->alike_steps += is_alike(view, sum->plain_ns);
    }
    kept->slow_steps += slow_excess(view) > 0;
}

/* All kept steps of an attempt, by `sum`, which has windows.
 *
 * How windows of a few traced steps speak for all kept ones. Each step is first split by what
 * its record tells of every step: its wait for data (less what the device hides of it), and the
 * rest. Of the rest two parts are taken out that no window can explain: what tracing itself
 * added (dilation: traced steps beyond the median of those around them) and what a slow step
 * that nobody traced took beyond its neighbors. What is left is divided as the windows divide
 * theirs, without their wait for data where the step tells its own. All parts of an attempt add
 * up to its account of kept steps; what windows cannot say goes to `not_known`, never to a
 * guess. */
static void kept_parts_attribute_attempt(struct kept_parts *kept, const struct attempt_walk *walk,
                                         const struct window_sum *sum)
{
    int64_t rest_ns = -walk->dilation_ns, whole_ns = 0, data_ns = 0, slow_ns = 0, steps = 0;

    for (size_t i = 0; i < walk->attempt->step_count; i++) {
        const struct step_view *view = &walk->views[i];

        if (!view->is_kept)
            continue;
        steps++;
        count_step(kept, sum, view);
        slow_ns += slow_excess(view);
        if (view->data_ns == JOB_NOT_KNOWN) {
            whole_ns += view->rest_ns - slow_excess(view);
        } else {
            data_ns += view->data_ns;
            rest_ns += view->rest_ns - slow_excess(view);
        }
    }
    if (rest_ns < 0) { /* the traced steps alone are of unknown data wait */
        whole_ns += rest_ns;
        rest_ns = 0;
    }
    kept_parts_add(&kept->dilation, walk, walk->dilation_ns);
    kept_parts_add(&kept->slow, walk, slow_ns);
    kept_parts_add(&kept->parts[walk->traced->data_part], walk, data_ns);
    kept_parts_add(&kept->not_known, walk,
                   walk->accounts->ns[JOB_KEPT] - walk->dilation_ns - slow_ns - data_ns - rest_ns -
                       whole_ns + divide(kept, walk, sum, rest_ns, false) +
                       divide(kept, walk, sum, whole_ns, true));
    for (size_t fixed = 0; fixed < walk->traced->fixed_count; fixed++)
        kept_parts_add(&kept->fixed[fixed], walk,
                       llround((double)sum->fixed_ns[fixed] / (double)sum->count * (double)steps));
}

/* The windows of all attempts of as many devices, for one that has none. Of as many devices
 * only, as parts of a step change with the number of ranks. */
static struct window_sum sum_of_others(const struct all_walks *all, const struct attempt_walk *walk)
{
    struct window_sum sum = {0};

    for (size_t i = 0; i < all->count; i++) {
        const struct attempt_walk *other = &all->walks[i];

        if (other->sum.count == 0 || other->accounts->devices != walk->accounts->devices)
            continue;
        sum.count += other->sum.count;
        sum.hidden_ns = kept_parts_larger(sum.hidden_ns, other->sum.hidden_ns);
        sum.plain_ns = kept_parts_larger(sum.plain_ns, other->sum.plain_ns);
        for (size_t part = 0; part < walk->traced->part_count; part++)
            sum.part_ns[part] += other->sum.part_ns[part];
        for (size_t fixed = 0; fixed < walk->traced->fixed_count; fixed++)
            sum.fixed_ns[fixed] += other->sum.fixed_ns[fixed];
    }
    return sum;
}

static bool is_recorded(const struct job_attempt *attempt)
{
    return attempt->step_count > 0 && attempt->steps[0].process_step > 0;
}

/* An attempt without windows is told by those of others, and the report says that it is
 * borrowed. */
static void attribute_borrowed(struct kept_parts *kept, const struct all_walks *all,
                               struct attempt_walk *walk)
{
    struct window_sum sum =
        is_recorded(walk->attempt) ? sum_of_others(all, walk) : (struct window_sum){0};

    if (sum.count == 0) {
        kept_parts_add(&kept->not_known, walk, walk->accounts->ns[JOB_KEPT]);
        return;
    }
    split_steps(walk, sum.hidden_ns);
    find_medians(walk);
    (void)measure_dilation(walk, kept);
    kept->borrowed_attempts++;
    kept_parts_attribute_attempt(kept, walk, &sum);
}

/* ---- tokens ---------------------------------------------------------------------------------- */

/* Steps of other sizes cost other FLOPs. Mean tokens of traced and of other kept steps: where
 * they differ, FLOPs of the traced ones do not speak for all. */
static void compare_tokens(struct kept_parts *kept, const struct all_walks *all)
{
    double tokens[2] = {0.0, 0.0};
    int64_t steps[2] = {0, 0};

    for (size_t i = 0; i < all->count; i++)
        for (size_t j = 0; j < all->walks[i].attempt->step_count; j++) {
            const struct step_view *view = &all->walks[i].views[j];
            double rate = (double)all->walks[i].attempt->steps[j].tokens_per_second;

            if (!view->is_kept || isnan(rate))
                continue;
            tokens[view->is_traced] += rate * (double)view->length_ns / 1e9;
            steps[view->is_traced]++;
        }
    kept->other_tokens = steps[0] ? llround(tokens[0] / (double)steps[0]) : 0;
    kept->traced_tokens = steps[1] ? llround(tokens[1] / (double)steps[1]) : 0;
}

/* Windows of all attempts first, since an attempt without any borrows from the others. */
void kept_parts_fill(struct kept_parts *kept, const struct job *job,
                     const struct job_accounts *accounts, const struct traced_steps *traced)
{
    struct all_walks all = {.count = job->attempt_count};

    *kept = (struct kept_parts){0};
    all.walks = require_memory(calloc(all.count + 1, sizeof *all.walks));
    for (size_t i = 0; i < all.count; i++) {
        struct attempt_walk *walk = &all.walks[i];

        *walk = (struct attempt_walk){.attempt = &job->attempts[i],
                                      .accounts = &accounts->attempts[i],
                                      .traced = traced,
                                      .index = i};
        view_steps(walk);
        sum_windows(walk);
        kept->window_count += walk->sum.count;
        kept->steps += count_kept(walk);
        kept_parts_add(&kept->kept, walk, walk->accounts->ns[JOB_KEPT]);
        if (walk->sum.count == 0)
            continue;
        measure_hidden_wait(walk);
        split_steps(walk, walk->sum.hidden_ns);
        find_medians(walk);
        subtract_dilation(walk, measure_dilation(walk, kept));
    }
    for (size_t i = 0; i < all.count; i++) {
        if (all.walks[i].sum.count > 0)
            kept_parts_attribute_attempt(kept, &all.walks[i], &all.walks[i].sum);
        else
            attribute_borrowed(kept, &all, &all.walks[i]);
    }
    compare_tokens(kept, &all);
    all_walks_clear(&all);
}
