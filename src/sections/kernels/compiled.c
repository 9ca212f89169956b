/* Which operators, lines and modules do the kernels of torch.compile stand for? */
#include "base/core/hash_map.h"
#include "base/core/invariant.h"
#include "base/core/sort.h"
#include "cost/efficiency/work_totals.h"
#include "cost/modules/compiled_calls.h"
#include "output/results/metrics.h"
#include "sections/analysis.h"
#include "sections/tally.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Times of calls that stand for the same in the program. */
struct compiled_row {
    const struct compiled_call *call;
    uint32_t module;
    uint32_t next; /* of the same call, in another module; NO_VALUE */
    int64_t calls;
    int64_t time_ns;
    double bytes;      /* read and written by all of them; below 0: not known */
    uint32_t settings; /* of the first of them: how it was launched, in trace.strings */
};

struct compiled_view {
    const struct analysis_input *input;
    int64_t *time_ns; /* by event of costs->compiled: on the device, or where there is none on the
                         host */
    struct compiled_row *rows;
    uint32_t row_count;
    struct hash_map row_of; /* by call: its first row */
    int64_t total_ns;
    int64_t known_ns;    /* of which operators and lines are known */
    int64_t in_model_ns; /* and the module */
    double bandwidth;    /* of the memory, in bytes/s; 0: not known */
};

/* Each event in compiled code, by the event of costs->compiled that it lies in. Climbs from the
 * launching call to the nearest event that is known: a Triton kernel's launch lies within it. */
static void add_compiled_device_times(struct compiled_view *view)
{
    const struct trace *trace = view->input->trace;
    const struct module_costs *costs = view->input->costs;
    struct hash_map index = {0};

    for (size_t i = 0; i < costs->compiled.event_count; i++)
        hash_map_set(&index, costs->compiled.events[i].event, (uint32_t)i);
    for (uint32_t i = 0; i < trace->device_count; i++) {
        uint32_t host = trace_origin_of(trace, i);
        uint32_t found = NO_VALUE;

        for (; host != NO_EVENT && found == NO_VALUE; host = costs->contexts.parents[host])
            found = hash_map_find(&index, host);
        if (found != NO_VALUE)
            view->time_ns[found] += trace->device[i].duration_ns;
    }
    hash_map_clear(&index);
}

/* On a device the time of compiled code is that of its kernels; on a CPU it is the call
 * itself. */
static void measure_compiled_times(struct compiled_view *view)
{
    const struct trace *trace = view->input->trace;
    const struct compiled_calls *calls = &view->input->costs->compiled;

    view->time_ns = require_memory(calloc(calls->event_count + 1, sizeof *view->time_ns));
    if (view->input->costs->has_device)
        add_compiled_device_times(view);
    else
        for (size_t i = 0; i < calls->event_count; i++)
            view->time_ns[i] = trace->host[calls->events[i].event].duration_ns;
}

/* Ties by module and name: the order must not depend on the sort. */
static int compare_compiled_rows(const void *a, const void *b)
{
    const struct compiled_row *left = a;
    const struct compiled_row *right = b;

    if (left->time_ns != right->time_ns)
        return ORDER_OF(right->time_ns, left->time_ns);
    if (left->module != right->module)
        return ORDER_OF(left->module, right->module);
    return strcmp(left->call->op, right->call->op);
}

/* Of one call; below 0: not known. */
static double bytes_of_call(const struct module_costs *costs, uint32_t event)
{
    const struct counted_ops *counted = &costs->counted;

    return counted->states[event] == OP_COUNTED
               ? (double)counted->costs[counted->cost_of[event]].bytes
               : -1;
}

/* Rows of one call are a list by module: most calls have one. */
static void add_compiled_row(struct compiled_view *view, size_t event, uint32_t module)
{
    const struct compiled_event *found = &view->input->costs->compiled.events[event];
    const struct trace *trace = view->input->trace;
    const struct compiled_call *call = found->call;
    double bytes = bytes_of_call(view->input->costs, found->event);
    uint32_t first = hash_map_add(&view->row_of, (uintptr_t)call, view->row_count);
    uint32_t at = first;

    while (at != NO_VALUE && at < view->row_count && view->rows[at].module != module)
        at = view->rows[at].next;
    if (at == NO_VALUE || at == view->row_count) {
        at = view->row_count++;
        view->rows[at] = (struct compiled_row){
            .call = call,
            .module = module,
            .next = NO_VALUE,
            .settings = trace->details[trace->host[found->event].detail].settings};
        if (first != at) {
            view->rows[at].next = view->rows[first].next;
            view->rows[first].next = at;
        }
    }
    view->rows[at].calls++;
    view->rows[at].time_ns += view->time_ns[event];
    view->rows[at].bytes =
        bytes < 0 || view->rows[at].bytes < 0 ? -1 : view->rows[at].bytes + bytes;
}

/* A call without known operators and lines counts in the total only, so that the share that is
 * attributed says how much of the code the table speaks of. */
static void collect_compiled_rows(struct compiled_view *view)
{
    const struct module_costs *costs = view->input->costs;
    const struct compiled_calls *calls = &costs->compiled;

    view->rows = require_memory(calloc(calls->event_count + 1, sizeof *view->rows));
    for (size_t i = 0; i < calls->event_count; i++) {
        const struct compiled_call *call = calls->events[i].call;
        uint32_t module = module_of_host(&costs->contexts, calls->events[i].event);

        view->total_ns += view->time_ns[i];
        if (!call || !*call->aten || !*call->lines)
            continue;
        view->known_ns += view->time_ns[i];
        if (module != NO_MODULE)
            view->in_model_ns += view->time_ns[i];
        add_compiled_row(view, i, module);
    }
    if (view->row_count > 1)
        qsort(view->rows, view->row_count, sizeof *view->rows, compare_compiled_rows);
}

static struct value share_of_compiled(int64_t part_ns, int64_t whole_ns)
{
    return value_fraction(whole_ns > 0 ? (double)part_ns / (double)whole_ns : 0);
}

/* Bandwidth of a fused kernel is compared with the memory's, as pointwise chains are bound by
 * it; on a host without measured rates there is nothing to compare with, and the way to get it
 * is told. */
static void add_compiled_numbers(struct results *results, struct section *section,
                                 const struct compiled_view *view)
{
    const struct compiled_calls *calls = &view->input->costs->compiled;
    int64_t known = 0;

    for (size_t i = 0; i < calls->range_count; i++)
        known += calls->ranges[i].is_known;
    const struct number numbers[] = {
        {"calls", "calls of compiled code", value_count((int64_t)calls->range_count), NULL},
        {"known", "whose kernels are known", value_count(known),
         known < (int64_t)calls->range_count
             ? "the others were compiled without --compiled, or ran other operators"
             : NULL},
        {"time", "time of operators and kernels in it", value_time_ns(view->total_ns),
         view->input->costs->has_device ? "on the device" : "on the host"},
        {"attributed", "attributed to operators and lines",
         share_of_compiled(view->known_ns, view->total_ns), NULL},
        {"attributed_module", "and to a module",
         share_of_compiled(view->in_model_ns, view->total_ns), NULL},
        {"memory_bandwidth", "memory bandwidth",
         view->bandwidth > 0 ? value_bytes_per_second(view->bandwidth)
                             : value_not_known(view->input->costs->has_device
                                                   ? "needs the device: --device NAME"
                                                   : "needs what the processor's memory reaches: "
                                                     "flopledger device --measure rates.json, "
                                                     "then --rates rates.json"),
         memory_roof_source(view->input->efficiency)},
    };

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        section_add_number(results, section, numbers[i]);
}

/* What compiled.json says lives no longer than the analysis. */
static struct value compiled_text(struct results *results, const char *text)
{
    return value_text(results_format(results, "%s", text));
}

static struct value compiled_module_text(struct results *results, const struct compiled_view *view,
                                         uint32_t module)
{
    return compiled_text(results,
                         module == NO_MODULE ? "" : view->input->costs->tree.modules[module].name);
}

/* Nothing where bytes are not known, or no time was seen. */
static struct value if_moved(const struct compiled_row *row, struct value value)
{
    return row->bytes > 0 && row->time_ns > 0 ? value : value_none();
}

static double compiled_bytes_per_second(const struct compiled_row *row)
{
    return row->bytes / ((double)row->time_ns / 1e9);
}

#define COMPILED_COLUMNS(COLUMN)                                                                 \
    COLUMN("kernel", "kernel", UNIT_TEXT, 0, BAR_NONE, compiled_text(results, row->call->op))    \
    COLUMN("calls", "calls", UNIT_COUNT, 3, BAR_NONE, value_count(row->calls))                   \
    COLUMN("time", "time", UNIT_TIME_NS, 0, BAR_NONE, value_time_ns(row->time_ns))               \
    COLUMN("operators", "operators", UNIT_TEXT, 2, BAR_NONE,                                     \
           compiled_text(results, row->call->aten))                                              \
    COLUMN("lines", "lines", UNIT_TEXT, 1, BAR_NONE, compiled_text(results, row->call->lines))   \
    COLUMN("module", "module", UNIT_TEXT, 0, BAR_NONE,                                           \
           compiled_module_text(results, view, row->module))                                     \
    COLUMN("bytes", "bytes", UNIT_BYTES, 4, BAR_NONE,                                            \
           if_moved(row, value_bytes(llround(fmin(row->bytes, 9e18)))))                          \
    COLUMN("bandwidth", "memory", UNIT_BYTES_PER_SECOND, 4, BAR_NONE,                            \
           if_moved(row, value_bytes_per_second(compiled_bytes_per_second(row))))                \
    COLUMN("of_bandwidth", "of its bandwidth", UNIT_FRACTION, 3, BAR_NONE,                       \
           if_moved(row, view->bandwidth > 0                                                     \
                             ? value_fraction(compiled_bytes_per_second(row) / view->bandwidth)  \
                             : value_none()))                                                    \
    COLUMN("settings", "launched with", UNIT_TEXT, 5, BAR_NONE,                                  \
           row->settings ? compiled_text(results, trace_text(view->input->trace, row->settings)) \
                         : value_none())

static const char place_note[] =
    "Of a kernel fused from several modules the innermost that holds all of them is named.";
static const char cache_note[] =
    "Of a kernel fused from several modules the innermost that holds all of them is named. More "
    "than 100 % of the memory's bandwidth: the tensors fit in caches.";

static bool is_over_bandwidth(const struct compiled_view *view, const struct compiled_row *row)
{
    return view->bandwidth > 0 && row->bytes > 0 && row->time_ns > 0 &&
           compiled_bytes_per_second(row) > view->bandwidth;
}

/* A rate above the memory's own peak is a sign of data that came from the cache: then the note
 * says so, instead of a percentage above 100 that nobody explains. */
static void add_compiled_table(struct results *results, struct section *section,
                               const struct compiled_view *view)
{
    struct table *table = section_add_table(results, section, "kernels",
                                            "Kernels of compiled code, and what they stand for",
                                            COLUMNS_OF(COMPILED_COLUMNS));
    size_t shown = rows_to_show(view->input->options, view->row_count);

    table->rows_in_all = view->row_count;
    table->note = place_note;
    for (size_t i = 0; i < shown; i++) {
        const struct compiled_row *row = &view->rows[i];

        FILL_ROW(table_add_row(results, table, 0), COMPILED_COLUMNS);
        if (is_over_bandwidth(view, row))
            table->note = cache_note;
    }
}

/* Of the whole trace, not of the chosen steps: which operators a kernel stands for is a fact
 * of the compiled code, and few calls may lie in the steps. */
static struct section *describe_compiled(struct results *results,
                                         const struct analysis_input *input)
{
    struct compiled_view view = {.input = input, .bandwidth = memory_roof(input->efficiency)};
    struct section *section;

    if (input->costs->compiled.event_count == 0 && input->costs->compiled.range_count == 0)
        return NULL;
    measure_compiled_times(&view);
    collect_compiled_rows(&view);
    section = section_new(results, "compiled", "Compiled code",
                          "of the whole trace; what torch.compile fused into which kernel");
    add_compiled_numbers(results, section, &view);
    add_compiled_table(results, section, &view);
    free(view.time_ns);
    free(view.rows);
    hash_map_clear(&view.row_of);
    return section;
}

const struct analysis compiled_analysis = {
    .name = "compiled",
    .summary = "Which operators, lines and modules do the kernels of torch.compile stand for?",
    .run = describe_compiled,
};
