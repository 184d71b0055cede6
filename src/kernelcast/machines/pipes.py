"""Which pipe of an SM executes a class of instructions.

By NVIDIA's tables of arithmetic throughput and the pipes of Nsight Compute: the CUDA cores execute
all single-precision and integer arithmetic, or else floating point and integer multiplication, with
a pipe of its own for the remaining integer arithmetic (`sm.integer_pipe`). Conversions share the
special-function units, and so do counts of bits where they have a rate of their own
(`throughput.bit_count`). The address divergence unit compares lanes of a warp and adds them up.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from kernelcast.ir import OpClass
from kernelcast.machines.classes import counts_bits_apart
from kernelcast.machines.machine import Machine


class Pipe(StrEnum):
    """A pipe of an SM, or of each of its schedulers."""

    FP32 = "fp32"
    INT = "int"
    FP64 = "fp64"
    SFU = "sfu"
    ADU = "adu"
    TENSOR = "tensor"
    UNIFORM = "uniform"
    LSU = "lsu"


_PIPES: Mapping[OpClass, Pipe] = {
    OpClass.FP32: Pipe.FP32,
    OpClass.FP16: Pipe.FP32,
    OpClass.INT_MUL: Pipe.FP32,
    OpClass.INT: Pipe.INT,
    OpClass.LOGIC: Pipe.INT,
    OpClass.SHIFT: Pipe.INT,
    OpClass.BITFIELD: Pipe.INT,
    OpClass.BIT_COUNT: Pipe.INT,
    OpClass.COMPARE: Pipe.INT,
    OpClass.MOVE: Pipe.INT,
    OpClass.VOTE: Pipe.INT,
    OpClass.FP64: Pipe.FP64,
    OpClass.SFU: Pipe.SFU,
    OpClass.CONVERT: Pipe.SFU,
    OpClass.REDUCE: Pipe.ADU,
    OpClass.MATCH: Pipe.ADU,
    OpClass.TENSOR: Pipe.TENSOR,
    OpClass.UNIFORM: Pipe.UNIFORM,
    OpClass.LOAD: Pipe.LSU,
    OpClass.STORE: Pipe.LSU,
    OpClass.ATOMIC: Pipe.LSU,
    OpClass.SHUFFLE: Pipe.LSU,
}
"""Where the CUDA cores leave integer arithmetic to a pipe of its own, and that counts bits."""

RATE_OF: Mapping[OpClass, OpClass] = {OpClass.MOVE: OpClass.LOGIC, OpClass.VOTE: OpClass.LOGIC}
"""Classes that have no rate of their own, and whose they take."""


def pipe_of(op_class: OpClass, machine: Machine) -> Pipe | None:
    """The pipe that executes a class, None where it takes up none."""
    if op_class is OpClass.BIT_COUNT and counts_bits_apart(machine):
        return Pipe.SFU
    pipe = _PIPES.get(op_class)
    if pipe is Pipe.INT and machine.get("sm.integer_pipe") == 0:
        return Pipe.FP32
    return pipe


def is_of_cuda_cores(op_class: OpClass) -> bool:
    """Whether CUDA cores execute a class where integer arithmetic has no pipe of its own."""
    return _PIPES.get(op_class) in (Pipe.FP32, Pipe.INT) and op_class not in RATE_OF
