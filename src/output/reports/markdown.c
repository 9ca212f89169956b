/* The report for a page of a code host: the summary of a CI job, a comment on a change. GitHub's
 * Markdown; tables of many rows are folded. */
#include "base/text/display_text.h"
#include "base/text/format.h"
#include "output/reports/cells_as_text.h"
#include "output/reports/report.h"

#include <stdio.h>
#include <string.h>

/* A longer table is folded away, and beyond the second limit cut. */
enum { OPEN_ROWS_MAX = 12, ROWS_MAX = 50 };

struct markdown {
    FILE *output;
    struct arena *arena;
};

/* Nothing in the text is markup: names of kernels have < and _, paths have anything. GitHub's
 * own marks are among them: '#' and '@' would link issues and people, '|' ends a cell. */
static void markdown_write_escaped(const struct markdown *markdown, const char *text)
{
    const char *shown = display_text(markdown->arena, text, true);

    for (const char *at = shown; *at; at++) {
        if (*at == '<')
            fputs("&lt;", markdown->output);
        else if (*at == '&')
            fputs("&amp;", markdown->output);
        else if (strchr("\\`*_{}[]#|~>@", *at))
            (void)fprintf(markdown->output, "\\%c", *at);
        else
            (void)fputc(*at, markdown->output);
    }
}

static void markdown_write_paragraph(const struct markdown *markdown, const char *before,
                                     const char *text)
{
    fputs(before, markdown->output);
    markdown_write_escaped(markdown, text);
    fputs("\n\n", markdown->output);
}

/* One list item is one line: a newline in a text would end it, and display_text leaves none. */
static void markdown_write_finding(const struct markdown *markdown, const struct finding *finding)
{
    fputs("- **", markdown->output);
    markdown_write_escaped(markdown, finding->what);
    fputs("**", markdown->output);
    if (finding->cost_ns >= 0)
        (void)fprintf(markdown->output, ", %s per step", format_time(finding->cost_ns).text);
    if (finding->evidence) {
        fputs(": ", markdown->output);
        markdown_write_escaped(markdown, finding->evidence);
    }
    if (finding->try_this) {
        fputs(". Try: ", markdown->output);
        markdown_write_escaped(markdown, finding->try_this);
    }
    (void)fputc('\n', markdown->output);
}

static void markdown_write_findings(const struct markdown *markdown, const struct finding *findings,
                                    size_t count)
{
    for (size_t i = 0; i < count; i++)
        markdown_write_finding(markdown, &findings[i]);
    if (count > 0)
        (void)fputc('\n', markdown->output);
}

/* An empty line must end a list, or the table behind it would become a part of its last entry. */
static void markdown_write_numbers(const struct markdown *markdown, const struct section *section)
{
    for (size_t i = 0; i < section->number_count; i++) {
        const struct number *number = &section->numbers[i];

        if (number_is_for_programs(number))
            continue;
        fputs("- ", markdown->output);
        markdown_write_escaped(markdown, number->title);
        fputs(": ", markdown->output);
        markdown_write_escaped(markdown, value_as_text(markdown->arena, &number->value, true));
        (void)fputc('\n', markdown->output);
    }
    if (section->number_count > 0)
        (void)fputc('\n', markdown->output);
}

static bool markdown_is_shown(const struct text_table *table, size_t column)
{
    return table->columns[column].kind != TEXT_COLUMN_BAR &&
           table->columns[column].priority < PRIORITY_FOR_PROGRAMS;
}

/* GitHub's tables: numbers are aligned to the right by the colon, so that they can be
 * compared. */
static void markdown_write_head(const struct markdown *markdown, const struct text_table *table)
{
    for (size_t i = 0; i < table->column_count; i++) {
        if (!markdown_is_shown(table, i))
            continue;
        fputs("| ", markdown->output);
        markdown_write_escaped(markdown, table->columns[i].title);
        (void)fputc(' ', markdown->output);
    }
    fputs("|\n", markdown->output);
    for (size_t i = 0; i < table->column_count; i++) {
        if (markdown_is_shown(table, i))
            fputs(table->columns[i].kind == TEXT_COLUMN_NUMBER ? "|---:" : "|---",
                  markdown->output);
    }
    fputs("|\n", markdown->output);
}

/* Blanks in front of a cell are trimmed, so that depth is shown by blanks that are not. */
static void write_row(const struct markdown *markdown, const struct text_table *table, size_t row)
{
    bool is_first = true;

    for (size_t i = 0; i < table->column_count; i++) {
        const char *text = table->cells[row * table->column_count + i].text;

        if (!markdown_is_shown(table, i))
            continue;
        fputs("| ", markdown->output);
        for (int depth = 0; is_first && table->depths && depth < table->depths[row]; depth++)
            fputs("&nbsp;&nbsp;", markdown->output);
        if (text)
            markdown_write_escaped(markdown, text);
        (void)fputc(' ', markdown->output);
        is_first = false;
    }
    fputs("|\n", markdown->output);
}

/* Long tables are folded, and cut at ROWS_MAX: comments on a change have a limit of 65,536
 * characters at GitHub. */
static void markdown_write_table(const struct markdown *markdown, const struct table *table)
{
    const struct page_table page = table_as_text(markdown->arena, table, true);
    size_t rows = table->row_count < ROWS_MAX ? table->row_count : ROWS_MAX;
    bool is_folded = rows > OPEN_ROWS_MAX;

    if (rows == 0)
        return;
    fputs(is_folded ? "<details><summary>" : "**", markdown->output);
    markdown_write_escaped(markdown, table->title);
    fputs(is_folded ? "</summary>\n\n" : "**\n\n", markdown->output);
    markdown_write_head(markdown, &page.text);
    for (size_t row = 0; row < rows; row++)
        write_row(markdown, &page.text, row);
    if (table->row_count > rows)
        (void)fprintf(markdown->output, "\n%zu more rows\n", table->row_count - rows);
    fputs(is_folded ? "\n</details>\n\n" : "\n", markdown->output);
}

/* Findings before numbers: on such a page few readers go past the first lines of a section. */
static void markdown_write_section(const struct markdown *markdown, const struct section *section)
{
    if (section->number_count == 0 && section->table_count == 0 && section->finding_count == 0)
        return;
    markdown_write_paragraph(markdown, "### ", section->title);
    markdown_write_findings(markdown, section->findings, section->finding_count);
    markdown_write_numbers(markdown, section);
    for (size_t i = 0; i < section->table_count; i++)
        markdown_write_table(markdown, section->tables[i]);
}

/* Headings begin at the second level: the first is the title of whatever page the text is put
 * into. */
static bool write_markdown(FILE *output, const struct results *results,
                           const struct report_options *options, struct error *error)
{
    SCOPED(arena) arena = {0};
    const struct markdown markdown = {.output = output, .arena = &arena};

    (void)options;
    (void)error;
    if (results->headline)
        markdown_write_paragraph(&markdown, "## ", results->headline);
    markdown_write_findings(&markdown, results->problems, results->problem_count);
    if (results->overview)
        markdown_write_section(&markdown, results->overview);
    for (size_t i = 0; i < results->rank_count; i++) {
        const struct rank_results *rank = &results->ranks[i];

        if (results->detailed_rank != ALL_RANKS && results->detailed_rank != i)
            continue;
        markdown_write_paragraph(&markdown, "## ", rank->headline ? rank->headline : rank->label);
        for (size_t k = 0; k < rank->section_count; k++)
            markdown_write_section(&markdown, rank->sections[k]);
    }
    return true;
}

const struct report markdown_report = {
    .name = "markdown",
    .summary = "for the summary of a CI job, or a comment",
    .write = write_markdown,
};
