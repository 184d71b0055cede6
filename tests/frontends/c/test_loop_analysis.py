"""Which loops become the grid, by the exact test of dependences, and what the launches are."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.frontends.c.running import NESTS, launched, program

import kernelcast as kc
from kernelcast.frontends.c.plan import FunctionPlan, LoopKernel
from kernelcast.frontends.c.program import LoopChoice, read_program
from kernelcast.frontends.c.scalars import Operator


def plan_of(body: str, parameters: str = "int n, int m, float *restrict x") -> FunctionPlan:
    (found,) = read_program(f"void f({parameters}) {{ {body} }}", "given.c").plans
    return found


def grid(kernel: LoopKernel) -> str:
    return "".join(loop.variable for loop in kernel.grid)


def grids(body: str, parameters: str = "int n, int m, float *restrict x") -> list[str]:
    return [grid(kernel) for kernel in plan_of(body, parameters).kernels]


@pytest.mark.parametrize(
    ("nest", "expected"),
    [
        # GCD: 2i never meets 2i' + 1. Banerjee: i + n is past the end of i.
        ("for (int i = 0; i < n; i++) x[2 * i] = x[2 * i + 1];", ["i"]),
        ("for (int i = 0; i < n; i++) x[i] = x[i + n];", ["i"]),
        ("for (int i = 0; i < n; i++) x[i] = x[i + n - 1];", []),
        ("for (int i = 0; i < n; i++) x[2 * i] = x[i];", []),
        # The grid need not be made of the outermost loops.
        ("for (int i = 1; i < n; i++) for (int j = 0; j < m; j++) x[i * m + j] = x[(i-1) * m + j];",
         ["j"]),
        ("for (int k = 0; k < 9; k++) for (int i = 0; i < n; i++) for (int j = 0; j < m; j++)"
         " x[i * m + j] += k;", ["ij"]),
        # A column per thread, along x, where neighbours are neighbours.
        ("for (int j = 0; j < m; j++) for (int i = 0; i < n; i++) x[i * m + j] = 0;", ["ij"]),
        # Rows that overlap are no rows, but each of them is one.
        ("for (int i = 0; i < n; i++) for (int j = 0; j <= m; j++) x[i * m + j] = 0;", ["j"]),
        # A condition keeps iterations apart.
        ("for (int i = 0; i < n; i++) if (i >= 5) x[i] = x[4];", ["i"]),
        ("for (int i = 0; i < n; i++) if (i >= 4) x[i] = x[4];", []),
        ("for (int i = 0; i < n; i++) x[i] = i < 3 ? x[i] : x[2];", []),
        # A variable stands for its value, unless its type cuts that.
        ("for (int i = 0; i < n; i++) { int k = i + 1; x[k] = x[k] + k; }", ["i"]),
        ("for (int i = 0; i < n; i++) { unsigned char k = i; x[k] = 0; }", []),
        # Triangles, steps, loops that go down.
        ("for (int i = 0; i < n; i++) for (int j = i; j < n; j++) x[i * n + j] = 0;", ["ij"]),
        ("for (int i = n - 1; i >= 0; i -= 2) x[i] = x[i + 1];", ["i"]),
        ("for (int i = 0; i < n; i += 2) { x[i] = 1; x[i + 1] = x[i]; }", ["i"]),
    ],
)  # fmt: skip
def test_loops_that_become_the_grid(nest, expected):
    assert grids(nest) == expected


def test_a_time_loop_launches_its_nests_in_order():
    found = launched("stencils.c", "jacobi_2d", {"steps": 3, "n": 70})
    assert [launch.kernel for launch in found.launches] == ["jacobi_2d_18", "jacobi_2d_21"] * 3
    together = found.together()
    assert [(launch.kernel, launch.repeat) for launch in together] == [
        ("jacobi_2d_18", 3),
        ("jacobi_2d_21", 3),
    ]
    assert together[0].grid == (3, 9, 1)
    assert together[0].block == (32, 8, 1)


def test_a_launch_that_the_time_loop_changes_stands_alone():
    found = launched("stencils.c", "fdtd_2d", {"steps": 3, "nx": 5, "ny": 6}).together()
    assert [(launch.kernel, launch.repeat) for launch in found] == [
        *((f"fdtd_2d_{line}", count) for line, count in ((32, 1), (34, 3), (37, 3), (40, 3))),
        *[("fdtd_2d_32", 1)] * 2,
    ]


@pytest.mark.parametrize(
    ("statement", "operator"),
    [
        ("s += x[i];", Operator.SUM),
        ("s = x[i] + s;", Operator.SUM),
        ("s = s - x[i];", Operator.SUM),
        ("s = s + x[i] + x[i + 1];", Operator.SUM),
        ("if (x[i] > 0) s++;", Operator.SUM),
        ("s *= x[i];", Operator.PRODUCT),
        ("if (s < x[i]) s = x[i];", Operator.MAXIMUM),
        ("if (x[i] < s) { s = x[i]; }", Operator.MINIMUM),
        ("s = s > x[i] ? s : x[i];", Operator.MAXIMUM),
        ("s = fminf(x[i], s);", Operator.MINIMUM),
        ("s = x[i] - s;", None),
        ("s += s * x[i];", None),
        ("s += x[i]; x[i] = s;", None),
        ("s += x[i]; s *= 2;", None),
        ("if (s > x[i]) s = x[i + 1];", None),
        ("if (x[i] > s) s += x[i];", None),
    ],
)
def test_reductions(statement, operator):
    found = plan_of(f"float s = 0; for (int i = 0; i < n; i++) {{ {statement} }} x[0] = s;")
    kernels = [kernel for kernel in found.kernels if kernel.grid]
    assert [r.operator for k in kernels for r in k.reductions] == [operator] * bool(operator)
    assert bool(found.refusals) == (operator is None)


def test_loops_are_distributed_where_more_of_them_become_the_grid():
    gemm = [
        grid(kernel) for p in program("algebra.c").plans if p.name == "gemm" for kernel in p.kernels
    ]
    assert gemm == ["ij", "ij"]
    # The second loop reads what the first writes in later iterations: they stay together.
    body = """for (int i = 0; i < n; i++) {
        for (int j = 0; j < m; j++) x[i * m + j] = 1;
        for (int j = 0; j < m; j++) y[i * m + j] = x[(i + 1) * m + j];
    }"""
    assert grids(body, "int n, int m, float *restrict x, float *restrict y") == ["j", "j"]


def test_pragmas_choose_loops_and_vouch_for_arrays():
    loop = "for (int i = 0; i < n; i++) y[i] = x[i];"
    parameters = "int n, float *x, float *y"
    assert grids(loop, parameters) == []
    for pragma in (
        "kernelcast independent",
        "acc parallel loop",
        "omp parallel for schedule(static)",
        "omp target teams distribute parallel for",
    ):
        assert grids(f"\n#pragma {pragma}\n{loop}", parameters) == ["i"], pragma
    two = f"\n#pragma kernelcast independent\n{loop}\n for (int i = 0; i < n; i++) y[i] = 0;"
    assert grids(two, parameters) == ["i"]


def test_a_loop_is_chosen_by_its_line():
    (found,), _ = program("stencils.c").launches(
        LoopChoice(("jacobi_2d",), (21,), {"steps": 1, "n": 9})
    )
    assert {launch.kernel for launch in found.launches} == {"jacobi_2d_21"}


def test_regions_are_what_the_loops_access():
    found = launched("stencils.c", "jacobi_1d", {"steps": 1, "n": 50})
    regions = {r.name: (r.length, r.read, r.written, r.is_input) for r in found.regions}
    assert regions == {
        "A": (50, range(50), range(1, 49), True),
        "B": (50, range(50), range(1, 49), False),
    }


def test_kernels_of_one_line_have_names_of_their_own():
    found = plan_of("float s = 0; for (int i = 0; i < n; i++) s += x[i]; x[0] = s / n;")
    assert len({kernel.name for kernel in found.kernels}) == 2


def test_what_malloc_gives_is_the_functions_own():
    found = read_program(
        "void f(int n, float *restrict x) { float *t = malloc(n * sizeof(float));"
        "for (int i = 0; i < n; i++) t[i] = x[i]; for (int i = 0; i < n; i++) x[i] = t[i]; }",
        "given.c",
    )
    (launches,), _ = found.launches(LoopChoice(sizes={"n": 9}))
    assert {r.name: r.is_local for r in launches.regions} == {"t": True, "x": False}


def test_variables_of_the_file_have_the_values_it_gives_them():
    found = read_program(
        "int n = 40; float x[64]; void f(void) { for (int i = 0; i < n; i++) x[i] = 0; }", "given.c"
    )
    (launches,), _ = found.launches()
    assert launches.values == {"n": 40}
    (launches,), _ = found.launches(LoopChoice(sizes={"n": 50}))
    assert launches.values == {"n": 50}


def test_python_takes_loops_as_it_takes_kernels():
    work = kc.workload(NESTS / "others.c", function="saxpy", sizes={"n": 1000, "a": 0.5})
    (launch,) = work.launches
    assert (launch.kernel, launch.grid, launch.args["a"]) == ("saxpy_23", (4, 1, 1), 0.5)
    assert kc.load(NESTS / "others.c", kernel="saxpy_23").label == "saxpy_23"


COEFFICIENTS = st.integers(-3, 3)


@settings(max_examples=60, deadline=None)
@given(a=COEFFICIENTS, b=COEFFICIENTS, c=COEFFICIENTS, d=COEFFICIENTS, n=st.integers(1, 7))
def test_the_test_of_dependences_is_exact(a, b, c, d, n):
    """For a size that is fixed, a loop is free where trying all pairs of iterations says so."""
    nest = f"for (int i = 0; i < {n}; i++) x[{a} * i + {b} + 30] = x[{c} * i + {d} + 30];"
    meets = any(a * i + b in (c * k + d, a * k + b) for i in range(n) for k in range(n) if i != k)
    assert grids(nest) == ([] if meets else ["i"])
