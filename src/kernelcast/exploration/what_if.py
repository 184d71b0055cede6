"""What every bottleneck of a launch costs: the time that the timing simulation gains without it.

The launch is executed once, and what its warps did is simulated once for every removal, and for
every pair where asked for. What is removed one at a time tells what it costs as things are; a pair
tells whether the one only hides the other:

    gain(a and b) < gain(a) + gain(b)    the same cycles are lost to both
    gain(a and b) > gain(a) + gain(b)    what one of them costs shows only without the other

Warps also issue in another order where nothing is gained by it. How much that alone moves the time
is found out by simulations in which blocks begin some cycles later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from itertools import combinations

from kernelcast.errors import InputError, NotFoundError
from kernelcast.execution.trace import Progress
from kernelcast.exploration.gains import Gain, Interplay, PairGain, WhatIf
from kernelcast.models.teg import Played, PreparedCase, Preparer, Teg
from kernelcast.models.terms.base import Case, Model, Prediction, launch_overhead
from kernelcast.simulation.removals import Removal, Removals
from kernelcast.simulation.removing import is_changed, resident_blocks

_NUDGES = (1, 2, 3, 4, 5, 6)
"""Cycles by which blocks begin later, each in a simulation of its own: less than a thousandth of
what a block takes, but enough that other warps meet at the pipes and banks of an SM."""
_LEAST_NOISE = 0.01
"""Of the time, however little the nudges move it."""
_MOST_PREPARED = 4
"""Of one launch, for as many numbers of blocks on an SM."""
_RANKING_INSTRUCTIONS = 100_000
"""Warp instructions of each simulation of a ranking: gains are the same shares of the time to about
a hundredth, at a fifth of what all of them cost."""


def read_removals(texts: Iterable[str]) -> tuple[tuple[Removal, ...], ...]:
    """Removals from texts such as `barriers`, or `barriers+tail` for both together.

    NotFoundError with the nearest names for one that nobody knows.
    """
    return tuple(tuple(map(_read, text.split("+"))) for text in texts)


def _read(name: str) -> Removal:
    known = tuple(map(str, Removal))
    if name.strip() not in known:
        raise NotFoundError("bottleneck", name.strip(), known, where="--remove")
    return Removal(name.strip())


def simulating_model(models: Sequence[Model]) -> Teg:
    """The one model among `models`; InputError where it is not the timing simulation."""
    if len(models) != 1 or not isinstance(models[0], Teg):
        raise InputError(
            "only the timing simulation can remove bottlenecks", where="--model", hint="name teg"
        )
    return models[0]


def what_if(
    case: Case,
    model: Teg,
    removals: Sequence[tuple[Removal, ...]] = (),
    *,
    pairs: bool = False,
    progress: Progress | None = None,
) -> WhatIf:
    """What a launch gains without each of its bottlenecks.

    Parameters
    ----------
    removals:
        What to remove, each in a simulation of its own; all that change anything where none are
        named.
    pairs:
        Remove every two that are named singly together, too.
    progress:
        Is told the share that is done.

    MissingNumberError as the model does.
    """
    prepare = lru_cache(_MOST_PREPARED)(partial(model.prepared, case))
    played = model.play(case, prepare=prepare)
    base = model.prediction(played)
    wanted = removals or tuple((removal,) for removal in Removal)
    there = [one for one in wanted if any(_is_there(removal, played) for removal in one)]
    single = [one[0] for one in there if len(one) == 1]
    asked = [*there, *(combinations(single, 2) if pairs else ())]
    removed = tuple(dict.fromkeys(asked))
    step = _steps(len(_NUDGES) + len(removed), progress)
    noise = _noise(base, model, prepare, step)
    found: dict[Removals, Gain] = {}
    for one in removed:
        found[frozenset(one)] = _gain(base, model, prepare, one)
        step()
    return WhatIf(
        base,
        gains=_ranked(found[frozenset(one)] for one in there),
        noise=noise,
        pairs=_pairs(base, single, found, noise) if pairs else (),
        absent=tuple(r for one in wanted for r in one if one not in there),
    )


def ranking(prediction: Prediction, progress: Progress | None = None) -> WhatIf | None:
    """What a launch that was simulated gains without each of its bottlenecks, quickly: less of it
    is simulated, so that its shares of the time are to be read, not its times.

    None where the model did not simulate the launch.
    """
    if prediction.simulated is None:
        return None
    model = prediction.model if isinstance(prediction.model, Teg) else Teg()
    most = min(model.instructions, _RANKING_INSTRUCTIONS)
    return what_if(prediction.case, replace(model, instructions=most), progress=progress)


def _steps(count: int, progress: Progress | None) -> Callable[[], None]:
    """What is called after each of so many steps."""
    done = iter(range(1, count + 1))

    def step() -> None:
        if progress:
            progress(next(done) / count)

    return step


def _noise(base: Prediction, model: Teg, prepare: Preparer, step: Callable[[], None]) -> float:
    """How far the time moves, as a share of it, where warps only issue in another order."""
    noise = _LEAST_NOISE
    for cycles in _NUDGES:
        found = model.predict(base.case, prepare=_nudged(prepare, cycles))
        noise = max(noise, abs(found.time_s / base.time_s - 1))
        step()
    return noise


def _nudged(prepare: Preparer, cycles: int) -> Preparer:
    """The launch with blocks that begin, and follow others, so many cycles later."""

    def prepared(resident: int) -> PreparedCase:
        ready = prepare(resident)
        hardware = ready.given.hardware.copy()
        for name in ("block_interval", "replacement"):
            hardware[name] += cycles
        return replace(ready, given=replace(ready.given, hardware=hardware))

    return prepared


def _is_there(removal: Removal, played: Played) -> bool:
    """Whether there is anything to remove."""
    limits = played.case.occupancy.limits
    if removal is Removal.LAUNCH_OVERHEAD:
        return launch_overhead(played.case)[0].cycles > 0
    if removal in (Removal.REGISTER_LIMIT, Removal.SHARED_MEMORY_LIMIT):
        return resident_blocks(limits, {removal}) > resident_blocks(limits, set())
    return removal is Removal.TAIL or is_changed(played.given, removal, played.found.issued > 0)


def _gain(base: Prediction, model: Teg, prepare: Preparer, removed: tuple[Removal, ...]) -> Gain:
    found = model.predict(base.case, frozenset(removed), prepare)
    return Gain(removed, found.time_s, base.time_s - found.time_s, found.bottleneck)


def _ranked(gains: Iterable[Gain]) -> tuple[Gain, ...]:
    return tuple(sorted(gains, key=lambda gain: -gain.gain_s))


def _pairs(
    base: Prediction, single: Sequence[Removal], found: Mapping[Removals, Gain], noise: float
) -> tuple[PairGain, ...]:
    alone = {removal: found[frozenset((removal,))].gain_s for removal in single}
    ranked = sorted(single, key=lambda removal: -alone[removal])
    pairs = [
        _pair(replace(found[frozenset(two)], removed=two), alone, 2 * noise * base.time_s)
        for two in combinations(ranked, 2)
    ]
    return tuple(sorted(pairs, key=lambda pair: -pair.gain.gain_s))


def _pair(gain: Gain, alone: Mapping[Removal, float], noise_s: float) -> PairGain:
    greater, lesser = (max(0.0, alone[removal]) for removal in gain.removed)
    both = greater + lesser
    if gain.gain_s > both + noise_s:
        relation = Interplay.HIDES
    elif gain.gain_s >= both - noise_s:
        relation = Interplay.ADDS
    elif gain.gain_s <= greater + noise_s:
        relation = Interplay.SWALLOWS
    else:
        relation = Interplay.OVERLAPS
    return PairGain(gain, both, relation)
