"""Command line of `agree`: many random kernels, as machine code and as PTX.

Program number N of a seed is always the same, for the same architecture.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from random import Random

from rich.progress import track
from tests.properties.agreement import Agreement, agree, reduced
from tests.properties.ptx_unique import ARCHITECTURES, unique_program
from tests.properties.ptx_writer import Program

from kernelcast.errors import KernelcastError
from kernelcast.execution.engine import jit
from kernelcast.isas.sass.opcodes import opcode_table

_FIRST_DIFFERENCES = 20
"""Of more the programs are counted, but not saved."""
_OUT = Path(tempfile.gettempdir()) / "agree"


def main(arguments: Sequence[str] | None = None) -> int:
    """0 where all agree, 1 where some do not, 2 for wrong arguments."""
    options = _parser().parse_args(arguments)
    architectures = options.arch or [f"sm_{a}" for a in ARCHITECTURES]
    numbers = range(options.first, options.first + options.programs)
    check = partial(
        checked, seed=options.seed, architectures=architectures, executors=options.executor
    )
    spelt: dict[str, Counter[str]] = {a: Counter() for a in architectures}
    gaps: Counter[str] = Counter()
    crashes: Counter[str] = Counter()
    wrong = executed = 0
    for number, results in zip(numbers, _results(check, numbers, options.jobs), strict=True):
        for architecture, found in results.items():
            spelt[architecture].update(found.spelt.get(architecture, {}))
            gaps.update({gap.what.rpartition("instruction ")[2] for gap in found.gaps})
            crashes.update({crash.what for crash in found.crashes})
            executed += found.is_executed
            if found.differences:
                wrong += 1
                if wrong <= _FIRST_DIFFERENCES:
                    _report(number, architecture, options)
    print_counts("not executed", gaps)
    print_counts("not assembled", crashes)
    print_coverage(spelt, options.spellings)
    kernels = options.programs * len(architectures)
    print(f"{kernels} kernels, {executed} executed, {wrong} with differences")
    return 1 if wrong else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="scripts/agree", description=__doc__)
    add = parser.add_argument
    add("--programs", type=int, default=200, metavar="N", help="how many (default: 200)")
    add("--seed", type=int, default=1, metavar="N", help="which series of programs (default: 1)")
    add("--first", type=int, default=0, metavar="N", help="number of the first one (default: 0)")
    add(
        "--arch",
        action="append",
        choices=[f"sm_{a}" for a in ARCHITECTURES],
        help="architecture, may be repeated (default: all)",
    )
    add(
        "--executor",
        action="append",
        choices=["reference", "engine"],
        help="what executes the machine code, may be repeated (default: reference)",
    )
    add("--jobs", type=int, default=1, metavar="N", help="processes (default: 1)")
    add("--out", type=Path, default=_OUT, metavar="DIR", help=f"for programs (default: {_OUT})")
    add("--reduce", action="store_true", help="leave out of them what a difference does not need")
    add("--spellings", action="store_true", help="list full names of instructions too")
    return parser


def program_of(number: int, seed: int, architecture: str) -> Program:
    """Program `number` of a seed for an architecture, which uses what that has."""
    random = Random(f"{seed} {number} {architecture}")
    return unique_program(random, int(architecture.removeprefix("sm_")))


def checked(
    number: int, *, seed: int, architectures: Sequence[str], executors: Sequence[str] | None
) -> dict[str, Agreement]:
    """What came of the programs of one number, each on its own architecture."""
    if executors and "engine" in executors:
        # Let LLVM compile fast rather than well: compiling is nearly all the time it takes.
        jit._LARGE_IR_BYTES = 0
    return {
        a: agree(program_of(number, seed, a), [a], executors=executors or ["reference"])
        for a in architectures
    }


def _results(
    check: partial[dict[str, Agreement]], numbers: range, jobs: int
) -> Iterator[dict[str, Agreement]]:
    if jobs == 1:
        yield from track(map(check, numbers), "programs", total=len(numbers))
        return
    with ProcessPoolExecutor(jobs) as pool:
        yield from track(pool.map(check, numbers), "programs", total=len(numbers))


def _report(number: int, architecture: str, options: argparse.Namespace) -> None:
    """Save a program whose executions differ, and print where they do."""
    examine = partial(
        agree, architectures=[architecture], executors=options.executor or ["reference"]
    )
    program = program_of(number, options.seed, architecture)
    differences = examine(program).differences
    if options.reduce:
        program = reduced(program, partial(_as_wrong, examine, differences[0].kind))
        differences = examine(program).differences
    options.out.mkdir(parents=True, exist_ok=True)
    file = options.out / f"{options.seed}-{number}-{architecture}.ptx"
    comments = [f"// {line}" for line in (str(program.launch), *map(str, differences))]
    file.write_text("\n".join([*comments, program.text]))
    print(f"program {number}: {differences[0]}\n  {file}")


def _as_wrong(examine: Callable[[Program], Agreement], kind: str, program: Program) -> bool:
    """Whether a program still differs, and in the same way."""
    try:
        return any(difference.kind == kind for difference in examine(program).differences)
    except KernelcastError:  # the PTX itself fails without what was left out
        return False


def print_counts(head: str, stopped: Counter[str]) -> None:
    """What stopped programs, with the number of them."""
    for what, count in stopped.most_common():
        print(f"{head}: {what} ({count} kernels)")


def print_coverage(spelt: dict[str, Counter[str]], spellings: bool) -> None:
    """The instructions that were met on each architecture, and the known ones that were not."""
    for architecture, names in spelt.items():
        opcodes: Counter[str] = Counter()
        for name, count in names.items():
            opcodes[name.partition(".")[0]] += count
        total, kinds = sum(names.values()), f"{len(opcodes)} opcodes in {len(names)} spellings"
        print(f"{architecture}: {total} instructions, {kinds}")
        print("  met: " + " ".join(sorted(opcodes)))
        unknown = sorted(set(opcodes) - set(opcode_table()))
        if unknown:
            print("  not in opcodes.toml: " + " ".join(unknown))
        if spellings:
            print("  spelt: " + " ".join(sorted(names)))


if __name__ == "__main__":
    sys.exit(main())
