/* Books matrix time to what it computed.
 *
 * Time is cut at the ends of the steps, FLOPs are not: a call's FLOPs belong whole to the step in
 * whose mark the host made it, wherever its kernels ran. So a step has the FLOPs of its model, also
 * the last one, whose kernels end behind its mark, and the model analysis (module_costs.h), which
 * goes by the marks as well, tells the same. What ran in the window is kept beside it, for rates
 * while matrix work runs, and to tell "faster than its peak" from "ran outside of the window". */
#include "cost/efficiency/efficiency.h"

#include "base/core/invariant.h"
#include "ledger/class_timeline.h"
#include "ledger/step_finder.h"
#include "trace/recorder_words.h"

#include <math.h>
#include <stdlib.h>

/* Classes of the timeline that is laid beside the ledger's. */
enum { BESIDE_PRICED, BESIDE_COUNTED, BESIDE_ON_UNIT, BESIDE_UNTOLD };

/* No step is that long: FLOPs that no device does in it are a file made to mislead. */
static const double ideal_max_ns = 1e15;

/* Ideal times of one step while its pieces are added up. */
struct ideal_times {
    double recomputed_ns;
    double extra_ns;
    double model_ns;
    double window_ns; /* executed FLOPs of what ran in the window */
};

struct pricing {
    struct efficiency *efficiency;
    struct class_timeline beside;
    struct ideal_times *ideals; /* by step */
};

/* A second timeline with classes of its own: overlaps of matrix kernels are merged per class,
 * as the ledger merges its classes, so both are measured by the same rule. */
static void lay_beside(struct pricing *pricing)
{
    const struct matrix_calls *calls = &pricing->efficiency->calls;

    for (uint32_t i = 0; i < calls->piece_count; i++) {
        const struct work_piece *piece = &calls->pieces[i];
        int64_t start_ns = event_of_piece(calls, piece)->start_ns;
        int64_t end_ns = event_end_ns(event_of_piece(calls, piece));
        bool is_matrix = kernel_class_is_matrix((enum kernel_class)piece->class);
        enum cost_obstacle obstacle =
            piece->call == NO_CALL ? PRICE_NO_FORMULA : calls->calls[piece->call].obstacle;

        if (is_matrix && obstacle == PRICE_KNOWN)
            class_timeline_add(&pricing->beside, BESIDE_PRICED, start_ns, end_ns);
        if (is_matrix && (obstacle == PRICE_KNOWN || obstacle == PRICE_NO_PEAK))
            class_timeline_add(&pricing->beside, BESIDE_COUNTED, start_ns, end_ns);
        if (piece->unit == MATRIX_UNIT_USED)
            class_timeline_add(&pricing->beside, BESIDE_ON_UNIT, start_ns, end_ns);
        else if (is_matrix && piece->unit == MATRIX_UNIT_NOT_TOLD)
            class_timeline_add(&pricing->beside, BESIDE_UNTOLD, start_ns, end_ns);
    }
    class_timeline_finish(&pricing->beside);
}

/* The ledger's account is matrix work exactly where the lowest class is. */
static bool is_matrix_mask(uint32_t mask)
{
    return mask && kernel_class_is_matrix((enum kernel_class)__builtin_ctz(mask));
}

/* Time in which matrix work runs without a count is kept apart: it belongs to no share of a
 * peak. Time on matrix units is asked for by itself, as other kernels may run beside. */
static void efficiency_add_interval(struct step_efficiency *step, uint32_t mask, uint32_t beside,
                                    int64_t ns)
{
    if (is_matrix_mask(mask)) {
        if (!(beside & 1u << BESIDE_PRICED))
            step->time.uncosted_ns += ns;
        if (beside & 1u << BESIDE_COUNTED)
            step->known_flops_ns += ns;
    }
    if (beside & 1u << BESIDE_ON_UNIT)
        step->unit_ns += ns;
    else if (beside & 1u << BESIDE_UNTOLD)
        step->unknown_ns += ns;
}

/* Walks over both timelines at once. `cursors`: where the last step ended. */
static void efficiency_walk_step(struct pricing *pricing, uint32_t index, size_t cursors[2])
{
    const struct ledger *ledger = pricing->efficiency->ledger;
    const struct step_window *window = &ledger->steps[index].window;
    int64_t time_ns = window->start_ns;
    struct timeline_walk walks[2] = {
        timeline_walk_from(&ledger->timeline, time_ns, cursors[0]),
        timeline_walk_from(&pricing->beside, time_ns, cursors[1]),
    };

    while (time_ns < window->end_ns) {
        /* The next moment at which either timeline changes: until then both masks stand as
         * they are. */
        int64_t until_ns = window->end_ns;

        for (int i = 0; i < 2; i++)
            until_ns = walks[i].next_ns < until_ns ? walks[i].next_ns : until_ns;
        efficiency_add_interval(&pricing->efficiency->steps[index], walks[0].mask, walks[1].mask,
                                until_ns - time_ns);
        time_ns = until_ns;
        for (int i = 0; i < 2; i++)
            timeline_walk_to(&walks[i], time_ns);
    }
    for (int i = 0; i < 2; i++)
        cursors[i] = timeline_walk_cursor(&walks[i]);
}

static void efficiency_add_flops(struct flop_parts *to, const struct flop_parts *from)
{
    to->executed += from->executed;
    to->model += from->model;
    to->recomputed += from->recomputed;
    to->extra += from->extra;
    to->all_pairs += from->all_pairs;
}

/* The call was made in the step's mark. Ideal time is FLOPs over peak. It is summed per step as
 * doubles and rounded once, in close_step. */
static void attribute_call(struct pricing *pricing, uint32_t step, const struct matrix_call *call)
{
    struct step_efficiency *to = &pricing->efficiency->steps[step];
    struct ideal_times *ideal = &pricing->ideals[step];
    const struct flop_parts *flops = &call->matmul_cost->flops;
    double ns_per_flop = call->obstacle == PRICE_KNOWN ? 1e9 / call->matmul_cost->peak : 0;

    efficiency_add_flops(&to->flops, flops);
    if (call->precision < PEAK_TYPE_COUNT) {
        struct precision_total *total = &pricing->efficiency->precisions[call->precision];

        total->executed += flops->executed;
        total->model += flops->model;
        total->kernel_ns += call->kernel_ns;
    }
    if (call->obstacle != PRICE_KNOWN)
        return;
    ideal->recomputed_ns += flops->recomputed * ns_per_flop;
    ideal->extra_ns += flops->extra * ns_per_flop;
    ideal->model_ns += flops->model * ns_per_flop;
    to->all_pairs_ideal_ns += flops->all_pairs * ns_per_flop;
    if (call->unit_lead_ns > 0) {
        to->unit_flops += flops->executed;
        to->unit_ideal_ns += flops->executed * ns_per_flop;
        to->unit_kernel_ns += call->kernel_ns;
    }
}

/* By the operator's start on the host, and not by its kernels: forward and backward of one
 * step must not be parted by a kernel that ends after the mark. */
static void attribute_calls(struct pricing *pricing)
{
    const struct efficiency *efficiency = pricing->efficiency;
    const struct matrix_calls *calls = &efficiency->calls;
    struct step_finder finder = {.ledger = efficiency->ledger};

    for (uint32_t i = 0; i < calls->count; i++) {
        const struct matrix_call *call = &calls->calls[i];
        uint32_t step;

        if (!call->is_matrix)
            continue;
        step = step_finder_of_host(&finder, efficiency->trace->host[call->op].start_ns);
        if (step != NO_STEP)
            attribute_call(pricing, step, call);
    }
}

/* `ns` of the call's `kernel_ns` lie in the step's window. A call's FLOPs are spread evenly over
 * its kernels' time, as nothing says how they are spread. */
static void attribute_window(struct pricing *pricing, uint32_t step, const struct matrix_call *call,
                             int64_t ns)
{
    struct step_efficiency *to = &pricing->efficiency->steps[step];
    double share = call->kernel_ns > 0 ? (double)ns / (double)call->kernel_ns : 0;
    double flops = share * call->matmul_cost->flops.executed;

    to->window_flops += flops;
    if (call->obstacle == PRICE_KNOWN)
        pricing->ideals[step].window_ns += flops / call->matmul_cost->peak * 1e9;
}

/* The longest piece is the example by which a user sees what lacks a formula. */
static void attribute_uncosted(struct efficiency *efficiency, const struct work_piece *piece,
                               int64_t ns)
{
    enum cost_obstacle obstacle = PRICE_NO_FORMULA;
    struct uncosted_total *total;

    if (piece->call != NO_CALL)
        obstacle = efficiency->calls.calls[piece->call].obstacle;
    else if (!efficiency->ledger->is_cpu_only)
        obstacle = obstacle_of_piece(efficiency->trace, efficiency->costs, piece->event);
    if (obstacle == PRICE_KNOWN)
        return;
    total = &efficiency->uncosted[obstacle];
    total->kernel_ns += ns;
    if (ns > total->longest_ns) {
        total->longest_ns = ns;
        total->example = piece->event;
    }
}

/* Cut at the ends of the step: a kernel may run on into the next one. */
static void attribute_piece(struct pricing *pricing, const struct work_piece *piece, uint32_t step)
{
    struct efficiency *efficiency = pricing->efficiency;
    const struct step_window *window = &efficiency->ledger->steps[step].window;
    const struct event *event = event_of_piece(&efficiency->calls, piece);
    int64_t start_ns = event->start_ns > window->start_ns ? event->start_ns : window->start_ns;
    int64_t end_ns = event_end_ns(event) < window->end_ns ? event_end_ns(event) : window->end_ns;

    if (end_ns <= start_ns || !kernel_class_is_matrix((enum kernel_class)piece->class))
        return;
    if (piece->call != NO_CALL && efficiency->calls.calls[piece->call].is_matrix)
        attribute_window(pricing, step, &efficiency->calls.calls[piece->call], end_ns - start_ns);
    attribute_uncosted(efficiency, piece, end_ns - start_ns);
}

/* Pieces and steps both come in the order of their starts. */
static void attribute_pieces(struct pricing *pricing)
{
    const struct ledger *ledger = pricing->efficiency->ledger;
    const struct matrix_calls *calls = &pricing->efficiency->calls;
    uint32_t first = 0; /* no piece from here on begins before the end of an earlier step */

    for (uint32_t i = 0; i < calls->piece_count; i++) {
        const struct work_piece *piece = &calls->pieces[i];
        const struct event *event = event_of_piece(calls, piece);

        while (first < ledger->step_count && ledger->steps[first].window.end_ns <= event->start_ns)
            first++;
        for (uint32_t step = first;
             step < ledger->step_count && ledger->steps[step].window.start_ns < event_end_ns(event);
             step++)
            attribute_piece(pricing, piece, step);
    }
}

static int64_t efficiency_whole_ns(double ideal_ns)
{
    return llround(fmin(ideal_ns, ideal_max_ns));
}

/* below_peak is what is left, and may be negative: where FLOPs of a step ran outside of its
 * window, or clocks are above what the table says. The report tells which by window_rest_ns. */
static void close_step(struct pricing *pricing, uint32_t index)
{
    const struct ideal_times *ideal = &pricing->ideals[index];
    struct matrix_time *time = &pricing->efficiency->steps[index].time;
    int64_t matrix_ns = pricing->efficiency->ledger->steps[index].account_ns[ACCOUNT_MATRIX];

    time->recomputed_ns = efficiency_whole_ns(ideal->recomputed_ns);
    time->extra_ns = efficiency_whole_ns(ideal->extra_ns);
    time->model_ns = efficiency_whole_ns(ideal->model_ns);
    time->below_peak_ns =
        matrix_ns - time->uncosted_ns - time->recomputed_ns - time->extra_ns - time->model_ns;
    pricing->efficiency->steps[index].window_rest_ns =
        matrix_ns - time->uncosted_ns - efficiency_whole_ns(ideal->window_ns);
    require_invariant(time->uncosted_ns >= 0 && time->uncosted_ns <= matrix_ns,
                      "matmul time of unknown cost is part of matmul time");
}

static void add_to_total(struct step_efficiency *total, const struct step_efficiency *step)
{
    total->time.uncosted_ns += step->time.uncosted_ns;
    total->time.below_peak_ns += step->time.below_peak_ns;
    total->time.recomputed_ns += step->time.recomputed_ns;
    total->time.extra_ns += step->time.extra_ns;
    total->time.model_ns += step->time.model_ns;
    efficiency_add_flops(&total->flops, &step->flops);
    total->window_flops += step->window_flops;
    total->window_rest_ns += step->window_rest_ns;
    total->all_pairs_ideal_ns += step->all_pairs_ideal_ns;
    total->known_flops_ns += step->known_flops_ns;
    total->unit_ns += step->unit_ns;
    total->unknown_ns += step->unknown_ns;
    total->unit_flops += step->unit_flops;
    total->unit_ideal_ns += step->unit_ideal_ns;
    total->unit_kernel_ns += step->unit_kernel_ns;
}

/* The matrix account of each step is split into what is not known, below the peak, recomputed,
 * extra (masked pairs, optimizer) and the model's own: the parts sum to the account. O(pieces
 * + changes of both timelines). */
void measure_efficiency(struct efficiency *efficiency, const struct trace *trace,
                        const struct ledger *ledger, const struct module_costs *costs,
                        const struct peak_settings *settings)
{
    struct pricing pricing = {.efficiency = efficiency};
    size_t count = ledger->step_count + (size_t)1;
    size_t cursors[2] = {0, 0};

    efficiency->trace = trace;
    efficiency->ledger = ledger;
    efficiency->costs = costs;
    efficiency->steps = require_memory(calloc(count, sizeof *efficiency->steps));
    pricing.ideals = require_memory(calloc(count, sizeof *pricing.ideals));
    choose_peaks(&efficiency->peaks, trace, ledger->device, settings);
    find_matrix_calls(&efficiency->calls, trace, ledger, costs, &efficiency->peaks);
    lay_beside(&pricing);
    attribute_calls(&pricing);
    attribute_pieces(&pricing);
    for (uint32_t i = 0; i < ledger->step_count; i++) {
        efficiency_walk_step(&pricing, i, cursors);
        close_step(&pricing, i);
        add_to_total(&efficiency->total, &efficiency->steps[i]);
    }
    class_timeline_clear(&pricing.beside);
    free(pricing.ideals);
}

void efficiency_clear(struct efficiency *efficiency)
{
    matrix_calls_clear(&efficiency->calls);
    free(efficiency->steps);
    *efficiency = (struct efficiency){0};
}

bool efficiency_has_model(const struct efficiency *efficiency)
{
    for (uint32_t i = 0; i < efficiency->calls.count; i++)
        if (efficiency->calls.calls[i].obstacle == PRICE_KNOWN)
            return true;
    return false;
}

/* Nothing else tells of them on a processor, nor of what XLA calls without knowing it. */
bool efficiency_lacks_unseen_products(const struct efficiency *efficiency)
{
    return (efficiency->ledger->is_cpu_only || efficiency->trace->facts.platform == PLATFORM_JAX) &&
           efficiency->costs->lacks_products;
}

bool efficiency_is_least(const struct efficiency *efficiency)
{
    return efficiency->total.time.uncosted_ns > 0 || efficiency_lacks_unseen_products(efficiency);
}

/* A peak that is not known takes nothing from the FLOPs. One percent is what an operator spends
 * around the one that has the FLOPs (conv2d around mkldnn_convolution). */
bool efficiency_lacks_flops(const struct efficiency *efficiency)
{
    int64_t matrix_ns = ledger_account_ns(efficiency->ledger, ACCOUNT_MATRIX);

    return efficiency->total.known_flops_ns < matrix_ns - matrix_ns / 100 ||
           efficiency_lacks_unseen_products(efficiency);
}

/* One sentence per obstacle, which says what to record or give. */
const char *obstacle_needs(const struct efficiency *efficiency, enum cost_obstacle obstacle)
{
    switch (obstacle) {
    case PRICE_KNOWN:
    case PRICE_OBSTACLE_COUNT:
        break;
    case PRICE_NO_OPERATOR:
        return "needs the operators that launched the kernels: none are recorded around them (a "
               "CUDA graph: --capture tells them; or a trace of the device alone)";
    case PRICE_NO_SHAPES:
        return recorder_words_for(efficiency->trace)->needs_shapes;
    case PRICE_NO_FORMULA:
        return "needs a formula of the operators that launched the kernels";
    case PRICE_IN_BUFFER:
        return "needs the ops of libraries' kernels, which command buffers do not tell: record "
               "with XLA_FLAGS=--xla_gpu_enable_command_buffer=";
    case PRICE_NO_ARGUMENTS:
        return "needs arguments of operators that the trace does not have";
    case PRICE_NO_TYPE:
        return "needs the number format: --dtype";
    case PRICE_NO_PEAK:
        return efficiency->peaks.device
                   ? "needs the peak of the device: --peak TFLOPS; the table of devices has none"
                   : "needs the peak of the device: --peak TFLOPS or --device NAME";
    }
    return NULL;
}

/* On a CPU, work that is not counted has no pieces: see attribute_uncosted. */
static enum cost_obstacle obstacle_of_uncounted(const struct efficiency *efficiency)
{
    if (!efficiency->ledger->is_cpu_only || efficiency_has_model(efficiency))
        return PRICE_KNOWN;
    return efficiency->costs->has_shapes ? PRICE_NO_FORMULA : PRICE_NO_SHAPES;
}

/* What would tell the operators of replayed graphs; NULL where none of these lacks them. By what
 * became of most of their time. */
static const char *graphs_need(const struct graph_replays *graphs, int64_t *lacking_ns)
{
    static const char *const needs[GRAPH_FATE_COUNT] = {
        [GRAPH_NO_NAMES] = "needs a capture that names its kernels: `flopledger run` records one",
        [GRAPH_NO_MATCH] =
            "needs the capture of these CUDA graphs: that given has none of their kernels",
    };
    enum graph_fate most = GRAPH_NO_CAPTURE;

    for (int fate = GRAPH_NO_CAPTURE; graphs && fate < GRAPH_FATE_COUNT; fate++) {
        *lacking_ns += graphs->fate_ns[fate];
        if (graphs->fate_ns[fate] > graphs->fate_ns[most])
            most = (enum graph_fate)fate;
    }
    return needs[most];
}

/* By the obstacle that holds most time: what lifts it helps most. Kernels of graphs may have the
 * launching call's own range for an operator. */
const char *efficiency_needs(const struct efficiency *efficiency)
{
    int64_t lacking_ns = 0;
    const char *of_graphs = graphs_need(efficiency->trace->graphs, &lacking_ns);
    enum cost_obstacle most = obstacle_of_uncounted(efficiency);

    for (int i = PRICE_KNOWN + 1; i < PRICE_OBSTACLE_COUNT; i++)
        if (efficiency->uncosted[i].kernel_ns > efficiency->uncosted[most].kernel_ns)
            most = (enum cost_obstacle)i;
    if (of_graphs && 2 * lacking_ns > efficiency->uncosted[most].kernel_ns)
        return of_graphs;
    return obstacle_needs(efficiency, most);
}

/* By marks for calls and by windows for kernels, see the head of the file. */
void measure_step_costs(struct module_costs *costs, const struct trace *trace,
                        const struct ledger *ledger, const struct model_description *description)
{
    struct module_cost_options options = {.description = description};
    struct time_window *windows =
        require_memory(calloc(ledger->step_count + (size_t)1, sizeof *windows));
    struct time_window *device_windows =
        require_memory(calloc(ledger->step_count + (size_t)1, sizeof *device_windows));

    if (ledger->source != WINDOW_WHOLE)
        options.window_count = ledger->step_count;
    for (uint32_t i = 0; i < options.window_count; i++) {
        const struct step_window *window = &ledger->steps[i].window;

        windows[i] = (struct time_window){window->mark_start_ns, window->mark_end_ns};
        device_windows[i] = (struct time_window){window->start_ns, window->end_ns};
    }
    options.windows = windows;
    options.device_windows = device_windows;
    measure_module_costs(costs, trace, &options);
    free(device_windows);
    free(windows);
}
