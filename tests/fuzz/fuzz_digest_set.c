/* A file of digests may say anything: what is taken from it can be joined, aligned and written. */
#include "base/core/bytes.h"
#include "ranks/all_ranks.h"
#include "ranks/digest_file.h"
#include "ranks/digest_record.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Whatever was read comes back from what is written of it. */
static void check_bytes(struct digest_set *set)
{
    struct bytes first = {0}, second = {0};
    struct digest_set again = {0};

    digest_set_encode(&first, set);
    if (!digest_set_decode(&again, first.bytes, first.length, "again", NULL))
        abort();
    digest_set_encode(&second, &again);
    if (first.length != second.length || memcmp(first.bytes, second.bytes, first.length) != 0)
        abort();
    bytes_clear(&first);
    bytes_clear(&second);
    digest_set_clear(&again);
}

/* The parts of exposed communication are never negative, and none is lost. */
static void check_parts(const struct all_ranks *run)
{
    for (uint32_t i = 0; i < run->count; i++) {
        const struct rank_digest *digest = run->ranks[i].digest;
        const struct exposed_parts *sum = &run->ranks[i].communication.exposed;
        int64_t exposed_ns = 0;

        for (uint32_t k = 0; k < digest->exposed_count; k++)
            exposed_ns += digest->exposed[k].end_ns - digest->exposed[k].start_ns;
        if (sum->waiting_ns < 0 || sum->transfer_ns < 0 || sum->unknown_ns < 0 ||
            sum->waiting_ns + sum->transfer_ns + sum->unknown_ns != exposed_ns)
            abort();
    }
}

/* The content of one record, which no checksum guards here, behind a byte for its version. */
static bool add_record(struct digest_set *set, const uint8_t *data, size_t size)
{
    struct digest_context context = {.version = 1 + (size > 0 && data[0] & 1)};
    struct rank_digest digest = {0};

    if (size == 0 || !digest_decode(&digest, data + 1, size - 1, &context))
        return false;
    digest_set_add(set, &digest);
    rank_digest_clear(&digest);
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct digest_set set = {0};
    struct all_ranks run = {0};

    if (digest_set_recognises(data, size) ? digest_set_decode(&set, data, size, "input", NULL)
                                          : add_record(&set, data, size)) {
        check_bytes(&set);
        all_ranks_init(&run, &set, NULL);
        check_parts(&run);
        all_ranks_clear(&run);
    }
    digest_set_clear(&set);
    return 0;
}
