"""Layers, cubes, levels of detail, gathers, gradients, queries and reductions: machine code of
several architectures and PTX, both by the engine and by the reference, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from kernelcast.errors import InputError, MemoryFaultError
from kernelcast.execution.execute import execute
from kernelcast.execution.memory import Memory
from kernelcast.execution.reference import run_reference
from kernelcast.frontends.arguments import parse_argument
from kernelcast.frontends.launches import launch_from_flags
from kernelcast.ir import Kernel, Texture
from tests.execution.machine_code import compile_together, kernels
from tests.execution.texel_oracle import gather, on_face, parsed, read, read_cube, texels

LANES = 64
POINTS = "const float* u, const float* v, const float* w, const float* q, float4* out"


def reading(expression: str) -> str:
    """A kernel that reads at points of four numbers."""
    return (
        f'extern "C" __global__ void k(cudaTextureObject_t t, {POINTS}) {{\n'
        f"  int i = threadIdx.x;\n  out[i] = {expression};\n}}\n"
    )


LAYERED = reading("tex2DLayered<float4>(t, u[i], v[i], (int)w[i])")
LAYERED_1 = reading("tex1DLayered<float4>(t, u[i], (int)w[i])")
CUBE = reading("texCubemap<float4>(t, u[i], v[i], w[i])")
CUBES = reading("texCubemapLayered<float4>(t, u[i], v[i], w[i], (int)q[i])")
LEVEL_1 = reading("tex1DLod<float4>(t, u[i], q[i])")
LEVEL_2 = reading("tex2DLod<float4>(t, u[i], v[i], q[i])")
LEVEL_3 = reading("tex3DLod<float4>(t, u[i], v[i], w[i], q[i])")
LEVEL_OF_LAYERS = reading("tex2DLayeredLod<float4>(t, u[i], v[i], (int)w[i], q[i])")
LEVEL_OF_CUBE = reading("texCubemapLod<float4>(t, u[i], v[i], w[i], q[i])")
GRADED_1 = reading("tex1DGrad<float4>(t, u[i], q[i] / 16, q[i] / 32)")
GRADED_2 = reading(
    "tex2DGrad<float4>(t, u[i], v[i], make_float2(q[i] / 16, 0), make_float2(0, q[i] / 64))"
)
GRADED_LAYERS = reading(
    "tex2DLayeredGrad<float4>(t, u[i], v[i], (int)w[i], make_float2(0, q[i] / 16),"
    " make_float2(q[i] / 64, 0))"
)
GATHERED = [reading(f"tex2Dgather<float4>(t, u[i], v[i], {n})") for n in range(4)]
ASKED = """\
extern "C" __global__ void k(cudaTextureObject_t t, cudaSurfaceObject_t s, const int* level,
                             int* out) {
  int i = threadIdx.x, r = 0, n = level[i];
  asm("txq.width.b32 %0, [%1];" : "=r"(r) : "l"(t)); out[8 * i] = r;
  asm("txq.height.b32 %0, [%1];" : "=r"(r) : "l"(t)); out[8 * i + 1] = r;
  asm("txq.level.width.b32 %0, [%1], %2;" : "=r"(r) : "l"(t), "r"(n)); out[8 * i + 2] = r;
  asm("txq.level.height.b32 %0, [%1], %2;" : "=r"(r) : "l"(t), "r"(n)); out[8 * i + 3] = r;
  asm("suq.width.b32 %0, [%1];" : "=r"(r) : "l"(s)); out[8 * i + 4] = r;
  asm("suq.height.b32 %0, [%1];" : "=r"(r) : "l"(s)); out[8 * i + 5] = r;
  asm("suq.depth.b32 %0, [%1];" : "=r"(r) : "l"(s)); out[8 * i + 6] = r;
}
"""
REDUCED = """\
extern "C" __global__ void k(cudaSurfaceObject_t s, int w) {
  int i = threadIdx.x, x = 4 * (i % w);
  asm("sured.b.add.2d.u32.trap [%0, {%1, %2}], %3;" :: "l"(s), "r"(x), "r"(0), "r"(i));
  asm("sured.b.min.2d.s32.trap [%0, {%1, %2}], %3;" :: "l"(s), "r"(x), "r"(1), "r"(5 - i));
  asm("sured.b.max.2d.u32.trap [%0, {%1, %2}], %3;" :: "l"(s), "r"(x), "r"(2), "r"(i));
  asm("sured.b.and.2d.b32.clamp [%0, {%1, %2}], %3;" :: "l"(s), "r"(x - 4 * w), "r"(3), "r"(i));
  asm("sured.b.or.2d.b32.zero [%0, {%1, %2}], %3;" :: "l"(s), "r"(4 * i), "r"(4), "r"(i));
  asm("sured.p.add.2d.b32.trap [%0, {%1, %2}], %3;" :: "l"(s), "r"(i % w), "r"(5), "r"(1));
}
"""
MOVED = """\
extern "C" __global__ void k(cudaSurfaceObject_t from, cudaSurfaceObject_t to,
                             cudaSurfaceObject_t line) {
  int x = threadIdx.x, y = threadIdx.y, layer = blockIdx.x;
  short2 v = surf2DLayeredread<short2>(from, 4 * x, y, layer);
  surf2DLayeredwrite(make_short2(v.y, v.x), to, 4 * x, y, gridDim.x - 1 - layer);
  short2 h = surf1DLayeredread<short2>(line, 4 * x, layer);
  if (y == 0) surf1DLayeredwrite(make_short2(h.x + 1, layer), line, 4 * x, layer);
}
"""
BEYOND = """\
extern "C" __global__ void k(cudaSurfaceObject_t s) { surf2DLayeredwrite(1.f, s, 0, 0, 3); }
"""
SOURCES = (
    *(LAYERED, LAYERED_1, CUBE, CUBES, LEVEL_1, LEVEL_2, LEVEL_3, LEVEL_OF_LAYERS, LEVEL_OF_CUBE),
    *(GRADED_1, GRADED_2, GRADED_LAYERS, *GATHERED, ASKED, REDUCED, MOVED, BEYOND),
)
ARCHITECTURES = ("sm_75", "sm_90", "sm_120")
compile_together(SOURCES, *ARCHITECTURES)

CODE = [("sm_90", "ptx", "engine"), ("sm_90", "ptx", "reference"), ("sm_90", "sass", "reference")]
CODE += [(architecture, "sass", "engine") for architecture in ARCHITECTURES]
"""Whose code is executed by whom; the PTX of all architectures is the same."""

RNG = np.random.default_rng(5)


@pytest.fixture(params=CODE, ids=" ".join)
def code(request):
    return request.param


def run(code: tuple[str, str, str], source: str, grid: str, block: str, *args: str) -> Memory:
    architecture, isa, executor = code
    kernel = kernel_of(source, architecture, isa)
    launch = launch_from_flags(grid, block, 0, args)
    memory = Memory.build(kernel, launch)
    if executor == "engine":
        execute(kernel, launch, memory, executor="engine")
    else:
        run_reference(kernel, launch, memory, range(launch.blocks), budget=1 << 20)
    return memory


def kernel_of(source: str, architecture: str, isa: str) -> Kernel:
    kernel = kernels(source, architecture)[isa == "sass"]
    assert kernel.isa == isa
    return kernel


def read_by(code, source: str, written: str, points: np.ndarray, path) -> np.ndarray:
    """What a kernel reads at points, which are given as rows."""
    names = "uvwq"
    args = [f"t={written}"]
    for name, row in zip(names, points, strict=True):
        np.save(path / f"{name}.npy", row.astype(np.float32))
        args.append(f"{name}=f32[{LANES}] file('{path / name}.npy')")
    memory = run(code, source, "1", str(LANES), *args, f"out=f32[{4 * LANES}]")
    return memory.array("out").reshape(LANES, 4)


def points(*spans: tuple[float, float]) -> np.ndarray:
    """Random places, at quarters of a texel of 64: no rounding decides which texel is meant."""
    rows = [RNG.uniform(low, high, LANES) for low, high in spans]
    rows += [np.zeros(LANES)] * (4 - len(rows))
    return (np.floor(np.array(rows) * 256) + 0.25) / 256


SHARE = (-0.3, 1.3)
LAYERS = (0, 7)


@pytest.mark.parametrize(
    "written",
    [
        "f32[5, 12, 16] random(1) texture(layered)",
        "f32[5, 12, 16, 2] random(1) texture(2d, layered, linear, border)",
        "u8[5, 16, 32, 4] random(1) texture(2d, layered, normalized_float, linear)",
        "f16[5, 16, 16] random(1) texture(layered, normalized_coordinates, wrap, linear)",
    ],
)
def test_layers(code, tmp_path, written):
    texture = parsed(written)
    extents = texture.extents(0)[::-1]
    spans = [
        SHARE if texture.normalized_coordinates else (SHARE[0] * n, SHARE[1] * n) for n in extents
    ]
    at = points(*spans, LAYERS)
    found = read_by(code, LAYERED, written, at, tmp_path)
    wanted = [read(texture, [x, y], layer=int(z)) for x, y, z in at[:3].T]
    assert found == pytest.approx(np.array(wanted), abs=2e-5)


def test_layers_of_one_dimension(code, tmp_path):
    written = "f32[5, 40, 2] random(1) texture(1d, layered, linear)"
    at = points((-8, 48), (0, 1), LAYERS)
    found = read_by(code, LAYERED_1, written, at, tmp_path)
    texture = parsed(written)
    assert found == pytest.approx(
        np.array([read(texture, [x], layer=int(z)) for x, _, z in at[:3].T]), abs=2e-5
    )


@pytest.mark.parametrize("reads", ["linear", "point", "linear, wrap"])
def test_cubes(code, tmp_path, reads):
    directions = RNG.uniform(-1, 1, (3, LANES))
    for face in range(6):  # of each face the middle
        directions[:, face] = np.eye(3)[face // 2] * (1 - 2 * (face % 2)) + 0.1
    at = np.array([*directions, RNG.integers(0, 5, LANES)])
    away = 0.02 if reads == "point" else 0
    at[:, too_near(at, 8, away)] = at[:, :1]
    written = f"f32[6, 8, 8, 2] random(1) texture(cube, {reads})"
    found = read_by(code, CUBE, written, at, tmp_path)
    texture = parsed(written)
    wanted = [read_cube(texture, np.float32(d)) for d in at[:3].T]
    assert found == pytest.approx(np.array(wanted), abs=8e-3 if away == 0 else 1e-6)
    written = f"u8[18, 8, 8, 4] random(1) texture(cube, layered, normalized_float, {reads})"
    found = read_by(code, CUBES, written, at, tmp_path)
    texture = parsed(written)
    wanted = [
        read_cube(texture, np.float32(d), layer=min(int(layer), 2))
        for d, layer in zip(at[:3].T, at[3], strict=True)
    ]
    assert found == pytest.approx(np.array(wanted), abs=8e-3 if away == 0 else 1e-6)


def too_near(at: np.ndarray, extent: int, away: float) -> np.ndarray:
    """Directions whose place is nearer to the edge of a texel than `away` texels: machine code
    multiplies with an approximate reciprocal."""
    places = np.array([on_face(d)[1:] for d in at[:3].T]) * extent
    return (np.abs(places - np.round(places)) < away).any(axis=1)


LEVELS = (
    (LEVEL_1, "f32[32, 2] random(1) texture(1d, normalized_coordinates, levels(6), linear)"),
    (LEVEL_2, "f32[32, 16] random(1) texture(normalized_coordinates, levels(6))"),
    (
        LEVEL_2,
        "f32[16, 64, 4] random(1) texture(2d, normalized_coordinates, levels(5), linear, wrap,"
        " linear_between)",
    ),
    (
        LEVEL_3,
        "u8[8, 16, 32] random(1) texture(3d, normalized_coordinates, levels(4), linear,"
        " linear_between, normalized_float, border)",
    ),
    (
        LEVEL_OF_LAYERS,
        "f32[3, 16, 32] random(1) texture(layered, normalized_coordinates, levels(3),"
        " linear_between)",
    ),
)


@pytest.mark.parametrize(("source", "written"), LEVELS)
def test_levels_of_detail(code, tmp_path, source, written):
    texture = parsed(written)
    at = points(SHARE, SHARE, (0, 4) if texture.is_layered else SHARE, (-1.4, 7.4))
    found = read_by(code, source, written, at, tmp_path)
    wanted = [
        read(
            texture,
            list(place[: texture.rank]),
            layer=int(place[2]) if texture.is_layered else 0,
            level=place[3],
        )
        for place in at.T
    ]
    assert found == pytest.approx(np.array(wanted), abs=2e-5)


def test_levels_of_a_cube(code, tmp_path):
    written = "f32[6, 16, 16] random(1) texture(cube, levels(4), linear, linear_between)"
    at = np.array([*RNG.uniform(-1, 1, (3, LANES)), RNG.uniform(-1, 5, LANES)])
    found = read_by(code, LEVEL_OF_CUBE, written, at, tmp_path)
    texture = parsed(written)
    wanted = [
        read_cube(texture, np.float32(d), level=float(np.float32(level)))
        for d, level in zip(at[:3].T, at[3], strict=True)
    ]
    assert found == pytest.approx(np.array(wanted), abs=1.5e-2)


@pytest.mark.parametrize(
    ("source", "written", "extent"),
    [
        (
            GRADED_1,
            "f32[64, 2] random(1) texture(1d, normalized_coordinates, levels(7), linear_between)",
            64,
        ),
        (GRADED_2, "f32[16, 64] random(1) texture(normalized_coordinates, levels(5))", 64),
        (
            GRADED_LAYERS,
            "f32[3, 64, 64] random(1) texture(layered, normalized_coordinates, levels(5), linear)",
            64,
        ),
    ],
)
def test_gradients_choose_the_level(code, tmp_path, source, written, extent):
    """The longer one is q/16 of the extent."""
    texture = parsed(written)
    at = points((0, 1), (0, 1), (0, 3), (0, 0))
    at[3] = 2.0 ** RNG.choice([-3.3, -1.7, -0.2, 0.3, 1.2, 2.9], LANES)
    found = read_by(code, source, written, at, tmp_path)
    wanted = [
        read(
            texture,
            list(place[: texture.rank]),
            layer=int(place[2]) if texture.is_layered else 0,
            level=np.log2(place[3] / 16 * extent),
        )
        for place in at.T
    ]
    assert found == pytest.approx(np.array(wanted), abs=6e-3)


@pytest.mark.parametrize("channel", range(4))
def test_gathers(code, tmp_path, channel):
    written = "f32[12, 16, 4] random(1) texture(2d, linear)"
    at = points((-2, 18), (-2, 14))
    at[:2, 0] = 2.49805, 2.25  # the guide's own: 1.99805 has 8 bits of fraction, and is 2
    found = read_by(code, GATHERED[channel], written, at, tmp_path)
    texture = parsed(written)
    wanted = [gather(texture, np.float32(place), channel) for place in at[:2].T]
    assert np.array_equal(found, np.array(wanted))


def test_what_kernels_ask(code):
    t = "f32[16, 64] texture(normalized_coordinates, levels(5))"
    given = (f"t={t}", "s=u8[5, 7, 33] surface(3d)", "level=s32[8] arange", "out=s32[64]")
    out = run(code, ASKED, "1", "8", *given).array("out").reshape(8, 8)
    levels = np.arange(8).clip(0, 4)
    wanted = [np.full(8, 64), np.full(8, 16), 64 >> levels, 16 >> levels]
    wanted += [np.full(8, n) for n in (33, 7, 5)]
    assert np.array_equal(out[:, :7].T, wanted)


def test_reductions(code):
    w, threads = 5, 32
    memory = run(code, REDUCED, "1", str(threads), f"s=s32[6, {w}] arange surface()", f"w={w}")
    rows = np.arange(6 * w).reshape(6, w)
    i = np.arange(threads)
    mine = [i[i % w == x] for x in range(w)]
    rows[0] += [m.sum() for m in mine]
    rows[1] = [min(rows[1, x], (5 - m).min()) for x, m in enumerate(mine)]
    rows[2] = [max(rows[2, x], m.max()) for x, m in enumerate(mine)]
    rows[3, 0] = np.bitwise_and.reduce(i, initial=rows[3, 0])
    rows[4] |= np.arange(w)
    rows[5] += [m.size for m in mine]
    assert np.array_equal(memory.array("s").reshape(6, w), rows)


def test_layers_of_surfaces(code):
    given = (
        "a=s16[3, 4, 8, 2] arange surface(2d, layered)",
        "b=s16[3, 4, 8, 2] surface(2d, layered)",
        "line=s16[3, 8, 2] arange surface(1d, layered)",
    )
    memory = run(code, MOVED, "3", "8,4", *given)
    a = np.arange(3 * 4 * 8 * 2).reshape(3, 4, 8, 2)
    assert np.array_equal(memory.array("b").reshape(a.shape), a[::-1, ..., ::-1])
    line = np.arange(3 * 8 * 2).reshape(3, 8, 2)
    wanted = np.stack([line[..., 0] + 1, np.repeat(np.arange(3)[:, None], 8, 1)], -1)
    assert np.array_equal(memory.array("line").reshape(line.shape), wanted)


def test_beyond_the_last_layer_of_a_surface(code):
    with pytest.raises(MemoryFaultError, match="outside of every texture and surface"):
        run(code, BEYOND, "1", "1", "s=f32[3, 4, 8] surface(layered)")


@pytest.mark.parametrize(
    ("written", "what"),
    [
        ("f32[6, 8, 9] texture(cube)", "a cube with faces of 8 times 9"),
        ("f32[12, 8, 8] texture(cube)", "a cube of 12 faces"),
        ("f32[7, 8, 8] texture(cube, layered)", "a cube of 7 faces"),
        ("f32[8, 8, 8, 8] texture(3d, layered)", "layers of 3d"),
        ("f32[8, 8] texture(levels(2))", "levels without normalized_coordinates"),
        ("f32[8, 8] texture(mirror)", "mirror without normalized_coordinates"),
        ("f32[8, 8] texture(normalized_coordinates, levels(5))", "below one texel: there are 4"),
        ("f32[8, 8] texture(normalized_coordinates, levels(0))", "0 levels"),
        ("u8[8, 8] texture(normalized_coordinates, linear_between)", "linear interpolation of u8"),
        ("f32[8, 8] surface(levels(2))", "a surface of several levels"),
    ],
)
def test_a_shape_that_cannot_be_is_named(written, what):
    with pytest.raises(InputError) as caught:
        parse_argument(written, {}, where="t")
    assert what in str(caught.value)


def test_shapes_are_written_as_they_are_read():
    for _, written in (*LEVELS, ("", "u8[18, 8, 8, 4] random(1) texture(cube, layered)")):
        texture = parsed(written)
        assert isinstance(texture, Texture)
        assert parsed(str(texture)) == texture
    sizes = parsed(
        "f32[2, 5, 9] texture(layered, normalized_coordinates, levels(n))".replace("n)", "4)")
    )
    assert [texels(sizes, level).shape for level in range(4)] == [
        (1, 5, 9, 1),
        (1, 2, 4, 1),
        (1, 1, 2, 1),
        (1, 1, 1, 1),
    ]
