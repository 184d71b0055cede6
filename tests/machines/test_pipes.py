"""Which pipe executes what, for all models."""

from __future__ import annotations

import pytest

from kernelcast.ir import OpClass
from kernelcast.machines.loader import load_machine
from kernelcast.machines.pipes import Pipe, is_of_cuda_cores, pipe_of


@pytest.mark.parametrize(
    ("gpu", "op_class", "pipe"),
    [
        ("h100-sxm", OpClass.FP16, Pipe.FP32),
        ("h100-sxm", OpClass.INT_MUL, Pipe.FP32),
        ("h100-sxm", OpClass.LOGIC, Pipe.INT),
        ("gtx-980", OpClass.LOGIC, Pipe.FP32),
        ("h100-sxm", OpClass.CONVERT, Pipe.SFU),
        ("h100-sxm", OpClass.MATCH, Pipe.ADU),
        ("h100-sxm", OpClass.SHUFFLE, Pipe.LSU),
        ("h100-sxm", OpClass.BRANCH, None),
    ],
)
def test_the_pipe_of_a_class(gpu: str, op_class: OpClass, pipe: Pipe | None) -> None:
    assert pipe_of(op_class, load_machine(gpu)) is pipe


def test_bits_are_counted_by_special_units_where_that_has_a_rate_of_its_own() -> None:
    unknown = load_machine("gtx-980")
    rate = unknown.quantities["throughput.sfu"]
    known = unknown.with_quantities({"throughput.bit_count": rate})
    assert pipe_of(OpClass.BIT_COUNT, known) is Pipe.SFU
    assert pipe_of(OpClass.BIT_COUNT, unknown) is Pipe.FP32


def test_cuda_cores_execute_arithmetic_in_single_precision_and_of_integers() -> None:
    assert is_of_cuda_cores(OpClass.FP32) and is_of_cuda_cores(OpClass.SHIFT)
    assert not any(map(is_of_cuda_cores, (OpClass.FP64, OpClass.MOVE, OpClass.LOAD)))
