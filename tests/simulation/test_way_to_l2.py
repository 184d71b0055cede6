"""The way between SMs and L2 cache: bytes of streams, requests of lanes that lie apart, writes."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.simulation.programs import EXIT, Op, Setting, entering, played, program, request, streams

from kernelcast.ir import OpClass, Space
from kernelcast.machines.loader import load_machine
from kernelcast.profiling.layout import GLOBAL
from kernelcast.simulation.removals import NOTHING, Removal

H100 = load_machine("h100-sxm")
MANY = 64
NEAR = {"l2_far_latency": H100.number("latency.l2")}
OF_SM = ("store_first", "store_further", "store_narrow", "store_whole", "miss_cycles")
SETTING = Setting(H100, changed=NEAR, rows={"dram": 0.0}, is_plain=True)
BEYOND = SETTING.with_numbers(**dict.fromkeys(OF_SM, 0.0))
"""Where what an SM sends takes it no time."""
ALONE = SETTING.with_numbers(
    l2_write_first=1e-9,
    l2_write_cycles=1e-9,
    l2_change_cycles=0.0,
    l2_request_cycles=0.0,
    store_next=0.0,
    address_cycles=0.0,
)
"""Where it takes the L2 cache none."""


def load(lines, sectors):
    return OpClass.LOAD, lines, sectors


def store(lines, sectors):
    return OpClass.STORE, lines, sectors


def atomic(lines, sectors):
    return OpClass.ATOMIC, lines, sectors


def cycles(setting, *accesses, removed=NOTHING, same=1, width=4):
    """From one turn of a warp's accesses to the next, of so many that their rate counts alone.

    So many of them in a row are to the `same` lines; a lane's are `width` bytes.
    """

    def of(times):
        # A warp that ends does not wait for its loads, but for its copies.
        ops = [
            Op(op_class, space=Space.GLOBAL, is_copy=op_class is OpClass.LOAD, width=width)
            for op_class, _, _ in accesses
        ] * times
        words, line = entering(0), 0
        for at in range(len(ops)):
            _, lines, sectors = accesses[at % len(accesses)]
            words += request(at, GLOBAL, range(line, line + lines), sectors=(1 << sectors) - 1)
            line += lines if at % same == same - 1 else 0
        return played(program([*ops, EXIT]), streams([[words]]), setting, removed).cycles

    return (of(2 * MANY) - of(MANY)) / MANY


def per_cycle(path):
    """An SM's share of a rate of the chip, 64 of whose SMs are busy."""
    return H100.number(path) / H100.number("clock.sm") / 64


def test_lanes_with_a_line_each_take_the_slices_a_clock_each():
    assert cycles(BEYOND, load(32, 1)) == pytest.approx(32 / per_cycle("l2.request_rate"), rel=0.01)


def test_whole_lines_move_at_the_bandwidth_of_streams():
    assert cycles(SETTING, load(16, 4)) == pytest.approx(2048 / per_cycle("l2.bandwidth"), rel=0.01)


def test_what_is_read_waits_for_what_is_written():
    written = 2048 / per_cycle("l2.write_bandwidth")
    both = written + 16 / per_cycle("l2.request_rate")
    assert cycles(BEYOND, store(16, 4)) == pytest.approx(written, rel=0.01)
    assert cycles(BEYOND, load(16, 4), store(16, 4)) == pytest.approx(both, rel=0.02)


def test_lanes_that_write_a_sector_of_a_line_each():
    apart = 32 / per_cycle("l2.write_rate")
    assert cycles(BEYOND, store(32, 1)) == pytest.approx(apart, rel=0.02)


def test_an_sm_sends_what_it_stores_by_a_way_of_its_own():
    """62.85 cycles for a sector of 32 lines each, 39.25 for parts of four of 8 lines."""
    first, further = (H100.number(f"sm.store_{name}cycles") for name in ("", "further_"))
    assert cycles(ALONE, store(32, 1)) == pytest.approx(32 * first, rel=0.01)
    assert cycles(ALONE, store(8, 4)) == pytest.approx(8 * (first + 3 * further), rel=0.01)


def test_an_sm_sends_narrow_words_in_a_time_of_their_own():
    setting = ALONE.with_numbers(store_narrow=3.5)
    first, further = (H100.number(f"sm.store_{name}cycles") for name in ("", "further_"))
    assert cycles(setting, store(32, 1), width=2) == pytest.approx(32 * 3.5, rel=0.01)
    assert cycles(setting, store(8, 4), width=1) == pytest.approx(8 * (3.5 + 3 * further), rel=0.01)
    assert cycles(setting, store(32, 1), width=4) == pytest.approx(32 * first, rel=0.01)
    whole_sector = cycles(setting, store(1, 1), width=1)
    assert whole_sector == pytest.approx(first, rel=0.01)


def test_a_line_that_is_written_whole_is_sent_faster():
    assert cycles(ALONE, store(1, 4)) == pytest.approx(
        H100.number("sm.store_whole_cycles"), rel=0.01
    )


def test_what_is_loaded_and_what_is_stored_leave_an_sm_one_after_the_other():
    first, miss = H100.number("sm.store_cycles"), H100.number("sm.miss_cycles")
    both = cycles(ALONE, load(32, 1), store(32, 1))
    assert both == pytest.approx(32 * (first + miss), rel=0.02)


def test_the_banks_serve_loads_while_an_sm_sends_what_it_stores():
    """What the L1 cache has takes 32 turns of its tags, meanwhile."""
    near = replace(ALONE, rows={**ALONE.rows, "l1_miss": 0.0})
    alone = cycles(near, store(32, 1))
    assert cycles(near, load(32, 1), store(32, 1)) == pytest.approx(alone, rel=0.05)


@pytest.mark.parametrize(
    ("lines", "kept", "sent"), [(8, 24, 1), (24, 24, 1), (25, 24, 4), (8, 0, 4)]
)
def test_sectors_stored_again_while_their_lines_are_kept_are_sent_once(lines, kept, sent):
    """Four stores in a row to the same sectors; one that sends nothing takes a cycle."""
    setting = ALONE.with_numbers(store_lines=kept)
    found = cycles(setting, *[store(lines, 1)] * 4, same=4)
    taken = sent * lines * H100.number("sm.store_cycles") + 4 - sent
    assert found == pytest.approx(taken, rel=0.15)


def test_an_sm_sends_the_lines_of_an_atomic_one_after_the_other():
    """37.3 cycles for 32 lines."""
    alone = SETTING.with_numbers(l2_request_cycles=1e-9, l2_change_cycles=0.0)
    each = H100.number("sm.atomic_cycles")
    assert cycles(alone, atomic(32, 1)) == pytest.approx(32 * each, rel=0.01)
    removed = frozenset({Removal.L1_BANDWIDTH})
    assert cycles(alone, atomic(32, 1), removed=removed) < 0.5 * 32 * each


def test_slices_look_up_what_is_read_and_what_is_changed():
    """Half of what is changed passes both partitions."""
    found = cycles(SETTING, load(32, 1), atomic(32, 1))
    assert found == pytest.approx(80 / per_cycle("l2.request_rate"), rel=0.02)


def test_without_the_bandwidth_of_l2_what_atomics_give_back_takes_its_slices_no_time():
    takes, gives = (replace(SETTING, rows={**SETTING.rows, "gives_back": n}) for n in (0, 1))
    removed = frozenset({Removal.L2_BANDWIDTH})
    both = load(32, 1), atomic(32, 1)
    assert cycles(gives, *both) > cycles(takes, *both)
    free = cycles(takes, *both, removed=removed)
    assert cycles(gives, *both, removed=removed) == free


def test_without_their_numbers_bytes_share_one_way():
    setting = BEYOND.with_numbers(l2_write_first=0.0, l2_request_cycles=0.0)
    both = cycles(setting, load(32, 1), store(16, 4))
    assert both == pytest.approx((1024 + 2048) / per_cycle("l2.bandwidth"), rel=0.01)


def test_sectors_written_apart_share_one_way_with_what_is_read():
    first = 64 / per_cycle("l2.bandwidth")
    setting = BEYOND.with_numbers(
        l2_write_shared=True, l2_write_first=first, l2_write_cycles=0.0, l2_request_cycles=0.0
    )
    both = cycles(setting, load(32, 1), store(16, 1))
    assert both == pytest.approx(1024 / per_cycle("l2.bandwidth") + 16 * first, rel=0.01)


def test_reads_of_one_channel_of_the_dram_wait_for_each_other():
    """Where all SMs are played: those of one KiB lie in one channel, and of others anywhere."""
    whole = {**NEAR, "reading_channels": 16, "channel_shift": 3, "dram_spread": 0.0}
    setting = replace(SETTING, changed=whole, rows={"dram": 1.0, "dram_cycles": 1.0})
    near, apart = [line % 8 for line in range(8)], [8 * line for line in range(8)]
    words = {
        kind: [word for at in range(MANY) for word in request(at, GLOBAL, lines)]
        for kind, lines in (("one", near), ("many", apart))
    }
    ops = [Op(OpClass.LOAD, space=Space.GLOBAL, is_copy=True)] * MANY
    one, many = (
        played(program([*ops, EXIT]), streams([[entering(0) + words[kind]]]), setting).cycles
        for kind in ("one", "many")
    )
    assert one > 2 * many
