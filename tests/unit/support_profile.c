/* Profiles made by hand, for the tests of comparisons. */
#include "support_profile.h"

#include "ledger/account.h"

#include <stddef.h>

void made_profile(struct run_profile *profile, uint32_t steps)
{
    profile->step_count = steps;
    profile->rank_count = 1;
    profile->world_size = -1;
    profile->parameters = -1;
    profile->file = "made.json";
    profile->window = "steps";
    profile->needs_memory = "needs memory";
    profile->needs_modules = "needs modules";
    profile->needs_mfu = profile->needs_flops = "needs shapes";
    profile->numbers = arena_allocate(&profile->arena, (steps + (size_t)1) * sizeof(int64_t));
    for (uint32_t i = 0; i < steps; i++)
        profile->numbers[i] = i + 1;
}

struct measure *made_measure(struct run_profile *profile, enum measure_kind kind, const char *name,
                             int64_t mean_ns, int64_t spread_ns)
{
    static const int64_t pattern[] = {0, 100, -60, 20, -100, 40}; /* per cent: sums to 0 */
    struct measure *measure = profile_measure(profile, kind, name, "");

    for (uint32_t i = 0; i < profile->step_count; i++)
        measure->values[i] = mean_ns + spread_ns * pattern[i % 6] / 100;
    return measure;
}

static void made_account(struct run_profile *profile, enum account account, int64_t mean_ns,
                         int64_t spread_ns)
{
    made_measure(profile, MEASURE_ACCOUNT, account_descriptions[account].key, mean_ns, spread_ns)
        ->title = account_descriptions[account].title;
}

void made_step(struct run_profile *profile, int64_t matrix_ns, int64_t data_ns, int64_t spread_ns)
{
    made_account(profile, ACCOUNT_MATRIX, matrix_ns, spread_ns);
    made_account(profile, ACCOUNT_IDLE_DATA, data_ns, 0);
    (void)made_measure(profile, MEASURE_STEP, "step_time", matrix_ns + data_ns, spread_ns);
}
