"""One launch out of what was written for it: grid, block, shared memory, arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from kernelcast.errors import InputError, LaunchError
from kernelcast.frontends.arguments import parse_arguments
from kernelcast.frontends.expressions import Number, evaluate, split_expressions
from kernelcast.ir import (
    Argument,
    ArgumentList,
    Array,
    Dim3,
    Fill,
    Launch,
    Structure,
    TensorMap,
    Texture,
)

_MAX_GRID: Dim3 = ((1 << 31) - 1, 65535, 65535)
_MAX_BLOCK: Dim3 = (1024, 1024, 64)
_ALL_PERCENT = 100
_SYMBOL = "--symbol"
_EXAMPLES = {"--arg": "n=1 << 20", _SYMBOL: "table=f32[256] arange"}

_MAX_THREADS_PER_BLOCK = 1024
"""Limits common to all compute capabilities from 3.0 on (CUDA C++ Programming Guide, technical
specifications per compute capability); older chips have narrower ones of their own."""


def make_launch(
    *,
    grid: object,
    block: object,
    args: Mapping[str, object],
    names: Mapping[str, Number],
    smem: object = 0,
    repeat: object = 1,
    carveout: object = None,
    kernel: str = "",
    where: str = "",
    symbols: Mapping[str, object] | None = None,
) -> Launch:
    """A launch of values, expressions and lists of them.

    Expressions may use `names` and, where those do not define them, numbers among the arguments.
    `where` goes before the name of the part that an error is about.
    """
    at = f"{where}: " if where else ""
    arguments = parse_arguments(args, names, where=f"{at}args: ")
    numbers = {name: v for name, v in arguments.items() if isinstance(v, int | float)}
    names = {**numbers, **names}
    launch = Launch(
        grid=_extent(grid, names, _MAX_GRID, where=f"{at}grid"),
        block=_extent(block, names, _MAX_BLOCK, where=f"{at}block"),
        args=arguments,
        smem_bytes=_integer(smem, names, 0, where=f"{at}smem"),
        kernel=kernel,
        repeat=_integer(repeat, names, 1, where=f"{at}repeat"),
        symbols=parse_arguments(symbols or {}, names, where=f"{at}symbols: "),
        carveout=_percent(carveout, names, where=f"{at}carveout"),
    )
    if launch.threads_per_block > _MAX_THREADS_PER_BLOCK:
        raise LaunchError(
            f"{launch.threads_per_block} threads per block, more than {_MAX_THREADS_PER_BLOCK}",
            where=f"{at}block",
            hint="make the block smaller and the grid larger",
        )
    return launch


def _percent(given: object, names: Mapping[str, Number], *, where: str) -> int | None:
    if given is None:
        return None
    percent = _integer(given, names, 0, where=where)
    if percent > _ALL_PERCENT:
        raise LaunchError(f"{percent} is more than 100", where=where, hint="give 0 to 100 percent")
    return percent


def launch_from_flags(
    grid: str,
    block: str,
    smem: str | int = 0,
    args: Sequence[str] = (),
    names: Mapping[str, Number] | None = None,
    kernel: str = "",
    symbols: Sequence[str] = (),
) -> Launch:
    """A launch of command-line flags; `args` are `NAME=VALUE`, in the kernel's order, and `symbols`
    `NAME=VALUE` of variables of the device."""
    launch = make_launch(
        grid=grid,
        block=block,
        smem=smem,
        args=split_assignments(args),
        names=names or {},
        kernel=kernel,
        symbols=split_assignments(symbols, _SYMBOL),
    )
    here = Path.cwd()
    return replace(
        launch,
        args={k: anchor(v, here) for k, v in launch.args.items()},
        symbols={k: anchor(v, here) for k, v in launch.symbols.items()},
    )


def split_assignments(texts: Sequence[str], flag: str = "--arg") -> dict[str, str]:
    """`NAME=VALUE` texts of a flag as a table; variables may be named with their scope."""
    found: dict[str, str] = {}
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        parts = name.removeprefix("::").split("::") if flag == _SYMBOL else [name]
        if not equals or not all(map(str.isidentifier, parts)) or not value:
            hint = f'for example {flag} "{_EXAMPLES[flag]}"'
            raise InputError(f"{text!r} is not NAME=VALUE", where=flag, hint=hint)
        if name in found:
            raise InputError(f"{name} is given twice", where=flag)
        found[name] = value
    return found


def anchor(value: Argument, directory: Path) -> Argument:
    """The argument with the path of its file, if it has one, starting at `directory`."""
    if isinstance(value, TensorMap | Texture):
        array = anchor(value.array, directory)
        assert isinstance(array, Array)
        return replace(value, array=array)
    if isinstance(value, Structure):
        return Structure(tuple((name, anchor(v, directory)) for name, v in value.fields))
    if isinstance(value, ArgumentList):
        return ArgumentList(tuple(anchor(v, directory) for v in value.items))
    if not isinstance(value, Array) or value.fill.kind != "file":
        return value
    return replace(value, fill=Fill("file", path=str(directory / value.fill.path)))


def _extent(written: object, names: Mapping[str, Number], limits: Dim3, *, where: str) -> Dim3:
    """Up to three sizes, each at least 1."""
    if isinstance(written, str):
        written = split_expressions(written)
    sizes = list(written) if isinstance(written, list | tuple) else [written]
    if not 1 <= len(sizes) <= 3:
        raise LaunchError(
            f"{len(sizes)} dimensions, not 1 to 3", where=where, hint="give X, X,Y or X,Y,Z"
        )
    x, y, z = [_integer(size, names, 1, where=where) for size in sizes] + [1] * (3 - len(sizes))
    for axis, size, limit in zip("xyz", (x, y, z), limits, strict=True):
        if size > limit:
            raise LaunchError(
                f"{axis} is {size}, more than {limit}", where=where, hint=f"give at most {limit}"
            )
    return x, y, z


def _integer(written: object, names: Mapping[str, Number], least: int, *, where: str) -> int:
    value = evaluate(written, names, where=where) if isinstance(written, str) else written
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise LaunchError(f"{value!r} is not a number", where=where, hint="give a number")
    if not isinstance(value, int):
        raise LaunchError(
            f"{value!r} is not an integer", where=where, hint="divide with // or cdiv(a, b)"
        )
    if value < least:
        raise LaunchError(
            f"{value} is less than {least}", where=where, hint=f"give {least} or more"
        )
    return value
