"""Textures and surfaces: what kernels read and write by coordinates is what NumPy says."""

from __future__ import annotations

import numpy as np
import pytest

from kernelcast.errors import InputError, LaunchError, MemoryFaultError, NotFoundError
from kernelcast.execution.execute import execute
from kernelcast.execution.memory import Memory
from kernelcast.execution.reference import run_reference
from kernelcast.frontends.arguments import parse_argument
from kernelcast.frontends.launches import launch_from_flags
from kernelcast.frontends.loading import load_bytes
from kernelcast.ir import Kernel, Space, Texture
from tests.execution.machine_code import kernels
from tests.execution.texel_oracle import read, texels
from tests.kept import CACHE

SOURCE = b"""
extern "C" {
__global__ void fetch1(cudaTextureObject_t t, const int* u, const int*, const int*, float4* out) {
  int i = threadIdx.x; out[i] = tex1Dfetch<float4>(t, u[i]);
}
__global__ void bytes1(cudaTextureObject_t t, const int* u, const int*, const int*, uint4* out) {
  int i = threadIdx.x;
  uchar4 v = tex1Dfetch<uchar4>(t, u[i]);
  out[i] = make_uint4(v.x, v.y, v.z, v.w);
}
__global__ void read1(cudaTextureObject_t t, const float* u, const float*, const float*,
                      float4* out) {
  int i = threadIdx.x; out[i] = tex1D<float4>(t, u[i]);
}
__global__ void read2(cudaTextureObject_t t, const float* u, const float* v, const float*,
                      float4* out) {
  int i = threadIdx.x; out[i] = tex2D<float4>(t, u[i], v[i]);
}
__global__ void read3(cudaTextureObject_t t, const float* u, const float* v, const float* w,
                      float4* out) {
  int i = threadIdx.x; out[i] = tex3DLod<float4>(t, u[i], v[i], w[i], 0.f);
}
__global__ void graded2(cudaTextureObject_t t, const float* u, const float* v, const float* w,
                        float4* out) {
  int i = threadIdx.x;
  out[i] = tex2DGrad<float4>(t, u[i], v[i], make_float2(w[i], 3.f), make_float2(w[i], .1f));
}
__global__ void ints2(cudaTextureObject_t t, const float* u, const float* v, const float*,
                      int4* out) {
  int i = threadIdx.x; out[i] = tex2D<int4>(t, u[i], v[i]);
}
__global__ void move2(cudaSurfaceObject_t from, cudaSurfaceObject_t to, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x < w) {
    uchar4 v = surf2Dread<uchar4>(from, 4 * x, y);
    surf2Dwrite(make_uchar4(v.y, v.x, v.w, v.z + 1), to, 4 * (w - 1 - x), h - 1 - y);
  }
}
__global__ void edge(cudaSurfaceObject_t s, float* out) {
  int i = threadIdx.x;
  out[i] = surf1Dread<float>(s, 4 * (i - 4), cudaBoundaryModeClamp);
  out[32 + i] = surf1Dread<float>(s, 4 * (i - 4), cudaBoundaryModeZero);
  surf1Dwrite((float)i, s, 4 * (i - 8), cudaBoundaryModeZero);
}
__global__ void beyond(cudaSurfaceObject_t s) { surf1Dwrite(1.f, s, 4 * (int)threadIdx.x); }
__global__ void cube(cudaSurfaceObject_t s) {
  short2 v = surf3Dread<short2>(s, 4 * threadIdx.x, threadIdx.y, blockIdx.x);
  surf3Dwrite(make_short2(v.y, -v.x), s, 4 * threadIdx.x, threadIdx.y, blockIdx.x);
}
}
"""
EXECUTORS = ("engine", "reference")
RNG = np.random.default_rng(3)


@pytest.fixture(scope="module")
def kernel_of():
    module = load_bytes(SOURCE, name="t.cu", architecture="sm_90", cache=CACHE)
    return module.kernel


def run(kernel: Kernel, executor: str, grid: str, block: str, *arguments: str) -> Memory:
    launch = launch_from_flags(grid, block, 0, arguments)
    memory = Memory.build(kernel, launch)
    if executor == "engine":
        execute(kernel, launch, memory)
    else:
        run_reference(kernel, launch, memory, range(launch.blocks), budget=1 << 20)
    return memory


def expected(texture: Texture, coordinates: list[np.ndarray]) -> np.ndarray:
    """What a read gives at every point."""
    return np.array([read(texture, list(point)) for point in zip(*coordinates, strict=True)])


TEXTURES = (
    "f32[37] random(1) texture",
    "f32[12, 37] random(1) texture(linear)",
    "f32[12, 37] random(1) texture(border, linear)",
    "f32[12, 37, 4] random(1) texture(2d, linear)",
    "f32[5, 12, 38, 2] random(1) texture(3d, linear, border)",
    "f32[5, 12, 38] random(1) texture(normalized_coordinates, wrap)",
    "f32[16, 32] random(1) texture(normalized_coordinates, wrap, linear)",
    "f32[16, 32] random(1) texture(normalized_coordinates, mirror, linear)",
    "f32[16, 32] random(1) texture(normalized_coordinates, linear)",
    "u8[11, 33] random(1) texture(normalized_float)",
    "s8[11, 33, 4] random(1) texture(2d, normalized_float, linear)",
    "u16[11, 33, 2] random(1) texture(2d, normalized_float, linear, border)",
    "s16[11, 35] random(1) texture(normalized_float, linear)",
    "f16[11, 33] random(1) texture(linear)",
    "f16[11, 33, 4] random(1) texture(2d)",
)


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("written", TEXTURES)
def test_reads_are_those_of_the_programming_guide(kernel_of, tmp_path, written, executor):
    texture = parse_argument(
        written.replace("texture", "texture()")
        if "(" not in written.partition("texture")[2]
        else written,
        {},
        where="t",
    )
    assert isinstance(texture, Texture)
    extents = texels(texture).shape[2::-1][: texture.rank]
    span = [1.0] * texture.rank if texture.normalized_coordinates else extents
    points = [RNG.uniform(-0.4 * s, 1.4 * s, 64).astype(np.float32) for s in span]
    arguments = [f"t={texture}"]
    for name, values in zip("uvw", [*points, points[0], points[0]], strict=False):
        np.save(tmp_path / f"{name}.npy", values)
        arguments.append(f"{name}=f32[64] file('{tmp_path / name}.npy')")
    kernel = kernel_of(f"read{texture.rank}")
    memory = run(kernel, executor, "1", "64", *arguments, "out=f32[256]")
    found = memory.array("out").reshape(64, 4)
    assert found == pytest.approx(expected(texture, points), abs=2e-5)


@pytest.mark.parametrize("executor", EXECUTORS)
def test_whole_numbers_and_places_of_texels(kernel_of, tmp_path, executor):
    places = np.arange(-8, 56, dtype=np.int32)
    np.save(tmp_path / "u.npy", places)
    rest = [f"{n}=s32[64] file('{tmp_path}/u.npy')" for n in "uvw"]
    there = ((places >= 0) & (places < 40))[:, None]
    found = run(
        kernel_of("fetch1"),
        executor,
        "1",
        "64",
        "t=f32[40, 4] random(2) texture(1d)",
        *rest,
        "out=f32[256]",
    )
    texture = parse_argument("f32[40, 4] random(2) texture(1d)", {}, where="t")
    assert isinstance(texture, Texture)
    values = np.where(there, texels(texture)[0, 0][places.clip(0, 39)], 0)
    assert np.array_equal(found.array("out").reshape(64, 4), values)
    found = run(
        kernel_of("bytes1"),
        executor,
        "1",
        "64",
        "t=u8[40, 4] random(2) texture(1d)",
        *rest,
        "out=u32[256]",
    )
    texture = parse_argument("u8[40, 4] random(2) texture(1d)", {}, where="t")
    assert isinstance(texture, Texture)
    values = np.where(there, texels(texture)[0, 0][places.clip(0, 39)], 0)
    assert np.array_equal(found.array("out").reshape(64, 4), values)


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("type_", ["s32", "s16", "s8"])
def test_signed_texels_keep_their_sign(kernel_of, executor, type_):
    written = f"{type_}[9, 40, 4] random(2) texture(2d)"
    points = ("u=f32[40] arange", "v=f32[40] ones", "w=f32[40]")
    found = run(kernel_of("ints2"), executor, "1", "40", f"t={written}", *points, "out=s32[160]")
    texture = parse_argument(written, {}, where="t")
    assert isinstance(texture, Texture)
    assert np.array_equal(found.array("out").reshape(40, 4), texels(texture)[0, 1])


@pytest.mark.parametrize("executor", EXECUTORS)
def test_surfaces_are_read_and_written(kernel_of, executor):
    w, h = 45, 7
    memory = run(
        kernel_of("move2"),
        executor,
        f"2,{h}",
        "32",
        f"a=u8[{h},{w},4] random(1) surface(2d)",
        f"b=u8[{h},{w},4] surface(2d)",
        f"w={w}",
        f"h={h}",
    )
    a, b = (memory.array(n).reshape(h, w, 4) for n in "ab")
    moved = a[::-1, ::-1][..., [1, 0, 3, 2]].copy()
    moved[..., 3] += 1
    assert np.array_equal(b, moved)
    memory = run(kernel_of("cube"), executor, "3", "9,5", "s=s16[3, 5, 9, 2] arange surface(3d)")
    before = np.arange(3 * 5 * 9 * 2, dtype=np.int16).reshape(-1, 2)
    assert np.array_equal(memory.array("s").reshape(-1, 2), before[:, ::-1] * [1, -1])


@pytest.mark.parametrize("executor", EXECUTORS)
def test_beyond_the_edge_of_a_surface(kernel_of, executor):
    memory = run(
        kernel_of("edge"), executor, "1", "32", "s=f32[20] arange surface()", "out=f32[64]"
    )
    at = np.arange(32) - 4
    out = memory.array("out")
    assert np.array_equal(out[:32], at.clip(0, 19))
    assert np.array_equal(out[32:], np.where((at >= 0) & (at < 20), at, 0))
    assert np.array_equal(memory.array("s"), np.arange(8, 28))
    with pytest.raises(MemoryFaultError, match="outside of every texture and surface"):
        run(kernel_of("beyond"), executor, "1", "32", "s=f32[20] arange surface()")


@pytest.mark.parametrize(
    ("written", "what"),
    [
        ("f32[8] texture(lineal)", "unknown word of a texture 'lineal'; did you mean linear"),
        ("u8[8] texture(linear)", "linear interpolation of u8"),
        ("f32[8] texture(normalized_float)", "normalized_float of f32"),
        ("f32[8, 8, 3] texture(2d)", "texels of 3 channels"),
        ("f32[8, 8, 8, 8, 8] texture()", "5 dimensions"),
        ("f32[8, 8] texture(3d)", "2 dimensions of an array read as 3d"),
        ("f64[8] texture()", "texels of f64"),
        ("f32[8] surface(linear)", "a surface with ways of reading"),
    ],
)
def test_a_texture_that_cannot_be_is_named(written, what):
    with pytest.raises((InputError, NotFoundError)) as caught:
        parse_argument(written, {}, where="t")
    assert what in str(caught.value)


def test_a_texture_is_no_array(kernel_of):
    kernel = kernel_of("beyond")
    with pytest.raises(LaunchError):
        Memory.build(kernel, launch_from_flags("1", "32", 0, ["s=f32[8]", "t=1"]))
    fetch = kernel_of("fetch1")
    wrong = ["t=f32[8] texture()", "u=s32[8] texture()", "v=0", "w=0", "out=f32[256]"]
    with pytest.raises(LaunchError, match="a texture is given"):
        Memory.build(fetch, launch_from_flags("1", "32", 0, wrong))


@pytest.mark.parametrize("executor", EXECUTORS)
def test_of_one_level_gradients_change_nothing(kernel_of, executor):
    texture = "t=f32[12, 37] random(1) texture(border, linear)"
    points = [f"{p}=f32[64] random({at})" for at, p in enumerate("uvw")]
    plain, graded = (
        arrays(run(kernel_of(name), executor, "1", "64", texture, *points, "out=f32[256]"), ["out"])
        for name in ("read2", "graded2")
    )
    assert plain[0].any()
    assert np.array_equal(plain, graded)


LAUNCHES = {
    "read1": "f32[37] random(1) texture(linear, border)",
    "read2": "u16[11, 33, 2] random(1) texture(2d, normalized_float, linear, border)",
    "read3": "f32[5, 12, 38] random(1) texture(normalized_coordinates, wrap)",
    "fetch1": "f32[40, 4] random(2) texture(1d)",
    "bytes1": "u8[40, 4] random(2) texture(1d)",
    "ints2": "s16[9, 40, 4] random(2) texture(2d)",
}


def left_by(kernel: Kernel, name: str, executor: str) -> list[np.ndarray]:
    """What a kernel of `SOURCE` leaves in its arrays."""
    given: tuple[str, ...]
    if name == "move2":
        given = ("2,7", "32", "a=u8[7,45,4] random(1) surface(2d)", "b=u8[7,45,4] surface(2d)")
        return arrays(run(kernel, executor, *given, "w=45", "h=7"), "ab")
    if name == "cube":
        return arrays(
            run(kernel, executor, "3", "9,5", "s=s16[3, 5, 9, 2] arange surface(3d)"), "s"
        )
    if name == "edge":
        given = ("1", "32", "s=f32[20] arange surface()", "out=f32[64]")
        return arrays(run(kernel, executor, *given), ["s", "out"])
    type_ = "s32" if name in ("fetch1", "bytes1") else "f32"
    points = [f"{p}={type_}[64] arange" for p in "uvw"]
    out = "u32" if name == "bytes1" else "s32" if name == "ints2" else "f32"
    given = (f"t={LAUNCHES[name]}", *points, f"out={out}[256]")
    return arrays(run(kernel, executor, "1", "64", *given), ["out"])


def arrays(memory: Memory, names) -> list[np.ndarray]:
    return [memory.array(name).copy() for name in names]


@pytest.fixture(scope="module")
def by_ptx(kernel_of):
    found = {}
    for name in (*LAUNCHES, "move2", "cube", "edge"):
        found[name] = left_by(kernel_of(name), name, "reference")
    return found


@pytest.mark.parametrize("architecture", ["sm_75", "sm_90", "sm_120"])
@pytest.mark.parametrize("name", [*LAUNCHES, "move2", "cube", "edge"])
def test_machine_code_leaves_what_ptx_leaves(by_ptx, name, architecture):
    """PTX is held to NumPy above."""
    kernel = kernels(SOURCE.decode(), architecture, name)[1]
    assert kernel.isa == "sass"
    for executor in EXECUTORS if architecture == "sm_90" else ("reference",):
        found = left_by(kernel, name, executor)
        for array, expected_ in zip(found, by_ptx[name], strict=True):
            assert array == pytest.approx(expected_, abs=2e-5)
            assert expected_.any()


LISTED = """
extern "C" __global__ void listed(const cudaTextureObject_t* t, float* out) {
  int i = threadIdx.x;
  out[i] = tex2D<float>(t[i & 1], i + 0.5f, 2.5f) + tex1Dfetch<float>(t[2], i);
}
"""


@pytest.mark.parametrize("architecture", ["sm_75", "sm_90"])
def test_textures_of_a_list_are_read_where_lanes_differ(architecture):
    """The handle is in a register, not a parameter."""
    given = (
        "t=[f32[4,32] arange texture(), f32[4,32] ones texture(), f32[32] arange texture()]",
        "out=f32[32]",
    )
    lanes = np.arange(32)
    expected_ = np.where(lanes & 1, 1, 2 * 32 + lanes) + lanes
    for kernel in kernels(LISTED, architecture):
        found = run(kernel, "reference", "1", "32", *given)
        assert np.array_equal(found.array("out"), expected_)


@pytest.mark.parametrize("isa", ["auto", "ptx"])
def test_a_forecast_follows_reads_and_writes_by_coordinates(tmp_path, isa):
    """Only addresses count there: descriptors are read all the same."""
    from kernelcast import api

    file = tmp_path / "blur.cu"
    file.write_text("""\
__global__ void blur(cudaTextureObject_t t, cudaSurfaceObject_t out, int w, int h) {
  int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  float s = 0;
  for (int j = -1; j <= 1; j++)
    for (int i = -1; i <= 1; i++) s += tex2D<float>(t, x + i + 0.5f, y + j + 0.5f);
  if (x < w && y < h) surf2Dwrite(s / 9, out, x * 4, y);
}
""")
    arguments = (
        "t=f32[256,256] random(1) texture(linear)",
        "out=f32[256,256] surface()",
        "w=256",
        "h=256",
    )
    work = api.workload(file, api.LaunchFlags("", "16,16", "16,16", args=arguments))
    (case,) = api.cases(work, [api.machine("h100-sxm")], build=api.Build(isa=isa, cache=CACHE))
    assert case.kernel.isa == ("sass" if isa == "auto" else "ptx")
    moved = case.profile.requested_bytes(Space.GLOBAL)
    assert moved == pytest.approx(256 * 256 * 4 * (9 * 4 + 1))  # four texels, of weight 1 and 0
    stored = [a for a in case.profile.accesses if not a.is_load]
    assert sum(a.requests for a in stored) == 256 * 256 / 32
