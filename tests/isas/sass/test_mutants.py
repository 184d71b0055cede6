"""A broken opcode fails a test; `scripts/mutate-meanings` tries all, here are some of each module.

A failure says that the harness no longer breaks anything, or that a test has gone blind.
"""

from __future__ import annotations

from functools import cache, partial
from itertools import islice
from pathlib import Path

import pytest
from tests.execution.machine_code import image, kernels
from tests.isas.sass.mutants import NOTHING_TO_BREAK, Mutant, mutants_of
from tests.isas.sass.mutation_cases import Case, known_cases, recorded_cases
from tests.isas.sass.small_kernels import SMALL, WAITING, fill, words

from kernelcast.execution.memory import Memory
from kernelcast.isas.sass.meaning import MEANINGS

ARCHITECTURE = "sm_120"

SAMPLE = {
    "generic addresses": ("ATOM: data", "ST: no store", "LD: first word"),
    "wide and narrow loads": ("LDG: load address", "LDG.E.128.CONSTANT: last word"),
    "barriers that reduce": ("BAR: vote", "B2R: first word", "ISETP: first predicate"),
    "table of targets": ("BRX: way", "BREV: first word", "IMAD.HI.U32: first word"),
    "shuffles": ("SHFL: first predicate", "SHFL.IDX: first word"),
    "scaled products": ("FMUL.D4: first word", "I2FP: first word"),
    "a flag in a loop": ("UISETP: first predicate", "UIADD3: first word"),
    "a single warp": ("R2UR: first word", "SYNCS: store address", "VOTEU: first predicate"),
    "matrices in empty memory": ("STSM: no store",),
}
"""What is broken in which small kernel."""


@cache
def case(name: str) -> Case:
    """A small kernel as machine code, whose result is that of its PTX, or as NumPy says."""
    small = (SMALL | WAITING)[name]
    ptx, machine = kernels(small.source, ARCHITECTURE)
    if small.expected is not None:
        expected = small.expected(words()).tobytes()
    else:
        expected = image(ptx, small.launch, prepare=fill)["o"]
    return Case(name, machine, small.launch, fill, partial(leaves, expected))


def leaves(expected: bytes, memory: Memory) -> bool:
    return memory.array("o").tobytes().startswith(expected)


def mutant(text: str) -> Mutant:
    target, _, kind = text.partition(": ")
    return Mutant(target, kind, by_spelling="." in target)


@pytest.mark.parametrize("name", SAMPLE)
def test_a_kernel_passes_as_it_is(name: str) -> None:
    """Else that it fails when it is broken says nothing."""
    assert case(name).passes(case(name).kernel)


@pytest.mark.parametrize(("name", "text"), [(n, t) for n, texts in SAMPLE.items() for t in texts])
def test_a_broken_opcode_is_noticed(name: str, text: str) -> None:
    broken = mutant(text).of(case(name).kernel)
    assert broken is not case(name).kernel, "nothing is broken"
    assert not case(name).passes(broken)


def test_known_kernels_pass_as_they_are() -> None:
    for known in islice(known_cases(ARCHITECTURE), 4):
        assert known.passes(known.kernel), known.name


RECORDED = """
import pytest
from tests.isas.sass.small_kernels import SMALL, fill
from tests.execution.machine_code import disagreements

@pytest.mark.parametrize("architecture", ["sm_75", "sm_120"])
def test_shuffles(architecture):
    small = SMALL["shuffles"]
    executors = ("engine", "reference")
    assert not disagreements(
        small.source,
        small.launch,
        architectures=[architecture],
        executors=executors,
        prepare=fill,
    )
"""


def test_what_a_test_executes_is_recorded_once(tmp_path: Path) -> None:
    """Wrong if other architectures, PTX, or both executors count."""
    file = tmp_path / "test_recorded.py"
    file.write_text(RECORDED)
    (recorded,) = recorded_cases(ARCHITECTURE, [str(file)])
    assert recorded.kernel.target == ARCHITECTURE
    assert recorded.passes(recorded.kernel)
    assert not recorded.passes(mutant("SHFL: first word").of(recorded.kernel))


def test_all_that_has_nothing_to_break_is_known() -> None:
    opcodes = {name.partition(":")[0].partition(".")[0] for name in NOTHING_TO_BREAK}
    assert opcodes <= set(MEANINGS)


def test_what_does_nothing_has_no_mutants() -> None:
    """Else the list hides an opcode that nobody tests."""
    for name in SMALL:
        broken = {m.target for m in mutants_of(case(name).kernel, spellings=False)}
        assert not broken & set(NOTHING_TO_BREAK)
