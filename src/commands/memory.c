/* `flopledger memory FILE...`: what held the memory of a device, when it was the most, and why. */
#include "base/core/attributes.h"
#include "base/text/byte_size.h"
#include "commands/command.h"
#include "commands/page_options.h"
#include "pipeline/memory_settings.h"
#include "pipeline/subcommands.h"

#include <stddef.h>
#include <string.h>

#define FIELD(name) offsetof(struct memory_settings, name)

/* Those of the reports, and one that writes a folder. */
static const char *const format_names[] = {
#define REPORT(name) #name,
#include "output/reports/list.def"
#undef REPORT
    "internevo",
    NULL,
};
enum { INTERNEVO_FORMAT = sizeof format_names / sizeof *format_names - 2 };

static const struct option memory_options[] = {
    TOP_OPTION(struct memory_settings),
    INTEGER_OPTION(
        "device", FIELD(device), "N", 0, INT32_MAX,
        "only this device (default: of a snapshot all that hold memory; of a recorded run the "
        "one that holds most, or the host)",
        .letter = 'd'),
    TEXT_OPTION("compare", FIELD(compare), "BEFORE",
                "say what grew and what shrank since this other snapshot"),
    INTEGER_OPTION("depth", FIELD(depth), "N", -1, INT32_MAX,
                   "of a recorded run: modules down to this depth; 0 is the model itself (default: "
                   "all)"),
    RANK_OPTION(struct memory_settings),
    PARSED_OPTION(
        "fit", FIELD(fit_bytes), "SIZE", byte_size,
        "of a recorded run: the largest batch and sequence that fit into so much memory, and "
        "what other ways to train would need"),
    INTEGER_OPTION("batch", FIELD(batch), "N", 1, INT32_MAX,
                   "with --fit: samples of a recorded micro-batch (default: as the capture says)"),
    INTEGER_OPTION(
        "ranks", FIELD(ranks), "N", 1, INT32_MAX,
        "with --fit: ranks that ZeRO would divide by (default: those of the run, else 8)"),
    PAGE_OPTIONS_OF(struct memory_settings, format_names,
                    "; of a recorded run also internevo (memory.log and sunbursts)"),
    CACHE_OPTIONS(struct memory_settings),
    READING_OPTIONS(struct memory_settings),
    {0},
};

/* One snapshot among the files, and all must be some. By content: a folder is none, a pickle
 * that is no snapshot neither. */
static bool is_about_snapshots(char **paths, int count, const struct memory_settings *settings)
{
    for (int i = 0; i < count; i++)
        if (is_snapshot_file(paths[i]))
            return true;
    return settings->compare != NULL;
}

/* `compare BEFORE AFTER` is `--compare BEFORE AFTER`. The word stands for the option, as in
 * 'flopledger compare'; a file of that name can still be named by its path. */
static bool parse_comparison(struct memory_settings *settings, char ***arguments, int *count,
                             struct error *error)
{
    if (*count == 0 || strcmp(**arguments, "compare") != 0)
        return true;
    if (*count != 3 || settings->compare)
        return error_set(error, ERROR_USAGE,
                         "compare takes two snapshots: flopledger memory compare BEFORE AFTER (a "
                         "file of the name 'compare' is ./compare)");
    settings->compare = (*arguments)[1];
    *arguments += 2;
    *count -= 2;
    return true;
}

/* What the files are is looked at before they are read: snapshots and captures have different
 * reports, and InternEvo's folders are written and not printed. */
static bool memory_with(struct memory_settings *settings, char **arguments, int count,
                        struct error *error)
{
    if (!parse_comparison(settings, &arguments, &count, error))
        return false;
    if (count == 0)
        return error_set(error, ERROR_USAGE,
                         "no file given: name the folder of a run that 'flopledger run --memory' "
                         "recorded, or a snapshot that torch.cuda.memory._dump_snapshot wrote");
    if (settings->page.format == INTERNEVO_FORMAT)
        return write_internevo_folders(arguments, count, settings, error);
    if (!check_output(&settings->page,
                      &(struct output_inputs){arguments, count, {settings->compare}}, error))
        return false;
    settings->top = rows_of_page(&settings->page, settings->top, (size_t)count);
    if (is_about_snapshots(arguments, count, settings))
        return print_memory_of_snapshots(arguments, count, settings, error);
    return print_memory_of_captures(arguments, count, settings, error);
}

/* See run_flops: the question is noted with its arguments, in the order of the command line. */
static bool run_memory(int count, char **arguments, struct error *error)
{
    struct memory_settings settings = {
        .top = -1, .device = -1, .depth = -1, .rank = -1, .shows_progress = true};
    struct noted_arguments noted = {arguments, &count, &settings.cache.asked};
    bool is_done = parse_options_noting(memory_options, &settings, &noted, error) &&
                   memory_with(&settings, arguments, count, error);

    bytes_clear(&settings.cache.asked);
    return is_done;
}

const struct command memory_command = {
    .name = "memory",
    .summary = "peak GPU memory: what was allocated, by which code",
    .usage = "[compare] FILE...",
    .description =
        "Reads the memory of recorded runs ('flopledger run --memory') and prints the peak to the "
        "byte, when it was, and what it consisted of: parameters, gradients, optimizer state, "
        "activations and temporaries, by module and by step, and what grows from step to step.\n\n"
        "Or reads snapshots of PyTorch's CUDA allocator, as torch.cuda.memory._dump_snapshot "
        "writes them (packed with gzip or zstd, too), and prints the peak to the byte, when it was "
        "and what it consisted of: by line of code, module, annotation and stream, the largest "
        "allocations, memory over time, what is reserved and can't be used, what grew, and for "
        "each time that memory ran out what would have made it fit.\n\n"
        "A snapshot is a pickle, and loading a pickle in Python can run any program. Here nothing "
        "is run: only plain data is read, and what asks for more is refused.",
    .examples = "flopledger memory captures/train/2026-01-31_12-00-00\n"
                "    the memory of a run that 'flopledger run --memory' recorded\n"
                "flopledger memory snapshot.pickle\n"
                "    the peak and what it consists of\n"
                "flopledger memory compare before.pickle after.pickle\n"
                "    what grew and what shrank\n"
                "flopledger memory --json --top 0 snapshot.pickle\n"
                "    everything, for a program",
    .options = memory_options,
    .run = run_memory,
};
