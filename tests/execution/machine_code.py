"""Runs one kernel as PTX and as machine code, by both executors, to compare what they leave."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

import numpy as np

from kernelcast.errors import KernelcastError
from kernelcast.execution.execute import execute
from kernelcast.execution.memory import Memory
from kernelcast.frontends.cuda import CompiledSource, compile_source
from kernelcast.ir import ELEMENT_BYTES, Array, Kernel, Launch
from kernelcast.toolchain.nvrtc import CompileOptions
from tests.kept import CACHE

ARCHITECTURES = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")

Prepare = Callable[[Memory], None]
"""Writes inputs into fresh memory."""

_INFINITY = {"f16": 0x7C00, "bf16": 0x7F80, "f32": 0x7F80_0000, "f64": 0x7FF << 52}
"""The bits of infinity; what is greater is NaN."""


_together: dict[tuple[str, str], tuple[str, ...]] = {}
"""For an architecture and a source: all sources that are compiled with it."""


def compile_together(sources: Iterable[str], *architectures: str) -> None:
    """Let `kernels` compile these sources, of one kernel `k` each, as one for an architecture.

    A disassembler takes a third of a second to start, for any number of kernels.
    """
    group = tuple(dict.fromkeys(sources))
    for architecture in architectures:
        _together.update({(architecture, source): group for source in group})


@lru_cache(maxsize=16)
def _compiled(sources: tuple[str, ...], architecture: str) -> CompiledSource:
    """The kernels of some sources as `k0`, `k1`, ..., each with its own functions and types."""
    included = dict.fromkeys(line for text in sources for line in _INCLUDES.findall(text))
    parts = (
        f"namespace n{n} {{\n#line 1\n{_NAME.sub(f'k{n}(', _INCLUDES.sub('', text))}\n}}"
        for n, text in enumerate(sources)
    )
    text = "\n".join((*included, *parts))
    return compile_source(text, name="test.cu", architecture=architecture, cache=CACHE)


_INCLUDES = re.compile(r"^#include .*$", re.MULTILINE)
_NAME = re.compile(r"\bk\(")


def kernels(
    source: str, architecture: str, name: str = "", extra: Sequence[str] = ()
) -> tuple[Kernel, Kernel]:
    """The kernel as PTX and as machine code; `name` where the source holds several."""
    compiled, mangled = _chosen(source, architecture, name, extra)
    return compiled.kernel(mangled), compiled.machine_kernel(mangled, CACHE)


def kernel_in(source: str, isa: str, *defines: str) -> Kernel:
    """The kernel as PTX, for an `isa` like `ptx of sm_90`, or as machine code: `sass of sm_90`."""
    language, _, architecture = isa.partition(" of ")
    compiled, mangled = _chosen(source, architecture, "", defines)
    if language == "ptx":
        return compiled.kernel(mangled)
    return compiled.machine_kernel(mangled, CACHE)


def _chosen(
    source: str, architecture: str, name: str, extra: Sequence[str]
) -> tuple[CompiledSource, str]:
    """The compiled source, and the mangled name of the kernel."""
    if not extra and (group := _together.get((architecture, source))):
        compiled, name = _compiled(group, architecture), f"k{group.index(source)}"
    else:
        compiled = compile_source(
            source,
            name="test.cu",
            architecture=architecture,
            kernels=[name] if name else [],
            options=CompileOptions(extra=tuple(extra)),
            cache=CACHE,
        )
    return compiled, next(m for m, label in compiled.labels.items() if not name or label == name)


def image(
    kernel: Kernel, launch: Launch, executor: str = "engine", prepare: Prepare | None = None
) -> dict[str, bytes]:
    """The arrays after the launch."""
    memory = Memory.build(kernel, launch)
    if prepare is not None:
        prepare(memory)
    execute(kernel, launch, memory, executor=executor, cache=CACHE)
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
    approximate: bool = False,
) -> list[str]:
    """Where machine code leaves other bytes than PTX, or cannot be executed; empty if all agree.

    All NaN are alike in arrays of floats. PTX is executed by the engine, or each time by the same
    executor where the kernel is `approximate`: the last bits of some functions differ.
    """
    found = []
    for architecture in architectures:
        ptx, machine = kernels(source, architecture, name, extra)
        expected = _alike(launch, image(ptx, launch, "engine", prepare))
        for executor in executors:
            if approximate and executor != "engine":
                expected = _alike(launch, image(ptx, launch, executor, prepare))
            try:
                actual = _alike(launch, image(machine, launch, executor, prepare))
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


def _alike(launch: Launch, arrays: dict[str, bytes]) -> dict[str, bytes]:
    """The arrays with one NaN for all, in those of floats."""
    alike = dict(arrays)
    for label, data in arrays.items():
        argument = launch.args.get(label)
        if isinstance(argument, Array) and argument.type in _INFINITY:
            infinity, size = _INFINITY[argument.type], ELEMENT_BYTES[argument.type]
            bits = np.frombuffer(data, f"u{size}").copy()
            magnitude = bits & bits.dtype.type((1 << 8 * size - 1) - 1)
            bits[magnitude > infinity] = infinity + 1
            alike[label] = bits.tobytes()
    return alike
