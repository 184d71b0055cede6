"""How many of Numba's own CUDA tests pass on the virtual GPU, counted by cause.

    python measurements/numba_tests.py --results DIR [--count 30 --seed 1 --seconds 120]

The rule: the modules `numba.cuda.tests.cudapy.test_*` of the installed numba-cuda, in the order of
`random.Random(seed).sample(names, len(names))`, the first `count` of them; each in a process of its
own, one test after the other, for as much time as two cores give in `seconds`. They need
`filecheck`, `ml_dtypes`, `cffi` and `nvidia-nvjitlink` from PyPI. Tests that Numba itself skips are
counted apart, and modules that had no time for all of their tests are named. Results are kept in
DIR, a file each, so that a run goes on where it was ended.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import sys
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

from hecbench import watched

_GPU = "a100-sxm-80gb"
_PACKAGE = "numba.cuda.tests.cudapy"
_VERDICT = re.compile(
    r"^(\w+) \([\w.]+\).*?\.\.\. .*?(ok|FAIL|ERROR|skipped|expected failure)", re.M | re.S
)
_CAUSE = re.compile(r"^(?:kernelcast: (.*)|(\w*(?:Error|Exception)\b.*))$", re.M)


def modules(seed: int) -> list[str]:
    """The modules, in the order of the rule."""
    spec = find_spec("numba_cuda")
    assert spec is not None
    assert spec.origin is not None
    folder = Path(spec.origin).parent / "numba/cuda/tests/cudapy"
    names = sorted(path.stem for path in folder.glob("test_*.py"))
    return random.Random(seed).sample(names, len(names))


def tried(name: str, log: Path, seconds: float) -> dict[str, object]:
    """Run the tests of a module."""
    call = [sys.executable, "-m", "kernelcast", "run", "--quiet", "--gpu", _GPU]
    call += [sys.executable, "-m", "unittest", "-v", f"{_PACKAGE}.{name}"]
    status = watched(call, log, seconds, env={**os.environ, "PYTHONWARNINGS": "ignore"})
    text = log.read_text(errors="replace")
    verdicts = dict(_VERDICT.findall(text))
    causes = Counter((told or raised)[:100] for told, raised in _CAUSE.findall(text))
    ended = re.search(r"^Ran (\d+) tests?", text, re.M)
    return {
        "module": name,
        "status": status,
        "verdicts": Counter(verdicts.values()),
        "is_whole": bool(ended),
        "causes": causes.most_common(6),
    }


def main() -> None:
    """Run what has no result yet, and say how many pass."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--count", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=120)
    given = parser.parse_args()
    given.results.mkdir(parents=True, exist_ok=True)
    all_verdicts: Counter[str] = Counter()
    unfinished = []
    for name in modules(given.seed)[: given.count]:
        kept = given.results / f"{name}.json"
        if not kept.exists():
            one = tried(name, given.results / f"{name}.txt", given.seconds)
            kept.write_text(json.dumps(one))
            print(json.dumps(one), flush=True)
        found = json.loads(kept.read_text())
        all_verdicts.update(found["verdicts"])
        unfinished += [] if found["is_whole"] else [name]
    passed = all_verdicts["ok"] + all_verdicts["expected failure"]
    ran = passed + all_verdicts["FAIL"] + all_verdicts["ERROR"]
    print(f"{passed} of {ran} pass ({passed / max(ran, 1):.0%}); {dict(all_verdicts)}")
    print("not to their end:", *unfinished)


if __name__ == "__main__":
    main()
