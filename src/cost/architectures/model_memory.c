/* Memory of a model's weights, gradients and optimizer on one device. */
#include "cost/architectures/model_memory.h"

/* Parameters by how they are split. */
struct stage_parameters {
    int64_t matrices; /* by tensor parallelism */
    int64_t experts;  /* by expert and tensor parallelism */
    int64_t others;   /* norms, biases, routers: on every device */
};

/* Rounded up: the largest share of a device is what must fit. */
static int64_t divided(int64_t number, int64_t by)
{
    return number / by + (number % by != 0 ? 1 : 0);
}

/* What frameworks refuse, too: heads by tensor ranks, experts by expert ranks, and expert
 * ranks out of the data ranks. */
bool model_layout_check(const struct architecture *architecture, const struct model_layout *layout,
                        struct error *error)
{
    int64_t experts = 0;

    for (int i = 0; i < architecture->kind_count; i++)
        if (architecture->kinds[i].experts > experts)
            experts = architecture->kinds[i].experts;
    if (layout->pipeline > architecture->layers)
        return error_set(error, ERROR_USAGE, "--pp is %lld, but the model has only %lld layers",
                         (long long)layout->pipeline, (long long)architecture->layers);
    if (architecture->heads > 0 && architecture->heads % layout->tensor != 0)
        return error_set(error, ERROR_USAGE, "--tp is %lld, which does not divide the %lld heads",
                         (long long)layout->tensor, (long long)architecture->heads);
    if (layout->expert > 1 && experts == 0)
        return error_set(error, ERROR_USAGE, "--ep is %lld, but the model has no experts",
                         (long long)layout->expert);
    if (experts > 0 && experts % layout->expert != 0)
        return error_set(error, ERROR_USAGE, "--ep is %lld, which does not divide the %lld experts",
                         (long long)layout->expert, (long long)experts);
    if (layout->data % layout->expert != 0)
        return error_set(
            error, ERROR_USAGE,
            "--ep is %lld, which does not divide the %lld devices of --dp: experts are "
            "shared among those",
            (long long)layout->expert, (long long)layout->data);
    return true;
}

static int64_t layer_parameters(const struct layer_kind *kind)
{
    return kind->mixer_matrix + kind->mixer_other + kind->convolution_weights + kind->feed_matrix +
           kind->feed_other + kind->shared_matrix + kind->router_matrix + kind->router_other +
           kind->norms + kind->experts * (kind->expert_matrix + kind->expert_other);
}

static void model_memory_add_layers(struct stage_parameters *stage, const struct layer_kind *kind,
                                    int64_t count)
{
    stage->matrices += count * (kind->mixer_matrix + kind->feed_matrix + kind->shared_matrix);
    stage->experts += count * kind->experts * (kind->expert_matrix + kind->expert_other);
    stage->others += count * (kind->mixer_other + kind->convolution_weights + kind->feed_other +
                              kind->router_matrix + kind->router_other + kind->norms);
}

/* The heaviest layers first, as many as a stage has at most. */
static void add_heaviest(struct stage_parameters *stage, const struct architecture *architecture,
                         int64_t layers)
{
    bool is_taken[LAYER_KINDS_MAX] = {false};

    while (layers > 0) {
        int heaviest = -1;
        int64_t count;

        for (int i = 0; i < architecture->kind_count; i++)
            if (!is_taken[i] &&
                (heaviest < 0 || layer_parameters(&architecture->kinds[i]) >
                                     layer_parameters(&architecture->kinds[heaviest])))
                heaviest = i;
        if (heaviest < 0)
            return;
        is_taken[heaviest] = true;
        count = architecture->kinds[heaviest].count;
        count = count < layers ? count : layers;
        model_memory_add_layers(stage, &architecture->kinds[heaviest], count);
        layers -= count;
    }
}

/* Embedding and logits; of several stages the first has one, the last the other. */
static void model_memory_add_ends(struct stage_parameters *stage,
                                  const struct architecture *architecture, bool is_one_stage)
{
    int64_t first = architecture->token_embedding + architecture->position_embedding +
                    architecture->patch_matrix;
    int64_t last =
        architecture->output_matrix + architecture->transform_matrix + architecture->head_matrix;
    int64_t last_others =
        architecture->final_norm + architecture->output_other + architecture->head_other;

    if (is_one_stage) {
        stage->matrices += first + last - (architecture->is_tied ? architecture->output_matrix : 0);
        stage->others += architecture->other_embedding + last_others;
    } else if (first + architecture->other_embedding > last + last_others) {
        stage->matrices += first;
        stage->others += architecture->other_embedding;
    } else {
        stage->matrices += last;
        stage->others += last_others;
    }
}

/* Of the heaviest stage. ZeRO shards over data ranks what its stage says: 1 the optimizer, 2
 * gradients too, 3 weights too (Rajbhandari et al. 2020); experts are replicated over data /
 * expert ranks only. */
struct model_memory model_memory(const struct architecture *architecture,
                                 const struct model_layout *layout, struct parameter_bytes bytes)
{
    struct stage_parameters stage = {0};
    struct model_memory memory;
    int64_t dense;
    int64_t experts;
    int64_t shard;

    add_heaviest(&stage, architecture, divided(architecture->layers, layout->pipeline));
    model_memory_add_ends(&stage, architecture, layout->pipeline == 1);
    dense = divided(stage.matrices, layout->tensor) + stage.others;
    experts = divided(stage.experts, layout->tensor * layout->expert);
    shard = divided(dense, layout->data) + divided(experts, layout->data / layout->expert);
    memory.parameters = dense + experts;
    memory.weights_bytes = bytes.weight * (layout->zero >= 3 ? shard : memory.parameters);
    memory.gradients_bytes = bytes.gradient * (layout->zero >= 2 ? shard : memory.parameters);
    memory.optimizer_bytes = bytes.optimizer * (layout->zero >= 1 ? shard : memory.parameters);
    return memory;
}
