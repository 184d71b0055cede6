"""The first pass over an Accel-Sim trace: its code, its basic blocks, what it touched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kernelcast.ir import BasicBlock, Kernel, Resources
from kernelcast.isas.assembly import MACHINE_CODE
from kernelcast.isas.sass.opcodes import opcode
from kernelcast.toolchain.mangling import source_name
from kernelcast.traces.accel_sim.arrays import Touched
from kernelcast.traces.accel_sim.code import StaticInstruction, instruction, read_code
from kernelcast.traces.accel_sim.flow import BlockFinder
from kernelcast.traces.accel_sim.lines import Head, TraceText
from kernelcast.traces.accel_sim.spaces import Spaces


@dataclass(frozen=True)
class Survey:
    """The code by pc, and by first pc the index of every basic block of the kernel.

    `blocks` are the indices in the grid of the traced blocks, ascending.
    """

    kernel: Kernel
    code: Mapping[int, StaticInstruction]
    starts: Mapping[int, int]
    blocks: tuple[int, ...]
    touched: Touched


def survey(text: TraceText) -> Survey:
    """Read all of a trace once; ParseError and InputError where it is none."""
    head = text.head
    code: dict[int, StaticInstruction] = {}
    blocks: set[int] = set()
    flow, touched, spaces = BlockFinder(), Touched(), Spaces(head)
    here = None
    try:
        for place, words in text.instructions():
            if place is not here:
                here = place
                flow.begin_warp()
                blocks.add(place.block)
            pc, mask = int(words[head.first_word], 16), int(words[head.first_word + 1], 16)
            known = code.get(pc)
            if known is None:
                known = code[pc] = read_code(words, head)
            elif words[known.name_at] != known.name:
                raise text.error(f"{words[known.name_at]} where {known.name} stood before")
            flow.step(pc, mask, known.ends_group)
            access = spaces.read(known, mask, words)
            if access is not None and spaces.is_global(known, access[0]):
                touched.add(*access, known.access_bytes)
    except (ValueError, IndexError):
        raise text.error("not an instruction as Accel-Sim's tracer writes it") from None
    pcs = sorted(code)
    parts = flow.blocks(pcs)
    return Survey(
        kernel=_kernel(head, [code[pc] for pc in pcs], parts),
        code=code,
        starts={pcs[part.start]: part.index for part in parts},
        blocks=tuple(sorted(blocks)),
        touched=touched,
    )


def _kernel(
    head: Head, code: Sequence[StaticInstruction], blocks: tuple[BasicBlock, ...]
) -> Kernel:
    """The kernel as far as it was executed; what it shares is known, but not how it is laid out."""
    names = {one.name.partition(".")[0] for one in code}
    unknown = sorted(name for name in names if opcode(name) is None)
    return Kernel(
        name=head.name,
        isa=MACHINE_CODE,
        target=f"sm_{head.binary_version}",
        parameters=(),
        instructions=tuple(instruction(one, index) for index, one in enumerate(code)),
        blocks=blocks,
        resources=Resources(
            registers=head.registers, static_shared_bytes=head.shared_bytes, source="the trace"
        ),
        label=source_name(head.name),
        warnings=(f"opcodes not known, counted as other: {', '.join(unknown)}",) if unknown else (),
    )
