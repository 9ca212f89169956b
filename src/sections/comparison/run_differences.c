/* What each run is, and in what the two differ before anything is measured. */
#include "base/text/format.h"
#include "sections/comparison/comparison_sections.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define RUNS_COLUMNS(COLUMN)                                          \
    COLUMN("what", "what", UNIT_TEXT, 0, BAR_NONE, value_text(title)) \
    COLUMN("a", "A", UNIT_TEXT, 0, BAR_NONE, a)                       \
    COLUMN("b", "B", UNIT_TEXT, 0, BAR_NONE, b)                       \
    COLUMN("key", "key", UNIT_TEXT, PRIORITY_FOR_PROGRAMS, BAR_NONE, value_text(key))

struct runs_table {
    struct results *results;
    struct section *section;
    struct table *table;
};

/* Nothing where neither run tells. */
static void run_differences_add_row(const struct runs_table *runs, const char *title,
                                    const char *key, struct value a, struct value b)
{
    struct value *cells;

    if (a.unit == UNIT_NOT_KNOWN && b.unit == UNIT_NOT_KNOWN)
        return;
    cells = table_add_row(runs->results, runs->table, 0);

    FILL_ROW(cells, RUNS_COLUMNS);
}

static void warn(const struct runs_table *runs, const char *what, const char *evidence,
                 const char *try_this)
{
    section_add_warning(runs->results, runs->section, what, evidence, try_this);
}

static struct value text_or(struct results *results, const char *text, const char *otherwise)
{
    return text ? value_text(results_text(results, text)) : value_not_known(otherwise);
}

static const char *steps_text(struct results *results, const struct run_profile *run)
{
    if (run->is_whole)
        return "one window, no steps";
    if (run->step_count == 1)
        return results_format(results, "1: number %" PRId64, run->numbers[0]);
    return results_format(results, "%" PRIu32 ": %" PRId64 " to %" PRId64, run->step_count,
                          run->numbers[0], run->numbers[run->step_count - 1]);
}

static struct value run_differences_mean_of(const struct run_profile *run, const char *name)
{
    const struct measure *measure = profile_find(run, MEASURE_WORK, name, "");

    if (measure)
        return mean_as_value(measure, measure_mean(run, measure));
    return value_not_known(run->needs_flops && strcmp(name, "model_flops") == 0 ? run->needs_flops
                           : run->parameters >= 0
                               ? "needs calls of the model in training with tensors as inputs"
                               : run->needs_model);
}

static struct value parameters_of(const struct run_profile *run)
{
    return run->parameters >= 0 ? value_count(run->parameters) : value_not_known(run->needs_model);
}

/* What is not known stays as such on its side instead of the row going: a version that only
 * one trace tells may still be the difference. Parameters and torch.compile are left out where
 * neither run has any. */
static void run_differences_add_rows(const struct runs_table *runs, const struct run_profile *a,
                                     const struct run_profile *b)
{
    struct results *results = runs->results;

    run_differences_add_row(runs, "first file", "file", text_or(results, a->file, "a file"),
                            text_or(results, b->file, "a file"));
    run_differences_add_row(
        runs, "device", "device",
        text_or(results, a->is_cpu_only ? "CPU only" : a->device_name, "not in the trace"),
        text_or(results, b->is_cpu_only ? "CPU only" : b->device_name, "not in the trace"));
    run_differences_add_row(runs, "ranks", "ranks", value_count(a->rank_count),
                            value_count(b->rank_count));
    run_differences_add_row(runs, "steps compared", "steps", value_text(steps_text(results, a)),
                            value_text(steps_text(results, b)));
    run_differences_add_row(runs, "steps told by", "window",
                            value_text(results_text(results, a->window)),
                            value_text(results_text(results, b->window)));
    run_differences_add_row(runs, "PyTorch", "torch_version",
                            text_or(results, a->torch_version, "not in the trace"),
                            text_or(results, b->torch_version, "not in the trace"));
    if (a->parameters >= 0 || b->parameters >= 0)
        run_differences_add_row(runs, "parameters", "parameters", parameters_of(a),
                                parameters_of(b));
    /* "no" beside a "yes" is what makes kernels differ by name; twice "no" says nothing. */
    if (a->is_compiled || b->is_compiled)
        run_differences_add_row(runs, "torch.compile", "compiled",
                                value_text(a->is_compiled ? "yes" : "no"),
                                value_text(b->is_compiled ? "yes" : "no"));
    run_differences_add_row(runs, "model FLOPs of a step", "model_flops",
                            run_differences_mean_of(a, "model_flops"),
                            run_differences_mean_of(b, "model_flops"));
    run_differences_add_row(runs, "samples of a step", "samples",
                            run_differences_mean_of(a, "samples"),
                            run_differences_mean_of(b, "samples"));
}

static bool differ(const char *a, const char *b)
{
    return a && b && strcmp(a, b) != 0;
}

/* Two means that are further apart than rounding and chance make them. 1 %: mean FLOPs of equal
 * runs differ by less where lengths of sequences vary. */
static bool means_differ(const struct run_profile *a, const struct run_profile *b, const char *name)
{
    const struct measure *one = profile_find(a, MEASURE_WORK, name, "");
    const struct measure *other = profile_find(b, MEASURE_WORK, name, "");
    double first, second;

    if (!one || !other)
        return false;
    first = measure_mean(a, one);
    second = measure_mean(b, other);
    return fabs(first - second) > 0.01 * fmax(first, second);
}

static uint32_t modules_missing(const struct run_profile *from, const struct run_profile *in)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < from->count; i++)
        count += from->measures[i].kind == MEASURE_MODULE &&
                 !profile_find(in, MEASURE_MODULE, from->measures[i].name, "");
    return count;
}

/* Different numbers of ranks hide different sizes of jobs, so that only one of the two is
 * told. */
static void warn_of_devices(const struct runs_table *runs, const struct run_profile *a,
                            const struct run_profile *b)
{
    struct results *results = runs->results;

    if (a->is_cpu_only != b->is_cpu_only)
        warn(runs, "one run is without device work",
             a->is_cpu_only ? "A ran on the CPU alone" : "B ran on the CPU alone",
             "accounts of a CPU are the threads in operators: compare the step time only");
    else if (differ(a->device_name, b->device_name))
        warn(runs, "the runs are on different devices",
             results_format(results, "A: %s; B: %s", a->device_name, b->device_name),
             "MFU measures each against its own peak; kernels have other names");
    if (a->rank_count != b->rank_count)
        warn(runs, "the runs have different numbers of ranks",
             results_format(results, "A: %" PRIu32 "; B: %" PRIu32, a->rank_count, b->rank_count),
             "all numbers here are per rank: a step of more ranks may do more work");
    else if (a->world_size >= 0 && b->world_size >= 0 && a->world_size != b->world_size)
        warn(runs, "the runs are of jobs of different sizes",
             results_format(results, "A: %" PRId64 " ranks in the job; B: %" PRId64, a->world_size,
                            b->world_size),
             "all numbers here are per rank: a step of more ranks may do more work");
}

/* Each of these makes a correct comparison mislead: a mean of other things, of fewer steps, or
 * with no noise to measure it by. */
static void run_differences_warn_of_steps(const struct runs_table *runs,
                                          const struct run_profile *a, const struct run_profile *b)
{
    struct results *results = runs->results;

    if (differ(a->window, b->window))
        warn(runs, "a step is not the same thing in the two runs",
             results_format(results, "A: %s; B: %s", a->window, b->window),
             "choose one kind with --window, or --step-range");
    if (a->step_count != b->step_count)
        warn(runs, "the runs have different numbers of steps",
             results_format(results, "A: %" PRIu32 "; B: %" PRIu32, a->step_count, b->step_count),
             "means per step are compared; --steps chooses the same ones");
    if (a->step_count < 2 || b->step_count < 2)
        warn(runs, "one step tells nothing of the noise between steps",
             results_format(results, "%s has one step: no change can be called significant",
                            a->step_count < 2 ? (b->step_count < 2 ? "each run" : "run A")
                                              : "run B"),
             "record five steps or more of each run");
    if (a->steps_left_out > 0 || b->steps_left_out > 0)
        warn(runs, "some steps were left out",
             results_format(results, "A: %" PRIu32 "; B: %" PRIu32 ", counted over the ranks",
                            a->steps_left_out, b->steps_left_out),
             "they are cut by the end of the file, or not on all ranks");
}

/* The same number of parameters; where one run does not say, the same work and no other modules. */
static bool is_same_model(const struct run_profile *plain, const struct run_profile *compiled)
{
    if (plain->parameters >= 0 && compiled->parameters >= 0)
        return plain->parameters == compiled->parameters;
    return profile_find(plain, MEASURE_WORK, "model_flops", "") &&
           profile_find(compiled, MEASURE_WORK, "model_flops", "") &&
           !means_differ(plain, compiled, "model_flops") &&
           (plain->needs_modules || modules_missing(compiled, plain) == 0);
}

/* False: the runs do not differ by that, or not by that alone. */
static bool warn_of_compiler(const struct runs_table *runs, const struct run_comparison *comparison)
{
    struct results *results = runs->results;
    const char *which = compiled_run(comparison);
    const struct run_profile *compiled, *plain;
    const char *same;

    if (!which)
        return false;
    compiled = comparison->a->is_compiled ? comparison->a : comparison->b;
    plain = compiled == comparison->a ? comparison->b : comparison->a;
    /* Two models, one of them compiled, differ by more than the compiler. */
    if (!is_same_model(plain, compiled))
        return false;
    same = plain->parameters >= 0 && compiled->parameters >= 0
               ? results_format(results, "both have %s parameters",
                                format_count(plain->parameters).text)
               : "both do the same model FLOPs per step";
    warn(runs, results_format(results, "%s is compiled", which),
         results_format(results, "%s, and only %s runs code that torch.compile made", same, which),
         "matmuls are compared by their sizes; the rest of a compiled region is one "
         "operator, and modules inside of it are not told apart");
    return true;
}

/* The first that applies: parameters are proof, modules nearly so, FLOPs and batches may have
 * other causes. */
static void warn_of_model(const struct runs_table *runs, const struct run_profile *a,
                          const struct run_profile *b)
{
    struct results *results = runs->results;
    bool tell_parameters = a->parameters >= 0 && b->parameters >= 0;
    uint32_t gone = 0, added = 0;

    /* A trace without marks has no modules, and would seem to lack all of the other's. */
    if (!a->needs_modules && !b->needs_modules) {
        gone = modules_missing(a, b);
        added = modules_missing(b, a);
    }
    if (tell_parameters && a->parameters != b->parameters)
        warn(runs, "the runs train different models",
             results_format(results, "parameters of A: %s, of B: %s",
                            format_count(a->parameters).text, format_count(b->parameters).text),
             "differences are of the models, too");
    else if (gone > 0 || added > 0)
        warn(runs, "the runs train different models",
             results_format(results, "modules that only A has: %" PRIu32 ", only B: %" PRIu32, gone,
                            added),
             "differences are of the models, too");
    else if (means_differ(a, b, "model_flops"))
        warn(runs, "a step does not do the same work in the two runs",
             "their model FLOPs per step differ by more than 1 %",
             "differences are of the model or the batch, too: compare MFU, or time per token");
    else if (means_differ(a, b, "samples") || means_differ(a, b, "tokens"))
        warn(runs, "the runs train on different batches",
             "their samples or tokens per step differ by more than 1 %", "compare time per token");
}

/* A compiled run lacks modules by itself, which is no other model: so that is asked first. */
struct section *describe_runs(struct results *results, const struct run_comparison *comparison)
{
    struct runs_table runs = {.results = results};

    runs.section = section_new(results, "runs", "The two runs", NULL);
    runs.table =
        section_add_table(results, runs.section, "facts", "A and B", COLUMNS_OF(RUNS_COLUMNS));
    run_differences_add_rows(&runs, comparison->a, comparison->b);
    warn_of_devices(&runs, comparison->a, comparison->b);
    run_differences_warn_of_steps(&runs, comparison->a, comparison->b);
    if (!warn_of_compiler(&runs, comparison))
        warn_of_model(&runs, comparison->a, comparison->b);
    return runs.section;
}
