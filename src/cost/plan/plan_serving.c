/* A planned step of an inference server, and how many requests it may have for a latency. */
#include "base/core/search.h"
#include "cost/architectures/serving_cost.h"
#include "cost/plan/plan_operators.h"

#include <math.h>
#include <string.h>

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

/* Servers have kernels of their own that read the others' memory over NVLink: one launch, no ring.
 * On 2, 4 and 8 H100 such a kernel takes 3.7, 4.8 and 5.9 us of 512 bytes, 4.5, 4.8 and 7.8 of 32
 * KB, 7.9, 13.9 and 16.7 of 256 KB, 19.9, 31.1 and 33.8 of 1 MB (sglang, pull request 2904; of
 * vLLM's, without a graph, 9 to 10 us of 512 bytes there). Written by NCCL's latency, so that other
 * generations are as much slower, and by the links' bandwidth. More than eight were not measured.
 */
static const double ONE_SHOT_LATENCY = 0.28;
static const double ONE_SHOT_LATENCY_OF_DEVICE = 0.03;
static const double ONE_SHOT_LINK_SHARE = 0.15;
enum { ONE_SHOT_DEVICES = 8 };

static bool has_one_shot(const struct plan_context *context)
{
    const char *architecture = context->rates->architecture;
    int64_t devices = context->layout->tensor;

    return !context->setting->reduces_by_nccl && devices <= ONE_SHOT_DEVICES &&
           devices <= context->setting->node && context->link_rate > 0.0 &&
           !(architecture && strcmp(architecture, "TPU") == 0);
}

/* Each reads all of the others, or a part of each and then the sums of the others. */
double plan_one_shot_seconds(const struct plan_context *context, double bytes)
{
    double others = (double)context->layout->tensor - 1.0;
    double read = bytes * others * fmin(1.0, 2.0 / (others + 1.0));

    return context->rates->latency * (ONE_SHOT_LATENCY + ONE_SHOT_LATENCY_OF_DEVICE * others) +
           read / (context->setting->device->link_bytes_per_second * ONE_SHOT_LINK_SHARE);
}

/* Both all-reduces of a layer; of large messages NCCL is faster, and taken. */
static double serving_reduce_seconds(const struct plan_context *context, double bytes)
{
    struct plan_group group = {context->layout->tensor, 1};
    double latency = plan_collective_seconds(context, PLAN_ALL_REDUCE, 0.0, group);
    double ring = plan_collective_seconds(context, PLAN_ALL_REDUCE, bytes, group) -
                  (1.0 - SMALL_LATENCY_SHARE) * latency;

    if (context->layout->tensor > 1 && has_one_shot(context))
        return 2.0 * fmin(plan_one_shot_seconds(context, bytes), ring);
    return 2.0 * ring;
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
