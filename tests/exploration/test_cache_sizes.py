"""Sweeps over the capacities of caches: simulated once, and near what each would be."""

from __future__ import annotations

import numpy as np
import pytest
from tests.kept import CACHE

from kernelcast.exploration.design_space import DesignSpace, design_space, read_axis
from kernelcast.exploration.explore import explore
from kernelcast.exploration.sweep import Program
from kernelcast.forecasting.build import Build
from kernelcast.forecasting.cases import cases_of_workload
from kernelcast.hierarchy.caches import launch, whole_grid
from kernelcast.models import load_model
from kernelcast.models.terms.base import Case
from kernelcast.validation.mdm.applications import APPLICATIONS, paper_machine

FEW = "l2.size=786432,3145728"
MANY = "l2.size=786432,1572864,3145728,6291456,12582912"


@pytest.fixture(scope="module")
def case() -> Case:
    (spmv,) = (a for a in APPLICATIONS if a.name == "SPMV")
    (found,) = cases_of_workload(spmv.workload(), [paper_machine()], build=Build(cache=CACHE))
    return found


@pytest.fixture
def simulations(monkeypatch):
    """How many grids were simulated."""
    found: list[object] = []
    own = whole_grid.simulate

    def simulate(*arguments, **options):
        found.append(arguments)
        return own(*arguments, **options)

    monkeypatch.setattr(launch, "simulate", simulate)
    return found


def space(*sweeps: str) -> DesignSpace:
    return design_space(paper_machine(), [read_axis(sweep) for sweep in sweeps])


def test_caches_of_a_few_capacities_are_simulated_each(case, simulations):
    explore(space(FEW), [Program("a", (case,))], [load_model("roofline")])
    assert len(simulations) >= 2


def test_of_many_capacities_one_is_simulated_for_all_models(case, simulations):
    models = [load_model("roofline"), load_model("mdm")]
    found = explore(space(MANY, "dram.bandwidth=3e11,6e11"), [Program("a", (case,))], models)
    assert found.times_s.shape == (2, 10)
    assert len(simulations) == 1


def test_times_are_those_of_simulated_caches_but_at_the_knee(case):
    """The smallest cache holds nearly all of the vector: how much of it is a matter of its sets."""
    swept, roofline = space(MANY), load_model("roofline")
    found = explore(swept, [Program("a", (case,))], [roofline])
    simulated = [roofline.predict(case.on(swept.machine_at(at))).time_s for at in range(5)]
    assert found.times_s[0, 1:] == pytest.approx(np.array(simulated[1:]), rel=1e-6)
    assert found.times_s[0, 0] == pytest.approx(simulated[0], rel=0.15)
    assert found.times_s[0, 0] < simulated[0]
