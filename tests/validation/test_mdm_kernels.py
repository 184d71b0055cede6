"""The kernels of Table IV's kinds: what they compute, and whether their loads diverge."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from tests.kept import CACHE

from kernelcast.execution.execute import execute
from kernelcast.execution.memory import Memory
from kernelcast.forecasting.build import Build
from kernelcast.forecasting.cases import cases_of_workload
from kernelcast.frontends import check_launch, load
from kernelcast.frontends.launches import make_launch
from kernelcast.frontends.workloads import LaunchFlags, read_workload
from kernelcast.profiling.profile import AccessProfile
from kernelcast.suite.expected import Given
from kernelcast.validation.mdm.applications import (
    APPLICATIONS,
    LISTING_1,
    Application,
    paper_machine,
)

FOLDER = LISTING_1.parent
TILES = {"grid": (2, 8), "block": (32, 8)}
"""A plane of 64 x 64 cells."""


@pytest.fixture(autouse=True, scope="module")
def _quick_code(quick_code):
    """Compiling is nearly all the time these tests take."""


def executed(file: str, kernel: str, /, *, grid, block, **args) -> tuple[Given, Memory]:
    """The arguments before a small launch, and the memory after it."""
    made = load(FOLDER / file, architecture="sm_90", kernels=[kernel], cache=CACHE).kernel(kernel)
    launch = check_launch(made, make_launch(grid=grid, block=block, args=args, names={}))
    memory = Memory.build(made, launch)
    execute(made, launch, memory, executor="engine", cache=CACHE)
    return Given(launch), memory


def agree(memory: Memory, **expected) -> None:
    for label, values in expected.items():
        found = memory.array(label)
        np.testing.assert_allclose(found, np.ravel(values), rtol=5e-5, atol=5e-5, err_msg=label)


def moved(plane, dy: int, dx: int):
    """Of every cell the one so far off, at the border the nearest."""
    y, x = (np.arange(size) for size in plane.shape)
    return plane[np.ix_(np.clip(y + dy, 0, y[-1]), np.clip(x + dx, 0, x[-1]))]


def test_hotspot():
    field = "f32[64, 64]"
    g, memory = executed(
        "hotspot.cu",
        "hotspot_step",
        **TILES,
        side=64,
        power=f"{field} random(1)",
        now=f"{field} random(2)",
        next=field,
    )
    t = g.now
    across = moved(t, 0, -1) + moved(t, 0, 1) - 2 * t
    along = moved(t, -1, 0) + moved(t, 1, 0) - 2 * t
    agree(memory, next=t + 0.1 * (g.power + 0.5 * across + 0.25 * along + 0.05 * (0.3 - t)))


def test_searches_of_a_tree_find_the_key():
    keys, tree = 32**3, "s32[32 + 32 ** 2 + 32 ** 3] arange"
    g, memory = executed(
        "btree.cu",
        "btree_find",
        grid=50,
        block=32,
        key=tree,
        query=f"s32[50] randint(0, {keys}, 1)",
        found="s32[50]",
    )
    agree(memory, found=g.query)
    g, memory = executed(
        "btree.cu",
        "btree_find_range",
        grid=50,
        block=32,
        key=tree,
        first=f"s32[50] randint(0, {keys}, 2)",
        length="s32[50] randint(0, 5000, 3)",
        begin="s32[50]",
        end="s32[50]",
    )
    agree(memory, begin=g.first, end=np.minimum(g.first + g.length, keys - 1))


def test_back_propagation():
    sizes = {"input": "f32[64] random(1)", "weight": "f32[64, 32] random(2)"}
    g, memory = executed(
        "backprop.cu",
        "backprop_forward",
        grid=8,
        block=(32, 8),
        **sizes,
        partial="f32[8, 32]",
    )
    agree(memory, partial=(g.weight * g.input[:, None]).reshape(8, 8, 32).sum(1))
    g, memory = executed(
        "backprop.cu",
        "backprop_adjust",
        grid=8,
        block=(32, 8),
        rate=0.3,
        momentum=0.2,
        delta="f32[32] random(3)",
        **sizes,
        change="f32[64, 32] random(4)",
    )
    step = 0.3 * g.delta * g.input[:, None] + 0.2 * g.change
    agree(memory, weight=g.weight + step, change=step)


def test_finite_differences():
    g, memory = executed(
        "fdtd3d.cu",
        "fdtd3d_step",
        **TILES,
        nx=64,
        ny=64,
        nz=3,
        weight="f32[5] random(1)",
        now="f32[11, 64, 64] random(2)",
        next="f32[11, 64, 64]",
    )
    expected = np.zeros_like(g.next)
    for z in range(4, 7):
        expected[z] = g.weight[0] * g.now[z]
        for k in range(1, 5):
            flat = sum(moved(g.now[z], *at) for at in ((0, k), (0, -k), (k, 0), (-k, 0)))
            expected[z] += g.weight[k] * (flat + g.now[z - k] + g.now[z + k])
    agree(memory, next=expected)


def test_diffusion_without_speckle():
    g, memory = executed(
        "srad.cu",
        "srad_coefficients",
        **TILES,
        side=64,
        q0=0.5,
        image="f32[64, 64] random(1)",
        slope="f32[4, 64, 64]",
        coefficient="f32[64, 64]",
    )
    here = g.image + 1
    slope = [moved(here, *at) - here for at in ((-1, 0), (1, 0), (0, -1), (0, 1))]
    gradient, laplacian = sum(s * s for s in slope) / here**2, sum(slope) / here
    q = (gradient / 2 - laplacian**2 / 16) / (1 + laplacian / 4) ** 2
    agree(memory, slope=slope, coefficient=np.clip(1 / (1 + (q - 0.5) / 0.75), 0, 1))
    g, memory = executed(
        "srad.cu",
        "srad_update",
        **TILES,
        side=64,
        rate=0.5,
        slope="f32[4, 64, 64] random(1)",
        coefficient="f32[64, 64] random(2)",
        image="f32[64, 64] random(3)",
    )
    c, (north, south, west, east) = g.coefficient, g.slope
    flow = c * (north + west) + moved(c, 1, 0) * south + moved(c, 0, 1) * east
    agree(memory, image=g.image + 0.125 * flow)


def test_rays_that_meet_nothing_see_the_sky_and_others_a_sphere():
    g, memory = executed(
        "ray.cu",
        "ray_trace",
        **TILES,
        width=64,
        height=64,
        spheres=16,
        bounces=1,
        sphere="f32[16, 4] random(1)",
        shade="f32[16] random(2)",
        image="f32[64, 64]",
    )
    y, x = np.mgrid[:64, :64] / 64 - 0.5
    d = np.stack([x, y, np.ones_like(x)], -1)
    d /= np.linalg.norm(d, axis=-1, keepdims=True)
    centre = 8 * g.sphere[:, :3] + [-4, -4, 4]
    radius = 0.3 + g.sphere[:, 3]
    along = d @ centre.T
    depth = radius**2 - (centre**2).sum(1) + along**2
    distance = np.where(depth > 0, along - np.sqrt(np.maximum(depth, 0)), np.inf)
    distance[distance <= 1e-3] = np.inf
    first = distance.argmin(-1)
    reach = distance.min(-1)
    meets = np.isfinite(reach)
    assert 0.1 < meets.mean() < 0.9
    up = (np.where(meets, reach, 0) * d[..., 1] - centre[first, 1]) / radius[first]
    lit = np.where(meets, g.shade[first] * np.maximum(up, 0), np.maximum(d[..., 1], 0))
    found = memory.array("image").reshape(64, 64)
    assert np.mean(np.abs(found - lit) < 1e-3) > 0.999, "but for rays that just touch a sphere"


def test_convolution_in_two_dimensions():
    g, memory = executed(
        "convolution2d.cu",
        "convolution_3x3",
        **TILES,
        side=64,
        weight="f32[3, 3] random(1)",
        u="f32[64, 64] random(2)",
        v="f32[64, 64]",
    )
    places = np.ndindex(3, 3)
    agree(memory, v=sum(g.weight[y, x] * moved(g.u, y - 1, x - 1) for y, x in places))


def test_stencil():
    g, memory = executed(
        "stencil.cu",
        "stencil_march",
        **TILES,
        nx=64,
        ny=64,
        nz=3,
        u="f32[5, 64, 64] random(1)",
        v="f32[5, 64, 64]",
    )
    expected = np.zeros_like(g.v)
    for z in (1, 2, 3):
        flat = sum(moved(g.u[z], *at) for at in ((0, 1), (0, -1), (1, 0), (-1, 0)))
        expected[z] = 0.1 * (flat + g.u[z - 1] + g.u[z + 1]) + 0.4 * g.u[z]
    agree(memory, v=expected)


def pressure(density, momentum, energy):
    return 0.4 * (energy - 0.5 * (momentum**2).sum(0) / density)


def speed(density, momentum, energy):
    velocity = np.sqrt((momentum**2).sum(0)) / density
    return velocity + np.sqrt(1.4 * pressure(density, momentum, energy) / density)


def test_euler_solver():
    n, variable = 384, "f32[5, 384] random(1)"
    lines = {"grid": 2, "block": 192}
    g, memory = executed(
        "cfd.cu",
        "cfd_step_factor",
        **lines,
        n=n,
        variable=variable,
        area="f32[384] random(2)",
        factor="f32[384]",
    )
    v = g.variable.astype(float) + np.array([[1], [0], [0], [0], [3]])
    agree(memory, factor=0.5 / (np.sqrt(g.area + 1) * speed(v[0], v[1:4], v[4])))
    g, memory = executed(
        "cfd.cu",
        "cfd_flux",
        **lines,
        n=n,
        distance="s32[4, 384] randint(-50, 50, 3)",
        normal="f32[4, 3, 384] random(4)",
        variable=variable,
        flux="f32[5, 384]",
    )
    agree(memory, flux=sum(over_face(v, g.distance[k], g.normal[k]) for k in range(4)))
    g, memory = executed(
        "cfd.cu",
        "cfd_time_step",
        **lines,
        n=n,
        step=0.5,
        factor="f32[384] random(1)",
        flux="f32[5, 384] random(2)",
        variable="f32[5, 384] random(3)",
    )
    agree(memory, variable=g.variable + 0.5 * g.factor * g.flux)


def over_face(v, distance, normal):
    """The mean of what both sides carry, and a damping by their difference."""
    n = v.shape[1]
    there = v[:, np.clip(np.arange(n) + distance, 0, n - 1)]
    carried = 0
    for s in (v, there):
        p = pressure(s[0], s[1:4], s[4])
        rate = (s[1:4] * normal).sum(0) / s[0]
        carried += 0.5 * (rate * s)
        carried[1:4] += 0.5 * p * normal
        carried[4] += 0.5 * rate * p
    speeds = speed(v[0], v[1:4], v[4]) + speed(there[0], there[1:4], there[4])
    return carried + 0.1 * np.sqrt((normal**2).sum(0)) * speeds * (there - v)


def word(text, at: int, longest: int) -> bytes:
    """What stands from `at` to the next zero byte."""
    return bytes(text[at : at + longest]).split(b"\0")[0]


def test_maps_of_log_lines():
    log = {"jitter": "s32[64] randint(0, 32, 1)", "log": "u8[66 * 32] randint(0, 20, 2)"}
    g, memory = executed(
        "mapreduce.cu",
        "view_count_map",
        grid=2,
        block=32,
        lines=64,
        pitch=32,
        **log,
        hash="u32[64]",
        key="s32[64]",
    )
    start = np.arange(64) * 32 + g.jitter
    assert list(memory.array("key")) == list(start)
    for at, found in zip(start, memory.array("hash"), strict=True):
        expected = 2166136261
        for letter in word(g.log, at, 32):
            expected = (expected ^ letter) * 16777619 % 2**32
        assert found == expected
    g, memory = executed(
        "mapreduce.cu",
        "view_rank_map",
        grid=2,
        block=32,
        lines=64,
        pitch=32,
        digits=6,
        **log,
        views="s32[64]",
        key="s32[64]",
    )
    for at, found in zip(start, memory.array("views"), strict=True):
        assert found == int("0" + "".join(str(d % 10) for d in word(g.log, at, 6)))


def test_links_of_pages():
    g, memory = executed(
        "mapreduce.cu",
        "links_map",
        grid=1,
        block=32,
        chunks=32,
        bytes=4096,
        page="u8[32 * 4096] randint(58, 100, 1)",
        links="s32[1]",
        link="s32[32 * 2048, 2]",
    )
    expected = []
    for chunk in range(32):
        begin = -1
        text = bytes(g.page[4096 * chunk : 4096 * (chunk + 1)])
        for at in range(4096):
            if text[at - 1 : at + 1] == b"<a" and at:
                begin = at - 1
            if begin >= 0 and text[at : at + 1] == b">":
                expected.append((4096 * chunk + begin, at - begin))
                begin = -1
    (count,) = memory.array("links")
    found = memory.array("link").reshape(-1, 2)[:count]
    assert len(expected) > 10
    assert sorted(map(tuple, found)) == sorted(expected)


@pytest.mark.parametrize("kernel", ["sort_by_text", "sort_by_views"])
def test_a_step_of_a_sort_puts_pairs_in_order(kernel):
    """Of 16 keys those side by side, pairs in turn upwards and downwards."""
    keys = "s32[16] permutation(5)"
    text = {"longest": 8, "text": "u8[64] randint(1, 250, 1)"}
    given = text if kernel == "sort_by_text" else {"views": "s32[16] randint(0, 9999, 1)"}
    g, memory = executed(
        "mapreduce.cu", kernel, grid=1, block=16, keys=16, span=1, run=2, **given, key=keys
    )

    def rank(key):
        return word(g.text, key, 8) if kernel == "sort_by_text" else -g.views[key]

    expected = list(g.key)
    for i in range(0, 16, 2):
        expected[i : i + 2] = sorted(expected[i : i + 2], key=rank, reverse=bool(i & 2))
    assert list(memory.array("key")) == expected


def test_sums_of_groups():
    g, memory = executed(
        "mapreduce.cu",
        "sum_groups",
        grid=1,
        block=32,
        groups=20,
        pitch=8,
        jitter="s32[21] randint(0, 8, 1)",
        value="s32[176] arange",
        sum="s32[20]",
    )
    edges = np.arange(21) * 8 + g.jitter
    agree(memory, sum=[g.value[a:b].sum() for a, b in pairwise(edges)])


def test_k_means():
    g, memory = executed(
        "kmeans.cu",
        "kmeans_assign",
        grid=2,
        block=64,
        n=100,
        features=7,
        clusters=5,
        point="f32[100, 7] random(1)",
        centre="f32[5, 7] random(2)",
        label="s32[100]",
    )
    agree(memory, label=((g.point[:, None] - g.centre) ** 2).sum(-1).argmin(1))


def test_layers_of_networks():
    g, memory = executed(
        "layers.cu",
        "convolution",
        grid=(1, 4),
        block=64,
        channels=3,
        side=11,
        out=6,
        window=3,
        stride=2,
        pad=1,
        weight="f32[4, 3, 3, 3] random(1)",
        u="f32[3, 11, 11] random(2)",
        v="f32[4, 6, 6]",
    )
    padded = np.pad(g.u, ((0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (1, 2))[:, ::2, ::2]
    agree(memory, v=np.einsum("cyxij,ocij->oyx", windows, g.weight))
    g, memory = executed(
        "layers.cu",
        "pool",
        grid=(1, 3),
        block=32,
        side=11,
        out=5,
        window=3,
        stride=2,
        u="f32[3, 11, 11] random(1)",
        v="f32[3, 5, 5]",
    )
    windows = np.lib.stride_tricks.sliding_window_view(g.u, (3, 3), (1, 2))[:, ::2, ::2]
    agree(memory, v=windows.max((-1, -2)))
    g, memory = executed(
        "layers.cu",
        "normalise_and_add",
        grid=(1, 3),
        block=64,
        pixels=49,
        mean="f32[3] random(1)",
        variance="f32[3] random(2)",
        shortcut="f32[3, 49] random(3)",
        u="f32[3, 49] random(4)",
        v="f32[3, 49]",
    )
    scaled = (g.u - g.mean[:, None]) / np.sqrt(g.variance[:, None] + 1e-5)
    agree(memory, v=np.maximum(scaled + g.shortcut, 0))
    g, memory = executed(
        "layers.cu",
        "fully_connected",
        grid=1,
        block=32,
        inputs=20,
        outputs=30,
        weight="f32[30, 20] random(1)",
        u="f32[20] random(2)",
        v="f32[30]",
    )
    agree(memory, v=g.weight @ g.u)


def dpki(file: Path, flags: LaunchFlags | None = None) -> list[float]:
    work = read_workload(file, flags or LaunchFlags())
    cases = cases_of_workload(work, [paper_machine()], build=Build(cache=CACHE))
    return [case.profile.dpki for case in cases]


QUICK = ("BP", "HS", "BFS", "CFD", "PVR")


@pytest.mark.parametrize("application", [a for a in APPLICATIONS if a.name in QUICK])
def test_loads_of_an_application_diverge_as_the_paper_says(application: Application):
    found = dpki(application.file)
    assert (max(found) > 10) == application.is_divergent
    if not application.is_divergent:
        assert max(found) <= 3, "the most of those that do not diverge, section I"


def test_listing_1_reads_a_line_or_one_for_every_lane():
    """At i = 0, as Figure 2 draws it; any other i straddles two lines at GS = 1."""
    for n, lines in ((1, (1, 32)), (8, (15 / 8, 32))):
        work = read_workload(LISTING_1, LaunchFlags(args=(f"n={n}",)))
        cases = cases_of_workload(work, [paper_machine()], build=Build(cache=CACHE))
        found = [_lines_per_load(case.profile.accesses) for case in cases]
        assert found == pytest.approx(lines)


def _lines_per_load(accesses: Sequence[AccessProfile]) -> float:
    loads = [a for a in accesses if a.is_load]
    return sum(a.lines for a in loads) / sum(a.requests for a in loads)


def test_every_application_of_table_iv_has_a_workload():
    assert [a.is_divergent for a in APPLICATIONS] == [False] * 8 + [True] * 9
    for application in APPLICATIONS:
        work = application.workload()
        assert work.source is not None
        assert work.source.is_file(), application.name
        assert work.launches


def test_the_machine_is_that_of_table_iii():
    chip = paper_machine()
    stated = {
        "sm.count": 28,
        "clock.sm": 1.4e9,
        "occupancy.warps_per_sm": 64,
        "occupancy.threads_per_sm": 2048,
        "l1.size": 48 * 1024,
        "l2.size": 24 * 128 * 1024,
        "latency.l2": 120,
        "latency.dram": 120 + 220,
        "l1.ways": 6,
        "l1.miss_registers": 128,
        "l2.ways": 8,
        "l2.slices": 24,
        "l2.miss_registers": 128,
        "noc.bandwidth": 1050e9,
        "dram.bandwidth": 480e9,
        "dram.channels": 24,
    }
    assert {path: chip.number(path) for path in stated} == stated
    assert chip.number("l1.size") / (128 * chip.number("l1.ways")) == 64, "whole sets"
    assert chip.number("l2.size") / (128 * 24 * chip.number("l2.ways")) == 128
