"""What a step took of the processor: a thread that sleeps, or waits for a core, spends time and no CPU time."""

from __future__ import annotations

import os
import resource
import time

THREADS_MAX = 256  # of more, only the launching thread is asked


def waited_ns(path: str) -> int | None:
    """How long a thread could have run, and no core was free for it; None where the kernel does not tell."""
    try:
        with open(path, "rb", buffering=0) as file:
            return int(file.read(128).split()[1])
    except (OSError, ValueError, IndexError):
        return None


def waited_by_all_ns() -> int | None:
    """Of the threads that there are now."""
    try:
        threads = os.listdir("/proc/self/task")
    except OSError:
        return None
    if len(threads) > THREADS_MAX:
        return None
    waits = [waited_ns(f"/proc/self/task/{thread}/schedstat") for thread in threads]
    known = [wait for wait in waits if wait is not None]
    return sum(known) if known else None


def look() -> dict[str, int | None]:
    """Of the thread that calls, and of the process; ever more from look to look."""
    usage = resource.getrusage(getattr(resource, "RUSAGE_THREAD", 1))
    return {
        "wall_ns": time.monotonic_ns(),
        "thread_cpu_ns": time.thread_time_ns(),
        "process_cpu_ns": time.process_time_ns(),
        "thread_waited_ns": waited_ns("/proc/thread-self/schedstat"),
        "process_waited_ns": waited_by_all_ns(),
        "voluntary_switches": usage.ru_nvcsw,
        "involuntary_switches": usage.ru_nivcsw,
    }


class ProcessorTime:
    """Of one step after the other, on the thread that ends them."""

    def __init__(self) -> None:
        self.before: dict[str, int | None] = {}

    def begin(self) -> None:
        self.before = look()

    def take(self) -> dict[str, int | None]:
        """Since begin(); a thread that ended meanwhile takes its waits with it: never less than nothing."""
        passed: dict[str, int | None] = {}
        for name, now in look().items():
            before = self.before.get(name)
            passed[name] = None if now is None or before is None else max(0, now - before)
        return passed
