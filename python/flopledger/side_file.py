"""What capture.json says of a run beside its traces; docs/formats/capture.md describes each field."""

from __future__ import annotations

import json
import os
import platform
import re
import socket
import sys
from collections.abc import Hashable, Iterable, Mapping
from typing import Any

from flopledger.allocator_history import cuda_in_use
from flopledger.models import Model, NamedModule
from flopledger.parallel_layout import ParallelLayout
from flopledger.parameters import FlatParts, all_parameters, flat_parts, own_parameters
from flopledger.processor import derived_peak
from flopledger.version import VERSION

SECRET = re.compile(
    r"token(?!i[sz]|s)|secret|passw|passphrase|credential|api[_-]?key|access[_-]?key|auth(?!or)",
    re.I,
)
ENVIRONMENT_THAT_MATTERS = re.compile(
    r"(CUDA|NCCL|TORCH|TORCHINDUCTOR|PYTORCH|TRITON|OMP|MKL|KMP|GLOO|NVTE|ROCR?|HIP|HSA|RCCL|UCX|ACCELERATE|FSDP)_\w+"
    r"|RANK|WORLD_SIZE|LOCAL_RANK|LOCAL_WORLD_SIZE|GROUP_RANK|SLURM_(JOB_ID|NNODES|NTASKS|PROCID)"
)
LIBRARIES = (
    "torch numpy transformers accelerate lightning pytorch_lightning deepspeed megatron.core peft "
    "flash_attn xformers transformer_engine triton apex"
).split()


def describe_module_parameters(
    named: NamedModule, first_names: dict[Hashable, str], parts: FlatParts
) -> list[dict[str, Any]]:
    """Its own parameters. `first_names` has the keys of those seen before, under their first names; adds these."""
    described = []
    for parameter in own_parameters(named.module, parts):
        full = f"{named.name}.{parameter.name}" if named.name else parameter.name
        entry: dict[str, Any] = {
            "name": parameter.name,
            "shape": list(parameter.shape),
            "dtype": dtype_name(parameter.dtype),
            "frozen": not parameter.is_trained,
        }
        if parameter.local_shape is not None:
            entry["local_shape"] = list(parameter.local_shape)
        if parameter.key in first_names:
            entry["shared_with"] = first_names[parameter.key]
        first_names.setdefault(parameter.key, full)
        described.append(entry)
    return described


def dtype_name(dtype: Any) -> str:
    return str(dtype).removeprefix("torch.")


def extra_repr(module: Any) -> str:
    try:
        return str(module.extra_repr())
    except Exception:  # the program's code
        return ""


def describe_config(root: Any, own_class: str) -> dict[str, Any] | None:
    """What a model of transformers says of its sizes, as in its config.json; None for any other model."""
    try:
        config = root.config.to_dict()
        plain = json.loads(json.dumps(config, default=str, allow_nan=False))
    except Exception:  # no such model, or its own code
        return None
    if not isinstance(plain, dict) or not isinstance(plain.get("model_type"), str):
        return None
    sizes = {
        key: value
        for key, value in plain.items()
        if not key.startswith("_") and not SECRET.search(key)
    }
    if not sizes.get("architectures"):
        sizes["architectures"] = [own_class]
    return sizes


def describe_model(model: Model) -> dict[str, Any]:
    from flopledger.models import class_name

    parts = flat_parts(model.top)
    first_names: dict[Hashable, str] = {}
    modules = []
    for named in model.modules:
        if not named.is_marked and any(
            other.name == named.name and other.is_marked for other in model.modules
        ):
            modules = [entry for entry in modules if entry["name"] != named.name]
        modules.append(
            {
                "name": named.name,
                "mark": model.mark_of(named.name),
                "class": class_name(named.module),
                "extra_repr": extra_repr(named.module),
                "training": bool(named.module.training),
                "parameters": describe_module_parameters(named, first_names, parts),
                **({"aliases": [*map(model.mark_of, named.aliases)]} if named.aliases else {}),
            }
        )
    unique = list(all_parameters(model.root, parts))
    return {
        "class": model.name,
        "wrappers": model.wrappers,
        "config": describe_config(model.root, class_name(model.root)),
        "parameters": sum(each.size for each in unique),
        "trainable_parameters": sum(each.size for each in unique if each.is_trained),
        "modules": modules,
    }


def state_bytes(optimizer: Any) -> int:
    total = 0
    for state in optimizer.state.values():
        if isinstance(state, Mapping):
            for value in state.values():
                if hasattr(value, "element_size"):
                    value = getattr(value, "_local_tensor", value)
                    total += value.numel() * value.element_size()
    return total


def describe_optimizer(optimizer: Any) -> dict[str, Any]:
    groups = optimizer.param_groups
    simple = (bool, int, float, str, type(None))
    settings = {
        key: value
        for key, value in (groups[0] if groups else {}).items()
        if key != "params" and isinstance(value, simple)
    }
    return {
        "class": type(optimizer).__name__,
        "parameter_groups": len(groups),
        "parameters": sum(p.numel() for group in groups for p in group["params"]),
        "state_bytes": state_bytes(optimizer),
        "settings": settings,
    }


def describe_precision(models: Iterable[Model], autocast: str | None) -> dict[str, Any]:
    import torch

    counts: dict[str, int] = {}
    for model in models:
        for parameter in all_parameters(model.root, flat_parts(model.top)):
            name = dtype_name(parameter.dtype)
            counts[name] = counts.get(name, 0) + parameter.size
    return {
        "parameters": counts,
        "autocast": autocast,
        "float32_matmul": torch.get_float32_matmul_precision(),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
    }


def describe_layout(layout: ParallelLayout) -> dict[str, Any]:
    return {
        "rank": layout.rank,
        "world_size": layout.world_size,
        "local_rank": layout.local_rank,
        "backend": layout.backend,
        "data": {"rank": layout.data[0], "size": layout.data[1]},
        "tensor": {"rank": layout.tensor[0], "size": layout.tensor[1]},
        "pipeline": {"rank": layout.pipeline[0], "size": layout.pipeline[1]},
        "mesh": layout.mesh,
        "source": layout.source,
    }


def describe_hardware() -> dict[str, Any]:
    import torch

    hardware: dict[str, Any] = {
        "host": socket.gethostname(),
        "processor": processor_name(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "torch_threads": torch.get_num_threads(),
        "processor_peak": derived_peak(torch.get_num_threads()),
        "devices": [],
    }
    cuda = cuda_in_use()
    if cuda is not None:
        current = cuda.current_device()
        for index in range(cuda.device_count()):
            properties = cuda.get_device_properties(index)
            hardware["devices"].append(
                {
                    "index": index,
                    "name": properties.name,
                    "memory_bytes": properties.total_memory,
                    "multiprocessors": properties.multi_processor_count,
                    "is_used_by_this_rank": index == current,
                }
            )
    return hardware


def processor_name() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            for line in lines:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.machine()


def describe_versions() -> dict[str, str | None]:
    """Of what the program has imported; nothing is imported for this."""
    import torch

    versions: dict[str, str | None] = {"python": platform.python_version()}
    for name in LIBRARIES:
        version = getattr(sys.modules.get(name), "__version__", None)
        if version is not None:
            versions[name] = str(version)
    versions["cuda"] = torch.version.cuda
    versions["system"] = f"{platform.system()} {platform.release()}"
    versions["flopledger"] = VERSION
    return versions


def without_secrets(words: list[str]) -> list[str]:
    """A command line, without the values of options whose names speak of secrets, nor passwords in addresses."""
    safe: list[str] = []
    hides_next = False
    for word in words:
        if hides_next and not word.startswith("-"):
            safe.append("(hidden)")
            hides_next = False
            continue
        name, equals, _ = word.partition("=")
        hides_next = word.startswith("-") and not equals and bool(SECRET.search(name))
        if equals and SECRET.search(name):
            word = f"{name}=(hidden)"
        safe.append(re.sub(r"://[^/@\s]+@", "://(hidden)@", word))
    return safe


def describe_environment(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    return {
        name: re.sub(r"://[^/@\s]+@", "://(hidden)@", environment[name])
        for name in sorted(environment)
        if ENVIRONMENT_THAT_MATTERS.fullmatch(name) and not SECRET.search(name)
    }


def describe_command() -> dict[str, Any]:
    return {
        "words": without_secrets(list(getattr(sys, "orig_argv", sys.argv))),
        "folder": os.getcwd(),
    }
