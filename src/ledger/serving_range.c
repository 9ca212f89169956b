/* Reads the names that vLLM and SGLang give to the ranges around their steps. */
#include "ledger/serving_range.h"

#include "base/text/prefix.h"

#include <string.h>

/* Sums of squares of a million tokens are far below it. */
static const int64_t sum_max = INT64_MAX / 16;

/* Takes `word` from the front of the text. */
static bool skip_word(const char **at, const char *word)
{
    if (!has_prefix(*at, word))
        return false;
    *at += strlen(word);
    return true;
}

/* No strtoll: a name may hold any number of digits, and what is beyond all sums is no count. */
static bool read_count(const char **at, int64_t *count)
{
    const char *first = *at;

    for (*count = 0; **at >= '0' && **at <= '9'; ++*at) {
        *count = *count * 10 + (**at - '0');
        if (*count > sum_max)
            return false;
    }
    return *at > first;
}

static bool read_named(const char **at, const char *word, int64_t *count)
{
    return skip_word(at, word) && read_count(at, count);
}

/* No request sees fewer tokens than it brings, so no sum is smaller either. */
static bool are_possible(const struct request_sums *sums)
{
    return sums->keys >= sums->queries && sums->pairs >= sums->queries_squared &&
           sums->queries_squared >= sums->queries && sums->queries >= sums->requests &&
           (sums->requests > 0 || sums->pairs == 0);
}

/* "1(sq5sk5sqsq25sqsk25)" */
static bool read_sums(const char **at, struct request_sums *sums)
{
    return read_count(at, &sums->requests) && read_named(at, "(sq", &sums->queries) &&
           read_named(at, "sk", &sums->keys) && read_named(at, "sqsq", &sums->queries_squared) &&
           read_named(at, "sqsk", &sums->pairs) && skip_word(at, ")") && are_possible(sums);
}

static enum serving_phase phase_of_requests(int64_t prefilled, int64_t decoded)
{
    if (prefilled > 0 && decoded > 0)
        return SERVING_MIXED;
    return prefilled > 0 ? SERVING_PREFILL : SERVING_DECODE;
}

/* "execute_" has been read. "execute_40_context_1(sq5sk5sqsq25sqsk25)_generation_32(...)": sums
 * over requests of new tokens (q), visible tokens (k), q squared and q*k, which is all that
 * attention's FLOPs need. Every number is checked against the others, because a name that merely
 * looks like it must give no FLOPs. */
static bool read_vllm_sums(struct serving_range *range, const char *at)
{
    struct request_sums *context = &range->context;
    struct request_sums *generation = &range->generation;
    int64_t padded;

    /* the first number counts padding, too */
    if (!read_count(&at, &padded) || !skip_word(&at, "_context_") || !read_sums(&at, context) ||
        !skip_word(&at, "_generation_") || !read_sums(&at, generation) || *at != '\0')
        return false;
    range->requests = context->requests + generation->requests;
    range->tokens = context->queries + generation->queries;
    range->phase = phase_of_requests(context->requests, generation->requests);
    range->has_sums = true;
    return range->requests > 0 && range->tokens <= padded;
}

/* "execute_context_1(5)_generation_32(32)": requests and their new tokens. */
static bool read_vllm_counts(struct serving_range *range, const char *at)
{
    int64_t counts[4];

    if (!read_named(&at, "context_", &counts[0]) || !read_named(&at, "(", &counts[1]) ||
        !read_named(&at, ")_generation_", &counts[2]) || !read_named(&at, "(", &counts[3]) ||
        strcmp(at, ")") != 0)
        return false;
    range->requests = counts[0] + counts[2];
    range->tokens = counts[1] + counts[3];
    range->phase = phase_of_requests(counts[0], counts[2]);
    return range->requests > 0;
}

/* SGLang's forward modes; others (verifying drafts, idling) are no phase. */
static bool read_sglang(struct serving_range *range, const char *at)
{
    bool is_decode = skip_word(&at, "DECODE bs=");

    if (!is_decode && !skip_word(&at, "EXTEND bs=")) {
        if (!skip_word(&at, "MIXED bs="))
            return false;
        range->phase = SERVING_MIXED;
    } else {
        range->phase = is_decode ? SERVING_DECODE : SERVING_PREFILL;
    }
    if (!read_count(&at, &range->requests) || range->requests == 0)
        return false;
    if (!read_named(&at, " toks=", &range->tokens))
        range->tokens = is_decode ? range->requests : -1;
    return strcmp(at, "]") == 0;
}

/* SGLang's ranges begin with "step[", vLLM's with "execute_", behind which its versions say
 * counts or sums. */
bool serving_range_parse(struct serving_range *range, const char *name)
{
    *range = (struct serving_range){.requests = -1, .tokens = -1};
    if (skip_word(&name, "step["))
        return read_sglang(range, name);
    if (!skip_word(&name, "execute_"))
        return false;
    return *name == 'c' ? read_vllm_counts(range, name) : read_vllm_sums(range, name);
}

/* Of a request with q new and k visible tokens (k >= q) token i sees k - q + i: the sum over i
 * = 1..q is q*k - q*(q-1)/2. Summed over requests that is pairs - (q squared - q) / 2, as
 * here. Exact, since q squared - q is even. */
int64_t causal_pairs(const struct request_sums *sums)
{
    return sums->pairs - (sums->queries_squared - sums->queries) / 2;
}

const char *serving_phase_name(enum serving_phase phase)
{
    static const char *const names[SERVING_PHASE_COUNT] = {
        [SERVING_PREFILL] = "prefill", [SERVING_DECODE] = "decode", [SERVING_MIXED] = "mixed"};

    return names[phase];
}
