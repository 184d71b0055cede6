"""MWP-CWP: memory warp parallelism against computation warp parallelism.

S. Hong, H. Kim: An analytical model for a GPU architecture with memory-level and thread-level
parallelism awareness. ISCA 2009. Equation numbers and symbols are the paper's.

    Mem_L_Uncoal = Mem_LD + (#Uncoal_per_mw - 1) Departure_del_uncoal                    (10)
    Mem_L_Coal = Mem_LD                                                                  (11)
    Weight_uncoal = #Uncoal_Mem_insts / (#Uncoal_Mem_insts + #Coal_Mem_insts)            (13)
    Weight_coal = 1 - Weight_uncoal                                                      (14)
    Mem_L = Mem_L_Uncoal Weight_uncoal + Mem_L_Coal Weight_coal                          (12)
    Departure_delay = Departure_del_uncoal #Uncoal_per_mw Weight_uncoal
                      + Departure_del_coal Weight_coal                                   (15)
    MWP_Without_BW_full = Mem_L / Departure_delay                                        (16)
    MWP_Without_BW = min(MWP_Without_BW_full, N)                                         (17)
    BW_per_warp = Freq Load_bytes_per_warp / Mem_L                                       (7)
    MWP_peak_BW = Mem_Bandwidth / (BW_per_warp #ActiveSM)                                (6)
    MWP = min(MWP_Without_BW, MWP_peak_BW, N)                                            (5)
    Mem_cycles = Mem_L_Uncoal #Uncoal_Mem_insts + Mem_L_Coal #Coal_Mem_insts             (18)
    Comp_cycles = Issue_cycles #Total_insts                                              (19)
    CWP_full = (Mem_cycles + Comp_cycles) / Comp_cycles                                  (8)
    CWP = min(CWP_full, N)                                                               (9)
    N = #Active_warps_per_SM                                                             (20)
    #Rep = #Blocks / (#Active_blocks_per_SM #Active_SMs)                                 (21)
    Comp_p = Comp_cycles / #Mem_insts                                                    (2)
    MWP = N and CWP = N:  Exec = (Mem_cycles + Comp_cycles + Comp_p (MWP - 1)) #Rep      (22) = (4)
    CWP >= MWP:           Exec = (Mem_cycles N / MWP + Comp_p (MWP - 1)) #Rep            (23)
    MWP > CWP:            Exec = (Mem_L + Comp_cycles N) #Rep                            (24) = (3)
    Synch_cost = Departure_delay (MWP - 1) #Synch_insts #Active_blocks_per_SM #Rep       (26)
    Total = Exec + Synch_cost                                                            (27)
    CPI = Exec / (#Total_insts (#Threads_per_block / 32) (#Blocks / #Active_SMs))        (25)

Equation 1, for independent warps, is (23) with `Comp_p MWP`; the paper uses (23) for applications.
(23) is printed for Comp_cycles > Mem_cycles, too, where section 3.2.2 and Figure 7 (case 5: 8C + M)
describe (24); as printed, it leaves out nearly all of the computation where there is most of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

from kernelcast.errors import InputError
from kernelcast.hierarchy.coalescing import coalesced_transactions_in_order
from kernelcast.hierarchy.rules import caches_memory, merges_half_warps, merges_in_order
from kernelcast.hierarchy.traffic import Estimate
from kernelcast.ir import OpClass, Space
from kernelcast.ir.sizes import SECTOR_BYTES, WARP_LANES
from kernelcast.machines.machine import Machine
from kernelcast.models.terms.base import (
    Bottleneck,
    Case,
    Part,
    Prediction,
    in_seconds,
    launch_overhead,
)
from kernelcast.models.terms.dram import dram_time
from kernelcast.models.terms.latency import load_latency
from kernelcast.profiling.profile import AccessProfile


@dataclass(frozen=True, slots=True)
class MwpCwpInputs:
    """The paper's Table 1. Instruction counts are those of one warp, latencies SM cycles.

    `load_bytes_per_warp` is what one memory instruction of a warp moves (128 B for words of 4 B);
    `uncoal_per_mw` the transactions of an uncoalesced one; `blocks` those of the whole grid.
    """

    mem_ld: float
    departure_del_uncoal: float
    departure_del_coal: float
    issue_cycles: float
    freq_hz: float
    mem_bandwidth: float
    blocks: float
    active_sms: float
    active_blocks_per_sm: float
    warps_per_block: float
    comp_insts: float
    uncoal_mem_insts: float
    coal_mem_insts: float
    synch_insts: float
    uncoal_per_mw: float
    load_bytes_per_warp: float

    @property
    def mem_insts(self) -> float:
        """#Mem_insts."""
        return self.uncoal_mem_insts + self.coal_mem_insts

    @property
    def total_insts(self) -> float:
        """#Total_insts."""
        return self.comp_insts + self.mem_insts


_COMPUTATION = "computation"
"""The part of the time that warps compute, by the name it has in a breakdown."""


@dataclass(frozen=True, slots=True)
class MwpCwpResult:
    """Every named term of the equations; `case` is the number of the equation that gave Exec.

    `waiting_cycles` and `computing_cycles` are the two summands of Exec: the one that holds memory
    latency, and the rest.
    """

    mem_l: float
    departure_delay: float
    mwp_without_bw_full: float
    bw_per_warp: float
    mwp_peak_bw: float
    mwp: float
    comp_cycles: float
    mem_cycles: float
    cwp_full: float
    cwp: float
    n: float
    rep: float
    case: int
    waiting_cycles: float
    computing_cycles: float
    exec_cycles_app: float
    synch_cost: float
    total: float
    cpi: float


def solve(
    inputs: MwpCwpInputs, *, mwp: float | None = None, comp_over_mem_equation: int = 24
) -> MwpCwpResult:
    """Equations 2 to 27 for one launch.

    Parameters
    ----------
    mwp:
        Taken in place of equation 5; the paper's example goes on with MWP rounded to 2.28.
    comp_over_mem_equation:
        The equation used where Comp_cycles > Mem_cycles and neither of the first two cases holds:
        24 as the paper's section 3.2.2 (case 5, Figure 7) describes it, or 23 as printed.
    """
    i = inputs
    n = i.warps_per_block * i.active_blocks_per_sm  # (20)
    weight_uncoal = i.uncoal_mem_insts / i.mem_insts if i.mem_insts else 0.0  # (13)
    weight_coal = 1 - weight_uncoal if i.mem_insts else 0.0  # (14)
    mem_l_uncoal = i.mem_ld + (i.uncoal_per_mw - 1) * i.departure_del_uncoal  # (10)
    mem_l_coal = i.mem_ld  # (11)
    mem_l = mem_l_uncoal * weight_uncoal + mem_l_coal * weight_coal  # (12)
    departure_delay = (  # (15)
        i.departure_del_uncoal * i.uncoal_per_mw * weight_uncoal
        + i.departure_del_coal * weight_coal
    )
    mwp_without_bw_full = _ratio(mem_l, departure_delay)  # (16)
    bw_per_warp = i.freq_hz * i.load_bytes_per_warp / mem_l if mem_l else 0.0  # (7)
    mwp_peak_bw = _ratio(i.mem_bandwidth, bw_per_warp * i.active_sms)  # (6)
    if mwp is None:
        mwp = min(mwp_without_bw_full, mwp_peak_bw, n)  # (5), (17)
    comp_cycles = i.issue_cycles * i.total_insts  # (19)
    mem_cycles = mem_l_uncoal * i.uncoal_mem_insts + mem_l_coal * i.coal_mem_insts  # (18)
    cwp_full = (mem_cycles + comp_cycles) / comp_cycles  # (8)
    cwp = min(cwp_full, n)  # (9)
    rep = i.blocks / (i.active_blocks_per_sm * i.active_sms)  # (21)
    comp_p = comp_cycles / i.mem_insts if i.mem_insts else 0.0  # (2)
    others = max(0.0, mwp - 1)  # less than one warp at a time still waits for none
    printed = comp_over_mem_equation == 23 and i.mem_insts > 0
    if mwp == n and cwp == n:
        case, waiting, computing = 22, mem_cycles, comp_cycles + comp_p * others
    elif cwp >= mwp or (comp_cycles > mem_cycles and printed):
        case, waiting, computing = 23, mem_cycles * n / mwp, comp_p * others
    else:
        case, waiting, computing = 24, mem_l, comp_cycles * n
    exec_cycles_app = (waiting + computing) * rep
    synch_cost = (  # (26)
        departure_delay * others * i.synch_insts * i.active_blocks_per_sm * rep
    )
    per_sm = i.total_insts * i.warps_per_block * i.blocks / i.active_sms
    return MwpCwpResult(
        mem_l=mem_l,
        departure_delay=departure_delay,
        mwp_without_bw_full=mwp_without_bw_full,
        bw_per_warp=bw_per_warp,
        mwp_peak_bw=mwp_peak_bw,
        mwp=mwp,
        comp_cycles=comp_cycles,
        mem_cycles=mem_cycles,
        cwp_full=cwp_full,
        cwp=cwp,
        n=n,
        rep=rep,
        case=case,
        waiting_cycles=waiting * rep,
        computing_cycles=computing * rep,
        exec_cycles_app=exec_cycles_app,
        synch_cost=synch_cost,
        total=exec_cycles_app + synch_cost,  # (27)
        cpi=exec_cycles_app / per_sm,  # (25)
    )


def _ratio(numerator: float, denominator: float) -> float:
    return numerator / denominator if denominator else math.inf


@dataclass(frozen=True)
class MwpCwp:
    """Hong & Kim's model on a profile.

    Beyond the paper: where whole warps merge their accesses, a request is coalesced if it needs no
    more sectors of 32 B than its lanes' bytes fill; where memory is cached, latency, departure
    delays and bytes per warp are those of a mean sector over the caches, as far as traffic is
    bounded without a cache model.

    Parameters
    ----------
    comp_over_mem_equation:
        The equation used where computation exceeds memory: 24 as the paper's section 3.2.2
        describes the case, 23 as its equations are printed. `solve` says more.
    """

    name: ClassVar[str] = "mwp-cwp"
    title: ClassVar[str] = "Memory warp parallelism and computation warp parallelism"
    source: ClassVar[str] = (
        "S. Hong, H. Kim: An analytical model for a GPU architecture with memory-level and "
        "thread-level parallelism awareness. ISCA 2009"
    )
    not_modelled: ClassVar[tuple[str, ...]] = (
        "arithmetic latency: a computation instruction never waits for another",
        "different costs of computation instructions; shared memory counts as computation",
        "shared-memory bank conflicts and special functions",
        "loads of one warp that overlap (memory parallelism within a warp)",
        "what caches replace but the least recently used line",
        "the last wave: blocks are spread evenly, in fractions if need be",
    )

    comp_over_mem_equation: int = 24

    def __post_init__(self) -> None:
        if self.comp_over_mem_equation not in (23, 24):
            raise InputError(
                f"comp_over_mem_equation is {self.comp_over_mem_equation}", hint="give 23 or 24"
            )

    def predict(self, case: Case) -> Prediction:
        """The time of a case.

        Raises
        ------
        MissingNumberError
            If the machine lacks `sm.count`, `clock.sm`, `dram.bandwidth`, or what the paper's own
            constants are derived from where it has none: `latency.dram`, `throughput.fp32` and
            `sm.issue_per_cycle`.
        """
        inputs, assumptions = inputs_of_case(case, Estimate.CENTRAL)
        result = self._solve(inputs)
        start, warning = launch_overhead(case)
        parts = (
            Part(str(Bottleneck.MEMORY_LATENCY), result.waiting_cycles),
            Part(_COMPUTATION, result.computing_cycles),
            Part(str(Bottleneck.BARRIERS), result.synch_cost),
            start,
        )
        cycles = sum(part.cycles for part in parts)
        others = [
            self._solve(inputs_of_case(case, estimate)[0]).total + start.cycles
            for estimate in (Estimate.LOW, Estimate.HIGH)
        ]
        return Prediction(
            model=self,
            case=case,
            cycles=cycles,
            time_s=in_seconds(case, cycles),
            bottleneck=_bottleneck(result, parts),
            breakdown=parts,
            low_s=in_seconds(case, min(cycles, *others)),
            high_s=in_seconds(case, max(cycles, *others)),
            terms=_terms(inputs, result),
            assumptions=(
                *case.occupancy.assumptions,
                *case.traffic.assumptions,
                *assumptions,
                *self._choice(inputs, result),
            ),
            warnings=warning,
        )

    def _solve(self, inputs: MwpCwpInputs) -> MwpCwpResult:
        return solve(inputs, comp_over_mem_equation=self.comp_over_mem_equation)

    def _choice(self, inputs: MwpCwpInputs, result: MwpCwpResult) -> tuple[str, ...]:
        """Which equation stands where the printed cases and the text of the paper disagree."""
        printed, described = (solve(inputs, comp_over_mem_equation=e) for e in (23, 24))
        if printed.case == described.case:
            return ()
        ratio = described.total / printed.total
        return (
            f"Comp_cycles exceed Mem_cycles: equation {result.case} is used; equation 24, which "
            f"section 3.2.2 of the paper describes, gives {ratio:.3g} times the cycles of "
            "equation 23, which is printed for this case",
        )


def inputs_of_case(case: Case, estimate: Estimate) -> tuple[MwpCwpInputs, tuple[str, ...]]:
    """The model's inputs from a profile and a machine, and what was assumed."""
    machine, launch, profile = case.machine, case.launch, case.profile
    by = "model mwp-cwp"
    sms = int(machine.number("sm.count", by))
    active_sms = min(sms, launch.blocks)
    per_sm = min(case.occupancy.blocks_per_sm, -(-launch.blocks // active_sms))
    memory = _memory_instructions(case)
    constants, notes = _constants(case, memory, active_sms, estimate)
    requests = memory.coalesced + memory.uncoalesced
    synch = profile.counts.get(OpClass.BARRIER)
    inputs = MwpCwpInputs(
        mem_ld=constants.mem_ld,
        departure_del_uncoal=constants.departure_del_uncoal,
        departure_del_coal=constants.departure_del_coal,
        issue_cycles=constants.issue_cycles,
        freq_hz=machine.number("clock.sm", by),
        mem_bandwidth=machine.number("dram.bandwidth", by),
        # A grid smaller than one wave still takes a whole one.
        blocks=max(launch.blocks, per_sm * active_sms),
        active_sms=active_sms,
        active_blocks_per_sm=per_sm,
        warps_per_block=launch.warps_per_block,
        comp_insts=max(0.0, (profile.total.warp - requests) / profile.warps),
        uncoal_mem_insts=memory.uncoalesced / profile.warps,
        coal_mem_insts=memory.coalesced / profile.warps,
        synch_insts=synch.warp / profile.warps if synch else 0.0,
        uncoal_per_mw=memory.transactions_per_uncoalesced,
        load_bytes_per_warp=constants.load_bytes_per_warp,
    )
    return inputs, notes


@dataclass(frozen=True, slots=True)
class _MemoryTerms:
    """Requests of the whole grid to global and local memory."""

    coalesced: float
    uncoalesced: float
    transactions_per_uncoalesced: float
    sectors_per_coalesced: float
    bytes_per_request: float


def _memory_instructions(case: Case) -> _MemoryTerms:
    coalesced = uncoalesced = split = sectors = moved = 0.0
    for a in case.profile.accesses:
        if a.space not in (Space.GLOBAL, Space.LOCAL):
            continue
        whole, transactions = _coalescing(a, case.machine)
        coalesced += whole
        uncoalesced += a.requests - whole
        split += transactions
        sectors += a.sectors * whole / a.requests if a.requests else 0.0
        moved += a.bytes
    requests = coalesced + uncoalesced
    return _MemoryTerms(
        coalesced,
        uncoalesced,
        split / uncoalesced if uncoalesced else 1.0,
        sectors / coalesced if coalesced else 0.0,
        moved / requests if requests else 0.0,
    )


def _coalescing(access: AccessProfile, machine: Machine) -> tuple[float, float]:
    """Coalesced requests of an access, and the transactions of its other requests."""
    a = access
    if merges_in_order(machine):
        split = a.transactions_cc10 - coalesced_transactions_in_order(a)
        return a.coalesced_cc10, split
    if merges_half_warps(machine):
        rest = a.requests - a.coalesced_cc12
        return a.coalesced_cc12, max(a.transactions_cc12 - 2 * a.coalesced_cc12, rest)
    filled = math.ceil(a.bytes / SECTOR_BYTES / a.requests) if a.requests else 0
    if a.sectors <= filled * a.requests:
        return a.requests, 0.0
    return 0.0, a.sectors


@dataclass(frozen=True, slots=True)
class _Constants:
    mem_ld: float
    departure_del_uncoal: float
    departure_del_coal: float
    issue_cycles: float
    load_bytes_per_warp: float


def _constants(
    case: Case, memory: _MemoryTerms, active_sms: int, estimate: Estimate
) -> tuple[_Constants, tuple[str, ...]]:
    """Table 6 of the paper where the machine has it, else what its symbols stand for."""
    machine, by = case.machine, "model mwp-cwp"
    notes: list[str] = []

    # A number of the machine file where it has one; else it is derived, and a note says so.
    def constant(name: str, derived: Callable[[], float], meaning: str) -> float:
        value = machine.get(f"mwp_cwp.{name}")
        if value is None:
            value = derived()
            notes.append(f"{meaning} ({value:.3g} cycles)")
        return value

    def latency() -> float:
        value, used = load_latency(case, estimate, machine.number("latency.dram", by))
        notes.extend(used)
        return value

    sector, sector_notes = _sector_delay(case, active_sms, estimate)
    notes += sector_notes
    constants = _Constants(
        mem_ld=constant("mem_ld", latency, "Mem_LD is the mean latency of a load"),
        departure_del_uncoal=constant(
            "departure_uncoalesced",
            lambda: sector,
            "Departure_del_uncoal is the time in which memory delivers a sector to an SM",
        ),
        departure_del_coal=constant(
            "departure_coalesced",
            lambda: sector * memory.sectors_per_coalesced,
            "Departure_del_coal is that of the sectors of a coalesced request",
        ),
        issue_cycles=constant(
            "issue_cycles",
            lambda: max(
                1 / machine.number("sm.issue_per_cycle", by),
                WARP_LANES / machine.number("throughput.fp32", by),
            ),
            "Issue_cycles is the time in which an SM takes an instruction of a warp",
        ),
        load_bytes_per_warp=memory.bytes_per_request,
    )
    # With caches, not every byte that a request asks for is moved.
    if caches_memory(machine):
        requests = memory.coalesced + memory.uncoalesced
        moved = case.traffic.dram.at(estimate) / requests if requests else 0.0
        constants = replace(constants, load_bytes_per_warp=moved)
        notes.append("Load_bytes_per_warp are the bytes that a request moves from or to the DRAM")
    return constants, tuple(notes)


def _sector_delay(case: Case, active_sms: int, estimate: Estimate) -> tuple[float, tuple[str, ...]]:
    """Cycles between two sectors that arrive at one of the active SMs, from the slowest level."""
    machine = case.machine
    clock = machine.number("clock.sm", "model mwp-cwp")
    time = dram_time(case, estimate, "model mwp-cwp")
    from_l1, from_l2, from_dram = case.traffic.shares(estimate)
    cycles_per_byte = clock * time.seconds_per_byte
    delays = [from_dram * SECTOR_BYTES * active_sms * cycles_per_byte]
    l2, l1 = machine.get("l2.bandwidth"), machine.get("l1.bandwidth")
    if l2 is not None:
        delays.append((from_l2 + from_dram) * SECTOR_BYTES * active_sms * clock / l2)
    if l1 is not None:
        delays.append((from_l1 + from_l2 + from_dram) * SECTOR_BYTES / l1)
    return max(delays), time.notes


def _bottleneck(result: MwpCwpResult, parts: tuple[Part, ...]) -> Bottleneck:
    """What the largest part of the time stands for."""
    largest = max(parts, key=lambda part: part.cycles).name
    if largest == _COMPUTATION:
        return Bottleneck.ISSUE
    if largest == Bottleneck.MEMORY_LATENCY and result.mwp < result.n:
        return Bottleneck.DRAM_BANDWIDTH
    return Bottleneck(largest)


def _terms(inputs: MwpCwpInputs, result: MwpCwpResult) -> dict[str, float | str]:
    """The paper's symbols; a ratio to nothing is left out."""
    i, r = inputs, result
    symbols: dict[str, float] = {
        "Mem_LD": i.mem_ld,
        "Departure_del_uncoal": i.departure_del_uncoal,
        "Departure_del_coal": i.departure_del_coal,
        "Issue_cycles": i.issue_cycles,
        "#Comp_insts": i.comp_insts,
        "#Uncoal_Mem_insts": i.uncoal_mem_insts,
        "#Coal_Mem_insts": i.coal_mem_insts,
        "#Synch_insts": i.synch_insts,
        "#Uncoal_per_mw": i.uncoal_per_mw,
        "Load_bytes_per_warp": i.load_bytes_per_warp,
        "#Active_SMs": i.active_sms,
        "#Active_blocks_per_SM": i.active_blocks_per_sm,
        "Mem_L": r.mem_l,
        "Departure_delay": r.departure_delay,
        "MWP_Without_BW_full": r.mwp_without_bw_full,
        "BW_per_warp": r.bw_per_warp,
        "MWP_peak_BW": r.mwp_peak_bw,
        "MWP": r.mwp,
        "Comp_cycles": r.comp_cycles,
        "Mem_cycles": r.mem_cycles,
        "CWP_full": r.cwp_full,
        "CWP": r.cwp,
        "N": r.n,
        "#Rep": r.rep,
        "Exec_cycles_app": r.exec_cycles_app,
        "Synch_cost": r.synch_cost,
        "CPI": r.cpi,
    }
    finite = {name: value for name, value in symbols.items() if math.isfinite(value)}
    return {**finite, "case": f"equation {r.case}"}
