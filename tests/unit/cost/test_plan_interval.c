/* What the interval of a planned step rests on. */
#include "cost/devices/find_device_peak.h"
#include "support_plan.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* What an interval rests on is said; where no run was compared, that is said. */
static void intervals_name_their_runs(void **state)
{
    static const struct {
        const char *device;
        const char *runs;
        double low;
    } cases[] = {
        {"H100 SXM", "eight of ten compared runs lie between", 0.88},
        {"TPU v6e", "eight of ten compared runs of TPUs lie between", 0.75},
        {"MI300X", "eight of ten compared runs lie between, none on such a device", 0.88},
    };
    struct architecture model = {0};
    struct plan_setting setting = plan_for(&model, "llama-3-8b");

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct device_match match;
        struct plan_outcome outcome;

        setting.device = find_device_peak(cases[i].device, NULL, &match);
        outcome = plan_step(&setting, &one_device);
        assert_string_equal(outcome.interval_of, cases[i].runs);
        assert_true(fabs(outcome.low / outcome.step - cases[i].low) < 1e-12);
        setting.calibration = 1.2;
        assert_string_equal(plan_step(&setting, &one_device).interval_of, cases[0].runs);
        setting.calibration = 0.0;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(intervals_name_their_runs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
