"""Misuses of memory and barriers are found in the kernels that have them, and in no others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.compiled_families import load_family
from tests.kept import CACHE

from kernelcast import api
from kernelcast.checking.checked import CheckedLaunch, check_run
from kernelcast.checking.misuses import MisuseKind
from kernelcast.checking.written import WrittenBytes
from kernelcast.errors import UnsupportedError
from kernelcast.execution.address_map import GLOBAL_BASE
from kernelcast.execution.blocks import all_blocks
from kernelcast.execution.memory import Memory
from kernelcast.execution.run import Run
from kernelcast.frontends import check_launch
from kernelcast.ir import Launch
from kernelcast.suite.registry import kernels
from kernelcast.suite.table import Scale, SuiteKernel

SHARED, BLOCKS = MisuseKind.SHARED_RACE, MisuseKind.GLOBAL_RACE
UNINITIALISED, BARRIER = MisuseKind.UNINITIALISED, MisuseKind.DIVERGENT_BARRIER

HEAD = "__shared__ float s[256]; int t = threadIdx.x, i = blockIdx.x * 256 + t;\n"


def checked(
    body: str,
    *,
    blocks: int = 2,
    threads: int = 256,
    elements: int = 512,
    head: str = HEAD,
    isa: str = "auto",
    around: str = "",
) -> CheckedLaunch:
    """A kernel of one array x, whose body's first line is line 2."""
    source = f"{around}__global__ void k(float *x) {{ {head}{body}\n}}\n"
    build = api.Build(cache=CACHE, isa=isa)
    kernel = api.load_source(source, name="k.cu", gpu="a100-sxm-80gb", kernel="k", build=build)
    launch = check_launch(kernel, api.Launch(blocks, threads, {"x": api.f32(elements)}))
    memory = Memory.build(kernel, launch)
    return check_run(Run(kernel, launch, memory, all_blocks(launch.blocks), cache=CACHE))


def lines(found: CheckedLaunch, kind: MisuseKind) -> list[list[int]]:
    """The lines of every misuse, which are all of one kind."""
    assert {m.kind for m in found.misuses} <= {kind}, found.misuses
    places = [[p for p in (m.place, m.other) if p is not None] for m in found.misuses]
    return sorted(sorted(p.location.line for p in pair if p.location) for pair in places)


both_codes = pytest.mark.parametrize("isa", ["sass", "ptx"])


@both_codes
@pytest.mark.parametrize(
    "body",
    [
        "s[t] = x[i];\n__syncthreads();\nx[i] = s[255 - t];",
        "s[t] = x[i];\n__syncwarp();\nx[i] = s[t ^ 1];",  # within a warp, in step
        "x[0] = 1;",  # all write the same
        "atomicAdd(x, 1);",
        "if (t < 32) s[t] = 0;\n__syncthreads();\natomicAdd(s + t % 32, 1);\n__syncthreads();\n"
        "if (t < 32) x[i] = s[t];",
        "if (t < 32) s[t] = x[i];\n__syncthreads();\nif (t < 32) x[i] = s[31 - t];",
        "if (blockIdx.x) {\n__syncthreads();\n} else {\n__syncthreads();\n}",
        "if (t > 99) return;\n__syncthreads();\nx[i] = 1;",
    ],
)
def test_nothing_is_found_where_nothing_is_wrong(body, isa):
    found = checked(body, isa=isa)
    assert found.error is None
    assert not found.misuses


@both_codes
@pytest.mark.parametrize(
    ("body", "kind", "expected"),
    [
        ("s[t] = x[i];\nx[i] = s[255 - t];", SHARED, [2, 3]),
        ("s[t] = x[i];\n__syncthreads();\nfloat v = s[t ^ 32];\ns[t] = v;", SHARED, [4, 5]),
        ("s[t % 128] = x[i];\n__syncthreads();\nx[i] = s[0];", SHARED, [2, 2]),
        ("if (t < 200) s[t] = x[i];\n__syncthreads();\nx[i] = s[255 - t];", UNINITIALISED, [4]),
        ("atomicAdd(x, 1);\nx[1 + blockIdx.x] = x[2 - blockIdx.x];", BLOCKS, [3, 3]),
        ("x[t] = i;", BLOCKS, [2, 2]),
        (
            "if (t < 128) {\n__syncthreads();\nx[i] = 1;\n} else {\nx[i] = 2;\n__syncthreads();\n}",
            BARRIER,
            [3, 7],
        ),
        (
            "if (t % 2) {\n__syncthreads();\nx[i] = 1;\n} else {\nx[i] = 2;\n__syncthreads();\n}",
            BARRIER,
            [3, 7],
        ),
    ],
)
def test_a_misuse_is_found_with_its_lines(body, kind, expected, isa):
    # The line of the first statement is that of the braces, too.
    shifted = [line - 1 + HEAD.count("\n") for line in expected]
    found = lines(checked(body, isa=isa), kind)
    assert found
    assert all(pair == shifted for pair in found)


def test_threads_are_told():
    (misuse, *_) = checked("s[t] = x[i];\nx[i] = s[(t + 64) % 256];", blocks=1).misuses
    assert misuse.place is not None
    assert misuse.other is not None
    assert (misuse.place.block, misuse.place.thread[1:]) == (0, (0, 0))
    assert abs(misuse.place.thread[0] - misuse.other.thread[0]) in (64, 192)
    assert "shared memory at 0x" in misuse.what


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("x[i + 1] = 1;", MisuseKind.OUT_OF_BOUNDS),
        ("*(float *)((char *)x + 2) = 1;", MisuseKind.MISALIGNED),
        ('asm("trap;");', MisuseKind.STOPPED),
        ('if (t < 32) asm("bar.sync 1, 64;");', BARRIER),
    ],
)
def test_what_stops_a_kernel_is_a_misuse(body, kind):
    found = checked(body)
    assert found.error is not None
    assert [m.kind for m in found.misuses] == [kind]
    (misuse,) = found.misuses
    assert misuse.place is not None
    assert misuse.place.location is not None
    assert misuse.place.location.line == HEAD.count("\n") + 1


LAST_BLOCK = """
if (t == 0) x[2 + blockIdx.x] = 1;
__threadfence();
__shared__ bool last;
if (t == 0) last = atomicAdd(x, 1.0f) == gridDim.x - 1;
__syncthreads();
if (last && t == 0) x[1] = x[2] + x[3];
"""


def test_blocks_are_ordered_by_a_fence_and_an_atomic():
    assert not checked(LAST_BLOCK).misuses
    without = checked(LAST_BLOCK.replace("__threadfence();", ""))
    assert {m.kind for m in without.misuses} == {BLOCKS}


GRID_BARRIER = """
__device__ unsigned arrived;
__global__ void k(float *x, float *y) {
    x[blockIdx.x * 32 + threadIdx.x] = 1;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicAdd(&arrived, 1);
        while (*(volatile unsigned *)&arrived < gridDim.x) {}
        __threadfence();
    }
    __syncthreads();
    y[blockIdx.x * 32 + threadIdx.x] = x[127 - blockIdx.x * 32];
}
"""


@pytest.mark.parametrize(
    ("elements", "place", "kinds"),
    [
        (128, "blockIdx.x * 32 + threadIdx.x", []),
        (96, "blockIdx.x * 32 + threadIdx.x", [UNINITIALISED]),
        (128, "threadIdx.x * 4 % 128", [UNINITIALISED, BLOCKS]),
    ],
)
def test_blocks_that_wait_for_each_other_are_checked_together(elements, place, kinds):
    """The first block reads what the last one writes; where that has no thread, nobody does. And
    before they meet all may write to the same places."""
    source = GRID_BARRIER.replace("x[blockIdx.x * 32 + threadIdx.x] = 1", f"x[{place}] = clock()")
    build = api.Build(cache=CACHE)
    kernel = api.load_source(source, name="k.cu", gpu="a100-sxm-80gb", kernel="k", build=build)
    launch = check_launch(
        kernel, api.Launch(elements // 32, 32, {"x": api.f32(128), "y": api.f32(128)})
    )
    memory = Memory.build(kernel, launch)
    written = WrittenBytes(1 << 40)
    x = memory.regions[0]
    written.begins_empty(x.address, x.size_bytes)
    blocks = all_blocks(launch.blocks)
    run = Run(kernel, launch, memory, blocks, resident=108, budget=100_000, cache=CACHE)
    assert {misuse.kind for misuse in check_run(run, written).misuses} == set(kinds)


def test_warps_are_ordered_by_named_barriers():
    """A producer and a consumer: one arrives, the other waits."""
    text = "if (t < 32) {{ s[t] = x[i];\n{} }} else if (t < 64) {{ {}\nx[i] = s[t - 32]; }}"
    arrive, wait = 'asm volatile("bar.arrive 1, 64;");', 'asm volatile("bar.sync 1, 64;");'
    assert not checked(text.format(arrive, wait)).misuses
    assert checked(text.format("", "")).misuses


def test_global_memory_that_begins_empty_is_to_be_written_first():
    kernel = api.load_source(
        "__global__ void k(float *x, float *y) { y[threadIdx.x] = x[threadIdx.x]; }",
        gpu="a100-sxm-80gb",
        kernel="k",
        build=api.Build(cache=CACHE),
    )
    launch = check_launch(kernel, api.Launch(1, 32, {"x": api.f32(32), "y": api.f32(32)}))
    memory = Memory.build(kernel, launch)
    run = Run(kernel, launch, memory, all_blocks(1), cache=CACHE)
    x, y = memory.regions
    written = WrittenBytes(1 << 40)
    for region in (x, y):
        written.begins_empty(region.address, region.size_bytes)
    written.fill(x.address, 100)
    (misuse,) = check_run(run, written).misuses
    assert (misuse.kind, misuse.count) == (UNINITIALISED, 7)
    assert misuse.place is not None
    assert misuse.place.thread == (25, 0, 0)
    written.fill(x.address, 128)
    assert not check_run(run, written).misuses
    bits = written.bits[(y.address - GLOBAL_BASE) // 8 :][:16]
    assert (bits == 255).all()  # the kernel has written y


@given(
    st.integers(0, 200),
    st.lists(st.tuples(st.booleans(), st.integers(0, 60), st.integers(0, 60)), max_size=12),
)
def test_written_bytes_are_those_of_a_plain_array(base, steps):
    written, expected = WrittenBytes(4096), np.zeros(512, bool)
    for fills, start, size in steps:
        at = base + start
        (written.fill if fills else written.begins_empty)(GLOBAL_BASE + at, size)
        expected[at : at + size] = fills
        assert written.hold(GLOBAL_BASE + start, size) == expected[start : start + size].all()
    assert (np.unpackbits(written.bits[:64], bitorder="little").astype(bool) == expected).all()


def ordered_pairs(program: Sequence[Sequence[int]]) -> bool:
    """Whether some warp reads in a phase what another wrote in the same one, by brute force."""
    return any(
        place % 4 == (other + 1) % 4
        for phase in zip(*program, strict=True)
        for warp, place in enumerate(phase)
        for beside, other in enumerate(phase)
        if warp != beside
    )


@settings(max_examples=15, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=3))
def test_a_race_is_found_just_where_two_warps_meet_between_barriers(phases):
    """In each phase, warp 0 writes one place and reads the next, and so does warp 1."""
    program = list(zip(*phases, strict=True))
    steps = "\n".join(
        f"s[w ? {b} : {a}] = x[t]; __syncwarp(); v += s[w ? {(b + 1) % 4} : {(a + 1) % 4}];\n"
        "__syncthreads();"
        for a, b in phases
    )
    head = "__shared__ volatile float s[4]; int t = threadIdx.x, w = t / 32; float v = 0;\n"
    body = f"if (t < 4) s[t] = 0; __syncthreads();\n{steps}\nx[t] = v;"
    found = checked(body, blocks=1, threads=64, head=head, isa="sass")
    meets = ordered_pairs(program) or any(a == b for a, b in phases)
    assert bool(found.misuses) == meets
    assert {m.kind for m in found.misuses} <= {SHARED}


@pytest.fixture(scope="module")
def _quick(quick_code):
    """Compiling is nearly all the time these tests take."""


@pytest.mark.parametrize("kernel", kernels().values(), ids=lambda k: k.name)
def test_nothing_is_found_in_kernels_with_known_results(kernel: SuiteKernel, _quick) -> None:
    launch: Launch = kernel.launches(Scale.SMALL)[0]
    made = load_family(kernel.family, "sm_90", CACHE).kernel(launch.kernel)
    fitted = check_launch(made, launch)
    run = Run(made, fitted, Memory.build(made, fitted), all_blocks(fitted.blocks), cache=CACHE)
    try:
        found = check_run(run)
    except UnsupportedError as error:
        pytest.skip(str(error))
    assert found.error is None
    assert not found.misuses
