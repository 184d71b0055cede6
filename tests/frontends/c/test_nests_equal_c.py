"""Kernels made of loops compute what the C program computes, compiled natively."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field

import numpy as np
import pytest
from tests.frontends.c.running import NESTS, executed, launched, plan, program

from kernelcast.measuring.native_c import NativeCode, run_native

COMPILER = shutil.which("cc")
pytestmark = pytest.mark.skipif(COMPILER is None, reason="needs a C compiler")

FLAGS = ("-O2", "-ffp-contract=off")


@dataclass(frozen=True)
class Nest:
    """A function with sizes that no block divides, further ones, and the reduction it returns.

    `rounding` bounds the relative difference of sums that are formed in another order; 0 where
    every bit must be equal.
    """

    file: str
    function: str
    sizes: dict[str, int]
    returned: str = ""
    rounding: float = 0.0
    more: list[dict[str, int]] = field(default_factory=list)

    def __str__(self) -> str:
        return self.function


def ns(*values: int) -> list[dict[str, int]]:
    return [{"n": value} for value in values]


NESTS_OF_ALL = [
    Nest("algebra.c", "gemm", {"ni": 37, "nj": 41, "nk": 19}, more=[{"ni": 0}, {"nj": 1}]),
    Nest("algebra.c", "gemm_linear", {"n": 33, "m": 70, "k": 9}, more=[{"k": 0}, {"n": 1}]),
    Nest("algebra.c", "two_mm", {"ni": 17, "nj": 33, "nk": 21, "nl": 40}, more=[{"nj": 0}]),
    Nest("algebra.c", "atax", {"m": 30, "n": 261}, more=[{"m": 0}, {"n": 1}]),
    Nest("algebra.c", "bicg", {"m": 259, "n": 31}, more=[{"m": 1}]),
    Nest("algebra.c", "mvt", {"n": 263}, more=ns(1, 0)),
    Nest("algebra.c", "syrk", {"n": 45, "m": 13}, more=ns(1, 0)),
    Nest("algebra.c", "gesummv", {"n": 67}, more=ns(0)),
    Nest("algebra.c", "doitgen", {"nr": 3, "nq": 10, "np": 35}, more=[{"nr": 1}]),
    Nest("stencils.c", "jacobi_1d", {"steps": 3, "n": 300}, more=[{"steps": 0}, *ns(0, 1, 3)]),
    Nest("stencils.c", "jacobi_2d", {"steps": 2, "n": 35}, more=ns(0, 1, 2)),
    Nest("stencils.c", "fdtd_2d", {"steps": 3, "nx": 19, "ny": 37}, more=[{"nx": 1}]),
    Nest("stencils.c", "heat_3d", {"steps": 2, "n": 13}, more=ns(2)),
    Nest("stencils.c", "convolution_2d", {"width": 37, "height": 21}, more=[{"width": 1}]),
    Nest("stencils.c", "convolution_3d", {"ni": 7, "nj": 9, "nk": 40}, more=[{"nk": 0}]),
    Nest("stencils.c", "image_filter", {"width": 39, "height": 11}, more=[{"height": 2}]),
    Nest("statistics.c", "covariance", {"m": 35, "n": 20}, more=[{"m": 1}]),
    Nest("statistics.c", "correlation", {"m": 35, "n": 20}, more=[{"m": 1}]),
    Nest("statistics.c", "sum", {"n": 1000}, "s", 1e-6, ns(0, 1)),
    Nest("statistics.c", "dot", {"n": 100_001}, "s", 1e-13, ns(0, 1)),
    Nest("statistics.c", "largest", {"n": 777}, "m", more=ns(1, 2)),
    Nest("statistics.c", "smallest", {"n": 21, "m": 45}, "s", more=ns(1)),
    Nest("statistics.c", "count_and_product", {"n": 300}, "many", 1e-5, ns(0)),
    Nest("statistics.c", "normalise", {"n": 515}, "", 1e-6, ns(1)),
    Nest("others.c", "transpose", {"n": 33, "m": 47}, more=[{"n": 0}, {"m": 1}]),
    Nest("others.c", "saxpy", {"n": 1001}, more=ns(0, 1)),
    Nest("others.c", "saxpy_strided", {"n": 1001}, more=ns(0, 1, 2)),
    Nest("others.c", "nbody", {"n": 77}, more=ns(1)),
    Nest("others.c", "mandelbrot", {"width": 45, "height": 23, "most": 50}, more=[{"most": 0}]),
    Nest("others.c", "fill_table", {"offset": 7}),
    Nest("others.c", "red_black", {"n": 300}, more=ns(0, 1)),
    Nest("others.c", "halves", {"n": 300}, more=ns(1)),
    Nest("others.c", "butterfly", {"n": 300}, more=ns(1)),
    Nest("others.c", "downwards", {"n": 300}, more=ns(0, 5)),
    Nest("others.c", "narrow", {"n": 32760}, more=ns(0)),
    Nest("others.c", "gather", {"n": 300, "m": 77}, more=[{"n": 0}, {"m": 1}]),
    Nest("others.c", "spmv", {"n": 300, "m": 77, "most": 500}, "", 1e-13, ns(1)),
    Nest("others.c", "sum_downwards", {"n": 1000}, "s", 1e-6, ns(0, 1)),
]


def check(nest: Nest, sizes: dict[str, int]) -> None:
    launches = launched(nest.file, nest.function, sizes)
    assert COMPILER
    native = run_native(
        NESTS / nest.file,
        plan(nest.file, nest.function),
        launches,
        NativeCode(COMPILER, FLAGS),
        enough_s=0.0,
    )
    ours = executed(nest.file, launches)
    for name, theirs in native.arrays.items():
        if name not in ours:  # no launch, for these sizes
            continue
        if nest.rounding:
            np.testing.assert_allclose(ours[name], theirs, nest.rounding, err_msg=name)
        else:
            assert ours[name].tobytes() == theirs.tobytes(), name
    if nest.returned:
        (value,) = ours[f"{nest.returned}_at"]
        assert value == pytest.approx(native.returned, rel=nest.rounding, abs=0)


@pytest.mark.parametrize("nest", NESTS_OF_ALL, ids=str)
def test_a_nest_computes_what_the_c_program_does(nest: Nest) -> None:
    assert not plan(nest.file, nest.function).refusals
    for sizes in (nest.sizes, *({**nest.sizes, **other} for other in nest.more)):
        check(nest, sizes)


def test_thirty_nests_are_checked_and_the_files_hold_no_others() -> None:
    checked = {(nest.file, nest.function) for nest in NESTS_OF_ALL}
    assert len(checked) > 30
    files = ("algebra.c", "stencils.c", "statistics.c", "others.c")
    known = {(file, p.name) for file in files for p in program(file).plans}
    assert known - checked == {("algebra.c", "floyd_warshall")}
