/* `flopledger digest TRACE... -o FILE`: what many ranks' reports need of each rank, in a small
 * file. */
#include "base/attributes.h"
#include "base/output_file.h"
#include "commands/booking_options.h"
#include "commands/command.h"
#include "commands/input_files.h"
#include "commands/mpi_world.h"
#include "commands/output_place.h"
#include "commands/page_options.h"
#include "commands/read_files.h"
#include "commands/read_ranks.h"
#include "ranks/digest_set.h"

#include <stddef.h>
#include <string.h>

struct digest_settings {
    struct booking_settings booking;
    const char *output;
    bool is_forced;
    int64_t threads;
    bool shows_progress;
};

static const struct option digest_options[] = {
    {.name = "output",
     .letter = 'o',
     .kind = OPTION_TEXT,
     .metavar = "FILE",
     .offset = offsetof(struct digest_settings, output),
     .help = "write to FILE, which appears whole or not at all: rank7.fld (needed; '-': standard "
             "output)"},
    FORCE_OPTION(struct digest_settings, is_forced),
    BOOKING_OPTIONS(struct digest_settings),
    READING_OPTIONS(struct digest_settings),
    {0},
};

static bool write_bytes(const struct digest_writer *writer, const char *path, struct error *error)
{
    SCOPED(output_file) file = {0};

    if (strcmp(path, "-") == 0)
        return fwrite(writer->bytes, 1, writer->length, stdout) == writer->length ||
               stream_has_arrived(stdout, NULL, error);
    if (!output_file_open(&file, path, error))
        return false;
    (void)fwrite(writer->bytes, 1, writer->length, file.stream);
    return output_file_close(&file, error);
}

static bool write_digests(struct digest_set *set, const char *path, struct error *error)
{
    SCOPED(digest_writer) writer = {0};

    if (!has_any_rank(set, error))
        return false;
    digest_set_encode(&writer, set);
    return write_bytes(&writer, path, error) && judge_ranks_read(set, error);
}

static bool digest_with(struct digest_settings *settings, char **operands, int count,
                        struct error *error)
{
    SCOPED(input_files) files = {0};
    SCOPED(mpi_world) world = {0};
    SCOPED(digest_set) set = {0};
    SCOPED(results) results = {0};
    struct analysis_plan plan = {0};
    struct rank_reading reading = {
        .in_full = NO_RANK_IN_FULL, .rank = -1, .plan = &plan, .world = &world};

    struct output_place place = {.path = settings->output,
                                 .option = "--output",
                                 .what = "digest",
                                 .is_forced = settings->is_forced,
                                 .replaces = CONTENT_DIGEST};

    if (!settings->output)
        return error_set(error, ERROR_USAGE,
                         "no --output given: name the file to write, -o "
                         "rank7.fld");
    if (!booking_settle(&settings->booking, error) ||
        !check_output_place(&place, &(struct output_inputs){operands, count, {NULL}}, error) ||
        !find_input_files(&files, operands, count, error) || !mpi_world_join(&world, error))
        return false;
    plan.booking = booking_plan_of(&settings->booking);
    reading.threads = settings->threads > 0 ? (unsigned)settings->threads
                                            : mpi_world_threads(&world, default_thread_count());
    reading.shows_progress = settings->shows_progress && world.place == 0;
    results_init(&results);
    if (!read_ranks(&set, &results, &files, &reading, error))
        return false;
    return world.place > 0 || write_digests(&set, settings->output, error);
}

static bool run_digest(int count, char **arguments, struct error *error)
{
    struct digest_settings settings = {.booking = BOOKING_DEFAULTS, .shows_progress = true};
    bool is_done;

    if (!parse_options(digest_options, &settings, arguments, &count, error))
        return false;
    is_done = digest_with(&settings, arguments, count, error);
    booking_settings_clear(&settings.booking);
    return is_done;
}

const struct command digest_command = {
    .name = "digest",
    .summary = "a small file of each rank, to be merged and reported later",
    .usage = "TRACE... -o FILE",
    .description =
        "Reads traces as 'flopledger report' does, and keeps of each rank what a report of many "
        "ranks needs: the ledger of each step, each communication call, when only communication "
        "ran. A digest is about a hundredth of its trace. Make it on each node at the end of a "
        "run, then give all of them, or the folder they lie in, to 'flopledger report': the part "
        "about all ranks comes out as from the traces, whatever the order.\n\n"
        "Digests given as input are merged into the one that is written.",
    .examples = "flopledger digest trace.json.gz -o rank7.fld\n"
                "    the digest of one rank\n"
                "flopledger digest rank*.fld -o all.fld\n"
                "    many in one file\n"
                "flopledger report all.fld\n"
                "    the report of all ranks",
    .options = digest_options,
    .run = run_digest,
};
