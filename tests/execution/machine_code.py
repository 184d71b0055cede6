"""Runs one kernel as PTX and as machine code, by both executors, to compare what they leave."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kernelcast.errors import KernelcastError
from kernelcast.execution.execute import execute
from kernelcast.execution.memory import Memory
from kernelcast.frontends.cuda import compile_source
from kernelcast.ir import Kernel, Launch
from kernelcast.toolchain.cache import Cache
from kernelcast.toolchain.nvrtc import CompileOptions

ARCHITECTURES = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")

Prepare = Callable[[Memory], None]
"""Writes inputs into fresh memory."""


def kernels(
    source: str, architecture: str, name: str = "", extra: Sequence[str] = ()
) -> tuple[Kernel, Kernel]:
    """The kernel as PTX and as machine code; `name` where the source holds several."""
    compiled = compile_source(
        source,
        name="test.cu",
        architecture=architecture,
        kernels=[name] if name else [],
        options=CompileOptions(extra=tuple(extra)),
        cache=Cache(),
    )
    mangled = next(m for m, label in compiled.labels.items() if not name or label == name)
    return compiled.kernel(mangled), compiled.machine_kernel(mangled, Cache())


def image(
    kernel: Kernel, launch: Launch, executor: str = "engine", prepare: Prepare | None = None
) -> dict[str, bytes]:
    """The arrays after the launch."""
    memory = Memory.build(kernel, launch)
    if prepare is not None:
        prepare(memory)
    execute(kernel, launch, memory, executor=executor)
    arguments = {r.label for r in memory.regions if r.is_argument}
    return {label: data for label, data in memory.image().items() if label in arguments}


def disagreements(
    source: str,
    launch: Launch,
    *,
    name: str = "",
    architectures: Sequence[str] = ARCHITECTURES,
    executors: Sequence[str] = ("engine",),
    extra: Sequence[str] = (),
    prepare: Prepare | None = None,
) -> list[str]:
    """Where machine code leaves other bytes than PTX, or cannot be executed; empty if all agree."""
    found = []
    for architecture in architectures:
        ptx, machine = kernels(source, architecture, name, extra)
        expected = image(ptx, launch, "engine", prepare)
        for executor in executors:
            try:
                actual = image(machine, launch, executor, prepare)
            except KernelcastError as error:
                found.append(f"{architecture} {executor}: {error}")
                continue
            for label, data in expected.items():
                if actual[label] != data:
                    at = next(
                        n
                        for n, (a, b) in enumerate(zip(data, actual[label], strict=True))
                        if a != b
                    )
                    found.append(
                        f"{architecture} {executor}: {label} differs from byte {at} on: "
                        f"{data[at // 8 * 8 : at // 8 * 8 + 8].hex()} in PTX, "
                        f"{actual[label][at // 8 * 8 : at // 8 * 8 + 8].hex()} in machine code"
                    )
    return found
