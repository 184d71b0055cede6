"""The whole path from a file to a forecast, one function per step.

load, workload    a file               -> Kernel, Workload      forecasting, frontends
case, cases       they, and GPUs       -> Profile -> Case       forecasting
predict, explain  a case               -> Forecast, Explanation models, reporting
occupancy_curve   a case               -> Curve                 exploration, reporting
explore           cases, numbers       -> Explored              exploration, reporting
dvfs              a case, clocks       -> Clocks                exploration, reporting
what_if           a case               -> Costs                 exploration, reporting
offload           a C file, sizes      -> Worth                 exploration, reporting
advise            a workload           -> Advised               exploration, reporting
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from kernelcast.errors import InputError, KernelcastError, NotFoundError
from kernelcast.execution.blocks import Blocks
from kernelcast.execution.run import Run
from kernelcast.execution.trace import Progress
from kernelcast.exploration.dvfs import clock_curve, usual_clocks
from kernelcast.exploration.occupancy_curve import occupancy_curve as _occupancy_curve
from kernelcast.forecasting.build import (
    Build,
    kernels_of,
    module_of,
    open_module,
    readable_kernel,
)
from kernelcast.forecasting.cases import case_of_kernel, cases_of_workload
from kernelcast.forecasting.recalled import forecast
from kernelcast.forecasting.runs import run_of_last, waves_of_launch
from kernelcast.frontends.arguments import parse_array
from kernelcast.frontends.launch_check import check_launch
from kernelcast.frontends.loading import launches_of_file
from kernelcast.frontends.source.source_launches import SourceLaunch
from kernelcast.frontends.workloads import NO_FLAGS, LaunchFlags, Workload, read_workload
from kernelcast.ir import Array, CacheState, Kernel, Launch
from kernelcast.machines import DEFAULT_GPU
from kernelcast.machines.loader import apply_overrides, load_machine, machine_names
from kernelcast.machines.machine import Machine
from kernelcast.models import default_model_name, fast_model_name, model_names, read_model
from kernelcast.models.terms.base import Case, Model
from kernelcast.profiling.run import ENOUGH, Sampling
from kernelcast.reporting.printed import (
    Advised,
    Clocks,
    Costs,
    Curve,
    Explanation,
    Explored,
    Forecast,
    SideBySide,
    Worth,
)
from kernelcast.toolchain.nvrtc import CompileOptions

__all__ = [
    "DEFAULT_GPU",
    "Advised",
    "Array",
    "Build",
    "Case",
    "Clocks",
    "CompileOptions",
    "Costs",
    "Curve",
    "Explanation",
    "Explored",
    "Forecast",
    "KernelcastError",
    "Launch",
    "LaunchFlags",
    "Sampling",
    "SideBySide",
    "Workload",
    "Worth",
    "model_names",
]


def gpus() -> tuple[str, ...]:
    """Names of all known GPUs."""
    return machine_names()


def machine(gpu: str | Machine = DEFAULT_GPU, *settings: str) -> Machine:
    """The machine of that name, numbers replaced by settings such as `dram.bandwidth=2.0e12`.

    NotFoundError with the nearest names where nobody knows the GPU or a number's path.
    """
    found = load_machine(gpu) if isinstance(gpu, str) else gpu
    return apply_overrides(found, settings)


def load(
    file: str | Path,
    *,
    gpu: str | Machine = DEFAULT_GPU,
    kernel: str = "",
    build: Build | None = None,
) -> Kernel:
    """The kernel of a CUDA C++ or PTX file, compiled for the GPU.

    `kernel` is needed where the file holds several; templates are named by expression, such as
    `tiled<16>`. Raises InputError, CompileError and ToolError.
    """
    build, chip = build or Build(), machine(gpu)
    module = open_module(Path(file), chip, [kernel], build)
    return readable_kernel(module, kernel, chip, build)


def load_source(
    source: str,
    *,
    name: str = "source",
    gpu: str | Machine = DEFAULT_GPU,
    kernel: str = "",
    build: Build | None = None,
) -> Kernel:
    """As `load`, of a text: CUDA C++ or PTX.

    `name` is what errors and reports call it; headers in quotes are looked for beside a file of
    that name, which need not be there.
    """
    build, chip = build or Build(), machine(gpu)
    data = source.encode("utf-8", "surrogateescape")
    module = module_of(data, name, chip, [kernel], build)
    return readable_kernel(module, kernel, chip, build)


def kernels(
    file: str | Path,
    *,
    gpu: str | Machine = DEFAULT_GPU,
    kernel: str = "",
    build: Build | None = None,
) -> tuple[Kernel, ...]:
    """All kernels of a CUDA C++, PTX or cubin file, or the one called `kernel`."""
    return kernels_of(open_module(Path(file), machine(gpu), [kernel], build or Build()), kernel)


def launches(
    file: str | Path, defines: Sequence[str] = (), include_dirs: Sequence[str | Path] = ()
) -> tuple[SourceLaunch, ...]:
    """The launches that a CUDA C++ source makes, as expressions; what it leaves open has a name.

    Raises InputError where the file is no source, or launches nothing.
    """
    return launches_of_file(Path(file), defines, tuple(map(Path, include_dirs)))


def workload(
    file: str | Path,
    flags: LaunchFlags = NO_FLAGS,
    *,
    function: str = "",
    sizes: Mapping[str, int | float] | None = None,
) -> Workload:
    """The launches that a source file or workload file asks for, changed by flags.

    Of C, those of all loops, or of one `function`; `sizes` are scalars of its functions. Raises
    InputError where the file cannot be read or neither says a launch.
    """
    if function or sizes:
        written = tuple(f"{name}={value!r}" for name, value in (sizes or {}).items())
        functions = (function,) if function else ()
        loops = replace(flags.loops, functions=functions, sizes=written)
        flags = replace(flags, loops=loops)
    return read_workload(file, flags)


def case(
    kernel: Kernel,
    launch: Launch,
    gpu: str | Machine = DEFAULT_GPU,
    *,
    sampling: Sampling = ENOUGH,
    build: Build | None = None,
    base_dir: Path | None = None,
    caches: str = "cold",
) -> Case:
    """Execute one launch and put its profile beside the GPU.

    `caches` says what the L2 cache holds at the start: nothing (`cold`), what the same launch has
    left (`warm`), or nothing, and what the launch leaves stays there (`flushed`). `base_dir` is
    where paths of `file(...)` arrays start. Raises LaunchError where the launch does not fit the
    kernel or the GPU, UnsupportedError for code that cannot be executed, and ExecutionError where
    the kernel itself goes wrong.
    """
    cache = (build or Build()).cache
    return case_of_kernel(
        kernel,
        launch,
        machine(gpu),
        sampling=sampling,
        cache=cache,
        base_dir=base_dir,
        caches=_cache_state(caches),
    )


def cases(
    work: Workload,
    machines: Sequence[Machine],
    *,
    build: Build | None = None,
    sampling: Sampling = ENOUGH,
    progress: Progress | None = None,
    caches: str | None = None,
) -> tuple[Case, ...]:
    """One case per launch and machine, in that order.

    `caches` is as of `case`, where it is not what the workload says; `warm` is what the launches
    before have left, or the launch itself for the first. The launches run one after another on the
    same memory. GPUs whose code is the same share one execution. `progress` is told the share of
    each execution that is done. Raises as `load` and `case` do.
    """
    state = None if caches is None else _cache_state(caches)
    return cases_of_workload(
        work, machines, build=build, sampling=sampling, progress=progress, caches=state
    )


def _cache_state(text: str) -> CacheState:
    if text not in tuple(CacheState):
        raise NotFoundError("state of the caches", text, set(CacheState))
    return CacheState(text)


def run_of_launch(
    kernel: Kernel,
    launch: Launch,
    *,
    blocks: Blocks | None = None,
    sampling: Sampling = ENOUGH,
    build: Build | None = None,
    base_dir: Path | None = None,
) -> Run:
    """The launch, ready to be executed and followed: `run.follow(*consumers)`.

    `blocks` says which blocks run, `waves` for example; else `sampling` does, 32 at random where it
    names no number. Raises as `case` does.
    """
    cache = (build or Build()).cache
    fitted = [(kernel, check_launch(kernel, launch))]
    return run_of_last(fitted, blocks=blocks, sampling=sampling, base_dir=base_dir, cache=cache)


def waves(
    kernel: Kernel,
    launch: Launch,
    gpu: str | Machine = DEFAULT_GPU,
    which: Sequence[str | int] = ("first", "middle", "last"),
) -> Blocks:
    """Whole waves of the blocks that are resident together on a GPU, for `run_of_launch`.

    LaunchError for a wave that the grid does not have.
    """
    return waves_of_launch(kernel, launch, machine(gpu), which)


def traced_cases(
    file: str | Path, machines: Sequence[Machine], *, caches: str = "cold"
) -> tuple[Case, ...]:
    """One case per launch of a trace file and machine, in that order; nothing is executed.

    The file is one that `kernelcast trace --out` wrote, a trace of Accel-Sim, or its list of
    several. Raises InputError where it is damaged.
    """
    from kernelcast.forecasting.traced import cases_of_traces  # loads the readers of traces

    return cases_of_traces(Path(file), machines, _cache_state(caches))


def predict(case: Case, model: str | Model = "") -> Forecast:
    """What a model says, the default one where none is named.

    `model` is a name, with parameters set as in `mwp-cwp:comp_over_mem_equation=23`, or a model
    itself. MissingNumberError where the model needs a number that the machine lacks.
    """
    return Forecast.of(forecast(case, _model(model)))


def predict_all(case: Case) -> SideBySide:
    """What every model says."""
    return SideBySide(predict(case, name) for name in model_names())


def compare(*forecasts: Forecast) -> SideBySide:
    """Forecasts side by side: of one launch on several GPUs, of its versions, by several models."""
    if not forecasts:
        raise InputError("no forecast to compare", where="compare")
    return SideBySide(forecasts)


def explain(case: Case, model: str | Model = "") -> Explanation:
    """As `predict`, with every term of the model and the cost of every line and instruction."""
    return Explanation.of(predict(case, model))


def occupancy_curve(case: Case) -> Curve:
    """Throughput against occupancy, the warps that the launch needs, and what would change that.

    By the volkov model; MissingNumberError where the machine lacks a number that it needs.
    """
    return Curve.of(_occupancy_curve(case))


def explore(
    cases: Sequence[Case] | Mapping[str, Sequence[Case]],
    sweeps: Sequence[str],
    *,
    models: Sequence[str | Model] = (),
    results: str | Path | None = None,
    workers: int = 1,
    dask: str | None = None,
    progress: Progress | None = None,
) -> Explored:
    """Predict launches by models while numbers of their machine vary, every value with every other.

    `sweeps` are texts such as `sm.count=15:80:5` or `dram.bandwidth=2.4e11,4.8e11`; `cases` are all
    of one machine, launches of one program, or of several by their name. Models are named as for
    `predict`, the default one where none is. A file of `results` is gone on with. `workers` are
    processes of this machine; `dask` is `local`, for workers of Dask in their place, or the address
    of a scheduler.

    Raises NotFoundError and InputError for what cannot be swept, before anything is computed, and
    MissingNumberError where the machine lacks a number that a model needs.
    """
    # What a plain forecast does without.
    from kernelcast.exploration.dask_workers import DaskWorkers
    from kernelcast.exploration.design_space import design_space, read_axis
    from kernelcast.exploration.executors import local_workers
    from kernelcast.exploration.explore import explore as explored
    from kernelcast.exploration.sweep import Program

    named = cases if isinstance(cases, Mapping) else {_labels(cases): cases}
    programs = [Program(name, tuple(each)) for name, each in named.items()]
    machines = [case.machine for program in programs for case in program.cases]
    if not machines or any(machine != machines[0] for machine in machines):
        raise InputError("cases of one machine are expected", where="explore")
    space = design_space(machines[0], [read_axis(text) for text in sweeps])
    names = models or (fast_model_name(),)
    return Explored.of(
        explored(
            space,
            programs,
            [read_model(model) if isinstance(model, str) else model for model in names],
            results=None if results is None else Path(results),
            executor=local_workers(workers) if dask is None else DaskWorkers.at(dask, workers),
            progress=progress,
        )
    )


def _labels(cases: Sequence[Case]) -> str:
    """The names of their kernels."""
    return ", ".join(dict.fromkeys(case.kernel.shown for case in cases))


def dvfs(
    case: Case,
    model: str | Model = "",
    *,
    sm_hz: Sequence[float] = (),
    memory_hz: Sequence[float] = (),
) -> Clocks:
    """The time at every clock of the SMs with every one of the memory, in Hz, by a model.

    Without `sm_hz` from half of the machine's to all, in tenths. Raises InputError for clocks that
    no machine has, or where the machine does not know the memory's own, and as `predict` does.
    """
    clocks = sm_hz or usual_clocks(case.machine)
    return Clocks.of(clock_curve(case, _model(model or fast_model_name()), clocks, memory_hz))


def what_if(
    case: Case,
    *removals: str,
    pairs: bool = False,
    model: str | Model = "teg",
    progress: Progress | None = None,
) -> Costs:
    """What a launch gains without each of its bottlenecks, by the timing simulation.

    `removals` are names such as `barriers`, or several joined by `+`; all that the launch has where
    none are given. With `pairs` every two are removed together, too. `model` is `teg`, its
    parameters set as for `predict`. NotFoundError with the nearest names for an unknown removal.
    """
    # What a plain forecast does without.
    from kernelcast.exploration.what_if import read_removals, simulating_model
    from kernelcast.exploration.what_if import what_if as costs

    chosen = simulating_model([_model(model)])
    return Costs.of(costs(case, chosen, read_removals(removals), pairs=pairs, progress=progress))


def offload(
    file: str | Path,
    gpus: Sequence[str | Machine] = (DEFAULT_GPU,),
    *,
    function: str = "",
    sizes: Mapping[str, int | float] | None = None,
    cpu_s: float | None = None,
    model: str | Model = "",
    transfers: str = "pinned",
    break_even: bool = True,
    build: Build | None = None,
    sampling: Sampling = ENOUGH,
) -> tuple[Worth, ...]:
    """Whether the loops of a C file are worth a GPU, function by function or of one `function`.

    `sizes` are scalars of the functions. `cpu_s` is the time on the CPU; where it is not given, the
    file is compiled by the system's C compiler and the function is called here, at several sizes if
    the `break_even` is asked for. `transfers` is `pinned` or `pageable`.

    Raises InputError where no loop can become a kernel, and ToolError where there is no compiler.
    """
    # What a plain forecast does without.
    from kernelcast.exploration.cpu_clocks import given, measured
    from kernelcast.exploration.offload import Offloading
    from kernelcast.exploration.offload import offload as offloaded
    from kernelcast.frontends.c.choices import LoopFlags
    from kernelcast.frontends.c.program import LoopChoice
    from kernelcast.frontends.loading import read_c_file
    from kernelcast.ir import HostMemory
    from kernelcast.measuring.native_c import NativeCode, c_compiler

    build, path = build or Build(), Path(file)
    options = build.options
    flags = LoopFlags(defines=options.defines, include_dirs=options.include_dirs)
    what = Offloading(
        file=path,
        program=flags.program(read_c_file(path), str(path)),
        choice=LoopChoice((function,) if function else (), sizes=sizes),
        machines=tuple(map(machine, gpus)),
        model=_model(model),
        memory=HostMemory(transfers),
        build=build,
        sampling=sampling,
        finds_break_even=break_even,
    )
    if cpu_s is None:
        code = NativeCode(c_compiler(), defines=options.defines, include_dirs=options.include_dirs)
        clock = measured(path, code)
    else:
        clock = given(cpu_s)
    return tuple(map(Worth.of, offloaded(what, clock)))


def advise(
    work: Workload,
    gpu: str | Machine = DEFAULT_GPU,
    *,
    model: str | Model = "volkov",
    build: Build | None = None,
    sampling: Sampling = ENOUGH,
    progress: Progress | None = None,
) -> tuple[Advised, ...]:
    """Which blocks and which registers make the launches of a workload faster, one for each.

    Every candidate is forecast by `model`, the fastest are executed; what is advised the default
    model finds faster, too, and it leaves the same in memory. Raises as `cases` and `predict` do,
    where a launch itself cannot be forecast.
    """
    # What a plain forecast does without.
    from kernelcast.exploration.advice import advise_launch

    return tuple(
        Advised.of(
            advise_launch(
                work,
                launch,
                machine(gpu),
                _model(model),
                build=build,
                sampling=sampling,
                progress=progress,
            )
        )
        for launch in work.launches
    )


def _model(model: str | Model) -> Model:
    return read_model(model or default_model_name()) if isinstance(model, str) else model


def _arrays_of(type_name: str) -> Callable[..., Array]:
    """The constructor of arrays of one element type."""

    def make(*shape: int, fill: str = "zeros") -> Array:
        if not shape:
            hint = f"write {type_name}(1024), or {type_name}(1) for a single element"
            raise InputError(f"{type_name}() says no size", where="array", hint=hint)
        text = f"{type_name}[{', '.join(map(str, shape))}] {fill}"
        return parse_array(text, {}, where="array")

    make.__name__ = type_name
    make.__doc__ = f"A device array of {type_name}: `{type_name}(1024, 1024, fill='random(1)')`."
    return make


b8, b16, b32, b64 = map(_arrays_of, ("b8", "b16", "b32", "b64"))
u8, u16, u32, u64 = map(_arrays_of, ("u8", "u16", "u32", "u64"))
s8, s16, s32, s64 = map(_arrays_of, ("s8", "s16", "s32", "s64"))
f16, bf16, f32, f64 = map(_arrays_of, ("f16", "bf16", "f32", "f64"))
