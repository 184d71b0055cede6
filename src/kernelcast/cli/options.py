"""Options that several commands share, each group handed over as one frozen value."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from kernelcast.errors import InputError, KernelcastError
from kernelcast.machines import DEFAULT_GPU

if TYPE_CHECKING:
    from rich.console import RenderableType

    from kernelcast.api import Build, Sampling
    from kernelcast.frontends.workloads import LaunchFlags
    from kernelcast.machines.machine import Machine

Command = Callable[..., None]
Decorator = Callable[[Command], Command]


def gathered(name: str, kind: type[Any], *options: Decorator) -> Decorator:
    """A decorator that adds options and passes their values on as one `kind`, called `name`."""
    names = [field.name for field in fields(kind)]

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def call(*args: Any, **values: Any) -> None:
            group = kind(**{n: values.pop(n) for n in names})
            command(*args, **{name: group}, **values)

        wrapped: Command = call
        for option in reversed(options):
            wrapped = option(wrapped)
        return wrapped

    return decorate


def split_names(_: click.Context, parameter: click.Parameter, text: str) -> tuple[str, ...]:
    """`a,b` as two names, each kept once."""
    names = tuple(dict.fromkeys(n.strip() for n in text.split(",") if n.strip()))
    if not names:
        raise click.BadParameter("expected at least one name", param=parameter)
    return names


def parse_numbers(
    _: click.Context, parameter: click.Parameter, text: str | None
) -> tuple[float, ...] | None:
    """`a,b,c` as numbers; `inf` is one."""
    if text is None:
        return None
    try:
        numbers = tuple(float(part) for part in text.split(","))
    except ValueError:
        numbers = (math.nan,)
    if any(math.isnan(n) for n in numbers):
        raise click.BadParameter(f"{text!r} is not a list of numbers", param=parameter)
    return numbers


def complete_list(known: Callable[[], tuple[str, ...]]) -> Callable[..., list[CompletionItem]]:
    """Shell completion of the last name in a list separated by commas."""

    def complete(_: click.Context, __: click.Parameter, typed: str) -> list[CompletionItem]:
        before, comma, last = typed.rpartition(",")
        return [CompletionItem(before + comma + n) for n in known() if n.startswith(last)]

    return complete


def known_gpus() -> tuple[str, ...]:
    """Names of all machine files."""
    from kernelcast.machines.loader import machine_names

    return tuple(machine_names())


def known_models() -> tuple[str, ...]:
    """Names of all models, and `all`."""
    from kernelcast.models import model_names

    return (*model_names(), "all")


def complete_kernel(ctx: click.Context, _: click.Parameter, typed: str) -> list[CompletionItem]:
    """Shell completion of kernels in the file already typed."""
    from kernelcast.frontends.declarations import declared_kernels
    from kernelcast.frontends.loading import read_file
    from kernelcast.frontends.ptx import read_ptx

    # While the option has no value yet, click leaves the arguments before it unassigned.
    file = ctx.params.get("file") or next(iter(ctx.args), None)
    if not file:
        return []
    try:
        text = read_file(file).decode("utf-8", "replace")
        names = [kernel.name for kernel in declared_kernels(text)]
        if not names:
            names = list(read_ptx(text, name=file).labels.values())
    except KernelcastError:
        return []
    return [CompletionItem(n) for n in names if n.startswith(typed)]


file_argument = click.argument("file", type=click.Path())
"""The file with the kernel; whether it can be read is for the front end to say."""


@dataclass(frozen=True, slots=True)
class GpuFlags:
    """`--gpu` and `--set`."""

    gpu: tuple[str, ...]
    settings: tuple[str, ...]

    def machines(self) -> tuple[Machine, ...]:
        """The machines asked for, settings applied."""
        from kernelcast.machines.loader import apply_overrides, load_machine

        return tuple(apply_overrides(load_machine(n), self.settings) for n in self.gpu)

    def machine(self) -> Machine:
        """The one machine asked for; InputError where several are."""
        if len(self.gpu) > 1:
            raise InputError(
                f"one GPU expected, {len(self.gpu)} given: {', '.join(self.gpu)}", where="--gpu"
            )
        return self.machines()[0]


def gpu_options(default: str = DEFAULT_GPU, *, required: bool = False) -> Decorator:
    """`--gpu NAME[,NAME...]` and `--set PATH=VALUE`, as `gpus: GpuFlags`.

    `required` is for commands that no GPU of ours can be assumed for.
    """
    return gathered(
        "gpus",
        GpuFlags,
        click.option(
            "--gpu",
            metavar="NAME[,NAME...]",
            callback=split_names,
            shell_complete=complete_list(known_gpus),
            help="GPUs to predict for; `kernelcast gpus` lists them.",
            **({"required": True} if required else {"default": default, "show_default": True}),
        ),
        click.option(
            "--set",
            "settings",
            metavar="PATH=VALUE",
            multiple=True,
            help="Replace a number of the machine, e.g. dram.bandwidth=2.0e12. Repeatable.",
        ),
    )


@dataclass(frozen=True, slots=True)
class ModelFlags:
    """`--model`."""

    model: tuple[str, ...]

    def names(self) -> tuple[str, ...]:
        """The models asked for, `default` and `all` replaced by names."""
        from kernelcast.models import default_model_name, model_names

        chosen: list[str] = []
        for name in self.model:
            if name == "all":
                chosen += [default_model_name(), *model_names()]
            else:
                chosen.append(default_model_name() if name == "default" else name)
        return tuple(dict.fromkeys(chosen))


def model_options(default: str = "default") -> Decorator:
    """`--model NAME[,NAME...]|all`, as `models: ModelFlags`."""
    return gathered(
        "models",
        ModelFlags,
        click.option(
            "--model",
            metavar="NAME[,NAME...]|all",
            default=default,
            show_default=True,
            callback=split_names,
            shell_complete=complete_list(known_models),
            help="Performance models; `kernelcast models` lists them.",
        ),
    )


@dataclass(frozen=True, slots=True)
class SourceFlags:
    """How a kernel file is read and compiled."""

    kernel: str
    isa: str
    defines: tuple[str, ...]
    include_dirs: tuple[str, ...]
    std: str | None
    nvrtc: str | None
    registers: int | None
    cache_dir: str | None

    def build(self) -> Build:
        """The same for the library."""
        from kernelcast.api import Build, CompileOptions
        from kernelcast.toolchain.cache import Cache

        folders = tuple(map(Path, self.include_dirs))
        options = CompileOptions(self.defines, folders, self.std, nvrtc=self.nvrtc)
        cache = Cache(Path(self.cache_dir)) if self.cache_dir else Cache()
        return Build(options, self.registers, cache, self.isa)


source_options = gathered(
    "source",
    SourceFlags,
    click.option(
        "--kernel",
        metavar="NAME",
        default="",
        shell_complete=complete_kernel,
        help="The kernel to take, where FILE holds several; templates as 'tiled<16>'.",
    ),
    click.option(
        "--isa",
        type=click.Choice(["auto", "ptx", "sass"]),
        default="auto",
        show_default=True,
        help="The instructions to execute: machine code (sass) where there is some for the GPU.",
    ),
    click.option("-D", "defines", metavar="NAME[=VALUE]", multiple=True, help="Define a macro."),
    click.option(
        "-I", "include_dirs", metavar="DIR", multiple=True, help="Search DIR for included files."
    ),
    click.option("--std", metavar="STD", help="C++ standard, e.g. c++20."),
    click.option(
        "--nvrtc",
        metavar="VERSION",
        help="Compile with NVRTC of this version, e.g. 12.3, where several are installed.",
    ),
    click.option(
        "--regs",
        "registers",
        type=click.IntRange(1, 255),
        metavar="N",
        help="Registers per thread, instead of the compiler's count.",
    ),
    click.option("--cache-dir", metavar="DIR", help="Where compiled kernels are kept."),
)
"""`--kernel --isa -D -I --std --nvrtc --regs --cache-dir`, as `source: SourceFlags`."""


@dataclass(frozen=True, slots=True)
class LaunchOptions:
    """A launch as typed; None where the file's own launch is to be used."""

    grid: str | None = None
    block: str | None = None
    smem: str | None = None
    args: tuple[str, ...] = ()

    def flags(self, kernel: str) -> LaunchFlags:
        """The same for the library."""
        from kernelcast.frontends.workloads import LaunchFlags

        return LaunchFlags(kernel, self.grid, self.block, self.smem, self.args)


NO_LAUNCH = LaunchOptions()

launch_options = gathered(
    "launch",
    LaunchOptions,
    click.option("--grid", metavar="X[,Y[,Z]]", help="Blocks in the grid."),
    click.option("--block", metavar="X[,Y[,Z]]", help="Threads in a block."),
    click.option("--smem", metavar="BYTES", help="Dynamic shared memory per block."),
    click.option(
        "--arg",
        "args",
        metavar="NAME=VALUE",
        multiple=True,
        help="A kernel argument, in order: n=1024, 'A=f32[n,n] random(1)'. Repeatable.",
    ),
)
"""`--grid --block --smem --arg`, as `launch: LaunchOptions`."""


@dataclass(frozen=True, slots=True)
class SamplingFlags:
    """How much of the grid is executed."""

    exact: bool
    sample: int | None
    budget: int | None
    threads: int | None = None

    def sampling(self) -> Sampling:
        """The same for the library; InputError where it asks for two things at once."""
        from kernelcast.api import Sampling

        if self.exact and self.sample is not None:
            raise InputError("all blocks and a sample of them", where="--exact --sample")
        return Sampling(self.exact, self.sample, self.budget, self.threads)


sampling_options = gathered(
    "sampling",
    SamplingFlags,
    click.option("--exact", is_flag=True, help="Execute every block of the grid."),
    click.option(
        "--sample", type=click.IntRange(min=1), metavar="BLOCKS", help="Execute this many blocks."
    ),
    click.option(
        "--budget",
        type=click.IntRange(min=1),
        metavar="N",
        help="Stop a kernel after N executed warp instructions of a block.",
    ),
    click.option(
        "--threads",
        type=click.IntRange(min=1),
        metavar="N",
        help="Execute on N threads of the CPU; by default on all cores.",
    ),
)
"""`--exact --sample --budget --threads`, as `sampling: SamplingFlags`."""


@dataclass(frozen=True, slots=True)
class Output:
    """Where a command's answer goes: text or JSON to standard output, remarks to standard error."""

    as_json: bool
    quiet: bool
    debug: bool

    def show(self, text: RenderableType, data: object) -> None:
        """Print the answer: `data` as JSON where asked for, else `text`, a string or a view."""
        if self.as_json:
            import json

            click.echo(json.dumps(data, indent=2, allow_nan=False))
        elif isinstance(text, str):
            click.echo(text)
        else:
            from kernelcast.reporting.console import render_for_output

            click.echo(render_for_output(text))

    def remark(self, text: str) -> None:
        """A warning or sign of progress, on standard error; silent with `--quiet`."""
        if not self.quiet:
            click.echo(text, err=True)


output_options = gathered(
    "output",
    Output,
    click.option("--json", "as_json", is_flag=True, help="Print JSON."),
    click.option("--quiet", is_flag=True, help="The answer alone: no detail, no remarks."),
    click.option("--debug", is_flag=True, help="Show the traceback of an error."),
)
"""`--json --quiet --debug`, as `output: Output`; every command takes it."""
