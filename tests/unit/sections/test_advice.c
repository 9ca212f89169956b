/* Each rule of the advice: a made trace where it fires with the price that was built in, and the
 * same without the loss, where it must not. */
#include "support_advice.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* No finding may cost more than the accounts it names hold, or lack its parts. */
static void check_findings(const struct scene *scene, const struct section *section)
{
    const struct ledger *ledger = &scene->made.ledger;

    for (size_t i = 0; i < section->finding_count; i++) {
        const struct finding *finding = &section->findings[i];
        int64_t held_ns = 0;

        assert_non_null(finding->evidence);
        assert_non_null(finding->try_this);
        assert_non_null(finding->estimate->reason);
        assert_true(i == 0 || section->findings[i - 1].cost_ns >= finding->cost_ns);
        for (size_t a = 0; a < finding->estimate->account_count; a++)
            for (int account = 0; account < ACCOUNT_COUNT; account++)
                for (uint32_t step = 0; step < ledger->step_count; step++)
                    if (strcmp(account_descriptions[account].key, finding->estimate->accounts[a]) ==
                        0)
                        held_ns += ledger->steps[step].account_ns[account];
        if (finding->cost_ns >= 0 && strcmp(finding->estimate->id, "step_outliers") != 0)
            assert_true(finding->cost_ns * ledger->step_count <= held_ns + ledger->step_count);
    }
}

static void assert_cost(const struct section *section, const char *id, int64_t cost_ns)
{
    const struct finding *finding = find_advice(section, id);

    if (!finding)
        fail_msg("%s says nothing", id);
    if (finding->cost_ns != cost_ns)
        fail_msg("%s costs %lld ns, not %lld", id, (long long)finding->cost_ns, (long long)cost_ns);
    assert_true(is_close(finding->estimate->share, (double)cost_ns / STEP_NS)); /* for costs that
                                                                                divide evenly */
    if (strcmp(id, "start_up") == 0 || strcmp(id, "profiler_overhead") == 0) {
        /* another recording would not have it: no step gets faster */
        assert_true(is_close(finding->estimate->ceiling_speedup, 0));
        return;
    }
    assert_true(
        is_close(finding->estimate->ceiling_speedup,
                 fmax((double)STEP_NS / (double)(STEP_NS - cost_ns),
                      fmax(finding->estimate->replayed_speedup, finding->estimate->most_speedup))));
}

/* What the host does from 600 µs to the end of each step. */
struct host_case {
    const char *id;
    enum event_kind kind;
    const char *name;
    int64_t cost_ns; /* where the device has nothing to do meanwhile */
};

static const struct host_case host_cases[] = {
    {"data_loading", EVENT_ANNOTATION,
     "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 400 * US},
    {"allocator", EVENT_RUNTIME_CALL, "cudaMalloc", 400 * US},
    {"garbage_collection", EVENT_PYTHON_FUNCTION, "Python GC", 400 * US},
    {"system_calls", EVENT_SYSTEM_CALL, "pthread_cond_wait", 400 * US},
    {"annotated_code", EVENT_ANNOTATION, "save checkpoint", 400 * US},
    {"python_code", EVENT_PYTHON_FUNCTION, "train.py(12): log", 400 * US},
    {"python_code", EVENT_HOST_OTHER, "unheard of", 400 * US},
    {"launch_bound", EVENT_OPERATOR, "aten::embedding", 400 * US + LAUNCH_NS},
    {"profiler_overhead", EVENT_OVERHEAD, "Activity Buffer Request", 400 * US},
    {"module_loading", EVENT_OVERHEAD, "Lazy Function Loading", 400 * US},
};

static void make_host_case(struct scene *scene, const struct host_case *host, bool is_idle)
{
    scene_begin(scene, STEPS);
    for (int64_t at = 0; at < STEPS * STEP_NS; at += STEP_NS) {
        if (is_idle)
            scene_live(scene, "gemm", at, at + 600 * US);
        else
            scene_queued(scene, "gemm", at, at + STEP_NS);
        made_host_event(&scene->made, scene->thread, host->kind,
                        (struct made_event){host->name, at + 600 * US, at + STEP_NS});
    }
}

static void what_the_host_does_costs_only_while_the_device_is_idle(void **state)
{
    for (size_t i = 0; i < sizeof host_cases / sizeof *host_cases; i++) {
        struct scene scene;
        const struct section *section;

        make_host_case(&scene, &host_cases[i], true);
        section = scene_advice(&scene);
        check_findings(&scene, section);
        assert_cost(section, host_cases[i].id, host_cases[i].cost_ns);
        assert_int_equal(find_advice(section, host_cases[i].id)->estimate->step_count, STEPS);
        made_trace_clear(&scene.made);
        make_host_case(&scene, &host_cases[i], false);
        section = scene_advice(&scene);
        assert_int_equal(section->finding_count, 0);
        assert_non_null(strstr(section->intro, "Nothing above 2 %"));
        made_trace_clear(&scene.made);
    }
}

/* `loss.item()` from 500 µs on; the kernel before it ends at `dry_ns` into the step. */
static void make_sync(struct scene *scene, int64_t dry_ns)
{
    scene_begin(scene, STEPS);
    for (int64_t at = 0; at < STEPS * STEP_NS; at += STEP_NS) {
        if (dry_ns < STEP_NS)
            scene_live(scene, "gemm", at, at + dry_ns);
        else
            scene_queued(scene, "gemm", at, at + dry_ns);
        made_host_event(&scene->made, scene->thread, EVENT_PYTHON_FUNCTION,
                        (struct made_event){"train.py(7): step", at + 490 * US, at + 660 * US});
        made_host_event(&scene->made, scene->thread, EVENT_OPERATOR,
                        (struct made_event){"aten::item", at + 495 * US, at + 655 * US});
        made_host_event(
            &scene->made, scene->thread, EVENT_OPERATOR,
            (struct made_event){"aten::_local_scalar_dense", at + 496 * US, at + 654 * US});
        (void)made_call(&scene->made, scene->thread,
                        (struct made_event){"cudaStreamSynchronize", at + 500 * US, at + 650 * US});
    }
}

static void a_synchronising_call_costs_until_the_next_kernel(void **state)
{
    struct scene scene;
    const struct section *section;
    const struct finding *finding;

    make_sync(&scene, 600 * US);
    section = scene_advice(&scene);
    check_findings(&scene, section);
    finding = find_advice(section, "synchronisation");
    assert_non_null(finding);
    /* the wait itself: replayed without it, all that follows comes 150 µs earlier; that the host
     * pauses behind it for 350 µs more is no fault of the call */
    assert_int_equal(finding->cost_ns, 150 * US);
    assert_non_null(strstr(finding->evidence, "aten::item in train.py(7): step"));
    assert_non_null(strstr(finding->try_this, ".item()"));
    made_trace_clear(&scene.made);
    /* the device still works when the call returns */
    make_sync(&scene, STEP_NS);
    assert_null(find_advice(scene_advice(&scene), "synchronisation"));
    made_trace_clear(&scene.made);
}

/* From 600 µs to the end of each step the host sets memory, and returns when that is done. */
static const struct finding *advice_on_memset(struct scene *scene, const char *call,
                                              const char *memset)
{
    scene_begin(scene, STEPS);
    for (int64_t at = 0; at < STEPS * STEP_NS; at += STEP_NS) {
        int64_t id;

        scene_live(scene, "gemm", at, at + 600 * US);
        id = made_call(&scene->made, scene->thread,
                       (struct made_event){call, at + 600 * US, at + STEP_NS});
        made_work(&scene->made, scene->stream, EVENT_MEMSET,
                  (struct made_event){memset, at + 990 * US, at + STEP_NS}, id, NULL);
    }
    return find_advice(scene_advice(scene), "synchronisation");
}

static void setting_memory_of_the_host_waits(void **state)
{
    struct scene scene;
    const struct finding *finding;

    finding = advice_on_memset(&scene, "cudaMemset", "Memset (Pinned)");
    assert_non_null(finding);
    assert_non_null(strstr(finding->try_this, "cudaMemsetAsync"));
    made_trace_clear(&scene.made);
    finding = advice_on_memset(&scene, "cudaMemset", "Memset (Managed)");
    assert_non_null(finding);
    made_trace_clear(&scene.made);
    assert_null(advice_on_memset(&scene, "cudaMemset", "Memset (Device)"));
    made_trace_clear(&scene.made);
    assert_null(advice_on_memset(&scene, "cudaMemsetAsync", "Memset (Pinned)"));
    made_trace_clear(&scene.made);
}

static void loading_after_a_synchronising_call_is_not_its_cost(void **state)
{
    struct scene scene;
    const struct section *section;

    make_sync(&scene, 600 * US);
    for (int64_t at = 0; at < STEPS * STEP_NS; at += STEP_NS)
        made_host_event(&scene.made, scene.thread, EVENT_ANNOTATION,
                        (struct made_event){host_cases[0].name, at + 700 * US, at + STEP_NS});
    section = scene_advice(&scene);
    assert_cost(section, "synchronisation", 100 * US);
    assert_cost(section, "data_loading", 300 * US);
    made_trace_clear(&scene.made);
}

static void a_slow_call_is_not_launch_bound(void **state)
{
    struct scene scene;
    const struct section *section;

    scene_begin(&scene, STEPS);
    for (int64_t at = 0; at < STEPS * STEP_NS; at += STEP_NS)
        scene_live(&scene, "gemm", at, at + (at == STEP_NS ? 600 * US : STEP_NS));
    (void)made_call(
        &scene.made, scene.thread,
        (struct made_event){"cudaMemcpyAsync", 2 * STEP_NS - 990 * US, 2 * STEP_NS + 10 * US});
    section = scene_advice(&scene);
    assert_cost(section, "slow_calls", 100 * US + LAUNCH_NS / 4);
    assert_null(find_advice(section, "launch_bound"));
    made_trace_clear(&scene.made);
}

/* From 600 µs to the end of each step `name` runs, and with `is_hidden` a product beside it. */
static void make_second_part(struct scene *scene, enum event_kind kind, const char *name,
                             bool is_hidden)
{
    uint32_t other;

    scene_begin(scene, STEPS);
    other = made_stream(&scene->made, 0, 20);
    for (int64_t at = 0; at < STEPS * STEP_NS; at += STEP_NS) {
        struct made_event part = {name, at + 600 * US, at + STEP_NS};
        int64_t call = made_call(&scene->made, scene->thread,
                                 (struct made_event){"call", at + 10 * US, at + 11 * US});

        scene_queued(scene, "gemm", at, at + (is_hidden ? STEP_NS : 600 * US));
        made_work(&scene->made, other, kind, part, call, NULL);
    }
}

static void what_runs_beside_no_product_costs(void **state)
{
    static const struct {
        const char *id;
        enum event_kind kind;
        const char *name;
    } cases[] = {
        {"exposed_communication", EVENT_KERNEL, "ncclDevKernel_AllReduce_Sum_f32"},
        {"pageable_copies", EVENT_MEMCPY, "Memcpy HtoD (Pageable -> Device)"},
        {"pageable_copies", EVENT_MEMCPY, "Memcpy DtoH (Device -> Pageable)"},
        {"exposed_copies", EVENT_MEMCPY, "Memcpy HtoD (Pinned -> Device)"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct scene scene;
        const struct section *section;

        make_second_part(&scene, cases[i].kind, cases[i].name, false);
        section = scene_advice(&scene);
        check_findings(&scene, section);
        assert_cost(section, cases[i].id, 400 * US);
        assert_int_equal(section->finding_count, 1);
        made_trace_clear(&scene.made);
        make_second_part(&scene, cases[i].kind, cases[i].name, true);
        assert_int_equal(scene_advice(&scene)->finding_count, 0);
        made_trace_clear(&scene.made);
    }
}

/* Three kernels in a row behind a product, or with products between them. */
static const struct section *advice_on_chain(struct scene *scene, bool is_broken)
{
    static const int64_t ends[] = {600 * US, 700 * US, 900 * US, STEP_NS};

    scene_begin(scene, STEPS);
    for (int64_t at = 0; at < STEPS * STEP_NS; at += STEP_NS) {
        scene_queued(scene, "gemm", at, at + ends[0]);
        for (size_t i = 1; i < sizeof ends / sizeof *ends; i++) {
            scene_queued(scene, "vectorized_elementwise_kernel", at + ends[i - 1],
                         at + ends[i] - (is_broken ? 20 * US : 0));
            if (is_broken)
                scene_queued(scene, "gemm", at + ends[i] - 20 * US, at + ends[i]);
        }
    }
    return scene_advice(scene);
}

static void a_fused_chain_is_as_long_as_its_longest_kernel(void **state)
{
    struct scene scene;
    const struct section *section;

    section = advice_on_chain(&scene, false);
    assert_cost(section, "unfused_pointwise", 200 * US); /* 100 + 200 + 100, less 200 */
    check_findings(&scene, section);
    made_trace_clear(&scene.made);
    assert_int_equal(advice_on_chain(&scene, true)->finding_count, 0);
    made_trace_clear(&scene.made);
}

static void a_device_busy_with_copies_is_not_in_use(void **state)
{
    struct scene scene;
    const struct section *section;

    scene_begin(&scene, STEPS);
    for (int64_t at = 0; at < STEPS * STEP_NS; at += STEP_NS) {
        struct made_event copy = {"Memcpy HtoD (Pinned -> Device)", at + 200 * US, at + STEP_NS};

        scene_queued(&scene, "gemm", at, at + 200 * US);
        made_work(&scene.made, scene.stream, EVENT_MEMCPY, copy,
                  made_call(&scene.made, scene.thread,
                            (struct made_event){"cudaMemcpyAsync", at + 10 * US, at + 12 * US}),
                  NULL);
    }
    section = scene_advice(&scene);
    assert_cost(section, "busy_with_copies", 800 * US);
    assert_non_null(strstr(find_advice(section, "busy_with_copies")->evidence, "80 %"));
    assert_null(find_advice(section, "exposed_copies")); /* not said twice */
    made_trace_clear(&scene.made);
}

/* 120 kernels of `length_ns`, one behind the other, then a product. */
static void make_many(struct scene *scene, const char *name, int64_t length_ns)
{
    scene_begin(scene, STEPS);
    for (int64_t at = 0; at < STEPS * STEP_NS; at += STEP_NS) {
        for (int64_t i = 0; i < 120; i++)
            scene_queued(scene, name, at + i * length_ns, at + (i + 1) * length_ns);
        scene_queued(scene, "gemm", at + 120 * length_ns, at + STEP_NS);
    }
}

static void small_kernels_are_many_and_short(void **state)
{
    struct scene scene;
    const struct section *section;

    make_many(&scene, "vectorized_elementwise_kernel", 4 * US);
    section = scene_advice(&scene);
    assert_cost(section, "small_kernels", 476 * US); /* fused they take as long as one */
    assert_int_equal(section->finding_count, 1);
    made_trace_clear(&scene.made);
    make_many(&scene, "vectorized_elementwise_kernel", 100); /* 12 µs in all: too little */
    assert_null(find_advice(scene_advice(&scene), "small_kernels"));
    made_trace_clear(&scene.made);
    make_many(&scene, "gemm", 4 * US); /* products are another matter */
    assert_null(find_advice(scene_advice(&scene), "small_kernels"));
    made_trace_clear(&scene.made);
}

/* 60 kernels of 5 µs launched by `op` inside Optimizer.step, 5 µs apart. */
static void make_optimizer(struct scene *scene, const char *op)
{
    scene_begin(scene, STEPS);
    for (int64_t at = 0; at < STEPS * STEP_NS; at += STEP_NS) {
        int64_t from = at + 400 * US;

        scene_queued(scene, "gemm", at, from);
        made_host_event(&scene->made, scene->thread, EVENT_ANNOTATION,
                        (struct made_event){"Optimizer.step#SGD.step", at, at + 350 * US});
        for (int64_t i = 0; i < 60; i++) {
            int64_t call = at + i * 5 * US + US;

            made_host_event(&scene->made, scene->thread, EVENT_OPERATOR,
                            (struct made_event){op, call, call + 4 * US});
            made_kernel(&scene->made, scene->thread, scene->stream,
                        (struct made_event){"cudaLaunchKernel", call + US, call + 2 * US},
                        (struct made_event){"elementwise", from + i * 10 * US,
                                            from + i * 10 * US + 5 * US});
        }
    }
}

static void an_optimizer_of_single_tensors_is_told(void **state)
{
    struct scene scene;
    const struct section *section;

    make_optimizer(&scene, "aten::add_");
    section = scene_advice(&scene);
    check_findings(&scene, section);
    assert_cost(section, "unfused_optimizer", 60 * 5 * US + 59 * 5 * US);
    made_trace_clear(&scene.made);
    make_optimizer(&scene, "aten::_foreach_add_");
    assert_null(find_advice(scene_advice(&scene), "unfused_optimizer"));
    made_trace_clear(&scene.made);
}

/* Two kernels launched by `call` before either runs, `gap_ns` between them. */
static void make_queue(struct scene *scene, const char *call, int64_t gap_ns)
{
    scene_begin(scene, STEPS);
    for (int64_t at = 0; at < STEPS * STEP_NS; at += STEP_NS) {
        int64_t correlation =
            made_call(&scene->made, scene->thread, (struct made_event){call, at, at + 500});

        made_work(&scene->made, scene->stream, EVENT_KERNEL,
                  (struct made_event){"gemm", at, at + 300 * US}, correlation, NULL);
        made_work(&scene->made, scene->stream, EVENT_KERNEL,
                  (struct made_event){"gemm", at + 300 * US + gap_ns, at + STEP_NS}, correlation,
                  NULL);
    }
}

static void waiting_on_the_device_is_told_by_where_it_waits(void **state)
{
    struct scene scene;
    const struct section *section;

    make_queue(&scene, "cudaLaunchKernel", 100 * US);
    section = scene_advice(&scene);
    assert_cost(section, "queued_wait", 100 * US);
    assert_string_equal(find_advice(section, "queued_wait")->estimate->confidence, "low");
    made_trace_clear(&scene.made);
    make_queue(&scene, "cudaGraphLaunch", 100 * US);
    assert_cost(scene_advice(&scene), "graph_gaps", 100 * US);
    made_trace_clear(&scene.made);
    make_queue(&scene, "cudaGraphLaunch", 0);
    assert_int_equal(scene_advice(&scene)->finding_count, 0);
    made_trace_clear(&scene.made);
}

static void work_that_starts_late_is_held_back_not_launch_bound(void **state)
{
    struct scene scene;
    const struct section *section;

    scene_begin(&scene, STEPS);
    for (int64_t at = 0; at < STEPS * STEP_NS; at += STEP_NS)
        made_kernel(&scene.made, scene.thread, scene.stream,
                    (struct made_event){"cudaLaunchKernel", at, at + 10 * US},
                    (struct made_event){"gemm", at + 210 * US, at + STEP_NS});
    section = scene_advice(&scene);
    assert_cost(section, "queued_wait", 200 * US);
    assert_null(find_advice(section, "launch_bound")); /* 10 µs of each step: too little */
    made_trace_clear(&scene.made);
}

static void slow_steps_cost_what_they_take_more(void **state)
{
    struct scene scene;
    const struct section *section;
    const struct finding *finding;
    int64_t at = 0;

    scene_begin(&scene, 0);
    for (int64_t i = 0; i < 5; i++) {
        int64_t length_ns = i == 3 ? 2 * STEP_NS : STEP_NS;
        char name[32];

        (void)snprintf(name, sizeof name, "ProfilerStep#%d", (int)i);
        made_host_event(&scene.made, scene.thread, EVENT_ANNOTATION,
                        (struct made_event){name, at, at + length_ns});
        scene_queued(&scene, "gemm", at, at + length_ns);
        at += length_ns;
    }
    section = scene_advice(&scene);
    assert_int_equal(section->finding_count, 1);
    finding = find_advice(section, "step_outliers");
    assert_non_null(finding);
    assert_int_equal(finding->cost_ns, STEP_NS / 5);
    assert_int_equal(finding->estimate->step_count, 1);
    assert_int_equal(finding->estimate->steps[0], 3);
    assert_string_equal(finding->estimate->accounts[0], "matrix");
    assert_non_null(strstr(finding->evidence, "1 of 5 steps"));
    made_trace_clear(&scene.made);
}

static void a_short_recording_is_said_and_makes_less_sure(void **state)
{
    struct scene scene;
    const struct section *section;

    scene_begin(&scene, 1);
    scene_live(&scene, "gemm", 0, 600 * US);
    made_host_event(&scene.made, scene.thread, EVENT_ANNOTATION,
                    (struct made_event){host_cases[0].name, 600 * US, STEP_NS});
    section = scene_advice(&scene);
    assert_string_equal(find_advice(section, "data_loading")->estimate->confidence, "medium");
    assert_int_equal(find_advice(section, "short_recording")->cost_ns, -1);
    assert_int_equal(find_advice(section, "short_recording")->estimate->account_count, 0);
    made_trace_clear(&scene.made);
}

/* One product a step over all of it, of these types and sizes. */
static void make_product(struct scene *scene, const char *types, const char *kernel)
{
    scene_begin(scene, STEPS);
    scene->made.peaks.peaks[PEAK_FP32] = 10e12;
    scene->made.peaks.peaks[PEAK_TF32] = 50e12;
    scene->made.peaks.peaks[PEAK_BF16] = 100e12;
    for (int64_t at = 0; at < STEPS * STEP_NS; at += STEP_NS) {
        made_operator(&scene->made, scene->thread,
                      (struct made_event){"aten::mm", at, at + 20 * US}, "[[128, 256], [256, 64]]",
                      types);
        scene_queued(scene, kernel, at, at + STEP_NS);
    }
}

static void products_are_told_by_format_and_unit(void **state)
{
    static const struct {
        const char *types;
        const char *kernel;
        const char *id; /* NULL: nothing to say */
        int64_t cost_ns;
    } cases[] = {
        {"[\"float\", \"float\"]", "ampere_sgemm_128x64_tn", "tf32_not_used", 800 * US},
        {"[\"float\", \"float\"]", "ampere_tf32_s1688gemm_128x64", "half_not_used", 500 * US},
        {"[\"c10::BFloat16\", \"c10::BFloat16\"]", "ampere_sgemm_128x64_tn", "off_matrix_units",
         900 * US},
        {"[\"c10::BFloat16\", \"c10::BFloat16\"]", "ampere_bf16_s16816gemm_bf16_128x64", NULL, 0},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct scene scene;
        const struct section *section;

        make_product(&scene, cases[i].types, cases[i].kernel);
        section = scene_advice(&scene);
        check_findings(&scene, section);
        assert_int_equal(section->finding_count, cases[i].id ? 1 : 0);
        if (cases[i].id)
            assert_cost(section, cases[i].id, cases[i].cost_ns);
        made_trace_clear(&scene.made);
    }
}

/* Products of 32 bits on a device of which nothing but its compute capability is known. */
static const struct section *advice_without_rates(struct scene *scene, int32_t compute_major)
{
    struct device device = {.number = 0,
                            .memory_bytes = -1,
                            .compute_major = compute_major,
                            .compute_minor = 0,
                            .multiprocessors = -1,
                            .entry = DEVICE_ENTRY_OWN};

    scene_begin(scene, STEPS);
    trace_builder_add_device(&scene->made.builder, &device);
    for (int64_t at = 0; at < STEPS * STEP_NS; at += STEP_NS)
        scene_queued(scene, "volta_sgemm_64x64_nt", at, at + STEP_NS);
    return scene_advice(scene);
}

static void without_rates_wide_products_are_told_without_a_price(void **state)
{
    struct scene scene;
    const struct finding *finding;

    finding = find_advice(advice_without_rates(&scene, 7), "half_not_used");
    assert_non_null(finding);
    assert_int_equal(finding->cost_ns, -1);
    assert_non_null(strstr(finding->evidence, "not known"));
    made_trace_clear(&scene.made);
    /* older devices have no units for 16 bits */
    assert_null(find_advice(advice_without_rates(&scene, 6), "half_not_used"));
    made_trace_clear(&scene.made);
}

/* Two products of nearly the same FLOPs: one of 200 µs, one of 800 µs whose inner size is `inner`.
 */
static void make_shapes(struct scene *scene, const char *shapes)
{
    static const char types[] = "[\"c10::BFloat16\", \"c10::BFloat16\"]";
    static const char kernel[] = "ampere_bf16_s16816gemm_bf16_128x64";

    scene_begin(scene, STEPS);
    scene->made.peaks.peaks[PEAK_BF16] = 100e12;
    for (int64_t at = 0; at < STEPS * STEP_NS; at += STEP_NS) {
        made_operator(&scene->made, scene->thread,
                      (struct made_event){"aten::mm", at, at + 15 * US},
                      "[[1024, 512], [512, 1024]]", types);
        scene_queued(scene, kernel, at, at + 200 * US);
        made_operator(&scene->made, scene->thread,
                      (struct made_event){"aten::mm", at + 140 * US, at + 155 * US}, shapes, types);
        scene_queued(scene, kernel, at + 200 * US, at + STEP_NS);
    }
}

static void misaligned_products_are_priced_by_aligned_ones(void **state)
{
    struct scene scene;
    const struct finding *finding;

    make_shapes(&scene, "[[1024, 512], [512, 1023]]");
    finding = find_advice(scene_advice(&scene), "misaligned_shapes");
    assert_non_null(finding);
    /* at its peer's rate it would take 200 µs * 1023 / 1024 */
    assert_in_range(finding->cost_ns, 600190, 600200);
    assert_non_null(strstr(finding->evidence, "1,023 is no multiple"));
    made_trace_clear(&scene.made);
    make_shapes(&scene, "[[1024, 512], [512, 1024]]");
    assert_null(find_advice(scene_advice(&scene), "misaligned_shapes"));
    made_trace_clear(&scene.made);
}

/* A module's forward of 300 µs on the device in the forward or, again, in the backward. */
static void make_checkpoint(struct scene *scene, bool is_in_backward)
{
    scene_begin(scene, STEPS);
    for (int64_t at = 0; at < STEPS * STEP_NS; at += STEP_NS) {
        struct made_event node = {"autograd::engine::evaluate_function: CheckpointBackward",
                                  at + 10 * US, at + 90 * US};

        scene_queued(scene, "gemm", at, at + 700 * US);
        if (is_in_backward)
            made_host_event(&scene->made, scene->thread, EVENT_OPERATOR, node);
        made_host_event(&scene->made, scene->thread, EVENT_ANNOTATION,
                        (struct made_event){"nn:layer", at + 20 * US, at + 80 * US});
        made_host_event(&scene->made, scene->thread, EVENT_OPERATOR,
                        (struct made_event){"aten::mm", at + 30 * US, at + 70 * US});
        made_kernel(&scene->made, scene->thread, scene->stream,
                    (struct made_event){"cudaLaunchKernel", at + 40 * US, at + 41 * US},
                    (struct made_event){"gemm", at + 700 * US, at + STEP_NS});
    }
}

static void a_forward_inside_the_backward_is_recomputation(void **state)
{
    struct scene scene;

    make_checkpoint(&scene, true);
    assert_cost(scene_advice(&scene), "recomputation", 300 * US);
    made_trace_clear(&scene.made);
    make_checkpoint(&scene, false);
    assert_null(find_advice(scene_advice(&scene), "recomputation"));
    made_trace_clear(&scene.made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_host_does_costs_only_while_the_device_is_idle),
        cmocka_unit_test(a_synchronising_call_costs_until_the_next_kernel),
        cmocka_unit_test(setting_memory_of_the_host_waits),
        cmocka_unit_test(loading_after_a_synchronising_call_is_not_its_cost),
        cmocka_unit_test(a_slow_call_is_not_launch_bound),
        cmocka_unit_test(what_runs_beside_no_product_costs),
        cmocka_unit_test(a_fused_chain_is_as_long_as_its_longest_kernel),
        cmocka_unit_test(a_device_busy_with_copies_is_not_in_use),
        cmocka_unit_test(small_kernels_are_many_and_short),
        cmocka_unit_test(an_optimizer_of_single_tensors_is_told),
        cmocka_unit_test(waiting_on_the_device_is_told_by_where_it_waits),
        cmocka_unit_test(work_that_starts_late_is_held_back_not_launch_bound),
        cmocka_unit_test(slow_steps_cost_what_they_take_more),
        cmocka_unit_test(a_short_recording_is_said_and_makes_less_sure),
        cmocka_unit_test(products_are_told_by_format_and_unit),
        cmocka_unit_test(without_rates_wide_products_are_told_without_a_price),
        cmocka_unit_test(misaligned_products_are_priced_by_aligned_ones),
        cmocka_unit_test(a_forward_inside_the_backward_is_recomputation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
