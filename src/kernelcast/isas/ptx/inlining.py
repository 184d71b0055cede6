"""One kernel as a single stream of instructions: scopes resolved, device functions inlined."""

from __future__ import annotations

from typing import NamedTuple, NoReturn

from kernelcast.errors import ParseError, UnsupportedError
from kernelcast.ir import (
    Address,
    Guard,
    Immediate,
    Location,
    Operand,
    Register,
    Space,
    Symbol,
    Variable,
    Vector,
)
from kernelcast.isas.ptx.declarations import (
    Declaration,
    RegisterNames,
    parse_registers,
    parse_variables,
)
from kernelcast.isas.ptx.lexer import PtxStatement, split_arguments
from kernelcast.isas.ptx.literals import single_precision
from kernelcast.isas.ptx.locations import LocationReader
from kernelcast.isas.ptx.module import Module, PtxFunction
from kernelcast.isas.ptx.opcodes import ControlFlow, Form, form, known_form
from kernelcast.isas.ptx.operands import KernelNames, Scope, operand

_MAX_INSTRUCTIONS = 500_000
"""Where inlining stops: functions that call each other in a chain may grow exponentially."""

_DESTINATIONS = Register | Vector | Address | None
"""What can stand where an instruction writes; memory objects are named by their address."""

_FUNCTION_END = ""
"""Name of the label behind an inlined call; no label of a text is called so."""


class Label(NamedTuple):
    """A label as it stands in the stream: the number of its scope, and its name."""

    scope: int
    name: str


class BranchTarget(NamedTuple):
    """A label as a branch names it, to be looked up from `scope` outwards."""

    scope: Scope
    name: str


class Draft(NamedTuple):
    """An instruction before its place in the kernel is known."""

    form: Form
    operands: tuple[Operand | BranchTarget, ...]
    guard: Guard | None
    line: int
    location: Location | None


DraftStream = list[Draft | Label]


class Flat(NamedTuple):
    """A kernel as one stream.

    `frames` are the `.param` variables of calls, by unique name; `variables` those that bodies
    declare; `symbols` the places where variables and functions are first named.
    """

    stream: list[Draft | Label]
    frames: dict[str, Declaration]
    variables: list[Variable]
    symbols: dict[str, str]
    warnings: tuple[str, ...]


def flatten(module: Module, kernel: PtxFunction) -> Flat:
    """Read a kernel's body and those of the functions it calls.

    Raises ParseError where an operand does not follow the grammar, UnsupportedError at
    an instruction or a call that cannot be executed, each with its line.
    """
    return _Flattener(module).flatten(kernel)


class _Flattener:
    def __init__(self, module: Module) -> None:
        self.module = module
        self.locations = LocationReader(module.files)
        self.names = KernelNames()
        self.globals = Scope(-1, None, self.names)
        self.globals.symbols.update({name: name for name in module.functions})
        self.globals.symbols.update({name: name for name in module.variables})
        self.scopes = 0
        self.location: Location | None = None
        self.stream: list[Draft | Label] = []
        self.frames: dict[str, Declaration] = {}
        self.variables: dict[tuple[str, int, str], Variable] = {}
        self.warnings: dict[str, None] = {}
        self.calling: list[str] = []

    def flatten(self, kernel: PtxFunction) -> Flat:
        scope = self._new_scope(self.globals)
        scope.symbols.update({formal.name: formal.name for formal in kernel.formals})
        self._walk(kernel, scope)
        return Flat(
            self.stream,
            self.frames,
            list(self.variables.values()),
            self.names.symbols,
            tuple(self.warnings),
        )

    def _new_scope(self, parent: Scope) -> Scope:
        scope = Scope(self.scopes, parent, self.names)
        self.scopes += 1
        return scope

    def _where(self, line: int) -> str:
        return f"{self.module.source}:{line}"

    def _walk(self, function: PtxFunction, scope: Scope) -> None:
        """Append a function's statements to the stream."""
        outermost = scope
        self.calling.append(function.name)
        for statement in function.body or ():
            head = statement.head
            if head[0] == ".":
                self._directive(function, statement, scope)
            elif head == ":":
                self.stream.append(Label(scope.number, statement.arguments))
            elif head == "{":
                scope = self._new_scope(scope)
            elif head == "}":
                assert scope.parent is not None
                scope = scope.parent
            else:
                self._instruction(statement, scope, outermost)
        self.calling.pop()

    def _directive(self, function: PtxFunction, statement: PtxStatement, scope: Scope) -> None:
        line, head, text, _ = statement
        where = self._where(line)
        if head == ".loc":
            self.location = self.locations.read(text, where)
        elif head == ".reg":
            for names in parse_registers(f"{head} {text}", where):
                scope.declare(names)
        elif head == ".param":
            for declaration in parse_variables(f"{head} {text}", line, where):
                self._frame(declaration, scope)
        elif head in (".branchtargets", ".callprototype", ".calltargets"):
            label = self.stream.pop() if self.stream else None
            if not isinstance(label, Label):
                raise ParseError(f"expected a label before '{head}'", where=where)
            scope.tables[label.name] = split_arguments(text)
        elif head in (".shared", ".local", ".global", ".const", ".extern"):
            for declaration in parse_variables(f"{head} {text}", line, where):
                self._variable(function, declaration, scope)
        elif head != ".pragma":
            raise ParseError(f"unknown directive '{head}'", where=where)

    def _variable(self, function: PtxFunction, declaration: Declaration, scope: Scope) -> None:
        """Add a variable of a body; local ones exist once for each inlined call."""
        is_local = declaration.space == Space.LOCAL
        key = (function.name, scope.number if is_local else -1, declaration.name)
        if key not in self.variables:
            taken = {v.name for v in self.variables.values()} | self.module.variables.keys()
            unique = declaration.name
            while unique in taken:
                unique = f"{unique}.{scope.number}"
            self.variables[key] = Variable(
                unique,
                Space(declaration.space),
                declaration.size_bytes,
                declaration.align_bytes,
                declaration.initial or b"",
            )
        scope.decoded.clear()
        scope.symbols[declaration.name] = self.variables[key].name

    def _frame(self, declaration: Declaration, scope: Scope) -> str:
        """Add a `.param` variable of a call; return its unique name."""
        unique = f"{declaration.name}.{scope.number}"
        self.frames[unique] = declaration
        scope.decoded.clear()
        scope.symbols[declaration.name] = unique
        return unique

    def _instruction(self, statement: PtxStatement, scope: Scope, outermost: Scope) -> None:
        line, name, text, guard_text = statement
        known = form(name)
        if known is None:
            self._unsupported(f"instruction {name} is not supported", line)
        guard = self._guard(guard_text, scope, line) if guard_text else None
        if known.flow is ControlFlow.CALL:
            self._call(split_arguments(text), guard, scope, line)
            return
        operands: tuple[Operand | BranchTarget, ...]
        if known.flow is ControlFlow.BRANCH:
            operands = (BranchTarget(scope, text.strip()),)
        elif known.flow is ControlFlow.TABLE:
            operands = self._table_operands(text, scope, line)
        elif len(self.calling) > 1 and known.opcode == "ret":
            known = known_form("bra")
            operands = (BranchTarget(outermost, _FUNCTION_END),)
        else:
            operands = self._operands(text, scope, line)
            self._check(known, operands, line)
            is_single = "f32" in known.modifiers and "f64" not in known.modifiers
            if is_single and ("." in text or "0d" in text):
                operands = tuple(map(_as_single, operands))
            if len(self.calling) > 1 and "param" in name:
                known = _on_copied_parameters(known, operands)
        self._emit(known, operands, guard, line)

    def _check(self, known: Form, operands: tuple[Operand, ...], line: int) -> None:
        """Refuse operands that the instruction cannot have."""
        if not known.fewest <= len(operands) <= known.most:
            few = known.fewest
            wanted = f"{few} operands" if few == known.most else f"{few} to {known.most} operands"
            what = f"expected {wanted} of {known.opcode}, found {len(operands)}"
        elif known.destinations and not isinstance(operands[0], _DESTINATIONS):
            what = f"expected a register to write to, found {operands[0]}"
        elif known.access_bytes and (wrong := _misplaced(known, operands)):
            what = wrong
        else:
            return
        raise ParseError(what, where=self._where(line))

    def _emit(
        self,
        known: Form,
        operands: tuple[Operand | BranchTarget, ...],
        guard: Guard | None,
        line: int,
    ) -> None:
        self.stream.append(Draft(known, operands, guard, line, self.location))

    def _operands(self, text: str, scope: Scope, line: int) -> tuple[Operand, ...]:
        decoded = scope.decoded
        operands = []
        for piece in split_arguments(text):
            known = decoded.get(piece)
            if known is None and piece != "_":
                if piece[:1] == "[" and "," in piece:  # `[texture, {coordinates}]`
                    inner = split_arguments(piece[1:-1])
                    operands.append(operand(f"[{inner[0]}]", scope, self._where(line)))
                    operands += [operand(p, scope, self._where(line)) for p in inner[1:]]
                    continue
                known = operand(piece, scope, self._where(line))
            operands.append(known)
        return tuple(operands)

    def _guard(self, text: str, scope: Scope, line: int) -> Guard:
        name = text.lstrip("! ")
        register = scope.register(name)
        if register is None:
            raise ParseError(f"unknown predicate {name!r}", where=self._where(line))
        return Guard(register, text[0] == "!")

    def _table_operands(
        self, text: str, scope: Scope, line: int
    ) -> tuple[Operand | BranchTarget, ...]:
        pieces = split_arguments(text)
        labels = scope.table(pieces[1]) if len(pieces) == 2 else None
        if labels is None:
            raise ParseError("expected an index and a table of labels", where=self._where(line))
        index = operand(pieces[0], scope, self._where(line))
        return (index, *(BranchTarget(scope, label) for label in labels))

    def _call(self, pieces: list[str], guard: Guard | None, scope: Scope, line: int) -> None:
        """Inline one call: `(results), name, (arguments)`."""
        # What the call names, and whether it fits the function.
        where = self._where(line)
        results = _bracketed(pieces.pop(0)) if pieces and pieces[0].startswith("(") else []
        target = pieces.pop(0) if pieces else ""
        arguments = _bracketed(pieces[0]) if pieces and pieces[0].startswith("(") else []
        function = self._callee(target, scope, line)
        if len(results) != len(function.results) or len(arguments) != len(function.formals):
            raise ParseError(f"the call does not fit the parameters of {target!r}", where=where)
        if target == "__assertfail":
            self._emit(known_form("trap"), (), guard, line)
            return
        callee = self._new_scope(self.globals)
        end = Label(callee.number, _FUNCTION_END)
        # A guarded call becomes a branch around the inlined body.
        if guard is not None:
            skip = Guard(guard.register, not guard.negated)
            self._emit(known_form("bra"), (BranchTarget(callee, _FUNCTION_END),), skip, line)
        if function.body is None:
            self._external(function, results, scope, line)
        else:
            # Arguments go in, the body follows, results come out.
            after = self.location
            returned = [
                self._bind(formal, actual, scope, callee, line, is_result=True)
                for formal, actual in zip(function.results, results, strict=True)
            ]
            for formal, actual in zip(function.formals, arguments, strict=True):
                self._bind(formal, actual, scope, callee, line, is_result=False)
            self._walk(function, callee)
            self.stream.append(end)
            self.location = after
            for formal, destination in zip(function.results, returned, strict=True):
                if destination is not None:
                    source = operand(formal.name, callee, where)
                    self._assign(destination, source, formal, line)
            return
        if guard is not None:
            self.stream.append(end)

    def _callee(self, target: str, scope: Scope, line: int) -> PtxFunction:
        """The function of that name, if a call of it can be inlined."""
        function = self.module.functions.get(target)
        if function is None:
            if scope.register(target) is not None:
                self._unsupported("a call through a function pointer is not supported", line)
            raise ParseError(f"unknown function {target!r}", where=self._where(line))
        if function.name in self.calling:
            self._unsupported(f"the recursive call of {target} is not supported", line)
        if len(self.stream) > _MAX_INSTRUCTIONS:
            self._unsupported(
                f"the kernel exceeds {_MAX_INSTRUCTIONS} instructions with {target} inlined", line
            )
        return function

    def _external(self, function: PtxFunction, results: list[str], scope: Scope, line: int) -> None:
        """Stand in for a function whose body is elsewhere."""
        if function.name != "vprintf":
            self._unsupported(f"the call of the external function {function.name}", line)
        place = self.location or self._where(line)
        self.warnings[f"printf at {place} is left out"] = None
        for formal, actual in zip(function.results, results, strict=True):
            destination = operand(actual, scope, self._where(line))
            self._assign(destination, Immediate(0), formal, line)

    def _bind(
        self,
        formal: Declaration,
        actual: str,
        scope: Scope,
        callee: Scope,
        line: int,
        *,
        is_result: bool,
    ) -> Operand:
        """Give a formal parameter its storage; return where a result must be moved, if anywhere.

        A `.param` formal shares the caller's `.param` variable. All others have storage of their
        own and are moved.
        """
        value = operand(actual, scope, self._where(line))
        if formal.space == "param" and isinstance(value, Symbol) and value.name in self.frames:
            callee.symbols[formal.name] = value.name
            return None
        if formal.space == "param":
            self._frame(formal, callee)
        else:
            callee.declare(RegisterNames(formal.name, None, formal.type))
        if is_result:
            return value
        self._assign(operand(formal.name, callee, self._where(line)), value, formal, line)
        return None

    def _assign(
        self, destination: Operand, source: Operand, formal: Declaration, line: int
    ) -> None:
        """Move one value between registers and `.param` variables."""
        operands: tuple[Operand, ...]
        type_ = "pred" if formal.type == "pred" else f"b{8 * formal.size_bytes}"
        if isinstance(destination, Symbol):
            name, operands = f"st.param.{type_}", (Address(destination), source)
        elif isinstance(source, Symbol):
            name, operands = f"ld.param.{type_}", (destination, Address(source))
        else:
            name, operands = f"mov.{type_}", (destination, source)
        known = form(name)
        if known is None:
            self._unsupported(f"an argument of {formal.size_bytes} bytes in a register", line)
        self._emit(known, operands, None, line)

    def _unsupported(self, what: str, line: int) -> NoReturn:
        raise UnsupportedError(what, where=self._where(line))


def _misplaced(known: Form, operands: tuple[Operand, ...]) -> str:
    """What is wrong with the address and the vectors of an access; empty if nothing."""
    for position, value in enumerate(operands):
        if isinstance(value, Address) != (position == known.destinations):
            wanted = "an address in brackets" if position == known.destinations else "a value"
            return f"expected {wanted}, found {'_' if value is None else value}"
    values = operands[0] if known.destinations else operands[1]
    found = len(values.elements) if isinstance(values, Vector) else 1
    if values is not None and found != known.elements:
        return f"expected {known.elements} values, found {found}"
    return ""


def _bracketed(text: str) -> list[str]:
    return split_arguments(text[1:-1])


def _as_single(value: Operand | BranchTarget) -> Operand | BranchTarget:
    """A double-precision literal of a single-precision instruction, in single precision."""
    if isinstance(value, Immediate) and value.type == "f64":
        return single_precision(value.value)
    return value


def _on_copied_parameters(known: Form, operands: tuple[Operand | BranchTarget, ...]) -> Form:
    """A device function's parameters whose address is taken are copies in local memory."""
    through_register = any(
        isinstance(o, Address) and isinstance(o.base, Register) for o in operands
    )
    if through_register or known.opcode == "cvta":
        return in_local_memory(known)
    return known


def in_local_memory(known: Form) -> Form:
    """The same instruction with space local instead of param."""
    words = (Space.LOCAL if m.startswith(Space.PARAM) else m for m in known.modifiers)
    return known_form(".".join((known.opcode, *words)))
