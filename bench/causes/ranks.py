"""Several ranks of one job, simulated together: an all-reduce of all begins when the last one is there."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace

from programs import Program, Traits
from simulated_run import COLLECTIVES, COMPUTE, MS, Simulation

RANKS, LENGTH = 4, 2 * MS
NCCL = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def run_ranks(traits: list[Traits]) -> list[Simulation]:
    programs = [Program(each) for each in traits]
    for number in range(traits[0].steps):
        with ExitStack() as stack:
            for program in programs:
                stack.enter_context(program.simulation.step(number))
                program.run_step(number)
                program.run_backward(updates=False)
            reduce_together([program.simulation for program in programs], number)
            for program in programs:
                program.update()
    return [program.simulation for program in programs]


def reduce_together(simulations: list[Simulation], number: int) -> None:
    begins = []
    for each in simulations:
        each.now += 12_000
        begins.append(max(each.now + 8_000, each.free.get(COMPUTE, 0) + 1_000))
    end = max(begins) + LENGTH
    args = {"Collective name": "allreduce", "dtype": "BFloat16", "In msg nelems": 1 << 26}
    for each, begin in zip(simulations, begins):
        more = {"Group size": len(simulations), "Process Group Name": "0", "Seq": number, **args}
        each.enqueue(NCCL, end - begin, COLLECTIVES, after=begin, **more)
        each.free[COMPUTE] = each.free[COLLECTIVES]


def of_ranks(base: Traits, late: int, **slower: int) -> list[Traits]:
    return [replace(base, **slower) if rank == late else base for rank in range(RANKS)]  # type: ignore[arg-type]
