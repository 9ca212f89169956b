/* Is a difference between two runs more than what their steps differ among themselves? */
#ifndef FLOPLEDGER_SECTIONS_COMPARISON_STEP_NOISE_H
#define FLOPLEDGER_SECTIONS_COMPARISON_STEP_NOISE_H

#include <stdbool.h>
#include <stddef.h>

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

/* How many steps of each run would make a difference as large, with steps that differ as much,
 * sure: more than the larger run has, up to `most`; 0 where that is not enough, or nothing is known
 * of the noise. */
size_t steps_to_be_sure(const struct step_sample *a, const struct step_sample *b, size_t most);

/* Two-sided tail of Student's t: the chance of |t| or more. freedom > 0. */
double student_tail(double t, double freedom);

/* The t whose two-sided tail is `chance`, 0 < chance < 1. */
double student_quantile(double chance, double freedom);

/* Benjamini and Hochberg's correction for many questions at once (J. R. Stat. Soc. B 57, 1995): in
 * place, chances[i] becomes the smallest rate of false discoveries at which row i counts. */
void correct_for_many(double *chances, size_t count);

#endif
