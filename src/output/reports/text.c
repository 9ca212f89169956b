/* The report for people: a page for a terminal. */
#include "base/core/invariant.h"
#include "base/text/display_text.h"
#include "base/text/format.h"
#include "base/text/text_table.h"
#include "base/text/text_wrap.h"
#include "output/reports/cells_as_text.h"
#include "output/reports/first_screen.h"
#include "output/reports/report.h"
#include "output/reports/section_choice.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Lines of prose beyond 100 columns are hard to read, however wide the terminal is; tables may
 * be wider. */
enum { PROSE_WIDTH_MAX = 100, NOTE_GAP = 2, COSTLY_MAX = 5 };

/* What the page has said of what is not known. */
enum { SAID_HINTS_MAX = 64 };
struct said_hints {
    const char *hints[SAID_HINTS_MAX];
    size_t count;
};

struct page {
    FILE *output;
    struct text_style style;
    struct arena *arena;
    const char *sections; /* NULL, or the names of those that are printed */
    bool has_begun;       /* something is written: a blank line parts what follows */
    struct said_hints *said;
};

enum emphasis { PLAIN, STRONG, QUIET, WARNING };

static void emphasise(const struct page *page, enum emphasis emphasis)
{
    static const char *const codes[] = {
        [PLAIN] = "\033[0m", [STRONG] = "\033[1m", [QUIET] = "\033[2m", [WARNING] = "\033[33m"};

    if (page->style.use_color)
        fputs(codes[emphasis], page->output);
}

static const char *text_safe(const struct page *page, const char *text)
{
    return display_text(page->arena, text, page->style.use_unicode);
}

static int prose_width(const struct page *page)
{
    return page->style.width < PROSE_WIDTH_MAX ? page->style.width : PROSE_WIDTH_MAX;
}

/* A paragraph whose lines begin at `indent`; `before` stands in front of the first. */
static void write_prose(const struct page *page, const char *before, int indent, const char *text,
                        enum emphasis emphasis)
{
    int column = display_columns(before);

    fputs(before, page->output);
    emphasise(page, emphasis);
    write_wrapped(
        page->output, text_safe(page, text),
        (struct text_margins){.column = column, .indent = indent, .width = prose_width(page)});
    if (emphasis != PLAIN)
        emphasise(page, PLAIN);
}

/* A blank line, but at the top of the page. */
static void part(struct page *page)
{
    if (page->has_begun)
        fputc('\n', page->output);
    page->has_begun = true;
}

/* "── Step ledger ─────────" Drawn to the full width, so that sections are seen in a long page;
 * the title is shortened in its middle if it is longer. */
static void text_write_heading(struct page *page, const char *title)
{
    const char *line = page->style.use_unicode ? "─" : "-";
    const char *text = shorten_middle(page->arena, text_safe(page, title), page->style.width - 6,
                                      page->style.use_unicode);

    part(page);
    emphasise(page, STRONG);
    fprintf(page->output, "%s%s %s ", line, line, text);
    for (int column = display_columns(text) + 4; column < page->style.width; column++)
        fputs(line, page->output);
    emphasise(page, PLAIN);
    fputc('\n', page->output);
}

/* "5 to 10", "3, 7, 9": the numbers of the steps that show a finding. Steps without a gap are a
 * range; more than LISTED_MAX end with dots. The text has room for all that may be listed. */
static const char *step_list(const struct page *page, const struct advice_estimate *estimate)
{
    enum { LISTED_MAX = 6, NUMBER_COLUMNS = 24 };
    size_t last = estimate->step_count - 1;
    char *text = arena_allocate(page->arena, (LISTED_MAX + 2) * (size_t)NUMBER_COLUMNS);
    size_t size = (LISTED_MAX + 2) * (size_t)NUMBER_COLUMNS;
    int length = snprintf(text, size, "step%s %" PRId64, last ? "s" : "", estimate->steps[0]);

    if (last > 1 && estimate->steps[last] - estimate->steps[0] == (int64_t)last) {
        snprintf(text + length, size - (size_t)length, " to %" PRId64, estimate->steps[last]);
        return text;
    }
    for (size_t i = 1; i <= last && i < LISTED_MAX; i++)
        length += snprintf(text + length, size - (size_t)length, ", %" PRId64, estimate->steps[i]);
    if (last >= LISTED_MAX)
        snprintf(text + length, size - (size_t)length, ", ...");
    return text;
}

/* "1.51x" */
static const char *speedup_text(const struct page *page, double speedup)
{
    enum { SIZE = 32 };
    char *text = arena_allocate(page->arena, SIZE);

    snprintf(text, SIZE, "%.*fx", speedup < 10 ? 2 : 0, speedup);
    return text;
}

/* "waiting for data: 58.734 ms of each step (33.6 %), at most 1.51x" */
static const char *costed_text(const struct page *page, const struct finding *finding)
{
    const struct advice_estimate *estimate = finding->estimate;
    size_t size = strlen(finding->what) + 160;
    char *text = arena_allocate(page->arena, size);
    int length;

    if (finding->cost_ns < 0)
        return finding->what;
    length = snprintf(text, size, "%s: %s of %s %s (%s)", finding->what,
                      format_time(finding->cost_ns).text,
                      strcmp(estimate->span, "step") == 0 ? "each" : "the", estimate->span,
                      format_fraction(estimate->share).text);
    if (estimate->ceiling_speedup > 0)
        snprintf(text + length, size - (size_t)length, ", at most %s",
                 speedup_text(page, estimate->ceiling_speedup));
    return text;
}

/* Evidence with the steps it is from, and how sure it is. */
static const char *costed_evidence(const struct page *page, const struct finding *finding)
{
    const char *steps =
        finding->estimate->step_count && strcmp(finding->estimate->span, "step") == 0
            ? step_list(page, finding->estimate)
            : "";
    size_t size = strlen(steps) + strlen(finding->evidence) + 3;
    char *text = arena_allocate(page->arena, size);

    snprintf(text, size, "%s%s%s", steps, *steps ? ": " : "", finding->evidence);
    return text;
}

/* What a replay's number is beside: how sure it is, or why it is more than the ceiling by removal;
 * "" where there is nothing to add. A replay may bring more than the time that is removed, for
 * what was hidden behind it goes as well: that is said, or it would look like an error. */
static const char *beside_replay(const struct page *page, const struct advice_estimate *estimate)
{
    double removal_speedup = estimate->share < 1 ? 1 / (1 - estimate->share) : 0;
    enum { SIZE = 200 };
    char *text = arena_allocate(page->arena, SIZE);

    text[0] = '\0';
    if (estimate->most_speedup > 0)
        snprintf(
            text, SIZE,
            " at least, if the loader's processes share the core of the thread that launches; %s "
            "if they have cores of their own",
            speedup_text(page, estimate->most_speedup));
    else if (removal_speedup > 0 && estimate->replayed_speedup > 1.005 * removal_speedup)
        snprintf(text, SIZE, ": more than this time alone (%s), for it takes hidden time, too",
                 speedup_text(page, removal_speedup));
    return text;
}

/* "replayed with sync=0: 116.762 ms a step, 1.50x" */
static void write_replay(const struct page *page, const struct advice_estimate *estimate)
{
    const char *beside = beside_replay(page, estimate);
    size_t size = strlen(estimate->change) + strlen(beside) + 160;
    char *text = arena_allocate(page->arena, size);

    if (estimate->replayed_step_ns < 0)
        snprintf(text, size,
                 "replayed with %s: not known, the replay is too far from the recording",
                 estimate->change);
    else
        snprintf(text, size, "replayed with %s: %s a %s, %s%s", estimate->change,
                 format_time(estimate->replayed_step_ns).text, estimate->span,
                 speedup_text(page, estimate->replayed_speedup), beside);
    write_prose(page, "    ", 4, text, QUIET);
}

static void write_confidence(const struct page *page, const struct advice_estimate *estimate)
{
    size_t size = strlen(estimate->confidence) + strlen(estimate->reason) + 16;
    char *text = arena_allocate(page->arena, size);

    snprintf(text, size, "confidence: %s (%s)", estimate->confidence, estimate->reason);
    write_prose(page, "    ", 4, text, QUIET);
}

/* An estimate has its own words (a share, a bound of the speedup); a cost alone is told per
 * step; without either there is only what was found. */
static const char *cost_text(const struct page *page, const struct finding *finding)
{
    size_t size = strlen(finding->what) + 96;
    char *text;

    if (finding->estimate)
        return costed_text(page, finding);
    if (finding->cost_ns <= 0)
        return finding->what;
    text = arena_allocate(page->arena, size);
    snprintf(text, size, "%s (%s per step)", finding->what, format_time(finding->cost_ns).text);
    return text;
}

/* Evidence is quiet and the remedy is not: a reader in a hurry sees what is wrong and what to
 * do. */
static void text_write_finding(const struct page *page, const struct finding *finding)
{
    enum emphasis emphasis = finding->is_warning ? WARNING : finding->estimate ? STRONG : PLAIN;

    write_prose(page, finding->is_warning ? "! " : "* ", 2, cost_text(page, finding), emphasis);
    if (finding->evidence)
        write_prose(page, "    ", 4,
                    finding->estimate ? costed_evidence(page, finding) : finding->evidence, QUIET);
    if (finding->try_this)
        write_prose(page, page->style.use_unicode ? "  → " : "  > ", 4, finding->try_this, PLAIN);
    if (finding->estimate && finding->estimate->change)
        write_replay(page, finding->estimate);
    if (finding->estimate && finding->cost_ns >= 0)
        write_confidence(page, finding->estimate);
}

/* Warnings in the first pass, the rest in the second: each pass keeps the order. */
static void text_write_findings(const struct page *page, const struct finding *findings,
                                size_t count)
{
    for (size_t pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < count; i++) {
            if (findings[i].is_warning == (pass == 0))
                text_write_finding(page, &findings[i]);
        }
    }
}

/* What would tell; how to get it is said once a page. By the text: several numbers and columns
 * may lack the same, and a page says only once how to get it. */
static const char *hint_once(const struct page *page, const char *needs)
{
    struct said_hints *said = page->said;

    for (size_t i = 0; i < said->count; i++)
        if (strcmp(said->hints[i], needs) == 0)
            return brief_hint(page->arena, needs);
    if (said->count < SAID_HINTS_MAX)
        said->hints[said->count++] = needs;
    return needs;
}

/* What stands behind a number: its note, or what it would need to be known. */
static const char *remark_of(const struct page *page, const struct number *number)
{
    return number->value.unit == UNIT_NOT_KNOWN ? hint_once(page, number->value.text)
                                                : number->note;
}

/* How wide the titles and values of a section's numbers are. */
struct number_layout {
    int title_columns;
    int value_columns;
    bool is_right; /* numbers under each other, no text among them */
};

/* Numbers stand right under each other only if no text is among the values. */
static struct number_layout number_layout(const struct page *page, const struct section *section)
{
    struct number_layout layout = {.is_right = true};

    for (size_t i = 0; i < section->number_count; i++) {
        const struct number *number = &section->numbers[i];
        int title = display_columns(text_safe(page, number->title));
        int value =
            display_columns(value_as_text(page->arena, &number->value, page->style.use_unicode));

        if (number_is_for_programs(number))
            continue;
        if (title > layout.title_columns)
            layout.title_columns = title;
        if (number->value.unit == UNIT_TEXT)
            layout.is_right = false;
        else if (value > layout.value_columns)
            layout.value_columns = value;
    }
    return layout;
}

/* A text is written up to the margin, as it may be a sentence. A remark begins behind the
 * value and goes on below its own begin, so that values stay in sight. */
static void text_write_number(const struct page *page, const struct number *number,
                              const struct number_layout *layout)
{
    const char *title = text_safe(page, number->title);
    const char *value = value_as_text(page->arena, &number->value, page->style.use_unicode);
    const char *remark = remark_of(page, number);
    int value_columns = display_columns(value);
    int column = fprintf(page->output, "  %s%*s  ", title,
                         layout->title_columns - display_columns(title), "");
    int indent = layout->title_columns + 4;

    (void)column;
    if (layout->is_right)
        fprintf(page->output, "%*s", layout->value_columns - value_columns, "");
    /* A text has no remark beside it: it takes the room itself. */
    if (number->value.unit == UNIT_TEXT) {
        write_wrapped(
            page->output, value,
            (struct text_margins){.column = indent, .indent = indent, .width = page->style.width});
        return;
    }
    fputs(value, page->output);
    if (!remark) {
        fputc('\n', page->output);
        return;
    }
    column = indent + (layout->is_right ? layout->value_columns : value_columns) + NOTE_GAP;
    fprintf(page->output, "%*s", NOTE_GAP, "");
    emphasise(page, QUIET);
    write_wrapped(
        page->output, text_safe(page, remark),
        (struct text_margins){.column = column, .indent = column, .width = page->style.width});
    emphasise(page, PLAIN);
}

static void text_write_numbers(const struct page *page, const struct section *section)
{
    struct number_layout layout = number_layout(page, section);

    for (size_t i = 0; i < section->number_count; i++)
        if (!number_is_for_programs(&section->numbers[i]))
            text_write_number(page, &section->numbers[i], &layout);
}

/* One for each column on the page that holds a "not known", and for each that is not there because
 * it holds nothing else. */
static void write_needs(const struct page *page, const struct table *table,
                        const struct page_table *shown, const int *widths)
{
    size_t count;
    const struct table_need *needs = find_table_needs(page->arena, table, shown, widths, &count);

    for (size_t i = 0; i < count; i++) {
        const char *hint = hint_once(page, needs[i].needs);
        size_t size = strlen(needs[i].what) + strlen(hint) + 3;
        char *text = arena_allocate(page->arena, size);

        snprintf(text, size, "%s: %s", needs[i].what, hint);
        write_prose(page, "  ", 4, text, QUIET);
    }
}

/* A section's only table often has the section's own title, which is not printed twice. */
static void write_table_title(const struct page *page, const struct section *section,
                              const struct table *table)
{
    fputc('\n', page->output);
    if (table->title && strcmp(table->title, section->title) != 0) {
        emphasise(page, STRONG);
        fprintf(page->output, "  %s\n", text_safe(page, table->title));
        emphasise(page, PLAIN);
    }
    if (table->note)
        write_prose(page, "  ", 2, table->note, QUIET);
}

/* Rows that were left out are counted, with the option that shows them. */
static void text_write_table(const struct page *page, const struct section *section,
                             const struct table *table)
{
    struct page_table shown = table_as_text(page->arena, table, page->style.use_unicode);
    const int *widths;

    if (shown.text.row_count == 0 || shown.text.column_count == 0)
        return;
    write_table_title(page, section, table);
    widths = text_table_write(&shown.text, page->output, 2, page->style, page->arena);
    if (table->rows_in_all > table->row_count)
        fprintf(page->output, "  %s and %s more (--top 0 shows all)\n",
                page->style.use_unicode ? "…" : "...",
                format_count((int64_t)(table->rows_in_all - table->row_count)).text);
    write_needs(page, table, &shown, widths);
}

/* Empty lines are between parts, never before the first or behind the last: which parts there
 * are decides where one is needed. */
static void text_write_section(struct page *page, const struct section *section)
{
    text_write_heading(page, section->title);
    if (section->intro)
        write_prose(page, "", 0, section->intro, QUIET);
    if (section->intro &&
        (section->number_count > 0 || (section->table_count == 0 && section->finding_count > 0)))
        fputc('\n', page->output);
    text_write_numbers(page, section);
    for (size_t i = 0; i < section->table_count; i++)
        text_write_table(page, section, section->tables[i]);
    if (section->finding_count > 0 && (section->number_count > 0 || section->table_count > 0))
        fputc('\n', page->output);
    text_write_findings(page, section->findings, section->finding_count);
}

static bool text_is_chosen(const struct page *page, const struct section *section)
{
    return !page->sections || section_is_chosen(page->sections, section->key);
}

static void text_write_rank(struct page *page, const struct rank_results *rank)
{
    for (size_t i = 0; i < rank->section_count; i++)
        if (text_is_chosen(page, rank->sections[i]))
            text_write_section(page, rank->sections[i]);
}

/* The findings of a rank that cost the most time, most first. */
struct costly_findings {
    const struct finding *findings[COSTLY_MAX];
    size_t count;
};

/* Insertion, as on the first screen; findings without a cost do not belong here. */
static void text_consider(struct costly_findings *costly, const struct finding *finding)
{
    size_t at = costly->count;

    while (at > 0 && costly->findings[at - 1]->cost_ns < finding->cost_ns)
        at--;
    if (finding->cost_ns <= 0 || at == COSTLY_MAX)
        return;
    if (costly->count < COSTLY_MAX)
        costly->count++;
    for (size_t i = costly->count - 1; i > at; i--)
        costly->findings[i] = costly->findings[i - 1];
    costly->findings[at] = finding;
}

/* A table that exists only here is made for the same writer as all others: the columns and
 * scales are then the same. */
static void write_costly(const struct page *page, const struct costly_findings *costly)
{
    const struct advice_estimate *estimate = costly->count ? costly->findings[0]->estimate : NULL;
    bool is_window = estimate && strcmp(estimate->span, "window") == 0;
    struct column columns[] = {
        {.key = "cost",
         .title = is_window ? "of the window" : "of each step",
         .unit = UNIT_TIME_NS},
        {.key = "share", .title = "share", .unit = UNIT_FRACTION},
        {.key = "what", .title = "largest losses", .unit = UNIT_TEXT},
    };
    enum { COLUMNS = sizeof columns / sizeof *columns };
    struct value cells[COLUMNS * COSTLY_MAX];
    struct table table = {
        .columns = columns, .column_count = COLUMNS, .cells = cells, .row_count = costly->count};
    struct page_table shown;

    /* Nothing that costs time has no table, not one without rows. */
    if (costly->count == 0)
        return;
    for (size_t i = 0; i < costly->count; i++) {
        const struct finding *finding = costly->findings[i];

        cells[COLUMNS * i] = value_time_ns(finding->cost_ns);
        cells[COLUMNS * i + 1] =
            finding->estimate ? value_fraction(finding->estimate->share) : value_none();
        cells[COLUMNS * i + 2] = value_text(finding->what);
    }
    shown = table_as_text(page->arena, &table, page->style.use_unicode);
    fputc('\n', page->output);
    text_table_write(&shown.text, page->output, 2, page->style, page->arena);
}

/* What a reader in a hurry should know: what is wrong with the input, and what costs most. */
static void text_write_summary(const struct page *page, const struct rank_results *rank)
{
    struct costly_findings costly = {0};

    for (size_t i = 0; i < rank->section_count; i++) {
        const struct section *section = rank->sections[i];

        for (size_t j = 0; j < section->finding_count; j++) {
            if (section->findings[j].is_warning)
                write_prose(page, "! ", 2, section->findings[j].what, WARNING);
            text_consider(&costly, &section->findings[j]);
        }
    }
    write_costly(page, &costly);
}

/* "rank 3: trace.json.gz" */
static void write_rank_title(const struct page *page, const struct rank_results *rank)
{
    const char *file =
        strcmp(rank->file, "-") == 0 ? "standard input" : text_safe(page, rank->file);
    const char *label = text_safe(page, rank->label);

    emphasise(page, STRONG);
    if (rank->rank >= 0)
        fprintf(page->output, "%s: %s\n", label, file);
    else
        fprintf(page->output, "%s\n", file);
    emphasise(page, PLAIN);
}

/* One that waits shows its own waiting: the cause is in the one it waits for. */
static void write_why_this_one(struct page *page, const struct results *results,
                               const struct rank_results *rank)
{
    const char *awaited = results->awaited_rank;
    char text[128];

    if (awaited && strcmp(awaited, rank->label) == 0)
        (void)snprintf(text, sizeof text,
                       "The one that the others wait for: --rank N chooses "
                       "another.");
    else if (awaited)
        (void)snprintf(text, sizeof text,
                       "This one in full, which waits for %s: --rank N shows that one.", awaited);
    else if (rank->rank < 0)
        (void)snprintf(text, sizeof text, "This one in full: report another one alone to see it.");
    else
        (void)snprintf(text, sizeof text, "This one in full: --rank N chooses another.");
    write_prose(page, "", 0, text, QUIET);
}

/* The summary is for a page of one rank among several: a page of all would repeat its
 * sections. */
static void text_write_ranks(struct page *page, const struct results *results)
{
    bool prints_all = results->detailed_rank == ALL_RANKS;
    size_t first = prints_all ? 0 : results->detailed_rank;
    size_t last = prints_all ? results->rank_count : first + 1;

    for (size_t i = first; i < last && i < results->rank_count; i++) {
        part(page);
        write_rank_title(page, &results->ranks[i]);
        if (!prints_all && (results->rank_count > 1 || results->overview))
            write_why_this_one(page, results, &results->ranks[i]);
        if (results->ranks[i].headline)
            write_prose(page, "", 0, results->ranks[i].headline, STRONG);
        if (!prints_all && !page->sections)
            text_write_summary(page, &results->ranks[i]);
        text_write_rank(page, &results->ranks[i]);
    }
}

/* Problems come first, since they say that the numbers below are not of all files. What all
 * ranks have in common stands before the ranks one by one. */
static void text_write_whole(struct page *page, const struct results *results)
{
    page->has_begun = results->problem_count > 0;
    text_write_findings(page, results->problems, results->problem_count);
    if (results->headline) {
        part(page);
        write_prose(page, "", 0, results->headline, STRONG);
    }
    if (results->overview && text_is_chosen(page, results->overview))
        text_write_section(page, results->overview);
    text_write_ranks(page, results);
}

/* The ranks whose sections a page has: one, or all of them. */
static size_t first_rank(const struct results *results)
{
    return results->detailed_rank == ALL_RANKS ? 0 : results->detailed_rank;
}

/* Of one rank or of all, as the page prints: a section that only another rank has does not
 * count. */
static bool has_chosen_section(const struct page *page, const struct results *results)
{
    bool has_one = results->overview && text_is_chosen(page, results->overview);

    for (size_t i = first_rank(results); i < results->rank_count; i++)
        for (size_t j = 0; j < results->ranks[i].section_count; j++)
            has_one = has_one || text_is_chosen(page, results->ranks[i].sections[j]);
    return has_one;
}

/* A name that a report does not have is an error although other sections are there: a script
 * that asks for one must not take silence for "nothing found". */
static bool write_sections(struct page *page, const struct results *results, const char *names,
                           struct error *error)
{
    page->sections = names;
    if (!has_chosen_section(page, results))
        return error_set(error, ERROR_NO_DATA,
                         "this report has no section '%s': --list-sections prints what it has",
                         names);
    text_write_whole(page, results);
    return true;
}

static void write_section_name(const struct page *page, const struct section *section)
{
    const char *group = section_group(section->key);

    fprintf(page->output, "%-18s %-15s %s\n", section_name(section->key), group ? group : "",
            text_safe(page, section->title));
}

/* Each section of the report with its name, its group and its title. */
static void write_list(const struct page *page, const struct results *results)
{
    size_t first = first_rank(results);

    if (results->overview)
        write_section_name(page, results->overview);
    for (size_t i = 0; first < results->rank_count && i < results->ranks[first].section_count; i++)
        write_section_name(page, results->ranks[first].sections[i]);
}

static void text_write_screen(const struct page *page, const struct results *results)
{
    struct first_screen screen;

    make_first_screen(&screen, page->arena, results, page->style.use_unicode);
    write_first_screen(page->output, &screen, page->style, page->arena);
}

/* Hints are said once per page (`said`), however many sections would give them. */
static bool text_write_text(FILE *output, const struct results *results,
                            const struct report_options *options, struct error *error)
{
    SCOPED(arena) arena = {0};
    struct said_hints said = {.count = 0};
    struct page page = {.output = output, .arena = &arena, .said = &said};

    page.style = (struct text_style){.width = options->width,
                                     .use_color = options->use_color,
                                     .use_unicode = options->use_unicode};
    switch (options->extent) {
    case REPORT_WHOLE:
        text_write_whole(&page, results);
        break;
    case REPORT_FIRST_SCREEN:
        text_write_screen(&page, results);
        break;
    case REPORT_SECTIONS:
        return write_sections(&page, results, options->sections, error);
    case REPORT_LIST:
        write_list(&page, results);
        break;
    }
    return true;
}

const struct report text_report = {
    .name = "text",
    .summary = "for people: a page for a terminal",
    .write = text_write_text,
};
