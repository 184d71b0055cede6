"""What the executors compute is what the same source computes as a program of the CPU.

A failure says that an instruction is executed wrongly, or that its source means something else to
the stand-in header than to CUDA.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import pytest
from tests.kept import CACHE
from tests.native.comparison import differences
from tests.native.native_oracle import COMPILER, MISSING, native_module
from tests.native.operands import sow

from kernelcast.execution.execute import execute
from kernelcast.execution.memory import Memory
from kernelcast.frontends import LaunchFlags, LoadedModule, check_launch, load, read_workload
from kernelcast.ir import Kernel, Launch
from kernelcast.toolchain.nvrtc import CompileOptions

pytestmark = pytest.mark.skipif(COMPILER is None, reason=MISSING)

CODES = ("ptx", "sm_75", "sm_90", "sm_120")
"""What is executed: PTX, or machine code of an architecture."""

KERNELS = sorted(Path(__file__).with_name("kernels").glob("*.cu"))
EXAMPLES = Path(__file__).parents[2] / "examples"

OPTIONS = CompileOptions(extra=("--fmad=false",))
"""The host rounds every operation, so the device must too."""

ULPS: Mapping[str, int] = {
    "exponentials": 4,
    "circular": 8,
    "hyperbolic": 8,
    "powers": 8,
    "errors": 20,
    "device_functions": 4,
    "fast_functions": 24,
}
"""Tolerance of kernels that call functions without a defined last bit, by name.

Twice the largest error that the CUDA C++ Programming Guide ("Mathematical Functions") states for
one of them, once for either side: exp2f 2 ulps, tanf and acoshf 4, powf 4, tgamma 10, rsqrtf 2. For
`__sinf` it states 2^-21.41 absolute, 24 ulps of 0.25.
"""

PTX_ONLY: Mapping[str, str] = {
    "swapped_halves": "machine code swaps 16 bits by swapping 32 in a loop: lanes take turns",
}
"""Kernels that leave something else as machine code, and why."""

LACKING = {("sm_75", "warp")}
"""Architectures without an instruction that a file of kernels uses (`redux`)."""

SIZES: Mapping[str, tuple[str, ...]] = {
    "histogram": ("n=20000",),
    "matmul_naive": ("N=70",),
    "matmul_tiled": ("N=64",),
    "reduction": ("n=30000", "BLOCKS=20"),
    "saxpy": ("n=10000",),
    "spmv_csr": ("rows=1000",),
    "transpose": ("N=128",),
}
"""What makes each example small."""


@dataclass(frozen=True)
class Case:
    """One launch written in a file, executed as one kind of code."""

    code: str
    file: Path
    launch: Launch

    @property
    def ulps(self) -> int:
        return ULPS.get(self.launch.kernel.partition("<")[0], 0)


@cache
def launches(file: Path) -> tuple[Launch, ...]:
    return read_workload(file, LaunchFlags(args=SIZES.get(file.stem, ()))).launches


def kernels(file: Path) -> tuple[str, ...]:
    return tuple(dict.fromkeys(launch.kernel for launch in launches(file)))


@cache
def loaded(file: Path, architecture: str) -> LoadedModule:
    return load(
        file, architecture=architecture, kernels=kernels(file), options=OPTIONS, cache=CACHE
    )


@lru_cache(maxsize=256)
def compiled(file: Path, code: str, kernel: str) -> Kernel:
    if code == "ptx":
        return loaded(file, "sm_90").kernel(kernel)
    return loaded(file, code).machine_kernel(kernel)


def cases() -> list[Any]:
    """Without `--all` the machine code of a file is that of one architecture, of each in turn."""
    made = []
    for at, file in enumerate(KERNELS):
        codes = [code for code in CODES if (code, file.stem) not in LACKING]
        chosen = ("ptx", codes[1 + at % (len(codes) - 1)])
        for code in codes:
            marks = () if code in chosen else (pytest.mark.only_with_all,)
            for launch in launches(file):
                if code != "ptx" and launch.kernel in PTX_ONLY:
                    continue
                name = f"{code}-{file.stem}-{launch.kernel}"
                made.append(pytest.param(Case(code, file, launch), id=name, marks=marks))
    return made


def run_natively(file: Path, launch: Launch, memory: Memory) -> None:
    native_module(file.read_text(), kernels(file)).run(launch.kernel, launch, memory)


@pytest.fixture
def generate_for(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Let LLVM generate code well for PTX, and fast for machine code, which is lowered alike."""

    def choose(code: str) -> None:
        if code != "ptx":
            monkeypatch.setattr("kernelcast.execution.engine.jit._LARGE_IR_BYTES", 0)

    return choose


@pytest.mark.parametrize("case", cases())
def test_memory_is_what_the_cpu_leaves(case: Case, generate_for: Callable[[str], None]) -> None:
    generate_for(case.code)
    kernel = compiled(case.file, case.code, case.launch.kernel)
    launch = check_launch(kernel, case.launch)
    ours = Memory.build(kernel, launch)
    native = Memory.build(compiled(case.file, "ptx", case.launch.kernel), launch)
    for memory in (ours, native):
        sow(memory)
    before = native.image()
    execute(kernel, launch, ours, executor="engine", cache=CACHE)
    run_natively(case.file, launch, native)
    assert native.image() != before, "the kernel leaves something to compare"
    assert [str(d) for d in differences(ours, native, ulps=case.ulps)] == []


@pytest.mark.parametrize("name", SIZES)
@pytest.mark.parametrize("code", CODES)
def test_an_example_leaves_what_the_cpu_leaves(
    name: str, code: str, generate_for: Callable[[str], None]
) -> None:
    generate_for(code)
    file = EXAMPLES / f"{name}.cu"
    ours: Memory | None = None
    native: Memory | None = None
    for launch in launches(file):
        kernel = compiled(file, code, launch.kernel)
        ours = Memory.build(kernel, launch, earlier=ours)
        native = Memory.build(compiled(file, "ptx", launch.kernel), launch, earlier=native)
        execute(kernel, launch, ours, executor="engine", cache=CACHE)
        run_natively(file, launch, native)
        assert [str(d) for d in differences(ours, native)] == []


def test_every_example_is_tried() -> None:
    assert {file.stem for file in EXAMPLES.glob("*.cu")} == set(SIZES)
