/* The accounts into which the time of a step is booked. */
#ifndef FLOPLEDGER_LEDGER_ACCOUNT_H
#define FLOPLEDGER_LEDGER_ACCOUNT_H

#include "base/core/array.h"

#include <stddef.h>
#include <stdint.h>

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

/* A stretch of one step that is booked to one account. */
struct account_piece {
    int64_t start_ns;
    int64_t end_ns;
    uint32_t step; /* index in ledger.steps */
    enum account account;
};

/* Zeroed is empty. */
struct account_pieces {
    struct account_piece *pieces; /* [count], by time; neighbours differ in step or account */
    size_t count;
};

/* Neighbors of one account and one step become one piece, so that a step has no more pieces
 * than changes of its account: kernels of one account that follow each other at once would
 * else each be drawn. */
static inline void account_pieces_add(struct account_pieces *pieces, struct account_piece piece)
{
    struct account_piece *last = pieces->count ? &pieces->pieces[pieces->count - 1] : NULL;

    if (piece.end_ns <= piece.start_ns)
        return;
    if (last && last->end_ns == piece.start_ns && last->step == piece.step &&
        last->account == piece.account)
        last->end_ns = piece.end_ns;
    else
        ARRAY_ADD(pieces->pieces, pieces->count, piece);
}

#endif
