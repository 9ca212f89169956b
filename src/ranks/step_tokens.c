/* How many tokens a rank's steps looked up. */
#include "ranks/step_tokens.h"

#include "base/core/invariant.h"
#include "ledger/step_finder.h"
#include "ranks/rank_digest.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Tables that are told apart; what is looked up in further ones is left out. */
enum { TABLES_MAX = 8 };

/* Indices by step and table. */
struct look_ups {
    uint64_t tables[TABLES_MAX];
    uint32_t table_count;
    int64_t *sums; /* [step][TABLES_MAX] */
};

/* Behind "[8, 1024]" at `text`; its product, -1 where it is no such list. */
static const char *read_shape(const char *text, int64_t *product, uint64_t *key)
{
    *product = *text == '[' ? 1 : -1;
    *key = 14695981039346656037U; /* FNV-1a of its numbers */
    for (text += *text == '['; *product >= 0 && *text && *text != ']';) {
        int64_t number = 0;

        while (*text == ' ' || *text == ',')
            text++;
        if (!isdigit((unsigned char)*text)) {
            *product = -1;
            break;
        }
        for (; isdigit((unsigned char)*text); text++)
            number = number < STEP_TOKENS_MAX ? number * 10 + (*text - '0') : number;
        *key = (*key ^ (uint64_t)number) * 1099511628211U;
        if (__builtin_mul_overflow(*product, number, product) || *product > STEP_TOKENS_MAX)
            *product = -1;
    }
    if (*text != ']')
        *product = -1;
    return text + (*text == ']');
}

int64_t embedded_indices(const char *shapes, uint64_t *table)
{
    int64_t weights, indices;
    uint64_t key;

    if (*shapes != '[')
        return -1;
    shapes = read_shape(shapes + 1, &weights, table);
    while (*shapes == ' ' || *shapes == ',')
        shapes++;
    if (weights < 0)
        return -1;
    (void)read_shape(shapes, &indices, &key);
    return indices;
}

static void add_look_up(struct look_ups *look_ups, uint32_t step, uint64_t table, int64_t indices)
{
    int64_t *sum;
    uint32_t place = 0;

    while (place < look_ups->table_count && look_ups->tables[place] != table)
        place++;
    if (place == TABLES_MAX)
        return;
    if (place == look_ups->table_count)
        look_ups->tables[look_ups->table_count++] = table;
    sum = &look_ups->sums[(size_t)step * TABLES_MAX + place];
    if (*sum < STEP_TOKENS_MAX)
        *sum += indices;
}

static void find_look_ups(struct look_ups *look_ups, const struct trace *trace,
                          const struct ledger *ledger)
{
    struct step_finder finder = {.ledger = ledger};

    for (uint32_t i = 0; i < trace->host_count; i++) {
        const struct event *event = &trace->host[i];
        uint64_t table;
        int64_t indices;
        uint32_t step;

        if (event->kind != EVENT_OPERATOR || !event->detail ||
            strcmp(trace_text(trace, event->name), "aten::embedding") != 0)
            continue;
        step = step_finder_of_host(&finder, event->start_ns);
        indices =
            embedded_indices(trace_text(trace, trace->details[event->detail].input_shapes), &table);
        if (step != NO_STEP && indices > 0)
            add_look_up(look_ups, step, table, indices);
    }
}

static int64_t described_tokens(const struct model_description *description,
                                const struct ledger *ledger, uint32_t step)
{
    const struct described_step *described =
        describe_ledger_step(description, ledger, &ledger->steps[step]);

    return described && described->tokens > 0 && described->tokens < STEP_TOKENS_MAX
               ? described->tokens
               : -1;
}

void count_step_tokens(int64_t *tokens, const struct trace *trace, const struct ledger *ledger,
                       const struct model_description *description)
{
    struct look_ups look_ups = {0};

    if (ledger->step_count == 0)
        return;
    look_ups.sums =
        require_memory(calloc((size_t)ledger->step_count * TABLES_MAX, sizeof *look_ups.sums));
    find_look_ups(&look_ups, trace, ledger);
    for (uint32_t i = 0; i < ledger->step_count; i++) {
        int64_t most = 0;

        for (uint32_t table = 0; table < look_ups.table_count; table++)
            if (look_ups.sums[(size_t)i * TABLES_MAX + table] > most)
                most = look_ups.sums[(size_t)i * TABLES_MAX + table];
        tokens[i] = described_tokens(description, ledger, i);
        if (tokens[i] < 0 && most > 0)
            tokens[i] = most;
    }
    free(look_ups.sums);
}
