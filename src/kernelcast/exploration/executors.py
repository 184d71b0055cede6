"""Who computes the chunks of a sweep: this process, several, or the workers of Dask.

Chunks come back in any order. One whose worker was killed is handed out again; nobody keeps a
chunk but the process that swept, so nothing is there twice. Only so many chunks are out at a time
as keep the workers busy.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from itertools import chain, islice
from multiprocessing import get_context
from typing import Protocol

from kernelcast.errors import InputError, ToolError
from kernelcast.exploration.sweep import Chunk, ChunkTimes, DesignSweep
from kernelcast.processes import become_worker

AHEAD = 2
"""Chunks that are out for every worker, so that none waits for the next."""
_MOST_LOSSES = 3
"""Times in a row that workers may be lost without a chunk coming back."""


class Executor(Protocol):
    """Computes chunks of a sweep, in any order."""

    def run(self, sweep: DesignSweep, chunks: Iterable[Chunk]) -> Iterator[ChunkTimes]:
        """The times of every chunk; ToolError where workers are lost again and again."""
        ...


@dataclass(frozen=True)
class Serial:
    """This process, one chunk after another."""

    def run(self, sweep: DesignSweep, chunks: Iterable[Chunk]) -> Iterator[ChunkTimes]:
        """The times of every chunk."""
        return map(sweep.compute, chunks)


@dataclass(frozen=True)
class Processes:
    """Worker processes of this machine."""

    workers: int

    def run(self, sweep: DesignSweep, chunks: Iterable[Chunk]) -> Iterator[ChunkTimes]:
        """The times of every chunk; ToolError where workers are lost again and again."""
        waiting = iter(chunks)
        losses = 0
        lost: list[Chunk] = []
        while True:
            waiting = chain(tuple(lost), waiting)
            try:
                for times in self._run(sweep, waiting, lost):
                    losses = 0
                    yield times
            except BrokenProcessPool:
                losses += 1
                if losses == _MOST_LOSSES:
                    raise lost_workers(losses) from None
                continue
            return

    def _run(
        self, sweep: DesignSweep, chunks: Iterator[Chunk], out: list[Chunk]
    ) -> Iterator[ChunkTimes]:
        """Until all chunks are done or a worker is lost; `out` are those handed out till then."""
        # A forked child would share locks with threads that it does not have.
        pool = ProcessPoolExecutor(
            self.workers, get_context("spawn"), initializer=_remember, initargs=(sweep,)
        )
        out.clear()
        futures: dict[Future[ChunkTimes], Chunk] = {}
        try:
            while True:
                for chunk in islice(chunks, AHEAD * self.workers - len(futures)):
                    out.append(chunk)
                    futures[pool.submit(_compute, chunk)] = chunk
                if not futures:
                    return
                done, _ = wait(futures, return_when=FIRST_COMPLETED)
                for future in done:
                    times = future.result()
                    out.remove(futures.pop(future))
                    yield times
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def lost_workers(times: int) -> ToolError:
    """That workers were lost without anything to show for it."""
    return ToolError(
        f"workers were killed {times} times without finishing anything",
        hint="see that memory suffices, or take fewer workers; the same command goes on",
    )


def local_workers(count: int) -> Executor:
    """So many processes; this one alone where that is 1. InputError below 1."""
    if count < 1:
        raise InputError(f"{count} workers", hint="give 1 or more")
    return Serial() if count == 1 else Processes(count)


_sweep: DesignSweep | None = None


def _remember(sweep: DesignSweep) -> None:
    """In a worker: the sweep comes once, chunks are small."""
    global _sweep
    become_worker()
    _sweep = sweep


def _compute(chunk: Chunk) -> ChunkTimes:
    assert _sweep is not None
    return _sweep.compute(chunk)
