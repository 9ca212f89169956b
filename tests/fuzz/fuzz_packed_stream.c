/* Any bytes as a packed or plain stream: the same text comes out in one window and in many small
 * ones, and both say the same of its end. Of one that is damaged, one may get further than the
 * other: how soon damage is seen depends on the room for what is unpacked. */
#include "base/core/attributes.h"
#include "base/core/invariant.h"
#include "base/io/input_stream.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TEXT_BYTES_MAX = 1 << 20 };

struct unpacked {
    char *text; /* [length]; what comes behind TEXT_BYTES_MAX is not kept */
    size_t length;
    int64_t total;
    bool is_broken;
    bool is_followed;
};

static struct unpacked unpack(const uint8_t *data, size_t size, size_t piece)
{
    SCOPED(input_stream) input = {0};
    struct unpacked unpacked = {.text = require_memory(malloc(TEXT_BYTES_MAX))};
    struct input_window window;

    input_stream_open_memory(&input, data, size);
    if (piece)
        input_stream_set_piece(&input, piece);
    while (input_stream_next(&input, 0, &window) && unpacked.total < TEXT_BYTES_MAX) {
        size_t room = TEXT_BYTES_MAX - unpacked.length;
        size_t kept = window.length < room ? window.length : room;

        memcpy(unpacked.text + unpacked.length, window.text, kept);
        unpacked.length += kept;
        unpacked.total += (int64_t)window.length;
    }
    unpacked.is_broken = input.is_broken;
    unpacked.is_followed = input.is_followed;
    require_invariant(!(input.is_broken || input.is_followed) || input.breakage[0],
                      "that it is said what is wrong with the end");
    return unpacked;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct unpacked whole = unpack(data, size, 0);
    struct unpacked pieces = unpack(data, size, 1 + size % 97);
    size_t least = whole.length < pieces.length ? whole.length : pieces.length;

    if (whole.total < TEXT_BYTES_MAX && pieces.total < TEXT_BYTES_MAX)
        require_invariant((whole.length == pieces.length || whole.is_broken) &&
                              memcmp(whole.text, pieces.text, least) == 0 &&
                              whole.is_broken == pieces.is_broken &&
                              whole.is_followed == pieces.is_followed,
                          "that the size of the windows does not matter to a stream");
    free(whole.text);
    free(pieces.text);
    return 0;
}
