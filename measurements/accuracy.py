"""The table of measured accuracy: every set of `public/sets.toml` that can be predicted here.

    scripts/accuracy DATA SOURCES [LAUNCHES]

DATA is the folder with the published measurements, SOURCES that with the sources of their kernels
(`public/README.md` says where both come from), LAUNCHES how many of a set are predicted (100).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from kernelcast.reporting.figures import digits, percent
from kernelcast.validation.accuracy import Comparison
from kernelcast.validation.measured import Score

PUBLIC = Path(__file__).parent / "public"
HEAD = (
    "| kernels | GPU | launches | median error | mean | 90 % "
    "| predicted / measured | tau | regret |"
)


def main(arguments: Sequence[str]) -> int:
    """Print the table; exit status 2 where the arguments are none."""
    folders, count = arguments[:2], arguments[2:] or ["100"]
    is_usable = len(folders) == 2 and all(Path(a).is_dir() for a in folders)
    if not is_usable or len(count) > 1 or not count[0].isdecimal():
        print("usage: scripts/accuracy DATA SOURCES [LAUNCHES]", file=sys.stderr)
        return 2
    data, sources = (Path(a).resolve() for a in folders)
    launches = int(count[0])
    print(f"{HEAD}\n|---|---|{'---:|' * 7}")
    sets = tomllib.loads((PUBLIC / "sets.toml").read_text())["set"]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for row in pool.map(lambda one: row_of(one, data, sources, launches), sets):
            if row:
                print(row, flush=True)
    return 0


def row_of(one: Mapping[str, Any], data: Path, sources: Path, launches: int) -> str:
    """A row of the table; empty where nothing could be predicted."""
    files = sorted(data.glob(f"**/{one['data']}"))
    if not files:
        print(f"{one['title']}: no {one['data']} in {data}", file=sys.stderr)
        return ""
    runs = list(runs_of(one))
    share = max(1, launches // len(runs))
    answers = [answer for run in runs if (answer := ask(files[0], one, run, sources, share))]
    parts = [part for answer in answers for part in comparisons(answer)]
    if not parts:
        return ""
    whole = Score(tuple(c for part in parts for c in part))
    scores = [Score(part) for part in parts if len(part) > 1]
    taus = [score.tau for score in scores if score.tau is not None]
    regret = sum(score.regret for score in scores) / len(scores) if scores else None
    cells = (
        one["title"],
        one["gpu"],
        str(len(whole.comparisons)),
        percent(whole.median_error),
        percent(whole.mean_error),
        percent(whole.high_error),
        digits(whole.ratio),
        f"{sum(taus) / len(taus):.2f}" if taus else "-",
        percent(regret) if regret is not None else "-",
    )
    return f"| {' | '.join(cells)} |"


def runs_of(one: Mapping[str, Any]) -> Iterator[list[str]]:
    """The options that tell the kernels of a set apart: workload, name in the file, name in the
    code."""
    if "folder" in one:
        for workload in sorted((PUBLIC / one["folder"]).glob("*.cu")):
            if workload.stem not in one.get("without", ()):
                yield ["--workload", str(workload), "--only", workload.stem]
    elif "kernels" in one:
        for name, kernel in one["kernels"].items():
            yield ["--workload", str(PUBLIC / one["workload"]), "--only", name, "--kernel", kernel]
    else:
        yield ["--workload", str(PUBLIC / one["workload"])]


def ask(
    file: Path, one: Mapping[str, Any], run: Sequence[str], sources: Path, launches: int
) -> Mapping[str, Any] | None:
    """The answer of `kernelcast validate measured`; None, and why, where it has none."""
    folders = [sources, *(f for f in sorted(sources.iterdir()) if f.is_dir()), PUBLIC / "host"]
    includes = [part for folder in folders for part in ("-I", str(folder))]
    command = [
        *(sys.executable, "-m", "kernelcast", "validate", "measured", str(file), "--json"),
        *("--gpu", one["gpu"], "--configurations", str(launches)),
        *run,
        *one.get("options", ()),
        *includes,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"{one['title']}, {one['gpu']}: {done.stderr.strip()}", file=sys.stderr)
        return None
    answer: Mapping[str, Any] = json.loads(done.stdout)
    return answer


def comparisons(answer: Mapping[str, Any]) -> Iterator[tuple[Comparison, ...]]:
    """By the kernel's name in the file."""
    (score,) = answer["models"].values()
    by_kernel: dict[str, list[Comparison]] = {}
    for c in score["launches"]:
        one = Comparison(c["kernel"], c["place"], c["launch"], c["predicted_s"], c["measured_s"])
        by_kernel.setdefault(c["kernel"], []).append(one)
    yield from map(tuple, by_kernel.values())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
