"""Static timing: issue cycles from stalls, waits from latencies, loops in their steady state."""

from __future__ import annotations

import pytest
from tests.isas.sass.listings import control, listing

from kernelcast.errors import MissingNumberError
from kernelcast.isas.sass import parse_sass
from kernelcast.isas.sass.flow import flow_graph
from kernelcast.isas.sass.latencies import CONSTANT_LOAD_CYCLES, MachineLatencies, MemoryLevel
from kernelcast.isas.sass.scoreboards import Release
from kernelcast.isas.sass.timing import function_timing
from kernelcast.machines.loader import load_machine


def timed(*lines, latency=100.0):
    function = parse_sass(listing(*lines)).function("k")
    return function_timing(function, flow_graph(function), lambda *_: latency)


def test_a_block_without_waits_takes_the_sum_of_its_stalls():
    (block,) = timed(("MOV R0, R1", control(4)), ("NOP", control(2)), ("EXIT", control(5))).blocks
    assert (block.issue_cycles, block.cycles, block.issues) == (11, 11.0, (0.0, 4.0, 6.0))


def test_a_wait_lasts_until_the_producer_has_released_its_scoreboard():
    (block,) = timed(
        ("LDG.E R4, [R2.64]", control(2, write=0)),
        ("MOV R0, R1", control(4)),
        ("FADD R4, R4, R0", control(5, waits=[0])),
    ).blocks
    assert block.issues == (0.0, 2.0, 100.0)
    assert (block.issue_cycles, block.cycles) == (11, 105.0)
    assert block.critical_path == (0, 2)


def test_a_loop_runs_at_the_pace_of_its_chain_of_waits():
    (loop,) = timed(
        ".L_x_0:",
        ("LDG.E.64 R2, [R2.64]", control(2, write=0, waits=[0])),
        ("@P0 BRA `(.L_x_0)", control(5)),
        ("EXIT", control(5)),
    ).loops
    assert loop.cycles == 100.0
    assert loop.is_one_path
    assert loop.timing.issue_cycles == 7


def test_a_loop_that_loads_ahead_runs_at_the_pace_of_its_stalls():
    (loop,) = timed(
        ".L_x_0:",
        ("LDG.E R4, [R2.64]", control(2, write=0)),
        ("IADD3 R2, R2, 0x4, RZ", control(4)),
        ("@P0 BRA `(.L_x_0)", control(5)),
        ("EXIT", control(5)),
    ).loops
    assert loop.cycles == 11.0


def test_a_loop_with_branches_inside_says_so():
    (loop,) = timed(
        ".L_x_0:", "@P1 BRA `(.L_x_1)", "NOP", ".L_x_1:", "@P0 BRA `(.L_x_0)", "EXIT"
    ).loops  # fmt: skip
    assert not loop.is_one_path
    assert len(loop.timing.instructions) == 3


def test_real_blocks_never_take_less_than_their_stalls(code):
    machine = load_machine("h100-sxm")
    latencies = MachineLatencies(machine, MemoryLevel.DRAM)
    for function in code.module.functions.values():
        for block in function_timing(function, flow_graph(function), latencies).blocks:
            assert block.cycles >= block.issue_cycles
            assert list(block.issues) == sorted(block.issues)


def test_latencies_only_lengthen_real_loops(code):
    function = code.module.function("irregular_loops")
    graph = flow_graph(function)
    short, long = (
        function_timing(function, graph, lambda *_, cycles=cycles: cycles).loops
        for cycles in (10.0, 500.0)
    )
    assert all(a.cycles <= b.cycles for a, b in zip(short, long, strict=True))


@pytest.fixture
def machine():
    return load_machine("h100-sxm")


@pytest.mark.parametrize(
    ("text", "release", "number"),
    [
        ("LDG.E R0, [R2.64]", Release.RESULT, "latency.l2"),
        ("LDS R0, [R2]", Release.RESULT, "latency.shared"),
        ("MUFU.RCP R0, R2", Release.RESULT, "latency.sfu"),
        ("S2R R0, SR_TID.X", Release.RESULT, "latency.shared"),
        ("LDC R0, c[0x0][0x4]", Release.RESULT, CONSTANT_LOAD_CYCLES),
        ("STG.E.128 [R2.64], R4", Release.SOURCES, 20.0),
        ("STS [R2], R4", Release.SOURCES, 12.0),
        ("MUFU.RCP R0, R2", Release.SOURCES, 9.0),
    ],
)
def test_latencies_come_from_the_machine(machine, text, release, number):
    (instruction,) = parse_sass(listing(text)).function("k").instructions
    expected = machine.get(number) if isinstance(number, str) else number
    assert MachineLatencies(machine, MemoryLevel.L2)(instruction, release) == expected


def test_a_number_the_machine_lacks_is_named(machine, set_numbers):
    latencies = MachineLatencies(set_numbers(machine, {"latency.l2": None}), MemoryLevel.L2)
    (instruction,) = parse_sass(listing("LDG.E R0, [R2.64]")).function("k").instructions
    with pytest.raises(MissingNumberError, match=r"latency\.l2"):
        latencies(instruction, Release.RESULT)
