/* Several ranks beside a plan: whom the others wait for. */
#include "base/text/format.h"
#include "ledger/collective_call.h"
#include "ranks/rank_layout.h"
#include "sections/model/plan_sections.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMN_TITLE, COLUMN_KEY, COLUMN_PLANNED, COLUMN_MEASURED };

static const struct table *against_table(const struct rank_results *rank)
{
    return rank->section_count > 0 && rank->sections[0]->table_count > 0
               ? rank->sections[0]->tables[0]
               : NULL;
}

/* Measured, of the account; 0 where the rank has none. */
static double against_measured(const struct rank_results *rank, const char *key)
{
    const struct table *table = against_table(rank);

    for (size_t row = 0; table && row < table->row_count; row++) {
        const struct value *cells = table->cells + row * table->column_count;

        if (strcmp(cells[COLUMN_KEY].text, key) == 0)
            return (double)cells[COLUMN_MEASURED].integer;
    }
    return 0.0;
}

static double against_step(const struct rank_results *rank)
{
    const struct table *table = against_table(rank);
    double ns = 0.0;

    for (size_t row = 0; table && row < table->row_count; row++)
        ns += (double)table->cells[row * table->column_count + COLUMN_MEASURED].integer;
    return ns;
}

static const char exposed_key[] = "exposed_communication";

/* Where `rank` stands in "[0, 4, 8]", and how many there are; -1 where it is not among them. */
static int64_t place_in_ranks(const char *ranks, int64_t rank, int64_t *count)
{
    int64_t place = -1;
    char *end;

    *count = 0;
    for (const char *at = ranks; *at; at = end) {
        int64_t number = strtoll(at, &end, 10);

        if (end == at)
            end++;
        else if ((*count)++ >= 0 && number == rank)
            place = *count - 1;
    }
    return place;
}

/* Sends along a pipeline tell the stage by the ranks of their group; other rings send, too, so that
 * the plan must have as many stages, or the group the name of one. */
static int64_t stage_by_sends(const struct planned_step *plan, const struct trace *trace)
{
    for (uint32_t i = 1; i < trace->detail_count; i++) {
        const struct event_detail *detail = &trace->details[i];
        int64_t count;
        int64_t place;

        if (!detail->group_ranks || collective_kind_of_name(trace_text(
                                        trace, detail->collective_name)) != COLLECTIVE_SEND_RECEIVE)
            continue;
        place = place_in_ranks(trace_text(trace, detail->group_ranks), trace->facts.rank, &count);
        if (place >= 0 &&
            (plan->stages > 1 ? count == plan->stages
                              : strstr(trace_text(trace, detail->group_name), "pipeline") != NULL))
            return place;
    }
    return -1;
}

/* Names of folders come last: those of a run may have the sizes of its layout. */
int64_t planned_stage_of(const struct planned_step *plan, const struct trace *trace)
{
    int32_t coordinates[AXIS_COUNT];
    int64_t stage;

    if (plan->stages == 1)
        return -1;
    stage = stage_by_sends(plan, trace);
    /* As Megatron numbers its ranks: those of a stage follow each other. */
    if (stage < 0 && plan->ranks_of_stage > 0 && trace->facts.rank >= 0)
        stage = trace->facts.rank / plan->ranks_of_stage;
    if (stage >= 0 || plan->stages > 1)
        return plan->stages == 0 || stage < plan->stages ? stage : -1;
    coordinates_in_path(coordinates, trace_text(trace, trace->path));
    return coordinates[AXIS_PIPELINE];
}

/* -1: not known, as of all ranks together then. */
static int64_t stage_of_rank(const struct rank_results *rank)
{
    struct value stage = find_number(rank->sections[0], "stage");

    return stage.unit == UNIT_COUNT ? stage.integer : -1;
}

/* Mean time of account `key`, of all for NULL, but communication; of the ranks of `stage`, or of
 * all others. `but`: a rank that does not count. */
static double mean_work(const struct results *results, int64_t stage, bool is_others, size_t but,
                        const char *key)
{
    double ns = 0.0;
    size_t count = 0;

    for (size_t i = 0; i < results->rank_count; i++) {
        const struct rank_results *rank = &results->ranks[i];

        if (i == but || (stage_of_rank(rank) == stage) == is_others)
            continue;
        ns += key ? against_measured(rank, key)
                  : against_step(rank) - against_measured(rank, exposed_key);
        count++;
    }
    return count > 0 ? ns / (double)count : 0.0;
}

/* Of what is no communication, the row of which the ranks of `stage`, or one of them, have most
 * beside the mean of the others. */
static const struct value *most_excess(const struct results *results, size_t rank, bool is_stage,
                                       double *excess_ns)
{
    const struct table *table = against_table(&results->ranks[rank]);
    int64_t stage = stage_of_rank(&results->ranks[rank]);
    const struct value *most = NULL;

    *excess_ns = 0.0;
    for (size_t row = 0; row < table->row_count; row++) {
        const struct value *cells = table->cells + row * table->column_count;
        const char *key = cells[COLUMN_KEY].text;
        double excess = is_stage ? mean_work(results, stage, false, SIZE_MAX, key) -
                                       mean_work(results, stage, true, SIZE_MAX, key)
                                 : (double)cells[COLUMN_MEASURED].integer -
                                       mean_work(results, stage, false, rank, key);

        if (strcmp(key, exposed_key) != 0 && excess > *excess_ns) {
            *excess_ns = excess;
            most = cells;
        }
    }
    return most;
}

/* A smaller difference between ranks is no straggler. */
static const double STRAGGLING_SHARE = 0.02;

/* Ranks of one collective end it together, so that the last to come shows least of it, and the
 * others as much more as they wait. Of a pipeline only ranks of one stage have the same work. */
static double waits_in_stage(const struct results *results, int64_t stage, size_t *last)
{
    double least = INFINITY;

    for (size_t i = 0; i < results->rank_count; i++) {
        double exposed = against_measured(&results->ranks[i], exposed_key);

        if (stage_of_rank(&results->ranks[i]) == stage && exposed < least) {
            least = exposed;
            *last = i;
        }
    }
    return isfinite(least) ? mean_work(results, stage, false, *last, exposed_key) - least : 0.0;
}

/* Stages are as many as ranks at most; numbers beyond come from names of folders. */
static int64_t last_stage(const struct results *results)
{
    int64_t last = -1;

    for (size_t i = 0; i < results->rank_count; i++) {
        int64_t stage = stage_of_rank(&results->ranks[i]);

        if (stage > last && stage < (int64_t)results->rank_count)
            last = stage;
    }
    return last;
}

/* What it has more of than the others of its stage is no proof of why it is late, but where to look
 * first. */
static void tell_straggler(struct results *results, size_t last, double waits)
{
    int64_t stage = stage_of_rank(&results->ranks[last]);
    double excess_ns;
    const struct value *most = most_excess(results, last, false, &excess_ns);

    results->awaited_rank = results->ranks[last].label;
    results->detailed_rank = last;
    results->headline = results_format(
        results, "The others%s wait %s of each step for %s%s.",
        stage >= 0 ? results_format(results, " of stage %lld", (long long)stage) : "",
        results_text(results, format_short_time(llround(waits)).text), results->ranks[last].label,
        most ? results_format(results, ", which has %s more of '%s' than they",
                              format_short_time(llround(excess_ns)).text, most[COLUMN_TITLE].text)
             : "");
}

/* A stage with more work, as the last with its logits, is awaited by the others in each step. */
static void tell_longest_stage(struct results *results)
{
    int64_t longest = 0;
    size_t rank = 0;
    double more = 0.0;
    double excess_ns;
    const struct value *most;

    for (int64_t stage = 0; stage <= last_stage(results); stage++) {
        double beyond = mean_work(results, stage, false, SIZE_MAX, NULL) -
                        mean_work(results, stage, true, SIZE_MAX, NULL);

        if (beyond > more) {
            more = beyond;
            longest = stage;
        }
    }
    waits_in_stage(results, longest, &rank);
    most = most_excess(results, rank, true, &excess_ns);
    if (!most || more < STRAGGLING_SHARE * against_step(&results->ranks[rank]))
        return;
    results->detailed_rank = rank;
    results->headline = results_format(
        results,
        "Stage %lld of the pipeline works %s longer in a step than the mean of the others, with "
        "%s more of '%s': no rank is late, the layers are shared unevenly.",
        (long long)longest, results_text(results, format_short_time(llround(more)).text),
        format_short_time(llround(excess_ns)).text, most[COLUMN_TITLE].text);
}

/* A rank that is late in its stage goes before a stage with more work: of the first the cause lies
 * in one machine, of the second in the plan. -1 is the stage of ranks of which none is known. */
void find_plan_straggler(struct results *results)
{
    size_t last = 0;
    double most = 0.0;

    if (results->rank_count < 2)
        return;
    for (size_t i = 0; i < results->rank_count; i++)
        if (!against_table(&results->ranks[i]))
            return;
    for (int64_t stage = -1; stage <= last_stage(results); stage++) {
        size_t of_stage = 0;
        double waits = waits_in_stage(results, stage, &of_stage);

        if (waits > most) {
            most = waits;
            last = of_stage;
        }
    }
    if (most > STRAGGLING_SHARE * against_step(&results->ranks[last]))
        tell_straggler(results, last, most);
    else if (last_stage(results) > 0)
        tell_longest_stage(results);
}
