/* The options of the commands that record: run, attach; labels of export, too. */
#ifndef FLOPLEDGER_COMMANDS_CAPTURE_OPTIONS_H
#define FLOPLEDGER_COMMANDS_CAPTURE_OPTIONS_H

/* Lines of an option table for a struct of settings `type`: the bool `field` for the shapes of
 * inputs, the texts for the folder and the name, the bool for the report at the end. */
#define SHAPES_OPTION(type, field)                                                    \
    {                                                                                 \
        .name = "no-shapes", .kind = OPTION_NEGATED, .offset = offsetof(type, field), \
        .help = "leave out the shapes of operators' inputs (FLOPs need them)"         \
    }
#define CAPTURE_FOLDER_OPTION(type, field)                                         \
    {                                                                              \
        .name = "output", .letter = 'o', .kind = OPTION_TEXT, .metavar = "FOLDER", \
        .offset = offsetof(type, field),                                           \
        .help = "record into FOLDER/NAME/START TIME/ (default: captures)"          \
    }
#define CAPTURE_NAME_OPTION(type, field, usual)                                                  \
    {                                                                                            \
        .name = "name", .kind = OPTION_TEXT, .metavar = "NAME", .offset = offsetof(type, field), \
        .help = "the name of the run (default: " usual ")"                                       \
    }
#define LABEL_OPTION(type, field)                                                              \
    {                                                                                          \
        .name = "label", .kind = OPTION_TEXT, .metavar = "NAME=VALUE,...",                     \
        .offset = offsetof(type, field),                                                       \
        .help = "what is known of the job, for a fleet: team, cluster, job, image and others " \
                "(default: $FLOPLEDGER_LABELS, then what Slurm says)"                          \
    }
#define REPORT_OPTION(type, field)                                                    \
    {                                                                                 \
        .name = "no-report", .kind = OPTION_NEGATED, .offset = offsetof(type, field), \
        .help = "print no report at the end"                                          \
    }
/* The three of struct trigger_wish `field`. */
#define TRIGGER_OPTIONS(type, field, windows_usual)                                              \
    {.name = "on",                                                                               \
     .kind = OPTION_PARSED,                                                                      \
     .metavar = "RULES",                                                                         \
     .offset = offsetof(type, field.rules),                                                      \
     .parse = parse_trigger_rules,                                                               \
     .accepts = trigger_rules_accepted,                                                          \
     .help = "record a window when a rule holds, commas between several: step_time>1.5*median, " \
             "mfu<0.8*median, memory_growth>20steps, rank_lag>0.5*median"},                      \
        {.name = "on-windows",                                                                   \
         .kind = OPTION_INTEGER,                                                                 \
         .metavar = "N",                                                                         \
         .offset = offsetof(type, field.windows),                                                \
         .minimum = 1,                                                                           \
         .maximum = 10000,                                                                       \
         .help = "at most so many windows by --on (default: " windows_usual ")"},                \
    {                                                                                            \
        .name = "on-bytes", .kind = OPTION_PARSED, .metavar = "BYTES",                           \
        .offset = offsetof(type, field.bytes), .parse = parse_byte_limit,                        \
        .accepts = byte_limit_accepted,                                                          \
        .help = "and at most so many bytes of their traces on each rank: 500M (default: 1G)"     \
    }

#endif
