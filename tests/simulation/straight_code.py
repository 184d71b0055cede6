"""Straight-line code, made by hand, on one SM: for tests of what issues it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from kernelcast.ir import BasicBlock, Kernel, Resources
from kernelcast.machines.loader import load_machine
from kernelcast.simulation import layout
from kernelcast.simulation.code import IssueTables
from kernelcast.simulation.hardware import ChipShare, SmTimings, hardware_record
from kernelcast.simulation.layout import CODE, ROW
from kernelcast.simulation.plan import DetailedSms
from kernelcast.simulation.simulate import SimulationInput, simulate
from kernelcast.simulation.simulated import Simulated
from kernelcast.simulation.streams import BLOCK_SHIFT, WarpStreams

INSTRUCTION_BYTES = 16
ALL_THERE: Mapping[str, float] = {"l0_lines": 0, "fp32_halves": 0}
"""Fields of HARDWARE where every instruction has been fetched, and the FP32 pipe is one."""


def straight_code(count: int, **fields: object) -> IssueTables:
    """So many FP32 instructions that wait for nothing, and the end; `fields` are those of CODE."""
    table = np.zeros(count + 1, CODE)
    table["kind"], table["pipe"] = layout.ARITHMETIC, layout.FP32_PIPE
    table["interval"] = table["stall"] = table["slots"] = 1
    table["latency"] = 4
    table["reason"] = layout.WAIT
    table["result_counter"] = table["sources_counter"] = table["waits_most"] = -1
    table["address"] = INSTRUCTION_BYTES * np.arange(count + 1)
    for name, value in fields.items():
        table[name][:count] = value
    table["kind"][count], table["pipe"][count] = layout.EXIT, layout.NO_PIPE
    table["door"] = table["pipe"]
    bounds = np.array([(0, count), (count, count + 1)])
    return IssueTables(_KERNEL, table, bounds, np.zeros(1, np.int32), 0)


def played(
    code: IssueTables,
    hardware: Mapping[str, float] = MappingProxyType({}),
    *,
    gpu: str = "rtx-a4000",
    rounds: int = 1,
    warps: int = 1,
    blocks: int = 1,
    most_events: int = 0,
) -> Simulated:
    """The code, so many times in a row, on one SM; `hardware` are fields of HARDWARE."""
    words = np.array([*[0] * rounds, 1]) << BLOCK_SHIFT
    streams = WarpStreams(
        of=blocks,
        warps=warps,
        blocks=np.arange(blocks),
        starts=np.arange(blocks * warps + 1) * len(words),
        words=np.tile(words, blocks * warps),
    )
    plan = DetailedSms(blocks, (tuple(range(blocks)),), blocks, 1.0)
    record = hardware_record(
        SmTimings(load_machine(gpu)),
        ChipShare(1, 1, 1.0),
        resident=blocks,
        warps=warps,
        registers=0,
        has_l1=False,
    )
    for name, value in hardware.items():
        record[name] = value
    given = SimulationInput(code, streams, record, np.zeros(1, ROW))
    return simulate(given, plan, None, most_issued=1 << 40, most_events=most_events)


_KERNEL = Kernel(
    name="straight",
    isa="sass",
    target="sm_86",
    parameters=(),
    instructions=(),
    blocks=(BasicBlock(0, 0, 0, ()),),
    resources=Resources(),
)
