"""One prediction in depth: the model's named terms, every source line, every instruction."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from kernelcast.ir import OpClass, Space
from kernelcast.models.terms.base import Prediction
from kernelcast.profiling.profile import AccessProfile, Count, Profile
from kernelcast.reporting.console import plain_text
from kernelcast.reporting.figures import digits, grouped, percent, scaled
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


_SHOWN_RATIO = 1.25
_SHOWN_SHARE = 0.01
"""Op classes whose counts in PTX and machine code differ more, and matter at least so much."""


def render_explanation(prediction: Prediction, ptx: Profile | None = None) -> RenderableType:
    """The forecast, then the terms of the equations and what each instruction does.

    `ptx` is the profile of the same launch as PTX, where machine code was executed.
    """
    profile = prediction.case.profile
    return spaced(
        [
            render_forecast(prediction, lines=len(profile.lines)),
            _terms(prediction) if prediction.terms else None,
            _beside_ptx(profile, ptx) if ptx else None,
            _instructions(profile),
        ]
    )


def explanation_dict(prediction: Prediction, ptx: Profile | None = None) -> dict[str, Any]:
    """The result of `predict --json` and, beside it, costs by source line and instruction.

    `ptx_counts` are those of the same launch as PTX, null where PTX was executed anyway.
    """
    profile = prediction.case.profile
    return {
        "schema": "kernelcast/explain/1",
        "result": result_dict(prediction),
        "ptx_counts": ptx
        and {str(op): {"warp": c.warp, "thread": c.thread} for op, c in ptx.counts.items()},
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
                "code_offset": i.code_offset,
            }
            for i in profile.kernel.instructions
        ],
    }


def _terms(prediction: Prediction) -> RenderableType:
    table = facts()
    for name, value in prediction.terms.items():
        table.add_row(Text(name), Text(value if isinstance(value, str) else digits(value, 5)))
    return section(f"Terms of the {prediction.model} model", table)


def _beside_ptx(profile: Profile, ptx: Profile) -> RenderableType | None:
    """The op classes of which machine code and PTX execute unlike numbers."""
    total = max(profile.total.warp, ptx.total.warp)
    table = columns("class", "machine code", "PTX", left=("class",))
    rows = [("all", profile.total.warp, ptx.total.warp)]
    for op_class in OpClass:
        native, written = (p.counts.get(op_class, Count()).warp for p in (profile, ptx))
        unlike = max(native, written) > _SHOWN_RATIO * min(native, written)
        if unlike and max(native, written) > _SHOWN_SHARE * total:
            rows.append((str(op_class), native, written))
    for name, native, written in rows:
        table.add_row(name, scaled(native, ""), scaled(written, ""))
    return section("Warp instructions, where machine code and PTX differ", table)


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
    if access.space is Space.SHARED:
        return f"{access.space}: {digits(access.passes / access.requests)} passes per request"
    return f"{access.space}: {digits(access.sectors / access.requests)} sectors per request"
