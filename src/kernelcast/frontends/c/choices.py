"""Which loops of a C file are launched, as it is written on a command line, and their launches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kernelcast.errors import InputError, NotFoundError
from kernelcast.frontends.arguments import parse_array
from kernelcast.frontends.c.launching import FunctionLaunches
from kernelcast.frontends.c.program import CProgram, LoopChoice, read_program
from kernelcast.frontends.expressions import Number, evaluate
from kernelcast.frontends.launches import anchor, split_assignments
from kernelcast.ir import Array, CopyPlan, Launch

_MOST_THREADS = 1024


@dataclass(frozen=True, slots=True)
class LoopFlags:
    """What the command line says of the loops of a C file.

    `sizes` are `NAME=VALUE`; `defines` and `include_dirs` are the preprocessor's.
    """

    functions: tuple[str, ...] = ()
    lines: tuple[int, ...] = ()
    sizes: tuple[str, ...] = ()
    defines: tuple[str, ...] = ()
    include_dirs: tuple[Path, ...] = ()

    @property
    def is_given(self) -> bool:
        """Whether anything is said that only loops understand."""
        return bool(self.functions or self.lines or self.sizes)

    def program(self, text: str, name: str) -> CProgram:
        """The program that a text is."""
        return read_program(text, name, self.defines, self.include_dirs)

    def choice(self, block: str | None, args: Sequence[str]) -> LoopChoice:
        """The choice, with `--block X[,Y]` and `--arg NAME=VALUE`; raises InputError."""
        sizes: dict[str, Number] = {}
        arrays: dict[str, Array] = {}
        for name, text in _assignments(self.sizes, "--size").items():
            sizes[name] = evaluate(text, sizes, where=f"--size {name}")
        for name, text in split_assignments(args).items():
            if "[" in text:
                array = anchor(parse_array(text, sizes, where=f"--arg {name}"), Path.cwd())
                assert isinstance(array, Array)
                arrays[name] = array
            else:
                sizes[name] = evaluate(text, sizes, where=f"--arg {name}")
        return LoopChoice(self.functions, self.lines, sizes, _block(block), arrays)


NO_LOOPS = LoopFlags()


def launches_of_choice(
    program: CProgram, choice: LoopChoice, kernel: str = ""
) -> tuple[tuple[Launch, ...], CopyPlan, tuple[str, ...]]:
    """The launches that are chosen, equal ones together, what they exchange with the host, and
    remarks on the rest.

    Arrays of one function are the same memory in all its launches.
    """
    functions, remarks = program.launches(choice)
    launches = [
        _labelled(launch, found, len(functions) > 1)
        for found in functions
        for launch in found.together()
    ]
    if kernel:
        known = {launch.kernel for launch in launches}
        if kernel not in known:
            raise NotFoundError("kernel", kernel, known, where=program.file.name)
        launches = [launch for launch in launches if launch.kernel == kernel]
    return tuple(launches), _exchanged(functions, launches), remarks


def _exchanged(functions: Sequence[FunctionLaunches], launches: Sequence[Launch]) -> CopyPlan:
    """Arrays that the host has or wants: none of a function's own."""
    used = {label for launch in launches for label in launch.args}
    of_host = [
        (label, region)
        for found in functions
        for region in found.regions
        if not region.is_local and (label := _label(region.name, found, len(functions) > 1)) in used
    ]
    return CopyPlan(
        to_device=tuple(label for label, region in of_host if region.read and region.is_input),
        to_host=tuple(label for label, region in of_host if region.written),
    )


def _label(name: str, found: FunctionLaunches, is_one_of_many: bool) -> str:
    return f"{found.function}_{name}" if is_one_of_many else name


def _labelled(launch: Launch, found: FunctionLaunches, is_one_of_many: bool) -> Launch:
    """The launch with arrays named for their function, where other functions have some, too."""
    if not is_one_of_many:
        return launch
    names: Mapping[str, str] = {
        label: _label(label, found, True) if isinstance(value, Array) else label
        for label, value in launch.args.items()
    }
    return replace(launch, args={names[label]: value for label, value in launch.args.items()})


def _assignments(texts: Sequence[str], option: str) -> dict[str, str]:
    try:
        return split_assignments(texts)
    except InputError as error:
        raise InputError(error.what, where=option, hint="for example --size n=1024") from None


def _block(text: str | None) -> tuple[int, ...] | None:
    if text is None:
        return None
    try:
        sizes = tuple(int(part) for part in text.split(","))
    except ValueError:
        sizes = ()
    product = 1
    for size in sizes:
        product *= size
    if not 1 <= len(sizes) <= 2 or min(sizes) < 1 or product > _MOST_THREADS:
        raise InputError(
            f"{text!r} is no block for loops", where="--block", hint="give X or X,Y, at most 1024"
        )
    return sizes
