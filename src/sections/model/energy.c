/* What energy do the steps take, and each token? */
#include "ledger/step_finder.h"
#include "output/results/metrics.h"
#include "sections/analysis.h"
#include "sections/model/trained_batch.h"

#include <stddef.h>

/* A GPU reads its counter anew some ten times a second: what less time took is not told by it. */
static const int64_t energy_least_ns = 1000000000;

struct energy_names {
    const char *per_step[2]; /* key, title */
    const char *per_token[2];
    const char *tokens[2];
    const char *power[2];
    const char *of;
};

static const struct energy_names energy_of_gpu = {
    {METRIC_NAMES(GPU_ENERGY_PER_STEP)},
    {METRIC_NAMES(GPU_ENERGY_PER_TOKEN)},
    {METRIC_NAMES(TOKENS_PER_GPU_JOULE)},
    {"gpu_watts", "power of the GPU, W"},
    "of the GPU that this rank uses, by NVML's counter",
};
static const struct energy_names energy_of_processors = {
    {METRIC_NAMES(CPU_ENERGY_PER_STEP)},
    {METRIC_NAMES(CPU_ENERGY_PER_TOKEN)},
    {METRIC_NAMES(TOKENS_PER_CPU_JOULE)},
    {"cpu_watts", "power of the processors, W"},
    "of all processors of the machine, whatever ran on them, by RAPL",
};

/* Of the ledger's steps; -1 where one of them does not tell. */
struct drawn_energy {
    int64_t gpu_uj;
    int64_t cpu_uj;
    int64_t time_ns;
    int64_t steps;
    bool is_asked; /* the recorder has looked */
};

/* One step that does not tell makes the sum unknown: a partial sum over all steps would be too
 * low. */
static void energy_add(int64_t *sum, int64_t more)
{
    if (*sum < 0 || more < 0 || __builtin_add_overflow(*sum, more, sum))
        *sum = -1;
}

/* One step without a figure makes the sum unknown (-1 goes through `energy_add`): energy of
 * some steps by the tokens of all would be too low, and nothing would show it. */
static struct drawn_energy energy_drawn(const struct analysis_input *input)
{
    const struct ledger *ledger = input->ledger;
    struct drawn_energy drawn = {.steps = ledger->step_count};

    for (uint32_t i = 0; i < ledger->step_count; i++) {
        const struct described_step *step =
            describe_ledger_step(input->description, ledger, &ledger->steps[i]);

        drawn.is_asked = drawn.is_asked || (step && step->energy.is_asked);
        energy_add(&drawn.gpu_uj, step ? step->energy.gpu_uj : -1);
        energy_add(&drawn.cpu_uj, step ? step->energy.cpu_uj : -1);
        energy_add(&drawn.time_ns, step ? step->energy.time_ns : -1);
    }
    return drawn;
}

static void energy_add_number(struct results *results, struct section *section,
                              const char *const names[2], struct value value, const char *note)
{
    section_add_number(results, section, (struct number){names[0], names[1], value, note});
}

/* Joules over tokens of this rank; processors serve all ranks of the machine, and their note
 * says so. */
static void energy_add_source(struct results *results, struct section *section,
                              const struct analysis_input *input, const struct drawn_energy *drawn,
                              bool is_of_gpu)
{
    const struct energy_names *names = is_of_gpu ? &energy_of_gpu : &energy_of_processors;
    int64_t tokens = trained_batch_of(input).tokens;
    double joules = (double)(is_of_gpu ? drawn->gpu_uj : drawn->cpu_uj) / 1e6;

    energy_add_number(results, section, names->per_step,
                      value_number(joules / (double)drawn->steps), names->of);
    energy_add_number(results, section, names->power,
                      value_number(joules / ((double)drawn->time_ns / 1e9)), "mean of the steps");
    if (tokens < 0)
        energy_add_number(results, section, names->per_token, value_not_known(tokens_need(input)),
                          NULL);
    if (tokens <= 0)
        return;
    energy_add_number(results, section, names->per_token, value_number(joules / (double)tokens),
                      "of this rank's tokens");
    if (joules > 0)
        energy_add_number(results, section, names->tokens, value_number((double)tokens / joules),
                          NULL);
}

/* A look counts what was drawn since the one before, also in steps that are not in the ledger. */
static bool has_other_steps(const struct drawn_energy *drawn, const struct ledger *ledger)
{
    return drawn->time_ns > 2 * (ledger_total_ns(ledger) + ledger->between_steps_ns);
}

/* Counters of energy move some ten times a second: below a second of steps their grain is
 * larger than what is measured. */
static struct section *measure_energy(struct results *results, const struct analysis_input *input)
{
    struct drawn_energy drawn = energy_drawn(input);
    bool is_short = drawn.time_ns < energy_least_ns || has_other_steps(&drawn, input->ledger);
    struct section *section;

    if (!drawn.is_asked)
        return NULL;
    section = section_new(results, "energy", "Energy of the steps",
                          "Drawn from the end of a step to the end of the next, with what "
                          "recording draws itself.");
    if (is_short || (drawn.gpu_uj < 0 && drawn.cpu_uj < 0)) {
        energy_add_number(
            results, section, energy_of_gpu.per_step,
            value_not_known(is_short ? "needs steps of a second together: counters of energy are "
                                       "read anew some ten times a second"
                                     : "needs a GPU that counts its energy (Volta or later), or "
                                       "the right to read /sys/class/powercap"),
            NULL);
        return section;
    }
    if (drawn.gpu_uj >= 0)
        energy_add_source(results, section, input, &drawn, true);
    if (drawn.cpu_uj >= 0)
        energy_add_source(results, section, input, &drawn, false);
    return section;
}

const struct analysis energy_analysis = {
    .name = "energy",
    .summary = "What energy do the steps take, and each token?",
    .run = measure_energy,
};
