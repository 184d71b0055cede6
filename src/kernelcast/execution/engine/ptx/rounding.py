"""Arithmetic of f32 and f64 rounded towards zero, downwards or upwards.

The processor does it, in another rounding mode. The mode is set around each operation, in a
function of its own: LLVM may move other arithmetic of the same function across the change.
"""

from __future__ import annotations

from kernelcast.execution.engine.builder import FunctionBuilder
from kernelcast.execution.engine.lowering import Lowering
from kernelcast.execution.engine.values import Value, mangled, vector

MODES = {"rz": 0, "rp": 2, "rm": 3}
"""By modifier, the mode in the numbers of LLVM's `set.rounding`."""
_TO_NEAREST = 1


def directed(lw: Lowering, mode: str, operation: str, *values: Value) -> Value:
    """`fadd`, `fsub`, `fmul`, `fdiv`, `fma` or `sqrt`, rounded in a mode."""
    element = values[0].type
    kind = vector(element)
    name = _function(lw.b, mode, operation, element, len(values))
    passed = ", ".join(f"{kind} {value.text}" for value in values)
    return lw.b.value(element, f"call {kind} @{name}({passed})")


def _function(b: FunctionBuilder, mode: str, operation: str, element: str, count: int) -> str:
    """Define the function of an operation, once, and return its name."""
    kind = vector(element)
    name = f"rounded.{mode}.{operation}.{mangled(element)}"
    intrinsic = f"llvm.experimental.constrained.{operation}.{mangled(element)}"
    types = ", ".join([kind] * count)
    numbers = ", ".join(f"{kind} %a{n}" for n in range(count))
    b.declarations.add("declare void @llvm.set.rounding(i32)")
    b.declarations.add(f"declare {kind} @{intrinsic}({types}, metadata, metadata)")
    b.declarations.add(
        f"define internal {kind} @{name}({numbers}) noinline strictfp {{\n"
        f"  call void @llvm.set.rounding(i32 {MODES[mode]}) strictfp\n"
        f"  %r = call {kind} @{intrinsic}({numbers}, "
        'metadata !"round.dynamic", metadata !"fpexcept.ignore") strictfp\n'
        f"  call void @llvm.set.rounding(i32 {_TO_NEAREST}) strictfp\n"
        f"  ret {kind} %r\n"
        "}"
    )
    return name
