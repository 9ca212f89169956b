/* The page of `flopledger top`: a running job and its machine at one look. */
#include "base/core/arena.h"
#include "base/core/attributes.h"
#include "base/core/invariant.h"
#include "base/text/display_text.h"
#include "base/text/format.h"
#include "base/text/text_wrap.h"
#include "live/top/top_view.h"
#include "live/training.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    RANKS_SHOWN = 32,
    RANKS_SHOWN_LEAST = 3,
    LINES_AROUND_RANKS = 7, /* an empty line, heads, a rule, what is left out, notes */
    SPARK_MIN = 10,
    SPARK_MAX = 60,
    NARROW = 80,
};

static const char *const blocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
static const char *const letters[] = {"_", ".", "-", "=", "+", "*", "#", "@"};

static const char unknown[] = "-";
static const char gone[] = "gone";

enum { LEVELS = sizeof blocks / sizeof *blocks };

/* As the locale allows: "175 µs", or "175 us". */
static struct shown_text shown_time(int64_t ns)
{
    return show_text(format_time(ns).text);
}

/* Times of the newest steps, oldest first, each as a block as high as its share of the longest.
 * The first step is left out: it compiles and allocates, and would flatten all others. longest +
 * 1, so that the longest is the last level and not one beyond. */
static const char *sparkline(struct arena *arena, const struct rank_progress *progress, int width,
                             bool use_unicode)
{
    const char *const *levels = use_unicode ? blocks : letters;
    char *line = arena_allocate(arena, (size_t)width * 4 + 1);
    int64_t longest = 1;
    const struct recent_step *step;

    for (int i = 0; i < width && (step = rank_recent_step(progress, i)); i++) {
        if (step->step > 1 && step->net_ns > longest)
            longest = step->net_ns;
    }
    for (int i = width - 1; i >= 0; i--) {
        int64_t level;

        step = rank_recent_step(progress, i);
        if (!step || step->step == 1)
            continue;
        level = step->net_ns * LEVELS / (longest + 1);
        strcat(line, levels[level]);
    }
    return line;
}

/* A rank that has not ended and does not live was killed, or runs on a machine whose processes
 * are not seen here. */
static const char *top_page_state_of(const struct job_record *record)
{
    const struct rank_progress *progress = &record->progress;

    if (record->lives)
        return progress->step == 0 ? "starts" : "runs";
    if (progress->has_ended)
        return progress->ended_by_exception ? "failed" : "ended";
    return gone;
}

static const char *top_page_share_of(struct arena *arena, int64_t part, int64_t whole)
{
    if (whole <= 0)
        return unknown;
    return top_text(arena, "%s", format_fraction((double)part / (double)whole).text);
}

static const char *top_page_known_bytes(struct arena *arena, int64_t bytes)
{
    return bytes < 0 ? unknown : top_text(arena, "%s", format_bytes(bytes).text);
}

/* Over the same newest steps as the median of the step time, so that both columns speak of one
 * time. */
static const char *tokens_per_second(struct arena *arena, const struct rank_progress *progress)
{
    int64_t tokens = 0;
    int64_t time_ns = 0;
    const struct recent_step *step;

    for (int i = 0; i < STEP_MEDIAN_OF && (step = rank_recent_step(progress, i)); i++) {
        if (step->tokens < 0 || step->step == 1)
            continue;
        tokens += step->tokens;
        time_ns += step->net_ns;
    }
    if (time_ns == 0)
        return unknown;
    return top_text(arena, "%s",
                    format_count((int64_t)((double)tokens * 1e9 / (double)time_ns)).text);
}

static const char *mfu_of(struct arena *arena, const struct top_view *view, const char *rank)
{
    const struct live_sample *mfu = live_find(view->now, "flopledger_mfu_ratio", "rank", rank);

    return mfu ? top_text(arena, "%s", format_fraction(mfu->value).text) : unknown;
}

static const struct text_column rank_columns[] = {
    {"rank", TEXT_COLUMN_NUMBER, 0},        {"step", TEXT_COLUMN_NUMBER, 0},
    {"step time", TEXT_COLUMN_NUMBER, 0},   {"newest steps", TEXT_COLUMN_NAME, 0},
    {"data wait", TEXT_COLUMN_NUMBER, 1},   {"tokens/s", TEXT_COLUMN_NUMBER, 4},
    {"MFU", TEXT_COLUMN_NUMBER, 2},         {"device memory", TEXT_COLUMN_NUMBER, 3},
    {"host memory", TEXT_COLUMN_NUMBER, 5}, {"state", TEXT_COLUMN_NAME, 0},
};

enum { RANK_COLUMNS = sizeof rank_columns / sizeof *rank_columns };

/* A median: one slow step (a checkpoint, an evaluation) shall not change the figure that a
 * rank is watched by. */
static void top_page_fill_rank(struct arena *arena, const struct top_view *view,
                               const struct job_record *record, struct text_cell *cells)
{
    const struct rank_progress *progress = &record->progress;
    const char *rank = top_text(arena, "%" PRId32, progress->reader.header.rank);
    int64_t median = rank_recent_step_ns(progress, STEP_MEDIAN_OF);
    int spark = SPARK_MIN + (view->style.width - NARROW) / 3;
    int column = 0;

    spark = spark < SPARK_MIN ? SPARK_MIN : spark > SPARK_MAX ? SPARK_MAX : spark;
    cells[column++].text = rank;
    cells[column++].text = top_text(arena, "%s", format_count(progress->step).text);
    cells[column++].text = median > 0 ? top_text(arena, "%s", shown_time(median).text) : unknown;
    cells[column++].text = sparkline(arena, progress, spark, view->style.use_unicode);
    cells[column++].text =
        top_page_share_of(arena, progress->data_wait_ns, progress->data_wait_of_ns);
    cells[column++].text = tokens_per_second(arena, progress);
    cells[column++].text = mfu_of(arena, view, rank);
    cells[column++].text = top_page_known_bytes(arena, progress->memory_bytes);
    cells[column++].text = top_page_known_bytes(arena, progress->host_bytes);
    cells[column++].text = top_page_state_of(record);
}

/* A rank, and how much it matters that its line is seen. */
struct rank_line {
    const struct job_record *record;
    int64_t weight;
};

/* Ranks in trouble first, then the slowest, so that those without room are the least
 * interesting; the rank decides between equals, or lines would jump from look to look. */
static int by_weight(const void *a, const void *b)
{
    const struct rank_line *first = a;
    const struct rank_line *second = b;

    if (first->weight != second->weight)
        return first->weight > second->weight ? -1 : 1;
    return first->record->progress.reader.header.rank < second->record->progress.reader.header.rank
               ? -1
               : 1;
}

static int top_page_by_rank(const void *a, const void *b)
{
    const struct rank_line *first = a;
    const struct rank_line *second = b;
    int32_t one = first->record->progress.reader.header.rank;
    int32_t other = second->record->progress.reader.header.rank;

    return (one > other) - (one < other);
}

static bool is_in_trouble(const struct job_record *record)
{
    return !record->lives && (!record->progress.has_ended || record->progress.ended_by_exception);
}

/* The newest record of each rank: those that are gone first, then the slowest. */
static struct rank_line *list_ranks(struct arena *arena, const struct job_records *records,
                                    size_t *count)
{
    struct rank_line *lines = arena_allocate(arena, (records->count + 1) * sizeof *lines);

    *count = 0;
    for (size_t i = 0; i < records->count; i++) {
        const struct job_record *record = records->records[i];

        if (record->is_newest)
            lines[(*count)++] = (struct rank_line){
                record, is_in_trouble(record)
                            ? INT64_MAX
                            : rank_recent_step_ns(&record->progress, STEP_MEDIAN_OF)};
    }
    qsort(lines, *count, sizeof *lines, by_weight);
    return lines;
}

/* Lines of the screen that are left for ranks; RANKS_SHOWN without a screen. A page longer than
 * the screen scrolls away its head, so the table gives way. */
static size_t rows_for_ranks(const struct top_view *view, int other_lines)
{
    int rows = view->screen_lines - other_lines - LINES_AROUND_RANKS;

    if (view->screen_lines == 0 || rows > RANKS_SHOWN)
        return RANKS_SHOWN;
    return rows < RANKS_SHOWN_LEAST ? RANKS_SHOWN_LEAST : (size_t)rows;
}

/* What those are like that there is no room for: none of them is slower than those shown. */
static const char *hidden_text(struct arena *arena, const struct rank_line *lines, size_t count)
{
    size_t running = 0;
    const char *text;

    for (size_t i = 0; i < count; i++)
        running += lines[i].record->lives;
    text = top_text(arena, "and %zu more ranks, %zu of them running", count, running);
    if (lines[count - 1].weight <= 0 || lines[0].weight == INT64_MAX)
        return text;
    return top_text(arena, "%s: steps of %s to %s", text, shown_time(lines[count - 1].weight).text,
                    shown_time(lines[0].weight).text);
}

/* Chosen by weight, shown by rank: a rank keeps its place while the choice stays the same. */
static void top_page_write_ranks(FILE *output, struct arena *arena, const struct top_view *view,
                                 int other_lines)
{
    size_t count, shown;
    struct rank_line *lines = list_ranks(arena, view->records, &count);
    struct text_cell *cells = arena_allocate(arena, (count + 1) * RANK_COLUMNS * sizeof *cells);
    struct text_table table = {
        .columns = rank_columns, .column_count = RANK_COLUMNS, .cells = cells};
    struct text_margins margins = {.indent = 2, .width = view->style.width};
    bool is_one_gone = false;

    shown = rows_for_ranks(view, other_lines);
    shown = shown < count ? shown : count;
    qsort(lines, shown, sizeof *lines, top_page_by_rank);
    for (size_t i = 0; i < shown; i++) {
        top_page_fill_rank(arena, view, lines[i].record, &cells[table.row_count++ * RANK_COLUMNS]);
        is_one_gone = is_one_gone || top_page_state_of(lines[i].record) == gone;
    }
    text_table_write(&table, output, 0, view->style, arena);
    if (shown < count)
        write_wrapped(output, hidden_text(arena, lines + shown, count - shown), margins);
    if (is_one_gone)
        write_wrapped(output, "gone: its process was killed, or runs on another machine", margins);
    write_wrapped(output, "- is not known: 'flopledger help watch-a-run' says what each needs",
                  margins);
}

/* Of the first rank: where the time of its steps went so far. "Other" is what is left of the
 * split steps, so the parts sum to 100 %. */
static void write_parts(FILE *output, const struct rank_progress *progress)
{
    if (progress->split_of_ns > 0) {
        int64_t known = progress->forward_ns + progress->backward_ns + progress->optimizer_ns +
                        progress->data_wait_ns;

        fprintf(
            output, "host time of steps: before backward %s, backward %s, optimizer %s",
            format_fraction((double)progress->forward_ns / (double)progress->split_of_ns).text,
            format_fraction((double)progress->backward_ns / (double)progress->split_of_ns).text,
            format_fraction((double)progress->optimizer_ns / (double)progress->split_of_ns).text);
        if (progress->data_wait_of_ns > 0)
            fprintf(
                output, ", data wait %s, other %s",
                format_fraction((double)progress->data_wait_ns / (double)progress->data_wait_of_ns)
                    .text,
                format_fraction((double)(progress->split_of_ns - known) /
                                (double)progress->split_of_ns)
                    .text);
        fputc('\n', output);
    }
}

/* Of the first rank, since the newest look at the counters. */
static void write_energy(FILE *output, const struct rank_progress *progress)
{
    static const char *const names[ENERGY_SOURCES] = {"GPU", "processors of the machine"};
    const char *separator = "energy: ";

    for (int i = 0; i < ENERGY_SOURCES; i++) {
        const struct rank_energy *newest = &progress->recent_energy[i];

        if (newest->steps == 0)
            continue;
        fprintf(output, "%s%s %s J a step", separator, names[i],
                format_number(newest->joules / (double)newest->steps).text);
        if (newest->tokens > 0 && newest->joules > 0)
            fprintf(output, ", %s J a token, %s tokens/J",
                    format_number(newest->joules / (double)newest->tokens).text,
                    format_number((double)newest->tokens / newest->joules).text);
        separator = "; ";
    }
    if (strcmp(separator, "; ") == 0)
        fputc('\n', output);
}

/* The separator tells whether anything was written: without a span there is no line at all. */
static void write_between(FILE *output, const struct rank_progress *progress)
{
    static const char *const names[SPAN_KINDS] = {"checkpoints", "restores", "evaluations",
                                                  "recording"};
    const char *separator = "beside steps: ";

    for (int kind = 0; kind < SPAN_KINDS; kind++) {
        if (progress->span_count[kind] == 0)
            continue;
        fprintf(output, "%s%s %s in %s", separator, format_count(progress->span_count[kind]).text,
                names[kind], shown_time(progress->span_ns[kind]).text);
        separator = ", ";
    }
    if (strcmp(separator, ", ") == 0)
        fputc('\n', output);
}

/* On one line, as far as it is known. */
static void write_so_far(FILE *output, const struct job_so_far *so_far,
                         const struct job_record *first)
{
    const char *separator = "";

    if (so_far->elapsed_ns > 0) {
        fprintf(output, "%s since the start%s: ETTR so far %s, start-up %s",
                shown_time(so_far->elapsed_ns).text,
                so_far->attempts > 1 ? " of the first attempt" : "",
                format_fraction((double)so_far->kept_ns / (double)so_far->elapsed_ns).text,
                first->progress.step > 0 ? shown_time(so_far->startup_ns).text : "not over");
        separator = ", ";
    }
    if (so_far->attempts > 1) {
        fprintf(output, "%s%d attempts, lost work: %s", separator, so_far->attempts,
                so_far->knows_discarded ? shown_time(so_far->discarded_ns).text : "not known");
        separator = "; ";
    }
    if (!isnan(first->progress.loss))
        fprintf(output, "%sloss %.6g at step %s", *separator ? "; " : "", first->progress.loss,
                format_count(first->progress.loss_step).text);
    if (*separator || !isnan(first->progress.loss))
        fputc('\n', output);
}

/* What is left of the planned steps, each of which takes as long as the median of the newest. By
 * the median of the newest steps: the mean of all remembers the start-up. 9e18 ns are 285 years:
 * beyond it nothing is said. */
static void write_time_left(FILE *output, int64_t planned, const struct rank_progress *progress)
{
    int64_t step_ns = rank_recent_step_ns(progress, STEP_MEDIAN_OF);
    int64_t left = planned - progress->step;
    double left_ns = (double)left * (double)step_ns;

    if (planned <= 0)
        return;
    if (left <= 0)
        fprintf(output, "all %s planned steps are done\n", format_count(planned).text);
    else if (step_ns <= 0 || left_ns > 9e18)
        fprintf(output, "time left: not known: needs steps that have ended\n");
    else
        fprintf(output, "time left %s: %s of %s steps, of %s each (median of the newest)\n",
                format_duration((int64_t)left_ns).text, format_count(left).text,
                format_count(planned).text, shown_time(step_ns).text);
}

/* Windows that a rule of --on asked for: how many, and why the newest. */
static void write_triggers(FILE *output, const struct top_view *view)
{
    const struct live_sample *last =
        live_find(view->now, "flopledger_last_trigger_step", NULL, NULL);
    double windows = 0;

    for (size_t i = 0; i < view->now->count; i++) {
        if (strcmp(view->now->samples[i].family->name, "flopledger_triggered_windows") == 0)
            windows += view->now->samples[i].value;
    }
    if (last)
        fprintf(output, "%.0f window%s by --on; the last because %s\n", windows,
                windows == 1 ? "" : "s", show_text(live_label_of(last, "why")).text);
}

/* Older records of a rank are of attempts before; the first that is the newest of its rank
 * stands for the job. Without one there is nothing to say. */
static void top_page_write_job(FILE *output, const struct top_view *view)
{
    struct job_so_far so_far = sum_up_job(view->records);
    const struct job_record *first = NULL;

    for (size_t i = 0; i < view->records->count && !first; i++)
        first = view->records->records[i]->is_newest ? view->records->records[i] : NULL;
    if (!first)
        return;
    fprintf(output, "%s", show_text(view->records->capture).text);
    if (first->progress.reader.header.job[0])
        fprintf(output, ", job %s", show_text(first->progress.reader.header.job).text);
    fprintf(output, "\n");
    write_so_far(output, &so_far, first);
    write_time_left(output, view->planned_steps, &first->progress);
    write_parts(output, &first->progress);
    write_between(output, &first->progress);
    write_energy(output, &first->progress);
    write_triggers(output, view);
    if (view->mfu_needs)
        fprintf(output, "MFU: not known: %s\n", view->mfu_needs);
}

static void top_page_write_head(FILE *output, const struct top_view *view)
{
    top_write_wrapped(output, view, 2, top_page_write_job);
}

static void write_machine(FILE *output, const struct top_view *view)
{
    SCOPED(arena) arena = {0};

    write_top_machine(output, &arena, view);
}

/* In memory of its own, to be freed; *lines: how many it has. */
static char *top_page_written(const struct top_view *view, int *lines,
                              void (*write)(FILE *output, const struct top_view *view))
{
    char *text = NULL;
    size_t length = 0;
    FILE *memory = require_memory(open_memstream(&text, &length));

    write(memory, view);
    (void)fclose(memory);
    for (const char *at = text; *at; at++)
        *lines += *at == '\n';
    return text;
}

/* The head and the machine are written to memory first, since the number of their lines
 * decides how many ranks have room. */
void write_top_page(FILE *output, const struct top_view *view)
{
    SCOPED(arena) arena = {0};
    int lines = 0;
    char *head = view->records ? top_page_written(view, &lines, top_page_write_head) : NULL;
    char *machine = top_page_written(view, &lines, write_machine);

    if (head) {
        fprintf(output, "%s\n", head);
        top_page_write_ranks(output, &arena, view, lines);
        fputc('\n', output);
    }
    fputs(machine, output);
    free(head);
    free(machine);
}
