/* The ledger: each nanosecond of each step booked to one account. */
#ifndef FLOPLEDGER_LEDGER_STEP_LEDGER_H
#define FLOPLEDGER_LEDGER_STEP_LEDGER_H

#include "ledger/account.h"
#include "ledger/class_timeline.h"
#include "ledger/kernel_class.h"
#include "ledger/step_window.h"
#include "trace/trace.h"

#include <regex.h>
#include <stdbool.h>
#include <stdint.h>

/* By whose clock the steps are booked: the host's marks, or the time in which the device did what
 * was launched in them. A host that waits for nobody marks the end of a step long before the device
 * has begun with it. */

enum step_clock {
    STEP_CLOCK_HOST,   /* a step is its mark */
    STEP_CLOCK_DEVICE, /* ... its device window: from the start of the first work launched in the
                          mark to the end of the last */
};

enum step_clock_choice { CLOCK_CHOICE_AUTO, CLOCK_CHOICE_HOST, CLOCK_CHOICE_DEVICE };

/* Windows fit where at least so much of the device's time for a step lies inside its own. */
enum { CLOCK_FITS_PERCENT = 50, MARKS_FIT_PERCENT = 75 };

/* How steps and the work launched in them lie to each other. */
struct step_clocks {
    enum step_clock clock; /* that was chosen */
    bool is_known;         /* of most work it is known which step launched it: these sums tell */
    int64_t launched_ns;  /* device time of the work launched in the marks, each event for itself */
    int64_t in_mark_ns;   /* ... inside its own step's mark */
    int64_t running_ns;   /* of any work, wherever it was launched, inside the marks */
    int64_t in_window_ns; /* ... inside its own step's device window */
    uint32_t without_work; /* steps without a device window: it leaves them out */
};

/* Finds the device windows and the lead of each step, chooses a clock and, where that is the
 * device's, makes the windows those of the device. AUTO: the host's where its marks fit, else the
 * device's where they fit and each step has one, else the host's. */
struct step_clocks choose_step_clock(struct step_windows *windows, const struct trace *trace,
                                     int32_t device, enum step_clock_choice choice);

/* What runs in the windows that were chosen is about what was launched in the steps, or that is not
 * known. Marks that the host sets steps ahead fit as well, as long as some step's work runs in
 * them. */
bool step_clock_fits(const struct step_clocks *clocks);

/* The bit of ledger.timeline beyond enum kernel_class. */
enum {
    LEDGER_DATA_COPY = KERNEL_CLASS_COUNT, /* a copy to the device launched inside data loading */
    LEDGER_CLASS_COUNT,
};
_Static_assert((int)LEDGER_CLASS_COUNT <= (int)TIMELINE_CLASSES_MAX,
               "a timeline has room for all classes");

/* All classes of computing kernels, as a mask of bits of ledger.timeline. */
uint32_t ledger_compute_mask(void);

/* The account that time belongs to in which a class of ledger.timeline runs: the lowest bit of its
 * mask. */
enum account ledger_account_of_class(unsigned class);

/* One step of one device. The sum of account_ns is exactly window.end_ns - window.start_ns. */
struct step_ledger {
    struct step_window window;
    int64_t account_ns[ACCOUNT_COUNT];
    /* Facts beside the accounts, not part of the sum. */
    int64_t class_ns[KERNEL_CLASS_COUNT]; /* matrix and other compute split further; exposed time of
                                             the others */
    int64_t busy_ns;                      /* any kernel, copy or memset runs */
    int64_t communication_ns;             /* any communication kernel runs, hidden or not */
    int64_t hidden_communication_ns;      /* ... while a compute kernel runs */
    int64_t copy_ns;                      /* any copy runs */
    int64_t memset_ns;                    /* any memset runs */
    int64_t tail_ns; /* idle after the last device event of the step; split by cause in the accounts
                      */
    int64_t sync_opened_ns; /* idle gaps that a synchronising call opened; split by cause in the
                               accounts */
};

/* One stretch of idle time inside a step. */
struct idle_gap {
    int64_t start_ns;
    int64_t end_ns;
    uint32_t step;             /* index in ledger.steps */
    uint32_t next_event;       /* index in trace->device of the event that ends it, or NO_EVENT */
    uint32_t launch;           /* index in trace->host of that event's launch call, or NO_EVENT */
    uint32_t thread;           /* track whose host activity explains the gap, or NO_EVENT */
    enum account main_account; /* the account with the largest part of it */
    uint32_t host_event; /* index in trace->host: of the events that make the main account, the one
                          * that was innermost for the longest part of the gap, before the launch;
                          * NO_EVENT where there is none */
};

enum { WORST_GAPS_MAX = 256 };

struct ledger {
    bool is_cpu_only; /* no device work: the "device" is the threads that execute operators */
    int32_t device;   /* the device number booked here; -1 for CPU only */
    enum window_source source;
    struct step_clocks clocks; /* whose windows the steps have; of all steps of the trace */
    struct step_ledger *steps; /* [step_count], sorted by start */
    uint32_t step_count;
    int64_t between_steps_ns;       /* between the windows, from the first to the last */
    int64_t between_steps_busy_ns;  /* ... in which the device worked */
    uint8_t *classes;               /* enum kernel_class of each of trace->device */
    struct class_timeline timeline; /* the device's; bits: enum kernel_class, LEDGER_DATA_COPY */
    struct host_activity *activity; /* of the threads that were asked; see host_activity_know */
    struct idle_gap worst_gaps[WORST_GAPS_MAX]; /* the longest, longest first */
    uint32_t worst_gap_count;
    int64_t gap_count;             /* all idle gaps in all steps */
    struct account_pieces *pieces; /* of all steps; NULL: not asked for */
};

struct ledger_options {
    enum window_choice choice;
    int64_t first_step; /* only steps with first_step <= number <= last_step; INT64_MIN and
                           INT64_MAX for all */
    int64_t last_step;
    int32_t device; /* -1: the device with the most events */
    enum step_clock_choice clock;
    const regex_t *step_pattern; /* ranges whose names match are the steps; NULL: see choice */
    bool keeps_pieces;           /* when each account had its time: for who draws it */
};

/* Where the steps of `trace` are, by the windows found: `ledger` and `windows` must be zeroed.
 * Never fails; step_count is 0 for a trace without timed events. */
void find_ledger_steps(struct ledger *ledger, struct step_windows *windows,
                       const struct trace *trace, const struct ledger_options *options);

/* Books those steps; changes nothing of where they are. */
void attribute_steps(struct ledger *ledger, const struct step_windows *windows,
                     const struct trace *trace, const struct ledger_options *options);
void ledger_clear(struct ledger *ledger);

#endif
