"""What a program waits for: its launches, and the copies between host and device around them."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from kernelcast.ir import CopyPlan, HostMemory
from kernelcast.models.terms.base import Case
from kernelcast.models.terms.transfers import (
    Direction,
    end_to_end,
    graph_saving,
    planned_transfers,
)
from kernelcast.reporting.documents.base import NotNegative, Positive


class CopyPart(Struct, frozen=True):
    """A copy of an array between host and device, and its time."""

    array: str
    direction: Direction
    memory: HostMemory
    bytes: NotNegative
    time_s: NotNegative


class EndToEndTime(Struct, frozen=True):
    """All launches of a program on one GPU by one model, and the copies around them.

    `total_time_s` is what the program waits for: copies to the device, kernels and copies back, one
    after another, or overlapping in `parts`. `as_graph_s` is the same with several launches as
    nodes of one graph. `context_s` comes on top once in a program. Both are null where nobody has
    measured what they take.
    """

    gpu: str
    model_label: str
    kernel_s: NotNegative
    to_device_s: NotNegative
    to_host_s: NotNegative
    parts: Positive
    total_time_s: NotNegative
    as_graph_s: NotNegative | None
    context_s: NotNegative | None
    copies: list[CopyPart]
    assumptions: list[str]


def end_to_end_time(
    cases: Sequence[Case], model_label: str, kernel_s: float, plan: CopyPlan
) -> EndToEndTime:
    """A program whose launches, cases of one machine, take `kernel_s` together.

    Raises NotFoundError and MissingNumberError as `models.terms.transfers` does.
    """
    machine = cases[0].machine
    copies = planned_transfers(cases, plan)
    whole = end_to_end(machine, kernel_s, copies, plan.parts)
    saved_s = graph_saving([case.launch for case in cases], machine)
    return EndToEndTime(
        gpu=machine.name,
        model_label=model_label,
        kernel_s=kernel_s,
        to_device_s=whole.to_device_s,
        to_host_s=whole.to_host_s,
        parts=whole.parts,
        total_time_s=whole.seconds,
        as_graph_s=None
        if saved_s is None
        else end_to_end(machine, max(0.0, kernel_s - saved_s), copies, plan.parts).seconds,
        context_s=whole.context_s,
        copies=[
            CopyPart(t.label, t.direction, t.memory, t.size_bytes, time_s)
            for t, time_s in whole.copies
        ],
        assumptions=list(whole.assumptions),
    )
