/* What `flopledger memory` prints: of snapshots of the CUDA allocator, of the allocations in
 * traces, and the files that InternEvo writes of them. */
#include "base/io/input_stream.h"
#include "base/io/output_file.h"
#include "base/io/output_folder.h"
#include "base/io/progress.h"
#include "base/text/display_text.h"
#include "base/text/owned_text.h"
#include "cost/efficiency/peak_choice.h"
#include "memory/internevo.h"
#include "output/results/device_words.h"
#include "output/results/metrics.h"
#include "pipeline/input_files.h"
#include "pipeline/output_place.h"
#include "pipeline/page.h"
#include "pipeline/read_files.h"
#include "pipeline/recorded_memory.h"
#include "pipeline/session.h"
#include "pipeline/subcommands.h"
#include "readers/memory_snapshot/cuda_memory_snapshot.h"
#include "sections/memory/memory_sections.h"
#include "sections/memory/snapshot_sections.h"
#include "sections/ranks/ranks_overview.h"
#include "sections/timeline/timeline_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- as InternEvo writes it ------------------------------------------------------------------ */

/* `flopledger memory --format internevo`: the files of InternEvo's SimpleMemoryProfiler. */

/* A folder, and what goes there. */
struct folder_writing {
    struct output_folder *folder;
    const struct memory_run *run;
    int32_t device;
};

/* Page number `page`, or the log where it is INTERNEVO_PAGE_COUNT. */
static bool memory_internevo_write_file(struct folder_writing *writing, int page,
                                        struct error *error)
{
    SCOPED(output_file) file = {0};
    bool is_log = page == INTERNEVO_PAGE_COUNT;
    const char *name = is_log ? "memory.log" : internevo_page_file((enum internevo_page)page);

    if (!output_folder_add(writing->folder, &file, name, error))
        return false;
    if (is_log)
        internevo_log_write(file.stream, writing->run, writing->device);
    else
        internevo_page_write(file.stream, writing->run, writing->device, (enum internevo_page)page);
    return output_file_close(&file, error);
}

static int64_t memory_internevo_or_zero(int64_t number)
{
    return number < 0 ? 0 : number;
}

/* The layout of names is InternEvo's, whose tools look for it; what is not known is rank 0, as
 * in a run alone. */
static char *name_folder(const struct memory_settings *settings, const struct memory_batch *batch)
{
    char *path = text_format("%s/memory_trace/rank%lld_dp%lld_tp%lld",
                             settings->page.output ? settings->page.output : ".",
                             (long long)memory_internevo_or_zero(batch->rank),
                             (long long)memory_internevo_or_zero(batch->data_rank),
                             (long long)memory_internevo_or_zero(batch->tensor_rank));

    return path;
}

/* InternEvo names a folder by the rank's places; what the trace does not tell is 0 there, as
 * in a run of one rank. */
static bool memory_internevo_write_folder(struct results *results, const struct trace *trace,
                                          const void *context, struct error *error)
{
    const struct memory_settings *settings = context;
    SCOPED(recorded_memory) memory = {.run = {.trace = NULL}};
    SCOPED(output_folder) folder = {0};
    struct folder_writing writing = {.folder = &folder, .run = &memory.run};
    char *path;
    bool is_written;

    if (!recorded_memory_read(&memory, trace, error) ||
        !recorded_memory_device(&memory, settings->device, &writing.device, error))
        return false;
    if (memory.side.mark_count == 0)
        return error_set(error, ERROR_NO_DATA,
                         "no marks of tensors stand beside '%s': record with 'flopledger run "
                         "--memory'",
                         trace_text(trace, trace->path));
    path = name_folder(settings, &memory.batch);
    is_written = output_folder_open(&folder, path, error);
    folder.data_in_file = settings->page.is_forced ? NULL : data_that_file_holds;
    for (int page = 0; page <= INTERNEVO_PAGE_COUNT && is_written; page++)
        is_written = memory_internevo_write_file(&writing, page, error);
    is_written = is_written && output_folder_close(&folder, error);
    if (is_written)
        results_add_rank(results, "", results_text(results, path), memory.batch.rank,
                         device_speakers(trace, NULL));
    free(path);
    return is_written;
}

/* Files that could be written are listed even where others failed; only if there is none, the
 * first error is the answer. */
bool write_internevo_folders(char **paths, int count, const struct memory_settings *settings,
                             struct error *error)
{
    SCOPED(input_files) files = {0};
    SCOPED(results) results = {0};
    struct file_reading reading = {
        .threads = settings->threads > 0 ? (unsigned)settings->threads : default_thread_count(),
        .shows_progress = settings->shows_progress,
        .keeps_memory = true,
        .use = memory_internevo_write_folder,
        .context = settings,
    };
    struct files_read outcome = {0};

    if (!find_input_files(&files, paths, count, error))
        return false;
    results_init(&results);
    read_files(&outcome, &results, &files, &reading);
    for (size_t i = 0; i < results.rank_count; i++)
        (void)printf("%s\n", show_text(results.ranks[i].file).text);
    if (outcome.used_count == 0) {
        *error = outcome.first_error;
        return false;
    }
    return check_files_read(&outcome, error);
}

/* ---- of a capture ---------------------------------------------------------------------------- */

/* `flopledger memory` of recorded runs: traces with [memory] events, and the marks beside them. */

/* Ranks that ZeRO is thought over where the run has one. */
enum { RANKS_IF_ONE = 8 };

/* A run of one rank is asked what ZeRO would save on eight, which is one node. */
static struct section *describe_fit(struct results *results, const struct memory_view *view,
                                    const struct memory_settings *settings,
                                    const struct memory_batch *batch)
{
    int64_t ranks = batch->data_size > 1 ? batch->data_size : RANKS_IF_ONE;
    struct memory_fit_view fit = {
        .memory = *view,
        .budget_bytes = settings->fit_bytes,
        .samples = settings->batch > 0 ? settings->batch : batch->samples,
        .length = batch->length,
        .options = {.ranks = settings->ranks > 0 ? settings->ranks : ranks,
                    .is_float32 = batch->is_float32},
    };

    return describe_memory_fit(results, &fit);
}

/* A top of 0 and a negative depth stand for all; the largest number does for that, so that
 * nothing behind has to know. */
static bool memory_of_capture_describe_rank(struct results *results, const struct trace *trace,
                                            const void *context, struct error *error)
{
    const struct memory_settings *settings = context;
    SCOPED(recorded_memory) memory = {.run = {.trace = NULL}};
    struct memory_view view = {
        .run = &memory.run,
        .top = settings->top == 0 ? UINT32_MAX : (uint32_t)settings->top,
        .depth = settings->depth < 0 ? UINT32_MAX : (uint32_t)settings->depth,
    };
    struct rank_results *rank;

    if (!recorded_memory_read(&memory, trace, error) ||
        !recorded_memory_device(&memory, settings->device, &view.device, error))
        return false;
    rank = results_add_trace(results, trace);
    describe_memory(results, rank, &view);
    if (page_has_timeline(&settings->page))
        rank->timeline = make_memory_timeline(results, &view);
    if (settings->fit_bytes > 0)
        rank_add_section(results, rank, describe_fit(results, &view, settings, &memory.batch));
    return true;
}

/* Asked of a session, which answers from what it has kept of a capture before it reads the
 * traces again. */
bool print_memory_of_captures(char **paths, int count, const struct memory_settings *settings,
                              struct error *error)
{
    SCOPED(session) session = {0};
    struct file_reading reading = {
        .threads = session_threads(&session, settings->threads),
        .shows_progress = settings->shows_progress,
        .keeps_memory = true,
        .use = memory_of_capture_describe_rank,
        .context = settings,
    };
    struct session_question question = {
        .command = "memory",
        .page = &settings->page,
        .of_page = {settings->top, page_has_timeline(&settings->page)},
        .threads = reading.threads,
    };

    return session_open(&session, paths, count, error) &&
           session_ask(&session, &settings->cache, &question, error) &&
           session_for_each_rank(&session, &reading, error) &&
           print_session(&session, settings->rank, &settings->page, error);
}

/* ---- memory of snapshot ---------------------------------------------------------------------- */

/* By its first bytes: a snapshot has whatever name its program gave it. */
bool is_snapshot_file(const char *path)
{
    SCOPED(input_stream) input = {0};
    struct input_window head;

    if (!input_stream_open(&input, path, false, NULL))
        return false;
    head = input_stream_peek(&input);
    return looks_like_memory_snapshot(head.text, head.length);
}

/* Empty and wrong files are told apart, since each has its own likely cause. */
static bool open_snapshot(struct memory_snapshot *snapshot, const char *path,
                          struct progress *progress, struct error *error)
{
    SCOPED(input_stream) input = {0};
    struct input_window head;

    if (!input_stream_open(&input, path, true, error))
        return false;
    input.progress = progress;
    head = input_stream_peek(&input);
    if (head.length == 0)
        return error_set(error, ERROR_INPUT,
                         "'%s': empty: was the program killed before it had written the snapshot?",
                         input.name);
    if (!looks_like_memory_snapshot(head.text, head.length))
        return error_set(error, ERROR_INPUT,
                         "'%s': not a pickle (its first byte is 0x%02x, expected 0x80): name the "
                         "file that torch.cuda.memory._dump_snapshot wrote",
                         input.name, (unsigned char)head.text[0]);
    return read_memory_snapshot(snapshot, &input, error) || error_in(error, "'%s'", input.name);
}

/* One device of a snapshot, replayed. */
struct device_view {
    struct snapshot_replay replay;
    struct snapshot_owners owners;
    struct snapshot_view view;
};

static void device_view_clear(struct device_view *device)
{
    snapshot_owners_clear(&device->owners);
    snapshot_replay_clear(&device->replay);
}

/* Replay first: owners are found from who was alive at the peak, which only the replay knows. */
static void view_device(struct device_view *device, const struct snapshot_places *places,
                        uint32_t number, const struct memory_settings *settings)
{
    replay_snapshot(&device->replay, places->snapshot, number);
    find_snapshot_owners(&device->owners, &device->replay);
    device->view = (struct snapshot_view){
        .replay = &device->replay,
        .places = places,
        .owners = &device->owners,
        .top = settings->top == 0 ? UINT32_MAX : (uint32_t)settings->top,
    };
}

static void memory_of_snapshot_add_section(struct results *results, struct rank_results *rank,
                                           struct section *section)
{
    if (section)
        rank_add_section(results, rank, section);
}

/* In the order of what a snapshot is looked at for: why memory ran out, what held it at the
 * peak, and only then how it grew. */
static void describe_device(struct results *results, const struct snapshot_view *view,
                            const char *path, bool has_timeline)
{
    struct rank_results *rank = results_add_rank(
        results, results_format(results, "device %u", view->replay->device),
        results_text(results, path), -1, speakers_of_snapshot(view->replay->snapshot));

    memory_of_snapshot_add_section(results, rank, describe_snapshot_oom(results, view));
    memory_of_snapshot_add_section(results, rank, describe_snapshot_peak(results, view));
    memory_of_snapshot_add_section(results, rank, describe_snapshot_timeline(results, view));
    memory_of_snapshot_add_section(results, rank, describe_snapshot_allocator(results, view));
    memory_of_snapshot_add_section(results, rank, describe_snapshot_growth(results, view));
    if (has_timeline) {
        rank->timeline = make_snapshot_timeline(results, view);
        rank->memory_map = make_snapshot_map(results, view);
    }
}

static bool memory_of_snapshot_is_wanted(const struct memory_snapshot *snapshot, uint32_t device,
                                         const struct memory_settings *settings)
{
    return (settings->device < 0 || settings->device == (int64_t)device) &&
           snapshot_has_device(snapshot, device);
}

/* One device after the other, each let go before the next: the replay of one may hold millions
 * of blocks. */
static void memory_of_snapshot_describe_devices(struct results *results,
                                                const struct memory_snapshot *snapshot,
                                                const char *path,
                                                const struct memory_settings *settings)
{
    SCOPED(snapshot_places) places = {0};
    uint32_t count = snapshot_device_count(snapshot);

    find_snapshot_places(&places, snapshot);
    for (uint32_t i = 0; i < count; i++) {
        SCOPED(device_view) device = {0};

        if (!memory_of_snapshot_is_wanted(snapshot, i, settings))
            continue;
        view_device(&device, &places, i, settings);
        describe_device(results, &device.view, path, page_has_timeline(&settings->page));
    }
}

static bool memory_of_snapshot_read_file(struct memory_snapshot *snapshot, const char *path,
                                         const struct memory_settings *settings,
                                         struct error *error)
{
    struct progress *progress = progress_new("reading", -1, settings->shows_progress);
    bool is_read = open_snapshot(snapshot, path, progress, error);

    progress_free(progress);
    return is_read;
}

/* A device that was asked for and one that is not there at all are two mistakes: the first
 * names how many there are, the second what to switch on. */
static bool fail_without_device(const struct memory_snapshot *snapshot, const char *path,
                                const struct memory_settings *settings, struct error *error)
{
    if (settings->device >= 0)
        return error_set(error, ERROR_NO_DATA,
                         "'%s': nothing is recorded of device %lld, it has %u devices", path,
                         (long long)settings->device, snapshot_device_count(snapshot));
    return error_set(error, ERROR_NO_DATA,
                     "'%s': the snapshot is empty: no memory was allocated on any CUDA device, and "
                     "no history recorded (torch.cuda.memory._record_memory_history)",
                     path);
}

/* Adds what the file says to `results`. */
static bool memory_of_snapshot_describe_file(struct results *results, const char *path,
                                             const struct memory_settings *settings,
                                             bool *is_damaged, struct error *error)
{
    SCOPED(memory_snapshot) snapshot = {0};
    size_t ranks_before = results->rank_count;

    if (!memory_of_snapshot_read_file(&snapshot, path, settings, error))
        return false;
    memory_of_snapshot_describe_devices(results, &snapshot, path, settings);
    *is_damaged = note_file_rest(results, path, &snapshot.rest);
    return results->rank_count > ranks_before ||
           fail_without_device(&snapshot, path, settings, error);
}

/* ---- two of them ---- */

/* Only devices that both hold: of one that is in a single file there is no change to tell. */
static void memory_of_snapshot_compare_devices(struct results *results,
                                               const struct memory_snapshot *before,
                                               const struct memory_snapshot *after,
                                               const char *path,
                                               const struct memory_settings *settings)
{
    SCOPED(snapshot_places) places_before = {0};
    SCOPED(snapshot_places) places_after = {0};
    uint32_t count = snapshot_device_count(after);

    find_snapshot_places(&places_before, before);
    find_snapshot_places(&places_after, after);
    for (uint32_t i = 0; i < count; i++) {
        SCOPED(device_view) one = {0};
        SCOPED(device_view) other = {0};
        struct rank_results *rank;

        if (!memory_of_snapshot_is_wanted(after, i, settings) || !snapshot_has_device(before, i))
            continue;
        view_device(&one, &places_before, i, settings);
        view_device(&other, &places_after, i, settings);
        rank = results_add_rank(
            results, results_format(results, "device %u", i),
            results_format(results, "%s, compared with %s", path, settings->compare), -1,
            speakers_of_both(speakers_of_snapshot(before), speakers_of_snapshot(after)));
        memory_of_snapshot_add_section(results, rank,
                                       describe_snapshot_change(results, &one.view, &other.view));
    }
}

/* What is damaged is told and ends the program as "partial" after the page is printed: the
 * rest can be compared all the same. */
static bool print_comparison(const char *path, const struct memory_settings *settings,
                             struct error *error)
{
    SCOPED(memory_snapshot) before = {0};
    SCOPED(memory_snapshot) after = {0};
    SCOPED(results) results = {0};
    bool is_damaged;

    results_init(&results);
    results.detailed_rank = ALL_RANKS;
    if (!memory_of_snapshot_read_file(&before, settings->compare, settings, error) ||
        !memory_of_snapshot_read_file(&after, path, settings, error))
        return false;
    memory_of_snapshot_compare_devices(&results, &before, &after, path, settings);
    is_damaged = note_file_rest(&results, settings->compare, &before.rest);
    is_damaged = note_file_rest(&results, path, &after.rest) || is_damaged;
    if (results.rank_count == 0)
        return error_set(error, ERROR_NO_DATA,
                         "'%s' and '%s' have no device in common that held memory", path,
                         settings->compare);
    if (!print_page(&results, &settings->page, error))
        return false;
    return !is_damaged || error_set(error, ERROR_PARTIAL,
                                    "part of the input is cut or damaged: the comparison is of "
                                    "the rest");
}

/* One file that cannot be read does not keep the others from being shown; the exit status says
 * that it was not all. */
bool print_memory_of_snapshots(char **paths, int count, const struct memory_settings *settings,
                               struct error *error)
{
    SCOPED(results) results = {0};
    struct error first_error = {0};
    int read_count = 0;
    int damaged_count = 0;

    if (settings->compare && count != 1)
        return error_set(error, ERROR_USAGE,
                         "--compare takes one file beside it: flopledger memory --compare "
                         "before.pickle after.pickle");
    if (settings->compare)
        return print_comparison(paths[0], settings, error);
    results_init(&results);
    /* Each file is shown in full: they are snapshots that the user chose one by one, not ranks
     * of a run. */
    results.detailed_rank = ALL_RANKS;
    for (int i = 0; i < count; i++) {
        struct error failure = {0};
        bool is_damaged = false;

        if (memory_of_snapshot_describe_file(&results, paths[i], settings, &is_damaged, &failure)) {
            read_count++;
            damaged_count += is_damaged;
            continue;
        }
        if (first_error.class == ERROR_NONE)
            first_error = failure;
        results_add_failure(&results, &failure);
    }
    if (read_count == 0) {
        *error = first_error;
        return false;
    }
    /* The page first, and the failure behind it: what could be read is of use whatever the
     * status. */
    if (!print_page(&results, &settings->page, error))
        return false;
    if (read_count < count)
        return error_set(error, ERROR_PARTIAL, "%d of %d files cannot be read", count - read_count,
                         count);
    return damaged_count == 0 || error_set(error, ERROR_PARTIAL,
                                           "part of the input is cut or damaged: the report is of "
                                           "the rest");
}
