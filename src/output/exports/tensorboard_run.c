/* The results of one trace, as events of a run in TensorBoard. */
#include "output/exports/tensorboard_run.h"

#include "base/core/attributes.h"
#include "base/core/bytes.h"
#include "base/core/invariant.h"
#include "base/core/out_of_memory.h"
#include "base/text/utf8.h"
#include "output/exports/step_scalars.h"
#include "output/exports/tensorboard_summary.h"
#include "output/results/metrics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Room for the settings below. */
enum { SETTINGS_MAX = 16 };

static const char account_prefix[] = "accounts_ms/";

/* In seconds since 1970; where that is not known on the trace's own clock, so that what lies
 * between steps is right. */
static struct event_time tensorboard_run_time_of(const struct scalar_step *step)
{
    int64_t end_ns = step->end_unix_ns >= 0 ? step->end_unix_ns : step->end_ns;

    return (struct event_time){(double)end_ns / 1e9, step->number};
}

double tensorboard_run_start(const struct rank_results *rank)
{
    struct value start =
        metric_cell(metric_column(rank, METRIC_STEP_DURATION).table, 0, METRIC_STEP_START_UNIX);

    return value_is_number(&start) ? value_as_real(&start) / 1e9 : 0;
}

/* ---- scalars --------------------------------------------------------------------------------- */

/* The accounts one on top of the other, so that lines of them fill the step. TensorBoard draws
 * lines only: sums up to each account, drawn one over the other, are the borders of a stack. Two
 * digits in front of the names keep their order. */
static void add_stacked(struct bytes *summary, const struct step_scalars *scalars,
                        const struct scalar_step *step, bool is_first)
{
    double sum = 0;
    int place = 0;

    for (size_t i = 0; i < scalars->series_count; i++) {
        char tag[128];

        if (strncmp(scalars->series[i].tag, account_prefix, sizeof account_prefix - 1) != 0)
            continue;
        sum += step->values[i];
        place++;
        (void)snprintf(tag, sizeof tag, "accounts_stacked_ms/%02d %s", place,
                       scalars->series[i].tag + sizeof account_prefix - 1);
        summary_add_scalar(summary, tag, sum,
                           is_first ? "this account and those above it in the list" : NULL);
    }
}

/* The description stands with the first value of a tag; what is not finite is left out, for
 * TensorBoard draws a NaN as a mark of its own. */
static void add_scalars(FILE *output, const struct step_scalars *scalars)
{
    bool *is_described = require_memory(calloc(scalars->series_count + 1, sizeof *is_described));

    for (size_t k = 0; k < scalars->step_count; k++) {
        const struct scalar_step *step = &scalars->steps[k];
        SCOPED(bytes) summary = {0};

        for (size_t i = 0; i < scalars->series_count; i++) {
            const struct scalar_series *series = &scalars->series[i];

            if (!isfinite(step->values[i]))
                continue;
            summary_add_scalar(&summary, series->tag, step->values[i],
                               is_described[i] ? NULL : series->description);
            is_described[i] = true;
        }
        add_stacked(&summary, scalars, step, k == 0);
        event_file_add(output, tensorboard_run_time_of(step), &summary);
    }
    free(is_described);
}

/* Patterns, not names: a chart then also takes accounts that only some runs have, and several
 * runs are drawn in one. */
static void add_layout(struct bytes *summary)
{
    static const struct scalar_chart steps[] = {
        {"Where a step's time goes, stacked (ms)", {"^accounts_stacked_ms/"}},
        {"Accounts (ms)", {"^accounts_ms/"}},
        {"Accounts (share of the step)", {"^accounts_share/"}},
        {"Step time (ms)", {"^step_time_ms$"}},
    };
    static const struct scalar_chart efficiency[] = {
        {"MFU and HFU", {"^mfu$", "^hfu$"}},
        {"What matrix time is made of (ms)", {"^matrix_ms/"}},
        {"Tokens and samples per second", {"^tokens_per_second$", "^samples_per_second$"}},
        {"Communication (ms)", {"^communication/.*_ms$"}},
    };
    static const struct scalar_chart memory[] = {
        {"Memory at the peak of each step (bytes)", {"^memory_bytes/"}},
    };
    static const struct chart_category categories[] = {
        {"Step ledger", steps, sizeof steps / sizeof *steps},
        {"Efficiency", efficiency, sizeof efficiency / sizeof *efficiency},
        {"Memory", memory, sizeof memory / sizeof *memory},
    };

    summary_add_layout(summary, categories, sizeof categories / sizeof *categories);
}

/* ---- text ------------------------------------------------------------------------------------ */

/* Markdown that shows as it stands: indented by four columns, as code is. */
static void add_as_code(struct bytes *summary, const char *tag, const char *text)
{
    char *markdown;
    size_t size;
    FILE *stream = require_memory(open_memstream(&markdown, &size));
    struct arena arena = {0};

    for (const char *line = utf8_repaired(&arena, text); *line;) {
        size_t length = strcspn(line, "\n");

        (void)fprintf(stream, "    %.*s\n", (int)length, line);
        line += length + (line[length] == '\n');
    }
    if (fclose(stream) != 0)
        end_out_of_memory();
    summary_add_text(summary, tag, markdown);
    free(markdown);
    arena_clear(&arena);
}

/* Text of a trace in Markdown: what would be markup there is taken for what it is. Markdown
 * takes a backslash before any punctuation as that character (CommonMark, "Backslash escapes");
 * '<' and '&' would begin markup all the same. A newline would end the list. */
static void tensorboard_run_write_escaped(FILE *stream, const char *text)
{
    struct arena arena = {0};

    for (text = utf8_repaired(&arena, text); *text; text++) {
        if (*text == '<' || *text == '&') {
            (void)fputs(*text == '<' ? "&lt;" : "&amp;", stream);
            continue;
        }
        if (strchr("\\`*_{}[]>()#!", *text))
            (void)fputc('\\', stream);
        (void)fputc(*text == '\n' || *text == '\r' ? ' ' : *text, stream);
    }
    arena_clear(&arena);
}

/* A cost is told only where there is one and an estimate beside it: findings without a cost
 * have -1 there. */
static void tensorboard_run_write_advice(FILE *stream, const struct section *section)
{
    if (section->finding_count == 0)
        (void)fputs("Nothing to advise.\n", stream);
    for (size_t i = 0; i < section->finding_count; i++) {
        const struct finding *finding = &section->findings[i];

        (void)fputs("1. **", stream);
        tensorboard_run_write_escaped(stream, finding->what);
        (void)fputs("**", stream);
        if (finding->cost_ns >= 0 && finding->estimate)
            (void)fprintf(stream, ": %.3f ms of each step (%.1f %%)",
                          (double)finding->cost_ns / 1e6, 100 * finding->estimate->share);
        if (finding->evidence) {
            (void)fputs("; ", stream);
            tensorboard_run_write_escaped(stream, finding->evidence);
        }
        if (finding->try_this) {
            (void)fputs(". Try: ", stream);
            tensorboard_run_write_escaped(stream, finding->try_this);
        }
        (void)fputs("\n", stream);
    }
}

/* No advice section is another thing than nothing to advise: then nothing is written at all. */
static void tensorboard_run_add_advice(struct bytes *summary, const struct rank_results *rank)
{
    const struct section *section = section_of_role(rank, SECTION_OF_ADVICE);
    char *markdown;
    size_t size;
    FILE *stream;

    if (!section)
        return;
    stream = require_memory(open_memstream(&markdown, &size));
    if (rank->headline) {
        tensorboard_run_write_escaped(stream, rank->headline);
        (void)fputs("\n\n", stream);
    }
    tensorboard_run_write_advice(stream, section);
    if (fclose(stream) != 0)
        end_out_of_memory();
    summary_add_text(summary, "advice", markdown);
    free(markdown);
}

/* ---- settings -------------------------------------------------------------------------------- */

struct setting_list {
    struct hyperparameter settings[SETTINGS_MAX];
    size_t count;
    struct arena arena;
};

static struct hyperparameter *add_setting(struct setting_list *list, const char *name)
{
    list->settings[list->count] = (struct hyperparameter){.name = name};
    return &list->settings[list->count++];
}

/* A text of protobuf must be UTF-8, or the whole file is refused: names of devices and hosts
 * are mended first. */
static void add_text_setting(struct setting_list *list, const char *name, struct value value)
{
    struct hyperparameter *setting = add_setting(list, name);

    setting->is_text = true;
    setting->is_known = value.unit == UNIT_TEXT;
    if (setting->is_known)
        setting->text = utf8_repaired(&list->arena, value.text);
}

static void add_number_setting(struct setting_list *list, const char *name, struct value value)
{
    struct hyperparameter *setting = add_setting(list, name);

    setting->is_known = value_is_number(&value);
    if (setting->is_known)
        setting->number = value_as_real(&value);
}

/* As hyperparameters, so that runs on several devices and models stand in one table beside MFU
 * and step time. */
static void add_settings(struct bytes *summary, const struct rank_results *rank)
{
    static const char *const metrics[] = {"mfu", "step_time_ms", "tokens_per_second", NULL};
    struct setting_list list = {.count = 0};

    add_text_setting(&list, "device", name_of_reported_device(rank));
    add_number_setting(&list, "peak_flops_per_second",
                       metric_number(rank, METRIC_PEAK_FLOPS_PER_SECOND));
    add_text_setting(
        &list, "model",
        metric_cell(metric_column(rank, METRIC_MODULE_CLASS).table, 0, METRIC_MODULE_CLASS));
    add_number_setting(&list, "parameters", metric_number(rank, METRIC_MODEL_PARAMETERS));
    add_number_setting(&list, "rank", metric_number(rank, METRIC_RANK));
    add_number_setting(&list, "world_size", metric_number(rank, METRIC_WORLD_SIZE));
    add_text_setting(&list, "backend", metric_number(rank, METRIC_BACKEND));
    add_text_setting(&list, "torch_version", metric_number(rank, METRIC_TORCH_VERSION));
    add_text_setting(&list, "device_runtime_version",
                     metric_number(rank, METRIC_DEVICE_RUNTIME_VERSION));
    add_text_setting(&list, "hostname", metric_number(rank, METRIC_HOSTNAME));
    summary_add_hyperparameters(summary, list.settings, list.count, metrics);
    arena_clear(&list.arena);
}

/* All that is of the run and not of a step goes with the first step, in one event. */
void tensorboard_add_run(FILE *output, const struct rank_results *rank, const char *report)
{
    SCOPED(step_scalars) scalars = {0};
    SCOPED(bytes) summary = {0};

    find_step_scalars(&scalars, rank);
    add_settings(&summary, rank);
    add_layout(&summary);
    tensorboard_run_add_advice(&summary, rank);
    add_as_code(&summary, "report", report);
    event_file_add(output,
                   scalars.step_count ? tensorboard_run_time_of(&scalars.steps[0])
                                      : (struct event_time){0, 0},
                   &summary);
    add_scalars(output, &scalars);
}
