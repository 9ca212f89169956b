/* Groups calls by their places: a list of few, searched from the front. */
#include "sections/advice/costly_calls.h"

#include "sections/advice/claim.h"

#include <stdlib.h>
#include <string.h>

enum { SITES_SHOWN = 2 };

static bool is_same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool is_same_site(const struct advice_case *advice, const struct call_site *a,
                         const struct call_site *b)
{
    const struct event *host = advice->trace->host;

    return is_same_text(a->operation, b->operation) && is_same_text(a->frame, b->frame) &&
           is_same_text(a->module, b->module) &&
           (a->operation || host[a->event].name == host[b->event].name);
}

static void add_site(struct costly_calls *calls, const struct advice_case *advice,
                     const struct call_site *site, int64_t idle_ns)
{
    uint32_t at = 0;

    while (at < calls->site_count && !is_same_site(advice, &calls->sites[at].site, site))
        at++;
    if (at == CALL_SITES_MAX)
        return;
    if (at == calls->site_count)
        calls->sites[calls->site_count++] = (struct site_sum){.site = *site};
    calls->sites[at].count++;
    calls->sites[at].idle_ns += idle_ns;
}

static int compare_sites(const void *left, const void *right)
{
    const struct site_sum *a = left, *b = right;

    if (a->idle_ns != b->idle_ns)
        return a->idle_ns > b->idle_ns ? -1 : 1;
    return (a->site.event > b->site.event) - (a->site.event < b->site.event);
}

void sum_costly_calls(struct costly_calls *calls, const struct advice_case *advice,
                      const struct host_call_list *list, const int64_t *idle_ns)
{
    *calls = (struct costly_calls){.count = 0};
    for (uint32_t i = 0; i < list->count; i++) {
        struct call_site site;

        if (idle_ns[i] <= 0)
            continue;
        site = find_call_site(advice, list->events[i]);
        add_site(calls, advice, &site, idle_ns[i]);
        calls->count++;
    }
    qsort(calls->sites, calls->site_count, sizeof *calls->sites, compare_sites);
}

const char *costly_calls_text(const struct costly_calls *calls, const struct advice_case *advice)
{
    const char *text = results_format(advice->results, "calls that leave the device idle, %s%s:",
                                      per_step_count(advice, calls->count), a_step(advice));

    for (uint32_t i = 0; i < calls->site_count && i < SITES_SHOWN; i++) {
        const struct site_sum *sum = &calls->sites[i];

        text =
            results_format(advice->results, "%s%s %s %s", text, i ? ";" : "",
                           call_site_text(advice, &sum->site), per_step_time(advice, sum->idle_ns));
    }
    if (calls->site_count > SITES_SHOWN)
        text = results_format(advice->results, "%s; %u more place%s", text,
                              calls->site_count - SITES_SHOWN,
                              calls->site_count - SITES_SHOWN == 1 ? "" : "s");
    return text;
}
