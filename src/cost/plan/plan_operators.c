/* What operators and collectives take on a device. */
#include "cost/plan/plan_operators.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define PLAN_RATES(architecture_, matrix_, matrix_8_, memory_, flash_, flash_1_, flash_2_, \
                   backward_, link_, exchange_, latency_us, network_gb, node_us)           \
    {.architecture = architecture_,                                                        \
     .matrix = matrix_,                                                                    \
     .matrix_8 = matrix_8_,                                                                \
     .memory = memory_,                                                                    \
     .flash = flash_,                                                                      \
     .flash_1 = flash_1_,                                                                  \
     .flash_2 = flash_2_,                                                                  \
     .backward = backward_,                                                                \
     .link = link_,                                                                        \
     .exchange = exchange_,                                                                \
     .latency = (latency_us)*1e-6,                                                         \
     .network = (network_gb)*1e9,                                                          \
     .network_latency = (node_us)*1e-6},

/* By the beginning of the device's or the architecture's name, and in the order of the list: the
 * first that fits counts. */
static const struct plan_rates all_rates[] = {
#include "cost/plan/plan_rate_list.def"
};

/* Asked for each layout of a search: most rows differ in the first letter. */
static bool plan_row_fits(const char *row, const struct device_peak *device)
{
    const char *architecture = device->architecture;

    return (row[0] == device->name[0] && strcmp(row, device->name) == 0) ||
           (row[0] == architecture[0] && strncmp(row, architecture, strlen(row)) == 0);
}

/* The last row has no architecture and fits all others. */
const struct plan_rates *plan_rates_of(const struct device_peak *device)
{
    const struct plan_rates *rates = all_rates;

    while (rates->architecture && !plan_row_fits(rates->architecture, device))
        rates++;
    return rates;
}

/* Devices that fast links join: a rack of GB200 or GB300, a pod of TPUs (jax-ml, How to Scale Your
 * Model, TPU specs; its slices are smaller, but none is slower); of others a node of eight. */
static int64_t plan_node_of(const struct device_peak *device)
{
    static const struct {
        const char *name;
        int64_t devices;
    } domains[] = {
        {"NVIDIA Rubin", 72},     {"NVIDIA GB200", 72},
        {"NVIDIA GB300", 72},     {"Google TPU v2", 256},
        {"Google TPU v3", 1024},  {"Google TPU v4", 4096},
        {"Google TPU v5e", 256},  {"Google TPU v6e", 256},
        {"Google TPU v5p", 8960}, {"Google TPU v7x, one die", 18432},
    };

    for (size_t i = 0; i < sizeof domains / sizeof *domains; i++)
        if (strcmp(device->name, domains[i].name) == 0)
            return domains[i].devices;
    return 8;
}

void plan_defaults(struct plan_setting *setting)
{
    if (setting->node == 0)
        setting->node = plan_node_of(setting->device);
    if (setting->network <= 0.0)
        setting->network = plan_rates_of(setting->device)->network;
    if (setting->launch_seconds <= 0.0)
        setting->launch_seconds = 10e-6;
    if (setting->gradient_bytes == 0)
        setting->gradient_bytes = setting->precision == PEAK_FP64 ? 8 : 4;
    if (setting->accumulated_bytes == 0)
        setting->accumulated_bytes = 2 * setting->gradient_bytes + (setting->is_eager ? 2 : 0);
}

/* What a tile of a matrix product costs beside its depth: to fill the pipeline and to write the
 * result, in elements of depth at 16 bits. From 802816 x 192 x 768 of Azure's guide, A100. */
static const double TILE_ENDS = 200.0;
static const double CAST_BYTES = 4.0;
/* A cast finds the largest value first, but where that of the step before serves. */
static const double CAST_KERNELS = 2.0;

static const struct {
    double m;
    double n;
    double rate; /* of a unit that works on such tiles, by what it reads again and again */
} tiles[] = {{256, 128, 1.0}, {128, 256, 1.0}, {128, 128, 0.96},
             {128, 64, 0.80}, {64, 128, 0.80}, {64, 64, 0.60}};

/* Share of the peak that a matmul of the type was measured to reach; `otherwise` where none was. */
static double plan_reached(const struct plan_setting *setting, enum peak_type type,
                           double otherwise)
{
    double peak = setting->device->peaks[type];
    double measured = setting->measured ? setting->measured->peaks[type] : 0.0;

    return measured > 0.0 && peak > 0.0 ? fmin(measured / peak, 1.0) : otherwise;
}

/* By how much more devices of a node make it longer. */
static double plan_latency_factor(double rounds, double inside)
{
    return 1.0 + 0.2 * rounds * (fmin(inside, 8.0) - 1.0);
}

static bool plan_has_measured_links(const struct plan_setting *setting)
{
    return setting->measured && setting->measured->reduced_devices > 0 &&
           setting->measured->reduced_devices <= setting->node;
}

static double plan_link_rate(const struct plan_setting *setting, const struct plan_rates *rates)
{
    return plan_has_measured_links(setting) ? setting->measured->reduced_bytes_per_second
                                            : setting->device->link_bytes_per_second * rates->link;
}

/* A measured all-reduce of few bytes is of as many devices as the machine has. */
static double plan_base_latency(const struct plan_setting *setting, const struct plan_rates *rates)
{
    return plan_has_measured_links(setting)
               ? setting->measured->reduced_seconds /
                     plan_latency_factor(2.0, (double)setting->measured->reduced_devices)
               : rates->latency;
}

/* Bytes that norms, activations and the like take for one of 16 bits where no kernel is fused for
 * them: each is several, of 32 bits. A model in 32 bits takes as many (7.3 ms in eager code of a
 * GPT on an H100, in bf16 7.2: docs/plan-accuracy.md, Plan against run). */
static const double EAGER_BYTES = 5.0;

/* Measured rates replace the table's, per type. Narrow formats keep 16 bits for what is not in
 * them (attention, logits). */
struct plan_context plan_context_of(const struct plan_setting *setting,
                                    const struct plan_layout *layout)
{
    const struct device_peak *device = setting->device;
    const struct plan_rates *rates = plan_rates_of(device);
    bool is_narrow = setting->precision == PEAK_FP8 || setting->precision == PEAK_FP4 ||
                     setting->precision == PEAK_INT8;
    double peak = device->peaks[setting->precision];
    double memory_rate = device->memory_bytes_per_second * rates->memory;
    double element = is_narrow ? 2.0 : bytes_of_peak_type(setting->precision);

    if (setting->measured && setting->measured->memory_bytes_per_second > 0.0)
        memory_rate = setting->measured->memory_bytes_per_second;

    return (struct plan_context){
        .setting = setting,
        .layout = layout,
        .rates = rates,
        .peak = peak,
        .peak_16 = is_narrow ? device->peaks[PEAK_BF16] : peak,
        .matrix = plan_reached(setting, is_narrow ? PEAK_BF16 : setting->precision, rates->matrix),
        .matrix_8 = plan_reached(setting, setting->precision, rates->matrix_8),
        .memory_rate = memory_rate,
        .link_rate = plan_link_rate(setting, rates),
        .latency = plan_base_latency(setting, rates),
        .tokens = (double)layout->micro * (double)setting->sequence / (double)layout->context,
        .element = element,
        .streamed = fmax(element, setting->is_eager ? EAGER_BYTES : 0.0),
    };
}

void plan_pass_charge(struct plan_pass *pass, enum plan_account account, double seconds)
{
    pass->accounts[account] += seconds;
}

void plan_pass_add(struct plan_pass *pass, const struct plan_pass *from, double times)
{
    for (int i = 0; i < PLAN_ACCOUNT_COUNT; i++)
        pass->accounts[i] += from->accounts[i] * times;
    pass->in_16_bits += from->in_16_bits * times;
    pass->again_useful += from->again_useful * times;
    pass->again_streamed += from->again_streamed * times;
    pass->device += from->device * times;
    pass->weights += from->weights * times;
    pass->kernels += from->kernels * times;
}

void plan_pass_recompute(struct plan_pass *pass)
{
    pass->again_useful += pass->accounts[PLAN_USEFUL] + pass->in_16_bits;
    pass->in_16_bits = 0.0;
    pass->again_streamed += pass->accounts[PLAN_MEMORY];
    for (int i = 0; i < PLAN_RECOMPUTE; i++) {
        pass->accounts[PLAN_RECOMPUTE] += pass->accounts[i];
        pass->accounts[i] = 0.0;
    }
}

double plan_pass_seconds(const struct plan_pass *pass)
{
    double seconds = 0.0;

    for (int i = 0; i < PLAN_ACCOUNT_COUNT; i++)
        seconds += pass->accounts[i];
    return seconds;
}

/* Of data center's Blackwell, those of the B200 where the table has none: the same dies. */
static double plan_units(const struct device_peak *device)
{
    static const double OF_B200 = 148.0;

    if (device->multiprocessors == 0 && strcmp(device->architecture, "Blackwell") == 0)
        return OF_B200;
    return (double)device->multiprocessors;
}

/* FLOP/s of a multiprocessor in products whose rows are no multiple of 16 bytes: what cuBLAS then
 * takes loads 2 or 4 bytes at once, by instructions that Ampere had. Of an odd number of columns
 * 128 of 717 TFLOP/s on an H200, of an even one 269, over forward and both products of backward
 * (tests/gpu/results/matmul-rates-H200-2026-11-27.jsonl); clocks of other devices are not
 * regarded. */
static double plan_reached_by_rows(const struct plan_context *context, struct plan_product product,
                                   double reached)
{
    static const double OF_ODD = 0.97e12, OF_EVEN = 2.04e12;
    double of_unit = product.columns % 2 ? OF_ODD : OF_EVEN;

    if (product.columns * 2 % MATRIX_ROW_BYTES == 0)
        return reached;
    return fmin(reached, plan_units(context->setting->device) * of_unit / context->peak_16);
}

/* Tiles in waves: ceil(tiles / multiprocessors) waves of one tile's time; the best of the tile
 * shapes that libraries have. That is where the loss of odd sizes comes from (wave
 * quantization), and it is kept apart from the rate. */
double plan_product_seconds(const struct plan_context *context, struct plan_product product,
                            double *tile_seconds)
{
    double peak = product.is_low ? context->peak : context->peak_16;
    double reached =
        product.is_low && context->peak > context->peak_16 ? context->matrix_8 : context->matrix;
    double flops = 2.0 * product.m * product.n * product.k * product.batch;
    double units = plan_units(context->setting->device);
    double at_best;
    double ends = TILE_ENDS * peak / context->peak_16;
    double best = DBL_MAX;

    if (units >= 1.0)
        reached = plan_reached_by_rows(context, product, reached);
    at_best = flops / (peak * reached);
    if (units < 1.0 || flops <= 0.0) {
        *tile_seconds = 0.0;
        return at_best;
    }
    for (size_t i = 0; i < sizeof tiles / sizeof tiles[0]; i++) {
        double rate = peak * reached / units * tiles[i].rate;
        double count = ceil(product.m / tiles[i].m) * ceil(product.n / tiles[i].n) * product.batch;
        double one;
        double parts = 1.0;
        double seconds;

        /* A grid that leaves units empty splits the depth, down to a few of its own ends. */
        while (count * parts * 2.0 <= units && product.k / (parts * 2.0) >= 4.0 * ends)
            parts *= 2.0;
        one = 2.0 * tiles[i].m * tiles[i].n * (product.k / parts + ends) / rate;
        seconds = ceil(count * parts / units) * one;
        best = fmin(best, seconds);
    }
    *tile_seconds = best - at_best;
    return best;
}

/* Bytes that a product reads and writes at least. */
static double plan_product_bytes(const struct plan_context *context, struct plan_product product)
{
    bool is_narrow = product.is_low && context->peak > context->peak_16;
    double of_input = is_narrow ? 1.0 : context->element;

    return product.batch * (of_input * (product.m * product.k + product.k * product.n) +
                            context->element * product.m * product.n);
}

/* Roofline per product: the larger of computing and streaming, each account what it adds
 * beyond the one before, so they sum to the time. */
void plan_add_product(const struct plan_context *context, struct plan_pass *pass,
                      struct plan_product product)
{
    double ideal = 2.0 * product.m * product.n * product.k * product.batch / context->peak;
    double in_tiles;
    double computing = plan_product_seconds(context, product, &in_tiles);
    double streaming = plan_product_bytes(context, product) / context->memory_rate;
    /* Of experts each has a matmul, and casts, of its own; heads of attention have one together. */
    bool is_fused = product.is_input_ready || product.is_output_ready;
    double launches = product.is_low && !is_fused ? product.batch : 1.0;

    if (product.m <= 0.0 || product.n <= 0.0 || product.k <= 0.0 || product.batch <= 0.0)
        return;
    plan_pass_charge(pass, PLAN_USEFUL, ideal);
    if (!product.is_low)
        pass->in_16_bits += ideal * (context->peak / context->peak_16 - 1.0);
    plan_pass_charge(pass, PLAN_RATE, computing - in_tiles - ideal);
    plan_pass_charge(pass, PLAN_TILES, in_tiles + KERNEL_SECONDS);
    plan_pass_charge(pass, PLAN_MEMORY, fmax(streaming - computing, 0.0));
    pass->device += fmax(computing, streaming) + KERNEL_SECONDS;
    pass->kernels += launches;
    /* An operand is read in 16 bits and written in 8, and its scale found before. */
    if (product.is_low && !product.is_input_ready && context->peak > context->peak_16)
        plan_add_stream(context, pass, CAST_BYTES * product.batch * product.m * product.k,
                        CAST_KERNELS * launches);
}

/* Two products with the roles of the sizes exchanged, see compiled_recompute.c. */
void plan_add_backward(const struct plan_context *context, struct plan_pass *pass,
                       struct plan_product product)
{
    struct plan_product of_input = product;
    struct plan_product of_weight = product;

    of_input.n = product.k;
    of_input.k = product.n;
    of_input.is_input_ready = product.is_output_ready;
    of_input.is_output_ready = product.is_input_ready;
    of_weight.m = product.k;
    of_weight.k = product.m;
    plan_add_product(context, pass, of_input);
    pass->weights -= pass->device;
    plan_add_product(context, pass, of_weight);
    pass->weights += pass->device;
}

void plan_add_stream(const struct plan_context *context, struct plan_pass *pass, double bytes,
                     double kernels)
{
    double seconds = bytes / context->memory_rate + kernels * KERNEL_SECONDS;

    plan_pass_charge(pass, PLAN_MEMORY, seconds);
    pass->device += seconds;
    pass->kernels += kernels;
}

void plan_add_attention(const struct plan_context *context, struct plan_pass *pass, double flops,
                        double seconds)
{
    double ideal = flops / context->peak;

    plan_pass_charge(pass, PLAN_USEFUL, ideal);
    if (context->setting->attention != PLAN_FLASH_8)
        pass->in_16_bits += ideal * (context->peak / context->peak_16 - 1.0);
    plan_pass_charge(pass, PLAN_ATTENTION, seconds + KERNEL_SECONDS - ideal);
    pass->device += seconds + KERNEL_SECONDS;
    pass->kernels += 1.0;
}

/* Of the group's members, those that one NVLink domain holds. Ranks of a group stand `stride`
 * apart, so a node of n holds n / stride of them. */
static int64_t plan_members_of_node(const struct plan_context *context, struct plan_group group)
{
    int64_t inside = context->setting->node / group.stride;

    inside = inside < 1 ? 1 : inside;
    return inside < group.size ? inside : group.size;
}

/* Of a collective of no bytes. */
static double plan_latency(const struct plan_context *context, double rounds, double inside,
                           double nodes)
{
    const struct plan_rates *rates = context->rates;

    return context->latency * plan_latency_factor(rounds, inside) +
           rates->network_latency * (nodes > 1.0 ? rounds * log2(nodes) + 1.0 : 0.0);
}

/* Share of the cards' bandwidth that a large collective reaches: NCCL's all-reduce, 350 of 400 GB/s
 * on 1,984 H200 and 96 of 100 on 24 A100 (NVIDIA/nccl-tests, issues 283 and 119). DeepEP's first
 * exchange between nodes, 45 and 46 of 50 GB/s on 64 H800, counts a token's own node, too, an
 * eighth of the nodes: 0.80 to 0.92. */
static const double NETWORK_SHARE = 0.9;

/* A token's copies for one node cross the network once: of n nodes, chosen evenly, (n - 1) *
 * (1 - (1 - 1 / n)^copies) others are met, while `bytes` has all copies. Links inside the
 * nodes and the network work side by side, so that the slower of the two decides. */
double plan_exchange_seconds(const struct plan_context *context, double bytes, double copies,
                             struct plan_group group)
{
    double size = (double)group.size;
    double inside = (double)plan_members_of_node(context, group);
    double nodes = ceil(size / inside);
    double links = context->setting->device->link_bytes_per_second * context->rates->exchange;
    double sent = (nodes - 1.0) * (1.0 - pow(1.0 - 1.0 / nodes, copies)) / copies;
    double within = (size - 1.0) / size / (links > 0.0 ? links : context->setting->network);
    double of_byte = fmax(within, sent / (context->setting->network * NETWORK_SHARE));

    return group.size <= 1 ? 0.0 : plan_latency(context, 1.0, inside, nodes) + bytes * of_byte;
}

/* Bytes a second that a group's members of one node together send into the network.
 *
 * Where devices share cards (half of a card each on vTrain's machines) and the group has but every
 * second or fourth device, no two neighbors of a ring are at one card, while a ring enters and
 * leaves a node by the same (NCCL_CROSS_NIC). NCCL reaches it over the links since 2.12 (PXN);
 * before, over the processors, and such groups of a node choose the same card (NVIDIA/nccl, issues
 * 820 and 595; nccl-tests, issue 347): all of them together have one. */
static double plan_node_rate(const struct plan_context *context, struct plan_group group,
                             double inside)
{
    double network = context->setting->network * NETWORK_SHARE;
    double card = context->rates->network * NETWORK_SHARE;
    bool shares_cards = network < card && (double)group.stride * network >= card;

    if (context->setting->crosses_by_one_card && shares_cards && inside > 1.0)
        return fmin(network * inside, card / (double)group.stride);
    return network * inside;
}

/* A ring, or a tree of the same volume: what leaves the domain goes through the network cards of
 * the members inside. Only a sum has a tree: what is gathered or scattered passes all nodes of the
 * ring one after the other (NCCL, tuning.cc), which is what ends the growth of FSDP. */
double plan_collective_seconds(const struct plan_context *context, enum plan_collective kind,
                               double bytes, struct plan_group group)
{
    double size = (double)group.size;
    double inside = (double)plan_members_of_node(context, group);
    double nodes = ceil(size / inside);
    double network = context->setting->network * NETWORK_SHARE;
    double rate = context->link_rate > 0.0 ? context->link_rate : network;
    double rounds = kind == PLAN_ALL_REDUCE ? 2.0 : 1.0;
    double latency;
    double volume = bytes * (size - 1.0) / size;

    if (group.size <= 1)
        return 0.0;
    latency = plan_latency(context, rounds, inside, nodes);
    if (kind == PLAN_ALL_GATHER && nodes > 1.0)
        latency += context->rates->network_latency * (nodes - 1.0 - log2(nodes));
    if (nodes > 1.0)
        rate = fmin(rate, kind == PLAN_SEND ? network : plan_node_rate(context, group, inside));
    if (kind == PLAN_ALL_TO_ALL)
        return plan_exchange_seconds(context, bytes, 1.0, group);
    if (kind == PLAN_SEND)
        return latency + bytes / rate;
    return latency + rounds * volume / rate;
}
