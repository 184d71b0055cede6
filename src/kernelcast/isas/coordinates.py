"""Which instructions read and write textures and surfaces, in any ISA."""

from __future__ import annotations

_OPCODES = frozenset(["tex", "tld", "tld4", "txd", "txq", "suq", "suld", "sust", "sured"])


def is_by_coordinates(opcode: str) -> bool:
    """Whether an instruction reads, writes or asks about a texture or surface."""
    return opcode.lower() in _OPCODES
