/* `flopledger inspect TRACE...`: what a file is and holds, without analyzing it. */
#include "base/core/attributes.h"
#include "commands/command.h"
#include "commands/page_options.h"
#include "output/results/device_words.h"
#include "output/results/metrics.h"
#include "pipeline/session.h"
#include "pipeline/subcommands.h"
#include "sections/inspect/inspect_sections.h"

#include <stddef.h>

struct inspect_settings {
    struct page_settings page;
    struct cache_choice cache;
    int64_t top;
    int64_t threads;
    bool shows_progress;
};

#define FIELD(name) offsetof(struct inspect_settings, name)

static const struct option inspect_options[] = {
    TOP_OPTION(struct inspect_settings),
    PAGE_OPTIONS(struct inspect_settings),
    CACHE_OPTIONS(struct inspect_settings),
    READING_OPTIONS(struct inspect_settings),
    {0},
};

/* Parts that the file has nothing for are left out. */
static bool describe(struct results *results, const struct trace *trace, const void *context,
                     struct error *error)
{
    const struct inspect_settings *settings = context;
    uint32_t top = settings->top == 0 ? UINT32_MAX : (uint32_t)settings->top;
    const char *path = results_text(results, trace_text(trace, trace->path));
    const char *label = trace->facts.rank >= 0
                            ? results_format(results, "rank %lld", (long long)trace->facts.rank)
                            : path;
    struct rank_results *rank =
        results_add_rank(results, label, path, trace->facts.rank, device_speakers(trace, NULL));
    struct track_sum *made = trace->sums ? NULL : sums_of_tracks(trace);
    const struct track_sum *sums = trace->sums ? trace->sums : made;
    struct recorded_time time = recorded_time_of(sums, trace->track_count);

    (void)error;
    rank_add_section(results, rank, describe_file(results, trace, time));
    if (trace->read.category_count > 0)
        rank_add_section(results, rank, describe_events(results, trace, time));
    if (trace->device_list_count > 0)
        rank_add_section(results, rank, describe_devices(results, trace));
    if (time.end_ns >= time.start_ns) {
        rank_add_section(results, rank, describe_tracks(results, trace, sums, time, top));
        rank_add_section(results, rank, describe_gaps(results, trace, sums, time, top));
    }
    track_sums_free(made, trace->track_count);
    return true;
}

/* An inspection shows what is in a file, not what it means: arguments of events need not be
 * kept, which spares memory with the largest files, where it is asked for first. */
static bool inspect_with(struct inspect_settings *settings, char **operands, int count,
                         struct error *error)
{
    struct file_reading reading = {.use = describe, .context = settings, .skips_details = true};
    struct session_question question = {.command = "inspect", .page = &settings->page};
    SCOPED(session) session = {0};

    if (!check_output(&settings->page, &(struct output_inputs){operands, count, {NULL}}, error))
        return false;
    if (count == 1 && is_proton_profile(operands[0]))
        return print_proton_inspection(operands[0], &settings->page, error);
    settings->top = rows_of_page(&settings->page, settings->top, (size_t)count);
    if (!session_open(&session, operands, count, error))
        return false;
    reading.threads = session_threads(&session, settings->threads);
    reading.shows_progress = settings->shows_progress;
    session.results.detailed_rank = ALL_RANKS;
    question.of_page[0] = settings->top;
    question.threads = reading.threads;
    return session_ask(&session, &settings->cache, &question, error) &&
           session_for_each_rank(&session, &reading, error) &&
           print_session(&session, -1, &settings->page, error);
}

/* The arguments are noted while they are parsed, as parsing takes them apart: they are the
 * question that an answer is kept for. */
static bool run_inspect(int count, char **arguments, struct error *error)
{
    struct inspect_settings settings = {.page.is_whole = true, .top = -1, .shows_progress = true};
    bool is_done =
        parse_options_noting(inspect_options, &settings,
                             &(struct noted_arguments){arguments, &count, &settings.cache.asked},
                             error) &&
        inspect_with(&settings, arguments, count, error);

    bytes_clear(&settings.cache.asked);
    return is_done;
}

const struct command inspect_command = {
    .name = "inspect",
    .summary = "what a trace file is and holds, without analyzing it",
    .usage = "TRACE...",
    .description =
        "Prints the format, compression and size of each file, its events by category and phase "
        "with their time ranges, its devices, threads and streams, the longest stretches in which "
        "nothing at all is recorded, and what is damaged or was set aside.",
    .examples = "flopledger inspect trace.json.gz\n"
                "    what is in this file\n"
                "flopledger inspect --json traces/\n"
                "    of all traces in a folder, for a program",
    .options = inspect_options,
    .run = run_inspect,
};
