/* What the first screens of one rank and of several share. */
#include "output/reports/screen_steps.h"

#include "base/text/format.h"
#include "base/text/owned_text.h"
#include "base/text/prefix.h"
#include "output/reports/screen_text.h"
#include "output/results/device_words.h"
#include "output/results/metrics.h"
#include "output/results/results.h"

#include <stdio.h>
#include <string.h>

const char *screen_file_name(const char *name)
{
    return strcmp(name, "-") == 0 ? "standard input" : name;
}

const char *screen_rank_file(const struct screen_builder *builder)
{
    const char *path = builder->rank->file;

    if (builder->rank->name)
        return screen_file_name(builder->rank->name);
    return *path_name(path) ? screen_file_name(path_name(path)) : path;
}

/* A trace with device work and without the device's name still ran on a GPU. */
const char *screen_device(struct screen_builder *builder)
{
    const struct section *run = find_section(builder->rank, "run");
    struct value name = name_of_reported_device(builder->rank);
    struct value events = find_number(run, "device_events");

    if (name.unit == UNIT_TEXT)
        return name.text;
    return events.unit == UNIT_COUNT && events.integer == 0
               ? NULL
               : device_words(builder->arena, "GPU", builder->rank ? builder->rank->speakers : 0);
}

const char *screen_steps(struct screen_builder *builder, struct value numbers)
{
    bool is_one;

    if (numbers.unit != UNIT_TEXT)
        return "";
    is_one = numbers.text[strspn(numbers.text, "0123456789")] == '\0';
    return screen_format(builder, " %s step%s %s", builder->dot, is_one ? "" : "s", numbers.text);
}

bool screen_has_steps(const struct screen_builder *builder)
{
    return find_number(find_section(builder->rank, "run"), "steps").integer > 0;
}

const char *screen_span(const struct screen_builder *builder)
{
    return screen_has_steps(builder) ? "step" : "window";
}

const struct number *find_whole_number(const struct section *section, const char *key)
{
    for (size_t i = 0; section && i < section->number_count; i++)
        if (strcmp(section->numbers[i].key, key) == 0)
            return &section->numbers[i];
    return NULL;
}

/* The text up to its unit. */
static const char *digits_of(struct screen_builder *builder, const char *text)
{
    return screen_format(builder, "%.*s", (int)strcspn(text, " "), text);
}

static bool is_of_one_unit(const char *a, const char *b)
{
    return strcmp(a + strcspn(a, " "), b + strcspn(b, " ")) == 0;
}

/* "175 ms (164-181)": a range in the same unit needs it once. */
void screen_add_time_range(struct screen_builder *builder, const char *what, struct value mean,
                           struct value low, struct value high)
{
    const char *text = screen_value(builder, &mean);
    const char *from = screen_value(builder, &low);
    const char *to = screen_value(builder, &high);
    const char *range = "";

    if (!text)
        return;
    if (from && to && strcmp(from, to) != 0)
        range = is_of_one_unit(from, text) && is_of_one_unit(to, text)
                    ? screen_format(builder, " (%s-%s)", digits_of(builder, from),
                                    digits_of(builder, to))
                    : screen_format(builder, " (%s to %s)", from, to);
    screen_add_figure_text(builder, screen_format(builder, "%s %s%s", what, text, range));
}

static const char *screen_steps_group_of(const struct screen_group *groups, const char *key)
{
    for (; groups->key; groups++)
        if (strcmp(groups->key, key) == 0)
            return groups->title;
    return NULL;
}

static bool screen_steps_has_parts(const struct table *table, size_t row)
{
    struct value next = find_cell_at(table, row + 1 < table->row_count ? row + 1 : row, "mean");

    return row + 1 < table->row_count && table->depths[row + 1] > table->depths[row] &&
           next.unit == UNIT_TIME_NS;
}

/* Kernels that are no matmuls are one row, whatever they are: their classes are for the section.
 * Up to the row of depth 1 that it lies in. */
static bool is_part_of_other_compute(const struct table *table, size_t row)
{
    while (row > 0 && table->depths[row] > 1)
        row--;
    return strcmp(find_cell_at(table, row, "key").text, "other_compute") == 0;
}

/* Words of the ledger's parts for a line that stands alone. */
static const char *short_title(const char *key, const char *title, bool is_cpu)
{
    static const char *const words[][2] = {
        {"matrix", "matmul, convolution, attention"},
        {"below_peak", "matmul below the peak"},
        {"model", "useful matmul FLOPs"},
        {"recomputed", "recomputed FLOPs"},
        {"waiting", "waiting for stragglers"},
        {"exposed_copy", "exposed"},
        {"copies", "exposed"},
        {"exposed_communication", "exposed"},
        {"communication", "exposed"},
        {"compute", "kernels"},
    };

    if (strcmp(key, "other_compute") == 0)
        return is_cpu ? "other operators" : "other kernels";
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i][0], key) == 0)
            return words[i][1];
    return title;
}

/* Leaves of the ledger, so that nothing counts twice, but one row for all kernels that are no
 * matmuls. */
static bool is_row_of_chart(const struct table *table, size_t row)
{
    struct value mean = find_cell_at(table, row, "mean");
    struct value key = find_cell_at(table, row, "key");

    if (mean.unit != UNIT_TIME_NS || key.unit != UNIT_TEXT)
        return false;
    if (strcmp(key.text, "other_compute") == 0)
        return true;
    return !screen_steps_has_parts(table, row) && !is_part_of_other_compute(table, row);
}

/* Rows of the ledger stand below the line of their group, so that the group is the last one
 * seen. */
void screen_fill_ledger(struct screen_builder *builder, const struct screen_ledger *ledger)
{
    const struct table *table = ledger->table;
    struct screen_amount *amounts =
        arena_allocate(builder->arena, (table->row_count + 1) * sizeof *amounts);
    struct value whole = find_cell_at(table, 0, ledger->amounts);
    const char *group = "";
    size_t count = 0;

    /* Row 0 is the step itself, the whole of the chart. */
    for (size_t row = 1; row < table->row_count; row++) {
        struct value key = find_cell_at(table, row, "key");
        struct value remark =
            ledger->remarks ? find_cell_at(table, row, ledger->remarks) : value_none();
        const char *own =
            key.unit == UNIT_TEXT ? screen_steps_group_of(ledger->groups, key.text) : NULL;

        group = own ? own : group;
        if (!is_row_of_chart(table, row))
            continue;
        amounts[count++] = (struct screen_amount){
            .group = group,
            .title = short_title(key.text, find_cell_at(table, row, "account").text,
                                 screen_device(builder) == NULL),
            .remark = remark.unit == UNIT_TEXT ? remark.text : NULL,
            .key = key.text,
            .amount = find_cell_at(table, row, ledger->amounts).integer,
        };
    }
    if (whole.unit == UNIT_TIME_NS)
        screen_fill_chart(builder, &(struct screen_amounts){.list = amounts,
                                                            .count = count,
                                                            .whole = whole.integer,
                                                            .unit = UNIT_TIME_NS,
                                                            .adds_up = true});
}

void screen_tell_trigger(struct screen_builder *builder)
{
    struct value why = find_number(find_section(builder->rank, "run"), "recorded_for");

    if (why.unit == UNIT_TEXT)
        screen_add_answer(builder, screen_format(builder, "Recorded because %s.", why.text));
}

/* A replay that is uncertain gives a range, and the range is printed instead of its middle. */
void screen_answer_what_if(struct screen_builder *builder, const struct table *changes)
{
    for (size_t row = 0; changes && row < changes->row_count; row++) {
        struct value change = find_cell_at(changes, row, "change");
        struct value time = find_cell_at(changes, row, "step_time");
        struct value least = find_cell_at(changes, row, "least_speedup");
        struct value most = find_cell_at(changes, row, "most_speedup");
        struct value speedup = find_cell_at(changes, row, "speedup");
        const char *times = "";

        if (change.unit != UNIT_TEXT || time.unit != UNIT_TIME_NS)
            continue;
        if (least.unit == UNIT_NUMBER && most.unit == UNIT_NUMBER && most.real > least.real)
            times = screen_format(builder, ", %.2f-%.2fx as fast", least.real, most.real);
        else if (speedup.unit == UNIT_NUMBER)
            times = screen_format(builder, ", %.2fx as fast", speedup.real);
        screen_add_answer(builder, screen_format(builder, "What if %s: %s a step%s.", change.text,
                                                 screen_value(builder, &time), times));
    }
}

/* What comes first, else the finding with the highest cost that a rule has put a price on. As
 * run_analyses chooses for the headline: both must name the same. */
static const struct finding *costliest(const struct rank_results *rank)
{
    const struct finding *best = NULL;

    for (size_t i = 0; rank && i < rank->section_count; i++) {
        const struct section *section = rank->sections[i];

        for (size_t j = 0; j < section->finding_count; j++) {
            const struct finding *finding = &section->findings[j];

            if (finding->estimate && finding->estimate->comes_first)
                return finding;
            if (finding->estimate && finding->cost_ns > (best ? best->cost_ns : 0))
                best = finding;
        }
    }
    return best;
}

/* Some verdicts are in other words on a CPU: there is no device that waits for a host. NULL
 * for an account that is no verdict at all. */
static const char *words_of(const char *id, bool is_cpu)
{
    static const struct {
        const char *id;
        const char *of_device;
        const char *of_cpu;
    } verdicts[] = {
#define VERDICT(name, of_device, of_cpu) {#name, of_device, of_cpu},
#include "output/reports/screen_verdict_list.def"
#undef VERDICT
    };

    for (size_t i = 0; i < sizeof verdicts / sizeof *verdicts; i++)
        if (strcmp(verdicts[i].id, id) == 0)
            return is_cpu ? verdicts[i].of_cpu : verdicts[i].of_device;
    return NULL;
}

/* How much of the matmul time has no FLOPs or no peak, from 0 to 1. */
static double screen_uncosted_share(const struct screen_builder *builder)
{
    const struct table *ledger = find_table(find_section(builder->rank, "step_ledger"), "ledger");
    struct value matrix, uncosted;

    if (!ledger)
        return 0;
    matrix = find_cell(ledger, "key", "matrix", "share");
    uncosted = find_cell(ledger, "key", "unpriced_matrix", "share");
    if (matrix.unit != UNIT_FRACTION || uncosted.unit != UNIT_FRACTION || matrix.real <= 0)
        return 0;
    return uncosted.real / matrix.real;
}

/* Of matmul time, or of what is not known to be any. One percent of matmul time without FLOPs is
 * more than rounding. */
static bool is_mfu_at_least(const struct screen_builder *builder)
{
    const struct section *section = find_section(builder->rank, "model_flops_utilization");
    const struct number *mfu = find_whole_number(section, "mfu");

    return screen_uncosted_share(builder) > 0.01 ||
           (mfu && mfu->note && has_prefix(mfu->note, "at least: ops"));
}

const char *screen_mfu_title(const struct screen_builder *builder)
{
    return is_mfu_at_least(builder) ? "MFU at least " : "MFU ";
}

/* Beside an MFU its rule decides, so that both or neither of two figures of the same FLOPs have the
 * word. Without an MFU (no peak is known) the rate's own note says whether matmul time lacks FLOPs,
 * as of convolutions whose strides a trace of an older torch does not hold. */
void screen_add_flops(struct screen_builder *builder, const char *after)
{
    struct value rate = metric_number(builder->rank, METRIC_MODEL_FLOPS_PER_SECOND);
    struct value mfu = metric_number(builder->rank, METRIC_MFU);
    const struct number *number = find_whole_number(
        find_section(builder->rank, "model_flops_utilization"), METRIC_KEY(MODEL_FLOPS_PER_SECOND));
    bool is_least = value_is_number(&mfu)
                        ? is_mfu_at_least(builder)
                        : number && number->note && has_prefix(number->note, "at least");

    screen_add_figure(builder, is_least ? "at least " : "", rate, after);
}

/* Kinds below this share of the matmul time are not named. */
static const double least_kind = 0.05;

/* "matmuls and convolutions": what the matmul time is, where the ledger has it by kind. `share`:
 * of matmul time of any kind; becomes that of the kinds that are named. */
static const char *matmul_words(struct screen_builder *builder, const struct table *ledger,
                                double *share)
{
    static const char *const kinds[][2] = {
        {"matmul", "matmuls"}, {"convolution", "convolutions"}, {"attention", "attention"}};
    const char *words = NULL;
    double named = 0;

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct value kind = find_cell(ledger, "key", kinds[i][0], "share");

        if (kind.unit != UNIT_FRACTION || kind.real < least_kind * *share)
            continue;
        named += kind.real;
        words = words ? screen_format(builder, "%s and %s", words, kinds[i][1]) : kinds[i][1];
    }
    *share = words ? named : *share;
    return words ? words : "matmuls";
}

/* "Matmuls take 79.8 % of the step; useful FLOPs reach 31.0 % of the peak." What takes most is said
 * first, so that nobody tunes what hardly counts. What takes most time is said first. If more
 * than half of the matmul time has no FLOPs, MFU says little about it and is left out. */
static const char *verdict_of_matmuls(struct screen_builder *builder, const struct table *ledger)
{
    struct value share = find_cell(ledger, "key", "matrix", "share");
    struct value other = find_cell(ledger, "key", "other_compute", "share");
    struct value unclassified = find_cell(ledger, "key", "other", "share");
    struct value mfu = metric_number(builder->rank, METRIC_MFU);
    const char *span = screen_span(builder);
    const char *words;
    double of_matmuls = share.unit == UNIT_FRACTION ? share.real : 0;

    if (other.unit == UNIT_FRACTION && other.real > of_matmuls &&
        unclassified.unit == UNIT_FRACTION && 2 * unclassified.real >= other.real)
        return screen_format(builder,
                             "Kernels whose names do not tell their work take %s of the %s.",
                             format_fraction(unclassified.real).text, span);
    if (other.unit == UNIT_FRACTION && other.real > of_matmuls)
        return screen_format(builder, "%s other than matmuls take %s of the %s%s.",
                             screen_device(builder) ? "Kernels" : "Operators",
                             format_fraction(other.real).text, span,
                             of_matmuls > 0 ? screen_format(builder, ", matmuls %s",
                                                            format_fraction(of_matmuls).text)
                                            : "");
    /* No matmul and nothing else that stands out: there is no sentence to say. */
    if (of_matmuls <= 0)
        return NULL;
    words = matmul_words(builder, ledger, &of_matmuls);
    return screen_capitalized(
        builder, screen_format(builder, "%s take %s of the %s%s.", words,
                               format_fraction(of_matmuls).text, span,
                               value_is_number(&mfu) && screen_uncosted_share(builder) <= 0.5
                                   ? screen_format(builder, "; useful FLOPs reach %s%s of the peak",
                                                   is_mfu_at_least(builder) ? "at least " : "",
                                                   format_fraction(mfu.real).text)
                                   : ""));
}

/* A smaller share of the steps is no headline of its own. */
static const double small_loss = 0.05;

/* Below 5 % the largest loss is no headline: a step that is mostly useful work should be told
 * by what it works on. */
const char *screen_verdict_of_steps(struct screen_builder *builder)
{
    const struct table *ledger = find_table(find_section(builder->rank, "step_ledger"), "ledger");
    const struct finding *finding = costliest(builder->rank);
    const char *words, *amount, *work;

    if (!ledger || !builder->rank->headline || builder->rank->is_largest_loss_unknown)
        return NULL;
    if (!finding)
        return verdict_of_matmuls(builder, ledger);
    if (finding->estimate->comes_first) /* without it, all else misleads: the headline says it */
        return NULL;
    work = finding->estimate->share < small_loss ? verdict_of_matmuls(builder, ledger) : NULL;
    if (work) /* what is lost is little: what the time goes into is said first */
        return screen_format(builder, "%.*s; the largest loss is %s (%s).", (int)strlen(work) - 1,
                             work, finding->what, format_fraction(finding->estimate->share).text);
    words = finding->estimate->has_own_title
                ? NULL
                : words_of(finding->estimate->id, screen_device(builder) == NULL);
    amount = screen_share_of(builder, finding->estimate->share, finding->cost_ns,
                             finding->estimate->span);
    if (strcmp(finding->estimate->id, "unrecorded_work") == 0)
        return screen_format(builder, "The recording does not show what happens in %s: %s.", amount,
                             finding->what);
    if (!words)
        return screen_format(builder, "The largest loss is %s: %s.", finding->what, amount);
    return screen_format(builder, "%s %s.", words, amount);
}
