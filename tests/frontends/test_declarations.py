from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelcast.frontends.declarations import (
    DeclaredParameter,
    declared_kernels,
    label_kernel,
    split_list,
)
from kernelcast.ir import Kernel, Parameter


def parameters(source: str) -> list[tuple[str, str, bool]]:
    (kernel,) = declared_kernels(source)
    return [(p.name, p.type, p.is_pointer) for p in kernel.parameters]


@pytest.mark.parametrize(
    ("declaration", "expected"),
    [
        ("int n", ("n", "int", False)),
        ("const float* __restrict__ x", ("x", "float", True)),
        ("float const *x", ("x", "float", True)),
        ("unsigned long long int count", ("count", "unsigned long long int", False)),
        ("double x[]", ("x", "double", True)),
        ("float a[16][16]", ("a", "float", True)),
        ("const T* __restrict x", ("x", "T", True)),
        ("struct Vec<float, 3> v", ("v", "Vec<float, 3>", False)),
        ("Vec<float*> v", ("v", "Vec<float*>", False)),
        ("std::size_t n", ("n", "std::size_t", False)),
        ("const __grid_constant__ Params p", ("p", "Params", False)),
        ("int n = 3", ("n", "int", False)),
    ],
)
def test_a_parameter_as_it_is_written(declaration: str, expected: tuple[str, str, bool]) -> None:
    assert parameters(f"__global__ void k({declaration}) {{}}") == [expected]


@pytest.mark.parametrize(
    "head",
    [
        'extern "C" __global__ void k',
        "__global__ void __launch_bounds__(256, 2) k",
        "__global__ __launch_bounds__(128 * (2 + 1)) void k",
        "template <typename T, int N>\n__global__ void k",
        "static __global__ void\nk",
        "__global__ void k<float>",
    ],
)
def test_a_kernel_under_any_head(head: str) -> None:
    (kernel,) = declared_kernels(f"{head}(int n, float* x)\n{{ if (n) x[0] = 1; }}")
    assert kernel.name == "k"
    assert [p.name for p in kernel.parameters] == ["n", "x"]


def test_what_defines_no_kernel_is_left_out() -> None:
    assert declared_kernels("__global__ void k(int n);") == ()
    assert declared_kernels("template __global__ void k<3>(int*);") == ()
    assert declared_kernels("// __global__ void k(int n) {}") == ()
    assert declared_kernels("/* __global__ void k(int n) {} */") == ()
    assert declared_kernels('const char* s = "__global__ void k(int n) {}";') == ()
    assert declared_kernels("__global__ void k(") == ()
    assert declared_kernels("__global__ void __launch_bounds__(3") == ()


def test_kernels_keep_their_lines_and_order() -> None:
    source = "// a\n__global__ void a() {}\n/* b\n*/ __global__ void b() {}\n"
    assert [(k.name, k.line) for k in declared_kernels(source)] == [("a", 2), ("b", 4)]


def kernel(label: str, *types: str) -> Kernel:
    found = tuple(Parameter(f"p{i}", t, 8, 8 * i) for i, t in enumerate(types))
    return Kernel("k", "ptx", "sm_90", found, (), (), label=label)


def test_labels_and_element_types_reach_the_kernel() -> None:
    source = """template <typename T, int N>
    __global__ void k(int n, const T* x, float4* wide, unsigned char* bytes) {}"""
    labelled = label_kernel(
        kernel("ns::k<double, 4>", "u32", "u64", "u64", "u64"), declared_kernels(source)
    )
    assert [(p.label, p.is_pointer, p.pointee) for p in labelled.parameters] == [
        ("n", False, ""),
        ("x", True, "f64"),
        ("wide", True, ""),
        ("bytes", True, "u8"),
    ]


def test_a_declaration_that_does_not_fit_labels_nothing() -> None:
    plain = kernel("k", "u32")
    assert label_kernel(plain, declared_kernels("__global__ void k(int n, int m) {}")) == plain
    assert label_kernel(plain, declared_kernels("__global__ void other(int n) {}")) == plain
    overloaded = "__global__ void k(int n) {} __global__ void k(float x) {}"
    assert label_kernel(plain, declared_kernels(overloaded)) == plain


@given(st.text("_global vidk(){}<>,;*/\"'\n\\int template", max_size=120))
def test_any_source_can_be_scanned(text: str) -> None:
    source = f"__global__ void {text}"
    for found in declared_kernels(source):
        assert all(isinstance(p, DeclaredParameter) for p in found.parameters)


def test_lists_are_split_outside_brackets() -> None:
    assert split_list("A<1, 2>, b[3, 4], (c, d)") == ["A<1, 2>", "b[3, 4]", "(c, d)"]
    assert split_list("  ") == []
