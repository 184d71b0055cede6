"""What a program waits for: its launches, and the copies between host and device around them."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from kernelcast.ir import CopyPlan, HostMemory
from kernelcast.models.terms.base import Case
from kernelcast.models.terms.transfers import Direction, end_to_end, planned_transfers
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
    after another, or overlapping in `parts`. `context_s` comes on top once in a program, null where
    nobody has measured it.
    """

    gpu: str
    model_label: str
    kernel_s: NotNegative
    to_device_s: NotNegative
    to_host_s: NotNegative
    parts: Positive
    total_time_s: NotNegative
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
    whole = end_to_end(machine, kernel_s, planned_transfers(cases, plan), plan.parts)
    return EndToEndTime(
        gpu=machine.name,
        model_label=model_label,
        kernel_s=kernel_s,
        to_device_s=whole.to_device_s,
        to_host_s=whole.to_host_s,
        parts=whole.parts,
        total_time_s=whole.seconds,
        context_s=whole.context_s,
        copies=[
            CopyPart(t.label, t.direction, t.memory, t.size_bytes, time_s)
            for t, time_s in whole.copies
        ],
        assumptions=list(whole.assumptions),
    )
