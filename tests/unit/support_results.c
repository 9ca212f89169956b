/* Results made by hand, to print. */
#include "support_results.h"

#include "output/results/metrics.h"

static struct section *make_section(struct results *results)
{
    static const struct column columns[] = {
        {"kernel", "kernel", UNIT_TEXT, 0, false},
        {"time", "time", UNIT_TIME_NS, 0, false},
        {"share", "of the step", UNIT_FRACTION, 1, true},
        {"rate", "rate", UNIT_BYTES_PER_SECOND, 2, false},
        {"ranks", "ranks", UNIT_COUNT, 2, false},
        {"key", "key", UNIT_TEXT, PRIORITY_FOR_PROGRAMS, false},
    };
    static const char *const names[] = {"gemm", "\x1b[31mred\xFF",
                                        "a very long name of a kernel that does nothing"};
    struct section *section = section_new(results, "kernels", "Kernels", "What ran.");
    struct table *table;

    section_add_number(results, section,
                       (struct number){"mean", "mean", value_time_ns(1500000), "per step"});
    section_add_number(results, section,
                       (struct number){"mfu", "MFU", value_not_known("needs the model"), NULL});
    table = section_add_table(results, section, "by_name", "By name", columns,
                              sizeof columns / sizeof columns[0]);
    table->rows_in_all = 45;
    for (int i = 0; i < 3; i++) {
        struct value *row = table_add_row(results, table, i > 0);

        row[0] = value_text(names[i]);
        row[1] = value_time_ns(12345678 / (i + 1));
        row[2] = value_fraction(0.5 / (i + 1));
        row[3] = i == 1 ? value_not_known("needs bytes") : value_bytes_per_second(2e9);
        row[4] = value_not_known("needs metadata");
        row[5] = value_text("machine");
    }
    section_add_finding(results, section,
                        (struct finding){.what = "it is slow",
                                         .evidence = "see above",
                                         .try_this = "make it fast",
                                         .cost_ns = 2500000});
    section_add_finding(
        results, section,
        (struct finding){.what = "the file is cut", .cost_ns = -1, .is_warning = true});
    return section;
}

void make_results(struct results *results, size_t rank_count)
{
    results_init(results);
    for (size_t i = 0; i < rank_count; i++) {
        struct rank_results *rank =
            results_add_rank(results, results_format(results, "rank %zu", i),
                             results_format(results, "r%zu.json", i), (int64_t)i, 0);

        rank_add_section(results, rank, make_section(results));
    }
    if (rank_count > 1) {
        results->overview = section_new(results, "ranks", "All ranks", NULL);
        section_add_number(
            results, results->overview,
            (struct number){"ranks", "ranks", value_count((int64_t)rank_count), NULL});
    }
}
