/* What the first screens of one rank and of several share: a step, and what costs most. */
#ifndef FLOPLEDGER_OUTPUT_REPORTS_SCREEN_STEPS_H
#define FLOPLEDGER_OUTPUT_REPORTS_SCREEN_STEPS_H

#include "output/reports/first_screen.h"

/* The same, but "standard input" of it. */
const char *screen_file_name(const char *name);

/* What the rank's file is called: without the folders that it shares with others. */
const char *screen_rank_file(const struct screen_builder *builder);

/* The name of the device that the rank's sections are of; NULL where it ran on none. */
const char *screen_device(struct screen_builder *builder);

/* " · steps 5 to 10", " · step 10": of the number of that name; "" where it is none. */
const char *screen_steps(struct screen_builder *builder, struct value numbers);

/* Whether the trace marks steps, so that its time is not that of one window over all of it. */
bool screen_has_steps(const struct screen_builder *builder);

/* "step", or "window" where no steps are marked. */
const char *screen_span(const struct screen_builder *builder);

/* "step 175 ms (164-181)"; without the range where it is nothing. */
void screen_add_time_range(struct screen_builder *builder, const char *what, struct value mean,
                           struct value low, struct value high);

/* The number of this key with its title and note; NULL where there is none. */
const struct number *find_whole_number(const struct section *section, const char *key);

/* Which rows of a ledger are groups, by their keys; ends with NULL. */
struct screen_group {
    const char *key;
    const char *title;
};

/* A ledger to draw, by the keys of its columns. */
struct screen_ledger {
    const struct table *table; /* the first row is the whole */
    const struct screen_group *groups;
    const char *amounts; /* of one step */
    const char *remarks; /* what stands behind the bars; NULL: nothing does */
};

/* The chart of a ledger: each row without parts of its own, by group. */
void screen_fill_ledger(struct screen_builder *builder, const struct screen_ledger *ledger);

/* Why this window was recorded, where a rule of --on asked for it. */
void screen_tell_trigger(struct screen_builder *builder);

/* Of each row of --what-if: how long a step would take. `changes` may be NULL. */
void screen_answer_what_if(struct screen_builder *builder, const struct table *changes);

/* "MFU ", or "MFU at least " where more than a hundredth of the matmul time could add to it. */
const char *screen_mfu_title(const struct screen_builder *builder);

/* "118 GFLOP/s"; "at least" before it where operators that are not counted may hold more. */
void screen_add_flops(struct screen_builder *builder, const char *after);

/* What costs most, in one sentence; NULL where the ledger has nothing to say. */
const char *screen_verdict_of_steps(struct screen_builder *builder);

#endif
