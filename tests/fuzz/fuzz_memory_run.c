/* The memory of a recorded run may say anything: a trace, a line "=====", and the recorder's file
 * beside it. */
#include "base/core/attributes.h"
#include "base/io/input_stream.h"
#include "memory/internevo.h"
#include "memory/memory_run.h"
#include "memory/memory_what_if.h"
#include "readers/reader.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

extern const struct reader torch_profiler_json_reader;

static const char separator[] = "\n=====\n";

/* The sum of what is alive is never negative, and its parts make the whole. */
static void check_sums(const struct memory_run *run, int32_t device)
{
    struct memory_peak peak = memory_peak_between(run, device, 0, run->blocks.change_count);
    struct memory_sums sums = memory_alive(run, device, peak.change_count);
    int64_t total = 0;

    for (int kind = 0; kind < MEMORY_KIND_COUNT; kind++)
        total += sums.bytes[kind];
    if (peak.bytes < 0 || sums.total != peak.bytes || total != sums.total)
        abort();
}

static void write_all(const struct memory_run *run, int32_t device)
{
    FILE *output = fopen("/dev/null", "w");

    if (!output)
        abort();
    internevo_log_write(output, run, device);
    for (int page = 0; page < INTERNEVO_PAGE_COUNT; page++)
        internevo_page_write(output, run, device, (enum internevo_page)page);
    (void)fclose(output);
}

static void forecast_all(const struct memory_run *run, int32_t device)
{
    SCOPED(memory_forecast) forecast = {0};
    SCOPED(what_ifs) ways = {0};
    struct forecast_peak peak;

    memory_forecast_init(&forecast, run, device, 4, 16);
    find_what_ifs(&ways, &forecast, &(struct what_if_options){.ranks = 8, .is_float32 = true});
    peak = memory_replay_peak(&ways.ways[0].replay, &forecast, 4, -1);
    if (peak.bytes < 0)
        abort();
    (void)memory_most_samples(&ways.ways[0].replay, &forecast, 1 << 20);
    (void)memory_most_length(&ways.ways[0].replay, &forecast, 1 << 20);
}

static void use_trace(const struct trace *trace, const char *side_text, size_t side_length)
{
    static const struct memory_step steps[] = {{.number = 3, .start_ns = 0, .end_ns = 50000},
                                               {.number = 4, .start_ns = 50000, .end_ns = 90000}};
    SCOPED(memory_side_file) side = {0};
    SCOPED(model_description) description = {0};
    SCOPED(memory_run) run = {0};
    int32_t device;

    if (!memory_side_file_parse(&side, "side", side_text, side_length, NULL))
        return;
    memory_run_build(&run, &(struct memory_sources){.trace = trace,
                                                    .side = &side,
                                                    .description = &description,
                                                    .steps = steps,
                                                    .step_count = 2});
    device = memory_main_device(&run);
    check_sums(&run, device);
    write_all(&run, device);
    forecast_all(&run, device);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct read_options options = {.threads = 1, .keeps_memory = true};
    const uint8_t *found = size ? memmem(data, size, separator, sizeof separator - 1) : NULL;
    size_t length = found ? (size_t)(found - data) : size;
    size_t rest = found ? size - length - (sizeof separator - 1) : 0;
    const uint8_t *side = found ? found + sizeof separator - 1 : data;
    SCOPED(input_stream) input = {0};
    SCOPED(trace) trace = {0};
    char *text = malloc(rest + 1);

    if (!text)
        abort();
    memcpy(text, side, rest);
    text[rest] = '\0';
    input_stream_open_memory(&input, (const char *)data, length);
    if (torch_profiler_json_reader.read(&trace, &input, &options, NULL))
        use_trace(&trace, text, rest);
    free(text);
    return 0;
}
