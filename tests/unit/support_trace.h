/* Small traces made in memory, booked and analysed: for the tests of the analyses. Times are in
 * nanoseconds. */
#ifndef FLOPLEDGER_TESTS_SUPPORT_TRACE_H
#define FLOPLEDGER_TESTS_SUPPORT_TRACE_H

#include "sections/analysis.h"
#include "trace/trace_builder.h"

struct made_trace {
    struct trace_builder builder;
    struct trace trace;           /* from made_trace_finish on */
    struct ledger ledger;         /* likewise */
    enum step_clock_choice clock; /* set it before made_trace_finish */
    struct model_description description;
    struct peak_settings peaks;     /* what the user says; set it before made_section */
    struct module_costs costs;      /* from the first made_section on */
    struct efficiency efficiency;   /* likewise */
    struct work_totals work;        /* likewise */
    struct replay_model simulation; /* likewise */
    struct results results;         /* likewise */
    int64_t last_correlation;
};

/* A stretch of time with a name. */
struct made_event {
    const char *name;
    int64_t start_ns;
    int64_t end_ns;
};

/* `made` may hold anything. */
void made_trace_init(struct made_trace *made);
void made_trace_clear(struct made_trace *made);

/* Indexes for the `track` of the functions below. */
uint32_t made_thread(struct made_trace *made, const char *name);
uint32_t made_stream(struct made_trace *made, int32_t device, int64_t stream);

void made_host_event(struct made_trace *made, uint32_t thread, enum event_kind kind,
                     struct made_event event);

/* An operator with input shapes and types, as JSON text. */
void made_operator(struct made_trace *made, uint32_t thread, struct made_event event,
                   const char *shapes, const char *types);

/* An operator with a number of autograd. */
void made_numbered_operator(struct made_trace *made, uint32_t thread, struct made_event event,
                            int64_t sequence_number);

/* A launch call; returns its correlation. */
int64_t made_call(struct made_trace *made, uint32_t thread, struct made_event call);

/* Work of a device, launched by the call with that correlation (NO_ID: by none). `detail` may be
 * NULL. */
void made_work(struct made_trace *made, uint32_t stream, enum event_kind kind,
               struct made_event event, int64_t correlation, const struct event_detail *detail);

/* A call and its kernel at once. */
void made_kernel(struct made_trace *made, uint32_t thread, uint32_t stream, struct made_event call,
                 struct made_event kernel);

/* Sorts, links and books: `choice` says what a step is. */
void made_trace_finish(struct made_trace *made, enum window_choice choice);

/* What an analysis gets; all of it lives in `made`. */
struct analysis_input made_input(struct made_trace *made, const struct analysis_options *options);

/* What the analysis says; NULL where it says nothing. Rows of long tables: all. */
struct section *made_section(struct made_trace *made, const struct analysis *analysis);
struct section *made_section_with(struct made_trace *made, const struct analysis *analysis,
                                  const struct analysis_options *options);

/* The number `key` of a section; fails the test where there is none. */
struct value section_value(const struct section *section, const char *key);
/* The table `key`; NULL where there is none. */
const struct table *section_table(const struct section *section, const char *key);
/* The cell in `column` of the row whose first text cell is `name`; fails the test where there is
 * none. */
struct value table_cell(const struct table *table, const char *name, const char *column);
/* The cell in `column` of row `row`. */
struct value table_cell_at(const struct table *table, size_t row, const char *column);
/* How many findings contain `text`. */
size_t count_findings(const struct section *section, const char *text);

/* Equal but for rounding in the last digits. */
bool is_close(double a, double b);

#endif
