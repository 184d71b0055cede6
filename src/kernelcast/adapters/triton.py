"""Functions of `triton.jit`: compiled by Triton for a GPU that is not there, and forecast.

from kernelcast.adapters.triton import forecast

print(forecast(add, None, {"BLOCK": 1024}, (n // 1024,), "h100-sxm",
               args={"x": kc.f32(n), "y": kc.f32(n), "out": kc.f32(n), "n": n}))
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Unpack

from kernelcast.adapters.common import Options, check_options, extents, forecast_of, package
from kernelcast.adapters.triton_descriptors import (
    HostDescriptor,
    described,
    descriptor,
    is_descriptor,
    taken,
)
from kernelcast.adapters.values import argument
from kernelcast.api import DEFAULT_GPU, Build, Forecast, Launch, machine
from kernelcast.errors import CompileError, InputError, LaunchError, NotFoundError
from kernelcast.frontends.loading import load_compiled
from kernelcast.ir import Argument, Array
from kernelcast.machines.machine import Machine

__all__ = ["descriptor", "forecast", "perf_model"]

Grid = int | tuple[int, ...] | Callable[[Mapping[str, Any]], Any]
"""Blocks of a launch, or what computes them of the constants, as in `kernel[grid](...)`."""

_TYPES = {
    **{f"u{bits}": f"u{bits}" for bits in (8, 16, 32, 64)},
    **{f"{kind}{bits}": f"i{bits}" for bits in (8, 16, 32, 64) for kind in "sb"},
    "f16": "fp16",
    "bf16": "bf16",
    "f32": "fp32",
    "f64": "fp64",
}
"""Triton's names of element types."""
_DEFAULTS = {"enable_fp_fusion": True}
"""Unset, Triton fuses, and warns that it will not always."""
_LANES = 32
_DIVISOR = 16
_DIVISIBLE = [["tt.divisibility", _DIVISOR]]
"""How Triton is told that a pointer or a number is a multiple of 16."""


def forecast(
    fn: Any,
    signature: Mapping[str, str] | None,
    constexprs: Mapping[str, Any],
    grid: Grid,
    gpu: str | Machine = DEFAULT_GPU,
    *,
    args: Mapping[str, Any],
    compile_options: Mapping[str, Any] | None = None,
    **options: Unpack[Options],
) -> Forecast:
    """What a launch of a Triton function takes on a GPU.

    `args` holds the value of every parameter that is no constant: numbers, kernelcast's arrays,
    tensors, or tensor descriptors (`descriptor`, or Triton's own). `signature` gives their types in
    Triton's words, such as `*fp32`; where it is None or leaves one out, it is what a launch with
    the value would make it. `compile_options` are those of a launch: `num_warps`, `num_stages`,
    `maxnreg`. As in a launch, pointers and numbers that 16 divides are compiled as such, and the
    number 1 as a constant.

    Raises InputError for arguments that do not fit the function, CompileError where Triton refuses
    it, ToolError without Triton, and as `kernelcast.case` does.
    """
    chip = machine(gpu)
    known = _option_names(chip)
    check_options(options, known, "compile_options")
    meta = _merged(fn, constexprs, compile_options or {}, known)
    both = {n: v for n, v in meta.items() if n in _parameters(fn)}
    call = _TritonCall.of(fn, signature or {}, {**constexprs, **both}, args)
    compiled = _compiled(fn, call, chip, {n: v for n, v in meta.items() if n in known})
    blocks = extents(grid({**args, **meta}) if callable(grid) else grid, "grid")
    made = compiled.metadata
    x, y, z = blocks
    launch = Launch(
        grid=(x * made.num_ctas, y, z),
        block=made.num_warps * _LANES,
        args={
            **taken(call.passed, getattr(made, "tensordesc_meta", None) or ()),
            **_scratch(made, x * y * z),
        },
        smem_bytes=made.shared,
        kernel=made.name,
    )
    module = load_compiled(
        compiled.asm["ptx"],
        compiled.asm["cubin"],
        name=made.name,
        maker=f"Triton {made.triton_version}",
        cache=(options.get("build") or Build()).cache,
    )
    module = replace(module, parameter_labels=tuple(launch.args))
    return forecast_of(module, launch, chip, **options)


def perf_model(
    fn: Any, grid: Grid, gpu: str | Machine = DEFAULT_GPU, **options: Unpack[Options]
) -> Callable[..., float]:
    """A `perf_model` for `prune_configs_by` of `triton.autotune`: seconds of each configuration.

    `fn` is the function of `triton.jit` that is tuned. A configuration that Triton cannot compile
    or that does not fit the GPU takes for ever. Of tensors that lie on a GPU or on PyTorch's `meta`
    device, type and shape count.

        @triton.autotune(configs, key=["n"], prune_configs_by={
            "perf_model": perf_model(add, grid, "h100-sxm"), "top_k": 3})
    """

    known = _option_names(machine(gpu))

    def seconds(**given: Any) -> float:
        parameters = _parameters(fn)
        constexprs = {
            n: v for n, v in given.items() if n in parameters and parameters[n].is_constexpr
        }
        args = {n: v for n, v in given.items() if n in parameters and n not in constexprs}
        rest = {n: v for n, v in given.items() if n in known and v is not None}
        try:
            found = forecast(
                fn, None, constexprs, grid, gpu, args=args, compile_options=rest, **options
            )
        except (CompileError, LaunchError):
            return float("inf")
        return found.time_s

    return seconds


def _parameters(fn: Any) -> dict[str, Any]:
    """The parameters of a function of triton.jit by name. InputError where it is none."""
    if hasattr(fn, "params"):
        return {p.name: p for p in fn.params}
    inner: Any = getattr(fn, "fn", None)
    if hasattr(inner, "params"):
        name = inner.__name__
        hint = f"give {name}.fn, and what would be chosen in constexprs and compile_options"
        raise InputError(f"{name} is tuned or has heuristics", where="fn", hint=hint)
    raise InputError(
        f"{getattr(fn, '__name__', fn)!r} is no function of triton.jit",
        where="fn",
        hint="decorate it with @triton.jit, and give the function itself to autotune",
    )


def _option_names(chip: Machine) -> frozenset[str]:
    """What a launch for a chip may say besides arguments, `num_warps` and its like."""
    backend = package("triton.compiler.compiler", "triton").make_backend(_target(chip))
    return frozenset(field.name for field in fields(backend.parse_options(dict(_DEFAULTS))))


def _merged(
    fn: Any, constexprs: Mapping[str, Any], options: Mapping[str, Any], known: frozenset[str]
) -> dict[str, Any]:
    """Constants and options of a launch. As in `kernel[grid](num_warps=8)`, one value is meant for
    the parameter and the option of that name. InputError where there are two, NotFoundError for an
    option that there is not."""
    for name, value in options.items():
        if name not in known:
            raise NotFoundError("option of Triton's compiler", name, known, where=fn.__name__)
        if constexprs.get(name, value) != value:
            raise InputError(
                f"{name} is {constexprs[name]} in constexprs and {value} in compile_options",
                where=fn.__name__,
                hint="give it once",
            )
    return {**options, **constexprs}


@dataclass(frozen=True)
class _TritonCall:
    """The arguments of a call as Triton sorts them: types, constants, what is known of the rest.

    `passed` are the arguments that are no constants, in order.
    """

    types: Mapping[str, str]
    constants: Mapping[str, Any]
    attributes: Mapping[tuple[int, ...], list[list[Any]]]
    passed: Mapping[str, Argument | HostDescriptor]

    @classmethod
    def of(
        cls,
        fn: Any,
        signature: Mapping[str, str],
        constexprs: Mapping[str, Any],
        args: Mapping[str, Any],
    ) -> _TritonCall:
        parameters = _parameters(fn)
        for name in (*signature, *constexprs, *args):
            if name not in parameters:
                raise NotFoundError("parameter", name, parameters, where=fn.__name__)
        types: dict[str, str] = {}
        constants: dict[str, Any] = {}
        attributes: dict[tuple[int, ...], list[list[Any]]] = {}
        passed: dict[str, Argument | HostDescriptor] = {}
        for at, parameter in enumerate(fn.params):
            name = parameter.name
            value = constexprs.get(name, args.get(name, parameter.default))
            if value is parameter.default and not parameter.has_default:
                home = "constexprs" if parameter.is_constexpr else "args"
                raise InputError(
                    f"{name} has no value", where=fn.__name__, hint=f"add {name} to {home}"
                )
            is_one = isinstance(value, int) and not isinstance(value, bool) and value == 1
            if (
                parameter.is_constexpr
                or name in constexprs
                or value is None
                or (is_one and not parameter.do_not_specialize and name not in signature)
            ):
                types[name], constants[name] = "constexpr", value
                continue
            given = _given(value, f"{fn.__name__}: {name}")
            types[name] = signature.get(name) or _type_of(given, value)
            if _is_divisible(given) and not (
                parameter.do_not_specialize or parameter.do_not_specialize_on_alignment
            ):
                attributes[(at,)] = _DIVISIBLE
            passed[name] = given
        return cls(types, constants, attributes, passed)


def _given(value: Any, where: str) -> Argument | HostDescriptor:
    if is_descriptor(value):
        return described(value, where)
    if isinstance(value, tuple):
        raise InputError(
            "tuples are not taken as arguments", where=where, hint="give its elements one by one"
        )
    return argument(value, where)


def _type_of(given: Argument | HostDescriptor, value: Any) -> str:
    """The type that a launch gives an argument."""
    if isinstance(given, HostDescriptor):
        return f"tensordesc<{_TYPES[given.array.type]}[{', '.join(map(str, given.block))}]>"
    if isinstance(given, Array):
        return f"*{_TYPES[given.type]}"
    if isinstance(value, bool):
        return "i1"
    if isinstance(given, float):
        return "fp32"
    if not isinstance(given, int):
        raise InputError("a tensor map is no argument of Triton's", hint="give an array")
    if -(1 << 31) <= given < 1 << 31:
        return "i32"
    return "i64" if given < 1 << 63 else "u64"


def _is_divisible(given: Argument | HostDescriptor) -> bool:
    """Whether 16 divides it: arrays lie at such addresses."""
    return isinstance(given, Array) or (isinstance(given, int) and given % _DIVISOR == 0)


def _scratch(made: Any, blocks: int) -> dict[str, Argument]:
    """The memory that Triton passes behind the arguments; a null pointer where it needs none."""
    sizes = {
        "global_scratch": made.global_scratch_size * made.num_ctas * blocks,
        "profile_scratch": made.profile_scratch_size * made.num_ctas * blocks,
    }
    return {name: Array("b8", (size,)) if size else 0 for name, size in sizes.items()}


def _compiled(fn: Any, call: _TritonCall, chip: Machine, compile_options: dict[str, Any]) -> Any:
    """What Triton makes of a function for a chip; CompileError with what it says against it."""
    triton = package("triton", "triton")
    compiler = package("triton.compiler", "triton")
    source = compiler.ASTSource(
        fn=fn,
        signature=dict(call.types),
        constexprs={(fn.arg_names.index(n),): value for n, value in call.constants.items()},
        attrs=dict(call.attributes),
    )
    chosen = {**_DEFAULTS, **compile_options}
    major, minor = chip.compute_capability
    try:
        return triton.compile(source, target=_target(chip), options=chosen)
    except Exception as error:
        raise CompileError(
            f"Triton does not compile it for sm_{major}{minor}: {_reason(error)}",
            where=fn.__name__,
            log=str(error),
        ) from error


def _target(chip: Machine) -> Any:
    major, minor = chip.compute_capability
    backends = package("triton.backends.compiler", "triton")
    return backends.GPUTarget("cuda", 10 * major + minor, _LANES)


def _reason(error: BaseException) -> str:
    """What an error of Triton's says, and of which line: of the innermost function it is about."""
    while hasattr(error.__cause__, "src") and hasattr(error.__cause__, "node"):
        assert error.__cause__ is not None
        error = error.__cause__
    said = [line.strip() for line in str(error).splitlines() if line.strip()]
    reason = said[-1] if said else type(error).__name__
    number = getattr(getattr(error, "node", None), "lineno", None)
    source = str(getattr(error, "src", "")).splitlines()
    if number is None or not 0 < number <= len(source):
        return reason
    return f"{reason}, in `{source[number - 1].strip()}`"
