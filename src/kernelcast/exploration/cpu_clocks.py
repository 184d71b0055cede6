"""How long a function takes on the CPU: measured here, or as somebody says."""

from __future__ import annotations

from pathlib import Path

from kernelcast.exploration.offload import CpuClock, CpuTime
from kernelcast.frontends.c.launching import FunctionLaunches
from kernelcast.frontends.c.plan import FunctionPlan
from kernelcast.measuring.native_c import NativeCode, run_native


def measured(source: Path, code: NativeCode) -> CpuClock:
    """A clock that compiles the function and calls it on this machine."""
    how = f"measured on this machine, {Path(code.compiler).name} {' '.join(code.flags)}"

    def clock(plan: FunctionPlan, launches: FunctionLaunches, _: float) -> CpuTime:
        run = run_native(source, plan, launches, code)
        calls = len(run.seconds)
        least = f", the least of {calls} calls" if calls > 1 else ""
        return CpuTime(run.least_s, f"{how}{least}")

    return clock


def given(seconds: float) -> CpuClock:
    """A clock that was told the time of the first call it is asked for.

    At other sizes it is in proportion to how often the loops access memory.
    """
    first: list[float] = []

    def clock(_: FunctionPlan, __: FunctionLaunches, accesses: float) -> CpuTime:
        first[:] = first or [accesses]
        return CpuTime(seconds * accesses / first[0] if first[0] else seconds, "given")

    return clock
