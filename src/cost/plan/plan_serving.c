/* A planned step of an inference server, and how many requests it may have for a latency. */
#include "base/core/search.h"
#include "cost/architectures/serving_cost.h"
#include "cost/plan/plan_operators.h"

#include <math.h>

/* Kernels of a layer, launched as one graph: each takes the time between two kernels. */
static const double SERVING_KERNELS = 10.0;
/* Logits, sampling and the host between two steps. */
static const double SERVING_STEP_SECONDS = 0.5e-3;
/* Share of the memory that a server gives to weights and cache: vLLM's default. */
static const double SERVING_MEMORY_SHARE = 0.9;
enum { REQUESTS_MAX = 1 << 20 };
/* Of a collective's latency, what messages of some KB take: 45 us of 1 KB on eight A100, of Azure's
 * guide, by the 76 us that training's messages take there. */
static const double SMALL_LATENCY_SHARE = 0.6;

/* Both all-reduces of a layer. */
static double serving_reduce_seconds(const struct plan_context *context, double bytes)
{
    struct plan_group group = {context->layout->tensor, 1};
    double latency = plan_collective_seconds(context, PLAN_ALL_REDUCE, 0.0, group);

    return 2.0 * (plan_collective_seconds(context, PLAN_ALL_REDUCE, bytes, group) -
                  (1.0 - SMALL_LATENCY_SHARE) * latency);
}

/* Roofline with reached rates: computing and reading overlap in one kernel. */
static double serving_part_seconds(const struct plan_context *context,
                                   const struct serving_part *part)
{
    const struct plan_setting *setting = context->setting;
    enum peak_type format = format_with_peak(part->format, setting->device->peaks);
    double reached =
        format == PEAK_BF16 || format == PEAK_FP16 ? context->matrix : context->matrix_8;
    double computing =
        format == PEAK_TYPE_COUNT ? 0.0 : part->flops / (setting->device->peaks[format] * reached);

    return fmax(computing, (part->weight_bytes + part->cache_bytes) / context->memory_rate);
}

/* Part by part as the model runs them, plus what a step takes whatever it does. Cache and
 * weights must fit together. */
struct plan_serving plan_serving_step(const struct plan_setting *setting, int64_t tensor,
                                      struct plan_requests requests)
{
    struct plan_layout layout = {tensor, 1, 1, 1, 1, 1, 1, 0, RECOMPUTE_NONE};
    struct plan_context context = plan_context_of(setting, &layout);
    const struct architecture *model = setting->model;
    struct serving_batch batch =
        serving_batch_even(requests.count, requests.queries, requests.keys, requests.is_decode);
    struct serving_cost cost = serving_cost(model, &batch, 1, tensor);
    double tokens = (double)(requests.count * requests.queries);
    double bytes = 2.0 * tokens * (double)model->hidden_size;
    double layers = (double)model->layers;
    struct plan_serving serving = {
        .memory = cost.held_weight_bytes + cost.held_cache_bytes,
        .seconds = SERVING_STEP_SECONDS + layers * SERVING_KERNELS * KERNEL_SECONDS +
                   layers * serving_reduce_seconds(&context, bytes),
    };

    for (int i = 0; i < PART_COUNT; i++)
        serving.seconds += serving_part_seconds(&context, &cost.parts[i]);
    serving.tokens_per_second = tokens / serving.seconds;
    serving.fits = setting->device->memory_bytes == 0 ||
                   serving.memory <= SERVING_MEMORY_SHARE * (double)setting->device->memory_bytes;
    return serving;
}

static bool serving_has_room(const struct plan_setting *setting, int64_t tensor,
                             struct plan_requests requests, double latency)
{
    struct plan_serving step = plan_serving_step(setting, tensor, requests);

    return step.fits && (latency <= 0.0 || step.seconds <= latency);
}

/* Both the time of a decode and its memory grow with the requests. */
int64_t plan_best_requests(const struct plan_setting *setting, int64_t tensor, int64_t keys,
                           double latency)
{
    int64_t first = 1;
    int64_t end = REQUESTS_MAX;

    return LOWER_BOUND(requests, first, end,
                       serving_has_room(setting, tensor,
                                        (struct plan_requests){requests, 1, keys, true}, latency)) -
           1;
}
