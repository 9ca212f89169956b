/* `flopledger export perfetto`: what was recorded in Perfetto's own format, with the ledger. */
#include "base/io/output_file.h"
#include "base/io/packed_output.h"
#include "output/exports/perfetto_parts.h"
#include "pipeline/export_chrome.h"
#include "pipeline/graph_captures.h"
#include "readers/open_trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct perfetto_file {
    FILE *output;
    const struct chrome_plan *plan;
    uint32_t written;
    bool is_merged;  /* several traces */
    bool is_partial; /* one of them is damaged */
};

/* One file may hold several processes of a run (parts), which become traces of their own here. */
static bool write_part(struct perfetto_file *file, const struct trace_source *source, uint32_t part,
                       struct error *error)
{
    static const struct capture_choice beside = {.count = 0};
    const struct read_options options = {
        .threads = file->plan->threads, .part = part, .part_count = source->part_count};
    struct perfetto_place place = {.index = file->written, .prefix = ""};
    SCOPED(analyzed_rank) analyzed = {0};
    SCOPED(trace) trace = {0};
    SCOPED(results) unread = {0}; /* the report says which captures could not be read */
    char prefix[40];

    results_init(&unread);
    if (!open_trace_part(&trace, source, &options, error) ||
        !attribute_graphs_of(&trace, &beside, &unread, error))
        return false;
    if (file->plan->rank >= 0 && trace.facts.rank != file->plan->rank)
        return true;
    if (!analyze_rank(&analyzed, &trace, &file->plan->attribution, error))
        return false;
    if (file->is_merged || source->part_count > 1) {
        (void)snprintf(
            prefix, sizeof prefix, trace.facts.rank >= 0 ? "rank %lld: " : "trace %lld: ",
            trace.facts.rank >= 0 ? (long long)trace.facts.rank : (long long)file->written);
        place.prefix = prefix;
    }
    perfetto_write_trace(file->output, &trace, &analyzed.ledger, &place);
    file->is_partial |= read_is_partial(&trace.read);
    file->written++;
    return true;
}

/* Several files in one: their tracks need a name before them, unless a single rank was chosen. */
static bool write_sources(struct perfetto_file *file, const struct input_files *files,
                          struct error *error)
{
    file->is_merged = files->count > 1 && file->plan->rank < 0;
    for (size_t i = 0; i < files->count; i++) {
        SCOPED(trace_source) source = {0};

        if (!trace_source_open(&source, files->files[i].path, error))
            return false;
        for (uint32_t part = 0; part < source.part_count; part++)
            if (!write_part(file, &source, part, error))
                return false;
    }
    return file->written > 0 ||
           error_set(error, ERROR_NO_DATA, "no trace of rank %" PRId64 " among those given",
                     file->plan->rank);
}

/* Errors of the packed stream show in the file below it, which is closed and checked last. */
bool export_perfetto(const char *path, const struct input_files *files,
                     const struct chrome_plan *plan, struct error *error)
{
    SCOPED(output_file) output = {0};
    struct perfetto_file file = {.plan = plan};
    size_t length = strlen(path);
    bool is_packed = length > 3 && strcmp(path + length - 3, ".gz") == 0;
    bool is_done;

    if (!output_file_open(&output, path, error))
        return false;
    file.output = is_packed ? packed_output_open(output.stream) : output.stream;
    is_done = write_sources(&file, files, error);
    if (is_packed)
        (void)fclose(file.output); /* what the file did not take shows there */
    if (!is_done || !output_file_close(&output, error))
        return false;
    return !file.is_partial ||
           error_set(error, ERROR_PARTIAL,
                     "part of the input is damaged, and not in the export: 'flopledger inspect' "
                     "says which");
}
