/* How a trace is written as a file of Perfetto: whole slices, and halves that began or ended
 * outside. */
#ifndef FLOPLEDGER_OUTPUT_EXPORTS_PERFETTO_PARTS_H
#define FLOPLEDGER_OUTPUT_EXPORTS_PERFETTO_PARTS_H

#include "ledger/step_ledger.h"
#include "trace/trace.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Begins and ends of a trace's events in the order of their times, such that on each track they
 * nest: where events of a thread or stream do not, they are on tracks beside each other. */

struct packet_half {
    int64_t time_ns;
    const struct event *event; /* of the trace */
    uint32_t lane;
    bool is_end;
    uint64_t order; /* as they were laid out */
};

/* Zeroed is empty. */
struct perfetto_halves {
    struct packet_half *halves; /* [count]: by time; of one lane in the order of nesting */
    size_t count;
    uint32_t *lanes; /* [lane_count]: for each the track of the trace */
    uint32_t lane_count;
};

void find_perfetto_halves(struct perfetto_halves *halves, const struct trace *trace);
void perfetto_halves_clear(struct perfetto_halves *halves);

/* Numbers of processes are those of a machine: in a file of several traces each has room for more
 * than Linux has, and a number for our own tracks that no real one has. */
enum { PIDS_PER_TRACE = 10000000, OWN_PID = 9000000 };

/* Where the packets of a trace go in a file that may hold several. */
struct perfetto_place {
    uint32_t index;     /* of the trace in the file */
    const char *prefix; /* of names of processes: "rank 3: ", or "" */
    uint32_t speakers;  /* whose words are used: device_words.h */
};

/* A trace as packets of Perfetto: all that was recorded, in the words of torch.profiler, and the
 * ledger as tracks of a process of its own. Write errors show in ferror(output). */
void perfetto_write_trace(FILE *output, const struct trace *trace, const struct ledger *ledger,
                          const struct perfetto_place *place);

#endif
