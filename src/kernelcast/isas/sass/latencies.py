"""Latencies of scoreboard-guarded instructions on a machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from kernelcast.errors import MissingNumberError
from kernelcast.ir import OpClass, Space
from kernelcast.isas.sass.instruction import SassInstruction
from kernelcast.isas.sass.opcodes import opcode
from kernelcast.isas.sass.scoreboards import Release
from kernelcast.machines.classes import class_number
from kernelcast.machines.machine import Machine

_NEEDED_BY = "static timing"

CONSTANT_LOAD_CYCLES = 26.0
"""LDC with an immediate address (Huerta et al. 2025, Table 2, RTX A6000)."""
_SOURCES_READ_CYCLES: Mapping[str, tuple[float, float, float]] = {
    "LDG": (11.0, 11.0, 11.0),
    "STG": (14.0, 16.0, 20.0),
    "LDS": (9.0, 9.0, 9.0),
    "STS": (12.0, 14.0, 18.0),
    "LDC": (10.0, 10.0, 10.0),
    "LDGSTS": (13.0, 13.0, 13.0),
}
"""Issue until the sources are read, for 32, 64 and 128 bits (the same table, register addresses).

It stands for every chip: nobody has published others.
"""
_ALIKE = {"LD": "LDG", "LDL": "LDG", "ST": "STG", "STL": "STG", "RED": "STG", "REDG": "STG"}
_OTHER_SOURCES_READ_CYCLES = _SOURCES_READ_CYCLES["LDS"][0]
_ARITHMETIC = frozenset(
    {OpClass.FP64, OpClass.SFU, OpClass.CONVERT, OpClass.BIT_COUNT, OpClass.SHUFFLE, OpClass.TENSOR}
)


class MemoryLevel(StrEnum):
    """Where loads from global memory find their data."""

    L1 = "l1"
    L2 = "l2"
    DRAM = "dram"


@dataclass(frozen=True, slots=True)
class MachineLatencies:
    """The latencies of a machine, with every load from global memory served by `level`.

    Arithmetic takes the latency of its class; where the machine has none, and for all that is
    neither arithmetic nor memory (special registers, votes), it is that of a load from shared
    memory. Raises MissingNumberError where the machine lacks `latency.<level>` or `latency.shared`.
    """

    machine: Machine
    level: MemoryLevel

    def __call__(self, instruction: SassInstruction, release: Release) -> float:
        """Cycles from issue to the release."""
        if release is Release.SOURCES:
            return sources_read_cycles(instruction)
        row = opcode(instruction.opcode)
        if row is None:
            return self._number("shared")
        if row.op_class in (OpClass.LOAD, OpClass.ATOMIC):
            return self._memory(instruction.opcode, row.space)
        if row.op_class in _ARITHMETIC:
            known = class_number(self.machine, "latency", row.op_class)
            return self._number("shared") if known is None else known
        return self._number(self.level if row.op_class is OpClass.ASYNC_COPY else "shared")

    def _memory(self, name: str, space: Space | None) -> float:
        if name in ("LDC", "LDCU"):
            return CONSTANT_LOAD_CYCLES
        return self._number("shared" if space is Space.SHARED else self.level)

    def _number(self, name: str) -> float:
        value = self.machine.get(f"latency.{name}")
        if value is None:
            raise MissingNumberError(self.machine.name, f"latency.{name}", _NEEDED_BY)
        return value


def sources_read_cycles(instruction: SassInstruction) -> float:
    """Cycles from the issue of an instruction until its sources have been read."""
    name = _ALIKE.get(instruction.opcode, instruction.opcode)
    widths = _SOURCES_READ_CYCLES.get(name)
    if widths is None:
        return _OTHER_SOURCES_READ_CYCLES
    narrow, pair, quad = widths
    if "128" in instruction.modifiers:
        return quad
    return pair if "64" in instruction.modifiers else narrow
