"""What the table says of an instruction's registers is what its meaning reads and writes.

The table serves the timing, the annotated listing, and instructions without a meaning; the steps
serve execution. Where one of them is wrong, a wait is missed or a value is lost.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.compiled_families import load_family
from tests.kept import CACHE

from kernelcast.errors import CompileError
from kernelcast.frontends import machine_kernel
from kernelcast.ir import Instruction
from kernelcast.isas.ptx.parts import outer
from kernelcast.isas.sass import kernel as sass
from kernelcast.isas.sass.dataflow import effects
from kernelcast.isas.sass.instruction import SassInstruction
from kernelcast.isas.sass.operands import AddressOperand
from kernelcast.suite.registry import families
from kernelcast.suite.table import Scale

Meant = tuple[SassInstruction, tuple[Instruction, ...]]


@pytest.fixture
def meant(monkeypatch: pytest.MonkeyPatch) -> list[Meant]:
    """All instructions of the kernels that a test makes, with their steps."""
    found: list[Meant] = []
    meaning_of = sass.meaning_of

    def noted(native, index, code):
        steps = meaning_of(native, index, code)
        found.append((native, steps))
        return steps

    monkeypatch.setattr(sass, "meaning_of", noted)
    # Kernels that another test has made are made anew.
    monkeypatch.setattr(machine_kernel, "_listed", {})
    return found


def disagreements(native: SassInstruction, steps: tuple[Instruction, ...]) -> Iterator[str]:
    table = effects(native)
    reads, writes = ({str(r) for r in registers} for registers in (table.reads, table.writes))
    step_reads = {str(r) for r in outer(r for s in steps for r in s.reads)}
    step_writes = {str(r) for r in outer(r for s in steps for r in s.writes)}
    if writes != step_writes:
        yield f"{native}: writes {sorted(writes)} in the table, {sorted(step_writes)} in its steps"
    if missing := step_reads - reads:
        yield f"{native}: the table does not read {sorted(missing)}"
    if unused := reads - step_reads - ignored(native):
        yield f"{native}: no step reads {sorted(unused)}"


def ignored(native: SassInstruction) -> set[str]:
    """Sources that the machine reads and no step needs."""
    found = set()
    for operand in native.operands:
        if isinstance(operand, AddressOperand) and operand.descriptor is not None:
            # How the caches treat what lies at the address.
            number = operand.descriptor.register.number
            found |= {f"UR{number}", f"UR{(number or 0) + 1}"}
    if native.opcode == "RET":
        # The upper half of the return address: the code of a kernel lies within 4 GiB.
        found |= {f"{r}" for r in effects(native).reads[-1:]}
    return found


@pytest.mark.parametrize(("architecture", "share"), [("sm_75", 0), ("sm_90", 2), ("sm_120", 4)])
def test_table_and_meaning_agree(architecture: str, share: int, meant: list[Meant]) -> None:
    for family, members in sorted(families().items())[share::6]:
        try:
            module = load_family(family, architecture, CACHE)
        except CompileError:
            continue  # a family that needs NVIDIA's headers
        for member in members:
            module.machine_kernel(member.launches(Scale.SMALL)[0].kernel)
    found = [
        line
        for native, steps in meant
        if any(step.opcode != sass.UNKNOWN for step in steps)
        for line in disagreements(native, steps)
    ]
    assert not found, f"{len(found)} of {len(meant)}, for example {found[:5]}"
    assert len(meant) > 1000
