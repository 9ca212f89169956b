/* `flopledger ettr`: what the devices did in the kept steps, by the steps recorded in full. */
#include "base/core/apportion.h"
#include "base/text/format.h"
#include "output/results/metrics.h"
#include "sections/job/ettr_page.h"
#include "sections/step/ledger_table.h"

#include <string.h>

/* Below this share of steps that take what recorded ones do, that is told. */
static const double alike_enough = 0.5;
/* So far from the steps around them, recorded steps may have done something else. */
static const double differs_much = 0.1;

static const char records_windows[] =
    "'flopledger trace' records one of a running program, 'flopledger run --every N' many";

enum kept_column {
    COLUMN_ACCOUNT,
    COLUMN_TIME,
    COLUMN_HOURS,
    COLUMN_SHARE,
    COLUMN_OF_JOB,
    COLUMN_FROM,
    COLUMN_KEY,
};

static const struct column kept_columns[] = {
    [COLUMN_ACCOUNT] = {"account", "account", UNIT_TEXT, 0, BAR_NONE},
    [COLUMN_TIME] = {METRIC_NAMES(JOB_KEPT_TIME), METRIC_UNIT(JOB_KEPT_TIME), 0, BAR_NONE},
    [COLUMN_HOURS] = {"device_hours", "device-hours", UNIT_NUMBER, 1, BAR_NONE},
    [COLUMN_SHARE] = {"share", "of kept steps", UNIT_FRACTION, 0, BAR_WATERFALL},
    [COLUMN_OF_JOB] = {"of_job", "of the job", UNIT_FRACTION, 2, BAR_NONE},
    [COLUMN_FROM] = {"from", "known by", UNIT_TEXT, 3, BAR_NONE},
    [COLUMN_KEY] = {METRIC_NAMES(JOB_KEPT_ACCOUNT), METRIC_UNIT(JOB_KEPT_ACCOUNT),
                    PRIORITY_FOR_PROGRAMS, BAR_NONE},
};

/* ---- the scaled ledger ----------------------------------------------------------------------- */

/* The kernel classes of an account share its scaled time as they do in the windows. */
static void scale_classes(struct step_ledger *step, const struct job_windows *windows,
                          bool of_matrix)
{
    int64_t weights[KERNEL_CLASS_COUNT] = {0}, shares[KERNEL_CLASS_COUNT];
    int64_t account_ns = step->account_ns[of_matrix ? ACCOUNT_MATRIX : ACCOUNT_OTHER_COMPUTE];
    int64_t whole = 0;

    for (int c = 0; c < KERNEL_CLASS_COUNT; c++) {
        enum kernel_class class = (enum kernel_class)c;

        if (kernel_class_is_compute(class) && kernel_class_is_matrix(class) == of_matrix)
            weights[c] = windows->class_ns[c];
        whole += weights[c];
    }
    if (whole == 0)
        return;
    apportion_by_weight(shares, weights, KERNEL_CLASS_COUNT, account_ns);
    for (int c = 0; c < KERNEL_CLASS_COUNT; c++)
        step->class_ns[c] += shares[c];
}

/* All kept steps as one: list_ledger_rows then makes of it what a report shows of a trace. One
 * code makes the rows of a ledger, whether of a trace or of a whole job, so both have the same
 * accounts. The rest of the matrix time is below the peak, by definition. */
static size_t scaled_rows(const struct ettr_page *page, struct ledger_row rows[LEDGER_ROWS_MAX])
{
    const struct kept_parts *kept = page->kept;
    const struct job_windows *windows = page->windows;
    struct step_ledger step = {0};
    struct step_efficiency efficiency = {0};
    struct ledger ledger = {.steps = &step, .step_count = 1, .is_cpu_only = windows->is_cpu_only};
    struct matrix_time *time = &efficiency.time;
    int64_t matrix_ns;

    for (int account = 0; account < ACCOUNT_COUNT; account++)
        step.account_ns[account] = kept->parts[account].ns;
    /* Matrix time is divided by the windows' own shares; the rest that rounding leaves falls
     * to what is below the peak, so that the parts add up. */
    matrix_ns = step.account_ns[ACCOUNT_MATRIX];
    scale_classes(&step, windows, true);
    scale_classes(&step, windows, false);
    /* In doubles: the product of two times in nanoseconds does not fit in 64 bits. */
    time->uncosted_ns = windows->matrix_ns > 0
                            ? (int64_t)((double)matrix_ns *
                                        ((double)windows->uncosted_ns / (double)windows->matrix_ns))
                            : 0;
    time->model_ns = kept->fixed[WINDOW_MODEL].ns;
    time->recomputed_ns = kept->fixed[WINDOW_RECOMPUTED].ns;
    time->extra_ns = kept->fixed[WINDOW_EXTRA].ns;
    time->below_peak_ns =
        matrix_ns - time->uncosted_ns - time->model_ns - time->recomputed_ns - time->extra_ns;
    return list_ledger_rows(rows, &ledger, &efficiency, windows->has_model ? NULL : windows->needs);
}

/* ---- its table ------------------------------------------------------------------------------- */

/* The accounts that a line of the ledger adds up; 0: it is a part of one. */
static uint32_t accounts_of_key(const char *key)
{
    for (int a = 0; a < ACCOUNT_COUNT; a++)
        if (strcmp(account_descriptions[a].key, key) == 0)
            return 1u << a;
    for (int group = 0; group < ACCOUNT_GROUP_COUNT; group++)
        if (strcmp(account_group_descriptions[group].key, key) == 0)
            return accounts_of_group((enum account_group)group);
    return 0;
}

static double device_seconds_of(const struct kept_parts *kept, uint32_t accounts)
{
    double seconds = 0.0;

    for (int a = 0; a < ACCOUNT_COUNT; a++)
        if (accounts & (1u << a))
            seconds += kept->parts[a].device_seconds;
    return seconds;
}

struct kept_row {
    const char *key;
    const char *title;
    const char *from;
    int depth;
    struct kept_amount amount;
};

/* By device-hours where the devices are known: a second of an attempt on half of the devices
 * is half as much of the job. */
static void ettr_kept_add_row(const struct ettr_page *page, struct table *table,
                              struct kept_row row)
{
    const struct job_accounts *accounts = page->accounts;
    struct value *cells = table_add_row(page->results, table, row.depth);

    cells[COLUMN_ACCOUNT] = value_text(row.title);
    cells[COLUMN_KEY] = value_text(row.key);
    cells[COLUMN_FROM] = value_text(row.from);
    cells[COLUMN_TIME] = value_time_ns(row.amount.ns);
    if (page->kept->kept.ns > 0)
        cells[COLUMN_SHARE] = value_fraction((double)row.amount.ns / (double)page->kept->kept.ns);
    if (accounts->are_devices_known)
        cells[COLUMN_HOURS] = value_number(row.amount.device_seconds / 3600.0);
    if (!accounts->is_complete)
        cells[COLUMN_OF_JOB] = value_not_known("needs all of the job's time");
    else if (accounts->are_devices_known && accounts->total_device_seconds > 0.0)
        cells[COLUMN_OF_JOB] =
            value_fraction(row.amount.device_seconds / accounts->total_device_seconds);
    else if (accounts->total_ns > 0)
        cells[COLUMN_OF_JOB] = value_fraction((double)row.amount.ns / (double)accounts->total_ns);
}

/* Waiting for data is in each step's record; all other accounts are known of recorded steps
 * alone, and scaled. */
static const char *known_by(uint32_t accounts, const char *key)
{
    if (accounts == 1u << ACCOUNT_IDLE_DATA)
        return "each step's record";
    if (strcmp(key, "model") == 0 || strcmp(key, "recomputed") == 0 || strcmp(key, "extra") == 0)
        return "FLOPs of recorded steps";
    return accounts & (1u << ACCOUNT_IDLE_DATA) ? "" : "recorded steps, scaled";
}

/* Device-hours of a part are in proportion to its time within its account: devices are known
 * per attempt, not per kind of work. */
static void add_ledger(const struct ettr_page *page, struct table *table)
{
    struct ledger_row rows[LEDGER_ROWS_MAX];
    size_t count = scaled_rows(page, rows);
    struct kept_amount above = {0}; /* the account that the lines below it are parts of */

    for (size_t i = 1; i < count; i++) {
        uint32_t accounts = accounts_of_key(rows[i].key);
        struct kept_amount amount = {.ns = rows[i].ns};

        if (rows[i].needs) {
            struct value *cells = table_add_row(page->results, table, rows[i].depth + 1);

            cells[COLUMN_ACCOUNT] = value_text(rows[i].title);
            cells[COLUMN_TIME] = value_not_known(rows[i].needs);
            cells[COLUMN_KEY] = value_text(rows[i].key);
            continue;
        }
        if (accounts)
            amount.device_seconds = device_seconds_of(page->kept, accounts);
        else if (above.ns > 0)
            amount.device_seconds = above.device_seconds * (double)amount.ns / (double)above.ns;
        if (accounts)
            above = amount;
        ettr_kept_add_row(page, table,
                          (struct kept_row){.key = rows[i].key,
                                            .title = rows[i].title,
                                            .from = known_by(accounts, rows[i].key),
                                            .depth = rows[i].depth + 1,
                                            .amount = amount});
    }
}

/* Profiler dilation and slow steps are taken out first: the ledger that is scaled to all steps
 * is that of a usual step without a recorder. */
static void ettr_kept_add_table(const struct ettr_page *page, struct section *section)
{
    const struct kept_parts *kept = page->kept;
    struct table *table =
        section_add_table(page->results, section, "ledger", "What the devices did in kept steps",
                          kept_columns, sizeof kept_columns / sizeof *kept_columns);

    ettr_kept_add_row(page, table,
                      (struct kept_row){.key = "kept_steps",
                                        .title = "kept steps",
                                        .from = "each step's record",
                                        .amount = kept->kept});
    if (kept->not_known.ns != 0)
        ettr_kept_add_row(page, table,
                          (struct kept_row){.key = "not_known",
                                            .title = "not known",
                                            .from = "no recorded window",
                                            .depth = 1,
                                            .amount = kept->not_known});
    /* Nothing was recorded in full: then "not known" is all of it, and no line stands below. */
    if (kept->known_steps == 0)
        return;
    ettr_kept_add_row(page, table,
                      (struct kept_row){.key = "profiler_dilation",
                                        .title = "profiler dilation",
                                        .from = "beyond the steps around",
                                        .depth = 1,
                                        .amount = kept->dilation});
    ettr_kept_add_row(page, table,
                      (struct kept_row){.key = "slow_steps",
                                        .title = "slow steps, not recorded",
                                        .from = "beyond the steps around",
                                        .depth = 1,
                                        .amount = kept->slow});
    add_ledger(page, table);
    table->note = "All lines of a depth add up to the line above them, to the nanosecond.";
}

/* ---- numbers and findings -------------------------------------------------------------------- */

static void ettr_kept_add(const struct ettr_page *page, struct section *section,
                          struct number number)
{
    section_add_number(page->results, section, number);
}

/* How much of the kept time the traces cover comes before what they show: a share of few steps
 * scaled to all is worth as much as these steps are alike. */
static void add_traced_part(const struct ettr_page *page, struct section *section)
{
    const struct kept_parts *kept = page->kept;
    double share = kept->kept.ns > 0 ? (double)kept->traced_ns / (double)kept->kept.ns : 0.0;

    ettr_kept_add(page, section,
                  (struct number){"kept_steps", "kept steps", value_count(kept->steps), NULL});
    ettr_kept_add(page, section,
                  (struct number){"traced_steps", "of them recorded in full",
                                  value_count(kept->traced_steps), NULL});
    ettr_kept_add(
        page, section,
        (struct number){"traced_share", "their share of the time", value_fraction(share), NULL});
    if (kept->window_count == 0)
        return;
    ettr_kept_add(
        page, section,
        (struct number){"windows", "steps in windows", value_count(kept->window_count),
                        results_format(page->results, "in %zu of %zu traces",
                                       page->windows->traces_read, page->windows->traces_found)});
}

/* Waiting for data is left out of both: it depends on the loader, not on what a step computes,
 * and has an account of its own. */
static void add_likeness(const struct ettr_page *page, struct section *section)
{
    static const char without_wait[] = "mean, without waiting for data";
    const struct kept_parts *kept = page->kept;
    int64_t steps = kept->compared_steps;

    if (kept->window_count == 0)
        return;
    /* A recorded step is compared with the median around it, which needs some that were not. */
    if (steps == 0) {
        ettr_kept_add(page, section,
                      (struct number){"recorded_step_time", "recorded steps take",
                                      value_not_known("needs more steps around them"), NULL});
        return;
    }
    ettr_kept_add(page, section,
                  (struct number){"recorded_step_time", "recorded steps take",
                                  value_time_ns(rounded_mean(kept->compared_ns, steps)),
                                  without_wait});
    ettr_kept_add(page, section,
                  (struct number){"other_step_time", "the steps around them",
                                  value_time_ns(rounded_mean(kept->reference_ns, steps)),
                                  "median, without waiting for data"});
    if (kept->other_steps > 0)
        ettr_kept_add(
            page, section,
            (struct number){"alike", "steps that take as long",
                            value_fraction((double)kept->alike_steps / (double)kept->other_steps),
                            "of those not recorded: within 10 % of a recorded one less dilation"});
    if (kept->traced_tokens > 0 && kept->other_tokens > 0)
        ettr_kept_add(page, section,
                      (struct number){
                          "tokens", "tokens of a recorded step",
                          value_fraction((double)kept->traced_tokens / (double)kept->other_tokens),
                          "of those of the others, means"});
}

/* Windows can stand for all steps only where the steps are alike. Recorded steps that are
 * faster than their neighbors are the surest sign that they are not: a recorder makes none
 * faster. */
static void find_unlike(const struct ettr_page *page, struct section *section)
{
    const struct kept_parts *kept = page->kept;
    /* Nothing to compare with is no sign of a difference: 1 keeps each finding away. */
    double alike =
        kept->other_steps > 0 ? (double)kept->alike_steps / (double)kept->other_steps : 1.0;
    double tokens = kept->traced_tokens > 0 && kept->other_tokens > 0
                        ? (double)kept->traced_tokens / (double)kept->other_tokens
                        : 1.0;

    if (alike < alike_enough)
        add_job_finding(page, section, true,
                        results_format(page->results,
                                       "only %s of the other steps took as long as the recorded "
                                       "ones (within 10 %%): what they did may differ",
                                       format_fraction(alike).text),
                        "record windows all over the run: 'flopledger run --every N'");
    if ((double)kept->compared_ns < (1.0 - differs_much) * (double)kept->reference_ns)
        add_job_finding(page, section, true,
                        "recorded steps took less than the steps around them, though recording "
                        "makes none faster: they are not like the others",
                        "record windows all over the run: 'flopledger run --every N'");
    if (tokens < 1.0 - differs_much || tokens > 1.0 + differs_much)
        add_job_finding(
            page, section, true,
            results_format(page->results,
                           "recorded steps had %s tokens each, the others %s: FLOPs and "
                           "MFU of all steps are off by as much",
                           format_count(kept->traced_tokens).text,
                           format_count(kept->other_tokens).text),
            "record windows all over the run: 'flopledger run --every N'");
}

/* Another attempt's windows are borrowed only where it had as many devices: the work of a rank
 * depends on that. */
static void ettr_kept_find_gaps(const struct ettr_page *page, struct section *section)
{
    const struct kept_parts *kept = page->kept;
    const struct job_windows *windows = page->windows;

    if (kept->known_steps == 0)
        add_job_finding(page, section, false,
                        "no step was recorded in full: what the devices did in the kept steps is "
                        "not known",
                        records_windows);
    if (kept->borrowed_attempts > 0)
        add_job_finding(
            page, section, false,
            results_format(page->results,
                           "%s without a recorded window: windows of other attempts of as many "
                           "devices stand for %s",
                           kept->borrowed_attempts == 1
                               ? "an attempt is"
                               : results_format(page->results, "%lld attempts are",
                                                (long long)kept->borrowed_attempts),
                           kept->borrowed_attempts == 1 ? "it" : "them"),
            NULL);
    /* Evenly chosen over the run, so that its begin does not stand for all of it. */
    if (windows->traces_found > WINDOW_TRACES_MAX)
        add_job_finding(page, section, false,
                        results_format(page->results, "%d of %zu traces were read, evenly chosen",
                                       WINDOW_TRACES_MAX, windows->traces_found),
                        NULL);
}

/* Steps without lengths cannot be scaled to: then only their number is told, not a table of
 * zeros. */
struct section *describe_kept_steps(const struct ettr_page *page)
{
    struct section *section;

    section = section_new(
        page->results, "kept_steps", "Inside the kept steps",
        "What the devices did in the steps that count: as the steps show that were recorded in "
        "full, scaled to all.");
    if (page->kept->kept.ns == 0) {
        ettr_kept_add(page, section,
                      (struct number){"kept_steps", "kept steps", value_count(page->kept->steps),
                                      "none has a length"});
        return section;
    }
    add_traced_part(page, section);
    add_likeness(page, section);
    ettr_kept_add_table(page, section);
    find_unlike(page, section);
    ettr_kept_find_gaps(page, section);
    return section;
}
