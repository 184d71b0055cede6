"""Opcodes of native code of compute capability 1.x: the table of `early_opcodes.toml`, typed."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

from kernelcast.ir import OpClass, Space


@dataclass(frozen=True, slots=True)
class EarlyOpcode:
    """One row of the table."""

    op_class: OpClass
    words: int
    writes: bool
    space: Space | None


@lru_cache(maxsize=1)
def early_opcodes() -> Mapping[str, EarlyOpcode]:
    """The table of `early_opcodes.toml`, by opcode."""
    text = files("kernelcast.isas.sass").joinpath("early_opcodes.toml").read_text(encoding="utf-8")
    return {
        name: EarlyOpcode(
            op_class=OpClass(group["class"]),
            words=group.get("words", 1),
            writes=group.get("writes", True),
            space=Space(group["space"]) if "space" in group else None,
        )
        for group in tomllib.loads(text)["group"]
        for name in group["opcodes"].split()
    }
