/* Names of devices, as each tool writes them, and names made to mislead. */
#include "cost/devices/find_device_peak.h"

#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const struct device_peak *find(const char *name)
{
    struct device_match match;
    const struct device_peak *device = find_device_peak(name, NULL, &match);

    assert_true(match.how[0] != '\0');
    assert_true((device != NULL) == (match.kind >= DEVICE_BY_NAME));
    return device;
}

static void check_name(const char *name, const char *expected)
{
    const struct device_peak *device = find(name);

    if (!device || strcmp(device->name, expected) != 0)
        fail_msg("'%s' is %s, not %s", name, device ? device->name : "not known", expected);
}

static void check_unknown(const char *name)
{
    const struct device_peak *device = find(name);

    if (device)
        fail_msg("'%s' was taken for %s", name, device->name);
}

static void every_row_is_found_by_its_own_name(void **state)
{
    size_t count;
    const struct device_peak *devices = all_device_peaks(&count);

    for (size_t i = 0; i < count; i++)
        check_name(devices[i].name, devices[i].name);
}

struct name_form {
    const char *name;
    const char *device;
};

static const struct name_form forms[] = {
    /* torch.cuda.get_device_name and nvidia-smi */
    {"Tesla V100-SXM2-16GB", "NVIDIA V100 SXM2 16GB"},
    {"Tesla V100-SXM2-32GB", "NVIDIA V100 SXM2 32GB"},
    {"Tesla V100-PCIE-16GB", "NVIDIA V100 PCIe 16GB"},
    {"Tesla V100-PCIE-32GB", "NVIDIA V100 PCIe 32GB"},
    {"Tesla T4", "NVIDIA T4"},
    {"NVIDIA A10", "NVIDIA A10"},
    {"NVIDIA A40", "NVIDIA A40"},
    {"NVIDIA RTX A6000", "NVIDIA RTX A6000"},
    {"RTX A6000", "NVIDIA RTX A6000"},
    {"NVIDIA A100-SXM4-40GB", "NVIDIA A100 SXM4 40GB"},
    {"A100-SXM4-40GB", "NVIDIA A100 SXM4 40GB"},
    {"NVIDIA A100-SXM4-80GB", "NVIDIA A100 SXM4 80GB"},
    {"NVIDIA A100-PCIE-40GB", "NVIDIA A100 PCIe 40GB"},
    {"NVIDIA A100 80GB PCIe", "NVIDIA A100 PCIe 80GB"},
    {"NVIDIA A800-SXM4-80GB", "NVIDIA A800 SXM4 80GB"},
    {"NVIDIA H100 80GB HBM3", "NVIDIA H100 SXM5"},
    {"NVIDIA H100 PCIe", "NVIDIA H100 PCIe"},
    {"NVIDIA H100 NVL", "NVIDIA H100 NVL"},
    {"NVIDIA GH200 480GB", "NVIDIA GH200 (memory not said)"},
    {"NVIDIA GH200 144G HBM3e", "NVIDIA GH200 144GB"},
    {"NVIDIA H200", "NVIDIA H200 SXM"},
    {"NVIDIA H200 NVL", "NVIDIA H200 NVL"},
    {"NVIDIA H800", "NVIDIA H800 SXM"},
    {"NVIDIA H800 PCIe", "NVIDIA H800 PCIe"},
    {"NVIDIA H20", "NVIDIA H20 (memory not said)"},
    {"NVIDIA H20-3e", "NVIDIA H20 141GB"},
    {"NVIDIA L4", "NVIDIA L4"},
    {"NVIDIA L20", "NVIDIA L20"},
    {"NVIDIA L40", "NVIDIA L40"},
    {"NVIDIA L40S", "NVIDIA L40S"},
    {"NVIDIA GeForce RTX 3090", "NVIDIA GeForce RTX 3090"},
    {"GeForce RTX 3090", "NVIDIA GeForce RTX 3090"},
    {"NVIDIA GeForce RTX 4090", "NVIDIA GeForce RTX 4090"},
    {"NVIDIA GeForce RTX 5090", "NVIDIA GeForce RTX 5090"},
    {"NVIDIA RTX PRO 6000 Blackwell Workstation Edition",
     "NVIDIA RTX PRO 6000 Blackwell Workstation"},
    {"NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition",
     "NVIDIA RTX PRO 6000 Blackwell Max-Q"},
    {"NVIDIA B200", "NVIDIA B200 SXM"},
    {"NVIDIA B300 SXM6 AC", "NVIDIA B300 SXM"},
    {"NVIDIA GB200", "NVIDIA GB200"},
    {"NVIDIA GB300", "NVIDIA GB300"},
    {"AMD Instinct MI210", "AMD Instinct MI210"},
    {"AMD Instinct MI250X", "AMD Instinct MI250X, one die"},
    {"AMD Instinct MI300X", "AMD Instinct MI300X"},
    {"AMD Instinct MI300X VF", "AMD Instinct MI300X"},
    {"AMD Instinct MI325X", "AMD Instinct MI325X"},
    {"AMD Instinct MI350X", "AMD Instinct MI350X"},
    {"AMD Instinct MI355X", "AMD Instinct MI355X"},
    /* rocm-smi and amd-smi */
    {"AMD Instinct MI300X OAM", "AMD Instinct MI300X"},
    {"AMD INSTINCT MI250 (MCM) OAM AC MBA", "AMD Instinct MI250, one die"},
    {"AMD INSTINCT MI250X (MCM) OAM AC MBA", "AMD Instinct MI250X, one die"},
    {"0x74a1", "AMD Instinct MI300X"},
    {"AMD Instinct(TM) MI355X", "AMD Instinct MI355X"},
    /* lspci, pci.ids */
    {"17:00.0 3D controller: NVIDIA Corporation GH100 [H100 SXM5 80GB] (rev a1)",
     "NVIDIA H100 SXM5"},
    {"18:00.0 3D controller [0302]: NVIDIA Corporation GB100 [B200] [10de:2901] (rev a1)",
     "NVIDIA B200 SXM"},
    {"GH100 [H100 PCIe]", "NVIDIA H100 PCIe"},
    {"GH100 [H100L 94GB]", "NVIDIA H100 NVL"},
    {"GH100 [H200 SXM 141GB]", "NVIDIA H200 SXM"},
    {"GH100 [H200 NVL]", "NVIDIA H200 NVL"},
    {"GH100 [H20]", "NVIDIA H20 (memory not said)"},
    {"GH100 [H800]", "NVIDIA H800 SXM"},
    {"GH100 [H800 PCIe]", "NVIDIA H800 PCIe"},
    {"GH100 [GH200 120GB / 480GB]", "NVIDIA GH200 (memory not said)"},
    {"GB100 [HGX GB200]", "NVIDIA GB200"},
    {"GB110 [GB300]", "NVIDIA GB300"},
    {"GV100GL [Tesla V100 SXM2 16GB]", "NVIDIA V100 SXM2 16GB"},
    {"GV100GL [Tesla V100 PCIe 32GB]", "NVIDIA V100 PCIe 32GB"},
    {"TU104GL [Tesla T4]", "NVIDIA T4"},
    {"GA100 [A100 SXM4 40GB]", "NVIDIA A100 SXM4 40GB"},
    {"GA100 [A100 SXM4 80GB]", "NVIDIA A100 SXM4 80GB"},
    {"GA100 [A100 PCIe 80GB]", "NVIDIA A100 PCIe 80GB"},
    {"GA100 [A800 SXM4 80GB]", "NVIDIA A800 SXM4 80GB"},
    {"GA102GL [A10]", "NVIDIA A10"},
    {"GA102GL [A40]", "NVIDIA A40"},
    {"GA102GL [RTX A6000]", "NVIDIA RTX A6000"},
    {"GA102 [GeForce RTX 3090]", "NVIDIA GeForce RTX 3090"},
    {"AD104GL [L4]", "NVIDIA L4"},
    {"AD102GL [L20]", "NVIDIA L20"},
    {"AD102GL [L40]", "NVIDIA L40"},
    {"AD102GL [L40S]", "NVIDIA L40S"},
    {"AD102 [GeForce RTX 4090]", "NVIDIA GeForce RTX 4090"},
    {"GB202 [GeForce RTX 5090]", "NVIDIA GeForce RTX 5090"},
    {"GB202GL [RTX PRO 6000 Blackwell Workstation Edition]",
     "NVIDIA RTX PRO 6000 Blackwell Workstation"},
    {"c8:00.0 Processing accelerators: Advanced Micro Devices, Inc. [AMD/ATI] Aqua Vanjaram "
     "[Instinct MI300X]",
     "AMD Instinct MI300X"},
    {"Aqua Vanjaram [Instinct MI300X VF]", "AMD Instinct MI300X"},
    {"Aqua Vanjaram [Instinct MI325X]", "AMD Instinct MI325X"},
    {"Aldebaran/MI200 [Instinct MI210]", "AMD Instinct MI210"},
    {"Aldebaran [Instinct MI250X]", "AMD Instinct MI250X, one die"},
    /* labels of Kubernetes */
    {"NVIDIA-H100-80GB-HBM3", "NVIDIA H100 SXM5"},
    {"NVIDIA-A100-SXM4-80GB", "NVIDIA A100 SXM4 80GB"},
    /* other makers */
    {"GAUDI2", "Intel Gaudi 2"},
    {"HL-225", "Intel Gaudi 2"},
    {"GAUDI3", "Intel Gaudi 3"},
    {"HL-325L", "Intel Gaudi 3"},
    {"Ascend910B", "Huawei Ascend 910B (bin not said)"},
    {"Ascend910B3", "Huawei Ascend 910B (bin not said)"},
    {"Ascend950DT", "Huawei Ascend 950DT"},
    {"trn1.32xlarge", "AWS Trainium 1, one core"},
    {"trn2", "AWS Trainium 2"},
    {"TPU v2", "Google TPU v2"},
    {"TPU v3", "Google TPU v3"},
    {"TPU v4", "Google TPU v4"},
    {"TPU v5 lite", "Google TPU v5e"},
    {"v5litepod-16", "Google TPU v5e"},
    {"TPU v5p", "Google TPU v5p"},
    {"TPU v6 lite", "Google TPU v6e"},
    {"TPU v6e", "Google TPU v6e"},
    {"TPU7x", "Google TPU v7x, one die"},
    {"Ironwood", "Google TPU v7x, one die"},
    {"TPU Ironwood", "Google TPU v7x, one die"},
    {"Google TPU Trillium", "Google TPU v6e"},
    {"Trillium", "Google TPU v6e"},
    {"trn3.48xlarge", "AWS Trainium 3"},
    {"Trainium3", "AWS Trainium 3"},
    {"Ascend910C", "Huawei Ascend 910C, one die"},
    {"Huawei Ascend 910C", "Huawei Ascend 910C, one die"},
    {"Intel(R) Data Center GPU Max 1550", "Intel Data Center GPU Max 1550, one stack"},
    {"NVIDIA A10G", "NVIDIA A10G"},
    {"NVIDIA A30", "NVIDIA A30"},
    {"NVIDIA A800 80GB PCIe", "NVIDIA A800 PCIe 80GB"},
    {"NVIDIA RTX 6000 Ada Generation", "NVIDIA RTX 6000 Ada Generation"},
    {"AD102GL [RTX 6000 Ada Generation]", "NVIDIA RTX 6000 Ada Generation"},
    {"NVIDIA GeForce RTX 2080 Ti", "NVIDIA GeForce RTX 2080 Ti"},
    {"NVIDIA GeForce RTX 3080", "NVIDIA GeForce RTX 3080"},
    {"NVIDIA GeForce RTX 4080", "NVIDIA GeForce RTX 4080"},
    {"NVIDIA GeForce RTX 5080", "NVIDIA GeForce RTX 5080"},
    {"NVIDIA RTX PRO 6000 Blackwell Server Edition", "NVIDIA RTX PRO 6000 Blackwell Server"},
    {"NVIDIA B100", "NVIDIA B100 SXM"},
    {"NVIDIA GB10", "NVIDIA GB10"},
    {"NVIDIA R200", "NVIDIA Rubin"},
    {"NVIDIA Vera Rubin", "NVIDIA Rubin"},
    {"AMD Instinct MI308X", "AMD Instinct MI308X"},
    {"AMD Instinct MI430X", "AMD Instinct MI430X"},
    {"AMD Instinct MI455X", "AMD Instinct MI455X"},
};

static void names_of_all_tools_are_found(void **state)
{
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++)
        check_name(forms[i].name, forms[i].device);
}

static void case_does_not_matter(void **state)
{
    char text[160];

    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        size_t length = strlen(forms[i].name);

        for (size_t j = 0; j <= length; j++)
            text[j] = (char)tolower((unsigned char)forms[i].name[j]);
        check_name(text, forms[i].device);
        for (size_t j = 0; j <= length; j++)
            text[j] = (char)toupper((unsigned char)forms[i].name[j]);
        check_name(text, forms[i].device);
    }
}

/* Each of these has the name of a known device in it, or nearly. */
static const char *const other_products[] = {
    "",
    " ",
    "NVIDIA",
    "NVIDIA Corporation",
    "GH100",
    "NVIDIA GH100",
    "GA100",
    "H1000",
    "XH100",
    "H100S PCIe",
    "MYH100 80GB HBM3",
    "NVIDIA H100 80GB HBM3e",
    "NVIDIA H100 96GB HBM3",
    "NVIDIA H100 64GB HBM2",
    "NVIDIA H100 80GB HBM3 MIG 1g.10gb",
    "NVIDIA A100-SXM4-40GB MIG 3g.20gb",
    "NVIDIA A100-SXM-64GB",
    "GRID A100-40C",
    "NVIDIA A100X",
    "NVIDIA A800 40GB Active",
    "NVIDIA A40-48Q",
    "NVIDIA A10M",
    "NVIDIA A1000",
    "NVIDIA L40G",
    "NVIDIA L40S-48C",
    "NVIDIA L2",
    "NVIDIA T400",
    "NVIDIA T4G",
    "NVIDIA GeForce RTX 4090 D",
    "NVIDIA GeForce RTX 4090 Laptop GPU",
    "NVIDIA GeForce RTX 3090 Ti",
    "NVIDIA GeForce RTX 5090 D",
    "NVIDIA GeForce RTX 5090 Laptop GPU",
    "NVIDIA RTX A6000 Laptop GPU",
    "Quadro RTX 6000",
    "NVIDIA RTX PRO 6000 Blackwell",
    "NVIDIA RTX PRO 5000 Blackwell",
    "NVIDIA GB2000",
    "NVIDIA B200A",
    "NVIDIA H200 SXM MIG 1g.18gb",
    "NVIDIA H800 NVL",
    "NVIDIA DGX H100",
    "GH100 [H100 CNX]",
    "GH100 [H100 NVSwitch]",
    "Tesla V100-DGXS-32GB",
    "Tesla V100-FHHL-16GB",
    "Tesla P100-SXM2-16GB",
    "AMD Instinct MI300",
    "AMD Instinct MI300XY",
    "AMD Radeon Graphics",
    "Device 74a9",
    "HL-2000",
    "Ascend910A",
    "TPU v1",
    "TPU",
    "Apple M3 Max",
    "Intel(R) Xeon(R) Platinum 8481C",
    "H100 or H200",
    "an H100 80GB HBM3",
    "NVIDIA H100 80GB HBM3 x8",
    "[H100",
    "a name that goes on and on and on and on and on and on and on and on and on and H100",
    "averyveryveryveryveryveryveryverylongword",
};

static void other_products_are_not_known(void **state)
{
    assert_null(find(NULL));
    for (size_t i = 0; i < sizeof other_products / sizeof other_products[0]; i++)
        check_unknown(other_products[i]);
    /* bytes that are no letters separate words, as spaces do */
    check_name("\xff\xfe H100 PCIe \xc3", "NVIDIA H100 PCIe");
}

static void near_devices_are_named(void **state)
{
    struct device_match match;

    assert_null(find_device_peak("NVIDIA GeForce RTX 4090 Laptop GPU", NULL, &match));
    assert_int_equal(match.kind, DEVICE_UNKNOWN);
    assert_string_equal(match.candidates[0]->name, "NVIDIA GeForce RTX 4090");
    assert_non_null(strstr(match.how, "NVIDIA GeForce RTX 4090"));
    assert_null(find_device_peak("H100", NULL, &match));
    assert_int_equal(match.kind, DEVICE_AMBIGUOUS);
    assert_non_null(match.candidates[2]);
    assert_non_null(strstr(match.how, "NVIDIA H100 SXM5, NVIDIA H100 PCIe or NVIDIA H100 NVL"));
}

static void hints_tell_devices_of_one_name_apart(void **state)
{
    static const struct {
        const char *name;
        struct device_hints hints;
        const char *device;
    } cases[] = {
        {"NVIDIA H100", {85045477376, 132, 9, 0}, "NVIDIA H100 SXM5"},
        {"NVIDIA H100", {85045477376, 114, 9, 0}, "NVIDIA H100 PCIe"},
        {"NVIDIA H100", {100485169152, 132, 9, 0}, "NVIDIA H100 NVL"},
        {"GH100 [H100]", {0, 114, 0, 0}, "NVIDIA H100 PCIe"},
        {"NVIDIA H20", {102625181696, 78, 9, 0}, "NVIDIA H20 96GB"},
        {"NVIDIA H20", {150754820096, 78, 9, 0}, "NVIDIA H20 141GB"},
        {"NVIDIA GH200 480GB", {101973950464, 132, 9, 0}, "NVIDIA GH200 96GB"},
        {"NVIDIA A100-PG509-200", {42298834944, 108, 8, 0}, "NVIDIA A100 SXM4 40GB"},
        {"A100", {0, 108, 8, 0}, "NVIDIA A100 (board not said)"},
        {"A100-SXM4", {85031714816, 0, 0, 0}, "NVIDIA A100 SXM4 80GB"},
        {"gfx942", {0, 228, 9, 4}, "AMD Instinct MI300A"},
        {"gfx942", {206141652992, 304, 9, 4}, "AMD Instinct MI300X"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct device_match match;
        const struct device_peak *device = find_device_peak(cases[i].name, &cases[i].hints, &match);

        if (!device)
            fail_msg("'%s': %s", cases[i].name, match.how);
        assert_string_equal(device->name, cases[i].device);
    }
}

/* Names and memory (MiB) as nvidia-smi and torch.cuda print them, ECC on where the board has it. */
static const struct {
    const char *name;
    int64_t memory_mib;
    int32_t multiprocessors;
    int32_t major;
    int32_t minor;
    const char *device;
} reported[] = {
    {"Tesla V100-SXM2-16GB", 16160, 80, 7, 0, "NVIDIA V100 SXM2 16GB"},
    {"Tesla V100-SXM2-32GB", 32480, 80, 7, 0, "NVIDIA V100 SXM2 32GB"},
    {"Tesla V100-PCIE-16GB", 16130, 80, 7, 0, "NVIDIA V100 PCIe 16GB"},
    {"Tesla V100-PCIE-32GB", 32510, 80, 7, 0, "NVIDIA V100 PCIe 32GB"},
    {"Tesla T4", 15360, 40, 7, 5, "NVIDIA T4"},
    {"Tesla T4", 14914, 40, 7, 5, "NVIDIA T4"},
    {"NVIDIA GeForce RTX 2080 Ti", 11019, 68, 7, 5, "NVIDIA GeForce RTX 2080 Ti"},
    {"NVIDIA A10", 23028, 72, 8, 6, "NVIDIA A10"},
    {"NVIDIA A10", 22503, 72, 8, 6, "NVIDIA A10"},
    {"NVIDIA A10G", 23028, 80, 8, 6, "NVIDIA A10G"},
    {"NVIDIA A10G", 22503, 80, 8, 6, "NVIDIA A10G"},
    {"NVIDIA A30", 24576, 56, 8, 0, "NVIDIA A30"},
    {"NVIDIA A40", 46068, 84, 8, 6, "NVIDIA A40"},
    {"NVIDIA A40", 45416, 84, 8, 6, "NVIDIA A40"},
    {"NVIDIA RTX A6000", 49140, 84, 8, 6, "NVIDIA RTX A6000"},
    {"NVIDIA RTX A6000", 46068, 84, 8, 6, "NVIDIA RTX A6000"},
    {"NVIDIA A100-SXM4-40GB", 40960, 108, 8, 0, "NVIDIA A100 SXM4 40GB"},
    {"NVIDIA A100-SXM4-80GB", 81920, 108, 8, 0, "NVIDIA A100 SXM4 80GB"},
    {"NVIDIA A100-PCIE-40GB", 40960, 108, 8, 0, "NVIDIA A100 PCIe 40GB"},
    {"NVIDIA A100 80GB PCIe", 81920, 108, 8, 0, "NVIDIA A100 PCIe 80GB"},
    {"NVIDIA A800-SXM4-80GB", 81920, 108, 8, 0, "NVIDIA A800 SXM4 80GB"},
    {"NVIDIA A800 80GB PCIe", 81920, 108, 8, 0, "NVIDIA A800 PCIe 80GB"},
    {"NVIDIA GeForce RTX 3080", 10240, 68, 8, 6, "NVIDIA GeForce RTX 3080"},
    {"NVIDIA GeForce RTX 3090", 24576, 82, 8, 6, "NVIDIA GeForce RTX 3090"},
    {"NVIDIA L4", 23034, 58, 8, 9, "NVIDIA L4"},
    {"NVIDIA L4", 22491, 58, 8, 9, "NVIDIA L4"},
    {"NVIDIA L20", 46068, 92, 8, 9, "NVIDIA L20"},
    {"NVIDIA L40", 46068, 142, 8, 9, "NVIDIA L40"},
    {"NVIDIA L40", 45487, 142, 8, 9, "NVIDIA L40"},
    {"NVIDIA L40S", 46068, 142, 8, 9, "NVIDIA L40S"},
    {"NVIDIA L40S", 45457, 142, 8, 9, "NVIDIA L40S"},
    {"NVIDIA RTX 6000 Ada Generation", 49140, 142, 8, 9, "NVIDIA RTX 6000 Ada Generation"},
    {"NVIDIA RTX 6000 Ada Generation", 46068, 142, 8, 9, "NVIDIA RTX 6000 Ada Generation"},
    {"NVIDIA GeForce RTX 4080", 16376, 76, 8, 9, "NVIDIA GeForce RTX 4080"},
    {"NVIDIA GeForce RTX 4090", 24564, 128, 8, 9, "NVIDIA GeForce RTX 4090"},
    {"NVIDIA H100 80GB HBM3", 81559, 132, 9, 0, "NVIDIA H100 SXM5"},
    {"NVIDIA H100 PCIe", 81559, 114, 9, 0, "NVIDIA H100 PCIe"},
    {"NVIDIA H100 NVL", 95830, 132, 9, 0, "NVIDIA H100 NVL"},
    {"NVIDIA GH200 480GB", 97871, 132, 9, 0, "NVIDIA GH200 96GB"},
    {"NVIDIA GH200 120GB", 97871, 132, 9, 0, "NVIDIA GH200 96GB"},
    {"NVIDIA GH200 144G HBM3e", 145920, 132, 9, 0, "NVIDIA GH200 144GB"},
    {"NVIDIA H200", 143771, 132, 9, 0, "NVIDIA H200 SXM"},
    {"NVIDIA H200 NVL", 143771, 132, 9, 0, "NVIDIA H200 NVL"},
    {"NVIDIA H800", 81559, 132, 9, 0, "NVIDIA H800 SXM"},
    {"NVIDIA H800 PCIe", 81559, 114, 9, 0, "NVIDIA H800 PCIe"},
    {"NVIDIA H20", 97871, 78, 9, 0, "NVIDIA H20 96GB"},
    {"NVIDIA H20-3e", 143771, 78, 9, 0, "NVIDIA H20 141GB"},
    {"NVIDIA GeForce RTX 5080", 16303, 84, 12, 0, "NVIDIA GeForce RTX 5080"},
    {"NVIDIA GeForce RTX 5090", 32607, 170, 12, 0, "NVIDIA GeForce RTX 5090"},
    {"NVIDIA RTX PRO 6000 Blackwell Workstation Edition", 97887, 188, 12, 0,
     "NVIDIA RTX PRO 6000 Blackwell Workstation"},
    {"NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition", 97887, 188, 12, 0,
     "NVIDIA RTX PRO 6000 Blackwell Max-Q"},
    {"NVIDIA RTX PRO 6000 Blackwell Server Edition", 97887, 188, 12, 0,
     "NVIDIA RTX PRO 6000 Blackwell Server"},
    {"NVIDIA GB10", 122040, 48, 12, 1, "NVIDIA GB10"}, /* what the kernel leaves of 128 GB */
    {"NVIDIA GB10", 122573, 48, 12, 1, "NVIDIA GB10"},
    {"NVIDIA B200", 183359, 148, 10, 0, "NVIDIA B200 SXM"},
    {"NVIDIA B300 SXM6 AC", 275040, 148, 10, 3, "NVIDIA B300 SXM"},
    {"NVIDIA GB200", 189471, 152, 10, 0, "NVIDIA GB200"},
    {"NVIDIA GB300", 284208, 152, 10, 3, "NVIDIA GB300"},
    {"AMD Instinct MI210", 65520, 104, 9, 0, "AMD Instinct MI210"},
    {"AMD Instinct MI250X", 65520, 110, 9, 0, "AMD Instinct MI250X, one die"},
    {"AMD Instinct MI300X", 196592, 304, 9, 4, "AMD Instinct MI300X"},
    {"AMD Instinct MI308X", 196592, 80, 9, 4, "AMD Instinct MI308X"},
    {"AMD Instinct MI325X", 262128, 304, 9, 4, "AMD Instinct MI325X"},
    {"AMD Instinct MI355X", 294896, 256, 9, 5, "AMD Instinct MI355X"},
};

static void devices_are_found_with_what_is_reported(void **state)
{
    for (size_t i = 0; i < sizeof reported / sizeof reported[0]; i++) {
        struct device_hints hints = {reported[i].memory_mib << 20, reported[i].multiprocessors,
                                     reported[i].major, reported[i].minor};
        struct device_match match;
        const struct device_peak *device = find_device_peak(reported[i].name, &hints, &match);

        if (!device)
            fail_msg("'%s': %s", reported[i].name, match.how);
        assert_string_equal(device->name, reported[i].device);
        assert_false(device_is_approximate(&match));
    }
}

/* Each row of the table, with 9 % of its memory taken, and none; a fifth less is another device. */
static void every_row_allows_for_taken_memory(void **state)
{
    size_t count;
    const struct device_peak *devices = all_device_peaks(&count);

    for (size_t i = 0; i < count; i++) {
        const struct device_peak *row = &devices[i];
        struct device_hints hints = {row->memory_bytes / 100 * 91, row->multiprocessors,
                                     row->compute_major, row->compute_minor};
        struct device_match match;

        if (row->memory_bytes == 0)
            continue;
        assert_ptr_equal(find_device_peak(row->name, &hints, &match), row);
        hints.memory_bytes = row->memory_bytes;
        assert_ptr_equal(find_device_peak(row->name, &hints, &match), row);
        hints.memory_bytes = row->memory_bytes / 5 * 4;
        assert_true(find_device_peak(row->name, &hints, &match) != row ||
                    device_is_approximate(&match));
    }
}

static void hints_that_contradict_the_name_count(void **state)
{
    static const struct {
        const char *name;
        struct device_hints hints;
        const char *says;
    } cases[] = {
        {"NVIDIA H100 80GB HBM3", {0, 66, 0, 0}, "66"},
        {"NVIDIA H100 80GB HBM3", {42298834944, 132, 9, 0}, "39.4 GiB"},
        {"NVIDIA H100 80GB HBM3", {0, 0, 8, 0}, "8.0"},
        {"NVIDIA H800", {0, 114, 9, 0}, "114"},
        {"AMD Instinct MI300X VF", {0, 38, 9, 4}, "38"},
        {"NVIDIA H100", {0, 60, 9, 0}, "60"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct device_match match;

        assert_null(find_device_peak(cases[i].name, &cases[i].hints, &match));
        assert_int_equal(match.kind, DEVICE_CONTRADICTED);
        assert_non_null(match.candidates[0]);
        assert_non_null(strstr(match.how, cases[i].says));
    }
}

static void sizes_alone_infer_a_device(void **state)
{
    static const struct {
        const char *name;
        struct device_hints hints;
        const char *names; /* of the candidates; NULL: not known */
    } cases[] = {
        {"", {206141652992, 304, 9, 4}, "AMD Instinct MI300X"},
        {NULL, {206141652992, 304, 9, 4}, "AMD Instinct MI300X"},
        {"AMD Radeon Graphics",
         {68702699520, 104, 9, 0},
         "AMD Instinct MI210 or AMD Instinct MI250, one die"},
        {"", {206141652992, 304, 9, 5}, NULL},
        {"", {206141652992, 152, 9, 4}, NULL},
        {"", {103070826496, 304, 9, 4}, NULL},
        {"", {0, 304, 9, 4}, NULL},
        {"", {206141652992, 0, 9, 4}, NULL},
        {"", {206141652992, 304, 0, 0}, NULL},
        {"AMD Instinct MI399X VF", {206141652992, 304, 9, 4}, NULL},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct device_match match;
        const struct device_peak *device = find_device_peak(cases[i].name, &cases[i].hints, &match);
        char names[256];

        assert_int_equal(device != NULL, cases[i].names != NULL);
        if (!device)
            continue;
        list_device_candidates(&match, names, sizeof names);
        assert_int_equal(match.kind, DEVICE_INFERRED);
        assert_true(device_is_approximate(&match));
        assert_string_equal(names, cases[i].names);
        assert_non_null(strstr(match.how, "inferred"));
        assert_null(match.slowest); /* those of one size compute alike */
    }
}

/* A name of no rule, with the multiprocessors and the capability of devices that share a word of
 * it: the fastest, and how slow it may be. */
static void near_devices_bound_the_peak(void **state)
{
    static const struct device_hints dgx_station = {34084028416, 80, 7, 0};
    static const struct device_hints half_of_it = {17179869184, 40, 7, 0};
    static const struct device_hints other_capability = {34084028416, 80, 7, 2};
    static const struct device_hints laptop = {17171480576, 76, 8, 9};
    static const struct device_hints h100_of_96 = {102005473280, 132, 9, 0};
    struct device_match match;
    const struct device_peak *device =
        find_device_peak("Tesla V100-DGXS-32GB", &dgx_station, &match);

    assert_int_equal(match.kind, DEVICE_NEAR);
    assert_string_equal(device->name, "NVIDIA V100 SXM2 32GB");
    assert_string_equal(match.slowest->name, "NVIDIA V100 PCIe 32GB");
    assert_null(match.candidates[2]);
    assert_non_null(strstr(match.how, "approximate"));
    device = find_device_peak("NVIDIA H100 96GB HBM3", &h100_of_96, &match);
    assert_string_equal(device->name, "NVIDIA H100 SXM5");
    assert_string_equal(match.slowest->name, "NVIDIA H100 NVL");
    assert_null(find_device_peak("Tesla V100-DGXS-32GB", NULL, &match));
    assert_null(find_device_peak("Tesla V100-DGXS-32GB", &half_of_it, &match));
    assert_null(find_device_peak("Tesla V100-DGXS-32GB", &other_capability, &match));
    assert_null(find_device_peak("NVIDIA GeForce RTX 4090 Laptop GPU", &laptop, &match));
    assert_int_equal(match.kind, DEVICE_UNKNOWN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_is_found_by_its_own_name),
        cmocka_unit_test(names_of_all_tools_are_found),
        cmocka_unit_test(case_does_not_matter),
        cmocka_unit_test(other_products_are_not_known),
        cmocka_unit_test(near_devices_are_named),
        cmocka_unit_test(hints_tell_devices_of_one_name_apart),
        cmocka_unit_test(devices_are_found_with_what_is_reported),
        cmocka_unit_test(every_row_allows_for_taken_memory),
        cmocka_unit_test(hints_that_contradict_the_name_count),
        cmocka_unit_test(sizes_alone_infer_a_device),
        cmocka_unit_test(near_devices_bound_the_peak),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
