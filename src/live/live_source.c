/* The table of live sources. */
#include "live/live_source.h"

#include <assert.h>
#include <time.h>

#define LIVE_SOURCE(name) extern const struct live_source name##_source;
#include "live/list.def"
#undef LIVE_SOURCE

static const struct live_source *const sources[] = {
#define LIVE_SOURCE(name) &name##_source,
#include "live/list.def"
#undef LIVE_SOURCE
};

enum { SOURCE_COUNT = sizeof sources / sizeof *sources };

static_assert(SOURCE_COUNT <= (int)LIVE_SOURCES_MAX, "room for each source's state");

void live_machine_start(struct live_machine *machine, const char *root)
{
    *machine = (struct live_machine){.root = root};
    for (int i = 0; i < SOURCE_COUNT; i++)
        machine->states[i] = sources[i]->start ? sources[i]->start(root) : NULL;
}

/* One time for all, so that rates of different sources have the same length. */
void live_machine_sample(struct live_machine *machine, struct live_samples *samples)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    samples->taken_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    for (int i = 0; i < SOURCE_COUNT; i++)
        sources[i]->sample(machine->states[i], machine->root, samples);
}

void live_machine_clear(struct live_machine *machine)
{
    for (int i = 0; i < SOURCE_COUNT && machine->root; i++) {
        if (sources[i]->stop)
            sources[i]->stop(machine->states[i]);
    }
    *machine = (struct live_machine){0};
}
