"""The numbers of a synthetic mix on several GPUs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.console import RenderableType

from kernelcast.machines.machine import Machine
from kernelcast.models.terms.mix import Mix, mix_chip, mix_work
from kernelcast.reporting.figures import digits
from kernelcast.reporting.layout import columns, section


@dataclass(frozen=True, slots=True)
class MixRow:
    """A mix on one GPU: cycles, and numbers per cycle and SM.

    A group is a slow instruction with its alpha additions, or an addition where there are no
    others; `group_cycles` is how long a lone warp takes from one group to the next, of whatever
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


def mix_rows(machines: Sequence[Machine], mix: Mix) -> list[MixRow]:
    """One row per machine; raises as `models.terms.mix.mix_work`."""
    return [_row(machine, mix) for machine in machines]


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


def render_mix(mix: Mix, rows: Sequence[MixRow]) -> RenderableType:
    """A table with a row per GPU."""
    table = columns(
        "GPU", "slow cycles", "slow/cycle", "add cycles", "adds/cycle", "group cycles",
        "groups/cycle", "warps needed", "fit", left=("GPU",),
    )  # fmt: skip
    for row in rows:
        _, *numbers, limit = asdict(row).values()
        table.add_row(row.gpu, *(digits(n) for n in numbers), f"{limit:g}")
    ways = f", {mix.ways} ways" if mix.ways > 1 else ""
    chains = f", {mix.ilp} chains" if mix.ilp > 1 else ""
    title = f"{mix.alpha:g} additions per slow instruction ({mix.kind}{ways}{chains})"
    return section(f"{title}, per SM", table)


def mix_dict(mix: Mix, rows: Sequence[MixRow]) -> dict[str, Any]:
    """The same as JSON; an alpha of null is infinite."""
    return {
        "schema": "kernelcast/mix/1",
        "alpha": mix.alpha if math.isfinite(mix.alpha) else None,
        "kind": str(mix.kind),
        "ways": mix.ways,
        "ilp": mix.ilp,
        "results": [asdict(row) for row in rows],
    }
