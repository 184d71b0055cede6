"""A progress bar on standard error for what takes longer than two seconds; where nobody looks at
a terminal, a line a minute."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress

_DELAY_S = 2.0
"""What is done by then shows no bar."""
_LINE_S = 60.0
"""Between two lines where there is no terminal."""


@contextmanager
def progress_bar(label: str, quiet: bool) -> Iterator[Callable[[float], None] | None]:
    """Give a function that takes the share done; None where nobody wants to know."""
    if quiet:
        yield None
        return
    if not sys.stderr.isatty():
        yield _Lines(label).show
        return
    bar = _Bar(label)
    try:
        yield bar.show
    finally:
        bar.close()


class _Lines:
    """A line a minute, for logs."""

    def __init__(self, label: str) -> None:
        self._label = label
        self._said = self._started = time.monotonic()

    def show(self, share: float) -> None:
        """Say how much is done, where a minute has passed since the last line."""
        now = time.monotonic()
        if now - self._said >= _LINE_S:
            self._said = now
            minutes = (now - self._started) / 60
            print(f"{self._label}: {share:.0%} after {minutes:.0f} min", file=sys.stderr)


_LONG_S = 20.0
"""What takes longer is told."""


def telling(
    progress: Callable[[float], None] | None,
    tell: Callable[[str], None],
    clock: Callable[[], float] = time.monotonic,
) -> Callable[[float], None]:
    """The same progress; it tells once how long all blocks will take, and what to do about it."""
    from kernelcast.profiling.time_limit import duration

    started, last, is_told = clock(), 0.0, False

    def told(share: float) -> None:
        nonlocal started, last, is_told
        now = clock()
        if share < last:  # the next execution
            started = now
        last = share
        if not is_told and share > 0 and now - started > _DELAY_S:
            expected = (now - started) / share
            is_told = expected > _LONG_S
            if is_told:
                tell(
                    f"executing all blocks takes about {duration(expected)}; --sample BLOCKS "
                    "executes some, --time-limit SECONDS gives up where it takes longer"
                )
        if progress is not None:
            progress(share)

    return told


class _Bar:
    """A bar that appears when the work has taken longer than `_DELAY_S`."""

    def __init__(self, label: str) -> None:
        self._label = label
        self._started = time.monotonic()
        self._progress: Progress | None = None

    def show(self, share: float) -> None:
        """Draw the bar at `share`, 0 to 1; it starts anew with the next execution."""
        if self._progress is None:
            if time.monotonic() - self._started < _DELAY_S:
                return
            self._progress = self._open()
        self._progress.update(self._progress.task_ids[0], completed=share)

    def _open(self) -> Progress:
        from rich.console import Console
        from rich.progress import Progress

        progress = Progress(console=Console(stderr=True), transient=True)
        progress.add_task(self._label, total=1.0)
        progress.start()
        return progress

    def close(self) -> None:
        """Take the bar away."""
        if self._progress is not None:
            self._progress.stop()
