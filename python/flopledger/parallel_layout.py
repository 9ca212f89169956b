"""Which rank this process is, and which parts of data, tensor and pipeline parallelism it holds."""

from __future__ import annotations

import functools
import gc
import math
import os
import sys
from collections.abc import Callable, Iterable, Mapping
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


# Who tells a process its rank and their number where torch.distributed does not: torchrun and those like it, Slurm, MPI.
LAUNCHERS = (
    ("RANK", "WORLD_SIZE", "LOCAL_RANK"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"),
    ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"),
    ("SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"),
)


def find_layout(parameters: Iterable[Any]) -> ParallelLayout:
    """`parameters`: of the model. Never makes anything communicate."""
    layout = layout_of_environment(os.environ)
    distributed = sys.modules.get("torch.distributed")
    if distributed and distributed.is_available() and distributed.is_initialized():
        layout.rank = distributed.get_rank()
        layout.world_size = distributed.get_world_size()
        layout.backend = str(distributed.get_backend())
        if layout.backend == "undefined":  # several, by device
            layout.backend = str(distributed.get_backend_config())
        layout.source = "torch.distributed"
    layout.data = (layout.rank, layout.world_size)
    if not take_from_megatron(layout) and not take_from_internevo(layout):
        take_from_mesh(layout, parameters)
    return layout


def layout_of_environment(environment: Mapping[str, str]) -> ParallelLayout:
    """Of the first launcher that says both a rank and how many there are."""
    for rank, size, local in LAUNCHERS:
        numbers = [environment.get(name, "") for name in (rank, size, local)]
        if numbers[0].isdecimal() and numbers[1].isdecimal() and int(numbers[1]) > 1:
            return ParallelLayout(
                rank=int(numbers[0]),
                world_size=int(numbers[1]),
                local_rank=int(numbers[2]) if numbers[2].isdecimal() else 0,
                source="environment",
            )
    return ParallelLayout()


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


def take_from_internevo(layout: ParallelLayout) -> bool:
    """InternEvo, and what goes by its context of process groups: InternLM's training code."""
    context = sys.modules.get("internlm.core.context")
    groups = getattr(context, "global_context", None)
    modes = getattr(context, "ParallelMode", None)
    if groups is None or modes is None or not groups.is_initialized(modes.GLOBAL):
        return False

    def place_in(mode: Any) -> tuple[int, int]:
        if not groups.is_initialized(mode):
            return 0, 1
        return groups.get_local_rank(mode), groups.get_world_size(mode)

    layout.data = place_in(modes.DATA)
    layout.tensor = place_in(modes.TENSOR)
    layout.pipeline = place_in(modes.PIPELINE)
    layout.source = "InternEvo"
    return True


def take_from_mesh(layout: ParallelLayout, parameters: Iterable[Any]) -> None:
    """FSDP2 and tensor parallelism keep parameters on a mesh of devices; others make one for their process groups only."""
    held = next((p.device_mesh for p in parameters if hasattr(p, "device_mesh")), None)
    mesh = whole_mesh(held) if held is not None else largest_mesh(layout.world_size)
    coordinate = mesh.get_coordinate() if mesh is not None else None
    if mesh is None or coordinate is None:
        return
    names = mesh.mesh_dim_names or ("dp",) * mesh.ndim
    places = {"dp": (0, 1), "tp": (0, 1), "pp": (0, 1)}
    for name, rank, size in zip(names, coordinate, tuple(mesh.shape)):
        layout.mesh[name] = size
        before, length = places[kind_of_dimension(name)]
        places[kind_of_dimension(name)] = (before * size + rank, length * size)
    layout.data, layout.tensor, layout.pipeline = places["dp"], places["tp"], places["pp"]
    layout.source = "device mesh"


def kind_of_dimension(name: str) -> str:
    """Replicas, shards, experts and parts of a sequence all see data of their own: they count as data parallelism."""
    if name.startswith(("tp", "tensor")):
        return "tp"
    return "pp" if name.startswith(("pp", "pipe")) else "dp"


def whole_mesh(mesh: Any) -> Any:
    """The mesh that `mesh` was cut out of; torch has named the way there in several ways."""
    module = sys.modules.get("torch.distributed.device_mesh")
    resources = getattr(module, "_mesh_resources", None)
    ways = (
        getattr(mesh, "_get_root_mesh", None),
        partial_or_none(getattr(resources, "get_root_mesh", None), mesh),
        partial_or_none(getattr(resources, "get_parent_mesh", None), mesh),
    )
    for way in ways:
        if way is not None:
            return way() or mesh
    return mesh


def partial_or_none(function: Callable[..., Any] | None, argument: Any) -> Callable[[], Any] | None:
    return None if function is None else functools.partial(function, argument)


def largest_mesh(world_size: int) -> Any:
    """Of those alive that hold all ranks and name their dimensions, the one of most dimensions; None without any."""
    module = sys.modules.get("torch.distributed.device_mesh")
    kind = getattr(module, "DeviceMesh", None)
    if kind is None or world_size == 1:
        return None
    meshes = [
        thing
        for thing in gc.get_objects()
        if issubclass(type(thing), kind)
        and thing.mesh_dim_names
        and math.prod(thing.shape) == world_size
    ]
    return max(meshes, key=lambda mesh: mesh.ndim, default=None)
