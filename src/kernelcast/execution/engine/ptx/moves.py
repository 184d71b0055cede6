"""Moves, address-space conversion, and instructions without effect on what a kernel computes."""

from __future__ import annotations

from kernelcast.execution.address_map import (
    LOCAL_WINDOW,
    PARAM_WINDOW,
    SHARED_WINDOW,
    WINDOW_BYTES,
)
from kernelcast.execution.engine.builder import FunctionBuilder
from kernelcast.execution.engine.lowering import Lowering
from kernelcast.execution.engine.ptx.operands import read, resize, type_of, write
from kernelcast.execution.engine.values import Value, ptx_type
from kernelcast.ir import Instruction

_WINDOWS = {
    "shared": SHARED_WINDOW,
    "shared::cta": SHARED_WINDOW,
    "shared::cluster": SHARED_WINDOW,
    "local": LOCAL_WINDOW,
    "param": PARAM_WINDOW,
    "param::entry": PARAM_WINDOW,
}


def _mov(lw: Lowering, i: Instruction) -> None:
    """`mov`, with packing and unpacking of vectors."""
    write(lw, i, i.operands[0], read(lw, i.operands[1], type_of(i)))


def _cvta(lw: Lowering, i: Instruction) -> None:
    """Between the addresses of a space and generic ones."""
    b = lw.b
    kind = type_of(i)
    address = resize(b, read(lw, i.operands[1], kind), "i64")
    base = next((_WINDOWS[m] for m in i.modifiers if m in _WINDOWS), 0)
    if base:
        operation = "sub" if "to" in i.modifiers else "add"
        address = b.binary(operation, address, b.constant("i64", base))
    write(lw, i, i.operands[0], resize(b, address, kind.llvm))


def _isspacep(lw: Lowering, i: Instruction) -> None:
    """Whether a generic address lies in a space."""
    b = lw.b
    address = read(lw, i.operands[1], ptx_type("u64"))
    (space,) = i.modifiers
    if space == "shared::cluster":
        inside = _within_cluster(lw, address)
    elif space in ("shared", "shared::cta") and lw.is_clustered:
        offset = b.binary("sub", address, b.splat(lw.own_window(), "i64"))
        inside = _within(b, offset, SHARED_WINDOW)
    elif space in _WINDOWS:
        inside = _within(b, address, _WINDOWS[space])
    elif space != "global":
        raise lw.unsupported("this space")
    else:
        windows = (_within_cluster(lw, address), _within(b, address, LOCAL_WINDOW))
        inside = b.invert(b.binary("or", *windows))
    write(lw, i, i.operands[0], inside)


def _within_cluster(lw: Lowering, address: Value) -> Value:
    """Whether a generic address lies in the shared memory of a block of the cluster."""
    b = lw.b
    offset = b.binary("sub", address, b.constant("i64", SHARED_WINDOW))
    end = lw.kernel.cluster_blocks * WINDOW_BYTES
    return b.compare("ult", offset, b.constant("i64", end))


def _within(b: FunctionBuilder, address: Value, window: int) -> Value:
    offset = b.binary("sub", address, b.constant("i64", window))
    return b.compare("ult", offset, b.constant("i64", WINDOW_BYTES))


def _createpolicy(lw: Lowering, i: Instruction) -> None:
    """A cache policy: any number does, since none is obeyed."""
    write(lw, i, i.operands[0], lw.b.constant("i64", 0))


def _nothing(lw: Lowering, i: Instruction) -> None:
    """Hints and waits: without effect, since what they wait for is done at once."""


def _fence(lw: Lowering, i: Instruction) -> None:
    """Orders what blocks on several threads of the CPU see of each other."""
    if lw.is_shared:
        lw.b.line("fence seq_cst")


OPCODES = {
    "mov": _mov,
    "cvta": _cvta,
    "isspacep": _isspacep,
    "createpolicy": _createpolicy,
    "membar": _fence,
    "fence": _fence,
    **dict.fromkeys(
        (
            "prefetch",
            "prefetchu",
            "discard",
            "applypriority",
            "nanosleep",
            "griddepcontrol",
            "pmevent",
            "setmaxnreg",
        ),
        _nothing,
    ),
}
