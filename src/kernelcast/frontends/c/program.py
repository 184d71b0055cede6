"""A C file as kernels and launches: the way in for all that reads files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path

from kernelcast.errors import InputError, KernelcastError, NotFoundError
from kernelcast.frontends.c.cuda_text import cuda_text, final_name
from kernelcast.frontends.c.launching import FunctionLaunches, launch_function
from kernelcast.frontends.c.nodes import Place, kind, place, walk
from kernelcast.frontends.c.plan import FunctionPlan, plan_function
from kernelcast.frontends.c.refusals import RefusedLoop
from kernelcast.frontends.c.source import CFile, read_c
from kernelcast.frontends.expressions import Number
from kernelcast.ir import Array, Launch


@dataclass(frozen=True)
class LoopChoice:
    """Which loops of a file are launched, and for which sizes.

    `functions` and `lines` are all where empty; a line is that of a loop. `sizes` are scalars of
    functions by name, `block` the threads of a block, `arrays` what replaces the arrays of a
    launch.
    """

    functions: tuple[str, ...] = ()
    lines: tuple[int, ...] = ()
    sizes: Mapping[str, Number] | None = None
    block: tuple[int, ...] | None = None
    arrays: Mapping[str, Array] | None = None


_ALL_LOOPS = LoopChoice()
_MOST_NAMED = 5
"""Lines that an error names beside its own."""


@dataclass(frozen=True)
class CProgram:
    """A file whose loops were analysed: what becomes of every function that holds some."""

    file: CFile
    plans: tuple[FunctionPlan, ...]

    @cached_property
    def cuda(self) -> str:
        """The kernels as CUDA C++, which says from which lines of the file they are made."""
        return cuda_text(self.file, self.plans, with_lines=True)

    @cached_property
    def readable_cuda(self) -> str:
        """The same, for people."""
        return cuda_text(self.file, self.plans)

    @property
    def refusals(self) -> tuple[RefusedLoop, ...]:
        """All that no kernel is made of, in the order of the text."""
        found = [*self.file.refusals, *(r for plan in self.plans for r in plan.refusals)]
        return tuple(sorted(found, key=lambda r: (r.where.file != self.file.name, r.where.line)))

    def launches(
        self, choice: LoopChoice = _ALL_LOOPS
    ) -> tuple[tuple[FunctionLaunches, ...], tuple[str, ...]]:
        """The launches of the functions that are chosen, and what is to be said of the others.

        Where no function is named, one whose sizes are not given is only said of. InputError where
        nothing can be launched, with the first reason.
        """
        plans = self._chosen(choice)
        self._check_sizes(choice, plans)
        found: list[FunctionLaunches] = []
        remarks = [str(r) for r in self._refused(choice)]
        errors: list[KernelcastError] = []
        idle: list[str] = []
        for plan in plans:
            if not plan.kernels:
                continue
            try:
                made = launch_function(plan, choice.sizes or {}, choice.block, choice.arrays)
            except KernelcastError as error:
                errors.append(error)
                remarks.append(str(error))
                continue
            kept = tuple(each for each in made.launches if _at_lines(plan, each, choice.lines))
            remarks += made.assumed
            if kept:
                found.append(replace(made, launches=kept))
            elif made.launches:
                lines = sorted({kernel.place.line for kernel in plan.kernels})
                known = f"those of {plan.name} are in line {', '.join(map(str, lines))}"
                errors.append(InputError(f"no loop there; {known}", where=_lines(choice.lines)))
            else:
                idle.append(f"{plan.name} launches nothing for these sizes")
        if not found:
            raise self._nothing(choice, errors, idle)
        return tuple(found), tuple(dict.fromkeys((*remarks, *idle)))

    def _chosen(self, choice: LoopChoice) -> list[FunctionPlan]:
        known = {plan.name: plan for plan in self.plans}
        for name in choice.functions:
            if name not in known:
                if name in self.file.functions:
                    raise InputError(f"{name} holds no loop", where=self.file.name)
                refused = next((r for r in self.file.refusals if r.function == name), None)
                if refused is not None:
                    raise InputError(refused.reason, where=str(refused.where), hint=refused.hint)
                raise NotFoundError("function", name, known, where=self.file.name)
        return [known[n] for n in choice.functions] if choice.functions else [*self.plans]

    def _check_sizes(self, choice: LoopChoice, plans: Sequence[FunctionPlan]) -> None:
        scalars = {
            name
            for plan in plans
            for name in (*plan.parameters, *plan.globals)
            if not plan.types[name].is_array
        }
        for name in choice.sizes or {}:
            if name not in scalars:
                if not any(plan.kernels for plan in plans):
                    # What is refused may be all that has this size.
                    raise self._nothing(choice, [])
                raise NotFoundError("size", name, scalars, where="--size")

    def _refused(self, choice: LoopChoice) -> list[RefusedLoop]:
        wanted = set(choice.functions)
        return [r for r in self.refusals if not wanted or not r.function or r.function in wanted]

    def _nothing(
        self, choice: LoopChoice, errors: Sequence[KernelcastError], idle: Sequence[str] = ()
    ) -> KernelcastError:
        if errors:
            return errors[0]
        if idle:
            return InputError(idle[0], where=self.file.name, hint="give larger sizes")
        refused = self._refused(choice)
        if not refused:
            what = "no loop is found in this file"
            return InputError(what, where=self.file.name, hint="give a function with for loops")
        # A header that is missing may be why, but a loop's own reason says more.
        first = next((r for r in refused if r.function), refused[0])
        elsewhere = sorted({r.where.line for r in refused} - {first.where.line})[:_MOST_NAMED]
        more = ", ".join(map(str, elsewhere))
        others = f" (more is refused in line {more})" if more else ""
        return InputError(
            first.reason + others, where=str(first.where), hint=first.hint or "change the loop"
        )


@lru_cache(maxsize=8)
def read_program(
    text: str, name: str, defines: tuple[str, ...] = (), include_dirs: tuple[Path, ...] = ()
) -> CProgram:
    """Analyse all loops of a C file; raises as `read_c` does."""
    file = read_c(text, name, defines, include_dirs)
    plans = (plan_function(file, function) for function in file.functions)
    return CProgram(file, tuple(plan for plan in plans if plan is not None))


def _lines(lines: Sequence[int]) -> str:
    return f"--loop {' '.join(map(str, lines))}"


def _at_lines(plan: FunctionPlan, launch: Launch, lines: Sequence[int]) -> bool:
    """Whether a launch is of a kernel made of a loop in one of the lines."""
    if not lines:
        return True
    kernel = next(
        k
        for k in plan.kernels
        if launch.kernel in (k.name, *(final_name(k, r) for r in k.reductions))
    )
    places: list[Place] = [kernel.place, *(place(loop.node) for loop in kernel.loops)]
    places += [place(n) for part in kernel.body for n in walk(part) if kind(n) == "For"]
    return any(p.line in lines for p in places)
