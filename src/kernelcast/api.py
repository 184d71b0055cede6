"""The whole path from a file to a forecast, one function per step.

load, workload    a file               -> Kernel, Workload      frontends, toolchain, isas
case, cases       they, and GPUs       -> Profile -> Case       execution, profiling, machines
predict, explain  a case               -> Forecast, Explanation models, reporting
occupancy_curve   a case               -> Curve                 models, reporting
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from kernelcast import DEFAULT_GPU
from kernelcast.errors import KernelcastError, LaunchError, UnsupportedError
from kernelcast.execution.memory import Memory
from kernelcast.execution.trace import Progress
from kernelcast.frontends.arguments import parse_array
from kernelcast.frontends.containers import embedded_code
from kernelcast.frontends.fatbin import is_container
from kernelcast.frontends.launch_check import check_launch
from kernelcast.frontends.loading import LoadedModule, load_bytes, read_file
from kernelcast.frontends.recognise import Kind
from kernelcast.frontends.workloads import NO_FLAGS, LaunchFlags, Workload, read_workload
from kernelcast.ir import Array, Kernel, Launch, TensorMap
from kernelcast.machines.launch_limits import check_launch as check_limits
from kernelcast.machines.loader import apply_overrides, load_machine, machine_names
from kernelcast.machines.machine import Machine
from kernelcast.machines.occupancy import occupancy_of_launch
from kernelcast.models.base import Case
from kernelcast.models.occupancy_curve import occupancy_curve as _occupancy_curve
from kernelcast.models.registry import default_model_name, load_model, model_names
from kernelcast.profiling.profile import Profile
from kernelcast.profiling.run import ENOUGH, Sampling, profile_launch
from kernelcast.reporting.explanation import Explanation
from kernelcast.reporting.forecast import Forecast
from kernelcast.reporting.occupancy_curve import Curve
from kernelcast.toolchain.cache import Cache
from kernelcast.toolchain.nvrtc import CompileOptions

__all__ = [
    "Array",
    "Build",
    "Case",
    "CompileOptions",
    "Curve",
    "Explanation",
    "Forecast",
    "KernelcastError",
    "Launch",
    "LaunchFlags",
    "Sampling",
    "Workload",
    "model_names",
]


@dataclass(frozen=True)
class Build:
    """How a source becomes code.

    Compiler options, a register count in place of the compiler's, and the cache of compiled code.
    `isa` is `ptx`, `sass`, or `auto`: machine code where there is some for the GPU itself and all
    that counts of it is understood.
    """

    options: CompileOptions = field(default_factory=CompileOptions)
    registers: int | None = None
    cache: Cache | None = field(default_factory=Cache)
    isa: str = "auto"


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
    build = build or Build()
    chip = machine(gpu)
    module = _open(Path(file), chip, [kernel], build)
    return _kernel(module, kernel, _isa(module, chip, build))


def kernels(
    file: str | Path,
    *,
    gpu: str | Machine = DEFAULT_GPU,
    kernel: str = "",
    build: Build | None = None,
) -> tuple[Kernel, ...]:
    """All kernels of a CUDA C++, PTX or cubin file, or the one called `kernel`."""
    module = _open(Path(file), machine(gpu), [kernel], build or Build())
    names = [kernel] if kernel else module.kernel_names
    return tuple(_noted(module.kernel(name), module) for name in names)


def workload(file: str | Path, flags: LaunchFlags = NO_FLAGS) -> Workload:
    """The launches that a source file or workload file asks for, changed by flags.

    Raises InputError where the file cannot be read or neither says a launch.
    """
    return read_workload(file, flags)


def case(
    kernel: Kernel,
    launch: Launch,
    gpu: str | Machine = DEFAULT_GPU,
    *,
    sampling: Sampling = ENOUGH,
    build: Build | None = None,
    base_dir: Path | None = None,
) -> Case:
    """Execute one launch and put its profile beside the GPU.

    `base_dir` is where paths of `file(...)` arrays start. Raises LaunchError where the launch does
    not fit the kernel or the GPU, UnsupportedError for code that cannot be executed, and
    ExecutionError where the kernel itself goes wrong.
    """
    chip = machine(gpu)
    kernel, launch = _fitted(kernel, launch, chip)
    cache = (build or Build()).cache
    (profile,) = _execute([(kernel, launch)], base_dir, sampling, cache)
    return Case(kernel, launch, chip, profile)


def cases(
    work: Workload,
    machines: Sequence[Machine],
    *,
    build: Build | None = None,
    sampling: Sampling = ENOUGH,
    progress: Progress | None = None,
) -> tuple[Case, ...]:
    """One case per launch and machine, in that order.

    The launches run one after another on the same memory. GPUs whose code is the same share one
    execution. `progress` is told the share of each execution that is done. Raises as `load` and
    `case` do.
    """
    assert work.source is not None
    build = build or Build()
    names = [launch.kernel for launch in work.launches]
    modules: dict[tuple[int, int], LoadedModule] = {}
    executed: dict[tuple[object, ...], list[Profile]] = {}
    rows: list[list[Case]] = []
    for chip in machines:
        module = modules.get(chip.compute_capability)
        if module is None:
            module = _open(work.source, chip, names, build)
            modules[chip.compute_capability] = module

        def profiles_of(isa: str, chip: Machine = chip, module: LoadedModule = module) -> _Profiled:
            runs = [
                _fitted(_kernel(module, launch.kernel, isa), launch, chip)
                for launch in work.launches
            ]
            code = tuple(_code(kernel) for kernel, _ in runs)
            if code not in executed:
                executed[code] = _execute(runs, work.base_dir, sampling, build.cache, progress)
            return runs, executed[code]

        runs, profiles = _with_fallback(profiles_of, _isa(module, chip, build), build)
        rows.append(
            [
                _case(kernel, launch, chip, profiles[: at + 1])
                for at, (kernel, launch) in enumerate(runs)
            ]
        )
    return tuple(row[at] for at in range(len(work.launches)) for row in rows)


def _isa(module: LoadedModule, chip: Machine, build: Build) -> str:
    """The ISA to execute: machine code of another GPU says less of this one than PTX does."""
    if build.isa != "auto":
        return build.isa
    own = module.architecture.removeprefix("sm_").rstrip("af") == _target_of(chip)
    is_only_code = module.kind is Kind.CUBIN
    return "sass" if module.has_machine_code and (own or is_only_code) else "ptx"


def _target_of(chip: Machine) -> str:
    major, minor = chip.compute_capability
    return f"{major}{minor}"


_Profiled = tuple[list[tuple[Kernel, Launch]], list[Profile]]


def _with_fallback(profiles_of: Callable[[str], _Profiled], isa: str, build: Build) -> _Profiled:
    """The profiles of machine code, or of PTX where it holds something nobody can execute yet and
    the user did not ask for it."""
    if isa == "ptx" or build.isa != "auto":
        return profiles_of(isa)
    try:
        return profiles_of(isa)
    except UnsupportedError as error:
        try:
            runs, profiles = profiles_of("ptx")
        except UnsupportedError:
            raise error from None
        warning = _ptx_because(error.what)
        warned = [(replace(k, warnings=(*k.warnings, warning)), launch) for k, launch in runs]
        return warned, profiles


def predict(case: Case, model: str = "") -> Forecast:
    """What a model says, the default one where none is named.

    MissingNumberError where the model needs a number that the machine lacks.
    """
    return Forecast.of(load_model(model or default_model_name()).predict(case))


def predict_all(case: Case) -> tuple[Forecast, ...]:
    """What every model says."""
    return tuple(predict(case, name) for name in model_names())


def explain(case: Case, model: str = "") -> Explanation:
    """As `predict`, with every term of the model and the cost of every line and instruction."""
    return Explanation.of(predict(case, model))


def occupancy_curve(case: Case) -> Curve:
    """Throughput against occupancy, the warps that the launch needs, and what would change that.

    By the volkov model; MissingNumberError where the machine lacks a number that it needs.
    """
    return Curve.of(_occupancy_curve(case))


def _open(file: Path, chip: Machine, kernels: Sequence[str], build: Build) -> LoadedModule:
    if is_container(file):
        # Its kernels may lie in several cubins; those of one workload are taken from one.
        data = embedded_code(file, chip.compute_capability, kernels[0])
    else:
        data = read_file(file)
    module = load_bytes(
        data,
        name=str(file),
        compute_capability=chip.compute_capability,
        kernels=[name for name in kernels if name],
        options=build.options,
        registers=build.registers,
        cache=build.cache,
    )
    if build.isa == "auto" and module.without_machine_code:
        return replace(module, notes=(*module.notes, _ptx_because(module.without_machine_code)))
    return module


def _ptx_because(reason: str) -> str:
    return f"PTX was executed, not the machine code: {reason}"


def _kernel(module: LoadedModule, name: str, isa: str) -> Kernel:
    kernel = module.machine_kernel(name) if isa == "sass" else module.kernel(name)
    if not kernel.blocks:
        raise UnsupportedError(
            "the file holds machine code only, no PTX", where=module.name, hint="use --isa sass"
        )
    return _noted(kernel, module)


def _noted(kernel: Kernel, module: LoadedModule) -> Kernel:
    return replace(kernel, warnings=(*kernel.warnings, *module.notes))


def _case(kernel: Kernel, launch: Launch, chip: Machine, profiles: Sequence[Profile]) -> Case:
    """The case of a launch; its profile is the last, after those of earlier launches."""
    *earlier, own = profiles
    partial = {
        array.label
        for profile in earlier
        for array in profile.footprints
        if array.written and not profile.sample.is_exact
    }
    named = dict.fromkeys(
        value.of or label if isinstance(value, TensorMap) else label
        for label, value in launch.args.items()
    )
    if stale := [label for label in named if label in partial]:
        warning = (
            f"only a sample of an earlier launch's blocks wrote {', '.join(stale)}; "
            "use --exact where addresses or branches depend on it"
        )
        kernel = replace(kernel, warnings=(*kernel.warnings, warning))
    return Case(kernel, launch, chip, replace(own, kernel=kernel))


def _fitted(kernel: Kernel, launch: Launch, chip: Machine) -> tuple[Kernel, Launch]:
    """The launch with its arguments in the kernel's order, and the kernel with what to warn of.

    A launch that does not fit an SM is an error. One that the chip would refuse for the extent of
    its grid is predicted all the same, with a warning: old chips take only small grids.
    """
    launch = check_launch(kernel, launch)
    occupancy_of_launch(chip, kernel.resources, launch)
    try:
        check_limits(chip, launch)
    except LaunchError as error:
        return replace(kernel, warnings=(*kernel.warnings, error.what)), launch
    return kernel, launch


def _code(kernel: Kernel) -> tuple[object, ...]:
    """What decides how a kernel executes: equal for targets that differ in nothing else."""
    return kernel.parameters, kernel.instructions, kernel.blocks, kernel.variables


def _execute(
    runs: Sequence[tuple[Kernel, Launch]],
    base_dir: Path | None,
    sampling: Sampling,
    cache: Cache | None,
    progress: Progress | None = None,
) -> list[Profile]:
    profiles: list[Profile] = []
    memory: Memory | None = None
    for number, (kernel, launch) in enumerate(runs, 1):
        memory = Memory.build(kernel, launch, base_dir=base_dir, earlier=memory)
        is_last = number == len(runs)
        profiles.append(
            profile_launch(
                kernel, launch, memory, sampling, cache, progress, keeps_memory=not is_last
            )
        )
    return profiles


def _arrays_of(type_name: str) -> Callable[..., Array]:
    """The constructor of arrays of one element type."""

    def make(*shape: int, fill: str = "zeros") -> Array:
        text = f"{type_name}[{', '.join(map(str, shape))}] {fill}"
        return parse_array(text, {}, where="array")

    make.__name__ = type_name
    make.__doc__ = f"A device array of {type_name}: `{type_name}(1024, 1024, fill='random(1)')`."
    return make


b8, b16, b32, b64 = map(_arrays_of, ("b8", "b16", "b32", "b64"))
u8, u16, u32, u64 = map(_arrays_of, ("u8", "u16", "u32", "u64"))
s8, s16, s32, s64 = map(_arrays_of, ("s8", "s16", "s32", "s64"))
f16, bf16, f32, f64 = map(_arrays_of, ("f16", "bf16", "f32", "f64"))
