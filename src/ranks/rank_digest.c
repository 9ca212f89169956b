/* What is kept of one rank once its trace is gone. */
#include "ranks/rank_digest.h"

#include "ledger/account.h"
#include "ledger/chain_part.h"
#include "ledger/collective_call.h"

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
