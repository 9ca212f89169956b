/* Settings of plans to begin a test with. */
#ifndef FLOPLEDGER_TESTS_SUPPORT_PLAN_H
#define FLOPLEDGER_TESTS_SUPPORT_PLAN_H

#include "cost/plan/plan.h"

/* Nothing is split. */
static const struct plan_layout one_device = {
    .tensor = 1, .pipeline = 1, .chunks = 1, .context = 1, .expert = 1, .data = 1, .micro = 1};

/* 64 sequences of 4,096 tokens in bf16 on an A100 of 80 GB. Reads tests/models/NAME.json into
 * `model`, which the setting points to; fails the test where that cannot be read. */
struct plan_setting plan_for(struct architecture *model, const char *name);

#endif
