"""Macros, conditions and includes, by C++17, [cpp]."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.frontends.source.reading import folder_view, spelled, view_of

from kernelcast.errors import InputError
from kernelcast.frontends.source import macros


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("#define N 3\nN + N", "3 + 3"),
        ("#define F(x, y) x * y\nF(1, (2, 3)) F", "1 * (2, 3) F"),
        ("#define F(x) #x\nF(a  +  b)", '"a + b"'),
        ("#define F(x, y) x##y\nF(a, 1) F(, b)", "a1 b"),
        ("#define F(...) g(__VA_ARGS__)\nF(1, 2) F()", "g ( 1 , 2 ) g ( )"),
        ("#define F(f, ...) f(__VA_ARGS__)\nF(h, 1, 2)", "h ( 1 , 2 )"),
        ("#define F(xs...) g(xs)\nF(1, 2)", "g ( 1 , 2 )"),
        ("#define f(a) a*g\n#define g(a) f(a)\nf(2)(9)", "2 * 9 * g"),
        ("#define A B\n#define B A\nA", "A"),
        ("#define x (x)\nx", "( x )"),
        ("#define F (1)\nF", "( 1 )"),
        ("#define N 1\n#undef N\nN", "N"),
        ("#define K __global__ \\\n  void\nK k();", "__global__ void k ( ) ;"),
        ("#define K(n) void n##_kernel\nK(add)() {}", "void add_kernel ( ) { }"),
    ],
)
def test_what_macros_make(text: str, expected: str) -> None:
    """[cpp.rescan] has the one of `f(2)(9)`: whether its last `g` is a call is left open."""
    expected = expected.replace("(2, 3)", "( 2 , 3 )")
    assert spelled(view_of(text)) == expected


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("1", True),
        ("0x10 == 16 && !0", True),
        ("defined(N) && N >= 700", True),
        ("defined M", False),
        ("M", False),
        ("M(3)", False),
        ("(1 << 3) + 2 * 4 == 16", True),
        ("-1 < 0 ? 1 : 0", True),
        ("1 / 0", False),
        ("'a' == 97", True),
        ("__has_include(<cuda_fp16.h>)", True),
        ('__has_include("none.h")', False),
        ("0 || 1 >= 2", False),
        ("1'000L > 999ul", True),
    ],
)
def test_conditions(condition: str, holds: bool) -> None:
    text = f"#if {condition}\nyes\n#else\nno\n#endif"
    view = view_of(text, "N=900", known={"cuda_fp16.h": ""})
    assert spelled(view) == ("yes" if holds else "no")


def test_one_branch_is_read() -> None:
    text = "#ifdef A\na\n#elif defined(B)\nb\n#elif 1\nc\n#else\nd\n#endif\n#ifndef A\n1\n#endif"
    assert spelled(view_of(text)) == "c 1"
    assert spelled(view_of(text, "B")) == "b 1"
    assert spelled(view_of(text, "A", "B")) == "a"
    nested = "#if 0\n#if 1\na\n#else\nb\n#endif\n#else\nc\n#endif"
    assert spelled(view_of(nested)) == "c"


def test_words_know_their_lines() -> None:
    view = view_of("#define K \\\n  int\n\n/* a\n*/ K x;\n#if 0\n#endif\ny")
    assert [(w.text, view.line(w)) for w in view.words] == [
        ("int", 5),
        ("x", 5),
        (";", 5),
        ("y", 8),
    ]


def test_files_are_read_where_they_are_included(tmp_path: Path) -> None:
    (tmp_path / "app.cu").write_text('#define T int\n#include "a.h"\n#include "a.h"\nT x;\n')
    (tmp_path / "a.h").write_text('#pragma once\n#include "b.h"\nT a;\n#include <none>\n')
    (tmp_path / "b.h").write_text("#ifndef B\n#define B\nT b;\n#undef T\n#define T long\n#endif\n")
    view = folder_view(tmp_path / "app.cu")
    assert spelled(view) == "int b ; long a ; long x ;"
    assert [Path(file.path).name for file in view.files] == ["app.cu", "a.h", "b.h"]
    assert [(each.header, each.target) for each in view.includes] == [
        ("a.h", 1),
        ("b.h", 2),
        ("none", None),
        ("a.h", 1),
    ]


def test_a_circle_of_files_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "app.cu").write_text('#include "app.cu"\n')
    with pytest.raises(InputError, match="without end"):
        folder_view(tmp_path / "app.cu")


def test_macros_that_grow_without_end_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(macros, "_MAX_WORDS", 10_000)
    lines = ["#define A0 x x x x x x x x x x"]
    lines += [f"#define A{n} {' '.join([f'A{n - 1}'] * 10)}" for n in range(1, 9)]
    with pytest.raises(InputError, match="too much"):
        view_of("\n".join([*lines, "A8"]))


@given(st.text("#define fx(),.\\\n \"'ab/*<>0if|", max_size=120))
def test_any_text_has_a_view(text: str) -> None:
    try:
        view = view_of(text)
    except InputError:
        return
    assert all(0 <= word.begin < word.end <= len(text) for word in view.words)
