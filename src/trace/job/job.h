/* The life of a training job as its attempts: what its logs, or the step record that our recorder
 * keeps, say of when it started, stepped, saved, evaluated, restored, crashed and ended.
 *
 * Whoever reads a log or a record calls job_begin_source once for each file and then job_add for
 * each thing the file tells, in the order of the file; job_finish puts the files into one order.
 * Then the other headers of this folder answer questions: job_accounts.h, job_step_times.h,
 * job_rates.h.
 *
 * A step record feeds it so, per rank file: job_begin_source(path); JOB_START with the time the
 * process began and `devices`; JOB_RESTORE_END with the step that was loaded, where one was;
 * JOB_TRAINING when the first step begins; for each step JOB_STEP with its number, time_ns = its
 * end, each_ns = its length, count = 1; JOB_CHECKPOINT_END and JOB_EVALUATION_END with time_ns =
 * their end and each_ns = how long training stood still; JOB_END or JOB_CRASH where the process
 * told. The files of several ranks of one run may all be added: job_finish keeps one of each. */
#ifndef FLOPLEDGER_TRACE_JOB_JOB_H
#define FLOPLEDGER_TRACE_JOB_JOB_H

#include "base/core/attributes.h"
#include "base/core/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A time, a length of time or a step number that nothing tells. */
#define JOB_NOT_KNOWN INT64_MIN

enum job_event_kind {
    JOB_SIGN_OF_LIFE,     /* a line with a time: the attempt lived then */
    JOB_START,            /* a process starts: a new attempt, unless the one before has only just
                             started too (each of its ranks says so) */
    JOB_RESTORE_BEGIN,    /* a checkpoint is being loaded, */
    JOB_RESTORE_END,      /* and was: `step` is that of its weights */
    JOB_TRAINING,         /* the first step begins; `step`, where told, is the one before it */
    JOB_STEP,             /* steps up to and with number `step` have ended */
    JOB_CHECKPOINT_BEGIN, /* `step` is that of the weights */
    JOB_CHECKPOINT_END,
    JOB_EVALUATION_BEGIN,
    JOB_EVALUATION_END,
    JOB_CRASH,      /* something broke: `text` says what */
    JOB_UNNUMBERED, /* the following steps have no numbers in the file: each line is one */
    JOB_STEPS_ANEW, /* other lines of the file tell better of the steps: what was told so far of
                       those of the attempt, in this file, counts for nothing */
    JOB_STOP,       /* somebody or the scheduler stops the attempt: `text` says who */
    JOB_END,        /* it ended as planned */
};

/* Times are nanoseconds since 1970. */
enum job_clock {
    JOB_CLOCK_LOCAL, /* as a clock on the wall shows them: the zone is not known */
    JOB_CLOCK_UTC,
};

/* Use job_event_of, which sets all that is not known. */
struct job_event {
    enum job_event_kind kind;
    enum job_clock clock;
    int64_t time_ns;   /* when (of steps, checkpoints: their end) */
    int64_t step;      /* as above */
    int64_t count;     /* JOB_STEP: how many steps it stands for; not known: since the event
                          before */
    int64_t each_ns;   /* JOB_STEP: mean length of one of them; the ends of checkpoints and
                          evaluations: for how long training stood still */
    int64_t last_step; /* number of the last step that the job is to make */
    int64_t skipped;   /* JOB_STEP: how many of them updated nothing; not known: the line does not
                          tell */
    int64_t devices;   /* of the attempt; 0: not told */
    bool is_weak;      /* JOB_START, JOB_CRASH, JOB_STOP: any program writes that line, and others
                          of the file tell of starts, too: it begins no attempt behind steps, and
                          ends none that has not begun */
    bool is_in_steps;  /* the ends of evaluations: lengths of steps hold it, and nothing tells
                          how much of them */
    bool is_length_loose; /* JOB_STEP: each_ns was not measured between the moments that times tell
                             (of the launch, or told a step late): no proof that a clock went back
                           */
    int64_t process_step; /* JOB_STEP: its number as the process counts, in its traces too; 0 */
    int64_t data_wait_ns; /* JOB_STEP: of its length, what the program waited in its data loader */
    bool is_traced;       /* JOB_STEP: a profiler recorded it in full */
    double loss;          /* NAN: not told, as all below */
    double flops_per_second;  /* of one device */
    double mfu;               /* 0...1 */
    double tokens_per_second; /* of one device */
    double tokens_per_second_of_job;
    const char *text; /* NULL, or [text_length]; copied */
    size_t text_length;
    int64_t line; /* of the file; 0: none */
};

struct job_event job_event_of(enum job_event_kind kind);

/* Steps that one event told of together. */
struct job_step {
    int64_t step;    /* the number of the last of them */
    int64_t end_ns;  /* JOB_NOT_KNOWN: no time */
    int64_t each_ns; /* JOB_NOT_KNOWN: the log does not say */
    int32_t count;
    int32_t skipped; /* of them, without an update; below 0: not told */
    float loss;      /* NAN: not told, as all below */
    float mfu;
    double flops_per_second;
    float tokens_per_second;
    float tokens_per_second_of_job;
    bool is_incredible; /* its rate cannot be: job_check_rates */
    bool is_traced;     /* as of the event, and the two below */
    int64_t process_step;
    int64_t data_wait_ns;
};

enum job_span_kind { JOB_SPAN_RESTORE, JOB_SPAN_CHECKPOINT, JOB_SPAN_EVALUATION };

struct job_span {
    enum job_span_kind kind;
    bool is_in_background; /* steps went on meanwhile: not time lost */
    bool is_in_steps;      /* its length is not known: it is in those of steps */
    int64_t step;          /* of the weights; JOB_NOT_KNOWN */
    int64_t end_ns;        /* JOB_NOT_KNOWN: no time */
    int64_t duration_ns;   /* for which training stood still; JOB_NOT_KNOWN */
    size_t after;          /* how many of the attempt's steps[] stand before it */
};

enum job_ending {
    JOB_ENDING_NOT_KNOWN, /* its lines just stop */
    JOB_ENDING_COMPLETED,
    JOB_ENDING_STOPPED,
    JOB_ENDING_FAILED,
};

/* From the start of its processes to their end. Times are corrected for jumps of the clock. */
struct job_attempt {
    uint32_t source;        /* that it begins in */
    bool has_start;         /* a JOB_START or JOB_RESTORE_... began it, not just a step number */
    int64_t start_ns;       /* the first time it gives; JOB_NOT_KNOWN: none, as all below */
    bool is_training_known; /* training_ns is a time the log gives, not one reckoned */
    int64_t training_ns;    /* its first step begins; told or reckoned from that step's length */
    int64_t end_ns;         /* the last time it gives */
    int64_t restored_step;  /* that it goes on from; JOB_NOT_KNOWN: not told, and the steps do not
                               tell either */
    int64_t last_step;      /* that the job is to make; JOB_NOT_KNOWN */
    int64_t devices;        /* 0: not told */
    enum job_ending ending;
    char *why; /* NULL, or what ended it; owned */
    struct job_step *steps;
    size_t step_count;
    struct job_span *spans;
    size_t span_count;
};

enum job_remark_kind {
    JOB_CLOCK_WENT_BACK,    /* by amount_ns; later times were moved on by it */
    JOB_CLOCK_CHANGED_ZONE, /* an hour ahead, at a time at which clocks are put forward */
    JOB_CLOCKS_DIFFER,      /* the source has times with a zone and times without: those of
                               the kind that its steps do not have were left out */
    JOB_SOURCE_IS_COPY,     /* the file tells the same steps as another one: one rank of many */
    JOB_STEPS_MISSING,      /* `step` is the last before the hole; amount_ns: how many steps */
    JOB_STEPS_ARE_LINES, /* the source tells no numbers of steps: each of its lines counts as one */
};

/* Something about the input that its reader should know. */
struct job_remark {
    enum job_remark_kind kind;
    uint32_t source;
    int64_t line;
    int64_t step;
    int64_t amount_ns;
};

/* What a diary says of a day: an entry with its date. */
struct job_incident {
    int64_t time_ns;       /* of the heading, as it is written */
    char *what;            /* its words; owned */
    int64_t restored_step; /* "restart from step 4000"; JOB_NOT_KNOWN, as below */
    int64_t start_ns;      /* of the run that followed, as its name tells */
    int64_t lost_ns;       /* "we lost 7.3h"; the sum where there are several */
    uint32_t source;
    int64_t line;
};

/* One file. */
struct job_source {
    char *name;            /* owned */
    int64_t first_ns;      /* the first time in it; JOB_NOT_KNOWN */
    enum job_clock clock;  /* of its times, where it has any: that of its steps */
    bool is_clock_settled; /* a step has told it */
    bool has_other_clock;  /* some of its times were left out: they are of the other kind */
    int64_t shift_ns;      /* what its clock went back by, so far */
    bool is_history;       /* job_reports_history */
    bool is_copy;
};

/* A zeroed job is an empty one. */
struct job {
    struct job_source *sources;
    size_t source_count;
    struct job_attempt *attempts; /* after job_finish: in the order of time */
    size_t attempt_count;
    struct job_remark *remarks;
    size_t remark_count;
    struct job_incident *incidents; /* of diaries, in the order of the files */
    size_t incident_count;
    int64_t repeated_lines;        /* of steps that another rank had told of already */
    struct job_building *building; /* private */
};

/* `name` is copied. */
void job_begin_source(struct job *job, const char *name);

/* The source newly begun is no log of a process: it sums up the steps of all of them. It goes where
 * a log tells of steps, and where another one goes further. */
void job_reports_history(struct job *job);

/* After job_begin_source. Ends the program when memory is out. */
void job_add(struct job *job, const struct job_event *event);

/* One more entry of a diary; `what` is copied. Valid until the next call. */
struct job_incident *job_add_incident(struct job *job, int64_t time_ns, const char *what,
                                      size_t length);

/* Puts the sources into the order of time (of their names where they give none), joins an attempt
 * that goes on in the next file, and settles what only the whole tells. Errors (ERROR_INPUT): the
 * files are of several jobs. */
MUST_USE bool job_finish(struct job *job, struct error *error);

void job_clear(struct job *job);

/* The number of the first step that the attempt made; JOB_NOT_KNOWN without steps. */
int64_t job_first_step(const struct job_attempt *attempt);

/* Steps that the attempt made, discarded ones too. */
int64_t job_steps_made(const struct job_attempt *attempt);

#endif
