#include "support_plan.h"

#include "cost/architectures/read_architecture.h"
#include "cost/devices/find_device_peak.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

struct plan_setting plan_for(struct architecture *model, const char *name)
{
    struct device_match match;
    struct error error = {0};
    char path[128];
    struct plan_setting setting = {.model = model,
                                   .device = find_device_peak("A100-SXM4-80GB", NULL, &match),
                                   .precision = PEAK_BF16,
                                   .sequence = 4096,
                                   .batch = 64,
                                   .splits_sequence = true,
                                   .hides_gradients = true};

    snprintf(path, sizeof path, "tests/models/%s.json", name);
    if (!architecture_read(model, path, &error))
        fail_msg("%s", error.message);
    assert_non_null(setting.device);
    plan_defaults(&setting);
    return setting;
}
