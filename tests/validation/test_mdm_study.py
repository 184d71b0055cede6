"""Errors and trends of the study, on IPCs that are made up; and files of observed IPCs."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.kept import CACHE

from kernelcast.errors import InputError, KernelcastError, NotFoundError
from kernelcast.exploration.dvfs import StallScaling
from kernelcast.forecasting.build import Build
from kernelcast.forecasting.cases import cases_of_workload
from kernelcast.machines.schema import ENTRIES
from kernelcast.models.teg import Teg
from kernelcast.reporting.documents.mdm import mdm_document
from kernelcast.validation.mdm.applications import (
    APPLICATIONS,
    chosen_applications,
    paper_machine,
)
from kernelcast.validation.mdm.observed import read_observed
from kernelcast.validation.mdm.points import (
    FAST_CLOCK,
    STREAMING_L1,
    SWEEPS,
    TABLE_III,
    Point,
    needed_points,
    stack_settings,
)
from kernelcast.validation.mdm.printed import MD_ERRORS, NMD_ERRORS, STALLS_SCALED
from kernelcast.validation.mdm.schemes import GPUMECH, MDM, table_v
from kernelcast.validation.mdm.study import ApplicationForecast, MdmStudy
from kernelcast.validation.mdm.trends import trends

MD = {a.name for a in APPLICATIONS if a.is_divergent}
OFF = {"GPUMech": 4.0, "GPUMech+": 3.0, "MDM-Queue": 2.0, "MDM-MSHR": 1.5, "MDM": 1.0}
"""IPC over that of MDM where loads diverge."""


SWEPT = ("clock.sm", "sm.count", "l1.miss_registers", "dram.bandwidth", "noc.bandwidth")
CHIP = {path: paper_machine().number(path) for path in SWEPT}


def made_up(point: Point) -> ApplicationForecast:
    """As the paper has it: the more SMs, registers and DRAM for the NoC, the more GPUMech errs."""
    chip = {**CHIP, **dict(point.settings)}
    load = chip["sm.count"] * chip["l1.miss_registers"] * chip["dram.bandwidth"]
    strain = (load / chip["noc.bandwidth"]) ** 0.1
    is_md, is_mdm = point.application in MD, point.scheme == MDM
    ipc = (chip["noc.bandwidth"] / CHIP["noc.bandwidth"]) ** (0.4 if is_mdm else 0.1)
    if is_md:
        ipc *= 1 + (OFF[point.scheme] - 1) * strain
    faster = (chip["clock.sm"] / CHIP["clock.sm"]) ** (0.5 if is_mdm else 1)
    return ApplicationForecast(ipc, 1 / faster, {"base": 1 / ipc})


def study(*only: str, forecast=made_up, observed=None) -> MdmStudy:
    applications = chosen_applications(only)
    points = needed_points(applications, tuple(OFF))
    dpki = {a.name: 50.0 if a.is_divergent else 0.0 for a in applications}
    half = StallScaling(0.0, 1.0, 0.0, 0.0, 1.0)
    stalls = {a.name: (half,) for a in applications if a.is_divergent}
    return MdmStudy(applications, dpki, {p: forecast(p) for p in points}, observed, stalls)


def test_the_machines_of_the_figures_can_be_made():
    points = needed_points(APPLICATIONS, tuple(OFF))
    assert len(points) == len(set(points))
    for path, value in {pair for point in points for pair in point.settings}:
        ENTRIES[path].check(value, path)
    chip = paper_machine()
    assert dict(stack_settings(1.0)) == {p: chip.number(p) for p, _ in stack_settings(1.0)}
    for sweep in SWEEPS:
        assert chip.number(sweep.path) in sweep.values, "Table III is one of the steps"


def test_the_ends_of_the_sweeps_are_those_that_the_paper_names():
    ends = {sweep.path: (sweep.values[0], sweep.values[-1]) for sweep in SWEEPS}
    assert ends["l1.miss_registers"] == (32, 256)
    assert ends["sm.count"] == (15, 80)


def test_the_printed_means_agree_with_each_other():
    """Section V-A: 13.9 % over all 17 applications for MDM, 162 % for GPUMech."""
    for scheme, printed in ((MDM, 0.139), (GPUMECH, 1.62)):
        mean = (8 * NMD_ERRORS[scheme] + 9 * MD_ERRORS[scheme]) / 17
        assert mean == pytest.approx(printed, rel=0.01)


def test_without_an_observed_side_errors_are_distances_from_mdm():
    made = study()
    assert made.error(MDM, "CFD") == 0
    point = Point(GPUMECH, "CFD")
    expected = made_up(point).ipc / made_up(replace(point, scheme=MDM)).ipc - 1
    assert made.error(GPUMECH, "CFD") == pytest.approx(expected)
    assert made.mean_error(GPUMECH, ()) is None


def test_errors_against_what_was_observed():
    observed = {("CFD", TABLE_III): 2.0}
    made = study("CFD", observed=lambda name, settings: observed.get((name, settings)))
    ipc = made.forecasts[Point(GPUMECH, "CFD")].ipc
    assert made.error(GPUMECH, "CFD") == pytest.approx(abs(ipc - 2) / 2)
    assert made.error(GPUMECH, "CFD", FAST_CLOCK) is None
    assert made.mean_error(GPUMECH, ("CFD",), FAST_CLOCK) is None


def test_the_models_of_table_v_against_the_timing_simulation():
    """Of a kernel whose loads diverge, each part of MDM brings it nearer; the printed means are
    298, 131, 63, 60.3 and 18 %."""
    chip = paper_machine()
    (application,) = chosen_applications(["SPMV"])
    (case,) = cases_of_workload(application.workload(), [chip], build=Build(cache=CACHE))
    simulated = Teg(assembled=False).predict(case).cycles
    errors = [abs(simulated / m.predict(case).cycles - 1) for m in table_v().values()]
    gpumech, gpumech_plus, queue, mshr, mdm = errors
    assert gpumech > 2 * gpumech_plus > 4 * max(queue, mshr)
    assert mdm < 0.3


def test_ptx_is_issued_as_its_assembler_leaves_it_or_as_it_is():
    (application,) = chosen_applications(["BP"])
    case, *_ = cases_of_workload(
        application.workload(), [paper_machine()], build=Build(cache=CACHE)
    )
    issued = [Teg(assembled=is_).play(case).found.issued.sum() for is_ in (True, False)]
    played = Teg(assembled=False).play(case)
    blocks = sum(map(len, played.plan.blocks))
    assert issued[1] == pytest.approx(case.profile.total.warp * blocks / case.launch.blocks)
    assert 0.7 * issued[1] < issued[0] < issued[1]


def test_trends_that_hold_and_that_do_not():
    made = study()
    found = trends(made)
    assert [t.says for t in found if not t.holds] == []
    assert {t.source for t in found} >= {f"Figure {n}" for n in (5, 6, 7, 8, 9, 11, 13, 14, 15)}

    def same(point: Point) -> ApplicationForecast:
        return ApplicationForecast(1.0, 1.0, {})

    broken = [t.source for t in trends(study(forecast=same)) if not t.holds]
    assert {f"Figure {n}" for n in (5, 6, 7, 8, 9, 13, 14, 15)} <= set(broken)


def test_a_kernel_on_the_wrong_side_breaks_its_trend():
    made = study()
    wrong = replace(made, dpki={**made.dpki, "HS": 4.0, "CFD": 9.0})
    assert [t.source for t in trends(wrong) if not t.holds] == ["section I", "section I"]


def test_trends_of_few_applications_are_those_that_can_be_told():
    assert {t.source for t in trends(study("HS"))} == {"section I"}
    assert {t.source for t in trends(study("BFS"))} == {"section I", "Figure 14"}
    assert "Figure 11" in {t.source for t in trends(study("BT", "CFD"))}
    observed_nowhere = study(observed=lambda name, settings: None)
    assert "Figure 6" not in {t.source for t in trends(observed_nowhere)}


def test_the_document_of_a_part_of_the_applications():
    made = study("HS")
    document = mdm_document(made, trends(made), "a machine", None)
    assert (document.sweeps, document.grids, document.clocks, document.stacks) == ([], [], None, [])
    whole = mdm_document(study(), trends(study()), "a machine", None)
    assert len(whole.applications) == 17
    assert whole.grids[0].performance[MDM][1][1] == 1
    assert whole.stacks[0].cpi == pytest.approx(sum(whole.stacks[0].parts.values()))
    assert {row.application for row in whole.streaming} == MD
    assert STREAMING_L1 in {point.settings for point in study().forecasts}


@pytest.fixture
def table(tmp_path):
    def write(text: str) -> str:
        file = tmp_path / "ipc.csv"
        file.write_text(text)
        return str(file)

    return write


def test_a_file_of_observed_ipcs(table):
    observed = read_observed(
        table("application,ipc,sm.count,noc.bandwidth\nCFD,11.5,,\nBFS,2,80,350e9\nBFS,3,,\n")
    )
    assert observed("CFD", TABLE_III) == 11.5
    assert observed("BFS", (("noc.bandwidth", 350e9), ("sm.count", 80))) == 2
    assert observed("BFS", TABLE_III) == 3
    assert observed("CFD", (("sm.count", 80),)) is None


@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        ("", InputError, "holds no IPC"),
        ("application,ipc\n", InputError, "holds no IPC"),
        ("name,value\nCFD,1\n", InputError, "not a row of IPCs"),
        ("application,ipc\nCFD,1,2\n", InputError, "not a row of IPCs"),
        ("application,ipc\nCFG,1\n", NotFoundError, "did you mean CFD"),
        ("application,ipc\nCFD,none\n", InputError, "ipc is 'none', not a positive number"),
        ("application,ipc\nCFD,-1\n", InputError, "ipc is '-1'"),
        ("application,ipc\nCFD,inf\n", InputError, "ipc is 'inf'"),
        ("application,ipc\nCFD,1\nCFD,2\n", InputError, "same application and machine"),
        ("application,ipc,sm.cuont\nCFD,1,2\n", NotFoundError, "sm.count"),
        ("application,ipc,sm.count\nCFD,1,many\n", InputError, "sm.count is 'many'"),
    ],
)
def test_a_damaged_file_of_ipcs_is_refused(table, text, error, said):
    with pytest.raises(error, match=said.replace("(", r"\(")):
        read_observed(table(text))


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(KernelcastError, match=r"nothing\.csv"):
        read_observed(str(tmp_path / "nothing.csv"))


def test_an_unknown_application_is_answered_with_the_nearest():
    assert [a.name for a in chosen_applications(("BFS", "HS"))] == ["HS", "BFS"]
    with pytest.raises(NotFoundError, match="KMEANS"):
        chosen_applications(("KMEAN",))


def test_figure_13_scales_the_stalls_of_the_fast_run_beside_the_models():
    """A second of loads, which stays, and one of computation, which grows with the cycle."""
    made = study("BFS")
    clocks = mdm_document(made, trends(made), "a machine", None).clocks
    assert clocks is not None
    (row,) = clocks.applications
    assert row.slowdown[STALLS_SCALED] == pytest.approx((1 + 2.0 / 1.4) / 2)
