/* What a plan comes to, in a sentence: the first line of the text and the title of the page. */
#include "sections/model/plan_headlines.h"

#include "base/text/format.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

static struct short_text plan_headline_time(double seconds)
{
    return format_short_time(llround(seconds * 1e9));
}

/* Only sizes that are not 1: "TP 4, DP 16, micro-batch 2, ZeRO 1". */
static const char *plan_headline_layout(struct results *results, const struct plan_setting *setting,
                                        const struct plan_layout *layout)
{
    const char *const recomputed[] = {
        "", setting->recomputed ? ", parts recomputed" : ", attention recomputed",
        setting->recomputed_share > 0.0 ? ", layers recomputed" : ", all recomputed"};
    const struct {
        const char *name;
        int64_t size;
    } sizes[] = {{"TP", layout->tensor},        {"PP", layout->pipeline}, {"VP", layout->chunks},
                 {"CP", layout->context},       {"EP", layout->expert},   {"DP", layout->data},
                 {"micro-batch", layout->micro}};
    const char *text = "";

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (sizes[i].size > 1)
            text = results_format(results, "%s%s%s %lld", text, *text ? ", " : "", sizes[i].name,
                                  (long long)sizes[i].size);
    if (layout->zero > 0)
        text = results_format(results, "%s%sZeRO %d", text, *text ? ", " : "", layout->zero);
    return results_format(results, "%s%s", *text ? text : "nothing split",
                          recomputed[layout->recompute]);
}

static const char *plan_headline_memory(struct results *results, const struct plan_setting *setting,
                                        const struct plan_memory *memory)
{
    int64_t has = setting->device->memory_bytes;
    struct short_text needed = format_bytes(llround(memory->total));

    if (has <= 0)
        return results_format(results, "the fullest device needs %s", needed.text);
    return results_format(
        results, "%s of %s of the fullest device%s", needed.text, format_bytes(has).text,
        memory->total > (double)has          ? ", which fits only with less than the usual copies"
        : plan_is_tight(memory, (double)has) ? ", which is tight"
                                             : "");
}

/* "exposed communication (gradients)": the title of a row reads badly in a sentence. */
static const char *plan_headline_limit(struct results *results, enum plan_account limit)
{
    static const char exposed[] = "exposed: ";
    const char *title = plan_account_title(limit);

    return strncmp(title, exposed, strlen(exposed)) == 0
               ? results_format(results, "exposed communication (%s)", title + strlen(exposed))
               : title;
}

/* Of a search where nothing fits, `layout` lacks the least. */
static const char *plan_headline_too_large(struct results *results,
                                           const struct plan_setting *setting,
                                           const struct plan_outcome *outcome,
                                           const struct plan_layout *layout, bool is_searched)
{
    double least = outcome->memory.least;
    double has = (double)setting->device->memory_bytes;
    const char *of_whom =
        is_searched ? results_format(results, "No layout fits; with %s, which lacks the least,",
                                     plan_headline_layout(results, setting, layout))
                    : "It does not fit:";

    return results_format(results, "%s the fullest device needs %s%s and has %s.", of_whom,
                          least > has ? "at least " : "",
                          format_bytes(llround(least > has ? least : outcome->memory.total)).text,
                          format_bytes(llround(has)).text);
}

/* A layout without the memory is not worth a time: what lacks is all that is said. */
const char *plan_headline(struct results *results, const struct plan_setting *setting,
                          const struct plan_outcome *outcome, const struct plan_layout *layout,
                          const struct plan_search *search)
{
    double has = (double)setting->device->memory_bytes;
    enum plan_account limit = plan_limit(outcome);
    bool has_none = search && search->fitting == 0;
    const char *with = search ? results_format(results, " with %s, the fastest that fits",
                                               plan_headline_layout(results, setting, layout))
                              : "";

    if (has_none || (has > 0.0 && outcome->memory.least > has))
        return plan_headline_too_large(results, setting, outcome, layout, has_none);
    return results_format(
        results, "A step takes %s (%s to %s) on %lld x %s%s: MFU %s, most is lost to %s, %s; %s.",
        plan_headline_time(outcome->step).text, plan_headline_time(outcome->low).text,
        plan_headline_time(outcome->high).text, (long long)outcome->devices, setting->device->name,
        with,
        format_fraction(outcome->useful_flops / (outcome->peak * outcome->devices * outcome->step))
            .text,
        plan_headline_limit(results, limit),
        format_fraction(outcome->accounts[limit] / outcome->step).text,
        plan_headline_memory(results, setting, &outcome->memory));
}

/* How many devices have the memory for one request, where these have not. */
static const char *plan_serving_room(struct results *results, const struct plan_setting *setting,
                                     const struct plan_server *server)
{
    enum { TENSOR_MAX = 64 };

    for (int64_t tensor = 2 * server->tensor; tensor <= TENSOR_MAX; tensor *= 2)
        if (plan_check_heads(setting->model, tensor, NULL) &&
            plan_best_requests(setting, tensor, server->context, 0.0) > 0)
            return results_format(results, "; --tp %lld has the memory", (long long)tensor);
    return "";
}

const char *plan_serving_headline(struct results *results, const struct plan_setting *setting,
                                  const struct plan_server *server,
                                  const struct plan_capacity *capacity)
{
    int64_t requests = capacity->requests;
    const char *tokens = results_text(results, format_count(server->context).text);
    const char *where =
        results_format(results, "%lld x %s", (long long)server->tensor, setting->device->name);

    if (requests == 0)
        return results_format(results,
                              "Not one request of %s tokens on %s: %s does not allow it%s.", tokens,
                              where, capacity->limited_by,
                              strcmp(capacity->limited_by, "memory") == 0
                                  ? plan_serving_room(results, setting, server)
                                  : "");
    return results_format(
        results, "%s request%s of %s tokens on %s, limited by %s: %s a token, %s tokens a second.",
        format_count(requests).text, requests == 1 ? "" : "s", tokens, where, capacity->limited_by,
        plan_headline_time(capacity->step.seconds).text,
        format_count(llround(capacity->step.tokens_per_second)).text);
}
