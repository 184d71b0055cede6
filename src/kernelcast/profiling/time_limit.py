"""What executing a launch will take, and a limit to it."""

from __future__ import annotations

import time
from collections.abc import Callable

from kernelcast.errors import TimeLimitError
from kernelcast.execution.trace import Progress

_SOME = 0.1
"""Of the limit: what has run for so long tells how long the rest will."""


def limited(
    progress: Progress | None,
    limit_s: float | None,
    blocks: int,
    clock: Callable[[], float] = time.monotonic,
) -> Progress | None:
    """A progress that ends the execution of `blocks` blocks where it takes more than `limit_s`.

    It raises TimeLimitError as soon as that is to be expected.
    """
    if limit_s is None:
        return progress
    started = clock()

    def told(share: float) -> None:
        spent = clock() - started
        expected = spent / share if share > 0 and spent > _SOME * limit_s else spent
        if expected > limit_s:
            some = max(1, int(blocks * limit_s / expected)) if share > 0 else 1
            raise TimeLimitError(
                f"executing {blocks} blocks takes about {duration(expected)} here, more than the "
                f"limit of {duration(limit_s)}",
                hint=f"execute fewer with --sample {some}, or raise --time-limit",
            )
        if progress is not None:
            progress(share)

    return told


def duration(seconds: float) -> str:
    """Seconds in the unit that a person would choose."""
    if seconds < 100:
        return f"{seconds:.2g} s"
    if seconds < 6000:
        return f"{seconds / 60:.2g} min"
    return f"{seconds / 3600:.3g} h"
