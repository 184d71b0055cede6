"""What is said of an access that may not be."""

from __future__ import annotations

import pytest

from kernelcast.execution.address_map import (
    LOCAL_WINDOW,
    PARAM_WINDOW,
    SHARED_WINDOW,
    WINDOW_BYTES,
)
from kernelcast.execution.faults import memory_fault, split_generic
from kernelcast.execution.memory import Memory
from kernelcast.ir import (
    Array,
    Instruction,
    Kernel,
    Launch,
    Location,
    OpClass,
    Parameter,
    Space,
    Variable,
)

KERNEL = Kernel(
    "_Z5saxpyPf",
    "ptx",
    "sm_90",
    (Parameter("p0", "u64", 8, 0, "y", True, "f32"),),
    (),
    (),
    (Variable("tile", Space.SHARED, 64, 4),),
    label="saxpy",
)
LAUNCH = Launch((8, 1, 1), (8, 4, 2), {"y": Array("f32", (512,))})


def message(space: Space, address: int, size: int = 4, *, located: bool = True) -> str:
    instruction = Instruction(
        index=7,
        opcode="st",
        modifiers=(str(space), "f32"),
        operands=(),
        op_class=OpClass.STORE,
        space=space,
        access_bytes=size,
        location=Location("saxpy.cu", 7) if located else None,
        line=41,
    )
    memory = Memory.build(KERNEL, LAUNCH)
    return str(memory_fault(KERNEL, LAUNCH, memory, instruction, 3, 37, address))


def test_a_fault_names_kernel_line_instruction_block_thread_address_and_array() -> None:
    assert message(Space.GLOBAL, 0x10_0000_0800) == (
        "kernel saxpy, line saxpy.cu:7, PTX line 41 (st.global.f32), block 3, thread (5,0,1): "
        "store of 4 bytes at 0x1000000800 is outside every array; "
        "nearest is y (2048 bytes), 0 bytes past its end; "
        "check the index, or declare the array larger"
    )


def test_without_a_source_line_the_isa_line_stands_alone() -> None:
    assert message(Space.GLOBAL, 0, located=False).startswith("kernel saxpy, PTX line 41 (")


@pytest.mark.parametrize(
    ("space", "address", "size", "reason"),
    [
        (Space.GLOBAL, 0x0F_FFFF_FFF0, 4, "16 bytes before its start"),
        (Space.GLOBAL, 0x10_0000_07F8, 16, "across its end"),
        (Space.GLOBAL, 0x10_0000_0004, 16, "is not aligned to 16 bytes"),
        (Space.SHARED, 64, 4, "is outside the block's shared memory (64 bytes)"),
        (Space.GENERIC, SHARED_WINDOW + 64, 4, "at 0x100000040 is outside the block's shared"),
        (Space.LOCAL, 0, 4, "is outside the thread's local memory (0 bytes)"),
        (Space.PARAM, 8, 4, "is outside the kernel's parameters (8 bytes)"),
    ],
)
def test_the_reason_is_found_from_the_address(
    space: Space, address: int, size: int, reason: str
) -> None:
    assert reason in message(space, address, size)


def test_generic_addresses_split_by_window() -> None:
    assert split_generic(SHARED_WINDOW + 5) == (Space.SHARED, 5)
    assert split_generic(LOCAL_WINDOW) == (Space.LOCAL, 0)
    last = LOCAL_WINDOW + WINDOW_BYTES - 1
    assert split_generic(last) == (Space.LOCAL, WINDOW_BYTES - 1)
    assert split_generic(PARAM_WINDOW - 1) == (Space.GLOBAL, PARAM_WINDOW - 1)
    assert split_generic(0x10_0000_0000) == (Space.GLOBAL, 0x10_0000_0000)
