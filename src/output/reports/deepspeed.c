/* The report as the Flops Profiler of DeepSpeed prints it, line by line, for programs that read
 * that. */
#include "output/reports/deepspeed.h"

#include "base/core/invariant.h"
#include "base/text/display_text.h"
#include "output/reports/report.h"
#include "output/results/results.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct magnitude {
    double factor;
    const char *prefix;
};

/* Its own steps: down to "m" for thousandths, all smaller in "u". 0 has no prefix. */
static struct magnitude magnitude_of(double number)
{
    static const struct magnitude magnitudes[] = {{1e12, "T"}, {1e9, "G"}, {1e6, "M"},
                                                  {1e3, "K"},  {1, ""},    {1e-3, "m"}};

    if (number == 0)
        return (struct magnitude){1, ""};
    for (size_t i = 0; i < sizeof magnitudes / sizeof magnitudes[0]; i++)
        if (number >= magnitudes[i].factor)
            return magnitudes[i];
    return (struct magnitude){1e-6, "u"};
}

/* As Python's round(x, 2): the decimal nearest to the exact binary number. */
static double rounded(double number)
{
    char text[64];

    (void)snprintf(text, sizeof text, "%.2f", number);
    return strtod(text, NULL);
}

struct short_text deepspeed_number(double number, const char *suffix)
{
    struct short_text text;
    struct magnitude magnitude = magnitude_of(number);

    (void)snprintf(text.text, sizeof text.text, "%g %s%s", rounded(number / magnitude.factor),
                   magnitude.prefix, suffix);
    return text;
}

/* Parameters are counted in billions ("B"), everything else in "G"; a space without a prefix
 * behind it is cut off, as there. */
struct short_text deepspeed_parameters(double number)
{
    struct short_text text = deepspeed_number(number, "");
    char *giga = strchr(text.text, 'G');
    size_t length;

    if (giga)
        *giga = 'B';
    length = strlen(text.text);
    while (length > 0 && text.text[length - 1] == ' ')
        text.text[--length] = '\0';
    return text;
}

/* As str(round(x, 2)) in Python writes it: one zero at the end is dropped, the other stays
 * ("1.0"). */
struct short_text deepspeed_rounded(double number)
{
    struct short_text text;
    size_t length;

    (void)snprintf(text.text, sizeof text.text, "%.2f", number);
    length = strlen(text.text);
    if (length > 1 && text.text[length - 1] == '0')
        text.text[length - 1] = '\0';
    return text;
}

struct short_text deepspeed_per_cent(double part, double whole)
{
    struct short_text text;

    (void)snprintf(text.text, sizeof text.text, "%g%%",
                   whole > 0 ? rounded(100 * part / whole) : 0.0);
    return text;
}

/* The report as DeepSpeed's Flops Profiler prints it, line by line, for programs that read that.
 *
 * What differs: the deepest level is in the aggregated profile too, the parameters of the model are
 * counted without an engine, and the backward is what was measured, not a multiple of the forward.
 */

/* ---- rows ------------------------------------------------------------------------------------ */

/* The modules of a profile, taken from the table `modules` of the section `module_cost`. */

/* All per step; a parameter count of -1 is not known. */
struct deepspeed_row {
    int depth;
    const char *name; /* the last part of its name */
    const char *class_name;
    const char *extra_repr;
    double parameters;
    const char *needs; /* what would tell the parameters; NULL: they are known */
    double macs;
    double flops; /* with elementwise ops and the like, as there */
    double seconds;
};

struct deepspeed_rows {
    struct deepspeed_row *rows; /* [count], parents before children; free() */
    size_t count;
};

/* NULL where the results have no such section; the first rank's, or the one chosen. */
static const struct section *deepspeed_section(const struct results *results)
{
    for (size_t i = 0; i < results->rank_count; i++) {
        const struct rank_results *rank = &results->ranks[i];

        if (results->detailed_rank != ALL_RANKS && results->detailed_rank < results->rank_count &&
            i != results->detailed_rank)
            continue;
        for (size_t k = 0; k < rank->section_count; k++)
            if (strcmp(rank->sections[k]->key, "module_cost") == 0)
                return rank->sections[k];
    }
    return NULL;
}

/* The number of that key; NULL where there is none, or it is not known. */
static const struct value *deepspeed_value(const struct section *section, const char *key)
{
    for (size_t i = 0; i < section->number_count; i++)
        if (strcmp(section->numbers[i].key, key) == 0)
            return section->numbers[i].value.unit == UNIT_NOT_KNOWN ? NULL
                                                                    : &section->numbers[i].value;
    return NULL;
}

static double deepspeed_rows_real_of(const struct value *value, double otherwise)
{
    return value && value_is_number(value) ? value_as_real(value) : otherwise;
}

/* An integer or real number; `otherwise` where there is none. */
static double deepspeed_real(const struct section *section, const char *key, double otherwise)
{
    return deepspeed_rows_real_of(deepspeed_value(section, key), otherwise);
}

static const struct table *modules_table(const struct section *section)
{
    for (size_t i = 0; i < section->table_count; i++)
        if (strcmp(section->tables[i]->key, "modules") == 0)
            return section->tables[i];
    return NULL;
}

static const struct value *cell(const struct table *table, size_t row, const char *key)
{
    for (size_t i = 0; i < table->column_count; i++)
        if (strcmp(table->columns[i].key, key) == 0)
            return &table->cells[row * table->column_count + i];
    return NULL;
}

static const char *deepspeed_rows_text_of(const struct value *value, const char *otherwise)
{
    return value && value->unit == UNIT_TEXT ? value->text : otherwise;
}

/* DeepSpeed profiles one step and prints what it took; sums over several steps are divided by
 * their number. Its flops hold elementwise operations, its MACs do not. */
static struct deepspeed_row read_row(const struct table *table, size_t row, double steps)
{
    const struct value *parameters = cell(table, row, "parameters");
    struct deepspeed_row result = {
        .depth = table->depths[row],
        .name = deepspeed_rows_text_of(cell(table, row, "name"), ""),
        .class_name = deepspeed_rows_text_of(cell(table, row, "class"), NULL),
        .extra_repr = deepspeed_rows_text_of(cell(table, row, "extra_repr"), ""),
        .parameters = deepspeed_rows_real_of(parameters, -1),
        .macs = deepspeed_rows_real_of(cell(table, row, "forward_macs_in_all"), 0) / steps,
        .seconds =
            deepspeed_rows_real_of(cell(table, row, "forward_latency_in_all"), 0) / steps / 1e9,
    };

    result.flops = (deepspeed_rows_real_of(cell(table, row, "forward_flops_in_all"), 0) +
                    deepspeed_rows_real_of(cell(table, row, "forward_pointwise_flops_in_all"), 0)) /
                   steps;
    if (parameters && parameters->unit == UNIT_NOT_KNOWN)
        result.needs = parameters->text;
    if (!result.class_name)
        result.class_name = result.name;
    return result;
}

/* False where the results have no modules. Only rows that are modules: DeepSpeed has no line for
 * what runs outside. */
static bool deepspeed_rows_read(struct deepspeed_rows *rows, const struct section *section)
{
    const struct table *table = modules_table(section);
    double steps = deepspeed_real(section, "steps", 1);

    if (!table)
        return false;
    rows->rows = require_memory(calloc(table->row_count + 1, sizeof *rows->rows));
    for (size_t i = 0; i < table->row_count; i++)
        if (deepspeed_rows_text_of(cell(table, i, "module"), NULL)) /* not what is outside of
                                                                       modules */
            rows->rows[rows->count++] = read_row(table, i, steps > 0 ? steps : 1);
    return rows->count > 0;
}

/* ---- deepspeed ------------------------------------------------------------------------------- */

static void write_line(FILE *output, const char *title, const char *value)
{
    (void)fprintf(output, "%-70s  %-8s\n", title, value);
}

/* Whole, without a unit: programs that read these lines take the number as it stands. */
static void write_count_line(FILE *output, const char *title, const struct section *section,
                             const char *key)
{
    const struct value *value = deepspeed_value(section, key);
    char text[32];

    if (!value)
        return;
    (void)snprintf(text, sizeof text, "%lld", (long long)value->integer);
    write_line(output, title, text);
}

/* Word for word what DeepSpeed's profiler prints, its missing blanks included: scripts read
 * this text. */
static void deepspeed_write_head(FILE *output, const struct section *section)
{
    (void)fprintf(
        output,
        "\n-------------------------- DeepSpeed Flops Profiler --------------------------\n"
        "Profile Summary at step %.0f:\n"
        "Notations:\n"
        "data parallel size (dp_size), model parallel size(mp_size),\n"
        "number of parameters (params), number of multiply-accumulate operations(MACs),\n"
        "number of floating-point operations (flops), floating-point operations per second "
        "(FLOPS),\n"
        "fwd latency (forward propagation latency), bwd latency (backward propagation latency),\n"
        "step (weights update latency), iter latency (sum of fwd, bwd and step latency)\n\n",
        deepspeed_real(section, "profile_step", 1));
    write_count_line(output, "world size: ", section, "world_size");
    write_count_line(output, "data parallel size: ", section, "data_parallel_size");
    write_count_line(output, "model parallel size: ", section, "tensor_parallel_size");
    write_count_line(output, "batch size per GPU: ", section, "micro_batch_samples");
}

static double model_parallel_size(const struct section *section)
{
    return deepspeed_real(section, "tensor_parallel_size", 1);
}

/* What the forward of all outermost modules comes to. A model may have several outermost
 * modules, of which DeepSpeed would see one; parameters are known if any root's are. */
static struct deepspeed_row sum_of_roots(const struct deepspeed_rows *rows)
{
    struct deepspeed_row sum = {.parameters = -1};

    for (size_t i = 0; i < rows->count; i++) {
        if (rows->rows[i].depth != 0)
            continue;
        if (rows->rows[i].parameters >= 0)
            sum.parameters = (sum.parameters < 0 ? 0 : sum.parameters) + rows->rows[i].parameters;
        if (rows->rows[i].needs)
            sum.needs = rows->rows[i].needs;
        sum.macs += rows->rows[i].macs;
        sum.flops += rows->rows[i].flops;
        sum.seconds += rows->rows[i].seconds;
    }
    return sum;
}

static double deepspeed_rate(double flops, double seconds)
{
    return seconds > 0 ? flops / seconds : 0;
}

/* Without a description of the model there is no number: a zero would be copied into a table. */
static void write_parameters(FILE *output, const char *title, const struct deepspeed_row *all,
                             double parts)
{
    if (all->parameters >= 0)
        write_line(output, title, deepspeed_parameters(all->parameters * parts).text);
    else
        (void)fprintf(output, "%-70s  not known: %s\n", title,
                      all->needs ? all->needs : "no module has any");
}

/* The lines "of model" are those per GPU times the parts that a model is split into:
 * DeepSpeed's own definition, which counts what all parts hold (norms) several times. */
static void write_forward(FILE *output, const struct section *section,
                          const struct deepspeed_row *all)
{
    double mp_size = model_parallel_size(section);

    write_parameters(output, "params per GPU: ", all, 1);
    write_parameters(output, "params of model = params per GPU * mp_size: ", all, mp_size);
    write_line(output, "fwd MACs per GPU: ", deepspeed_number(all->macs, "MACs").text);
    write_line(output, "fwd flops per GPU: ", deepspeed_number(all->flops, "").text);
    write_line(output, "fwd flops of model = fwd flops per GPU * mp_size: ",
               deepspeed_number(all->flops * mp_size, "").text);
    write_line(output, "fwd latency: ", deepspeed_number(all->seconds, "s").text);
    write_line(output, "fwd FLOPS per GPU = fwd flops per GPU / fwd latency: ",
               deepspeed_number(deepspeed_rate(all->flops, all->seconds), "FLOPS").text);
}

/* What DeepSpeed knows with its engine only. Recomputed forwards are part of the backward, as
 * DeepSpeed measures it, from the loss to its end. Without a backward in the trace nothing of
 * this is printed. */
static void write_rest_of_step(FILE *output, const struct section *section,
                               const struct deepspeed_row *all)
{
    double backward_s = (deepspeed_real(section, "backward_latency", 0) +
                         deepspeed_real(section, "recompute_latency", 0)) /
                        1e9;
    double step_s = deepspeed_real(section, "optimizer_latency", 0) / 1e9;
    double backward = deepspeed_real(section, "backward_flops", 0) +
                      deepspeed_real(section, "recomputed_flops", 0);
    double iteration_s = all->seconds + backward_s + step_s;
    double samples = deepspeed_real(section, "samples", 0);

    if (backward_s <= 0)
        return;
    write_line(output, "bwd latency: ", deepspeed_number(backward_s, "s").text);
    write_line(output, "bwd FLOPS per GPU = bwd flops per GPU / bwd latency: ",
               deepspeed_number(deepspeed_rate(backward, backward_s), "FLOPS").text);
    write_line(
        output, "fwd+bwd FLOPS per GPU = fwd+bwd flops per GPU / (fwd+bwd latency): ",
        deepspeed_number(deepspeed_rate(all->flops + backward, all->seconds + backward_s), "FLOPS")
            .text);
    write_line(output, "step latency: ", deepspeed_number(step_s, "s").text);
    write_line(output, "iter latency: ", deepspeed_number(iteration_s, "s").text);
    write_line(output, "FLOPS per GPU = fwd+bwd flops per GPU / iter latency: ",
               deepspeed_number(deepspeed_rate(all->flops + backward, iteration_s), "FLOPS").text);
    if (samples > 0)
        write_line(output, "samples/second: ",
                   deepspeed_rounded(
                       deepspeed_rate(samples * deepspeed_real(section, "data_parallel_size", 1),
                                      iteration_s))
                       .text);
}

/* ---- aggregated ---- */

struct class_sum {
    const char *name;
    double value;
    bool is_known;
};

/* Ties by name, so that the order does not depend on the sort. */
static int compare_sums(const void *a, const void *b)
{
    const struct class_sum *left = a;
    const struct class_sum *right = b;

    if (left->value != right->value)
        return left->value > right->value ? -1 : 1;
    return strcmp(left->name, right->name);
}

/* The three lists that DeepSpeed prints for each depth, in its order. */
enum aggregate { AGGREGATE_PARAMETERS, AGGREGATE_MACS, AGGREGATE_LATENCY };

/* A module whose parameters are not known counts as none: it must not lead a list of the
 * largest. */
static double aggregate_value(const struct deepspeed_row *row, enum aggregate what)
{
    switch (what) {
    case AGGREGATE_PARAMETERS:
        return row->parameters < 0 ? 0 : row->parameters;
    case AGGREGATE_MACS:
        return row->macs;
    case AGGREGATE_LATENCY:
        return row->seconds;
    }
    return 0;
}

static struct short_text aggregate_text(double value, enum aggregate what)
{
    if (what == AGGREGATE_PARAMETERS)
        return deepspeed_parameters(value);
    return deepspeed_number(value, what == AGGREGATE_MACS ? "MACs" : "s");
}

/* By class within a depth, as DeepSpeed's aggregated profile sums; linear look-up, for a model
 * has tens of classes. */
static size_t sum_classes(struct class_sum *sums, const struct deepspeed_rows *rows, int depth,
                          enum aggregate what)
{
    size_t count = 0;

    for (size_t i = 0; i < rows->count; i++) {
        const struct deepspeed_row *row = &rows->rows[i];
        size_t k = 0;

        if (row->depth != depth)
            continue;
        while (k < count && strcmp(sums[k].name, row->class_name) != 0)
            k++;
        if (k == count)
            sums[count++] = (struct class_sum){.name = row->class_name};
        sums[k].value += aggregate_value(row, what);
        sums[k].is_known |= what != AGGREGATE_PARAMETERS || row->parameters >= 0;
    }
    qsort(sums, count, sizeof *sums, compare_sums);
    return count;
}

/* What is listed at each depth. */
struct top_list {
    const struct deepspeed_rows *rows;
    size_t top;
    struct class_sum *sums; /* room for all classes */
};

/* {'Linear': '8.32 K', 'ReLU': '0'} DeepSpeed prints a Python dict: its quotation marks and
 * commas are kept for programs that read them. */
static void write_top(FILE *output, const char *title, const struct top_list *list, int depth,
                      enum aggregate what)
{
    size_t count = sum_classes(list->sums, list->rows, depth, what);

    (void)fprintf(output, "    %s - {", title);
    for (size_t i = 0; i < count && i < list->top; i++) {
        const struct class_sum *sum = &list->sums[i];

        (void)fprintf(output, "%s'%s': '%s'", i ? ", " : "", show_text(sum->name).text,
                      sum->is_known ? aggregate_text(sum->value, what).text : "not known");
    }
    (void)fputs("}\n", output);
}

/* A depth that is deeper than the tree ends at the deepest level of it. */
static void write_aggregated(FILE *output, const struct section *section,
                             const struct deepspeed_rows *rows)
{
    double depths = deepspeed_real(section, "module_depth", -1);
    struct top_list list = {.rows = rows,
                            .top = (size_t)deepspeed_real(section, "top_modules", 1),
                            .sums = require_memory(calloc(rows->count, sizeof *list.sums))};
    int deepest = 0;

    for (size_t i = 0; i < rows->count; i++)
        if (rows->rows[i].depth > deepest)
            deepest = rows->rows[i].depth;
    if (depths >= 0 && depths < deepest)
        deepest = (int)depths;
    (void)fprintf(
        output,
        "\n----------------------------- Aggregated Profile per GPU "
        "-----------------------------\n"
        "Top %zu modules in terms of params, MACs or fwd latency at different model depths:\n",
        list.top);
    for (int depth = 0; depth <= deepest; depth++) {
        (void)fprintf(output, "depth %d:\n", depth);
        write_top(output, "params     ", &list, depth, AGGREGATE_PARAMETERS);
        write_top(output, "MACs       ", &list, depth, AGGREGATE_MACS);
        write_top(output, "fwd latency", &list, depth, AGGREGATE_LATENCY);
    }
    free(list.sums);
}

/* ---- detailed ---- */

/* The text with `indent` blanks behind each newline. */
static void write_indented(FILE *output, const char *text, int indent)
{
    for (; *text; text++) {
        (void)fputc(*text, output);
        if (*text == '\n')
            (void)fprintf(output, "%*s", indent, "");
    }
}

/* Shares are of the whole model, not of the module around, as DeepSpeed has them. */
static void write_figures(FILE *output, const struct deepspeed_row *row,
                          const struct deepspeed_row *all)
{
    if (row->parameters < 0)
        (void)fputs("not known = ?% Params", output);
    else
        (void)fprintf(output, "%s = %s Params", deepspeed_parameters(row->parameters).text,
                      deepspeed_per_cent(row->parameters, all->parameters).text);
    (void)fprintf(
        output, ", %s = %s MACs, %s = %s latency, %s", deepspeed_number(row->macs, "MACs").text,
        deepspeed_per_cent(row->macs, all->macs).text, deepspeed_number(row->seconds, "s").text,
        deepspeed_per_cent(row->seconds, all->seconds).text,
        deepspeed_number(deepspeed_rate(row->flops, row->seconds), "FLOPS").text);
}

/* The figures and the settings of a module, on lines that begin at `indent` (one_line: none). */
static void write_inside(FILE *output, const struct deepspeed_row *row, int indent,
                         bool is_one_line, const struct deepspeed_row *all)
{
    if (!is_one_line)
        (void)fprintf(output, "\n%*s", indent, "");
    write_figures(output, row, all);
    if (*row->extra_repr)
        (void)fputs(", ", output);
    write_indented(output, row->extra_repr, indent);
}

/* A module as print(model) writes it: those without others inside on one line. A ModuleList prints
 * itself in its own way, without figures. Follows print(model): a module with children or with
 * settings of several lines is opened and closed on lines of its own. */
static void write_module(FILE *output, const struct deepspeed_row *row, bool has_children,
                         const struct deepspeed_row *all)
{
    int indent = 2 * row->depth;
    bool is_list = strcmp(row->class_name, "ModuleList") == 0;
    bool is_one_line = !has_children && (is_list || !strchr(row->extra_repr, '\n'));

    (void)fprintf(output, "%*s", indent, "");
    if (row->depth > 0)
        (void)fprintf(output, "(%s): ", show_text(row->name).text);
    (void)fprintf(output, "%s(", show_text(row->class_name).text);
    if (!is_list)
        write_inside(output, row, indent + 2, is_one_line, all);
    (void)fputs(is_one_line ? ")\n" : "\n", output);
    if (!is_one_line && !has_children)
        (void)fprintf(output, "%*s)\n", indent, "");
}

/* A module is closed after its last descendant: rows are in the order of a walk from the root,
 * so that going to a lower depth closes all depths between. */
static void write_detailed(FILE *output, const struct deepspeed_rows *rows,
                           const struct deepspeed_row *all)
{
    (void)fputs(
        "\n------------------------------ Detailed Profile per GPU "
        "------------------------------\n"
        "Each module profile is listed after its name in the following order: \n"
        "params, percentage of total params, MACs, percentage of total MACs, fwd latency, "
        "percentage of total fwd latency, fwd FLOPS\n\n"
        "Note: 1. A module can have torch.nn.module or torch.nn.functional to compute logits (e.g. "
        "CrossEntropyLoss). They are not counted as submodules, thus not to be printed out. "
        "However they make up the difference between a parent's MACs (or latency) and the sum of "
        "its submodules'.\n"
        "2. Number of floating-point operations is a theoretical estimation, thus FLOPS computed "
        "using that could be larger than the maximum system throughput.\n"
        "3. The fwd latency listed in the top module's profile is directly captured at the module "
        "forward function in PyTorch, thus it's less than the fwd latency shown above which is "
        "captured in DeepSpeed.\n\n",
        output);
    for (size_t i = 0; i < rows->count; i++) {
        int depth = rows->rows[i].depth;
        int next = i + 1 < rows->count ? rows->rows[i + 1].depth : 0;

        write_module(output, &rows->rows[i], next > depth, all);
        for (int open = depth - 1; open >= next; open--)
            (void)fprintf(output, "%*s)\n", 2 * open, "");
    }
    (void)fputs("------------------------------------------------------------------------------\n",
                output);
}

/* One text for one model: without marks of modules there is nothing that this format could
 * print, so it is refused rather than left empty. */
static bool write_deepspeed(FILE *output, const struct results *results,
                            const struct report_options *options, struct error *error)
{
    const struct section *section = deepspeed_section(results);
    struct deepspeed_rows rows = {0};
    struct deepspeed_row all;

    (void)options;
    if (!section || !deepspeed_rows_read(&rows, section)) {
        free(rows.rows);
        return error_set(error, ERROR_NO_DATA,
                         "no modules to print as DeepSpeed does: the trace has no marks of them; "
                         "flopledger run records them, and 'flopledger flops' prints them");
    }
    all = sum_of_roots(&rows);
    deepspeed_write_head(output, section);
    write_forward(output, section, &all);
    write_rest_of_step(output, section, &all);
    write_aggregated(output, section, &rows);
    write_detailed(output, &rows, &all);
    free(rows.rows);
    return true;
}

const struct report deepspeed_report = {
    .name = "deepspeed",
    .summary = "as DeepSpeed's Flops Profiler prints it",
    .write = write_deepspeed,
};
