"""What the DRAM moves for single lines: from simulated caches to the streams of warps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.hierarchy.caches.streams import stream_of
from tests.simulation.test_removing import code, enter, request, streams

import kernelcast as kc
from kernelcast.execution.blocks import Span
from kernelcast.models import teg
from kernelcast.profiling.streams import LINE_SHIFT as ACCESS_LINE_SHIFT
from kernelcast.simulation import layout
from kernelcast.simulation.misses import with_misses, without_misses
from kernelcast.simulation.rewriting import Requests
from kernelcast.simulation.simulate import SimulationInput
from kernelcast.simulation.streams import LINE_SHIFT, MOVED_MASK, MOVED_SHIFT, WarpStreams

LOADS = code(layout.LOAD)
WHOLE = 15


def warp(*lines: int) -> list[int]:
    """A warp of loads of whole lines, one after the other."""
    return [*enter(0), *(word for line in lines for word in request(lines=[(line, WHOLE)]))]


def given_streams(found: WarpStreams, share: float) -> SimulationInput:
    rows = np.zeros(1, layout.ROW)
    rows["dram"] = share
    return SimulationInput(LOADS, found, np.zeros(1, layout.HARDWARE), rows)


def accesses(*blocks: tuple[int, ...]):
    """The same loads as caches are simulated with, blocks of one warp."""
    return stream_of([[[(0, [(line, WHOLE, 0)]) for line in block]] for block in blocks])


def moved(found: SimulationInput) -> list[int]:
    """Of every line in order: 0 where nothing is noted, else the sectors and 1."""
    asked = Requests.of(found.streams)
    places, _ = asked.line_places(np.ones(len(asked.at), np.bool_))
    return list(found.streams.words[places] >> MOVED_SHIFT & MOVED_MASK)


def test_lines_that_miss_are_noted_where_they_do():
    two = given_streams(streams(warp(1, 2), warp(2, 3)), share=0.75)
    found = with_misses(two, accesses((1, 2), (2, 3)), np.array([4, 4, 0, 4], np.uint8))
    assert moved(found) == [5, 5, 1, 5]
    assert found.rows["dram_noted"] == pytest.approx(1.0)
    assert moved(replace(found, streams=without_misses(found.streams))) == [0, 0, 0, 0]


def test_what_is_moved_altogether_is_the_share_of_what_is_asked_for():
    """Of two lines of four sectors half is moved, and one of them is what moves."""
    one = given_streams(streams(warp(1, 2)), share=0.25)
    found = with_misses(one, accesses((1, 2)), np.array([4, 0], np.uint8))
    assert found.rows["dram_noted"] == pytest.approx(0.5)


def test_a_row_that_moves_nothing_there_goes_by_its_share():
    one = given_streams(streams(warp(1, 2)), share=0.25)
    assert moved(with_misses(one, accesses((1, 2)), np.zeros(2, np.uint8))) == [0, 0]


def test_a_warp_that_asks_for_more_lines_than_there_goes_by_the_share():
    two = given_streams(streams(warp(1, 2, 7), warp(2, 3)), share=1.0)
    found = with_misses(two, accesses((1, 2), (2, 3)), np.full(4, 4, np.uint8))
    assert moved(found) == [0, 0, 0, 5, 5]


def test_a_block_that_was_not_simulated_takes_what_one_in_the_middle_does():
    """Blocks 0 and 1 count at the start; of 2 to 5 the last two count, and stand for 6 to 9."""
    every = accesses(*((line,) for line in range(6)))
    spans = (Span(0, 0, 2), Span(2, 4, 6))
    every = replace(every, of=10, spans=spans)
    played = replace(streams(warp(1), warp(3), warp(7)), blocks=np.array([1, 3, 7]))
    one_each = np.arange(6, dtype=np.uint8) % 5
    found = with_misses(given_streams(played, share=1.0), every, one_each)
    assert moved(found) == [1 + 1, 0 + 1, 0 + 1]


KERNELS = {
    "rows": "out[i] = in[i] + in[i + 33];",
    "scattered": "out[i * 7 % 4096] = in[i * 13 % 4096];",
    "atomics": "atomicAdd(out + i % 50, in[i]);",
    "local": "float own[40]; for (int k = 0; k < 40; k++) own[(k * i) % 40] = in[k + i % 7];"
    " float sum = 0; for (int k = 0; k < 40; k++) sum += own[(k * 3 + i) % 40]; out[i] = sum;",
    "branches": "if (i % 3) out[i] = in[i * 2 % 4096]; else out[i] = in[5];",
}


def marks(lines: NDArray[np.int64]) -> NDArray[np.int64]:
    """Sectors by which lines can be told apart, none of them 0."""
    return 1 + lines % 5


@pytest.mark.parametrize("name", KERNELS)
def test_lines_stand_in_the_order_of_the_accesses(name, monkeypatch, tmp_path):
    """The two streams are recorded by loops of their own."""
    file = tmp_path / "k.cu"
    file.write_text(
        'extern "C" __global__ void k(float* out, const float* in) {'
        f" int i = blockIdx.x * blockDim.x + threadIdx.x; {KERNELS[name]} }}"
    )
    args = {"out": kc.f32(4096), "in": kc.f32(8192)}
    launch = kc.Launch(grid=(32,), block=(128,), args=args)
    seen = []

    def noting(given, accesses, moved):
        everywhere = np.zeros(len(given.rows), layout.ROW)
        everywhere["dram"] = 1.0
        mark = marks(accesses.words.view(np.int64) >> ACCESS_LINE_SHIFT).astype(np.uint8)
        by_line = with_misses(replace(given, rows=everywhere), accesses, mark)
        seen.append(by_line.streams)
        return with_misses(given, accesses, moved)

    monkeypatch.setattr(teg, "with_misses", noting)
    kc.predict(kc.case(kc.load(file), launch, gpu="rtx-3080"), "teg")
    (found,) = seen
    asked = Requests.of(found)
    places, _ = asked.line_places(np.ones(len(asked.at), np.bool_))
    noted = found.words[places] >> MOVED_SHIFT & MOVED_MASK
    lines = found.words[places] >> LINE_SHIFT
    assert (noted > 0).mean() > 0.9
    assert (marks(lines) == noted - 1)[noted > 0].all()
