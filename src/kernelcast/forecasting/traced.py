"""Launches that lie in trace files, as cases: nothing is compiled and nothing executed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from kernelcast.errors import UnsupportedError
from kernelcast.execution.blocks import runs_of, these_blocks
from kernelcast.execution.run import Replay
from kernelcast.forecasting.fitting import fitted, warned
from kernelcast.hierarchy.rules import access_rules
from kernelcast.ir import CacheState, Kernel
from kernelcast.isas.assembly import is_machine_code
from kernelcast.machines.machine import Machine
from kernelcast.models.terms.base import Case
from kernelcast.profiling.profile import Profile
from kernelcast.profiling.rules import AccessRules
from kernelcast.profiling.stored import profile_of, streams_of
from kernelcast.profiling.stream_run import FEWEST_IN_A_ROW
from kernelcast.profiling.streams import AccessStreams
from kernelcast.traces.open import open_traces
from kernelcast.traces.stored import StoredRun, StoredTrace


def cases_of_traces(
    path: Path, machines: Sequence[Machine], caches: CacheState = CacheState.COLD
) -> tuple[Case, ...]:
    """One case per traced launch and machine, in that order.

    `path` is a trace of this package, a trace of Accel-Sim, or its list of several. Raises
    InputError where it is damaged, and LaunchError where a launch does not fit a GPU.
    """
    earlier: dict[str, tuple[Case, ...]] = {}
    cases = []
    for trace in open_traces(path):
        for case in cases_of_trace(trace, machines):
            before = earlier.get(case.machine.name, ())
            cases.append(replace(case, caches=caches, earlier=before))
            earlier[case.machine.name] = (*before, cases[-1])
    return tuple(cases)


def cases_of_trace(trace: StoredTrace, machines: Sequence[Machine]) -> Iterator[Case]:
    """One case per machine of a launch that was traced; raises as `cases_of_traces`."""
    asked = tuple(access_rules(chip) for chip in machines)
    counted: dict[AccessRules, Profile] = {}
    launch = trace.head.launch
    streams, why = _streams(trace)
    run = _run(trace)
    for chip, own in zip(machines, asked, strict=True):
        rules = own.with_those_of(asked)
        if rules not in counted:
            counted[rules] = profile_of(trace, rules)
        kernel = _fitted(trace, chip)
        profile = replace(counted[rules], kernel=kernel)
        find = None if streams is None else partial(_same, streams)
        yield Case(kernel, launch, chip, profile, find, why, run=run)


def _same(streams: AccessStreams) -> AccessStreams:
    return streams


def _run(trace: StoredTrace) -> Callable[[], Replay] | None:
    """The whole grid, to be followed again; None where the trace is one of a sample."""
    blocks = trace.head.blocks
    if len(blocks) < trace.head.launch.blocks:
        return None
    return partial(StoredRun, trace, these_blocks(len(blocks), blocks))


def _streams(trace: StoredTrace) -> tuple[AccessStreams | None, str]:
    """The accesses of the blocks that were traced, or why caches cannot be simulated with them."""
    runs = runs_of(trace.head.blocks)
    fewest = min(map(len, runs), default=0)
    if len(trace.head.blocks) < trace.head.launch.blocks and fewest < FEWEST_IN_A_ROW:
        return None, f"the trace holds fewer than {FEWEST_IN_A_ROW} blocks in a row"
    try:
        return streams_of(trace), ""
    except UnsupportedError as error:
        return None, error.what


def _fitted(trace: StoredTrace, chip: Machine) -> Kernel:
    """The kernel with what to warn of, code of another GPU too."""
    kernel = fitted(trace.head.kernel, trace.head.launch, chip, was_traced=True)
    major, minor = chip.compute_capability
    if is_machine_code(kernel) and kernel.target.rstrip("af") != f"sm_{major}{minor}":
        return warned(
            kernel, f"the trace is of machine code for {kernel.target}; that of {chip.name} differs"
        )
    return kernel
