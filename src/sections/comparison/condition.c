/* Conditions, as 'step_time>+3%': read, and decided: met, not met, or not to be told. */
#include "sections/comparison/condition.h"

#include "base/core/invariant.h"
#include "base/text/format.h"
#include "base/text/prefix.h"

#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char units_accepted[] =
    "%, points (of a share), ns, µs (or us), ms, s, B, KiB, MiB, GiB, TiB, kB, MB, GB, TB or "
    "nothing";

/* What stands behind a number. */
static const struct {
    const char *name;
    enum unit unit;
    double factor;
} units[] = {
    {"", UNIT_COUNT, 1},         {"%", UNIT_FRACTION, 0.01},  {"points", UNIT_FRACTION, 0.01},
    {"ns", UNIT_TIME_NS, 1},     {"us", UNIT_TIME_NS, 1e3},   {"µs", UNIT_TIME_NS, 1e3},
    {"ms", UNIT_TIME_NS, 1e6},   {"s", UNIT_TIME_NS, 1e9},    {"B", UNIT_BYTES, 1},
    {"KiB", UNIT_BYTES, 0x1p10}, {"MiB", UNIT_BYTES, 0x1p20}, {"GiB", UNIT_BYTES, 0x1p30},
    {"TiB", UNIT_BYTES, 0x1p40}, {"kB", UNIT_BYTES, 1e3},     {"MB", UNIT_BYTES, 1e6},
    {"GB", UNIT_BYTES, 1e9},     {"TB", UNIT_BYTES, 1e12},
};
enum { UNIT_NAME_COUNT = sizeof units / sizeof *units };

/* The last '<' or '>': names of kernels hold them, too. */
static const char *find_comparison(const char *text)
{
    const char *last = NULL;

    for (; *text; text++)
        if (*text == '<' || *text == '>')
            last = text;
    return last;
}

static bool fail_at(const struct condition *condition, const char *place, const char *expected,
                    struct error *error)
{
    return error_set(error, ERROR_USAGE, "--fail-if '%s': at character %d, '%s': expected %s",
                     condition->text, (int)(place - condition->text) + 1, place, expected);
}

/* A sign makes it a change, % of itself a relative one: "-3%" of a share is of itself,
 * "-3points" of the whole. */
static bool parse_unit(struct condition *condition, const char *name, bool has_sign,
                       struct error *error)
{
    for (int i = 0; i < UNIT_NAME_COUNT; i++) {
        if (strcmp(units[i].name, name) != 0)
            continue;
        condition->unit = units[i].unit;
        condition->limit *= units[i].factor;
        condition->kind = !has_sign                         ? LIMIT_VALUE
                          : strcmp(units[i].name, "%") == 0 ? LIMIT_RELATIVE
                                                            : LIMIT_CHANGE;
        return true;
    }
    return fail_at(condition, name, units_accepted, error);
}

/* "+3%", "-2points", "200ms" A sign against the comparison could be met by no change anyone
 * means: "mfu>-3%". */
static bool parse_limit(struct condition *condition, const char *text, struct error *error)
{
    bool has_sign = *text == '+' || *text == '-';
    const char *digits = text + has_sign;
    char *end;

    if (!((*digits >= '0' && *digits <= '9') || *digits == '.'))
        return fail_at(condition, text, "a number: +3%, -2points, +5ms, or 200ms for B's value",
                       error);
    condition->limit = strtod(text, &end);
    if (!isfinite(condition->limit))
        return fail_at(condition, text, "a finite number", error);
    while (*end == ' ')
        end++;
    if (has_sign && (*text == '+') != condition->is_above)
        return fail_at(condition, text,
                       condition->is_above ? "a rise behind '>': +3%" : "a fall behind '<': -3%",
                       error);
    return parse_unit(condition, end, has_sign, error);
}

/* The comparison is looked for first and the name is what lies before it: names of kernels may
 * hold nearly any character. Spaces around it are the shell's or the user's habit and mean
 * nothing. */
bool condition_parse(struct condition *condition, const char *text, struct error *error)
{
    const char *comparison = find_comparison(text);
    size_t length;

    *condition = (struct condition){.text = text};
    if (!comparison)
        return fail_at(condition, text + strlen(text),
                       "'>' or '<' and a limit behind the name: step_time>+3%", error);
    length = (size_t)(comparison - text);
    while (length > 0 && text[length - 1] == ' ')
        length--;
    if (length == 0)
        return fail_at(condition, text, "a name: step_time, idle_data, mfu, memory, kernel:NAME",
                       error);
    /* Refused and not cut: a shorter name could be another kernel's. */
    if (length >= sizeof condition->subject)
        return fail_at(condition, text, "a name of at most 255 bytes; 'kernel:' takes patterns (*)",
                       error);
    memcpy(condition->subject, text, length);
    condition->subject[length] = '\0';
    condition->is_above = *comparison == '>';
    comparison++;
    while (*comparison == ' ')
        comparison++;
    return parse_limit(condition, comparison, error);
}

/* Names of many rows: "kernel:*gemm*". */
static const struct {
    const char *prefix;
    enum measure_kind kind;
} prefixes[] = {
    {"kernel:", MEASURE_KERNEL},     {"kernels_of:", MEASURE_CLASS},
    {"operator:", MEASURE_OPERATOR}, {"host_operator:", MEASURE_HOST_OPERATOR},
    {"module:", MEASURE_MODULE},     {"memory:", MEASURE_MEMORY},
};
enum { PREFIX_COUNT = sizeof prefixes / sizeof *prefixes };

/* Kinds whose rows have a name of their own. */
static const enum measure_kind plain_kinds[] = {MEASURE_STEP, MEASURE_ACCOUNT, MEASURE_GROUP,
                                                MEASURE_WORK};
enum { PLAIN_COUNT = sizeof plain_kinds / sizeof *plain_kinds };

/* What a condition is about: rows of one kind. */
struct subject {
    enum measure_kind kind;
    const char *pattern;
    bool is_exact;
};

/* The sum of the rows, step by step, in both runs. */
struct subject_values {
    double *a; /* [a's steps] */
    double *b;
    double mean_a;
    double mean_b;
    enum unit unit;
};

static void subject_values_clear(struct subject_values *values)
{
    free(values->a);
    free(values->b);
}

static bool condition_decide_fits(const struct subject *subject, const struct measure *measure)
{
    return measure->kind == subject->kind &&
           (strcmp(measure->name, subject->pattern) == 0 ||
            (!subject->is_exact && fnmatch(subject->pattern, measure->name, 0) == 0));
}

static bool run_has(const struct run_profile *run, const struct subject *subject)
{
    for (uint32_t i = 0; i < run->count; i++)
        if (condition_decide_fits(subject, &run->measures[i]))
            return true;
    return false;
}

/* Prefixed names are patterns over many rows; plain ones must be there in one of the runs, and
 * are looked for in the order of kinds. */
static bool find_subject(struct subject *subject, const char *name,
                         const struct run_comparison *comparison)
{
    if (strcmp(name, "memory") == 0) {
        *subject = (struct subject){MEASURE_MEMORY, "peak", true};
        return true;
    }
    for (int i = 0; i < PREFIX_COUNT; i++) {
        if (has_prefix(name, prefixes[i].prefix)) {
            *subject = (struct subject){prefixes[i].kind, name + strlen(prefixes[i].prefix), false};
            return true;
        }
    }
    for (int i = 0; i < PLAIN_COUNT; i++) {
        *subject = (struct subject){plain_kinds[i], name, true};
        if (run_has(comparison->a, subject) || run_has(comparison->b, subject))
            return true;
    }
    return false;
}

/* ---- what is not known ---- */

static const struct {
    const char *name;
    enum { NEEDS_MFU, NEEDS_FLOPS, NEEDS_SIDE_FILE, NEEDS_DEVICE } needs;
} work_names[] = {
    {"mfu", NEEDS_MFU},
    {"hfu", NEEDS_MFU},
    {"below_peak", NEEDS_MFU},
    {"model_flops", NEEDS_FLOPS},
    {"executed_flops", NEEDS_FLOPS},
    {"recomputed_flops", NEEDS_FLOPS},
    {"samples", NEEDS_SIDE_FILE},
    {"tokens", NEEDS_SIDE_FILE},
    {"kernels", NEEDS_DEVICE},
    {"launches", NEEDS_DEVICE},
    {"copied_bytes", NEEDS_DEVICE},
    {"communication_in_all", NEEDS_DEVICE},
    {"hidden_communication", NEEDS_DEVICE},
    {"copies_in_all", NEEDS_DEVICE},
    {"tail", NEEDS_DEVICE},
};

/* Why a condition could not be decided is told by what the run's file lacks. */
static const char *needs_of_work(const struct run_profile *run, const char *name)
{
    for (size_t i = 0; i < sizeof work_names / sizeof *work_names; i++) {
        if (strcmp(work_names[i].name, name) != 0)
            continue;
        switch (work_names[i].needs) {
        case NEEDS_MFU:
            return run->needs_mfu ? run->needs_mfu : "needs matmul time";
        case NEEDS_FLOPS:
            return run->needs_flops ? run->needs_flops : "needs matmul time";
        case NEEDS_SIDE_FILE:
            return run->needs_batch;
        case NEEDS_DEVICE:
            return "needs work of a device";
        }
    }
    return NULL;
}

/* NULL where the run tells. */
static const char *needs_of(const struct run_profile *run, const struct subject *subject)
{
    if (subject->kind == MEASURE_MEMORY)
        return run->needs_memory;
    if (subject->kind == MEASURE_MODULE)
        return run->needs_modules;
    if (subject->kind == MEASURE_WORK && !run_has(run, subject))
        return needs_of_work(run, subject->pattern);
    return NULL;
}

/* ---- names ---- */

/* A name that is in neither run is an error of usage, never a condition that is met: a gate
 * that watches a misspelled name would pass for ever. */
static bool no_such_name(const struct condition *condition, struct error *error)
{
    return error_set(
        error, ERROR_USAGE,
        "--fail-if '%s': at character 1: no '%s' in these runs; names: step_time; the accounts of "
        "the ledger (idle_data, exposed_communication, other_compute, ...), together idle, "
        "compute, communication or copies; mfu, hfu, device_busy, model_flops, executed_flops, "
        "launches, kernels, operators, copied_bytes, samples, tokens; memory or memory:KIND; "
        "kernel:NAME, kernels_of:CLASS, operator:NAME, host_operator:NAME, module:NAME (with * "
        "for any letters); 'flopledger compare --json' has each as a row's key",
        condition->text, condition->subject);
}

/* ---- values ---- */

/* Adds the rows of one run. Summed step by step, so that the noise is that of the sum. */
static void condition_decide_sum_rows(double *to, double *mean, enum unit *unit,
                                      const struct run_profile *run, const struct subject *subject)
{
    for (uint32_t i = 0; i < run->count; i++) {
        const struct measure *measure = &run->measures[i];

        if (!condition_decide_fits(subject, measure))
            continue;
        *unit = measure->unit;
        *mean += measure_mean(run, measure);
        for (uint32_t step = 0; step < run->step_count; step++)
            to[step] += measure_at(run, measure, step);
    }
}

static void read_values(struct subject_values *values, const struct run_comparison *comparison,
                        const struct subject *subject)
{
    const struct run_profile *a = comparison->a, *b = comparison->b;

    values->a = require_memory(calloc(a->step_count + (size_t)1, sizeof *values->a));
    values->b = require_memory(calloc(b->step_count + (size_t)1, sizeof *values->b));
    condition_decide_sum_rows(values->a, &values->mean_a, &values->unit, a, subject);
    condition_decide_sum_rows(values->b, &values->mean_b, &values->unit, b, subject);
}

/* A relative limit fits every unit, as it is a share of A's own value. Counts and FLOPs are
 * the only units for which a bare number may stand. */
static bool check_unit(const struct condition *condition, const struct subject_values *values,
                       struct error *error)
{
    bool is_plain = values->unit == UNIT_COUNT || values->unit == UNIT_FLOPS;

    if (condition->kind == LIMIT_RELATIVE || condition->unit == values->unit ||
        (condition->unit == UNIT_COUNT && is_plain))
        return true;
    return error_set(error, ERROR_USAGE, "--fail-if '%s': %s is %s", condition->text,
                     condition->subject,
                     values->unit == UNIT_TIME_NS    ? "a time: ns, µs, ms or s, or +3%"
                     : values->unit == UNIT_BYTES    ? "bytes: MiB, GB, ..., or +3%"
                     : values->unit == UNIT_FRACTION ? "a share: 40%, -2points, or -3% of itself"
                                                     : "a number without a unit, or +3%");
}

/* From 0 any change is infinite in relation: it exceeds each limit, in its direction. */
static double observed(const struct condition *condition, const struct subject_values *values)
{
    double change = values->mean_b - values->mean_a;

    switch (condition->kind) {
    case LIMIT_RELATIVE:
        return change == 0           ? 0
               : values->mean_a == 0 ? copysign(INFINITY, change)
                                     : change / fabs(values->mean_a);
    case LIMIT_CHANGE:
        return change;
    case LIMIT_VALUE:
        break;
    }
    return values->mean_b;
}

/* ---- words ---- */

/* In the words of reports, so that what a gate prints can be found again there. Units that no
 * condition can have (rates, texts) fall through to the plain number. */
static const char *value_in_words(struct results *results, enum unit unit, double value)
{
    struct short_text text;

    switch (unit) {
    case UNIT_TIME_NS:
        text = format_time(llround(value));
        break;
    case UNIT_BYTES:
        text = format_bytes(llround(value));
        break;
    case UNIT_FRACTION:
        text = format_fraction(value);
        break;
    case UNIT_FLOPS:
        text = format_flops(value);
        break;
    case UNIT_NONE:
    case UNIT_TEXT:
    case UNIT_COUNT:
    case UNIT_NUMBER:
    case UNIT_BYTES_PER_SECOND:
    case UNIT_FLOPS_PER_SECOND:
    case UNIT_NOT_KNOWN:
    default:
        text = format_number(value);
    }
    return results_text(results, text.text);
}

/* Of nothing there is no percentage, so that a change from zero is told by its two ends. */
static const char *movement_in_words(struct results *results, const struct condition *condition,
                                     const struct subject_values *values)
{
    double change = values->mean_b - values->mean_a;
    const char *a = value_in_words(results, values->unit, values->mean_a);
    const char *b = value_in_words(results, values->unit, values->mean_b);

    if (values->mean_a == 0)
        return results_format(results, "%s: %s in A, %s in B", condition->subject, a, b);
    return results_format(results, "%s: %s in A, %s in B (%+.2f %%)", condition->subject, a, b,
                          100 * change / fabs(values->mean_a));
}

/* A limit on B's value needs no noise: it is met or not. A limit on a change is met only where
 * it is more than noise, so that CI does not fail at random; what exceeds but is not sure is
 * undecided. 0.05 is the level of all verdicts of the comparison. */
static struct condition_outcome condition_decide_check(const struct condition *condition,
                                                       const struct run_comparison *comparison,
                                                       const struct subject_values *values,
                                                       struct results *results)
{
    double found = observed(condition, values);
    bool exceeds = condition->is_above ? found > condition->limit : found < condition->limit;
    const char *words = movement_in_words(results, condition, values);
    struct noise_verdict noise;

    if (!exceeds)
        return (struct condition_outcome){CONDITION_NOT_MET, words};
    if (condition->kind == LIMIT_VALUE)
        return (struct condition_outcome){CONDITION_MET, words};
    noise =
        compare_values(values->a, comparison->a->step_count, values->b, comparison->b->step_count);
    if (!noise.is_known)
        return (struct condition_outcome){
            CONDITION_UNDECIDED,
            results_format(results, "%s, but with one step in a run its noise is not known",
                           words)};
    if (noise.chance > 0.05)
        return (struct condition_outcome){
            CONDITION_UNDECIDED,
            results_format(results, "%s, but steps of equal runs differ as much in %s of cases",
                           words, format_fraction(noise.chance).text)};
    return (struct condition_outcome){CONDITION_MET, words};
}

/* What is not known is undecided and says what would tell, and comes before an unknown name: a
 * run without FLOPs has no row "mfu", and the name is right all the same. */
bool condition_decide(const struct condition *condition, const struct run_comparison *comparison,
                      struct results *results, struct condition_outcome *outcome,
                      struct error *error)
{
    struct subject subject = {
        .kind = MEASURE_WORK, .pattern = condition->subject, .is_exact = true};
    bool is_found = find_subject(&subject, condition->subject, comparison);
    const char *needs_a = needs_of(comparison->a, &subject);
    const char *needs_b = needs_of(comparison->b, &subject);
    struct subject_values values = {.unit = UNIT_NONE};
    bool is_decided;

    if (needs_a || needs_b) {
        outcome->state = CONDITION_UNDECIDED;
        outcome->said = results_format(results, "%s is not known of %s: %s", condition->subject,
                                       !needs_a  ? "B"
                                       : needs_b ? "both runs"
                                                 : "A",
                                       needs_a ? needs_a : needs_b);
        return true;
    }
    /* In one run alone is enough: what is new or gone has a change, from or to nothing. */
    if (!is_found || (!run_has(comparison->a, &subject) && !run_has(comparison->b, &subject)))
        return no_such_name(condition, error);
    read_values(&values, comparison, &subject);
    is_decided = check_unit(condition, &values, error);
    if (is_decided)
        *outcome = condition_decide_check(condition, comparison, &values, results);
    subject_values_clear(&values);
    return is_decided;
}
