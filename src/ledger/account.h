/* The accounts into which the time of a step is booked. */
#ifndef FLOPLEDGER_LEDGER_ACCOUNT_H
#define FLOPLEDGER_LEDGER_ACCOUNT_H

enum account {
#define ACCOUNT(id, group, key, title, definition, advice) ACCOUNT_##id,
#include "ledger/account_list.def"
#undef ACCOUNT
    ACCOUNT_COUNT
};

enum account_group {
    ACCOUNT_GROUP_COMPUTE,
    ACCOUNT_GROUP_COMMUNICATION,
    ACCOUNT_GROUP_COPY,
    ACCOUNT_GROUP_IDLE,
    ACCOUNT_GROUP_COUNT
};

struct account_description {
    enum account_group group;
    const char *key;        /* in JSON */
    const char *title;      /* on the screen */
    const char *definition; /* one sentence */
    const char *advice;     /* what to try */
};

extern const struct account_description account_descriptions[ACCOUNT_COUNT];

struct account_group_description {
    const char *key;   /* in JSON: "idle" */
    const char *title; /* on the screen */
};

extern const struct account_group_description account_group_descriptions[ACCOUNT_GROUP_COUNT];

#endif
