"""What `trace` answers: what a trace holds, and where it was written."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from kernelcast.profiling.profile import Profile
from kernelcast.reporting.documents.base import Extents, Natural, NotNegative, Positive, Share


class TracedLaunch(Struct, frozen=True):
    """How the kernel was launched; `smem` is dynamic shared memory in bytes."""

    grid: Extents
    block: Extents
    smem: Natural
    threads: Positive


class TraceDocument(Struct, frozen=True):
    """All that `trace --json` prints; counts are those of the traced blocks.

    `out`, `format` and `bytes` are null where nothing was written; `bytes_per_instruction` is per
    warp instruction.
    """

    schema: Literal["kernelcast/trace/1"]
    kernel: str
    isa: str
    target: str
    maker: str
    launch: TracedLaunch
    traced_blocks: Positive
    blocks: Positive
    warp_instructions: Natural
    thread_instructions: Natural
    counts: dict[str, Natural]
    warnings: list[str]
    out: str | None
    format: str | None
    bytes: Natural | None
    simt_efficiency: Share
    bytes_per_instruction: NotNegative | None


def trace_document(
    profile: Profile, maker: str, out: str | None, form: str, size: int | None
) -> TraceDocument:
    """A trace by its profile; `size` are the bytes that were written to `out`."""
    kernel, launch, sample = profile.kernel, profile.launch, profile.sample
    warp = profile.total.warp / sample.scale
    return TraceDocument(
        schema="kernelcast/trace/1",
        kernel=kernel.shown,
        isa=kernel.isa,
        target=kernel.target,
        maker=maker,
        launch=TracedLaunch(
            list(launch.grid), list(launch.block), launch.smem_bytes, launch.threads_per_block
        ),
        traced_blocks=sample.blocks,
        blocks=sample.of,
        warp_instructions=round(warp),
        thread_instructions=round(profile.total.thread / sample.scale),
        counts={
            str(op_class): round(count.warp / sample.scale)
            for op_class, count in profile.counts.items()
        },
        warnings=list(kernel.warnings),
        out=out,
        format=form if out else None,
        bytes=size,
        simt_efficiency=profile.simt_efficiency,
        bytes_per_instruction=size / warp if warp and size is not None else None,
    )
