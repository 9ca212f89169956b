/* A forward that is repeated in the backward, where no device runs. */
#include "support_advice.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* Without a device: operators of 300 µs, one of 100 µs within, and Python of 50 µs that is none. */
static void operators_that_repeat_the_forward_are_recomputation(void **state)
{
    for (int is_repeated = 0; is_repeated < 2; is_repeated++) {
        const struct finding *finding;
        struct scene scene;

        scene_begin(&scene, STEPS);
        for (int64_t at = 0; at < STEPS * STEP_NS; at += STEP_NS) {
            struct made_event node = {"autograd::engine::evaluate_function: CheckpointBackward",
                                      at + 100 * US, at + 450 * US};

            made_host_event(&scene.made, scene.thread, EVENT_OPERATOR,
                            (struct made_event){"aten::relu", at, at + 90 * US});
            if (is_repeated)
                made_host_event(&scene.made, scene.thread, EVENT_OPERATOR, node);
            made_host_event(&scene.made, scene.thread, EVENT_ANNOTATION,
                            (struct made_event){"nn:layer", at + 120 * US, at + 450 * US});
            made_host_event(&scene.made, scene.thread, EVENT_OPERATOR,
                            (struct made_event){"aten::linear", at + 150 * US, at + 450 * US});
            made_host_event(&scene.made, scene.thread, EVENT_OPERATOR,
                            (struct made_event){"aten::mm", at + 200 * US, at + 300 * US});
        }
        finding = find_advice(scene_advice(&scene), "recomputation");
        assert_true((finding != NULL) == is_repeated);
        if (finding) {
            assert_int_equal(finding->cost_ns, 300 * US);
            assert_non_null(strstr(finding->evidence, "1 operators a step repeat the forward"));
        }
        made_trace_clear(&scene.made);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operators_that_repeat_the_forward_are_recomputation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
