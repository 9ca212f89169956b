/* The options of the commands that record or watch a job: run, attach, top, serve; labels of
 * export, too. */
#ifndef FLOPLEDGER_COMMANDS_RECORDING_OPTIONS_H
#define FLOPLEDGER_COMMANDS_RECORDING_OPTIONS_H

#include "commands/attribution_options.h"

/* Lines of an option table for a struct of settings `type`: the bool `field` for the shapes of
 * inputs, the texts for the folder and the name, the bool for the report at the end. */
#define SHAPES_OPTION(type, field)                     \
    NEGATED_OPTION("no-shapes", offsetof(type, field), \
                   "leave out the shapes of operators' inputs (FLOPs need them)")
#define CAPTURE_FOLDER_OPTION(type, field)                 \
    TEXT_OPTION("output", offsetof(type, field), "FOLDER", \
                "record into FOLDER/NAME/START TIME/ (default: captures)", .letter = 'o')
#define CAPTURE_NAME_OPTION(type, field, usual) \
    TEXT_OPTION("name", offsetof(type, field), "NAME", "the name of the run (default: " usual ")")
#define LABEL_OPTION(type, field)                                                              \
    TEXT_OPTION("label", offsetof(type, field), "NAME=VALUE,...",                              \
                "what is known of the job, for a fleet: team, cluster, job, image and others " \
                "(default: $FLOPLEDGER_LABELS, then what Slurm says)")
#define REPORT_OPTION(type, field) \
    NEGATED_OPTION("no-report", offsetof(type, field), "print no report at the end")
/* The three of struct trigger_wish `field`. */
#define TRIGGER_OPTIONS(type, field, windows_usual)                                         \
    PARSED_OPTION(                                                                          \
        "on", offsetof(type, field.rules), "RULES", trigger_rules,                          \
        "record a window when a rule holds, commas between several: step_time>1.5*median, " \
        "mfu<0.8*median, memory_growth>20steps, rank_lag>0.5*median"),                      \
        INTEGER_OPTION("on-windows", offsetof(type, field.windows), "N", 1, 10000,          \
                       "at most so many windows by --on (default: " windows_usual ")"),     \
        PARSED_OPTION(                                                                      \
            "on-bytes", offsetof(type, field.bytes), "BYTES", byte_limit,                   \
            "and at most so many bytes of their traces on each rank: 500M (default: 1G)")

/* Lines of an option table for a struct of settings `type` that has a struct peak_settings `peaks`
 * and two texts, root and ras. */
#define WATCHED_PEAK_OPTION(type)                              \
    PARSED_OPTION(                                             \
        "peak", offsetof(type, peaks), "TFLOPS[:DTYPE]", peak, \
        "dense peak of the device, for the MFU (default: that of the device in the trace)")
#define WATCHED_ROOT_OPTION(type)                       \
    TEXT_OPTION("root", offsetof(type, root), "FOLDER", \
                "read /proc and /sys below FOLDER, as a container may have the machine's")
#define WATCHED_RAS_OPTION(type)                       \
    TEXT_OPTION("ras", offsetof(type, ras), "ADDRESS", \
                "ask NCCL's RAS every 10 s, too: 'localhost' is where NCCL has it (port 28028)")

#endif
