"""Volkov 2016, sections 7.9 and 7.10, against his refined model."""

from __future__ import annotations

import math

import numpy as np
import pytest

from kernelcast.errors import InputError, MissingNumberError
from kernelcast.machines.loader import load_machine
from kernelcast.models.terms.latency_hiding import Chip, MemoryContention, memory_throughput
from kernelcast.validation.arena import (
    ALPHAS,
    GPUS,
    Contestant,
    contestants,
    field,
    judge,
    observed_score,
    score,
)
from kernelcast.validation.statements import (
    CUSP,
    LARGEST,
    STATEMENTS,
    Statement,
    Verdict,
    verdicts,
)

MACHINES = tuple(load_machine(name) for name in GPUS)


def test_alphas_are_the_powers_of_the_root_of_two_as_whole_additions():
    """19 powers from 1 to 512, each the nearest whole number, of which only 1.41 is one before."""
    powers = [2 ** (k / 2) for k in range(19)]
    assert (powers[0], powers[-1]) == (1, pytest.approx(512))
    nearest = [min((abs(a - power), a) for a in range(1, 513))[1] for power in powers]
    assert nearest[0] == nearest[1] == 1
    assert list(ALPHAS) == nearest[1:] == sorted(set(nearest))
    assert 11 in ALPHAS  # Figure 7.2, b: the one odd power that the text names


def test_the_observed_side_is_section_6_5_on_kepler():
    """x = min(n / (300 + 32 x / (0.1477 - x) + 9 alpha), 0.1338, 4 / (alpha + 1))."""
    on = field(load_machine("gtx-680"))
    law = MemoryContention(300, ((32, 170e9),)).in_units_of(128 * 8 * 1.124e9)
    chip = Chip(301, 154e9 / (128 * 8 * 1.124e9), 9, 4, 4)
    expected = memory_throughput(chip, on.warps[None, :], on.alphas[:, None], law)
    np.testing.assert_allclose(on.observed, expected, rtol=1e-12)


def test_occupancies_have_as_many_warps_on_every_scheduler():
    assert list(field(load_machine("gtx-480")).warps) == list(range(2, 49, 2))
    assert list(field(load_machine("gtx-680")).warps) == list(range(4, 65, 4))
    assert list(field(load_machine("8800-gtx")).warps) == list(range(1, 25))


@pytest.mark.parametrize(
    "verdict",
    verdicts(MACHINES),
    ids=lambda v: "-".join(
        (
            v.statement.contestant,
            v.statement.gpu,
            v.statement.quantity,
            f"{v.statement.alphas[0]:g}",
        )
    ),
)
def test_figures_of_chapter_7(verdict):
    low, high = verdict.statement.band
    assert low <= verdict.found <= high


def test_every_gpu_of_a_statement_is_in_the_arena():
    assert {s.gpu for s in STATEMENTS} <= set(GPUS)
    assert len(verdicts(MACHINES[:1])) == sum(s.gpu == GPUS[0] for s in STATEMENTS)


def test_a_band_that_is_missed_does_not_hold():
    says = Statement("volkov", "gtx-680", LARGEST, (1.0,), 1.25, 1.28, "nowhere")
    low, high = says.band
    assert (low, high) == pytest.approx((1.25 / 1.2, 1.28 * 1.05))
    assert Verdict(says, 1.25).holds
    assert not Verdict(says, low - 0.01).holds
    assert not Verdict(says, high + 0.01).holds
    assert not Verdict(says, math.nan).holds


def test_cusp_of_a_model_without_bound_is_judged_by_its_ends():
    (found,) = (
        v.found
        for v in verdicts(MACHINES)
        if v.statement.contestant == "baghsorkhi" and v.statement.quantity == CUSP
    )
    assert found == 1


def test_all_scores_of_five_gpus():
    scores = judge(MACHINES)
    assert len(scores) == 5 * 12
    for s in scores:
        smallest, largest = s.extremes
        assert s.contestant.endswith("bandwidth") or 0 < smallest <= largest < 11
        assert (s.impossible > 0) <= s.contestant.endswith("bandwidth")
    assert sum(s.impossible for s in scores) > 0


def test_huang_fails_by_throughput_and_the_others_by_latency():
    """Section 7.9: at intermediate alpha the one errs least and the others err most."""
    by_name = {s.contestant: s for s in judge([load_machine("gtx-980")])}
    middle = ALPHAS.index(64)
    huang = by_name["gpumech"].largest
    assert huang[middle] < min(huang[0], huang[-1])
    for name in ("zhang-owens", "sim"):
        errors = by_name[name].largest
        assert errors[middle] > max(errors[0], errors[-1]) + 0.4


def test_the_observed_side_against_itself():
    on = field(load_machine("gtx-980"))
    own = observed_score(on)
    assert own.extremes == (1, 1)
    assert own.cusp == pytest.approx(1.5)
    # Table 6.4: 90 % of the peak of loads alone takes 10 warps per scheduler.
    assert observed_score(field(load_machine("gtx-980"), (0,))).needed == [40]


def test_a_throughput_that_is_not_finite_is_counted():
    on = field(load_machine("gtx-980"), (1, 2))
    zero = score(Contestant("zero", lambda w: np.zeros_like(on.observed)), on)
    assert zero.impossible == on.observed.size
    assert np.isnan(zero.needed).all()


def test_one_call_answers_like_many():
    """Arrays of alpha and occupancy give what each pair gives alone."""
    machine = load_machine("gtx-680")
    on = field(machine, (0, 16, math.inf), (4, 32, 64))
    whole = {c.name: c.throughput(on.work) for c in contestants(on)}
    for column, n in enumerate((4, 32, 64)):
        one = field(machine, (16,), (n,))
        for c in contestants(one):
            alone = np.broadcast_to(c.throughput(one.work), (1, 1))[0, 0]
            together = np.broadcast_to(whole[c.name], on.observed.shape)[1, column]
            assert alone == pytest.approx(together, rel=1e-9), c.name


def test_machines_and_points_that_cannot_be_judged():
    with pytest.raises(MissingNumberError, match=r"volkov\.latency_base"):
        field(load_machine("b200"))
    with pytest.raises(InputError, match="no alpha"):
        field(load_machine("gtx-680"), ())
    with pytest.raises(InputError, match="occupancy"):
        field(load_machine("gtx-680"), (1,), (0,))
