"""The command that times the kernels with known results.

A configuration is timed only where the same code gives the right result at a small size.
"""

from __future__ import annotations

import argparse
import array
import hashlib
import time
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from . import measure
from .archive import Archive
from .gpu import Gpu, PreparedLaunch, open_gpu
from .gpu_driver import GpuError
from .gpu_state import Monitor, held_down, open_monitor
from .ground_truth_arrays import SUPPORT, GroundTruthTable, StartedLaunch, Starts
from .runner import DEVICE, MeasuringTask, RawKind, described
from .session import Sample, Session
from .worker import Entry, now

SCHEMA = "kernelcast/ground-truth/1"
RIGHT, WRONG, FAILED = "right", "wrong", "failed"

REPEATS, QUICK_REPEATS, FEWEST_REPEATS = 20, 5, 5
_SERIES_S = 1.0
"""Time after which a series of launches ends with the fewest repeats."""
QUICK_CONFIGURATIONS = 2
"""Configurations of a kernel that a quick run takes."""
_WARM_UPS = 2

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
    """A GPU, the kernels with known results, and how to time a launch of them."""

    def __init__(self, gpu: Gpu, table: GroundTruthTable, session: Session, quick: bool) -> None:
        self.gpu, self.table, self.session = gpu, table, session
        self.repeats = QUICK_REPEATS if quick else REPEATS
        self.most_configurations = QUICK_CONFIGURATIONS if quick else None
        self.code = table.code(gpu.properties)
        self.starts = Starts(gpu, table, self.code.cubins[SUPPORT])
        self._others_bytes = session.evicting_bytes()
        self._others, self._sink = gpu.allocate(self._others_bytes), gpu.allocate(8)

    def launched(self, family: str, chosen: Mapping[str, Any], scale: str) -> StartedLaunch:
        """A launch of a configuration, its arrays as they start."""
        return StartedLaunch(self.gpu, self.starts, self.code.cubins[family], chosen, scale)

    def empty_s(self) -> list[float]:
        """Seconds of a launch that does nothing, timed like all others."""
        return self.series(
            PreparedLaunch(self.session.kernel("launch", "empty"), 1, 32, []), lambda: None
        )

    def series(self, work: PreparedLaunch, prepare: Callable[[], None]) -> list[float]:
        """Seconds of repeated launches after warming up, `prepare` before each."""
        for _ in range(_WARM_UPS):
            prepare()
            self.gpu.enqueue(*work)
        self.gpu.wait()
        taken: list[float] = []
        begin = time.monotonic()
        while len(taken) < self.repeats:
            if len(taken) >= FEWEST_REPEATS and time.monotonic() - begin > _SERIES_S:
                break
            taken.append(round(self.session.seconds(*work, before=prepare), 10))
        return taken

    def flush(self) -> None:
        """Displace all that the L2 cache holds, by lines that need not be written back."""
        self.gpu.clear(self._others, self._others_bytes)
        self.session.evict(self._others, self._sink)


def launch_record(chosen: Mapping[str, Any], number: int) -> Sample:
    """The launch of a configuration as the file holds it."""
    full = chosen["full"]
    return {
        "configuration": number,
        "kernel": chosen["kernel"],
        **{key: full[key] for key in ("grid", "block", "smem_bytes")},
        "args": {argument["label"]: argument["text"] for argument in full["args"]},
    }


def _configuration(bench: Bench, kernel: Mapping[str, Any], number: int) -> Sample:
    """One sample of the file: the launch, whether its result is right, and its times if so."""
    chosen = kernel["configurations"][number]
    sample = launch_record(chosen, number)
    try:
        share = _checked(bench, kernel["family"], chosen)
        times = _timed(bench, kernel["family"], chosen)
        return {**sample, "result": RIGHT, "error_share": share, **times}
    except WrongResultError as wrong:
        return {**sample, "result": WRONG, "error": str(wrong)}
    except GpuError as error:
        return {**sample, "result": FAILED, "error": str(error)}


def _checked(bench: Bench, family: str, chosen: Mapping[str, Any]) -> float:
    """Launch at the small size; the largest error as a share of what is allowed."""
    with bench.launched(family, chosen, "small") as launched:
        bench.gpu.launch(*launched.work)
        return max(
            judge(label, launched.arguments.result(label), wanted, bench.table.expected(wanted))
            for label, wanted in chosen["expected"].items()
        )


def _timed(bench: Bench, family: str, chosen: Mapping[str, Any]) -> Sample:
    """Times at the full size. Arrays that the kernel changes start anew before every launch."""
    late = bench.session.late
    with bench.launched(family, chosen, "full") as launched:

        def restart() -> None:
            launched.arguments.start(chosen["expected"])

        def restart_cold() -> None:
            restart()
            bench.flush()

        return {
            **bench.gpu.resources(launched.work),
            "warm_s": bench.series(launched.work, restart),
            "cold_s": bench.series(launched.work, restart_cold),
            "late_launches": bench.session.late - late,
            "clock_hz": bench.session.clock_hz(),
        }


def run_kernel(bench: Bench, name: str) -> dict[str, Any]:
    """One entry of the file: a sample per configuration; `failed` where one is not right."""
    begin = time.monotonic()
    kernel = bench.table.kernels[name]
    clock_before_hz, before = bench.session.settled_clock_hz(), bench.session.state()
    entry: dict[str, Any] = {
        "status": "done",
        "date": now(),
        "family": kernel["family"],
        "architecture": bench.code.architecture,
        "cubin_sha256": bench.code.sha256(kernel["family"]),
        "clock_before_hz": clock_before_hz,
        "empty_s": bench.empty_s(),
    }
    numbers = range(len(kernel["configurations"]))[: bench.most_configurations]
    samples = [_configuration(bench, kernel, number) for number in numbers]
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


def open_bench(gpu: Gpu, archive: Archive, quick: bool, monitor: Monitor | None = None) -> Bench:
    """The bench of a GPU."""
    code = archive.code(measure.FOLDER, gpu.properties)
    return Bench(gpu, GroundTruthTable(archive), Session(gpu, code, quick, monitor), quick)


def program(archive: Archive, options: argparse.Namespace) -> MeasuringTask:
    """The kernels with known results, by the code of the pack."""
    table = GroundTruthTable(archive)
    return MeasuringTask(
        kind=RawKind(SCHEMA, table.suite, "kernels"),
        known=table.names(quick=False),
        chosen=options.only or table.names(options.quick),
        code=table.code,
        entries=lambda: _entries(archive, options),
    )


def _entries(archive: Archive, options: argparse.Namespace) -> Callable[[str], Entry]:
    gpu = open_gpu(options.device)
    monitor = open_monitor(gpu.properties["pci_bus_id"])

    def entry(name: str) -> Entry:
        return described(gpu, monitor) if name == DEVICE else run_kernel(bench(), name)

    @cache
    def bench() -> Bench:
        return open_bench(gpu, archive, options.quick, monitor)

    return entry
