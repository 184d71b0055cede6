"""Kernel Tuner without a GPU: its search over configurations, with forecasts in place of times.

from kernelcast.adapters.kernel_tuner import tune_kernel

results, env = tune_kernel("saxpy", "saxpy.cu", n, arguments, tune_params, gpu="h100-sxm")
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from unittest.mock import patch

from kernelcast.adapters.common import Options, package
from kernelcast.api import DEFAULT_GPU, machine
from kernelcast.errors import InputError
from kernelcast.machines.machine import Machine

_BACKEND = "NVCUDA"
"""The language of Kernel Tuner whose backend stands back for ours while it tunes."""


def tune_kernel(
    kernel_name: str,
    kernel_source: Any,
    problem_size: Any,
    arguments: Sequence[Any],
    tune_params: Mapping[str, Sequence[Any]],
    *,
    gpu: str | Machine = DEFAULT_GPU,
    settings: Options | None = None,
    **of_kernel_tuner: Any,
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """`kernel_tuner.tune_kernel` with forecasts: results of all configurations, and environment.

    All further arguments are its own: `strategy`, `restrictions`, `cache`, `answer`, `metrics`, ...
    `settings` are the model, sampling, build and state of the caches. Every result has the time in
    ms and what binds the kernel, `bound_by`. A forecast is the same every time, so one iteration is
    the default.

    Raises InputError for a language that is not CUDA, ToolError without Kernel Tuner, and as
    `kernelcast.case` does.
    """
    tuner = package("kernel_tuner", "kernel-tuner")
    backends = package("kernel_tuner.backends.nvcuda", "kernel-tuner")
    from kernelcast.adapters.forecast_backend import ForecastBackend  # needs Kernel Tuner

    language = of_kernel_tuner.pop("lang", "CUDA") or "CUDA"
    if language.upper() not in ("CUDA", "NVCUDA", "PYCUDA", "CUPY"):
        raise InputError(
            f"kernels in {language} are not forecast", where="lang", hint="give CUDA C++"
        )

    class Backend(ForecastBackend):
        chip = machine(gpu)
        options = settings or {}

    with patch.object(backends, "CudaFunctions", Backend):
        results, environment = tuner.tune_kernel(
            kernel_name,
            kernel_source,
            problem_size,
            arguments,
            tune_params,
            lang=_BACKEND,
            **{"iterations": 1, **of_kernel_tuner},
        )
    return results, environment
