/* What a plan comes to, in a sentence: the first line of the text and the title of the page. */
#ifndef FLOPLEDGER_SECTIONS_MODEL_PLAN_HEADLINES_H
#define FLOPLEDGER_SECTIONS_MODEL_PLAN_HEADLINES_H

#include "cost/plan/plan_search.h"
#include "output/results/results.h"

/* `search` is NULL where the layout was given. */
const char *plan_headline(struct results *results, const struct plan_setting *setting,
                          const struct plan_outcome *outcome, const struct plan_layout *layout,
                          const struct plan_search *search);

/* A server that is asked for. */
struct plan_server {
    int64_t tensor;
    int64_t context; /* tokens of a request */
    double latency;  /* seconds that a token may take; 0: any */
};

/* What it can do. */
struct plan_capacity {
    int64_t requests; /* at most; 0: not even one */
    const char *limited_by;
    struct plan_serving step; /* with as many, or with one */
};

const char *plan_serving_headline(struct results *results, const struct plan_setting *setting,
                                  const struct plan_server *server,
                                  const struct plan_capacity *capacity);

#endif
