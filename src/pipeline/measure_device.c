/* Has Python measure, and reads what it wrote. */
#include "base/core/arena.h"
#include "base/core/out_of_memory.h"
#include "cost/devices/measured_rates.h"
#include "live/run/run_parts.h"
#include "output/results/device_words.h"
#include "output/results/metrics.h"
#include "pipeline/capture_run.h"
#include "pipeline/subcommands.h"
#include "sections/model/device_sections.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Puts what lies around the package on Python's path; `start` is its folder "start". */
static void set_python_path(struct arena *arena, const char *start)
{
    const char *path = getenv("PYTHONPATH");
    size_t size = strlen(start) + (path ? strlen(path) : 0) + sizeof "/../..:";
    char *joined = arena_allocate(arena, size);

    (void)snprintf(joined, size, "%s/../..%s%s", start, path && path[0] ? ":" : "",
                   path ? path : "");
    if (setenv("PYTHONPATH", joined, 1) != 0)
        end_out_of_memory();
}

/* Only a file of rates, or none, is written over. A mistyped name must not cost a trace; rates
 * themselves may be measured again. */
static bool check_rates_output(const char *path, struct error *error)
{
    struct measured_rates before = {0};
    struct error why = {0};
    bool is_one = access(path, F_OK) != 0 || measured_rates_read(&before, path, &why);

    measured_rates_clear(&before);
    return is_one || error_set(error, ERROR_USAGE,
                               "'%s' is there and is no file of measured rates: name another file "
                               "to write",
                               path);
}

/* Checked before the measuring, which would be lost if the file could not be written. */
static bool write_rates(const char *path, const char *kind, struct error *error)
{
    SCOPED(arena) arena = {0};
    const char *start = find_python_package(&arena, error);
    char *words[6] = {NULL};
    int status;

    if (!start || !check_rates_output(path, error))
        return false;
    set_python_path(&arena, start);
    words[0] = arena_copy_text(&arena, python_to_run(&arena), strlen(python_to_run(&arena)));
    words[1] = arena_copy_text(&arena, "-m", 2);
    words[2] = arena_copy_text(&arena, "flopledger.measure_rates", 24);
    words[3] = arena_copy_text(&arena, path, strlen(path));
    words[4] = arena_copy_text(&arena, kind, strlen(kind));
    if (!run_program(words, &status, error))
        return false;
    return status == 0 ||
           error_set(error, ERROR_FAILURE, "the measuring ended with exit status %d", status);
}

/* The page shows what is read back from the file, which is what later reports will use. */
bool measure_device(struct results *results, const char *path, const char *kind,
                    struct error *error)
{
    struct measured_rates rates = {0};
    bool is_read = write_rates(path, kind, error) && measured_rates_read(&rates, path, error);

    if (is_read) {
        struct rank_results *page =
            results_add_rank(results, results_text(results, rates.device), path, -1,
                             speakers_by_device_name(rates.device));

        rank_add_section(results, page, describe_measured_rates(results, &rates));
    }
    measured_rates_clear(&rates);
    return is_read;
}
