/* Bytes as a file of one rank or of several: each is read, or it is said why not. */
#ifndef FLOPLEDGER_TESTS_FUZZ_PARTS_H
#define FLOPLEDGER_TESTS_FUZZ_PARTS_H

#include "base/core/attributes.h"
#include "fuzz_file.h"
#include "readers/open_trace.h"

/* How many ranks were read. run_corpus.c holds that it is not 0: of files that are all refused
 * nothing would be tried. */
extern unsigned fuzz_parts_read;
unsigned fuzz_parts_read;

enum { FUZZ_PARTS_MAX = 4 };

static inline void fuzz_part(const struct trace_source *source, uint32_t part)
{
    const struct read_options options = {
        .threads = 1, .part = part, .part_count = source->part_count};
    SCOPED(trace) trace = {0};
    struct error error = {0};

    if (open_trace_part(&trace, source, &options, &error))
        fuzz_parts_read++;
    else
        require_invariant(error.message[0] != '\0', "that errors are told");
    for (uint32_t i = 0; i < trace.device_count; i++)
        require_invariant(trace.device[i].duration_ns >= 0, "that no kernel ends before it starts");
}

static inline void fuzz_parts(const uint8_t *data, size_t size)
{
    struct fuzz_file file = fuzz_file_of(data, size);
    SCOPED(trace_source) source = {0};
    struct error error = {0};

    if (!trace_source_open(&source, file.path, &error))
        require_invariant(error.message[0] != '\0', "that errors are told");
    for (uint32_t part = 0; part < source.part_count && part < FUZZ_PARTS_MAX; part++)
        fuzz_part(&source, part);
    fuzz_file_close(&file);
}

#endif
