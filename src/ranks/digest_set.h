/* Digests of many ranks, together with the files that gave none: what is merged, stored and sent. A
 * set holds each record once, in one order, whatever the order in which they came: merging is
 * associative and commutative, byte for byte. */
#ifndef FLOPLEDGER_RANKS_DIGEST_SET_H
#define FLOPLEDGER_RANKS_DIGEST_SET_H

#include "base/core/attributes.h"
#include "base/core/error.h"
#include "ranks/digest_record.h"
#include "ranks/rank_digest.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum digest_record_kind {
    RECORD_RANK = 1,    /* the bytes of a digest */
    RECORD_PROBLEM = 2, /* a file that could not be used: its name and why */
    RECORD_SOURCE = 3,  /* only between processes: which file a rank was read from */
};

struct digest_record {
    enum digest_record_kind kind;
    int64_t rank; /* for the order; -1: not known. Of a problem: its place */
    unsigned char *bytes;
    size_t length;
    bool is_damaged;             /* RECORD_RANK: its trace was cut, or some of its events damaged */
    struct rank_digest *decoded; /* NULL: not yet, or taken by digest_set_take */
};

/* What a file said that gave no digest. */
struct digest_problem {
    int64_t place; /* of the file among those given: the order in which they are told */
    const char *file;
    const char *message;
    enum error_class class;
};

/* Zeroed is empty. */
struct digest_set {
    struct digest_record *records; /* [count]; in order from digest_set_sort on */
    size_t count;
    struct shared_texts *texts; /* that records tell by their hash; NULL: none yet */
    bool keeps_decoded; /* records that are read stay decoded: their digests are asked for next */
};

void digest_set_add(struct digest_set *set, const struct rank_digest *digest);
void digest_set_add_problem(struct digest_set *set, const struct digest_problem *problem);

/* `place`: of the file among those given. */
void digest_set_add_source(struct digest_set *set, int64_t rank, size_t place);

/* False where the record is no source. */
MUST_USE bool digest_source_decode(size_t *place, const struct digest_record *record);

/* The set's texts, which are there from now on. */
struct shared_texts *digest_set_texts(struct digest_set *set);

/* Adds a record as it was written, a copy of whose bytes is taken: kind, rank and length are those
 * of `head`. False where they are no digest of its rank. */
MUST_USE bool digest_set_keep(struct digest_set *set, const struct digest_record *head,
                              const void *bytes, struct digest_context *context);

/* Moves the digest of a record of RECORD_RANK of the set into a zeroed `digest`; it is decoded once
 * at most while it is not taken. Its texts live as long as set->texts. False where the record is of
 * another kind. */
MUST_USE bool digest_set_take(struct rank_digest *digest, const struct digest_set *set,
                              struct digest_record *record);

/* Takes all records of one kind out. */
void digest_set_drop(struct digest_set *set, enum digest_record_kind kind);

/* By kind, rank and bytes; equal ones once. */
void digest_set_sort(struct digest_set *set);

void digest_set_clear(struct digest_set *set);

/* Reads the record of a problem; false where it is none. Texts live in `arena`. */
MUST_USE bool digest_problem_decode(struct digest_problem *problem,
                                    const struct digest_record *record, struct arena *arena);

#endif
