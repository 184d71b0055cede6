"""Tokens by C++17, [lex.phases] and [lex.pptoken]."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelcast.frontends.source.tokens import TokenKind, blanked, tokens, without_splices

SKIPPED = {TokenKind.SPACE, TokenKind.NEWLINE, TokenKind.COMMENT}
PIECES = st.sampled_from(
    [
        *(
            "a",
            "x1",
            "0x1p-3",
            "1'000",
            " ",
            "\n",
            "\r\n",
            "\\\n",
            "\\",
            '"',
            "'",
            "//",
            "/*",
            "*/",
        ),
        *("<<<", ">>>", "::", "#", "##", 'R"(', 'R"x(', ')"', ')x"', "(", ")", "é", "\t", "..."),
    ]
)
TEXTS = st.one_of(st.text(max_size=80), st.lists(PIECES, max_size=40).map("".join))


def words(text: str) -> list[str]:
    return [token.text for token in tokens(text) if token.kind not in SKIPPED]


@given(TEXTS)
def test_joined_tokens_are_the_text(text: str) -> None:
    found = list(tokens(text))
    assert "".join(token.text for token in found) == text
    assert all(text[token.at : token.end] == token.text for token in found)


@given(TEXTS)
def test_blanks_keep_every_line(text: str) -> None:
    assert [len(line) for line in blanked(text).split("\n")] == [
        len(line) for line in text.split("\n")
    ]
    assert not blanked(text).strip()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("k<<<g, b>>>(x);", ["k", "<<<", "g", ",", "b", ">", ">", ">", "(", "x", ")", ";"]),
        ("a<b<c>>d", ["a", "<", "b", "<", "c", ">", ">", "d"]),
        ("x // y \\\n z\nw", ["x", "w"]),
        ("x /* y\n // */ z", ["x", "z"]),
        ("/* never closed", []),
        ('"a // b" c', ['"a // b"', "c"]),
        (r'"a\"b" c', [r'"a\"b"', "c"]),
        ("'\\'' c", ["'\\''", "c"]),
        ('R"x(a)" b)x" c', ['R"x(a)" b)x"', "c"]),
        ('u8R"(\n)" c', ['u8R"(\n)"', "c"]),
        ('"never closed\nb', ['"never closed', "b"]),
        ("1'000 0x1p-3f 1e+5 .5f 3..x", ["1'000", "0x1p-3f", "1e+5", ".5f", "3..x"]),
        (
            "a->b a->*b a<<=1 a##b",
            ["a", "->", "b", "a", "->*", "b", "a", "<<=", "1", "a", "##", "b"],
        ),
        ("#include <vector>", ["#", "include", "<", "vector", ">"]),
    ],
)
def test_known_texts(text: str, expected: list[str]) -> None:
    assert words(text) == expected


def test_a_word_goes_on_behind_a_backslash_at_the_end_of_its_line() -> None:
    (word,) = words("in\\\nt")
    assert without_splices(word) == "int"
