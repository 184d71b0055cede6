"""Command line of `mutate-meanings`: breaks opcodes, and looks for kernels that show it.

The kernels are those with known results and those that the tests of meanings execute.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from tests.isas.sass.mutants import NOTHING_TO_BREAK, Mutant, mutants_of
from tests.isas.sass.mutation_cases import Case, known_cases, recorded_cases

from kernelcast.isas.sass.meaning import MEANINGS

ARCHITECTURES = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")
TESTS = sorted(map(str, Path(__file__).parent.glob("test_meaning_*.py")))

KILLED, SURVIVED, NOTHING = "killed", "survived", "nothing to break"


@dataclass(frozen=True)
class Verdict:
    """What became of a mutant: the case that shows it, if any of those tried does."""

    mutant: Mutant
    killer: Case | None
    tried: Sequence[Case]

    @property
    def kind(self) -> str:
        """Whether it was killed, survived, or makes no difference for a known reason."""
        if self.killer is not None:
            return KILLED
        spellings = set[str]().union(*(self.mutant.spellings(c.kernel) for c in self.tried))
        known = (f"{name}: {self.mutant.kind}" in NOTHING_TO_BREAK for name in spellings)
        return NOTHING if all(known) else SURVIVED

    def __str__(self) -> str:
        if self.killer is None:
            return f"{self.mutant.kind} {self.kind} in {len(self.tried)} kernels"
        grossly = " if grossly wrong" if self.mutant.is_gross else ""
        return f"{self.mutant.kind} {self.kind} by {self.killer.name}{grossly}"


def main(arguments: Sequence[str] | None = None) -> int:
    """0 where each mutant is killed or has nothing to break, 1 where one is not, 2 for wrong
    arguments."""
    parser = _parser()
    options = parser.parse_args(arguments)
    for opcode in options.opcodes:
        if opcode not in MEANINGS:
            parser.error(f"{opcode} is no opcode with a meaning; give one without modifiers: IMAD")
    with pytest.MonkeyPatch.context() as patch:
        # Compiling is nearly all of the time: fast rather than well.
        patch.setattr("kernelcast.execution.engine.jit._LARGE_IR_BYTES", 0)
        return max([_try_all(a, options) for a in options.arch or ARCHITECTURES])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="scripts/mutate-meanings", description=__doc__)
    add = parser.add_argument
    add("opcodes", nargs="*", metavar="OPCODE", help="opcodes to break (default: all)")
    add(
        "--arch",
        action="append",
        choices=ARCHITECTURES,
        help="architecture, may be repeated (default: all)",
    )
    add("--forms", action="store_true", help="break each spelling of an opcode by itself")
    return parser


def _try_all(architecture: str, options: argparse.Namespace) -> int:
    cases = [*known_cases(architecture), *recorded_cases(architecture, TESTS)]
    cases.sort(key=lambda case: case.length)
    counts: Counter[str] = Counter()
    mutants = 0
    for target, holders in _planned(cases, options.opcodes, spellings=options.forms).items():
        verdicts = [_verdict(mutant, cases) for mutant, cases in holders.items()]
        kinds = {v.kind for v in verdicts} or {_without_mutants(target)}
        counts[next(k for k in (SURVIVED, KILLED, NOTHING) if k in kinds)] += 1
        mutants += len(verdicts)
        print(f"  {target}: {'; '.join(map(str, verdicts)) or ''.join(kinds)}", flush=True)
    what = "spellings" if options.forms else "opcodes"
    found = ", ".join(f"{counts[k]} {k}" for k in (KILLED, SURVIVED, NOTHING))
    tried = f"{mutants} mutants of {counts.total()} {what} on {len(cases)} kernels"
    print(f"{architecture}: {tried}: {found}")
    met = {i.opcode for case in cases for i in case.kernel.instructions}
    print(f"  in no kernel: {' '.join(sorted(set(options.opcodes or MEANINGS) - met)) or 'none'}")
    return 1 if counts[SURVIVED] else 0


def _without_mutants(target: str) -> str:
    return NOTHING if target.partition(".")[0] in NOTHING_TO_BREAK else SURVIVED


def _planned(
    cases: Iterable[Case], opcodes: Sequence[str], *, spellings: bool
) -> dict[str, dict[Mutant, list[Case]]]:
    """The mutants of every opcode or spelling, and for each the cases that it can change."""
    plan: dict[str, dict[Mutant, list[Case]]] = {}
    for case in cases:
        for instruction in case.kernel.instructions:
            if not opcodes or instruction.opcode in opcodes:
                plan.setdefault(instruction.name if spellings else instruction.opcode, {})
        for mutant in mutants_of(case.kernel, spellings=spellings):
            if mutant.target in plan:
                plan[mutant.target].setdefault(mutant, []).append(case)
    return dict(sorted(plan.items()))


def _verdict(mutant: Mutant, cases: Sequence[Case]) -> Verdict:
    for case in cases:
        _check(case)
        if not case.passes(mutant.of(case.kernel)):
            return Verdict(mutant, case, cases)
    return _verdict(mutant.grosser, cases) if mutant.grosser else Verdict(mutant, None, cases)


@cache
def _check(case: Case) -> None:
    """A kernel that fails without any mutation would show nothing."""
    if not case.passes(case.kernel):
        raise RuntimeError(f"{case.name} fails as it is")


if __name__ == "__main__":
    sys.exit(main())
