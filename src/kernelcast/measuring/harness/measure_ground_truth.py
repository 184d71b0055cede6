"""Times the kernels with known results on a GPU and writes what it found as one JSON file.

This file is copied into a folder with the compiled kernels and runs there by itself: it needs
Python 3.10, NVIDIA's driver, and nothing else.

    python3 measure_ground_truth.py --out ground-truth.json [--quick]

They run in a process of their own, and after one that fails the next in a new one. What is in the
output file already is not run again. A configuration is timed only where the same code gives the
right result at a small size.
"""

from __future__ import annotations

import argparse
import array
import ctypes
import hashlib
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING or __package__:
    from kernelcast.measuring.harness.gpu_driver import GpuError
    from kernelcast.measuring.harness.gpu_state import held_down, open_monitor
    from kernelcast.measuring.harness.ground_truth_device import (
        Arguments,
        Device,
        Pack,
        Starts,
        Work,
        open_device,
    )
    from kernelcast.measuring.harness.measure import Sample, Session, described
    from kernelcast.measuring.harness.runner import DEVICE, RawKind, arguments, run
    from kernelcast.measuring.harness.worker import Entry, answer, now
else:  # in a folder of its own, whose files Python need not look for by itself
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    from gpu_driver import GpuError
    from gpu_state import held_down, open_monitor
    from ground_truth_device import Arguments, Device, Pack, Starts, Work, open_device
    from measure import Sample, Session, described
    from runner import DEVICE, RawKind, arguments, run
    from worker import Entry, answer, now

SCHEMA = "kernelcast/ground-truth/1"
RIGHT, WRONG, FAILED = "right", "wrong", "failed"

REPEATS, QUICK_REPEATS, FEWEST_REPEATS = 20, 5, 5
SERIES_S = 1.0
"""Time after which a series of launches ends with the fewest repeats."""
QUICK_CONFIGURATIONS = 2
"""Configurations of a kernel that a quick run takes."""
WARM_UPS = 2
HOLD_CYCLES = 400_000
"""How long the GPU is kept busy before a launch: some 200 us, in which the rest is handed over."""
FLUSH_FACTOR = 4
"""Size of the buffer that displaces the L2 cache, over the cache's."""

_ONE = (1, 1, 1)
TYPE_CODES = {
    "u8": "B",
    "s8": "b",
    "u16": "H",
    "s16": "h",
    "u32": "I",
    "s32": "i",
    "u64": "Q",
    "s64": "q",
    "f32": "f",
    "f64": "d",
}
"""Element types of results, as Python's arrays call them."""


class WrongResultError(Exception):
    """An array that is not what it should be."""


def judge(label: str, found: bytes, wanted: Mapping[str, Any], expected: bytes) -> float:
    """How far an array is off, as a share of what is allowed; WrongResultError above 1."""
    values = array.array(TYPE_CODES[wanted["type"]], found)
    if wanted["unordered"]:
        values = array.array(values.typecode, sorted(values))
    if "sha256" in wanted:
        if hashlib.sha256(exact_bytes(values)).hexdigest() != wanted["sha256"]:
            raise WrongResultError(f"{label} is not exactly what it should be")
        return 0.0
    worst, wrong = 0.0, []
    for at, (value, right) in enumerate(
        zip(values, array.array(wanted["code"], expected), strict=True)
    ):
        allowed = wanted["absolute"] + wanted["relative"] * abs(right)
        off = abs(value - right)
        if not off <= allowed:  # also where it is no number
            wrong.append(f"{label}[{at}] is {value!r}, not {right!r} within {allowed:.2g}")
        elif allowed:
            worst = max(worst, off / allowed)
    if wrong:
        raise WrongResultError(f"{wrong[0]}, and {len(wrong) - 1} more of {len(values)} are wrong")
    return worst


def exact_bytes(values: array.array[Any]) -> bytes:
    """Bytes that are equal for equal values: zeros are positive."""
    return array.array(values.typecode, [0 + value for value in values]).tobytes()


class Bench:
    """A GPU, the pack, and how to time a launch on it."""

    def __init__(self, gpu: Device, pack: Pack, quick: bool) -> None:
        self.gpu, self.pack = gpu, pack
        self.repeats = QUICK_REPEATS if quick else REPEATS
        self.most_configurations = QUICK_CONFIGURATIONS if quick else None
        self.starts = Starts(gpu, pack)
        self.session = Session(gpu, pack.folder, quick, open_monitor(gpu.properties["pci_bus_id"]))
        self.late = 0
        cycles = ctypes.c_int64(HOLD_CYCLES)
        self._hold = Work(self.starts.kernel("hold"), _ONE, _ONE, 0, [cycles])
        self._hold_s = HOLD_CYCLES / (1e3 * gpu.properties["clock_khz"])
        self._flushed_bytes = FLUSH_FACTOR * max(1 << 20, gpu.properties["l2_bytes"])
        self._flushed = gpu.allocate(self._flushed_bytes)
        count = ctypes.c_uint64(self._flushed_bytes // 16)
        grid = (4 * gpu.properties["sm_count"], 1, 1)
        arguments = [self._flushed, count, gpu.allocate(8)]
        self._read_all = Work(self.starts.kernel("read_all"), grid, (256, 1, 1), 0, arguments)

    def empty_s(self) -> list[float]:
        """Seconds of a launch that does nothing, timed like all others."""
        nothing = Work(self.session.kernel("launch", "empty"), _ONE, (32, 1, 1), 0, [])
        return self.series(nothing, lambda: None)

    def series(self, work: Work, prepare: Callable[[], None]) -> list[float]:
        """Seconds of repeated launches after warming up, `prepare` before each."""
        for _ in range(WARM_UPS):
            prepare()
            self.gpu.start(work)
        self.gpu.wait()
        taken: list[float] = []
        begin = time.monotonic()
        while len(taken) < self.repeats:
            if len(taken) >= FEWEST_REPEATS and time.monotonic() - begin > SERIES_S:
                break
            prepare()
            seconds, handing_over_s = self.gpu.timed(work, self._hold)
            self.late += handing_over_s > self._hold_s
            taken.append(seconds)
        return taken

    def flush(self) -> None:
        """Displace all that the L2 cache holds, by lines that need not be written back."""
        self.gpu.clear(self._flushed, self._flushed_bytes)
        self.gpu.start(self._read_all)


class Launched:
    """One launch of a kernel: its work and its arguments, which are given back at the end."""

    def __init__(self, bench: Bench, family: str, chosen: Mapping[str, Any], scale: str) -> None:
        gpu, launch = bench.gpu, chosen[scale]
        code = bench.pack.code(gpu.properties) / f"{family}.cubin"
        function = gpu.function(code, chosen["symbol"])
        self.arguments = Arguments(gpu, bench.starts, launch)
        grid, block, smem_bytes = launch["grid"], launch["block"], launch["smem_bytes"]
        self.work = Work(function, grid, block, smem_bytes, self.arguments.values)

    def __enter__(self) -> Launched:
        return self

    def __exit__(self, *_: object) -> None:
        self.arguments.release()


def launch_record(chosen: Mapping[str, Any], number: int) -> Sample:
    """The launch of a configuration as the file holds it."""
    full = chosen["full"]
    return {
        "configuration": number,
        "kernel": chosen["kernel"],
        **{key: full[key] for key in ("grid", "block", "smem_bytes")},
        "args": {argument["label"]: argument["text"] for argument in full["args"]},
    }


def code_record(code: Path) -> dict[str, str]:
    """The compiled code of an entry as the file holds it."""
    digest = hashlib.sha256(code.read_bytes()).hexdigest()
    return {"architecture": code.parent.name, "cubin_sha256": digest}


def configuration(bench: Bench, kernel: Mapping[str, Any], number: int) -> Sample:
    """One sample of the file: the launch, whether its result is right, and its times if so."""
    chosen = kernel["configurations"][number]
    sample = launch_record(chosen, number)
    try:
        share = checked(bench, kernel["family"], chosen)
        times = timed(bench, kernel["family"], chosen)
        return {**sample, "result": RIGHT, "error_share": share, **times}
    except WrongResultError as wrong:
        return {**sample, "result": WRONG, "error": str(wrong)}
    except GpuError as error:
        return {**sample, "result": FAILED, "error": str(error)}


def checked(bench: Bench, family: str, chosen: Mapping[str, Any]) -> float:
    """Launch at the small size; the largest error as a share of what is allowed."""
    with Launched(bench, family, chosen, "small") as launched:
        bench.gpu.start(launched.work)
        bench.gpu.wait()
        return max(
            judge(label, launched.arguments.result(label), wanted, bench.pack.expected(wanted))
            for label, wanted in chosen["expected"].items()
        )


def timed(bench: Bench, family: str, chosen: Mapping[str, Any]) -> Sample:
    """Times at the full size. Arrays that the kernel changes start anew before every launch."""
    late = bench.late
    with Launched(bench, family, chosen, "full") as launched:

        def restart() -> None:
            launched.arguments.start(chosen["expected"])

        def restart_cold() -> None:
            restart()
            bench.flush()

        return {
            **bench.gpu.described(launched.work),
            "warm_s": bench.series(launched.work, restart),
            "cold_s": bench.series(launched.work, restart_cold),
            "late_launches": bench.late - late,
            "clock_hz": bench.session.clock_hz(),
        }


def run_kernel(bench: Bench, name: str) -> dict[str, Any]:
    """One entry of the file: a sample per configuration; `failed` where one is not right."""
    begin = time.monotonic()
    kernel = bench.pack.table["kernels"][name]
    code = bench.pack.code(bench.gpu.properties) / f"{kernel['family']}.cubin"
    clock_before_hz, before = bench.session.settled_clock_hz(), bench.session.state()
    entry: dict[str, Any] = {
        "status": "done",
        "date": now(),
        "family": kernel["family"],
        **code_record(code),
        "clock_before_hz": clock_before_hz,
        "empty_s": bench.empty_s(),
    }
    numbers = range(len(kernel["configurations"]))[: bench.most_configurations]
    samples = [configuration(bench, kernel, number) for number in numbers]
    bad = [s for s in samples if s["result"] != RIGHT]
    if bad:
        what = f"configuration {bad[0]['configuration']} is {bad[0]['result']}: {bad[0]['error']}"
        entry.update(status="failed", error=f"{len(bad)} of {len(samples)} not timed; {what}")
    after = bench.session.state()
    return {
        **entry,
        "took_s": round(time.monotonic() - begin, 3),
        "state_before": before,
        "state_after": after,
        "held_down": held_down(before, after),
        "samples": samples,
    }


def child(pack: Pack, options: argparse.Namespace) -> Callable[[str], Entry]:
    """What a process of its own makes of a name: the device's properties, or one entry."""
    gpu = open_device(options.device)

    def entry(name: str) -> Entry:
        if name == DEVICE:
            return described(gpu, open_monitor(gpu.properties["pci_bus_id"]))
        return run_kernel(bench(), name)

    @cache
    def bench() -> Bench:
        return Bench(gpu, pack, options.quick)

    return entry


def main() -> int:
    """Entry point of the folder."""
    pack = Pack(Path(__file__).resolve().parent)
    options = arguments(__doc__ or "", "ground-truth.json", pack.names(quick=False))
    if options.child:
        return answer(lambda: child(pack, options))
    return measured(pack, options)


def measured(pack: Pack, options: argparse.Namespace) -> int:
    """Time what the file does not hold yet; the exit status."""
    kind = RawKind(SCHEMA, pack.table["suite"], "kernels")
    return run_kernels(pack, options, kind, __file__)


def run_kernels(
    pack: Pack, options: argparse.Namespace, kind: RawKind, script: str, more: Sequence[str] = ()
) -> int:
    """Run what the file does not hold yet, in processes of a script; the exit status.

    `more` are options of the script besides those that all have.
    """
    tail = ["--device", str(options.device)] + (["--quick"] if options.quick else [])
    return run(
        pack.folder,
        options,
        kind,
        options.only or pack.names(options.quick),
        [sys.executable, script, "--child", *tail, *more],
        pack.code,
    )


if __name__ == "__main__":
    sys.exit(main())
