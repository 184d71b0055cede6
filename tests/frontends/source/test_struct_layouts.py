"""How structs lie in memory: as the compiler says."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from tests.frontends.source.reading import view_of
from tests.kept import CACHE

import kernelcast as kc
from kernelcast.frontends.source.folding import SIZES
from kernelcast.frontends.source.struct_layouts import SourceTypes
from kernelcast.frontends.source.top_level import read_declarations
from kernelcast.ir import PointerType, ScalarType, SequenceType, StructType, ValueType
from kernelcast.isas.ptx.module import read_module
from kernelcast.toolchain.nvrtc import compile_cuda

SOURCE = """\
#define SIZE 5
constexpr int N = 2 * SIZE;
enum class Small : unsigned char { A, B };
enum { FIRST = 3, SECOND };
typedef float real;
using Index = unsigned long long;
typedef struct { char c; real r; } Named;
struct Plain { char a; short b; int c; char d; double e; };
struct Arrays { float x[N][3]; unsigned char* p[SECOND], tag; int (*f)(int); };
struct Vectors { float3 a; float4 b; char1 c; uchar4 d; double2 e; short2 f; longlong2 g; dim3 h; };
struct Bounded { float a[(1 << 3)], b[2 * SIZE]; int c[(SIZE) > 4 ? 3 : 2], *d[(2)]; };
struct Empty {};
struct Derived : public Plain, private Empty { char z; };
struct alignas(32) Wide { int a; __align__(8) char b; alignas(16) float c; };
struct Inner {
  struct Point { short x, y; } p, q[2];
  union { double d; int i[3]; };
  Small s; Named n;
};
struct Members { static const int C; int a; Members* next; const Index i; __device__ int f(); };
template <typename T, int M = 4> struct Tile { T data[M]; T* p; };
template <class T> struct Pair { T first; Tile<T, 3> second; };
struct Uses { Tile<double> a; Pair<char> b; Tile<Tile<short, 2>, 3> c; bool flag; };
namespace a { namespace b { struct Deep { int x; long y; }; } }
struct Scoped { a::b::Deep d; ::Plain p; };
"""
NAMES = (
    *(
        "Plain",
        "Arrays",
        "Bounded",
        "Vectors",
        "Derived",
        "Wide",
        "Inner",
        "Members",
        "Uses",
        "Scoped",
    ),
    *("Named", "Tile<float, 7>", "Pair<double>", "a::b::Deep"),
)


def offsets(type_: ValueType, name: str, start: int = 0) -> Iterator[tuple[str, int]]:
    """Every field with its place, in the words of C++."""
    if isinstance(type_, StructType):
        for field in type_.fields:
            inner = f"{name}.{field.name}".removesuffix(".")
            if field.name:
                yield inner, start + field.offset_bytes
            yield from offsets(field.type, inner, start + field.offset_bytes)
    elif isinstance(type_, SequenceType):
        yield f"{name}[{type_.length - 1}]", start + type_.size_bytes - type_.of.size_bytes


def test_places_and_sizes_are_the_compilers():
    view = view_of(SOURCE)
    types = SourceTypes(view.words, read_declarations(view.words))
    own: dict[str, int] = {}
    lines = []
    for at, name in enumerate(NAMES):
        found = types.type_of(name)
        assert isinstance(found, StructType), name
        asked = {f"sizeof({name})": found.size_bytes, f"alignof({name})": found.align_bytes}
        for path, place in offsets(found, ""):
            asked[f"__builtin_offsetof(T{at}, {path[1:]})"] = place
        lines.append(f"using T{at} = {name};\n")
        lines += [
            f"__constant__ unsigned long long v{len(own) + k} = {e};\n" for k, e in enumerate(asked)
        ]
        own |= {f"{name}: {expression}": value for expression, value in asked.items()}
    text = SOURCE + "".join(lines) + "__global__ void k() {}\n"
    compiled = compile_cuda(text, name="layouts.cu", architecture="sm_90", cache=CACHE)
    held = read_module(compiled.ptx, "layouts").variables
    for at, (told, value) in enumerate(own.items()):
        variable = held[f"v{at}"]
        assert int.from_bytes(variable.initial or b"", "little") == value, told
    assert len(own) > 80


@pytest.mark.parametrize(
    "source",
    [
        "struct S { int a : 3; int b : 5; };",
        "struct S { virtual void f(); int a; };",
        "struct B {}; struct S : virtual B { int a; };",
        "struct S { Unknown u; };",
        "struct S { int a[COUNT]; };",
        "struct S;",
        "struct S { S s; };",
    ],
)
def test_what_is_not_said_is_not_guessed(source):
    view = view_of(source)
    assert SourceTypes(view.words, read_declarations(view.words)).type_of("S") is None


def test_pointers_lead_to_what_is_known():
    view = view_of("struct Node { Node* next; float* p; Unknown* u; void* v; };")
    found = SourceTypes(view.words, read_declarations(view.words)).type_of("const Node*")
    assert isinstance(found, PointerType)
    assert isinstance(found.to, StructType)
    kinds = {f.name: f.type for f in found.to.fields}
    assert kinds == {
        "next": PointerType(),
        "p": PointerType(ScalarType("f32")),
        "u": PointerType(),
        "v": PointerType(),
    }
    assert re.fullmatch(r"Node\*", str(found))


def test_sizes_of_types_that_are_not_defined_are_the_compilers():
    lacking = {"uchar", "ushort", "uint", "ulong", "half", "nv_bfloat16", "clock_t", "bool"}
    asserted = "".join(
        f"static_assert(sizeof({name}) == {size});\n"
        for name, size in SIZES.items()
        if name not in lacking
    )
    headers = "".join(
        f"#include <{h}>\n" for h in ("cuda_fp16.h", "cuda_bf16.h", "curand_kernel.h")
    )
    kc.load_source(f"{headers}{asserted}__global__ void k() {{}}\n", gpu="h100-sxm")
