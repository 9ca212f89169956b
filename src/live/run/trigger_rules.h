/* When a window is to be recorded by itself: the rules of `--on`. */
#ifndef FLOPLEDGER_LIVE_RUN_TRIGGER_RULES_H
#define FLOPLEDGER_LIVE_RUN_TRIGGER_RULES_H

#include <stdbool.h>
#include <stdint.h>

/* Zeroed: none. */
struct trigger_wish {
    const char *rules; /* as given: "step_time>1.5*median,mfu<0.8*median"; NULL: none */
    int64_t windows;   /* at most; 0: as usual */
    int64_t bytes;     /* of the traces of a rank, at most; 0: as usual */
};

/* Whether the recorder (python/flopledger/trigger_rules.py) understands all of them; for option
 * tables, where `field` is a const char *. */
bool parse_trigger_rules(const char *text, void *field);
extern const char trigger_rules_accepted[];

/* "500", "64K", "2G": bytes, for option tables, where `field` is an int64_t. */
bool parse_byte_limit(const char *text, void *field);
extern const char byte_limit_accepted[];

#endif
