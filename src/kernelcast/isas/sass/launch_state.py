"""What a kernel finds when it starts: constant bank 0 with the driver's words and the parameters.

The layout follows from what the compiler reads in its own code; it differs by architecture.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from kernelcast.ir import AddressWord, ConstantBanks, LaunchWord, Parameter

_BANK_ALIGN_BYTES = 256
_ONE = (1).to_bytes(4, "little")


@dataclass(frozen=True, slots=True)
class LaunchLayout:
    """Offsets in bank 0, in bytes; three consecutive words for `block` and `grid`."""

    block: int
    grid: int
    stack: int
    local_window: int
    parameters: int
    shared_window: int | None = None  # from sm_90 on a special register holds it
    cluster_blocks: int | None = None


_UP_TO_89 = LaunchLayout(
    block=0x0, grid=0xC, stack=0x28, local_window=0x20, parameters=0x160, shared_window=0x18
)
_SM_90 = LaunchLayout(
    block=0x0,
    grid=0xC,
    stack=0x28,
    local_window=0x20,
    parameters=0x210,
    cluster_blocks=0x144,
)
_FROM_100 = LaunchLayout(block=0x360, grid=0x370, stack=0x37C, local_window=0x2F8, parameters=0x380)


def launch_layout(architecture: int) -> LaunchLayout:
    """The layout for an architecture: 90 for `sm_90`."""
    if architecture < 90:
        return _UP_TO_89
    return _SM_90 if architecture < 100 else _FROM_100


@dataclass(frozen=True)
class CodeBanks:
    """The constant banks that a binary brings along: literals and jump tables of the kernel (2),
    `__constant__` variables (3), and addresses of variables (4).

    `addresses` holds bank, offset, variable and addend of every address to be filled in.
    """

    data: Mapping[int, bytes]
    addresses: tuple[tuple[int, int, str, int], ...] = ()


NO_BANKS = CodeBanks({})


@dataclass(frozen=True)
class ParameterBlock:
    """The banks side by side: `offsets` says where each begins, bank 0 at 0."""

    parameters: tuple[Parameter, ...]
    constants: ConstantBanks
    offsets: Mapping[int, int]


def parameter_block(
    architecture: int, parameters: tuple[Parameter, ...], banks: CodeBanks
) -> ParameterBlock:
    """Lay out the banks of a kernel, whose parameters have offsets from 0 on."""
    layout = launch_layout(architecture)
    placed = tuple(replace(p, offset_bytes=p.offset_bytes + layout.parameters) for p in parameters)
    end = max((p.offset_bytes + p.size_bytes for p in placed), default=layout.parameters)
    offsets = {0: 0}
    data = []
    if layout.cluster_blocks is not None:
        data.append((layout.cluster_blocks, _ONE))  # every block is a cluster of its own
    for bank, content in sorted(banks.data.items()):
        end = -(-end // _BANK_ALIGN_BYTES) * _BANK_ALIGN_BYTES
        offsets[bank] = end
        data.append((end, content))
        end += len(content)
    axes = [
        LaunchWord(start + 4 * at, f"{name}.{axis}")
        for name, start in (("ntid", layout.block), ("nctaid", layout.grid))
        for at, axis in enumerate("xyz")
    ]
    words = [LaunchWord(layout.stack, "stack"), LaunchWord(layout.local_window, "local_window")]
    if layout.shared_window is not None:
        words.append(LaunchWord(layout.shared_window, "shared_window"))
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
        ),
        offsets,
    )
