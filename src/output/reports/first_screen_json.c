/* First screens as JSON, for the page. */
#include "output/reports/first_screen_json.h"

#include "base/core/arena.h"
#include "base/core/attributes.h"
#include "output/reports/first_screen.h"

static void write_chart(struct json_writer *json, const struct screen_chart *chart)
{
    if (!chart->title || chart->row_count == 0) {
        json_null(json, "chart");
        return;
    }
    json_begin_object(json, "chart", JSON_ONE_PER_LINE);
    json_text(json, "title", chart->title);
    json_text(json, "unit", chart->unit);
    json_text(json, "remark_title", chart->remark_title);
    json_text(json, "total", chart->total);
    json_begin_array(json, "rows", JSON_ONE_PER_LINE);
    for (size_t i = 0; i < chart->row_count; i++) {
        const struct screen_row *row = &chart->rows[i];

        json_begin_object(json, NULL, JSON_ON_ONE_LINE);
        json_text(json, "group", row->group);
        json_text(json, "title", row->title);
        json_text(json, "amount", row->amount);
        json_text(json, "percent", row->percent);
        json_real(json, "share", row->share);
        json_text(json, "remark", row->remark);
        json_text(json, "key", row->key);
        json_end_object(json);
    }
    json_end_array(json);
    json_end_object(json);
}

static void write_findings(struct json_writer *json, const struct first_screen *screen)
{
    json_text(json, "findings_title", screen->findings_title);
    json_begin_array(json, "findings", JSON_ONE_PER_LINE);
    for (size_t i = 0; i < screen->finding_count; i++) {
        const struct screen_finding *finding = &screen->findings[i];

        json_begin_object(json, NULL, JSON_ON_ONE_LINE);
        json_text(json, "what", finding->what);
        json_text(json, "try", finding->try_this);
        json_text(json, "estimate", finding->estimate);
        json_text(json, "confidence", finding->confidence);
        json_text(json, "id", finding->id);
        json_end_object(json);
    }
    json_end_array(json);
}

static void first_screen_json_write_texts(struct json_writer *json, const char *key,
                                          const char *const *texts, size_t count)
{
    json_begin_array(json, key, JSON_ON_ONE_LINE);
    for (size_t i = 0; i < count; i++)
        json_text(json, NULL, texts[i]);
    json_end_array(json);
}

static void first_screen_json_write_screen(struct json_writer *json, const char *key,
                                           const struct results *results)
{
    SCOPED(arena) arena = {0};
    struct first_screen screen;

    make_first_screen(&screen, &arena, results, true);
    json_begin_object(json, key, JSON_ONE_PER_LINE);
    json_text(json, "subject", screen.subject);
    first_screen_json_write_texts(json, "figures", screen.figures, screen.figure_count);
    json_text(json, "verdict", screen.verdict);
    first_screen_json_write_texts(json, "answers", screen.answers, screen.answer_count);
    first_screen_json_write_texts(json, "warnings", screen.warnings, screen.warning_count);
    json_integer(json, "further_warnings", (int64_t)screen.further_warnings);
    write_chart(json, &screen.chart);
    write_findings(json, &screen);
    json_text(json, "not_known", screen.not_known);
    json_end_object(json);
}

void write_first_screens(struct json_writer *json, const struct results *results)
{
    struct results shown = *results;

    json_begin_object(json, NULL, JSON_ONE_PER_LINE);
    shown.detailed_rank = 0;
    if (results->overview)
        first_screen_json_write_screen(json, "job", &shown);
    else
        json_null(json, "job");
    json_begin_array(json, "ranks", JSON_ONE_PER_LINE);
    shown.overview = NULL;
    shown.headline = NULL;
    for (size_t i = 0; i < results->rank_count; i++) {
        shown.detailed_rank = i;
        first_screen_json_write_screen(json, NULL, &shown);
    }
    json_end_array(json);
    json_end_object(json);
}
