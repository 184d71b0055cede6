"""What every model owes, whichever models there are: they are found, not listed."""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import random
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from kernelcast.errors import KernelcastError, MissingNumberError, NotFoundError
from kernelcast.hierarchy.traffic import Estimate
from kernelcast.ir import OpClass, Space
from kernelcast.machines.loader import apply_overrides, machine_names
from kernelcast.machines.loader import load_machine as read_machine
from kernelcast.machines.schema import ENTRIES
from kernelcast.models import default_model_name, load_model, model_names, read_model
from kernelcast.models.terms.base import Bottleneck, Case, Prediction
from kernelcast.models.terms.parameters import model_label, parameters
from kernelcast.models.terms.throughput import worksheet
from kernelcast.profiling.profile import Footprint

load_machine = functools.cache(read_machine)
MODELS = model_names()
_FEW: Mapping[str, Any] = {"instructions": 20_000}
SMALL: Mapping[str, Mapping[str, Any]] = {"auto": _FEW, "teg": _FEW}
"""What models are told to be fast enough here."""
NOISE = {"auto": 0.05, "teg": 0.05, "baghsorkhi": 1e-3}
"""What a model may be slower by where it should be faster: warps that are simulated come in another
order, and Baghsorkhi's hide less of a wait where conflicts on banks keep them less busy."""
MACHINES = ("8800-gtx", "gtx-280", "gtx-480", "gtx-680", "h100-sxm")
Fields = dict[str, Any]
LOAD: Fields = {"op_class": OpClass.LOAD, "space": Space.GLOBAL, "writes": "x", "reads": ("i",)}
STORE: Fields = {"op_class": OpClass.STORE, "space": Space.GLOBAL, "reads": ("x", "i")}
ADD: Fields = {"op_class": OpClass.FP32, "writes": "x", "reads": ("x",)}
EXIT: Fields = {"op_class": OpClass.BRANCH}
SHARED_STORE: Fields = {"op_class": OpClass.STORE, "space": Space.SHARED, "reads": ("x",)}
SHARED_LOAD: Fields = {"op_class": OpClass.LOAD, "space": Space.SHARED, "writes": "x"}
APART = {
    "sectors": 32,
    "lines": 32,
    "transactions_cc10": 32,
    "coalesced_cc10": 0,
    "transactions_cc12": 32,
    "coalesced_cc12": 0,
    "bytes_cc12": 1024,
}
"""A warp whose lanes are all in different lines."""

KERNELS: dict[str, list[Fields]] = {
    "stream": [LOAD, ADD, STORE, EXIT],
    "arithmetic": [LOAD, {**ADD, "times": 4000}, STORE, EXIT],
    "scattered": [{**LOAD, "access": APART}, STORE, EXIT],
    "tiled": [
        {**LOAD, "times": 4},
        {**SHARED_STORE, "times": 4},
        {"op_class": OpClass.BARRIER, "times": 2},
        {**SHARED_LOAD, "times": 64, "access": {"passes": 128, "passes_half_warp": 256}},
        {**ADD, "times": 64},
        STORE,
        EXIT,
    ],
    "empty": [EXIT],
}
GRIDS = (1, 37, 1 << 14)


def footprints(kernel: str, blocks: int) -> list[Footprint]:
    """Two arrays: one read, one written, every sector by one warp."""
    per_warp = {"scattered": 32, "tiled": 16, "empty": 0}.get(kernel, 4)
    read, written = per_warp * 8.0 * blocks, (0 if kernel == "empty" else 4) * 8.0 * blocks
    return [
        Footprint("x", int(32 * read), True, False, read, read, read),
        Footprint("y", int(32 * written), False, True, written, written, written, written),
    ]


@pytest.fixture(params=[(k, b) for k in KERNELS for b in GRIDS], ids=lambda p: f"{p[0]}-{p[1]}")
def build(request, make_case):
    """Make the case of one kernel and grid on any machine."""
    kernel, blocks = request.param

    def on(machine) -> Case:
        arrays = footprints(kernel, blocks)
        return make_case(machine, KERNELS[kernel], blocks=blocks, footprints=arrays)

    return on


@pytest.fixture(params=MODELS)
def model(request):
    return load_model(request.param, **SMALL.get(request.param, {}))


@pytest.fixture(params=MODELS)
def plain_model(request):
    return load_model(request.param)


def test_what_a_prediction_promises(model, build):
    for machine in map(load_machine, MACHINES):
        case = build(machine)
        check_promises(model, case, model.predict(case))


def check_promises(model, case: Case, p: Prediction) -> None:
    assert p.model is model
    assert p.case is case
    assert 0 < p.time_s < math.inf
    assert p.time_s == pytest.approx(p.cycles / case.machine.number("clock.sm"))
    assert math.fsum(part.cycles for part in p.breakdown) == pytest.approx(p.cycles, rel=1e-9)
    assert all(part.cycles >= 0 for part in (*p.breakdown, *p.bounds))
    assert p.low_s is None or 0 < p.low_s <= p.time_s * (1 + 1e-12)
    assert p.high_s is None or p.time_s * (1 - 1e-12) <= p.high_s
    assert p.bottleneck in Bottleneck
    assert p.needed_warps is None or p.needed_warps >= 0
    assert all(p.warnings) and all(p.assumptions)
    json.dumps(dict(p.terms), allow_nan=False)


MEMORY = {
    *(Bottleneck.DRAM_BANDWIDTH, Bottleneck.L2_BANDWIDTH, Bottleneck.L1_BANDWIDTH),
    *(Bottleneck.MEMORY_LATENCY, Bottleneck.ATOMICS, Bottleneck.NOC_BANDWIDTH, Bottleneck.LSU),
}
INSIDE = set(Bottleneck) - MEMORY - {Bottleneck.LAUNCH_OVERHEAD} | {
    *(Bottleneck.L1_BANDWIDTH, Bottleneck.LSU),
}
STANDS_FOR: Mapping[str, set[Bottleneck]] = {
    "computation": INSIDE,
    "memory": MEMORY,
    "base": {Bottleneck.ISSUE},
    "intervals": {Bottleneck.MEMORY_LATENCY, Bottleneck.ARITHMETIC_LATENCY},
    "dependence": {Bottleneck.MEMORY_LATENCY, Bottleneck.ARITHMETIC_LATENCY},
    "memory latency": {Bottleneck.MEMORY_LATENCY, Bottleneck.DRAM_BANDWIDTH},
    "contention": {Bottleneck.DRAM_BANDWIDTH},
    "long scoreboard": {Bottleneck.MEMORY_LATENCY},
    "short scoreboard": {Bottleneck.ARITHMETIC_LATENCY},
    "wait": {Bottleneck.ARITHMETIC_LATENCY},
    "math pipe throttle": {Bottleneck.ARITHMETIC_LATENCY},
    "barrier": {Bottleneck.BARRIERS},
    "lg throttle": {Bottleneck.LSU},
    "mio throttle": {Bottleneck.LSU},
    "no instruction": {Bottleneck.INSTRUCTION_FETCH},
    "imc miss": {Bottleneck.CONSTANTS},
    "dispatch stall": {Bottleneck.ISSUE},
    "drain": {Bottleneck.TAIL},
}
"""What parts of a breakdown may be called that are not called as what binds."""


def test_the_headline_names_the_largest_share(model, build):
    for machine in map(load_machine, MACHINES):
        case = build(machine)
        p = model.predict(case)
        if (used := p.terms.get(f"use of {p.bottleneck}")) and float(used) > 0.6:
            # Schedulers wait because this resource is busy.
            start = next(part.cycles for part in p.breakdown if part.name == "launch overhead")
            assert float(used) * (p.cycles - start) >= start
            continue
        meant = [
            (part.cycles, STANDS_FOR.get(name) or {Bottleneck(name)})
            for part in p.breakdown
            if part.name != "selected"  # Who is selected waits for nothing.
            for name in [part.name.removeprefix("exposed ")]
        ]
        named = sum(cycles for cycles, each in meant if p.bottleneck in each)
        assert named >= max(cycles for cycles, _ in meant) * (1 - 1e-9), (machine.name, p.breakdown)


def test_a_model_says_what_it_is(plain_model: Any) -> None:
    model = plain_model
    assert dataclasses.is_dataclass(type(model))
    with pytest.raises(dataclasses.FrozenInstanceError):
        model.surely_not_a_parameter = 1
    assert model.name in MODELS
    assert model.title and model.source
    assert model.not_modelled and all(model.not_modelled)
    for parameter in parameters(model):
        assert parameter.meaning, parameter.name
        assert parameter.value == parameter.default


def test_a_model_is_called_by_what_is_set(plain_model):
    model = plain_model
    assert model_label(model) == model.name
    for parameter in parameters(model):
        if isinstance(parameter.default, bool):
            text = f"{model.name}:{parameter.name}={str(not parameter.default).lower()}"
            assert model_label(read_model(text)) == text


ALIKE = {
    "dram.achieved_bandwidth": (
        "dram.write_bandwidth",
        "dram.mixed_bandwidth",
        "volkov.latency_capacity",
        "volkov.latency_capacity_2",
    ),
    "l2.bandwidth": ("l2.mixed_bandwidth", "l2.write_bandwidth"),
    "shared.bandwidth": ("l1.bandwidth",),
}
"""What tells of the same bandwidth, of other uses: a chip has more of all or of none."""


@pytest.mark.parametrize("path", ["dram.achieved_bandwidth", "l2.bandwidth", "shared.bandwidth"])
def test_more_bandwidth_is_never_slower(model, build, path, set_numbers):
    for machine in map(load_machine, MACHINES):
        value = machine.get(path)
        if value is None:
            continue
        before = model.predict(build(machine))
        raised = {
            p: 1.7 * machine.number(p) for p in (path, *ALIKE.get(path, ())) if machine.get(p)
        }
        after = model.predict(build(set_numbers(machine, raised)))
        assert after.time_s <= before.time_s * (1 + NOISE.get(model.name, 1e-9)), machine.name


def test_a_faster_clock_never_takes_longer(model, build, set_numbers):
    for machine in map(load_machine, MACHINES):
        faster = set_numbers(machine, {"clock.sm": 1.3 * machine.number("clock.sm")})
        before, after = model.predict(build(machine)), model.predict(build(faster))
        assert after.time_s <= before.time_s * (1 + NOISE.get(model.name, 1e-9)), machine.name


def test_no_refinement_is_faster_than_its_roofs(build):
    for machine in map(load_machine, MACHINES):
        case = build(machine)
        roof, volkov = (load_model(name).predict(case) for name in ("roofline", "volkov"))
        assert volkov.cycles >= roof.cycles * (1 - 1e-9), machine.name


@pytest.mark.parametrize(
    "path",
    ["sm.count", "sm.issue_per_cycle", "clock.sm", "dram.bandwidth", "throughput.fp32"],
)
def test_a_missing_number_is_named(model, make_case, path, set_numbers):
    """A model that goes on without a number does not use it: it says what it says with it."""
    whole = load_machine("h100-sxm")
    told, untold = (
        make_case(machine, KERNELS["tiled"], footprints=footprints("tiled", 1 << 14))
        for machine in (whole, set_numbers(whole, {path: None}))
    )
    try:
        without = model.predict(untold)
    except MissingNumberError as error:
        assert error.path == path
        assert path in str(error)
    else:
        assert without.cycles == model.predict(told).cycles


def test_every_model_works_on_every_machine(model, make_case):
    for name in machine_names():
        machine = load_machine(name)
        case = make_case(machine, KERNELS["tiled"], footprints=footprints("tiled", 1 << 14))
        assert 1e-6 < model.predict(case).time_s < 1, name


def test_the_default_model_is_one_of_them():
    assert default_model_name() in MODELS


def test_unknown_names_are_answered_with_the_nearest():
    with pytest.raises(NotFoundError) as caught:
        load_model("rooflin")
    assert caught.value.nearest == ("roofline",)
    with pytest.raises(NotFoundError) as caught:
        load_model("volkov", contentoin=False)
    assert caught.value.nearest == ("contention",)
    model: Any = load_model("volkov", contention=False)
    assert model.contention is False


def test_only_the_model_asked_for_is_imported():
    code = (
        "import sys; from kernelcast.models import load_model, model_names; "
        "model_names(); load_model('roofline'); "
        "print([m for m in sys.modules if m.startswith('kernelcast.models.')])"
    )
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert "kernelcast.models.roofline" in out
    assert "volkov" not in out and "mwp_cwp" not in out


def test_the_estimates_of_traffic_are_ordered(build):
    case = build(load_machine("h100-sxm"))
    for level in (case.traffic.l1, case.traffic.l2, case.traffic.dram):
        assert level.low <= level.central <= level.high
    rows = [
        {u.resource: u.cycles_per_warp for u in worksheet(case, e, "this test").uses}
        for e in Estimate
    ]
    for resource in rows[0]:
        assert rows[0][resource] <= rows[1].get(resource, 0) <= rows[2].get(resource, 0)


def test_the_example_of_the_documentation_is_a_model(make_case):
    page = Path(__file__).parents[2] / "docs" / "how-to-add-a-model.md"
    code, *_ = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    scope: dict[str, Any] = {"__name__": "my_model"}
    exec(compile(code, str(page), "exec", dont_inherit=True), scope)
    example = scope["MyModel"](scale=2.0)
    case = make_case(load_machine("h100-sxm"), KERNELS["stream"])
    check_promises(example, case, example.predict(case))


VARIED = {
    "sm.count": (1, 200),
    "clock.sm": (5e8, 3e9),
    "dram.bandwidth": (1e11, 4e12),
    "l2.size": (1e5, 1e8),
    "latency.dram": (100.5, 2000.5),
    "latency.fp32": (2.5, 30.5),
    "l1.bandwidth": (16, 256),
    "occupancy.warps_per_sm": (32, 64),
    "sm.loads_per_warp": (1, 8),
}


@pytest.mark.parametrize("name", ["gtx-480", "h100-sxm"])
def test_a_case_moved_to_other_numbers_says_what_a_new_one_does(model, build, name):
    """Whatever it shares with those it was moved from."""
    moved = build(load_machine(name))
    for seed in range(6):
        drawn = random.Random(seed)
        paths = drawn.sample(sorted(VARIED), 3)
        values = {path: drawn.uniform(*VARIED[path]) for path in paths}
        whole = {p: round(v) if ENTRIES[p].is_whole else v for p, v in values.items()}
        if "l2.size" in whole:
            whole["l2.size"] -= whole["l2.size"] % 2560  # the ways of both chips divide this
        machine = apply_overrides(load_machine(name), [f"{p}={v}" for p, v in whole.items()])
        moved, new = moved.on(machine), build(machine)
        try:
            expected = model.predict(new)
        except KernelcastError as error:
            with pytest.raises(type(error), match=re.escape(str(error))):
                model.predict(moved)
            continue
        found = model.predict(moved)
        for field in dataclasses.fields(Prediction):
            if field.compare and field.name not in ("case", "model"):
                assert getattr(found, field.name) == getattr(expected, field.name), field.name
