"""Which rank this process is, and which parts of data, tensor and pipeline parallelism it holds."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any


@dataclass
class ParallelLayout:
    rank: int = 0
    world_size: int = 1
    local_rank: int = 0
    backend: str | None = None
    data: tuple[int, int] = (0, 1)  # (rank in it, its size)
    tensor: tuple[int, int] = (0, 1)
    pipeline: tuple[int, int] = (0, 1)
    source: str = "one process"  # what said so
    mesh: dict[str, int] = field(default_factory=dict)

    @property
    def folder_name(self) -> str:
        return f"rank{self.rank}_dp{self.data[0]}_tp{self.tensor[0]}_pp{self.pipeline[0]}"


def find_layout(parameters: Iterable[Any]) -> ParallelLayout:
    """`parameters`: of the model. Never makes anything communicate."""
    layout = ParallelLayout(
        rank=whole_number("RANK", 0),
        world_size=whole_number("WORLD_SIZE", 1),
        local_rank=whole_number("LOCAL_RANK", 0),
    )
    if layout.world_size > 1:
        layout.source = "environment"
    distributed = sys.modules.get("torch.distributed")
    if distributed and distributed.is_available() and distributed.is_initialized():
        layout.rank = distributed.get_rank()
        layout.world_size = distributed.get_world_size()
        layout.backend = str(distributed.get_backend())
        if layout.backend == "undefined":  # several, by device
            layout.backend = str(distributed.get_backend_config())
        layout.source = "torch.distributed"
    layout.data = (layout.rank, layout.world_size)
    if not take_from_megatron(layout):
        take_from_mesh(layout, parameters)
    return layout


def whole_number(name: str, otherwise: int) -> int:
    try:
        return int(os.environ.get(name, otherwise))
    except ValueError:
        return otherwise


def take_from_megatron(layout: ParallelLayout) -> bool:
    state = sys.modules.get("megatron.core.parallel_state")
    if state is None or not state.model_parallel_is_initialized():
        return False
    layout.data = (state.get_data_parallel_rank(), state.get_data_parallel_world_size())
    layout.tensor = (
        state.get_tensor_model_parallel_rank(),
        state.get_tensor_model_parallel_world_size(),
    )
    layout.pipeline = (
        state.get_pipeline_model_parallel_rank(),
        state.get_pipeline_model_parallel_world_size(),
    )
    layout.source = "Megatron"
    return True


def take_from_mesh(layout: ParallelLayout, parameters: Iterable[Any]) -> None:
    """FSDP2 and tensor parallelism keep parameters on a mesh of devices, whose dimensions may have names."""
    mesh = next((p.device_mesh for p in parameters if hasattr(p, "device_mesh")), None)
    if mesh is None or mesh.get_coordinate() is None:
        return
    names = mesh.mesh_dim_names or ("dp",) * mesh.ndim
    places = {"dp": (0, 1), "tp": (0, 1), "pp": (0, 1)}
    for name, rank, size in zip(names, mesh.get_coordinate(), tuple(mesh.shape)):
        layout.mesh[name] = size
        kind = "tp" if name.startswith(("tp", "tensor")) else "dp"
        kind = "pp" if name.startswith(("pp", "pipe")) else kind
        before, length = places[kind]
        places[kind] = (before * size + rank, length * size)
    layout.data, layout.tensor, layout.pipeline = places["dp"], places["tp"], places["pp"]
    layout.source = "device mesh"
