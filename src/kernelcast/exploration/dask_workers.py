"""Chunks of a sweep on the workers of Dask, here or elsewhere.

Every worker gets the sweep as a plugin, also one that joins later or takes the place of one that
was killed; the scheduler hands the chunks of that one out again.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from kernelcast.errors import InputError, ToolError
from kernelcast.exploration.executors import AHEAD, lost_workers
from kernelcast.exploration.sweep import Chunk, ChunkTimes, DesignSweep

if TYPE_CHECKING:
    from distributed import Client

_PATIENCE_S = 30
"""For the scheduler to answer."""


@dataclass(frozen=True)
class DaskWorkers:
    """The workers of a scheduler by its address, or so many of our own where there is none."""

    address: str = ""
    workers: int = 1

    @staticmethod
    def at(place: str, workers: int) -> DaskWorkers:
        """Workers of our own where the place is `local`, else those of the scheduler there."""
        return DaskWorkers("" if place == "local" else place, workers)

    def run(self, sweep: DesignSweep, chunks: Iterable[Chunk]) -> Iterator[ChunkTimes]:
        """The times of every chunk.

        Raises ToolError where Dask is not installed or its workers are lost again and again, and
        InputError where no scheduler answers.
        """
        with closing(self._client()) as client:
            try:
                yield from _run(client, sweep, iter(chunks))
            except ToolError:
                if not self.address:
                    _wait_for_all(client, self.workers)
                raise

    def _client(self) -> Client:
        try:
            from distributed import Client
        except ImportError:
            raise ToolError("Dask is not installed", hint="install kernelcast[dask]") from None
        if not self.address:
            return Client(
                n_workers=self.workers,
                threads_per_worker=1,
                dashboard_address=None,
                silence_logs=logging.ERROR,
            )
        try:
            return Client(self.address, timeout=_PATIENCE_S)
        except (OSError, ValueError) as error:
            raise InputError(
                f"no scheduler of Dask answers: {error}",
                where=self.address,
                hint="give the address that dask scheduler prints",
            ) from None


def _run(client: Client, sweep: DesignSweep, chunks: Iterator[Chunk]) -> Iterator[ChunkTimes]:
    from distributed import KilledWorker, as_completed

    plugin = _plugin(sweep)
    client.register_plugin(plugin, name=plugin.name)
    done = as_completed()
    try:
        at_once = AHEAD * max(1, len(client.scheduler_info(n_workers=-1)["workers"]))
        done.update(_submitted(client, plugin.name, islice(chunks, at_once)))
        for future in done:
            yield future.result()
            done.update(_submitted(client, plugin.name, islice(chunks, 1)))
    except KilledWorker as error:
        raise lost_workers(error.allowed_failures + 1) from None
    finally:
        # The scheduler hands out no chunk that nobody waits for.
        done.clear()
        client.unregister_worker_plugin(plugin.name)


def _wait_for_all(client: Client, workers: int) -> None:
    """Until the workers that were killed are there again.

    Closing a cluster fails in Dask while one of them is just being started.
    """
    with suppress(TimeoutError):
        client.wait_for_workers(workers, timeout=_PATIENCE_S)


def _submitted(client: Client, name: str, chunks: Iterable[Chunk]) -> list[Any]:
    return [client.submit(_compute, name, chunk, pure=False) for chunk in chunks]


def _compute(name: str, chunk: Chunk) -> ChunkTimes:
    """In a worker."""
    from distributed import get_worker

    times: ChunkTimes = get_worker().plugins[name].sweep.compute(chunk)
    return times


def _plugin(sweep: DesignSweep) -> Any:
    from distributed import WorkerPlugin

    class SweepPlugin(WorkerPlugin):  # type: ignore[misc]
        """Brings the sweep to a worker."""

        name = f"kernelcast-{uuid4().hex}"

        def __init__(self, sweep: DesignSweep) -> None:
            self.sweep = sweep

    return SweepPlugin(sweep)
