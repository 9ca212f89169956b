/* A small recorded step with its marks, for the tests of memory. */
#include "support_memory.h"

#include "support_read.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define EVENT(category, name, start, duration, args)                                              \
    "{\"ph\": \"X\", \"cat\": \"" category "\", \"name\": \"" name "\", \"pid\": 1, \"tid\": 2, " \
    "\"ts\": " #start ", \"dur\": " #duration ", \"args\": {" args "}},"
#define MARK(name, start) EVENT("cpu_op", "flopledger:" name, start, 0.5, "")
#define MEMORY(time, bytes, address)                                                 \
    "{\"ph\": \"i\", \"name\": \"[memory]\", \"pid\": 1, \"tid\": 2, \"ts\": " #time \
    ", \"args\": {\"Bytes\": " #bytes                                                \
    ", \"Device Id\": -1, \"Device Type\": 0, \"Addr\": " #address "}},"

const char memory_trace_text[] = "{\"traceEvents\": [" MARK("mark#0", 0)
    EVENT("user_annotation", "ProfilerStep#3", 1, 70, "") MARK("freed#1", 5) MEMORY(6, 64, 3) MARK(
        "mark#1", 10) EVENT("cpu_op", "nn:Net", 11, 19, "") EVENT("cpu_op", "nn:lin", 12, 8, "")
        EVENT("cpu_op", "aten::mm", 12.5, 6.5, "\"Sequence number\": 7") MEMORY(13, 500, 4)
            MEMORY(14, 300, 5) MEMORY(15, -300, 5)
                EVENT("cpu_op", "aten::nll_loss", 31, 2, "\"Sequence number\": 8") MEMORY(32, 8, 6)
                    MARK("mark#2", 40)
                        EVENT("cpu_op", "autograd::engine::evaluate_function: MmBackward0", 41, 9,
                              "\"Sequence number\": 7") EVENT("cpu_op", "aten::mm", 41.5, 5, "")
                            MEMORY(42, 1000, 2) MEMORY(49, -500, 4) MARK("mark#3", 60)
                                EVENT("user_annotation", "Optimizer.step#SGD.step", 61, 9, "")
                                    EVENT("cpu_op", "aten::mul", 61.5, 3, "") MEMORY(62, 200, 7)
                                        MEMORY(63, -200, 7) MARK("mark#4", 72) "{}]}";

const char memory_side_text[] =
    "{\"schema\": \"flopledger.memory\", \"schema_version\": 1, \"tensors\": ["
    "[\"parameter\", \"lin\", \"weight\"], [\"gradient\", \"lin\", \"weight\"],"
    "[\"input\", \"\", \"0\"]], \"marks\": ["
    "{\"point\": \"start\", \"step\": 3, \"live\": [0, 1, 1000, -1, 1, 2, 1000, -1]},"
    "{\"point\": \"forward start\", \"step\": 3, \"gone\": [1], \"live\": [2, 3, 64, -1]},"
    "{\"point\": \"forward end\", \"step\": 3, \"live\": []},"
    "{\"point\": \"backward end\", \"step\": 3, \"live\": [1, 2, 1000, -1]},"
    "{\"point\": \"step end\", \"step\": 3, \"live\": []}]}";

void made_memory_init(struct made_memory *made, const char *trace, const char *side)
{
    static const struct memory_step step = {.number = 3, .start_ns = 1000, .end_ns = 71000};
    struct error error = {0};

    memset(made, 0, sizeof *made);
    if (!read_text(&made->trace, trace, strlen(trace), (struct read_manner){.keeps_memory = true},
                   &error) ||
        (side && !memory_side_file_parse(&made->side, "side", side, strlen(side), &error)))
        fail_msg("not read: %s", error.message);
    memory_run_build(&made->run, &(struct memory_sources){.trace = &made->trace,
                                                          .side = &made->side,
                                                          .description = &made->description,
                                                          .steps = &step,
                                                          .step_count = 1});
}

void made_memory_clear(struct made_memory *made)
{
    memory_run_clear(&made->run);
    memory_side_file_clear(&made->side);
    model_description_clear(&made->description);
    trace_clear(&made->trace);
}
