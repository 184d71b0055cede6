"""What `what-if` answers: the time that every bottleneck of a launch costs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from msgspec import Struct

from kernelcast.exploration.gains import Gain, PairGain, WhatIf
from kernelcast.models.terms.base import Bottleneck
from kernelcast.models.terms.parameters import model_label
from kernelcast.reporting.documents.base import NotNegative, Share, json_schema
from kernelcast.reporting.documents.result import launch_title
from kernelcast.simulation.removals import MEANINGS, Removal

_SCHEMA: Literal["kernelcast/what-if/1"] = "kernelcast/what-if/1"


class GainPart(Struct, frozen=True):
    """The launch without some bottlenecks: its time, what that gains, as a share of the time with
    them, the speed-up, and what binds it then.

    `is_noise` says that the gain may come from another order in which warps happen to issue.
    `swallowed_by` is the removal beside which it gains nothing more, null where none is known.
    """

    removed: list[str]
    meaning: str
    time_s: NotNegative
    gain_s: float
    gain: float
    speedup: NotNegative
    bottleneck: Bottleneck
    is_noise: bool
    swallowed_by: str | None


class PairPart(Struct, frozen=True):
    """Two removals together, the one that gains more alone first; `alone_s` is what they gain one
    by one, both added.

    `relation` is `swallows` where the second gains nothing beside the first, `overlaps` where both
    gain less than one by one, `adds up` where as much, and `hides` where more.
    """

    removed: list[str]
    time_s: NotNegative
    gain_s: float
    gain: float
    alone_s: NotNegative
    relation: Literal["swallows", "overlaps", "adds up", "hides"]


class WhatIfResult(Struct, frozen=True):
    """One launch on one GPU. `absent` are bottlenecks that it does not have; `noise` is the share
    of the time below which a gain is none."""

    kernel: str
    title: str
    gpu: str
    model: str
    model_label: str
    time_s: NotNegative
    bottleneck: Bottleneck
    noise: Share
    gains: list[GainPart]
    pairs: list[PairPart]
    absent: list[str]
    not_modelled: list[str]


class WhatIfDocument(Struct, frozen=True):
    """All that `what-if --json` prints."""

    schema: Literal["kernelcast/what-if/1"]
    results: list[WhatIfResult]


def what_if_document(found: Sequence[WhatIf]) -> WhatIfDocument:
    """The document of any number of launches and GPUs."""
    return WhatIfDocument(_SCHEMA, [what_if_result(one) for one in found])


def what_if_schema() -> dict[str, Any]:
    """The JSON Schema of `what-if --json`."""
    return json_schema(WhatIfDocument, _SCHEMA, "kernelcast what-if --json")


def what_if_result(found: WhatIf) -> WhatIfResult:
    """One launch in the published form."""
    base = found.base
    return WhatIfResult(
        kernel=base.case.kernel.shown,
        title=launch_title(base.case),
        gpu=base.case.machine.name,
        model=base.model.name,
        model_label=model_label(base.model),
        time_s=base.time_s,
        bottleneck=base.bottleneck,
        noise=found.noise,
        gains=[_gain(found, gain) for gain in found.gains],
        pairs=[_pair(found, pair) for pair in found.pairs],
        absent=[str(removal) for removal in found.absent],
        not_modelled=list(base.model.not_modelled),
    )


def _gain(found: WhatIf, gain: Gain) -> GainPart:
    whole = found.base.time_s
    swallowing = found.swallowed_by.get(gain.removed[0]) if len(gain.removed) == 1 else None
    return GainPart(
        removed=_names(gain.removed),
        meaning="; ".join(MEANINGS[removal] for removal in gain.removed),
        time_s=gain.time_s,
        gain_s=gain.gain_s,
        gain=gain.gain_s / whole,
        speedup=whole / gain.time_s,
        bottleneck=gain.bottleneck,
        is_noise=abs(gain.gain_s) < found.noise * whole,
        swallowed_by=None if swallowing is None else str(swallowing),
    )


def _pair(found: WhatIf, pair: PairGain) -> PairPart:
    return PairPart(
        removed=_names(pair.gain.removed),
        time_s=pair.gain.time_s,
        gain_s=pair.gain.gain_s,
        gain=pair.gain.gain_s / found.base.time_s,
        alone_s=pair.alone_s,
        relation=pair.relation.value,
    )


def _names(removed: Sequence[Removal]) -> list[str]:
    return [str(removal) for removal in removed]
