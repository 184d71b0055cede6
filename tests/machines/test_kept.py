"""What is kept by numbers is what would be computed again."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from kernelcast.machines.kept import KeptResult, KeptResults
from kernelcast.machines.loader import apply_overrides, load_machine
from kernelcast.machines.machine import Machine

CHIP = load_machine("h100-sxm")
PATHS = ("sm.count", "dram.bandwidth", "clock.sm")


def counting(compute: Callable[[Machine], object]) -> tuple[Callable[[Machine], object], list[int]]:
    calls: list[int] = []

    def counted(machine: Machine) -> object:
        calls.append(1)
        return compute(machine)

    return counted, calls


def test_what_a_number_does_not_touch_is_computed_once() -> None:
    kept = KeptResults()
    compute, calls = counting(lambda m: 2 * m.number("sm.count"))
    for bandwidth in (1e12, 2e12, 3e12):
        machine = apply_overrides(CHIP, [f"dram.bandwidth={bandwidth}"])
        assert kept.get("twice", (), machine, compute) == 264
    assert len(calls) == 1
    machine = apply_overrides(CHIP, ["dram.bandwidth=1e12", "sm.count=10"])
    assert kept.get("twice", (), machine, compute) == 20
    assert len(calls) == 2


def test_a_number_that_was_not_there_counts_as_read() -> None:
    kept = KeptResults()
    fields = {k: v for k, v in CHIP.quantities.items() if k != "latency.l1"}
    without = Machine(**{**vars(CHIP), "quantities": fields})
    assert kept.get("l1", (), without, lambda m: m.get("latency.l1")) is None
    assert kept.get("l1", (), CHIP, lambda m: m.get("latency.l1")) == CHIP.number("latency.l1")


def test_going_through_all_numbers_depends_on_all() -> None:
    kept = KeptResults()
    total = lambda m: sum(1 for q in m.quantities.values() if q.kind == "assumed")  # noqa: E731
    before = kept.get("assumed", (), CHIP, total)
    after = kept.get("assumed", (), apply_overrides(CHIP, ["sm.count=10"]), total)
    assert after == before + 1


def test_what_an_inner_function_kept_counts_as_read_by_the_outer() -> None:
    kept = KeptResults()

    def inner(machine: Machine) -> float:
        return kept.get("inner", (), machine, lambda m: m.number("sm.count"))

    def outer(machine: Machine) -> float:
        return kept.get("outer", (), machine, inner)

    inner(CHIP)
    assert outer(CHIP) == 132
    assert outer(apply_overrides(CHIP, ["sm.count=7"])) == 7


def test_more_than_are_kept_are_computed_again_and_right() -> None:
    kept = KeptResults()
    machines = [apply_overrides(CHIP, [f"sm.count={n}"]) for n in range(1, 400)]
    for _ in range(2):
        found = [kept.get("sms", (), m, lambda m: m.number("sm.count")) for m in machines]
        assert found == list(range(1, 400))


def test_copies_start_empty() -> None:
    kept = KeptResults()
    kept.get("one", (), CHIP, lambda _: 1)
    for copied in (pickle.loads(pickle.dumps(kept)), copy.copy(kept)):
        assert copied.get("one", (), CHIP, lambda _: 2) == 2


_values = st.fixed_dictionaries({path: st.integers(1, 3) for path in PATHS})


@given(
    read=st.lists(st.sampled_from(PATHS), unique=True),
    branch=st.sampled_from(PATHS),
    sweep=st.lists(_values, max_size=12),
)
def test_kept_equals_computed(read: list[str], branch: str, sweep: list[dict[str, int]]) -> None:
    """Also where what is read depends on what was read before."""
    kept = KeptResults()

    def compute(machine: Machine) -> tuple[float, ...]:
        chosen = read if machine.number(branch) > machine.number("sm.count") else [branch]
        return tuple(machine.number(path) for path in chosen)

    for numbers in sweep:
        scaled = {p: v * (1 if p == "sm.count" else 1_000_000) for p, v in numbers.items()}
        machine = apply_overrides(CHIP, [f"{p}={v}" for p, v in scaled.items()])
        assert kept.get("f", (), machine, compute) == compute(machine)


def test_what_another_process_computed_is_kept_by_the_numbers_that_it_read() -> None:
    kept, other = KeptResults(), KeptResults()
    compute, calls = counting(lambda m: 2 * m.number("sm.count"))
    kept.get("twice", (), CHIP, compute)
    known = kept.known("twice", (), CHIP)
    assert known == KeptResult(("sm.count",), 264)
    assert other.known("twice", (), CHIP) is None
    other.learn("twice", (), CHIP, known)
    assert other.get("twice", (), CHIP, compute) == 264
    assert len(calls) == 1
    fewer = apply_overrides(CHIP, ["sm.count=10"])
    assert other.known("twice", (), fewer) is None
    assert other.get("twice", (), fewer, compute) == 20
