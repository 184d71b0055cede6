"""Synthetic kernels and cases whose every count is plain from how they were asked for."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import settings

from kernelcast.execution.engine import jit
from kernelcast.ir import (
    BasicBlock,
    Instruction,
    IssueControl,
    Kernel,
    Launch,
    OpClass,
    Register,
    Space,
    Traits,
)
from kernelcast.ir.kernel import Resources
from kernelcast.machines.machine import Machine, Provenance, Quantity
from kernelcast.models.terms.base import Case
from kernelcast.profiling.profile import (
    AccessProfile,
    BlockSample,
    Count,
    Footprint,
    Profile,
    WarpPath,
)
from kernelcast.toolchain.cache import Cache
from tests import kept


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--update-golden`, for `scripts/update-golden`."""
    parser.addoption("--update-golden", action="store_true", help="write the golden reports anew")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Let files of tests lie at the same place in every run; interrupts interrupt."""
    # A shell lets what runs in the background ignore interrupts, which tests send.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if not hasattr(config, "workerinput"):
        kept.delete_unused()
        if config.option.basetemp is None:
            folder = ExitStack()
            config.option.basetemp = folder.enter_context(kept.folder_of_session())
            config.add_cleanup(folder.close)


@dataclass(frozen=True)
class _Op:
    """One static instruction that every warp executes `times` times with all lanes.

    `writes` and `reads` name registers; `access` overrides fields of its access profile, as sums
    over one warp (a coalesced access of 4 B per lane where nothing is said).
    """

    op_class: OpClass
    times: int = 1
    writes: str = ""
    reads: tuple[str, ...] = ()
    space: Space | None = None
    access_bytes: int = 4
    access: Mapping[str, float] = field(default_factory=dict)
    traits: Traits = field(default_factory=Traits)
    issue_cycles: int = 0
    control: IssueControl | None = None


settings.register_profile("any speed", deadline=None)
settings.load_profile("any speed")

MakeCase = Callable[..., Case]
pytest_plugins = ["tests.selection", "tests.shared_cases"]


@pytest.fixture
def make_case() -> MakeCase:
    """Build a case from the fields of `_Op`s: each runs `times` times in a row, in every warp.

    With `is_one_block`, all are one basic block.
    """

    def make(
        machine: Machine,
        fields: Sequence[Mapping[str, Any]],
        *,
        blocks: int = 1 << 14,
        threads: int = 256,
        footprints: Sequence[Footprint] = (),
        resources: Resources | None = None,
        isa: str = "sass",
        is_one_block: bool = False,
    ) -> Case:
        ops = [_Op(**values) for values in fields]
        launch = Launch(grid=(blocks, 1, 1), block=(threads, 1, 1))
        apart = tuple(BasicBlock(i, i, i + 1, ()) for i in range(len(ops)))
        kernel = Kernel(
            name="synthetic",
            isa=isa,
            target="sm_90",
            parameters=(),
            instructions=tuple(_instruction(i, op) for i, op in enumerate(ops)),
            blocks=(BasicBlock(0, 0, len(ops), (0,)),) if is_one_block else apart,
            resources=resources or Resources(registers=10, source="hand"),
        )
        warps = launch.blocks * launch.warps_per_block
        counts: dict[OpClass, Count] = {}
        for op in ops:
            done = Count(op.times * warps, 32 * op.times * warps)
            counts[op.op_class] = counts.get(op.op_class, Count()) + done
        path = np.repeat(np.arange(len(ops), dtype=np.int32), [op.times for op in ops])
        times = np.array([op.times * warps for op in ops], np.float64)
        profile = Profile(
            kernel=kernel,
            launch=launch,
            sample=BlockSample(blocks, blocks, 0.0),
            counts=counts,
            accesses=tuple(_access(i, op, warps) for i, op in enumerate(ops) if op.space),
            footprints=tuple(footprints),
            lines=(),
            warp=WarpPath(0, 0, path, np.full(len(path), 32, np.int32), len(path)),
            instruction_warps=times,
            instruction_threads=32 * times,
        )
        return Case(kernel, launch, machine, profile)

    return make


def _instruction(index: int, op: _Op) -> Instruction:
    return Instruction(
        index=index,
        opcode=str(op.op_class),
        modifiers=(),
        operands=(),
        op_class=op.op_class,
        reads=tuple(Register(name, "b32") for name in op.reads),
        writes=(Register(op.writes, "b32"),) if op.writes else (),
        space=op.space,
        access_bytes=op.access_bytes if op.space else 0,
        traits=op.traits,
        issue_cycles=op.issue_cycles,
        control=op.control,
    )


def _access(index: int, op: _Op, warps: int) -> AccessProfile:
    requests = op.times * warps
    sectors = op.access_bytes * requests if op.space is not Space.SHARED else 0
    coalesced = AccessProfile(
        instruction=index,
        op_class=op.op_class,
        space=op.space or Space.GLOBAL,
        access_bytes=op.access_bytes,
        location=None,
        requests=requests,
        lanes=32 * requests,
        sectors=sectors,
        lines=sectors / 4,
        divergent=requests if sectors > 4 * requests else 0,
        transactions_cc10=2 * requests,
        coalesced_cc10=requests,
        transactions_cc12=2 * requests,
        coalesced_cc12=requests,
        bytes_cc12=32 * op.access_bytes * requests,
        passes=requests if op.space is Space.SHARED else 0,
        passes_half_warp=2 * requests if op.space is Space.SHARED else 0,
        ideal_passes=requests if op.space is Space.SHARED else 0,
    )
    sums: dict[str, Any] = {name: value * warps for name, value in op.access.items()}
    return replace(coalesced, **sums)


@pytest.fixture
def set_numbers() -> Callable[..., Machine]:
    """Replace numbers of a machine by path; None takes one away."""

    def change(machine: Machine, numbers: Mapping[str, float | None]) -> Machine:
        quantities = {p: q for p, q in machine.quantities.items() if numbers.get(p, 0) is not None}
        for path, value in numbers.items():
            if value is not None:
                quantities[path] = Quantity(value, "", Provenance.ASSUMED, "this test")
        return replace(machine, quantities=quantities)

    return change


@pytest.fixture(scope="session", autouse=True)
def _machine_code_is_kept() -> Iterator[None]:
    """What LLVM makes is kept, also where a test hands on no cache: it is decided by the IR."""
    load = jit._load

    def load_kept(ir: str, key: str, cache: Cache | None, *rest: Any) -> jit.HostCode:
        return load(ir, key, kept.CACHE if cache is None else cache, *rest)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jit, "_load", load_kept)
        yield


@pytest.fixture(autouse=True)
def _width_of_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Output is as wide as without a terminal, whatever the runner of the tests says of its own."""
    monkeypatch.delenv("COLUMNS", raising=False)


@pytest.fixture(scope="module")
def quick_code() -> Iterator[None]:
    """LLVM generates code fast rather than well, for tests of what kernels compute.

    The default is left to the tests of the engine, and to PTX beside the CPU's own compiler.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kernelcast.execution.engine.jit._LARGE_IR_BYTES", 0)
        yield
