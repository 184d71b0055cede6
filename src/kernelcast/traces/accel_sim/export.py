"""Writes a trace of machine code as Accel-Sim reads it.

What is not in the words of a trace is filled in: an instruction under a guard that has no address
gets all lanes of its basic block, whatever the guard says. Constant and parameter memory have no
addresses there. Registers are those that the tracer lists: the first of each operand, vector
registers only. Accel-Sim wants as many blocks as the grid has, so a sample of blocks is written as
a grid of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from kernelcast.errors import InputError, UnsupportedError
from kernelcast.execution.address_map import LOCAL_WINDOW, SHARED_WINDOW, WARP_LANES
from kernelcast.execution.trace import (
    ID_MASK,
    ID_SHIFT,
    KIND_SHIFT,
    RECORD_WORDS,
    RecordKind,
    Sink,
    Words,
)
from kernelcast.ir import BasicBlock, Instruction, Kernel, Space
from kernelcast.traces.accel_sim.addresses import write_addresses
from kernelcast.traces.stored import TraceHead
from kernelcast.traces.whole import whole_folder

LIST_NAME, TRACE_NAME = "kernelslist.g", "kernel-1.traceg"
TRACER_VERSION = 5
ADDRESSED = frozenset({Space.GLOBAL, Space.SHARED, Space.LOCAL, Space.GENERIC})
"""Spaces whose addresses the tracer sees."""

_INSTRUCTION_BYTES = 16
_MAX_SOURCES = 4
_RZ = 255
_REGISTER = re.compile(r"(?<!\w)R(\d+|Z)(?!\w)")
_CONSTANT = re.compile(r"\W*cx?\[")
_INTEGER = re.compile(r"-?(?:0x[0-9a-f]+|0|[1-9]\d*)")
_LOW_32 = (1 << 32) - 1


@contextmanager
def export_trace(path: Path, head: TraceHead) -> Iterator[Sink]:
    """A sink for the words of a trace; the folder `path` is there when all went well.

    It holds the trace of one launch and the list that names it. Raises UnsupportedError for a
    kernel that is not machine code, InputError where the folder cannot be written.
    """
    kernel = head.kernel
    if kernel.isa != "sass":
        raise UnsupportedError(
            f"Accel-Sim takes traces of machine code, this one is of {kernel.isa.upper()}",
            where=kernel.label or kernel.name,
            hint="write the own format: --format own",
        )
    with whole_folder(path) as folder:
        with (folder / TRACE_NAME).open("w", encoding="ascii", errors="replace") as file:
            file.writelines(_header(head))
            writer = AccelSimWriter(file, head)
            yield writer.consume
            writer.finish()
        (folder / LIST_NAME).write_text("".join(_list(head)), "ascii")


class AccelSimWriter:
    """Takes the words of a trace as a sink; holds those of one block at a time."""

    def __init__(self, file: IO[str], head: TraceHead) -> None:
        self._file = file
        self._lines = [_line(i) for i in head.kernel.instructions]
        self._blocks = [_whole_instructions(head.kernel, b) for b in head.kernel.blocks]
        self._warps = head.launch.warps_per_block
        self._place = {block: number for number, block in enumerate(head.blocks)}
        self._grid = _grid(head)
        self._block = self._warp = -1
        self._held: dict[int, list[int]] = {}

    def consume(self, words: Words) -> None:
        """The next words, which end with a record; InputError where a block comes in parts."""
        stream = words.tolist()
        at = 0
        while at < len(stream):
            kind = RecordKind(stream[at] >> KIND_SHIFT)
            if kind is RecordKind.WARP:
                self._enter(stream[at + 1], stream[at] >> ID_SHIFT & ID_MASK)
            else:
                self._held[self._warp] += stream[at : at + RECORD_WORDS[kind]]
            at += RECORD_WORDS[kind]

    def finish(self) -> None:
        """Write the last block; InputError where some are missing."""
        self._write_block()
        if self._place:
            raise InputError(f"{len(self._place)} blocks of the trace are missing")

    def _enter(self, block: int, warp: int) -> None:
        if block != self._block:
            self._write_block()
            self._block = block
        self._warp = warp
        self._held.setdefault(warp, [])

    def _write_block(self) -> None:
        if not self._held:
            return
        number = self._place.pop(self._block, None)
        if number is None:
            raise InputError(f"block {self._block} is not of this trace, or comes in parts")
        x, y, z = _position(number, self._grid)
        self._file.write(f"\n#BEGIN_TB\n\nthread block = {x},{y},{z}\n")
        for warp in range(self._warps):
            lines = list(self._instructions(self._held.pop(warp, [])))
            self._file.write(f"\nwarp = {warp}\ninsts = {len(lines)}\n")
            self._file.writelines(lines)
        self._file.write("\n#END_TB\n")

    def _instructions(self, stream: Sequence[int]) -> Iterator[str]:
        """The lines of a warp."""
        for block, mask, accesses in _visits(stream):
            for index in self._blocks[block]:
                line = self._lines[index]
                if not line.has_addresses:
                    yield f"{line.pc} {mask:08x} {line.registers} 0 {line.immediate} \n"
                    continue
                active, addresses = accesses.get(index, (0, ()))
                text = write_addresses(active, addresses)
                yield f"{line.pc} {active:08x} {line.registers} {line.width} {text} 0 \n"


_Accesses = dict[int, tuple[int, Sequence[int]]]
"""Active lanes and the addresses of all lanes, by instruction."""


def _visits(stream: Sequence[int]) -> Iterator[tuple[int, int, _Accesses]]:
    """The basic blocks that a warp entered, each with its lanes and the accesses in it."""
    block, mask = -1, 0
    accesses: _Accesses = {}
    at = 0
    while at < len(stream):
        kind = RecordKind(stream[at] >> KIND_SHIFT)
        ident, lanes = stream[at] >> ID_SHIFT & ID_MASK, stream[at] & _LOW_32
        if kind is RecordKind.BLOCK:
            if block >= 0:
                yield block, mask, accesses
            block, mask, accesses = ident, lanes, {}
        else:
            accesses.setdefault(ident, (lanes, _addresses(kind, stream, at)))
        at += RECORD_WORDS[kind]
    if block >= 0:
        yield block, mask, accesses


def _addresses(kind: RecordKind, stream: Sequence[int], at: int) -> Sequence[int]:
    if kind is RecordKind.ADDRESSES:
        return stream[at + 1 : at + 1 + WARP_LANES]
    base, stride = stream[at + 1], stream[at + 2]
    return [base + lane * stride & (1 << 64) - 1 for lane in range(WARP_LANES)]


def _whole_instructions(kernel: Kernel, block: BasicBlock) -> list[int]:
    """The instructions of a block; of those that are parts of one, the first."""
    found: list[int] = []
    last: int | None = None
    for instruction in kernel.instructions[block.start : block.end]:
        if last is None or instruction.code_offset != last:
            found.append(instruction.index)
        last = instruction.code_offset
    return found


@dataclass(frozen=True, slots=True)
class _Line:
    """What the lines of an instruction have in common: place, and registers around the opcode."""

    pc: str
    registers: str
    width: int
    immediate: int
    has_addresses: bool


def _line(instruction: Instruction) -> _Line:
    offset = instruction.code_offset
    pc = _INSTRUCTION_BYTES * instruction.index if offset is None else offset
    operands = ["_" if o is None else str(o) for o in instruction.operands]
    result, sources = _registers(operands)
    return _Line(
        pc=f"{pc:04x}",
        registers=" ".join(
            (*_counted(result), instruction.name, *_counted(sources[:_MAX_SOURCES]))
        ),
        width=instruction.access_bytes,
        immediate=_immediate(operands),
        has_addresses=instruction.op_class.is_memory and instruction.space in ADDRESSED,
    )


def _registers(operands: Sequence[str]) -> tuple[list[int], list[int]]:
    """The number of the register written, where the first operand is one, and of those read."""
    numbers = [
        [_RZ if n == "Z" else int(n) for n in _REGISTER.findall(text)][:1]
        for text in operands
        if not _CONSTANT.match(text)
    ]
    is_result = bool(operands) and _REGISTER.fullmatch(operands[0]) is not None
    result = numbers.pop(0) if is_result else []
    return result, [n for one in numbers for n in one]


def _counted(registers: Sequence[int]) -> Iterable[str]:
    return str(len(registers)), *(f"R{n}" for n in registers)


def _immediate(operands: Sequence[str]) -> int:
    """The last integer among the operands, as the tracer prints it: 32 bits with a sign."""
    found = [int(text, 0) for text in operands if _INTEGER.fullmatch(text)]
    value = found[-1] & _LOW_32 if found else 0
    return value - (value >> 31 << 32)


def _header(head: TraceHead) -> Iterator[str]:
    kernel, launch = head.kernel, head.launch
    x, y, z = _grid(head)
    yield f"-kernel name = {kernel.name}\n"
    yield "-kernel id = 1\n"
    yield f"-grid dim = ({x},{y},{z})\n"
    yield "-block dim = ({},{},{})\n".format(*launch.block)
    yield f"-shmem = {kernel.resources.static_shared_bytes + launch.smem_bytes}\n"
    yield f"-nregs = {kernel.resources.registers or 0}\n"
    yield f"-binary version = {_binary_version(kernel)}\n"
    yield "-cuda stream id = 0\n"
    yield f"-shmem base_addr = {SHARED_WINDOW:#018x}\n"
    yield f"-local mem base_addr = {LOCAL_WINDOW:#018x}\n"
    yield "-nvbit version = none\n"
    yield f"-accelsim tracer version = {TRACER_VERSION}\n"
    yield "-enable lineinfo = 0\n\n"
    yield (
        "#traces format = [line_num] PC mask dest_num [reg_dests] opcode src_num [reg_srcs] "
        "mem_width [adrrescompress?] [mem_addresses] immediate\n\n"
    )


def _list(head: TraceHead) -> Iterator[str]:
    """The copies to the device, one for every array of the launch, and the trace."""
    for region in head.regions:
        if region.is_argument:
            yield f"MemcpyHtoD,{region.address:#018x},{region.size_bytes}\n"
    yield f"{TRACE_NAME}\n"


def _binary_version(kernel: Kernel) -> str:
    """`90` for `sm_90a`."""
    return kernel.target.removeprefix("sm_").rstrip("af")


def _grid(head: TraceHead) -> tuple[int, int, int]:
    is_whole = len(head.blocks) == head.launch.blocks
    return head.launch.grid if is_whole else (len(head.blocks), 1, 1)


def _position(number: int, grid: tuple[int, int, int]) -> tuple[int, int, int]:
    x, y, _ = grid
    return number % x, number // x % y, number // (x * y)
