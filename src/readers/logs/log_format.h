/* What a format of training logs is: how one program writes that steps were made.
 *
 * To add one: write logs/<name>.c with `const struct log_format <name>_format`, and one line
 * LOG_FORMAT(<name>) in list.def. The file's lines come one by one, without colours, each part of a
 * line that was overwritten on the screen (after a carriage return) as a line of its own; what a
 * format does not take is looked through for what any program writes (log_signs.h). */
#ifndef FLOPLEDGER_READERS_LOGS_LOG_FORMAT_H
#define FLOPLEDGER_READERS_LOGS_LOG_FORMAT_H

#include "base/core/attributes.h"
#include "base/core/error.h"
#include "readers/logs/log_text.h"
#include "trace/job/job.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LOG_MEMORY = 16 };

struct log_pattern; /* log_pattern.h */

/* One file, while it is read. */
struct log_reading {
    struct job *job;
    int64_t line;               /* number of the current line, from 1 */
    int64_t memory[LOG_MEMORY]; /* of the format: zero at first, kept from one file of the format to
                                   the next; each format gives the places names of its own */
    const struct log_pattern *pattern; /* of --pattern; else NULL */
    bool takes_cut_lines;              /* no more will come of the line: take what there is */
    /* times of no known day */
    int64_t day_ns;
    int64_t last_time_of_day_ns;
    bool has_dated_times;
    bool reports_starts; /* that of the format */
    /* log_signs */
    const char *pending_ending; /* a process broke; a later line may tell why better. NULL: none */
};

enum log_line_use {
    LOG_LINE_NONE, /* not of this format */
    LOG_LINE_USED,
    LOG_LINE_CUT, /* the beginning of a line that may go on in the next (wrapped by a terminal):
                     nothing was taken from it */
};

struct log_format {
    const char *name;    /* "megatron" */
    const char *summary; /* one line for --help */
    /* Does the line tell of a step as only this format does? NULL: never by itself. */
    bool (*recognises)(struct log_text line);
    /* Is the line one of its own, though other programs write such lines, too? It counts only where
     * no line is recognised. NULL: there are none. */
    bool (*may_recognise)(struct log_text line);
    /* Programs of other formats are built around the one that writes it: lines of these count more.
     */
    bool gives_way;
    /* Its own lines tell when processes start: those of any program begin no attempt behind steps.
     */
    bool reports_starts;
    /* Hands what the line tells to job_add. */
    enum log_line_use (*read)(struct log_reading *reading, struct log_text line);
    /* Of formats with lines so long that they are wrapped: may this be the rest of one? Else NULL.
     */
    bool (*goes_on)(struct log_text line);
    /* `read` takes no line that has none of these (NULL-terminated): it is not asked about others.
     * What it learns to take needs its word here, and its line in tests/unit/test_log_words.c.
     * NULL: it is asked about all. */
    const char *const *words;
    /* Of formats that are no lines: does the text begin a file of it, and reads all of it. NULL for
     * the others. */
    bool (*recognises_file)(struct log_text head);
    bool (*read_file)(struct log_reading *reading, struct log_text text, struct error *error);
};

/* An event with the line's number, and the time it gives, where it gives one. */
struct job_event log_event(struct log_reading *reading, struct log_text line,
                           enum job_event_kind kind);

/* Of a count of all skipped steps so far, those since the line before; not known of the first line
 * that counts any, which may have been skipped before. Both places are in reading->memory. */
int64_t log_newly_skipped(int64_t *has_count, int64_t *count, int64_t skipped);

/* Makes one and hands it to the job. */
void log_tell(struct log_reading *reading, struct log_text line, enum job_event_kind kind);

#endif
