"""Conditions: known answers, three values, units, and what is refused."""

from __future__ import annotations

import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kernelcast.errors import InputError
from kernelcast.gating.conditions import BoundStatus, Interval, judge, together
from kernelcast.gating.gate import check_condition

HOLDS, BROKEN, UNTOLD = BoundStatus.HOLDS, BoundStatus.BROKEN, BoundStatus.CANNOT_TELL
TIME, BYTES = (1, 0), (0, 1)
NAMES = {
    "time": Interval(1e-3, 2e-3, 3e-3, TIME),
    "exact": Interval.exactly(2e-3, TIME),
    "dram_bytes": Interval.exactly(5e6, BYTES),
    "conflicts": Interval.exactly(0.0, (0, 0)),
    "share": Interval(0.4, 0.5, 0.6, (0, 0)),
    "missing": Interval.unknown((0, 0)),
}


@pytest.mark.parametrize(
    ("text", "verdicts"),
    [
        ("time < 4 ms", [HOLDS]),
        ("time < 3 ms", [UNTOLD]),
        ("time <= 3 ms", [HOLDS]),
        ("time < 2.5 ms", [UNTOLD]),
        ("time < 1 ms", [BROKEN]),
        ("time > 0.5 ms", [HOLDS]),
        ("time >= 1e-3", [HOLDS]),
        ("exact == 2ms", [HOLDS]),
        ("exact != 2000 us", [BROKEN]),
        ("time == 2 ms", [UNTOLD]),
        ("time == 9 ms", [BROKEN]),
        ("1 ms < exact < 3 ms", [HOLDS]),
        ("conflicts == 0 and time < 4 ms", [HOLDS, HOLDS]),
        ("conflicts == 0 and time < 1 ms", [HOLDS, BROKEN]),
        ("conflicts == 0 or time < 1 ms", [HOLDS]),
        ("conflicts > 0 or time < 2 ms", [UNTOLD]),
        ("not conflicts > 0", [HOLDS]),
        ("not (conflicts == 0 or time < 2 ms)", [BROKEN]),
        ("dram_bytes <= 5 MB", [HOLDS]),
        ("dram_bytes < 4.7 MiB", [BROKEN]),
        ("dram_bytes / exact < 3 GB/s", [HOLDS]),
        ("dram_bytes / exact > 3 GB/s", [BROKEN]),
        ("share <= 60 %", [HOLDS]),
        ("share < 50% and share > 30%", [UNTOLD, HOLDS]),
        ("2 * time < 7 ms", [HOLDS]),
        ("time - exact < 1.5 ms", [HOLDS]),
        ("max(time, 4 ms) <= 4 ms", [HOLDS]),
        ("abs(exact - 3 ms) < 1.1 ms", [HOLDS]),
        ("-time < 0", [HOLDS]),
        ("missing < 5", [UNTOLD]),
        ("(time < 4 ms) and (conflicts == 0)", [HOLDS, HOLDS]),
    ],
)
def test_known_answers(text, verdicts):
    assert [clause.verdict for clause in judge(text, NAMES)] == verdicts


def test_clauses_are_told_as_they_were_typed():
    found = judge("  time < 4 ms and share>30% and (conflicts == 0 or exact<1 s) ", NAMES)
    assert [c.text for c in found] == ["time < 4 ms", "share>30%", "conflicts == 0 or exact<1 s"]
    assert [c.names for c in found] == [("time",), ("share",), ("conflicts", "exact")]


@pytest.mark.parametrize(
    ("text", "message", "column"),
    [
        ("tme < 2 ms", "unknown name 'tme'; did you mean time", 1),
        ("time < 4 ms and tme < 2 ms", "unknown name 'tme'", 17),
        ("time < 2 sm", "unknown unit 'sm'", 10),
        ("time < 2 MB", "a time beside bytes", 8),
        ("time + conflicts < 2", "a time beside a number", 8),
        ("time", "a comparison is expected", 1),
        ("time < 2 ms and", "unexpected end", 16),
        ("time < ", "expected a value", 7),
        ("__import__('os') < 2", "unexpected", 12),
        ("time.real < 2", "this is not arithmetic", 1),
        ("[x for x in time] < 2", "unexpected '['", 1),
        ("lambda: 1", "unexpected ':'", 7),
        ("time if exact else time", "cannot be a name here", 6),
        ("time < 2 ms / conflicts", "division by zero", 15),
        ("time ** 2 < 3", "this is not arithmetic", 1),
        ("round(time) < 1", "unknown name 'round'", 1),
        ("abs(time, time) < 1", "abs takes 1 value", 1),
        ("time is 2", "cannot be a name here", 6),
        ("(" * 70 + "time < 1" + ")" * 70, "nested too deeply", 65),
        ("", "expected a value", 1),
    ],
)
def test_what_is_refused(text, message, column):
    with pytest.raises(InputError) as caught:
        judge(text, NAMES)
    assert message in str(caught.value)
    assert f"column {column}:" in str(caught.value)


def test_conditions_are_checked_before_anything_is_known():
    check_condition("time < 2 ms and bank_conflicts == 0 and occupancy >= 50 %")
    with pytest.raises(InputError, match="did you mean bank_conflicts"):
        check_condition("time < 2 ms and bank_conflict == 0")


numbers = st.floats(-1e6, 1e6)


@given(numbers, numbers, numbers, numbers, st.sampled_from(["<", "<=", ">", ">=", "==", "!="]))
def test_a_decided_comparison_is_right_of_every_value_within(a, b, bound, at, op):
    low, high = min(a, b), max(a, b)
    value = min(max(at, low), high)
    names = {"x": Interval(low, value, high), "bound": Interval.exactly(bound)}
    (clause,) = judge(f"x {op} bound", names)
    (exact,) = judge(f"x {op} bound", {**names, "x": Interval.exactly(value)})
    assert exact.verdict is not UNTOLD
    assert clause.verdict in (UNTOLD, exact.verdict)
    if low == high:
        assert clause.verdict is exact.verdict


@given(
    st.lists(numbers, min_size=4, max_size=4),
    st.lists(st.floats(0, 1), min_size=2, max_size=2),
    st.sampled_from(["x + y", "x - y", "x * y", "min(x, y)", "max(x, y)", "abs(x) + y", "-x * y"]),
)
def test_intervals_hold_every_result(ends, shares, text):
    (a, b), (c, d) = sorted(ends[:2]), sorted(ends[2:])
    x, y = (
        min(max(low + share * (high - low), low), high)
        for (low, high), share in zip(((a, b), (c, d)), shares, strict=True)
    )
    result = eval(text, {"min": min, "max": max, "abs": abs}, {"x": x, "y": y})
    names = {"x": Interval(a, x, b), "y": Interval(c, y, d), "r": Interval.exactly(result)}
    slack = 1e-9 * max(map(abs, (*ends, 1.0))) ** 2
    names["e"] = Interval.exactly(slack)
    for claim in (f"{text} < r - e", f"{text} > r + e"):
        assert judge(claim, names)[0].verdict is not HOLDS


@given(st.lists(st.sampled_from(list(BoundStatus)), max_size=5))
def test_all_must_hold(verdicts):
    found = together(verdicts)
    assert (found is HOLDS) == all(v is HOLDS for v in verdicts)
    assert (found is BROKEN) == (BROKEN in verdicts)


@given(st.text(max_size=60))
@example("-" * 990 + "time < 1")
@example("not " * 240 + "time < 1")
def test_no_text_ends_in_another_error(text):
    try:
        judge(text, NAMES)
    except InputError as error:
        assert str(error)


def test_what_is_not_known_is_no_figure():
    assert math.isnan(Interval.unknown(TIME).value)
