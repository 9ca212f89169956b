/* Makes the first screen of results: what all kinds of them share. */
#include "base/text/format.h"
#include "output/reports/first_screen.h"
#include "output/reports/screen_text.h"
#include "output/reports/section_choice.h"
#include "output/results/device_words.h"
#include "output/results/results.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define SCREEN_KIND(name) extern const struct screen_kind name##_screen;
#include "output/reports/screen_kind_list.def"
#undef SCREEN_KIND

static const struct screen_kind *const kinds[] = {
#define SCREEN_KIND(name) &name##_screen,
#include "output/reports/screen_kind_list.def"
#undef SCREEN_KIND
};

enum { KIND_COUNT = sizeof kinds / sizeof *kinds, NEEDS_MAX = 6 };

/* Beyond SCREEN_WARNINGS_MAX they are counted: that there are more must be seen. */
static void add_warning(struct screen_builder *builder, const char *what)
{
    struct first_screen *screen = builder->screen;

    if (screen->warning_count < SCREEN_WARNINGS_MAX)
        screen->warnings[screen->warning_count++] = what;
    else
        screen->further_warnings++;
}

static void add_warnings_of(struct screen_builder *builder, const struct section *section)
{
    for (size_t i = 0; i < section->finding_count; i++)
        if (section->findings[i].is_warning)
            add_warning(builder, section->findings[i].what);
}

/* Problems of the input first, then all ranks, then the one that is shown. Where warnings are
 * the findings of the screen they would stand twice. */
static void add_warnings(struct screen_builder *builder, const struct screen_kind *kind)
{
    const struct results *results = builder->results;

    for (size_t i = 0; i < results->problem_count; i++)
        add_warning(builder, results->problems[i].what);
    if (kind && kind->warnings_are_findings)
        return;
    if (results->overview)
        add_warnings_of(builder, results->overview);
    for (size_t i = 0; builder->rank && i < builder->rank->section_count; i++)
        add_warnings_of(builder, builder->rank->sections[i]);
}

/* The findings that are worth most: those of all ranks before those of one, those that cost time
 * before those that do not, most first, of equals the first. */
struct chosen_findings {
    const struct finding *findings[SCREEN_FINDINGS_MAX];
    size_t count;
};

/* A remark that nothing can be done about, and that costs nothing, does not belong on the
 * first screen. */
static bool is_wanted(const struct screen_kind *kind, const struct finding *finding)
{
    if (kind && kind->warnings_are_findings)
        return true;
    if (finding->is_warning)
        return false;
    if (kind && kind->costs_only)
        return finding->cost_ns > 0 || (finding->estimate && finding->estimate->account_count > 0);
    return finding->try_this || finding->cost_ns > 0;
}

/* What misleads about all the rest, then what costs more. Strictly: of equals the one that came
 * first stays before. */
static bool goes_before(const struct finding *finding, const struct finding *other)
{
    bool is_first = finding->estimate && finding->estimate->comes_first;
    bool is_other_first = other->estimate && other->estimate->comes_first;

    return is_first != is_other_first ? is_first : finding->cost_ns > other->cost_ns;
}

/* Puts the finding in its place among those from `first` on. Insertion into a list of at most
 * SCREEN_FINDINGS_MAX, from the end; when full, the last falls out. `first` keeps those of all
 * ranks in front, whatever they cost. */
static void choose(struct chosen_findings *chosen, size_t first, const struct finding *finding)
{
    size_t at = chosen->count;

    while (at > first && goes_before(finding, chosen->findings[at - 1]))
        at--;
    if (at == SCREEN_FINDINGS_MAX)
        return;
    if (chosen->count < SCREEN_FINDINGS_MAX)
        chosen->count++;
    for (size_t i = chosen->count - 1; i > at; i--)
        chosen->findings[i] = chosen->findings[i - 1];
    chosen->findings[at] = finding;
}

/* Those of all ranks keep their order: the straggler's own cause is the first of them. */
static void choose_of_job(struct chosen_findings *chosen, const struct section *overview,
                          const struct screen_kind *kind)
{
    for (size_t i = 0; i < overview->finding_count; i++)
        if (is_wanted(kind, &overview->findings[i]))
            choose(chosen, chosen->count, &overview->findings[i]);
}

static bool is_reported_for_job(const struct section *section, size_t finding)
{
    const struct advice_estimate *estimate = section->findings[finding].estimate;

    return estimate && estimate->is_reported_for_job;
}

/* What the section on all ranks has said, as waiting for a straggler, is not said again of a
 * single rank. */
static void choose_of(struct chosen_findings *chosen, size_t first, const struct section *section,
                      const struct screen_kind *kind)
{
    for (size_t i = 0; i < section->finding_count; i++)
        if (is_wanted(kind, &section->findings[i]) &&
            !(first > 0 && is_reported_for_job(section, i)))
            choose(chosen, first, &section->findings[i]);
}

/* "1.51x" */
static const char *times(struct screen_builder *builder, double speedup)
{
    return screen_format(builder, "%.*f", speedup < 10 ? 2 : 0, speedup);
}

/* How many times as fast, of a replay where there is one. A replay says more than a ceiling, and
 * a range more than one number; the weaker is used only where the stronger is not there. */
static const char *estimate_of(struct screen_builder *builder,
                               const struct advice_estimate *estimate)
{
    if (estimate->replayed_speedup > 0 && estimate->most_speedup > 0)
        return screen_format(builder, "%s-%sx", times(builder, estimate->least_speedup),
                             times(builder, estimate->most_speedup));
    if (estimate->replayed_speedup > 0)
        return screen_format(builder, "%sx", times(builder, estimate->replayed_speedup));
    if (estimate->ceiling_speedup > 0)
        return screen_format(builder, "up to %sx", times(builder, estimate->ceiling_speedup));
    return NULL;
}

/* The row of the chart that has this name; NULL where there is none. */
static const struct screen_row *row_of_name(const struct screen_chart *chart, const char *name)
{
    for (size_t i = 0; i < chart->row_count; i++)
        if (chart->rows[i].is_single && strcmp(chart->rows[i].title, name) == 0)
            return &chart->rows[i];
    return NULL;
}

/* " + launch latency + others": the row of the chart, other than `own`, with most of what the
 * finding counts, too. */
static const char *further_rows(struct screen_builder *builder, const struct screen_row *own,
                                const struct advice_estimate *estimate)
{
    const struct screen_chart *chart = &builder->screen->chart;
    const char *largest = NULL;
    size_t further = 0;

    for (size_t i = 0; i < estimate->account_count; i++) {
        if (own->key && strcmp(own->key, estimate->accounts[i]) == 0)
            continue;
        further++;
        for (size_t row = 0; row < chart->row_count && !largest; row++)
            if (chart->rows[row].is_single && chart->rows[row].key &&
                strcmp(chart->rows[row].key, estimate->accounts[i]) == 0)
                largest = chart->rows[row].title;
    }
    return largest ? screen_format(builder, " + %s%s", largest, further > 1 ? " + others" : "")
                   : " + others";
}

/* A finding that is called as a row of the chart and costs something else says why: it is of more
 * accounts than the row, or of a part of it. The chart above shows an account by its share, the
 * finding below another number by the same name: readers take that for a mistake. So the name
 * says by how much more or less it is. 0.05 % is what rounding may make. */
static const char *name_beside_chart(struct screen_builder *builder, const char *name,
                                     const struct advice_estimate *estimate)
{
    const struct screen_row *row = row_of_name(&builder->screen->chart, name);
    double difference;

    if (!row)
        return name;
    difference = estimate->share - row->share;
    if (fabs(difference) < 0.0005)
        return name;
    if (difference < 0)
        return screen_format(builder, "part of %s", name);
    return screen_format(builder, "%s%s", name, further_rows(builder, row, estimate));
}

/* Whether the sentence about the whole says it in the same words, but for a capital letter.
 * Compared from the second letter on, as the first may be a capital there. */
static bool is_in_verdict(const struct first_screen *screen, const struct finding *finding)
{
    return !finding->estimate && finding->what[0] && screen->verdict &&
           strstr(screen->verdict, finding->what + 1);
}

/* `of`: NULL, or whose finding it is where the chart is of all ranks. Where the verdict has said
 * the same, only what to do is left to say. */
static void add_finding(struct screen_builder *builder, const struct finding *finding,
                        const char *of)
{
    const struct advice_estimate *estimate = finding->estimate;
    struct first_screen *screen = builder->screen;
    const char *what = finding->what;
    const char *try_this = finding->try_this ? finding->try_this : finding->evidence;
    struct value cost = value_time_ns(finding->cost_ns);

    if (of)
        what = screen_format(builder, "%s on %s", what, of);
    else if (estimate && finding->cost_ns > 0)
        what = name_beside_chart(builder, what, estimate);
    if (estimate && finding->cost_ns > 0)
        what = screen_format(
            builder, "%s: %s", what,
            screen_share_of(builder, estimate->share, finding->cost_ns, estimate->span));
    else if (finding->cost_ns > 0)
        what = screen_format(builder, "%s: %s", what, screen_value(builder, &cost));
    if (try_this && is_in_verdict(screen, finding)) {
        what = try_this; /* the rest stands right above */
        try_this = NULL;
    }
    screen->findings[screen->finding_count++] = (struct screen_finding){
        .what = what,
        .try_this = try_this,
        .estimate = estimate ? estimate_of(builder, estimate) : NULL,
        .confidence = estimate ? estimate->confidence : NULL,
        .id = estimate ? estimate->id : NULL,
    };
}

/* Findings about all ranks come first. Those of the rank that is shown are told as its own, so
 * that nobody takes them for the job's. */
static void add_findings(struct screen_builder *builder, const struct screen_kind *kind)
{
    struct chosen_findings chosen = {.count = 0};
    const char *of = kind && kind->is_of_all_ranks && builder->rank ? builder->rank->label : NULL;
    size_t of_all;

    if (builder->results->overview)
        choose_of_job(&chosen, builder->results->overview, kind);
    of_all = chosen.count;
    for (size_t i = 0; builder->rank && i < builder->rank->section_count; i++)
        choose_of(&chosen, of_all, builder->rank->sections[i], kind);
    for (size_t i = 0; i < chosen.count; i++)
        add_finding(builder, chosen.findings[i], i >= of_all ? of : NULL);
}

/* Numbers that readers ask for, whatever the report: only these are said to be missing here. */
static bool is_asked_for(const char *key)
{
    static const char *const keys[] = {"mfu",
                                       "ettr",
                                       "tokens_per_second",
                                       "samples_per_second",
                                       "devices",
                                       "flops_per_second",
                                       "parameters",
                                       "modules",
                                       "memory",
                                       "most_samples"};

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcmp(keys[i], key) == 0)
            return true;
    return false;
}

/* Numbers that need the same. */
struct need {
    const char *needs;
    const char *names; /* "tokens/s, samples/s" */
};

/* A list by what is needed: "MFU, tokens/s (needs the peak)" says it once. */
static void add_need(struct screen_builder *builder, struct need *needs, size_t *count,
                     const struct number *number)
{
    for (size_t i = 0; i < *count; i++) {
        if (strcmp(needs[i].needs, number->value.text) != 0)
            continue;
        needs[i].names = screen_format(builder, "%s, %s", needs[i].names, number->title);
        return;
    }
    if (*count < NEEDS_MAX)
        needs[(*count)++] = (struct need){number->value.text, number->title};
}

/* The text without the marks around code, which a terminal has no use for. */
static const char *without_marks(struct screen_builder *builder, const char *text)
{
    char *copy = arena_copy_text(builder->arena, text, strlen(text));
    char *end = copy;

    for (; *text; text++)
        if (*text != '`')
            *end++ = *text;
    *end = '\0';
    return copy;
}

/* The phases of a server have their tokens/s on the screen; those of the whole trace are another
 * number of the same name, and "not known" below a known one reads as a mistake. */
static bool phases_have(const struct screen_builder *builder, const char *key)
{
    const struct table *phases =
        find_table(find_section(builder->rank, "serving_phases"), "phases");

    for (size_t row = 0; phases && row < phases->row_count; row++) {
        struct value rate = find_cell_at(phases, row, "tokens_per_second");

        if (strcmp(key, "tokens_per_second") == 0 && value_is_number(&rate))
            return true;
    }
    return false;
}

/* "MFU (needs the peak of the device: --peak TFLOPS); tokens/s (...)" of the rank's numbers.
 * Only of numbers that readers look for: the sections say it of all others. */
static void add_not_known(struct screen_builder *builder)
{
    struct need needs[NEEDS_MAX];
    const char *text = NULL;
    size_t count = 0;

    for (size_t i = 0; builder->rank && i < builder->rank->section_count; i++) {
        const struct section *section = builder->rank->sections[i];

        for (size_t j = 0; j < section->number_count; j++)
            if (section->numbers[j].value.unit == UNIT_NOT_KNOWN &&
                is_asked_for(section->numbers[j].key) &&
                !phases_have(builder, section->numbers[j].key))
                add_need(builder, needs, &count, &section->numbers[j]);
    }
    for (size_t i = 0; i < count; i++)
        text = screen_format(builder, "%s%s%s (%s)", text ? text : "", text ? "; " : "",
                             needs[i].names, needs[i].needs);
    builder->screen->not_known = text ? without_marks(builder, text) : NULL;
}

/* Of the names in `wanted` those that the results have; then the others, while the line is
 * short. Names that are wanted come first, as far as the results have them. */
static void add_sections(struct screen_builder *builder, const char *const *wanted)
{
    enum { LENGTH_MAX = 90 };
    const char *text = "";

    for (size_t i = 0; wanted && wanted[i]; i++) {
        bool is_overview = strcmp(wanted[i], "ranks") == 0 && builder->results->overview;
        const char *name = section_name(wanted[i]);

        if ((is_overview || find_section(builder->rank, wanted[i])) &&
            strlen(text) + strlen(name) < LENGTH_MAX)
            text = screen_format(builder, "%s%s%s", text, *text ? "," : "", name);
    }
    for (size_t i = 0; !wanted && builder->rank && i < builder->rank->section_count; i++) {
        const char *name = section_name(builder->rank->sections[i]->key);

        if (strlen(text) + strlen(name) < LENGTH_MAX)
            text = screen_format(builder, "%s%s%s", text, *text ? "," : "", name);
    }
    builder->screen->sections = text;
}

/* The rank whose sections stand in the screen. */
static const struct rank_results *shown_rank(const struct results *results)
{
    size_t index = results->detailed_rank == ALL_RANKS ? 0 : results->detailed_rank;

    return index < results->rank_count ? &results->ranks[index] : NULL;
}

/* Verdict and figures are of lists for all devices: sections are in the words of theirs already. */
static void use_device_words(struct screen_builder *builder)
{
    struct first_screen *screen = builder->screen;
    uint32_t speakers = builder->rank ? builder->rank->speakers : 0;

    screen->verdict = device_words(builder->arena, screen->verdict, speakers);
    for (size_t i = 0; i < screen->figure_count; i++)
        screen->figures[i] = device_words(builder->arena, screen->figures[i], speakers);
}

/* The first kind of the list that recognizes the results fills the screen. The verdict is set
 * before the kind fills the screen, which may replace it; findings come after the chart, since
 * they are named in its words. */
void make_first_screen(struct first_screen *screen, struct arena *arena,
                       const struct results *results, bool use_unicode)
{
    struct screen_builder builder = {.arena = arena,
                                     .results = results,
                                     .rank = shown_rank(results),
                                     .dot = use_unicode ? "·" : "|",
                                     .screen = screen};
    const struct screen_kind *kind = NULL;

    *screen = (struct first_screen){.findings_title = "What to try"};
    for (size_t i = 0; i < KIND_COUNT && !kind; i++)
        kind = kinds[i]->recognizes(&builder) ? kinds[i] : NULL;
    /* What a single rank says must not stand for all of them. */
    if (kind && kind->is_of_no_rank)
        builder.rank = NULL;
    screen->verdict = results->headline ? results->headline
                      : builder.rank    ? builder.rank->headline
                                        : NULL;
    screen->subject = builder.rank ? builder.rank->file : "";
    add_warnings(&builder, kind);
    if (kind)
        kind->fill(&builder);
    use_device_words(&builder);
    add_findings(&builder, kind);
    if (kind && kind->findings_title)
        screen->findings_title = kind->findings_title;
    if (screen->verdict)
        screen->verdict = screen_capitalized(&builder, screen->verdict);
    add_not_known(&builder);
    add_sections(&builder, kind ? kind->sections : NULL);
}
