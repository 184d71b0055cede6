"""The microbenchmarks on this machine's own GPU."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kernelcast.calibration.measure import BENCHMARKS, DEVICE, EXIT_FAILED, isolated
from kernelcast.calibration.pack import RUNNER, make_pack
from kernelcast.errors import InputError, NotFoundError, ToolError
from kernelcast.toolchain.cache import Cache
from kernelcast.toolchain.nvrtc import choose_architecture

_PROBE_S = 60.0
_HINT = "on another machine run the folder that kernelcast measure --pack DIR makes"


def probe(ordinal: int = 0) -> dict[str, Any]:
    """Properties of this machine's GPU; ToolError where it is missing, busy or has no driver."""
    runner = Path(__file__).with_name(RUNNER)
    command = [sys.executable, str(runner), "--child", DEVICE, "--device", str(ordinal)]
    device = isolated(command, _PROBE_S)
    if device["status"] != "done":
        raise ToolError(str(device["error"]).removeprefix("error: "), hint=_HINT)
    return device


def measure_here(
    out: Path, *, quick: bool, only: Sequence[str], ordinal: int, quiet: bool, cache: Cache
) -> dict[str, Any]:
    """Measure, or go on measuring, into `out`; the file's content.

    Errors: NotFoundError for an unknown benchmark, ToolError where there is no usable GPU,
    InputError where `out` cannot be used.
    """
    for name in only:
        if name not in BENCHMARKS:
            raise NotFoundError("benchmark", name, BENCHMARKS, where="--only")
    device = probe(ordinal)
    target = choose_architecture((device["major"], device["minor"])).architecture
    with tempfile.TemporaryDirectory(prefix="kernelcast-") as directory:
        make_pack(Path(directory), [target], cache)
        command = [sys.executable, str(Path(directory) / RUNNER), "--out", str(out.absolute())]
        command += ["--device", str(ordinal), *(["--quick"] if quick else [])]
        command += [word for name in only for word in ("--only", name)]
        done = subprocess.run(
            command,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE if quiet else None,
            text=True,
            check=False,
        )
    if done.returncode == EXIT_FAILED or not out.exists():
        why = (done.stderr or "").strip().removeprefix("error: ") or "the measurement did not start"
        raise InputError(why, where=str(out), hint="give another --out")
    content: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    return content
