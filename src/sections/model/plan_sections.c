/* What `flopledger plan` says: the step, its ledger, the memory of the fullest device. */
#include "sections/model/plan_sections.h"

#include "base/text/format.h"
#include "cost/architectures/read_architecture.h"
#include "job/job_rates.h"
#include "output/results/metrics.h"
#include "sections/model/model_sections.h"

#include <math.h>
#include <stdbool.h>

static void plan_add_number(struct results *results, struct section *section, const char *key,
                            const char *title, struct value value)
{
    section_add_number(results, section,
                       (struct number){.key = key, .title = title, .value = value});
}

static struct value plan_time(double seconds)
{
    return value_time_ns(llround(seconds * 1e9));
}

static const char *plan_layout_text(struct results *results, const struct plan_layout *layout)
{
    return results_format(
        results, "tensor %lld, pipeline %lld (virtual %lld), context %lld, expert %lld, data %lld",
        (long long)layout->tensor, (long long)layout->pipeline, (long long)layout->chunks,
        (long long)layout->context, (long long)layout->expert, (long long)layout->data);
}

static const char *plan_sharing_text(struct results *results, const struct plan_setting *setting,
                                     const struct plan_layout *layout)
{
    static const char *const recomputed[] = {"nothing", "attention's core", "every layer"};

    const char *shared =
        setting->shard_devices > 0 && layout->zero > 0
            ? results_format(results, " over %lld", (long long)setting->shard_devices)
            : "";
    const char *of_what =
        layout->recompute == RECOMPUTE_FULL && setting->recomputed_share > 0.0
            ? results_format(results, "%.0f %% of the layers", 100.0 * setting->recomputed_share)
        : layout->recompute == RECOMPUTE_SELECTIVE && setting->recomputed != 0
            ? "parts of each layer"
            : recomputed[layout->recompute];

    return results_format(results, "micro-batch %lld, %lld of them; ZeRO %d%s; recomputed: %s",
                          (long long)layout->micro,
                          (long long)(setting->batch / (layout->data * layout->micro)),
                          layout->zero, shared, of_what);
}

/* Rotary positions go on behind what was trained: that runs, but it is seldom meant. */
static void plan_warn_of_positions(struct results *results, struct section *section,
                                   const struct architecture *model, const char *option,
                                   int64_t tokens)
{
    if (architecture_lacks_positions(model, tokens))
        section_add_warning(
            results, section, "more tokens than the model has positions for",
            results_format(
                results, "%s is %lld; max_position_embeddings is %lld, and nothing stretches them",
                option, (long long)tokens, (long long)model->positions),
            "fewer tokens, or a config.json with rope_scaling");
}

static const char *const recomputes[] = {"none", "selective", "full"};

/* What a program asks of a layout, that reads "layout" and "sharing" with pain. */
static void plan_add_sizes(struct results *results, struct section *section,
                           const struct plan_setting *setting, const struct plan_layout *layout,
                           const struct plan_outcome *outcome)
{
    int64_t words = setting->model->vocabulary;
    const struct {
        const char *key;
        int64_t size;
    } sizes[] = {
        {"tp", layout->tensor},
        {"pp", layout->pipeline},
        {"vp", layout->chunks},
        {"cp", layout->context},
        {"ep", layout->expert},
        {"dp", layout->data},
        {"zero", layout->zero},
        {"micro_batch", layout->micro},
        {"global_batch", setting->batch},
        {"seq", setting->sequence},
        {"hidden_size", setting->model->hidden_size},
        {"layers", setting->model->layers},
        {"vocabulary", words},
        {"embedding_size", words > 0 ? setting->model->token_embedding / words : 0},
    };

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        plan_add_number(results, section, sizes[i].key, TITLE_FOR_PROGRAMS,
                        value_count(sizes[i].size));
    plan_add_number(results, section, "recompute", TITLE_FOR_PROGRAMS,
                    value_text(recomputes[layout->recompute]));
    plan_add_number(results, section, "dtype", TITLE_FOR_PROGRAMS,
                    value_text(peak_type_name(setting->precision)));
    plan_add_number(results, section, "useful_in_16_bits", TITLE_FOR_PROGRAMS,
                    plan_time(outcome->in_16_bits));
    plan_add_number(results, section, "recompute_at_peak", TITLE_FOR_PROGRAMS,
                    plan_time(outcome->again_useful));
    plan_add_number(results, section, "recompute_memory_bound", TITLE_FOR_PROGRAMS,
                    plan_time(outcome->again_streamed));
    plan_add_number(results, section, "step_end", TITLE_FOR_PROGRAMS, plan_time(outcome->step_end));
    plan_add_number(results, section, "hardware_flops", TITLE_FOR_PROGRAMS,
                    value_flops(outcome->hardware_flops / outcome->devices));
    plan_add_number(results, section, "model_flops", TITLE_FOR_PROGRAMS,
                    value_flops(outcome->useful_flops / outcome->devices));
}

/* An option that is typed and does nothing would be taken for planned. */
static void plan_add_idle_choices(struct results *results, struct section *section,
                                  struct plan_idle_choices idle)
{
    for (int i = 0; i < idle.count; i++)
        section_add_warning(results, section,
                            results_format(results, "%s has no effect here: it is of %s",
                                           idle.choices[i].option, idle.choices[i].needs),
                            NULL, NULL);
}

/* What is planned, for who was not there when it was typed. */
static void plan_add_layout(struct results *results, struct section *section,
                            const struct plan_setting *setting, const struct plan_layout *layout)
{
    plan_add_number(results, section, "work", "a step",
                    value_text(results_format(
                        results, "%s sample%s of %s tokens, layers in %s",
                        format_count(setting->batch).text, setting->batch == 1 ? "" : "s",
                        format_count(setting->sequence).text, peak_type_name(setting->precision))));
    plan_add_number(results, section, "layout", "layout",
                    value_text(plan_layout_text(results, layout)));
    plan_add_number(results, section, "sharing", "batch and memory",
                    value_text(plan_sharing_text(results, setting, layout)));
}

/* A range beside the time: a plan without one is taken for a measurement. */
struct section *describe_plan(struct results *results, const struct plan_setting *setting,
                              const struct plan_layout *layout, const struct plan_outcome *outcome)
{
    struct section *section =
        section_new(results, "plan", "Plan",
                    setting->measured
                        ? "What a step will take, from the operators' shapes and what matmuls and "
                          "memory of such a device were measured to reach."
                    : setting->calibration > 0.0
                        ? "What a step will take, from the operators' shapes, what such devices "
                          "reach, and what a run like it took."
                        : "What a step will take, from the operators' shapes and what such devices "
                          "reach; nothing was measured.");
    /* FLOPs that all devices could do in the step at their peak: both shares are of this. */
    double all = outcome->peak * outcome->devices * outcome->step;

    plan_add_number(results, section, "device", "device", value_text(setting->device->name));
    if (setting->measured)
        section_add_number(results, section,
                           (struct number){.key = "measured_on",
                                           .title = "rates of",
                                           .value = value_text(setting->measured->device),
                                           .note = setting->measured->how});
    if (setting->calibration > 0.0)
        section_add_number(results, section,
                           (struct number){.key = "calibration",
                                           .title = "calibrated by a run",
                                           .value = value_number(setting->calibration),
                                           .note = "measured by planned, as given"});
    plan_add_number(results, section, "devices", "devices", value_count((int64_t)outcome->devices));
    plan_add_layout(results, section, setting, layout);
    plan_add_idle_choices(results, section, plan_idle_choices_of(setting, layout, outcome));
    if (setting->model->note)
        plan_add_number(results, section, "note", "note", value_text(setting->model->note));
    plan_add_number(results, section, "step_time", "step time", plan_time(outcome->step));
    section_add_number(results, section,
                       (struct number){.key = "step_time_low",
                                       .title = "at least",
                                       .value = plan_time(outcome->low),
                                       .note = outcome->interval_of});
    plan_add_number(results, section, "step_time_high", "at most", plan_time(outcome->high));
    plan_add_number(results, section, "mfu", "MFU, exact behind the mask",
                    value_fraction(outcome->useful_flops / all));
    plan_add_number(results, section, "hfu", "HFU, estimated",
                    value_fraction(outcome->hardware_flops / all));
    plan_add_number(results, section, "tokens_per_second", "tokens a second",
                    value_number(outcome->tokens / outcome->step));
    plan_add_number(results, section, "tokens_per_second_per_device", "of one device",
                    value_number(outcome->tokens / outcome->step / outcome->devices));
    plan_add_number(
        results, section, "flops_per_second", "achieved by a device",
        value_flops_per_second(outcome->useful_flops / outcome->step / outcome->devices));
    plan_add_sizes(results, section, setting, layout, outcome);
    plan_warn_of_positions(results, section, setting->model, "--seq", setting->sequence);
    return section;
}

#define PLAN_COLUMNS(COLUMN)                                                                      \
    COLUMN("account", "account", UNIT_TEXT, 0, BAR_NONE, value_text(plan_account_title(account))) \
    COLUMN("account_key", "key", UNIT_TEXT, PRIORITY_FOR_PROGRAMS, BAR_NONE,                      \
           value_text(plan_account_key(account)))                                                 \
    COLUMN("time", "time", UNIT_TIME_NS, 0, BAR_NONE, plan_time(outcome->accounts[account]))      \
    COLUMN("share", "share", UNIT_FRACTION, 0, BAR,                                               \
           value_fraction(outcome->accounts[account] / outcome->step))

/* Of the mean device: with pipeline stages no device is like another, and the accounts of a
 * mean still add up to the step. */
struct section *describe_plan_ledger(struct results *results, const struct plan_outcome *outcome)
{
    struct section *section = section_new(results, "plan_ledger", "Planned ledger",
                                          "Where the time of a step goes, of the mean device; the "
                                          "accounts add up to the step.");
    struct table *table = section_add_table(results, section, "accounts", "Accounts of a step",
                                            COLUMNS_OF(PLAN_COLUMNS));

    for (int i = 0; i < PLAN_ACCOUNT_COUNT; i++) {
        enum plan_account account = (enum plan_account)i;
        struct value *cells;

        if (outcome->accounts[account] <= 0.0)
            continue;
        cells = table_add_row(results, table, 0);
        FILL_ROW(cells, PLAN_COLUMNS);
    }
    return section;
}

/* The fullest device decides: one stage holds the embedding, the first ones most activations.
 * "barely": only without the copies that are usual, which not all programs make. */
struct section *describe_plan_memory(struct results *results, const struct plan_setting *setting,
                                     const struct plan_outcome *outcome)
{
    const struct plan_memory *memory = &outcome->memory;
    double has = (double)setting->device->memory_bytes;
    struct section *section =
        section_new(results, "plan_memory", "Memory of the fullest device", NULL);
    const struct {
        const char *key;
        const char *title;
        double bytes;
        const char *note;
    } parts[] = {
        {"weights", "weights", memory->weights, NULL},
        {"gradients", "gradients", memory->gradients, NULL},
        {"optimizer", "optimizer", memory->optimizer, NULL},
        {"activations", "activations", memory->activations, NULL},
        {"other", "logits and the runtime", memory->other, NULL},
        {"total", "together", memory->total, NULL},
        {"reserved", "as allocators keep it", plan_reserved_bytes(memory), NULL},
        {"least", "at least", memory->least,
         "with gradients and moments in 16 bits, the loss in pieces"},
    };

    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        section_add_number(results, section,
                           (struct number){.key = parts[i].key,
                                           .title = parts[i].title,
                                           .value = value_bytes(llround(parts[i].bytes)),
                                           .note = parts[i].note});
    plan_add_number(results, section, "device_memory", "of the device",
                    /* 0 is a device whose memory the table does not have, not one without
                     * memory. */
                    has > 0.0 ? value_bytes(setting->device->memory_bytes)
                              : value_not_known("needs a device whose memory is known"));
    plan_add_number(results, section, "fits", "fits",
                    has <= 0.0 ? value_not_known("needs the memory of the device")
                    : !plan_is_tight(memory, has) ? value_text("yes")
                    : memory->total <= has ? value_text("tightly: allocators keep more beside")
                    : memory->least <= has ? value_text("barely: with less than the usual copies")
                                           : value_text("no"));
    if (has > 0.0 && memory->least > has)
        section_add_warning(
            results, section, "the fullest device runs out of memory",
            results_format(results, "at least %.3g GB of %.3g GB are needed", memory->least / 1e9,
                           has / 1e9),
            "more devices for tensor or pipeline parallelism, ZeRO, recomputation or a smaller "
            "micro-batch");
    return section;
}

/* At 80 columns all but DP and VP stay: the one follows from the others, and is left out first. */
#define LAYOUT_COLUMNS(COLUMN)                                                                    \
    COLUMN("tp", "TP", UNIT_COUNT, 0, BAR_NONE, value_count(layout->tensor))                      \
    COLUMN("pp", "PP", UNIT_COUNT, 0, BAR_NONE, value_count(layout->pipeline))                    \
    COLUMN("vp", "VP", UNIT_COUNT, 4, BAR_NONE, value_count(layout->chunks))                      \
    COLUMN("cp", "CP", UNIT_COUNT, 3, BAR_NONE, value_count(layout->context))                     \
    COLUMN("ep", "EP", UNIT_COUNT, 3, BAR_NONE, value_count(layout->expert))                      \
    COLUMN("dp", "DP", UNIT_COUNT, 5, BAR_NONE, value_count(layout->data))                        \
    COLUMN("micro_batch", "MBS", UNIT_COUNT, 1, BAR_NONE, value_count(layout->micro))             \
    COLUMN("zero", "ZeRO", UNIT_COUNT, 1, BAR_NONE, value_count(layout->zero))                    \
    COLUMN("recompute", "recomp", UNIT_TEXT, 1, BAR_NONE,                                         \
           value_text(recomputes[layout->recompute]))                                             \
    COLUMN("step_time", "step", UNIT_TIME_NS, 0, BAR_NONE, plan_time(outcome->step))              \
    COLUMN(                                                                                       \
        "mfu", "MFU", UNIT_FRACTION, 2, BAR_NONE,                                                 \
        value_fraction(outcome->useful_flops / outcome->peak / outcome->devices / outcome->step)) \
    COLUMN("memory", "memory", UNIT_BYTES, 0, BAR_NONE, value_bytes(llround(outcome->memory.total)))

#define BEST_COLUMNS(COLUMN)                                   \
    LAYOUT_COLUMNS(COLUMN)                                     \
    COLUMN("limited_by", "limited by", UNIT_TEXT, 2, BAR_NONE, \
           value_text(plan_account_limit(plan_limit(outcome))))

#define TOO_LARGE_COLUMNS(COLUMN)                     \
    LAYOUT_COLUMNS(COLUMN)                            \
    COLUMN("lacks", "lacks", UNIT_BYTES, 0, BAR_NONE, \
           value_bytes(llround(outcome->memory.total - has)))

static bool plan_is_one(const struct value *cell)
{
    return cell->unit == UNIT_COUNT && cell->integer == 1;
}

/* A size that all layouts have as 1 is the first to go where the width is short: that they differ
 * in others, recomputation among them, is what the table is read for. */
static void plan_put_ones_last(const struct table *table)
{
    for (size_t i = 0; i < table->column_count; i++) {
        size_t row = 0;

        while (row < table->row_count && plan_is_one(&table->cells[row * table->column_count + i]))
            row++;
        if (row == table->row_count && table->columns[i].priority > 0)
            table->columns[i].priority = 9;
    }
}

static void plan_add_best(struct results *results, struct section *section,
                          const struct plan_kept *kept)
{
    struct table *table = section_add_table(results, section, "best", "Layouts of the least time",
                                            COLUMNS_OF(BEST_COLUMNS));

    for (size_t i = 0; i < kept->count; i++) {
        const struct plan_layout *layout = &kept->candidates[i].layout;
        const struct plan_outcome *outcome = &kept->candidates[i].outcome;

        FILL_ROW(table_add_row(results, table, 0), BEST_COLUMNS);
    }
    plan_put_ones_last(table);
}

/* Layouts that do not fit stay in sight: that the fastest one lacks a few GiB is what many a
 * user asks for. Where none fits, the nearest to it are. */
static void plan_add_too_large(struct results *results, struct section *section,
                               const struct plan_search *search, double has)
{
    const struct plan_kept *kept =
        search->too_large.count > 0 && search->fitting > 0 ? &search->too_large : &search->smallest;
    const char *title = kept == &search->too_large ? "Faster or not, but without the memory"
                                                   : "Those that lack the least memory";
    struct table *table =
        section_add_table(results, section, "too_large", title, COLUMNS_OF(TOO_LARGE_COLUMNS));

    for (size_t i = 0; i < kept->count; i++) {
        const struct plan_layout *layout = &kept->candidates[i].layout;
        const struct plan_outcome *outcome = &kept->candidates[i].outcome;

        FILL_ROW(table_add_row(results, table, 0), TOO_LARGE_COLUMNS);
    }
    plan_put_ones_last(table);
}

/* Layouts that lack memory are listed, too: one of them may be much faster, and worth a
 * smaller micro-batch. */
struct section *describe_plan_search(struct results *results, const struct plan_setting *setting,
                                     const struct plan_search *search)
{
    struct section *section = section_new(
        results, "plan_search", "Layouts",
        "All layouts that model, batch and devices allow, the fastest first; of those that differ "
        "only in VP, ZeRO or how samples are cut, the fastest. What limits one is its largest "
        "account beside the model's own FLOPs.");

    plan_add_number(results, section, "planned", "layouts planned", value_count(search->planned));
    plan_add_number(results, section, "fitting", "that fit in memory",
                    value_count(search->fitting));
    if (search->is_uneven)
        section_add_note(results, section, "these layers make few equal stages", NULL,
                         "with --pp, others need --uneven-stages");
    if (search->best.count > 0)
        plan_add_best(results, section, &search->best);
    if (search->smallest.count > 0)
        plan_add_too_large(results, section, search, (double)setting->device->memory_bytes);
    return section;
}

/* Days with what interruptions and checkpoints cost, as ETTR is expected: job_failures.h.
 * Interruptions are per device and day; more devices fail more often, in proportion. */
static double plan_add_ettr(struct results *results, struct section *section,
                            const struct plan_outcome *outcome, const struct plan_bill *bill)
{
    struct ettr_model model = {
        .failures = bill->interruptions * outcome->devices / 86400.0,
        .restart = bill->restart_minutes * 60.0,
        .checkpoint = bill->checkpoint_seconds,
        .interval = bill->checkpoint_interval * 60.0,
    };
    double ettr;

    if (model.interval <= 0.0)
        model.interval = best_checkpoint_interval(&model);
    ettr = expected_ettr(&model);
    plan_add_number(results, section, "interruptions_per_day", "interruptions a day",
                    value_number(bill->interruptions * outcome->devices));
    plan_add_number(results, section, "checkpoint_interval", "a checkpoint every",
                    plan_time(model.interval));
    plan_add_number(results, section, "expected_ettr", "expected ETTR",
                    ettr > 0.0 ? value_fraction(ettr)
                               : value_not_known("needs interruptions that are further apart than "
                                                 "a restart and half an interval"));
    return ettr;
}

/* Steps are whole, so they are rounded up. The range is the step's range, in proportion. */
struct section *describe_plan_bill(struct results *results, const struct device_peak *device,
                                   const struct plan_outcome *outcome, const struct plan_bill *bill)
{
    bool is_interrupted = bill->interruptions > 0.0;
    struct section *section = section_new(
        results, "plan_bill", "Training",
        is_interrupted ? "All steps, with interruptions and checkpoints; no evaluation."
                       : "All steps one after the other: no interruption, checkpoint or "
                         "evaluation.");
    double steps = ceil(bill->tokens / outcome->tokens);
    double hours = steps * outcome->step / 3600.0;
    /* A board's limit is what it draws at most, and without what is around it: a training draws
     * about as much, since it keeps the board busy. */
    double watts = bill->watts > 0.0 ? bill->watts : device_board_watts(device);
    double ettr;

    plan_add_number(results, section, "tokens", "tokens", value_number(bill->tokens));
    plan_add_number(results, section, "steps", "steps", value_number(steps));
    if (is_interrupted) {
        ettr = plan_add_ettr(results, section, outcome, bill);
        /* Interruptions come faster than restarts end: the training would never be done. */
        if (ettr <= 0.0)
            return section;
        hours /= ettr;
    }
    plan_add_number(results, section, "days", "days", value_number(hours / 24.0));
    plan_add_number(results, section, "days_low", "at least",
                    value_number(hours / 24.0 * outcome->low / outcome->step));
    plan_add_number(results, section, "days_high", "at most",
                    value_number(hours / 24.0 * outcome->high / outcome->step));
    plan_add_number(results, section, "device_hours", "device-hours",
                    value_number(hours * outcome->devices));
    if (watts > 0.0)
        section_add_number(
            results, section,
            (struct number){
                .key = "energy_mwh",
                .title = "energy, MWh",
                .value = value_number(hours * outcome->devices * watts / 1e6),
                .note = bill->watts > 0.0
                            ? NULL
                            : results_format(results, "of boards of %.0f W alone, without --watts",
                                             watts)});
    if (bill->of_device_hour > 0.0)
        plan_add_number(results, section, "cost", "cost",
                        value_number(hours * outcome->devices * bill->of_device_hour));
    return section;
}

static void plan_add_phases(struct results *results, struct section *section,
                            const struct plan_setting *setting, const struct plan_server *server)
{
    struct plan_serving prefill =
        plan_serving_step(setting, server->tensor,
                          (struct plan_requests){1, server->context, server->context, false});

    plan_add_number(results, section, "prefill_time", "prefill of a request",
                    plan_time(prefill.seconds));
    plan_add_number(results, section, "prefill_tokens_per_second", "its tokens a second",
                    value_number(prefill.tokens_per_second));
}

#define SERVING_COLUMNS(COLUMN)                                                            \
    COLUMN("requests", "requests", UNIT_COUNT, 0, BAR_NONE, value_count(requests))         \
    COLUMN("token_time", "a token", UNIT_TIME_NS, 0, BAR_NONE, plan_time(step.seconds))    \
    COLUMN("tokens_per_second", "tokens/s", UNIT_NUMBER, 0, BAR_NONE,                      \
           value_number(step.tokens_per_second))                                           \
    COLUMN("memory", "memory", UNIT_BYTES, 0, BAR_NONE, value_bytes(llround(step.memory))) \
    COLUMN("fits", "fits", UNIT_TEXT, 0, BAR_NONE, value_text(step.fits ? "yes" : "no"))

/* Powers of two up to 1024 show where memory bandwidth ends and compute begins. */
static void plan_add_requests(struct results *results, struct section *section,
                              const struct plan_setting *setting, const struct plan_server *server)
{
    struct table *table = section_add_table(results, section, "decode", "Decode by requests",
                                            COLUMNS_OF(SERVING_COLUMNS));

    for (int64_t requests = 1; requests <= 1024; requests *= 2) {
        struct plan_serving step = plan_serving_step(
            setting, server->tensor, (struct plan_requests){requests, 1, server->context, true});

        FILL_ROW(table_add_row(results, table, 0), SERVING_COLUMNS);
    }
}

/* With twice, four times... as many devices, as far as they divide the heads. */
static void plan_warn_of_none(struct results *results, struct section *section,
                              const struct plan_setting *setting, const struct plan_server *server,
                              bool fits)
{
    int64_t heads = setting->model->heads;
    int64_t tensor = 2 * server->tensor;

    while (heads > 0 && heads % tensor == 0 &&
           plan_best_requests(setting, tensor, server->context, server->latency) == 0)
        tensor *= 2;
    section_add_warning(
        results, section,
        fits ? "not even one request keeps the latency" : "not even one request fits in memory",
        results_format(results, "%s, on %lld device%s",
                       fits ? "a token of one takes longer" : "weights and cache have 90 % of it",
                       (long long)server->tensor, server->tensor == 1 ? "" : "s"),
        heads > 0 && heads % tensor == 0
            ? results_format(results, "--tp %lld, of what was tried the nearest that does",
                             (long long)tensor)
            : "fewer tokens of a request, smaller number formats or another device");
}

/* One request more tells which limit was met: if it fits in memory, latency stopped it. */
void describe_plan_serving(struct results *results, struct rank_results *rank,
                           const struct plan_setting *setting, const struct plan_server *server)
{
    struct section *section = section_new(
        results, "plan_serving", "Inference",
        "What a step takes by the bytes that it reads and the FLOPs that it computes, at the "
        "rates of such devices.");
    int64_t best = plan_best_requests(setting, server->tensor, server->context, server->latency);
    struct plan_serving step =
        plan_serving_step(setting, server->tensor,
                          (struct plan_requests){best > 0 ? best : 1, 1, server->context, true});
    struct plan_serving more = plan_serving_step(
        setting, server->tensor, (struct plan_requests){best + 1, 1, server->context, true});

    struct plan_capacity capacity = {best, more.fits ? "the latency" : "memory", step};

    plan_add_number(results, section, "device", "device", value_text(setting->device->name));
    plan_add_number(results, section, "devices", "devices", value_count(server->tensor));
    plan_add_number(results, section, "storage", "weights",
                    value_text(storage_words(results, &setting->model->storage)));
    plan_add_number(results, section, "context", "tokens of a request",
                    value_count(server->context));
    plan_add_number(results, section, "best_requests", "best number of requests",
                    value_count(best));
    plan_add_number(results, section, "limited_by", "limited by", value_text(capacity.limited_by));
    plan_add_number(results, section, "decode_time", "a token of each takes",
                    plan_time(step.seconds));
    if (best > 0)
        plan_add_number(results, section, "decode_tokens_per_second", "decode, tokens a second",
                        value_number(step.tokens_per_second));
    plan_warn_of_positions(results, section, setting->model, "--context", server->context);
    plan_add_idle_choices(results, section,
                          plan_idle_choices_of_server(setting, server->tensor, server->context));
    if (best == 0)
        plan_warn_of_none(results, section, setting, server, more.fits);
    plan_add_phases(results, section, setting, server);
    plan_add_requests(results, section, setting, server);
    rank->headline = plan_serving_headline(results, setting, server, &capacity);
    rank_add_section(results, rank, section);
}
