"""Who follows a run changes nothing in it; nobody need."""

from __future__ import annotations

import numpy as np
import pytest

from kernelcast.execution.consumers import Consumer, Keep, are_splittable
from kernelcast.execution.engine.run import lower
from kernelcast.execution.execute import execute
from kernelcast.execution.memory import Memory
from kernelcast.execution.trace import RecordKind
from kernelcast.frontends import check_launch
from kernelcast.frontends.launches import launch_from_flags
from kernelcast.ir import Kernel, Launch
from kernelcast.suite.registry import families
from kernelcast.suite.table import Scale
from kernelcast.toolchain.cache import Cache
from tests.compiled_families import load_family
from tests.execution.bulk_kernels import PIPELINE
from tests.execution.machine_code import kernels
from tests.tracing import traced


class Part(Keep):
    def split(self) -> Part:
        return Part()

    def merge(self, other: Part) -> None:
        pass


def known_kernels() -> list[tuple[str, str]]:
    """One kernel of some families, and an ISA."""
    return [
        (family, isa)
        for family in ("histogram", "reduction", "sort", "spmv")
        for isa in ("ptx", "sass")
    ]


def prepared(family: str, isa: str) -> tuple[Kernel, Launch]:
    launch = families()[family][0].launches(Scale.SMALL)[0]
    module = load_family(family, "sm_90", Cache())
    kernel = (module.kernel if isa == "ptx" else module.machine_kernel)(launch.kernel)
    return kernel, check_launch(kernel, launch)


@pytest.fixture(autouse=True, scope="module")
def _quick_code():
    """Let LLVM compile fast rather than well: compiling is much of the time these tests take."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kernelcast.execution.engine.jit._LARGE_IR_BYTES", 0)
        yield


def images(kernel: Kernel, launch: Launch) -> list[dict[str, bytes]]:
    """What a launch leaves, with nobody, one and two following."""
    found = []
    for consumers in ([], [Keep()], [Keep(), Part()]):
        memory = Memory.build(kernel, launch)
        execute(
            kernel, launch, memory, consumers=consumers, executor="engine", threads=1, cache=Cache()
        )
        found.append(memory.image())
    return found


@pytest.mark.parametrize(("family", "isa"), known_kernels())
def test_memory_is_the_same_whoever_follows(family: str, isa: str) -> None:
    nobody, one, two = images(*prepared(family, isa))
    assert nobody == one == two


@pytest.mark.parametrize("number", [0, 1])
def test_bulk_copies_need_no_log(number: int) -> None:
    kernel = kernels(PIPELINE, "sm_90")[number]
    args = ["in=u32[3696] arange", "out=u32[3696]", "n=7"]
    nobody, one, _ = images(kernel, launch_from_flags("2", "96", 0, args))
    assert nobody == one
    assert any(one["out"])


def test_both_executors_hand_out_to_all_consumers() -> None:
    kernel, launch = prepared("scan", "ptx")
    for executor in ("engine", "reference"):
        kept = [Keep(), Keep()]
        memory = Memory.build(kernel, launch)
        execute(kernel, launch, memory, consumers=kept, executor=executor)
        expected = traced(kernel, launch, Memory.build(kernel, launch), executor=executor)
        for one in kept:
            assert np.array_equal(one.words, expected.words)


def test_code_that_nobody_follows_writes_no_record() -> None:
    kernel, _ = prepared("scan", "ptx")
    with_log, without = lower(kernel).ir, lower(kernel, logs=False).ir
    block_headers = [str(RecordKind.BLOCK << 56 | block.index << 32) for block in kernel.blocks]
    assert all(header in with_log for header in block_headers)
    assert not any(header in without for header in block_headers)


@pytest.mark.parametrize(
    ("consumers", "expected"),
    [([], True), ([Part()], True), ([Keep()], False), ([Part(), Keep()], False)],
)
def test_which_consumers_several_threads_can_share(
    consumers: list[Consumer], expected: bool
) -> None:
    assert are_splittable(consumers) == expected
