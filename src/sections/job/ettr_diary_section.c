/* `flopledger ettr`: what a diary of the job says. */
#include "sections/job/ettr_page.h"

#include <string.h>

enum diary_column { COLUMN_DATE, COLUMN_WHAT, COLUMN_STEP, COLUMN_RUN, COLUMN_LOST };

static const struct column diary_columns[] = {
    [COLUMN_DATE] = {"date", "entry of", UNIT_TEXT, 0, BAR_NONE},
    [COLUMN_WHAT] = {"what", "what it is about", UNIT_TEXT, 0, BAR_NONE},
    [COLUMN_STEP] = {"restart_step", "goes on from step", UNIT_COUNT, 0, BAR_NONE},
    [COLUMN_RUN] = {"run_began", "run began", UNIT_TEXT, 1, BAR_NONE},
    [COLUMN_LOST] = {"lost", "said to be lost", UNIT_TIME_NS, 0, BAR_NONE},
};

/* What the entries tell in all. */
struct diary_sums {
    int64_t restarts;
    int64_t runs;
    int64_t losses;
    int64_t lost_ns;
};

/* What the diary does not tell of an incident is an empty cell: a diary is written by people,
 * and most entries tell only some of it. */
static void ettr_diary_fill_row(const struct ettr_page *page, struct value *cells,
                                const struct job_incident *incident)
{
    cells[COLUMN_DATE] = value_text(job_time_text(page, incident->time_ns));
    cells[COLUMN_WHAT] = value_text(results_text(page->results, incident->what));
    if (incident->restored_step != JOB_NOT_KNOWN)
        cells[COLUMN_STEP] = value_count(incident->restored_step);
    if (incident->start_ns != JOB_NOT_KNOWN)
        cells[COLUMN_RUN] = value_text(job_time_text(page, incident->start_ns));
    if (incident->lost_ns != JOB_NOT_KNOWN)
        cells[COLUMN_LOST] = value_time_ns(incident->lost_ns);
}

/* Each is counted by itself, as an entry may tell a restart without its loss, or a loss
 * without a restart. */
static struct diary_sums sums_of(const struct job *job)
{
    struct diary_sums sums = {0};

    for (size_t i = 0; i < job->incident_count; i++) {
        const struct job_incident *incident = &job->incidents[i];

        sums.restarts += incident->restored_step != JOB_NOT_KNOWN;
        sums.runs += incident->start_ns != JOB_NOT_KNOWN;
        sums.losses += incident->lost_ns != JOB_NOT_KNOWN;
        if (incident->lost_ns != JOB_NOT_KNOWN)
            sums.lost_ns += incident->lost_ns;
    }
    return sums;
}

/* What entries are about, by words in them. */
static const struct {
    const char *id;
    const char *what;
    const char *try_this;
    const char *words[8];
} subjects[] = {
    {"hardware",
     "failures of nodes",
     "spare nodes, checks of health before a start, checkpoints as often as failures ask for",
     {"ode failure", "ardware", "Replace node", "broken GPU", "crash", "Node and file", "ECC"}},
    {"hang",
     "hangs",
     "shorter timeouts, a watchdog, flight-recorder dumps ('flopledger ranks')",
     {"hang", "hung", "deadlock", "stuck"}},
    {"divergence",
     "losses that spike or diverge",
     "a lower learning rate, cleaner data, skip the batches around the spike",
     {"spike", "iverge", "isconverge", "explode", "NaN", "instab"}},
};
enum { SUBJECT_COUNT = sizeof subjects / sizeof *subjects, SUBJECT_ENTRIES_MIN = 3 };

static bool is_about(const char *entry, size_t subject)
{
    for (size_t i = 0; i < sizeof subjects[0].words / sizeof *subjects[0].words; i++)
        if (subjects[subject].words[i] && strstr(entry, subjects[subject].words[i]))
            return true;
    return false;
}

/* What most entries are about, where it is more than two. By words, since entries are prose:
 * hence only the subject of most entries, and from three on. */
static void add_subject(const struct ettr_page *page, struct section *section)
{
    size_t counts[SUBJECT_COUNT] = {0}, most = 0;

    for (size_t i = 0; i < page->job->incident_count; i++)
        for (size_t k = 0; k < SUBJECT_COUNT; k++)
            counts[k] += is_about(page->job->incidents[i].what, k);
    for (size_t k = 1; k < SUBJECT_COUNT; k++)
        most = counts[k] > counts[most] ? k : most;
    if (counts[most] < SUBJECT_ENTRIES_MIN)
        return;
    add_named_finding(
        page, section,
        &(struct named_finding){
            .id = subjects[most].id,
            .what = results_format(page->results, "most entries are about %s: %zu of %zu",
                                   subjects[most].what, counts[most], page->job->incident_count),
            .try_this = subjects[most].try_this,
            .reason = "counted by the words of the headings",
        });
}

/* Entries are dated by people, in zones that they do not name: they are shown, and no account
 * of the job takes time from them. */
struct section *describe_diary(const struct ettr_page *page)
{
    struct diary_sums sums = sums_of(page->job);
    struct section *section;
    struct table *table;

    if (page->job->incident_count == 0)
        return NULL;
    section =
        section_new(page->results, "job_diary", "Diary",
                    "What people wrote down: dates as written, in whatever zone. It is no log: "
                    "nothing of it is in an account.");
    section_add_value(page->results, section, "entries", "entries with a date",
                      value_count((int64_t)page->job->incident_count));
    section_add_value(page->results, section, "restarts", "of them with the step it went on from",
                      value_count(sums.restarts));
    section_add_value(page->results, section, "runs", "of them with the time a run began",
                      value_count(sums.runs));
    section_add_value(page->results, section, "lost", "said to be lost, total",
                      /* No entry that tells a loss is not a job without one. */
                      sums.losses ? value_time_ns(sums.lost_ns) : value_not_known("no entry says"));
    table = section_add_table(page->results, section, "entries", "Entries", diary_columns,
                              sizeof diary_columns / sizeof *diary_columns);
    for (size_t i = 0; i < page->job->incident_count; i++)
        ettr_diary_fill_row(page, table_add_row(page->results, table, 0), &page->job->incidents[i]);
    add_subject(page, section);
    return section;
}
