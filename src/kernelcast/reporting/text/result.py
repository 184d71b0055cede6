"""One result as text: the answer in the first line, then why."""

from __future__ import annotations

import math
from pathlib import Path

from rich.console import Group, RenderableType
from rich.text import Text

from kernelcast.reporting.documents.accesses import WastefulAccess
from kernelcast.reporting.documents.caches import CachePart
from kernelcast.reporting.documents.divergence import DivergencePart
from kernelcast.reporting.documents.lines import CostlyLine
from kernelcast.reporting.documents.result import BoundPart, Result, SampledPart, TrafficPart
from kernelcast.reporting.figures import digits, grouped, percent, scaled, seconds, size
from kernelcast.reporting.kernel_names import short_launch
from kernelcast.reporting.layout import bullets, columns, facts, section, spaced

_BAR_COLUMNS = 24


def answer(result: Result) -> Text:
    """The question answered in one line: kernel, launch, GPU, time, what binds it."""
    text = Text(f"{short_launch(result.title)} on {result.gpu}: ")
    text.append(seconds(result.time_s), style="bold")
    text.append(f"{_between(result)}, bound by ")
    text.append(str(result.bottleneck), style="bold yellow")
    return text


def _between(result: Result) -> str:
    """The range of the time, where its ends differ as they are shown."""
    if result.low_s is None or result.high_s is None:
        return ""
    low, high = seconds(result.low_s), seconds(result.high_s)
    return f" ({low} to {high})" if low != high else ""


def render_result(result: Result) -> RenderableType:
    """One result in full."""
    return spaced(
        [
            Group(answer(result), _meaning(result)),
            _breakdown(result),
            _bounds(result),
            _circumstances(result),
            render_lines(result.costly_lines),
            _accesses(result.wasteful_accesses),
            _remarks(result),
        ]
    )


def _meaning(result: Result) -> Text:
    words = result.meaning
    return Text(f"{words[0].upper()}{words[1:]}. By the {result.model_label} model.")


def _breakdown(result: Result) -> RenderableType:
    explained = any(part.meaning for part in result.breakdown)
    table = columns("", "cycles", "time", "share", *[" "] * explained, left=["", " "])
    for part in result.breakdown:
        if part.cycles >= 0.5:  # what rounding leaves is none
            table.add_row(
                Text(part.name),
                grouped(part.cycles),
                seconds(part.time_s),
                percent(part.fraction),
                *[Text(part.meaning)] * explained,
            )
    if result.cycles:
        table.add_row(Text("sum"), grouped(result.cycles), seconds(result.time_s), percent(1))
    return section("Where the time goes", table)


def _bounds(result: Result) -> RenderableType | None:
    if not result.bounds:
        return None
    table = columns("", "cycles", " ", left=["", " "])
    for bound in sorted(result.bounds, key=lambda b: b.rank):
        table.add_row(Text(bound.name), grouped(bound.cycles), _bar(bound))
    return section("What each resource would take if it were alone", table)


def _bar(bound: BoundPart) -> Text:
    return Text("#" * round(_BAR_COLUMNS * bound.of_longest), style="cyan")


def _circumstances(result: Result) -> RenderableType:
    table = facts()
    table.columns[0].style = "bold"
    for name, text in (
        ("Occupancy", _occupancy(result)),
        ("Work", _work(result)),
        ("Traffic", _traffic(result)),
        ("Caches", _caches(result.traffic)),
        ("DPKI", _divergence(result.divergence)),
        ("Executed", sample_words(result.sampled)),
        ("Code", _code(result)),
    ):
        if text:
            table.add_row(name, Text(text))
    return table


def _occupancy(result: Result) -> str:
    held = result.occupancy
    text = (
        f"{held.blocks_per_sm} blocks = {held.warps_per_sm} warps per SM "
        f"({percent(held.relative)} of what fits), limited by {held.limiter}"
    )
    if result.needed_warps is not None:
        text += f"; {digits(result.needed_warps)} warps would hide the latency"
    if held.waves is not None and held.tail_share is not None:
        text += f"; {digits(held.waves)} waves, the last {percent(held.tail_share)} full"
    return text


def _work(result: Result) -> str:
    work = result.work
    text = f"{scaled(work.thread, '')} thread instructions in {scaled(work.warp, '')} of warps"
    text += f"; {percent(work.simt_efficiency)} of lanes active"
    if work.divergent_share is not None:
        text += f"; {percent(work.divergent_share)} of branches diverge"
    return text


def _traffic(result: Result) -> str:
    moved = result.traffic
    parts = [
        f"{size(asked)} {words}"
        for asked, words in (
            (moved.global_requested_bytes, "asked of global memory"),
            (moved.shared_requested_bytes, "of shared memory"),
            (moved.local_requested_bytes, "of local memory (spills or private arrays)"),
        )
        if asked
    ]
    low, high = moved.dram_low_bytes, moved.dram_high_bytes
    if high:
        least, most = size(low), size(high)
        between = "" if least == most else f" (between {least} and {most})"
        parts.append(f"{size(moved.dram_bytes)} moved by the DRAM{between}")
    return ", ".join(parts) or "no memory is accessed"


def _caches(moved: TrafficPart) -> str:
    """What the caches hold; nothing where they are not simulated."""
    if moved.caches is None:
        return ""
    return f"{cache_words(moved.caches)}; simulated, L2 {moved.state} at the start"


def cache_words(held: CachePart) -> str:
    """Shares that the caches hold of what they are asked, and what the DRAM reads and is given."""
    shares = (("L1", held.l1_hit_ratio), ("L2", held.l2_hit_ratio))
    parts = [f"{level} holds {percent(share)}" for level, share in shares if share is not None]
    moved = ((held.dram_read_bytes, "read from"), (held.dram_written_bytes, "written to"))
    parts += [f"{size(amount)} {words} the DRAM" for amount, words in moved if amount]
    return ", ".join(parts)


def _divergence(loads: DivergencePart) -> str:
    """How many loads diverge and where most of them stand; nothing where none does."""
    if not loads.lines:
        return ""
    first = loads.lines[0]
    where = f"{Path(first.file).name}:{first.line}: " if first.file is not None else ""
    verdict = "memory-divergent" if loads.is_memory_divergent else "not memory-divergent"
    return (
        f"{digits(loads.dpki)} divergent loads per 1000 warp instructions: {verdict}; most of them "
        f"{where}{first.instruction}, {digits(first.lines_per_request)} lines per request"
    )


def sample_words(sample: SampledPart) -> str:
    """How many blocks were executed of how many, and the error of the instruction count."""
    if sample.blocks == sample.of:
        return "the only block" if sample.of == 1 else f"all {grouped(sample.of)} blocks"
    is_known = sample.spread is not None and not math.isnan(sample.spread)
    spread = percent(sample.spread) if is_known and sample.spread is not None else "unknown"
    return (
        f"{grouped(sample.blocks)} of {grouped(sample.of)} blocks, drawn at random; "
        f"standard error {spread}"
    )


def _code(result: Result) -> str:
    held, made = result.resources, result.provenance
    registers = "unknown" if held.registers is None else str(held.registers)
    text = f"{result.isa.upper()} for {made.target}; {registers} registers per thread"
    if held.shared_bytes:
        text += f", {grouped(held.shared_bytes)} B of shared memory per block"
    if held.spilled_bytes:
        text += f", {grouped(held.spilled_bytes)} B spilled"
    elif held.local_bytes:
        text += f", {grouped(held.local_bytes)} B of local memory per thread"
    return text + (f" ({made.resources})" if made.resources else "")


def render_lines(lines: list[CostlyLine]) -> RenderableType | None:
    """The lines that ask most of what binds."""
    if not lines:
        return None
    is_cached = any(line.caches for line in lines)
    conflicts = [_conflicts(line.bank_conflicts) for line in lines]
    levels = ("in L1", "in L2", "DRAM") if is_cached else ()
    last = ("bank conflicts",) if any(conflicts) else ()
    table = columns("line", "instructions", "sectors", "per request", *levels, *last, left=["line"])
    table.columns[0].no_wrap = True
    table.add_column("source")
    for line, conflict in zip(lines, conflicts, strict=True):
        share, each = line.instruction_share, line.sectors_per_request
        table.add_row(
            Text(f"{Path(line.file).name}:{line.line}"),
            "" if share is None else percent(share),
            percent(line.sector_share) if line.sector_share else "",
            "" if each is None else digits(each),
            *(_level_words(line.caches) if is_cached else ()),
            *(conflict for _ in last),
            Text(line.source, no_wrap=True, overflow="ellipsis"),
        )
    return section("Source lines that cost most", table)


def _level_words(held: CachePart | None) -> tuple[str, str, str]:
    """The shares that L1 and L2 hold, and what moves between L2 and DRAM."""
    if held is None:
        return "", "", ""
    l1, l2 = (
        "" if share is None else percent(share) for share in (held.l1_hit_ratio, held.l2_hit_ratio)
    )
    moved = held.dram_read_bytes + held.dram_written_bytes
    return l1, l2, size(moved) if moved else ""


def _conflicts(ratio: float | None) -> str:
    if ratio is None:
        return ""
    return "none" if ratio < 1.005 else f"{digits(ratio)}-fold"


def _accesses(accesses: list[WastefulAccess]) -> RenderableType | None:
    """One line per kind of wasteful access of a source line; None where there is none."""
    if not accesses:
        return None
    return section("Accesses that waste bandwidth", bullets(map(access_words, accesses)))


def access_words(access: WastefulAccess) -> str:
    """What a wasteful access costs: `k.cu:7: ld.global.f32: 32.0 sectors per request where ...`."""
    where = f"{Path(access.file).name}:{access.line}: " if access.file is not None else ""
    times = f" ({access.instructions} of them)" if access.instructions > 1 else ""
    if access.unit == "sectors":
        unit, told = (
            "sectors",
            (
                f"{digits(access.per_request)} sectors per request where "
                f"{digits(access.fewest_per_request)} would do"
            ),
        )
    else:
        unit, told = "shared-memory cycles", f"{digits(access.times_fewest)}-fold bank conflict"
    return f"{where}{access.instruction}{times}: {told}; {percent(access.share)} of all {unit}"


def _remarks(result: Result) -> RenderableType:
    parts: list[RenderableType] = []
    for title, texts in (
        ("Warnings", result.warnings),
        ("Assumed", result.assumptions),
        (f"Not modelled by {result.model}", result.not_modelled),
    ):
        if texts:
            parts.append(section(title, bullets(texts)))
    made = result.provenance
    overrides = made.machine_overrides
    changed = f"; set by hand: {', '.join(overrides)}" if overrides else ""
    parts.append(Text(f"{made.machine_title} ({result.gpu}.toml){changed}", style="dim"))
    return Group(*parts)
