"""The forecast as text: the answer in the first line, then why."""

from __future__ import annotations

import math

from rich.console import Group, RenderableType
from rich.text import Text

from kernelcast.ir import Space
from kernelcast.models import load_model
from kernelcast.models.terms.base import Part, Prediction
from kernelcast.reporting.accesses import render_accesses
from kernelcast.reporting.figures import digits, grouped, percent, scaled, seconds, size
from kernelcast.reporting.layout import bullets, columns, facts, section, spaced
from kernelcast.reporting.plain_words import MEANING
from kernelcast.reporting.source_lines import render_lines
from kernelcast.reporting.titles import launch_title

_BAR_COLUMNS = 24


def answer(prediction: Prediction) -> Text:
    """The question answered in one line: kernel, launch, GPU, time, what binds it."""
    case = prediction.case
    text = Text(f"{launch_title(case)} on {case.machine.name}: ")
    text.append(seconds(prediction.time_s), style="bold")
    text.append(", bound by ")
    text.append(str(prediction.bottleneck), style="bold yellow")
    return text


def render_forecast(prediction: Prediction, *, lines: int = 5) -> RenderableType:
    """One prediction in full; `lines` bounds the source lines listed."""
    return spaced(
        [
            Group(answer(prediction), _meaning(prediction)),
            _breakdown(prediction),
            _bounds(prediction),
            _circumstances(prediction),
            render_lines(prediction, lines),
            render_accesses(prediction.case.profile),
            _remarks(prediction),
        ]
    )


def _meaning(prediction: Prediction) -> Text:
    words = MEANING[prediction.bottleneck]
    text = f"{words[0].upper()}{words[1:]}. By the {prediction.model} model"
    low, high = prediction.low_s, prediction.high_s
    if low is not None and high is not None and high > low:
        text += f"; between {seconds(low)} and {seconds(high)}"
    return Text(text + ".")


def _breakdown(prediction: Prediction) -> RenderableType:
    table = columns("", "cycles", "time", "share", left=[""])
    for part in (*prediction.breakdown, Part("sum", prediction.cycles)):
        if part.cycles == 0:
            continue
        share = part.cycles / prediction.cycles if prediction.cycles else 0.0
        time = seconds(share * prediction.time_s)
        table.add_row(Text(part.name), grouped(part.cycles), time, percent(share))
    return section("Where the time goes", table)


def _bounds(prediction: Prediction) -> RenderableType | None:
    if not prediction.bounds:
        return None
    longest = max(bound.cycles for bound in prediction.bounds)
    table = columns("", "cycles", " ", left=["", " "])
    for bound in sorted(prediction.bounds, key=lambda b: -b.cycles):
        table.add_row(Text(bound.name), grouped(bound.cycles), _bar(bound, longest))
    return section("What each resource would take if it were alone", table)


def _bar(bound: Part, longest: float) -> Text:
    return Text("#" * round(_BAR_COLUMNS * bound.cycles / longest) if longest else "", style="cyan")


def _circumstances(prediction: Prediction) -> RenderableType:
    table = facts()
    table.columns[0].style = "bold"
    for name, text in (
        ("Occupancy", _occupancy(prediction)),
        ("Work", _work(prediction)),
        ("Traffic", _traffic(prediction)),
        ("Executed", sample_words(prediction)),
        ("Code", _code(prediction)),
    ):
        table.add_row(name, Text(text))
    return table


def _occupancy(prediction: Prediction) -> str:
    held = prediction.case.occupancy
    text = (
        f"{held.blocks_per_sm} blocks = {held.warps_per_sm} warps per SM "
        f"({percent(held.relative)} of what fits), limited by {held.limiter}"
    )
    if prediction.needed_warps is not None:
        text += f"; {digits(prediction.needed_warps)} warps would hide the latency"
    if held.waves is not None and held.tail_share is not None:
        text += f"; {digits(held.waves)} waves, the last {percent(held.tail_share)} full"
    return text


def _work(prediction: Prediction) -> str:
    profile = prediction.case.profile
    total = profile.total
    text = f"{scaled(total.thread, '')} thread instructions in {scaled(total.warp, '')} of warps"
    text += f"; {percent(profile.simt_efficiency)} of lanes active"
    if profile.divergent_branches:
        share = profile.divergent_branches / profile.branches
        text += f"; {percent(share)} of branches diverge"
    return text


def _traffic(prediction: Prediction) -> str:
    profile = prediction.case.profile
    parts = [
        f"{size(profile.requested_bytes(space))} {words}"
        for space, words in (
            (Space.GLOBAL, "asked of global memory"),
            (Space.SHARED, "of shared memory"),
            (Space.LOCAL, "of local memory (spills or private arrays)"),
        )
        if profile.requested_bytes(space)
    ]
    dram = prediction.case.traffic.dram
    if dram.high:
        known = dram.low == dram.high
        between = "" if known else f" (between {size(dram.low)} and {size(dram.high)})"
        parts.append(f"{size(dram.central)} moved by the DRAM{between}")
    return ", ".join(parts) or "no memory is accessed"


def sample_words(prediction: Prediction) -> str:
    """How many blocks were executed of how many, and the error of the instruction count."""
    sample = prediction.case.profile.sample
    if sample.is_exact:
        return "the only block" if sample.of == 1 else f"all {grouped(sample.of)} blocks"
    spread = "unknown" if math.isnan(sample.spread) else percent(sample.spread)
    return (
        f"{grouped(sample.blocks)} of {grouped(sample.of)} blocks, drawn at random; "
        f"standard error {spread}"
    )


def _code(prediction: Prediction) -> str:
    case = prediction.case
    held = case.kernel.resources
    registers = "unknown" if held.registers is None else str(held.registers)
    shared = held.static_shared_bytes + case.launch.smem_bytes
    text = f"{case.kernel.isa.upper()} for {case.kernel.target}; {registers} registers per thread"
    text += f", {grouped(shared)} B of shared memory per block" if shared else ""
    text += f", {grouped(held.spilled_bytes)} B spilled" if held.spilled_bytes else ""
    return text + (f" ({held.source})" if held.source else "")


def _remarks(prediction: Prediction) -> RenderableType:
    case = prediction.case
    parts: list[RenderableType] = []
    warnings = (*case.kernel.warnings, *prediction.warnings)
    for title, texts in (
        ("Warnings", warnings),
        ("Assumed", prediction.assumptions),
        (f"Not modelled by {prediction.model}", load_model(prediction.model).not_modelled),
    ):
        if texts:
            parts.append(section(title, bullets(texts)))
    overrides = case.machine.overrides
    changed = f"; set by hand: {', '.join(overrides)}" if overrides else ""
    parts.append(Text(f"{case.machine.title} ({case.machine.name}.toml){changed}", style="dim"))
    return Group(*parts)
