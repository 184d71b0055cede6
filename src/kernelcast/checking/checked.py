"""A launch, executed and checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from kernelcast.analysis.spin_loops import waits_of
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

    Its blocks run one after the other, but as many at a time as the run says where some may wait
    for others and all are there at once: what each did is held until its turn to be checked.
    `written` is as for `AccessChecker`. What goes wrong in the kernel is a finding. Raises
    UnsupportedError for an instruction that cannot be executed.
    """
    blocks = run.launch.blocks
    together = 1 < blocks <= run.resident and bool(waits_of(run.kernel).headers)
    resident = run.resident if together else 1
    whole = replace(run, needed=None, blocks=all_blocks(blocks), resident=resident)
    checker = AccessChecker(run.kernel, run.launch, run.memory, written, together=together)
    label = run.kernel.shown
    try:
        done = whole.execute(checker, progress=progress)
    except ExecutionError as error:
        found: Sequence[Misuse] = [*checker.misuses(), checker.misuse_of(error)]
        return CheckedLaunch(label, run.launch, tuple(found), error, 0)
    findings = tuple(checker.misuses())
    return CheckedLaunch(label, run.launch, findings, None, done.thread_instructions)
