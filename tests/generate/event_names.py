"""Names that profilers give to events, by what the ledger makes of them."""

from __future__ import annotations

MATRIX_OPERATORS = [
    "aten::addmm",
    "aten::mm",
    "aten::bmm",
    "aten::cudnn_convolution",
    "aten::convolution_backward",
    "aten::_scaled_dot_product_flash_attention",
]
OTHER_OPERATORS = [
    "aten::add_",
    "aten::native_layer_norm",
    "aten::_softmax",
    "aten::mul",
    "aten::sum",
    "aten::embedding",
    "aten::copy_",
    "mylib::do_something",
]
OUTER_OPERATORS = [
    "aten::linear",
    "autograd::engine::evaluate_function: AddmmBackward0",
    "autograd::engine::evaluate_function: MulBackward0",
    "torch::jit::interpreter",
    "aten::to",
]
# Matrix work by their own names, whoever launched them.
MATRIX_KERNELS = [
    "ampere_fp16_s16816gemm_fp16_128x64_ldg8_f2f_stages_64x4_tn",
    "volta_sgemm_128x64_tn",
    "void flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4, false> >(Flash_fwd_params)",
    "nvjet_hsh_128x256_64x4_2x1_v_bz_coopA_NNT",
    "Cijk_Ailk_Bljk_HHS_BH_MT128x128x32_MI32x32x8x1",
]
# No matrix work by their own names.
OTHER_KERNELS = [
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
    "at::detail::Array<char*, 3> >(int, at::native::CUDAFunctor_add<float>)",
    "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float> >(at::native::ReduceOp<float>)",
    "void (anonymous namespace)::softmax_warp_forward<float, float, float, 8, true, false>(float*)",
    "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<TensorListMetadata<4> >(int)",
    "triton_poi_fused_add_relu_0",
    "kernel_without_a_telling_name",
]
# Communication by their names.
COMMUNICATION_KERNELS = [
    "ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)",
    "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
    "ncclDevKernel_Generic_4(ncclDevKernelArgsStorage<4096ul>)",
    "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 2>(vllm::RankData*)",
]
# Communication only by their metadata.
PLAIN_COLLECTIVE_KERNEL = "ring_exchange_kernel(float*, int)"

DATA_RANGES = [
    "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
    "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
]
DATA_RANGES_SINCE_ANNOTATIONS = ["enumerate(DataPipe)#MapperIterDataPipe", "## next ##"]
OPERATORS = ["aten::empty", "aten::view", "aten::slice", "aten::stack", "aten::item", "aten::to"]
ANNOTATIONS = ["forward", "save checkpoint", "Optimizer.step#AdamW.step", "DDP forward", "evaluate"]
OPTIMIZER_MARK = "Optimizer.step#SGD.step"
PYTHON_FUNCTIONS = [
    "train.py(120): train_one_step",
    "nn.Module: Linear_3",
    "<built-in method zeros of type object at 0x7f31>",
    "torch/optim/adamw.py(151): step",
]
GARBAGE_COLLECTIONS = ["<built-in method collect of module object at 0x7fb0>", "Python GC"]
COMPILATIONS = [  # of torch.compile, JAX and XLA
    "_compile.compile_inner (dynamo_timed)",
    "compile_fx_inner (dynamo_timed)",
    "CachingAutotuner.benchmark_all_configs (dynamo_timed)",
    "entire_frame_compile",
    "inductor_compile",
    "backend_compile_and_load",
    "lower_sharding_computation",
    "PjRtCpuClient::Compile",
]
# To whoever looks for the beginning of an event in the middle of a file.
MISLEADING_STACK = (
    'train.py(3): f;a.py(1): }, {"ph": "X", "cat": "kernel", "name": "x", "pid": 0, "tid": 7}, {"ph'
)
OVERHEADS = ["CUPTI Activity Buffer Request", "Instrumentation"]

CUDA_CALLS = {
    "sync": [
        "cudaStreamSynchronize",
        "cudaDeviceSynchronize",
        "cudaEventSynchronize",
        "cudaMemcpy",
    ],
    "allocator": [
        "cudaMalloc",
        "cudaFree",
        "cudaHostAlloc",
        "cudaMallocHost",
        "cudaMallocAsync",
        "cuMemAlloc_v2",
        "cuMemAddressFree",
    ],
    "runtime": [
        "cudaEventRecord",
        "cudaStreamWaitEvent",
        "cudaFuncSetAttribute",
        "cudaStreamIsCapturing",
        "cudaEventQuery",
        "cudaLaunchKernel",
    ],
    "launch kernel": ["cudaLaunchKernel", "cudaLaunchKernelExC"],
    "launch copy": ["cudaMemcpyAsync"],
    "launch memset": ["cudaMemsetAsync"],
    "launch graph": ["cudaGraphLaunch"],
}
CUDA_DRIVER_CALLS = {
    "sync": ["cuStreamSynchronize", "cuCtxSynchronize"],
    "allocator": ["cuMemCreate", "cuMemMap"],
    "runtime": ["cuEventRecord", "cuModuleLoadData"],
    "launch kernel": ["cuLaunchKernel", "cuLaunchKernelEx"],
}
HIP_CALLS = {
    "sync": ["hipStreamSynchronize", "hipDeviceSynchronize", "hipMemcpyWithStream"],
    "allocator": ["hipMalloc", "hipFree", "hipHostMalloc"],
    "runtime": ["hipEventRecord", "hipStreamWaitEvent", "hipGetDevicePropertiesR0600"],
    "launch kernel": ["hipLaunchKernel", "hipExtModuleLaunchKernel", "hipModuleLaunchKernel"],
    "launch copy": ["hipMemcpyAsync"],
    "launch memset": ["hipMemsetAsync"],
    "launch graph": ["hipGraphLaunch"],
}

INPUT_COPIES = ["Memcpy HtoD (Pinned -> Device)", "Memcpy HtoD (Pageable -> Device)"]
OTHER_COPIES = ["Memcpy DtoD (Device -> Device)", "Memcpy DtoH (Device -> Pinned)"]
MEMSET = "Memset (Device)"
