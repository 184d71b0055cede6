"""Where a source launches kernels: `kernel<<<grid, block>>>(...)` and calls of the library."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kernelcast.frontends.source.brackets import first_outside, matching, split_words
from kernelcast.frontends.source.tokens import TokenKind
from kernelcast.frontends.source.words import Lexeme, Lexemes

_CALLS = frozenset({"cudaLaunchKernel", "cudaLaunchCooperativeKernel"})
_ENDS_SHAPE = frozenset(">;})")


@dataclass(frozen=True, slots=True)
class LaunchSite:
    """A launch as written, `at` the word that starts it.

    `kernel` holds the kernel's name and `template` the words between `<` and `>` behind it.
    `arguments` is None where they stand elsewhere, in the array of words `packed`.
    """

    at: int
    kernel: str
    template: Lexemes
    grid: Lexemes
    block: Lexemes
    smem: Lexemes
    arguments: tuple[Lexemes, ...] | None
    packed: Lexemes = ()


def launch_sites(words: Sequence[Lexeme]) -> Iterator[LaunchSite]:
    """All launches of a source, in order."""
    for at, word in enumerate(words):
        if word.text == "<<<":
            site = _chevrons(words, at, at + 1)
        elif word.text == "<<" and at + 1 < len(words) and words[at + 1].text == "<":
            # As formatters write it that know no CUDA: `k << <1, 32 >> > (x)`.
            site = _chevrons(words, at, at + 2)
        elif word.text in _CALLS and at + 1 < len(words) and words[at + 1].text == "(":
            site = _call(words, at)
        else:
            continue
        if site is not None:
            yield site


def called_kernel(words: Sequence[Lexeme]) -> tuple[str, Lexemes] | None:
    """The name and template arguments of a kernel that is written alone, as in `(void*)k<8>`."""
    end = len(words)
    while end > 1 and words[end - 1].text == ")":
        end -= 1
    return _callee(words, end - 1) if end else None


def _chevrons(words: Sequence[Lexeme], at: int, begin: int) -> LaunchSite | None:
    """The launch whose kernel ends before a word, and whose shape begins at another."""
    closing = _closing(words, begin)
    callee = called_kernel(words[max(0, at - 200) : at])
    if closing < 0 or callee is None:
        return None
    parts = split_words(words[begin:closing])
    opening = closing + 3
    if len(parts) < 2 or opening >= len(words) or words[opening].text != "(":
        return None
    end = matching(words, opening)
    smem = parts[2] if len(parts) > 2 else ()
    arguments = tuple(split_words(words[opening + 1 : end])) if end >= 0 else ()
    return LaunchSite(at, *callee, parts[0], parts[1], smem, arguments)


def _closing(words: Sequence[Lexeme], begin: int) -> int:
    """The first `>` of the `>>>` that ends the shape that begins at a word; -1 without one."""
    at = begin
    while (at := first_outside(words, at, _ENDS_SHAPE)) < len(words) and words[at].text == ">":
        if [word.text for word in words[at : at + 3]] == [">"] * 3:
            return at
        at += 1
    return -1


def _callee(words: Sequence[Lexeme], at: int) -> tuple[str, Lexemes] | None:
    """The name that ends at a word, and its template arguments."""
    template: Lexemes = ()
    if words[at].text == ">":
        opening = _opening(words, at)
        if opening < 1:
            return None
        template = tuple(words[opening + 1 : at])
        at = opening - 1
    parts: list[str] = []
    while at >= 0:
        wanted = TokenKind.NAME if not parts or parts[-1] == "::" else TokenKind.SYMBOL
        word = words[at]
        if word.kind is not wanted or (wanted is TokenKind.SYMBOL and word.text != "::"):
            break
        parts.append(word.text)
        at -= 1
    name = "".join(reversed(parts)).removeprefix("::")
    return (name, template) if name else None


def _opening(words: Sequence[Lexeme], closing: int) -> int:
    """The `<` that opens the template arguments closed at a `>`; -1 without one."""
    depth = brackets = 0
    for at in range(closing, -1, -1):
        text = words[at].text
        brackets += (text == ")") - (text == "(")
        if brackets:
            continue
        depth += (text == ">") - (text == "<")
        if depth == 0:
            return at
        if text in (";", "{", "}"):
            return -1
    return -1


def _call(words: Sequence[Lexeme], at: int) -> LaunchSite | None:
    """`cudaLaunchKernel(kernel, grid, block, arguments, smem, stream)`."""
    end = matching(words, at + 1)
    parts = split_words(words[at + 2 : end]) if end >= 0 else []
    callee = called_kernel(parts[0]) if len(parts) >= 4 and parts[0] else None
    if callee is None:
        return None
    smem = parts[4] if len(parts) > 4 else ()
    return LaunchSite(at, *callee, parts[1], parts[2], smem, None, parts[3])
