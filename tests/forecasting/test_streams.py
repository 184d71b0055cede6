"""Streams of a launch by the waves of a GPU."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelcast import api
from kernelcast.errors import LaunchError
from kernelcast.execution.blocks import Span
from kernelcast.execution.memory import Memory
from kernelcast.forecasting.streams import streams_of_launch
from kernelcast.frontends.launch_check import check_launch
from kernelcast.ir import Kernel, Launch
from kernelcast.profiling import stream_run
from kernelcast.profiling.run import Sampling
from kernelcast.profiling.streams import AccessStreams

SAXPY = Path(__file__).parents[2] / "examples" / "saxpy.cu"
WAVE = 132 * 8
"""Blocks of 256 threads that an H100 holds: 2048 threads on each of 132 SMs."""


def saxpy(blocks: int, threads: int = 256) -> tuple[Kernel, Launch]:
    kernel = api.load(SAXPY, kernel="saxpy")
    n = blocks * threads
    launch = api.Launch(
        grid=blocks, block=threads, args={"n": n, "a": 2.0, "x": api.f32(n), "y": api.f32(n)}
    )
    return kernel, check_launch(kernel, launch)


def streams(kernel: Kernel, launch: Launch, sampling: Sampling) -> AccessStreams:
    memory = Memory.build(kernel, launch)
    return streams_of_launch(kernel, launch, memory, api.machine("h100-sxm"), sampling)


def test_waves_are_those_of_the_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_run, "MOST_WORDS", 24 * 5 * WAVE)  # three lines of each of 8 warps
    found = streams(*saxpy(10 * WAVE), Sampling())
    bounds = [(0, 0, 1), (3, 4, 5), (8, 9, 10)]
    assert found.spans == tuple(Span(*(WAVE * at for at in span)) for span in bounds)
    assert len(found.words) == 24 * 5 * WAVE


def test_exact_takes_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_run, "MOST_WORDS", 24 * WAVE)
    assert streams(*saxpy(3 * WAVE), Sampling(exact=True)).spans == (Span(0, 0, 3 * WAVE),)


def test_a_launch_that_does_not_fit_is_refused() -> None:
    kernel, launch = saxpy(4)
    with pytest.raises(LaunchError):
        streams(kernel, api.Launch(4, 256, launch.args, smem_bytes=1 << 20), Sampling())
