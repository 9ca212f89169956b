"""The programs of the benchmark, and what can make them slow. Each cause is a switch of `Traits`: the fix is to take it back."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from simulated_run import COLLECTIVES, COMPUTE, COPIES, MS, US, Simulation

# What an A100 reaches in practice, FLOP/s and bytes/s.
RATES = {"float": 0.75 * 19.5e12, "tf32": 0.65 * 156e12, "c10::BFloat16": 0.65 * 312e12}
MISALIGNED, BANDWIDTH = 0.35, 1.4e12
BYTES = {"float": 4, "tf32": 4, "c10::BFloat16": 2}


@dataclass(frozen=True)
class Traits:
    """Of a program that is as fast as it can be, where nothing is changed."""

    layers: int = 8
    rows: int = 8192
    width: int = 2048
    heads: int = 16
    host: int = 12 * US  # of an operator
    dtype: str = "c10::BFloat16"
    steps: int = 6
    loader: int = 0  # that the program waits for a batch
    items: int = 0  # .item() a layer
    python: int = 0  # Python between two layers
    small: int = 0  # pointwise kernels a layer in place of one fused
    parameters: int = 0  # tensors that the optimizer updates one by one
    attention: str = "flash"  # or "unfused"
    misaligned: bool = False
    pageable: int = 0  # bytes copied to the device at the start of each step
    pinned: int = 0
    reduced: int = 0  # that the gradients' all-reduce takes
    overlaps: bool = False  # it with backward
    mallocs: int = 0  # cudaMalloc and cudaFree a step
    leaked: int = (
        0  # times that the allocator finds no room, more in each step than in the one before
    )
    fragmented: int = (
        0  # cached blocks that are given back where no free one is large enough, a step
    )
    regions: bool = False  # layers are compiled, and calls of a layer are one launch of it
    breaks: int = 0  # Python between two compiled regions, at a graph break in each layer
    collected: int = 0  # garbage, a step
    outlier: int = 0  # one step takes so much longer
    calls: int = 0  # cudaDeviceSynchronize, by this many layers of a step
    vocabulary: int = 0  # a head of so many words
    recomputes: bool = False  # the forward of each layer again in backward
    evaluates: int = 0  # bytes copied back to the host after each step


class Program:
    def __init__(self, traits: Traits) -> None:
        self.traits = traits
        self.simulation = Simulation()
        self.sequence = 0

    def run(self) -> Simulation:
        for number in range(self.traits.steps):
            with self.simulation.step(number):
                self.run_step(number)
                self.run_backward()
        return self.simulation

    def run_step(self, number: int) -> None:
        t, s = self.traits, self.simulation
        if t.loader:
            name = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
            with s.inside("user_annotation", name):
                s.now += t.loader
        self.copy_batch()
        if t.outlier and number == t.steps // 2:
            s.now += t.outlier
        for each in range(t.mallocs):
            s.call("cudaMalloc" if each % 2 == 0 else "cudaFree", 400 * US)
        if t.collected:
            with s.inside("python_function", "<built-in function collect>"):
                s.now += t.collected
        for layer in range(t.layers):
            self.run_layer(1)
            if layer == t.layers // 2:  # where no room is left for what the layers keep
                self.run_out_of_memory(number)
            if layer < t.calls:
                s.wait("cudaDeviceSynchronize", (COMPUTE, COLLECTIVES))
        if t.vocabulary:
            self.matmul(t.rows, t.width, t.vocabulary, 1)

    def run_backward(self, updates: bool = True) -> None:
        t, s = self.traits, self.simulation
        ends = [s.free.get(COMPUTE, 0)]
        for layer in range(t.layers):
            if t.recomputes:
                name = "CheckpointFunctionBackward"
                node = f"autograd::engine::evaluate_function: {name}"
                with s.inside("cpu_op", node), s.inside("cpu_op", name):
                    self.run_layer(1)
            self.run_layer(2)
            if t.reduced and t.overlaps:
                ends.append(self.reduce(t.reduced // t.layers))
        if t.reduced and not t.overlaps:
            ends.append(self.reduce(t.reduced))
        s.free[COMPUTE] = max(s.free[COMPUTE], *ends)  # the optimizer awaits the gradients
        if updates:
            self.update()
        if t.evaluates:
            with s.inside("cpu_op", "aten::copy_"):
                length = int(t.evaluates / 20e9 * 1e9)
                name = "Memcpy DtoH (Device -> Pinned)"
                s.enqueue(name, length, COMPUTE, "gpu_memcpy", bytes=t.evaluates)
                s.wait("cudaStreamSynchronize")

    def run_out_of_memory(self, step: int) -> None:
        if self.traits.fragmented:
            self.flush_cache(self.traits.fragmented)
        for _ in range(self.traits.leaked * step):
            self.flush_cache(1)

    def flush_cache(self, blocks: int) -> None:
        """As PyTorch's allocator does where the device has no memory left: cudaMalloc fails, all that is free is given back, and it
        is tried again. The first cudaFree waits for the device."""
        s = self.simulation
        s.call("cudaMalloc", 50 * US)
        for block in range(blocks):
            if block == 0:
                s.wait("cudaFree")
            s.call("cudaFree", 200 * US)
        s.call("cudaMalloc", 400 * US)

    def copy_batch(self) -> None:
        t, s = self.traits, self.simulation
        for size, kind, rate in ((t.pageable, "Pageable", 4e9), (t.pinned, "Pinned", 24e9)):
            if not size:
                continue
            with s.inside("cpu_op", "aten::copy_"):
                name = f"Memcpy HtoD ({kind} -> Device)"
                length = int(size / rate * 1e9)
                stream = COMPUTE if kind == "Pageable" else COPIES
                s.enqueue(name, length, stream, "gpu_memcpy", bytes=size)
                if kind == "Pageable":
                    s.wait("cudaStreamSynchronize")

    def run_layer(self, times: int) -> None:
        """Forward; with `times` 2, backward: twice the matmuls."""
        t, s = self.traits, self.simulation
        if t.regions and times == 1:
            with s.inside("cpu_op", "Torch-Compiled Region: 0/0"):
                self.run_operators(times)
            s.now += t.breaks
        else:
            self.run_operators(times)

    def run_operators(self, times: int) -> None:
        t, s = self.traits, self.simulation
        self.matmul(t.rows, t.width, 3 * t.width, times)
        self.attend(times)
        self.matmul(t.rows, t.width, t.width, times)
        self.matmul(t.rows, t.width, 4 * t.width, times)
        self.pointwise()
        self.matmul(t.rows, 4 * t.width, t.width, times)
        for _ in range(t.items if times == 1 else 0):
            s.item()
        s.now += t.python

    def matmul(self, m: int, k: int, n: int, times: int) -> None:
        t = self.traits
        k += 1 if t.misaligned else 0
        is_fast = k % 8 == 0 and n % 8 == 0
        rate = RATES[t.dtype] * (1 if is_fast else MISALIGNED)
        length = max(2 * US, int(2 * m * k * n / rate * 1e9))
        kind = "float" if t.dtype == "tf32" else t.dtype
        kernel = {
            "float": "ampere_sgemm_128x64_nn",
            "tf32": "ampere_tf32_s1688gemm_128x128_ldg4_nn",
            "c10::BFloat16": "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_nn",
        }[t.dtype]
        s = self.simulation
        inputs = {"Input Dims": [[m, k], [k, n]], "Input type": [kind, kind]}
        if times == 1:  # forward, which notes what its backward will need
            self.sequence += 1
            numbers = {"Sequence number": self.sequence, "Fwd thread id": 0}
            weight = {"Input Dims": [[m, k], [n, k], []], "Input type": [kind, kind, ""]}
            with s.inside("cpu_op", "aten::linear", **weight, **numbers):
                s.op("aten::mm", t.host, [(kernel, length)], **inputs, **numbers)
            return
        node = "autograd::engine::evaluate_function: MmBackward0"
        with s.inside("cpu_op", node), s.inside("cpu_op", "MmBackward0"):
            for _ in range(times):
                s.op("aten::mm", t.host, [(kernel, length)], **inputs)

    def pointwise(self) -> None:
        """All of it as one fused kernel, or as a row of small ones."""
        t, s = self.traits, self.simulation
        kernel = "void at::native::vectorized_elementwise_kernel<4, at::native::GeluFunctor>"
        size = t.rows * t.width * 4 * BYTES[t.dtype]
        if not t.small:
            s.op("aten::gelu", t.host, [(kernel, max(2 * US, int(2 * size / BANDWIDTH * 1e9)))])
        for _ in range(t.small):
            s.op("aten::mul", t.host, [(kernel, 4 * US)])

    def attend(self, times: int) -> None:
        t, s = self.traits, self.simulation
        length, head = 1024, t.width // t.heads
        batch = max(1, t.rows // length)
        flops = 4 * batch * t.heads * length * length * head
        kind = (
            "c10::BFloat16"  # fused attention runs in 16 bits only, whatever the other matmuls do
        )
        rate = RATES[kind]
        if t.attention == "flash":
            shape = [batch, t.heads, length, head]
            for _ in range(times):
                s.op(
                    "aten::_flash_attention_forward",
                    t.host,
                    [
                        (
                            "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128>>",
                            int(flops / rate / 0.8 * 1e9),
                        )
                    ],
                    **{"Input Dims": [shape] * 3, "Input type": [kind] * 3},
                )
            return
        scores = batch * t.heads * length * length * BYTES[kind]
        gemm = "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_nn"
        softmax = "void (anonymous namespace)::softmax_warp_forward<c10::BFloat16, float, 10>"
        a, b = [batch * t.heads, length, head], [batch * t.heads, head, length]
        c = [batch * t.heads, length, length]
        for _ in range(times):
            part = [int(flops / 2 / rate * 1e9 + scores / BANDWIDTH * 1e9)]
            s.op(
                "aten::bmm",
                t.host,
                [(gemm, part[0])],
                **{"Input Dims": [a, b], "Input type": [kind] * 2},
            )
            shape = [batch, t.heads, length, length]
            time = int(2 * scores / BANDWIDTH * 1e9)
            s.op(
                "aten::_softmax",
                t.host,
                [(softmax, time)],
                **{"Input Dims": [shape, [], []], "Input type": [kind, "Scalar", "Scalar"]},
            )
            s.op(
                "aten::bmm",
                t.host,
                [(gemm, part[0])],
                **{"Input Dims": [c, a], "Input type": [kind] * 2},
            )

    def reduce(self, length: int) -> int:
        """The all-reduce waits for the gradients so far."""
        t, s = self.traits, self.simulation
        args = {
            "Collective name": "allreduce",
            "In msg nelems": 1 << 26,
            "dtype": "BFloat16",
            "Group size": 8,
        }
        with s.inside("cpu_op", "c10d::allreduce_"):
            s.now += t.host
            name = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
            return s.enqueue(name, length, COLLECTIVES, after=s.free.get(COMPUTE, 0), **args)

    def update(self) -> None:
        """One fused kernel, or some for each tensor."""
        t, s = self.traits, self.simulation
        with s.inside("user_annotation", "Optimizer.step#AdamW.step"):
            if not t.parameters:
                kernel = "void at::native::multi_tensor_apply_kernel<FusedAdamMathFunctor>"
                s.op("aten::_fused_adamw_", t.host, [(kernel, 500 * US)])
            for _ in range(t.parameters):
                for name in ("aten::mul_", "aten::lerp_", "aten::addcmul_", "aten::addcdiv_"):
                    kernel = "void at::native::vectorized_elementwise_kernel<4, at::native::AUnaryFunctor>"
                    s.op(name, t.host // 2, [(kernel, 5 * US)])


@dataclass(frozen=True)
class Case:
    name: str
    causes: tuple[str, ...]  # keys of README.md's table: any of them is right
    fix: str  # in words
    slow: Traits
    fixed: Traits


LARGE = Traits()
SMALL = Traits(layers=12, rows=2048, width=1024, heads=16)
TINY = Traits(layers=6, rows=512, width=512, heads=8)


def cases() -> list[Case]:
    found = []

    def add(
        name: str,
        cause: str,
        fix: str,
        base: Traits,
        *,
        fixed: dict[str, Any] | None = None,
        **slow: Any,
    ) -> None:
        causes, fast = tuple(cause.split()), replace(base, **(fixed or {}))
        found.append(Case(name, causes, fix, replace(base, **slow), fast))

    for size, base in (("large", LARGE), ("small", SMALL)):
        is_large = size == "large"
        for loader in (8, 30):
            fix = "more workers: the batch is there"
            add(f"loader_{loader}ms_{size}", "data_loading", fix, base, loader=loader * MS)
        python = 15 * MS if is_large else 900 * US
        add(f"python_{size}", "python_code", "that work out of the loop", base, python=python)
        reduced = (12 if is_large else 5) * MS
        fixed = {"reduced": reduced, "overlaps": True}
        add(
            f"reduce_{size}",
            "exposed_communication",
            "overlap with backward",
            base,
            reduced=reduced,
            fixed=fixed,
        )
        add(
            f"pageable_{size}",
            "pageable_copies",
            "pinned memory, non_blocking=True",
            base,
            pageable=80_000_000,
            fixed={"pinned": 80_000_000},
        )
        add(f"copies_back_{size}", "exposed_copies", "copies left out", base, evaluates=200_000_000)
        add(f"malloc_{size}", "allocator", "a cache that is not emptied", base, mallocs=30)
        fix = "references to old losses dropped"
        add(f"leak_{size}", "allocator", fix, base, leaked=4 if is_large else 2)
        fix = "expandable segments"
        add(f"fragmented_{size}", "allocator", fix, base, fragmented=60 if is_large else 40)
        breaks, compiled = (5 * MS if is_large else 700 * US), replace(base, regions=True)
        fix = "no graph breaks"
        add(f"graph_breaks_{size}", "python_code", fix, compiled, breaks=breaks)
        add(f"collect_{size}", "garbage_collection", "gc.freeze()", base, collected=20 * MS)
        fix = "scaled_dot_product_attention"
        add(f"attention_{size}", "unfused_attention", fix, base, attention="unfused")
        add(f"fp32_{size}", "tf32_not_used", "TF32", base, dtype="float", fixed={"dtype": "tf32"})
        add(f"tf32_{size}", "half_not_used", "bf16 autocast", base, dtype="tf32")
        add(f"checkpointing_{size}", "recomputation", "no checkpointing", base, recomputes=True)
        fixed = {"vocabulary": 50304}
        fix = "a vocabulary padded to 50304"
        add(f"vocabulary_{size}", "misaligned_shapes", fix, base, vocabulary=50257, fixed=fixed)
        fix = "the slow step is as the others"
        add(f"outlier_{size}", "step_outliers python_code", fix, base, outlier=200 * MS)
        add(f"optimizer_{size}", "unfused_optimizer", "fused=True", base, parameters=600)
    add(
        "misaligned_all",
        "misaligned_shapes",
        "sizes padded to multiples of 8",
        SMALL,
        misaligned=True,
    )
    eager = replace(SMALL, rows=1024, host=20 * US)
    add("item_loop", "synchronisation", "no .item() in the loop over layers", eager, items=3)
    add("synchronize_loop", "synchronisation", "no synchronize() after layers", eager, calls=12)
    for layers in (6, 24):
        tiny = replace(TINY, layers=layers)
        fix = "a CUDA graph: nearly no host time"
        add(f"launches_{layers}", "launch_bound", fix, tiny, host=30 * US, fixed={"host": US // 10})
    for small in (20, 60):
        queued = replace(SMALL, host=US)
        add(f"small_kernels_{small}", "small_kernels", "one fused kernel", queued, small=small)
    return found


def run(traits: Traits) -> Simulation:
    return Program(traits).run()
