"""Machines as a list, and one with every number and its source."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from kernelcast.machines.machine import Machine, Quantity
from kernelcast.machines.schema import ENTRIES
from kernelcast.reporting.figures import grouped

_LISTED = {
    "sm_count": "sm.count",
    "clock_hz": "clock.sm",
    "dram_bandwidth": "dram.bandwidth",
    "dram_bytes": "dram.size",
}


def render_machines(machines: Sequence[Machine]) -> RenderableType:
    """One line per machine."""
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for name in ("name", "GPU", "architecture"):
        table.add_column(name, no_wrap=True)
    for name in ("cc", "SMs", "GHz", "GB/s", "GiB"):
        table.add_column(name, justify="right", no_wrap=True)
    for machine in machines:
        table.add_row(
            machine.name,
            Text(machine.title),
            machine.architecture,
            capability(machine),
            _scaled(machine, "sm.count", 1),
            _scaled(machine, "clock.sm", 1e9),
            _scaled(machine, "dram.bandwidth", 1e9),
            _scaled(machine, "dram.size", 2**30),
        )
    return table


def render_machine(machine: Machine) -> RenderableType:
    """A machine's identity, then every number with unit, kind and source."""
    identity = (
        f"{machine.vendor} {machine.architecture}, {machine.chip}, "
        f"compute capability {capability(machine)}; file version {machine.version}"
    )
    parts: list[RenderableType] = [
        Text.assemble((machine.name, "bold"), ": ", machine.title),
        Text(identity),
    ]
    known = [path for path in ENTRIES if path in machine.quantities]
    for group, paths in groupby(known, key=lambda path: path.partition(".")[0]):
        table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
        for justify in ("left", "right", "left", "left", "left"):
            table.add_column(justify=justify, overflow="fold", no_wrap=justify == "right")
        for path in paths:
            quantity = machine.quantities[path]
            table.add_row(
                path, _value(quantity), quantity.unit, quantity.kind.value, Text(quantity.source)
            )
        parts += [Text(""), Text(group, style="bold"), table]
    return Group(*parts)


def machine_summary(machine: Machine) -> dict[str, Any]:
    """What a list says of a machine, as a plain dictionary; unknown numbers are null."""
    return {
        "name": machine.name,
        "title": machine.title,
        "vendor": machine.vendor,
        "architecture": machine.architecture,
        "chip": machine.chip,
        "compute_capability": capability(machine),
        **{key: machine.get(path) for key, path in _LISTED.items()},
    }


def machine_dict(machine: Machine) -> dict[str, Any]:
    """A machine with all its numbers as a plain dictionary."""
    return {
        "name": machine.name,
        "title": machine.title,
        "vendor": machine.vendor,
        "architecture": machine.architecture,
        "chip": machine.chip,
        "compute_capability": capability(machine),
        "file": machine.file,
        "version": machine.version,
        "overrides": list(machine.overrides),
        "quantities": {
            path: {
                "value": list(q.value) if isinstance(q.value, tuple) else q.value,
                "unit": q.unit,
                "kind": q.kind.value,
                "source": q.source,
            }
            for path in ENTRIES
            if (q := machine.quantities.get(path)) is not None
        },
    }


def capability(machine: Machine) -> str:
    """Compute capability as NVIDIA writes it: `9.0`."""
    major, minor = machine.compute_capability
    return f"{major}.{minor}"


def _scaled(machine: Machine, path: str, unit: float) -> str:
    value = machine.get(path)
    return "" if value is None else f"{value / unit:.4g}"


def _value(quantity: Quantity) -> str:
    values = quantity.value if isinstance(quantity.value, tuple) else (quantity.value,)
    return ", ".join(grouped(v) if float(v).is_integer() else f"{v:g}" for v in values)
