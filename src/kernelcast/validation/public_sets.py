"""The list of published sets of measurements: what each is, and where its kernels are."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from kernelcast.errors import InputError, NotFoundError


class RowsBeside(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Rows of another file, `data`, with the same parameters: a row is of the clock that is meant
    where its time is `least` to `most` of theirs."""

    data: str
    least: float
    most: float


class PublicSet(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One set: files of measurements and the workloads that its kernels are.

    `data` is a file, wherever it lies in the folder of the data, or a pattern of several that are
    one set; `ground_truth` one of the kernels with known results, beside the list of sets. Rows
    whose parameters do not fulfil the condition `where`, that took less than `longer_than_us`, or
    that were measured at another clock, which the file `beside` tells, are set aside, as is all of
    a set with `aside`, which says why.

    The workload is `workload`, one for every kernel of the file that `kernels` translates to the
    name in the code, or every source in `folder` that is named as a kernel, but those `without`, or
    those in `folder` that `workloads` names for patterns of kernels' names (`fnmatch`). `names` are
    those of the workload that no row says. Or whole programs, in the folder `programs` below that
    of the sources, are compiled by `compiler` and run for at most `seconds` each. With `counters`,
    what a profiler counted is compared, beside the times where there are some; with `capacities`,
    the footprints at which the caches overflow under the chase in `workload`. `settings` replace
    numbers of the machine, `nvrtc` and `nvcc` name the version of the compiler, of which one
    compiles. Of `records` launches traces are kept for the tests: the licence of the kernels allows
    it.
    """

    title: str
    gpu: str
    data: str = ""
    workload: str = ""
    kernels: Mapping[str, str] = {}
    folder: str = ""
    workloads: Mapping[str, str] = {}
    without: tuple[str, ...] = ()
    where: str = ""
    beside: RowsBeside | None = None
    settings: tuple[str, ...] = ()
    nvrtc: str | None = None
    nvcc: str | None = None
    longer_than_us: float = 0.0
    ground_truth: str = ""
    programs: str = ""
    compiler: str = "nvcc"
    seconds: float = 12.0
    counters: bool = False
    records: int = 0
    capacities: bool = False
    names: Mapping[str, int] = {}
    aside: str = ""

    @property
    def basis(self) -> tuple[object, ...]:
        """What its answers follow from, beside the row and the workload."""
        return self.gpu, self.settings, self.nvrtc, self.nvcc


class _Sets(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    set: tuple[PublicSet, ...]


def read_sets(file: Path) -> tuple[PublicSet, ...]:
    """The sets that a TOML file lists; InputError where it cannot be read or says anything else."""
    try:
        return msgspec.convert(tomllib.loads(file.read_text("utf-8")), _Sets).set
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", where=str(file)) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError) as error:
        raise InputError(f"no list of sets: {error}", where=str(file)) from None


def sets_called(
    sets: Sequence[PublicSet], words: Sequence[str], file: str
) -> tuple[PublicSet, ...]:
    """The sets whose title or GPU has one of the words, all without words; NotFoundError with the
    nearest name for a word that none has."""
    names = [f"{one.title}, {one.gpu}" for one in sets]
    for word in words:
        if not any(word in name for name in names):
            known = [name for one in sets for name in (one.title, one.gpu)]
            raise NotFoundError("set", word, dict.fromkeys(known), where=file)
    return tuple(
        one
        for one, name in zip(sets, names, strict=True)
        if not words or any(word in name for word in words)
    )
