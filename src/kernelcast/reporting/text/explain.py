"""One prediction in depth: the model's named terms, every source line, every instruction."""

from __future__ import annotations

from rich.console import RenderableType
from rich.text import Text

from kernelcast.reporting.documents.code_facts import CodeFacts
from kernelcast.reporting.documents.explain import (
    ExplainDocument,
    InstructionPart,
    PatternPart,
    UnlikePart,
)
from kernelcast.reporting.documents.result import Result
from kernelcast.reporting.figures import digits, grouped, percent, scaled, size
from kernelcast.reporting.layout import columns, facts, section, spaced
from kernelcast.reporting.text.end_to_end import render_end_to_end
from kernelcast.reporting.text.result import answer, cache_words, render_result
from kernelcast.reporting.text.simulated import (
    render_loop,
    render_metrics,
    render_stalled_lines,
    render_states,
    stall_words,
)


def render(document: ExplainDocument, *, brief: bool) -> RenderableType:
    """The forecast, then the terms of the equations and what each instruction does."""
    if brief:
        return answer(document.result)
    unlike = document.unlike_ptx
    return spaced(
        [
            render_result(document.result),
            None if document.end_to_end is None else render_end_to_end(document.end_to_end),
            _terms(document.result) if document.result.terms else None,
            None if unlike is None else _beside_ptx(unlike),
            _code(document.code),
            *_simulated(document),
            _instructions(document.instructions),
        ]
    )


def _terms(result: Result) -> RenderableType:
    table = facts()
    for name, value in result.terms.items():
        text = digits(value, 5) if isinstance(value, int | float) else value or ""
        table.add_row(Text(name), Text(text))
    return section(f"Terms of the {result.model_label} model", table)


def _code(code: CodeFacts) -> RenderableType:
    """Regions read and written, and what of accesses and parallelism code alone tells."""
    table = facts()

    def arrays(sizes: dict[str, int]) -> str:
        return ", ".join(f"{name} {size(count)}" for name, count in sizes.items()) or "none"

    anywhere = " and perhaps others" if code.may_lead_anywhere else ""
    table.add_row("arrays read", Text(arrays(code.reads) + anywhere))
    table.add_row("arrays written", Text(arrays(code.writes) + anywhere))
    if code.unknown_sizes:
        table.add_row("of unknown size", Text(", ".join(code.unknown_sizes)))
    table.add_row("addresses known", f"of {code.evaluated} of {code.accesses} accesses")
    table.add_row("ILP", digits(code.ilp))
    if code.intensity is not None:
        on_chip = f"{digits(code.intensity)} on the chip for each off it"
        table.add_row("arithmetic intensity", on_chip)
    return section("What code alone tells", table)


def _simulated(document: ExplainDocument) -> tuple[RenderableType | None, ...]:
    """What warps did, all together and line by line; nothing where they are not simulated."""
    found = document.simulated
    if found is None:
        return ()
    lines = {f"{line.file}:{line.line}": line.stalls for line in document.lines if line.stalls}
    return (
        render_states(found.states),
        render_stalled_lines(lines, document.result.costly_lines),
        render_loop(found.loop) if found.loop else None,
        render_metrics(found.metrics),
    )


def _beside_ptx(classes: list[UnlikePart]) -> RenderableType:
    """The op classes of which machine code and PTX execute unlike numbers."""
    table = columns("class", "machine code", "PTX", left=("class",))
    for one in classes:
        table.add_row(one.op_class, scaled(one.warp, ""), scaled(one.ptx_warp, ""))
    return section("Warp instructions, where machine code and PTX differ", table)


def _instructions(instructions: list[InstructionPart]) -> RenderableType:
    words = ("line", "instruction", "class")
    stalled = ("stalled",) if any(i.stalls for i in instructions) else ()
    last = ("access", *stalled)
    table = columns(*words, "warps", "lanes", *last, left=(*words, *last))
    for i in instructions:
        table.add_row(
            "" if i.line is None else str(i.line),
            Text(i.text),
            i.op_class,
            grouped(i.warps),
            percent(i.lanes),
            Text(_access(i)),
            *(Text(stall_words(i.stalls or {})) for _ in stalled),
        )
    return section("Instructions", table)


def _access(i: InstructionPart) -> str:
    if i.access is None:
        return ""
    words = (_pattern(i.access), cache_words(i.caches) if i.caches else "")
    return "; ".join(filter(None, words))


def _pattern(access: PatternPart) -> str:
    if access.per_request is None:
        return ""
    return f"{access.space}: {digits(access.per_request)} {access.unit} per request"
