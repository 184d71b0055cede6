"""Tensor maps as launches describe them, and what becomes of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelcast import api
from kernelcast.errors import InputError
from kernelcast.frontends.arguments import parse_argument, parse_arguments
from kernelcast.frontends.launches import anchor
from kernelcast.ir import Array, Fill, TensorMap
from kernelcast.ir.tensor_map import TENSOR_MAP_BYTES, TensorLayout, unpack

NAMES = {"n": 64, "m": 96}

COPY = """/* kernelcast
n = 256

[[launch]]
grid = ["n // 32", "n // 64"]
block = 128
args = { in = "f32[n, n] random(1) box[64, 32] swizzle(128)", out = "f32[n, n]", n = "n" }
*/
#include <cuda.h>
typedef unsigned long long u64;
__device__ unsigned place(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__global__ void k(const __grid_constant__ CUtensorMap in, float* out, int n) {
  __shared__ __align__(1024) float s[64 * 32];
  __shared__ u64 bar;
  int t = threadIdx.x;
  if (t == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(place(&bar)) : "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 8192;"
      :: "r"(place(&bar)) : "memory");
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile"
      ".mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];"
      :: "r"(place(s)), "l"((u64)&in), "r"(place(&bar)), "r"(32 * blockIdx.x),
         "r"(64 * blockIdx.y) : "memory");
  }
  __syncthreads();
  asm volatile("{.reg .pred p; W%=: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0;"
    "@!p bra W%=;}" :: "r"(place(&bar)) : "memory");
  for (int i = t; i < 64 * 32; i += 128) {
    int row = i / 32, column = i % 32;
    out[(64 * blockIdx.y + row) * n + 32 * blockIdx.x + column] =
      s[row * 32 + (column ^ (row & 7) * 4)];
  }
}
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("f16[m, n] box[16, 64]", TensorMap(Array("f16", (96, 64)), (16, 64), (0, 1))),
        (
            "f16[m, n] random(1) box [n // 2, 64] swizzle(2 * n)",
            TensorMap(Array("f16", (96, 64), Fill("random", (1,))), (32, 64), (0, 1), 128),
        ),
        (
            "u8[4, 3, n] zeros of A order[1, 0, 2] box[1, 2, 32] swizzle(32)",
            None,
        ),
        (
            "u8[4, 3, n] zeros box[1, 2, 32] order[1, 0, 2] swizzle(32) of A",
            TensorMap(Array("u8", (4, 3, 64)), (1, 2, 32), (1, 0, 2), 32, "A"),
        ),
    ],
)
def test_every_clause_is_understood(text: str, expected: TensorMap | None) -> None:
    """Wrong if a clause is lost; what stands before the box belongs to the array."""
    if expected is None:
        with pytest.raises(InputError, match="not a fill"):
            parse_argument(text, NAMES, where="x")
        return
    assert parse_argument(text, NAMES, where="x") == expected
    assert parse_argument(str(expected), {}, where="x") == expected


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("f16[m, n] box[64]", "a box of 1 dimensions in a tensor map"),
        ("f16[m, n] box[0, 64]", "a box of 0 x 64"),
        ("f16[m, n] box[257, 64]", "its lengths are 1 to 256"),
        ("f16[m, n] box[2.5, 64]", "is 2.5, not an integer"),
        ("f16[m, n] box[8, 60]", "rows of 120 bytes"),
        ("f16[m, n] box[8, 64] swizzle(96)", "it is 32, 64 or 128"),
        ("f16[m, n] box[8, 32] swizzle(128)", "rows of 64 bytes in a box with a swizzle of 128"),
        ("f16[m, n + 1] box[8, 64]", "strides of 130 bytes"),
        ("f16[m, n] box[8, 64] order[1, 0]", "the order [1, 0]"),
        ("f16[m, n] box[8, 64] order[0, 0]", "the order [0, 0]"),
        ("f16[2, 2, 2, 2, 2, 8] box[1, 1, 1, 1, 1, 8]", "6 dimensions"),
        ("f16[m, n] box[8, 64] box[8, 64]", "unexpected 'box[8, 64]'"),
        ("f16[m, n] box[8, 64] tiles", "unexpected 'tiles'"),
        ("f16[m, n] box[8, 64", "unexpected 'box[8, 64'"),
        ("f16 box[8, 64]", "not an array"),
    ],
)
def test_a_wrong_tensor_map_is_named(text: str, what: str) -> None:
    """Wrong if a map passes that the driver refuses, or the error does not say why."""
    with pytest.raises(InputError) as caught:
        parse_argument(text, NAMES, where="args: A")
    assert what in str(caught.value)
    assert "args: A" in str(caught.value)


def test_a_tensor_map_is_no_number_and_keeps_its_file() -> None:
    """Wrong if later expressions can name it, or its file is looked for elsewhere."""
    text = 'f32[64] file("a.npy") box[32]'
    arguments = parse_arguments({"A": text}, NAMES, where="args")
    with pytest.raises(InputError):
        parse_arguments({"A": text, "b": "A + 1"}, NAMES, where="args")
    anchored = anchor(arguments["A"], Path("/data"))
    assert isinstance(anchored, TensorMap)
    assert anchored.array.fill.path == "/data/a.npy"


def test_a_layout_survives_its_packing() -> None:
    """Wrong if the copy reads something else than the launch says."""
    map_ = TensorMap(Array("f64", (7, 5, 3, 4)), (2, 3, 1, 2), (2, 0, 1, 3), 0)
    layout = map_.layout(0x10_0000_0200)
    assert layout == TensorLayout(0x10_0000_0200, 8, (4, 5, 7, 3), (96, 480, 32), (2, 1, 3, 2))
    packed = layout.pack()
    assert len(packed) == TENSOR_MAP_BYTES
    assert unpack(packed) == layout
    assert unpack(bytes(TENSOR_MAP_BYTES)) is None


@pytest.mark.parametrize("isa", ["ptx", "sass"])
def test_a_launch_in_a_comment_block_has_a_tensor_map(tmp_path: Path, isa: str) -> None:
    """Wrong if the bytes of tiles are missing in the profile, or counted twice."""
    path = tmp_path / "copy.cu"
    path.write_text(COPY)
    gpu = api.machine("h100-sxm")
    (case,) = api.cases(api.workload(path), [gpu], build=api.Build(isa=isa))
    array = next(f for f in case.profile.footprints if f.label == "in")
    assert array.requested_sectors == array.distinct_sectors == 256 * 256 * 4 / 32
    assert array.read and not array.written
    assert api.predict(case).time_s > 0
