/* Replays of made traces whose dependencies are known: what each change brings, to the nanosecond.
 */
#include "replay/replay_model.h"
#include "support_trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { US = 1000, STEP_US = 1000 };

static void add_steps(struct made_trace *made, uint32_t thread, int64_t steps)
{
    for (int64_t i = 0; i < steps; i++) {
        char name[32];

        (void)snprintf(name, sizeof name, "ProfilerStep#%d", (int)i);
        made_host_event(made, thread, EVENT_ANNOTATION,
                        (struct made_event){name, i * STEP_US * US, (i + 1) * STEP_US * US});
    }
}

/* All times in microseconds from here on. */
static void add_kernel(struct made_trace *made, const uint32_t tracks[2], int64_t launch_us,
                       struct made_event kernel_us)
{
    made_kernel(
        made, tracks[0], tracks[1],
        (struct made_event){"cudaLaunchKernel", launch_us * US, (launch_us + 10) * US},
        (struct made_event){kernel_us.name, kernel_us.start_ns * US, kernel_us.end_ns * US});
}

static void add_host(struct made_trace *made, uint32_t thread, enum event_kind kind,
                     struct made_event event_us)
{
    made_host_event(
        made, thread, kind,
        (struct made_event){event_us.name, event_us.start_ns * US, event_us.end_ns * US});
}

static void add_sync(struct made_trace *made, uint32_t thread, int64_t start_us, int64_t end_us)
{
    (void)made_call(made, thread,
                    (struct made_event){"cudaStreamSynchronize", start_us * US, end_us * US});
}

/* The mean step with the change; -1 where the replay is refused. */
static int64_t step_ns_of(struct made_trace *made, const char *change, const uint8_t *is_recomputed)
{
    SCOPED(replay_model) simulation = {.is_refused = false};
    SCOPED(scenario) scenario = {.text = NULL};
    struct replay_estimate estimate;
    struct error error;

    assert_true(scenario_parse(&scenario, change, &error));
    replay_model_begin(&simulation, &(struct recorded_steps){.trace = &made->trace,
                                                             .ledger = &made->ledger,
                                                             .is_recomputed = is_recomputed});
    return replay_model_try(&simulation, &scenario, &estimate) ? estimate.step_ns : -1;
}

static int64_t step_ns_with(struct made_trace *made, const char *change)
{
    return step_ns_of(made, change, NULL);
}

/* Each step: loads data for 400, launches three kernels of 100 and waits for them until 717. */
static void make_training(struct made_trace *made)
{
    uint32_t tracks[2];

    made_trace_init(made);
    tracks[0] = made_thread(made, "1");
    tracks[1] = made_stream(made, 0, 7);
    add_steps(made, tracks[0], 2);
    for (int64_t at = 0; at < 2000; at += STEP_US) {
        add_host(made, tracks[0], EVENT_ANNOTATION,
                 (struct made_event){"enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
                                     at, at + 400});
        add_kernel(made, tracks, at + 400, (struct made_event){"first", at + 405, at + 505});
        add_kernel(made, tracks, at + 420, (struct made_event){"second", at + 506, at + 606});
        add_kernel(made, tracks, at + 440, (struct made_event){"gemm", at + 607, at + 707});
        add_sync(made, tracks[0], at + 460, at + 717);
    }
    made_trace_finish(made, WINDOW_CHOICE_AUTO);
}

static void changes_bring_what_they_must(void **state)
{
    static const struct {
        const char *change;
        int64_t step_us;
    } cases[] = {
        {"data*1", 1000},   /* none: the replay is the recording */
        {"data*0", 600},    /* nothing runs beside loading: all of it goes */
        {"data*0.5", 800},  /* half of it */
        {"host=0", 717},    /* 400 of data, then the kernels and the sync's return */
        {"launch=0", 1000}, /* the host waits for the device anyway */
        {"device/2", 850},  /* three kernels, each 50 shorter */
        {"kernel:gemm*0.5", 950},
        {"kernel:^(first|gemm)$*0.5", 900},
        {"matrix*0.5,data*0", 550},
        {"sync=0", 743}, /* 460, then what follows the sync until the step ends: 283 */
        {"communication=0", 1000},
        {"host=graphs", 1000}, /* as launch=0 */
        {"waiting=0", 0},      /* about other ranks: no estimate */
    };
    struct made_trace made;

    make_training(&made);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (cases[i].step_us == 0) {
            assert_int_equal(step_ns_with(&made, cases[i].change), -1);
            continue;
        }
        if (step_ns_with(&made, cases[i].change) != cases[i].step_us * US)
            print_error("%s\n", cases[i].change);
        assert_int_equal(step_ns_with(&made, cases[i].change), cases[i].step_us * US);
    }
    made_trace_clear(&made);
}

/* The backward runs on a thread of its own while the first one is silent. */
static void threads_hand_over_to_each_other(void **state)
{
    struct made_trace made;
    uint32_t first, backward[2];

    made_trace_init(&made);
    first = made_thread(&made, "1");
    backward[0] = made_thread(&made, "2");
    backward[1] = made_stream(&made, 0, 7);
    add_steps(&made, first, 1);
    add_host(
        &made, first, EVENT_ANNOTATION,
        (struct made_event){"enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 0, 60});
    add_host(&made, first, EVENT_OPERATOR, (struct made_event){"aten::ones_like", 60, 100});
    add_host(&made, backward[0], EVENT_OPERATOR, (struct made_event){"AddmmBackward0", 150, 350});
    add_kernel(&made, backward, 200, (struct made_event){"gemm", 205, 255});
    add_host(&made, first, EVENT_OPERATOR, (struct made_event){"aten::add_", 400, 500});
    made_trace_finish(&made, WINDOW_CHOICE_AUTO);
    assert_int_equal(step_ns_with(&made, "data*0"), 940 * US);
    assert_int_equal(step_ns_with(&made, "device*5"), 1000 * US);
    made_trace_clear(&made);
}

/* Communication on a stream of its own starts after what it sends is there, and is waited for. */
static void work_waits_for_other_streams(void **state)
{
    struct made_trace made;
    uint32_t compute[2], communication[2];

    made_trace_init(&made);
    compute[0] = communication[0] = made_thread(&made, "1");
    compute[1] = made_stream(&made, 0, 7);
    communication[1] = made_stream(&made, 0, 20);
    add_steps(&made, compute[0], 1);
    add_kernel(&made, compute, 10, (struct made_event){"gemm", 15, 515});
    add_kernel(&made, communication, 30,
               (struct made_event){"ncclDevKernel_AllReduce_Sum_f32_RING_LL", 518, 818});
    add_kernel(&made, compute, 50, (struct made_event){"update", 820, 920});
    add_sync(&made, compute[0], 70, 930);
    made_trace_finish(&made, WINDOW_CHOICE_AUTO);
    assert_int_equal(step_ns_with(&made, "communication/2"), 850 * US);
    assert_int_equal(step_ns_with(&made, "communication=0"), 700 * US);
    assert_int_equal(step_ns_with(&made, "kernel:gemm*0.5,communication/2"), 600 * US);
    made_trace_clear(&made);
}

/* A kernel that starts 300 later than anything explains, and is waited for. */
static void what_is_not_explained_is_refused(void **state)
{
    struct made_trace made;
    uint32_t tracks[2];

    made_trace_init(&made);
    tracks[0] = made_thread(&made, "1");
    tracks[1] = made_stream(&made, 0, 7);
    add_steps(&made, tracks[0], 1);
    for (int64_t at = 0; at < 300; at += 100)
        add_kernel(&made, tracks, at, (struct made_event){"gemm", at + 5, at + 50});
    add_kernel(&made, tracks, 300, (struct made_event){"gemm", 605, 650});
    add_sync(&made, tracks[0], 320, 660);
    made_trace_finish(&made, WINDOW_CHOICE_AUTO);
    assert_int_equal(step_ns_with(&made, "data=0"), -1);
    made_trace_clear(&made);
}

/* A kernel of another stream starts only when the one that fills the device nears its end. */
static void work_waits_for_room_on_the_device(void **state)
{
    struct made_trace made;
    uint32_t large[2], small[2];

    made_trace_init(&made);
    large[0] = small[0] = made_thread(&made, "1");
    large[1] = made_stream(&made, 0, 7);
    small[1] = made_stream(&made, 0, 20);
    add_steps(&made, large[0], 1);
    add_kernel(&made, large, 10, (struct made_event){"large_gemm", 15, 515});
    add_kernel(&made, small, 30, (struct made_event){"small_kernel", 415, 515});
    add_sync(&made, large[0], 50, 525);
    made_trace_finish(&made, WINDOW_CHOICE_AUTO);
    assert_int_equal(step_ns_with(&made, "data=0"), 1000 * US);
    assert_int_equal(step_ns_with(&made, "kernel:large*0.5"), 800 * US);
    assert_int_equal(step_ns_with(&made, "kernel:small*0.5"), 1000 * US);
    made_trace_clear(&made);
}

/* A copy from pageable memory holds the host until it is done, and it waits for its stream. */
static void a_blocking_copy_holds_the_host(void **state)
{
    struct made_trace made;
    uint32_t tracks[2];
    int64_t copy;

    made_trace_init(&made);
    tracks[0] = made_thread(&made, "1");
    tracks[1] = made_stream(&made, 0, 7);
    add_steps(&made, tracks[0], 1);
    add_kernel(&made, tracks, 10, (struct made_event){"gemm", 15, 415});
    copy = made_call(&made, tracks[0], (struct made_event){"cudaMemcpyAsync", 30 * US, 525 * US});
    made_work(&made, tracks[1], EVENT_MEMCPY,
              (struct made_event){"Memcpy DtoH (Device -> Pageable)", 416 * US, 516 * US}, copy,
              NULL);
    made_trace_finish(&made, WINDOW_CHOICE_AUTO);
    assert_int_equal(step_ns_with(&made, "copies=0"), 900 * US);
    assert_int_equal(step_ns_with(&made, "kernel:gemm*0.5"), 800 * US);
    made_trace_clear(&made);
}

/* The step with copies=0 where the host calls from 100 to `returns_us`, and the copy runs from 120
 * to 515. */
static int64_t step_us_without_copy(const char *call, const char *name, int64_t returns_us)
{
    struct made_trace made;
    uint32_t tracks[2];
    int64_t copy, step_ns;

    made_trace_init(&made);
    tracks[0] = made_thread(&made, "1");
    tracks[1] = made_stream(&made, 0, 7);
    add_steps(&made, tracks[0], 1);
    copy = made_call(&made, tracks[0], (struct made_event){call, 100 * US, returns_us * US});
    made_work(&made, tracks[1], EVENT_MEMCPY, (struct made_event){name, 120 * US, 515 * US}, copy,
              NULL);
    made_trace_finish(&made, WINDOW_CHOICE_AUTO);
    assert_int_equal(step_ns_with(&made, "device*1"), 1000 * US);
    step_ns = step_ns_with(&made, "copies=0");
    made_trace_clear(&made);
    return step_ns / US;
}

/* A plain copy returns while its last piece is on its way: it waited for the others. A pinned copy
 * that the host does not wait for takes nothing along. */
static void a_copy_lets_go_before_its_end(void **state)
{
    assert_int_equal(step_us_without_copy("cudaMemcpy", "Memcpy HtoD (Pageable -> Device)", 500),
                     620);
    assert_int_equal(
        step_us_without_copy("cudaMemcpyAsync", "Memcpy HtoD (Pageable -> Device)", 500), 620);
    assert_int_equal(step_us_without_copy("cudaMemcpy", "Memcpy HtoD (Pinned -> Device)", 500),
                     620);
    assert_int_equal(step_us_without_copy("cudaMemcpyAsync", "Memcpy HtoD (Pinned -> Device)", 125),
                     1000);
    assert_int_equal(step_us_without_copy("cudaMemcpy", "Memcpy HtoD (Pinned -> Device)", 110),
                     1000);
}

/* A backward that repeats an operator of the forward: its time goes on the host and on the device.
 */
static void recomputation_goes_on_host_and_device(void **state)
{
    static const int64_t starts_us[] = {15, 116, 217};
    struct made_trace made;
    uint8_t is_recomputed[32] = {0};
    uint32_t tracks[2];

    made_trace_init(&made);
    tracks[0] = made_thread(&made, "1");
    tracks[1] = made_stream(&made, 0, 7);
    add_steps(&made, tracks[0], 1);
    for (int64_t i = 0; i < 3; i++) {
        add_host(&made, tracks[0], EVENT_OPERATOR,
                 (struct made_event){i == 1 ? "aten::again" : "aten::mm", i * 40, i * 40 + 30});
        add_kernel(&made, tracks, i * 40 + 10,
                   (struct made_event){"gemm", starts_us[i], starts_us[i] + 100});
    }
    add_sync(&made, tracks[0], 130, 327);
    made_trace_finish(&made, WINDOW_CHOICE_AUTO);
    assert_in_range(made.trace.host_count, 1, sizeof is_recomputed);
    for (uint32_t i = 0; i < made.trace.host_count; i++)
        is_recomputed[i] =
            strcmp(trace_text(&made.trace, made.trace.host[i].name), "aten::again") == 0;
    assert_int_equal(step_ns_of(&made, "recompute*1", is_recomputed), 1000 * US);
    assert_int_equal(step_ns_of(&made, "recompute=0", is_recomputed), 900 * US);
    assert_int_equal(step_ns_of(&made, "recompute=0,device=0", is_recomputed), 783 * US);
    assert_int_equal(step_ns_of(&made, "device=0", is_recomputed), 813 * US);
    made_trace_clear(&made);
}

/* Two launches, a copy that no graph holds, two launches: the second of each pair, and the 90
 * before it, go; the last kernel then waits for the one before it. */
static void a_graph_makes_launches_one(void **state)
{
    struct made_trace made;
    uint32_t tracks[2];
    int64_t copy;

    made_trace_init(&made);
    tracks[0] = made_thread(&made, "1");
    tracks[1] = made_stream(&made, 0, 7);
    add_steps(&made, tracks[0], 1);
    add_kernel(&made, tracks, 100, (struct made_event){"gemm", 105, 155});
    add_kernel(&made, tracks, 200, (struct made_event){"gemm", 205, 255});
    copy = made_call(&made, tracks[0], (struct made_event){"cudaMemcpyAsync", 300 * US, 310 * US});
    made_work(&made, tracks[1], EVENT_MEMCPY,
              (struct made_event){"Memcpy HtoD (Pageable -> Device)", 305 * US, 308 * US}, copy,
              NULL);
    add_kernel(&made, tracks, 400, (struct made_event){"gemm", 405, 455});
    add_kernel(&made, tracks, 500, (struct made_event){"gemm", 505, 555});
    add_sync(&made, tracks[0], 510, 565);
    made_trace_finish(&made, WINDOW_CHOICE_AUTO);
    assert_int_equal(step_ns_with(&made, "host=graphs"), 850 * US);
    assert_int_equal(step_ns_with(&made, "host=graphs,device*1"), 850 * US);
    made_trace_clear(&made);
}

/* 400 µs in the loader, then 600 of other host time and one short kernel. */
static void make_loading_step(struct made_trace *made, uint32_t tracks[2], const char *loader)
{
    made_trace_init(made);
    tracks[0] = made_thread(made, "1");
    tracks[1] = made_stream(made, 0, 7);
    add_steps(made, tracks[0], 1);
    add_host(made, tracks[0], EVENT_ANNOTATION, (struct made_event){loader, 0, 400});
    add_kernel(made, tracks, 500, (struct made_event){"gemm", 505, 506});
    made_trace_finish(made, WINDOW_CHOICE_AUTO);
}

/* Workers cost nothing on cores of their own. Where they share the core for all of 400 / 0.65, 600
 * of host time take as long as leaves 600 for the host at its speeds. */
static void assert_workers_slow_the_host_down(const char *change)
{
    SCOPED(replay_model) simulation = {.is_refused = false};
    SCOPED(scenario) scenario = {.text = NULL};
    struct replay_estimate estimate;
    struct made_trace made;
    uint32_t tracks[2];
    double busy, length_us;
    struct error error;

    make_loading_step(&made, tracks, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__");
    assert_true(scenario_parse(&scenario, change, &error));
    replay_model_begin(&simulation,
                       &(struct recorded_steps){.trace = &made.trace, .ledger = &made.ledger});
    assert_true(replay_model_try(&simulation, &scenario, &estimate));
    assert_true(estimate.is_range);
    assert_true(estimate.most_speedup > 1.666 && estimate.most_speedup < 1.667);
    length_us = 1000 / estimate.least_speedup;
    busy = 400 / 0.65 / length_us;
    assert_true(length_us * (1 - busy * 0.35) > 599.5 && length_us * (1 - busy * 0.35) < 600.5);
    assert_true(estimate.speedup == estimate.least_speedup);
    made_trace_clear(&made);
}

/* The loader's own work does not vanish by data=0: others do it. */
static void workers_slow_the_host_down(void **state)
{
    assert_workers_slow_the_host_down("data=workers");
    assert_workers_slow_the_host_down("data=0");
}

/* Where workers load already, data=0 takes the wait for them away, and that is all. */
static void without_waiting_for_workers(void **state)
{
    SCOPED(replay_model) simulation = {.is_refused = false};
    SCOPED(scenario) scenario = {.text = NULL};
    struct replay_estimate estimate;
    struct made_trace made;
    uint32_t tracks[2];
    struct error error;

    make_loading_step(&made, tracks,
                      "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__");
    assert_true(scenario_parse(&scenario, "data=0", &error));
    replay_model_begin(&simulation,
                       &(struct recorded_steps){.trace = &made.trace, .ledger = &made.ledger});
    assert_true(replay_model_try(&simulation, &scenario, &estimate));
    assert_false(estimate.is_range);
    assert_true(estimate.speedup > 1.666 && estimate.speedup < 1.667);
    made_trace_clear(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changes_bring_what_they_must),
        cmocka_unit_test(threads_hand_over_to_each_other),
        cmocka_unit_test(work_waits_for_other_streams),
        cmocka_unit_test(work_waits_for_room_on_the_device),
        cmocka_unit_test(what_is_not_explained_is_refused),
        cmocka_unit_test(a_blocking_copy_holds_the_host),
        cmocka_unit_test(a_copy_lets_go_before_its_end),
        cmocka_unit_test(recomputation_goes_on_host_and_device),
        cmocka_unit_test(a_graph_makes_launches_one),
        cmocka_unit_test(workers_slow_the_host_down),
        cmocka_unit_test(without_waiting_for_workers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
