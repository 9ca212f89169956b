/* Feeds any bytes to the reader of flight-recorder dumps, as the dump of two ranks, and looks for
 * what hangs: nothing may crash or hang. */
#include "base/core/attributes.h"
#include "base/core/invariant.h"
#include "base/io/input_stream.h"
#include "base/pickle/pickle_tree.h"
#include "ranks/hang/flight_causes.h"
#include "readers/flight_recorder/read_flight_dump.h"

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool read_tree(struct pickle_tree *tree, const uint8_t *data, size_t size)
{
    SCOPED(input_stream) input = {0};
    struct error error = {0};
    bool is_read;

    if (!looks_like_flight_dump((const char *)data, size))
        return false;
    if (looks_like_pickle((const char *)data, size)) {
        input_stream_open_memory(&input, data, size);
        is_read = pickle_tree_read(tree, &input, &error);
    } else {
        is_read = pickle_tree_from_json(tree, (const char *)data, size, &error);
    }
    require_invariant(is_read || (error.class == ERROR_INPUT && error.message[0]),
                      "that errors are told");
    return is_read;
}

/* The same dump of both ranks: no rank can be missing where the other is. */
static void look_for_hangs(const struct flight_dumps *dumps)
{
    SCOPED(flight_join) join = {0};
    SCOPED(flight_mismatches) mismatches = {0};
    SCOPED(flight_stalls) stalls = {0};
    SCOPED(flight_causes) causes = {0};

    flight_join_calls(&join, dumps);
    flight_find_mismatches(&mismatches, &join);
    flight_find_stalls(&stalls, &join);
    flight_find_causes(&causes, &stalls, &join);
    for (size_t i = 0; i < mismatches.count; i++)
        require_invariant(mismatches.mismatches[i].difference == FLIGHT_UNEVEN_EXCHANGE,
                          "that a rank agrees with itself");
    for (size_t i = 0; i < causes.count; i++)
        require_invariant(causes.causes[i].stall < stalls.count && causes.causes[i].rank_count > 0,
                          "that causes have stalls and ranks");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    SCOPED(pickle_tree) tree = {0};
    SCOPED(flight_dumps) dumps = {0};
    struct error error = {0};

    if (!read_tree(&tree, data, size))
        return 0;
    for (uint32_t rank = 0; rank < 2; rank++)
        if (!add_flight_dump(&dumps, &tree, "dump", rank, &error))
            require_invariant(error.class == ERROR_INPUT && error.message[0],
                              "that errors are told");
    flight_dumps_finish(&dumps);
    look_for_hangs(&dumps);
    return 0;
}
