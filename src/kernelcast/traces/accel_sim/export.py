"""Writes a trace of machine code as Accel-Sim reads it.

What is not in the words of a trace is filled in, as `writer` says. Constant and parameter memory
have no addresses there. Registers are those that the tracer lists: the first of each operand,
vector registers only. Accel-Sim wants as many blocks as the grid has, so a sample of blocks is
written as a grid of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from kernelcast.errors import UnsupportedError
from kernelcast.execution.address_map import LOCAL_WINDOW, SHARED_WINDOW
from kernelcast.files import whole_folder
from kernelcast.ir import Dim3, Kernel, arrays_in
from kernelcast.isas.assembly import is_machine_code
from kernelcast.traces.accel_sim.simulator import (
    VALUES_NEEDED,
    binary_version,
    own_version,
    stand_in,
)
from kernelcast.traces.accel_sim.writer import BlockWriter, whole_instructions
from kernelcast.traces.recognise import LIST_NAME
from kernelcast.traces.stored import TraceHead

_TRACE_NAME = "kernel-1.traceg"
_TRACER_VERSION = 6

Remark = Callable[[str], None]


@contextmanager
def export_trace(
    path: Path, head: TraceHead, remark: Remark = lambda _: None
) -> Iterator[BlockWriter]:
    """A consumer of the words of a trace; the folder `path` is there when all went well.

    It holds the trace of one launch and the list that names it. `remark` is told in sentences what
    was changed so that Accel-Sim takes it, and what it will not take. Raises UnsupportedError for a
    kernel that is not machine code, InputError where the folder cannot be written.
    """
    kernel = head.kernel
    if not is_machine_code(kernel):
        raise UnsupportedError(
            f"Accel-Sim takes traces of machine code, this one is of {kernel.isa.upper()}",
            where=kernel.shown,
            hint="write the own format: --format own",
        )
    version = binary_version(kernel.target)
    with whole_folder(path) as folder:
        with (folder / _TRACE_NAME).open("w", encoding="ascii", errors="replace") as file:
            file.writelines(_header(head, version))
            writer = BlockWriter(file, head, _grid(head), version)
            yield writer
            writer.finish()
        (folder / LIST_NAME).write_text("".join(_list(head)), "ascii")
    for sentence in _changes(head, version, writer.entered):
        remark(sentence)


def _header(head: TraceHead, version: int) -> Iterator[str]:
    kernel, launch = head.kernel, head.launch
    x, y, z = _grid(head)
    yield f"-kernel name = {kernel.name}\n"
    yield "-kernel id = 1\n"
    yield f"-grid dim = ({x},{y},{z})\n"
    yield "-block dim = ({},{},{})\n".format(*launch.block)
    yield f"-shmem = {kernel.resources.static_shared_bytes + launch.smem_bytes}\n"
    yield f"-nregs = {kernel.resources.registers or 0}\n"
    yield f"-binary version = {version}\n"
    yield "-cuda stream id = 0\n"
    yield f"-shmem base_addr = {SHARED_WINDOW:#018x}\n"
    yield f"-local mem base_addr = {LOCAL_WINDOW:#018x}\n"
    yield "-nvbit version = none\n"
    yield f"-accelsim tracer version = {_TRACER_VERSION}\n"
    yield "-enable lineinfo = 0\n\n"
    yield (
        "#traces format = [line_num] PC mask dest_num [reg_dests] opcode src_num [reg_srcs] "
        "mem_width [adrrescompress?] [mem_addresses] immediate [immediate]\n\n"
    )


def _list(head: TraceHead) -> Iterator[str]:
    """The copies to the device, one for every array that does not start as zeros, and the trace."""
    given = {**head.launch.args, **head.launch.symbols}
    blank = {
        name
        for label, value in given.items()
        for name, array in arrays_in(label, value)
        if array.fill.kind == "zeros"
    }
    for region in head.regions:
        if region.is_argument and region.label not in blank:
            yield f"MemcpyHtoD,{region.address:#018x},{region.size_bytes}\n"
    yield f"{_TRACE_NAME}\n"


def _grid(head: TraceHead) -> Dim3:
    is_whole = len(head.blocks) == head.launch.blocks
    return head.launch.grid if is_whole else (len(head.blocks), 1, 1)


def _changes(head: TraceHead, version: int, entered: Mapping[int, int]) -> Iterator[str]:
    """What the written trace says otherwise than the GPU would, and where Accel-Sim stops."""
    kernel = head.kernel
    if len(head.blocks) < head.launch.blocks:
        yield (
            f"{len(head.blocks)} of {head.launch.blocks} blocks were traced; "
            "they are written as a grid of their own"
        )
    if own_version(kernel.target) != version:
        yield f"Accel-Sim has no {kernel.target}; the trace is written as one of sm_{version}"
    replaced, stops = _noted(kernel, version, entered)
    if replaced:
        names = ", ".join(f"{name} as {other}" for name, other in sorted(replaced))
        yield (
            f"{replaced.total()} warp instructions are written as others, "
            f"since Accel-Sim does not know them: {names}"
        )
    if stops:
        yield (
            f"Accel-Sim will stop at {stops.total()} warp instructions, "
            f"which need values that the trace does not hold: {', '.join(sorted(stops))}"
        )


def _noted(
    kernel: Kernel, version: int, entered: Mapping[int, int]
) -> tuple[Counter[tuple[str, str]], Counter[str]]:
    """How often opcodes were executed that are written as others, and those where it stops."""
    replaced: Counter[tuple[str, str]] = Counter()
    stops: Counter[str] = Counter()
    for block in kernel.blocks:
        times = entered.get(block.index, 0)
        for index in whole_instructions(kernel, block) if times else ():
            instruction = kernel.instructions[index]
            if other := stand_in(instruction, version):
                replaced[instruction.opcode, other] += times
            elif instruction.opcode in VALUES_NEEDED:
                stops[instruction.opcode] += times
    return replaced, stops
