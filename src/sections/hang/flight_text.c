/* Words for what flight recorders' dumps hold. */
#include "sections/hang/flight_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { RANGES_MAX = 8 }; /* of ranks in a sentence */

static size_t range_end(const uint32_t *ranks, size_t count, size_t begin)
{
    size_t end = begin + 1;

    while (end < count && ranks[end] == ranks[end - 1] + 1)
        end++;
    return end;
}

/* Ranks are sorted, so runs of them are one range each. */
const char *flight_rank_list(struct results *results, const uint32_t *ranks, size_t count)
{
    const char *list = "";
    size_t at = 0;

    for (int range = 0; range < RANGES_MAX && at < count; range++) {
        size_t end = range_end(ranks, count, at);
        const char *before = range ? ", " : "";

        if (end == at + 1)
            list = results_format(results, "%s%s%u", list, before, ranks[at]);
        else
            list = results_format(results, "%s%s%u-%u", list, before, ranks[at], ranks[end - 1]);
        at = end;
    }
    return at == count ? list : results_format(results, "%s and %zu more", list, count - at);
}

const char *flight_ranks_text(struct results *results, const uint32_t *ranks, size_t count)
{
    return results_format(results, "rank%s %s", count == 1 ? "" : "s",
                          flight_rank_list(results, ranks, count));
}

/* A description says what a group is for ("tensor parallel"); PyTorch's own default for it
 * says nothing, and a number is then the better name. */
const char *flight_group_name(const struct flight_dumps *dumps, uint32_t group)
{
    const struct flight_group *found = &dumps->groups[group];
    const char *description = flight_text(dumps, found->description);
    const char *name = flight_text(dumps, found->name);

    if (strcmp(description, "default_pg") == 0)
        return "default";
    return *description && strcmp(description, "undefined") != 0 ? description : name;
}

const char *flight_group_text(struct results *results, const struct flight_dumps *dumps,
                              uint32_t group)
{
    const struct flight_group *found = &dumps->groups[group];
    const char *name = flight_group_name(dumps, group);

    if (strcmp(name, "default") == 0)
        return "the default group";
    return results_format(results, "group %s (%s)", name,
                          flight_ranks_text(results, found->ranks, found->rank_count));
}

/* Sends have no number of their own: who sends to whom names them. Ranks within a group are
 * turned into those of the job. */
const char *flight_operation_text(struct results *results, const struct flight_dumps *dumps,
                                  const struct flight_entry *entry)
{
    const struct flight_group *group = &dumps->groups[entry->group];
    const char *name = flight_text(dumps, entry->name);

    if (entry->source < 0)
        return results_format(results, "%s #%u", name, entry->sequence);
    if ((size_t)entry->source >= group->rank_count || (size_t)entry->target >= group->rank_count)
        return results_format(results, "%s %d -> %d of the group", name, entry->source,
                              entry->target);
    return results_format(results, "%s %u -> %u", name, group->ranks[entry->source],
                          group->ranks[entry->target]);
}

/* ---- the code ---- */

static bool is_of_pytorch(const char *frame, size_t length)
{
    return memmem(frame, length, "/torch/", 7) != NULL ||
           memmem(frame, length, "<frozen", 7) != NULL;
}

/* The frame with no more than so many folders before the file. */
static const char *with_folders(const char *frame, size_t length, int folders)
{
    const char *begin = frame + strcspn(frame, " \n");

    if (begin > frame + length)
        begin = frame + length;
    while (begin > frame && (begin[-1] != '/' || folders-- > 0))
        begin--;
    return begin;
}

/* The innermost frame outside of PyTorch is where the program called; where there is none, the
 * innermost. */
const char *flight_place_text(struct results *results, const struct flight_dumps *dumps,
                              const struct flight_entry *entry, int folders)
{
    const char *frames = flight_text(dumps, entry->frames);
    const char *chosen = frames;
    size_t length;

    if (!*frames)
        return NULL;
    for (const char *at = frames; *at;) {
        length = strcspn(at, "\n");
        if (!is_of_pytorch(at, length)) {
            chosen = at;
            break;
        }
        at += length + (at[length] == '\n');
    }
    length = strcspn(chosen, "\n");
    frames = with_folders(chosen, length, folders);
    return results_format(results, "%.*s", (int)(chosen + length - frames), frames);
}

static bool utc_parts(int64_t unix_ns, struct tm *parts)
{
    time_t seconds = (time_t)(unix_ns / 1000000000);

    return unix_ns > 0 && gmtime_r(&seconds, parts);
}

const char *flight_clock_text(struct results *results, int64_t unix_ns)
{
    struct tm parts;

    if (!utc_parts(unix_ns, &parts))
        return NULL;
    return results_format(results, "%02d:%02d:%02d.%03d", parts.tm_hour, parts.tm_min, parts.tm_sec,
                          (int)(unix_ns / 1000000 % 1000));
}

const char *flight_time_text(struct results *results, int64_t unix_ns)
{
    struct tm parts;

    if (!utc_parts(unix_ns, &parts))
        return NULL;
    return results_format(results, "%d-%02d-%02d %s UTC", parts.tm_year + 1900, parts.tm_mon + 1,
                          parts.tm_mday, flight_clock_text(results, unix_ns));
}
