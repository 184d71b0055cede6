"""Written traces on the paper's GPU.

J. Lai, A. Seznec: TEG: GPU Performance Estimation Using a Timing Model. INRIA, RR-7804, 2011.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kernelcast.forecasting.traced import cases_of_trace
from kernelcast.machines.loader import apply_overrides, load_machine
from kernelcast.machines.machine import Machine
from kernelcast.models.teg import Played, Teg
from kernelcast.simulation.removals import Removals
from kernelcast.simulation.simulate import simulate
from kernelcast.traces.written.program import WrittenTrace
from kernelcast.traces.written.reader import read_written
from kernelcast.traces.written.stream import stored_trace

_GPU = "gtx-280"
SETTINGS: Mapping[str, str] = {
    "latency.shared": "38",
    "latency.dram": "440",
    "dram.bandwidth": "140e9",
    "dram.scattered_transaction": "32",
    "sm.sectors_in_flight": "48",
}
"""Where the paper's numbers are not those of the machine file: sections 3.2.4 and 3.3.4.

440 is the middle of 436 to 443. That many sectors for each of three SMs are 18 accesses of a warp
to doubles, and transactions of 32 bytes take no more of the bandwidth than their bytes.
"""

_KERNELS = Path(__file__).parent / "kernels"
_MOST_ISSUED = 1_000_000
_MOST_EVENTS = 1 << 16


def paper_machine() -> Machine:
    """The GTX 280 with the paper's numbers."""
    return apply_overrides(load_machine(_GPU), [f"{k}={v}" for k, v in SETTINGS.items()])


def kernel_trace(name: str, numbers: Mapping[str, int]) -> WrittenTrace:
    """A kernel of this folder; `numbers` take the place of those in its file."""
    return read_written(_KERNELS / f"{name}.trace", numbers)


def played(trace: WrittenTrace, removed: Removals = frozenset()) -> Played:
    """A trace simulated on the paper's GPU, maybe without some bottlenecks."""
    (case,) = cases_of_trace(stored_trace(trace), [paper_machine()])
    return Teg().play(case, removed)


def issue_events(trace: WrittenTrace) -> NDArray[np.void]:
    """Its issued instructions in order, as `simulation.layout.EVENT`."""
    of = played(trace)
    noted = simulate(of.given, of.plan, None, most_issued=_MOST_ISSUED, most_events=_MOST_EVENTS)
    return noted.events
