"""The profile of a stored trace, counted without executing anything."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from kernelcast.execution.blocks import runs_of
from kernelcast.execution.memory import Memory, Region
from kernelcast.profiling.builder import ProfileBuilder
from kernelcast.profiling.profile import Profile
from kernelcast.profiling.rules import NO_RULES, AccessRules
from kernelcast.profiling.stream_builder import StreamBuilder
from kernelcast.profiling.stream_run import MOST_EXACT_WORDS
from kernelcast.profiling.streams import AccessStreams
from kernelcast.traces.accel_sim.load import MAKER as ACCEL_SIM
from kernelcast.traces.stored import StoredTrace, TraceHead


def profile_of(trace: StoredTrace, rules: AccessRules = NO_RULES) -> Profile:
    """The profile of a trace; `rules` are those of the machines that it is for.

    Raises InputError where its file is damaged, and ExecutionError where the words are no trace of
    its kernel, launch and arrays.
    """
    builder = builder_for(trace.head, is_observed=trace.maker == ACCEL_SIM, rules=rules)
    for words in trace.words():
        builder.consume(words)
    return builder.finish(executor=trace.maker)


def streams_of(trace: StoredTrace) -> AccessStreams:
    """The access streams of the blocks that a trace holds, as many as `MOST_EXACT_WORDS` allow.

    Raises as `profile_of` does, and UnsupportedError where the kernel has too many accesses.
    """
    head = trace.head
    builder = StreamBuilder(head.kernel, head.launch, runs_of(head.blocks), MOST_EXACT_WORDS)
    for words in trace.words():
        builder.consume(words)
    return builder.finish()


def builder_for(
    head: TraceHead, *, is_observed: bool = False, rules: AccessRules = NO_RULES
) -> ProfileBuilder:
    """What counts the words of a trace with this head, made by an executor or observed on a GPU."""
    arrays = cast(Memory, _Arrays(head.regions))
    return ProfileBuilder(
        head.kernel, head.launch, arrays, head.blocks, is_observed=is_observed, rules=rules
    )


@dataclass(frozen=True)
class _Arrays:
    """All that counting wants of the memory: where arrays lie, not what they hold."""

    regions: tuple[Region, ...]
