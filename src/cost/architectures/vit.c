/* ViT: an encoder over the patches of an image. */
#include "cost/architectures/encoder_layers.h"

#include <string.h>

/* The class decides which head there is; without one it is the plain model, with its pooler. */
static void read_head(struct architecture *architecture, struct config_keys *config)
{
    const char *class_name = config_class(config);
    int64_t hidden = architecture->hidden_size;

    if (class_name && strcmp(class_name, "ViTForImageClassification") == 0) {
        int64_t labels = config_labels(config);

        architecture->head_matrix = labels * hidden;
        architecture->head_other = labels;
        return;
    }
    if (class_name && strcmp(class_name, "ViTModel") != 0)
        config_fail(config,
                    "'architectures' has '%.60s': ViTModel and ViTForImageClassification are "
                    "counted",
                    class_name);
    if (!class_name)
        architecture->note = "counted as ViTModel: the file does not say its class";
    architecture->head_matrix = hidden * hidden;
    architecture->head_other = hidden;
}

static void read_vit(struct architecture *architecture, struct config_keys *config)
{
    int64_t image = config_size(config, "image_size", 1 << 14);
    int64_t patch = config_size(config, "patch_size", 1 << 12);
    int64_t channels = config_size_or(config, "num_channels", 3, 1 << 12);
    int64_t patches = (image / patch) * (image / patch);

    if (patches == 0)
        config_fail(config, "'patch_size' is %lld, more than 'image_size', %lld", (long long)patch,
                    (long long)image);
    read_encoder_layers(architecture, config, config_flag_or(config, "qkv_bias", true));
    architecture->fixed_sequence = patches + 1;
    architecture->position_embedding = (patches + 1) * architecture->hidden_size;
    architecture->other_embedding = 2 * architecture->hidden_size; /* the class, and a bias */
    architecture->patch_matrix = channels * patch * patch * architecture->hidden_size;
    architecture->final_norm = 2 * architecture->hidden_size;
    read_head(architecture, config);
}

static const char *const vit_types[] = {"vit", NULL};

const struct model_family vit_family = {.model_types = vit_types, .read = read_vit};
