"""What the paper says of the models, as trends that the study must show.

Kernels and inputs are not the paper's, so its percentages are told beside ours and not judged; what
is judged is which model errs more, and what becomes of an error as a number of the machine grows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from kernelcast.profiling.profile import MOST_DPKI
from kernelcast.validation.mdm.applications import APPLICATIONS
from kernelcast.validation.mdm.points import (
    FAST_CLOCK,
    FAST_HZ,
    GRID_BANDWIDTHS,
    GRID_SMS,
    GRIDS,
    SLOW_HZ,
    STACK_SCALES,
    STACKED,
    STREAMING_L1,
    SWEEPS,
    TABLE_III,
    Point,
    Sweep,
    grid_settings,
    stack_settings,
)
from kernelcast.validation.mdm.schemes import GPUMECH, GPUMECH_PLUS, MDM, MDM_MSHR, MDM_QUEUE
from kernelcast.validation.mdm.study import MdmStudy, mean

_MOST_NMD_DPKI = 3.0
"""Section I: the most of applications whose loads do not diverge."""

_MOST_APART = 0.09 + 0.09
"""Section V-A: two models that are each 9 % off are at most so far apart."""


@dataclass(frozen=True, slots=True)
class Trend:
    """A sentence of the paper, in numbers: each is to be larger than the next."""

    source: str
    says: str
    found: tuple[float, ...]

    @property
    def holds(self) -> bool:
        """Whether the numbers fall."""
        return all(a > b for a, b in pairwise(self.found))


def trends(study: MdmStudy) -> tuple[Trend, ...]:
    """All that can be told of the study.

    What the paper says of means is told where all applications are there, what it says of one where
    that one is; both where all IPCs are known that it takes.
    """
    found = [*_divergence(study), *_of_single(study)]
    if len(study.applications) == len(APPLICATIONS):
        found += [*_baseline(study), *_sweeps(study), *_of_means(study)]
    known = (
        Trend(source, says, tuple(value for value in values if value is not None))
        for source, says, values in found
        if None not in values
    )
    return tuple(sorted(known, key=_figure))


def _figure(trend: Trend) -> int:
    """The number of the figure; what no figure shows comes first."""
    _, _, number = trend.source.partition("Figure ")
    return int(number or 0)


_Found = tuple[str, str, Sequence[float | None]]


def _divergence(study: MdmStudy) -> Iterator[_Found]:
    source = "section I"
    nmd = [study.dpki[name] for name in study.divergent(False)]
    md = [study.dpki[name] for name in study.divergent()]
    if nmd:
        yield source, "DPKI, not divergent: at most 3", (_MOST_NMD_DPKI, max(nmd))
    if md:
        yield source, "DPKI, divergent: at least 10", (min(md), MOST_DPKI)


def _baseline(study: MdmStudy) -> Iterator[_Found]:
    md, nmd = study.divergent(), study.divergent(False)
    errors = {s: study.mean_error(s, md) for s in (GPUMECH, GPUMECH_PLUS, MDM_QUEUE, MDM_MSHR)}
    half = "error, divergent: GPUMech, GPUMech+, {}, MDM"
    for scheme in (MDM_QUEUE, MDM_MSHR):
        values = [errors[s] for s in (GPUMECH, GPUMECH_PLUS, scheme)]
        yield "Figure 5", half.format(scheme), [*values, study.mean_error(MDM, md)]
    yield (
        "Figure 5",
        "error of GPUMech: divergent, not divergent",
        [errors[GPUMECH], study.mean_error(GPUMECH, nmd)],
    )
    apart = mean([_apart(study, name) for name in nmd])
    yield "Figure 5", "not divergent: GPUMech is near MDM", [_MOST_APART, apart]


def _apart(study: MdmStudy, application: str) -> float:
    gpumech, mdm = (study.forecasts[Point(s, application)].ipc for s in (GPUMECH, MDM))
    return abs(gpumech / mdm - 1)


_OF_GPUMECH = {
    "Figure 6": ("error of GPUMech falls as the NoC gets faster", False),
    "Figure 7": ("error of GPUMech grows as the DRAM gets faster", True),
    "Figure 8": ("error of GPUMech grows with the miss registers", True),
    "Figure 9": ("error of GPUMech grows with the SMs", True),
}
_WORSE = ((GPUMECH, GPUMECH_PLUS), (GPUMECH_PLUS, MDM_QUEUE), (GPUMECH_PLUS, MDM_MSHR))
"""Which model errs more than which, at every step of Figures 6 to 9."""


def _sweeps(study: MdmStudy) -> Iterator[_Found]:
    for sweep in SWEEPS:
        errors = _errors_by_scheme(study, sweep)
        says, grows = _OF_GPUMECH[sweep.figure]
        gpumech = errors[GPUMECH]
        yield sweep.figure, says, gpumech[::-1] if grows else gpumech
        for more, less in _WORSE:
            apart = [_minus(a, b) for a, b in zip(errors[more], errors[less], strict=True)]
            least = None if None in apart else min(value for value in apart if value is not None)
            yield sweep.figure, f"{more} errs more than {less}: least difference, 0", [least, 0.0]


def _errors_by_scheme(study: MdmStudy, sweep: Sweep) -> dict[str, list[float | None]]:
    md = study.divergent()
    return {
        scheme: [study.mean_error(scheme, md, settings) for settings in sweep.settings]
        for scheme in (GPUMECH, GPUMECH_PLUS, MDM_QUEUE, MDM_MSHR)
    }


def _minus(a: float | None, b: float | None) -> float | None:
    return None if a is None or b is None else a - b


def _of_means(study: MdmStudy) -> Iterator[_Found]:
    md = study.divergent()
    slower = [mean([study.slowdown(s, n, FAST_CLOCK) for n in md]) for s in (GPUMECH, MDM)]
    yield "Figure 13", "gain of a faster clock: GPUMech, MDM", slower
    off = [mean([_from_stalls(study, s, n) for n in md]) for s in (GPUMECH, MDM)]
    yield "Figure 13", "how far from scaled stalls: GPUMech, MDM", off
    ratios = [_ratio(study, name) for name in md]
    yield "Figure 15", "IPC of GPUMech over that of MDM, over 1", [mean(ratios), 1.0]


def _from_stalls(study: MdmStudy, scheme: str, application: str) -> float:
    scaled = study.slowdown_of_stalls(application, FAST_HZ / SLOW_HZ)
    return abs(study.slowdown(scheme, application, FAST_CLOCK) / scaled - 1)


def _of_single(study: MdmStudy) -> Iterator[_Found]:
    names = {a.name for a in study.applications}
    if names.issuperset(GRIDS.values()):
        gains = {s: [_gain(study, s, n) for n in GRIDS.values()] for s in (GPUMECH, MDM)}
        of_bt, of_cfd = (m / g for m, g in zip(gains[MDM], gains[GPUMECH], strict=True))
        yield "Figure 11", "gain by MDM over that by GPUMech: BT, CFD", (of_bt, of_cfd)
        yield "Figure 12", "gain of CFD: GPUMech, MDM", (gains[GPUMECH][1], gains[MDM][1])
    if STACKED in names:
        falls = [_cpi(study, MDM, scale) for scale in STACK_SCALES]
        yield "Figure 14", "CPI by MDM falls with the bandwidths", falls
        shares = [_cpi_range(study, s) for s in (MDM, GPUMECH)]
        yield "Figure 14", "how far it falls: MDM, GPUMech", shares


def _gain(study: MdmStudy, scheme: str, application: str) -> float:
    """IPC with the most SMs and the fastest DRAM of Figures 11 and 12 over that of Table III."""
    most = grid_settings(GRID_SMS[-1], GRID_BANDWIDTHS[-1])
    best = study.forecasts[Point(scheme, application, most)].ipc
    return best / study.forecasts[Point(scheme, application, TABLE_III)].ipc


def _cpi(study: MdmStudy, scheme: str, scale: float) -> float:
    return 1 / study.forecasts[Point(scheme, STACKED, stack_settings(scale))].ipc


def _cpi_range(study: MdmStudy, scheme: str) -> float:
    return _cpi(study, scheme, STACK_SCALES[0]) / _cpi(study, scheme, STACK_SCALES[-1])


def _ratio(study: MdmStudy, application: str) -> float:
    gpumech, mdm = (
        study.forecasts[Point(s, application, STREAMING_L1)].ipc for s in (GPUMECH, MDM)
    )
    return gpumech / mdm
