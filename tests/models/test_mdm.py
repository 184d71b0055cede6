"""Wang et al. 2020 as a model of cases."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from tests.kept import CACHE

from kernelcast.errors import InputError, MissingNumberError
from kernelcast.forecasting.build import Build
from kernelcast.forecasting.cases import cases_of_workload
from kernelcast.frontends.workloads import read_workload
from kernelcast.ir import OpClass, Space
from kernelcast.machines.loader import load_machine
from kernelcast.models import read_model
from kernelcast.models.mdm import Mdm
from kernelcast.models.terms.base import Bottleneck, Case
from kernelcast.models.terms.memory_divergence import Scheme
from kernelcast.models.terms.parameters import model_label
from kernelcast.profiling.profile import Footprint
from kernelcast.validation.mdm.applications import LISTING_1

PASCAL = load_machine("gtx-1080")
VOLTA = load_machine("v100-sxm2")
APART = {"sectors": 32, "lines": 32}
LOAD: dict[str, Any] = {
    "op_class": OpClass.LOAD,
    "space": Space.GLOBAL,
    "writes": "x",
    "reads": ("i",),
    "access": APART,
}
ADD: dict[str, Any] = {"op_class": OpClass.FP32, "writes": "x", "reads": ("x",)}
EXIT: dict[str, Any] = {"op_class": OpClass.BRANCH}
BLOCKS = 1 << 12
WARPS = 8 * BLOCKS


@pytest.fixture
def divergent(make_case):
    """Loads of 32 lines a warp, each of which an addition waits for."""

    def on(machine, loads: int = 1) -> Case:
        sectors = 32.0 * loads * WARPS
        array = Footprint("x", int(32 * sectors), True, False, sectors, sectors, sectors)
        ops = [LOAD, ADD] * loads
        return make_case(machine, [*ops, EXIT], blocks=BLOCKS, footprints=[array])

    return on


def test_a_launch_by_hand(divergent):
    """GTX 1080: 64 warps of 32 reads at 128 registers, sectors of 32 B, all from the DRAM.

    Of the two intervals the first has a stall of 504 - 1 cycles, and the second the branch and the
    addition. 64 x 32 / 128 = 16 batches; M = 128 requests of 20 SMs queue, a quarter line each.
    """
    p = Mdm().predict(divergent(PASCAL))
    noc = 20 * 128 * 1.733e9 * 32 / PASCAL.number("noc.bandwidth")
    dram = 20 * 128 * 1.733e9 * 32 / 320.3e9
    assert noc < 504  # so half of the queues is waited for
    mshr = 15 * (504 + (noc + dram) / 2)
    rounds = WARPS / 20 / 64
    parts = {part.name: part.cycles / rounds for part in p.breakdown}
    assert parts["miss registers"] == pytest.approx(mshr)
    assert parts["noc bandwidth"] == pytest.approx(noc / 2)
    assert parts["dram bandwidth"] == pytest.approx(dram / 2)
    assert parts["base"] == pytest.approx(64 / 4 * 3)
    assert p.bottleneck is Bottleneck.MISS_REGISTERS
    assert (p.terms["W"], p.terms["M_Read"], p.terms["LLCMissRatio"]) == (64, 32, 1)


@pytest.mark.parametrize(
    ("text", "scheme"),
    [
        ("mdm:queue=gpumech:registers=gpumech", Scheme("gpumech", "gpumech")),
        ("mdm:queue=gpumech+:registers=gpumech+", Scheme("gpumech+", "gpumech+")),
        ("mdm:registers=gpumech+", Scheme("mdm", "gpumech+")),
        ("mdm:queue=gpumech+", Scheme("gpumech+", "mdm")),
        ("mdm", Scheme("mdm", "mdm")),
    ],
)
def test_the_five_models_of_table_v_are_five_settings(text, scheme):
    model: Any = read_model(text)
    assert model_label(model) == text
    assert model.scheme == scheme


def test_each_step_of_table_v_waits_longer(divergent):
    # One SM fewer warps a chip: the NoC saturates, so that all five differ.
    case = divergent(load_machine("gtx-680"))
    texts = ("queue=gpumech:registers=gpumech", "queue=gpumech+:registers=gpumech+")
    cycles = [read_model(f"mdm:{text}").predict(case).cycles for text in texts]
    cycles += [Mdm(queue=q, registers=r).predict(case).cycles for q, r in (("mdm", "gpumech+"),)]
    assert cycles == sorted(cycles)
    assert cycles[-1] < Mdm().predict(case).cycles
    assert cycles[1] < Mdm(queue="gpumech+").predict(case).cycles < Mdm().predict(case).cycles


def test_parts_are_cycles_per_instruction(divergent):
    p = Mdm().predict(divergent(PASCAL, loads=3))
    terms: Any = p.terms
    parts = [value for name, value in terms.items() if name.startswith("CPI")]
    ipc = terms["IPC_SM"]
    assert sum(parts) == pytest.approx(1 / ipc)
    assert p.terms["CPI of base"] == pytest.approx(1 / 4)
    assert math.fsum(part.cycles for part in p.breakdown) == pytest.approx(p.cycles)


def test_the_jump_at_saturation_is_flagged(divergent, set_numbers):
    """Equation 9: the whole queue instead of half of it, so one register more costs time."""
    lines = set_numbers(PASCAL, {"l1.sector": 128})
    service = 20 * 1.733e9 * 128 / PASCAL.number("noc.bandwidth")
    last = math.floor(504 / service)
    below, above = (
        Mdm().predict(divergent(set_numbers(lines, {"l1.miss_registers": float(count)})))
        for count in (last, last + 1)
    )
    assert above.time_s > 1.3 * below.time_s
    assert not any("saturates" in warning for warning in below.warnings)
    assert any("saturates in 100%" in warning for warning in above.warnings)
    calm = Mdm(queue="gpumech+").predict(above.case)
    assert not any("saturates" in warning for warning in calm.warnings)


def test_a_streaming_cache_is_bounded_by_the_queue_of_the_noc(divergent, set_numbers):
    """Footnote 2: 4096 registers are never short of 64 x 32 reads; the queue holds fewer."""
    case = divergent(VOLTA)
    p = Mdm().predict(case)
    assert p.terms["#MSHRs"] == VOLTA.number("noc.queue")
    assert p.bottleneck is Bottleneck.MISS_REGISTERS
    plain = Mdm(queue="gpumech", registers="gpumech").predict(case)
    assert plain.terms["#MSHRs"] == 4096
    assert plain.breakdown[2].cycles == 0
    other = divergent(set_numbers(VOLTA, {"l1.allocates_on_fill": 0}))
    assert Mdm().predict(other).terms["#MSHRs"] == 4096


@pytest.mark.parametrize(
    ("machine", "path"),
    [
        (PASCAL, "l1.miss_registers"),
        (PASCAL, "noc.bandwidth"),
        (PASCAL, "latency.dram"),
        (PASCAL, "dram.bandwidth"),
        (VOLTA, "noc.queue"),
    ],
)
def test_a_number_that_the_model_needs_is_named(divergent, set_numbers, machine, path):
    with pytest.raises(MissingNumberError, match=path) as caught:
        Mdm().predict(divergent(set_numbers(machine, {path: None})))
    assert "model mdm" in str(caught.value)


def test_a_launch_without_requests_needs_none_of_them(make_case, set_numbers):
    paths = ("l1.miss_registers", "noc.bandwidth", "latency.dram")
    machine = set_numbers(PASCAL, dict.fromkeys(paths))
    p = Mdm().predict(make_case(machine, [ADD, ADD, EXIT]))
    assert [part.cycles for part in p.breakdown[2:5]] == [0, 0, 0]


def test_a_chip_without_caches_has_no_registers_to_wait_for(divergent):
    p = Mdm().predict(divergent(load_machine("gtx-280")))
    waits = {part.name: part.cycles for part in p.breakdown}
    assert waits["miss registers"] == waits["noc bandwidth"] == 0
    assert waits["dram bandwidth"] > 0


@pytest.mark.parametrize("fields", [{"queue": "none"}, {"registers": ""}, {"policy": "fifo"}])
def test_parameters_that_are_none(fields):
    with pytest.raises(InputError, match=next(iter(fields))):
        Mdm(**fields)


@pytest.mark.parametrize("model", [Mdm(), Mdm(queue="gpumech", registers="gpumech")])
@pytest.mark.parametrize("machine", [PASCAL, VOLTA])
def test_many_chips_at_once_are_predicted_as_each_alone(divergent, set_numbers, model, machine):
    values = {
        "sm.count": np.array([3.0, 15.0, 80.0, 80.0]),
        "dram.bandwidth": np.array([2e11, 4e11, 4e11, 9e11]),
        "noc.bandwidth": np.array([1e12, 5e11, 5e11, 2e12]),
        "l1.miss_registers": np.array([32.0, 64.0, 128.0, 4096.0]),
        "noc.queue": np.array([32.0, 64.0, 32.0, 256.0]),
    }
    assert set(values) == Mdm.swept | {"sm.count"}
    together = model.predict_many(divergent(machine), values)
    for at, seconds in enumerate(together):
        chip = set_numbers(machine, {path: float(v[at]) for path, v in values.items()})
        assert model.predict(divergent(chip)).time_s == pytest.approx(seconds), at


def test_listing_1_loads_one_line_or_all_32():
    """GS = 1: the first load of a thread, i = 0, is one line; the words of the seven others lie on
    two. GS = 32: every lane has its own line, of which it uses 4 of 128 B.
    """
    machine = load_machine("gtx-1080")
    cases = cases_of_workload(read_workload(LISTING_1), [machine], build=Build(cache=CACHE))
    loads = [a for case in cases for a in case.profile.divergent_loads]
    together = [a for a in loads if a.lines <= 2 * a.requests]
    apart = [a for a in loads if a not in together]
    assert sum(a.lines for a in together) == (1 + 7 * 2) / 8 * sum(a.requests for a in apart)
    assert sum(a.lines for a in apart) == 32 * sum(a.requests for a in apart)
    assert all(a.sectors == a.lines for a in apart)


def test_a_bound_that_the_model_does_not_know_is_flagged(make_case):
    double = {**ADD, "op_class": OpClass.FP64, "times": 1000}
    slow = Mdm().predict(make_case(PASCAL, [double, EXIT]))
    (pipe,) = (bound for bound in slow.bounds if bound.name == "fp64 pipe")
    assert pipe.cycles > 1.05 * slow.cycles
    assert any("fp64 pipe alone takes" in warning for warning in slow.warnings)
    fast = Mdm().predict(make_case(PASCAL, [{**ADD, "times": 1000}, EXIT]))
    assert not any("alone takes" in warning for warning in fast.warnings)
