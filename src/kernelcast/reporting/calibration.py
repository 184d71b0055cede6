"""What a calibration found, as a table and as a plain dictionary."""

from __future__ import annotations

from typing import Any

from rich.console import RenderableType
from rich.text import Text

from kernelcast.calibration.calibrate import Calibration
from kernelcast.machines.machine import Kind
from kernelcast.reporting.layout import bullets, columns, section, spaced


def render_calibration(calibration: Calibration, *, brief: bool = False) -> RenderableType:
    """Every number with unit, kind and residual; then what is missing and why, and remarks."""
    device = calibration.raw.device
    table = columns("number", "value", "unit", "kind", "residual", left=("number", "unit", "kind"))
    for finding in calibration.findings:
        quantity = finding.quantity
        stated = quantity.kind is Kind.STATED
        table.add_row(
            finding.path,
            f"{quantity.value:.4g}",
            quantity.unit,
            quantity.kind.value,
            "" if stated else f"{finding.residual:.2%}",
        )
    head = f"{device['name']}, compute capability {device['major']}.{device['minor']}"
    gaps = [f"{gap.path} ({gap.benchmark}): {gap.why}" for gap in calibration.gaps]
    return spaced(
        [
            section(head, table),
            section("Missing", bullets(gaps)) if gaps and not brief else None,
            section("Remarks", bullets(calibration.remarks))
            if calibration.remarks and not brief
            else None,
            Text(f"{len(gaps)} numbers are missing") if gaps and brief else None,
        ]
    )


def calibration_dict(calibration: Calibration) -> dict[str, Any]:
    """The same as a plain dictionary, with sources."""
    return {
        "schema": "kernelcast/calibration/1",
        "device": dict(calibration.raw.device),
        "quantities": {
            f.path: {
                "value": f.quantity.value,
                "unit": f.quantity.unit,
                "kind": f.quantity.kind.value,
                "residual": f.residual,
                "benchmark": f.benchmark,
                "source": f.quantity.source,
            }
            for f in calibration.findings
        },
        "missing": {g.path: {"benchmark": g.benchmark, "why": g.why} for g in calibration.gaps},
        "remarks": list(calibration.remarks),
    }
