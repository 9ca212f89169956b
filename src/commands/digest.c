/* `flopledger digest TRACE... -o FILE`: what many ranks' reports need of each rank, in a small
 * file. */
#include "base/core/attributes.h"
#include "base/core/bytes.h"
#include "base/io/output_file.h"
#include "commands/attribution_options.h"
#include "commands/command.h"
#include "commands/page_options.h"
#include "pipeline/output_place.h"
#include "pipeline/read_ranks.h"
#include "pipeline/session.h"
#include "ranks/digest_file.h"

#include <stddef.h>
#include <string.h>

struct digest_settings {
    struct attribution_settings attribution;
    const char *output;
    bool is_forced;
    int64_t threads;
    bool shows_progress;
};

static const struct option digest_options[] = {
    TEXT_OPTION("output", offsetof(struct digest_settings, output), "FILE",
                "write to FILE, atomically: rank7.fld (needed; '-': standard "
                "output)",
                .letter = 'o'),
    FORCE_OPTION(struct digest_settings, is_forced),
    ATTRIBUTION_OPTIONS(struct digest_settings),
    READING_OPTIONS(struct digest_settings),
    {0},
};

/* Behind a redirection a full disk shows only when the stream is flushed. */
static bool digest_write_bytes(const struct bytes *writer, const char *path, struct error *error)
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

static bool write_digests(struct session *session, const char *path, struct error *error)
{
    SCOPED(bytes) writer = {0};

    if (!has_any_rank(&session->summaries, error))
        return false;
    digest_set_encode(&writer, &session->summaries);
    return digest_write_bytes(&writer, path, error) && session_check(session, error);
}

/* Chains of calls are kept in a digest, since the ranks it will stand beside are not known yet
 * (NO_RANK_IN_FULL). */
static bool digest_with(struct digest_settings *settings, char **operands, int count,
                        struct error *error)
{
    SCOPED(session) session = {0};
    struct analysis_plan plan = {0};
    struct rank_reading reading = {.in_full = NO_RANK_IN_FULL, .rank = -1, .plan = &plan};
    struct output_place place = {.path = settings->output,
                                 .option = "--output",
                                 .what = "digest",
                                 .is_forced = settings->is_forced,
                                 .replaces = CONTENT_DIGEST};

    if (!settings->output)
        return error_set(error, ERROR_USAGE,
                         "no --output given: name the file to write, -o "
                         "rank7.fld");
    if (!attribution_resolve(&settings->attribution, error) ||
        !check_output_place(&place, &(struct output_inputs){operands, count, {NULL}}, error) ||
        !session_open(&session, operands, count, error) || !session_join(&session, error))
        return false;
    plan.attribution = attribution_options_of(&settings->attribution);
    reading.threads = session_threads(&session, settings->threads);
    reading.shows_progress = settings->shows_progress && session_prints(&session);
    if (!session_summarize(&session, reading, error))
        return false;
    return !session_prints(&session) || write_digests(&session, settings->output, error);
}

/* Options may hold memory (paths, rates): freed here, whether or not the work succeeded. */
static bool run_digest(int count, char **arguments, struct error *error)
{
    struct digest_settings settings = {.attribution = ATTRIBUTION_DEFAULTS, .shows_progress = true};
    bool is_done;

    if (!parse_options(digest_options, &settings, arguments, &count, error))
        return false;
    is_done = digest_with(&settings, arguments, count, error);
    attribution_settings_clear(&settings.attribution);
    return is_done;
}

const struct command digest_command = {
    .name = "digest",
    .summary = "summarize each rank in a small file, to be merged and reported later",
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
