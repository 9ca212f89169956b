/* A job's step records as live numbers. */
#include "live/training.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static const struct live_family up = {
    "flopledger_rank_up", "1 while the process that writes a rank's record lives.", LIVE_GAUGE};
static const struct live_family run_info = {"flopledger_run_info",
                                            "Host and job of a rank's process.", LIVE_GAUGE};
static const struct live_family step_number = {"flopledger_step",
                                               "Steps that the process has made.", LIVE_GAUGE};
static const struct live_family age = {"flopledger_last_step_age_seconds",
                                       "Time since the last step ended.", LIVE_GAUGE};
static const struct live_family recent = {
    "flopledger_recent_step_seconds",
    "Median of the newest steps, without checkpoints, evaluation and recorded steps.", LIVE_GAUGE};
static const struct live_family steps = {
    "flopledger_steps", "Steps from the second on, those that the sums are of.", LIVE_COUNTER};
static const struct live_family step_seconds = {
    "flopledger_step_seconds", "Time in steps, without checkpoints and evaluation.", LIVE_COUNTER};
static const struct live_family part_seconds = {
    "flopledger_step_part_seconds",
    "Host time in steps by part; what is not known of the program is missing.", LIVE_COUNTER};
static const struct live_family between_seconds = {
    "flopledger_between_steps_seconds", "Time beside steps by what was done.", LIVE_COUNTER};
static const struct live_family between_count = {
    "flopledger_between_steps", "How often this was done beside steps.", LIVE_COUNTER};
static const struct live_family tokens = {"flopledger_tokens", "Tokens that this rank trained on.",
                                          LIVE_COUNTER};
static const struct live_family samples_trained = {
    "flopledger_samples", "Samples that this rank trained on.", LIVE_COUNTER};
static const struct live_family skipped = {"flopledger_skipped_steps",
                                           "Steps whose update was left out (infinite gradients).",
                                           LIVE_COUNTER};
static const struct live_family loss = {
    "flopledger_loss", "The newest loss that the program itself read.", LIVE_GAUGE};
static const struct live_family device_memory = {"flopledger_device_memory_peak_bytes",
                                                 "High-water mark of the rank's device allocator.",
                                                 LIVE_GAUGE};
static const struct live_family process_memory = {
    "flopledger_process_memory_peak_bytes", "High-water mark of the process's resident memory.",
    LIVE_GAUGE};
static const struct live_family ettr = {
    "flopledger_ettr_ratio",
    "Share of the time since the first attempt began that went into steps that count.", LIVE_GAUGE};
static const struct live_family mfu = {
    "flopledger_mfu_ratio",
    "Model FLOPs of a recorded step at the device's peak, over the time of the newest steps.",
    LIVE_GAUGE};
static const struct live_family energy = {
    "flopledger_energy_joules",
    "Energy drawn while the rank trained: of its GPU, and of all processors of its machine.",
    LIVE_COUNTER};
static const struct live_family energy_steps = {
    "flopledger_energy_steps", "Steps that flopledger_energy_joules is of.", LIVE_COUNTER};
static const struct live_family joules_per_step = {
    "flopledger_joules_per_step", "Energy a step, of the newest look at the counters.", LIVE_GAUGE};
static const struct live_family joules_per_token = {
    "flopledger_joules_per_token", "Energy a token of the rank, of the newest look.", LIVE_GAUGE};
static const struct live_family tokens_per_joule = {
    "flopledger_tokens_per_joule", "Tokens of the rank a joule, of the newest look.", LIVE_GAUGE};
static const struct live_family lost = {
    "flopledger_lost_entries", "Entries of the step record that found no room.", LIVE_COUNTER};

static int64_t now_unix_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* The record has both clocks at one moment, by which a monotonic time becomes a date. */
static int64_t process_start_unix_ns(const struct step_record_header *header)
{
    return header->opened_unix_ns - (header->opened_ns - header->process_start_ns);
}

/* Steps that the attempt after it made once more, as time. Of an attempt that ended at step s
 * and was resumed after step r < s, the last s - r steps were made for nothing: as many times
 * its mean step. */
static int64_t discarded_ns(const struct rank_progress *attempt, const struct rank_progress *next,
                            bool *is_known)
{
    int64_t before = attempt->resumed_after > 0 ? attempt->resumed_after : 0;
    int64_t again;

    if (next->resumed_after < 0 || attempt->step_count == 0) {
        *is_known = *is_known && next->resumed_after >= 0;
        return 0;
    }
    again = before + attempt->step - next->resumed_after;
    if (again <= 0)
        return 0;
    if (again >= attempt->step_count)
        return attempt->net_ns;
    return attempt->net_ns / attempt->step_count * again;
}

/* ETTR = time in steps that count / time since the first attempt began
 * (docs/metrics/live-ettr.md), of the first rank: all ranks wait for each other. Records are
 * in the order of attempts. */
struct job_so_far sum_up_job(const struct job_records *records)
{
    struct job_so_far so_far = {.knows_discarded = true};
    int64_t began = INT64_MAX;
    int64_t reached = 0;

    for (size_t i = 0; i < records->count; i++) {
        const struct job_record *record = records->records[i];
        const struct rank_progress *progress = &record->progress;
        const struct step_record_header *header = &progress->reader.header;
        int64_t start = process_start_unix_ns(header);
        int64_t end = record->lives ? now_unix_ns()
                                    : step_reader_unix_ns(&progress->reader, progress->last_end_ns);

        if (header->rank != records->records[0]->progress.reader.header.rank)
            break;
        so_far.attempts++;
        so_far.kept_ns += progress->first_net_ns + progress->net_ns;
        so_far.startup_ns =
            progress->first_end_ns - progress->first_net_ns - header->process_start_ns;
        began = start < began ? start : began;
        reached = end > reached && (record->lives || progress->step > 0) ? end : reached;
        if (!record->is_newest)
            so_far.discarded_ns +=
                discarded_ns(progress, &records->records[i + 1]->progress, &so_far.knows_discarded);
    }
    so_far.kept_ns -= so_far.discarded_ns;
    so_far.elapsed_ns = reached > began ? reached - began : 0;
    if (so_far.kept_ns > so_far.elapsed_ns) /* the clock was set back: no share can be told */
        so_far.elapsed_ns = 0;
    return so_far;
}

struct rank_label {
    char text[24];
};

static struct rank_label label_of(const struct job_record *record)
{
    struct rank_label label;

    snprintf(label.text, sizeof label.text, "%" PRId32, record->progress.reader.header.rank);
    return label;
}

static void add_seconds(struct live_samples *samples, const struct live_family *family,
                        const char *rank, struct live_label label, int64_t ns)
{
    live_add(samples, family, (double)ns / 1e9, (struct live_label){"rank", rank}, label);
}

/* Where the time of steps went, and what was done beside them. */
static void sample_parts(struct live_samples *samples, const struct rank_progress *progress,
                         const char *rank)
{
    static const char *const spans[SPAN_KINDS] = {"checkpoint", "restore", "evaluation",
                                                  "recording"};

    add_seconds(samples, &step_seconds, rank, (struct live_label){0}, progress->net_ns);
    if (progress->data_wait_of_ns > 0)
        add_seconds(samples, &part_seconds, rank, (struct live_label){"part", "data wait"},
                    progress->data_wait_ns);
    if (progress->split_of_ns > 0) {
        add_seconds(samples, &part_seconds, rank, (struct live_label){"part", "before backward"},
                    progress->forward_ns);
        add_seconds(samples, &part_seconds, rank, (struct live_label){"part", "backward"},
                    progress->backward_ns);
        add_seconds(samples, &part_seconds, rank, (struct live_label){"part", "optimizer"},
                    progress->optimizer_ns);
    }
    for (int kind = 0; kind < SPAN_KINDS; kind++) {
        add_seconds(samples, &between_seconds, rank, (struct live_label){"kind", spans[kind]},
                    progress->span_ns[kind]);
        live_add(samples, &between_count, (double)progress->span_count[kind],
                 (struct live_label){"rank", rank}, (struct live_label){"kind", spans[kind]});
    }
}

static void training_add(struct live_samples *samples, const struct live_family *family,
                         const char *rank, double value)
{
    live_add(samples, family, value, (struct live_label){"rank", rank}, (struct live_label){0});
}

/* What was never told is left out, not zero: a dashboard would draw the zero as a fall. */
static void sample_totals(struct live_samples *samples, const struct rank_progress *progress,
                          const char *rank)
{
    training_add(samples, &steps, rank, (double)progress->step_count);
    training_add(samples, &skipped, rank, (double)progress->skipped_count);
    training_add(samples, &lost, rank, (double)progress->lost_count);
    if (progress->tokens_of_ns > 0)
        training_add(samples, &tokens, rank, (double)progress->tokens);
    if (progress->samples > 0)
        training_add(samples, &samples_trained, rank, (double)progress->samples);
    if (!isnan(progress->loss))
        training_add(samples, &loss, rank, progress->loss);
    if (progress->memory_bytes >= 0)
        training_add(samples, &device_memory, rank, (double)progress->memory_bytes);
    if (progress->host_bytes >= 0)
        training_add(samples, &process_memory, rank, (double)progress->host_bytes);
}

/* What the newest look at the counters of energy told, and the sums of all. */
static void sample_energy(struct live_samples *samples, const struct rank_progress *progress,
                          const char *rank)
{
    static const char *const names[ENERGY_SOURCES] = {"gpu", "cpu"};

    for (int i = 0; i < ENERGY_SOURCES; i++) {
        const struct rank_energy *all = &progress->energy[i];
        const struct rank_energy *newest = &progress->recent_energy[i];
        struct live_label of_rank = {"rank", rank}, source = {"source", names[i]};

        if (newest->steps == 0)
            continue;
        live_add(samples, &energy, all->joules, of_rank, source);
        live_add(samples, &energy_steps, (double)all->steps, of_rank, source);
        live_add(samples, &joules_per_step, newest->joules / (double)newest->steps, of_rank,
                 source);
        if (newest->tokens > 0)
            live_add(samples, &joules_per_token, newest->joules / (double)newest->tokens, of_rank,
                     source);
        if (newest->tokens > 0 && newest->joules > 0)
            live_add(samples, &tokens_per_joule, (double)newest->tokens / newest->joules, of_rank,
                     source);
    }
}

/* MFU over the median of the newest steps: the model FLOPs of a recorded step are known, its
 * own time is not used, since recording slows it. */
static void sample_rank(struct live_samples *samples, const struct job_record *record,
                        int64_t ideal_step_ns)
{
    const struct rank_progress *progress = &record->progress;
    struct rank_label label = label_of(record);
    int64_t median = rank_recent_step_ns(progress, STEP_MEDIAN_OF);
    int64_t last = step_reader_unix_ns(&progress->reader, progress->last_end_ns);

    training_add(samples, &up, label.text, record->lives);
    live_add(samples, &run_info, 1, (struct live_label){"rank", label.text},
             (struct live_label){"host", progress->reader.header.host});
    training_add(samples, &step_number, label.text, (double)progress->step);
    if (progress->step > 0)
        training_add(samples, &age, label.text, (double)(now_unix_ns() - last) / 1e9);
    if (median > 0)
        training_add(samples, &recent, label.text, (double)median / 1e9);
    if (median > 0 && ideal_step_ns > 0)
        training_add(samples, &mfu, label.text, (double)ideal_step_ns / (double)median);
    sample_parts(samples, progress, label.text);
    sample_totals(samples, progress, label.text);
    sample_energy(samples, progress, label.text);
}

/* The newest record of each rank: one that was restarted has left an older one behind, which
 * would be a second sample of the same labels. */
void sample_training(struct live_samples *samples, const struct job_records *records,
                     int64_t ideal_step_ns)
{
    struct job_so_far so_far = sum_up_job(records);

    for (size_t i = 0; i < records->count; i++) {
        if (records->records[i]->is_newest)
            sample_rank(samples, records->records[i], ideal_step_ns);
    }
    if (so_far.elapsed_ns > 0)
        live_add(samples, &ettr, (double)so_far.kept_ns / (double)so_far.elapsed_ns,
                 (struct live_label){0}, (struct live_label){0});
    for (size_t i = 0; i < records->refused_count; i++)
        live_note(samples, "%s", records->refused[i]);
}
