"""Workloads: the launches of a source file's comment block, of a TOML file, or of flags.

    n = "1 << 20"                      # names, in order; expressions over earlier names
    source = "saxpy.cu"                # workload files only
    caches = "warm"                    # what launches find in the L2 cache; else cold
    symbols = { table = "f32[256]" }   # variables of the device; a launch may have its own, too
    transfers = "pinned"               # copies around the launches, or a table that names them
    [[launch]]
    kernel = "saxpy"
    grid = "cdiv(n, 256)"
    block = 256
    args = { n = "n", a = 2.0, x = "f32[n] random(1)", y = "f32[n] random(2)" }

The block of a source file is the comment that begins `/* kernelcast`.
"""

from __future__ import annotations

import math
import re
import shlex
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from kernelcast.errors import InputError, LaunchError, NoLaunchError, NotFoundError, ParseError
from kernelcast.frontends.c.choices import NO_LOOPS, LoopFlags, launches_of_choice
from kernelcast.frontends.expressions import BLANK, FUNCTIONS, Number, evaluate
from kernelcast.frontends.fatbin import is_container
from kernelcast.frontends.launches import (
    anchor,
    launch_from_flags,
    make_launch,
    split_assignments,
)
from kernelcast.frontends.loading import read_file
from kernelcast.frontends.recognise import FileKind, recognise
from kernelcast.frontends.source.callers import begins_program, launches_of_program
from kernelcast.frontends.source.header_folders import HeaderFolders
from kernelcast.frontends.source.skeleton import launch_tables, ready_command
from kernelcast.frontends.source.source_launches import SourceLaunch
from kernelcast.ir import CacheState, CopyPlan, HostMemory, Launch
from kernelcast.toolchain.mangling import base_name

_LAUNCH_KEYS = ("kernel", "grid", "block", "smem", "carveout", "repeat", "args", "symbols")

_KEYS = ("launch", "source", "caches", "symbols", "transfers")
_TRANSFER_KEYS = ("memory", "to_device", "to_host", "parts")
_BLOCK = re.compile(r"/\*\s*kernelcast\b(.*?)\*/", re.DOTALL)
_TOML_PLACE = re.compile(r"\s*\(at (?:line (\d+), column (\d+)|end of document)\)")


@dataclass(frozen=True, slots=True)
class LaunchFlags:
    """What the command line says of a launch; None and empty where it says nothing.

    `args` are `NAME=VALUE`, and so are `symbols`, values of variables of the device. Over a written
    launch, a flag replaces what is written: an argument replaces the name of that name, else the
    argument. `parameters` are names that hold before all others and keep their value where the file
    writes another.
    """

    kernel: str = ""
    grid: str | None = None
    block: str | None = None
    smem: str | None = None
    args: tuple[str, ...] = ()
    parameters: Mapping[str, Number] = field(default_factory=dict)
    symbols: tuple[str, ...] = ()
    loops: LoopFlags = NO_LOOPS


NO_FLAGS = LaunchFlags()


@dataclass(frozen=True)
class Workload:
    """Launches in order; paths in their arrays start at `base_dir`.

    `caches` says what they find in the L2 cache, and `copies` what is copied between host and
    device around them, None where nothing is said. `exchanged` is what would be where copies are
    asked for. `remarks` are what a user should hear: loops that became no kernel, values that
    nobody gave. `is_read` where the launches are those that the host code makes.
    """

    source: Path | None
    names: Mapping[str, Number]
    launches: tuple[Launch, ...]
    base_dir: Path
    caches: CacheState = CacheState.COLD
    copies: CopyPlan | None = None
    exchanged: CopyPlan | None = None
    remarks: tuple[str, ...] = ()
    is_read: bool = False


def read_workload(path: str | Path, flags: LaunchFlags = NO_FLAGS) -> Workload:
    """The launches that a file asks for: a workload file, or a source with its comment block.

    Where nothing is written in the file and the flags say neither grid nor block, those of its host
    code count that have no number open. Raises InputError.
    """
    path = Path(path)
    if is_container(path):
        return _from_flags(path, {}, flags)
    data = read_file(path)
    kind = recognise(data, name=str(path))
    if kind is FileKind.CUBIN:
        return _from_flags(path, {}, flags)
    text = data.decode("utf-8", "surrogateescape" if kind is FileKind.C else "replace")
    if kind is FileKind.C:
        return _from_loops(path, text, flags)
    if flags.loops.is_given:
        raise InputError(
            "only C has loops to choose", where=str(path), hint="leave --function, --loop, --size"
        )
    if kind is FileKind.WORKLOAD:
        return parse_workload(text, file=str(path), base_dir=path.parent, flags=flags)
    block = _BLOCK.search(text)
    if block is None:
        return _of_bare_source(path, flags)
    first_line = text.count("\n", 0, block.start(1)) + 1
    return parse_workload(
        block[1],
        file=str(path),
        first_line=first_line,
        base_dir=path.parent,
        source=path,
        flags=flags,
    )


def parse_workload(
    text: str,
    *,
    file: str,
    base_dir: Path,
    first_line: int = 1,
    source: Path | None = None,
    flags: LaunchFlags = NO_FLAGS,
) -> Workload:
    """The workload of a TOML text that starts at `first_line` of `file`.

    `source` is the file it stands in; None for a workload file, which names its own.
    """
    written = _Written(text, file, first_line)
    document = written.document()
    launches = _launch_tables(document, written)
    table: dict[str, Any] = {k: v for k, v in document.items() if k not in _KEYS}
    if source is None:
        source = _source(document, base_dir, file)
    elif "source" in document:
        raise InputError("source stands in workload files only", where=written.line("source"))
    launches = _chosen(launches, flags.kernel, file)
    caches = _caches(document, written)
    _give_symbols(launches, document, flags, written)
    from_flags = _override(table, launches, flags, file)
    names = _names(table, written, from_flags, flags.parameters)
    if not launches:
        return _from_flags(source, names, flags, base_dir)
    made = [_launch(t, names, written, from_flags) for t in launches]
    return Workload(source, names, tuple(made), base_dir, caches, _copies(document, written))


@dataclass
class _LaunchTable:
    """A `[[launch]]` table with its place in the file."""

    number: int
    values: dict[str, Any]
    from_flags: set[str] = field(default_factory=set)
    symbols_from_flags: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class _Written:
    """The TOML text and where it stands."""

    text: str
    file: str
    first_line: int

    def document(self) -> dict[str, Any]:
        """The parsed TOML; ParseError with file and line where it is none."""
        try:
            return tomllib.loads(self.text)
        except tomllib.TOMLDecodeError as error:
            place = _TOML_PLACE.search(str(error))
            what = _TOML_PLACE.sub("", str(error))
            lines = self.text.rstrip().count("\n")
            line = int(place[1]) - 1 if place and place[1] else lines
            at = f"{self.file}:{self.first_line + line}"
            raise ParseError(
                f"not TOML: {what[:1].lower()}{what[1:]}",
                where=at,
                hint="quote expressions and arrays",
            ) from None
        except RecursionError:
            raise ParseError("the TOML is nested too deeply", where=self.file) from None

    def line(self, key: str, launch: int | None = None) -> str:
        """`file:line` of a key, in the `launch`-th launch table if one is given."""
        lines = self.text.split("\n")
        start = 0
        if launch is not None:
            heads = [at for at, line in enumerate(lines) if re.match(r"\s*\[\[\s*launch", line)]
            start = heads[launch] if launch < len(heads) else 0
        pattern = re.compile(rf"""\s*["']?{re.escape(key)}["']?\s*=""")
        found = next((at for at in range(start, len(lines)) if pattern.match(lines[at])), start)
        return f"{self.file}:{self.first_line + found}"


def _launch_tables(document: Mapping[str, Any], written: _Written) -> list[_LaunchTable]:
    launches = document.get("launch", [])
    if not isinstance(launches, list) or not all(isinstance(t, dict) for t in launches):
        raise InputError(
            "launch is not a list of tables", where=written.file, hint="begin each with [[launch]]"
        )
    for number, table in enumerate(launches):
        for key in table:
            if key not in _LAUNCH_KEYS:
                where = written.line(key, number)
                raise NotFoundError("launch key", key, _LAUNCH_KEYS, where=where)
    return [_LaunchTable(number, dict(table)) for number, table in enumerate(launches)]


def _caches(document: Mapping[str, Any], written: _Written) -> CacheState:
    text = document.get("caches", CacheState.COLD)
    if text not in tuple(CacheState):
        raise NotFoundError(
            "state of the caches", str(text), set(CacheState), where=written.line("caches")
        )
    return CacheState(text)


def _copies(document: Mapping[str, Any], written: _Written) -> CopyPlan | None:
    """The copies that are asked for: a kind of memory, or a table."""
    if "transfers" not in document:
        return None
    given, where = document["transfers"], written.line("transfers")
    table = {"memory": given} if isinstance(given, str) else given
    if not isinstance(table, dict):
        raise InputError(
            "transfers is neither a text nor a table", where=where, hint='write "pinned"'
        )
    for key in table:
        if key not in _TRANSFER_KEYS:
            raise NotFoundError("key of transfers", key, _TRANSFER_KEYS, where=where)
    memory = table.get("memory", HostMemory.PINNED)
    if memory not in tuple(HostMemory):
        raise NotFoundError("memory of the host", str(memory), set(HostMemory), where=where)
    parts = table.get("parts", 1)
    if isinstance(parts, bool) or not isinstance(parts, int) or parts < 1:
        raise InputError(f"parts is {parts!r}", where=where, hint="give a number from 1 on")
    to_device, to_host = (_labels(table.get(key), key, where) for key in ("to_device", "to_host"))
    return CopyPlan(HostMemory(memory), to_device, to_host, parts)


def _labels(given: object, key: str, where: str) -> tuple[str, ...] | None:
    if given is None:
        return None
    if not isinstance(given, list) or not all(isinstance(label, str) for label in given):
        raise InputError(f"{key} is no list of names", where=where, hint=f'{key} = ["x", "y"]')
    return tuple(given)


def _source(document: Mapping[str, Any], base_dir: Path, file: str) -> Path:
    source = document.get("source")
    if not isinstance(source, str):
        raise InputError(
            "the workload names no source", where=file, hint='add a line such as source = "app.cu"'
        )
    return base_dir / source


def _chosen(launches: list[_LaunchTable], kernel: str, file: str) -> list[_LaunchTable]:
    """The launches of the kernel asked for; the only launch takes another kernel's name."""
    if not kernel or not launches:
        return launches
    named = {t.number: "".join(str(t.values.get("kernel", "")).split()) for t in launches}
    found = [t for t in launches if named[t.number] == "".join(kernel.split())]
    if not found and len(launches) > 1:
        raise NotFoundError("kernel", kernel, set(named.values()), where=file)
    if not found:
        launches[0].values["kernel"] = kernel
    return found or launches


def _override(
    names: dict[str, Any], launches: list[_LaunchTable], flags: LaunchFlags, file: str
) -> set[str]:
    """Put what the flags say in place of what is written; returns the names they replaced."""
    geometry = {"grid": flags.grid, "block": flags.block, "smem": flags.smem}
    for key, value in geometry.items():
        if value is not None and len(launches) > 1:
            raise LaunchError(
                f"--{key} fits one launch only and there are {len(launches)}",
                where=file,
                hint="choose one with --kernel",
            )
        for table in launches:
            if value is not None:
                table.values[key] = value
    replaced: set[str] = set()
    for name, value in split_assignments(flags.args).items() if launches else ():
        holders = [t for t in launches if name in _arguments(t, file)]
        if name in names:
            names[name] = value
            replaced.add(name)
        elif holders:
            for table in holders:
                table.values["args"] = {**table.values["args"], name: value}
                table.from_flags.add(name)
        else:
            known = [*names, *(label for t in launches for label in _arguments(t, file))]
            raise NotFoundError("argument", name, set(known), where="--arg")
    return replaced


def _give_symbols(
    launches: Sequence[_LaunchTable],
    document: Mapping[str, Any],
    flags: LaunchFlags,
    written: _Written,
) -> None:
    """Put the variables of the whole workload, and of the flags, beside those of each launch."""
    shared = _symbols(document, written.line("symbols"))
    from_flags = split_assignments(flags.symbols, "--symbol")
    for table in launches:
        own = _symbols(table.values, written.line("symbols", table.number))
        table.values["symbols"] = {**shared, **own, **from_flags}
        table.symbols_from_flags |= set(from_flags)


def _symbols(table: Mapping[str, Any], where: str) -> Mapping[str, Any]:
    symbols = table.get("symbols", {})
    if not isinstance(symbols, dict):
        hint = 'write symbols = { table = "f32[256] arange" }'
        raise InputError("symbols is not a table", where=where, hint=hint)
    return symbols


def _arguments(table: _LaunchTable, where: str) -> Mapping[str, Any]:
    arguments = table.values.get("args", {})
    if not isinstance(arguments, dict):
        raise InputError("args is not a table", where=where, hint='write args = { n = "n" }')
    return arguments


def _names(
    table: Mapping[str, Any],
    written: _Written,
    from_flags: set[str],
    parameters: Mapping[str, Number],
) -> dict[str, Number]:
    names = dict(parameters)
    for name, value in table.items():
        if name in parameters:
            continue
        where = "--arg" if name in from_flags else written.line(name)
        if not name.isidentifier() or name in FUNCTIONS:
            raise InputError(f"{name!r} cannot be a name", where=where, hint="choose another one")
        if isinstance(value, str) and value.strip() == BLANK:
            raise LaunchError(
                f"{name} is open",
                where=where,
                hint=f"write its value there, or give --arg {name}=VALUE",
            )
        if isinstance(value, str):
            names[name] = evaluate(value, names, where=f"{where}: {name}")
        elif isinstance(value, int | float) and math.isfinite(value):
            names[name] = value
        else:
            hint = "begin a launch with [[launch]]" if isinstance(value, dict) else ""
            raise InputError(
                f"{name} is neither a finite number nor an expression", where=where, hint=hint
            )
    return names


def _launch(
    table: _LaunchTable, names: Mapping[str, Number], written: _Written, replaced: set[str]
) -> Launch:
    values = table.values
    where = f"{written.line('[launch', table.number)}"
    for key in ("grid", "block"):
        if key not in values:
            raise LaunchError(f"the launch has no {key}", where=where, hint=f"add {key} = ...")
    kernel = values.get("kernel", "")
    if not isinstance(kernel, str):
        raise LaunchError(f"kernel is {kernel!r}, not a name", where=where)
    launch = make_launch(
        grid=values["grid"],
        block=values["block"],
        smem=values.get("smem", 0),
        repeat=values.get("repeat", 1),
        carveout=values.get("carveout"),
        args=_arguments(table, where),
        names=names,
        kernel=kernel,
        where=where,
        symbols=values.get("symbols", {}),
    )
    here = Path.cwd()
    args = {k: anchor(v, here) if k in table.from_flags else v for k, v in launch.args.items()}
    symbols = {
        k: anchor(v, here) if k in table.symbols_from_flags else v
        for k, v in launch.symbols.items()
    }
    return replace(launch, args=args, symbols=symbols)


def _from_loops(path: Path, text: str, flags: LaunchFlags) -> Workload:
    """The launches of the loops of a C file."""
    for option, given in {"--grid": flags.grid, "--smem": flags.smem}.items():
        if given is not None:
            raise LaunchError("follows from the loops", where=option, hint="give --block alone")
    program = flags.loops.program(text, str(path))
    choice = flags.loops.choice(flags.block, flags.args)
    launches, exchanged, remarks = launches_of_choice(program, choice, flags.kernel)
    return Workload(path, {}, launches, path.parent, exchanged=exchanged, remarks=remarks)


def _own_launches(source: Path, flags: LaunchFlags) -> list[SourceLaunch]:
    """The launches that the host code of a source makes, of the kernel that is asked for."""
    if is_container(source):
        return []
    data = read_file(source)
    if recognise(data, name=str(source)) is not FileKind.CUDA:
        return []
    text, folders = data.decode("utf-8", "surrogateescape"), HeaderFolders(flags.loops.include_dirs)
    wanted = base_name(flags.kernel)
    found = launches_of_program(text, str(source), folders, flags.loops.defines)
    return [each for each in found if each.is_known and wanted in ("", base_name(each.kernel))]


def _of_bare_source(source: Path, flags: LaunchFlags) -> Workload:
    """The launch of the flags, or where they say none of its shape, those of the host code whose
    open numbers, if any, they give."""
    if flags.grid is not None or flags.block is not None:
        return _from_flags(source, {}, flags)
    every = _own_launches(source, flags)
    own = [each for each in every if each.is_reached] or every
    given = split_assignments(flags.args).keys()
    closed = _alike([each for each in own if given >= set(each.asked)])
    if not closed:
        raise _no_launch(source, own, given)
    return _from_host_code(source, closed, len(own) - len(closed), flags)


def _from_host_code(
    source: Path, closed: Sequence[SourceLaunch], others: int, flags: LaunchFlags
) -> Workload:
    """The launches of the host code that have no number open, beside `others` that have; what the
    flags give counts as said."""
    if "<" not in flags.kernel:
        flags = replace(flags, kernel="")
    read = partial(
        parse_workload,
        launch_tables(closed),
        file=str(source),
        base_dir=source.parent,
        source=source,
    )
    opened = {name for each in closed for name in each.opened}
    given = split_assignments(flags.args)
    assumed = sorted({name for each in closed for name in each.real} - given.keys())
    flags = replace(flags, args=(*flags.args, *(f"{name}=1" for name in assumed)))
    values = tuple(f"{n}={v}" for n, v in split_assignments(flags.args).items() if n in opened)
    try:
        read(flags=LaunchFlags(args=values))
    except InputError as refused:
        # The line is one of what was read off the source, which nobody has seen.
        of = refused.where.rpartition(": ")[2]
        raise NoLaunchError(
            f"its host code makes a launch that cannot be: {of}: {refused.what}",
            where=str(source),
            hint=f"complete {ready_command(str(source), closed[0])}",
        ) from None
    remark = _as_read(source, closed, others, assumed)
    return replace(read(flags=flags), is_read=True, remarks=(remark,))


def _alike(launches: Sequence[SourceLaunch]) -> list[SourceLaunch]:
    """Those whose arrays are as earlier ones have them: an array of a workload has one shape."""
    arrays: dict[str, str] = {}
    chosen = []
    for launch in launches:
        # Where pointers point into them may differ.
        own = {n: text.rpartition("]")[0] for n, text in launch.arguments.items() if "[" in text}
        if all(arrays.get(name, text) == text for name, text in own.items()):
            arrays |= own
            chosen.append(launch)
    return chosen


def _as_read(
    source: Path, closed: Sequence[SourceLaunch], others: int, assumed: Sequence[str]
) -> str:
    """What to say of launches that nobody wrote down, beside `others` that are left out: they have
    a number open, or another array of the same name. The factors `assumed` are 1."""
    lines = ", ".join(dict.fromkeys(str(each.line) for each in closed))
    those = f"the launches of lines {lines}" if "," in lines else f"the launch of line {lines}"
    more = f" ({others} more left out: kernelcast launches {source})" if others else ""
    known = f"arrays hold zeros, and what the program puts there with kernelcast run {source}"
    is_bare = any(each.is_without_arguments and not each.asked for each in closed)
    called = " called without arguments" if is_bare else ""
    factors = f", with {' and '.join(assumed)} taken to be 1" if assumed else ""
    return f"{those} as in the host code{called}{factors}{more}; {known}"


def _no_launch(
    source: Path, own: Sequence[SourceLaunch], given: Collection[str] = ()
) -> NoLaunchError:
    """That no launch is written, or what is left open in the one of `own` that leaves least."""
    if not own:
        hint = "give --grid and --block, or put a /* kernelcast ... */ block at its top"
        hint += _or_run(source)
        return NoLaunchError("the file says no launch", where=str(source), hint=hint)
    nearest = min(own, key=lambda each: len(set(each.asked) - set(given)))
    missing = [name for name in nearest.asked if name not in given]
    values = " ".join(f"--arg {name}=VALUE" for name in missing)
    all_of_them = f"see them all with kernelcast launches {_quoted(source)}"
    return NoLaunchError(
        f"its launches leave numbers open, that of line {nearest.line} {', '.join(missing)}",
        where=str(source),
        hint=f"give {values}, or {all_of_them}{_or_run(source)}",
    )


def _quoted(source: Path) -> str:
    return shlex.quote(str(source))


def _or_run(source: Path) -> str:
    """That a program shows its launches, those of libraries too, where it runs."""
    return (
        f", or run the program: kernelcast run {_quoted(source)}" if begins_program(source) else ""
    )


def _from_flags(
    source: Path,
    names: Mapping[str, Number],
    flags: LaunchFlags,
    base_dir: Path | None = None,
) -> Workload:
    if flags.grid is None or flags.block is None:
        raise _no_launch(source, ())
    launch = launch_from_flags(
        flags.grid, flags.block, flags.smem or 0, flags.args, names, flags.kernel, flags.symbols
    )
    return Workload(source, names, (launch,), base_dir or source.parent)
