/* Names of kernels on matrix units, and of those that are not. */
#include "cost/efficiency/matrix_calls.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void names_tell_the_unit(void **state)
{
    static const struct {
        const char *name;
        enum matrix_unit_use use;
    } cases[] = {
        {"volta_fp16_s884gemm_fp16_128x64_ldg8_f2f_tn", MATRIX_UNIT_USED},
        {"turing_fp16_s1688cudnn_fp16_256x64", MATRIX_UNIT_USED},
        {"ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x3_nn", MATRIX_UNIT_USED},
        {"cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_32x32_64x1_tn_align8", MATRIX_UNIT_USED},
        {"sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64", MATRIX_UNIT_USED},
        {"nvjet_tst_128x64_64x8_4x2_v_bz_TNN", MATRIX_UNIT_USED},
        {"bmm_MxE4m3_MxE2m1MxE4m3_Fp32_t128x64x256u2_s6", MATRIX_UNIT_USED},
        {"bmm_Bfloat16_MxE2m1Bfloat16_Fp32_t128x8x256", MATRIX_UNIT_USED},
        {"fmhaSm100aKernel_QkvE4m3OBfloat16H64", MATRIX_UNIT_USED},
        {"void flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4>>", MATRIX_UNIT_USED},
        {"Cijk_Alik_Bljk_BBS_BH_Bias_MT128x256x32_MI16x16x1_SN", MATRIX_UNIT_USED},
        {"igemm_fwd_gtcx3_nhwc_bf16_bx0_ex0", MATRIX_UNIT_USED},
        {"Cijk_Ailk_Bljk_SB_MT64x64x8_SE_APM1", MATRIX_UNIT_NOT_USED},
        {"volta_sgemm_128x64_nn", MATRIX_UNIT_NOT_USED},
        {"volta_hgemm_128x64_nn", MATRIX_UNIT_NOT_USED},
        {"cutlass_80_simt_sgemm_256x128_8x4_nn_align1", MATRIX_UNIT_NOT_USED},
        {"volta_scudnn_128x64_relu_interior_nn_v1", MATRIX_UNIT_NOT_USED},
        {"sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize32x32x8_ffma", MATRIX_UNIT_NOT_USED},
        {"void gemvNSP_kernel<float, float, float, float, 1, 32, 4, 1024>", MATRIX_UNIT_NOT_USED},
        {"triton_poi_fused_add_addmm_0", MATRIX_UNIT_NOT_TOLD},
        {"my_kernel", MATRIX_UNIT_NOT_TOLD},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (matrix_unit_of_name(cases[i].name) != cases[i].use)
            fail_msg("%s: %d", cases[i].name, (int)matrix_unit_of_name(cases[i].name));
}

static void names_tell_the_generation(void **state)
{
    assert_int_equal(instruction_generation("cutlass_80_wmma_tensorop_bf16_s161616gemm"), 80);
    assert_int_equal(instruction_generation("sm90_xmma_gemm_bf16bf16"), 90);
    assert_int_equal(instruction_generation("ampere_bf16_s16816gemm_bf16_128x64"), 80);
    assert_int_equal(instruction_generation("nvjet_tst_128x64"), 0);
    assert_int_equal(instruction_generation("sm"), 0);
}

static void recorded_types_tell_the_format(void **state)
{
    assert_int_equal(precision_of_types("[\"c10::BFloat16\", \"\"]", 0), PEAK_BF16);
    assert_int_equal(precision_of_types("[\"\", \"Scalar\", \"c10::Half\"]", 0), PEAK_FP16);
    assert_int_equal(precision_of_types("[\"c10::Float8_e4m3fn\", \"float\"]", 0), PEAK_FP8);
    assert_int_equal(precision_of_types("[\"float\", \"float\"]", 0), PEAK_FP32);
    assert_int_equal(precision_of_types("[\"c10::complex<float>\", \"float\"]", 0),
                     PEAK_TYPE_COUNT);
    assert_int_equal(precision_of_types("[\"long int\"]", 0), PEAK_TYPE_COUNT);
    assert_int_equal(precision_of_types("[\"flo", 0), PEAK_TYPE_COUNT);
    assert_int_equal(precision_of_types(NULL, 0), PEAK_TYPE_COUNT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_tell_the_unit),
        cmocka_unit_test(names_tell_the_generation),
        cmocka_unit_test(recorded_types_tell_the_format),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
