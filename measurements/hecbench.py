"""How many programs of HeCBench run on the virtual GPU: drawn, built, run, and counted by cause.

    python measurements/hecbench.py SOURCES --results DIR [--count 120 --seed 1 --seconds 60]

SOURCES is the folder `src` of HeCBench (https://github.com/zjin-lcf/HeCBench). The rule: all
folders `*-cuda` in the order of `random.Random(seed).sample(names, len(names))`, and of those the
first `count` that have a Makefile, include no header of a library or of MPI, and whose `make run`
names no file that is not there. Each is built with its own Makefile (`make ARCH=sm_80`), nvcc
from PyPI and the flags that `docs/run.md` names, and run with the arguments of its own `make
run`, but for the repetitions: the last argument, where that is a number, is 1, and no number is
greater than 2^20. It has as much time as two cores give in `seconds`, whatever else runs beside
it. A program passes that ends with status 0 within its time and whose output holds neither `FAIL`
nor `mismatch`. Results are kept in DIR, a file each, so that a run goes on where it was ended.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import resource
import shlex
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from kernelcast.devices.libraries import libraries
from kernelcast.toolchain.nvcc import find_nvcc

_GREATEST = 1 << 20
_CORES = 2
_PATIENCE = 15
_BUILD_SECONDS = 300
_FAILS = re.compile(
    r"^(?!kernelcast: |  - failed: |.*failed as expected)"
    r".*?(\bFAIL(ED|URE)?\b|\bfail(ed)?\b|[Mm]ismatch)",
    re.MULTILINE,
)
_MAKE = ("ARCH=sm_80", "DEBUG=no", "CC=nvcc", "OPTIMIZE=yes")
_LIBRARIES = re.compile(
    r"#\s*include\s*[<\"](cublas|cusparse|cufft|cusolver|curand|cudnn|cutensor|nccl|mpi|nvshmem|"
    r"nppi?|nvjpeg|thrust|cub/|opencv|GL/|SDK|omp\.h|boost)"
)
_ERRORS = ("error", "undefined", "No such file", "cannot find")


def drawn(sources: Path, seed: int, count: int, env: dict[str, str]) -> list[str]:
    """The programs, by the rule."""
    names = sorted(path.name for path in sources.glob("*-cuda"))
    shuffled = random.Random(seed).sample(names, len(names))
    return list(islice((n for n in shuffled if is_whole(sources / n, env)), count))


def is_whole(folder: Path, env: dict[str, str]) -> bool:
    """Whether a program needs nothing that is not there."""
    texts = [
        path.read_text(errors="replace")
        for path in folder.rglob("*")
        if path.suffix in (".cu", ".cuh", ".h", ".hpp", ".cpp", ".cc", ".c")
    ]
    if not (folder / "Makefile").exists() or any(_LIBRARIES.search(text) for text in texts):
        return False
    command = command_of(folder, env)
    files = [word for word in command[1:] if re.search(r"\.\w+$|/", word)]
    numbers = re.compile(r"-?[\d.]+(e-?\d+)?")
    return all(
        (folder / word).exists() or numbers.fullmatch(word) or "out" in word for word in files
    )


def environment() -> dict[str, str]:
    """The environment in which a Makefile finds nvcc, and nvcc our runtime."""
    folder, nvcc = libraries(), find_nvcc()
    flags = (
        f"-cudart none --compress-mode=none -lineinfo -Xlinker {folder}/libcudart.so.13 "
        f"-Xlinker -rpath-link={folder}"
    )
    path = f"{nvcc.parent}:{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "NVCC_APPEND_FLAGS": flags}


def shortened(words: Sequence[str]) -> list[str]:
    """A command with one repetition and no large number."""
    found = [
        str(min(int(word), _GREATEST)) if re.fullmatch(r"\d+", word) else word for word in words
    ]
    numbers = [at for at, word in enumerate(found) if at and re.fullmatch(r"\d+", word)]
    if numbers:
        found[numbers[-1]] = str(min(int(found[numbers[-1]]), 1))
    return found


def command_of(folder: Path, env: dict[str, str]) -> list[str]:
    """What `make run` would start."""
    call = ["make", "-n", "run", *_MAKE, "LAUNCHER=LAUNCH"]
    told = subprocess.run(call, cwd=folder, env=env, capture_output=True, text=True, check=False)
    whole = told.stdout.replace("\\\n", " ")
    lines = [line for line in whole.splitlines() if "./" in line]
    if not lines:
        return ["./main"]
    line = re.split(r"[;|>]|&&", lines[0].replace("LAUNCH", ""))[0]
    return shortened(shlex.split(line))


def built(folder: Path, env: dict[str, str]) -> str:
    """Build a program; why it cannot be built, or nothing."""
    return compiled(["make", "-j2", *_MAKE], folder, env)


def compiled(call: Sequence[str], folder: Path, env: dict[str, str]) -> str:
    """Call a compiler; why it fails, or nothing."""
    try:
        done = subprocess.run(
            call,
            cwd=folder,
            env=env,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_BUILD_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "build: takes too long"
    if not done.returncode:
        return ""
    lines = (done.stderr + done.stdout).splitlines()
    return "build: " + next((x for x in lines if any(sign in x for sign in _ERRORS)), "?")[:160]


def ran(
    folder: Path,
    command: Sequence[str],
    env: dict[str, str],
    log: Path,
    seconds: float,
    gpu: str = "a100-sxm-80gb",
) -> str:
    """Run a program on the virtual GPU; why it does not pass, or nothing."""
    call = [sys.executable, "-m", "kernelcast", "run", "--quiet", "--gpu", gpu, *command]
    status = watched(call, log, seconds, cwd=folder, env=env)
    text = log.read_text(errors="replace")
    said = [x for x in text.splitlines() if x.startswith(("kernelcast: ", "error: ", "internal "))]
    if status in (None, -signal.SIGXCPU, -signal.SIGKILL, 128 + signal.SIGXCPU):
        return f"time; {said[0]}"[:200] if said else "time"
    if status:
        return f"status {status}; {said[0] if said else text.strip()[-120:]}"[:300]
    if failure := _FAILS.search(text):
        return f"own check: {failure[1]}; {said[0] if said else ''}"[:200]
    return ""


def watched(call: Sequence[str], log: Path, seconds: float, **options: Any) -> int | None:
    """Run a command for as long as two cores give in some seconds; None where it has to be ended.

    `options` are those of `subprocess.Popen`.
    """
    with log.open("wb") as file:
        program = subprocess.Popen(
            call,
            stdout=file,
            stderr=file,
            start_new_session=True,
            preexec_fn=partial(_limit_cpu, round(_CORES * seconds)),
            **options,
        )
        try:
            return program.wait(_PATIENCE * seconds)
        except subprocess.TimeoutExpired:
            os.killpg(program.pid, signal.SIGKILL)
            program.wait()
            return None


def _limit_cpu(cpu_seconds: int) -> None:
    """Let this process have no more than so many seconds of a core."""
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds + 5))


def tried(folder: Path, env: dict[str, str], results: Path, seconds: float) -> dict[str, object]:
    """Build and run one program."""
    started = time.monotonic()
    cause = built(folder, env)
    build_s = time.monotonic() - started
    command: list[str] = []
    started = time.monotonic()
    if not cause:
        command = command_of(folder, env)
        cause = ran(folder, command, env, results / f"{folder.name}.txt", seconds)
    return {
        "program": folder.name,
        "command": shlex.join(command),
        "cause": cause,
        "build_s": round(build_s, 1),
        "run_s": round(time.monotonic() - started, 1),
    }


def summary(found: Sequence[dict[str, object]]) -> str:
    """How many pass, and why others do not."""
    passed = sum(not one["cause"] for one in found)
    causes = Counter(re.split(r"[;:]", str(one["cause"]))[0] for one in found if one["cause"])
    lines = [f"{passed} of {len(found)} pass ({passed / max(len(found), 1):.0%})"]
    return "\n".join([*lines, *(f"  {count:3} {cause}" for cause, count in causes.most_common())])


def main() -> None:
    """Run what has no result yet, and say how many pass."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sources", type=Path)
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--count", type=int, default=120)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=60)
    given = parser.parse_args()
    given.results.mkdir(parents=True, exist_ok=True)
    env, found = environment(), []
    for name in drawn(given.sources, given.seed, given.count, env):
        kept = given.results / f"{name}.json"
        if not kept.exists():
            one = tried(given.sources / name, env, given.results, given.seconds)
            kept.write_text(json.dumps(one))
            print(json.dumps(one), flush=True)
        found.append(json.loads(kept.read_text()))
    print(summary(found))


if __name__ == "__main__":
    main()
