/* What we add to a trace for Perfetto or chrome://tracing. */
#include "output/exports/chrome_tracks.h"

#include "base/core/array.h"
#include "base/core/invariant.h"
#include "base/json/json_writer.h"
#include "base/text/owned_text.h"
#include "ledger/account_pieces.h"
#include "output/results/device_words.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- modules --------------------------------------------------------------------------------- */

/* Which module's kernels ran on each stream when: as slices that nest. */

enum { DEPTH_MAX = 32 }; /* a module deeper in the model is shown as the one it lies in */

/* What is open on a stream. */
struct open_stream {
    const char *names[DEPTH_MAX];
    size_t slices[DEPTH_MAX]; /* indices in module_slices */
    uint32_t depth;
};

/* From the phase down to the module. */
struct path {
    const char *names[DEPTH_MAX];
    uint32_t depth;
};

/* The phase is the outermost slice, then the modules from the root down: a module that runs in
 * the forward and again in the backward is two slices, not one with a hole. */
static void find_path(struct path *path, const struct module_costs *costs,
                      struct device_context context)
{
    const struct module_tree *tree = &costs->tree;
    uint32_t module = context.module;

    path->names[0] = training_phase_key(context.phase);
    path->depth = 1;
    if (module == NO_MODULE)
        return;
    while (tree->modules[module].depth > DEPTH_MAX - 2)
        module = tree->modules[module].parent;
    path->depth = tree->modules[module].depth + 2;
    for (; module != NO_MODULE; module = tree->modules[module].parent)
        path->names[tree->modules[module].depth + 1] = tree->modules[module].name;
}

static size_t chrome_modules_add_slice(struct module_slices *slices,
                                       const struct module_slice *slice)
{
    ARRAY_ROOM(slices->slices, slices->count);
    slices->slices[slices->count] = *slice;
    return slices->count++;
}

/* Slices end where the next one on the stream begins, should a kernel reach into it. */
static void close_down_to(struct module_slices *slices, struct open_stream *stream, uint32_t depth,
                          int64_t at_most_ns)
{
    while (stream->depth > depth) {
        struct module_slice *slice = &slices->slices[stream->slices[--stream->depth]];

        if (slice->end_ns > at_most_ns)
            slice->end_ns = at_most_ns;
    }
}

/* Kernels come by start. What is open on a stream is compared with the path of the next kernel
 * from the outside: the common part goes on, the rest ends where the kernel begins, and its
 * own part opens there. So slices nest by construction, which viewers require. Names are
 * compared as pointers, which holds since those of one tree are one text each. */
static void collect_kernel(struct module_slices *slices, struct open_stream *stream,
                           const struct path *path, const struct event *event)
{
    uint32_t common = 0;

    while (common < path->depth && common < stream->depth &&
           stream->names[common] == path->names[common])
        common++;
    close_down_to(slices, stream, common, event->start_ns);
    while (stream->depth < path->depth) {
        stream->names[stream->depth] = path->names[stream->depth];
        stream->slices[stream->depth] = chrome_modules_add_slice(
            slices, &(struct module_slice){.start_ns = event->start_ns,
                                           .end_ns = event->start_ns,
                                           .name = path->names[stream->depth],
                                           .track = event->track,
                                           .depth = stream->depth});
        stream->depth++;
    }
    for (uint32_t i = 0; i < stream->depth; i++) {
        struct module_slice *slice = &slices->slices[stream->slices[i]];

        slice->kernels++;
        if (slice->end_ns < event_end_ns(event))
            slice->end_ns = event_end_ns(event);
    }
}

/* A slice of less depth first where two start together: the outer one has to be read before
 * what lies in it. */
static int compare_slices(const void *left, const void *right)
{
    const struct module_slice *a = left;
    const struct module_slice *b = right;

    if (a->track != b->track)
        return a->track < b->track ? -1 : 1;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    return a->depth < b->depth ? -1 : a->depth > b->depth;
}

/* Slices of a stream are collected while its kernels pass in the order of time, one open path
 * a stream; only then all are sorted, as viewers want slices that nest in one order over all
 * tracks. */
void find_module_slices(struct module_slices *slices, const struct trace *trace,
                        const struct module_costs *costs)
{
    struct open_stream *streams =
        require_memory(calloc((size_t)trace->track_count + 1, sizeof *streams));

    for (uint32_t i = 0; i < trace->device_count; i++) {
        struct device_context context = find_device_context(&costs->contexts, trace, i);
        struct path path = {.depth = 0};

        if (!context.is_known)
            continue;
        find_path(&path, costs, context);
        collect_kernel(slices, &streams[trace->device[i].track], &path, &trace->device[i]);
    }
    if (slices->count > 0)
        qsort(slices->slices, slices->count, sizeof *slices->slices, compare_slices);
    free(streams);
}

void module_slices_clear(struct module_slices *slices)
{
    if (!slices)
        return;
    free(slices->slices);
    *slices = (struct module_slices){0};
}

/* ---- chrome tracks --------------------------------------------------------------------------- */

/* Tracks of our process, in the order in which they are shown. */
enum { TRACK_STEPS = 1, TRACK_ACCOUNTS, TRACK_GAPS, TRACK_MODULES };

struct writing {
    FILE *output;
    const struct chrome_source *source;
    const struct chrome_place *place;
    const char *category;
    const struct account_words *words;
};

static void chrome_tracks_write_text(FILE *output, const char *text)
{
    struct json_writer json = {.output = output};

    json_text(&json, NULL, text);
}

/* Microseconds with three decimals, exactly. Microseconds with three decimals, made from whole
 * numbers: a double would round nanoseconds of a time since 1970. The size of a negative number
 * is taken without overflow for the least of them, too. */
static void chrome_write_time(FILE *output, int64_t ns)
{
    uint64_t size = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;

    (void)fprintf(output, "%s%" PRIu64 ".%03u", ns < 0 ? "-" : "", size / 1000,
                  (unsigned)(size % 1000));
}

/* ---- one event ------------------------------------------------------------------------------- */

/* process_name, thread_name; `prefix` and `name` make the name. A comma stands first: our tracks
 * follow at least one event. */
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

/* Up to the arguments, which end with "}}". Complete events ("X"), since a begin and an end of
 * their own would need an order in the file. */
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

static void write_accounts_of_step(const struct writing *work, const struct step_ledger *step)
{
    for (int a = 0; a < ACCOUNT_COUNT; a++)
        if (step->account_ns[a] != 0)
            (void)fprintf(work->output, ", \"%s (ms)\": %.6f", work->words->titles[a],
                          (double)step->account_ns[a] / 1e6);
}

/* MFU of a step is the time that the model's FLOPs take at the peak over the step's time, as
 * everywhere. */
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
        write_accounts_of_step(work, step);
        (void)fputs("}}", work->output);
    }
}

/* Pieces never overlap, so that one track holds them all and none has to nest in another. */
static void chrome_tracks_write_accounts(const struct writing *work)
{
    const struct ledger *ledger = work->source->ledger;
    struct account_pieces pieces = {0};

    find_account_pieces(&pieces, work->source->trace, ledger);
    for (size_t i = 0; i < pieces.count; i++) {
        const struct account_piece *piece = &pieces.pieces[i];
        int64_t range_ns[2] = {piece->start_ns, piece->end_ns};

        begin_slice(work, TRACK_ACCOUNTS, work->words->titles[piece->account], range_ns);
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

/* What the host was in and what ended the gap are left out where they are not known: a viewer
 * shows an empty argument as if it said something. */
static void write_gap(const struct writing *work, const struct idle_gap *gap)
{
    const struct trace *trace = work->source->trace;
    int64_t range_ns[2] = {gap->start_ns, gap->end_ns};

    begin_slice(work, TRACK_GAPS, work->words->titles[gap->main_account], range_ns);
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
    chrome_tracks_write_text(work->output, work->words->advice[gap->main_account]);
    (void)fputs("}}", work->output);
}

/* The ledger has the gaps by length; a viewer reads a track in the order of time. */
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

/* One track for each stream. Slices are sorted by track, so that a name is written at the
 * first of each. */
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

/* The ledger's process stands above those of the trace, whose places begin at 0. Marks carry
 * their own category, by which a second export leaves them out. */
void chrome_write_tracks(FILE *output, const struct chrome_source *source,
                         const struct chrome_place *place, const char *category)
{
    SCOPED(arena) arena = {0};
    struct account_words words;
    const struct writing work = {output, source, place, category, &words};

    account_words_of(&words, &arena, source->speakers);
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
