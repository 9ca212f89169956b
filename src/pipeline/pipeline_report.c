/* `flopledger report` of a timeline of pipelines. */
#include "base/io/input_stream.h"
#include "output/results/device_words.h"
#include "output/results/metrics.h"
#include "pipeline/page.h"
#include "pipeline/subcommands.h"
#include "replay/pipeline_replay.h"
#include "sections/pipeline_parallel/pipeline_sections.h"

#include <string.h>

enum { TOP_DEFAULT = 10 };

/* By the first 64 KiB: a timeline says in its first events what it is. */
bool is_pipeline_timeline(const char *path)
{
    SCOPED(input_stream) input = {0};
    struct input_window head;

    if (!input_stream_open(&input, path, false, NULL))
        return false;
    head = input_stream_peek(&input);
    return looks_like_pipeline_timeline(head.text, head.length < 65536 ? head.length : 65536);
}

static uint32_t pipeline_report_rows_of(int64_t top)
{
    if (top < 0)
        return TOP_DEFAULT;
    return top == 0 ? UINT32_MAX : (uint32_t)top;
}

/* Gaps are dropped after the steps were chosen: whether a step lacks a rank is judged among
 * those that are reported. Stragglers first: their replays leave the simulation as they
 * please; the path sets up its own. */
bool print_pipeline_report(const char *path, const struct pipeline_report *wanted,
                           struct error *error)
{
    SCOPED(pipeline_job) job = {0};
    SCOPED(pipeline_replay) simulation = {0};
    SCOPED(pipeline_costs) costs = {0};
    SCOPED(results) results = {0};
    struct rank_results *rank;
    struct section *stragglers, *path_section;
    bool is_damaged;

    if (!read_pipeline_timeline(&job, path, error))
        return false;
    if (!pipeline_job_keep_steps(&job, wanted->steps.first, wanted->steps.last))
        return error_set(error, ERROR_NO_DATA,
                         "'%s': no step in that range: its steps go from %lld to %lld", path,
                         (long long)job.steps[0], (long long)job.steps[job.step_count - 1]);
    pipeline_job_drop_gaps(&job);
    if (!pipeline_replay_begin(&simulation, &job, error))
        return error_in(error, "'%s'", path);
    find_pipeline_costs(&costs, &simulation);
    results_init(&results);
    results.detailed_rank = ALL_RANKS;
    rank = results_add_rank(&results, "job", results_text(&results, path), -1, NO_SPEAKERS);
    rank->headline = pipeline_headline(&results, &simulation, &costs);
    rank_add_section(&results, rank, describe_pipeline(&results, &simulation, &costs));
    stragglers =
        describe_stragglers(&results, &simulation, &costs, pipeline_report_rows_of(wanted->top));
    if (stragglers)
        rank_add_section(&results, rank, stragglers);
    path_section =
        describe_pipeline_path(&results, &simulation, &costs, pipeline_report_rows_of(wanted->top));
    if (path_section)
        rank_add_section(&results, rank, path_section);
    /* Behind all sections, so that what the file lacked stands with the problems of the page. */
    is_damaged = note_file_rest(&results, path, &job.rest);
    if (!print_page(&results, wanted->page, error))
        return false;
    return !is_damaged || error_set(error, ERROR_PARTIAL, "'%s': %s", path, job.rest.message);
}
