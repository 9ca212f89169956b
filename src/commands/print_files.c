/* Reads files and prints one page of what was found in them. */
#include "commands/print_files.h"

bool print_files(const struct input_files *files, const struct file_reading *reading,
                 const struct printed_page *printed, struct error *error)
{
    struct files_read outcome = {0};
    SCOPED(results) results = {0};

    results_init(&results);
    read_files(&outcome, &results, files, reading);
    if (outcome.used_count == 0) {
        *error = outcome.first_error;
        return false;
    }
    note_passed_over(&results, files);
    for (size_t i = 0; printed->rank >= 0 && i < results.rank_count; i++)
        if (results.ranks[i].rank == printed->rank)
            results.detailed_rank = i;
    if (!print_page(&results, printed->page, error))
        return false;
    return judge_files_read(&outcome, error);
}
