"""The arguments of a launch against the parameters of its kernel, and their packed block."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kernelcast.errors import LaunchError
from kernelcast.execution.packing import Nowhere, packed
from kernelcast.execution.scalars import described, is_by_value
from kernelcast.ir import Argument, Kernel, Launch, Parameter


def signature(kernel: Kernel) -> str:
    """The kernel's parameter list in one line: `saxpy(u32 n, f32 a, f32* x, f32* y)`."""
    return f"{kernel.shown}({', '.join(described(p) for p in kernel.parameters)})"


def _example(parameter: Parameter, label: str) -> str:
    """How an array is given for a pointer, as flags and launch files take it."""
    if not parameter.is_pointer or is_by_value(parameter):
        return ""
    return f', for example {label}="{parameter.pointee or "f32"}[1024]"'


def match_arguments(kernel: Kernel, launch: Launch) -> tuple[tuple[Parameter, str, Argument], ...]:
    """Pair every parameter with the label and value of its argument.

    Arguments stand in the order of the parameters. Their names are free, so that the launches of
    a workload can share arrays, but the name of one parameter may not stand in another's place.

    Raises `LaunchError` for a missing, extra, misplaced or mistyped argument.
    """
    labels = [p.shown for p in kernel.parameters]
    given = list(launch.args)
    where = signature(kernel)
    if len(given) < len(labels):
        # Names of the parameters tell which one is missing; others stand in order.
        is_named = set(given) <= set(labels)
        missing = next(n for n in labels if n not in given) if is_named else labels[len(given)]
        at = labels.index(missing)
        raise LaunchError(
            f"argument {at} ({missing}) is missing: {len(given)} given, {len(labels)} needed",
            where=where,
            hint=f"add {missing} to the launch{_example(kernel.parameters[at], missing)}",
        )
    if len(given) > len(labels):
        extra = next((n for n in given if n not in labels), given[len(labels)])
        raise LaunchError(
            f"argument {extra} is one too many: {len(given)} given, {len(labels)} needed",
            where=where,
            hint=f"remove {extra} from the launch",
        )
    for at, (label, name) in enumerate(zip(labels, given, strict=True)):
        if name != label and name in labels:
            raise LaunchError(
                f"argument {at} is called {name}, but parameter {at} is {label}",
                where=where,
                hint="give the arguments in the kernel's order",
            )
    pairs = tuple(
        (parameter, name, launch.args[name])
        for parameter, name in zip(kernel.parameters, given, strict=True)
    )
    for at, (parameter, name, value) in enumerate(pairs):
        told = f"argument {at} ({name})"
        packed(parameter, value, name, Nowhere(), where=where, name=told)
    return pairs


def pack_parameters(
    kernel: Kernel, values: tuple[tuple[Parameter, bytes], ...]
) -> NDArray[np.uint8]:
    """The parameter block: every parameter's bytes at its offset."""
    block = np.zeros(kernel.parameter_bytes, np.uint8)
    for parameter, data in values:
        end = parameter.offset_bytes + parameter.size_bytes
        block[parameter.offset_bytes : end] = np.frombuffer(data, np.uint8)
    return block
