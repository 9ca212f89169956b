/* `flopledger memory` of snapshots of the CUDA allocator. */
#include "commands/memory_of_snapshot.h"

#include "analyses/snapshot_sections.h"
#include "base/input_stream.h"
#include "base/progress.h"
#include "readers/cuda_memory_snapshot.h"

#include <string.h>

bool is_snapshot_file(const char *path)
{
    SCOPED(input_stream) input = {0};
    struct input_window head;

    if (strcmp(path, "-") == 0 || !input_stream_open(&input, path, false, NULL))
        return false;
    head = input_stream_peek(&input);
    return looks_like_memory_snapshot(head.text, head.length);
}

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

static void describe_device(struct results *results, const struct memory_snapshot *snapshot,
                            const struct snapshot_places *places, struct rank_results *rank,
                            struct snapshot_view view)
{
    (void)snapshot;
    view.places = places;
    rank_add_section(results, rank, describe_snapshot_peak(results, &view));
}

static void describe_devices(struct results *results, const struct memory_snapshot *snapshot,
                             const char *path, const struct memory_settings *settings)
{
    SCOPED(snapshot_places) places = {0};
    uint32_t count = snapshot_device_count(snapshot);

    find_snapshot_places(&places, snapshot);
    for (uint32_t device = 0; device < count; device++) {
        SCOPED(snapshot_replay) replay = {0};
        SCOPED(snapshot_owners) owners = {0};
        struct rank_results *rank;

        if ((settings->device >= 0 && settings->device != (int64_t)device) ||
            !snapshot_has_device(snapshot, device))
            continue;
        replay_snapshot(&replay, snapshot, device);
        find_snapshot_owners(&owners, &replay);
        rank = results_add_rank(results, results_format(results, "device %u", device),
                                results_text(results, path), -1);
        describe_device(results, snapshot, &places, rank,
                        (struct snapshot_view){
                            .replay = &replay,
                            .owners = &owners,
                            .top = settings->top == 0 ? UINT32_MAX : (uint32_t)settings->top,
                        });
    }
}

/* Adds what the file says to `results`. */
static bool describe_file(struct results *results, const char *path,
                          const struct memory_settings *settings, struct error *error)
{
    SCOPED(memory_snapshot) snapshot = {0};
    struct progress *progress = progress_new("reading", -1, settings->shows_progress);
    bool is_read = open_snapshot(&snapshot, path, progress, error);
    size_t ranks_before = results->rank_count;

    progress_free(progress);
    if (!is_read)
        return false;
    describe_devices(results, &snapshot, path, settings);
    if (results->rank_count > ranks_before)
        return true;
    if (settings->device >= 0)
        return error_set(error, ERROR_NO_DATA,
                         "'%s': nothing is recorded of device %lld, it has %u devices", path,
                         (long long)settings->device, snapshot_device_count(&snapshot));
    return error_set(error, ERROR_NO_DATA,
                     "'%s': the snapshot is empty: no memory was allocated on any CUDA device, and "
                     "no history recorded (torch.cuda.memory._record_memory_history)",
                     path);
}

bool print_memory_of_snapshots(char **paths, int count, const struct memory_settings *settings,
                               struct error *error)
{
    SCOPED(results) results = {0};
    struct error first_error = {0};
    int read_count = 0;

    results_init(&results);
    results.detailed_rank = ALL_RANKS;
    for (int i = 0; i < count; i++) {
        struct error failure = {0};

        if (describe_file(&results, paths[i], settings, &failure)) {
            read_count++;
            continue;
        }
        if (first_error.class == ERROR_NONE)
            first_error = failure;
        results_add_problem(&results,
                            (struct finding){.what = results_text(&results, failure.message),
                                             .cost_ns = -1,
                                             .is_warning = true});
    }
    if (read_count == 0) {
        *error = first_error;
        return false;
    }
    if (!print_page(&results, &settings->page, error))
        return false;
    return read_count == count || error_set(error, ERROR_PARTIAL, "%d of %d files cannot be read",
                                            count - read_count, count);
}
