/* Progress bars as tqdm draws them: "Epoch 0:  10%|###   | 100/1000 [01:40<15:00,  1.00it/s,
 * loss=2.3]". */
#ifndef FLOPLEDGER_READERS_LOGS_LOG_BAR_H
#define FLOPLEDGER_READERS_LOGS_LOG_BAR_H

#include "readers/logs/log_text.h"

#include <stdbool.h>
#include <stdint.h>

/* total 0: not known, "Epoch 0: : 129it [43:14, 20.11s/it]" */
struct log_bar {
    struct log_text title; /* before the percentage; empty without one */
    int64_t done;
    int64_t total;
    int64_t elapsed_ns;   /* since the bar's beginning, in whole seconds */
    struct log_text rest; /* behind the times, up to the closing bracket and further */
};

bool log_take_bar(struct log_text line, struct log_bar *bar);

/* The same for those that Lightning draws with rich: "Epoch 0/9 ---- 100/1000 0:00:10 * 0:01:30
 * 9.9it/s v_num: 0", of characters that are not ASCII for the dashes and the star. */
bool log_take_rich_bar(struct log_text line, struct log_bar *bar);

#endif
