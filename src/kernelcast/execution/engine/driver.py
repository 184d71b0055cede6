"""Makes LLVM IR of `driver.ll`: the loop over blocks and warps, and what accesses share."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from enum import IntEnum
from functools import cache
from pathlib import Path

from kernelcast.execution.address_map import (
    GLOBAL_BASE,
    LOCAL_WINDOW,
    PARAM_WINDOW,
    SHARED_WINDOW,
    WINDOW_BYTES,
)
from kernelcast.execution.clusters import Arrival
from kernelcast.execution.engine.context import (
    BARRIERS,
    CLUSTER_BARRIER,
    FIRST_OF_OWN,
    SLOTS,
    BarrierArray,
    Fault,
    RoundResult,
    RunResult,
    SeatState,
    Slot,
    WarpResult,
    WarpStatus,
)
from kernelcast.execution.fills import PIECE_BYTES
from kernelcast.execution.trace import ID_SHIFT, KIND_SHIFT, RECORD_WORDS, RecordKind
from kernelcast.ir.sizes import HALF_WARP_LANES, WARP_LANES

_ENUMS: tuple[type[IntEnum], ...] = (
    Arrival,
    BarrierArray,
    Fault,
    RoundResult,
    RunResult,
    SeatState,
    WarpResult,
    WarpStatus,
)
_LANES = range(WARP_LANES)
_ROUNDS_OF_WAITING = 1024
"""Rounds in a row in which all warps of a block pause, a fraction of a millisecond, before the
thread gives way."""


def _lanes(kind: str, numbers: Iterable[int]) -> str:
    """A constant of a number for every lane."""
    return "<" + ", ".join(f"{kind} {number}" for number in numbers) + ">"


_NUMBERS = {
    "ADDRESSES_BYTES": 8 * RECORD_WORDS[RecordKind.ADDRESSES],
    "ADDRESSES_HEADER": RecordKind.ADDRESSES << KIND_SHIFT,
    "BARRIERS": BARRIERS,
    "BARRIER_BYTES": 8 * BARRIERS * len(BarrierArray),
    "CLUSTER_BARRIER": CLUSTER_BARRIER,
    "FIRST_OF_OWN": int(FIRST_OF_OWN),
    "FIRSTS_OF_HALVES": _lanes("i32", (n // HALF_WARP_LANES * HALF_WARP_LANES for n in _LANES)),
    "GLOBAL_BASE": GLOBAL_BASE,
    "HALVES_BYTES": 8 * RECORD_WORDS[RecordKind.HALVES],
    "HALVES_HEADER": RecordKind.HALVES << KIND_SHIFT,
    "ID_SHIFT": ID_SHIFT,
    "LANES_OF_HALVES": _lanes("i64", (n % HALF_WARP_LANES for n in _LANES)),
    "LOCAL_WINDOW": LOCAL_WINDOW,
    "OWN_BYTES": 8 * (SLOTS - FIRST_OF_OWN),
    "PIECE_BYTES": PIECE_BYTES,
    "PIECE_SHIFT": PIECE_BYTES.bit_length() - 1,
    "PARAM_WINDOW": PARAM_WINDOW,
    "SHARED_WINDOW": SHARED_WINDOW,
    "WARP_HEADER": RecordKind.WARP << KIND_SHIFT,
    "WINDOW_MASK": (1 << 63) - WINDOW_BYTES,
    "WINDOW_SHIFT": WINDOW_BYTES.bit_length() - 1,
    "WAITS_MASK": _ROUNDS_OF_WAITING - 1,
    "WITHIN_MASK": WINDOW_BYTES - 1,
    **{f"{enum.__name__}.{entry.name}": int(entry) for enum in _ENUMS for entry in enum},
}
"""What a `$` stands for in `driver.ll`."""

_LOAD = re.compile(r"  (%\w+) = slot (\w+) (\w+)$")
_STORE = re.compile(r"  slot (\w+) = (%\w+)$")
_NUMBER = re.compile(r"\$(\w+(?:\.\w+)?)")

DECLARATIONS = (
    "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)",
    "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)",
    "declare i32 @llvm.cttz.i32(i32, i1)",
    "declare i32 @sched_yield()",
)
"""What the driver calls."""


def slot_pointer(slot: int) -> str:
    """Expression for the address of a slot, usable where %ctx is the context."""
    return f"getelementptr inbounds i64, ptr %ctx, i64 {int(slot)}"


_LOG_ONLY = "; log"


@cache
def driver_ir(*, logs: bool) -> str:
    """The IR of `run`, which calls the kernel's `warp`, and of all that `warp` calls."""
    text = Path(__file__).with_suffix(".ll").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.startswith(";")]
    lines = [line for line in lines if logs or not line.endswith(_LOG_ONLY)]
    numbered = [_NUMBER.sub(lambda found: str(_NUMBERS[found[1]]), line) for line in lines]
    return "\n".join(_without_slots(numbered))


def _without_slots(lines: list[str]) -> Iterator[str]:
    """Loads and stores of slots spelled out, each with a pointer of its own."""
    for number, line in enumerate(lines):
        pointer = f"%slot{number}"
        if load := _LOAD.match(line):
            yield f"  {pointer} = {slot_pointer(Slot[load[3]])}"
            yield f"  {load[1]} = load {load[2]}, ptr {pointer}"
        elif store := _STORE.match(line):
            yield f"  {pointer} = {slot_pointer(Slot[store[1]])}"
            yield f"  store i64 {store[2]}, ptr {pointer}"
        else:
            yield line
