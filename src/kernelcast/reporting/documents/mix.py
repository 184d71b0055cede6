"""What `mix` answers: the numbers of the synthetic workload of latency hiding on several GPUs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from kernelcast.machines.machine import Machine
from kernelcast.models.terms.mix import Mix, mix_chip, mix_work


class MixRow(Struct, frozen=True):
    """A mix on one GPU: cycles, and numbers per cycle and SM.

    A group is a slow instruction with its alpha additions, or an addition where there are no
    others; `group_cycles` is how long a single warp takes from one group to the next, of whatever
    chain. `needed_warps` hide that (Volkov 2016, section 4.5), without contention.
    """

    gpu: str
    slow_latency: float
    slow_throughput: float
    addition_latency: float
    addition_throughput: float
    group_cycles: float
    groups_bound: float
    needed_warps: float
    limit_warps: float


class MixDocument(Struct, frozen=True):
    """All that `mix --json` prints; an alpha of null is infinite."""

    schema: Literal["kernelcast/mix/1"]
    alpha: float | None
    kind: str
    ways: int
    ilp: int
    results: list[MixRow]


def mix_document(mix: Mix, machines: Sequence[Machine]) -> MixDocument:
    """One row per machine; raises as `models.terms.mix.mix_work`."""
    rows = [_row(machine, mix) for machine in machines]
    return MixDocument("kernelcast/mix/1", mix.alpha, str(mix.kind), mix.ways, mix.ilp, rows)


def _row(machine: Machine, mix: Mix) -> MixRow:
    chip, work = mix_chip(machine, mix), mix_work(machine, mix, 1)
    cycles, bound = float(work.alone_cycles), float(work.bound)
    return MixRow(
        gpu=machine.name,
        slow_latency=chip.mem_lat,
        slow_throughput=chip.mem_thru,
        addition_latency=chip.alu_lat,
        addition_throughput=chip.alu_thru,
        group_cycles=cycles,
        groups_bound=bound,
        needed_warps=cycles * bound,
        limit_warps=machine.number("occupancy.warps_per_sm"),
    )
