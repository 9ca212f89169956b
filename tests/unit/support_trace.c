/* Small traces made in memory, booked and analysed. */
#include "support_trace.h"

#include "cost/efficiency/efficiency.h"
#include "sections/step/steps_replay.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static uint32_t add_text(struct made_trace *made, const char *text)
{
    return string_pool_add(&made->builder.strings, text, strlen(text));
}

void made_trace_init(struct made_trace *made)
{
    memset(made, 0, sizeof *made);
    trace_builder_init(&made->builder);
}

void made_trace_clear(struct made_trace *made)
{
    trace_builder_clear(&made->builder);
    replay_model_clear(&made->simulation);
    work_totals_clear(&made->work);
    efficiency_clear(&made->efficiency);
    module_costs_clear(&made->costs);
    ledger_clear(&made->ledger);
    trace_clear(&made->trace);
    results_clear(&made->results);
}

uint32_t made_thread(struct made_trace *made, const char *name)
{
    struct track_key key = {
        .process = add_text(made, "1"), .thread = add_text(made, name), .device = -1, .stream = -1};

    return trace_builder_track(&made->builder, &key);
}

uint32_t made_stream(struct made_trace *made, int32_t device, int64_t stream)
{
    char number[32];
    struct track_key key = {.is_device = true, .device = device, .stream = stream};

    (void)snprintf(number, sizeof number, "%d", (int)device);
    key.process = add_text(made, number);
    (void)snprintf(number, sizeof number, "%lld", (long long)stream);
    key.thread = add_text(made, number);
    return trace_builder_track(&made->builder, &key);
}

static struct found_event new_event(struct made_trace *made, uint32_t track, enum event_kind kind,
                                    struct made_event event)
{
    return (struct found_event){.start_ns = event.start_ns,
                                .duration_ns = event.end_ns - event.start_ns,
                                .correlation = NO_ID,
                                .external_id = NO_ID,
                                .name = add_text(made, event.name),
                                .track = track,
                                .kind = (uint8_t)kind};
}

void made_host_event(struct made_trace *made, uint32_t thread, enum event_kind kind,
                     struct made_event event)
{
    struct found_event added = new_event(made, thread, kind, event);

    trace_builder_add(&made->builder, &added);
}

void made_operator(struct made_trace *made, uint32_t thread, struct made_event event,
                   const char *shapes, const char *types)
{
    struct found_event added = new_event(made, thread, EVENT_OPERATOR, event);
    struct event_detail detail = event_detail_none();

    detail.input_shapes = add_text(made, shapes);
    detail.input_types = add_text(made, types);
    added.detail = trace_builder_detail(&made->builder, &detail);
    trace_builder_add(&made->builder, &added);
}

void made_numbered_operator(struct made_trace *made, uint32_t thread, struct made_event event,
                            int64_t sequence_number)
{
    struct found_event added = new_event(made, thread, EVENT_OPERATOR, event);

    added.sequence_number = sequence_number;
    trace_builder_add(&made->builder, &added);
}

int64_t made_call(struct made_trace *made, uint32_t thread, struct made_event call)
{
    struct found_event added = new_event(made, thread, EVENT_RUNTIME_CALL, call);

    added.correlation = ++made->last_correlation;
    trace_builder_add(&made->builder, &added);
    return added.correlation;
}

void made_work(struct made_trace *made, uint32_t stream, enum event_kind kind,
               struct made_event event, int64_t correlation, const struct event_detail *detail)
{
    struct found_event added = new_event(made, stream, kind, event);

    added.correlation = correlation;
    if (detail)
        added.detail = trace_builder_detail(&made->builder, detail);
    trace_builder_add(&made->builder, &added);
}

void made_kernel(struct made_trace *made, uint32_t thread, uint32_t stream, struct made_event call,
                 struct made_event kernel)
{
    made_work(made, stream, EVENT_KERNEL, kernel, made_call(made, thread, call), NULL);
}

void made_trace_finish(struct made_trace *made, enum window_choice choice)
{
    struct ledger_options options = {.choice = choice,
                                     .first_step = INT64_MIN,
                                     .last_step = INT64_MAX,
                                     .device = -1,
                                     .clock = made->clock};
    struct step_windows windows = {.count = 0};

    trace_finish(&made->trace, &made->builder, 1, 1);
    find_ledger_steps(&made->ledger, &windows, &made->trace, &options);
    attribute_steps(&made->ledger, &windows, &made->trace, &options);
    step_windows_clear(&windows);
    results_init(&made->results);
}

struct analysis_input made_input(struct made_trace *made, const struct analysis_options *options)
{
    struct analysis_input input;

    if (!made->efficiency.trace) {
        measure_step_costs(&made->costs, &made->trace, &made->ledger, &made->description);
        measure_efficiency(&made->efficiency, &made->trace, &made->ledger, &made->costs,
                           &made->peaks);
        measure_work_totals(&made->work, &made->efficiency);
    }
    input = (struct analysis_input){.trace = &made->trace,
                                    .ledger = &made->ledger,
                                    .costs = &made->costs,
                                    .efficiency = &made->efficiency,
                                    .work = &made->work,
                                    .description = &made->description,
                                    .options = options};
    replay_model_clear(&made->simulation);
    made->simulation = (struct replay_model){.is_refused = false};
    if (can_replay_steps(&made->ledger)) {
        replay_steps(&made->simulation, &made->trace, &made->ledger, &made->costs);
        input.simulation = &made->simulation;
    }
    return input;
}

struct section *made_section_with(struct made_trace *made, const struct analysis *analysis,
                                  const struct analysis_options *options)
{
    struct analysis_input input = made_input(made, options);

    return analysis->run(&made->results, &input);
}

struct section *made_section(struct made_trace *made, const struct analysis *analysis)
{
    static const struct analysis_options all = {.top = UINT32_MAX, .sort = SORT_TIME};

    return made_section_with(made, analysis, &all);
}

struct value section_value(const struct section *section, const char *key)
{
    for (size_t i = 0; i < section->number_count; i++)
        if (strcmp(section->numbers[i].key, key) == 0)
            return section->numbers[i].value;
    fail_msg("no number '%s'", key);
    return value_none();
}

const struct table *section_table(const struct section *section, const char *key)
{
    for (size_t i = 0; i < section->table_count; i++)
        if (strcmp(section->tables[i]->key, key) == 0)
            return section->tables[i];
    return NULL;
}

struct value table_cell_at(const struct table *table, size_t row, const char *column)
{
    assert_true(row < table->row_count);
    for (size_t i = 0; i < table->column_count; i++)
        if (strcmp(table->columns[i].key, column) == 0)
            return table->cells[row * table->column_count + i];
    fail_msg("no column '%s'", column);
    return value_none();
}

struct value table_cell(const struct table *table, const char *name, const char *column)
{
    for (size_t row = 0; row < table->row_count; row++) {
        const struct value *first = &table->cells[row * table->column_count];

        if (first->unit == UNIT_TEXT && strcmp(first->text, name) == 0)
            return table_cell_at(table, row, column);
    }
    fail_msg("no row '%s'", name);
    return value_none();
}

size_t count_findings(const struct section *section, const char *text)
{
    size_t count = 0;

    for (size_t i = 0; i < section->finding_count; i++)
        count += strstr(section->findings[i].what, text) != NULL;
    return count;
}

bool is_close(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b));
}
