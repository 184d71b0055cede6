"""What only some folders may know: names of ISAs, opcodes, and generations of GPUs.

The rest of the package reads traits of instructions, and facts of machines. Texts for people may
say any of it: sentences and docstrings are not looked at.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from itertools import chain
from pathlib import Path

import pytest

import kernelcast
from kernelcast.isas.ptx.opcodes import form
from kernelcast.isas.sass.opcodes import opcode_table

ROOT = Path(kernelcast.__file__).parent

READ_CODE = ("isas/", "frontends/", "toolchain/")
"""Where the code of each ISA is read, given its meaning, and made."""

COMPILED_FOR = ("calibration/", "measuring/", "suite/")
"""What is generated and compiled for a GPU that is measured."""

MAY_NAME_AN_ISA = (
    *READ_CODE,
    *COMPILED_FOR,
    "cli/",  # --isa sass|ptx
    "forecasting/",  # what that option chooses, and PTX where machine code cannot be executed
    "api.py",  # the same option
    "adapters/triton.py",  # how Triton calls what it made
)
MAY_NAME_MACHINE_CODE = (
    *READ_CODE,
    *COMPILED_FOR,
    "traces/accel_sim/",  # a format in the words of machine code
    "validation/profiler_classes.py",  # what NVIDIA's profiler counts, by opcode
    "validation/mdm/applications.py",  # ST is the stencil of a paper's table
)
MAY_NAME_PTX = (
    *READ_CODE,
    *COMPILED_FOR,
    "execution/",  # executes steps, which are instructions of PTX
    "analysis/arrays.py",  # follows pointers through steps
    "analysis/global_writes.py",  # looks for atomics of a kind in steps
    "analysis/lane_arithmetic.py",  # evaluates addresses through steps
    "analysis/lane_numbers.py",  # and what is known of them exactly
    "analysis/warp_values.py",  # along the paths of a kernel
    "gating/conditions.py",  # `and`, `or` and `not` of conditions
    "pytest_plugin.py",  # the part of a test that is called
)
MAY_COMPARE_GENERATIONS = (
    "machines/",
    "hierarchy/",
    *READ_CODE,  # which code a GPU can run
    *COMPILED_FOR,
    "forecasting/build.py",  # whether code was made for a GPU
    "cli/gpus.py",  # the user asks for those of an architecture
)

GENERATIONS = re.compile(
    "tesla|fermi|kepler|maxwell|pascal|volta|turing|ampere|ada|hopper|blackwell", re.IGNORECASE
)
PLAIN_WORDS = frozenset(("fence", "match", "max", "min", "red", "set", "vote"))
"""Opcodes of PTX that also are a class of instructions, a function's name, a colour, a key."""

SASS = frozenset(opcode_table())


@cache
def parsed(text: str) -> ast.Module:
    return ast.parse(text)


@cache
def constants(text: str) -> tuple[tuple[int, str], ...]:
    """Line and value of every string but docstrings and other texts that stand alone."""
    return tuple(_constants(parsed(text)))


def _constants(tree: ast.Module) -> Iterator[tuple[int, str]]:
    alone = {
        id(statement.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        for statement in node.body
        if isinstance(statement, ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in alone:
            yield node.lineno, node.value


def isas(text: str) -> Iterator[tuple[int, str]]:
    return ((line, value) for line, value in constants(text) if value in ("sass", "ptx"))


def machine_opcodes(text: str) -> Iterator[tuple[int, str]]:
    """A string of opcodes, or one with modifiers."""
    return (
        (line, value)
        for line, value in constants(text)
        if value and all(word.partition(".")[0] in SASS for word in value.split()) and value.strip()
    )


def ptx_opcodes(text: str) -> Iterator[tuple[int, str]]:
    return ((line, v) for line, v in constants(text) if v not in PLAIN_WORDS and form(v))


def generations(text: str) -> Iterator[tuple[int, str]]:
    """Comparisons of compute capabilities, and names of architectures."""
    for node in ast.walk(parsed(text)):
        if isinstance(node, ast.Compare):
            names = {
                getattr(part, "attr", getattr(part, "id", ""))
                for side in (node.left, *node.comparators)
                for part in ast.walk(side)
            }
            if any(re.search("capability|architecture", name) for name in names):
                yield node.lineno, ast.unparse(node)
    yield from ((line, v) for line, v in constants(text) if GENERATIONS.fullmatch(v))


def found(rule, allowed: tuple[str, ...]) -> list[str]:
    files = ((p, p.relative_to(ROOT).as_posix()) for p in sorted(ROOT.rglob("*.py")))
    return list(
        chain.from_iterable(
            (f"{name}:{line}: {what}" for line, what in rule(path.read_text()))
            for path, name in files
            if not name.startswith(allowed)
        )
    )


@pytest.mark.parametrize(
    ("rule", "allowed"),
    [
        (isas, MAY_NAME_AN_ISA),
        (machine_opcodes, MAY_NAME_MACHINE_CODE),
        (ptx_opcodes, MAY_NAME_PTX),
        (generations, MAY_COMPARE_GENERATIONS),
    ],
    ids=lambda given: getattr(given, "__name__", ""),
)
def test_only_these_places_know(rule, allowed: tuple[str, ...]) -> None:
    assert found(rule, allowed) == []


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (isas, 'if kernel.isa == "sass": pass'),
        (machine_opcodes, 'MEETINGS = ("BSYNC", "WARPSYNC")'),
        (machine_opcodes, 'OF = {"integer": "IADD3 IMAD"}'),
        (machine_opcodes, 'x = "LDG.E.64"'),
        (ptx_opcodes, 'SLEEP = "nanosleep"'),
        (ptx_opcodes, 'x = "mma.sync"'),
        (generations, "is_old = machine.compute_capability < (2, 0)"),
        (generations, "is_two = machine.compute_capability[0] == 2"),
        (generations, 'name = "Volta"'),
    ],
)
def test_each_rule_finds_what_it_forbids(rule, text: str) -> None:
    assert list(rule(text))


def test_sentences_are_not_looked_at() -> None:
    text = '"""BSYNC of sass."""\nx = "PTX was executed, not the machine code"'
    assert not [*isas(text), *machine_opcodes(text), *ptx_opcodes(text), *generations(text)]
