/* What we add to a trace for Perfetto or chrome://tracing. */
#include "output/exports/chrome_tracks.h"

#include "base/json/json_writer.h"
#include "base/text/owned_text.h"
#include "ledger/account_pieces.h"
#include "output/exports/chrome_modules.h"

#include <inttypes.h>
#include <stdlib.h>

/* Tracks of our process, in the order in which they are shown. */
enum { TRACK_STEPS = 1, TRACK_ACCOUNTS, TRACK_GAPS, TRACK_MODULES };

struct writing {
    FILE *output;
    const struct chrome_source *source;
    const struct chrome_place *place;
    const char *category;
};

static void chrome_tracks_write_text(FILE *output, const char *text)
{
    struct json_writer json = {.output = output};

    json_text(&json, NULL, text);
}

void chrome_write_time(FILE *output, int64_t ns)
{
    uint64_t size = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;

    (void)fprintf(output, "%s%" PRIu64 ".%03u", ns < 0 ? "-" : "", size / 1000,
                  (unsigned)(size % 1000));
}

/* ---- one event ------------------------------------------------------------------------------- */

/* process_name, thread_name; `prefix` and `name` make the name. */
static void write_name(const struct writing *work, const char *what, int64_t tid,
                       const char *prefix, const char *name)
{
    FILE *output = work->output;
    char *both = text_format("%s%s", prefix, name);

    (void)fprintf(output,
                  ",\n{\"ph\": \"M\", \"cat\": \"%s\", \"name\": \"%s\", \"pid\": %" PRId64
                  ", \"tid\": %" PRId64 ", \"args\": {\"name\": ",
                  work->category, what, work->place->first_pid, tid);
    chrome_tracks_write_text(output, both);
    (void)fputs("}}", output);
    free(both);
}

/* Up to the arguments, which end with "}}". */
static void begin_slice(const struct writing *work, int64_t tid, const char *name,
                        const int64_t range_ns[2])
{
    FILE *output = work->output;

    (void)fprintf(output,
                  ",\n{\"ph\": \"X\", \"cat\": \"%s\", \"pid\": %" PRId64 ", \"tid\": %" PRId64
                  ", \"ts\": ",
                  work->category, work->place->first_pid, tid);
    chrome_write_time(output, range_ns[0] + work->place->shift_ns);
    (void)fputs(", \"dur\": ", output);
    chrome_write_time(output, range_ns[1] - range_ns[0]);
    (void)fputs(", \"name\": ", output);
    chrome_tracks_write_text(output, name);
    (void)fputs(", \"args\": {", output);
}

/* ---- the tracks ------------------------------------------------------------------------------ */

static void write_accounts_of_step(FILE *output, const struct step_ledger *step)
{
    for (int a = 0; a < ACCOUNT_COUNT; a++)
        if (step->account_ns[a] != 0)
            (void)fprintf(output, ", \"%s (ms)\": %.6f", account_descriptions[a].title,
                          (double)step->account_ns[a] / 1e6);
}

static void chrome_tracks_write_steps(const struct writing *work)
{
    const struct ledger *ledger = work->source->ledger;

    for (uint32_t i = 0; i < ledger->step_count; i++) {
        const struct step_ledger *step = &ledger->steps[i];
        int64_t range_ns[2] = {step->window.start_ns, step->window.end_ns};
        char name[40];

        (void)snprintf(name, sizeof name, "%s %" PRId64,
                       ledger->source == WINDOW_WHOLE ? "window" : "step", step->window.number);
        begin_slice(work, TRACK_STEPS, name, range_ns);
        (void)fprintf(work->output, "\"duration (ms)\": %.6f",
                      (double)(range_ns[1] - range_ns[0]) / 1e6);
        if (efficiency_has_model(work->source->efficiency) && range_ns[1] > range_ns[0])
            (void)fprintf(work->output, ", \"MFU\": %.6f",
                          (double)work->source->efficiency->steps[i].time.model_ns /
                              (double)(range_ns[1] - range_ns[0]));
        write_accounts_of_step(work->output, step);
        (void)fputs("}}", work->output);
    }
}

static void chrome_tracks_write_accounts(const struct writing *work)
{
    const struct ledger *ledger = work->source->ledger;
    struct account_pieces pieces = {0};

    find_account_pieces(&pieces, work->source->trace, ledger);
    for (size_t i = 0; i < pieces.count; i++) {
        const struct account_piece *piece = &pieces.pieces[i];
        int64_t range_ns[2] = {piece->start_ns, piece->end_ns};

        begin_slice(work, TRACK_ACCOUNTS, account_descriptions[piece->account].title, range_ns);
        (void)fprintf(work->output, "\"step\": %" PRId64 ", \"account\": \"%s\"}}",
                      ledger->steps[piece->step].window.number,
                      account_descriptions[piece->account].key);
    }
    account_pieces_clear(&pieces);
}

static int chrome_tracks_by_start(const void *left, const void *right)
{
    const struct idle_gap *const *a = left;
    const struct idle_gap *const *b = right;

    return ((*a)->start_ns > (*b)->start_ns) - ((*a)->start_ns < (*b)->start_ns);
}

static void write_gap(const struct writing *work, const struct idle_gap *gap)
{
    const struct trace *trace = work->source->trace;
    int64_t range_ns[2] = {gap->start_ns, gap->end_ns};

    begin_slice(work, TRACK_GAPS, account_descriptions[gap->main_account].title, range_ns);
    (void)fprintf(work->output, "\"step\": %" PRId64,
                  work->source->ledger->steps[gap->step].window.number);
    if (gap->host_event != NO_EVENT) {
        (void)fputs(", \"the host was in\": ", work->output);
        chrome_tracks_write_text(work->output,
                                 trace_text(trace, trace->host[gap->host_event].name));
    }
    if (gap->next_event != NO_EVENT) {
        (void)fputs(", \"ended by\": ", work->output);
        chrome_tracks_write_text(work->output,
                                 trace_text(trace, trace->device[gap->next_event].name));
    }
    (void)fputs(", \"try\": ", work->output);
    chrome_tracks_write_text(work->output, account_descriptions[gap->main_account].advice);
    (void)fputs("}}", work->output);
}

static void write_gaps(const struct writing *work)
{
    const struct ledger *ledger = work->source->ledger;
    const struct idle_gap *gaps[WORST_GAPS_MAX];

    for (uint32_t i = 0; i < ledger->worst_gap_count; i++)
        gaps[i] = &ledger->worst_gaps[i];
    qsort(gaps, ledger->worst_gap_count, sizeof *gaps, chrome_tracks_by_start);
    for (uint32_t i = 0; i < ledger->worst_gap_count; i++)
        write_gap(work, gaps[i]);
}

static void write_modules(const struct writing *work)
{
    const struct trace *trace = work->source->trace;
    struct module_slices slices = {0};
    uint32_t named = NO_EVENT;

    find_module_slices(&slices, trace, work->source->costs);
    for (size_t i = 0; i < slices.count; i++) {
        const struct module_slice *slice = &slices.slices[i];
        const struct track *track = &trace->tracks[slice->track];
        int64_t range_ns[2] = {slice->start_ns, slice->end_ns};
        int64_t tid = TRACK_MODULES + (int64_t)slice->track;

        if (slice->track != named) {
            char name[80];

            (void)snprintf(name, sizeof name, "modules on device %d, stream %" PRId64,
                           track->device, track->stream);
            write_name(work, "thread_name", tid, "", name);
            named = slice->track;
        }
        begin_slice(work, tid, slice->name, range_ns);
        (void)fprintf(work->output, "\"kernels\": %" PRId64 "}}", slice->kernels);
    }
    module_slices_clear(&slices);
}

void chrome_write_tracks(FILE *output, const struct chrome_source *source,
                         const struct chrome_place *place, const char *category)
{
    const struct writing work = {output, source, place, category};

    write_name(&work, "process_name", 0, place->prefix, "step ledger (flopledger)");
    (void)fprintf(output,
                  ",\n{\"ph\": \"M\", \"cat\": \"%s\", \"name\": \"process_sort_index\", \"pid\": "
                  "%" PRId64 ", \"tid\": 0, \"args\": {\"sort_index\": -1}}",
                  category, place->first_pid);
    write_name(&work, "thread_name", TRACK_STEPS, "", "steps");
    write_name(&work, "thread_name", TRACK_ACCOUNTS, "", "accounts: what each moment belongs to");
    write_name(&work, "thread_name", TRACK_GAPS, "", "longest idle gaps, by main cause");
    chrome_tracks_write_steps(&work);
    chrome_tracks_write_accounts(&work);
    write_gaps(&work);
    if (source->costs->tree.count > 0)
        write_modules(&work);
}
