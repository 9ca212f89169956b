"""Cases of stumbling_blocks.py: Perfetto's packets as recorders of AMD's devices and Proton write them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from perfetto_file import protos
from recorder_formats import report_of, rows, run
from stumbling_case import Case, same

CLEARED, NEEDED = 1, 2
BEGIN, END = 1, 2


class Packets:
    """Packets of Perfetto by the real classes."""

    def __init__(self) -> None:
        self.trace = protos.Trace()

    def add(self, sequence: int = 1, **fields: Any) -> Any:
        packet = self.trace.packet.add()
        packet.trusted_packet_sequence_id = sequence
        for key, number in fields.items():
            setattr(packet, key, number)
        return packet

    def thread(self, uuid: int, pid: int = 50, tid: int = 50) -> None:
        descriptor = self.add().track_descriptor
        descriptor.uuid, descriptor.thread.pid, descriptor.thread.tid = uuid, pid, tid

    def half(self, kind: int, time: int, track: int, name: str = "", category: str = "") -> Any:
        packet = self.add(timestamp=time)
        event = packet.track_event
        event.type, event.track_uuid = kind, track
        if name:
            event.name = name
        if category:
            event.categories.append(category)
        return packet

    def slice(self, times: tuple[int, int], track: int, name: str, category: str) -> None:
        self.half(BEGIN, times[0], track, name, category)
        self.half(END, times[1], track)

    def stage(self, start: int, length: int, name: str, **fields: int) -> Any:
        packet = self.add(timestamp=start)
        stage = packet.gpu_render_stage_event
        stage.duration = length
        if name:
            stage.name = name
        for key, number in fields.items():
            setattr(stage, key, number)
        return packet

    def write(self, path: Path) -> Path:
        path.write_bytes(self.trace.SerializeToString())
        return path


ROCPROF_TRACKS = (
    ("COMPUTE AGENT [{}] STREAM [{}] (GPU)", "COPY to AGENT [{}] STREAM [{}] ({})"),
    ("COMPUTE Agent [{}] QUEUE [{}] GPU", "COPY to AGENT [{}] THREAD [{}] ({})"),
    ("COMPUTE GPU [{}] QUEUE [{}] GPU", "COPY to AGENT [{}] THREAD [{}] ({})"),
)


def perfetto_of_rocprofv3_has_places_in_names(case: Case) -> None:
    """Of devices and streams, by the words of its version and options; copies to the host are of a device, too."""
    for compute, copy in ROCPROF_TRACKS:
        made, uuids = Packets(), {}
        made.thread(1)
        at, call = 1000, 0
        for agent in (4, 5):
            for name, category, track, source in (
                ("gemm", "kernel_dispatch", compute.format(agent, 1), 0),
                ("add", "kernel_dispatch", compute.format(agent, 2), 0),
                ("MEMORY_COPY_HOST_TO_DEVICE", "memory_copy", copy.format(agent, 1, "GPU"), 0),
                ("MEMORY_COPY_DEVICE_TO_HOST", "memory_copy", copy.format(0, 1, "CPU"), agent),
            ):
                if track not in uuids:
                    descriptor = made.add().track_descriptor
                    uuids[track] = descriptor.uuid = 100 + len(uuids)
                    descriptor.name = track
                at, call = at + 1000, call + 1
                begin = made.half(BEGIN, at, 1, "hipLaunchKernel", "hip_api").track_event
                begin.flow_ids.append(call)
                made.half(END, at + 10, 1)
                begin = made.half(BEGIN, at + 100, uuids[track], name, category).track_event
                begin.flow_ids.append(call)
                own = {"src_agent": f"Agent-{source}", "copy_bytes": 64}
                for key, value in {"corr_id": call, **own}.items():
                    argument = begin.debug_annotations.add()
                    argument.name = key
                    if isinstance(value, str):
                        argument.string_value = value
                    else:
                        argument.uint_value = value
                made.half(END, at + 600, uuids[track])
        path = made.write(case.folder / "a.pftrace")
        _, out, _ = run(case.program, "inspect", "--json", path)
        sections = json.loads(out)["ranks"][0]["sections"]
        found = {(row["number"], row["events"]) for row in rows(sections["devices"], "devices")}
        same(found, {(4, 4), (5, 4)})
        told = case.printed(path)
        same("recorder rocprofv3" in told and "without a launch call" not in told, True)
        same("device 4, stream 1" in told and "device 5, stream 2" in told, True)
        _, ranks = report_of(case.program, path)
        found = {
            (row["kind"], row["count"], row["bytes"])
            for row in rows(ranks[0]["sections"]["copies"], "by_kind")
        }
        names = ("Memcpy HtoD (Host -> Device)", "Memcpy DtoH (Device -> Host)")
        same(found, {(name, 1, 64) for name in names})


def perfetto_of_rocprofv3_has_streams_alone(case: Case) -> None:
    """Since ROCm 7: devices are told by arguments, of streams that devices share, too; without these they are one device."""
    for name in ("STREAM [{}]", 'STREAM [" {} "] '):
        for has_agents in (True, False):
            made = Packets()
            made.thread(1)
            for stream in range(3):
                descriptor = made.add().track_descriptor
                descriptor.uuid, descriptor.name = 100 + stream, name.format(stream)
            at = 1000
            for agent, stream, work, category in (
                (4, 0, "gemm", "kernel_dispatch"),
                (5, 0, "gemm", "kernel_dispatch"),
                (4, 1, "add", "kernel_dispatch"),
                (5, 2, "add", "kernel_dispatch"),
                (5, 2, "MEMORY_COPY_HOST_TO_DEVICE", "memory_copy"),
                (5, 2, "MEMORY_COPY_DEVICE_TO_HOST", "memory_copy"),
            ):
                at += 1000
                begin = made.half(BEGIN, at, 100 + stream, work, category).track_event
                ends = (
                    ("dst_agent", "src_agent") if "HOST_TO" in work else ("src_agent", "dst_agent")
                )
                texts = {"agent": f"Agent-{agent}"}
                if category == "memory_copy":
                    texts = {ends[0]: f"Agent-{agent}", ends[1]: "Agent-0"}
                for key, value in texts.items() if has_agents else ():
                    begin.debug_annotations.add(name=key, string_value=value)
                made.half(END, at + 500, 100 + stream)
            path = made.write(case.folder / "a.pftrace")
            same(devices_of(case, path), {(4, 2), (5, 4)} if has_agents else {(0, 6)})
            told = case.printed(path)
            same(f"device {4 if has_agents else 0}, stream 1" in told, True)
            same(case.kernels(path)["gemm"], (1 if has_agents else 2, 500 if has_agents else 1000))


def perfetto_of_several_processes_has_flows(case: Case) -> None:
    """rocpd2pftrace: correlations are of a process; that of another one has not launched this kernel."""
    for flow, without in ((7, False), (8, True)):
        made = Packets()
        made.thread(1)
        descriptor = made.add().track_descriptor
        descriptor.uuid, descriptor.name = 2, "STREAM [1]"
        for track, time, name, category, own in (
            (1, 1000, "hipLaunchKernel", "hip_api", 7),
            (2, 5000, "gemm", "kernel_dispatch", flow),
        ):
            begin = made.half(BEGIN, time, track, name, category).track_event
            begin.flow_ids.append(2**63 + own)
            begin.debug_annotations.add(name="corr_id", uint_value=1)
            made.half(END, time + 500, track)
        told = case.printed(made.write(case.folder / "a.pftrace"))
        same("without a launch call: 1" in told, without)


def perfetto_of_several_processes_is_of_ranks(case: Case) -> None:
    """rocpd2pftrace: each process sees one device, of the same number; streams, correlations and threads count alike. One that
    launches nothing is no rank."""
    made = Packets()
    for pid, length in ((40, 0), (50, 400), (60, 700)):
        descriptor = made.add().track_descriptor
        descriptor.uuid, descriptor.process.pid = pid, pid
        for uuid in (pid + 1, pid + 2):
            descriptor = made.add().track_descriptor
            descriptor.uuid, descriptor.parent_uuid = uuid, pid
            if uuid == pid + 1:
                descriptor.thread.pid, descriptor.thread.tid = pid, pid
            else:
                descriptor.name = "STREAM [1]"
        for at in (1000, 3000):
            for track, time, took, name, category in (
                (pid + 1, at, 100, "hipLaunchKernel", "hip_api"),
                (pid + 2, at + 200, length, f"gemm{pid}", "kernel_dispatch"),
            )[: 1 + (length > 0)]:
                begin = made.half(BEGIN, time, track, name, category).track_event
                begin.flow_ids.append(at ^ pid << 40)
                begin.debug_annotations.add(name="corr_id", uint_value=at)
                begin.debug_annotations.add(name="agent", string_value="Agent-4")
                made.half(END, time + took, track)
    path = made.write(case.folder / "a.pftrace")
    same(
        [case.kernels(path, rank) for rank in (0, 1)], [{"gemm50": (2, 800)}, {"gemm60": (2, 1400)}]
    )
    _, ranks = report_of(case.program, path)
    told = [rank["sections"]["run"]["numbers"]["rank"]["value"] for rank in ranks]
    same((told, "without a launch call" in case.printed(path)), ([0, 1], False))
    exported = case.export(path, case.folder / "b.pftrace")
    same(
        [case.kernels(exported, rank) for rank in (0, 1)],
        [{"gemm50": (2, 800)}, {"gemm60": (2, 1400)}],
    )


def devices_of(case: Case, path: Path) -> set[tuple[int, int]]:
    """Number and kernels, copies and memsets of each device."""
    _, out, _ = run(case.program, "inspect", "--json", path)
    found = rows(json.loads(out)["ranks"][0]["sections"]["devices"], "devices")
    return {(row["number"], row["events"]) for row in found}


# Host call, kernel, copy, what waits: categories and tracks, which a recorder has one of.
SYSTEMS_TRACKS = (
    (  # rocprof-sys by queues: copies count processors among the agents
        "rocm_hip_api",
        ("rocm_kernel_dispatch", "GPU Kernel Dispatch [1] Queue 2"),
        ("rocm_memory_copy", "GPU Memory Copy to Agent [5] Thread 0"),
        "MEMORY_COPY_HOST_TO_DEVICE",
        "device 1, stream 2",
    ),
    (  # by streams, whose device is not told
        "rocm_hip_api",
        ("rocm_hip_stream", "HIP Activity Stream 2"),
        ("rocm_hip_stream", "HIP Activity Stream 2"),
        "MEMORY_COPY_HOST_TO_DEVICE",
        "device 0, stream 2",
    ),
    (  # Omnitrace
        "rocm_hip",
        ("device_hip", "HIP Activity Device 1, Queue 2"),
        ("device_hip", "HIP Activity Device 1, Queue 2"),
        "CopyHostToDevice",
        "device 1, stream 2",
    ),
)


def perfetto_of_rocprof_sys_and_omnitrace_have_kernels(case: Case) -> None:
    """Categories of their own, of which one is of kernels and copies alike; what only waits is no work."""
    for call, kernel, copy, copy_name, place in SYSTEMS_TRACKS:
        made, uuids = Packets(), {}
        made.thread(1)
        for number, (category, track, name) in enumerate(
            (
                (*kernel, "void gemm<float>(int)"),
                (*copy, copy_name),
                (*kernel, "void gemm<float>(int)"),
                *([(*kernel, "InternalMarker")] if call == "rocm_hip" else []),
            )
        ):
            at = 1000 * (number + 1)
            if track not in uuids:
                descriptor = made.add().track_descriptor
                uuids[track] = descriptor.uuid = 100 + len(uuids)
                descriptor.name = track
            for time, uuid, word, cat in (
                (at, 1, "hipLaunchKernel", call),
                (at + 100, uuids[track], name, category),
            ):
                begin = made.half(BEGIN, time, uuid, word, cat).track_event
                begin.debug_annotations.add(name="corr_id", uint_value=number + 1)
                made.half(END, time + 50 * (number + 1), uuid)
        path = made.write(case.folder / "a.pftrace")
        same(case.kernels(path), {"void gemm<float>(int)": (2, 200)})
        same([row["total"] for row in case.rows(path, "copies", "by_kind")], [100])
        told = case.printed(path)
        same("recorder rocprof-sys or Omnitrace" in told and place in told, True)
        same("without a launch call" in told, False)
        same(devices_of(case, path), {(int(place[7]), 3)})


def perfetto_of_proton_has_devices_in_lanes(case: Case) -> None:
    """Of a timeline of two devices, in both forms: process 0 has all, and the number of a lane tells the device."""
    lanes = {200_007: "GPU Stream 7", 1_200_007: "GPU Device 1 Stream 7"}
    made, events = Packets(), []
    made.thread(1, 0, 0)
    for lane, name in lanes.items():
        descriptor = made.add().track_descriptor
        descriptor.uuid, descriptor.name, descriptor.parent_uuid = 1000 + lane, name, 1
    for i in range(3):
        made.slice((100_000 * i, 100_000 * i + 90_000), 1, f"step_{i}", "scope")
        events.append((f"step_{i}", "scope", 0, 100 * i, 90))
        for device, lane in enumerate(lanes):
            at = 100 * i + 10 * device
            made.slice((at * 1000, at * 1000 + 50_000), 1000 + lane, "mm", "kernel")
            events.append(("mm", "kernel", lane, at, 50))
    words = ("name", "cat", "tid", "ts", "dur")
    whole = [dict(zip(words, event)) | {"ph": "X", "pid": 0} for event in events]
    path = case.folder / "a.chrome_trace"
    path.write_text(json.dumps({"displayTimeUnit": "us", "traceEvents": whole}))
    for file in (path, made.write(case.folder / "a.pftrace")):
        told = case.printed(file)
        same("recorder Proton of Triton" in told, True)
        same("device 0, stream 7" in told and "device 1, stream 7" in told, True)
        same(devices_of(case, file), {(0, 3), (1, 3)})
        _, ranks = report_of(case.program, file)
        same(ranks[0]["sections"]["step_ledger"]["numbers"]["step_time_mean"]["value"], 90_000)


UNITRACE = 0xFFFFFFFF - 4242 * 32  # without a rank the process stands for it
UNITRACE_EVENTS = (
    ("aten::mm", "cpu_op", 50, 50, 0, 100),  # by ITT
    ("zeCommandListAppendLaunchKernel", "cpu_op", 50, 50, 10, 20),
    ("zeCommandListAppendMemoryCopy", "cpu_op", 50, 50, 40, 5),
    ("gemm_kernel[SIMD16 {64; 1; 1} {256; 1; 1}]", "gpu_op", UNITRACE, UNITRACE, 60, 40),
    ("zeCommandListAppendBarrier", "gpu_op", UNITRACE, UNITRACE, 110, 900),
    ("zeCommandListAppendMemoryCopy(M2D)[4096]", "gpu_op", UNITRACE, UNITRACE - 2, 1100, 7),
    ("zeCommandListAppendMemoryFill[64]", "gpu_op", UNITRACE, UNITRACE, 1200, 3),
    ("gemm_kernel[SIMD16 {64; 1; 1} {256; 1; 1}]", "gpu_op", UNITRACE - 1, UNITRACE - 3, 60, 40),
)


def perfetto_and_json_of_unitrace_have_kernels(case: Case) -> None:
    """Of one category for the host and one for devices: calls, copies and waits are known by their names, devices by numbers
    that count down from the highest."""
    made, uuids, events = Packets(), {}, []
    for name, category, pid, tid, at, length in UNITRACE_EVENTS:
        if (pid, tid) not in uuids:
            uuids[pid, tid] = len(uuids) + 1
            made.thread(uuids[pid, tid], pid & 0x7FFFFFFF, tid & 0x7FFFFFFF)
        made.slice((at * 1000, (at + length) * 1000), uuids[pid, tid], name, category)
        event = {"ph": "X", "name": name, "cat": category, "pid": pid, "tid": tid}
        events.append(event | {"ts": at, "dur": length, "args": {"id": "7"}})
    path = case.folder / "a.json"
    path.write_text(json.dumps({"traceEvents": events}))
    for file in (path, made.write(case.folder / "a.pftrace")):
        same("recorder unitrace (Intel)" in case.printed(file), True)
        same(case.kernels(file), {UNITRACE_EVENTS[3][0]: (1, 40_000)})
        same(sum(row["total"] for row in case.rows(file, "copies", "by_kind")), 10_000)
        same(devices_of(case, file), {(0, 3), (1, 1)})  # a wait is no work
