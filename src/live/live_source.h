/* A source of live numbers.
 *
 * To add one: write live/<name>.c with `const struct live_source <name>_source`, and one line
 * LIVE_SOURCE(<name>) in list.def. */
#ifndef FLOPLEDGER_LIVE_LIVE_SOURCE_H
#define FLOPLEDGER_LIVE_LIVE_SOURCE_H

#include "base/core/error.h"
#include "live/live_sample.h"

struct live_source {
    const char *name;
    /* NULL where nothing must be kept between samples. `root` stands before /proc and /sys: "" but
     * in tests. */
    void *(*start)(const char *root);
    /* Adds what there is now; says by live_note what a user would miss, and never fails. */
    void (*sample)(void *state, const char *root, struct live_samples *samples);
    void (*stop)(void *state);
};

enum { LIVE_SOURCES_MAX = 16 };

/* All sources, started. */
struct live_machine {
    const char *root;
    void *states[LIVE_SOURCES_MAX];
};

void live_machine_start(struct live_machine *machine, const char *root);
void live_machine_sample(struct live_machine *machine, struct live_samples *samples);
void live_machine_clear(struct live_machine *machine);

/* NCCL's RAS, which is asked only where that is wished: it is a server of the job. */
struct ras_watch;

/* Asks at `address` (as of ask_ras), which must outlive it, and then every 10 s beside what the
 * caller does. NULL with `error` set where that is no address. */
struct ras_watch *ras_watch_start(const char *address, struct error *error);

/* What it told last, or a note that it does not answer. */
void ras_watch_sample(struct ras_watch *watch, struct live_samples *samples);

void ras_watch_stop(struct ras_watch *watch);

#endif
