"""All fits of a calibration as one table, in Markdown that shows their pictures."""

from __future__ import annotations

from kernelcast.reporting.documents.fits import FitPart, FitsDocument, RefusedPart


def render(document: FitsDocument, *, brief: bool) -> str:
    """What was fitted to what, how well, and what was not."""
    lines = [
        f"# Fits of {document.device}, {document.date}",
        "",
        "| number | value | unit | residual | benchmark | fit |",
        "|---|---|---|---|---|---|",
        *map(_fit, document.fits),
    ]
    if document.missing:
        lines += ["", "| missing | benchmark | why |", "|---|---|---|"]
        lines += map(_missing, document.missing)
    return "\n".join(lines) + "\n"


def _fit(fit: FitPart) -> str:
    cells = (
        f"[{fit.path}]({fit.path}.svg)",
        f"{fit.value:.5g}",
        fit.unit,
        f"{fit.residual:.2%}",
        fit.benchmark,
        fit.method,
    )
    return f"| {' | '.join(cells)} |"


def _missing(number: RefusedPart) -> str:
    name = number.path if number.picture is None else f"[{number.path}]({number.path}.svg)"
    return f"| {name} | {number.benchmark} | {number.why} |"
