/* Feeds any bytes to the reader of memory snapshots, in one window and in many small ones, and
 * replays what it reads: nothing may crash or hang, and both must find the same. */
#include "base/core/attributes.h"
#include "base/core/invariant.h"
#include "base/io/input_stream.h"
#include "memory/snapshot_growth.h"
#include "memory/snapshot_layout.h"
#include "memory/snapshot_owners.h"
#include "memory/snapshot_places.h"
#include "memory/snapshot_replay.h"
#include "readers/memory_snapshot/cuda_memory_snapshot.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool read_all(struct memory_snapshot *snapshot, const uint8_t *data, size_t size,
                     size_t piece)
{
    SCOPED(input_stream) input = {0};
    struct error error = {0};

    input_stream_open_memory(&input, data, size);
    if (piece)
        input_stream_set_piece(&input, piece);
    if (read_memory_snapshot(snapshot, &input, &error))
        return true;
    require_invariant(error.class == ERROR_INPUT && error.message[0], "that errors are told");
    return false;
}

/* Every sum of the replay that can be made in two ways. */
static void check_replay(const struct snapshot_replay *replay)
{
    int64_t live = 0;

    for (uint32_t i = 0; i < replay->life_count; i++) {
        const struct memory_life *life = &replay->lives[i];

        require_invariant(life->born <= replay->event_count && life->died > life->born,
                          "that lives end after they begin");
        if (is_alive(life, replay->peak_moment))
            live += life->bytes;
    }
    require_invariant(live == replay->live_bytes[replay->peak_moment],
                      "that the lives at the peak are the peak");
}

static void replay_device(const struct memory_snapshot *snapshot, uint32_t device)
{
    SCOPED(snapshot_places) places = {0};
    SCOPED(snapshot_replay) replay = {0};
    SCOPED(snapshot_owners) owners = {0};
    SCOPED(memory_growth) growth = {0};
    SCOPED(memory_layout) end = {0};
    SCOPED(memory_layout) start = {0};
    SCOPED(call_tree) tree = {0};
    uint32_t rows;

    find_snapshot_places(&places, snapshot);
    replay_snapshot(&replay, snapshot, device);
    check_replay(&replay);
    find_snapshot_owners(&owners, &replay);
    measure_growth(&growth, &replay, &places);
    lay_out_end(&end, &replay);
    (void)lay_out_moment(&start, &replay, 0);
    build_call_tree(&tree, &replay, &places, replay.peak_moment);
    require_invariant(tree.bytes == replay.live_bytes[replay.peak_moment],
                      "that calls add up to the peak");
    free(call_tree_rows(&tree, 0, &rows));
    require_invariant(rows <= tree.count, "that no call is printed twice");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    SCOPED(memory_snapshot) whole = {0};
    SCOPED(memory_snapshot) pieces = {0};
    bool is_read = read_all(&whole, data, size, 0);

    require_invariant(read_all(&pieces, data, size, 1 + size % 61) == is_read,
                      "that the size of the windows does not matter to what is a snapshot");
    require_invariant(whole.segment_count == pieces.segment_count &&
                          whole.stack_count == pieces.stack_count &&
                          whole.block_count == pieces.block_count,
                      "that the size of the windows does not matter");
    for (uint32_t device = 0; is_read && device < 3; device++)
        replay_device(&whole, device);
    return 0;
}
