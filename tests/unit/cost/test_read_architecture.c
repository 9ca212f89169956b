/* Models from their config.json: parameters to the unit, and clear errors. */
#include "base/core/arena.h"
#include "cost/architectures/architecture_cost.h"
#include "cost/architectures/read_architecture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* Counted from the models that transformers 5.23.0 makes of the same files, on the meta device:
 * tests/oracle/check_models.py counts again where that library is at hand. */
static const struct {
    const char *model;
    int64_t parameters;
} counted[] = {
    {"llama-3-8b", 8030261248},
    {"llama-3-405b", 405853388800},
    {"llama-3.2-1b", 1235814400},
    {"mistral-7b", 7241732096},
    {"mixtral-8x7b", 46702792704},
    {"qwen2.5-7b", 7615616512},
    {"qwen3-8b", 8190735360},
    {"qwen2-57b-a14b", 57408658944},
    {"qwen3-30b-a3b", 30532122624},
    {"deepseek-v2-lite", 15706484224},
    {"deepseek-v3", 671026404352},
    {"gemma-2b", 2506172416},
    {"gemma-2-9b", 9241705984},
    {"gemma-3-1b", 999885952},
    {"gpt2", 124439808},
    {"gpt-neox-20b", 20554567680},
    {"bert-base", 109514298},
    {"vit-base", 85806346},
    {"mamba-130m", 129135360},
    {"mamba2-130m", 128989632},
    {"gpt-oss-20b", 20914757184},
    {"kimi-k2", 1026408209408},
    {"t5-small", 60506624},
    {"flan-t5-base", 222903552},
    {"bart-base", 139420416},
    {"mbart-large-cc25", 610851840},
    {"llama-4-scout-text", 107769861120},
    {"llama-4-maverick", 400711848960},
    {"qwen3-next-80b-a3b", 79674391296},
    {"glm-4.5-air", 106852245504},
    {"phi-3-mini", 3821079552},
    {"olmo-2-7b", 7298617344},
    {"opt-125m", 125239296},
    {"opt-350m", 331196416},
    {"bloom-176b", 176247271424},
    {"deepseek-v3.2", 671877929216},
    {"gemma-3n-e2b-text", 4435182688},
    {"falcon-h1-1.5b", 1479292288},
    {"smollm3-3b", 3075098624},
    {"minimax-m2", 228689748992},
    {"mistral-small-3.1", 23572403200},
    {"gemma-3-4b", 3880263168},
    {"qwen2.5-vl-7b", 7615616512},
    {"qwen3-vl-8b", 8190735360},
    {"qwen3-vl-30b-a3b", 30532122624},
    {"llava-1.5-7b", 6738939904},
    {"llama-3-8b-classifier", 7504928768},
    {"granite-3.1-8b", 8170848256},
    {"glm-4-9b-0414", 9400279040},
    {"glm-4-9b-chat", 9399951360},
    {"ernie-4.5-0.3b", 360748032},
    {"hunyuan-7b", 7504568320},
    {"exaone-4-32b", 32003216384},
    {"seed-oss-36b", 36151104512},
    {"olmo-7b", 6888095744},
    {"olmo-3-7b", 7298011136},
    {"starcoder2-15b", 15957889024},
    {"stablelm-2-1.6b", 1644515328},
    {"command-r-plus", 103810674688},
    {"command-a", 111057580032},
    {"nemotron-4-15b", 15628775424},
    {"afm-4.5b", 4619184640},
    {"olmoe-1b-7b", 6919161856},
    {"granite-3.1-3b-a800m", 3298793472},
    {"phi-3.5-moe", 41873153344},
    {"ernie-4.5-21b", 21825437888},
    {"hunyuan-a13b", 80393183232},
    {"granite-4.0-h-tiny", 6939037248},
    {"granite-4.0-h-micro", 3191396096},
    {"bamba-9b", 9780235392},
    {"jamba-v0.1", 51570323328},
    {"nemotron-nano-9b-v2", 8888227328},
    {"nemotron-3-nano-30b-a3b", 31577937344},
    {"lfm2-1.2b", 1170340608},
    {"lfm2-8b-a1b", 8339929856},
    {"kimi-linear-48b-a3b", 49122675072},
    {"qwen3.5-27b", 26895998464},
    {"qwen3.5-35b-a3b", 34660610688},
    {"gemma-4-e2b", 4628569344},
    {"gemma-4-26b-a4b", 25233141760},
    {"glm-4.7-flash", 29943390976},
    {"glm-5", 743911199232},
    {"falcon-7b", 6921720704},
    {"falcon-40b", 41303293952},
    {"mpt-7b", 6649286656},
    {"starcoderbase", 15517456384},
    {"gpt-j-6b", 6050882784},
    {"gpt-neo-2.7b", 2651307520},
    {"dbrx", 131596523520},
    {"phi-2", 2779683840},
    {"apertus-8b", 8053338176},
    {"dots.llm1", 142774373888},
    {"trinity-mini", 26123974400},
    {"solar-open-100b", 102651793408},
    {"k-exaone-236b", 236571150336},
    {"mimo-v2-flash", 308778768832},
};

static struct architecture read_model(const char *name)
{
    struct architecture architecture;
    struct error error = {0};
    char path[128];

    snprintf(path, sizeof path, "tests/models/%s.json", name);
    if (!architecture_read(&architecture, path, &error))
        fail_msg("%s", error.message);
    return architecture;
}

static void parameters_are_those_of_the_model(void **state)
{
    for (size_t i = 0; i < sizeof counted / sizeof counted[0]; i++) {
        struct architecture architecture = read_model(counted[i].model);
        struct architecture_cost cost = architecture_cost(&architecture, 1024);

        if (cost.total.parameters != counted[i].parameters)
            fail_msg("%s: %lld parameters, not %lld", counted[i].model,
                     (long long)cost.total.parameters, (long long)counted[i].parameters);
    }
}

static void active_parameters_are_those_of_the_chosen_experts(void **state)
{
    struct architecture mixtral = read_model("mixtral-8x7b");
    struct architecture deepseek = read_model("deepseek-v3");
    struct architecture_cost cost = architecture_cost(&mixtral, 4096);

    /* 6 of 8 experts of 3 x 4096 x 14336 in 32 layers rest */
    assert_int_equal(cost.total.parameters - cost.total.active_parameters,
                     INT64_C(6) * 32 * 3 * 4096 * 14336);
    cost = architecture_cost(&deepseek, 4096);
    assert_int_equal(cost.total.active_parameters, 37552282624);
    assert_true(cost.prediction.parameters > 11000000000);
    assert_int_equal(cost.parts[PART_SHARED_EXPERTS].parameters, INT64_C(58) * 3 * 7168 * 2048);
}

static void windows_cut_attention(void **state)
{
    struct architecture mistral = read_model("mistral-7b");
    struct layer_kind *kind = &mistral.kinds[0];

    assert_int_equal(mistral.kind_count, 1);
    assert_int_equal(kind->window, 4096);
    assert_true(attended_keys(&mistral, kind, 4096) == 2048.5);
    /* 4 queries behind a window of 2: 1, 2, 2, 2 keys */
    kind->window = 2;
    assert_true(attended_keys(&mistral, kind, 4) == 1.75);
    kind->window = 1;
    assert_true(attended_keys(&mistral, kind, 4) == 1.0);
    mistral.is_causal = false;
    assert_true(attended_keys(&mistral, kind, 4) == 4.0);
}

static void layers_slide_by_their_pattern(void **state)
{
    struct architecture second = read_model("gemma-2-9b");
    struct architecture third = read_model("gemma-3-1b");

    assert_int_equal(second.kinds[0].count, 21);
    assert_int_equal(second.kinds[1].count, 21);
    assert_int_equal(third.kinds[0].count, 4);
    assert_int_equal(third.kinds[1].count, 22);
    assert_int_equal(third.kinds[1].window, 512);
}

static void an_image_has_its_tokens(void **state)
{
    struct architecture vit = read_model("vit-base");
    struct architecture_cost cost = architecture_cost(&vit, vit.fixed_sequence);

    assert_int_equal(vit.fixed_sequence, 197);
    /* one head for 197 tokens: 10 labels */
    assert_true(cost.parts[PART_HEAD].forward_flops == 2.0 * 768 * 10 / 197);
}

static struct error error_of(const char *text)
{
    struct architecture architecture = {.layers = 77};
    struct arena arena = {0};
    struct error error = {0};
    const struct json_node *root = json_tree_parse(&arena, text, strlen(text), &error);

    assert_non_null(root);
    assert_false(architecture_from_config(&architecture, root, "config.json", &error));
    assert_int_equal(architecture.layers, 77);
    assert_int_equal(error.class, ERROR_INPUT);
    arena_clear(&arena);
    return error;
}

static void check_error(const char *text, const char *expected)
{
    struct error error = error_of(text);

    if (!strstr(error.message, expected))
        fail_msg("'%s' does not say '%s'", error.message, expected);
}

#define LLAMA(members)                                                                   \
    "{\"model_type\": \"llama\", \"num_attention_heads\": 4, \"intermediate_size\": 8, " \
    "\"vocab_size\": 9" members "}"

static void bad_files_are_told_by_key(void **state)
{
    check_error("[]", "config.json: an object was expected");
    check_error("{}", "'model_type' is missing");
    check_error("{\"model_type\": \"lama\"}", "'lama' is not known: did you mean 'llama'?");
    check_error("{\"model_type\": \"rwkv\"}", "'rwkv' is not known ('flopledger help");
    check_error("{\"peft_type\": \"LORA\", \"base_model_name_or_path\": \"a/b\"}",
                "this is an adapter of 'a/b'");
    check_error("{\"_class_name\": \"FluxTransformer2DModel\"}",
                "a model of diffusers (FluxTransformer2DModel)");
    check_error("{\"model_type\": 5}", "'model_type' is missing");
    check_error(LLAMA(""), "config.json: 'hidden_size' is missing: for the model_type 'llama'");
    check_error(LLAMA(", \"hidden_size\": \"x\""), "'hidden_size' is x: a whole number of 1 to");
    check_error(LLAMA(", \"hidden_size\": 8.5"), "'hidden_size' is 8.5");
    check_error(LLAMA(", \"hidden_size\": -8"), "'hidden_size' is -8");
    check_error(LLAMA(", \"hidden_size\": 99999999999999999999"), "'hidden_size' is 999999");
    check_error(LLAMA(", \"hidden_size\": null"), "'hidden_size' is null");
    check_error(LLAMA(", \"hidden_size\": []"), "'hidden_size' is a list");
    check_error(LLAMA(", \"hidden_size\": 10, \"num_hidden_layers\": 1"), "4 heads do not divide");
    check_error(LLAMA(", \"hidden_size\": 8, \"num_hidden_layers\": 1, \"mlp_bias\": 1"),
                "'mlp_bias' is 1: true or false");
    check_error("{\"model_type\": \"bert\", \"architectures\": [\"BertForFun\"]}", "'BertForFun'");
    check_error("{\"model_type\": \"vit\", \"image_size\": 8, \"patch_size\": 16}", "'patch_size'");
    check_error("{\"model_type\": \"grounding-dino\", \"text_config\": {\"model_type\": \"bert\", "
                "\"hidden_size\": 64, \"num_hidden_layers\": 2, \"num_attention_heads\": 4, "
                "\"intermediate_size\": 128, \"vocab_size\": 99, \"max_position_embeddings\": 64, "
                "\"type_vocab_size\": 2}}",
                "'grounding-dino' computes is not known");
    check_error("{\"model_type\": \"gemma3\", \"text_config\": {}}", "'hidden_size' is missing");
}

#define OF_TYPE(type, members)                                                       \
    "{\"model_type\": \"" type "\", \"hidden_size\": 64, \"num_hidden_layers\": 2, " \
    "\"num_attention_heads\": 4, \"intermediate_size\": 128, \"vocab_size\": 99" members "}"

/* Each has layers or sizes that no formula here is of. */
static void what_is_not_counted_of_a_known_type_is_told(void **state)
{
    check_error("{\"model_type\": \"rwkv\"}", "a recording by 'flopledger run' has the FLOPs");
    check_error(OF_TYPE("nemotron_h", ""), "'hybrid_override_pattern' or 'layers_block_type'");
    check_error(OF_TYPE("nemotron_h", ", \"hybrid_override_pattern\": \"MXM\""), "has 'X'");
    check_error(OF_TYPE("nemotron_h", ", \"layers_block_type\": [\"mamba\", \"rwkv\"]"),
                "has 'rwkv': this is not known");
    check_error(OF_TYPE("granitemoehybrid", ", \"layer_types\": [\"mamba\", \"rwkv\"]"),
                "'rwkv' for layer 1");
    check_error(OF_TYPE("exaone_moe", ", \"mlp_layer_types\": [\"dense\"]"),
                "'mlp_layer_types' has 1 entries for 2 layers");
    check_error(OF_TYPE("exaone_moe", ", \"mlp_layer_types\": [\"dense\", \"odd\"]"), "has 'odd'");
    check_error(OF_TYPE("glm_moe_dsa", ", \"index_topk_freq\": 4"), "layers share an indexer");
    check_error(OF_TYPE("lfm2", ", \"block_ffn_dim_multiplier\": -1"), "more than 0");
    check_error("{\"model_type\": \"mpt\", \"d_model\": 64, \"n_layers\": 2, \"n_heads\": 4, "
                "\"vocab_size\": 99, \"attn_config\": {\"attn_type\": \"multiquery_attention\"}}",
                "multiquery_attention");
    check_error("{\"model_type\": \"dbrx\", \"d_model\": 64, \"n_layers\": 2, \"n_heads\": 4, "
                "\"vocab_size\": 99}",
                "'kv_n_heads' of 'attn_config' is missing");
    check_error(OF_TYPE("gemma4_text", ", \"per_layer_config\": {\"1\": {\"head_dim\": 0}}"),
                "'per_layer_config'");
}

/* What `text` has as members of a Llama. */
static struct architecture llama_with(const char *text)
{
    SCOPED(arena) arena = {0};
    char whole[512];
    struct architecture architecture = {0};
    struct error error = {0};
    const struct json_node *root;

    snprintf(whole, sizeof whole,
             "{\"model_type\": \"llama\", \"hidden_size\": 64, \"num_hidden_layers\": 2, "
             "\"num_attention_heads\": 4, \"intermediate_size\": 128, \"vocab_size\": 99%s}",
             text);
    root = json_tree_parse(&arena, whole, strlen(whole), &error);
    if (!root || !architecture_from_config(&architecture, root, "here", &error))
        fail_msg("%s", error.message);
    return architecture;
}

static void learned_positions_are_all_there_are(void **state)
{
    static const struct {
        const char *name;
        int64_t most; /* 0: any */
    } models[] = {{"gpt2", 1024},    {"opt-125m", 2048}, {"bert-base", 512}, {"bloom-176b", 0},
                  {"llama-3-8b", 0}, {"t5-small", 0},    {"mamba-130m", 0}};

    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        struct architecture model = read_model(models[i].name);
        int64_t most = models[i].most > 0 ? models[i].most : INT64_C(1) << 20;
        struct error error = {0};

        assert_true(architecture_check_tokens(&model, "--seq", most, &error));
        assert_false(architecture_lacks_positions(&model, most));
        assert_int_equal(architecture_check_tokens(&model, "--seq", most + 1, &error),
                         models[i].most == 0);
    }
}

static void rotary_positions_end_where_nothing_stretches_them(void **state)
{
    static const struct {
        const char *text;
        bool ends; /* behind 4,096 */
    } files[] = {
        {"", false},
        {", \"max_position_embeddings\": 4096", true},
        {", \"max_position_embeddings\": 4096, \"rope_scaling\": null", true},
        {", \"max_position_embeddings\": 4096, \"rope_scaling\": {\"type\": \"mrope\"}", true},
        {", \"max_position_embeddings\": 4096, \"rope_scaling\": {\"rope_type\": \"yarn\"}", false},
        {", \"max_position_embeddings\": 4096, \"rope_parameters\": {\"rope_type\": \"default\"}",
         true},
        {", \"max_position_embeddings\": 4096, \"rope_parameters\": {\"full_attention\": "
         "{\"rope_type\": \"linear\"}}",
         false},
    };

    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct architecture model = llama_with(files[i].text);
        struct error error = {0};

        assert_false(architecture_lacks_positions(&model, 4096));
        assert_int_equal(architecture_lacks_positions(&model, 4097), files[i].ends);
        assert_true(architecture_check_tokens(&model, "--seq", 4097, &error));
    }
}

static void a_missing_or_odd_file_is_named(void **state)
{
    struct architecture architecture;
    struct error error = {0};

    assert_false(architecture_read(&architecture, "tests/models/none.json", &error));
    assert_non_null(strstr(error.message, "tests/models/none.json"));
    assert_false(architecture_read(&architecture, "README.md", &error));
    assert_non_null(strstr(error.message, "'README.md' is no config.json of a model"));
    assert_false(
        architecture_read(&architecture, "tests/traces/golden/modules/capture.json", &error));
    assert_non_null(strstr(error.message, "the recorded model has no 'config'"));
    assert_false(architecture_read(&architecture, "tests", &error));
    assert_non_null(strstr(error.message, "tests"));
}

static void a_capture_has_the_config_of_its_model(void **state)
{
    static const char text[] =
        "{\"schema\": \"flopledger.capture\", \"models\": [{\"config\": {\"model_type\": \"gpt2\", "
        "\"n_embd\": 8, \"n_layer\": 1, \"n_head\": 2, \"n_positions\": 4, \"vocab_size\": 5}}]}";
    char path[] = "/tmp/flopledger-test-XXXXXX";
    int file = mkstemp(path);
    struct architecture architecture;
    struct error error = {0};
    bool is_read;

    assert_true(file >= 0);
    assert_int_equal(write(file, text, sizeof text - 1), sizeof text - 1);
    close(file);
    is_read = architecture_read(&architecture, path, &error);
    unlink(path);
    if (!is_read)
        fail_msg("%s", error.message);
    assert_string_equal(architecture.model_type, "gpt2");
    assert_int_equal(architecture.position_embedding, 32);
}

/* Whatever the keys hold, a count is an error or does not overflow. */
static void the_largest_sizes_do_not_overflow(void **state)
{
    static const char text[] =
        "{\"model_type\": \"qwen3_moe\", \"hidden_size\": 131072, \"num_hidden_layers\": 4096, "
        "\"num_attention_heads\": 2048, \"head_dim\": 4096, \"intermediate_size\": 1048576, "
        "\"moe_intermediate_size\": 1048576, \"num_experts\": 2048, \"num_experts_per_tok\": 2048, "
        "\"vocab_size\": 16777216}";
    struct architecture architecture;
    struct arena arena = {0};
    struct error error = {0};
    const struct json_node *root = json_tree_parse(&arena, text, strlen(text), &error);
    struct architecture_cost cost;

    assert_true(architecture_from_config(&architecture, root, "c", &error));
    cost = architecture_cost(&architecture, INT64_C(1) << 30);
    assert_true(cost.total.parameters > 0);
    assert_true(cost.total.parameters == cost.total.active_parameters);
    arena_clear(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters_are_those_of_the_model),
        cmocka_unit_test(active_parameters_are_those_of_the_chosen_experts),
        cmocka_unit_test(windows_cut_attention),
        cmocka_unit_test(layers_slide_by_their_pattern),
        cmocka_unit_test(an_image_has_its_tokens),
        cmocka_unit_test(bad_files_are_told_by_key),
        cmocka_unit_test(what_is_not_counted_of_a_known_type_is_told),
        cmocka_unit_test(learned_positions_are_all_there_are),
        cmocka_unit_test(rotary_positions_end_where_nothing_stretches_them),
        cmocka_unit_test(a_missing_or_odd_file_is_named),
        cmocka_unit_test(a_capture_has_the_config_of_its_model),
        cmocka_unit_test(the_largest_sizes_do_not_overflow),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
