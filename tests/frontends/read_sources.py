"""How much of published programs is read: `scripts/read-sources FOLDER`.

A program is a folder with a source that has a kernel. Of those whose names fit `--match`, ordered
by name, every n-th is drawn, so that at least `--count` are. Of each, the sources that no other
file of the program includes are loaded without any option, and their launches read. A program is
loaded where all of them are.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path

from kernelcast.errors import KernelcastError
from kernelcast.frontends.loading import launches_of_file, load
from kernelcast.frontends.source.device_source import read_source
from kernelcast.frontends.source.header_folders import HeaderFolders
from kernelcast.frontends.source.launch_sites import launch_sites
from kernelcast.frontends.source.source_launches import SourceLaunch
from kernelcast.frontends.source.tokens import TokenKind, tokens
from kernelcast.toolchain.cache import Cache
from kernelcast.toolchain.nvrtc import CompileOptions

CODE = {".cu", ".cuh", ".h", ".hpp", ".inc", ".cpp", ".c"}
INCLUDED = re.compile(r'#\s*include\s*"([^"]+)"')
CAUSES = (
    ("a header lies elsewhere (-I)", r"is not there: give its directory"),
    ("a macro that the build defines (-D)", r"#error directive"),
    ("a function of another file", r"Unresolved extern"),
    ("removed from CUDA", r"__shfl|__ballot|__any\b|__all\b|texture|tex[123]D|cudaReadMode"),
    ("a library's own code", r"cccl/|curand"),
)


def texts(folder: Path) -> dict[Path, str]:
    files = (file for file in sorted(folder.rglob("*")) if file.suffix in CODE and file.is_file())
    return {file: file.read_text("utf-8", "replace") for file in files}


def programs(folder: Path, match: str) -> list[Path]:
    """Folders with a kernel, those within one that is one already left out."""
    found: list[Path] = []
    for each in sorted(path for path in folder.rglob("*") if path.is_dir()):
        is_inside = any(each.is_relative_to(outer) for outer in found)
        if is_inside or not fnmatch(each.name, match):
            continue
        may_be_one = match != "*" or any(each.glob("*.cu"))
        if may_be_one and any("__global__" in text for text in texts(each).values()):
            found.append(each)
    return found


def drawn(found: list[Path], count: int) -> list[Path]:
    return found[:: max(1, len(found) // count)]


def sources(folder: Path) -> list[Path]:
    """The sources of device code that no other file of a program includes."""
    read = texts(folder)
    included = {
        (file.parent / name).resolve()
        for file, text in read.items()
        for name in INCLUDED.findall(text)
    }
    return [file for file in read if file.suffix == ".cu" and file.resolve() not in included]


def failure(file: Path, options: CompileOptions, cache: Cache) -> str | None:
    """Why a file does not load; nothing where it does, None where it has no device code."""
    try:
        module = load(file, options=options, cache=cache)
    except KernelcastError as error:
        return None if "no kernel found in this text" in str(error) else str(error)
    return "" if module.kernel_names or module.templates else None


def cause(error: str, folder: Path) -> str:
    if named := re.search(r'identifier "(\w+)" is undefined', error):
        files = (folder / name for name in ("Makefile", "CMakeLists.txt"))
        build = "".join(f.read_text("utf-8", "replace") for f in files if f.is_file())
        if re.search(rf"-D\s*{named[1]}\b", build):
            return CAUSES[1][0]
    return next((name for name, pattern in CAUSES if re.search(pattern, error)), "other")


def shapes(file: Path) -> tuple[int, int]:
    """How many places launch a kernel, and of how many the shape is read: as a constant, or over
    names of the source."""
    text = file.read_bytes().decode("utf-8", "surrogateescape")
    view, _ = read_source(text, str(file), HeaderFolders(), "sm_90", (13, 0))
    sites = {view.place(view.words[site.at]) for site in launch_sites(view.words)}
    marks = sum(word.text == "<<<" for word in view.words)
    if not marks:
        return len(sites), len(sites & read_places(file, set()))
    names = {token.text for token in tokens(text) if token.kind is TokenKind.NAME}
    names |= {word.text for word in view.words if word.kind is TokenKind.NAME}
    return max(marks, len(sites)), len(read_places(file, names))


def read_places(file: Path, names: set[str]) -> set[str]:
    launches = launches_of_file(file)
    return {each.place for each in launches if is_read(each, names)}


def is_read(launch: SourceLaunch, names: set[str]) -> bool:
    used = {t.text for size in (*launch.grid, *launch.block) for t in tokens(size)}
    return all(name in names for name in launch.opened if name in used)


def report(folder: Path, chosen: Sequence[Path], options: CompileOptions) -> Iterator[str]:
    cache = Cache()
    loaded = tried = sites = read = 0
    causes: Counter[str] = Counter()
    for program in chosen:
        failures = {file: failure(file, options, cache) for file in sources(program)}
        for file in failures:
            try:
                found, understood = shapes(file)
            except KernelcastError:
                continue
            sites, read = sites + found, read + understood
        kept = {file: error for file, error in failures.items() if error is not None}
        if not kept:
            continue
        tried += 1
        wrong = {file: error for file, error in kept.items() if error}
        loaded += not wrong
        for file, error in list(wrong.items())[:1]:
            why = cause(error, program)
            causes[why] += 1
            yield f"{file.relative_to(folder)}: {why}: {error.replace(str(folder), '')[:200]}"
    yield f"{loaded} of {tried} programs load ({100 * loaded / max(1, tried):.1f} %)"
    yield f"{read} of {sites} launches have their shape read ({100 * read / max(1, sites):.1f} %)"
    yield from (f"{count:4} {why}" for why, count in causes.most_common())


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--match", default="*", help="names of programs, such as '*-cuda'")
    parser.add_argument("--count", type=int, default=120)
    parser.add_argument("-I", dest="include_dirs", type=Path, action="append", default=[])
    given = parser.parse_args(arguments)
    chosen = drawn(programs(given.folder, given.match), given.count)
    for line in report(
        given.folder, chosen, CompileOptions(include_dirs=tuple(given.include_dirs))
    ):
        print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
