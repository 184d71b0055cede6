"""Options that several commands share, each group handed over as one frozen value."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from kernelcast.errors import InputError, KernelcastError
from kernelcast.machines import DEFAULT_GPU

if TYPE_CHECKING:
    from msgspec import Struct

    from kernelcast.api import Build, Sampling
    from kernelcast.frontends.workloads import LaunchFlags
    from kernelcast.machines.machine import Machine
    from kernelcast.models.terms.base import Model

CommandFunction = Callable[..., None]
Decorator = Callable[[CommandFunction], CommandFunction]


def gathered(name: str, kind: type[Any], *options: Decorator) -> Decorator:
    """A decorator that adds options and passes their values on as one `kind`, called `name`."""
    names = [field.name for field in fields(kind)]

    def decorate(command: CommandFunction) -> CommandFunction:
        @functools.wraps(command)
        def call(*args: Any, **values: Any) -> None:
            group = kind(**{n: values.pop(n) for n in names})
            command(*args, **{name: group}, **values)

        wrapped: CommandFunction = call
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


def complete_models(_: click.Context, __: click.Parameter, typed: str) -> list[CompletionItem]:
    """Shell completion of the last model in a list: its name and, after a colon, parameters."""
    before, comma, last = typed.rpartition(",")
    head, colon, begun = last.rpartition(":")
    if not colon:
        offered = [name for name in known_models() if name.startswith(last)]
    else:
        named = _known_parameters(head.partition(":")[0])
        offered = [f"{head}:{name}=" for name in named if name.startswith(begun)]
    return [CompletionItem(before + comma + text) for text in offered]


def _known_parameters(model: str) -> tuple[str, ...]:
    """Names of a model's parameters; none where there is no such model."""
    from kernelcast.models import load_model, model_names
    from kernelcast.models.terms.parameters import parameters

    if model not in model_names():
        return ()
    return tuple(parameter.name for parameter in parameters(load_model(model)))


def _complete_kernel(ctx: click.Context, _: click.Parameter, typed: str) -> list[CompletionItem]:
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


def read_streams(_: click.Context, __: click.Parameter, given: str | tuple[str, ...]) -> object:
    """Pipes and standard input, which is `-`, as files; all others as they are."""
    from kernelcast.files import input_file

    return input_file(given) if isinstance(given, str) else tuple(map(input_file, given))


file_argument = click.argument("file", type=click.Path(), callback=read_streams)
"""The file with the kernel, `-` for standard input; whether it can be read is for the front end to
say."""


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


def gpu_options(
    default: str = DEFAULT_GPU, *, required: bool = False, one: bool = False
) -> Decorator:
    """`--gpu NAME[,NAME...]` and `--set PATH=VALUE`, as `gpus: GpuFlags`.

    `required` is for commands that no GPU of ours can be assumed for, `one` for those that take a
    single one.
    """
    return gathered(
        "gpus",
        GpuFlags,
        click.option(
            "--gpu",
            metavar="NAME" if one else "NAME[,NAME...]",
            callback=split_names,
            shell_complete=complete_list(known_gpus),
            help=f"{'The GPU' if one else 'GPUs'} to predict for; `kernelcast gpus` lists them.",
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

    @property
    def is_all(self) -> bool:
        """Whether models are asked for that nobody named: one that cannot answer is left out."""
        return "all" in self.model

    def models(self) -> tuple[Model, ...]:
        """The models asked for, each once; raises as `kernelcast.models.read_model` does."""
        from kernelcast.models import (
            default_model_name,
            fast_model_name,
            model_names,
            read_model,
        )

        own = {"default": default_model_name(), "fast": fast_model_name()}
        chosen: list[str] = []
        for text in self.model:
            if text == "all":
                chosen += [default_model_name(), *model_names()]
            else:
                chosen.append(own.get(text, text))
        return tuple(dict.fromkeys(map(read_model, chosen)))

    def one(self) -> Model:
        """The one model asked for; InputError where several are."""
        chosen = self.models()
        if len(chosen) != 1:
            raise InputError(
                f"one model expected, {len(chosen)} given", where="--model", hint="name one"
            )
        return chosen[0]


def model_options(default: str = "default") -> Decorator:
    """`--model NAME[:PARAMETER=VALUE...][,NAME...]|all`, as `models: ModelFlags`."""
    return gathered(
        "models",
        ModelFlags,
        click.option(
            "--model",
            metavar="NAME[,NAME...]|all",
            default=default,
            show_default=True,
            callback=split_names,
            shell_complete=complete_models,
            help="Performance models; `kernelcast models` lists them. NAME:PARAMETER=VALUE sets a "
            "parameter; `kernelcast models NAME` lists those. `fast` is the model for thousands of "
            "launches.",
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
    fast_math: bool
    compiler: str
    nvrtc: str | None
    registers: int | None
    cache_dir: str | None

    @property
    def extra(self) -> tuple[str, ...]:
        """What NVRTC and nvcc alike are told as it is."""
        return ("--use_fast_math",) if self.fast_math else ()

    def build(self) -> Build:
        """The same for the library."""
        from kernelcast.api import Build, CompileOptions
        from kernelcast.toolchain.cache import Cache

        if self.compiler == "nvcc" and self.nvrtc:
            raise InputError(
                f"{self.nvrtc} is a version of NVRTC, which does not compile here",
                where="--nvrtc",
                hint="leave it out, and let KERNELCAST_NVCC name an nvcc of the version wanted",
            )
        folders = tuple(map(Path, self.include_dirs))
        nvcc = "" if self.compiler == "nvcc" else None
        options = CompileOptions(
            self.defines, folders, self.std, self.extra, nvrtc=self.nvrtc, nvcc=nvcc
        )
        cache = Cache(Path(self.cache_dir)) if self.cache_dir else Cache()
        return Build(options, self.registers, cache, self.isa)


source_options = gathered(
    "source",
    SourceFlags,
    click.option(
        "--kernel",
        metavar="NAME",
        default="",
        shell_complete=_complete_kernel,
        help="The kernel to take, where FILE holds several; templates as 'tiled<16>'.",
    ),
    click.option(
        "--isa",
        type=click.Choice(["auto", "ptx", "sass"]),
        default="auto",
        show_default=True,
        help="The instructions to execute: machine code (sass) where there is some for the GPU.",
    ),
    click.option(
        "-D",
        "defines",
        metavar="NAME[=VALUE]",
        multiple=True,
        help="Define a macro; the launch takes a number for a name of its own, too.",
    ),
    click.option(
        "-I", "include_dirs", metavar="DIR", multiple=True, help="Search DIR for included files."
    ),
    click.option("--std", metavar="STD", help="C++ standard, e.g. c++20."),
    click.option(
        "--use-fast-math",
        "--use_fast_math",
        "fast_math",
        is_flag=True,
        help="Compile with faster and less exact functions, as nvcc does with this option.",
    ),
    click.option(
        "--compiler",
        type=click.Choice(["nvrtc", "nvcc"]),
        default="nvrtc",
        show_default=True,
        help="What compiles CUDA C++. nvcc needs a C++ compiler, and $KERNELCAST_NVCC may name it; "
        "before CUDA 13 it unrolls some loops that NVRTC does not.",
    ),
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
"""`--kernel --isa -D -I --std --compiler --nvrtc --regs --cache-dir`, as `source: SourceFlags`."""


@dataclass(frozen=True, slots=True)
class LaunchOptions:
    """A launch as typed; None where the file's own launch is to be used."""

    grid: str | None = None
    block: str | None = None
    smem: str | None = None
    args: tuple[str, ...] = ()
    symbols: tuple[str, ...] = ()
    functions: tuple[str, ...] = ()
    loops: tuple[int, ...] = ()
    sizes: tuple[str, ...] = ()

    def flags(self, source: SourceFlags) -> LaunchFlags:
        """The same for the library."""
        from kernelcast.frontends.c.choices import LoopFlags
        from kernelcast.frontends.workloads import LaunchFlags

        folders = tuple(map(Path, source.include_dirs))
        loops = LoopFlags(self.functions, self.loops, self.sizes, source.defines, folders)
        return LaunchFlags(
            source.kernel,
            self.grid,
            self.block,
            self.smem,
            self.args,
            self._macros(source),
            symbols=self.symbols,
            loops=loops,
        )

    def _macros(self, source: SourceFlags) -> dict[str, int | float]:
        """Macros that are numbers, which the launch takes, too, where `--arg` says nothing else."""
        given = {one.partition("=")[0].strip() for one in self.args}
        named = (define.partition("=") for define in source.defines)
        numbers = {name: _number(value or "1") for name, _, value in named if name not in given}
        return {name: value for name, value in numbers.items() if value is not None}


def _number(text: str) -> int | float | None:
    """What a macro stands for where that is a number."""
    with suppress(ValueError):
        return int(text, 0)
    with suppress(ValueError):
        return float(text)
    return None


caches_option = click.option(
    "--caches",
    type=click.Choice(["cold", "warm", "flushed"]),
    help="What launches find in the L2 cache: nothing (cold), what those before have left, or the "
    "launch itself (warm), or nothing, as long as they run (flushed).",
)
"""`--caches`, as `caches`; None where the workload says it."""

transfers_option = click.option(
    "--transfers",
    "transfers",
    type=click.Choice(["pinned", "pageable"]),
    help="Add the copies between host and device: what launches read goes there before them, what "
    "they write comes back, from and to memory of the host that is pinned or pageable.",
)
"""`--transfers`, as `transfers`; None where the workload says it."""

timeline_option = click.option(
    "--timeline",
    metavar="FILE",
    type=click.Path(),
    help="Write what simulated warps did, cycle by cycle, for chrome://tracing or Perfetto. Takes "
    "--model teg.",
)
"""`--timeline`, as `timeline`."""

NO_LAUNCH = LaunchOptions()

loop_options: tuple[Decorator, ...] = (
    click.option(
        "--function",
        "functions",
        metavar="NAME",
        multiple=True,
        help="Of C: the function whose loops run; all by default. Repeatable.",
    ),
    click.option(
        "--loop",
        "loops",
        type=click.IntRange(min=1),
        metavar="LINE",
        multiple=True,
        help="Of C: the loop in this line alone. Repeatable.",
    ),
    click.option(
        "--size",
        "sizes",
        metavar="NAME=VALUE",
        multiple=True,
        help="Of C: the value of a scalar parameter or variable: N=1024. Repeatable.",
    ),
)
"""`--function --loop --size`, by which loops of a C file are chosen."""

launch_options = gathered(
    "launch",
    LaunchOptions,
    click.option(
        "--grid",
        metavar="X[,Y[,Z]]",
        help="Blocks in the grid, such as 1024 or 'cdiv(n, 256)' of an --arg n.",
    ),
    click.option("--block", metavar="X[,Y[,Z]]", help="Threads in a block."),
    click.option("--smem", metavar="BYTES", help="Dynamic shared memory per block."),
    click.option(
        "--arg",
        "args",
        metavar="NAME=VALUE",
        multiple=True,
        help="A kernel argument: n=1024, 'A=f32[n,n] random(1)', 's={p=f32[n], n=1024}'. "
        "An array is TYPE[dims] and how it starts: zeros (else), ones, arange, random(seed), "
        "randint(lo, hi, seed), permutation(seed) or file('x.npy'). Repeatable.",
    ),
    click.option(
        "--symbol",
        "symbols",
        metavar="NAME=VALUE",
        multiple=True,
        help="The value of a __constant__ or __device__ variable: 'table=f32[256] arange'. "
        "Repeatable.",
    ),
    *loop_options,
)
"""`--grid --block --smem --arg --symbol --function --loop --size`, as `launch: LaunchOptions`."""


@dataclass(frozen=True, slots=True)
class SamplingFlags:
    """How much of the grid is executed."""

    exact: bool
    sample: int | None
    budget: int | None
    threads: int | None = None
    time_limit: float | None = None

    def sampling(self) -> Sampling:
        """The same for the library; InputError where it asks for two things at once."""
        from kernelcast.api import Sampling

        if self.exact and self.sample is not None:
            raise InputError("all blocks and a sample of them", where="--exact --sample")
        return Sampling(self.exact, self.sample, self.budget, self.threads, self.time_limit)


sampling_options = gathered(
    "sampling",
    SamplingFlags,
    click.option(
        "--exact",
        is_flag=True,
        help="Execute every block of the grid; where that takes long, how long is told.",
    ),
    click.option(
        "--time-limit",
        type=click.FloatRange(min=0, min_open=True),
        metavar="SECONDS",
        help="Give up where executing a launch is going to take longer.",
    ),
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
"""`--exact --time-limit --sample --budget --threads`, as `sampling: SamplingFlags`."""


_PIECE_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Output:
    """Where a command's answer goes: text or JSON to standard output, remarks to standard error."""

    as_json: bool
    quiet: bool
    debug: bool
    page: str | None = None

    def show(self, document: Struct, in_depth: Callable[[], Struct] | None = None) -> None:
        """Print the answer, as JSON where asked for, else as text.

        Where a page is asked for, it is written first: of the document that `in_depth` makes, if
        the command says more on a page.
        """
        if self.page is not None:
            from kernelcast.files import write_whole
            from kernelcast.reporting.html import page

            markup = page(in_depth() if in_depth else document)
            write_whole(Path(self.page), markup.encode())
        if self.as_json:
            import json

            from kernelcast.reporting.documents.base import as_json

            click.echo(json.dumps(as_json(document), indent=2, allow_nan=False))
            return
        from kernelcast.reporting.text import view

        text = view(document, brief=self.quiet)
        if not isinstance(text, str):
            from kernelcast.reporting.console import render_for_output

            text = render_for_output(text)
        click.echo(text)

    def show_pieces(self, pieces: Iterable[bytes]) -> None:
        """Write an answer that is too long for the memory, when all of it is there."""
        import tempfile

        with tempfile.TemporaryFile() as whole:
            whole.writelines(pieces)
            whole.seek(0)
            while piece := whole.read(_PIECE_BYTES):
                click.echo(piece, nl=False)

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
    click.option(
        "--html", "page", metavar="FILE", type=click.Path(), help="Write the answer as a page, too."
    ),
)
"""`--json --quiet --debug --html`, as `output: Output`; every command takes it."""


longer_than_option = click.option(
    "--longer-than",
    "least_us",
    type=click.FloatRange(min=0),
    default=0.0,
    metavar="US",
    help="Leave out what took less than US microseconds, such as the cost of a launch alone.",
)
"""Which measured launches are long enough to be predicted."""

configurations_option = click.option(
    "--configurations",
    "count",
    type=click.IntRange(min=1),
    default=100,
    show_default=True,
    metavar="N",
    help="Predict so many of every set, drawn at random, the same in every run.",
)
"""How many of a set of measured launches are predicted."""
