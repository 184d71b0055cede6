"""What every bottleneck of a launch costs: the gains, ranked, and those of pairs."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from kernelcast.reporting.documents.what_if import GainPart, PairPart, WhatIfDocument, WhatIfResult
from kernelcast.reporting.figures import digits, percent, seconds
from kernelcast.reporting.layout import bullets, columns, section, spaced

_PAIRS = 12
_RELATIONS = {
    "swallows": "{1} gains no more beside {0}",
    "overlaps": "less than one by one",
    "adds up": "as much as one by one",
    "hides": "more than one by one: each hides the other",
}


def render(document: WhatIfDocument, *, brief: bool) -> RenderableType:
    """One sentence per launch; unless `brief`, what every removal gains."""
    answers = Group(*(_answer(r) for r in document.results))
    if brief:
        return answers
    return spaced([answers, *(part for r in document.results for part in _details(r))])


def _answer(r: WhatIfResult) -> Text:
    text = Text.assemble(
        (f"{_title(r)}: {seconds(r.time_s)}", "bold"), f", bound by {r.bottleneck}"
    )
    best = r.gains[0] if r.gains else None
    if best is None or best.is_noise or best.gain_s < 0:
        return text.append("; no single removal gains anything")
    text.append(f"; {_share(best)} less without ")
    return text.append(_names(best.removed), style="bold yellow")


def _title(r: WhatIfResult) -> str:
    return f"{r.title} on {r.gpu}"


def remarks(r: WhatIfResult) -> list[str]:
    """What gains nothing, what is not there to be removed, and what the model leaves out."""
    quiet = [_names(gain.removed) for gain in r.gains if gain.is_noise]
    return [
        f"{words}: {', '.join(names)}"
        for words, names in (
            (f"within {percent(r.noise)} of the time, which is noise", quiet),
            ("nothing to remove in this launch", r.absent),
            (f"not modelled by {r.model}", r.not_modelled),
        )
        if names
    ]


def relation_words(pair: PairPart) -> str:
    """What two removals are to each other."""
    return _RELATIONS[pair.relation].format(*pair.removed)


def _details(r: WhatIfResult) -> list[RenderableType | None]:
    telling = [gain for gain in r.gains if not gain.is_noise]
    beside = remarks(r)
    return [
        section(f"{_title(r)} without ..., by {r.model_label}", _gains(telling)),
        section("Two at a time", _pairs(r.pairs)) if r.pairs else None,
        section("Beside these", bullets(beside)) if beside else None,
    ]


def _gains(gains: list[GainPart]) -> RenderableType:
    table = columns("", "time", "gain", "speed-up", "then bound by", "", left=("", "then bound by"))
    for gain in gains:
        swallowed = gain.swallowed_by
        table.add_row(
            Text(_names(gain.removed)),
            seconds(gain.time_s),
            _share(gain),
            f"{digits(gain.speedup)} x",
            str(gain.bottleneck),
            f"swallowed by {swallowed}" if swallowed else gain.meaning,
        )
    return table


def _pairs(pairs: list[PairPart]) -> RenderableType:
    """Those that gain most, and those of which one hides the other."""
    table = columns("", "time", "gain", "one by one", " ", left=("", " "))
    hidden = [pair for pair in pairs[_PAIRS:] if pair.relation == "hides"]
    for pair in [*pairs[:_PAIRS], *hidden[:_PAIRS]]:
        table.add_row(
            Text(_names(pair.removed)),
            seconds(pair.time_s),
            percent(pair.gain),
            percent(pair.alone_s / (pair.time_s + pair.gain_s)),
            relation_words(pair),
        )
    return table


def _names(removed: list[str]) -> str:
    return " + ".join(removed)


def _share(gain: GainPart) -> str:
    return percent(gain.gain)
