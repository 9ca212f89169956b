/* A question about names, asked once a name and not once an event: names are few. */
#ifndef FLOPLEDGER_TRACE_NAME_ANSWERS_H
#define FLOPLEDGER_TRACE_NAME_ANSWERS_H

#include "base/core/out_of_memory.h"
#include "trace/trace.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

/* Of one thread, about one trace; ready with `ask` alone set. free() `answers`. */
struct name_answers {
    bool (*ask)(const char *name);
    uint8_t *answers; /* by string: 1 and the answer, or 0 */
};

static inline bool name_answer(struct name_answers *asked, const struct trace *trace, uint32_t name)
{
    if (!asked->answers) {
        asked->answers = calloc(string_pool_count(&trace->strings), sizeof *asked->answers);
        if (!asked->answers)
            end_out_of_memory();
    }
    if (!asked->answers[name])
        asked->answers[name] = (uint8_t)(1 + asked->ask(trace_text(trace, name)));
    return asked->answers[name] == 2;
}

/* Of any text of the trace, a name or not: where it is true of none, no event need be looked at. */
static inline bool any_text_is(const struct trace *trace, bool (*ask)(const char *text))
{
    size_t count = string_pool_count(&trace->strings);

    for (size_t i = 0; i < count; i++)
        if (ask(trace_text(trace, (uint32_t)i)))
            return true;
    return false;
}

#endif
