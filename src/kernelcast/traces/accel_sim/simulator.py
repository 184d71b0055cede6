"""What Accel-Sim's simulator knows of machine code, and what stands in for the rest.

It looks up the first word of an opcode in a table that the trace's binary version chooses, and
stops where either is not there. `simulator.toml` holds the tables from Volta on.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from kernelcast.ir import Instruction
from kernelcast.isas.sass.opcodes import opcode

BULK_COPIES = frozenset({"UBLKCP", "UBLKPF", "UBLKRED", "UTMALDG", "UTMAPF", "UTMAREDG", "UTMASTG"})
"""Lines of these have other words behind the width."""

VALUES_NEEDED = frozenset({"ARRIVES", "STAS", "SYNCS"})
"""At these the simulator stops unless the trace holds addresses and values that ours does not."""

_BY_NAME = {"LDCU": "ULDC", "REDG": "RED", "CREDUX": "REDUX", "CS2UR": "S2UR"}
_BY_PIPE = {
    "alu": "IADD3",
    "fma": "FFMA",
    "fp16": "HFMA2",
    "fp64": "DFMA",
    "tensor": "HMMA",
    "uniform": "UMOV",
    "xu": "MUFU",
}
_ELSE = "NOP"


def binary_version(target: str) -> int:
    """The version that a trace of machine code for `target`, such as `sm_90a`, has to name.

    Where the simulator has no table for the target, that of the nearest one before it.
    """
    own = own_version(target)
    return max((version for version in _known() if version <= own), default=own)


def own_version(target: str) -> int:
    """`90` for `sm_90a`."""
    return int(target.removeprefix("sm_").rstrip("af"))


def stand_in(instruction: Instruction, version: int) -> str | None:
    """The opcode that an instruction is written as, where the simulator does not know its own:
    another name of the same, or one that uses the same unit."""
    known = opcodes_known(version)
    base = instruction.opcode
    if not known or base in known:
        return None
    row = opcode(base)
    names = (_BY_NAME.get(base), _BY_PIPE.get(row.pipe) if row else None)
    return next((name for name in names if name in known), _ELSE)


def opcodes_known(version: int) -> frozenset[str]:
    """First words of opcodes that may stand in a trace of that binary version; none where the
    version has no table here."""
    return _known().get(version, frozenset())


@cache
def _known() -> Mapping[int, frozenset[str]]:
    """The table, by binary version."""
    tables = tomllib.loads(files(__package__).joinpath("simulator.toml").read_text("utf-8"))
    known: dict[int, frozenset[str]] = {}
    names: frozenset[str] = frozenset()
    for table in tables["table"]:
        names |= frozenset(table["adds"].split())
        known |= dict.fromkeys(table["versions"], names)
    return known
