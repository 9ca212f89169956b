/* By whose clock the steps are booked: the host's marks, or the time in which the device did what
 * was launched in them. A host that waits for nobody marks the end of a step long before the device
 * has begun with it. */
#ifndef FLOPLEDGER_LEDGER_STEP_CLOCK_H
#define FLOPLEDGER_LEDGER_STEP_CLOCK_H

#include "ledger/step_window.h"
#include "trace/trace.h"

#include <stdbool.h>
#include <stdint.h>

enum step_clock {
    STEP_CLOCK_HOST,   /* a step is its mark */
    STEP_CLOCK_DEVICE, /* ... its device window: from the start of the first work launched in the
                          mark to the end of the last */
};

enum step_clock_choice { CLOCK_CHOICE_AUTO, CLOCK_CHOICE_HOST, CLOCK_CHOICE_DEVICE };

/* Windows fit where at least so much of the device's time for a step lies inside its own. */
enum { CLOCK_FITS_PERCENT = 50 };

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

#endif
