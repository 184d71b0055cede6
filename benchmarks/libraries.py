"""How long the list of a large library takes, and one kernel of a large cubin.

The library is made of one cubin many times over. KERNELCAST_LIBRARY may name a real one, such as
PyTorch's libtorch_cuda.so, which is listed too, in a process of its own. Times are the processor's,
those of the disassembler among them: what the machine's other guests do counts less so.
"""

from __future__ import annotations

import os
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import kernelcast as kc
from benchmarks.measured import Measured
from kernelcast.api import Build
from kernelcast.frontends.sass import container_kernels
from kernelcast.toolchain.cache import Cache
from kernelcast.toolchain.nvrtc import compile_cuda

CUBINS, KERNELS = 200, 192
SOURCE = """
template <int N> __global__ void unrolled(float* x, const float* y, int n) {
    float total[8] = {};
#pragma unroll
    for (int i = 0; i < 160; i++)
        total[i % 8] += y[(i * N + n) & 1023] * x[i] + sqrtf(total[i % 7]);
    x[threadIdx.x] = total[n & 7];
}
"""


def measure() -> Iterator[Measured]:
    names = [f"unrolled<{n}>" for n in range(1, KERNELS + 1)]
    made = compile_cuda(
        SOURCE, name="k.cu", architecture="sm_90", name_expressions=names, cache=Cache()
    )
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "many.fatbin"
        library.write_bytes(fat_binary(made.cubin) * CUBINS)

        start = processor_seconds()
        count = sum(1 for _ in container_kernels(library))
        each = (processor_seconds() - start) / count
        yield Measured("list of a library, for 200 000 kernels", 2e5 * each, "s", 20, True)

        cubin = Path(folder) / "large.cubin"
        cubin.write_bytes(made.cubin)
        build = Build(cache=Cache(None))
        seconds = []
        for name in names[:4]:
            start = processor_seconds()
            kc.load(cubin, gpu="h100-sxm", kernel=name, build=build)
            seconds.append(processor_seconds() - start)
        label = f"one of {KERNELS} kernels, {len(made.cubin) / 1e6:.1f} MB"
        yield Measured(label, median(seconds[1:]), "s", 2, True)
    if real := os.environ.get("KERNELCAST_LIBRARY"):
        yield from listed_alone(real)
        yield from listed_alone(real, "--json")


def listed_alone(library: str, *options: str) -> Iterator[Measured]:
    """Time and peak memory of the command."""
    start = processor_seconds()
    done = subprocess.run(
        [sys.executable, "-c", LIST, "kernels", library, *options],
        check=True,
        text=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    name = " ".join((Path(library).name, *options))
    yield Measured(f"kernels {name}", processor_seconds() - start, "s", 20, True)
    peak = next(line for line in done.stderr.splitlines() if line.startswith("VmHWM"))
    yield Measured(f"kernels {name}, peak memory", int(peak.split()[1]) / 1e3, "MB", 500, True)


LIST = """
import sys
from pathlib import Path
from kernelcast.cli.main import main
try:
    main()
finally:
    sys.stderr.write(Path("/proc/self/status").read_text())
"""
"""The command, which then says what the system knows of its memory."""


def processor_seconds() -> float:
    """What this process and those it started have used."""
    return sum(os.times()[:4])


def fat_binary(cubin: bytes) -> bytes:
    """A fat binary with one cubin, stored as it is."""
    padded = cubin + bytes(-len(cubin) % 8)
    member = struct.pack(
        "<HHIQIIHHIIIQQQ", 2, 0x101, 64, len(padded), 0, 0, 8, 1, 90, 0, 0, 0, 0, 0
    )
    body = member + padded
    return struct.pack("<4sHHQ", b"\x50\xed\x55\xba", 1, 16, len(body)) + body
