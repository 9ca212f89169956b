/* How a report is made, from the paths on a command line to the sections of every rank. Data goes
 * down this list once:
 *
 * - inputs: find_input_files finds the files given, and the traces in the folders given;
 * - ranks: read_files and read_ranks read several traces at once, by threads, and by the processes
 *   of mpirun where there are any;
 * - one rank: analyze_rank makes its steps, accounts, costs, efficiency and replay
 *   (analyzed_rank);
 * - sections: add_rank_sections makes what a page shows of it; then its trace is gone;
 * - all ranks: they are compared by their summaries, which are all that is kept of each.
 *
 * A command opens a session, says what it wants of each rank, prints the results, and clears it. */
#ifndef FLOPLEDGER_PIPELINE_SESSION_H
#define FLOPLEDGER_PIPELINE_SESSION_H

#include "base/core/attributes.h"
#include "base/core/bytes.h"
#include "base/core/error.h"
#include "output/results/results.h"
#include "pipeline/answer_cache.h"
#include "pipeline/input_files.h"
#include "pipeline/mpi_world.h"
#include "pipeline/page.h"
#include "pipeline/read_files.h"
#include "pipeline/read_ranks.h"
#include "ranks/digest_set.h"

#include <stdbool.h>
#include <stdint.h>

/* Zeroed is empty. */
struct session {
    struct input_files files;
    struct mpi_world world; /* this process alone where session_join was not called */
    struct digest_set summaries;
    struct results results;
    struct files_read outcome;
    struct answer_cache cache; /* closed where session_ask was not called */
    bool keeps_page;           /* the page is to be kept, not the results */
    bool is_kept;              /* one of them is an answer of the cache */
    struct finished_page page; /* as it was kept: there are no results then */
    struct error kept_check;   /* what session_check said then */
};

/* --cache and --no-cache, and what parse_options_noting found. */
struct cache_choice {
    bool is_wanted;
    bool is_refused;
    struct bytes asked;
};

/* What answers of a command hang on beside the content of its files. */
struct session_question {
    const char *command;
    const struct page_settings *page; /* that print_session will print */
    int64_t of_page[4];               /* what of it changes the results */
    const char *files[3];             /* that options name and that were read already; NULL: none */
    unsigned threads;
};

/* Finds the files that the operands name; errors: see find_input_files. */
MUST_USE bool session_open(struct session *session, char **operands, int count,
                           struct error *error);

/* Shares the files with the other processes of mpirun. */
MUST_USE bool session_join(struct session *session, struct error *error);

/* Where answers are to be kept, session_report and session_for_each_rank look for this one first.
 * To be called when all files were found and shared. Errors: see answer_cache_open. */
MUST_USE bool session_ask(struct session *session, const struct cache_choice *choice,
                          const struct session_question *question, struct error *error);

/* The first process prints; the others end up with nothing. */
bool session_prints(const struct session *session);

/* Threads of this process: `asked`, or, where that is 0, as many as it has cores for itself. */
unsigned session_threads(const struct session *session, int64_t asked);

/* Hands each trace to `reading->use`, which adds what it finds to the results. False where none was
 * of use. */
MUST_USE bool session_for_each_rank(struct session *session, const struct file_reading *reading,
                                    struct error *error);

/* Makes a summary of each rank, and nothing else. `reading->world` is the session's. */
MUST_USE bool session_summarize(struct session *session, struct rank_reading reading,
                                struct error *error);

/* The same, and all that a page says of the ranks; errors: see read_run. */
MUST_USE bool session_report(struct session *session, struct rank_reading reading,
                             struct error *error);

/* Prints what session_for_each_rank or session_report found, `rank` in full (-1: the first, or what
 * was read as such), and checks. */
MUST_USE bool print_session(struct session *session, int64_t rank, const struct page_settings *page,
                            struct error *error);

/* Says how well the input was read, once the rest is printed: true, or ERROR_PARTIAL. */
bool session_check(const struct session *session, struct error *error);

void session_clear(struct session *session);

#endif
