"""One warp alone takes the cycles that static timing counts, as `kernelcast disasm` shows them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.simulation.programs import EXIT, Op, Setting, entering, played, program, streams
from tests.simulation.random_programs import ops

import kernelcast as kc
from kernelcast.analysis.static_timing import TimedInstruction, schedule
from kernelcast.ir import Kernel, OpClass
from kernelcast.machines.loader import apply_overrides, load_machine
from kernelcast.simulation import layout
from kernelcast.simulation.code import IssueTables

EXAMPLES = Path(__file__).parents[2] / "examples"


def issue_cycles(kernel: Kernel, block: int, setting: Setting) -> list[int]:
    """When one warp that goes through one basic block alone issues its instructions."""
    found = played(kernel, streams([[entering(block)]]), setting)
    assert found.cycles >= found.events["cycle"][-1]
    return found.events["cycle"].tolist()


def static_cycles(kernel: Kernel, block: int, code: IssueTables) -> list[float]:
    """The same by static timing, with the latencies of the simulation."""
    held = kernel.blocks[block]
    steps = []
    for one, row in zip(kernel.instructions, code.table, strict=True):
        assert one.control is not None
        result, sources = one.control.result_counter, one.control.sources_counter
        raised = [(result, float(row["latency"]))] if result is not None else []
        raised += [(sources, float(row["sources_cycles"]))] if sources is not None else []
        steps.append(TimedInstruction(int(row["stall"]), tuple(raised), one.control.waits))
    return [issue.cycle for issue in schedule(steps[held.start : held.end]).issues]


@given(st.lists(ops(), min_size=1, max_size=40))
def test_straight_code_takes_the_cycles_of_static_timing(listed):
    kernel = program([*listed, EXIT])
    setting = Setting(load_machine("h100-sxm"), is_plain=True)
    assert issue_cycles(kernel, 0, setting) == static_cycles(kernel, 0, setting.code(kernel))


@pytest.mark.parametrize("gpu", ["rtx-2080-ti", "a100-sxm-80gb", "h100-sxm", "rtx-5090"])
@pytest.mark.parametrize("example", ["matmul_tiled.cu", "spmv_csr.cu"])
def test_blocks_of_real_code_take_the_cycles_of_static_timing(gpu, example):
    machine = load_machine(gpu)
    name = kc.workload(EXAMPLES / example).launches[0].kernel
    kernel = kc.load(EXAMPLES / example, gpu=gpu, kernel=name)
    free, own = Setting(machine, is_plain=True), Setting(machine)
    code = free.code(kernel)
    for block in kernel.blocks:
        kinds = code.table["kind"][block.start : block.end]
        if not {layout.SYNCHRONISE, layout.NOTHING, layout.SHUFFLE}.isdisjoint(kinds.tolist()):
            continue
        found = issue_cycles(kernel, block.index, free)
        assert found == static_cycles(kernel, block.index, code)
        # Pipes that are narrower than the code takes them to be can only delay it.
        assert issue_cycles(kernel, block.index, own)[-1] >= found[-1]


@pytest.mark.parametrize("waiting", [0, 4])
def test_special_functions_wait_beside_their_units(waiting):
    """Of ten in a row, as many issue at once as there is room for; then one in eight cycles."""
    machine = apply_overrides(load_machine("h100-sxm"), (f"sfu.queue={waiting}",))
    kernel = program([*[Op(OpClass.SFU)] * 10, EXIT])
    cycles = issue_cycles(kernel, 0, Setting(machine))[:10]
    assert cycles[: waiting + 1] == list(range(waiting + 1))
    assert set(np.diff(cycles[waiting + 1 :])) == {8}
