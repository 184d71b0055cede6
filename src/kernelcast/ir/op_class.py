"""Classes of instructions: coarse enough for a machine file, fine enough for a pipe."""

from __future__ import annotations

from enum import StrEnum


class OpClass(StrEnum):
    """What an instruction asks of the chip; the key of `throughput.*` and `latency.*`."""

    FP16 = "fp16"  # half and bfloat16 arithmetic, one instruction for a packed pair
    FP32 = "fp32"
    FP64 = "fp64"
    INT = "int"  # add, subtract, carry, absolute value, negation
    INT_MUL = "int_mul"  # multiply, multiply-add, dot products
    LOGIC = "logic"
    SHIFT = "shift"
    BITFIELD = "bitfield"  # bfe, bfi, prmt
    BIT_COUNT = "bit_count"  # popc, clz, bfind, brev
    COMPARE = "compare"  # set-predicate, select, minimum, maximum
    CONVERT = "convert"
    SFU = "sfu"  # reciprocal, root, sine, cosine, exponent, logarithm
    MOVE = "move"  # between register files, and in PTX between registers and address spaces
    UNIFORM = "uniform"  # once for a whole warp, on a pipe of its own
    LOAD = "load"
    STORE = "store"
    ATOMIC = "atomic"  # atom and red, by the space they act on
    SHUFFLE = "shuffle"
    VOTE = "vote"  # vote, activemask, elect
    REDUCE = "reduce"  # redux: an integer of all lanes
    MATCH = "match"  # which lanes hold the same value
    BARRIER = "barrier"
    FENCE = "fence"
    BRANCH = "branch"
    TENSOR = "tensor"
    ASYNC_COPY = "async_copy"
    OTHER = "other"

    @property
    def is_memory(self) -> bool:
        """Whether the instruction carries addresses."""
        return self in (OpClass.LOAD, OpClass.STORE, OpClass.ATOMIC)


class Space(StrEnum):
    """State spaces, in PTX's words."""

    GLOBAL = "global"
    SHARED = "shared"
    LOCAL = "local"
    CONST = "const"
    PARAM = "param"
    GENERIC = "generic"
