/* What the analyses hand to the reports: sections of numbers, tables, findings and notes. A report
 * prints them all without knowing any analysis; an analysis fills them without knowing any report.
 */
#ifndef FLOPLEDGER_OUTPUT_RESULTS_RESULTS_H
#define FLOPLEDGER_OUTPUT_RESULTS_RESULTS_H

#include "base/core/attributes.h"
#include "base/core/bytes.h"
#include "base/core/error.h"
#include "output/results/timeline.h"
#include "output/results/value.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A single number with a name. */
struct number {
    const char *key;   /* in JSON: "step_time_mean" */
    const char *title; /* on the screen: "step time, mean"; TITLE_FOR_PROGRAMS: on none */
    struct value value;
    const char *note; /* NULL, or a short remark behind it */
};

enum { PRIORITY_FOR_PROGRAMS = 100 };

/* The title of a number that is in JSON and on no screen. */
#define TITLE_FOR_PROGRAMS ""

static inline bool number_is_for_programs(const struct number *number)
{
    return number->title[0] == '\0';
}

/* Whether a text report may draw bars of a column of UNIT_FRACTION. */
enum bar_kind {
    BAR_NONE,
    BAR,           /* from the left */
    BAR_WATERFALL, /* each row begins where the one above it ends: rows fill, from the right, the
                      row above of less depth; the first row is the whole */
};

struct column {
    const char *key;
    const char *title;
    enum unit unit; /* of most cells; a cell may also be NONE or NOT_KNOWN */
    int priority;   /* 0 = always shown; a narrow screen leaves the highest numbers out first */
                    /* PRIORITY_FOR_PROGRAMS or more: never on a screen, always in JSON */
    enum bar_kind bar;
};

struct table {
    const char *key;
    const char *title;
    const char *note;       /* NULL, or one sentence under the title */
    struct column *columns; /* [column_count] */
    size_t column_count;
    struct value *cells; /* [row_count * column_count], row by row */
    int *depths; /* [row_count]: how far a row is indented; 1 is a part of the nearest row above of
                    depth 0 */
    size_t row_count;
    size_t rows_in_all; /* before --top cut the table; 0 = row_count */
};

/* What a piece of advice is worth, and how sure it is. */
struct advice_estimate {
    const char *id;              /* "data_loading" */
    const char *const *accounts; /* keys of those that hold the time; [account_count] */
    size_t account_count;
    bool is_reported_for_job; /* the findings of all ranks say it, too */
    bool has_own_title;       /* `what` is not what its kind is called as a rule */
    bool comes_first;         /* before all that have a price: without it, they mislead */
    double share;             /* of the steps' time; 0 where it is not a matter of time */
    double ceiling_speedup;   /* how many times as fast at most: without it, or with `change`; 0:
                                 likewise */
    const char *change;       /* of --what-if, that a replay tried; NULL: none */
    int64_t replayed_step_ns; /* the mean step with that change; -1: the replay is too far from the
                                 recording to tell */
    double replayed_speedup;  /* how many times as fast; 0: not known */
    double least_speedup; /* the same at least, and at most, where the trace does not tell what the
                             change costs; 0: one number says it all */
    double most_speedup;
    const char *span;     /* what the cost is of: "step", or "window" */
    const int64_t *steps; /* numbers of the steps that show it; [step_count] */
    size_t step_count;
    const char *confidence; /* "high", "medium" or "low" */
    const char *reason;     /* why */
};

/* Something the user should know or do. */
struct finding {
    const char *what;     /* "the input file ends in the middle: 3.1 MB are missing" */
    const char *evidence; /* NULL, or what shows it */
    const char *try_this; /* NULL, or what to do */
    int64_t cost_ns;      /* per step; -1 = not a matter of time */
    bool is_warning;      /* something is wrong with the input or incomplete */
    const struct advice_estimate *estimate; /* of advice; NULL for other findings */
};

/* Sections that programs ask for, whatever they are called. */
enum section_role { SECTION_OF_NO_ROLE, SECTION_OF_RUN, SECTION_OF_ADVICE };

/* What one analysis says. */
struct section {
    const char *key;   /* "step_ledger" */
    const char *title; /* "Step ledger" */
    const char *intro; /* NULL, or a sentence of plain words: what the section answers */
    struct number *numbers;
    size_t number_count;
    struct table **tables;
    size_t table_count;
    struct finding *findings;
    size_t finding_count;
    enum section_role role;
};

/* The results of one rank (one trace file). */
struct rank_results {
    const char *label; /* "rank 3", or the file's name where the rank is not known */
    const char *file;
    const char *name;     /* the end of `file` that tells it from the others; NULL: last part */
    int64_t rank;         /* -1: not known */
    const char *headline; /* NULL, or one sentence: what the report comes to */
    bool is_largest_loss_unknown; /* the headline says why it can't be told what costs most */
    uint32_t speakers;            /* whose words its texts are: device_words.h */
    struct section **sections;    /* in the order of sections/list.def */
    size_t section_count;
    struct metric_slot *metrics; /* [METRIC_COUNT] (metrics.h); NULL: none */
    struct timeline *timeline;   /* NULL: nobody asked for one, or nothing happened */
    struct timeline *memory_map; /* of a snapshot: what lies where in reserved memory; NULL: none */
};

struct results {
    const char *headline;     /* of all ranks: what the report of the job comes to; NULL for one */
    struct section *overview; /* of all ranks; NULL for one rank */
    uint32_t speakers;        /* of these two, beside those of the ranks */
    struct rank_results *ranks;
    size_t rank_count;
    size_t detailed_rank;     /* index of the rank whose sections a text report prints in full */
    const char *awaited_rank; /* "rank 7": the one the others wait for; NULL: none is known */
    bool is_rank_chosen;      /* the user asked for that rank: the first screen is its own */
    struct finding *problems; /* files that could not be read, ... */
    size_t problem_count;
    struct arena *arena; /* everything above lives here */
};

/* detailed_rank that stands for every rank. */
#define ALL_RANKS SIZE_MAX

/* `results` must be zeroed. */
void results_init(struct results *results);
void results_clear(struct results *results);

/* Memory that lives as long as the results. Ends the program when memory is out. */
void *results_allocate(struct results *results, size_t bytes);
/* A copy of the text that lives as long as the results; results_format as printf. */
const char *results_text(struct results *results, const char *text);
const char *results_format(struct results *results, const char *format, ...) PRINTF_LIKE(2, 3);

/* `speakers`: of which device the texts are, whose words they are printed in (device_words.h). */
struct rank_results *results_add_rank(struct results *results, const char *label, const char *file,
                                      int64_t rank, uint32_t speakers);
void results_add_problem(struct results *results, struct finding problem);
/* A problem that is no matter of time: something is wrong with the input, or incomplete. */
void results_add_warning(struct results *results, const char *what);
/* An input that could not be used: the error's message is copied. */
void results_add_failure(struct results *results, const struct error *error);
/* Moves the ranks and problems of `from` behind those of `results`, with the memory they live in;
 * `from` is then empty. */
void results_take(struct results *results, struct results *from);

/* Not thread-safe on one `results`; texts given must live as long as the results or be static. */
struct section *section_new(struct results *results, const char *key, const char *title,
                            const char *intro);
void section_add_number(struct results *results, struct section *section, struct number number);
/* Likewise, one without a remark. */
void section_add_value(struct results *results, struct section *section, const char *key,
                       const char *title, struct value value);
void section_add_finding(struct results *results, struct section *section, struct finding finding);
/* Findings that are not a matter of time; a warning: something is wrong with the input, or
 * incomplete. `evidence` and `try_this` may be NULL. */
void section_add_note(struct results *results, struct section *section, const char *what,
                      const char *evidence, const char *try_this);
void section_add_warning(struct results *results, struct section *section, const char *what,
                         const char *evidence, const char *try_this);
/* `columns` is copied. */
struct table *section_add_table(struct results *results, struct section *section, const char *key,
                                const char *title, const struct column *columns,
                                size_t column_count);
/* The columns of a table are declared once, each with what stands in it, in a list above the
 * function that adds the rows:
 *
 *     #define COPY_COLUMNS(COLUMN) \
 *         COLUMN("kind", "kind", UNIT_TEXT, 0, BAR_NONE, value_text(copy->name)) \
 *         COLUMN("count", "count", UNIT_COUNT, 0, BAR_NONE, value_count(copy->count))
 *
 * `key` to `bar` are what struct column says; the last is the cell of a row, an expression of the
 * variables that stand where FILL_ROW does. COLUMNS_OF(COPY_COLUMNS) are the last two arguments of
 * section_add_table, and FILL_ROW(table_add_row(...), COPY_COLUMNS) fills a row: a column can be
 * added, moved or taken away without a count or an index. */
#define COLUMNS_OF(list) COLUMN_ARRAY(list), COLUMN_COUNT_OF(list)
#define COLUMN_ARRAY(list)    \
    (const struct column[])   \
    {                         \
        list(COLUMN_DECLARED) \
    }
#define COLUMN_COUNT_OF(list)                                  (0 list(COLUMN_COUNTED))
#define COLUMN_DECLARED(key, title, unit, priority, bar, cell) {key, title, unit, priority, bar},
#define COLUMN_COUNTED(key, title, unit, priority, bar, cell)  +1
#define COLUMN_FILLED(key, title, unit, priority, bar, cell)   *next_cell++ = (cell);
#define FILL_ROW(cells, list)              \
    do {                                   \
        struct value *next_cell = (cells); \
                                           \
        list(COLUMN_FILLED)                \
    } while (0)

/* A new row at the end, all cells NONE: fill the returned [column_count] cells before the next row
 * is added. */
struct value *table_add_row(struct results *results, struct table *table, int depth);

/* Results as bytes, for the program that wrote them to read again: all that a page can show. */
void results_to_bytes(struct bytes *to, const struct results *results);

/* Fills `results`, which was only initialized. `bytes` must live as long as they, and are those of
 * this very program: what they lead to lies in them. False where they cannot be what it wrote. */
MUST_USE bool results_from_bytes(struct results *results, const unsigned char *bytes,
                                 size_t length);

/* NULL where there is none of the key. */
const struct section *find_section(const struct rank_results *rank, const char *key);
const struct table *find_table(const struct section *section, const char *key);

/* NONE where there is no number of the key. */
struct value find_number(const struct section *section, const char *key);

/* Index of the column; table->column_count where there is none. `table` is not NULL. */
size_t find_column(const struct table *table, const char *key);

/* The cell in `column` of the row whose column `by` holds `text`; NONE where there is none. */
struct value find_cell(const struct table *table, const char *by, const char *text,
                       const char *column);

/* The cell in `column` of row `row`; NONE where there is no such column. */
struct value find_cell_at(const struct table *table, size_t row, const char *column);

/* ---- the conditions of `--fail-if`, and what became of them: what CI asks of a report ---- */

enum condition_row_state { ROW_HOLDS_NOT, ROW_HOLDS, ROW_UNDECIDED };

struct condition_row {
    const char *condition; /* "step_time>+3%" */
    const char *said;      /* why */
    enum condition_row_state state;
};

/* How many conditions the rank's results have. */
size_t condition_row_count(const struct rank_results *rank);

/* `index` is less than that. */
struct condition_row condition_row_at(const struct rank_results *rank, size_t index);

#endif
