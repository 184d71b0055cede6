"""The microbenchmarks, or the kernels with known results, on this machine's own GPU."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernelcast.errors import InputError, NotFoundError, ToolError
from kernelcast.measuring import ground_truth_pack
from kernelcast.measuring.harness.microbenchmarks import BENCHMARKS
from kernelcast.measuring.harness.runner import DEVICE
from kernelcast.measuring.harness.worker import EXIT_FAILED, Workers
from kernelcast.measuring.pack import make_pack
from kernelcast.suite.registry import kernels
from kernelcast.toolchain.cache import Cache
from kernelcast.toolchain.nvrtc import choose_architecture

_PROBE_S = 60.0
_HINT = "on another machine run the file that kernelcast measure --pack DIR makes"


@dataclass(frozen=True)
class Wanted:
    """What to measure: microbenchmarks, or kernels with known results; `only` names some."""

    quick: bool = False
    only: Sequence[str] = ()
    ground_truth: bool = False
    ordinal: int = 0
    minutes: float | None = None

    @property
    def kind(self) -> str:
        """What a name stands for, which is also the key of the results in the file."""
        return "kernel" if self.ground_truth else "benchmark"

    @property
    def known(self) -> Iterable[str]:
        """All names."""
        return kernels() if self.ground_truth else BENCHMARKS

    @property
    def command(self) -> str:
        """The pack's command that measures it."""
        return "ground-truth" if self.ground_truth else "measure"

    def files(self, target: str, cache: Cache) -> Mapping[str, bytes]:
        """What the pack must hold beside the microbenchmarks."""
        if not self.ground_truth:
            return {}
        only = {kernels()[name].family for name in self.only}
        return ground_truth_pack.ground_truth_part([target], cache, tuple(only)).contents


def _probe(ordinal: int = 0) -> dict[str, Any]:
    """Properties of this machine's GPU; ToolError where it is missing, busy or has no driver."""
    with tempfile.TemporaryDirectory(prefix="kernelcast-") as directory:
        pack = make_pack(Path(directory), ())
        command = [sys.executable, str(pack), "measure", "--child", "--device", str(ordinal)]
        with Workers(command) as process:
            device = process.entry(DEVICE, _PROBE_S)
    if device["status"] != "done":
        raise ToolError(str(device["error"]), hint=_HINT)
    return device


def measure_here(out: Path, wanted: Wanted, *, quiet: bool, cache: Cache) -> dict[str, Any]:
    """Measure, or go on measuring, into `out`; the file's results by name.

    Errors: NotFoundError for an unknown name, ToolError where there is no usable GPU, InputError
    where `out` cannot be used.
    """
    for name in wanted.only:
        if name not in wanted.known:
            raise NotFoundError(wanted.kind, name, wanted.known, where="--only")
    device = _probe(wanted.ordinal)
    target = choose_architecture((device["major"], device["minor"])).architecture
    with tempfile.TemporaryDirectory(prefix="kernelcast-") as directory:
        pack = make_pack(Path(directory), [target], cache, more=wanted.files(target, cache))
        command = [sys.executable, str(pack), wanted.command]
        command += ["--out", str(out.absolute()), "--device", str(wanted.ordinal)]
        command += ["--quick"] if wanted.quick else []
        command += ["--minutes", str(wanted.minutes)] if wanted.minutes else []
        command += [word for name in wanted.only for word in ("--only", name)]
        done = subprocess.run(
            command,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE if quiet else None,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
    if done.returncode == EXIT_FAILED or not out.exists():
        why = (done.stderr or "").strip().removeprefix("error: ") or "the measurement did not start"
        raise InputError(why, where=str(out), hint="give another --out")
    content: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    entries: dict[str, Any] = content[f"{wanted.kind}s"]
    return entries
