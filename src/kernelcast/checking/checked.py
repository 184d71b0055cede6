"""A launch, executed and checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from kernelcast.checking.checker import AccessChecker
from kernelcast.checking.misuses import Misuse
from kernelcast.checking.written import WrittenBytes
from kernelcast.errors import ExecutionError
from kernelcast.execution.blocks import all_blocks
from kernelcast.execution.run import Run
from kernelcast.execution.trace import Progress
from kernelcast.ir import Launch


@dataclass(frozen=True)
class CheckedLaunch:
    """A launch and what was found wrong; `error` is what stopped it, None where it ended.

    `thread_instructions` were executed.
    """

    kernel: str
    launch: Launch
    misuses: tuple[Misuse, ...]
    error: ExecutionError | None
    thread_instructions: int


def check_run(
    run: Run, written: WrittenBytes | None = None, progress: Progress | None = None
) -> CheckedLaunch:
    """Execute all of a run's launch, every instruction, and check it; memory holds its results.

    `written` is as for `AccessChecker`. What goes wrong in the kernel is a finding. Raises
    UnsupportedError for an instruction that cannot be executed.
    """
    whole = replace(run, needed=None, blocks=all_blocks(run.launch.blocks))
    checker = AccessChecker(run.kernel, run.launch, run.memory, written)
    label = run.kernel.label or run.kernel.name
    try:
        done = whole.execute(checker, progress=progress)
    except ExecutionError as error:
        found: Sequence[Misuse] = [*checker.misuses(), checker.misuse_of(error)]
        return CheckedLaunch(label, run.launch, tuple(found), error, 0)
    findings = tuple(checker.misuses())
    return CheckedLaunch(label, run.launch, findings, None, done.thread_instructions)
