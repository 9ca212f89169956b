/* The tables of accounts and their groups. */
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

const struct account_group_description account_group_descriptions[ACCOUNT_GROUP_COUNT] = {
    [ACCOUNT_GROUP_COMPUTE] = {"compute", "compute"},
    [ACCOUNT_GROUP_COMMUNICATION] = {"communication", "exposed communication"},
    [ACCOUNT_GROUP_COPY] = {"copies", "copies"},
    [ACCOUNT_GROUP_IDLE] = {"idle", "idle"},
};
