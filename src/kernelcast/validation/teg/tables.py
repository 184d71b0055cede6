"""Tables 2 to 5 of the paper: cycles over warps of two kernels, each with and without a bottleneck.

J. Lai, A. Seznec: TEG: GPU Performance Estimation Using a Timing Model. INRIA, RR-7804, 2011. The
paper prints neither the code nor the size of its matrices and lattice, so one factor is fitted for
each table: the one with the smallest largest error. Ratios within and between tables take none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kernelcast.execution.trace import Progress
from kernelcast.simulation.removals import Removal
from kernelcast.validation.teg.play import kernel_trace, played

WORST_ERROR = 0.1002
"""The largest error of the paper's own predictions, relative to what was measured."""
GAIN_ERROR = 0.15

_BLOCK_WARPS = 8
_SMS = 30


@dataclass(frozen=True)
class PaperTable:
    """A table as printed: measured and predicted cycles by warps."""

    number: int
    title: str
    kernel: str
    numbers: Mapping[str, int]
    warps: tuple[int, ...]
    measured: tuple[int, ...]
    predicted: tuple[int, ...]


TABLES = (
    PaperTable(
        2,
        "C = A B^T with bank conflicts",
        "matmul_abt",
        {"width": 16},
        (1, 2, 4, 8, 16),
        (55605, 55803, 71465, 107668, 186958),
        (52590, 52878, 64578, 109364, 200538),
    ),
    PaperTable(
        3,
        "C = A B^T without",
        "matmul_abt",
        {"width": 17},
        (1, 2, 4, 8, 16),
        (17511, 17291, 18330, 23228, 33227),
        (16746, 17528, 19510, 23630, 34896),
    ),
    PaperTable(
        4,
        "Hopping_Matrix, array of structures",
        "hopping",
        {"soa": 0},
        (1, 2, 4),
        (51053, 68383, 122430),
        (46034, 66674, 110162),
    ),
    PaperTable(
        5,
        "Hopping_Matrix, structure of arrays",
        "hopping",
        {"soa": 1},
        (1, 2, 4),
        (37926, 47038, 73100),
        (36202, 45204, 68104),
    ),
)
_PAIRS = ((2, 3, Removal.BANK_CONFLICTS), (4, 5, Removal.UNCOALESCED_ACCESS))
"""Tables with and without a bottleneck, and what is removed."""


@dataclass(frozen=True)
class TableCurve:
    """A table, the simulated cycles, and the factor on them that fits best."""

    table: PaperTable
    cycles: tuple[float, ...]

    @property
    def factor(self) -> float:
        """Of all cycles: it makes the largest error smallest."""
        ratios = [c / m for c, m in zip(self.cycles, self.table.measured, strict=True)]
        return 2 / (min(ratios) + max(ratios))

    @property
    def errors(self) -> tuple[float, ...]:
        """Simulated cycles times the factor over measured ones, less 1."""
        pairs = zip(self.cycles, self.table.measured, strict=True)
        return tuple(self.factor * cycles / measured - 1 for cycles, measured in pairs)


@dataclass(frozen=True)
class PaperRatio:
    """A ratio of two points, which takes no factor: measured, as the paper predicts, and ours."""

    source: str
    says: str
    measured: float
    predicted: float
    found: float

    @property
    def error(self) -> float:
        """Ours over the measured one, less 1."""
        return self.found / self.measured - 1

    @property
    def holds(self) -> bool:
        """Whether it is within the bound."""
        return abs(self.error) <= GAIN_ERROR


@dataclass(frozen=True)
class TegStudy:
    """All four curves, and what removing a bottleneck from the first of a pair gives, by table."""

    curves: tuple[TableCurve, ...]
    without: Mapping[int, tuple[float, ...]]

    def curve(self, number: int) -> TableCurve:
        """That of a table."""
        return next(c for c in self.curves if c.table.number == number)


def study_tables(progress: Progress | None = None) -> TegStudy:
    """Simulate every point."""
    total = sum(len(t.warps) for t in TABLES) + sum(len(_table(n).warps) for n, _, _ in _PAIRS)
    done = 0

    def cycles(table: PaperTable, warps: int, *removed: Removal) -> float:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done / total)
        trace = kernel_trace(table.kernel, {**table.numbers, **_blocks(warps, table.kernel)})
        return played(trace, frozenset(removed)).time.cycles

    curves = tuple(TableCurve(t, tuple(cycles(t, n) for n in t.warps)) for t in TABLES)
    without = {
        number: tuple(cycles(_table(number), n, removal) for n in _table(number).warps)
        for number, _, removal in _PAIRS
    }
    return TegStudy(curves, without)


def gains(study: TegStudy) -> tuple[PaperRatio, ...]:
    """What removing a bottleneck gives, by kernel and by what-if; and speed-ups over one warp."""
    found: list[PaperRatio] = []
    for with_it, without_it, removal in _PAIRS:
        slow, fast = study.curve(with_it), study.curve(without_it)
        ways = (("the other kernel", fast.cycles), (f"{removal} removed", study.without[with_it]))
        for how, cycles in ways:
            found += [
                PaperRatio(
                    f"Tables {with_it}, {without_it}",
                    f"{how}, {warps} warp{'s' * (warps > 1)}",
                    slow.table.measured[k] / fast.table.measured[k],
                    slow.table.predicted[k] / fast.table.predicted[k],
                    slow.cycles[k] / cycles[k],
                )
                for k, warps in enumerate(slow.table.warps)
            ]
    return (*found, *(_speedup(curve) for curve in study.curves))


def _speedup(curve: TableCurve) -> PaperRatio:
    """Of most warps over one, at the same work of each."""
    table, warps = curve.table, curve.table.warps[-1]

    def of(cycles: tuple[float, ...]) -> float:
        return warps * cycles[0] / cycles[-1]

    says = f"speed-up of {warps} warps over one"
    return PaperRatio(
        f"Table {table.number}", says, of(table.measured), of(table.predicted), of(curve.cycles)
    )


def _table(number: int) -> PaperTable:
    return next(t for t in TABLES if t.number == number)


def _blocks(warps: int, kernel: str) -> dict[str, int]:
    """One block up to 8 warps of a product, timed by itself; of 16, two blocks on every SM."""
    if kernel != "matmul_abt":
        return {"warps": warps}
    if warps <= _BLOCK_WARPS:
        return {"warps": warps, "blocks": 1}
    return {"warps": _BLOCK_WARPS, "blocks": warps // _BLOCK_WARPS * _SMS}
