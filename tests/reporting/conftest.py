"""A hand-made case: a saxpy whose every count can be checked with pencil and paper."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from kernelcast.ir import (
    Array,
    BasicBlock,
    Instruction,
    Kernel,
    Launch,
    Location,
    OpClass,
    Parameter,
    Resources,
    Space,
)
from kernelcast.machines.loader import load_machine
from kernelcast.models.roofline import Roofline
from kernelcast.models.terms.base import Bottleneck, Case, Part, Prediction
from kernelcast.profiling.profile import (
    AccessProfile,
    BlockSample,
    Count,
    Footprint,
    LineProfile,
    Profile,
    WarpPath,
)

ELEMENTS = 1 << 20
WARPS = ELEMENTS // 32
PLACE = Location("saxpy.cu", 4)


def instruction(index: int, opcode: str, op_class: OpClass) -> Instruction:
    memory = op_class.is_memory
    return Instruction(
        index=index,
        opcode=opcode,
        modifiers=("global", "f32") if memory else ("f32",),
        operands=(),
        op_class=op_class,
        space=Space.GLOBAL if memory else None,
        access_bytes=4 if memory else 0,
        location=PLACE,
    )


@pytest.fixture
def kernel() -> Kernel:
    return Kernel(
        name="_Z5saxpyifPKfPf",
        label="saxpy",
        isa="ptx",
        target="sm_90",
        parameters=(Parameter("p0", "u32", 4, 0, label="n"),),
        instructions=(
            instruction(0, "ld", OpClass.LOAD),
            instruction(1, "ld", OpClass.LOAD),
            instruction(2, "fma", OpClass.FP32),
            instruction(3, "st", OpClass.STORE),
        ),
        blocks=(BasicBlock(0, 0, 4, ()),),
        resources=Resources(registers=16, source="hand"),
        source="saxpy.cu",
    )


@pytest.fixture
def launch() -> Launch:
    array = Array("f32", (ELEMENTS,))
    return Launch(grid=(ELEMENTS // 256, 1, 1), block=(256, 1, 1), args={"x": array, "y": array})


@pytest.fixture
def profile(kernel: Kernel, launch: Launch) -> Profile:
    each = Count(WARPS, ELEMENTS)
    sectors = 4.0 * WARPS

    def access(index: int) -> AccessProfile:
        kind = kernel.instructions[index].op_class
        return AccessProfile(
            index, kind, Space.GLOBAL, 4, PLACE, WARPS, ELEMENTS, sectors, float(WARPS)
        )

    def footprint(label: str, written: bool) -> Footprint:
        return Footprint(
            label,
            4 * ELEMENTS,
            read=True,
            written=written,
            distinct_sectors=sectors,
            block_sectors=sectors,
            requested_sectors=sectors,
            distinct_written_sectors=sectors if written else 0.0,
        )

    return Profile(
        kernel=kernel,
        launch=launch,
        sample=BlockSample(64, launch.blocks, 0.0),
        counts={
            OpClass.LOAD: each + each,
            OpClass.FP32: each,
            OpClass.STORE: each,
        },
        accesses=(access(0), access(1), access(3)),
        footprints=(footprint("x", False), footprint("y", True)),
        lines=(LineProfile(PLACE, Count(4 * WARPS, 4 * ELEMENTS), 3 * sectors, 3 * WARPS, 0, 0),),
        warp=WarpPath(0, 0, np.zeros(1, np.int32), np.full(1, 32, np.int32), 4),
        instruction_warps=np.full(4, float(WARPS)),
        instruction_threads=np.full(4, float(ELEMENTS)),
        seconds=0.25,
        executor="engine",
    )


@pytest.fixture
def case(kernel: Kernel, launch: Launch, profile: Profile) -> Case:
    return Case(kernel, launch, load_machine("h100-sxm"), profile)


@pytest.fixture
def prediction(case: Case) -> Prediction:
    return Prediction(
        model=Roofline(),
        case=case,
        cycles=10_000.0,
        time_s=5e-6,
        bottleneck=Bottleneck.DRAM_BANDWIDTH,
        breakdown=(Part("dram bandwidth", 9_000.0), Part("launch overhead", 1_000.0)),
        bounds=(Part("issue slots", 2_500.0), Part("dram bandwidth", 9_000.0)),
        low_s=4e-6,
        high_s=8e-6,
        terms={"x": 1.5, "case": "a"},
        assumptions=("caches start empty",),
        warnings=("no noc.bandwidth",),
        needed_warps=24.0,
    )


@pytest.fixture
def elsewhere(prediction: Prediction) -> Prediction:
    """The same launch on another GPU, twice as slow."""
    case = replace(prediction.case, machine=load_machine("a100-sxm-80gb"))
    return replace(prediction, case=case, time_s=1e-5, low_s=None, high_s=None)
