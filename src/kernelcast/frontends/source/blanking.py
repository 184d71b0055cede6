"""A source without its host code: every line where it was, what is left out blank."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from kernelcast.frontends.source.device_code import DeviceCode
from kernelcast.frontends.source.preprocess import SourceView
from kernelcast.frontends.source.tokens import blanked
from kernelcast.frontends.source.top_level import SourceDeclaration
from kernelcast.frontends.source.words import Directive

_DROPPED = frozenset({"include", "include_next", "pragma", "error", "warning", "line"})
"""Directives that go with the code around them; all others hold for the code below, too."""

_MARKS = ("__device__", "__global__", "__constant__")


@dataclass(frozen=True, slots=True)
class Range:
    """Characters of a file, and what takes their place; None for blanks."""

    file: int
    begin: int
    end: int
    text: str | None = None


def host_ranges(view: SourceView, code: DeviceCode) -> tuple[Range, ...]:
    """Where host code stands.

    What begins or ends within a macro that makes other code too stays, as does what another
    inclusion of the same file needs.
    """
    needed = {_key(view, each.begin, each.end) for each in code.kept}
    found = dict.fromkeys(
        key
        for begin, end in _joined(view, code.left_out)
        if (key := _key(view, begin, end)) is not None and key not in needed
    )
    ranges = [Range(*key) for key in found]
    for function in code.bodies:
        assert function.body is not None
        first, last = view.words[function.body[0] - 1], view.words[function.body[1]]
        if first.file == last.file and first.begin < last.begin:
            ranges.append(Range(first.file, first.begin, last.end, ";"))
    return tuple(ranges)


def skipped_ranges(view: SourceView, code: DeviceCode) -> Iterator[Range]:
    """Host code in branches that are not read: a compiler whose own headers define other macros
    may read them."""
    words = view.words
    kept = [(words[each.begin], words[each.end - 1]) for each in code.kept]
    for number, file in enumerate(view.files):
        within = [(f.begin, last.end) for f, last in kept if f.file == last.file == number]
        for begin, end in file.skipped:
            is_outside = not any(first < end and begin < last for first, last in within)
            if is_outside and not any(mark in file.text[begin:end] for mark in _MARKS):
                yield Range(number, begin, end)


def _joined(view: SourceView, left_out: Sequence[SourceDeclaration]) -> Iterator[tuple[int, int]]:
    """Ranges of words, those joined that one call of a macro makes."""
    words = view.words
    begin = end = -1
    for each in sorted(left_out, key=lambda d: d.begin):
        while 0 <= end < each.begin and words[end].text == ";":
            end += 1
        is_one = 0 < end == each.begin and words[end].begin == words[end - 1].begin
        if not is_one:
            if begin >= 0:
                yield begin, end
            begin = each.begin
        end = max(end, each.end)
    if begin >= 0:
        yield begin, end


def _key(view: SourceView, begin: int, end: int) -> tuple[int, int, int] | None:
    """File and characters of a range of words; None where it cannot be left out alone."""
    words = view.words
    first, last = words[begin], words[end - 1]
    before = words[begin - 1 : begin]
    after = words[end : end + 1]
    if first.file != last.file or last.end <= first.begin:
        return None
    if any(word[2:4] == first[2:4] for word in before):
        return None
    if any(word[2:4] == last[2:4] for word in after):
        return None
    return first.file, first.begin, last.end


def without_ranges(view: SourceView, ranges: Sequence[Range]) -> Mapping[int, str]:
    """The text of every file with ranges replaced, directives in them kept."""
    by_file: dict[int, list[Range]] = {number: [] for number in range(len(view.files))}
    for each in ranges:
        by_file[each.file].append(each)
    return {
        number: _replaced(view.files[number].text, _flat(found), view.files[number].directives)
        for number, found in by_file.items()
    }


def _flat(ranges: list[Range]) -> Iterator[Range]:
    """Ranges in order, without those that lie in others."""
    end = -1
    for each in sorted(ranges, key=lambda r: (r.begin, -r.end)):
        if each.begin >= end:
            yield each
            end = each.end


def _replaced(text: str, ranges: Iterator[Range], directives: Sequence[Directive]) -> str:
    parts: list[str] = []
    starts = [directive.begin for directive in directives]
    at = 0
    for each in ranges:
        parts.append(text[at : each.begin])
        at = each.end
        if each.text is not None:
            rest = blanked(text[each.begin : each.end])[len(each.text) :]
            parts += [each.text, rest]
            continue
        inside = directives[bisect_left(starts, each.begin) : bisect_left(starts, each.end)]
        parts += _blank(text, each, inside)
    parts.append(text[at:])
    return "".join(parts)


def _blank(text: str, each: Range, directives: Sequence[Directive]) -> Iterator[str]:
    at = each.begin
    for directive in directives:
        if directive.name in _DROPPED:
            continue
        yield blanked(text[at : directive.begin])
        yield text[directive.begin : directive.end]
        at = max(at, directive.end)
    yield blanked(text[at : each.end])
