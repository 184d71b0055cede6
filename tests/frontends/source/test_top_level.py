"""What a source declares."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.frontends.source.reading import view_of

from kernelcast.frontends.source.top_level import (
    DeclarationKind,
    SourceDeclaration,
    read_declarations,
    walk,
)

F, T, V, A = (
    DeclarationKind.FUNCTION,
    DeclarationKind.TYPE,
    DeclarationKind.VARIABLE,
    DeclarationKind.ALIAS,
)


def declared(text: str) -> tuple[SourceDeclaration, ...]:
    return read_declarations(view_of(text).words)


@pytest.mark.parametrize(
    ("text", "kind", "names"),
    [
        ("int f(int a, char* b) { return a; }", F, ("f",)),
        ("template <class T, int N = (3 > 2)> T f(T a) {}", F, ("f",)),
        ("__global__ void __launch_bounds__(256, 2) k(int n);", F, ("k",)),
        ("template <> __device__ int f<float>(float x) { return 1; }", F, ("f",)),
        ("A::A(int x) : a(x), b{x}, c({1}) { g(); }", F, ("A",)),
        ("std::vector<int> f(std::map<int, int> m = {}) {}", F, ("f",)),
        ("bool operator<(A a, A b) { return 1; }", F, ("operator<",)),
        ("float A::operator()(int i) const { return 1; }", F, ("operator()",)),
        ("auto f(int a) -> decltype(a) { return a; }", F, ("f",)),
        ("struct A { int x; };", T, ("A",)),
        ("struct __align__(16) A : B<int>, C { int x; } a, b;", T, ("A", "a", "b")),
        ("enum class E : int { A, B = 2, C };", T, ("E", "A", "B", "C")),
        ("class A;", T, ("A",)),
        ("const int n = 3, m[2] = {1, 2};", V, ("n", "m")),
        ("__constant__ float table[256];", V, ("table",)),
        ("struct A a = {1};", V, ("a",)),
        ("int x{3};", V, ("x",)),
        ("std::vector<int> v;", V, ("v",)),
        ("void (*hook)(int) = nullptr;", V, ("hook",)),
        ("static float f[] = { g(1), 2 };", V, ("f",)),
        ("typedef unsigned long ulong;", A, ("ulong",)),
        ("typedef struct { int x; } P;", A, ("P",)),
        ("typedef struct Q { int x; } P;", A, ("P", "Q")),
        ("typedef void (*handler)(int);", A, ("handler",)),
        ("typedef float row[N];", A, ("row",)),
        ("using T = A<int>;", A, ("T",)),
        ("using std::vector;", A, ("vector",)),
        ("namespace cg = cooperative_groups;", A, ("cg",)),
        ("using namespace a::b;", DeclarationKind.USING_NAMESPACE, ("a::b",)),
        ("template __global__ void k<3>(int*);", DeclarationKind.INSTANCE, ()),
    ],
)
def test_a_declaration(text: str, kind: DeclarationKind, names: tuple[str, ...]) -> None:
    following = "int following;"
    found = declared(f"{text} {following}")
    assert (found[0].kind, found[-1].names) == (kind, ("following",))
    assert len(found) == 2
    if names:
        assert set(names) <= set(found[0].names)


def test_marks_are_those_of_the_head() -> None:
    (kernel,) = declared('extern "C" __global__ void k() { static const int x = 1; }')
    assert kernel.marks == {"extern", "__global__"}
    assert kernel.is_kernel
    assert kernel.is_device
    (host,) = declared("int main() { auto f = [] __device__ (int i) { return i; }; }")
    assert not host.is_device


def test_what_stands_in_namespaces_and_classes_has_a_scope() -> None:
    text = """
    namespace a { inline namespace b { struct S { __device__ int f() { return 1; } int x; }; } }
    extern "C" { __global__ void k() {} }
    namespace { int y; }
    """
    found = {each.name: each.kind for each in walk(declared(text)) if each.names}
    assert found["a::b::S"] is T
    assert found["a::b::S::f"] is F
    assert found["a::b::S::x"] is V
    assert found["k"] is F
    assert found["y"] is V


def test_what_is_never_closed_ends_with_the_file() -> None:
    assert [each.names for each in declared("int f() { {")] == [("f",)]
    assert declared("__global__ void k(")[0].names == ("k",)
    assert declared("} } ;") == ()


@given(st.text("(){}[]<>;:,=ab *&template\n", max_size=100))
def test_any_words_are_declarations_one_after_another(text: str) -> None:
    words = view_of(text).words
    at = 0
    for each in read_declarations(words):
        assert at <= each.begin < each.end <= len(words)
        at = each.end
