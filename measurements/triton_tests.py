"""How many of Triton's own tests of its language pass on the virtual GPU, counted by cause.

    python measurements/triton_tests.py PYTHON --results DIR [--count 1000 --seed 1 --gpu GPU]

PYTHON is the folder `python` of Triton's sources, at the version that is installed: the tests of a
later one ask for what it does not do yet. The rule: all tests of `unit/language/test_core.py` in
the order of the SHA-256 of `SEED:NAME`, the first `count` of them. A call runs some tens of tests,
for as much time as two cores give in `seconds` a test, and ends with the first that fails, as an
error of the device stays with its process; the next call goes on after it, and a test that ended
its call is counted as a crash, or as out of time. `calls` of them run beside each other. They need
`torch`, `pytest` and `pytest-reportlog` from PyPI. Tests that Triton skips on this GPU are counted
apart. Results are kept in DIR, a line each, so that a run goes on where it was ended; `--again`
runs those anew that did not pass.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from hecbench import watched

_TESTS = "test_core.py"
_TESTS_OF_A_CALL = 50
_PASSED, _SKIPPED, _FAILED, _CRASHED = "passed", "skipped", "failed", "crashed"


@dataclass(frozen=True)
class Outcome:
    """How one test ended, and the line that says why it did not pass."""

    test: str
    outcome: str
    cause: str = ""


@dataclass(frozen=True)
class Suite:
    """The tests of one folder, and how a call of some of them is made."""

    folder: Path
    results: Path
    seconds: float
    gpu: str

    def names(self) -> list[str]:
        """All tests; kept, as it takes a while to collect them."""
        kept = self.results / "names.json"
        if not kept.exists():
            log = self.results / "names.txt"
            status = self._call([_TESTS, "--collect-only", "-q"], log, 60)
            found = re.findall(rf"^\S*{re.escape(_TESTS)}::(.+)$", log.read_text(), re.MULTILINE)
            if status or not found:
                raise SystemExit(f"no tests can be collected; {log} says why")
            kept.write_text(json.dumps(found))
        return list(json.loads(kept.read_text()))

    def outcomes(self, tests: Sequence[str]) -> Iterator[Outcome]:
        """Run tests to the end, in as many calls as it takes."""
        left = list(tests)
        while left:
            found = self._called(left)
            yield from found
            left = left[len(found) :]

    def _called(self, tests: Sequence[str]) -> list[Outcome]:
        """The tests that one call came to, in their order; at least one."""
        with TemporaryDirectory() as folder:
            log, report = Path(folder, "log.txt"), Path(folder, "report.jsonl")
            options = ["-x", "-q", "-p", "no:cacheprovider", "--tb=short", f"--report-log={report}"]
            ids = [f"{_TESTS}::{test}" for test in tests]
            status = self._call([*options, *ids], log, self.seconds * len(tests))
            text = log.read_text(errors="replace")
            lines = report.read_text().splitlines() if report.exists() else []
            found = list(_reported(map(json.loads, lines), text))
        if len(found) < len(tests) and all(one.outcome != _FAILED for one in found):
            why = "out of time" if status is None else f"status {status}; {text.strip()[-160:]}"
            found.append(Outcome(tests[len(found)], _CRASHED, why))
        return found

    def _call(self, arguments: Sequence[str], log: Path, seconds: float) -> int | None:
        call = [sys.executable, "-m", "kernelcast", "run", "--quiet", "--gpu", self.gpu]
        call += [sys.executable, "-W", "ignore", "-m", "pytest", *arguments]
        env = {**os.environ, "TRITON_CACHE_DIR": str(self.results / "triton")}
        return watched(call, log, seconds, cwd=self.folder, env=env)


def _reported(lines: Iterable[dict[str, object]], log: str) -> Iterator[Outcome]:
    """The outcome of every test that a report tells the end of."""
    worst: dict[str, Outcome] = {}
    for line in lines:
        if line.get("$report_type") != "TestReport":
            continue
        name = str(line["nodeid"]).split("::", 1)[1]
        before = worst.get(name)
        if before is None or (before.outcome == _PASSED and line["outcome"] != _PASSED):
            is_failed = line["outcome"] == _FAILED
            cause = _cause(line["longrepr"], log) if is_failed else ""
            worst[name] = Outcome(name, str(line["outcome"]), cause)
        if line["when"] == "teardown":
            yield worst[name]


def _cause(trace: object, log: str) -> str:
    """What the device said, else what was raised."""
    said = re.findall(r"^kernelcast: (.*)$", log, re.MULTILINE)
    crash = trace.get("reprcrash") if isinstance(trace, dict) else None
    raised = crash["message"] if crash else str(trace)
    return (said[-1] if said else raised)[:200]


def drawn(names: Iterable[str], seed: int, count: int) -> list[str]:
    """The tests, by the rule."""
    return sorted(names, key=lambda name: hashlib.sha256(f"{seed}:{name}".encode()).digest())[
        :count
    ]


def summary(found: Sequence[Outcome]) -> str:
    """How many pass of those that apply, and why others do not."""
    counts = Counter(one.outcome for one in found)
    applying = len(found) - counts[_SKIPPED]
    lines = [
        f"{counts[_PASSED]} of {applying} pass ({counts[_PASSED] / max(applying, 1):.1%}), "
        f"{counts[_SKIPPED]} skipped"
    ]
    causes = Counter(re.sub(r"0x\w+|\d+", "N", one.cause) for one in found if one.cause)
    return "\n".join([*lines, *(f"  {count:3} {cause}" for cause, count in causes.most_common())])


def main() -> None:
    """Run what has no result yet, and say how many pass."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("python", type=Path)
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--calls", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--gpu", default="a100-sxm-80gb")
    parser.add_argument("--again", action="store_true", help="run anew what did not pass")
    given = parser.parse_args()
    results = given.results.resolve()
    results.mkdir(parents=True, exist_ok=True)
    suite = Suite(given.python.resolve() / "test/unit/language", results, given.seconds, given.gpu)
    kept = results / "outcomes.jsonl"
    lines = kept.read_text().splitlines() if kept.exists() else []
    known = {one.test: one for one in (Outcome(**json.loads(line)) for line in lines)}
    again = {one.test for one in known.values() if given.again and one.cause}
    tests = drawn(suite.names(), given.seed, given.count)
    missing = [test for test in tests if test not in known or test in again]
    with kept.open("a") as file, ThreadPoolExecutor(given.calls) as calls:

        def run(batch: Sequence[str]) -> None:
            for one in suite.outcomes(batch):
                known[one.test] = one
                file.write(json.dumps(asdict(one)) + "\n")
                file.flush()
                if one.cause:
                    print(json.dumps(asdict(one)), flush=True)

        starts = range(0, len(missing), _TESTS_OF_A_CALL)
        list(calls.map(run, [missing[at : at + _TESTS_OF_A_CALL] for at in starts]))
    print(summary([known[test] for test in tests]))


if __name__ == "__main__":
    main()
