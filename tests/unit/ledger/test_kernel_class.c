/* Classes of kernels and operators by their names. */
#include "ledger/kernel_class.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct expectation {
    const char *name;
    enum kernel_class class;
};

static void kernels_are_told_by_their_names(void **state)
{
    static const struct expectation expectations[] = {
        {"ampere_sgemm_128x64_tn", KERNEL_MATMUL},
        {"nvjet_tst_128x256_64x4_1x2_h_bz_TNT", KERNEL_MATMUL},
        {"Cijk_Alik_Bljk_BBS_BH_MT128x128x32", KERNEL_MATMUL},
        {"void cutlass::device_kernel<at::cuda::scaled_mm>", KERNEL_MATMUL},
        {"void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64>>", KERNEL_ATTENTION},
        {"fmha_cutlassF_bf16_aligned_64x64_rf_sm80", KERNEL_ATTENTION},
        {"sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32", KERNEL_CONVOLUTION},
        {"void at::native::multi_tensor_apply_kernel<FusedAdamFunctor>", KERNEL_OPTIMIZER},
        {"void at::native::vectorized_layer_norm_kernel<float, float>", KERNEL_NORMALIZATION},
        {"void cunn_SoftMaxForward<8, c10::BFloat16>", KERNEL_SOFTMAX},
        {"triton_poi_fused_add_mul_0", KERNEL_TRITON},
        {"triton_tem_fused_mm_3", KERNEL_MATMUL},
        {"void at::native::vectorized_elementwise_kernel<4, AddFunctor>", KERNEL_ELEMENTWISE},
        {"void splitKreduce_kernel<32, 16, int>", KERNEL_REDUCTION},
        {"ncclDevKernel_AllReduce_Sum_bf16_RING_LL", KERNEL_COMMUNICATION},
        {"void deep_ep::internode::combine<true>", KERNEL_COMMUNICATION},
        {"void vllm::cross_device_reduce_1stage<c10::BFloat16, 8>", KERNEL_COMMUNICATION},
        {"allreduceAicpuKernel", KERNEL_COMMUNICATION},
        {"hcom_alltoallv_AivKernel", KERNEL_COMMUNICATION},
        {"__amd_rocclr_fillBufferAligned.kd", KERNEL_MEMSET},
        {"__amd_rocclr_copyBufferRect", KERNEL_COPY},
        {"__amd_rocclr_streamOpsWait", KERNEL_COMPUTE_OTHER},
        {"batched_matrix_multiplication_matrix_core_128x128x16", KERNEL_MATMUL},
        {"void matrixMulCUDA<32>(float*, float*, float*, int, int)", KERNEL_MATMUL},
        {"matrix_of_weights", KERNEL_COMPUTE_OTHER},
        {"aclnnGroupedMatmulV5_GroupedMatmul_GroupedMatmul", KERNEL_MATMUL},
        {"WeightQuantBatchMatmulV2", KERNEL_MATMUL},
        {"PagedAttentionOperation", KERNEL_ATTENTION},
        {"a_kernel_nobody_knows", KERNEL_COMPUTE_OTHER},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(expectations) / sizeof(expectations[0]); i++)
        assert_string_equal(kernel_class_key(kernel_class_of_name(expectations[i].name)),
                            kernel_class_key(expectations[i].class));
}

static void operators_are_told_by_their_names(void **state)
{
    static const struct expectation expectations[] = {
        {"aten::addmm", KERNEL_MATMUL},
        {"aten::mm", KERNEL_MATMUL},
        {"aten::convolution_backward", KERNEL_CONVOLUTION},
        {"aten::_scaled_dot_product_flash_attention_backward", KERNEL_ATTENTION},
        {"flash_attn::_flash_attn_forward", KERNEL_ATTENTION},
        {"aten::lstm", KERNEL_RECURRENT},
        {"aten::_foreach_addcdiv_", KERNEL_OPTIMIZER},
        {"aten::native_layer_norm", KERNEL_NORMALIZATION},
        {"aten::add_", KERNEL_ELEMENTWISE},
        {"aten::copy_", KERNEL_COPY},
        {"nccl:all_reduce", KERNEL_COMMUNICATION},
        {"c10d::allreduce_", KERNEL_COMMUNICATION},
        {"record_param_comms", KERNEL_COMMUNICATION},
        {"autograd::engine::evaluate_function: MmBackward0", KERNEL_COMPUTE_OTHER},
        {"aten::mm_is_not_the_whole_name", KERNEL_COMPUTE_OTHER},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(expectations) / sizeof(expectations[0]); i++)
        assert_string_equal(kernel_class_key(operator_class(expectations[i].name)),
                            kernel_class_key(expectations[i].class));
}

static void data_loading_has_many_names(void **state)
{
    (void)state;
    assert_true(is_data_loading("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"));
    assert_true(is_data_loading("enumerate(DataPipe)#MyPipe"));
    assert_true(is_data_loading("torch/utils/data/DataLoader.py(630): __next__"));
    assert_true(is_data_loading("[pl][profile]run_training_epoch.train_dataloader_next"));
    assert_true(is_data_loading("## next ##"));
    assert_true(is_data_loading("##get_batch##"));
    assert_false(is_data_loading("## forward ##"));
    assert_false(is_data_loading("DataLoader.__init__"));
    assert_false(is_data_loading("aten::data"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_are_told_by_their_names),
        cmocka_unit_test(operators_are_told_by_their_names),
        cmocka_unit_test(data_loading_has_many_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
