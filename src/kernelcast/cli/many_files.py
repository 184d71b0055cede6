"""Many files forecast and explained by the same options, several at a time where it pays."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field, replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from kernelcast.cli.options import (
    GpuFlags,
    LaunchOptions,
    ModelFlags,
    Output,
    SamplingFlags,
    SourceFlags,
)
from kernelcast.cli.progress import progress_bar
from kernelcast.cli.studies import forecasts, refuse_execution_options, study
from kernelcast.errors import ToolError
from kernelcast.processes import become_worker
from kernelcast.reporting.documents.explain import ExplainDocument, explain_document
from kernelcast.traces.recognise import is_trace

_FEWEST_FOR_A_WORKER = 6
"""Files: a worker takes about as long to start as one of them takes to be forecast."""


@dataclass(frozen=True, slots=True)
class FilesAsked:
    """How every file is to be forecast."""

    gpus: GpuFlags
    models: ModelFlags
    source: SourceFlags
    launch: LaunchOptions
    sampling: SamplingFlags
    caches: str | None
    output: Output

    def explained(self, file: str) -> list[ExplainDocument]:
        """The forecasts of a file, explained."""
        cases = study(
            file,
            self.gpus,
            self.source,
            self.launch,
            self.sampling,
            self.output,
            self.caches,
            needs_all=True,
        )
        return [explain_document(one) for one in forecasts(cases, self.models, self.output)]


@dataclass(frozen=True, slots=True)
class _Kept(Output):
    """The output of a worker: what it remarks is for the process that started it to say."""

    remarks: list[str] = field(default_factory=list)

    def remark(self, text: str) -> None:
        self.remarks.append(text)


def explained_files(files: Sequence[str], asked: FilesAsked) -> list[list[ExplainDocument]]:
    """The forecasts of every file, in their order; raises as the first does that fails."""
    cores = asked.sampling.threads or os.cpu_count() or 1
    workers = min(cores, len(files) // _FEWEST_FOR_A_WORKER)
    if workers < 2:
        return [asked.explained(file) for file in files]
    for file in files:
        if is_trace(Path(file)):
            refuse_execution_options(file)
    output = asked.output
    alone = replace(
        asked,
        sampling=replace(asked.sampling, threads=max(1, cores // workers)),
        output=_Kept(output.as_json, True, output.debug),
    )
    # A forked process would hold the locks of threads that it does not have.
    pool = ProcessPoolExecutor(workers, get_context("spawn"), become_worker)
    found = []
    try:
        with progress_bar("forecasting", output.quiet) as progress:
            for documents, remarks in pool.map(partial(_explained, alone), files):
                for text in remarks:
                    output.remark(text)
                found.append(documents)
                if progress:
                    progress(len(found) / len(files))
    except BrokenProcessPool:
        raise ToolError(
            f"a worker process ended on its own at the {len(found) + 1}. of {len(files)} files",
            hint="most often memory runs out: --threads 1 forecasts one file at a time",
        ) from None
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
    return found


def _explained(asked: FilesAsked, file: str) -> tuple[list[ExplainDocument], list[str]]:
    assert isinstance(asked.output, _Kept)
    asked.output.remarks.clear()
    return asked.explained(file), list(asked.output.remarks)
