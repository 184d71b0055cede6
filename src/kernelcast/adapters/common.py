"""What all adapters share: the options of a forecast, and the way from code to it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from importlib import import_module
from typing import Any, TypedDict, Unpack

from kernelcast.api import Build, Forecast, Launch, Sampling, machine, predict
from kernelcast.errors import InputError, NotFoundError, ToolError
from kernelcast.forecasting.cases import case_of_module
from kernelcast.frontends.loading import LoadedModule
from kernelcast.ir import CacheState
from kernelcast.ir.launch import Dim3
from kernelcast.machines.machine import Machine
from kernelcast.models.terms.base import Model
from kernelcast.profiling.run import ENOUGH


class Options(TypedDict, total=False):
    """How a forecast is made, as `kernelcast.case` and `kernelcast.predict` take it."""

    model: str | Model
    sampling: Sampling
    build: Build
    caches: str


def forecast_of(
    module: LoadedModule, launch: Launch, gpu: str | Machine, **options: Unpack[Options]
) -> Forecast:
    """The forecast of a kernel of a module, which the launch names."""
    check_options(options)
    caches = options.get("caches", "cold")
    if caches not in tuple(CacheState):
        raise NotFoundError("state of the caches", caches, set(CacheState))
    case = case_of_module(
        module,
        launch,
        machine(gpu),
        build=options.get("build") or Build(),
        sampling=options.get("sampling", ENOUGH),
        caches=CacheState(caches),
    )
    return predict(case, options.get("model", ""))


def check_options(options: Mapping[str, Any], beside: Collection[str] = (), home: str = "") -> None:
    """NotFoundError for an option that nobody knows; those `beside` belong into `home`."""
    for name in options:
        if name in beside:
            raise InputError(f"{name} is no option of a forecast", hint=f"give it in {home}")
        if name not in Options.__annotations__:
            raise NotFoundError("option", name, Options.__annotations__)


def package(name: str, extra: str) -> Any:
    """A package or module of an extra; ToolError, with how to install it, where it is missing."""
    try:
        return import_module(name)
    except ImportError as error:
        raise ToolError(
            f"{name} cannot be imported: {error}",
            hint=f"install it with: pip install 'kernelcast[{extra}]'",
        ) from error


def extents(given: object, what: str) -> Dim3:
    """Up to three positive numbers, or one, as those of a grid or a block. InputError else."""
    numbers = tuple(given) if isinstance(given, tuple | list) else (given,)
    is_sound = 1 <= len(numbers) <= 3 and all(hasattr(n, "__index__") for n in numbers)
    if not is_sound or min(map(int, numbers)) < 1:
        raise InputError(
            f"{given!r} is no {what}", where=what, hint="give one to three positive integers"
        )
    x, y, z = (*map(int, numbers), 1, 1)[:3]
    return x, y, z
