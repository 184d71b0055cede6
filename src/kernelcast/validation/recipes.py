"""How the programs of a folder are compiled: by its compilation database, or by their makefiles."""

from __future__ import annotations

import json
import posixpath
import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from kernelcast.errors import InputError
from kernelcast.toolchain.nvcc import ProgramOptions

_FOLDERS = ("{}", "{}-cuda", "src/{}", "src/{}-cuda")
"""Where a program's sources lie in the folder of all sources."""
_SOURCES = (".cu", ".cpp", ".cc", ".c")
_ARITHMETIC = re.compile(
    r"--?(use_fast_math\b|(?:ftz|prec-div|prec-sqrt|fmad|maxrregcount)[= ]\w+)"
)
"""What a makefile asks nvcc for that makes other machine code."""
_OLD_STANDARDS = ("c++03", "c++11", "c++14")
DATABASE = "compile_commands.json"
"""What compilation databases are called."""


class _CompiledFile(NamedTuple):
    """What a compilation database says of a file."""

    file: str
    words: Sequence[str]


def recipe_of(sources: Path, name: str, *, by_make: bool) -> tuple[Path, Path, ProgramOptions]:
    """A program's folder, its first source, and its others with how they are compiled.

    A compilation database in the folder of all sources says so of the programs that it has, else
    the program's makefile, but for the arithmetic. Of what was built `by_make` the makefile says
    all.
    """
    folder = folder_of_program(sources, name)
    database = sources / DATABASE
    commands = [] if by_make or not database.is_file() else _commands_of(database, folder.name)
    if commands:
        return folder, *_of_commands(commands, folder, database)
    return folder, *of_makefile(folder, with_arithmetic=by_make)


def folder_of_program(sources: Path, name: str) -> Path:
    """Where the sources of a program lie; InputError where they do not."""
    for pattern in _FOLDERS:
        folder = sources / pattern.format(name)
        if folder.is_dir():
            return folder.resolve()
    raise InputError(f"no folder of sources for {name}", where=str(sources))


def _commands_of(database: Path, program: str) -> list[_CompiledFile]:
    """The commands of a compilation database that compile what lies in a program's folder."""
    try:
        return [
            _CompiledFile(one["file"], one.get("arguments") or shlex.split(one.get("command", "")))
            for one in json.loads(database.read_text("utf-8"))
            if program in PurePosixPath(one["file"]).parts[:-1]
        ]
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise InputError(
            f"is no compilation database: {error}",
            where=str(database),
            hint="give the compile_commands.json that CMake or Bear wrote",
        ) from error


def _of_commands(
    commands: Sequence[_CompiledFile], folder: Path, database: Path
) -> tuple[Path, ProgramOptions]:
    """What commands compile and how, with the paths of whoever wrote them found in the folder."""
    roots = dict.fromkeys(_root_of(one.file, folder.name) for one in commands)

    def here(path: str) -> Iterator[Path]:
        """Where a path among the sources, wherever they lay, is in the folder of all sources."""
        for root in roots:
            if PurePosixPath(path).is_relative_to(root):
                yield folder.parent / PurePosixPath(path).relative_to(root)

    files = [next(here(one.file)) for one in commands]
    if lost := [file for file in files if not file.is_file()]:
        raise InputError(f"names {lost[0].name}, which is not in {folder}", where=str(database))
    words = dict.fromkeys(word for one in commands for word in one.words)
    includes = (path for word in words if word.startswith("-I") for path in here(word[2:]))
    standards = (word[5:].replace("gnu", "c") for word in words if word.startswith("-std="))
    return files[0], ProgramOptions(
        defines=tuple(word[2:] for word in words if word.startswith("-D")),
        include_dirs=tuple(dict.fromkeys((folder, *includes))),
        std=next((std for std in standards if std not in _OLD_STANDARDS), None),
        sources=tuple(dict.fromkeys(files[1:])),
    )


def _root_of(file: str, program: str) -> PurePosixPath:
    """Where the folder of all sources lay, by a file in a program's folder."""
    parts = PurePosixPath(file).parts
    return PurePosixPath(*parts[: parts.index(program)])


def of_makefile(folder: Path, *, with_arithmetic: bool) -> tuple[Path, ProgramOptions]:
    """The first source of a program, and the others as options.

    Its makefile says which, by `source` or by its objects, and what to define; without one, all
    sources in the folder are its own. What today's libraries cannot be compiled by is left out: a
    standard before C++17; and what it says to nvcc of the arithmetic, but `with_arithmetic`.
    """
    makefile = folder / "Makefile"
    text = ""
    if makefile.is_file():
        text = _as_chosen(makefile.read_text("utf-8", "replace").replace("\\\n", " "))
    listed = re.search(r"^source\s*[:+]?=(.*)$", text, re.MULTILINE)
    names = (
        listed[1].split()
        if listed
        else _of_objects(text, folder)
        or sorted(path.name for path in folder.iterdir() if path.suffix in _SOURCES)
    )
    files = [folder / name for name in names if Path(name).suffix in _SOURCES]
    if not files:
        raise InputError("its makefile lists no sources", where=str(makefile))
    flags = {kind: _flags(text, kind) for kind in ("-D", "-I", "-std=")}
    dialect = dict.fromkeys(re.findall(r"--?(extended-lambda|expt-[\w-]+)", text))
    if with_arithmetic:
        dialect |= dict.fromkeys(flag.replace(" ", "=") for flag in _ARITHMETIC.findall(text))
    return files[0], ProgramOptions(
        defines=tuple(flags["-D"]),
        include_dirs=(folder, *(folder / path for path in flags["-I"])),
        std=next((std for std in flags["-std="] if std not in _OLD_STANDARDS), None),
        further=tuple(f"--{name}" for name in dialect),
        sources=tuple(files[1:]),
        all_as_cuda=re.search(r"\s-x\s*cu\b", text) is not None,
    )


def _as_chosen(makefile: str) -> str:
    """A makefile without what its own choices, such as `DEBUG = no`, leave out."""
    values = dict(re.findall(r"^(\w+)[ \t]*[:?]?=[ \t]*(\S*)[ \t]*$", makefile, re.MULTILINE))

    def chosen(case: re.Match[str]) -> str:
        first, _, other = case[3].partition("\nelse")
        return first if values.get(case[1], "") == case[2] else other

    pattern = r"^ifeq \(\$\((\w+)\),[ \t]*(\w*)\)(.*?)^endif"
    return re.sub(pattern, chosen, makefile, flags=re.MULTILINE | re.DOTALL)


def _of_objects(makefile: str, folder: Path) -> list[str]:
    """The sources that a makefile's objects are made of, in their order: of their name in the
    folder, or those that a rule names."""
    found = re.findall(r"(?<=\s)([\w.+-][\w./+-]*)\.o\b", makefile)
    rules = dict(re.findall(r"^([\w./+-]+)\.o[ \t]*:[ \t]*(\S+)", makefile, re.MULTILINE))
    named = {posixpath.normpath(stem): source for stem, source in rules.items()}
    stems = dict.fromkeys(map(posixpath.normpath, found))
    return [
        name
        for stem in stems
        for name in dict.fromkeys((*(stem + suffix for suffix in _SOURCES), named.get(stem, "")))
        if Path(name).suffix in _SOURCES and (folder / name).is_file()
    ]


def _flags(makefile: str, kind: str) -> Iterator[str]:
    """What a makefile sets by flags of a kind, but for what it computes."""
    for word in re.findall(rf"(?<=\s){re.escape(kind)}(\S+)", makefile):
        if "$" not in word:
            yield word
