"""A small program on one machine, and spaces around it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from kernelcast.exploration.design_space import DesignSpace, design_space, read_axis
from kernelcast.exploration.sweep import Program
from kernelcast.ir import OpClass, Space
from kernelcast.machines.loader import load_machine
from kernelcast.profiling.profile import Footprint

CHIP = load_machine("h100-sxm")
OPS = [
    {"op_class": OpClass.LOAD, "space": Space.GLOBAL, "writes": "x", "reads": ("i",)},
    {"op_class": OpClass.FP32, "writes": "x", "reads": ("x",), "times": 40},
    {"op_class": OpClass.STORE, "space": Space.GLOBAL, "reads": ("x", "i")},
]


SHARED = Footprint("x", 96_000_000, True, False, 3e6, 3.3e7, 3.3e7)
"""An array that all blocks share and the L2 cache cannot hold: SMs decide what it reads again."""


def space(*sweeps: str) -> DesignSpace:
    return design_space(CHIP, [read_axis(text) for text in sweeps])


@pytest.fixture
def program(make_case) -> Callable[..., Program]:
    def make(
        name: str = "program", repeats: tuple[int, ...] = (1,), blocks: int = 1 << 20
    ) -> Program:
        case = make_case(CHIP, OPS, blocks=blocks, footprints=[SHARED])
        cases = tuple(
            replace(case, launch=replace(case.launch, repeat=repeat)) for repeat in repeats
        )
        return Program(name, cases)

    return make
