/* What changed between two runs: each measure of both, with how sure the change is. */
#ifndef FLOPLEDGER_SECTIONS_COMPARISON_RUN_COMPARISON_H
#define FLOPLEDGER_SECTIONS_COMPARISON_RUN_COMPARISON_H

#include "sections/comparison/run_profile.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the steps of one run say of one quantity. */
struct step_sample {
    size_t count;
    double mean;           /* of all steps */
    double trimmed_mean;   /* of the middle ones: of five or more steps a fifth at each end is set
                              aside */
    double standard_error; /* of trimmed_mean; 0 with one step */
    double freedom;        /* degrees of freedom of standard_error; 0 with one step */
};

/* Of `values` [count], count >= 1, in the order of the steps: of ten or more, neighbours that
 * resemble each other count as fewer steps. */
struct step_sample measure_step_sample(const double *values, size_t count);

/* How sure a difference b - a is. */
struct noise_verdict {
    bool is_known;     /* both runs have two steps or more */
    double chance;     /* that steps of equal means differ as much (two-sided p); 1 if not known */
    double difference; /* of the trimmed means */
    double low, high;  /* 95 % interval of it; of no meaning if not known */
};

/* Yuen's test: Welch's t on trimmed means and winsorized variances (K. K. Yuen, Biometrika 61,
 * 1974); with fewer than five steps Welch's t. Values that never vary in either run differ for sure
 * or not at all. */
struct noise_verdict compare_step_samples(const struct step_sample *a, const struct step_sample *b);

/* Two-sided tail of Student's t: the chance of |t| or more. freedom > 0. */
double student_tail(double t, double freedom);

/* The t whose two-sided tail is `chance`, 0 < chance < 1. */
double student_quantile(double chance, double freedom);

/* Benjamini and Hochberg's correction for many questions at once (J. R. Stat. Soc. B 57, 1995): in
 * place, chances[i] becomes the smallest rate of false discoveries at which row i counts. */
void correct_for_many(double *chances, size_t count);

enum change_verdict {
    CHANGE_NOT_KNOWN, /* a run has one step: nothing tells its noise */
    CHANGE_SAME,      /* the same in all steps of both runs */
    CHANGE_NOISE,     /* the steps of one run differ as much */
    CHANGE_SMALL,     /* sure, but less than counts */
    CHANGE_LESS,
    CHANGE_MORE,
    CHANGE_NEW,  /* more, from nothing */
    CHANGE_GONE, /* less, to nothing */
};

/* One measure in both runs. */
struct change {
    const struct measure *a; /* NULL: run A has none: 0 */
    const struct measure *b;
    double mean_a; /* per step and rank; of a fraction 0...1 */
    double mean_b;
    struct noise_verdict noise;
    double rate; /* of false discoveries, after the correction for many; counts up to 0.05 */
    enum change_verdict verdict;
};

struct comparison_options {
    double least_change; /* of the larger value: below, a change is small */
    double least_share;  /* of A's step: a change in time below is small */
};

/* 1 % and 0.1 %. */
extern const struct comparison_options default_comparison_options;

/* Zeroed is empty. */
struct run_comparison {
    const struct run_profile *a;
    const struct run_profile *b;
    struct comparison_options options;
    struct change *changes;                 /* by kind, then the largest first */
    uint32_t first[MEASURE_KIND_COUNT + 1]; /* of each kind: changes[first[k] .. first[k + 1]) */
};

/* Both runs must have a step, and live as long as the comparison, which must be zeroed. Of two runs
 * that are equal, with independent steps, the step is called changed by mistake at most 5 times in
 * 100, and any of all other rows likewise: half of that for accounts, work and memory, half for the
 * tables by name. */
void compare_runs(struct run_comparison *comparison, const struct run_profile *a,
                  const struct run_profile *b, const struct comparison_options *options);
void run_comparison_clear(struct run_comparison *comparison);

/* The change of sums: of all `values` [a's steps, b's steps]. */
struct noise_verdict compare_values(const double *a, size_t a_count, const double *b,
                                    size_t b_count);

const struct change *find_change(const struct run_comparison *comparison, enum measure_kind kind,
                                 const char *name);

/* The measure of either run. */
static inline const struct measure *change_measure(const struct change *change)
{
    return change->a ? change->a : change->b;
}

/* How many steps of each run would make this change of the step time sure; 0: it is sure, is too
 * small to count, or so many that the count is not what decides. */
size_t steps_that_would_tell(const struct run_comparison *comparison, const struct change *step);

/* torch.compile made the code of one run alone: "A" or "B"; NULL: of both or of none. */
const char *compiled_run(const struct run_comparison *comparison);

bool change_is_significant(const struct change *change);

/* "less", "more", "new", "gone", "within noise", "small", "the same", "noise not known" */
const char *change_verdict_text(enum change_verdict verdict);

#endif
