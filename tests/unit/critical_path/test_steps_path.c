/* Critical paths of made traces, known to the nanosecond; and, of traces named on the command line,
 * what holds for all. */
#include "base/core/error.h"
#include "critical_path/call_chains.h"
#include "readers/open_trace.h"
#include "replay/replay_model.h"
#include "sections/timeline/timeline_parts.h"
#include "support_path.h"
#include "support_trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

extern const struct analysis critical_path_analysis;

enum { US = 1000, STEP_US = 1000 };

/* All times in microseconds from here on. */
static void add_host(struct made_trace *made, uint32_t thread, enum event_kind kind,
                     struct made_event event_us)
{
    made_host_event(
        made, thread, kind,
        (struct made_event){event_us.name, event_us.start_ns * US, event_us.end_ns * US});
}

static void add_kernel(struct made_trace *made, const uint32_t tracks[2], int64_t launch_us,
                       struct made_event kernel_us)
{
    made_kernel(
        made, tracks[0], tracks[1],
        (struct made_event){"cudaLaunchKernel", launch_us * US, (launch_us + 10) * US},
        (struct made_event){kernel_us.name, kernel_us.start_ns * US, kernel_us.end_ns * US});
}

static void add_sync(struct made_trace *made, uint32_t thread, int64_t start_us, int64_t end_us)
{
    (void)made_call(made, thread,
                    (struct made_event){"cudaStreamSynchronize", start_us * US, end_us * US});
}

static void add_step(struct made_trace *made, uint32_t thread, int64_t number)
{
    char name[32];

    (void)snprintf(name, sizeof name, "ProfilerStep#%d", (int)number);
    add_host(made, thread, EVENT_ANNOTATION,
             (struct made_event){name, number * STEP_US, (number + 1) * STEP_US});
}

static struct section *path_of(struct made_trace *made)
{
    SCOPED(steps_path) path = {.graph = NULL};
    struct section *section;

    made_trace_finish(made, WINDOW_CHOICE_AUTO);
    section = made_section(made, &critical_path_analysis);
    assert_non_null(section);
    find_steps_path(&path, &made->simulation.graph);
    if (problem_of_path(&path, 1000))
        fail_msg("%s", problem_of_path(&path, 1000));
    return section;
}

static int64_t time_of(const struct section *section, const char *table, const char *name,
                       const char *column)
{
    return table_cell(section_table(section, table), name, column).integer / US;
}

/* Each step: loads data for 400, launches three kernels of 100 and waits for them until 717. */
static void every_nanosecond_of_a_step_has_its_link(void **state)
{
    struct made_trace made;
    struct section *section;
    uint32_t tracks[2];

    made_trace_init(&made);
    tracks[0] = made_thread(&made, "1");
    tracks[1] = made_stream(&made, 0, 7);
    for (int64_t step = 0; step < 2; step++) {
        int64_t at = step * STEP_US;

        add_step(&made, tracks[0], step);
        add_host(&made, tracks[0], EVENT_ANNOTATION,
                 (struct made_event){"enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
                                     at, at + 400});
        add_host(&made, tracks[0], EVENT_OPERATOR,
                 (struct made_event){"aten::stack", at + 100, at + 200});
        add_kernel(&made, tracks, at + 400, (struct made_event){"first", at + 405, at + 505});
        add_kernel(&made, tracks, at + 420, (struct made_event){"second", at + 506, at + 606});
        add_kernel(&made, tracks, at + 440, (struct made_event){"gemm", at + 607, at + 707});
        add_sync(&made, tracks[0], at + 460, at + 717);
        add_host(&made, tracks[0], EVENT_OPERATOR,
                 (struct made_event){"aten::log", at + 800, at + 850});
    }
    section = path_of(&made);
    assert_int_equal(section_value(section, "path").integer, 1000 * US);
    assert_int_equal(time_of(section, "composition", "data loading", "mean"), 400);
    assert_int_equal(time_of(section, "composition", "launch latency", "mean"), 5);
    assert_int_equal(time_of(section, "composition", "other kernels", "mean"), 200);
    assert_int_equal(time_of(section, "composition", "matrix kernels", "mean"), 100);
    assert_int_equal(time_of(section, "composition", "gaps on the device", "mean"), 2);
    assert_int_equal(time_of(section, "composition", "synchronizing calls", "mean"), 10);
    assert_int_equal(time_of(section, "composition", "operators", "mean"), 50);
    assert_int_equal(time_of(section, "composition", "host, nothing recorded", "mean"), 233);
    assert_int_equal(time_of(section, "links", "aten::log", "mean"), 50);
    assert_true(
        is_close(table_cell(section_table(section, "links"), "gemm", "critical_share").real, 1));
    made_trace_clear(&made);
}

/* On the timeline the links of the typical step follow each other, from thread to stream and back.
 */
static void the_path_is_on_the_timeline(void **state)
{
    static const struct analysis_options options = {.top = UINT32_MAX, .timeline_blocks = 1000};
    struct analysis_input input;
    struct made_trace made;
    const struct timeline *timeline;
    uint32_t tracks[2];
    int64_t at_ns = 0;

    made_trace_init(&made);
    tracks[0] = made_thread(&made, "1");
    tracks[1] = made_stream(&made, 0, 7);
    add_step(&made, tracks[0], 0);
    add_kernel(&made, tracks, 400, (struct made_event){"first", 405, 505});
    add_kernel(&made, tracks, 420, (struct made_event){"second", 506, 606});
    add_sync(&made, tracks[0], 460, 616);
    made_trace_finish(&made, WINDOW_CHOICE_AUTO);
    input = made_input(&made, &options);
    timeline = make_timeline(&made.results, &input, NULL, options.timeline_blocks);
    assert_int_equal(timeline->path_step, 0);
    assert_int_equal(timeline->path_count, 7);
    for (size_t i = 0; i < timeline->path_count; i++) {
        assert_int_equal(timeline->path[i].start_ns, at_ns);
        assert_int_equal(timeline->lanes[timeline->path[i].lane].kind,
                         i == 0 || i >= 5 ? TIMELINE_THREAD : TIMELINE_STREAM);
        at_ns += timeline->path[i].duration_ns;
    }
    assert_int_equal(at_ns, STEP_US * US);
    made_trace_clear(&made);
}

/* The all-reduce runs beside a kernel of another stream that ends 200 before it, and a third
 * stream's copy could end 120 later before the sync returns. */
static void what_runs_beside_the_path_has_slack(void **state)
{
    struct made_trace made;
    struct section *section;
    uint32_t compute[2], communication[2], side[2];
    struct call_chains chains = {.call_count = 0};

    made_trace_init(&made);
    compute[0] = communication[0] = side[0] = made_thread(&made, "1");
    compute[1] = made_stream(&made, 0, 7);
    communication[1] = made_stream(&made, 0, 20);
    side[1] = made_stream(&made, 0, 24);
    add_step(&made, compute[0], 0);
    add_kernel(&made, compute, 10, (struct made_event){"gemm", 15, 215});
    add_kernel(&made, communication, 30,
               (struct made_event){"ncclDevKernel_AllReduce_Sum_f32_RING_LL", 218, 818});
    add_kernel(&made, compute, 50, (struct made_event){"gemm_beside", 217, 617});
    add_kernel(&made, side, 70, (struct made_event){"small", 76, 106});
    add_kernel(&made, compute, 90, (struct made_event){"update", 820, 920});
    add_sync(&made, compute[0], 110, 930);
    section = path_of(&made);
    assert_int_equal(time_of(section, "composition", "communication kernels", "mean"), 600);
    assert_int_equal(time_of(section, "composition", "matrix kernels", "mean"), 200);
    assert_int_equal(time_of(section, "composition", "other kernels", "mean"), 100);
    assert_int_equal(time_of(section, "composition", "gaps on the device", "mean"), 5);
    assert_int_equal(time_of(section, "slack", "gemm_beside", "least_slack"), 201);
    assert_int_equal(time_of(section, "slack", "small", "least_slack"), 920 - 106);
    assert_int_equal(time_of(section, "slack", "update", "least_slack"), 0);
    assert_int_equal(time_of(section, "tracks", "stream 20", "off_path"), 0);
    assert_int_equal(time_of(section, "tracks", "stream 7", "off_path"), 400);
    find_call_chains(&chains, &made.simulation.graph);
    assert_int_equal(chains.call_count, 1);
    assert_int_equal(chains.chains[0].call, CHAIN_FROM_START);
    assert_int_equal(chains.chains[0].parts_ns[CHAIN_HOST], 10 * US);
    assert_int_equal(chains.chains[0].parts_ns[CHAIN_LAUNCHES], 5 * US);
    assert_int_equal(chains.chains[0].parts_ns[CHAIN_KERNELS], 200 * US);
    assert_int_equal(chains.chains[0].parts_ns[CHAIN_WAITS], 3 * US);
    assert_int_equal(chains.chains[1].call, 0);
    assert_int_equal(chains.chains[1].parts_ns[CHAIN_KERNELS], 100 * US);
    assert_int_equal(chains.chains[1].parts_ns[CHAIN_SYNC], 10 * US);
    assert_int_equal(chains.chains[1].parts_ns[CHAIN_HOST], 70 * US);
    call_chains_clear(&chains);
    made_trace_clear(&made);
}

/* The host is behind: the path stays on its threads and crosses from one to the other. */
static void the_path_crosses_threads(void **state)
{
    struct made_trace made;
    struct section *section;
    uint32_t first, backward[2];

    made_trace_init(&made);
    first = made_thread(&made, "1");
    backward[0] = made_thread(&made, "2");
    backward[1] = made_stream(&made, 0, 7);
    add_step(&made, first, 0);
    add_host(&made, first, EVENT_OPERATOR, (struct made_event){"aten::ones_like", 0, 100});
    add_host(&made, backward[0], EVENT_OPERATOR, (struct made_event){"AddmmBackward0", 150, 350});
    add_kernel(&made, backward, 200, (struct made_event){"gemm", 205, 255});
    add_host(&made, first, EVENT_OPERATOR, (struct made_event){"aten::add_", 400, 1000});
    section = path_of(&made);
    assert_int_equal(time_of(section, "composition", "operators", "mean"), 100 + 190 + 600);
    assert_int_equal(time_of(section, "composition", "launching calls", "mean"), 10);
    assert_int_equal(time_of(section, "composition", "from one thread to another", "mean"), 100);
    assert_int_equal(time_of(section, "slack", "gemm", "least_slack"), 745);
    made_trace_clear(&made);
}

/* Work that starts 15 later than anything explains: a link of its own. */
static void what_nothing_explains_is_named(void **state)
{
    struct made_trace made;
    struct section *section;
    uint32_t tracks[2];

    made_trace_init(&made);
    tracks[0] = made_thread(&made, "1");
    tracks[1] = made_stream(&made, 0, 7);
    add_step(&made, tracks[0], 0);
    for (int64_t at = 0; at < 300; at += 100)
        add_kernel(&made, tracks, at, (struct made_event){"gemm", at + 5, at + 50});
    add_kernel(&made, tracks, 300, (struct made_event){"gemm", 320, 650});
    add_sync(&made, tracks[0], 320, 660);
    section = path_of(&made);
    assert_int_equal(time_of(section, "composition", "waiting that nothing explains", "mean"), 15);
    assert_int_equal(time_of(section, "composition", "launch latency", "mean"), 5);
    made_trace_clear(&made);
}

/* A replay that is far from the recording tells of no path. */
static void a_refused_replay_has_no_path(void **state)
{
    struct made_trace made;
    struct section *section;
    uint32_t tracks[2];

    made_trace_init(&made);
    tracks[0] = made_thread(&made, "1");
    tracks[1] = made_stream(&made, 0, 7);
    add_step(&made, tracks[0], 0);
    for (int64_t at = 0; at < 300; at += 100)
        add_kernel(&made, tracks, at, (struct made_event){"gemm", at + 5, at + 50});
    add_kernel(&made, tracks, 300, (struct made_event){"gemm", 605, 650});
    add_sync(&made, tracks[0], 320, 660);
    made_trace_finish(&made, WINDOW_CHOICE_AUTO);
    section = made_section(&made, &critical_path_analysis);
    assert_int_equal(section->table_count, 0);
    assert_int_equal(count_findings(section, "no critical path"), 1);
    made_trace_clear(&made);
}

/* ---- traces of the command line ---- */

static int check_file(const char *name)
{
    struct read_options reading = {.threads = 1};
    struct ledger_options options = {.choice = WINDOW_CHOICE_AUTO,
                                     .first_step = INT64_MIN,
                                     .last_step = INT64_MAX,
                                     .device = -1};
    struct step_windows windows = {.count = 0};
    SCOPED(replay_model) simulation = {.is_refused = false};
    SCOPED(steps_path) path = {.graph = NULL};
    SCOPED(trace) trace = {0};
    SCOPED(ledger) ledger = {0};
    struct error error = {0};
    const char *problem = NULL;

    if (!open_trace(&trace, name, &reading, &error)) {
        printf("skipped %s: %s\n", name, error.message);
        return 0;
    }
    find_ledger_steps(&ledger, &windows, &trace, &options);
    attribute_steps(&ledger, &windows, &trace, &options);
    step_windows_clear(&windows);
    if (ledger.is_cpu_only || ledger.step_count == 0) {
        printf("skipped %s: nothing ran on a device\n", name);
        return 0;
    }
    replay_model_begin(&simulation, &(struct recorded_steps){.trace = &trace, .ledger = &ledger});
    if (simulation.graph.is_circular) {
        printf("skipped %s: circular\n", name);
        return 0;
    }
    if (simulation.is_refused) {
        printf("skipped %s: no replay, so no path is shown\n", name);
        return 0;
    }
    find_steps_path(&path, &simulation.graph);
    problem = problem_of_path(&path, 24);
    printf("%s %s: %zu links%s%s\n", problem ? "FAILED" : "ok", name, path.pieces.count,
           problem ? ": " : "", problem ? problem : "");
    return problem != NULL;
}

int main(int count, char **arguments)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_nanosecond_of_a_step_has_its_link),
        cmocka_unit_test(the_path_is_on_the_timeline),
        cmocka_unit_test(what_runs_beside_the_path_has_slack),
        cmocka_unit_test(the_path_crosses_threads),
        cmocka_unit_test(what_nothing_explains_is_named),
        cmocka_unit_test(a_refused_replay_has_no_path),
    };
    int failed = 0;

    for (int i = 1; i < count; i++)
        failed += check_file(arguments[i]);
    return count > 1 ? failed != 0 : cmocka_run_group_tests(tests, NULL, NULL);
}
