"""A forecast for GPU kernels: how long, on which chip, and what binds it, without a GPU.

    import kernelcast as kc

    kernel = kc.load("saxpy.cu", gpu="h100-sxm")
    launch = kc.Launch(grid=4096, block=256, args={"n": 1 << 20, "a": 2.0, ...})
    print(kc.predict(kc.case(kernel, launch, gpu="h100-sxm")))

Names are imported when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kernelcast.api import (
        DEFAULT_GPU,
        Array,
        Explanation,
        Explored,
        Forecast,
        KernelcastError,
        Launch,
        Sampling,
        SideBySide,
        b8,
        b16,
        b32,
        b64,
        bf16,
        case,
        cases,
        compare,
        dvfs,
        explain,
        explore,
        f16,
        f32,
        f64,
        gpus,
        launches,
        load,
        load_source,
        machine,
        model_names,
        occupancy_curve,
        offload,
        predict,
        predict_all,
        run_of_launch,
        s8,
        s16,
        s32,
        s64,
        traced_cases,
        u8,
        u16,
        u32,
        u64,
        waves,
        what_if,
        workload,
    )

__all__ = [
    "DEFAULT_GPU",
    "Array",
    "Explanation",
    "Explored",
    "Forecast",
    "KernelcastError",
    "Launch",
    "Sampling",
    "SideBySide",
    "b8",
    "b16",
    "b32",
    "b64",
    "bf16",
    "case",
    "cases",
    "compare",
    "dvfs",
    "explain",
    "explore",
    "f16",
    "f32",
    "f64",
    "gpus",
    "launches",
    "load",
    "load_source",
    "machine",
    "model_names",
    "occupancy_curve",
    "offload",
    "predict",
    "predict_all",
    "run_of_launch",
    "s8",
    "s16",
    "s32",
    "s64",
    "traced_cases",
    "u8",
    "u16",
    "u32",
    "u64",
    "waves",
    "what_if",
    "workload",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from kernelcast import api

    return getattr(api, name)


def __dir__() -> list[str]:
    return sorted(__all__)
