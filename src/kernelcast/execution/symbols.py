"""Variables of the device that a launch gives values: `__constant__` and `__device__` ones."""

from __future__ import annotations

from collections.abc import Iterator

from kernelcast.analysis.arrays import name_of_variable
from kernelcast.analysis.global_writes import arrays_written
from kernelcast.errors import LaunchError, NotFoundError
from kernelcast.execution.packing import Placing, packed
from kernelcast.ir import (
    Address,
    Argument,
    Array,
    Kernel,
    Launch,
    Parameter,
    PointerType,
    ScalarType,
    SequenceType,
    Space,
    Symbol,
    Variable,
)

_WHERE = "--symbol"


def chosen_symbols(kernel: Kernel, launch: Launch) -> list[tuple[Variable, Argument]]:
    """The variables that a launch gives values, with these.

    Raises NotFoundError for one that the module does not have.
    """
    return [(_variable(kernel, name), value) for name, value in launch.symbols.items()]


def packed_symbol(variable: Variable, value: Argument, placing: Placing) -> bytes:
    """The bytes of a variable's value. LaunchError where it does not fit."""
    name = variable.shown
    parameter = _parameter(variable, value)
    is_pointer = parameter.is_pointer
    if isinstance(value, Array) and not is_pointer:
        if value.size_bytes > variable.size_bytes:
            raise LaunchError(
                f"{name} has {variable.size_bytes} bytes, but an array of {value.size_bytes} is "
                "given",
                where=_WHERE,
                hint=f"it is {variable.value_type}" if variable.value_type else "make it smaller",
            )
        _check_elements(variable, value, name)
        return placing.inline(value)
    if isinstance(value, int | float) and parameter.type == "b8" and variable.size_bytes > 1:
        raise LaunchError(
            f"{name} has {variable.size_bytes} bytes, but a number is given",
            where=_WHERE,
            hint=f"give an array, for example f32[{max(variable.size_bytes // 4, 1)}] arange",
        )
    return packed(parameter, value, name, placing, where=_WHERE, name=name)


def unset_variables(kernel: Kernel, launch: Launch) -> list[str]:
    """Variables that the kernel reads, that hold zeros and that the launch gives no value.

    Those in global memory count where the kernel itself does not write them.
    """
    given = {variable.name for variable, _ in chosen_symbols(kernel, launch)}
    written = arrays_written(kernel, None, _pointers(kernel))
    return [
        variable.shown
        for variable in _read_variables(kernel)
        if variable.name not in given
        and not variable.initial.strip(b"\0")
        and not _is_internal(variable.name)
        and (
            variable.space is Space.CONST
            or (written is not None and name_of_variable(variable.name) not in written)
        )
    ]


def _pointers(kernel: Kernel) -> dict[int, str]:
    """All that may be pointers among the parameters, by offset: they lead elsewhere."""
    return {
        start: parameter.name
        for parameter in kernel.parameters
        for start in range(
            -(-parameter.offset_bytes // 8) * 8,
            parameter.offset_bytes + parameter.size_bytes - 7,
            8,
        )
    }


def _is_internal(name: str) -> bool:
    """Whether the compiler made it: strings, for example."""
    return name.startswith(("$", "__")) or ".." in name


def _variable(kernel: Kernel, name: str) -> Variable:
    """The variable of the module with this name, its scope left out or not."""
    names = {v.shown: v for v in kernel.module_variables}
    wanted = name.removeprefix("::")
    if wanted in names:
        return names[wanted]
    fitting = [n for n in names if n.rpartition("::")[2] == wanted]
    if len(fitting) > 1:
        raise LaunchError(
            f"{len(fitting)} variables are called {name}: {', '.join(sorted(fitting))}",
            where=_WHERE,
            hint="name it with its scope",
        )
    if not fitting:
        known = [n for n in names if not _is_internal(n)]
        raise NotFoundError("variable of the device", name, known, where=_WHERE)
    return names[fitting[0]]


def _parameter(variable: Variable, value: Argument) -> Parameter:
    """The variable as a parameter that takes the same values."""
    type_ = variable.value_type
    made = Parameter(variable.name, "b8", variable.size_bytes, 0, variable.name, value_type=type_)
    if isinstance(type_, PointerType):
        pointee = type_.to.name if isinstance(type_.to, ScalarType) else ""
        return Parameter(
            variable.name, "u64", 8, 0, "", is_pointer=True, pointee=pointee, value_type=type_.to
        )
    scalar = type_.name if isinstance(type_, ScalarType) else None
    if type_ is None and variable.size_bytes in (1, 2, 4, 8) and isinstance(value, int | float):
        scalar = f"b{8 * variable.size_bytes}"
    if scalar is None:
        return made
    return Parameter(variable.name, scalar, variable.size_bytes, 0, variable.name)


def _check_elements(variable: Variable, value: Array, name: str) -> None:
    """LaunchError where elements are of another type than the source says."""
    type_ = variable.value_type
    while isinstance(type_, SequenceType):
        type_ = type_.of
    if not isinstance(type_, ScalarType) or value.type.startswith("b"):
        return
    if type_.name != value.type and not type_.name.startswith("b"):
        same = {type_.name[1:], value.type[1:]}
        if len(same) == 1 and {type_.name[0], value.type[0]} <= {"u", "s"}:
            return
        raise LaunchError(
            f"{name} holds {type_.name}, but an array of {value.type} is given",
            where=_WHERE,
            hint=f"declare it as {type_.name}[...]",
        )


def _read_variables(kernel: Kernel) -> Iterator[Variable]:
    """The variables of the module that the code of a kernel reads or takes the address of."""
    if kernel.constants is None:
        yield from (v for v in kernel.variables if v.space in (Space.CONST, Space.GLOBAL))
        return
    offsets = set(_constants_read(kernel))
    places = {
        **{v.name: (v.offset_bytes, v.size_bytes) for v in kernel.constants.variables},
        **{w.variable: (w.offset_bytes, 8) for w in kernel.constants.addresses},
    }
    data = kernel.constants.data
    for variable in kernel.module_variables:
        start, size = places.get(variable.name, (0, 0))
        holds = b"".join(d[max(start - at, 0) : start - at + size] for at, d in data if start >= at)
        is_zero = variable.space is Space.GLOBAL or not holds.strip(b"\0")
        if is_zero and any(start <= offset < start + size for offset in offsets):
            yield variable


def _constants_read(kernel: Kernel) -> Iterator[int]:
    """Offsets in the parameter block that instructions load from."""
    for instruction in kernel.instructions:
        for step in kernel.steps(instruction.index):
            if step.space is Space.PARAM:
                for operand in step.operands:
                    if isinstance(operand, Address) and not isinstance(operand.base, Symbol):
                        yield operand.offset
