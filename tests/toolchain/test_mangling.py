from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelcast.toolchain.mangling import base_name, name_matcher, source_name
from kernelcast.toolchain.nvrtc import compile_cuda


@pytest.mark.parametrize(
    ("mangled", "name"),
    [
        ("saxpy", "saxpy"),
        ("_Z5saxpyifPKfPf", "saxpy"),
        ("_Z5tiledILi16EEviPKfS1_Pf", "tiled<16>"),
        ("_ZN3lib5innerE", "lib::inner"),
        ("_ZN3lib5tiledIfLi4EEEvPT_", "lib::tiled<float, 4>"),
        ("_Z1kIfLin4ELb1EEvPT_", "k<float, -4, true>"),
        ("_Z1kIPKfEvT_", "k<float const*>"),
        ("_Z1kIN3lib3VecIdEEEvT_", "k<lib::Vec<double>>"),
        ("_Z1kILj8ELm9EEvv", "k<8u, 9ul>"),
        ("_ZN36_GLOBAL__N__00000000_4_k_cu_6b44dfc24anonEPi", "anon"),
        ("_ZL6hiddenPi", "hidden"),
        ("_Z1k14CUtensorMap_stS_", "k"),
        (
            "_ZN8__main__5saxpyB2v1B106cw51cXTLSUwv1sDUaKthqaNgoKmjgMVuW1AiA8rAEg2UjxRKtuAIAMYDWpKAqkSkPi"
            "QB1BQFk0DyoW21Oizc1a0UoPGnDpQE8oxrNQE_3dEf5ArrayIfLi1E1C7mutable7alignedE",
            "__main__::saxpy",
        ),
        (
            "_ZN2at6native29vectorized_elementwise_kernelILi4EZNS0_8launcherEvEUlfE_EEvT0_",
            "at::native::vectorized_elementwise_kernel"
            "<4, at::native::launcher()::{lambda(float)#1}>",
        ),
        ("_Z1kIXadL_Z1fiEEEvi", "k<&(f(int))>"),
    ],
)
def test_names_as_the_source_has_them(mangled: str, name: str) -> None:
    assert source_name(mangled) == name


@pytest.mark.parametrize("mangled", ["_Z", "_Z9", "_Z99k", "_Z1kILi", "_ZN1kI", "_ZN0"])
def test_what_is_not_understood_stays_mangled(mangled: str) -> None:
    assert source_name(mangled) == mangled


def test_names_that_no_compiler_makes_are_left_alone() -> None:
    deep = "_Z1kI" + "P" * 100_000 + "iEvv"
    assert source_name(deep) == deep


@given(st.text("ZNIELPKfij019k_", max_size=30))
def test_any_text_has_a_name(text: str) -> None:
    assert source_name("_Z" + text)


def test_the_compiler_understands_the_names_we_read() -> None:
    """Asked for a kernel by the name read from its mangled one, NVRTC gives the same one back."""
    source = """
    template <typename T> struct Vec { T x; };
    namespace lib {
    template <typename T, int N, bool B> __global__ void many(T* x) { *x = T(); }
    __global__ void plain(int* x) { *x = 1; }
    }"""
    wanted = ["lib::many<float, -3, true>", "lib::many<Vec<unsigned int>, 7, false>", "lib::plain"]
    lowered = compile_cuda(
        source, name="k.cu", architecture="sm_90", name_expressions=wanted
    ).lowered_names
    assert [source_name(mangled) for mangled in lowered.values()] == wanted


@pytest.mark.parametrize(
    ("pattern", "name", "fits"),
    [
        ("", "a::b<3>", True),
        ("b<", "a::b<3>", True),
        ("c", "a::b<3>", False),
        ("a::*", "a::b<3>", True),
        ("a::?", "a::b<3>", False),
        ("*[3]*", "a::b<int [3]>", True),
        ("*.*", "a::b", False),
        ("*<float*>", "k<float*>", True),
    ],
)
def test_patterns(pattern: str, name: str, fits: bool) -> None:
    assert name_matcher(pattern)(name) is fits


@pytest.mark.parametrize(
    ("name", "base"),
    [("k", "k"), ("a::b::k", "k"), ("a::k<b::c>", "k"), ("k<x::y, 3> ", "k"), ("", "")],
)
def test_base_names(name: str, base: str) -> None:
    assert base_name(name) == base
