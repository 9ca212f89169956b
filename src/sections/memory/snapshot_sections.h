/* What a snapshot of the CUDA allocator says, in sections of a report. */
#ifndef FLOPLEDGER_SECTIONS_MEMORY_SNAPSHOT_SECTIONS_H
#define FLOPLEDGER_SECTIONS_MEMORY_SNAPSHOT_SECTIONS_H

#include "memory/snapshot_owners.h"
#include "memory/snapshot_places.h"
#include "memory/snapshot_replay.h"
#include "output/results/results.h"

#include <stdint.h>

/* One device of a snapshot, seen from all sides; all three are of the same replay. */
struct snapshot_view {
    const struct snapshot_replay *replay;
    const struct snapshot_places *places;
    const struct snapshot_owners *owners;
    uint32_t top; /* rows of long tables; UINT32_MAX: all */
};

/* The peak: how much, when, and what it consisted of. */
struct section *describe_snapshot_peak(struct results *results, const struct snapshot_view *view);

/* Memory over time, and what grows. NULL where the snapshot holds no events. */
struct section *describe_snapshot_timeline(struct results *results,
                                           const struct snapshot_view *view);
struct section *describe_snapshot_growth(struct results *results, const struct snapshot_view *view);

/* What is reserved when the snapshot was taken, and how much of it is of no use. */
struct section *describe_snapshot_allocator(struct results *results,
                                            const struct snapshot_view *view);

/* Each time that memory ran out. NULL where it never did. */
struct section *describe_snapshot_oom(struct results *results, const struct snapshot_view *view);

/* What grew and what shrank from one snapshot to another, at their peaks. */
struct section *describe_snapshot_change(struct results *results,
                                         const struct snapshot_view *before,
                                         const struct snapshot_view *after);

/* ---- what the sections share ---- */

/* "attention.py:88 forward", "SoftmaxBackward0 (autograd)". */
const char *place_label(struct results *results, const struct snapshot_places *places, uint32_t id);
/* The same of a frame. */
const char *frame_label(struct results *results, const struct memory_snapshot *snapshot,
                        const struct snapshot_frame *frame);
/* A tag as it is shown: its module, else its phase, else "". */
const char *tag_label(const struct snapshot_view *view, uint32_t tag);

/* Memory at a moment by place; clear it. */
struct memory_shares shares_by_place(const struct snapshot_view *view, uint32_t moment);
/* By module of the tag. */
struct memory_shares shares_by_module(const struct snapshot_view *view, uint32_t moment);

/* Rows of a table that --top lets through. */
uint32_t snapshot_rows(const struct snapshot_view *view, uint32_t count);

/* part / whole; 0 of nothing. */
double share_of(int64_t part, int64_t whole);

/* Adds a table of shares: what, bytes, share, blocks, the largest one. */
struct share_table {
    const char *key;
    const char *title;
    const char *of_what; /* the title of the first column */
    const char *(*label)(struct results *results, const struct snapshot_view *view, uint32_t key);
};

void add_share_table(struct results *results, struct section *section,
                     const struct snapshot_view *view, const struct share_table *what,
                     const struct memory_shares *shares);

/* Labels for it: of places, and of names of owners. */
const char *label_place(struct results *results, const struct snapshot_view *view, uint32_t key);
const char *label_owner(struct results *results, const struct snapshot_view *view, uint32_t key);

#endif
