/* The options of the commands that watch a running job: top, serve. */
#ifndef FLOPLEDGER_COMMANDS_WATCHING_OPTIONS_H
#define FLOPLEDGER_COMMANDS_WATCHING_OPTIONS_H

#include "commands/peak_options.h"

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
