"""The head of a trace as JSON: kernel, launch, blocks and arrays.

Operands are kept as text and what variables hold at first is left out: neither is needed to count
a trace. The fields are listed in docs/traces.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Self

import msgspec
from msgspec import Struct

from kernelcast.execution import address_map
from kernelcast.execution.memory import Region
from kernelcast.ir import (
    BasicBlock,
    Guard,
    Instruction,
    IssueControl,
    Kernel,
    Location,
    OpClass,
    Parameter,
    Register,
    Resources,
    Space,
    Text,
    Variable,
)
from kernelcast.isas.traits import with_traits
from kernelcast.traces.stored import TraceHead
from kernelcast.traces.stored_launch import StoredLaunch

_WINDOWS = {
    "shared": address_map.SHARED_WINDOW,
    "local": address_map.LOCAL_WINDOW,
    "param": address_map.PARAM_WINDOW,
    "bytes": address_map.WINDOW_BYTES,
}
"""Where generic addresses lead to other spaces than global memory."""

_MAX_WARPS = 32
_MAX_ACCESS_BYTES = 32
_MAX_ADDRESS = (1 << 63) - 1


class StoredInstruction(Struct, omit_defaults=True):
    """An instruction; a register is its name, a colon and its type, `!` before it negates."""

    opcode: str
    op_class: OpClass
    modifiers: tuple[str, ...] = ()
    operands: tuple[str, ...] = ()
    guard: str = ""
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    address_reads: tuple[str, ...] = ()
    space: Space | None = None
    access_bytes: int = 0
    file: int = -1
    line: int = 0
    text_line: int = 0
    constant: int | None = None
    code_offset: int | None = None
    issue_cycles: int = 0
    control: IssueControl | None = None


class StoredParameter(Struct, omit_defaults=True):
    """The fields of `ir.Parameter`, but for what only its value needs."""

    name: str
    type: str
    size_bytes: int
    offset_bytes: int
    label: str = ""
    is_pointer: bool = False
    pointee: str = ""

    @classmethod
    def of(cls, parameter: Parameter) -> Self:
        """The parameter to be kept."""
        return cls(*(getattr(parameter, name) for name in cls.__struct_fields__))

    def parameter(self) -> Parameter:
        """The parameter that was kept."""
        return Parameter(*(getattr(self, name) for name in self.__struct_fields__))


class StoredVariable(Struct):
    """A variable and its place, without what it holds."""

    name: str
    space: Space
    size_bytes: int
    align_bytes: int


class StoredKernel(Struct, omit_defaults=True):
    """A kernel; `files` are the source files that its instructions' `file` counts from 0."""

    name: str
    isa: str
    target: str
    instructions: tuple[StoredInstruction, ...]
    blocks: tuple[BasicBlock, ...]
    parameters: tuple[StoredParameter, ...] = ()
    variables: tuple[StoredVariable, ...] = ()
    resources: Resources = Resources()
    files: tuple[str, ...] = ()
    label: str = ""
    source: str = ""
    version: str = ""
    warnings: tuple[str, ...] = ()
    cluster: tuple[int, int, int] = (1, 1, 1)


class _Header(Struct):
    """All of it; `blocks` are runs of grid blocks: the first one and how many."""

    kernelcast: str
    maker: str
    kernel: StoredKernel
    launch: StoredLaunch
    blocks: tuple[tuple[int, int], ...]
    regions: tuple[Region, ...]
    windows: Mapping[str, int]


def pack_head(head: TraceHead, maker: str, version: str) -> bytes:
    """The head as JSON; `version` is that of the package."""
    return msgspec.json.encode(
        _Header(
            kernelcast=version,
            maker=maker,
            kernel=_stored_kernel(head.kernel),
            launch=StoredLaunch.of(head.launch),
            blocks=tuple(_runs(head.blocks)),
            regions=head.regions,
            windows=_WINDOWS,
        )
    )


def unpack_head(data: bytes) -> tuple[TraceHead, str]:
    """Head and maker; ValueError where the JSON is no head, or one of another address map."""
    try:
        header = msgspec.json.decode(data, type=_Header)
    except msgspec.MsgspecError as error:
        raise ValueError(f"its head does not fit: {error}") from None
    if header.windows != _WINDOWS:
        raise ValueError("its generic addresses are of another version")
    _check(header)
    kernel, launch = _kernel(header.kernel), header.launch.launch()
    blocks = tuple(chain.from_iterable(range(first, first + n) for first, n in header.blocks))
    return TraceHead(kernel, launch, blocks, header.regions), header.maker


def _stored_kernel(kernel: Kernel) -> StoredKernel:
    places = (i.location.file for i in kernel.instructions if i.location)
    files = {file: number for number, file in enumerate(dict.fromkeys(places))}
    return StoredKernel(
        name=kernel.name,
        isa=kernel.isa,
        target=kernel.target,
        instructions=tuple(_stored_instruction(i, files) for i in kernel.instructions),
        blocks=kernel.blocks,
        parameters=tuple(map(StoredParameter.of, kernel.parameters)),
        variables=tuple(
            StoredVariable(v.name, v.space, v.size_bytes, v.align_bytes) for v in kernel.variables
        ),
        resources=kernel.resources,
        files=tuple(files),
        label=kernel.label,
        source=kernel.source,
        version=kernel.version,
        warnings=kernel.warnings,
        cluster=kernel.cluster,
    )


def _stored_instruction(i: Instruction, files: Mapping[str, int]) -> StoredInstruction:
    return StoredInstruction(
        opcode=i.opcode,
        op_class=i.op_class,
        modifiers=i.modifiers,
        operands=tuple("_" if o is None else str(o) for o in i.operands),
        guard="" if i.guard is None else "!" * i.guard.negated + _named(i.guard.register),
        reads=tuple(map(_named, i.reads)),
        writes=tuple(map(_named, i.writes)),
        address_reads=tuple(map(_named, i.address_reads)),
        space=i.space,
        access_bytes=i.access_bytes,
        file=files[i.location.file] if i.location else -1,
        line=i.location.line if i.location else 0,
        text_line=i.line,
        constant=i.constant,
        code_offset=i.code_offset,
        issue_cycles=i.issue_cycles,
        control=i.control,
    )


def _kernel(stored: StoredKernel) -> Kernel:
    return Kernel(
        name=stored.name,
        isa=stored.isa,
        target=stored.target,
        parameters=tuple(p.parameter() for p in stored.parameters),
        instructions=tuple(
            _instruction(index, i, stored.files, stored.isa)
            for index, i in enumerate(stored.instructions)
        ),
        blocks=stored.blocks,
        variables=tuple(
            Variable(v.name, v.space, v.size_bytes, v.align_bytes) for v in stored.variables
        ),
        resources=stored.resources,
        label=stored.label,
        source=stored.source,
        version=stored.version,
        warnings=stored.warnings,
        cluster=stored.cluster,
    )


def _instruction(
    index: int, stored: StoredInstruction, files: Sequence[str], isa: str
) -> Instruction:
    guard = stored.guard
    made = Instruction(
        index=index,
        opcode=stored.opcode,
        modifiers=stored.modifiers,
        operands=tuple(None if text == "_" else Text(text) for text in stored.operands),
        op_class=stored.op_class,
        guard=Guard(_register(guard.removeprefix("!")), guard.startswith("!")) if guard else None,
        reads=tuple(map(_register, stored.reads)),
        writes=tuple(map(_register, stored.writes)),
        space=stored.space,
        access_bytes=stored.access_bytes,
        location=None if stored.file < 0 else Location(files[stored.file], stored.line),
        line=stored.text_line,
        address_reads=tuple(map(_register, stored.address_reads)),
        constant=stored.constant,
        code_offset=stored.code_offset,
        issue_cycles=stored.issue_cycles,
        control=stored.control,
    )
    return with_traits(made, isa)


def _named(register: Register) -> str:
    return f"{register.name}:{register.type}"


def _register(text: str) -> Register:
    name, _, kind = text.rpartition(":")
    return Register(name, kind)


def _runs(blocks: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Consecutive numbers of an ascending sequence as first number and count."""
    first = count = 0
    for block in blocks:
        if count and block == first + count:
            count += 1
            continue
        if count:
            yield first, count
        first, count = block, 1
    if count:
        yield first, count


def _check(header: _Header) -> None:
    """ValueError where parts of the head do not fit together: what counts a trace relies on it."""
    end = 0
    launch = header.launch.launch()
    for first, count in header.blocks:
        if first < end or count < 1:
            raise ValueError("its blocks are not in order")
        end = first + count
    if not 0 < end <= launch.blocks:
        raise ValueError("its blocks are not those of its grid")
    if not 0 < launch.warps_per_block <= _MAX_WARPS:
        raise ValueError("its blocks are no blocks of threads")
    _check_kernel(header.kernel)
    address = 0
    for region in header.regions:
        if region.address < address or region.size_bytes < 0:
            raise ValueError("its arrays are not in order")
        address = region.end
    if address > _MAX_ADDRESS:
        raise ValueError("its arrays lie outside the memory")


def _check_kernel(kernel: StoredKernel) -> None:
    for index, block in enumerate(kernel.blocks):
        inside = 0 <= block.start <= block.end <= len(kernel.instructions)
        if block.index != index or not inside:
            raise ValueError(f"its basic block {index} is none of its kernel")
    for instruction in kernel.instructions:
        if not 0 <= instruction.access_bytes <= _MAX_ACCESS_BYTES:
            raise ValueError(f"an access of {instruction.access_bytes} bytes")
        if instruction.file >= len(kernel.files):
            raise ValueError("its source files are not all there")
