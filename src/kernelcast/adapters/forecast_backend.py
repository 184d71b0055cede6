"""The backend of Kernel Tuner that forecasts: no driver, no GPU, the same methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from kernel_tuner.backends.backend import GPUBackend
from kernel_tuner.observers.observer import BenchmarkObserver

from kernelcast.adapters.common import Options, forecast_of
from kernelcast.adapters.cupy import compile_options
from kernelcast.adapters.values import argument
from kernelcast.api import Build, Forecast, Launch
from kernelcast.errors import LaunchError, UnsupportedError
from kernelcast.execution.execute import execute
from kernelcast.execution.memory import Memory
from kernelcast.forecasting.build import chosen_isa, executable_kernel, module_of
from kernelcast.frontends.loading import LoadedModule
from kernelcast.ir import Argument
from kernelcast.machines.machine import Machine
from kernelcast.version import VERSION

_SKIPPED = "too many resources requested for launch"
"""What an error must say so that Kernel Tuner goes on with the next configuration."""


class _DeviceArgument:
    """An argument on the device that is not there; told from others by identity."""

    def __init__(self, value: Any, at: int) -> None:
        self.label = f"arg{at}"
        self.value = argument(value, f"argument {at}")


class _ForecastObserver(BenchmarkObserver):  # type: ignore[misc]
    """Hands Kernel Tuner the time, in ms, and what binds the kernel."""

    dev: Any

    def __init__(self) -> None:
        self._forecasts: list[Forecast] = []

    def after_finish(self) -> None:
        """Called after every launch."""
        self._forecasts.append(self.dev.forecast)

    def get_results(self) -> dict[str, Any]:
        """What is known of a configuration."""
        times = [1e3 * forecast.time_s for forecast in self._forecasts]
        bound = str(self._forecasts[-1].bottleneck)
        self._forecasts = []
        return {"time": float(np.mean(times)), "times": times, "bound_by": bound}


class ForecastBackend(GPUBackend):  # type: ignore[misc]
    """Compiles with NVRTC, and forecasts where others launch.

    Equal launches of equal code are forecast once. Results are computed, all blocks of them, where
    Kernel Tuner asks for them to verify a kernel. The class itself holds the GPU and the options,
    for Kernel Tuner makes the object.
    """

    chip: ClassVar[Machine]
    options: ClassVar[Options]
    units: ClassVar[Mapping[str, str]] = {"time": "ms"}

    def __init__(
        self,
        device: int = 0,
        iterations: int = 1,
        compiler_options: Sequence[str] | None = None,
        observers: Sequence[Any] | None = None,
    ) -> None:
        build = self.options.get("build") or Build()
        self._build = Build(
            compile_options(compiler_options or (), build.options),
            build.registers,
            build.cache,
            build.isa,
        )
        self._smem_bytes = 0
        self._symbols: Mapping[str, Argument] = {}
        self._forecasts: dict[tuple[object, ...], Forecast] = {}
        self._launched: tuple[LoadedModule, Launch] | None = None
        self._image: Mapping[str, bytes] | None = None
        self.forecast: Forecast | None = None
        self.name = self.chip.name
        self.max_threads = int(self.chip.number("occupancy.threads_per_block"))
        major, minor = self.chip.compute_capability
        self.env = {
            "device_name": self.name,
            "compute_capability": f"{major}{minor}",
            "iterations": iterations,
            "compiler_options": list(compiler_options or ()),
            "kernelcast": VERSION,
        }
        self.observers = [*(observers or ()), _ForecastObserver()]
        for observer in self.observers:
            observer.register_device(self)

    def ready_argument_list(self, arguments: Sequence[Any]) -> list[_DeviceArgument]:
        """The arguments as they are passed to kernels."""
        return [_DeviceArgument(value, at) for at, value in enumerate(arguments)]

    def compile(self, kernel_instance: Any) -> LoadedModule:
        """The code of a configuration."""
        text = kernel_instance.kernel_string.encode("utf-8", "surrogateescape")
        name = kernel_instance.name
        self._smem_bytes, self._symbols = 0, {}
        module = module_of(text, f"{name}.cu", self.chip, [name], self._build)
        module.kernel(name)  # a name that is not there is an error now
        self._kernel = name
        return module

    def run_kernel(
        self,
        func: LoadedModule,
        gpu_args: Sequence[_DeviceArgument],
        threads: Sequence[int],
        grid: Sequence[int],
        stream: object = None,
    ) -> None:
        """Forecast a launch."""
        launch = Launch(
            grid=tuple(map(int, grid)),
            block=tuple(map(int, threads)),
            args={given.label: given.value for given in gpu_args},
            smem_bytes=self._smem_bytes,
            kernel=self._kernel,
            symbols=self._symbols,
        )
        self._launched, self._image = (func, launch), None
        code = func.kernel(self._kernel)
        key = (code.instructions, code.resources, launch.grid, launch.block, launch.smem_bytes)
        if key not in self._forecasts:
            try:
                options: Options = {**self.options, "build": self._build}
                self._forecasts[key] = forecast_of(func, launch, self.chip, **options)
            except LaunchError as error:
                raise RuntimeError(f"{_SKIPPED}: {error}") from error
        self.forecast = self._forecasts[key]

    def memcpy_dtoh(self, dest: Any, src: _DeviceArgument) -> None:
        """What the last launch left in an array; all its blocks are executed."""
        assert self._launched is not None
        if self._image is None:
            module, launch = self._launched
            isa = chosen_isa(module, self.chip, self._build)
            kernel = executable_kernel(module, self._kernel, isa)
            memory = Memory.build(kernel, launch)
            execute(kernel, launch, memory, cache=self._build.cache)
            self._image = memory.image()
        dest[...] = np.frombuffer(self._image[src.label], dest.dtype).reshape(dest.shape)

    def copy_shared_memory_args(self, smem_args: Mapping[str, Any]) -> None:
        """Dynamic shared memory of the launches that follow, in bytes."""
        self._smem_bytes = int(smem_args["size"])

    def copy_constant_memory_args(self, cmem_args: Mapping[str, Any]) -> None:
        """Values of `__constant__` variables in the launches that follow."""
        self._symbols = {name: argument(value, name) for name, value in cmem_args.items()}

    def copy_texture_memory_args(self, texmem_args: object) -> None:
        """Refused: textures cannot be given yet."""
        raise UnsupportedError("texmem_args, textures", where=self.name)

    def kernel_finished(self) -> bool:
        """Always: a forecast is there at once."""
        return True

    def start_event(self) -> None:
        """Nothing is measured."""

    def stop_event(self) -> None:
        """Nothing is measured."""

    def synchronize(self) -> None:
        """Nothing runs."""

    def memset(self, allocation: object, value: object, size: object) -> None:
        """Launches start with the arguments as they were given."""

    def memcpy_htod(self, dest: object, src: object) -> None:
        """Launches start with the arguments as they were given."""
