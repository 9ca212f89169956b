/* Modules on a stream: from the first kernel of one to the last before another's. */
#include "output/exports/chrome_tracks.h"
#include "support_trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

extern const struct analysis module_cost_analysis;

static void add_module_call(struct made_trace *made, uint32_t thread, struct made_event range)
{
    made_host_event(made, thread, EVENT_ANNOTATION, range);
}

static void assert_slice(const struct module_slice *slice, const char *name, int64_t start_ns,
                         int64_t end_ns)
{
    assert_string_equal(slice->name, name);
    assert_int_equal(slice->start_ns, start_ns);
    assert_int_equal(slice->end_ns, end_ns);
}

static void slices_nest_and_end_with_the_last_kernel(void **state)
{
    struct made_trace made;
    struct module_slices slices = {0};
    uint32_t thread, stream;

    made_trace_init(&made);
    thread = made_thread(&made, "7");
    stream = made_stream(&made, 0, 7);
    made_host_event(&made, thread, EVENT_ANNOTATION,
                    (struct made_event){"ProfilerStep#0", 0, 10000});
    add_module_call(&made, thread, (struct made_event){"nn:Net", 10, 900});
    add_module_call(&made, thread, (struct made_event){"nn:a", 20, 400});
    add_module_call(&made, thread, (struct made_event){"nn:b", 500, 800});
    made_kernel(&made, thread, stream, (struct made_event){"cudaLaunchKernel", 30, 40},
                (struct made_event){"one", 1000, 1100});
    made_kernel(&made, thread, stream, (struct made_event){"cudaLaunchKernel", 50, 60},
                (struct made_event){"two", 1200, 1300});
    made_kernel(&made, thread, stream, (struct made_event){"cudaLaunchKernel", 600, 610},
                (struct made_event){"three", 1500, 1700});
    made_kernel(&made, thread, stream, (struct made_event){"cudaLaunchKernel", 950, 960},
                (struct made_event){"four", 2000, 2100});
    made_trace_finish(&made, WINDOW_CHOICE_AUTO);
    (void)made_section(&made, &module_cost_analysis);
    find_module_slices(&slices, &made.trace, &made.costs);
    assert_int_equal(slices.count, 4);
    assert_slice(&slices.slices[0], "forward", 1000, 2100);
    assert_slice(&slices.slices[1], "Net", 1000, 1700);
    assert_slice(&slices.slices[2], "a", 1000, 1300);
    assert_slice(&slices.slices[3], "b", 1500, 1700);
    assert_int_equal(slices.slices[0].kernels, 4);
    assert_int_equal(slices.slices[1].kernels, 3);
    assert_int_equal(slices.slices[2].kernels, 2);
    module_slices_clear(&slices);
    made_trace_clear(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slices_nest_and_end_with_the_last_kernel),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
