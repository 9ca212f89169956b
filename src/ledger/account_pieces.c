/* When each account of a step had its time: the ledger's walk over the device's timeline again, and
 * into each idle gap. */
#include "ledger/account_pieces.h"

#include "base/core/array.h"
#include "ledger/host_activity.h"
#include "ledger/idle_gap.h"

#include <stdlib.h>

struct walk {
    struct account_pieces *pieces;
    const struct ledger *ledger;
    struct host_activity activity;
    struct device_work work;
    uint32_t step;
    size_t cursor; /* in ledger->timeline */
};

static void add_piece(struct walk *walk, enum account account, int64_t start_ns, int64_t end_ns)
{
    account_pieces_add(walk->pieces, (struct account_piece){start_ns, end_ns, walk->step, account});
}

static void add_host_piece(void *context, enum host_class class, int64_t start_ns, int64_t end_ns)
{
    add_piece(context, account_of_host_class(class), start_ns, end_ns);
}

/* What the host did explains a gap up to the call that launches the next work; the rest is the
 * latency of that launch. Of a gap before work that was launched already all is of one account. */
static void add_gap(struct walk *walk, int64_t start_ns, int64_t end_ns)
{
    uint32_t track = walk->ledger->steps[walk->step].window.track;
    struct idle_gap gap = {.start_ns = start_ns, .end_ns = end_ns, .step = walk->step};
    struct host_piece_visitor visitor = {.visit = add_host_piece, .context = walk};
    int64_t launch_ns = find_gap_launch(&gap, &walk->work, track);

    if (launch_ns >= start_ns)
        host_activity_walk(&walk->activity, gap.thread, track, (int64_t[2]){start_ns, launch_ns},
                           &visitor);
    else
        launch_ns = start_ns;
    add_piece(walk, gap.main_account, launch_ns, end_ns);
}

/* The same walk as attribute_step's, over the same changes and with the same order of classes:
 * the pieces of an account sum to its time in the ledger, to the nanosecond. It is done again
 * only where somebody draws the pieces, since the sums alone need no memory per change. */
static void account_pieces_walk_step(struct walk *walk)
{
    const struct step_window *window = &walk->ledger->steps[walk->step].window;
    int64_t time_ns = window->start_ns;
    struct timeline_walk changes =
        timeline_walk_from(&walk->ledger->timeline, time_ns, walk->cursor);

    while (time_ns < window->end_ns) {
        uint32_t mask = changes.mask;
        int64_t until_ns = changes.next_ns < window->end_ns ? changes.next_ns : window->end_ns;

        if (mask)
            add_piece(walk, ledger_account_of_class((unsigned)__builtin_ctz(mask)), time_ns,
                      until_ns);
        else
            add_gap(walk, time_ns, until_ns);
        time_ns = until_ns;
        timeline_walk_to(&changes, time_ns);
    }
    /* Steps are in order of time: the next search begins where this one ended. */
    walk->cursor = timeline_walk_cursor(&changes);
}

/* On a CPU the thread that explains the gaps is that of the steps, else the busiest. */
static void choose_cpu_thread(struct walk *walk, const struct trace *trace)
{
    if (walk->ledger->is_cpu_only)
        walk->work.main_thread = busiest_thread(trace);
}

/* The host's activity is built once more with the same names left out as in the ledger; what
 * the ledger built already is borrowed (host_activity_know). */
void find_account_pieces(struct account_pieces *pieces, const struct trace *trace,
                         const struct ledger *ledger)
{
    struct walk walk = {.pieces = pieces, .ledger = ledger};

    host_activity_init(&walk.activity, trace);
    for (uint32_t i = 0; ledger->source == WINDOW_RANGES && i < ledger->step_count; i++)
        host_activity_leave_out(&walk.activity, ledger->steps[i].window.name);
    host_activity_know(&walk.activity, ledger->activity);
    device_work_init(&walk.work, trace, ledger->device);
    choose_cpu_thread(&walk, trace);
    for (walk.step = 0; walk.step < ledger->step_count; walk.step++)
        account_pieces_walk_step(&walk);
    host_activity_clear(&walk.activity);
    device_work_clear(&walk.work);
}

void account_pieces_clear(struct account_pieces *pieces)
{
    free(pieces->pieces);
    *pieces = (struct account_pieces){0};
}
