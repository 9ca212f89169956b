"""Traces of a training of the very model that a plan is of, with the plan's own times and, where asked for, one cause of more.

Operators have the shapes of a rank of the layout, kernels the names that such runs have; what a plan has in an account is
shared by the kernels that belong to it, matmuls and attention by their FLOPs.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from priced_trace import DEVICE, PricedTrace

BF16, FP8 = "c10::BFloat16", "c10::Float8_e4m3fn"
LAUNCH_STEP = 6000  # ns of the host from one launch to the next
COMMUNICATION, GRADIENTS = 20, 24  # streams
CHECKPOINT = "autograd::engine::evaluate_function: CheckpointFunctionBackward"
BACKWARD = "autograd::engine::evaluate_function: CompiledFunctionBackward"
STREAMING = ("triton_red_fused_rms_norm_0", "triton_poi_fused_silu_mul_1", "triton_poi_fused_add_2")


@dataclass
class Planned:
    """What a plan's JSON says, and the sizes of its model."""

    accounts: dict[str, int]
    sizes: dict[str, int]
    config: dict[str, int]

    def of(self, *keys: str) -> int:
        return sum(self.accounts.get(key, 0) for key in keys)


def read_planned(plan: Path, config: Path) -> Planned:
    sections = json.loads(plan.read_text())["ranks"][0]["sections"]
    rows = sections["plan_ledger"]["tables"]["accounts"]["rows"]
    numbers = {key: number["value"] for key, number in sections["plan"]["numbers"].items()}
    return Planned(
        {row["account_key"]: row["time"] for row in rows}, numbers, json.loads(config.read_text())
    )


@dataclass
class Fault:
    """How many times as long something takes, or ns that are added to a step."""

    matmuls: float = 1.0
    streaming: float = 1.0
    communication: float = 1.0
    optimizer: float = 1.0
    data: int = 0
    waiting: int = 0  # in a synchronization, between the backward and the optimizer
    launch: int = LAUNCH_STEP
    late: int = 0  # what other ranks wait for, in their last collective


class PlannedRun(PricedTrace):
    """One rank; `stage` of its pipeline, whose ends are shared by all stages as the plan's mean device has them."""

    def __init__(self, planned: Planned, fault: Fault, rank: int) -> None:
        super().__init__(random.Random(rank))
        self.planned, self.fault, self.rank = planned, fault, rank
        sizes, config = planned.sizes, planned.config
        self.tensor, self.stages = sizes["tp"], sizes["pp"]
        self.passes = sizes["global_batch"] // (sizes["dp"] * sizes["micro_batch"])
        self.batch, self.length = sizes["micro_batch"], sizes["seq"]
        self.layers = config["num_hidden_layers"] // self.stages
        self.per_flop = 0.0
        self.work: list[tuple[Any, ...]] = []
        self.external = 0

    def launch(self, name: str, length: int, stream: int = 7, **more: Any) -> None:
        """A kernel on `stream`; compute waits for communication, and that for compute, but for gradients."""
        self.correlation += 1
        self.add(
            "cuda_runtime",
            "cudaLaunchKernel",
            self.now + 1000,
            2000,
            correlation=self.correlation,
        )
        free = self.reduced if stream == GRADIENTS else self.device
        start = max(free, self.now + 4000)
        self.add(
            "kernel",
            name,
            start,
            length,
            **{"correlation": self.correlation, "device": 0, "stream": stream, **more},
        )["tid"] = stream
        if stream == GRADIENTS:
            self.reduced = start + length
        else:
            self.device = start + length
        self.now += self.fault.launch

    def collective(self, kind: str, group: str, ranks: int, length: int, stream: int) -> None:
        self.launch(
            f"ncclDevKernel_{kind}_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
            length,
            stream,
            **{
                "Collective name": {"AllReduce": "allreduce", "SendRecv": "recv"}[kind],
                "Process Group Name": group,
                "Group size": ranks,
                "Process Group Ranks": str(self.ranks_of(group, ranks)),
                "In msg nelems": 1 << 20,
                "Out msg nelems": 1 << 20,
                "dtype": "BFloat16",
            },
        )

    def ranks_of(self, group: str, ranks: int) -> list[int]:
        """Tensor ranks are neighbors, then data ranks, then stages."""
        apart = {"mesh_tp": 1, "mesh_dp": self.tensor}.get(
            group, self.tensor * self.planned.sizes["dp"]
        )
        first = self.rank - self.rank // apart % ranks * apart
        return [first + i * apart for i in range(ranks)]

    def product(self, m: int, k: int, n: int) -> None:  # type: ignore[override]
        is_low = self.planned.sizes["dtype"] == "fp8" and self.planned.config["vocab_size"] not in (
            n * self.tensor,
            k * self.tensor,
        )
        name, kind = ("aten::_scaled_mm", FP8) if is_low else ("aten::mm", BF16)
        self.op(name, [[m, k], [k, n]], [kind, kind], [])
        length = int(2 * m * k * n * self.per_flop * self.fault.matmuls)
        self.launch("nvjet_hsh_128x256_64x4_2x1_v_bz_coopA_TNT", length)

    def attention(self, is_backward: bool = False) -> None:
        config = self.planned.config
        heads = config["num_attention_heads"] // self.tensor
        size = config["hidden_size"] // config["num_attention_heads"]
        shape = [self.batch, heads, self.length, size]
        name = "aten::_scaled_dot_product_flash_attention"
        pairs = self.batch * heads * self.length * (self.length + 1) // 2
        flops = pairs * 4 * size * (2.5 if is_backward else 1)
        if is_backward:
            dims = [shape] * 5 + [[self.batch, heads, self.length]] + [[]] * 9
            inputs = ["", "", "", "", "", "", "", "", "", "", "0.", "True", "", "", ""]
            self.op(f"{name}_backward", dims, [BF16] * 5 + ["float"] + ["Scalar"] * 9, inputs)
        else:
            inputs = ["", "", "", "0.", "True", "False", ""]
            self.op(name, [shape] * 3 + [[]] * 4, [BF16] * 3 + ["Scalar"] * 4, inputs)
        length = int(flops * self.per_flop * self.fault.matmuls)
        way = "bwd" if is_backward else "fwd"
        self.launch(f"void flash_{way}_kernel<Flash_{way}_kernel_traits<128>>", length)

    def layer_sizes(self) -> list[tuple[int, int]]:
        """Columns into and out of the products of a layer on this rank."""
        config, tensor = self.planned.config, self.tensor
        hidden, feed = config["hidden_size"], config["intermediate_size"]
        head = hidden // config["num_attention_heads"]
        keys = config.get("num_key_value_heads", config["num_attention_heads"]) * head
        return [
            (hidden, (hidden + 2 * keys) // tensor),
            (hidden // tensor, hidden),
            (hidden, 2 * feed // tensor),
            (feed // tensor, hidden),
        ]

    def price(self) -> None:
        """What a FLOP takes, so that matmuls and attention have the plan's time: of the mean stage, all of it."""
        config, tokens = self.planned.config, self.batch * self.length
        head = config["hidden_size"] // config["num_attention_heads"]
        pairs = self.batch * config["num_attention_heads"] // self.tensor
        pairs *= self.length * (self.length + 1) // 2
        products = sum(k * n for k, n in self.layer_sizes()) * 6 * tokens
        layers = self.layers * (products + pairs * 4 * head * 3.5)
        logits = 6 * tokens * config["hidden_size"] * (config["vocab_size"] // self.tensor)
        whole = self.passes * (layers + logits / self.stages)
        sizes = self.planned.sizes
        self.is_recomputed = sizes["recompute"] == "full"
        if self.is_recomputed:
            whole += self.passes * self.layers * (products / 3 + pairs * 4 * head)
        time = self.planned.of("useful", "below_peak_rate", "tiles", "attention", "recompute")
        self.per_flop = (time - sizes["recompute_memory_bound"]) / whole

    def of_step(self, count: int, *keys: str) -> int:
        return self.planned.of(*keys) // count

    def stream_kernels(self, count: int, again: int = 0) -> None:
        length = self.of_step(self.passes * self.layers * 8, "memory_bound")
        if again:
            length = self.planned.sizes["recompute_memory_bound"] // (
                self.passes * self.layers * again
            )
        for i in range(count):
            self.op("aten::mul", [[self.batch * self.length, 64]], [BF16], [])
            self.launch(STREAMING[i % 3], int(length * self.fault.streaming))

    def exchange(self) -> None:
        """Four all-reduces of a layer, all exposed."""
        length = self.of_step(self.passes * self.layers * 4, "exposed_tensor")
        if self.tensor > 1:
            times = self.fault.communication
            self.collective("AllReduce", "mesh_tp", self.tensor, int(length * times), COMMUNICATION)

    def receive(self) -> None:
        """From the stage before, or behind: what of the bubble is in a pass, too."""
        length = self.of_step(self.passes * 2, "exposed_stages", "pipeline_bubble")
        if self.stages > 1:
            times = self.fault.communication
            self.collective("SendRecv", "mesh_pp", self.stages, int(length * times), COMMUNICATION)

    def compute_again(self) -> None:
        """A layer's forward, by a checkpoint's node of the backward."""
        tokens = self.batch * self.length
        node = self.add("cpu_op", CHECKPOINT, self.now, 0, **{"Sequence number": 5})
        for k, n in [*self.layer_sizes(), (0, 0)]:
            self.sequence += 1
            name = "aten::linear" if k else "aten::scaled_dot_product_attention"
            mark = self.add("cpu_op", name, self.now + 100, 0)
            mark["args"]["Sequence number"] = self.sequence
            if k:
                self.product(tokens, k, n)
            else:
                self.attention()
            mark["dur"] = (self.now - 200) / 1000 - mark["ts"]
        self.stream_kernels(3, again=3)
        node["dur"] = self.now / 1000 - node["ts"]
        self.now += 500

    def is_end(self) -> bool:
        """Ends have no stage of their own: one in as many passes as there are stages, so all have their mean."""
        self.ends += 1
        return self.ends % self.stages == 0

    def one_pass(self) -> None:
        config, tokens = self.planned.config, self.batch * self.length
        hidden, words = config["hidden_size"], config["vocab_size"]
        dims = [[words // self.tensor, hidden], [self.batch, self.length], [], [], []]
        has_ends = self.is_end()
        self.op("aten::embedding", dims, [BF16, "long int", "", "", ""], [])
        self.now += LAUNCH_STEP
        self.receive()
        for _ in range(self.layers):
            for k, n in self.layer_sizes():
                self.product(tokens, k, n)
            self.attention()
            self.stream_kernels(3)
            self.exchange()
            self.exchange()
        columns = words // self.tensor
        if has_ends:
            self.product(tokens, hidden, columns)
            self.product(tokens, columns, hidden)
            self.product(hidden, tokens, columns)
        self.receive()
        for _ in range(self.layers):
            if self.is_recomputed:
                self.compute_again()
            node = self.add("cpu_op", BACKWARD, self.now, 0, **{"Sequence number": 4})
            for k, n in self.layer_sizes():
                self.product(tokens, n, k)
                self.product(k, tokens, n)
            self.attention(is_backward=True)
            self.stream_kernels(5)
            node["dur"] = self.now / 1000 - node["ts"]
            self.exchange()
            self.exchange()

    def gradients(self) -> None:
        ranks = self.planned.sizes["dp"]
        exposed = self.of_step(1, "exposed_gradients", "exposed_weights")
        hidden = int(0.02 * self.planned.of("useful"))
        self.reduced = self.device - hidden
        times = self.fault.communication
        length = hidden + int(exposed * times) + self.fault.late
        if ranks > 1:
            self.collective("AllReduce", "mesh_dp", ranks, length, GRADIENTS)
            self.device = max(self.device, self.reduced)

    def step(self, number: int) -> None:
        start = self.now
        self.ends = 0
        if self.fault.data:
            name = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
            self.add("user_annotation", name, self.now, self.fault.data)
            self.now += self.fault.data
        for _ in range(self.passes):
            self.one_pass()
        self.gradients()
        self.wait(self.device + self.planned.sizes["step_end"] + self.fault.waiting)
        mark = self.add("user_annotation", "Optimizer.step#AdamW.step", self.now, 0)
        length = int(
            (self.of_step(1, "optimizer") - self.planned.sizes["step_end"]) * self.fault.optimizer
        )
        self.launch("multi_tensor_apply_kernel<FusedAdamMathFunctor>", length)
        mark["dur"] = (self.now - self.fault.launch + 4000) / 1000 - mark["ts"]
        self.wait(self.device)
        self.add("user_annotation", f"ProfilerStep#{number}", start, self.now - start)

    def wait(self, until: int) -> None:
        self.correlation += 1
        until = max(until, self.now + 1000)
        wait = {"correlation": self.correlation}
        self.add("cuda_runtime", "cudaDeviceSynchronize", self.now, until - self.now, **wait)
        self.now = until


def write_planned_run(
    path: Path,
    planned: Planned,
    fault: Fault,
    rank: int = 0,
    device: dict[str, Any] | None = None,
) -> None:
    sizes = planned.sizes
    run = PlannedRun(planned, fault, rank)
    run.price()
    for number in range(3):
        run.step(number)
    world = sizes["tp"] * sizes["pp"] * sizes["cp"] * sizes["dp"]
    whole = {
        "schemaVersion": 1,
        "deviceProperties": [DEVICE | (device or {})],
        "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": world},
        "traceEvents": run.events,
    }
    path.write_text(json.dumps(whole))
