"""Raw results in, a machine file out."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernelcast.calibration.fits import UnfitError
from kernelcast.calibration.picture import Picture
from kernelcast.calibration.rules import Rule, rules
from kernelcast.calibration.rules.base import MAX_RESIDUAL, constant, pin_bandwidth
from kernelcast.errors import InputError
from kernelcast.files import write_whole
from kernelcast.machines.loader import load_machine, machine_names
from kernelcast.machines.machine import Provenance, Quantity
from kernelcast.machines.schema import ENTRIES, SCHEMA
from kernelcast.measuring.raw import Raw, RawEntry

_CLOCK_DRIFT = 0.02
"""Relative change of the clock during a benchmark above which a remark says so."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A number of the machine file; `residual` is relative, 0 for what the driver states."""

    path: str
    quantity: Quantity
    residual: float
    benchmark: str
    method: str = ""
    picture: Picture | None = None


@dataclass(frozen=True, slots=True)
class Gap:
    """A number that could not be had, and why; `picture` is that of a fit that was refused."""

    path: str
    benchmark: str
    why: str
    picture: Picture | None = None


@dataclass(frozen=True)
class Calibration:
    """What a raw file says of a GPU. Findings are in the order of the machine file."""

    raw: Raw
    findings: tuple[Finding, ...]
    gaps: tuple[Gap, ...]
    remarks: tuple[str, ...]


def calibrate(raw: Raw) -> Calibration:
    """Fit every number that the file has samples for; those that it has not are gaps."""
    return fitted(raw, rules((raw.device["major"], raw.device["minor"])), _stated(raw))


def fitted(raw: Raw, found_by: Iterable[Rule], stated: Iterable[Finding] = ()) -> Calibration:
    """Fit by these rules; `stated` are numbers that need no fit."""
    order = {path: place for place, path in enumerate(ENTRIES)}
    clock = _clock(raw)
    findings = [f for f in stated if clock is None or f.path != clock.path]
    findings += [clock] if clock else []
    gaps = []
    for rule in found_by:
        found = _apply(rule, raw)
        if isinstance(found, Finding):
            findings.append(found)
        else:
            gaps.append(found)
    return Calibration(
        raw,
        tuple(sorted(findings, key=lambda f: order[f.path])),
        tuple(sorted(gaps, key=lambda g: order[g.path])),
        tuple(_remarks(raw)),
    )


def _apply(rule: Rule, raw: Raw) -> Finding | Gap:
    def gap(why: str, picture: Picture | None = None) -> Gap:
        return Gap(rule.path, rule.benchmark, why, picture)

    entry = raw.benchmarks.get(rule.benchmark)
    if entry is None:
        return gap("not measured")
    if entry.status != "done":
        return gap(f"failed: {entry.error}")
    try:
        found = rule.fit(entry.samples, raw.device)
    except UnfitError as error:
        return gap(f"cannot be fitted: {error}")
    except (LookupError, TypeError, ValueError, ArithmeticError) as error:
        return gap(f"samples are damaged: {type(error).__name__} {error}")
    if not (math.isfinite(found.value) and math.isfinite(found.residual)):
        return gap("samples are damaged: not finite")
    if found.residual > rule.max_residual:
        why = f"residual {found.residual:.1%} is above {rule.max_residual:.0%}"
        return gap(why, found.picture)
    unit = ENTRIES[rule.path].unit
    try:
        ENTRIES[rule.path].check(found.value, rule.path)
    except InputError as error:
        return gap(error.what, found.picture)
    file = f" ({entry.file})" if entry.file else ""
    source = _source(
        f"{raw.origin}, {rule.benchmark}{file} on {raw.device['name']}{_at(entry.clock_before_hz)}",
        raw,
        entry.date or raw.date,
        f"{rule.method}; residual {found.residual:.2%}",
    )
    source = "; ".join([source, *_disturbances(entry)])
    quantity = Quantity(found.value, unit, rule.kind, source)
    return Finding(rule.path, quantity, found.residual, rule.benchmark, rule.method, found.picture)


def _source(what: str, raw: Raw, date: str, how: str) -> str:
    """What was measured, with which driver and when, where that is known, and how."""
    driver = _driver(raw.device)
    parts = [what, f"driver {driver}" if driver else "", date[:10]]
    return f"{', '.join(part for part in parts if part)}: {how}"


def _at(clock_hz: float | None) -> str:
    return f" at {clock_hz / 1e6:.0f} MHz" if clock_hz is not None else ""


def _driver(device: Mapping[str, Any]) -> str:
    """The driver's version; where nobody saw it, the CUDA version that it is for, or nothing."""
    nvml = device.get("nvml")
    version = nvml.get("driver_version") if isinstance(nvml, dict) else None
    return str(version or device.get("driver", ""))


def _stated(raw: Raw) -> Iterator[Finding]:
    """Numbers that the driver gives."""
    device = raw.device
    numbers: dict[str, float] = {
        "sm.count": device["sm_count"],
        "clock.sm": device["clock_khz"] * 1e3,
        "l2.size": device["l2_bytes"],
        "dram.size": device["memory_bytes"],
    }
    pins = pin_bandwidth(device)
    if pins is not None:
        numbers["clock.memory"] = device["memory_clock_khz"] * 1e3
        numbers["dram.bandwidth"] = pins
    source = f"driver {_driver(device)} on {device['name']}, {raw.date[:10]}"
    for path, value in numbers.items():
        if value > 0:
            unit = ENTRIES[path].unit
            yield Finding(path, Quantity(value, unit, Provenance.STATED, source), 0.0, "device")


def _clock(raw: Raw) -> Finding | None:
    """The clock at which the SMs ran, where that was the same all along; cycles are of it."""
    seen = [entry.clock_before_hz for entry in raw.benchmarks.values()]
    clocks_hz = [hz for hz in seen if hz]
    if not clocks_hz:
        return None
    found = constant(clocks_hz, "Hz")
    if found.residual > MAX_RESIDUAL:
        return None
    path, method = "clock.sm", "median of the clock before every benchmark"
    how = f"{method}; residual {found.residual:.2%}"
    source = _source(f"{raw.origin} on {raw.device['name']}", raw, raw.date, how)
    quantity = Quantity(found.value, ENTRIES[path].unit, Provenance.MEASURED, source)
    return Finding(path, quantity, found.residual, "all", method, found.picture)


def _remarks(raw: Raw) -> Iterator[str]:
    """What may have disturbed the measurement."""
    nvml = raw.device.get("nvml")
    if isinstance(nvml, dict) and "unavailable" in nvml:
        yield f"nobody saw whether clocks were held down, or who shared it: {nvml['unavailable']}"
    for name, entry in raw.benchmarks.items():
        for what in _disturbances(entry):
            yield f"{name}: {what}"


def _disturbances(entry: RawEntry[Any]) -> Iterator[str]:
    """What may have disturbed one benchmark."""
    before, after = entry.clock_before_hz, entry.clock_after_hz
    if before and after and abs(after / before - 1) > _CLOCK_DRIFT:
        yield (
            f"the clock went from {before / 1e6:.0f} to {after / 1e6:.0f} MHz; "
            "fix it with nvidia-smi --lock-gpu-clocks and measure again"
        )
    if entry.held_down:
        yield f"the clock was held down by {', '.join(entry.held_down)}"
    if entry.other_programs:
        yield f"the GPU was shared with {entry.other_programs} other programs"
    if entry.late_launches:
        yield f"{entry.late_launches} launches may hold time in which the GPU waited for the host"
    if entry.is_cut:
        yield "its last line is cut off, and left out"


_NO_REFERENCE = str.maketrans("{}", "()")
"""Braces in the source of a machine file would cite another source."""


def _machine_toml(calibration: Calibration) -> str:
    """The machine file: identity, and every finding with unit, kind and source."""
    device = calibration.raw.device
    capability = (device["major"], device["minor"])
    identity = {
        "schema": SCHEMA,
        "version": f"measured {calibration.raw.date[:10]}".rstrip(),
        "title": device["name"],
        "vendor": "NVIDIA",
        "chip": "not named by the driver",
        "architecture": _architecture(capability),
        "compute_capability": f"{capability[0]}.{capability[1]}",
    }
    lines = [f"{key} = {_text(value)}" for key, value in identity.items()]
    group = ""
    for finding in calibration.findings:
        table, _, key = finding.path.rpartition(".")
        if table != group:
            lines += ["", f"[{table}]"]
            group = table
        quantity = finding.quantity
        source = _text(quantity.source.translate(_NO_REFERENCE))
        lines.append(
            f"{key} = {{ value = {quantity.value!r}, unit = {_text(quantity.unit)}, "
            f"kind = {_text(quantity.kind.value)}, source = {source} }}"
        )
    return "\n".join(lines) + "\n"


def write_machine(calibration: Calibration, path: str) -> None:
    """Write the machine file whole; InputError where it cannot be written or does not load."""
    if not path.endswith(".toml"):
        raise InputError("a machine file ends in .toml", where=path, hint="rename it")
    write_whole(Path(path), _machine_toml(calibration).encode())
    load_machine(path)


def _architecture(capability: tuple[int, int]) -> str:
    """As the machine files of the same major compute capability say, the exact one first."""
    known = [load_machine(name) for name in machine_names()]
    near = [m for m in known if m.compute_capability[0] == capability[0]]
    exact = [m for m in near if m.compute_capability == capability]
    return (exact or near)[0].architecture if exact or near else "unknown"


def _text(value: str) -> str:
    printable = "".join(c if c.isprintable() else "?" for c in value)
    return json.dumps(printable, ensure_ascii=False)
