"""How the generations of PyTorch write a trace, and what they can say."""

from __future__ import annotations

from dataclasses import dataclass, field

import event_names
import trace_event as te


@dataclass(frozen=True)
class Style:
    name: str
    summary: str
    categories: dict[str, str]
    grain: int = 1  # ns; 1000 where times are whole microseconds
    is_relative: bool = False  # times count from baseTimeNanoseconds
    is_base_time_last: bool = False  # baseTimeNanoseconds stands behind the events
    is_bare_array: bool = False
    has_annotations: bool = True
    has_python: bool = True
    has_collective_metadata: bool = True
    has_begin_end: bool = False  # host events as pairs of B and E
    calls: dict[str, list[str]] = field(default_factory=lambda: event_names.CUDA_CALLS)
    driver_calls: dict[str, list[str]] = field(default_factory=dict)
    external_id: str = "External id"
    input_dims: str = "Input Dims"
    compiles: bool = False  # code is compiled in the steps
    layout: str = "compact"  # compact: several keys a line; lines: one key a line

    def host_accounts(self) -> list[str]:
        """The idle accounts with a host activity that this style can show."""
        accounts = ["idle_data", "idle_sync", "idle_allocator", "idle_runtime", "idle_operator"]
        if self.compiles:
            accounts.append("idle_compilation")
        if self.has_annotations:
            accounts.append("idle_annotation")
        if self.has_python:
            accounts += ["idle_python", "idle_garbage"]
        return [*accounts, "idle_nothing"]


OLD_CATEGORIES = {
    te.OPERATOR: "Operator",
    te.ANNOTATION: "Operator",
    te.RUNTIME: "Runtime",
    te.KERNEL: "Kernel",
    te.MEMCPY: "Memcpy",
    te.MEMSET: "Memset",
    te.SPAN: "Trace",
    te.FLOW: "async",
    te.FORWARD_BACKWARD: "forward_backward",
}
CATEGORIES = {
    te.OPERATOR: "cpu_op",
    te.ANNOTATION: "user_annotation",
    te.PYTHON: "python_function",
    te.RUNTIME: "cuda_runtime",
    te.DRIVER: "cuda_driver",
    te.OVERHEAD: "overhead",
    te.KERNEL: "kernel",
    te.MEMCPY: "gpu_memcpy",
    te.MEMSET: "gpu_memset",
    te.DEVICE_ANNOTATION: "gpu_user_annotation",
    te.SPAN: "Trace",
    te.FLOW: "ac2g",
    te.FORWARD_BACKWARD: "fwdbwd",
}
CATEGORIES_1_13 = CATEGORIES | {te.FLOW: "async_cpu_to_gpu"}

STYLES = {
    style.name: style
    for style in (
        Style(
            "torch1.8",
            "categories Operator, Kernel, Runtime; whole microseconds since 1970",
            OLD_CATEGORIES,
            grain=1000,
            has_annotations=False,
            has_python=False,
            has_collective_metadata=False,
            external_id="external id",
            input_dims="Input dims",
        ),
        Style(
            "torch1.13",
            "today's categories, whole microseconds since 1970",
            CATEGORIES_1_13,
            grain=1000,
            has_collective_metadata=False,
        ),
        Style(
            "torch2",
            "one key a line, microseconds with decimals, counted from baseTimeNanoseconds",
            CATEGORIES,
            is_relative=True,
            driver_calls=event_names.CUDA_DRIVER_CALLS,
            layout="lines",
        ),
        Style(
            "torch2.0",
            "microseconds with decimals since 1970: more digits than a double holds",
            CATEGORIES,
            driver_calls=event_names.CUDA_DRIVER_CALLS,
        ),
        Style("array", "a bare array of events", CATEGORIES, is_relative=True, is_bare_array=True),
        Style(
            "begin_end",
            "host events as pairs of B and E",
            CATEGORIES,
            is_relative=True,
            has_begin_end=True,
        ),
        Style(
            "rocm",
            "HIP's names for calls; baseTimeNanoseconds stands behind the events",
            CATEGORIES,
            is_relative=True,
            is_base_time_last=True,
            calls=event_names.HIP_CALLS,
            layout="lines",
        ),
    )
}
