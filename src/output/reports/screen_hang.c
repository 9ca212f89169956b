/* The first screen of flight-recorder dumps: what hangs, and who is missing. */
#include "output/reports/screen_text.h"
#include "output/results/find_results.h"

#include <inttypes.h>

static bool is_hang(const struct screen_builder *builder)
{
    return find_section(builder->rank, "hang") != NULL;
}

/* A figure that is not known is left out by `screen_add_figure`, so that a dump without counts
 * still gives a screen. */
static void fill_hang(struct screen_builder *builder)
{
    const struct section *hang = find_section(builder->rank, "hang");
    struct value ranks = find_number(hang, "ranks");

    builder->screen->subject = ranks.unit == UNIT_COUNT
                                   ? screen_format(builder, "flight recorder %s %" PRId64 " ranks",
                                                   builder->dot, ranks.integer)
                                   : "flight recorder";
    screen_add_figure(builder, "", find_number(hang, "calls"), " collectives recorded");
    screen_add_figure(builder, "", find_number(hang, "unfinished"), " unfinished");
    screen_add_figure(builder, "", find_number(hang, "ranks_without_dump"),
                      " ranks without a dump");
}

static const char *const sections[] = {"hang", "unfinished_operations", "rank_states", NULL};

const struct screen_kind hang_screen = {
    .recognizes = is_hang,
    .fill = fill_hang,
    .warnings_are_findings = true,
    .sections = sections,
};
