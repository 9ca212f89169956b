/* What `flopledger top` shows of the machine, and what its page is written with. */
#include "base/core/invariant.h"
#include "base/text/display_text.h"
#include "base/text/format.h"
#include "base/text/text_wrap.h"
#include "live/top/top_view.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

const char *top_text(struct arena *arena, const char *format, ...)
{
    char text[512];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return arena_copy_text(arena, text, strlen(text));
}

/* Written to memory first: where lines end is known only then. */
void top_write_wrapped(FILE *output, const struct top_view *view, int indent,
                       void (*write)(FILE *output, const struct top_view *view))
{
    struct text_margins margins = {.indent = indent, .width = view->style.width};
    char *text = NULL;
    size_t length = 0;
    FILE *memory = require_memory(open_memstream(&text, &length));

    write(memory, view);
    (void)fclose(memory);
    for (char *line = text; *line;) {
        size_t line_length = strcspn(line, "\n");
        bool is_last = line[line_length] == '\0';

        line[line_length] = '\0';
        write_wrapped(output, line, margins);
        line += line_length + !is_last;
    }
    free(text);
}

enum { ROWS_MAX = 64 };

static const char unknown[] = "-";

static double seconds_between(const struct top_view *view)
{
    return view->before ? (double)(view->now->taken_ns - view->before->taken_ns) / 1e9 : 0;
}

/* Of a counter, a second; NaN where it is not known (the first look, or it began anew). A
 * counter below its last value began anew (driver reloaded, machine restarted): no rate, rather
 * than a negative one. */
static double top_sections_rate_of(const struct top_view *view, const struct live_sample *sample)
{
    const struct live_sample *before = view->before ? live_find_same(view->before, sample) : NULL;
    double seconds = seconds_between(view);

    if (!before || seconds <= 0 || sample->value < before->value)
        return (double)NAN;
    return (sample->value - before->value) / seconds;
}

/* Samples are few (tens for each device), so that a search of all of them will do. */
static const struct live_sample *find_gpu(const struct top_view *view, const char *family,
                                          const char *gpu, const char *name, const char *value)
{
    for (size_t i = 0; i < view->now->count; i++) {
        const struct live_sample *sample = &view->now->samples[i];

        if (strcmp(sample->family->name, family) == 0 &&
            strcmp(live_label_of(sample, "gpu"), gpu) == 0 &&
            (!name || strcmp(live_label_of(sample, name), value) == 0))
            return sample;
    }
    return NULL;
}

static const char *gpu_fraction(struct arena *arena, const struct live_sample *sample)
{
    return sample ? top_text(arena, "%s", format_fraction(sample->value).text) : unknown;
}

static const char *gpu_plain(struct arena *arena, const struct live_sample *sample, double unit,
                             const char *name)
{
    return sample ? top_text(arena, "%.0f %s", sample->value / unit, name) : unknown;
}

/* "nothing" is said only where the driver told of reasons at all and none holds; without them
 * it is not known. */
static const char *slow_reasons(struct arena *arena, const struct top_view *view, const char *gpu)
{
    const char *reasons = "";
    bool is_known = false;

    for (size_t i = 0; i < view->now->count; i++) {
        const struct live_sample *sample = &view->now->samples[i];

        if (strcmp(sample->family->name, "flopledger_gpu_slowed") != 0 ||
            strcmp(live_label_of(sample, "gpu"), gpu) != 0)
            continue;
        is_known = true;
        if (sample->value > 0)
            reasons = top_text(arena, "%s%s%s", reasons, *reasons ? ", " : "",
                               live_label_of(sample, "reason"));
    }
    return !is_known ? unknown : *reasons ? reasons : "nothing";
}

static const struct text_column gpu_columns[] = {
    {"GPU", TEXT_COLUMN_NUMBER, 0},          {"name", TEXT_COLUMN_NAME, 4},
    {"busy", TEXT_COLUMN_NUMBER, 0},         {"SM", TEXT_COLUMN_NUMBER, 1},
    {"tensor", TEXT_COLUMN_NUMBER, 0},       {"DRAM", TEXT_COLUMN_NUMBER, 1},
    {"memory", TEXT_COLUMN_NUMBER, 2},       {"SM clock", TEXT_COLUMN_NUMBER, 3},
    {"power", TEXT_COLUMN_NUMBER, 2},        {"temperature", TEXT_COLUMN_NUMBER, 5},
    {"slowed down by", TEXT_COLUMN_NAME, 1},
};

enum { GPU_COLUMNS = sizeof gpu_columns / sizeof *gpu_columns };

/* By the same metrics that are exported: what the page shows can be looked up in a dashboard
 * under these names. */
static void fill_gpu(struct arena *arena, const struct top_view *view, const char *gpu,
                     const char *name, struct text_cell *cells)
{
    static const char activity[] = "flopledger_gpu_activity_ratio";
    const struct live_sample *used =
        find_gpu(view, "flopledger_gpu_memory_used_bytes", gpu, NULL, "");
    int column = 0;

    cells[column++].text = gpu;
    cells[column++].text = display_text(arena, name, view->style.use_unicode);
    cells[column++].text =
        gpu_fraction(arena, find_gpu(view, "flopledger_gpu_busy_ratio", gpu, NULL, ""));
    cells[column++].text = gpu_fraction(arena, find_gpu(view, activity, gpu, "unit", "sm"));
    cells[column++].text = gpu_fraction(arena, find_gpu(view, activity, gpu, "unit", "tensor"));
    cells[column++].text = gpu_fraction(arena, find_gpu(view, activity, gpu, "unit", "dram"));
    cells[column++].text =
        used ? top_text(arena, "%s", format_bytes((int64_t)used->value).text) : unknown;
    cells[column++].text = gpu_plain(
        arena, find_gpu(view, "flopledger_gpu_sm_clock_hertz", gpu, NULL, ""), 1e6, "MHz");
    cells[column++].text =
        gpu_plain(arena, find_gpu(view, "flopledger_gpu_power_watts", gpu, NULL, ""), 1, "W");
    cells[column++].text = gpu_plain(
        arena, find_gpu(view, "flopledger_gpu_temperature_celsius", gpu, NULL, ""), 1, "C");
    cells[column++].text = slow_reasons(arena, view, gpu);
}

/* A device is what tells of itself (gpu_info); that its counters are missing leaves cells
 * unknown and not the row out. */
static void write_gpus(FILE *output, struct arena *arena, const struct top_view *view)
{
    struct text_cell *cells = arena_allocate(arena, (size_t)ROWS_MAX * GPU_COLUMNS * sizeof *cells);
    struct text_table table = {.columns = gpu_columns, .column_count = GPU_COLUMNS, .cells = cells};

    for (size_t i = 0; i < view->now->count && table.row_count < ROWS_MAX; i++) {
        const struct live_sample *sample = &view->now->samples[i];

        if (strcmp(sample->family->name, "flopledger_gpu_info") == 0)
            fill_gpu(arena, view, live_label_of(sample, "gpu"), live_label_of(sample, "name"),
                     &cells[table.row_count++ * GPU_COLUMNS]);
    }
    if (table.row_count == 0)
        return;
    text_table_write(&table, output, 0, view->style, arena);
    fputc('\n', output);
}

/* Share of the processors' time that was not idle. Busy is 1 less idle and waiting; rounding of
 * the kernel's ticks may make the sum more than 1, hence fmax. */
static void write_processors(FILE *output, const struct top_view *view)
{
    const struct live_sample *count = live_find(view->now, "flopledger_host_cpus", NULL, NULL);
    const struct live_sample *load = live_find(view->now, "flopledger_host_load1", NULL, NULL);
    const struct live_sample *total =
        live_find(view->now, "flopledger_host_memory_bytes", NULL, NULL);
    const struct live_sample *available =
        live_find(view->now, "flopledger_host_memory_available_bytes", NULL, NULL);
    const struct live_sample *idle =
        live_find(view->now, "flopledger_host_cpu_seconds", "mode", "idle");
    const struct live_sample *waits =
        live_find(view->now, "flopledger_host_cpu_seconds", "mode", "iowait");

    if (!count)
        return;
    fprintf(output, "processors: ");
    if (idle && waits && !isnan(top_sections_rate_of(view, idle)))
        fprintf(output, "%s busy, %s waiting for disks, of ",
                format_fraction(fmax(0, 1 - (top_sections_rate_of(view, idle) +
                                             top_sections_rate_of(view, waits)) /
                                                count->value))
                    .text,
                format_fraction(top_sections_rate_of(view, waits) / count->value).text);
    fprintf(output, "%.0f", count->value);
    if (load)
        fprintf(output, ", load %.2f", load->value);
    if (total && available)
        fprintf(output, "\nmemory: %s of %s taken",
                format_bytes((int64_t)(total->value - available->value)).text,
                format_bytes((int64_t)total->value).text);
    fputc('\n', output);
}

/* Rates are of two looks: the first page has none. */
static void write_pressure(FILE *output, const struct top_view *view)
{
    static const char *const resources[] = {"cpu", "io", "memory"};
    static const char *const names[] = {"processors", "disks", "memory"};
    const char *separator = "waiting: ";

    for (size_t i = 0; i < sizeof resources / sizeof *resources; i++) {
        const struct live_sample *some =
            live_find(view->now, "flopledger_host_pressure_seconds", "resource", resources[i]);

        if (!some || isnan(top_sections_rate_of(view, some)))
            continue;
        fprintf(output, "%sfor %s %s", separator, names[i],
                format_fraction(top_sections_rate_of(view, some)).text);
        separator = ", ";
    }
    if (strcmp(separator, ", ") == 0)
        fputs(" of the time\n", output);
}

struct flow {
    const char *title;
    const char *label; /* that names a row */
    const char *families[2];
    const char *names[2]; /* "in" */
    const char *trouble;  /* a family of counters, or NULL */
};

static const struct flow flows[] = {
    {"disk",
     "device",
     {"flopledger_host_disk_read_bytes", "flopledger_host_disk_written_bytes"},
     {"reads", "writes"},
     NULL},
    {"network",
     "interface",
     {"flopledger_host_network_received_bytes", "flopledger_host_network_sent_bytes"},
     {"receives", "sends"},
     "flopledger_host_network_errors"},
    {"InfiniBand",
     "device",
     {"flopledger_infiniband_received_bytes", "flopledger_infiniband_sent_bytes"},
     {"receives", "sends"},
     "flopledger_infiniband_errors"},
};

/* Of another family, with the same labels; NULL where there is none. */
static const struct live_sample *sibling(const struct top_view *view, const char *family,
                                         const struct live_sample *of)
{
    for (size_t i = 0; family && i < view->now->count; i++) {
        const struct live_sample *sample = &view->now->samples[i];
        bool is_same = strcmp(sample->family->name, family) == 0;

        for (int label = 0; is_same && label < LIVE_LABELS_MAX && of->labels[label].name; label++)
            is_same =
                strcmp(live_label_of(sample, of->labels[label].name), of->labels[label].value) == 0;
        if (is_same)
            return sample;
    }
    return NULL;
}

/* Silent interfaces say nothing; errors are shown even without traffic. */
static void write_flow(FILE *output, const struct top_view *view, const struct flow *flow,
                       const struct live_sample *first)
{
    const struct live_sample *second = sibling(view, flow->families[1], first);
    const struct live_sample *trouble = sibling(view, flow->trouble, first);
    double in = top_sections_rate_of(view, first);
    double out = second ? top_sections_rate_of(view, second) : (double)NAN;

    bool has_trouble = trouble && trouble->value > 0;
    const char *separator = "";

    if (isnan(in) && isnan(out) && !has_trouble)
        return; /* the first look: rates come with the next */
    fprintf(output, "%s %s%s%s: ", flow->title, live_label_of(first, flow->label),
            *live_label_of(first, "port") ? "/" : "", live_label_of(first, "port"));
    if (!isnan(in)) {
        fprintf(output, "%s %s", flow->names[0], format_bytes_per_second(in).text);
        separator = ", ";
    }
    if (!isnan(out)) {
        fprintf(output, "%s%s %s", separator, flow->names[1], format_bytes_per_second(out).text);
        separator = ", ";
    }
    if (has_trouble)
        fprintf(output, "%s%s errors", separator, format_count((int64_t)trouble->value).text);
    fputc('\n', output);
}

/* A sample stands for both directions: it is found by the family of the first, and the other
 * is looked up by its labels. */
static void write_flows(FILE *output, const struct top_view *view)
{
    for (size_t kind = 0; kind < sizeof flows / sizeof *flows; kind++) {
        for (size_t i = 0; i < view->now->count; i++) {
            if (strcmp(view->now->samples[i].family->name, flows[kind].families[0]) == 0)
                write_flow(output, view, &flows[kind], &view->now->samples[i]);
        }
    }
}

/* "runs" of one rank, "run" of several. */
static int length_of_state(const char *state, bool is_plural)
{
    size_t length = strlen(state);

    return (int)length - (is_plural && length > 0 && state[length - 1] == 's');
}

/* What NCCL's RAS tells: of ranks those in trouble, and of collectives those that some lack. */
static void write_ras(FILE *output, const struct top_view *view)
{
    const struct live_sample *count =
        live_find(view->now, "flopledger_nccl_communicators", NULL, NULL);
    const char *separator = ": ";

    if (!count)
        return;
    fprintf(output, "NCCL: %.0f communicator%s", count->value, count->value == 1 ? "" : "s");
    for (size_t i = 0; i < view->now->count; i++) {
        const struct live_sample *sample = &view->now->samples[i];
        const char *name = sample->family->name;
        const char *plural = sample->value == 1 ? "" : "s";

        if (sample->value <= 0)
            continue;
        if (strcmp(name, "flopledger_nccl_ranks") == 0)
            fprintf(output, "%s%.0f rank%s %.*s", separator, sample->value, plural,
                    length_of_state(live_label_of(sample, "state"), *plural),
                    live_label_of(sample, "state"));
        else if (strcmp(name, "flopledger_nccl_ranks_behind") == 0)
            fprintf(output, "%s%.0f rank%s behind in %s", separator, sample->value, plural,
                    live_label_of(sample, "operation"));
        else if (strcmp(name, "flopledger_nccl_lost_processes") == 0)
            fprintf(output, "%s%.0f process%s %s", separator, sample->value, *plural ? "es" : "",
                    live_label_of(sample, "state"));
        else
            continue;
        separator = ", ";
    }
    fputc('\n', output);
}

static void write_host(FILE *output, const struct top_view *view)
{
    SCOPED(arena) arena = {0};

    write_ras(output, view);
    write_processors(output, view);
    write_pressure(output, view);
    write_flows(output, view);
    for (size_t i = 0; i < view->now->note_count; i++)
        fprintf(output, "%s\n", display_text(&arena, view->now->notes[i], view->style.use_unicode));
}

void write_top_machine(FILE *output, struct arena *arena, const struct top_view *view)
{
    write_gpus(output, arena, view);
    top_write_wrapped(output, view, 2, write_host);
}
