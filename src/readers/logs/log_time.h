/* Times as logs write them: to nanoseconds since 1970. */
#ifndef FLOPLEDGER_READERS_LOGS_LOG_TIME_H
#define FLOPLEDGER_READERS_LOGS_LOG_TIME_H

#include "readers/logs/log_text.h"
#include "trace/job/job.h"

#include <stdbool.h>
#include <stdint.h>

struct log_time {
    int64_t ns;
    enum job_clock clock;
    bool has_date; /* false: of some day */
};

/* A time the text begins with; moves behind it.
 *     2025-04-13 23:41:12          with any of T _ - for the space, / for -
 *     2025-06-04 08:51:48,074      or .074, up to nine digits
 *     2023-09-05T11:49:58.225+08:00, ...Z, ...+0800
 *     2024-10-11 04:27:13 PM
 *     20251202 09:12:08
 *     03/15/2024 12:34:56          month first
 *     15.03.2024 12:34:56          day first
 *     07-31 09:47:48               or 07/31, of no known year (log_find_time only)
 *     Jul 31 09:47:48              as syslog writes it, of no known year
 *     I0731 09:47:48.898259        as glog writes it, of no known year, or with it: I20250731
 *     Thu Jul 31 09:48:56 UTC 2025 as date(1) writes it, also with AM and PM
 *     12:34:56.789                 of no known day */
bool log_take_time(struct log_text *text, struct log_time *time);

/* Seconds since 1970 with a fraction, as "1739210331.717398": moves behind them. */
bool log_take_epoch(struct log_text *text, int64_t *ns);

/* False: log_find_time finds none. True: it may. */
bool log_may_have_time(struct log_text line);

/* The time that stands before what a line says, behind ranks, levels and the like at most (one of
 * no known day only where the line begins with it); `rest` is what follows. */
bool log_find_time(struct log_text line, struct log_time *time, struct log_text *rest);

#endif
