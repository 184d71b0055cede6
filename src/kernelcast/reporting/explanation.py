"""One prediction in depth: the model's named terms, every source line, every instruction."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from kernelcast.models.base import Prediction
from kernelcast.profiling.profile import AccessProfile, Profile
from kernelcast.reporting.console import plain_text
from kernelcast.reporting.figures import digits, grouped, percent
from kernelcast.reporting.json import result_dict
from kernelcast.reporting.layout import columns, facts, section, spaced
from kernelcast.reporting.text import render_forecast


@dataclass(frozen=True)
class Explanation(Prediction):
    """A prediction whose text goes down to the single instruction."""

    @classmethod
    def of(cls, prediction: Prediction) -> Explanation:
        """The same prediction as an explanation."""
        return cls(**{f.name: getattr(prediction, f.name) for f in fields(Prediction)})

    def __str__(self) -> str:
        return plain_text(render_explanation(self))

    def as_dict(self) -> dict[str, Any]:
        """The result as `explain --json` gives it."""
        return explanation_dict(self)


def render_explanation(prediction: Prediction) -> RenderableType:
    """The forecast, then the terms of the equations and what each instruction does."""
    profile = prediction.case.profile
    return spaced(
        [
            render_forecast(prediction, lines=len(profile.lines)),
            _terms(prediction) if prediction.terms else None,
            _instructions(profile),
        ]
    )


def explanation_dict(prediction: Prediction) -> dict[str, Any]:
    """The result of `predict --json` and, beside it, costs by source line and instruction."""
    profile = prediction.case.profile
    return {
        "schema": "kernelcast/explain/1",
        "result": result_dict(prediction),
        "lines": [
            {
                "file": line.location.file,
                "line": line.location.line,
                "warp_instructions": line.instructions.warp,
                "thread_instructions": line.instructions.thread,
                "requests": line.requests,
                "sectors": line.sectors,
                "shared_passes": line.shared_passes,
                "shared_ideal_passes": line.shared_ideal_passes,
            }
            for line in profile.lines
        ],
        "instructions": [
            {
                "index": i.index,
                "text": str(i),
                "class": str(i.op_class),
                "file": i.location.file if i.location else None,
                "line": i.location.line if i.location else None,
                "warps": float(profile.instruction_warps[i.index]),
                "threads": float(profile.instruction_threads[i.index]),
            }
            for i in profile.kernel.instructions
        ],
    }


def _terms(prediction: Prediction) -> RenderableType:
    table = facts()
    for name, value in prediction.terms.items():
        table.add_row(Text(name), Text(value if isinstance(value, str) else digits(value, 5)))
    return section(f"Terms of the {prediction.model} model", table)


def _instructions(profile: Profile) -> RenderableType:
    words = ("line", "instruction", "class")
    table = columns(*words, "warps", "lanes", "access", left=(*words, "access"))
    # A generic access may lead to several spaces: the one it leads to most often stands for it.
    accesses = {a.instruction: a for a in sorted(profile.accesses, key=lambda a: a.requests)}
    for i in profile.kernel.instructions:
        warps = profile.instruction_warps[i.index]
        lanes = profile.instruction_threads[i.index] / (32 * warps) if warps else 0.0
        table.add_row(
            str(i.location.line) if i.location else "",
            Text(str(i)),
            str(i.op_class),
            grouped(warps),
            percent(lanes),
            Text(_pattern(accesses[i.index])) if i.index in accesses else "",
        )
    return section("Instructions", table)


def _pattern(access: AccessProfile) -> str:
    if not access.requests:
        return ""
    if access.passes:
        return f"{access.space}: {digits(access.passes / access.requests)} passes per request"
    return f"{access.space}: {digits(access.sectors / access.requests)} sectors per request"
