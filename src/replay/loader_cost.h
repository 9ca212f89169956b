/* What a data loader costs the threads that launch once other processes do its work
 * ("data=workers", "data=0").
 *
 * A trace of a loader in the launching thread tells how much work that is, and not where it would
 * go. On a core of its own it costs nothing. On the other hardware thread of the launching thread's
 * core both are slower while both run. */
#ifndef FLOPLEDGER_REPLAY_LOADER_COST_H
#define FLOPLEDGER_REPLAY_LOADER_COST_H

#include "replay/trace_graph.h"

/* Speed of each of two hardware threads that share a core, of what it has alone: together they are
 * up to 1.3 times as fast (Marr and others, Hyper-Threading Technology Architecture and
 * Microarchitecture, Intel Technology Journal 6(1), 2002). */
#define SHARED_CORE_SPEED 0.65

/* How much of its time the loader's work shares the core of the thread that launches. */
#define CORE_SHARE_LEAST 0.0 /* there are free cores, and they are found */
#define CORE_SHARE_MOST  1.0 /* all of it: what is gained at least */

/* Whether the change gives the loader's work to other processes: data=workers, and data=0 where the
 * trace's host threads do that work themselves, for somebody has to make the batches. */
bool loader_moves(const struct trace_graph *graph, const struct scenario *scenario);

/* How many times as long the host threads take for what they do, the loader's work gone from them.
 *
 * 1 / (1 - core_share * busy * (1 - SHARED_CORE_SPEED)), where the loader's processes are busy for
 * `busy` = min(1, loader's time / SHARED_CORE_SPEED / replayed length). 1 where the loader's work
 * does not move. */
double loader_slowdown(const struct trace_graph *graph, const struct scenario *scenario,
                       double core_share);

#endif
