"""What a kernel finds when it starts: constant bank 0 with the driver's words and the parameters.

The layout follows from what the compiler reads in its own code; it differs by architecture.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from kernelcast.ir import (
    AddressWord,
    BankVariable,
    ConstantBanks,
    Dim3,
    LaunchWord,
    Parameter,
    Variable,
)

_BANK_ALIGN_BYTES = 256
_VARIABLES = 3
"""The bank of `__constant__` variables."""


@dataclass(frozen=True, slots=True)
class _LaunchLayout:
    """Offsets in bank 0, in bytes; three consecutive words for `block` and `grid`.

    Of clusters: `is_clustered` whether there are some, `cluster` blocks of one, and
    `cluster_inverses`, the same as reciprocals, which are floats; `clusters` in the grid, and
    `cluster_size`, all blocks of one. `workspace` is where
    the address stands at which blocks of a cooperative launch meet, its high word first, and
    `constant_window` that of the bank of variables among generic ones.
    """

    block: int
    grid: int
    stack: int
    local_window: int
    parameters: int
    workspace: int
    constant_window: int
    dynamic_shared: int
    shared_window: int | None = None  # from sm_90 on a special register holds it
    parameter_window: int | None = None
    cluster: int | None = None
    cluster_inverses: int = 0
    clusters: int = 0
    cluster_size: int = 0
    is_clustered: int = 0


_UP_TO_89 = _LaunchLayout(
    block=0x0,
    grid=0xC,
    stack=0x28,
    local_window=0x20,
    parameters=0x160,
    workspace=0x8C,
    constant_window=0x50,
    dynamic_shared=0x2C,
    shared_window=0x18,
)
_SM_90 = _LaunchLayout(
    block=0x0,
    grid=0xC,
    stack=0x28,
    local_window=0x20,
    parameters=0x210,
    workspace=0x44,
    constant_window=0xD0,
    dynamic_shared=0x2C,
    parameter_window=0x198,
    cluster=0x144,
    cluster_inverses=0x150,
    clusters=0x15C,
    cluster_size=0x188,
    is_clustered=0x140,
)
_FROM_100 = _LaunchLayout(
    block=0x360,
    grid=0x370,
    stack=0x37C,
    local_window=0x2F8,
    parameters=0x380,
    workspace=0x254,
    constant_window=0x120,
    dynamic_shared=0x2AC,  # found as `cluster` is
    parameter_window=0x348,
    cluster=0x2A0,  # where SR_CgaSize, by which code finds them, is 0
    cluster_inverses=0x2B0,
    clusters=0x2C0,
    cluster_size=0x2CC,
    is_clustered=0x36C,
)


def _launch_layout(architecture: int) -> _LaunchLayout:
    """The layout for an architecture: 90 for `sm_90`."""
    if architecture < 90:
        return _UP_TO_89
    return _SM_90 if architecture < 100 else _FROM_100


@dataclass(frozen=True)
class CodeBanks:
    """The constant banks that a binary brings along: literals and jump tables of the kernel (2),
    `__constant__` variables (3), and addresses of variables (4).

    `addresses` holds bank, offset, variable and addend of every address to be filled in,
    `functions` bank, offset and name where the address of a function belongs, and `variables` bank
    and offset of every variable. The parameters begin at `parameters_at` in bank 0; None where they
    do at the usual place.
    """

    data: Mapping[int, bytes]
    addresses: tuple[tuple[int, int, str, int], ...] = ()
    functions: tuple[tuple[int, int, str], ...] = ()
    variables: tuple[tuple[int, int, Variable], ...] = ()
    parameters_at: int | None = None


NO_BANKS = CodeBanks({})


@dataclass(frozen=True)
class ParameterBlock:
    """The banks side by side: `offsets` says where each begins, bank 0 at 0."""

    parameters: tuple[Parameter, ...]
    constants: ConstantBanks
    offsets: Mapping[int, int]


def parameter_block(
    architecture: int,
    parameters: tuple[Parameter, ...],
    banks: CodeBanks,
    cluster: Dim3 = (1, 1, 1),
) -> ParameterBlock:
    """Lay out the banks of a kernel, whose parameters have offsets from 0 on."""
    layout = _launch_layout(architecture)
    start = layout.parameters if banks.parameters_at is None else banks.parameters_at
    placed = tuple(replace(p, offset_bytes=p.offset_bytes + start) for p in parameters)
    end = max((p.offset_bytes + p.size_bytes for p in placed), default=start)
    # Bank 0 holds the parameters; the other banks follow them, each aligned.
    offsets = {0: 0}
    data = _cluster_words(layout, cluster)
    for bank, content in sorted(banks.data.items()):
        end = -(-end // _BANK_ALIGN_BYTES) * _BANK_ALIGN_BYTES
        offsets[bank] = end
        data.append((end, content))
        end += len(content)
    # Words that only the launch knows: its extents, its stack, and where windows begin.
    vectors = [("ntid", layout.block), ("nctaid", layout.grid)]
    if layout.cluster is not None:
        vectors.append(("nclusterid", layout.clusters))
    axes = [
        LaunchWord(start + 4 * at, f"{name}.{axis}")
        for name, start in vectors
        for at, axis in enumerate("xyz")
    ]
    words = [
        LaunchWord(layout.stack, "stack"),
        LaunchWord(layout.dynamic_shared, "dynamic_smem_size"),
        LaunchWord(layout.local_window, "local_window"),
        LaunchWord(layout.workspace, "workspace_high"),
        LaunchWord(layout.workspace + 4, "workspace_low"),
    ]
    if layout.shared_window is not None:
        words.append(LaunchWord(layout.shared_window, "shared_window"))
    if layout.parameter_window is not None:
        words.append(LaunchWord(layout.parameter_window, "param_window", start))
    if _VARIABLES in offsets:
        words.append(LaunchWord(layout.constant_window, "param_window", offsets[_VARIABLES]))
    return ParameterBlock(
        placed,
        ConstantBanks(
            size_bytes=-(-end // 16) * 16,
            data=tuple(data),
            launch_words=(*axes, *words),
            addresses=tuple(
                AddressWord(offsets[bank] + offset, variable, addend)
                for bank, offset, variable, addend in banks.addresses
            ),
            variables=tuple(
                BankVariable(variable.name, offsets[bank] + offset, variable.size_bytes)
                for bank, offset, variable in banks.variables
                if bank in offsets
            ),
        ),
        offsets,
    )


def _cluster_words(layout: _LaunchLayout, cluster: Dim3) -> list[tuple[int, bytes]]:
    """The blocks of a cluster; without clusters every block is one of its own."""
    if layout.cluster is None:
        return []
    size = math.prod(cluster)
    words = [
        (layout.cluster, struct.pack("<3I", *cluster)),
        (layout.cluster_inverses, struct.pack("<3f", *map(_inverse, cluster))),
        (layout.cluster_size, struct.pack("<I", size)),
    ]
    return [*words, (layout.is_clustered, struct.pack("<I", 1))] if size > 1 else words


def _inverse(extent: int) -> float:
    """The reciprocal as a float that is not too small: code multiplies by it and rounds down."""
    nearest = np.float32(1) / np.float32(extent)
    is_small = float(nearest) * extent < 1
    return float(np.nextafter(nearest, np.float32(2))) if is_small else float(nearest)
