/* Feeds any bytes to the readers of what NCCL's RAS answers, and looks for what hangs: what is
 * read holds together, or the error is told. */
#include "base/core/attributes.h"
#include "base/core/invariant.h"
#include "output/results/results.h"
#include "readers/ras/read_ras.h"
#include "sections/hang/flight_sections.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_status(const struct ras_status *status)
{
    require_invariant(status->operation_count <= RAS_OPERATIONS_MAX, "that operations have room");
    for (size_t i = 0; i < status->communicator_count; i++) {
        const struct ras_communicator *communicator = &status->communicators[i];

        require_invariant(communicator->name != NULL, "that communicators have names");
        for (size_t at = 0; at < RAS_OPERATIONS_MAX; at++)
            require_invariant(communicator->operations[at].behind_count >= 0,
                              "that no fewer than no ranks are behind");
        for (size_t k = 0; k < communicator->rank_count; k++)
            require_invariant(communicator->ranks[k].host != NULL, "that ranks have hosts");
    }
}

/* Nothing was called between two looks that are the same: whatever is wrong is told. */
static void describe_status(const struct ras_status *status)
{
    SCOPED(results) results = {0};
    struct live_job job = {.before = status, .now = status, .apart_s = 1};

    results_init(&results);
    describe_live_job(&results, &job, 20);
    require_invariant(results.rank_count == 1 && results.ranks[0].headline, "that there is a page");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (int is_json = 0; is_json < 2; is_json++) {
        SCOPED(arena) arena = {0};
        struct ras_status status;
        struct error error = {0};
        char *text = require_memory(malloc(size + 1));
        bool is_read;

        if (size > 0)
            memcpy(text, data, size);
        text[size] = '\0';
        is_read = is_json ? parse_ras_json(&status, &arena, text, size, &error)
                          : parse_ras_text(&status, &arena, text, &error);
        free(text);
        require_invariant(is_read || (error.class == ERROR_INPUT && error.message[0]),
                          "that errors are told");
        if (is_read) {
            check_status(&status);
            describe_status(&status);
        }
    }
    return 0;
}
