/* What a rule of the advice is: it looks for one cause of lost time, prices it and shows it.
 *
 * To add one: a line in rule_list.def, a function check_<id> in the file of its family, and its
 * part of docs/metrics/advice.md, which a test compares with the list. */
#ifndef FLOPLEDGER_SECTIONS_ADVICE_ADVICE_RULE_H
#define FLOPLEDGER_SECTIONS_ADVICE_ADVICE_RULE_H

#include "cost/efficiency/efficiency.h"
#include "cost/modules/model_description.h"
#include "cost/modules/module_costs.h"
#include "ledger/class_timeline.h"
#include "ledger/step_ledger.h"
#include "output/results/results.h"
#include "sections/advice/attention_scores.h"
#include "sections/advice/host_calls.h"
#include "sections/analysis.h"
#include "trace/name_answers.h"
#include "trace/trace.h"

#include <stdbool.h>
#include <stdint.h>

/* Sums over the kernels and copies of the steps that several rules ask for. */

struct work_sum {
    int64_t count;
    int64_t duration_ns; /* summed */
};

struct kernel_figures {
    struct work_sum kernels; /* all of them */
    struct work_sum classes[KERNEL_CLASS_COUNT];
    struct work_sum launches;    /* launch calls of kernels, each once */
    int64_t graph_launches;      /* of those, launches of a CUDA graph */
    int64_t graph_kernels;       /* kernels that such a call launched */
    int64_t shorter_than_launch; /* kernels with a launch call of their own that took longer */
    int64_t launched_singly;     /* kernels with a launch call of their own */
};

/* Of the ledger's device: what starts inside a step. */
struct kernel_figures sum_kernels(const struct trace *trace, const struct ledger *ledger);

/* Runtime calls that take long because something of the device is used for the first time: its
 * context, a library's handle, the module that holds a kernel. They are paid once, not each step.
 */

struct host_calls;

/* Zeroed is empty. */
struct first_uses {
    uint32_t *events; /* [count]: indices in trace->host, ascending */
    uint32_t count;
};

/* Of the calls in `calls` that take `slow_ns` or more: see first_use.c for which of them. */
void find_first_uses(struct first_uses *uses, const struct trace *trace,
                     const struct ledger *ledger, const struct host_calls *calls, int64_t slow_ns);
void first_uses_clear(struct first_uses *uses);

bool is_first_use(const struct first_uses *uses, uint32_t event);

/* ---- work of the device that the recording lacks: idle time next to it is not the program's
 * ---- */

/* What is lacking. The first that holds is told. */
enum missing_kind {
    MISSING_NOTHING,
    MISSING_DEVICE,     /* nothing of the device is recorded, though the program uses one */
    MISSING_EVENTS,     /* most events are left out: the operators' numbers have holes */
    MISSING_COLLECTIVE, /* collectives are called whose kernels are not there */
    MISSING_EARLIER,    /* work launched before the recording still ran when it began */
};

struct missing_work {
    enum missing_kind kind;
    int64_t launches;       /* MISSING_DEVICE: calls that put work on it */
    int64_t kept, ids;      /* MISSING_EVENTS: operators in the file, and numbers in their range */
    const char *collective; /* MISSING_COLLECTIVE: a name of one, as written */
    int64_t earlier_range_ns[2]; /* MISSING_EARLIER: idle time before the first recorded work of a
                                    stream, that was launched in time; else empty */
};

/* `late_ns`: work that starts so long after its launch was held up. */
struct missing_work find_missing_work(const struct trace *trace, const struct ledger *ledger,
                                      int64_t late_ns);

/* ---- rules ---- */

/* What the rules look at. */
struct advice_case {
    const struct trace *trace;
    const struct ledger *ledger;
    const struct module_costs *costs;            /* of the ops in the ledger's steps */
    const struct efficiency *efficiency;         /* what the matrix time is made of */
    const struct analysis_input *input;          /* for replay_of: asked late, since it may wait */
    struct results *results;                     /* texts live there */
    const struct model_description *description; /* may be NULL */
    bool has_other_ranks;                        /* their traces are given with this one */
    bool has_single_optimizer;   /* it handles one tensor at a time: a finding of its own */
    struct missing_work missing; /* what the recording lacks */
    struct free_time idle;       /* when nothing runs on the device */
    int64_t recording_end_ns[2]; /* see recording_end.h; empty where there is none */
    int64_t plain_step_ns;       /* see plain_step_of; 0: not known, or no shorter */
    struct host_calls calls;
    struct first_uses first_uses; /* of the runtime calls among them */
    struct kernel_figures kernels;
    struct attention_scores scores; /* of attention that is spelled out */
    struct name_answers *wide;      /* kernels whose names tell products of 32 bits */
};

enum confidence { CONFIDENCE_LOW, CONFIDENCE_MEDIUM, CONFIDENCE_HIGH };

/* What a rule says. Zeroed but for step_ns. */
struct advice_claim {
    int64_t *step_ns;     /* [ledger->step_count]: the price in each step, zeroed; cut to what the
                             rule's accounts hold there */
    uint32_t accounts;    /* those that hold the time; 0: the rule's */
    bool comes_first;     /* before all that have a price: without it, they mislead */
    bool is_uncosted;     /* what can be won is not known: step_ns says nothing */
    bool is_of_recording; /* another recording would not have it: no step gets faster */
    const char *title;    /* NULL: the rule's */
    const char *evidence;
    const char *try_this;
    enum confidence confidence;
    const char *reason; /* why so sure, or why not */
};

/* check_data_loading and so on: fills the claim; false where there is nothing to say. */
#define ADVICE_RULE(id, accounts, thousandths, title) \
    bool check_##id(struct advice_case *advice, struct advice_claim *claim);
#define ADVICE_LIMIT(name, value, unit, meaning)
#include "sections/advice/rule_list.def"
#undef ADVICE_RULE
#undef ADVICE_LIMIT

bool is_name_of_wide_product(const char *kernel);

enum advice_limit {
#define ADVICE_RULE(id, accounts, thousandths, title)
#define ADVICE_LIMIT(name, value, unit, meaning) ADVICE_##name = (value),
#include "sections/advice/rule_list.def"
#undef ADVICE_RULE
#undef ADVICE_LIMIT
};

#define ACCOUNT_BIT(account) ((uint32_t)1 << ACCOUNT_##account)
/* Every account of idle time but for what is done once, which recording makes no longer; and every
 * account. */
#define ACCOUNT_BITS_IDLE \
    (ACCOUNT_BITS_ALL & ~(ACCOUNT_BIT(IDLE_DATA) - 1) & ~ACCOUNT_BIT(IDLE_COMPILATION))
#define ACCOUNT_BITS_ALL (((uint32_t)1 << ACCOUNT_COUNT) - 1)

#endif
