/* What is kept of one rank once its trace is gone, and the texts that many of these have in common.
 */
#include "ranks/rank_digest.h"

#include "base/core/array.h"
#include "base/core/invariant.h"
#include "ledger/account.h"
#include "ledger/chain_part.h"
#include "ledger/collective_call.h"

#include <stdlib.h>
#include <string.h>

struct shared_texts *shared_texts_new(void)
{
    struct shared_texts *texts = require_memory(calloc(1, sizeof *texts));

    texts->keepers = 1;
    return texts;
}

struct shared_texts *shared_texts_keep(struct shared_texts *texts)
{
    texts->keepers++;
    return texts;
}

/* Counted, as a set and the ranks that were taken out of it both point into the texts, and
 * either may go first. */
void shared_texts_release(struct shared_texts *texts)
{
    if (!texts || --texts->keepers > 0)
        return;
    free(texts->texts);
    hash_map_clear(&texts->place_of);
    arena_clear(&texts->arena);
    free(texts);
}

uint64_t shared_text_hash(const void *bytes, size_t length)
{
    const unsigned char *at = bytes;
    /* FNV-1a, 64 bits. The hash stands in files (docs/formats/digest.md): other numbers here
     * would make them unreadable. */
    uint64_t hash = UINT64_C(0xCBF29CE484222325);

    for (size_t i = 0; i < length; i++)
        hash = (hash ^ at[i]) * UINT64_C(0x100000001B3);
    return hash;
}

const struct shared_text *shared_texts_add(struct shared_texts *texts, const void *bytes,
                                           size_t length)
{
    uint64_t hash = shared_text_hash(bytes, length);
    uint32_t place = hash_map_add(&texts->place_of, hash, texts->count);
    const struct shared_text *text;

    if (place == texts->count)
        ARRAY_ADD(texts->texts, texts->count,
                  (struct shared_text){
                      .hash = hash,
                      .bytes = arena_copy_text(&texts->arena, bytes, length),
                      .length = length,
                  });
    text = &texts->texts[place];
    /* Two texts with one hash: the second is not shared, and whoever adds it keeps it whole. By
     * the birthday bound that is one chance in a million for six million texts, and a wrong text
     * is never given. */
    return text->length == length && memcmp(text->bytes, bytes, length) == 0 ? text : NULL;
}

const struct shared_text *shared_texts_find(const struct shared_texts *texts, uint64_t hash)
{
    uint32_t place = texts ? hash_map_find(&texts->place_of, hash) : NO_VALUE;

    return place == NO_VALUE ? NULL : &texts->texts[place];
}

void rank_digest_clear(struct rank_digest *digest)
{
    arena_clear(&digest->arena);
    *digest = (struct rank_digest){0};
}

int64_t digest_account_ns(const struct rank_digest *digest, enum account account)
{
    int64_t total_ns = 0;

    for (uint32_t i = 0; i < digest->step_count; i++)
        total_ns += digest->steps[i].account_ns[account];
    return total_ns;
}

int64_t digest_total_ns(const struct rank_digest *digest)
{
    int64_t total_ns = 0;

    for (uint32_t i = 0; i < digest->step_count; i++)
        total_ns += digest->steps[i].end_ns - digest->steps[i].start_ns;
    return total_ns;
}

/* Lists of names are written with a digest, so that one of another version, with other
 * accounts, can be mapped by name. */
unsigned digest_name_count(enum digest_name_list list)
{
    switch (list) {
    case ACCOUNT_NAMES:
        return ACCOUNT_COUNT;
    case KIND_NAMES:
        return COLLECTIVE_KIND_COUNT;
    case TYPE_NAMES:
        return (unsigned)element_type_count();
    case CHAIN_NAMES:
    case NAME_LIST_COUNT:
    default:
        return CHAIN_PART_COUNT;
    }
}

/* The last case is the list of chains; a number beyond the lists is a fault of the caller, not
 * of a file. */
const char *digest_name(enum digest_name_list list, unsigned place)
{
    switch (list) {
    case ACCOUNT_NAMES:
        return account_descriptions[place].key;
    case KIND_NAMES:
        return collective_kind_key((enum collective_kind)place);
    case TYPE_NAMES:
        return element_type_title((int)place);
    case CHAIN_NAMES:
    case NAME_LIST_COUNT:
    default:
        return chain_part_key((enum chain_part)place);
    }
}
