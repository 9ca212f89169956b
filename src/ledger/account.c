/* The table of accounts. */
#include "ledger/account.h"

const struct account_description account_descriptions[ACCOUNT_COUNT] = {
#define ACCOUNT(id, group_, key_, title_, definition_, advice_) \
    [ACCOUNT_##id] = {.group = ACCOUNT_GROUP_##group_,          \
                      .key = (key_),                            \
                      .title = (title_),                        \
                      .definition = (definition_),              \
                      .advice = (advice_)},
#include "ledger/account_list.def"
#undef ACCOUNT
};
