"""Resios 2011: the numbers that the thesis prints, and what its model says of whole kernels."""

from __future__ import annotations

import math

import pytest
from tests.conftest import MakeCase

from kernelcast.analysis.ilp import block_parallelism, instruction_parallelism
from kernelcast.analysis.intensity import arithmetic_intensity
from kernelcast.errors import InputError, NotFoundError
from kernelcast.ir import (
    BasicBlock,
    Guard,
    Instruction,
    Kernel,
    OpClass,
    Register,
    Space,
)
from kernelcast.machines.loader import load_machine
from kernelcast.models import load_model
from kernelcast.models.resios import Resios
from kernelcast.models.terms.base import Bottleneck
from kernelcast.models.terms.resios_delays import (
    compute_delay,
    global_penalty,
    memory_delay,
    shared_penalty,
    warps_for_peak,
)
from kernelcast.models.terms.resios_trace import flat_trace
from kernelcast.simulation.coarse import CoarseSm, CoarseTrace, simulate_coarsely

FERMI = load_machine("gtx-460")
PRINTED = Resios(law="printed", caches=False)

TABLE_3_1 = {
    "add": (16, 32, 16),
    "mul": (20, 16, 16),
    "madd": (22, 16, 11),
    "div": (317, 1.8, 5),
    "logic": (16, 32, 16),
    "fadd": (16, 32, 16),
    "fmadd": (18, 32, 16),
    "fmul": (16, 32, 16),
    "fdiv": (711, 0.75, 4),
    "sqrt": (269, 1.6, 5),
}


def delay_of(kind: str):
    return compute_delay(*TABLE_3_1[kind])


@pytest.mark.parametrize("kind", TABLE_3_1)
def test_table_3_1_is_in_the_machine_file(kind):
    numbers = [FERMI.number(f"resios.{kind}.{n}") for n in ("latency", "throughput", "warps")]
    assert tuple(numbers) == TABLE_3_1[kind]


@pytest.mark.parametrize(
    ("tlp", "cycles"),
    [(1, 22), (2, 11), (5, 4.4), (11, 2), (12, 2.1667), (16, 2.125), (32, 2.0625), (48, 2.0417)],
)
def test_multiply_add_of_equation_4_5(tlp, cycles):
    assert delay_of("madd").printed(tlp) == pytest.approx(cycles, abs=5e-5)


def test_the_printed_law_drops_beyond_its_peak_and_the_limit_does_not():
    madd = delay_of("madd")
    assert 1 / madd.printed(11) == pytest.approx(0.5)
    assert 1 / madd.printed(12) == pytest.approx(0.4615, abs=5e-5)
    assert [madd.limit(n) for n in (11, 12, 16, 48)] == [2, 2, 2, 2]
    assert madd.printed(1e9) == pytest.approx(2)


@pytest.mark.parametrize(
    ("kind", "at_peak", "one_more"),
    [
        *((kind, 1.0, 1.059) for kind in ("add", "fadd", "fmul", "logic")),
        ("mul", 1.25, 2.074),
        ("fmadd", 1.125, 1.066),
        ("div", 63.4, 28.34),
        ("fdiv", 177.75, 78.22),
        ("sqrt", 53.8, 28.97),
    ],
)
def test_delays_at_the_peak_and_one_warp_further(kind, at_peak, one_more):
    delay = delay_of(kind)
    assert delay.printed(delay.peak) == pytest.approx(at_peak, abs=5e-4)
    assert delay.printed(delay.peak + 1) == pytest.approx(one_more, abs=5e-3)


@pytest.mark.parametrize(
    ("kind", "warps"),
    [
        *((kind, 16.0) for kind in ("add", "fadd", "fmul", "logic")),
        *(("madd", 11.0), ("mul", 10.0), ("fmadd", 18.0)),
        *(("div", 17.8), ("fdiv", 16.7), ("sqrt", 13.5)),
    ],
)
def test_littles_law_beside_the_measured_warps(kind, warps):
    """Equal for add, fadd, fmul, logic (its and), madd alone: the table is used as printed."""
    latency, throughput, measured = TABLE_3_1[kind]
    assert latency * throughput / 32 == pytest.approx(warps, abs=0.05)
    assert (warps == measured) == (kind in ("add", "fadd", "fmul", "logic", "madd"))
    assert warps_for_peak(latency, 32 / throughput) == math.ceil(latency * throughput / 32)


@pytest.mark.parametrize("c", [1, 2, 8, 32])
def test_global_memory_of_equations_4_6_and_4_8(c):
    """86.4 GB/s at 1.35 GHz; eight requests together, and one of the eight alone."""
    per_cycle = 86.4 / 1.35
    assert per_cycle == pytest.approx(64)
    penalty = global_penalty(128, c, per_cycle)
    assert 500 + 8 * penalty == pytest.approx(500 + 16 * c)
    alone = memory_delay(500, penalty, 7).printed(8)
    assert alone == pytest.approx(500 / 8 + 2 * c)
    assert 8 * alone == pytest.approx(500 + 16 * c)


@pytest.mark.parametrize("c", [0, 2, 16, 32])
def test_shared_memory_of_equation_4_9(c):
    """32 bytes per cycle and bank as printed; 4 as the guide it cites and chapter 7 have it."""
    assert 36 + 8 * shared_penalty(4, c, 32, 32) == pytest.approx(37 + c)
    assert 36 + 8 * shared_penalty(4, c, 32, 4) == pytest.approx(44 + 8 * c)


def test_bandwidths_of_the_chip():
    clock, sms = FERMI.number("clock.sm"), FERMI.number("sm.count")
    of_one_sm = FERMI.number("resios.memory_bandwidth") / sms
    assert of_one_sm / 1e9 == pytest.approx(12.34, abs=0.005)
    assert of_one_sm / clock == pytest.approx(9.14, abs=0.005)
    banks = FERMI.number("shared.banks")
    shared = FERMI.number("resios.bank_bandwidth") * banks * sms * clock
    assert shared / 1e12 == pytest.approx(1.21, abs=0.005)


def plain(index: int, writes: str, *reads: str, **fields) -> Instruction:
    op_class = fields.pop("op_class", OpClass.FP32)
    return Instruction(
        index,
        str(op_class),
        (),
        (),
        op_class,
        reads=tuple(Register(r, "f32") for r in reads),
        writes=(Register(writes, "f32"),) if writes else (),
        **fields,
    )


def code(*instructions: Instruction) -> Kernel:
    block = BasicBlock(0, 0, len(instructions), ())
    return Kernel("code", "ptx", "sm_20", (), instructions, (block,))


def test_ilp_of_section_6_2():
    """e = a + b; f = c + d; g = e * f: three instructions, two in a row."""
    body = (plain(0, "e", "a", "b"), plain(1, "f", "c", "d"), plain(2, "g", "e", "f"))
    assert instruction_parallelism(body) == 1.5
    assert block_parallelism(code(*body)) == (1.5,)


def test_ilp_renames_registers_and_follows_guards():
    again = (plain(0, "x", "a"), plain(1, "y", "x"), plain(2, "x", "a"), plain(3, "z", "x"))
    assert instruction_parallelism(again) == 2
    guard = Guard(Register("p", "pred"))
    kept = (plain(0, "x", "a"), plain(1, "x", "b", guard=guard), plain(2, "z", "x"))
    assert instruction_parallelism(kept) == 1
    assert instruction_parallelism(()) == 1


def test_arithmetic_intensity_as_meant():
    """A load, a product with what it loaded, a sum of that: the sum is on-chip.

    As printed, the result of the first on-chip instruction would be off-chip for the next.
    """
    load = plain(0, "x", "i", op_class=OpClass.LOAD, space=Space.GLOBAL)
    near = plain(1, "s", "i", op_class=OpClass.LOAD, space=Space.SHARED)
    body = (load, near, plain(2, "y", "x", "s"), plain(3, "z", "y", "s"), plain(4, "w", "z"))
    found = arithmetic_intensity(code(*body))
    assert (found.on_chip, found.off_chip) == (3, 2)
    assert found.ratio == 1.5
    weighted = arithmetic_intensity(code(*body), [1, 2, 3, 4, 5])
    assert (weighted.on_chip, weighted.off_chip) == (2 + 4 + 5, 1 + 3)


def test_nothing_off_chip_is_infinitely_intense():
    assert arithmetic_intensity(code(plain(0, "x", "a"))).ratio == math.inf


def test_figure_5_4_delays_times_ten_then_over_an_ilp_of_two():
    """Compute operations of 10 cycles and an access of 30; the loop runs ten times, with ILP 2."""
    compute, access = compute_delay(10, 32, math.inf), memory_delay(30, 0.0, math.inf)
    from kernelcast.models.terms.resios_trace import FlatTrace, TracedOperation
    from kernelcast.simulation.coarse_loop import COMPUTE, MEMORY

    def op(kind, times, ilp, delay):
        return TracedOperation(0, kind, times, ilp, delay, Bottleneck.ISSUE)

    rows = (op(COMPUTE, 1, 1, compute), op(COMPUTE, 10, 2, compute), op(MEMORY, 10, 2, access))
    trace = FlatTrace(rows, ()).arrays(as_printed=True)
    assert list(trace.latency) == [10, 50, 150]
    assert list(trace.peak) == [math.inf] * 3
    assert simulate_coarsely(trace, CoarseSm(48, 8), 1, 1).cycles == 210


def test_more_warps_than_a_peak_over_ilp_pay_the_penalty(make_case: MakeCase):
    """The threshold is of ILP times TLP: with an ILP of 2, half as many warps are at the peak."""
    case = make_case(
        FERMI,
        [
            {"op_class": OpClass.FP32, "writes": name, "reads": (name,)}
            for name in ("x", "y")
            for _ in range(2)
        ],
        is_one_block=True,
    )
    trace = flat_trace(case, "this test")
    assert [op.ilp for op in trace.operations] == [2] * 4
    assert list(trace.arrays(as_printed=True).peak) == [8] * 4


CHAIN = {"op_class": OpClass.INT_MUL, "writes": "x", "reads": ("x",), "times": 1000}


def test_five_warps_of_a_chain_of_mul_take_its_latency(make_case: MakeCase):
    """Chapter 7: 1024 threads in blocks of 160, one an SM; 20 cycles for each of 1000."""
    case = make_case(FERMI, [CHAIN], blocks=7, threads=160)
    launch = FERMI.number("launch.overhead") * FERMI.number("clock.sm")
    assert PRINTED.predict(case).cycles - launch == pytest.approx(20 * 1000)


@pytest.mark.parametrize(("threads", "blocks"), [(64, 3), (128, 50), (1024, 700)])
def test_simulated_part_is_extrapolated(make_case: MakeCase, threads, blocks):
    """total = t n / W: every SM executes as many blocks as the busiest."""
    case = make_case(FERMI, [CHAIN], blocks=blocks, threads=threads)
    p = Resios(warps=64).predict(case)
    of_one_sm = -(-blocks // min(7, blocks)) * threads // 32
    t, n, w = (
        float(p.terms[k])
        for k in ("t, simulated cycles", "n, warps of an SM", "W, simulated warps")
    )
    assert n == of_one_sm
    assert w == min(n, max(64, threads // 32) // (threads // 32) * (threads // 32))
    launch = FERMI.number("launch.overhead") * FERMI.number("clock.sm")
    assert p.cycles - launch == pytest.approx(t * n / w)


LOAD = {"op_class": OpClass.LOAD, "space": Space.GLOBAL, "writes": "x", "reads": ("i",)}
STORE = {"op_class": OpClass.STORE, "space": Space.GLOBAL, "reads": ("x", "i")}


def test_copy_of_chapter_7(make_case: MakeCase):
    """32 warps: each access 500/32 + 14 cycles, where the bandwidth of the chip alone takes 14.

    The thesis has 2.04 for predicted over measured, and says that one SM alone may use more.
    """
    case = make_case(FERMI, [LOAD, STORE], blocks=7 * 6, threads=1024)
    p = PRINTED.predict(case)
    launch = FERMI.number("launch.overhead") * FERMI.number("clock.sm")
    penalty = 128 * 1.35 / (86.4 / 7)
    at_bandwidth = 2 * 6 * 32 * penalty
    assert (p.cycles - launch) / at_bandwidth == pytest.approx((500 / 32 + penalty) / penalty)
    assert (p.cycles - launch) / at_bandwidth == pytest.approx(2.12, abs=0.01)
    hot = [str(text) for name, text in p.terms.items() if name.startswith("hot spot")]
    assert len(hot) == 2
    assert all(text.startswith("50 %") for text in hot)


def test_the_printed_tlp_makes_every_return_from_memory_wait_alone(make_case: MakeCase):
    case = make_case(FERMI, [LOAD, STORE], blocks=7, threads=1024)
    ready = Resios(law="printed", caches=False, memory_tlp="ready").predict(case)
    launch = FERMI.number("launch.overhead") * FERMI.number("clock.sm")
    loads = 32 * (500 / 32 + 14)
    assert ready.cycles - launch == pytest.approx(loads + 32 * 500)


def test_idle_time_is_charged_to_what_is_scattered(make_case: MakeCase):
    """A transpose: the store to 32 lines is the hot spot, not the load of one."""
    apart = {**STORE, "access": {"sectors": 32, "lines": 32}}
    case = make_case(FERMI, [LOAD, apart], blocks=700, threads=1024)
    p = PRINTED.predict(case)
    assert "store" in str(p.terms["hot spot 1"])
    assert p.bottleneck is Bottleneck.DRAM_BANDWIDTH


def test_speed_up_counts_copies_and_context(make_case: MakeCase):
    case = make_case(FERMI, [LOAD, STORE])
    p = Resios(cpu_s=1.0, copied_bytes=1e8).predict(case)
    overhead = 0.02 + 0.065
    assert p.terms["overhead beside the launch, s"] == pytest.approx(overhead)
    assert p.terms["speed-up"] == pytest.approx(1 / (p.time_s + overhead))
    assert "speed-up" not in Resios().predict(case).terms


def test_effective_bandwidth_is_what_was_asked_over_the_time(make_case: MakeCase):
    case = make_case(FERMI, [LOAD, STORE], blocks=1000)
    p = Resios().predict(case)
    assert p.terms["effective bandwidth, byte/s"] == pytest.approx(1000 * 8 * 256 / p.time_s)


@pytest.mark.parametrize(
    ("fields", "message"),
    [({"warps": 0}, "warps is 0"), ({"cpu_s": -1.0}, "cpu_s is -1")],
)
def test_parameters_have_a_range(fields, message):
    with pytest.raises(InputError, match=message):
        Resios(**fields)


@pytest.mark.parametrize("name", ["law", "memory_tlp", "queue"])
def test_parameters_have_names(name):
    with pytest.raises(NotFoundError, match="resios"):
        load_model("resios", **{name: "other"})


def test_units_and_strategies_are_parameters(make_case: MakeCase):
    case = make_case(FERMI, [LOAD, CHAIN, STORE], blocks=70)
    times = {
        Resios(memory_units=units, queue=queue).predict(case).time_s
        for units in (1, 8)
        for queue in ("first", "last", "shortest")
    }
    assert len(times) > 1


def test_a_trace_is_of_operations_that_do_not_vanish(make_case: MakeCase):
    move = {"op_class": OpClass.MOVE, "writes": "x", "reads": ("y",)}
    case = make_case(FERMI, [move, CHAIN], isa="ptx")
    assert [op.times for op in flat_trace(case, "this test").operations] == [1000]
    assert isinstance(flat_trace(case, "this test").arrays(as_printed=False), CoarseTrace)
