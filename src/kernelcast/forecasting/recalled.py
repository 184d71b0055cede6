"""What earlier processes found out about launches and cases: profiles, caches, forecasts.

A command on a kernel that another one has asked about does not execute it again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from kernelcast.execution.blocks import Wave
from kernelcast.ir import Kernel, Launch, arrays_in
from kernelcast.models.terms.base import Case, Model, Prediction
from kernelcast.profiling.profile import Profile
from kernelcast.profiling.rules import AccessRules
from kernelcast.profiling.run import Sampling
from kernelcast.toolchain.cache import Cache
from kernelcast.toolchain.recall import Recall, recall_in

_PROFILES = "profiles"
_CACHES = "caches"


def recall_of_execution(
    runs: Sequence[tuple[Kernel, Launch]],
    waves: Sequence[Wave | None],
    rules: AccessRules,
    base_dir: Path | None,
    sampling: Sampling,
    cache: Cache | None,
) -> Recall | None:
    """What is kept of launches that run one after another; None where nothing is to be kept.

    `waves` are those that their caches are simulated with, None of machines that have none. How
    many threads execute them, and how long they may, changes nothing.
    """
    if (everything := recall_in(cache)) is None:
        return None
    chosen = repr((sampling.exact, sampling.blocks, sampling.budget, sampling.caches))
    said = [part for kernel, launch in runs for part in (*_said_of(kernel), repr(launch))]
    files = [part for _, launch in runs for part in _files_of(launch, base_dir)]
    return everything.about(repr(waves), repr(rules), chosen, *said, *files)


def recalling(case: Case, of_launch: Recall) -> Case:
    """A launch on a machine with what is kept of it."""
    chip = case.machine
    numbers = repr((chip.name, chip.compute_capability, *chip.quantities.items()))
    recall = of_launch.about(numbers, str(case.caches), *_said_of_head(case.kernel))
    found: Any = recall.find(_CACHES)
    return case.recalling(recall, found)


def recalled_profiles(
    recall: Recall, runs: Sequence[tuple[Kernel, Launch]]
) -> list[tuple[Profile, str]] | None:
    """The profiles of launches, each with why there are no streams; None where none are kept."""
    found: Any = recall.find(_PROFILES)
    if found is None:
        return None
    return [
        (Profile(kernel, launch, **counted), why)
        for (kernel, launch), (counted, why) in zip(runs, found, strict=True)
    ]


def kept_profiles(recall: Recall, found: Sequence[tuple[Profile, str]]) -> None:
    """Keep profiles for later processes."""
    recall.keep(_PROFILES, [(_but(one, "kernel", "launch"), why) for one, why in found])


def forecast(case: Case, model: Model) -> Prediction:
    """What a model says of a case; MissingNumberError where the machine lacks what it needs."""
    # Code of other packages is not part of what results are kept under.
    if case.recall is None or not type(model).__module__.startswith("kernelcast."):
        return model.predict(case)
    name = f"forecast {model!r}"
    known: Any = case.recall.find(name)
    if known is not None:
        return Prediction(case=case, **known)
    found = model.predict(case)
    case.recall.keep(name, _but(found, "case"))
    if (caches := case.known_caches) is not None:
        case.recall.keep(_CACHES, caches)
    return found


def _but(value: Any, *names: str) -> Mapping[str, Any]:
    """The fields of a value, but for some."""
    return {f.name: getattr(value, f.name) for f in fields(value) if f.name not in names}


@lru_cache(maxsize=32)
def _said_of(kernel: Kernel) -> tuple[str, ...]:
    """All of a kernel that a result may follow from."""
    return (
        repr(kernel),
        repr(kernel.meanings),
        repr(kernel.constants),
        repr(kernel.module_variables),
    )


@lru_cache(maxsize=32)
def _said_of_head(kernel: Kernel) -> tuple[str, ...]:
    """The same without the code, which is long: what is kept of the launch says that already."""
    return _said_of(replace(kernel, instructions=(), blocks=(), meanings=()))


def _files_of(launch: Launch, base_dir: Path | None) -> Iterator[str]:
    """The files that arrays of a launch are read from, by size and time."""
    given = {**launch.args, **launch.symbols}
    for label, value in given.items():
        for _, array in arrays_in(label, value):
            if array.fill.path:
                path = Path(base_dir or ".", array.fill.path).absolute()
                status = path.stat() if path.exists() else None
                yield f"{path} {status and (status.st_size, status.st_mtime_ns)}"
