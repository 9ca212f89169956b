/* How a rule prices what it found, and words that several rules use. */
#ifndef FLOPLEDGER_SECTIONS_ADVICE_CLAIM_H
#define FLOPLEDGER_SECTIONS_ADVICE_CLAIM_H

#include "sections/advice/advice_rule.h"

/* Adds what the steps hold in the accounts of `accounts`. */
void claim_accounts(const struct advice_case *advice, struct advice_claim *claim,
                    uint32_t accounts);

/* Adds the part of [start_ns, end_ns) that is free in the sense of `time`, step by step; returns
 * it. */
int64_t claim_free_time(const struct advice_case *advice, struct advice_claim *claim,
                        struct free_time *time, const int64_t range_ns[2]);

/* Takes from each step's price what `other` has there, down to nothing. */
void claim_less(const struct advice_case *advice, struct advice_claim *claim,
                const struct advice_claim *other);

/* Adds the idle time in the calls of a list, step by step; returns it. */
int64_t claim_idle_in(struct advice_case *advice, struct advice_claim *claim,
                      const struct host_call_list *list);

/* What these accounts hold in a step. */
int64_t accounts_held_ns(const struct step_ledger *step, uint32_t accounts);

/* Of all steps. */
int64_t claim_total_ns(const struct advice_case *advice, const struct advice_claim *claim);

/* "1.235 ms": a sum over all steps as the mean of a step. */
const char *per_step_time(const struct advice_case *advice, int64_t total_ns);
/* "12" or "0.5": likewise a number of things. */
const char *per_step_count(const struct advice_case *advice, int64_t count);

/* "the longest wait 69.076 ms in step 5", and with `names_host` ", the host in aten::item": of the
 * gaps whose main account is in `accounts`; NULL where none of the longest is. */
const char *longest_gap_text(const struct advice_case *advice, uint32_t accounts, bool names_host);

/* " a step", or " in all" where the trace has no steps: behind a count. */
const char *a_step(const struct advice_case *advice);

/* "the device idles", or what that is on a CPU. */
const char *idles(const struct advice_case *advice);

/* What the host was in for the longest, in gaps whose main account is in `accounts`; NULL where
 * nothing is recorded. */
const char *busiest_host_event(const struct advice_case *advice, uint32_t accounts);

/* What starts with `prefix`. */
struct prefixed_text {
    const char *prefix;
    const char *text;
};
/* The text of the first whose prefix `name` begins with; the last one has the prefix "". */
const char *text_by_prefix(const char *name, const struct prefixed_text *texts);

/* How much of what is unexplained in a step the launching thread had no core for, asleep or waiting
 * for one, by the recorder's word; 0 where nothing tells. In processor_rules.c. */
int64_t without_core_ns(const struct advice_case *advice, uint32_t step);
/* How long the launching thread was ready to run in a step and had no core; 0 where nothing tells.
 * In processor_rules.c. */
int64_t core_wait_ns(const struct advice_case *advice, uint32_t step);

#endif
