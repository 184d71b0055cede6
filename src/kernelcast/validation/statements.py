"""What the dissertation says of each model, as bounds that the arena must keep.

V. Volkov: Understanding latency hiding on GPUs. PhD thesis, UC Berkeley, 2016, chapter 7. His
figures divide predicted by measured throughput, the arena divides by that of his refined model. So
a figure R of his becomes a band, from R / E to 1.05 R. E is by how much, according to section 7.9,
the refined model overestimates what was measured: 1.09 on Fermi, 1.2 on Kepler, and 1.2, the most
that is said of any chip, on the others. The 5 % upwards is what its fitted latency without load may
exceed the measured one by (Table 6.5: 2 %) and the rounding of a figure of two digits.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kernelcast.machines.machine import Machine
from kernelcast.validation.arena import (
    ALPHAS,
    REFINED,
    Observed,
    contestants,
    field,
    refined_throughput,
    score,
)

_UPWARDS = 1.05
_OVERESTIMATE = {"gtx-480": 1.09, "gtx-680": 1.2}
_MOST_OVERESTIMATE = 1.2

LARGEST, SMALLEST, CUSP = "largest", "smallest", "cusp"


@dataclass(frozen=True)
class Statement:
    """One sentence or figure: `low` to `high` is what is printed, `source` where.

    `alphas` are those it speaks of. `quantity` is the largest or the smallest predicted / observed
    throughput, or the cusp: most warps needed over those needed at the ends of the range.
    """

    contestant: str
    gpu: str
    quantity: str
    alphas: tuple[float, ...]
    low: float
    high: float
    source: str

    @property
    def band(self) -> tuple[float, float]:
        """What the arena must find."""
        if self.quantity == CUSP:
            return self.low, self.high
        if self.contestant == REFINED:
            return self.low, self.high * _UPWARDS
        allowance = _OVERESTIMATE.get(self.gpu, _MOST_OVERESTIMATE)
        return self.low / allowance, self.high * _UPWARDS


@dataclass(frozen=True)
class Verdict:
    """A statement and what the arena found."""

    statement: Statement
    found: float

    @property
    def holds(self) -> bool:
        """Whether the found value lies in the band."""
        low, high = self.statement.band
        return low <= self.found <= high


def _says(
    contestant: str,
    gpu: str,
    quantity: str,
    alphas: float | Sequence[float],
    printed: float | tuple[float, float],
    source: str,
) -> Statement:
    low, high = printed if isinstance(printed, tuple) else (printed, printed)
    chosen = tuple(alphas) if isinstance(alphas, Sequence) else (float(alphas),)
    return Statement(contestant, gpu, quantity, chosen, low, high, source)


_BASIC = (1.25, 1.28)
_NO_CUSP = (1.0, 1.1)
_RR, _GTO = "gpumech", "gpumech greedy"

STATEMENTS = (
    _says(REFINED, "gtx-480", LARGEST, ALPHAS, (1.0, 1.09), "section 7.9"),
    _says(REFINED, "gtx-680", LARGEST, ALPHAS, (1.0, 1.2), "section 7.9"),
    _says("volkov", "8800-gtx", LARGEST, ALPHAS, 1.34, "section 7.9"),
    _says("volkov", "gtx-280", LARGEST, ALPHAS, _BASIC, "section 7.9"),
    _says("volkov", "gtx-480", LARGEST, ALPHAS, _BASIC, "section 7.9"),
    _says("volkov", "gtx-680", LARGEST, ALPHAS, _BASIC, "section 7.9"),
    _says("volkov", "gtx-980", LARGEST, ALPHAS, _BASIC, "section 7.9"),
    _says("mwp-cwp", "gtx-280", LARGEST, 32, 2.1, "Figure 7.1"),
    _says("baghsorkhi", "8800-gtx", SMALLEST, 0, (0.0, 1 / 8), "Figure 7.2"),
    _says("baghsorkhi", "8800-gtx", SMALLEST, 1, 1 / 7.6, "Figure 7.11"),
    _says("baghsorkhi", "8800-gtx", SMALLEST, 8, 1 / 2.7, "Figure 7.11"),
    _says("baghsorkhi", "8800-gtx", SMALLEST, 32, 0.975, "Figure 7.11"),
    _says("baghsorkhi", "8800-gtx", LARGEST, 32, 1.71, "Figure 7.11"),
    _says("zhang-owens", "gtx-280", SMALLEST, 1, (0.94, 1.06), "section 7.9"),
    _says("zhang-owens", "gtx-280", LARGEST, 1, (0.94, 1.06), "section 7.9"),
    _says("zhang-owens", "gtx-280", LARGEST, 16, 1.9, "Figure 7.5"),
    _says("zhang-owens", "gtx-480", LARGEST, 32, (1.9, 2.0), "Figure 7.6"),
    _says("zhang-owens", "gtx-680", LARGEST, 32, (1.9, 2.0), "Figure 7.6"),
    _says("zhang-owens", "gtx-980", LARGEST, 64, (1.9, 2.0), "Figure 7.6"),
    _says("sim", "gtx-480", SMALLEST, ALPHAS, 1 / 2, "Figure 7.11"),
    _says("sim", "gtx-480", LARGEST, 1, 1.25, "section 7.9"),
    _says("sim", "gtx-480", LARGEST, 32, 1.8, "Figure 7.7"),
    _says("sim", "gtx-680", LARGEST, 32, 2.0, "Figure 7.7"),
    _says("sim", "gtx-980", LARGEST, 64, 1.9, "Figure 7.7"),
    _says(_RR, "gtx-480", LARGEST, 0, 252 / 151, "Figure 7.8"),
    _says(_RR, "gtx-980", LARGEST, math.inf, 341 / 128, "Figure 7.9"),
    _says(_GTO, "gtx-980", LARGEST, math.inf, 1.2, "Figure 7.9"),
    _says("baghsorkhi", "8800-gtx", CUSP, ALPHAS, _NO_CUSP, "Figure 7.14"),
    _says("zhang-owens", "gtx-280", CUSP, ALPHAS, _NO_CUSP, "Figure 7.14"),
    _says("sim", "gtx-480", CUSP, ALPHAS, _NO_CUSP, "Figure 7.14"),
    *(
        _says("volkov", gpu, CUSP, ALPHAS, (1.1, math.inf), "Figure 4.6")
        for gpu in ("8800-gtx", "gtx-280", "gtx-480", "gtx-680", "gtx-980")
    ),
)


def verdicts(
    machines: Iterable[Machine],
    statements: Sequence[Statement] = STATEMENTS,
    observed: Observed = refined_throughput,
) -> tuple[Verdict, ...]:
    """Every statement about these machines, checked; those on what is observed itself are not."""
    by_name = {machine.name: machine for machine in machines}
    spoken = [s for s in statements if s.gpu in by_name]
    return tuple(v for s in spoken if (v := _check(s, by_name[s.gpu], observed)))


def spoken_alphas(gpu: str) -> tuple[float, ...]:
    """All alphas that a statement about a GPU speaks of."""
    return tuple(dict.fromkeys(alpha for s in STATEMENTS if s.gpu == gpu for alpha in s.alphas))


def _check(statement: Statement, machine: Machine, observed: Observed) -> Verdict | None:
    on = field(machine, statement.alphas, observed=observed)
    chosen = next((c for c in contestants(on) if c.name == statement.contestant), None)
    if chosen is None:
        return None
    result = score(chosen, on)
    smallest, largest = result.extremes
    found = {LARGEST: largest, SMALLEST: smallest, CUSP: result.cusp}[statement.quantity]
    return Verdict(statement, found)
