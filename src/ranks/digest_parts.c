/* The names that digests tell by their places. */
#include "ranks/digest_parts.h"

#include "ledger/account.h"
#include "ledger/chain_part.h"
#include "ledger/collective_call.h"

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
