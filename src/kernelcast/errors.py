"""The one error tree: every error says what is wrong, where, and what to do.

KernelcastError
  InputError            something the user gave cannot be used
    NotFoundError       a name nobody knows; carries the nearest known ones
    ParseError          a text that does not follow its grammar, with file and line
    LaunchError         a grid, block or argument that does not fit the kernel
      NoLaunchError     neither the file nor the command says a launch
    CompileError        the vendor's compiler refused the source
  UnsupportedError      a valid construct this version cannot execute, named with its line
  ToolError             a tool or library that must be installed is not
  MissingNumberError    a model needs a number that the machine file does not hold
  ExecutionError        the kernel itself went wrong while it was executed
    MemoryFaultError    an access outside every array
      MisalignedError   an access whose address does not fit its size
    AssertionFailedError  a thread asserted what does not hold
    BudgetError         the kernel ran past its budget of instructions
    DeadlockError       threads wait at barriers that can never complete
  TimeLimitError        executing a launch takes longer than it may
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any


class KernelcastError(Exception):
    """Base of every error raised on purpose.

    Parameters
    ----------
    what:
        What is wrong, one clause without a final stop.
    where:
        File, line, instruction or argument; empty where the message already names it.
    hint:
        What to do next, an imperative clause; empty where there is nothing to advise.
    """

    def __init__(self, what: str, *, where: str = "", hint: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.hint = hint

    def __str__(self) -> str:
        text = f"{self.where}: {self.what}" if self.where else self.what
        return f"{text}; {self.hint}" if self.hint else text

    def __reduce__(self) -> tuple[Any, ...]:
        # An error that a worker raises comes back whole, whatever its own `__init__` takes.
        return _restored, (type(self), self.args, self.__dict__)


def _restored(
    kind: type[KernelcastError], args: tuple[Any, ...], state: dict[str, Any]
) -> KernelcastError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(state)
    return error


class InputError(KernelcastError):
    """Something the user gave cannot be used."""


class NotFoundError(InputError):
    """A name that nobody knows; `otherwise` is the hint where many are known and none is near."""

    def __init__(
        self, kind: str, name: str, known: Iterable[str], *, where: str = "", otherwise: str = ""
    ) -> None:
        self.kind = kind
        self.name = name
        names = sorted(known)
        spelled = {known_name.lower(): known_name for known_name in names}
        nearest = difflib.get_close_matches(name.lower(), spelled, n=3, cutoff=0.5)
        self.nearest = tuple(spelled[found] for found in nearest)
        if self.nearest:
            hint = "did you mean " + " or ".join(self.nearest) + "?"
        elif 0 < len(names) <= 12:
            hint = "known: " + ", ".join(names)
        else:
            hint = otherwise
        super().__init__(f"unknown {kind} {name!r}", where=where, hint=hint)


class ParseError(InputError):
    """A text that does not follow its grammar."""


class LaunchError(InputError):
    """A grid, block, shared-memory size or argument that does not fit the kernel."""


class NoLaunchError(LaunchError):
    """Neither the file nor the command says a launch."""


class CompileError(InputError):
    """The vendor's compiler refused the source; `log` holds all it said."""

    def __init__(self, what: str, *, where: str = "", hint: str = "", log: str = "") -> None:
        super().__init__(what, where=where, hint=hint)
        self.log = log

    def with_hint(self, hint: str) -> CompileError:
        """The same, with another way out."""
        return CompileError(self.what, where=self.where, hint=hint, log=self.log)


class UnsupportedError(KernelcastError):
    """A valid construct that this version cannot execute."""


class ToolError(KernelcastError):
    """A tool or library that must be installed is not there or does not work."""


class MissingNumberError(KernelcastError):
    """A model needs a number that the machine file does not hold."""

    def __init__(self, machine: str, path: str, needed_by: str = "") -> None:
        self.machine = machine
        self.path = path
        by = f", needed by {needed_by}," if needed_by else ""
        super().__init__(
            f"machine {machine} has no {path}{by} and none is assumed",
            hint=f"give one with --set {path}=VALUE",
        )


class ExecutionError(KernelcastError):
    """The kernel itself went wrong while it was executed.

    `at` is which instruction did, by its index, in which block of the grid and which thread of it;
    None where that was no single thread. `launch` is which launch of a workload did, counted from
    0; None where it was executed by itself.
    """

    launch: int | None = None

    def __init__(
        self,
        what: str,
        *,
        where: str = "",
        hint: str = "",
        at: tuple[int, int, int] | None = None,
    ) -> None:
        super().__init__(what, where=where, hint=hint)
        self.at = at


class MemoryFaultError(ExecutionError):
    """An access outside every array, or a misaligned one."""


class MisalignedError(MemoryFaultError):
    """An access whose address is no multiple of its size."""


class AssertionFailedError(ExecutionError):
    """A thread asserted what does not hold."""


class BudgetError(ExecutionError):
    """The kernel ran past its budget of instructions."""


class TimeLimitError(KernelcastError):
    """Executing a launch takes longer than it may."""


class DeadlockError(ExecutionError):
    """Threads wait at barriers that can never complete."""
