"""A source and what it includes as the compiler's preprocessor would see them.

Directives are followed, macros replaced; headers of NVIDIA and of the C++ library are not read.
Every word keeps the place it comes from, so that what is decided about words can be done to texts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kernelcast.errors import InputError
from kernelcast.frontends.source.conditions import holds
from kernelcast.frontends.source.macros import Macro, expand, read_macro
from kernelcast.frontends.source.tokens import TokenKind
from kernelcast.frontends.source.words import Directive, Lexeme, read_words

_MAX_WORDS = 5_000_000
_MAX_DEPTH = 100
"""Files that include each other: more are taken for a circle."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file of the view, its path as the compiler is told, its words before any macro, and its
    lines that are directives. `skipped` are the characters between two directives that no
    inclusion of it reads."""

    path: str
    text: str
    words: tuple[Lexeme, ...]
    directives: tuple[Directive, ...]
    skipped: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Include:
    """An `#include` that was reached; `target` numbers the file it leads to, None where that is
    not read."""

    file: int
    begin: int
    end: int
    header: str
    is_quoted: bool
    target: int | None


@dataclass(frozen=True)
class SourceView:
    """All words that the compiler sees, in order, and the files they come from; the first is the
    source itself."""

    files: tuple[SourceFile, ...]
    words: tuple[Lexeme, ...]
    includes: tuple[Include, ...]
    macros: Mapping[str, Macro]

    def line(self, word: Lexeme) -> int:
        """The line a word stands in, in its file, from 1."""
        return self.files[word.file].text.count("\n", 0, word.begin) + 1

    def place(self, word: Lexeme) -> str:
        """`file:line` of a word."""
        return f"{self.files[word.file].path}:{self.line(word)}"


Find = Callable[[str, bool, Path], Path | None]
"""The file that a header's name leads to, from a folder, if it is one to be read."""


def source_view(
    text: str,
    path: str,
    *,
    find: Find,
    has_header: Callable[[str], bool],
    macros: Mapping[str, Macro],
) -> SourceView:
    """The view of a source; `macros` are those that the compiler defines.

    InputError where files or macros have no end.
    """
    reader = _Preprocessor(find, has_header, dict(macros))
    reader.follow(reader.opened(path, text), 0)
    files = tuple(_file(path, read) for path, read in reader.files.items())
    return SourceView(files, tuple(reader.words), tuple(reader.includes), reader.macros)


@dataclass(slots=True)
class _OpenedFile:
    number: int
    text: str
    items: list[Lexeme | Directive]
    skipped: dict[int, int] = field(default_factory=dict)
    read: set[int] = field(default_factory=set)


def _file(path: str, read: _OpenedFile) -> SourceFile:
    words = tuple(item for item in read.items if isinstance(item, Lexeme))
    directives = tuple(item for item in read.items if isinstance(item, Directive))
    skipped = sorted((begin, end) for begin, end in read.skipped.items() if begin not in read.read)
    return SourceFile(path, read.text, words, directives, tuple(skipped))


@dataclass(slots=True)
class _OpenCondition:
    """An open `#if`: whether its present part is read, and whether any part has been."""

    is_read: bool
    was_read: bool
    outer: bool


@dataclass
class _Preprocessor:
    find: Find
    has_header: Callable[[str], bool]
    macros: dict[str, Macro]
    files: dict[str, _OpenedFile] = field(default_factory=dict)
    words: list[Lexeme] = field(default_factory=list)
    includes: list[Include] = field(default_factory=list)
    once: set[str] = field(default_factory=set)

    def opened(self, path: str, text: str) -> str:
        number = len(self.files)
        self.files[path] = _OpenedFile(number, text, read_words(text, number))
        return path

    def follow(self, path: str, depth: int) -> None:
        """Read a file to its end."""
        if depth > _MAX_DEPTH:
            raise InputError("files include each other without end", where=path)
        file = self.files[path]
        branches: list[_OpenCondition] = []
        segment: list[Lexeme] = []
        part = 0
        for item in file.items:
            if isinstance(item, Directive):
                part = item.end
                is_read = not branches or branches[-1].is_read
                if is_read and item.name in ("define", "undef", "include", "include_next"):
                    self._expanded(segment)
                    segment = []
                self._directive(item, path, branches, depth)
            elif not branches or branches[-1].is_read:
                segment.append(item)
                file.read.add(part)
            else:
                file.skipped[part] = item.end
        self._expanded(segment)

    def _expanded(self, segment: list[Lexeme]) -> None:
        """Take words between two directives, their macros replaced."""
        macros = self.macros
        if any(word.text in macros for word in segment if word.kind is TokenKind.NAME):
            segment = expand(segment, macros)
        self.words += segment
        if len(self.words) > _MAX_WORDS:
            raise InputError("the source has more words than are read", hint="give its PTX")

    def _directive(
        self, item: Directive, path: str, branches: list[_OpenCondition], depth: int
    ) -> None:
        is_read = not branches or branches[-1].is_read
        if item.name in ("if", "ifdef", "ifndef"):
            now = is_read and self._holds(item)
            branches.append(_OpenCondition(now, now, is_read))
        elif item.name in ("elif", "elifdef", "elifndef", "else") and branches:
            self._other_branch(item, branches[-1])
        elif item.name == "endif" and branches:
            branches.pop()
        elif is_read:
            self._active(item, path, depth)

    def _other_branch(self, item: Directive, branch: _OpenCondition) -> None:
        may = branch.outer and not branch.was_read
        branch.is_read = may and (item.name == "else" or self._holds(item))
        branch.was_read |= branch.is_read

    def _holds(self, item: Directive) -> bool:
        if item.name in ("if", "elif"):
            return holds(item.words, self.macros, self.has_header)
        known = bool(item.words) and item.words[0].text in self.macros
        return known == (item.name in ("ifdef", "elifdef"))

    def _active(self, item: Directive, path: str, depth: int) -> None:
        if item.name == "define" and (macro := read_macro(item)) is not None:
            self.macros[macro.name] = macro
        elif item.name == "undef" and item.words:
            self.macros.pop(item.words[0].text, None)
        elif item.name == "pragma" and item.words and item.words[0].text == "once":
            self.once.add(path)
        elif item.name in ("include", "include_next"):
            self._include(item, path, depth)

    def _include(self, item: Directive, path: str, depth: int) -> None:
        header, is_quoted = _header(expand(item.words, self.macros))
        found = self.find(header, is_quoted, Path(path).parent) if header else None
        target = None if found is None else self._target(str(found))
        number = None if target is None else self.files[target].number
        file = self.files[path].number
        self.includes.append(Include(file, item.begin, item.end, header, is_quoted, number))
        if target is not None and target not in self.once:
            self.follow(target, depth + 1)

    def _target(self, path: str) -> str | None:
        if path in self.files:
            return path
        try:
            data = Path(path).read_bytes()
        except OSError:
            return None
        return self.opened(path, data.decode("utf-8", "surrogateescape"))


def _header(words: Sequence[Lexeme]) -> tuple[str, bool]:
    """The name of a header, and whether it stands in quotes."""
    if words and words[0].kind is TokenKind.TEXT:
        return words[0].text.strip('"'), True
    return "".join(word.text for word in words).strip("<>"), False
