/* What is known of the graphs that a trace replays. */
#include "trace/graphs/graph_replays.h"

#include "base/core/large_array.h"

#include <stdlib.h>

const char *graph_fate_text(enum graph_fate fate)
{
    static const char *const texts[GRAPH_FATE_COUNT] = {
        [GRAPH_WITHOUT_PLACE] = "module not known", [GRAPH_NO_CAPTURE] = "no capture found",
        [GRAPH_NO_NAMES] = "capture without names", [GRAPH_NO_MATCH] = "in no capture",
        [GRAPH_AMBIGUOUS] = "several fit",          [GRAPH_NO_OPERATOR] = "no operator around",
    };

    return texts[fate];
}

void graph_replays_free(struct graph_replays *replays)
{
    if (!replays)
        return;
    free(replays->captures);
    free(replays->kinds);
    free(replays->copies);
    large_array_free(replays->host_of);
    free(replays);
}
