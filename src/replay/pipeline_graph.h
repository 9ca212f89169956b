/* Which operation of a pipelined step waits for which. */
#ifndef FLOPLEDGER_REPLAY_PIPELINE_GRAPH_H
#define FLOPLEDGER_REPLAY_PIPELINE_GRAPH_H

#include "replay/pipeline_job.h"
#include "replay/task_graph.h"

/* Adds a task for each operation of the job, in its order, and what they wait for:
 *
 * - on one stage forward and backward compute run one after the other, sends and receives of one
 *   kind likewise, and so do the collectives of the data-parallel group;
 * - a receive comes before its compute and after the one before it; a send after its compute; a
 * send and the receive of the neighbour begin together;
 * - the first forward of a chunk of the model waits for its parameters;
 * - after the last compute: garbage collection, all-reduce of norms' gradients, of embeddings'
 *   gradients (first and last stage together), reduce-scatter of gradients (or before it, where it
 *   overlaps), clipping (all stages together), optimizer;
 * - collectives of the data-parallel group begin together on all its ranks.
 *
 * After "Understanding Stragglers in Large Model Training Using What-if Analysis",
 * OSDI 2025, section 3. `graph` must be zeroed; finish it. */
void build_pipeline_graph(struct task_graph *graph, const struct pipeline_job *job);

#endif
