"""Written traces in the timing simulation: what stops for ever, and channels of the DRAM."""

import pytest

from kernelcast import errors
from kernelcast.traces.written.reader import parse_written
from kernelcast.validation.teg.play import played

BARRIER = """\
written trace 1
target sm_13
kernel stops
grid 1
block 128
registers 8
code
start:
    BRA C0.NE, last
meet:
    BAR.ARV.WAIT b1, 0xfff
last:
    FADD32 R2, R2, R2
    BAR.ARV.WAIT b0, 0xfff
    EXIT
path
start
when warp < 3
    meet
end
last
"""


def test_a_barrier_that_some_warps_never_reach_names_warp_instruction_and_cycle():
    stops = r"warp 0, instruction 1 \(BAR.ARV.WAIT\) waits since cycle \d+"
    with pytest.raises(errors.ExecutionError, match=f"a barrier is never completed: {stops}"):
        played(parse_written(BARRIER, "stops"))


def test_a_barrier_that_all_warps_reach_is_passed():
    passed = BARRIER.replace("warp < 3", "warp < 4")
    assert played(parse_written(passed, "stops")).found.cycles > 0


SKEWED = """\
written trace 1
target sm_13
kernel skewed
let apart = 256
grid 240
block 64
registers 8
array data f32 1 << 24
code
start:
    MVI R2, 0x0
turn:
    GLD.U32 R3, global14[R2] @ data + apart*(16*block + t) + 128*warp + 4*lane
    BRA C0.NE, turn
last:
    FADD32 R2, R3, R2
    EXIT
path
start
repeat t 16
    turn
end
last
"""


def test_requests_that_all_go_to_one_channel_take_longer():
    even, skewed = (
        played(parse_written(SKEWED, "skewed", {"apart": apart})).time.cycles
        for apart in (256, 8 * 256)
    )
    assert skewed > 3 * even


def test_a_trace_that_does_not_fit_is_refused_before_it_is_played():
    with pytest.raises(errors.InputError, match="warp 0 of block 0 enters 'turn' first"):
        played(parse_written(SKEWED.replace("path\nstart\n", "path\n"), "skewed"))
