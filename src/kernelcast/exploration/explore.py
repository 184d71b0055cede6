"""A design space explored: what is not known yet of a sweep is computed and kept."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path

from kernelcast.errors import InputError
from kernelcast.execution.trace import Progress
from kernelcast.exploration.design_space import DesignSpace
from kernelcast.exploration.executors import Executor, Serial
from kernelcast.exploration.explored import Exploration
from kernelcast.exploration.results_file import ResultsFile
from kernelcast.exploration.sweep import Chunk, DesignSweep, Program, sweep_of
from kernelcast.models.terms.base import Model


def explore(
    space: DesignSpace,
    programs: Sequence[Program],
    models: Sequence[Model],
    *,
    results: Path | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Exploration:
    """Predict every launch by every model in every configuration.

    With a file of `results` what is there already is not computed again; several processes may
    work on the same file at once.

    Raises
    ------
    MissingNumberError
        If the machine lacks a number that a model needs, before anything is computed.
    InputError
        If there is nothing to explore, or by `ResultsFile`.
    ToolError
        If workers are lost again and again.
    """
    sweep = sweep_of(space, programs, models)
    if not sweep.rows:
        raise InputError("no launch or no model to explore")
    sweep.check()
    with ResultsFile(results, sweep) as file:
        computed = _complete(sweep, file, executor or Serial(), progress)
        return Exploration(
            sweep, file.times_s(), sweep.nominal_s(), file.refusals(), computed, results
        )


def _complete(
    sweep: DesignSweep, file: ResultsFile, executor: Executor, progress: Progress | None
) -> int:
    """Compute what the file lacks; how many predictions that were."""
    chunks = list(sweep.chunks)
    # Processes that share a file go through it each in its own order, and seldom meet.
    random.shuffle(chunks)
    done = file.predictions()
    computed = 0
    for times in executor.run(sweep, _missing(chunks, file)):
        file.keep(times)
        computed += times.chunk.stop - times.chunk.start
        if progress:
            progress(min(1.0, (done + computed) / sweep.size))
    return computed


def _missing(chunks: Sequence[Chunk], file: ResultsFile) -> Iterator[Chunk]:
    return (chunk for chunk in chunks if not file.has(chunk))
